import { describe, expect, test } from 'vitest';
import { findPermissions } from '../../../scripts/diff/permissions.ts';
import type { Template } from '../../../scripts/diff/template.ts';

const table = { 'Fn::GetAtt': ['Table', 'Arn'] };
const allow = (Action: unknown, Resource: unknown, more: object = {}) => ({
  Effect: 'Allow',
  Action,
  Resource,
  ...more,
});

const invoke = {
  Action: 'lambda:InvokeFunction',
  FunctionName: { Ref: 'Live' },
  Principal: 'apigateway.amazonaws.com',
};

/** A role that may read and put items, and a function that an API may invoke. */
const template = ({
  statements = [allow(['dynamodb:GetItem', 'dynamodb:PutItem'], table)] as object[],
  role = {} as object,
  permission = { ...invoke, SourceArn: 'arn:api' } as object,
  more = {} as Template['Resources'],
} = {}): Template => {
  const trust = { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } };
  return {
    Resources: {
      Role: { Type: 'AWS::IAM::Role', Properties: { AssumeRolePolicyDocument: { Statement: [trust] }, ...role } },
      Policy: {
        Type: 'AWS::IAM::Policy',
        Properties: { PolicyDocument: { Statement: statements }, Roles: [{ Ref: 'Role' }] },
      },
      Invoke: { Type: 'AWS::Lambda::Permission', Properties: { ...permission } },
      ...more,
    },
  };
};

type Parts = Parameters<typeof template>[0];

const added = (after: Parts, before: Parts = {}): string[] =>
  findPermissions(template(before), template(after)).map(({ what }) => what);

const trustOf = (...services: string[]) => ({
  AssumeRolePolicyDocument: {
    Statement: { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: services } },
  },
});

const onlyOwn = { Condition: { StringEquals: { 'aws:SourceAccount': '1' } } };

describe('a permission is new', () => {
  test.each<[what: string, says: string, after: Parts, before?: Parts]>([
    [
      'a statement has one action more',
      'Role may now dynamodb:DeleteItem on Table.Arn.',
      { statements: [allow(['dynamodb:GetItem', 'dynamodb:DeleteItem'], table)] },
    ],
    [
      'a statement is for more resources',
      'Role may now dynamodb:GetItem on *.',
      { statements: [allow('dynamodb:GetItem', '*')] },
    ],
    ['an action gets a *', 'Role may now dynamodb:* on Table.Arn.', { statements: [allow('dynamodb:*', table)] }],
    [
      'a condition is removed',
      'Role may now dynamodb:GetItem on Table.Arn.',
      { statements: [allow('dynamodb:GetItem', table)] },
      { statements: [allow('dynamodb:GetItem', table, onlyOwn)] },
    ],
    [
      'a statement excludes actions',
      'Role may now all but "iam:PassRole" on *.',
      { statements: [{ Effect: 'Allow', NotAction: 'iam:PassRole', Resource: '*' }] },
    ],
    [
      'a statement no longer denies',
      'Role is no longer denied dynamodb:Scan on *.',
      {},
      {
        statements: [
          allow(['dynamodb:GetItem', 'dynamodb:PutItem'], table),
          { Effect: 'Deny', Action: 'dynamodb:Scan', Resource: '*' },
        ],
      },
    ],
    [
      'a role gets an inline policy',
      'Role may now s3:GetObject on *.',
      { role: { Policies: [{ PolicyDocument: { Statement: allow('s3:GetObject', '*') } }] } },
    ],
    [
      'the role has a managed policy',
      'Role may now do what arn:aws:iam::aws:policy/AdministratorAccess allows on any resource.',
      { role: { ManagedPolicyArns: ['arn:aws:iam::aws:policy/AdministratorAccess'] } },
    ],
    [
      'somebody else may have the role',
      'Service ec2.amazonaws.com may now sts:AssumeRole on Role.',
      { role: trustOf('ec2.amazonaws.com', 'lambda.amazonaws.com') },
    ],
    [
      'anybody may invoke the function',
      '* may now lambda:InvokeFunction on Live.',
      { permission: { ...invoke, Principal: '*' } },
    ],
    [
      'any API may invoke the function',
      'apigateway.amazonaws.com may now lambda:InvokeFunction on Live.',
      { permission: invoke },
    ],
    [
      'another API may invoke the function',
      'apigateway.amazonaws.com may now lambda:InvokeFunction on Live if SourceArn is arn:other.',
      { permission: { ...invoke, SourceArn: 'arn:other' } },
    ],
    [
      'another role has the policy',
      'Other may now dynamodb:GetItem on Table.Arn.',
      {
        more: {
          Second: {
            Type: 'AWS::IAM::Policy',
            Properties: {
              PolicyDocument: { Statement: [allow('dynamodb:GetItem', table)] },
              Roles: [{ Ref: 'Other' }],
            },
          },
        },
      },
    ],
    [
      'a queue admits everyone',
      '* may now sqs:SendMessage on Queue.',
      {
        more: {
          Queue: {
            Type: 'AWS::SQS::QueuePolicy',
            Properties: {
              PolicyDocument: { Statement: [{ Effect: 'Allow', Principal: '*', Action: 'sqs:SendMessage' }] },
            },
          },
        },
      },
    ],
  ])('if %s', (_, says, after, before) => {
    expect(added(after, before)).toEqual([says]);
  });
});

describe('no permission is new', () => {
  test.each<[what: string, after: Parts, before?: Parts]>([
    ['nothing changes', {}],
    [
      'a statement is split in two',
      { statements: [allow('dynamodb:PutItem', [table]), allow(['dynamodb:GetItem'], table)] },
    ],
    ['an action is removed', { statements: [allow('dynamodb:GetItem', table)] }],
    ['a condition is new', { statements: [allow('dynamodb:GetItem', table, onlyOwn)] }],
    [
      'a * becomes one resource',
      { statements: [allow('s3:GetObject', 'arn:bucket/a')] },
      { statements: [allow('s3:Get*', 'arn:bucket/*')] },
    ],
    ['a statement denies more', { statements: [{ Effect: 'Deny', Action: '*', Resource: '*' }] }],
    [
      'the principals have another order',
      { role: trustOf('b.amazonaws.com', 'a.amazonaws.com') },
      { role: trustOf('a.amazonaws.com', 'b.amazonaws.com') },
    ],
    ['an API is the only one that may invoke', {}, { permission: invoke }],
  ])('if %s', (_, after, before) => {
    expect(added(after, before)).toEqual([]);
  });
});
