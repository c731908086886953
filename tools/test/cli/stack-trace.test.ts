/** Tests `npm run stack-trace` as a user runs it. stack-traces.test.ts tests how stack traces are translated. */
import { expect, inject, test } from 'vitest';
import { run } from '../../../test/kit/local-service.ts';

const read = (input: string, ...args: string[]) => {
  const { child, ended } = run(process.execPath, ['tools/cli/stack-trace.ts', ...args]);
  child.stdin.end(input);
  return ended;
};

const bundles = inject('stack').functions.map(({ environment }) => environment['BUNDLE_SHA256'] ?? '');
const stack = 'Error: oops\n    at start (/var/task/index.js:1:2000)';
/** One log line for each function, in the format that Lambda writes. */
const records = bundles.map((bundle) => ({ level: 'ERROR', message: { cause: { stack }, bundle } }));

test('npm run stack-trace prints each log line, with or without a timestamp, and the translated stack trace below it', async () => {
  const log = records.map((record) => `2026-11-22T10:00:00Z ${JSON.stringify(record)}\n`).join('');
  const { code, stdout, stderr } = await read(`${log}END\x1b[2J\n`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(
    /^2026-11-22T10:00:00Z {"level":"ERROR","message":{"cause":{}}}\nError: oops\n {4}at start \(/,
  );
  expect(stdout.split('Error: oops\n    at start (')).toHaveLength(records.length + 1);
  expect(stdout).toMatch(/\nEND\\u001b\[2J\n$/);
  expect(stdout).not.toContain('/var/task');
});

test('npm run stack-trace accepts a log entry on several lines, as the CloudWatch console shows it, and a bare stack trace', async () => {
  const pretty = await read(JSON.stringify(records[0], null, 2));
  const bare = await read(stack, '--bundle', bundles[0] ?? '');
  expect(bare.stdout).toMatch(/^Error: oops\n {4}at start \(\S+:\d+:\d+\)\n$/);
  const stdout = `{"level":"ERROR","message":{"cause":{}}}\n${bare.stdout}`;
  expect([bare, pretty]).toEqual([
    { ...bare, code: 0, stderr: '' },
    { code: 0, stdout, stderr: '' },
  ]);
});

test.each<[says: RegExp, input: string, options: string[]]>([
  [/^The bundle 0{64} ran, but .*\nCheck out the commit that was deployed/, stack, ['--bundle', '0'.repeat(64)]],
  [new RegExp(`--bundle.*${bundles.join('.*')}`), stack, []],
  [/has no line of a stack/, '{"outcome":"created"}', []],
])('npm run stack-trace fails with a message that matches %s', async (says, input, options) => {
  const stderr = expect.stringMatching(says);
  expect(await read(input, ...options)).toEqual({ code: 1, stdout: '', stderr });
});
