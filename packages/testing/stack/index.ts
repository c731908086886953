/**
 * The service's stack and its template, by the settings of the CDK context.
 * @example
 * const template = withoutHashes(templateOf(kinds.dev).toJSON());
 * expect(propertiesOf('AWS::Lambda::Function', template)).toHaveProperty('CreateOrder');
 * @throws ConfigurationError if a setting is not valid
 */
export * from './handler-permissions.ts';
export * from './settings.ts';
export * from './stacks.ts';
export * from './template.ts';
