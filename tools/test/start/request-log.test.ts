/**
 * Tests the line that `npm start` prints for a request, and which requests get one when many arrive. The tests call
 * `endSecond` instead of waiting for a second.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/local-service.ts';
import { prebuildBundles } from '../../start/bundles.ts';
import { accessLine, RequestLog } from '../../start/request-log.ts';

const entry = { method: 'POST', path: '/plants', status: 200, milliseconds: 1.6, requestId: 'aBc=', log: [] };

const logging = (message: object) => ({ ...entry, log: [{ functionName: 'Worker', level: 'ERROR', message }] });

describe('the line that npm start prints for a request', () => {
  test('has the method, path, status, duration and request id, and what the functions logged', () => {
    const log = [
      { functionName: 'Authorizer0123ABCD', level: 'INFO', message: { outcome: 'allowed', gatewayRequestId: 'aBc=' } },
      { functionName: 'CreatePlant89EF4567', level: 'ERROR', message: 'two\nlines' },
    ];
    expect(accessLine({ ...entry, log })).toBe(
      'POST /plants 200 2 ms aBc= | Authorizer INFO {"outcome":"allowed"} | CreatePlant ERROR "two\\nlines"',
    );
  });

  describe('is followed by the stack traces that the functions logged', () => {
    const [{ folder = '', environment = {} } = {}] = inject('stack').functions;
    const bundle = environment['BUNDLE_SHA256'];
    const trace = (file: string): string => `TypeError: oops\n    at start (${file}:1:2000)`;
    beforeAll(() => prebuildBundles());

    test('translated to the files and lines of the TypeScript sources', () => {
      const cause = { name: 'Error', stack: 'Error: outer\n    at a', cause: { stack: trace(`${folder}/index.js`) } };
      const [line, ...below] = accessLine(logging({ outcome: 'failed', cause, bundle })).split('\n');
      expect(line).toBe(
        'POST /plants 200 2 ms aBc= | Worker ERROR {"outcome":"failed","cause":{"name":"Error","cause":{}}}',
      );
      expect(below).toEqual([
        '    Error: outer',
        '        at a',
        '    TypeError: oops',
        expect.stringMatching(/^ {8}at start \((?!\/)\S+:\d+:\d+\)$/),
      ]);
    });

    test('unchanged if the files that they name are not bundles that the service runs, whatever the hash in the log says', async () => {
      const { folder: other, remove } = await temporaryFolder();
      onTestFinished(remove);
      const changed = path.join(other, 'index.js');
      await writeFile(changed, 'changed();');
      for (const file of [changed, '/none/index.js'])
        expect(accessLine(logging({ stack: trace(file), bundle }))).toContain(`at start (${file}:1:2000)`);
    });
  });

  test('includes an error that a function logged together with other values', () => {
    const error = { errorType: 'TypeError', errorMessage: 'oops', stackTrace: ['TypeError: oops', '    at a'] };
    expect(
      accessLine({ ...entry, log: [{ functionName: 'Worker', level: 'WARN', message: 'Tried:', ...error }] }),
    ).toBe(
      'POST /plants 200 2 ms aBc= | Worker WARN {"message":"Tried:","errorType":"TypeError","errorMessage":"oops"}\n' +
        '    TypeError: oops\n        at a',
    );
  });

  test('cannot be forged by text in a stack trace, and control characters are escaped in all its parts', () => {
    const stack = 'Error: \x1b[2Jx\rPOST /plants 200\nPOST /plants 200\n    at a';
    const forged = { ...logging({ name: '\x9b', stack }), path: '/\x9b', error: 'no\x1b[2J\n  more' };
    expect(accessLine(forged).split('\n')).toEqual([
      'POST /\\u009b 200 2 ms aBc= | Worker ERROR {"name":"\\u009b"} | no\\u001b[2J more',
      '    Error: \\u001b[2Jx\\u000dPOST /plants 200',
      '    POST /plants 200',
      '        at a',
    ]);
  });

  test('is aligned in columns on a terminal', () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    const plain = (line: string) => stripVTControlCharacters(line);
    expect(plain(accessLine({ ...entry, path: '/long' }, terminal))).toBe('POST /long     200    2 ms aBc=');
    expect(plain(accessLine({ ...entry, path: '/' }, terminal))).toBe('POST /         200    2 ms aBc=');
  });
});

let lines: string[];
let log: RequestLog;
beforeEach(() => {
  lines = [];
  log = new RequestLog((line) => lines.push(line));
});

let sent = 0;
const add = (count: number, status = 200): void => {
  for (let index = 0; index < count; index += 1) {
    sent += 1;
    log.add({ method: 'POST', path: '/plants', status, milliseconds: 1, requestId: `${sent}=`, log: [] });
  }
};
/**
 * Tells the request log that a second is over, instead of waiting.
 * @returns the lines that the log printed during that second and at its end
 */
const endSecond = (): string[] => {
  log.endSecond();
  return lines.splice(0);
};
const line = (status: number) => expect.stringMatching(`^POST /plants ${status} 1 ms \\d+=$`);

test('the request log prints a line for each request while at most 20 requests end per second', () => {
  for (const _ of [1, 2]) {
    add(20);
    expect(endSecond()).toEqual(Array(20).fill(line(200)));
  }
  expect(endSecond(), 'without requests').toEqual([]);
});

test('if more than 20 requests end within a second, the request log prints one line for those after the 20th: a count for each status', () => {
  add(20);
  add(3);
  add(1, 409);
  add(1);
  expect(lines).toEqual(Array(20).fill(line(200)));
  expect(endSecond().slice(20)).toEqual(['5 more requests (--verbose prints each): 4 × 200, 1 × 409']);
});

test('after a busy second, the request log prints summaries and the first 3 failures of each second, until a second has at most 20 requests', () => {
  add(21);
  endSecond();
  add(10);
  add(5, 503);
  expect(lines).toEqual([line(503), line(503), line(503)]);
  expect(endSecond().slice(3)).toEqual([expect.stringMatching(/^12 more requests .*: 10 × 200, 2 × 503$/)]);
  add(1);
  expect(lines).toEqual([line(200)]);
});
