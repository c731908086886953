/** Reads from a template what a function's role allows in DynamoDB. */
import type { FunctionSpec, Statement } from '../served-stack.ts';
import { managedPolicyArn, roleArn, roleName } from './names.ts';
import type { Resource } from './resource.ts';
import type { Resources } from './resources.ts';
import { namesIn, own } from './template.ts';

type PolicyHolder = Resource<'AWS::IAM::Role' | 'AWS::IAM::Policy' | 'AWS::IAM::ManagedPolicy'>;

type RoleSpec = Pick<FunctionSpec, 'role' | 'boundary' | 'roleName'>;

const allow = (...names: string[]): Statement[] => [
  { effect: 'Allow', actions: names.map((name) => `dynamodb:${name}`), resources: ['*'] },
];

/**
 * What managed policies of AWS allow in DynamoDB, by their names:
 * https://docs.aws.amazon.com/aws-managed-policy/latest/reference/policy-list.html
 */
const awsManaged: Record<string, Statement[]> = {
  AdministratorAccess: allow('*'),
  AmazonDynamoDBFullAccess: allow('*'),
  AmazonDynamoDBFullAccess_v2: allow('*'),
  AmazonDynamoDBReadOnlyAccess: allow('BatchGetItem', 'Describe*', 'GetItem', 'List*', 'Query', 'Scan'),
};

/** Managed policies of AWS that allow nothing in DynamoDB, or nothing but its streams, which are missing here. */
const managedForOthers: ReadonlySet<string> = new Set(
  namesIn(`
    AmazonS3FullAccess AmazonS3ReadOnlyAccess AmazonSNSFullAccess AmazonSQSFullAccess AmazonSSMReadOnlyAccess
    AWSXRayDaemonWriteAccess CloudWatchLambdaInsightsExecutionRolePolicy
    service-role/AWSLambdaBasicExecutionRole service-role/AWSLambdaDynamoDBExecutionRole
    service-role/AWSLambdaKinesisExecutionRole service-role/AWSLambdaSQSQueueExecutionRole
    service-role/AWSLambdaVPCAccessExecutionRole`),
);

/**
 * The statements about DynamoDB in all policies of the function's role: inline policies, policies that list the role,
 * and managed policies that the role lists. A permissions boundary limits what they allow.
 */
export const readPolicies = (fn: Resource<'AWS::Lambda::Function'>, resources: Resources): RoleSpec => {
  const arn = fn.text('Role');
  const role = resources.ofType('AWS::IAM::Role').find((each) => roleArn(each) === arn);
  if (role === undefined) {
    fn.leaveOut(`Role ${arn}`, 'its policies are not in the template, so it allows nothing in the embedded store');
    return { role: [], roleName: arn.replace(/.*\//, '') };
  }
  role.mustBeServed();
  role.text('RoleName', '', /^[\w+=,.@-]{1,64}$/);

  const inline = [role.raw('Policies') ?? []].flat().flatMap((policy, index) => {
    const path = `Policies.${index}`;
    const { PolicyDocument: document } = role.fields(path, policy, ['PolicyDocument', 'PolicyName']);
    return readDocument(role, `${path}.PolicyDocument`, document);
  });
  const managed = role
    .texts('ManagedPolicyArns')
    .flatMap((each) => readManaged(role, 'managed policy', each, resources) ?? []);
  const attached = resources
    .ofType('AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy')
    .filter((policy) => policy.list('Roles').includes(roleName(role)))
    .flatMap(readPolicy);
  // https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html
  const limit = role.text('PermissionsBoundary', '');
  const boundary = limit === '' ? undefined : readManaged(role, 'PermissionsBoundary', limit, resources);
  return { role: [...inline, ...managed, ...attached], roleName: roleName(role), ...(boundary && { boundary }) };
};

/** The statements of a managed policy. If it is neither in the template nor on the list above, leaves it out. */
const readManaged = (
  role: Resource<'AWS::IAM::Role'>,
  part: string,
  arn: string,
  resources: Resources,
): Statement[] | undefined => {
  const policy = resources.ofType('AWS::IAM::ManagedPolicy').find((each) => managedPolicyArn(each) === arn);
  const name = arn.replace(/^arn:aws:iam::aws:policy\//, '');
  const ofAws = managedForOthers.has(name) ? [] : own(awsManaged, name);
  const statements = policy ? readPolicy(policy) : ofAws;
  if (statements === undefined)
    role.leaveOut(`${part} ${arn}`, 'it is unknown here, so it has no effect in the embedded store');
  return statements;
};

const readPolicy = (policy: Resource<'AWS::IAM::Policy' | 'AWS::IAM::ManagedPolicy'>): Statement[] => {
  policy.mustBeServed();
  return readDocument(policy, 'PolicyDocument', policy.raw('PolicyDocument'));
};

const readDocument = (holder: PolicyHolder, path: string, document: unknown): Statement[] => {
  const { Statement: statements } = holder.fields(path, document, ['Version', 'Id', 'Statement']);
  return [statements]
    .flat()
    .flatMap((statement, index) => readStatement(holder, `${path}.Statement.${index}`, statement));
};

/**
 * Reads one statement of a policy. Returns an empty list for a statement that is only about other services than
 * DynamoDB: such statements are not evaluated, because they may refer to resources that the emulator does not know.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_statement.html
 */
const readStatement = (holder: PolicyHolder, path: string, statement: unknown): Statement[] => {
  const { Action, NotAction } = holder.object(path, statement);
  const texts = (name: string, value: unknown) =>
    holder.textsIn(`${path}.${name}`, [holder.evaluate(`${path}.${name}`, value)].flat());
  const actions = texts('Action', Action ?? []);
  if (NotAction === undefined && !actions.some((action) => /^(\*$|\*:|dynamodb:)/i.test(action))) return [];
  const fields = holder.fields(path, statement, ['Sid', 'Effect', 'Action', 'Resource']);
  if (fields.Effect !== 'Allow' && fields.Effect !== 'Deny') {
    throw holder.refuse(`its ${path}.Effect is neither Allow nor Deny`, 'Set it to one of them.');
  }
  const resources = texts('Resource', fields.Resource);
  const [variable] = /\$\{[^}]*\}/.exec(resources.join()) ?? [];
  if (variable !== undefined) {
    throw holder.refuse(`its ${path}.Resource has a policy variable, ${variable}`);
  }
  return [{ effect: fields.Effect, actions, resources }];
};
