/**
 * Tests which requests `npm start` prints when many arrive. The tests call `endSecond` instead of waiting for a second.
 */
import { beforeEach, expect, test } from 'vitest';
import { RequestLog } from '../../start/request-log.ts';

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
