/** The template of a stack as a test reads it. What every kind of stack has is asserted on `prod`. */
import { inject } from 'vitest';

export type Resource = {
  Type: string;
  Properties: Record<string, unknown>;
  DeletionPolicy?: string;
  UpdatePolicy?: unknown;
};
export type Template = { Resources: Record<string, Resource>; Outputs: Record<string, { Value: unknown }> };

/** Without CDK's hashes: `{ Ref: 'CreatePlantLive' }` for `{ Ref: 'CreatePlantLive1EDFD5F5' }`. */
export const readable = (template: object): Template => {
  const text = JSON.stringify(template)
    .replaceAll(/"[\da-f]{64}\.zip"/g, '"bundle.zip"')
    .replaceAll(/(?<=[A-Za-z]\d*)[\dA-F]{8}(?:[\da-f]{32})?(?![\dA-F])/g, '');
  const plain: Template = JSON.parse(text);
  const { length } = Object.keys((template as Template).Resources);
  if (Object.keys(plain.Resources).length !== length) throw new Error('Two resources differ only by their hashes.');
  return plain;
};

/** Stage `prod` with an issuer of somebody else. */
export const prod = readable(inject('template'));

export const ofType = (type: string, template = prod): Record<string, Resource> =>
  Object.fromEntries(Object.entries(template.Resources).filter(([, { Type }]) => Type === type));

/** The properties of all resources of a type, by their names. */
export const propertiesOf = (type: string, template = prod): Record<string, Resource['Properties']> =>
  Object.fromEntries(Object.entries(ofType(type, template)).map(([name, { Properties }]) => [name, Properties]));

export const ref = (name: string) => ({ Ref: name });
export const arn = (name: string) => ({ 'Fn::GetAtt': [name, 'Arn'] });

/** All that is counted by function follows from this list. */
export const functionNames = Object.keys(ofType('AWS::Lambda::Function'));

/** The entries that `make` gives for each function, by the name of a resource. */
export const byFunction = <T>(make: (name: string) => [resource: string, value: T][]): Record<string, T> =>
  Object.fromEntries(functionNames.flatMap(make));
