import { type Finding, ofType, type Template, textOf } from './template.ts';

/** A way into the service, such as a route or a function URL. `guard` says what checks callers, if anything does. */
type Entrance = { guard: string | undefined };

/** Finds routes and function URLs that are new, that are guarded in another way, or that are no longer guarded. */
export const findRoutes = (before: Template, after: Template): Finding[] => {
  const then = entrancesOf(before);
  return [...entrancesOf(after)].flatMap(([name, { guard }]): Finding[] => {
    const old = then.get(name);
    if (old && old.guard === guard) return [];
    if (guard === undefined) return [{ rule: 'open-route', what: `${name} would be open to everyone.` }];
    return [{ rule: 'route', what: old ? `${name} would be guarded in another way.` : `${name} would be new.` }];
  });
};

const entrancesOf = (template: Template): Map<string, Entrance> => {
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
    const quick = [Target, RouteKey].some((each) => each !== undefined)
      ? [`${textOf(RouteKey) || '$default'} of ${id}`]
      : [];
    const address = DisableExecuteApiEndpoint === true ? [] : [`The execute-api address of ${id}`];
    return [
      ...quick.map((name) => [name, undefined] as const),
      ...address.map((name) => [name, 'its routes'] as const),
    ];
  });
  return new Map([...apis, ...routes, ...urls].map(([name, guard]) => [name, { guard }]));
};
