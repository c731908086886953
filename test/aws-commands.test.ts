/** Tests that the AWS CLI would accept each `aws` command in the documents. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { findCommands, problemsOf } from './kit/aws-commands.ts';

const root = path.resolve(import.meta.dirname, '..');
const documents = globSync(['*.md', 'docs/**/*.md', '{bench,client,emulator}/*.md'], { cwd: root });
const commands = documents.flatMap((file) =>
  findCommands(readFileSync(path.join(root, file), 'utf8')).map((command) => [file, command] as const),
);

test('the search finds more than ten `aws` commands in the documents (if it found none, the tests of these commands would pass without testing anything)', () => {
  expect(commands.length).toBeGreaterThan(10);
});

test.each(commands)('the AWS CLI would accept the command that %s contains: %s', (_, command) => {
  expect(problemsOf(command)).toEqual([]);
});

test('no document lists resources with describe-stack-resources, which returns only the first 100', () => {
  expect(commands.filter(([, command]) => command.includes('describe-stack-resources'))).toEqual([]);
});

test('findCommands finds commands in shell blocks and inline code, and joins a command that spans several lines', () => {
  const markdown = [
    'Run `aws logs\nstart-query --query-string x`, not `npx cdk`, nor `awslocal s3 ls`.',
    '```sh',
    'if true; then aws iam list-roles \\',
    '  --path-prefix /; fi',
    '```',
    '```json',
    '{ "aws iam list-users": 1 }',
    '```',
  ].join('\n');
  expect(findCommands(markdown)).toEqual([
    'aws iam list-roles --path-prefix /; fi',
    'aws logs start-query --query-string x',
  ]);
});

describe('problemsOf, which checks an AWS CLI command,', () => {
  test.each([
    'aws dynamodb delete-table --table-name <table>',
    'aws dynamodb delete-table --table-name "<the table>" && echo done',
    'aws dynamodb get-item --table-name <table> --key file://key.json > item.json',
    'aws dynamodb update-table --table-name t --no-deletion-protection-enabled --query Table.TableStatus',
    'aws dynamodb wait table-exists --table-name restored',
    "aws dynamodb list-tables --query \"TableNames[?@=='a' || @=='b']\" --output text 2> failure",
    'aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name s',
    'aws lambda put-function-concurrency --function-name f --reserved-concurrent-executions 0',
    'aws lambda update-alias --function-name f --name live --routing-config AdditionalVersionWeights={}',
    'aws logs test-metric-filter',
    'aws deploy batch-get-deployments --deployment-ids a b',
  ])('finds no problem in: %s', (command) => {
    expect(problemsOf(command)).toEqual([]);
  });

  test.each([
    ['aws dynamo delete-table', 'aws dynamo: add its client to test/kit/aws-commands.ts'],
    ['aws dynamodb remove-table --table-name t', 'aws dynamodb has no command remove-table'],
    ['aws dynamodb delete-table --name t', '--name is not an option', '--table-name is missing'],
    ['aws dynamodb delete-table --table-name', '--table-name needs a value'],
    ['aws dynamodb delete-table --table-name a b', '--table-name takes one value'],
    ['aws dynamodb delete-table t --table-name t', 't is not an option'],
    [
      'aws dynamodb update-table --table-name t --deletion-protection-enabled false',
      '--deletion-protection-enabled takes no value',
    ],
    ['aws dynamodb update-table --table-name t --no-billing-mode', '--no-billing-mode is not an option'],
    [
      'aws dynamodb restore-table-to-point-in-time --target-table-name t --restore-date-time today',
      '--restore-date-time needs a time',
    ],
    [
      'aws lambda put-function-concurrency --function-name f --reserved-concurrent-executions none',
      '--reserved-concurrent-executions needs a number',
    ],
    [
      'aws lambda update-alias --function-name f --name live --routing-config Weights={}',
      '--routing-config needs one of AdditionalVersionWeights',
    ],
    ['aws dynamodb wait table-ready --table-name t', 'there is no waiter table-ready'],
    ['aws dynamodb wait table-exists --name t', 'no operation has the options --name t'],
  ])('finds exactly the problems of the faulty command: %s', (command, ...problems) => {
    expect(problemsOf(command)).toEqual(problems);
  });
});
