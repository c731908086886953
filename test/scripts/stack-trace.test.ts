/** Tests `npm run stack-trace` as a user runs it. stack-traces.test.ts tests how stack traces are translated. */
import { expect, inject, test } from 'vitest';
import { run } from '../kit/local-service.ts';

const read = (input: string, ...args: string[]) => {
  const { child, ended } = run(process.execPath, ['scripts/stack-trace.ts', ...args]);
  child.stdin.end(input);
  return ended;
};

const bundles = inject('stack').functions.map(({ environment }) => environment['BUNDLE_SHA256'] ?? '');
const stack = 'Error: oops\n    at start (/var/task/index.js:1:2000)';
/** One log line for each function, in the format that Lambda writes. */
const records = bundles.map((bundle) => ({ level: 'ERROR', message: { cause: { stack }, bundle } }));
const readable = 'Error: oops\n    at start (';

test('npm run stack-trace prints each log line, with or without a timestamp, and the translated stack trace below it', async () => {
  const log = records.map((record) => `2026-11-22T10:00:00Z ${JSON.stringify(record)}\n`).join('');
  const { code, stdout, stderr } = await read(`${log}END\x1b[2J\n`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [first = '', ...lines] = stdout.split('\n');
  expect(first).toBe('2026-11-22T10:00:00Z {"level":"ERROR","message":{"cause":{}}}');
  expect(stdout.split(readable)).toHaveLength(records.length + 1);
  expect(lines.at(-2)).toBe('END\\u001b[2J');
  expect(stdout).not.toContain('/var/task');
});

test('npm run stack-trace accepts a log entry on several lines, as the CloudWatch console shows it, and a bare stack trace', async () => {
  const [[record], [bundle = '']] = [records, bundles];
  const pretty = await read(JSON.stringify(record, null, 2));
  const bare = await read(stack, '--bundle', bundle);
  expect(pretty).toMatchObject({ code: 0, stderr: '' });
  expect(bare).toMatchObject({ code: 0, stderr: '' });
  expect(pretty.stdout).toBe(`{"level":"ERROR","message":{"cause":{}}}\n${bare.stdout}`);
  expect(bare.stdout).toMatch(/^Error: oops\n {4}at start \(\S+:\d+:\d+\)\n$/);
});

test('npm run stack-trace says what to do, and exits with code 1, if the bundle was built from another commit than the one that is checked out here', async () => {
  const { code, stdout, stderr } = await read(stack, '--bundle', '0'.repeat(64));
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^The bundle 0{64} ran, but .*\nCheck out the commit that was deployed/);
});

test('npm run stack-trace asks for the option --bundle, and exits with code 1, if the input does not name the bundle', async () => {
  const { code, stdout, stderr } = await read(stack);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('--bundle');
  for (const bundle of bundles) expect(stderr).toContain(bundle);
});

test('npm run stack-trace exits with code 1 if the input has no stack trace', async () => {
  expect(await read('{"outcome":"created"}')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/has no line of a stack/),
  });
});
