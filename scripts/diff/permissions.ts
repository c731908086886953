/** Compares who may do what before and after a change, whichever policy allows it. */
import { type Finding, type Resource, type Template, textOf } from './template.ts';

/**
 * One action that a policy allows or denies. `condition` is empty if it always does. `role` is set if the policy is for
 * that role or group, and `who` has it.
 */
type Permission = { effect: string; who: string; action: string; resource: string; condition: string; role?: string };

type Statement = Record<'Effect' | 'Principal' | 'Action' | 'Resource' | 'Condition', unknown>;

/** Finds the permissions that somebody would have after the change and does not have before it. */
export const findPermissions = (before: Template, after: Template): Finding[] => {
  const [then, now] = [permissionsOf(before), permissionsOf(after)];
  const covered = (permission: Permission, by: Permission[]) => by.some((other) => covers(other, permission));
  // What changes for a role is said of the role alone.
  const isCovered = (permission: Permission, by: Permission[]) =>
    covered(permission, by) || (permission.role !== undefined && !covered({ ...permission, who: permission.role }, by));
  const added = now.filter((each) => each.effect === 'Allow' && !isCovered(each, then));
  const gone = then.filter((each) => each.effect !== 'Allow' && !isCovered(each, now));
  return [
    ...added.map((permission) => `${sentence(permission, 'may now')}.`),
    ...gone.map((permission) => `${sentence(permission, 'is no longer denied')}.`),
  ].map((what) => ({ rule: 'iam', what }));
};

const sentence = ({ who, action, resource, condition }: Permission, may: string): string =>
  `${who} ${may} ${action} on ${resource}${condition && ` if ${condition}`}`;

const permissionsOf = (template: Template): Permission[] => {
  const own = Object.entries(template.Resources).flatMap(([id, resource]) => [
    ...statementsIn(resource.Properties).flatMap((statement) => expanded(statement, id, resource)),
    ...managedPolicies(id, resource),
    ...(/^AWS::Lambda::(LayerVersion)?Permission$/.test(resource.Type) ? [ofPermission(resource)] : []),
  ]);
  const byRole = rolesIn(template).flatMap(([who, role]): Permission[] =>
    template.Resources[role]
      ? own.filter((each) => each.who === role).map((each) => ({ ...each, who, role }))
      : [{ ...unread('Allow', who), action: `do what ${role} may` }],
  );
  return [...own, ...byRole];
};

/** Finds who has which role or group: functions and other resources, and users. */
const rolesIn = ({ Resources }: Template): [who: string, role: string][] =>
  Object.entries(Resources).flatMap(([id, { Type, Properties = {} }]) => {
    const { GroupName, Users = [], Groups = [] } = Properties;
    if (Type === 'AWS::IAM::UserToGroupAddition')
      return [Users].flat().map((user): [string, string] => [textOf(user), textOf(GroupName)]);
    const groups = Type === 'AWS::IAM::User' ? [Groups].flat() : [];
    const roles = Object.entries(Properties).flatMap(([name, role]) =>
      /(Role(Arn)?|CredentialsArn)$/.test(name) ? [role] : [],
    );
    return [...groups, ...roles].map((role): [string, string] => [id, textOf(role).replace(/\.Arn$/, '')]);
  });

/** Finds the statements of policies in any property of any resource. A policy without any is returned as it is. */
const statementsIn = (value: unknown): unknown[] => {
  if (!(value instanceof Object)) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    if (name === 'Statement') return [inner].flat();
    const found = statementsIn(inner);
    if (found.length > 0 || !/^(Resource)?Policy(Document|Text)?$/.test(name)) return found;
    const inText = statementsIn(parsed(textOf(inner)));
    return inText.length > 0 ? inText : [inner];
  });
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** A permission to be completed by an action that only a policy elsewhere can explain. */
const unread = (effect: string, who: string) => ({ effect, who, resource: 'any resource', condition: '' });

/** Lists each action of a statement on each resource for everyone whom its policy is for. */
const expanded = (found: unknown, id: string, { Type, Properties = {} }: Resource): Permission[] => {
  const kinds = /^AWS::IAM::\w*Policy$/.test(Type) ? ['Role', 'User', 'Group'] : [];
  const some = kinds.flatMap((kind) => [Properties[`${kind}s`] ?? [], Properties[`${kind}Name`] ?? []].flat());
  const holders = some.length > 0 ? some.map(textOf) : [id];
  if (isUnreadable(found))
    return holders.map((who) => ({ ...unread('Allow', who), action: `do what ${textOf(found)} allows` }));
  const statement = found as Statement;
  const named = listOf(statement, 'Principal');
  const principals = named.length > 0 ? named : holders;
  const condition = statement.Condition === undefined ? '' : JSON.stringify(statement.Condition);
  const effect = textOf(statement.Effect);
  // The policy of a role or a queue may leave out the resource, which is then that role or queue.
  const resources = listOf(statement, 'Resource');
  return principals.flatMap((who) =>
    listOf(statement, 'Action').flatMap((action) =>
      (resources.length > 0 ? resources : [id]).map((resource) => ({ effect, who, action, resource, condition })),
    ),
  );
};

/** Whether a value stands for a statement, such as a parameter or an `Fn::If`. Rules of a firewall have no `Effect`. */
const isUnreadable = (found: unknown): boolean => {
  if (!(found instanceof Object)) return true;
  if ('Effect' in found) return found.Effect !== 'Allow' && found.Effect !== 'Deny';
  return Object.keys(found).some((key) => /^(Fn::\w+|Ref)$/.test(key));
};

/** Lists the values of `Action`, or all but those of `NotAction`; and so on. */
const listOf = (statement: Statement, key: 'Principal' | 'Action' | 'Resource'): string[] => {
  const others = (statement as Record<string, unknown>)[`Not${key}`];
  if (others !== undefined) return [`all but ${JSON.stringify(others)}`];
  const value = statement[key];
  if (key !== 'Principal' || !(value instanceof Object)) return value === undefined ? [] : [value].flat().map(textOf);
  return Object.entries(value).flatMap(([kind, each]) => [each].flat().map((name) => `${kind} ${textOf(name)}`));
};

/** What the policies of AWS, and of other stacks, allow a role; and what its boundary denies. */
const managedPolicies = (id: string, { Properties = {} }: Resource): Permission[] => {
  const { ManagedPolicyArns = [], PermissionsBoundary = [] } = Properties;
  return [
    ...[ManagedPolicyArns].flat().map((each) => ({ ...unread('Allow', id), action: `do what ${textOf(each)} allows` })),
    ...[PermissionsBoundary]
      .flat()
      .map((each) => ({ ...unread('Deny', id), action: `what ${textOf(each)} does not allow` })),
  ];
};

/** Reads a permission that a function itself grants. Properties such as SourceArn limit who may invoke the function. */
const ofPermission = ({ Properties = {} }: Resource): Permission => {
  const { Principal, Action, FunctionName, LayerVersionArn, ...limits } = Properties;
  const condition = Object.entries(limits).map(([name, value]) => `${name} is ${textOf(value)}`);
  const [who, action, resource] = [Principal, Action, FunctionName ?? LayerVersionArn].map(textOf) as [
    string,
    string,
    string,
  ];
  return { effect: 'Allow', who, action, resource, condition: condition.sort().join(' and ') };
};

/** Whether `wide` allows, or denies, everything that `narrow` allows or denies. */
const covers = (wide: Permission, narrow: Permission): boolean =>
  wide.effect === narrow.effect &&
  wide.who === narrow.who &&
  matches(wide.action.toLowerCase(), narrow.action.toLowerCase()) &&
  matches(wide.resource, narrow.resource) &&
  (wide.condition === '' || wide.condition === narrow.condition);

/** Whether a pattern of a policy, in which * is any text, includes another one. Words of ours are no pattern. */
const matches = (pattern: string, text: string): boolean => {
  if (/^(all but|do what|what) /.test(pattern)) return pattern === text;
  const escaped = pattern.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^${escaped}$`, 's').test(text);
};
