/** Tests that infra/deployment-policy.json allows all that deployments need, and no way to more. */
import { readFileSync } from 'node:fs';
import { Template as StackTemplate } from 'aws-cdk-lib/assertions';
import { readPolicy } from 'http-api-emulator/testing';
import { describe, expect, inject, test } from 'vitest';
import { type Handlers, handlers as known, names } from '../../stack/handler-permissions.ts';
import { combinations } from '../../stack/settings.ts';
import { withStack } from '../../stack/stacks.ts';
import { propertiesOf, resolver, type Template } from '../../stack/template.ts';

/** For each resource type, what its handlers need. A team's own types are added. */
const handlers: Record<string, Handlers[string]> = { ...known };

const service = inject('stackName');
/** As docs/deploy.md names the policy. */
const policyName = `${service}Deployment`;

type Statement = {
  Sid: string;
  Effect: string;
  Action: string | string[];
  Resource: string | string[];
  Condition?: object;
};

const policy: { Statement: Statement[] } = JSON.parse(readFileSync('infra/deployment-policy.json', 'utf8'));

/** The role with which CloudFormation deploys, as `cdk bootstrap` names it. */
const deploying = 'arn:*:iam::*:role/cdk-*-cfn-exec-role-*';
/** Whether only that role may use what has no name of the service. Services that were made before have no such limit. */
const isLimited = JSON.stringify(policy).includes(deploying);
const onlyDeploying = isLimited ? { ArnLike: { 'aws:PrincipalArn': deploying } } : {};
const isOfCloudFormation = ({ Condition }: Statement): boolean =>
  Object(Object(Condition).ArnLike)['aws:PrincipalArn'] === deploying;

/** Ignores conditions. Tests below list them. */
const deciderOf = (statements: Statement[]) => {
  const decide = readPolicy(
    statements.map(({ Action, Resource }) => ({
      effect: 'Allow',
      actions: [Action].flat(),
      resources: [Resource].flat(),
    })),
  );
  return (action: string, resource: string): boolean => decide(action, resource) === 'allowed';
};
const isAllowed = deciderOf(policy.Statement);
/** Whether the policy allows it as the boundary of a role that the stack makes. */
const isAllowedToRoles = deciderOf(policy.Statement.filter((each) => !isOfCloudFormation(each)));

type Stack = Template & { name: string };

const stacks = combinations.map(({ context }) =>
  withStack({ ...context, permissionsBoundary: policyName }, (stack): Stack => {
    const template = StackTemplate.fromStack(stack).toJSON() as Template;
    return { ...template, name: stack.stackName };
  }),
);

/** A stack with only this resource. */
const stackWith = (Type: string, Properties = {}): Stack => ({
  ...{ name: `${service}-dev`, Resources: { Some: { Type, Properties } }, Outputs: {} },
});

const pseudoParameters: Record<string, string> = {
  'AWS::AccountId': 'ACCOUNT',
  'AWS::Partition': 'aws',
  'AWS::Region': 'REGION',
};

/** Resolves the names and ARNs in a stack's template as CloudFormation does. */
const textIn = (stack: Stack, value: unknown): string =>
  resolver((id, attribute) => {
    const isArn = attribute !== undefined || stack.Resources[id]?.Type === 'AWS::Lambda::Version';
    return isArn ? arnOf(stack, id) : (pseudoParameters[id] ?? nameOf(stack, id));
  })(value);

const nameOf = (stack: Stack, id: string): string => {
  const { Type, Properties = {} } = stack.Resources[id] ?? { Type: '' };
  const given = names[Type]?.split('.').reduce((inner: unknown, key) => Object(inner)[key], Properties);
  return given === undefined ? `${stack.name}-${id.slice(0, 24)}-1A2B3C4D5E6F` : textIn(stack, given);
};

const filled = (pattern: string, stack: Stack, id: string): string => {
  const path = textIn(stack, stack.Resources[id]?.Properties?.['Path'] ?? '/');
  return pattern.replaceAll('{name}', nameOf(stack, id)).replace('{path}', path);
};

/** The handlers' first permission is on the resource itself. */
const arnOf = (stack: Stack, id: string): string => {
  const needs = handlers[stack.Resources[id]?.Type ?? ''] ?? {};
  return filled(Object.keys(needs)[0] ?? id, stack, id);
};

/** Lists what CloudFormation needs for a resource, but may not do. */
const lackingFor = (stack: Stack, id: string): string[] => {
  const { Type = '' } = stack.Resources[id] ?? {};
  const { [Type]: needs } = handlers;
  if (needs === undefined)
    return [`${Type} is unknown: say in testPermissions what it needs, { types: { '${Type}': … } }.`];
  return Object.entries(needs).flatMap(([pattern, actions]) => {
    const arn = filled(pattern, stack, id);
    return actions.split(', ').flatMap((some) => {
      const [service, ...names] = some.split(' ');
      const lacking = names.filter((action) => !isAllowed(`${service}:${action}`, arn));
      return lacking.map((action) => `${Type} needs ${service}:${action} on ${arn}.`);
    });
  });
};

export const testDeploymentPolicy = (types: Handlers = {}) =>
  describe('the policy for deployments', () => {
    Object.assign(handlers, types);

    test('allows what CloudFormation needs for every resource of every stack', () => {
      const lacking = stacks.flatMap((stack) => Object.keys(stack.Resources).flatMap((id) => lackingFor(stack, id)));
      const advice = 'Add these to infra/deployment-policy.json, and update the policy: docs/deploy.md.';
      expect([...new Set(lacking)], advice).toEqual([]);
    });

    test.each(Object.keys(handlers))('allows what CloudFormation needs for a resource of the type %s', (Type) => {
      expect(lackingFor(stackWith(Type), 'Some')).toEqual([]);
    });

    test('tells a team what a new type or name needs', () => {
      expect(lackingFor(stackWith('AWS::Lambda::Function', { FunctionName: 'other' }), 'Some')).toContain(
        'AWS::Lambda::Function needs lambda:CreateFunction on arn:aws:lambda:REGION:ACCOUNT:function:other.',
      );
      expect(lackingFor(stackWith('Some::New::Type'), 'Some')).toEqual([
        "Some::New::Type is unknown: say in testPermissions what it needs, { types: { 'Some::New::Type': … } }.",
      ]);
    });

    const { Condition: passing } = policy.Statement.find(({ Sid }) => Sid === 'RolesToServices') ?? {};
    const passedTo: string[] = Object(passing).StringEquals['iam:PassedToService'];

    test('allows what the roles of every stack allow, so that it can be their boundary; and every role has it', () => {
      const beyond = stacks.flatMap((stack) => {
        const roles = Object.values(propertiesOf('AWS::IAM::Role', stack));
        const separate = Object.values(propertiesOf('AWS::IAM::Policy', stack));
        for (const { PermissionsBoundary, AssumeRolePolicyDocument } of roles) {
          expect(textIn(stack, PermissionsBoundary)).toBe(`arn:aws:iam::ACCOUNT:policy/${policyName}`);
          for (const { Principal } of Object(AssumeRolePolicyDocument).Statement)
            expect(passedTo, 'Add the service to RolesToServices in the policy.').toContain(Principal.Service);
        }
        const policies = [...roles.flatMap(({ Policies = [] }) => Policies), ...separate];
        return policies.map(Object).flatMap(({ PolicyDocument }) =>
          PolicyDocument.Statement.flatMap(({ Action, Resource }: { Action: string | string[]; Resource: unknown }) => {
            const resources = [Resource].flat().map((each) => textIn(stack, each));
            const lacking = [Action]
              .flat()
              .filter((action) => !resources.every((each) => isAllowedToRoles(action, each)));
            return lacking.map((action) => `${action} on ${resources}`);
          }),
        );
      });
      expect([...new Set(beyond)]).toEqual([]);
    });

    test('makes roles only with itself as their boundary, and passes them only to the services that it names', () => {
      const powerful = policy.Statement.filter(({ Action }) =>
        /\biam:(Attach|Create|Pass|Put|.*\*)/.test(String(Action)),
      );
      expect(powerful.map(({ Condition }) => Condition)).toEqual([
        {
          ArnLike: { ...onlyDeploying.ArnLike, 'iam:PermissionsBoundary': `arn:*:iam::*:policy/${policyName}` },
        },
        { ...onlyDeploying, StringEquals: { 'iam:PassedToService': passedTo } },
        { ...onlyDeploying, StringEquals: { 'iam:AWSServiceName': 'ops.apigateway.amazonaws.com' } },
      ]);
      expect(policy.Statement.map(({ Effect }) => Effect)).toEqual(policy.Statement.map(() => 'Allow'));
    });

    test('changes only A records, and event sources only of its functions; it allows all of a service only by name', () => {
      const bySid = Object.fromEntries(policy.Statement.map((each) => [each.Sid, each]));
      expect(bySid['AddressRecords']?.Condition).toEqual({
        ...onlyDeploying,
        'ForAllValues:StringEquals': { 'route53:ChangeResourceRecordSetsRecordTypes': ['A'] },
      });
      expect(bySid['EventsForFunctions']?.Condition).toEqual({
        ArnLike: { ...onlyDeploying.ArnLike, 'lambda:FunctionArn': `arn:*:lambda:*:*:function:${service}-*` },
      });
      const whole = policy.Statement.map(({ Sid, Action }) => [
        Sid,
        [Action].flat().filter((each) => each.endsWith(':*')),
      ]);
      expect(Object.fromEntries(whole.slice(1).filter(([, actions]) => actions?.length))).toEqual({
        WithoutNames: ['apigateway:*'],
      });
      expect(bySid['OfThisService']?.Resource).toEqual(
        [bySid['OfThisService']?.Resource]
          .flat()
          .filter((each) => new RegExp(`[:/]${service}-\\*$`).test(String(each))),
      );
    });

    test.each([
      // Whoever may do one of these could become an administrator.
      ['iam:AttachRolePolicy', `arn:aws:iam::ACCOUNT:role/${service}-Some`],
      ['iam:DeleteRolePermissionsBoundary', `arn:aws:iam::ACCOUNT:role/${service}-Some`],
      ['iam:CreatePolicyVersion', `arn:aws:iam::ACCOUNT:policy/${policyName}`],
      ['iam:CreateUser', `arn:aws:iam::ACCOUNT:user/${service}-Some`],
      ['iam:PutRolePolicy', 'arn:aws:iam::ACCOUNT:role/Some'],
      ['iam:PassRole', 'arn:aws:iam::ACCOUNT:role/Some'],
      ['lambda:UpdateFunctionCode', 'arn:aws:lambda:REGION:ACCOUNT:function:Some'],
      ['sts:AssumeRole', 'arn:aws:iam::ACCOUNT:role/cdk-hnb659fds-deploy-role-ACCOUNT-REGION'],
      // GitHub must not widen what it may do itself.
      ['iam:PutRolePolicy', `arn:aws:iam::ACCOUNT:role/${service}GitHub-Prod-1A2B3C4D5E6F`],
      ['iam:UpdateAssumeRolePolicy', `arn:aws:iam::ACCOUNT:role/${service}GitHub-Prod-1A2B3C4D5E6F`],
      // Other services keep what they have.
      ['dynamodb:DeleteTable', 'arn:aws:dynamodb:REGION:ACCOUNT:table/Some'],
      ['kms:Decrypt', 'arn:aws:kms:REGION:ACCOUNT:key/ID'],
    ])('does not allow %s on %s', (action, resource) => {
      expect(isAllowed(action, resource)).toBe(false);
    });

    test.each([
      // A function that is taken over, or that a template makes for this, must not reach what others have.
      ['s3:GetObject', 'arn:aws:s3:::cdk-hnb659fds-assets-ACCOUNT-REGION/KEY.zip'],
      ['ssm:GetParameters', 'arn:aws:ssm:REGION:ACCOUNT:parameter/cdk-bootstrap/hnb659fds/version'],
      ['codedeploy:StopDeployment', '*'],
      ['cloudwatch:PutMetricData', '*'],
      ['cloudwatch:PutCompositeAlarm', '*'],
      ['apigateway:DELETE', 'arn:aws:apigateway:REGION::/apis/ID'],
      ['cognito-idp:DeleteUserPool', 'arn:aws:cognito-idp:REGION:ACCOUNT:userpool/ID'],
      ['kms:ScheduleKeyDeletion', 'arn:aws:kms:REGION:ACCOUNT:key/ID'],
      ['logs:DeleteLogDelivery', '*'],
      ['route53:ChangeResourceRecordSets', 'arn:aws:route53:::hostedzone/ID'],
      ['sns:Unsubscribe', '*'],
      ['iam:UpdateAssumeRolePolicy', `arn:aws:iam::ACCOUNT:role/${service}-Some`],
    ])('allows %s on %s to CloudFormation, but to no role of the stack', (action, resource) => {
      expect([isAllowed(action, resource), isAllowedToRoles(action, resource)]).toEqual([true, !isLimited]);
    });

    test('has at most 6,144 characters without white space, as IAM demands', () => {
      expect(JSON.stringify(policy).length).toBeLessThanOrEqual(6_144);
    });
  });
