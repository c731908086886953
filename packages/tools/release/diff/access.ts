/** Compares who may do what, no matter which policy allows that, and the ways into the service. */
import type { Resource, Template } from '../../app.ts';
import { type Finding, isLate, ofType, ownValue, textOf, withDefinitions } from './template.ts';

/** One action that a policy allows or denies; an empty `condition` means that it always does. */
type Permission = { effect: string; who: string; action: string; resource: string; condition: string };

type Statement = Record<'Effect' | 'Principal' | 'Action' | 'Resource' | 'Condition', unknown>;

/** Finds the permissions that somebody would gain by a change, including those that would no longer be denied. */
export const findPermissions = (old: Template, own: Template): Finding[] => {
  const [before, after] = [withDefinitions(old), withDefinitions(own)];
  const [then, now] = [permissionsOf(before), permissionsOf(after)];
  // Compare functions instead of their roles: a function can move to another role and gain nothing.
  const isOfFunctions = ({ who, resource }: Permission) => {
    const role = who === lambda ? resource : who;
    return isForFunctions(after.Resources[role] ? after : before, role);
  };
  const missing = (effect: string, from: Permission[], by: Permission[]) =>
    from.filter((each) => each.effect === effect && !isOfFunctions(each) && !by.some((other) => covers(other, each)));
  const added = sentences(missing('Allow', now, then), 'may now');
  const gone = sentences(missing('Deny', then, now), 'would no longer be denied');
  return [...added, ...gone].map((what) => ({ rule: 'iam', what }));
};

/** Says what each permission is, once for all who have it. */
const sentences = (permissions: Permission[], may: string): string[] => {
  const byWhat = Map.groupBy(
    permissions,
    ({ action, resource, condition }) => `${may} ${action} on ${resource}${condition && ` if ${condition}`}.`,
  );
  return [...byWhat].map(([what, some]) => `${[...new Set(some.map(({ who }) => who))].join(' and ')} ${what}`);
};

const lambda = 'Service lambda.amazonaws.com';

/** Whether to compare the functions that have a role instead of the role, because only Lambda may assume it. */
const isForFunctions = (template: Template, role: string): boolean => {
  const resource = template.Resources[role];
  const { AssumeRolePolicyDocument } = resource?.Properties ?? {};
  if (!resource || !AssumeRolePolicyDocument) return false;
  const trusted = statementsIn({ AssumeRolePolicyDocument }).flatMap((each) => expanded(each, role, resource));
  const isOfFunction = ([id, held]: [string, string, string]) =>
    held === role && template.Resources[id]?.Type === 'AWS::Lambda::Function';
  return trusted.every(({ who }) => who === lambda) && rolesIn(template).some(isOfFunction);
};

/** Lists all permissions, those of a role or group also for each resource or user that has the role or group. */
const permissionsOf = (template: Template): Permission[] => {
  const own = Object.entries(template.Resources).flatMap(([id, resource]) =>
    [
      ...statementsIn(resource.Properties).flatMap((statement) => expanded(statement, id, resource)),
      ...managedPolicies(id, resource),
      ...(/^AWS::Lambda::(LayerVersion)?Permission$/.test(resource.Type) ? [ofPermission(resource)] : []),
    ].map((each) => ifDeployed(template, id, each)),
  );
  const byRole = rolesIn(template).flatMap(([who, role, id]): Permission[] =>
    template.Resources[role]
      ? own.flatMap((each) => {
          if (each.who === role) return [ifDeployed(template, id, { ...each, who })];
          const isTrust = each.who === lambda && each.resource === role;
          return isTrust ? [ifDeployed(template, id, { ...each, resource: `the role of ${who}` })] : [];
        })
      : [ifDeployed(template, id, { ...unread('Allow', who), action: `do what ${role} may` })],
  );
  return [...own, ...byRole];
};

/**
 * Adds the Condition of the resource that makes a permission. What the resource itself is denied stays, because
 * without the resource there is nobody to deny it to.
 */
const ifDeployed = (template: Template, id: string, permission: Permission): Permission => {
  const Condition = template.Resources[id]?.Condition;
  const { effect, who, condition } = permission;
  if (Condition === undefined || (effect === 'Deny' && who === id)) return permission;
  return { ...permission, condition: `${condition}${condition && ' and '}${JSON.stringify({ Condition })}` };
};

/** Lists which functions and other resources use each role, which users belong to each group, and what says so. */
const rolesIn = ({ Resources }: Template): [who: string, role: string, id: string][] =>
  Object.entries(Resources).flatMap(([id, { Type, Properties = {} }]) => {
    const { GroupName, Users = [], Groups = [] } = Properties;
    if (Type === 'AWS::IAM::UserToGroupAddition')
      return [Users].flat().map((user): [string, string, string] => [textOf(user), textOf(GroupName), id]);
    const groups = Type === 'AWS::IAM::User' ? [Groups].flat() : [];
    const roles = Object.entries(Properties).flatMap(([name, role]) =>
      /(Role(Arn)?|CredentialsArn)$/.test(name) ? [role] : [],
    );
    return [...groups, ...roles].map((role): [string, string, string] => [id, textOf(role).replace(/\.Arn$/, ''), id]);
  });

/**
 * Finds the policy statements in a value at any depth. Returns what cannot be read (a parameter, a text, or an `Fn::If`
 * around statements) as a whole, so that a change of it is still noticed.
 */
const statementsIn = (value: unknown): unknown[] => {
  if (!(value instanceof Object)) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    if (name === 'Statement') return [inner].flat();
    const found = statementsIn(inner);
    if (found.length > 0 && /^Fn::/.test(name)) return [value];
    return found.length === 0 && /^(Resource|AssumeRole)?Policy(Document|Text)?$/.test(name) ? [inner] : found;
  });
};

/** Stands for a whole policy whose actions the template does not list. The caller describes it as its `action`. */
const unread = (effect: string, who: string) => ({ effect, who, resource: 'any resource', condition: '' });

/** Expands a policy statement into a permission for each combination of principal, action and resource. */
const expanded = (found: unknown, id: string, { Type, Properties = {} }: Resource): Permission[] => {
  const kinds = /^AWS::IAM::\w*Policy$/.test(Type) ? ['Role', 'User', 'Group'] : [];
  const some = kinds.flatMap((kind) => [Properties[`${kind}s`] ?? [], Properties[`${kind}Name`] ?? []].flat());
  const holders = some.length > 0 ? some.map(textOf) : [id];
  if (isUnreadable(found))
    return holders.flatMap((who) => [
      { ...unread('Allow', who), action: `do what ${textOf(found)} allows` },
      { ...unread('Deny', who), action: `what ${textOf(found)} denies` },
    ]);
  const statement = found as Statement;
  const named = listOf(statement, 'Principal');
  const principals = named.length > 0 ? named : holders;
  const condition = statement.Condition === undefined ? '' : JSON.stringify(statement.Condition);
  const effect = textOf(statement.Effect);
  // If a statement names no resource, as in the trust policy of a role or the policy of a queue, it is for the
  // template's resource that contains the statement.
  const resources = listOf(statement, 'Resource');
  return principals.flatMap((who) =>
    listOf(statement, 'Action').flatMap((action) =>
      (resources.length > 0 ? resources : [id]).map((resource) => ({ effect, who, action, resource, condition })),
    ),
  );
};

/**
 * Whether a policy statement cannot be read because it is a parameter, an `Fn::If` or the like. False for an object
 * that is not a policy statement at all, such as the `Statement` of a firewall rule.
 */
const isUnreadable = (found: unknown): boolean => {
  if (!(found instanceof Object)) return true;
  if ('Effect' in found) return found.Effect !== 'Allow' && found.Effect !== 'Deny';
  return Object.keys(found).some((key) => /^(Fn::\w+|Ref|Parameter)$/.test(key));
};

/** Lists the values of a statement's `Action` or, for `NotAction`, describes them as `all but …`. */
const listOf = (statement: Statement, key: 'Principal' | 'Action' | 'Resource'): string[] => {
  const others = (statement as Record<string, unknown>)[`Not${key}`];
  if (others !== undefined) return [`all but ${JSON.stringify(others)}`];
  const value = statement[key];
  if (key !== 'Principal' || !(value instanceof Object)) return value === undefined ? [] : [value].flat().map(textOf);
  return Object.entries(value).flatMap(([kind, each]) =>
    kind.startsWith('Fn::') ? [`${kind} ${textOf(each)}`] : [each].flat().map((name) => `${kind} ${textOf(name)}`),
  );
};

/** Describes what a role's managed policies allow, and what its permissions boundary does not allow. */
const managedPolicies = (id: string, { Properties = {} }: Resource): Permission[] => {
  const { ManagedPolicyArns = [], PermissionsBoundary: boundary } = Properties;
  const allowed = [ManagedPolicyArns].flat();
  return [
    ...allowed.map((each) => ({ ...unread('Allow', id), action: `do what ${textOf(each)} allows` })),
    ...(boundary ? [{ ...unread('Deny', id), action: `what ${textOf(boundary)} does not allow` }] : []),
  ];
};

/** Properties such as SourceArn limit who may invoke the function, so they become the permission's `condition`. */
const ofPermission = ({ Properties = {} }: Resource): Permission => {
  const { Principal, Action, FunctionName, LayerVersionArn, ...limits } = Properties;
  const condition = Object.entries(limits).map(([name, value]) => `${name} is ${textOf(value)}`);
  return {
    effect: 'Allow',
    who: textOf(Principal),
    action: textOf(Action),
    resource: textOf(FunctionName ?? LayerVersionArn),
    condition: condition.sort().join(' and '),
  };
};

/** Whether `wide` has the same effect (Allow or Deny) as `narrow`, for at least the same calls. */
const covers = (wide: Permission, narrow: Permission): boolean =>
  wide.effect === narrow.effect &&
  wide.who === narrow.who &&
  matches(wide.action.toLowerCase(), narrow.action.toLowerCase()) &&
  matches(wide.resource, narrow.resource) &&
  (wide.condition === '' || wide.condition === narrow.condition);

/**
 * Whether a policy's pattern, in which * stands for any text, covers another pattern. A description in words, such as
 * `all but …`, is not a pattern, so it covers only itself.
 */
const matches = (pattern: string, text: string): boolean => {
  if (/^(all but|do what|what) /.test(pattern)) return pattern === text;
  const escaped = pattern.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^${escaped}$`, 's').test(text);
};

/** A way into the service. `guard` says what checks callers, if anything does, and on which condition it exists. */
type Entrance = { name: string; guard: string; isOpen: boolean; rule: 'route' | 'open-route' };

/** What only a deployment evaluates might be NONE, so it counts as open. */
const entrance = (name: string, type: unknown, condition: unknown, checks: unknown[] = []): Entrance => {
  const isOpen = type === 'NONE' || isLate(type);
  const guard = JSON.stringify([type, condition, ...(type === 'NONE' ? [] : checks)]);
  return { name, guard, isOpen, rule: isOpen ? 'open-route' : 'route' };
};

/** The guard of what is open on no condition. */
const { guard: always } = entrance('', 'NONE', undefined);

/** Finds routes and function URLs that are new, that are guarded in another way, or that are no longer guarded. */
export const findRoutes = (before: Template, after: Template): Finding[] => {
  const then = Map.groupBy(entrancesOf(withDefinitions(before)), ({ name }) => name);
  return entrancesOf(withDefinitions(after)).flatMap(({ name, guard, isOpen, rule }): Finding[] => {
    const guards = then.get(name)?.map((each) => each.guard) ?? [];
    if (guards.includes(guard) || (isOpen && guards.includes(always))) return [];
    if (rule === 'open-route') return [{ rule, what: `${name} would be open to everyone.` }];
    const isNew = isOpen || guards.length === 0;
    return [{ rule, what: `${name} would be ${isNew ? 'new' : 'guarded in another way'}.` }];
  });
};

const entrancesOf = (template: Template): Entrance[] => {
  const routes = ofType(template, /^AWS::ApiGatewayV2::Route$/).map(([, { Condition, Properties = {} }]) => {
    const { ApiId, RouteKey, AuthorizationType = 'NONE', AuthorizerId, AuthorizationScopes } = Properties;
    const authorizers = namedIn(AuthorizerId, template, /^AWS::ApiGatewayV2::Authorizer$/);
    const guards = authorizers.map((each) => [each.Properties, each.Condition, rulesOf(each, template)]);
    const checks = [AuthorizerId, AuthorizationScopes, guards];
    return entrance(`${textOf(RouteKey)} of ${textOf(ApiId)}`, AuthorizationType, Condition, checks);
  });
  const urls = ofType(template, /^AWS::Lambda::Url$/).map(([, { Condition, Properties = {} }]) => {
    const { TargetFunctionArn, Qualifier, AuthType = 'NONE' } = Properties;
    const target = [TargetFunctionArn, ...(Qualifier === undefined ? [] : [Qualifier])].map(textOf).join(':');
    return entrance(`The URL of ${target}`, AuthType, Condition);
  });
  const apis = ofType(template, /^AWS::ApiGatewayV2::Api$/).flatMap(([id, { Condition, Properties = {} }]) => {
    const { Target, RouteKey, Body, BodyS3Location, DisableExecuteApiEndpoint: isOff = false } = Properties;
    // If an API has one of these properties, API Gateway makes routes that can be open to everyone.
    const isQuick = [Target, RouteKey, Body, BodyS3Location].some((each) => each !== undefined);
    const type = ownValue(Target, 'Fn::If') ? Target : 'NONE';
    const quick = entrance(`${textOf(RouteKey) || '$default'} of ${id}`, type, Condition);
    const address = entrance(`The execute-api address of ${id}`, isLate(isOff) ? isOff : 'NONE', Condition);
    return [...(isQuick ? [quick] : []), ...(String(isOff) === 'true' ? [] : [{ ...address, rule: 'route' as const }])];
  });
  return [...apis, ...routes, ...urls];
};

/** Lists the resources of a type whose ids a value names, as `Ref` or in a text. */
const namedIn = (value: unknown, template: Template, type: RegExp): Resource[] => {
  const named = new Set(JSON.stringify([value]).match(/\w+/g));
  return ofType(template, type).flatMap(([id, each]) => (named.has(id) ? [each] : []));
};

/** Lists the environments of an authorizer's functions, because they decide which tokens are accepted. */
const rulesOf = ({ Properties = {} }: Resource, template: Template): unknown[] => {
  const uri = Properties['AuthorizerUri'];
  const aliases = namedIn(uri, template, /^AWS::Lambda::Alias$/).map((each) => each.Properties?.['FunctionName']);
  return namedIn([uri, aliases], template, /^AWS::Lambda::Function$/).map((each) => {
    const { Variables = {} } = (each.Properties?.['Environment'] ?? {}) as { Variables?: object };
    // Another bundle is a change of code, which a review sees.
    return { ...Variables, BUNDLE_SHA256: undefined };
  });
};
