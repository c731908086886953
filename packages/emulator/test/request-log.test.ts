/**
 * Tests the row that a command prints for a request, and which requests get one when many arrive. The tests call
 * `endSecond` instead of waiting for a second.
 */
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { notServed } from '../command/reasons.ts';
import { accessLine, type LogFormat, printable, RequestLog } from '../command/request-log.ts';

const time = new Date(2026, 10, 26, 16, 5, 9).toISOString();
const logged = { time, method: 'POST', path: '/plants', status: 200, milliseconds: 1.6, requestId: 'aBc=', log: [] };
const start = '16:05:09 POST /plants';

/** A format in which a line with a `reason` is in the row, and the field `id` is left out. */
const format: LogFormat = {
  reasonsIn: ({ log }) => log.flatMap(({ message }) => Object(message).reason ?? []),
  isInRow: ({ message }) => 'reason' in Object(message),
  omitted: ['id'],
};

const logging = (message: unknown, level = 'ERROR') => ({
  ...{ ...logged, status: 500 },
  log: [{ functionName: 'Worker0123ABCD', level, message }],
});

describe('the row of a request', () => {
  test('has the time, method, path, status, duration and id, and the reasons of a known format', () => {
    expect(accessLine(logged)).toBe(`${start} 200 2 ms aBc=`);
    const refused = { ...logging({ reason: 'no', id: 1 }, 'INFO'), status: 400, error: 'Worker: it does not allow it' };
    expect(accessLine(refused, format)).toBe(`${start} 400 2 ms aBc= no`);
    expect(accessLine(refused)).toBe(
      `${start} 400 2 ms aBc= Worker: it does not allow it\n    Worker INFO {"reason":"no","id":1}`,
    );
    expect(accessLine({ ...logging({ id: 1, a: 2 }), status: 200 }, format)).toContain('\n    Worker ERROR {"a":2}');
  });

  test('is followed by what else the functions logged, indented, so that none of it can pass for a row', () => {
    const log = [
      { functionName: 'Worker89EF4567', level: 'INFO', message: 'two\nlines\x1b[2J' },
      { functionName: 'Worker', level: 'WARN', message: { outcome: 'keys not fetched', cause: '\x9b' } },
      { functionName: 'Worker', level: 'INFO', message: undefined },
    ];
    expect(accessLine({ ...logged, log }).split('\n')).toEqual([
      `${start} 200 2 ms aBc=`,
      '    Worker INFO two',
      '    lines\\u001b[2J',
      '    Worker WARN {"outcome":"keys not fetched","cause":"\\u009b"}',
      '    Worker INFO ',
    ]);
  });

  test('is followed by the stack trace of an error that a function threw, or logged together with other values', () => {
    const error = { errorType: 'TypeError', errorMessage: 'oops', stackTrace: ['TypeError: oops', '    at a'] };
    const trace = '    TypeError: oops\n        at a';
    const thrown = { ...logging(error), error: 'Worker0123ABCD: TypeError: oops' };
    expect(accessLine(thrown)).toBe(`${start} 500 2 ms aBc= Worker: TypeError: oops\n${trace}`);
    const log = [{ functionName: 'Worker', level: 'WARN', message: 'Tried:', ...error }];
    expect(accessLine({ ...logged, log })).toBe(
      `${start} 200 2 ms aBc=\n    Worker WARN {"message":"Tried:","errorType":"TypeError","errorMessage":"oops"}\n${trace}`,
    );
  });

  test('has no control characters and no line breaks, wherever a client or a function puts them', () => {
    const stack = 'Error: \x1b[2Jx\rPOST /plants 200\nPOST /plants 200\n    at a';
    const cause = { name: '\x9b', stack };
    const forged = { ...logging({ reason: '\x1b[2Jx', cause }), path: '/\x9b', error: 'no\x1b[2J\n  more' };
    expect(accessLine({ ...forged, refusedOrigin: '\x9b' }, format).split('\n')).toEqual([
      '16:05:09 POST /\\u009b 500 2 ms aBc= \\u009b is refused by CORS; \\u001b[2Jx; no\\u001b[2J more',
      '    Error: \\u001b[2Jx\\u000dPOST /plants 200',
      '    POST /plants 200',
      '        at a',
    ]);
  });

  test.each([
    [80, '/things', '16:05:09 POST /things 403   2 ms QcNvjVNaC1t4m14= the token lacks a scope of th…'],
    [100, '/things', '16:05:09 POST /things 403   2 ms QcNvjVNaC1t4m14= the token lacks a scope of the route'],
    [80, '/', '16:05:09 POST /       403   2 ms QcNvjVNaC1t4m14= the token lacks a scope of th…'],
    [80, `/${'x'.repeat(99)}`, '16:05:09 POST /xxxxxxxxxxxxxx… 403   2 ms QcNvjVNaC1t4m14= the token lacks a sc…'],
  ])('has columns on a terminal, and is cut at its width of %i: %s', (columns, path, text) => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true, columns });
    const log = [{ functionName: 'A', level: 'INFO', message: { reason: 'the token lacks a scope of the route' } }];
    const refused = { ...logged, path, status: 403, requestId: 'QcNvjVNaC1t4m14=', log };
    const plain = stripVTControlCharacters(accessLine(refused, format, terminal));
    expect(plain).toBe(text);
    expect(plain.length).toBeLessThanOrEqual(columns);
  });
});

test.each([
  ['\u0000\r\u001b[2J\u007f\u009b', '\\u0000\\u000d\\u001b[2J\\u007f\\u009b'],
  ['\u001b[\u001b[2J2J\b', '\\u001b[\\u001b[2J2J\\u0008'],
  ['\u202etxt.exe\u2066', '\\u202etxt.exe\\u2066'],
  ['two\nlines of\t"Löwenzahn" \\u001b', 'two\nlines of\t"Löwenzahn" \\u001b'],
])(
  'printable escapes control characters except tabs and line breaks, what reverses text, and nothing else: %j',
  (text, escaped) => {
    expect(printable(text)).toBe(escaped);
  },
);

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
    log.add({ ...logged, status, requestId: `${sent}=` });
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
const line = (status: number) => expect.stringMatching(`^${start} ${status} 2 ms \\d+=`);

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

test('notServed says once which resources are not served, by the reason, and without the hashes of the CDK', () => {
  const [only, from] = ['only some types are served', 'functions get events from the HTTP API only'];
  const leftOut = [
    { resource: 'Jobs1A2B3C4D (AWS::SQS::Queue)', reason: only },
    { resource: 'JobsSource1A2B3C4D (AWS::Lambda::EventSourceMapping)', reason: from },
    { resource: 'JobsPolicy1A2B3C4D (AWS::SQS::QueuePolicy)', reason: only },
  ];
  expect(notServed({ leftOut })).toEqual([
    `Not served here: Jobs (AWS::SQS::Queue), JobsPolicy (AWS::SQS::QueuePolicy), because ${only}.`,
    `Not served here: JobsSource (AWS::Lambda::EventSourceMapping), because ${from}.`,
  ]);
  expect(notServed({ leftOut: [] })).toEqual([]);
});
