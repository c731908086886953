/** Tests how stack traces are found in logs and translated, and `stack-trace` as a user runs it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { esbuildOptions } from '@lambda-service/cdk/bundling';
import { testFolder } from '@lambda-service/testing/programs';
import { buildSync } from 'esbuild';
import { takeStacks } from 'http-api-emulator/request-log';
import { beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { translateLog } from '../../cli/stack-trace.ts';
import { hasPlaces, mapOf, toSources, withSources } from '../../start/bundles.ts';
import { runHere } from './kit/run-here.ts';

const authorizer = inject('stack').functions.find(({ name }) => name.startsWith('Authorizer'));
const sha256 = authorizer?.environment['BUNDLE_SHA256'] ?? '';
const translated = (trace: string): string => toSources(trace, () => mapOf(sha256));

const bundles = inject('stack').functions.map(({ environment }) => environment['BUNDLE_SHA256'] ?? '');
const stack = 'Error: oops\n    at start (/var/task/index.js:1:2000)';
/** One log line for each function, in the format that Lambda writes. */
const records = bundles.map((bundle) => ({ level: 'ERROR', message: { cause: { stack }, bundle } }));

/** Runs here, because the source maps that it makes, which takes a second, are those of the other tests, too. */
const command = runHere(['stack-trace', '--bundle', bundles[0] ?? '']);
const log = records.map((record) => `2026-11-22T10:00:00Z ${JSON.stringify(record)}\n`).join('');
command.child.stdin.end(`${log}${stack}\nEND\x1b[2J\n`);
const printed = await command.ended;

/** Returns the line of source code to which a stack frame points. */
const sourceLine = (frame = ''): string | undefined => {
  const [, file = '', line] = /([\w./-]+\.ts):(\d+):\d+\)?$/.exec(frame) ?? [];
  return readFileSync(file, 'utf8').split('\n')[Number(line) - 1];
};

test('a bundle built with a source map is byte for byte the same as the deployed bundle', () => {
  const [deployed] = buildSync(esbuildOptions('authorizer.lambda.ts')).outputFiles;
  const served = readFileSync(path.join(authorizer?.folder ?? '', 'index.js'));
  expect(served.equals(deployed?.contents ?? Buffer.of())).toBe(true);
});

describe('the stack trace of a bundle', () => {
  let stack: string;
  beforeAll(() => {
    vi.stubEnv('JWKS_URI', undefined);
    try {
      createRequire(import.meta.url)(path.join(authorizer?.folder ?? '', 'index.js'));
    } catch (error) {
      stack = error instanceof Error ? (error.stack ?? '') : '';
    }
  });

  test('is translated, so that it names the source lines that throw the error and call the throwing function, in packages, too', () => {
    const [message, thrown, called, entry] = translated(stack).split('\n');
    expect(message).toBe('Error: The environment variable JWKS_URI must be set.');
    expect(thrown).toMatch(/^ {4}at packages\/runtime\/environment\.ts:/);
    expect(sourceLine(thrown)).toContain('throw new Error');
    expect(called).toMatch(/^ {4}at packages\/runtime\/auth\/authorizer\.ts:\d+:\d+$/);
    expect(sourceLine(called)).toContain("fromEnvironment('JWKS_URI')");
    expect(entry).toMatch(/^ {4}at Object\.<anonymous> \(functions\/authorizer\.lambda\.ts:\d+:\d+\)$/);
  });

  test('is translated to source lines, whatever folder the bundle ran in; minified function names are left out, and others are kept', () => {
    const [, , , called = ''] = stack.split('\n');
    const frame = called.replace(/\(.*\//, '(/var/task/');
    const place = /functions\/.*(?=\))/.exec(translated(frame))?.[0];
    const named = (name: string) => translated(frame.replace('Object.<anonymous>', name)).trim();
    expect(named('async cache.fetch')).toBe(`at async cache.fetch (${place})`);
    expect(named('async $a')).toBe(`at async ${place}`);
    expect(named('new $ab')).toBe(`at ${place}`);
  });
});

describe('a stack trace that the local service logs', () => {
  const folder = authorizer?.folder ?? '';
  const log = (file: string) => ({ stack: `TypeError: oops\n    at start (${file}:1:2000)`, bundle: sha256 });

  test('is translated, also as a list of lines', () => {
    const { stack } = log(path.join(folder, 'index.js'));
    const { cause, stackTrace } = withSources({ cause: { stack }, stackTrace: stack.split('\n') });
    expect(cause.stack).toMatch(/^TypeError: oops\n {4}at start \((?!\/)\S+:\d+:\d+\)$/);
    expect(stackTrace.join('\n')).toBe(cause.stack);
  });

  test('is unchanged if no bundle of the service is at the path that it names, whatever the hash in the log says', async () => {
    const changed = path.join(await testFolder(), 'index.js');
    writeFileSync(changed, 'changed();');
    for (const file of [changed, '/none/index.js']) expect(withSources(log(file))).toEqual(log(file));
  });
});

test('the search for stack traces is fast in a long text', () => {
  for (const text of ['x', '/index.js', '\n', ' ']) {
    expect(hasPlaces(text.repeat(200_000))).toBe(false);
    expect(takeStacks({ stack: text.repeat(200_000) }).stacks).toEqual([]);
  }
});

describe('stack traces in a log line', () => {
  const [inner, outer] = ['TypeError: inner\n    at a', 'Error: outer\n    at b'];

  test("are extracted together with the bundle's hash, the outermost error first", () => {
    const cause = { name: 'Error', stack: outer, cause: { stack: inner } };
    expect(takeStacks({ message: { outcome: 'failed', cause, bundle: sha256 } })).toEqual({
      rest: '{"message":{"outcome":"failed","cause":{"name":"Error","cause":{}}}}',
      stacks: [outer, inner],
      sha256,
    });
  });

  test.each([
    [{ stack: 'OrderStore', bundle: 'roses' }, '{"stack":"OrderStore","bundle":"roses"}'],
    [{ stackTrace: [] }, '{"stackTrace":[]}'],
    ['Error: x\n    at a', '"Error: x\\n    at a"'],
  ])('are not extracted from a log message that only looks like an error: %j', (line, rest) => {
    expect(takeStacks(line)).toEqual({ rest, stacks: [] });
  });
});

test('stack-trace prints each log line, with or without a timestamp, and the translated stack trace below it, and one of the bundle in --bundle', () => {
  const { code, stdout, stderr } = printed;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(
    /^2026-11-22T10:00:00Z {"level":"ERROR","message":{"cause":{}}}\nError: oops\n {4}at start \(/,
  );
  expect(stdout.split('Error: oops\n    at start (')).toHaveLength(records.length + 2);
  expect(stdout).toMatch(/\nEND\\u001b\[2J\n$/);
  expect(stdout).not.toContain('/var/task');
});

test('a log record on several lines, as the CloudWatch console shows it, and a bare stack trace are translated', () => {
  const bare = translateLog(stack, bundles[0]);
  expect(bare).toMatch(/^Error: oops\n {4}at start \(\S+:\d+:\d+\)$/);
  const pretty = JSON.stringify(records[0], null, 2);
  expect(translateLog(pretty)).toBe(`{"level":"ERROR","message":{"cause":{}}}\n${bare}`);
});

test.each<[says: RegExp, bundle: string | undefined]>([
  [/^The bundle 0{64} ran, but .*\nCheck out the commit that was deployed/, '0'.repeat(64)],
  [new RegExp(`--bundle${bundles.map((each) => `(?=.*${each})`).join('')}`), undefined],
])('a stack trace of a bundle that is not known is refused with a message that matches %s', (says, bundle) => {
  expect(() => translateLog(stack, bundle)).toThrow(says);
});

test('stack-trace refuses input without a stack trace', async () => {
  const { child, ended } = runHere(['stack-trace']);
  child.stdin.end('{"outcome":"created"}');
  const stderr = expect.stringContaining('has no line of a stack trace');
  expect(await ended).toEqual({ code: 1, stdout: '', stderr });
});
