import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../../test/kit/local-service.ts';
import { prebuildBundles } from '../../start/bundles.ts';
import { curlLine } from '../../start/contract.ts';
import { accessLine } from '../../start/request-log.ts';

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

describe('the curl command that npm start prints', () => {
  /**
   * Runs `line` in a shell in which `curl` and `npm` only print their arguments. @returns the arguments that `curl` got
   */
  const words = (line: string): string[] => {
    const print = `curl() { printf '%s\\n' "$@"; }; npm() { printf 'DATA_DIR=%s %s' "$DATA_DIR" "$*"; }\n`;
    const env = { PATH: process.env['PATH'] };
    return execFileSync('sh', ['-c', print + line], { env, encoding: 'utf8' })
      .trimEnd()
      .split('\n');
  };

  const moss = { method: 'POST', path: '/plants', body: '{"id":1,"name":"Tom\'s moss"}' };

  test.each([undefined, "/srv/Tom's plants"])('sets DATA_DIR for npm if the local service has it: %s', (folder) => {
    vi.stubEnv('DATA_DIR', folder);
    vi.spyOn(process, 'cwd').mockReturnValue("/home/it's me");
    const [, , , authorization, ...others] = words(curlLine('http://127.0.0.1:3000', moss));
    expect(authorization).toBe(`authorization: Bearer DATA_DIR=${folder ?? ''} --prefix /home/it's me run -s token`);
    expect(others).toEqual(['-H', 'content-type: application/json', '-d', moss.body]);
  });

  test('has each option on a separate line, and quotes the query of a request without a body', () => {
    const line = curlLine('http://127.0.0.1:3000', { method: 'DELETE', path: "/plants?tag=a&tag=it's" });
    expect(line.split(' \\\n')).toHaveLength(2);
    const authorization = expect.stringMatching(/^authorization: Bearer /);
    const address = "http://127.0.0.1:3000/plants?tag=a&tag=it's";
    expect(words(line)).toEqual(['-sSi', '-X', 'DELETE', address, '-H', authorization]);
  });
});
