/**
 * Rehearses a roll-out: the new version of each function gets a tenth of the events, and the version of an earlier
 * commit gets the others. Requests are really sent, but their times and durations are simulated.
 */
import { afterAll, beforeEach, expect, inject, test } from 'vitest';
import { raisedAlarms, record, rollBackAlarms, type Value } from '../kit/alarms.ts';
import { bodyOf, itemOf, newId } from '../kit/example.ts';
import { startFaultyStore } from '../kit/faulty-store.ts';
import { createPlantRoute } from '../kit/gateway-events.ts';
import { misbehaving } from '../kit/misbehaving.ts';
import { testModel } from '../kit/model.ts';
import { startRollOut } from '../kit/roll-out.ts';
import { trialSize } from '../kit/scale.ts';
import { type FunctionName, longTimeout } from '../kit/trial-stack.ts';
import { untilAvailable } from '../kit/waiting.ts';

const store = await startFaultyStore('plants');
afterAll(store.close);
const change = { wrapper: misbehaving };
const stack = await startRollOut(store.endpoint, { authorizer: change, operations: change });
afterAll(stack.close);

beforeEach(({ skip }) => skip(stack.missing !== undefined, stack.missing));

testModel({ store, stack, contents: stack.contents });

/**
 * How the new version of one function misbehaves. A header that `send` adds to each request tells the new version to do
 * so. The previous version ignores the header.
 */
type Misbehaviour = [role: 'authorizer' | 'operation', behaviour: string];

/** Sends a request. A version that misbehaves causes a 500. @returns the status, and what it adds to the metrics */
const send = (id: string, [role, behaviour]: Misbehaviour): Promise<{ status: number; values: Value[] }> =>
  untilAvailable(async () => {
    const sent = () => stack.sendOnce(bodyOf(id, stack.contents[0]), { [`x-${role}`]: behaviour });
    const { response, values } = await record(inject('template'), stack, sent);
    return { status: response.status, values };
  });

const statusOf = async (...request: Parameters<typeof send>): Promise<number> => (await send(...request)).status;

type Sent = { id: string; minute: number; status: number };

/**
 * Simulates the roll-out of a new version: five minutes, with at least ten requests a minute. If an alarm of the
 * function goes off, rolls the version back as CodeDeploy does, and stops a minute later.
 * @returns the requests, and which minute was the last before the roll-back
 */
const rollOut = async (misbehaviour: Misbehaviour): Promise<{ sent: Sent[]; rolledBackAfter: number | undefined }> => {
  const [role, behaviour] = misbehaviour;
  const which: FunctionName = role === 'authorizer' ? role : createPlantRoute;
  const watched = rollBackAlarms(inject('template'), stack.nameOf(which));
  const values: Value[][] = [];
  const sent: Sent[] = [];
  let rolledBackAfter: number | undefined;
  stack.shift(0.1);
  // A function that takes too long runs until its time-out, so set a short time-out to keep the test short.
  stack.setFunctionTimeout(which, behaviour === 'takes too long' ? 50 : longTimeout);
  for (const minute of Array.from({ length: 5 }).keys()) {
    const inMinute: Value[] = [];
    for (const id of Array.from({ length: trialSize(20, 10) }, newId)) {
      const { status, values } = await send(id, misbehaviour);
      sent.push({ id, minute, status });
      inMinute.push(...values);
    }
    values.push(inMinute);
    if (rolledBackAfter !== undefined) break;
    if (!raisedAlarms(inject('template'), values).some((alarm) => watched.includes(alarm))) continue;
    rolledBackAfter = minute;
    stack.shift(0);
  }
  return { sent, rolledBackAfter };
};

const expectStored = async (sent: Sent[]): Promise<void> => {
  for (const { id } of sent) expect(await store.read(id)).toEqual(itemOf(id, stack.contents[0]));
};

test('a new version that works is not rolled back; once it gets all events, it responds 200 to each stored plant that is sent again', async () => {
  const { sent, rolledBackAfter } = await rollOut(['operation', '']);
  expect(rolledBackAfter).toBe(undefined);
  expect(sent.filter(({ status }) => status !== 200)).toEqual([]);
  await expectStored(sent);
  stack.shift(1);
  // All events now go to the new version. It must find that each plant is already stored, whichever version stored the
  // plant.
  for (const { id } of sent) expect(await statusOf(id, ['operation', ''])).toBe(200);
});

test.each<Misbehaviour>([
  ['operation', 'crashes'],
  ['operation', 'has a bug'],
  ['authorizer', 'throws'],
  ['authorizer', 'takes too long'],
])('a new version is rolled back, and no plant is lost, if its %s %s', async (...misbehaviour) => {
  const { sent, rolledBackAfter } = await rollOut(misbehaviour);
  const failed = sent.filter(({ status }) => status !== 200);
  const isBefore = ({ minute }: Sent): boolean => rolledBackAfter !== undefined && minute <= rolledBackAfter;
  expect(failed, 'requests that failed').not.toEqual([]);
  expect(failed.every(isBefore), 'all failed before the roll-back').toBe(true);
  // Only the new version fails, and this version gets only a tenth of the events, so most requests succeed.
  expect(failed.length).toBeLessThan(sent.filter(isBefore).length / 2);
  await expectStored(sent.filter(({ status }) => status === 200));
  for (const { id } of failed) expect(await statusOf(id, misbehaviour), 'sent again').toBe(200);
  await expectStored(failed);
});
