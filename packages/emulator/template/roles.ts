/** Reads from a template what a function's role allows in DynamoDB. */
import type { FunctionSpec, Statement } from '../served-stack.ts';
import type { ServedTypes, Values } from './resource-types.ts';
import type { Resource, Resources } from './resources.ts';
import { removeProperty } from './template.ts';

export const roleName = (role: Resource<'AWS::IAM::Role'>): string => role.text('RoleName', role.logicalId);

export const roleArn = (role: Resource<'AWS::IAM::Role'>): string =>
  `arn:aws:iam::${role.account.id}:role/${roleName(role)}`;

export const managedPolicyArn = ({ account, logicalId }: PolicyHolder): string =>
  `arn:aws:iam::${account.id}:policy/${logicalId}`;

export const roleTypes = {
  'AWS::IAM::Role': {
    read: ['AssumeRolePolicyDocument', 'ManagedPolicyArns', 'PermissionsBoundary', 'Policies', 'RoleName'],
    withoutEffect: ['Description', 'MaxSessionDuration', 'Path', 'Tags'],
  },
  'AWS::IAM::Policy': { read: ['PolicyDocument', 'Roles'], withoutEffect: ['Groups', 'PolicyName', 'Users'] },
  'AWS::IAM::ManagedPolicy': {
    read: ['PolicyDocument', 'Roles'],
    withoutEffect: ['Description', 'Groups', 'ManagedPolicyName', 'Path', 'Users'],
  },
} as const satisfies ServedTypes;

export const roleValues: Values = {
  'AWS::IAM::Role': { Ref: roleName, Arn: roleArn },
  'AWS::IAM::ManagedPolicy': { Ref: managedPolicyArn, PolicyArn: managedPolicyArn },
};

type PolicyHolder = Resource<'AWS::IAM::Role' | 'AWS::IAM::Policy' | 'AWS::IAM::ManagedPolicy'>;

type RoleSpec = Pick<FunctionSpec, 'role' | 'roleName'>;

/** AWS managed policies that the emulator accepts in a role, because they allow nothing in DynamoDB. */
const withoutDynamoDb = ['service-role/AWSLambdaBasicExecutionRole', 'AWSXRayDaemonWriteAccess'].map(
  (name) => `arn:aws:iam::aws:policy/${name}`,
);

/**
 * The statements about DynamoDB in all policies of the function's role: inline policies, policies that list the role,
 * and managed policies that the role lists.
 */
export const readPolicies = (fn: Resource<'AWS::Lambda::Function'>, resources: Resources): RoleSpec => {
  const arn = fn.text('Role');
  const role = resources.ofType('AWS::IAM::Role').find((each) => roleArn(each) === arn);
  if (role === undefined)
    throw fn.refuse(`its Role ${arn} is not in the template`, 'Define that role in the same stack.');
  if (role.raw('PermissionsBoundary') !== undefined)
    throw role.refuse('its PermissionsBoundary is not supported', removeProperty);
  mustTrustLambda(role);

  const inline = [role.raw('Policies') ?? []].flat().flatMap((policy, index) => {
    const path = `Policies.${index}`;
    const { PolicyDocument: document } = role.fields(path, policy, ['PolicyDocument', 'PolicyName']);
    return readDocument(role, `${path}.PolicyDocument`, document);
  });

  const ownManaged = resources.ofType('AWS::IAM::ManagedPolicy');
  const arns = role.list('ManagedPolicyArns').map(String);
  const unknown = arns.find(
    (each) => !withoutDynamoDb.includes(each) && !ownManaged.some((own) => managedPolicyArn(own) === each),
  );
  if (unknown !== undefined) {
    const advice = 'Copy its statements into a policy in the same stack.';
    throw role.refuse(`its managed policy ${unknown} is unknown here`, advice);
  }
  const attached = resources
    .ofType('AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy')
    .filter((policy) => policy.list('Roles').includes(roleName(role)) || arns.includes(managedPolicyArn(policy)));
  const statements = attached.flatMap((policy) => readDocument(policy, 'PolicyDocument', policy.raw('PolicyDocument')));
  return { role: [...inline, ...statements], roleName: roleName(role) };
};

/** Checks that Lambda may assume a role: https://docs.aws.amazon.com/lambda/latest/dg/lambda-intro-execution-role.html */
const mustTrustLambda = (role: Resource<'AWS::IAM::Role'>): void => {
  const path = 'AssumeRolePolicyDocument';
  const { Statement: statements } = role.fields(path, role.raw(path) ?? {}, ['Version', 'Id', 'Statement']);
  const about = [statements ?? []]
    .flat()
    .map(Object)
    .filter(({ Action, Principal }) => {
      const service = Principal === '*' ? Principal : Object(Principal).Service;
      const services = [role.evaluate(`${path}.Statement.Principal.Service`, service)].flat();
      const isAssuming = [Action].flat().some((action) => ['sts:AssumeRole', 'sts:*', '*'].includes(action));
      return isAssuming && services.some((each) => each === 'lambda.amazonaws.com' || each === '*');
    });
  const certain = about.filter(({ Condition }) => Condition === undefined).map(({ Effect }) => Effect);
  const isAllowed = certain.includes('Allow');
  const isDenied = certain.includes('Deny');
  if (!isDenied && about.some(({ Effect, Condition }) => Condition && Effect === (isAllowed ? 'Deny' : 'Allow'))) {
    // AWS does not document which condition keys Lambda sends when it assumes a role.
    throw role.refuse(`a Condition in its ${path} decides whether Lambda may assume it`, 'Only AWS can decide that.');
  }
  if (isAllowed && !isDenied) return;
  const advice = 'Allow sts:AssumeRole to the service lambda.amazonaws.com.';
  throw role.refuse(`its ${path} does not let Lambda assume the role`, advice);
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
  const { Action, NotAction } = statement as { Action?: unknown; NotAction?: unknown };
  const actions = [holder.evaluate(`${path}.Action`, Action ?? [])].flat().map(String);
  if (NotAction === undefined && !actions.some((action) => /^(\*$|\*:|dynamodb:)/i.test(action))) return [];
  const fields = holder.fields(path, statement, ['Sid', 'Effect', 'Action', 'Resource']);
  if (fields.Effect !== 'Allow' && fields.Effect !== 'Deny') {
    throw holder.refuse(`its ${path}.Effect is neither Allow nor Deny`, 'Set it to one of them.');
  }
  const resources = [holder.evaluate(`${path}.Resource`, fields.Resource)].flat().map(String);
  const [variable] = /\$\{[^}]*\}/.exec(resources.join()) ?? [];
  if (variable !== undefined) {
    const reason = `its ${path}.Resource has a policy variable, ${variable}`;
    throw holder.refuse(reason, 'Write the resource without policy variables.');
  }
  return [{ effect: fields.Effect, actions, resources }];
};
