import { fullDiff, ResourceImpact } from '@aws-cdk/cloudformation-diff';
import type { Resource, StackTemplate, Template } from '../../app.ts';
import { type Finding, isLate, textOf, withDefinitions } from './template.ts';

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

/** Resources that stand for those of another template, which is not compared. */
const nested = /^AWS::CloudFormation::Stack$|::MODULE$/;

/** Resources that a deployment may leave behind: older versions of functions, and what these are permitted to do. */
const superseded = /^AWS::(Lambda::Version|IAM::(Role|Policy))$/;

const isRetained = (policy: unknown): boolean => /^(Retain|Snapshot)/.test(String(policy));

/**
 * Returns whether a resource must not be lost, because it is irreplaceable or because it outlives its stack, or
 * may, if only a deployment evaluates its policy.
 */
const isKept = ({ Type, DeletionPolicy = '' }: Resource): boolean =>
  irreplaceable.test(Type) || nested.test(Type) || isLate(DeletionPolicy) || isRetained(DeletionPolicy);

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

/** A text may stand for a boolean. */
const isOn = (value: unknown): boolean => /^true$/i.test(String(value));

const forEver = Number.POSITIVE_INFINITY;

/** How many days a protection covers. `late` is the text of what only a deployment evaluates. */
type Days = { least: number; most: number; late?: string };

/** Each protection with its days. One without days counts as 1 if it is on, else as 0. */
const protectionsOf = (resource: Resource): Map<string, Days> => {
  const { Type, DeletionPolicy, UpdateReplacePolicy, Properties = {} } = resource;
  const { Replicas = [], RetentionInDays, TimeToLiveSpecification, ...whole }: Properties = Properties;
  const days = (value: unknown, known: number | boolean, most = 1): Days =>
    isLate(value) ? { least: 0, most, late: JSON.stringify(value) } : { least: Number(known), most: Number(known) };
  const replicas = [Replicas].flat().map((each): [string, Part] => [` in ${textOf(each.Region ?? each)}`, each]);
  const ofParts = [['', whole] as const, ...replicas].flatMap(([where, part]): [string, Days][] => {
    const { DeletionProtectionEnabled, DeletionProtection, PointInTimeRecoverySpecification = {} } = part;
    const { PointInTimeRecoveryEnabled, RecoveryPeriodInDays = 35 } = PointInTimeRecoverySpecification;
    const isProtected = isOn(DeletionProtectionEnabled) || DeletionProtection === 'ACTIVE';
    const recovery = isOn(PointInTimeRecoveryEnabled) && Number(RecoveryPeriodInDays);
    return [
      [`replica${where}`, days(true, true)],
      [`deletion protection${where}`, days([DeletionProtectionEnabled, DeletionProtection], isProtected)],
      [`point-in-time recovery${where}`, days(PointInTimeRecoverySpecification, recovery, 35)],
    ];
  });
  return new Map([
    ['DeletionPolicy', days(DeletionPolicy, isRetained(DeletionPolicy))],
    ['UpdateReplacePolicy', days(UpdateReplacePolicy, isRetained(UpdateReplacePolicy))],
    ['retention', days(RetentionInDays, Number(RetentionInDays ?? forEver), forEver)],
    ['items after their time to live', days(TimeToLiveSpecification, !isOn(TimeToLiveSpecification?.Enabled))],
    ...ofParts,
    ...(nested.test(Type) ? [['resources', { least: 0, most: 1, late: JSON.stringify(Properties) }] as const] : []),
  ]);
};

const isChanged = (then: unknown, now: unknown): boolean => JSON.stringify(then) !== JSON.stringify(now);

const weakened = (then: Resource, now: Resource): string[] => {
  const left = protectionsOf(now);
  return [...protectionsOf(then)].flatMap(([name, before]) => {
    // If a replica is gone, only that is reported, not what protected it.
    const after = left.get(name) ?? (name.startsWith('replica') ? { least: 0, most: 0 } : before);
    if (after.least >= before.most || (before.late && before.late === after.late)) return [];
    if (before.late || after.late) return [`might lose its ${name}, because only a deployment evaluates it`];
    if (after.least === 0) return [`would lose its ${name}`];
    const days = before.most === forEver ? 'all' : before.most;
    return [`would have a shorter ${name} (${after.least} instead of ${days} days)`];
  });
};

/** Finds resources that a deployment would replace, delete, leave behind or protect less. */
export const findLosses = (before: StackTemplate, after: StackTemplate): Finding[] => {
  const [old, own] = [withDefinitions(before.template), withDefinitions(after.template)];
  const { changes } = fullDiff({ Resources: old.Resources }, { Resources: own.Resources }).resources;
  const ofResources = Object.entries(old.Resources).flatMap(([id, then]) => {
    const now = own.Resources[id];
    const change = changes[id];
    if (!isKept(then) || !change) return [];
    const loss = losses[change.changeImpact] ?? (now && losses[impactOnKey(then, now)]);
    const whats = loss === undefined || superseded.test(then.Type) ? now && weakened(then, now) : [loss];
    const isConditional = now?.Condition !== undefined && isChanged(then.Condition, now.Condition);
    const might = isConditional ? ['might be deleted, because only a deployment evaluates its Condition'] : [];
    return [...might, ...(whats ?? [])].map((what) => `${id} (${then.Type}) ${what}.`);
  });
  const [macros, others] = [macrosOf(old), macrosOf(own)];
  const [from, to] = [before.environment, after.environment];
  const changed = [...new Map([...macros, ...others]).keys()].filter((at) => macros.get(at) !== others.get(at));
  const stack = [
    ...(before.isProtected && !after.isProtected ? ['The stack would lose its termination protection.'] : []),
    ...(from !== undefined && from !== to
      ? [`The stack would stay behind in ${from}, because the app has it in ${to}.`]
      : []),
    ...changed.map((at) => `${at} might change everything, because only a deployment evaluates it.`),
  ];
  return [...ofResources, ...stack].map((what) => ({ rule: 'loss', what }));
};

const macrosOf = (template: Template) => new Map(macrosIn({ ...template, Outputs: undefined }));

/** Lists where a value has macros and loops, with the text of each. */
const macrosIn = (value: unknown, at = ''): [at: string, text: string][] => {
  if (/^Transform$|Fn::(Transform|ForEach)/.test(at)) return [[at, JSON.stringify(value)]];
  if (!(value instanceof Object)) return [];
  return Object.entries(value).flatMap(([key, inner]) => macrosIn(inner, at === '' ? key : `${at}.${key}`));
};

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
