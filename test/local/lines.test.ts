/** Tests the lines that `npm start` prints. */
import { execFileSync } from 'node:child_process';
import { describe, expect, test, vi } from 'vitest';
import { accessLine, curlLine, title } from '../../local/lines.ts';

const entry = { method: 'POST', path: '/plants', status: 200, milliseconds: 1.6, requestId: 'aBc=', log: [] };

describe('the line that npm start prints for a request', () => {
  test('has method, path, status, duration and request id', () => {
    expect(accessLine(entry)).toBe('POST /plants 200 2 ms aBc=');
  });

  test('has what the functions logged for it', () => {
    const log = [
      { functionName: 'Authorizer0123ABCD', level: 'INFO', message: { outcome: 'allowed', gatewayRequestId: 'aBc=' } },
      { functionName: 'CreatePlant89EF4567', level: 'ERROR', message: 'two\nlines' },
    ];
    expect(accessLine({ ...entry, log })).toBe(
      'POST /plants 200 2 ms aBc= | Authorizer INFO {"outcome":"allowed"} | CreatePlant ERROR "two\\nlines"',
    );
  });

  test('is one line even if a logged error has several', () => {
    expect(accessLine({ ...entry, error: 'Plants: Error: two\n  lines' })).toBe(
      'POST /plants 200 2 ms aBc= | Plants: Error: two lines',
    );
  });
});

test('the title of a function is its logical id without the hash', () => {
  expect(['CreatePlant0123ABCD', 'Plants', 'Api0123ABCDStage'].map(title)).toEqual([
    'CreatePlant',
    'Plants',
    'Api0123ABCDStage',
  ]);
});

describe('the curl command that npm start prints', () => {
  /** Runs a command in a shell in which `curl` and `npm` only print their arguments. @returns the arguments of `curl` */
  const words = (line: string): string[] => {
    const print = `curl() { printf '%s\\n' "$@"; }; npm() { printf 'DATA_DIR=%s %s' "$DATA_DIR" "$*"; }\n`;
    const env = { PATH: process.env['PATH'] };
    return execFileSync('sh', ['-c', print + line], { env, encoding: 'utf8' })
      .trimEnd()
      .split('\n');
  };

  test('is broken over lines that fit a terminal beside the folder and the URL', () => {
    const lines = curlLine('http://127.0.0.1:3000', { ...moss, headers: { shop: 'x' } }).split('\n');
    expect(lines).toEqual([
      'curl -sSi http://127.0.0.1:3000/plants \\',
      expect.stringMatching(/^ {2}-H "authorization: Bearer .*" \\$/),
      "  -H 'shop: x' \\",
      "  -H 'content-type: application/json' \\",
      expect.stringMatching(/^ {2}-d '/),
    ]);
  });

  const moss = { method: 'POST', path: '/plants', body: '{"id":1,"name":"Tom\'s moss"}' };

  test.each([undefined, "/srv/Tom's plants"])('gets its token from the service with the data folder %s', (folder) => {
    vi.stubEnv('DATA_DIR', folder);
    vi.spyOn(process, 'cwd').mockReturnValue("/home/it's me");
    expect(words(curlLine('http://127.0.0.1:3000', moss))).toEqual([
      '-sSi',
      'http://127.0.0.1:3000/plants',
      '-H',
      `authorization: Bearer DATA_DIR=${folder ?? ''} --prefix /home/it's me run -s token`,
      '-H',
      'content-type: application/json',
      '-d',
      moss.body,
    ]);
  });

  test.each<[method: string, body: string | undefined, options: string[]]>([
    ['GET', undefined, []],
    ['DELETE', undefined, ['-X', 'DELETE']],
    ['PUT', '{}', ['-X', 'PUT']],
  ])('sends a %s request with the body %s', (method, body, options) => {
    const request = { method, path: '/plants/1', ...(body !== undefined && { body }) };
    const data = body === undefined ? [] : ['-H', 'content-type: application/json', '-d', body];
    expect(words(curlLine('http://127.0.0.1:3000', request))).toEqual([
      '-sSi',
      ...options,
      'http://127.0.0.1:3000/plants/1',
      '-H',
      expect.stringMatching(/^authorization: Bearer /),
      ...data,
    ]);
  });

  test('quotes the query and the headers', () => {
    const request = { method: 'GET', path: "/plants?tag=a&tag=it's", headers: { shop: "Tom's" } };
    expect(words(curlLine('http://127.0.0.1:3000', request))).toEqual([
      '-sSi',
      "http://127.0.0.1:3000/plants?tag=a&tag=it's",
      '-H',
      expect.stringMatching(/^authorization: Bearer /),
      '-H',
      "shop: Tom's",
    ]);
  });
});
