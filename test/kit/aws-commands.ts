/** Checks AWS CLI commands against the clients of the AWS SDK, which AWS makes from the same models as the CLI. */
import * as cloudformation from '@aws-sdk/client-cloudformation';
import * as logs from '@aws-sdk/client-cloudwatch-logs';
import * as codedeploy from '@aws-sdk/client-codedeploy';
import * as cognito from '@aws-sdk/client-cognito-identity-provider';
import * as dynamodb from '@aws-sdk/client-dynamodb';
import * as iam from '@aws-sdk/client-iam';
import * as lambda from '@aws-sdk/client-lambda';
import { NormalizedSchema } from '@smithy/core/schema';

/** The SDK client for each service, by the name of the service in the AWS CLI. */
const clients: Record<string, Record<string, unknown>> = {
  cloudformation,
  'cognito-idp': cognito,
  deploy: codedeploy,
  dynamodb,
  iam,
  lambda,
  logs,
};

/** Options that every AWS CLI command has. */
const globalOptions = ['--no-cli-pager', '--output', '--profile', '--query', '--region'];

/**
 * The text with which tests replace a placeholder such as `<TableName>`, for which the reader of a document must fill
 * in a value.
 */
const placeholder = 'PLACEHOLDER';

/** Finds the `aws` commands in the shell blocks and the inline code of a Markdown document. */
export const findCommands = (markdown: string): string[] => {
  const blocks = [...markdown.matchAll(/^ *```(?:sh|bash)\n(.*?)^ *```/gms)].map(([, code = '']) => code);
  const inline = [...markdown.replaceAll(/^ *```.*?^ *```/gms, '').matchAll(/`(aws [^`]+)`/g)].map(([, code = '']) =>
    code.replaceAll(/\s+/g, ' '),
  );
  const lines = [...blocks, ...inline].flatMap((code) => code.replaceAll(/\s*\\\n\s*/g, ' ').split('\n'));
  return lines.flatMap((line) => [...line.matchAll(/(?<![\w./-])aws [a-z].*/g)].map(([command]) => command));
};

/** Returns what is wrong with a command: an empty list if the AWS CLI would accept the command. */
export const problemsOf = (command: string): string[] => {
  const [, service = '', name = '', ...words] = wordsOf(command);
  const client = clients[service];
  if (client === undefined) return [`aws ${service}: add its client to test/kit/aws-commands.ts`];
  if (name === 'wait') return waiterProblems(client, words);
  const input = operationsOf(client).get(name);
  if (input === undefined) return [`aws ${service} has no command ${name}`];
  // Accept a command without any options, because a sentence in a document may name a command and leave its options
  // out.
  return words.length === 0 ? [] : optionProblems(input, words);
};

/** Splits a command into words as a shell does, up to the first operator, such as `&&`. */
const wordsOf = (command: string): string[] => {
  const text = command.replaceAll(/<[a-z][^<>\n]*>/gi, placeholder);
  const words = [...text.matchAll(/\d?[<>]|[|;&()]|(?:'[^']*'|"[^"]*"|[^\s'"|;&()<>])+/g)].map(([word]) => word);
  const end = words.findIndex((word) => /^(?:\d?[<>]|[|;&()])$/.test(word));
  return words.slice(0, end === -1 ? undefined : end).map((word) => word.replaceAll(/['"]/g, ''));
};

type Shape = { fields: Map<string, NormalizedSchema>; required: string[] };

/** Spells a name as the AWS CLI does: CreateOpenIDConnectProvider becomes create-open-id-connect-provider. */
const kebab = (name: string): string =>
  name
    .replaceAll(/(.)([A-Z][a-z]+)/g, '$1-$2')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase();

/** The number with which the SDK's schema of an operation begins: [9, namespace, name, traits, input, output]. */
const operationKind = 9;

const operationsOf = (client: Record<string, unknown>): Map<string, Shape> =>
  new Map(
    Object.values(client)
      .filter((value): value is unknown[] => Array.isArray(value) && value[0] === operationKind)
      .map(([, , name, , input]) => [kebab(String(name)), shapeOf(input)]),
  );

const shapeOf = (input: unknown): Shape => {
  const schema = NormalizedSchema.of(input as Parameters<typeof NormalizedSchema.of>[0]);
  const fields = schema.isStructSchema() ? [...schema.structIterator()] : [];
  // In the SDK, the schema of a structure is an array. Its seventh element, absent if no field is required, is the
  // number of required fields, which come before the optional ones.
  const [, , , , , , required = 0] = schema.getSchema() as unknown as [...never[], number];
  const named = fields.map(([name, field]): [string, NormalizedSchema] => [kebab(name), field]);
  return { fields: new Map(named), required: named.slice(0, required).map(([name]) => name) };
};

const optionProblems = ({ fields, required }: Shape, words: string[]): string[] => {
  const given = new Set<string>();
  const problems: string[] = [];
  for (const [option, ...values] of groupsOf(words)) {
    if (globalOptions.includes(option)) continue;
    const name = option.replace(/^--/, '');
    const positive = fields.get(name.replace(/^no-/, ''))?.isBooleanSchema() ? name.replace(/^no-/, '') : name;
    const field = fields.get(positive);
    given.add(positive);
    if (field === undefined || !option.startsWith('--')) problems.push(`${option} is not an option`);
    else problems.push(...valueProblems(field, values).map((problem) => `${option} ${problem}`));
  }
  return [...problems, ...required.filter((name) => !given.has(name)).map((name) => `--${name} is missing`)];
};

/** Groups each option with the values that follow the option. */
const groupsOf = (words: string[]): [option: string, ...values: string[]][] => {
  const groups: [string, ...string[]][] = [];
  for (const word of words) {
    const group = groups.at(-1);
    if (word.startsWith('--') || group === undefined) groups.push([word]);
    else group.push(word);
  }
  return groups;
};

const valueProblems = (field: NormalizedSchema, values: string[]): string[] => {
  if (field.isBooleanSchema()) return values.length === 0 ? [] : ['takes no value'];
  if (values.length === 0) return ['needs a value'];
  if (field.isListSchema()) return [];
  if (values.length > 1) return ['takes one value'];
  const [value = ''] = values;
  if (value.includes(placeholder) || value.startsWith('file://')) return [];
  if (field.isNumericSchema() && !/^\d+$/.test(value)) return ['needs a number'];
  if (field.isTimestampSchema() && Number.isNaN(Date.parse(value))) return ['needs a time'];
  if (field.isStructSchema()) {
    const names = [...field.structIterator()].map(([name]) => name);
    if (!names.includes(/^\w+(?==)/.exec(value)?.[0] ?? '')) return [`needs one of ${names.join(', ')}`];
  }
  return [];
};

/**
 * Checks an `aws … wait` command. A waiter calls a `describe-` or `get-` operation, so the service must have such an
 * operation that accepts all options of the command.
 */
const waiterProblems = (client: Record<string, unknown>, [name = '', ...words]: string[]): string[] => {
  if (!Object.keys(client).some((key) => kebab(key) === `wait-until-${name}`)) return [`there is no waiter ${name}`];
  const reading = [...operationsOf(client)].filter(([operation]) => /^(?:describe|get)-/.test(operation));
  const fits = reading.some(([, input]) => optionProblems(input, words).length === 0);
  return fits ? [] : [`no operation has the options ${words.join(' ')}`];
};
