/** Compares who may do what before and after a change, whichever policy allows it. */
import { type Finding, type Resource, type Template, textOf } from './template.ts';

/** One action that a policy allows or denies. `condition` is empty if the policy has no condition. */
type Permission = { effect: string; who: string; action: string; resource: string; condition: string };

type Statement = Record<'Effect' | 'Principal' | 'Action' | 'Resource' | 'Condition', unknown>;

/** Finds the permissions that somebody would have after the change and does not have before it. */
export const findPermissions = (before: Template, after: Template): Finding[] => {
  const [then, now] = [permissionsOf(before), permissionsOf(after)];
  const isCovered = (permission: Permission, by: Permission[]) => by.some((other) => covers(other, permission));
  const added = now.filter((each) => each.effect === 'Allow' && !isCovered(each, then));
  const gone = then.filter((each) => each.effect !== 'Allow' && !isCovered(each, now));
  return [
    ...added.map((permission) => `${sentence(permission, 'may now')}.`),
    ...gone.map((permission) => `${sentence(permission, 'is no longer denied')}.`),
  ].map((what) => ({ rule: 'iam', what }));
};

const sentence = ({ who, action, resource, condition }: Permission, may: string): string =>
  `${who} ${may} ${action} on ${resource}${condition && ` if ${condition}`}`;

const permissionsOf = (template: Template): Permission[] =>
  Object.entries(template.Resources).flatMap(([id, resource]) => [
    ...statementsIn(resource.Properties).flatMap((statement) => expanded(statement, id, resource)),
    ...managedPolicies(id, resource),
    ...(/^AWS::Lambda::(LayerVersion)?Permission$/.test(resource.Type) ? [ofPermission(resource)] : []),
  ]);

/** Finds the statements of policies in any property of any resource. */
const statementsIn = (value: unknown): Statement[] => {
  if (!(value instanceof Object)) return [];
  const { Statement: found, ...others } = value as { Statement?: Statement | Statement[] };
  return [...(found === undefined ? [] : [found].flat()), ...Object.values(others).flatMap(statementsIn)];
};

/** Lists the permissions of a statement: each action, on each resource, for everyone to whom the policy applies. */
const expanded = (statement: Statement, id: string, { Properties = {} }: Resource): Permission[] => {
  const holders = ['Roles', 'Users', 'Groups'].flatMap((kind) => (Properties[kind] ?? []) as unknown[]);
  const named = listOf(statement, 'Principal');
  const principals = named.length > 0 ? named : (holders.length > 0 ? holders : [id]).map(textOf);
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

/** Returns a statement's values for a key such as `Action`, or `all but` those of its opposite, `NotAction`. */
const listOf = (statement: Statement, key: 'Principal' | 'Action' | 'Resource'): string[] => {
  const others = (statement as Record<string, unknown>)[`Not${key}`];
  if (others !== undefined) return [`all but ${JSON.stringify(others)}`];
  const value = statement[key];
  if (key !== 'Principal' || !(value instanceof Object)) return value === undefined ? [] : [value].flat().map(textOf);
  return Object.entries(value).flatMap(([kind, each]) => [each].flat().map((name) => `${kind} ${textOf(name)}`));
};

const managedPolicies = (id: string, { Properties }: Resource): Permission[] =>
  [Properties?.['ManagedPolicyArns'] ?? []].flat().map((policy) => ({
    ...{ effect: 'Allow', who: id, action: `do what ${textOf(policy)} allows` },
    ...{ resource: 'any resource', condition: '' },
  }));

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

/** Whether a pattern of a policy, in which * is any text, includes another one. */
const matches = (pattern: string, text: string): boolean => {
  const escaped = pattern.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^${escaped}$`, 's').test(text);
};
