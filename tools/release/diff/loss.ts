import { fullDiff, ResourceImpact } from '@aws-cdk/cloudformation-diff';
import { type Finding, type Resource, type StackTemplate, textOf } from './template.ts';

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

/** Returns whether a resource must not be lost, because it is irreplaceable or because it outlives its stack. */
const isKept = ({ Type, DeletionPolicy = '' }: Resource): boolean =>
  irreplaceable.test(Type) || /^(Retain|Snapshot)/.test(DeletionPolicy);

const losses: Partial<Record<ResourceImpact, string>> = {
  [ResourceImpact.WILL_REPLACE]: 'would be replaced by a new one',
  [ResourceImpact.MAY_REPLACE]: 'might be replaced by a new one',
  [ResourceImpact.WILL_DESTROY]: 'would be deleted',
  [ResourceImpact.WILL_ORPHAN]: 'would stay behind without a stack',
};

/** What protects a whole resource, or a table's replica in one region. */
type Part = {
  DeletionProtectionEnabled?: unknown;
  DeletionProtection?: unknown;
  PointInTimeRecoverySpecification?: { PointInTimeRecoveryEnabled?: unknown; RecoveryPeriodInDays?: number };
};

type Properties = Part & { Replicas?: (Part & { Region?: unknown })[]; RetentionInDays?: number };

const isRetained = (policy = ''): number => Number(/^(Retain|Snapshot)/.test(policy));

/** Each protection with the number of days that it covers. One without days counts as 1 if it is on, else as 0. */
const protectionsOf = (resource: Resource): Map<string, number> => {
  const properties: Properties = resource.Properties ?? {};
  const { Replicas = [], RetentionInDays = Number.POSITIVE_INFINITY } = properties;
  const replicas = Replicas.map((each): [string, Part] => [` in ${textOf(each.Region)}`, each]);
  const ofParts = [['', properties] as const, ...replicas].flatMap(([where, part]): [string, number][] => {
    const { PointInTimeRecoveryEnabled, RecoveryPeriodInDays = 35 } = part.PointInTimeRecoverySpecification ?? {};
    const isProtected = part.DeletionProtectionEnabled === true || part.DeletionProtection === 'ACTIVE';
    return [
      [`replica${where}`, 1],
      [`deletion protection${where}`, Number(isProtected)],
      [`point-in-time recovery${where}`, PointInTimeRecoveryEnabled === true ? RecoveryPeriodInDays : 0],
    ];
  });
  return new Map([
    ['DeletionPolicy', isRetained(resource.DeletionPolicy)],
    ['UpdateReplacePolicy', isRetained(resource.UpdateReplacePolicy)],
    ['retention', Number(RetentionInDays)],
    ...ofParts,
  ]);
};

const hasExpiry = ({ Properties }: Resource): boolean =>
  (Properties?.['TimeToLiveSpecification'] as { Enabled?: unknown } | undefined)?.Enabled === true;

const weakened = (then: Resource, now: Resource): string[] => {
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
  const { changes } = fullDiff(before.template, after.template).resources;
  const ofResources = Object.entries(before.template.Resources).flatMap(([id, then]) => {
    const now = after.template.Resources[id];
    const change = changes[id];
    if (!isKept(then) || !change) return [];
    const loss = losses[change.changeImpact] ?? (now && hasRetypedKey(then, now) ? losses.WILL_REPLACE : undefined);
    const whats = loss === undefined || superseded.test(then.Type) ? now && weakened(then, now) : [loss];
    return (whats ?? []).map((what) => `${id} (${then.Type}) ${what}.`);
  });
  const stack = before.isProtected && !after.isProtected ? ['The stack would lose its termination protection.'] : [];
  return [...ofResources, ...stack].map((what) => ({ rule: 'loss', what }));
};

type Attribute = { AttributeName?: string; AttributeType?: string };

/**
 * Whether a key attribute changes its type. CloudFormation then replaces the table, but CDK's diff does not say so.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-globaltable.html
 */
const hasRetypedKey = (then: Resource, now: Resource): boolean => {
  const attributes = ({ Properties }: Resource) => (Properties?.['AttributeDefinitions'] ?? []) as Attribute[];
  return attributes(then).some(({ AttributeName, AttributeType }) =>
    attributes(now).some((other) => other.AttributeName === AttributeName && other.AttributeType !== AttributeType),
  );
};
