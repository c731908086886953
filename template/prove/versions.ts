/** `versions.ts <version> <folder>` makes a copy of the project with a version of its code that a run deploys. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { checkOut } from '@lambda-service/tools/checkouts';
import { operations } from '../../functions/generated/contract.ts';

const [changedOperation] = Object.entries(operations).filter(([, operation]) => 'body' in operation);
if (changedOperation === undefined) throw new Error('The contract has no operation with a body.');
const [id, { file: name }] = changedOperation;

/** The function that the versions change, by its id in the stack: that of the first operation with a body. */
export const changed = id.charAt(0).toUpperCase() + id.slice(1);

/** Its file in functions/. */
export const entry = `${name}.lambda.ts`;
const file = `functions/${entry}`;

/** The file with the stack, which grants the function what it may do to the table. */
export const stack = 'infra/plant-store-stack.ts';
const granted = new RegExp(`(?<=\\.grant\\(${id}, ).*(?=\\);)`);

/** The files that a version changes, each with its text, or with a change of what it had before. */
type Files = Record<string, string | ((before: string) => string)>;

/** Wraps the operation's handler in this code, which calls it as `good`. */
const wrapped = (code: string): Files => ({ [file]: `import { handler as good } from './wrapped.ts';\n${code}\n` });
const another = (mark: string): Files =>
  wrapped(`Object.assign(globalThis, { version: '${mark}' });\nexport const handler = good;`);

const allowsAll: Files = {
  'functions/authorizer.lambda.ts': 'export const handler = async () => ({ isAuthorized: true, context: {} });\n',
};

const files = {
  good: another('good'),
  'good again': another('good again'),
  'throws at start': { [file]: "throw new Error('broken on purpose');\n" },
  'responds 500': { [file]: 'export const handler = async () => ({ statusCode: 500 });\n' },
  'lets a forged token through': allowsAll,
  'good, but lets a forged token through': { ...another('good, but'), ...allowsAll },
  'lacks a grant': { [stack]: (before) => before.replace(granted, "'dynamodb:GetItem'") },
  'needs a new grant': {
    [stack]: (before) => before.replace(granted, "$&, 'dynamodb:DescribeTable'"),
    ...wrapped(`import { DynamoDB } from '@aws-sdk/client-dynamodb';
const client = new DynamoDB();
export const handler = async (event, context) => {
  await client.describeTable({ TableName: process.env.TABLE_NAME });
  return good(event, context);
};`),
  },
  'fails for clients only': wrapped(`export const handler = ({ requestContext, ...event }, context) => {
  if (requestContext.requestId.startsWith('smoke-test-')) return good({ requestContext, ...event }, context);
  return good({ requestContext, get body() { throw new Error('broken on purpose'); } }, context);
};`),
  'has a smoke test that never reports': {
    ...another('hangs'),
    'functions/smoke-test.lambda.ts': 'export const handler = async () => {};\n',
  },
} satisfies Record<string, Files>;

const versions = Object.keys(files);

/** Changes a checkout to a version. */
export const changeTo = async (version: string, folder: string): Promise<void> => {
  const changes = Object.entries(new Map(Object.entries<Files>(files)).get(version) ?? {});
  if (changes.length === 0) throw new Error(`There is no version "${version}", only: ${versions.join(', ')}`);
  const before = (name: string) => readFile(path.join(folder, name), 'utf8');
  await writeFile(path.join(folder, 'functions', 'wrapped.ts'), await before(file));
  for (const [name, text] of changes)
    await writeFile(path.join(folder, name), typeof text === 'string' ? text : text(await before(name)));
};

if (import.meta.main) {
  const [version = '', parent = ''] = process.argv.slice(2);
  const { folder } = await checkOut(parent, 'HEAD', new AbortController().signal);
  await changeTo(version, folder);
  console.log(folder);
}
