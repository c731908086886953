import { type Finding, ofType, type Template, textOf } from './template.ts';

/** Finds routes and function URLs that are new, that are guarded in another way, or that are no longer guarded. */
export const findRoutes = (before: Template, after: Template): Finding[] => {
  const then = entrancesOf(before);
  return [...entrancesOf(after)].flatMap(([name, guard]): Finding[] => {
    const isNew = !then.has(name);
    if (!isNew && then.get(name) === guard) return [];
    if (guard === undefined) return [{ rule: 'open-route', what: `${name} would be open to everyone.` }];
    return [{ rule: 'route', what: isNew ? `${name} would be new.` : `${name} would be guarded in another way.` }];
  });
};

/** The ways into the service, such as routes and function URLs. A guard says what checks callers, if anything does. */
const entrancesOf = (template: Template): Map<string, string | undefined> => {
  const routes = ofType(template, /^AWS::ApiGatewayV2::Route$/).map(([, { Properties = {} }]) => {
    const { ApiId, RouteKey, AuthorizationType = 'NONE', AuthorizerId, AuthorizationScopes } = Properties;
    const authorizer = template.Resources[textOf(AuthorizerId)]?.Properties;
    const guard = JSON.stringify([AuthorizationType, AuthorizerId, AuthorizationScopes, authorizer]);
    return [`${textOf(RouteKey)} of ${textOf(ApiId)}`, AuthorizationType === 'NONE' ? undefined : guard] as const;
  });
  const urls = ofType(template, /^AWS::Lambda::Url$/).map(([, { Properties = {} }]) => {
    const { TargetFunctionArn, AuthType } = Properties;
    return [`The URL of ${textOf(TargetFunctionArn)}`, AuthType === 'NONE' ? undefined : textOf(AuthType)] as const;
  });
  const apis = ofType(template, /^AWS::ApiGatewayV2::Api$/).flatMap(([id, { Properties = {} }]) => {
    const { Target, RouteKey, DisableExecuteApiEndpoint } = Properties;
    // If an API has one of these properties, API Gateway makes a route that is open to everyone.
    const isQuick = Target !== undefined || RouteKey !== undefined;
    return [
      ...(isQuick ? [[`${textOf(RouteKey) || '$default'} of ${id}`, undefined] as const] : []),
      ...(DisableExecuteApiEndpoint === true ? [] : [[`The execute-api address of ${id}`, 'its routes'] as const]),
    ];
  });
  return new Map([...apis, ...routes, ...urls]);
};
