import { fullDiff, ResourceImpact } from '@aws-cdk/cloudformation-diff';
import { type Finding, isLate, type Resource, type StackTemplate, textOf, withDefinitions } from './template.ts';

/**
 * Resources that no new resource can replace, because they hold items or have a name, address or secret that clients
 * use.
 */
const irreplaceable = new RegExp(
  `^AWS::(${[
    'DynamoDB::(Global)?Table',
    'Cognito::UserPool(Client|Domain)?',
    'ApiGatewayV2::(Api|ApiMapping|DomainName)',
    'Route53::RecordSet(Group)?',
  ].join('|')})$`,
);

/** Resources that a deployment may leave behind: older versions of functions, and what these are permitted to do. */
const superseded = /^AWS::(Lambda::Version|IAM::(Role|Policy))$/;

/**
 * Returns whether a resource must not be lost, because it is irreplaceable or because it outlives its stack. If
 * only a deployment evaluates the policy, the resource may outlive its stack.
 */
const isKept = ({ Type, DeletionPolicy = '' }: Resource): boolean =>
  irreplaceable.test(Type) || typeof DeletionPolicy !== 'string' || /^(Retain|Snapshot)/.test(DeletionPolicy);

const losses: Partial<Record<ResourceImpact, string>> = {
  [ResourceImpact.WILL_REPLACE]: 'would be replaced by a new one',
  [ResourceImpact.MAY_REPLACE]: 'might be replaced by a new one',
  [ResourceImpact.WILL_DESTROY]: 'would be deleted',
  [ResourceImpact.WILL_ORPHAN]: 'would stay behind without a stack',
};

/** What protects a whole resource, or a table's replica in one region. A text may stand for a boolean or a number. */
type Part = {
  DeletionProtectionEnabled?: unknown;
  DeletionProtection?: unknown;
  PointInTimeRecoverySpecification?: { PointInTimeRecoveryEnabled?: unknown; RecoveryPeriodInDays?: unknown };
};

type Properties = Part & {
  Replicas?: (Part & { Region?: unknown })[];
  RetentionInDays?: unknown;
  TimeToLiveSpecification?: { Enabled?: unknown };
};

const isOn = (value: unknown): boolean => value === true || value === 'true';

const isRetained = (policy: unknown = ''): number => Number(/^(Retain|Snapshot)/.test(String(policy)));

/** Each protection with the number of days that it covers. One without days counts as 1 if it is on, else as 0. */
const protectionsOf = (resource: Resource): Map<string, number> => {
  const properties: Properties = resource.Properties ?? {};
  const { Replicas = [], RetentionInDays = Number.POSITIVE_INFINITY } = properties;
  const replicas = [Replicas].flat().map((each): [string, Part] => [` in ${textOf(each.Region)}`, each]);
  const ofParts = [['', properties] as const, ...replicas].flatMap(([where, part]): [string, number][] => {
    const { PointInTimeRecoveryEnabled, RecoveryPeriodInDays = 35 } = part.PointInTimeRecoverySpecification ?? {};
    const isProtected = isOn(part.DeletionProtectionEnabled) || part.DeletionProtection === 'ACTIVE';
    return [
      [`replica${where}`, 1],
      [`deletion protection${where}`, Number(isProtected)],
      [`point-in-time recovery${where}`, isOn(PointInTimeRecoveryEnabled) ? Number(RecoveryPeriodInDays) : 0],
    ];
  });
  return new Map([
    ['DeletionPolicy', isRetained(resource.DeletionPolicy)],
    ['UpdateReplacePolicy', isRetained(resource.UpdateReplacePolicy)],
    ['retention', Number(RetentionInDays)],
    ...ofParts,
  ]);
};

const hasExpiry = ({ Properties = {} }: Resource): boolean =>
  isOn((Properties as Properties).TimeToLiveSpecification?.Enabled);

/** What decides how well a resource is protected, besides whether it exists. */
const guards = ['DeletionPolicy', 'UpdateReplacePolicy'] as const;
const guardingProperties = [
  ...['DeletionProtectionEnabled', 'DeletionProtection', 'PointInTimeRecoverySpecification', 'Replicas'],
  ...['RetentionInDays', 'TimeToLiveSpecification'],
];

const guardsOf = ({ Properties = {}, ...attributes }: Resource): [name: string, value: unknown][] => [
  ...guards.map((name): [string, unknown] => [name, attributes[name]]),
  ...guardingProperties.map((name): [string, unknown] => [name, Properties[name]]),
];

const isChanged = (then: unknown, now: unknown): boolean => JSON.stringify(then) !== JSON.stringify(now);

/** Leaves out what only a deployment evaluates. */
const literal = (resource: Resource): Resource => {
  const late = guardsOf(resource).flatMap(([name, value]) => (isLate(value) ? [[name, undefined]] : []));
  const unset: object = Object.fromEntries(late);
  return { ...resource, ...unset, Properties: { ...resource.Properties, ...unset } };
};

const weakened = (before: Resource, after: Resource): string[] => {
  const values = new Map(guardsOf(before));
  const late = guardsOf(after).filter(
    ([name, value]) => isChanged(values.get(name), value) && (isLate(values.get(name)) || isLate(value)),
  );
  if (late.length > 0)
    return late.map(([name]) => `might be protected less, because only a deployment evaluates its ${name}`);
  const [then, now] = [literal(before), literal(after)];
  const left = protectionsOf(now);
  const weaker = [...protectionsOf(then)].flatMap(([name, days]) => {
    // If a replica is gone, only that is reported, not what protected it.
    const after = left.get(name) ?? (name.startsWith('replica') ? 0 : days);
    if (after >= days) return [];
    if (after === 0) return [`would lose its ${name}`];
    const before = days === Number.POSITIVE_INFINITY ? 'all' : days;
    return [`would have a shorter ${name} (${after} instead of ${before} days)`];
  });
  return [...weaker, ...(hasExpiry(now) && !hasExpiry(then) ? ['would delete items after their time to live'] : [])];
};

/** Finds resources that a deployment would replace, delete, leave behind or protect less. */
export const findLosses = (before: StackTemplate, after: StackTemplate): Finding[] => {
  const [{ Resources: old }, { Resources: own }] = [withDefinitions(before.template), withDefinitions(after.template)];
  const { changes } = fullDiff({ Resources: old }, { Resources: own }).resources;
  const ofResources = Object.entries(old).flatMap(([id, then]) => {
    const now = own[id];
    const change = changes[id];
    if (!isKept(then) || !change) return [];
    const loss = losses[change.changeImpact] ?? (now && losses[impactOnKey(then, now)]);
    const whats = loss === undefined || superseded.test(then.Type) ? now && weakened(then, now) : [loss];
    const isConditional = now?.Condition !== undefined && isChanged(then.Condition, now.Condition);
    const might = isConditional ? ['might be deleted, because only a deployment evaluates its Condition'] : [];
    return [...might, ...(whats ?? [])].map((what) => `${id} (${then.Type}) ${what}.`);
  });
  const macros = macrosIn(after.template);
  const stack = [
    ...(before.isProtected && !after.isProtected ? ['The stack would lose its termination protection.'] : []),
    ...(macros.length > 0 && isChanged(macrosIn(before.template), macros)
      ? [`Macros (${JSON.stringify(macros)}) might change everything when the stack is deployed.`]
      : []),
  ];
  return [...ofResources, ...stack].map((what) => ({ rule: 'loss', what }));
};

/** Lists the macros of a template, and those of parts of it. */
const macrosIn = (value: unknown): unknown[] =>
  value instanceof Object
    ? Object.entries(value).flatMap(([key, inner]) =>
        key === 'Fn::Transform' || (key === 'Transform' && 'Resources' in value) ? [inner].flat() : macrosIn(inner),
      )
    : [];

type Attribute = { AttributeName?: string; AttributeType?: string };

/**
 * What a change of its keys' types does to a table. CloudFormation then replaces the table, but CDK's diff does not say
 * so. https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-globaltable.html
 */
const impactOnKey = (then: Resource, now: Resource): ResourceImpact => {
  const [before, after] = [then, now].map(({ Properties }) => Properties?.['AttributeDefinitions'] ?? []);
  if (!isChanged(before, after)) return ResourceImpact.NO_CHANGE;
  if (isLate(before) || isLate(after)) return ResourceImpact.MAY_REPLACE;
  const isRetyped = (before as Attribute[]).some(({ AttributeName, AttributeType }) =>
    (after as Attribute[]).some(
      (other) => other.AttributeName === AttributeName && other.AttributeType !== AttributeType,
    ),
  );
  return isRetyped ? ResourceImpact.WILL_REPLACE : ResourceImpact.NO_CHANGE;
};
