/** Tests which requests `npm start` prints while there are many. No clock: the test says when a second has passed. */
import { beforeEach, expect, test } from 'vitest';
import { RequestLog } from '../../local/request-log.ts';

let lines: string[];
let log: RequestLog;
beforeEach(() => {
  lines = [];
  log = new RequestLog((line) => lines.push(line));
});

let sent = 0;
const add = (count: number, status = 200, milliseconds = 1): void => {
  for (let index = 0; index < count; index += 1) {
    sent += 1;
    log.add({ method: 'POST', path: '/plants', status, milliseconds, requestId: `${sent}=`, log: [] });
  }
};
/** Ends the second. @returns what was printed in it */
const endSecond = (): string[] => {
  log.endSecond();
  return lines.splice(0);
};
const line = (status: number) => expect.stringMatching(`^POST /plants ${status} 1 ms \\d+=$`);

test('20 requests a second get a line each', () => {
  for (const _ of [1, 2]) {
    add(20);
    expect(endSecond()).toEqual(Array(20).fill(line(200)));
  }
});

test('a second without requests prints nothing', () => {
  expect(endSecond()).toEqual([]);
});

test('the 21st request of a second and all later ones get one line at its end: how many, by status, and the slowest', () => {
  add(20);
  add(3);
  add(1, 409, 35.4);
  add(1);
  expect(lines).toEqual(Array(20).fill(line(200)));
  const id = sent - 1;
  expect(endSecond().slice(20)).toEqual([
    `5 more requests (--verbose prints each): 4 × 200, 1 × 409 | slowest: POST /plants 35 ms ${id}=`,
  ]);
});

test('after a busy second, requests get only the summary, until a second with 20 of them has passed', () => {
  add(21);
  endSecond();
  add(500);
  expect(lines).toEqual([]);
  expect(endSecond()).toEqual([expect.stringMatching(/^500 more requests .* 500 × 200 /)]);
  add(20);
  expect(endSecond()).toEqual([expect.stringMatching(/^20 more requests /)]);
  add(1);
  expect(lines).toEqual([line(200)]);
});

test('the first 3 failures of a busy second get a line each at once, the others are in its summary', () => {
  add(21);
  endSecond();
  add(10);
  add(5, 503);
  expect(lines).toEqual([line(503), line(503), line(503)]);
  expect(endSecond().slice(3)).toEqual([expect.stringContaining(': 10 × 200, 2 × 503 |')]);
});
