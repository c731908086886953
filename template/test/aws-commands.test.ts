/**
 * Tests that the AWS CLI would accept each `aws` command in the documents, by the clients of the AWS SDK, which AWS
 * makes from the same models as the CLI.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as apigatewayv2 from '@aws-sdk/client-apigatewayv2';
import * as cloudformation from '@aws-sdk/client-cloudformation';
import * as cloudwatch from '@aws-sdk/client-cloudwatch';
import * as logs from '@aws-sdk/client-cloudwatch-logs';
import * as codedeploy from '@aws-sdk/client-codedeploy';
import * as cognito from '@aws-sdk/client-cognito-identity-provider';
import * as dynamodb from '@aws-sdk/client-dynamodb';
import * as iam from '@aws-sdk/client-iam';
import * as lambda from '@aws-sdk/client-lambda';
import { NormalizedSchema } from '@smithy/core/schema';
import { expect, test } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');

/** The SDK client for each service, by the name of the service in the AWS CLI. */
const clients: Record<string, Record<string, unknown>> = {
  apigatewayv2,
  cloudformation,
  cloudwatch,
  'cognito-idp': cognito,
  deploy: codedeploy,
  dynamodb,
  iam,
  lambda,
  logs,
};

/** Options that every AWS CLI command has. */
const globalOptions = ['no-cli-pager', 'output', 'profile', 'query', 'region'];

/** Finds the `aws` commands in the shell blocks and the inline code of a Markdown document. */
const findCommands = (markdown: string): string[] => {
  const blocks = [...markdown.matchAll(/^ *```(?:sh|bash)\n(.*?)^ *```/gms)].map(([, code = '']) => code);
  const inline = [...markdown.replaceAll(/^ *```.*?^ *```/gms, '').matchAll(/`(aws [^`]+)`/g)].map(([, code = '']) =>
    code.replaceAll(/\s+/g, ' '),
  );
  const lines = [...blocks, ...inline].flatMap((code) => code.replaceAll(/\s*\\\n\s*/g, ' ').split('\n'));
  return lines.flatMap((line) => [...line.matchAll(/(?<![\w./-])aws [a-z].*/g)].map(([command]) => command));
};

/** Splits a command into words as a shell does, up to the first operator, such as `&&`. */
const wordsOf = (command: string): string[] => {
  const text = command.replaceAll(/<[a-z][^<>\n]*>/gi, 'PLACEHOLDER');
  const words = [...text.matchAll(/\d?[<>]|[|;&()]|(?:'[^']*'|"[^"]*"|[^\s'"|;&()<>])+/g)].map(([word]) => word);
  const end = words.findIndex((word) => /^(?:\d?[<>]|[|;&()])$/.test(word));
  return words.slice(0, end === -1 ? undefined : end).map((word) => word.replaceAll(/['"]/g, ''));
};

/** Spells a name as the AWS CLI does: CreateOpenIDConnectProvider becomes create-open-id-connect-provider. */
const kebab = (name: string): string =>
  name
    .replaceAll(/(.)([A-Z][a-z]+)/g, '$1-$2')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase();

/** The number with which the SDK's schema of an operation begins: [9, namespace, name, traits, input, output]. */
const operationKind = 9;

/** Returns the options of a service's command, and which of them are required. */
const optionsOf = (client: Record<string, unknown>, command: string) => {
  const operation = Object.values(client).find(
    (value): value is unknown[] =>
      Array.isArray(value) && value[0] === operationKind && kebab(String(value[2])) === command,
  );
  if (operation === undefined) return undefined;
  const schema = NormalizedSchema.of(operation[4] as Parameters<typeof NormalizedSchema.of>[0]);
  const fields = schema.isStructSchema() ? [...schema.structIterator()] : [];
  const known = fields.flatMap(([name, field]) =>
    field.isBooleanSchema() ? [kebab(name), `no-${kebab(name)}`] : [kebab(name)],
  );
  // The seventh element of a structure's schema is the number of required fields, which come before the optional ones.
  const [, , , , , , required = 0] = schema.getSchema() as unknown as [...never[], number];
  return { known, required: fields.slice(0, required).map(([name]) => kebab(name)) };
};

/** Returns what is wrong with a command: an empty list if the AWS CLI would accept the command. */
const problemsOf = (command: string): string[] => {
  const [, service = '', name = '', ...words] = wordsOf(command);
  const client = clients[service];
  if (client === undefined) return [`aws ${service}: add its client to template/test/aws-commands.test.ts`];
  const waiter = `wait-until-${words[0]}`;
  if (name === 'wait') return Object.keys(client).some((key) => kebab(key) === waiter) ? [] : [`no ${waiter}`];
  const options = optionsOf(client, name);
  if (options === undefined) return [`aws ${service} has no command ${name}`];
  // A sentence may name a command and leave its options out.
  if (words.length === 0) return [];
  const given = words.filter((word) => word.startsWith('--')).map((word) => word.slice(2));
  const unknown = given.filter((option) => !globalOptions.includes(option) && !options.known.includes(option));
  const missing = options.required.filter((option) => !given.includes(option) && !given.includes(`no-${option}`));
  return [
    ...unknown.map((option) => `--${option} is not an option`),
    ...missing.map((option) => `--${option} is missing`),
  ];
};

const documents = globSync(['*.md', '.github/*.md', 'docs/**/*.md', 'packages/*/*.md', 'template/prove/*.md'], {
  cwd: root,
});
const commands = documents.flatMap((file) =>
  findCommands(readFileSync(path.join(root, file), 'utf8')).map((command) => [file, command] as const),
);

test.each(commands)('the AWS CLI would accept the command that %s contains: %s', (_, command) => {
  expect(problemsOf(command)).toEqual([]);
});

test('the check of `aws` commands finds commands, and what is wrong with one', () => {
  expect(commands.length).toBeGreaterThan(5);
  const command = 'aws dynamodb delete-table --name t \\\n  --region r && echo';
  expect(findCommands(`\`\`\`sh\n${command}\n\`\`\``).map(problemsOf)).toEqual([
    ['--name is not an option', '--table-name is missing'],
  ]);
});
