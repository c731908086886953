import { fullDiff, ResourceImpact } from '@aws-cdk/cloudformation-diff';
import type { Finding, Resource, StackTemplate } from './template.ts';

/** Types of resources whose content nobody can make again: items, and the names and secrets that clients use. */
const irreplaceable = /^AWS::(DynamoDB::(Global)?Table|Cognito::UserPool(Client|Domain)?|ApiGatewayV2::Api)$/;

/** Other resources count if they outlive their stack, except versions of functions, which each deployment replaces. */
const isKept = ({ Type, DeletionPolicy = '' }: Resource): boolean =>
  irreplaceable.test(Type) || (/^(Retain|Snapshot)/.test(DeletionPolicy) && Type !== 'AWS::Lambda::Version');

const losses: Partial<Record<ResourceImpact, string>> = {
  [ResourceImpact.WILL_REPLACE]: 'would be replaced by a new one',
  [ResourceImpact.MAY_REPLACE]: 'might be replaced by a new one',
  [ResourceImpact.WILL_DESTROY]: 'would be deleted',
  [ResourceImpact.WILL_ORPHAN]: 'would stay behind without a stack',
};

const has =
  (pattern: RegExp) =>
  ({ Properties }: Resource): boolean =>
    pattern.test(JSON.stringify(Properties ?? {}));

/** The protections against loss, each with a check of a resource. Tables and user pools have these properties. */
const protections: { name: string; of: (resource: Resource) => boolean }[] = [
  { name: 'DeletionPolicy', of: ({ DeletionPolicy = '' }) => /^(Retain|Snapshot)/.test(DeletionPolicy) },
  { name: 'UpdateReplacePolicy', of: ({ UpdateReplacePolicy = '' }) => /^(Retain|Snapshot)/.test(UpdateReplacePolicy) },
  { name: 'deletion protection', of: has(/"DeletionProtection(Enabled)?":(true|"ACTIVE")/) },
  { name: 'point-in-time recovery', of: has(/"PointInTimeRecoveryEnabled":true/) },
];

/** Finds resources that a deployment would lose, or protect less. */
export const findLosses = (before: StackTemplate, after: StackTemplate): Finding[] => {
  const { changes } = fullDiff(before.template, after.template).resources;
  const ofResources = Object.entries(before.template.Resources).flatMap(([id, then]) => {
    const now = after.template.Resources[id];
    const change = changes[id];
    if (!isKept(then) || !change) return [];
    const loss = losses[change.changeImpact] ?? (now && hasRetypedKey(then, now) ? losses.WILL_REPLACE : undefined);
    const weaker = now && loss === undefined ? protections.filter((each) => each.of(then) && !each.of(now)) : [];
    return [...(loss === undefined ? [] : [loss]), ...weaker.map(({ name }) => `would lose its ${name}`)].map(
      (what) => `${id} (${then.Type}) ${what}.`,
    );
  });
  const stack = before.isProtected && !after.isProtected ? ['The stack would lose its termination protection.'] : [];
  return [...ofResources, ...stack].map((what) => ({ rule: 'loss', what }));
};

type Attribute = { AttributeName?: string; AttributeType?: string };

/**
 * CloudFormation also replaces a table if an attribute of a key gets another type, which CDK's diff does not know.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-globaltable.html
 */
const hasRetypedKey = (then: Resource, now: Resource): boolean => {
  const attributes = ({ Properties }: Resource) => (Properties?.['AttributeDefinitions'] ?? []) as Attribute[];
  return attributes(then).some(({ AttributeName, AttributeType }) =>
    attributes(now).some((other) => other.AttributeName === AttributeName && other.AttributeType !== AttributeType),
  );
};
