/** Defines a test that compares a stack with a simple model: a map from ids to items. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bodyOf,
  type Content,
  type Item,
  invalidBody,
  itemOf,
  longFields,
  longText,
  newId,
  someContents,
  violations,
} from '../data/example.ts';
import {
  captivePortal,
  corruptResponse,
  dynamoDbError,
  type Fault,
  type FaultyStore,
  hangUp,
  loseResponse,
  onFirstCall,
  truncateResponse,
} from '../store/faulty-store.ts';
import { progress, seed, trialSize } from '../trial/scale.ts';
import { startTrial, type TrialStack } from '../trial/trial-stack.ts';
import { part } from './part.ts';

/** The contents are those that all versions of the stack's functions know. */
type Modelled = { store: FaultyStore; stack: TrialStack; contents: Content[] };

let store: FaultyStore;
let stack: TrialStack;

type Model = Map<string, Item>;
type Command = fc.AsyncCommand<Model, object>;

/** The number of item ids in one run of the model. Each generated command refers to an id by its index in `ids`. */
const places = 3;

/** The item ids in the current run. No other run has used these ids. */
let ids: string[];

const faults: Record<string, Fault> = {
  hangUp,
  loseResponse,
  truncateResponse,
  corruptResponse,
  captivePortal,
  internalError: dynamoDbError(500, 'InternalServerError'),
};

/**
 * Sends a request that creates an item. @returns the id, the item that was sent, the model's item with this id
 * (`known`), if any, the status of the response, and the status that the model expects
 */
const create = async (model: Model, place: number, content: Content, send = stack.send) => {
  const id = ids[place] ?? '';
  const { status } = await send(bodyOf(id, content));
  const sent = itemOf(id, content);
  const known = model.get(id);
  return { id, sent, known, status, expected: known === undefined || isDeepStrictEqual(known, sent) ? 200 : 409 };
};

const expectStored = async (model: Model): Promise<void> => {
  for (const id of ids) expect(await store.read(id)).toEqual(model.get(id));
};

class Create implements Command {
  readonly place: number;
  readonly content: Content;
  constructor(place: number, content: Content) {
    this.place = place;
    this.content = content;
  }
  check = () => true;
  async run(model: Model): Promise<void> {
    const { id, sent, status, expected } = await create(model, this.place, this.content);
    expect(status, 'status').toBe(expected);
    if (status === 200) model.set(id, sent);
    await expectStored(model);
  }
  toString = () => `create ${this.place} ${JSON.stringify(this.content)}`;
}

/**
 * Creates an item while the store fails. The status is 503 if the fault lasts, and may be 503 even after a short fault,
 * if earlier requests have used up the SDK's retry quota. After a 503, the item may or may not have been stored.
 */
class CreateWithFault extends Create {
  readonly fault: string;
  readonly isLasting: boolean;
  constructor(place: number, content: Content, fault: string, isLasting: boolean) {
    super(place, content);
    this.fault = fault;
    this.isLasting = isLasting;
  }
  override async run(model: Model): Promise<void> {
    const fault = faults[this.fault] as Fault;
    const now = ids[this.place] ?? '';
    const before = store.calls(now);
    store.fail(now, (call) => (this.isLasting ? fault : onFirstCall(fault))({ ...call, number: call.number - before }));
    const { id, sent, known, status, expected } = await create(model, this.place, this.content, stack.sendOnce);
    store.fail(now);
    expect([this.isLasting ? 503 : expected, 503], 'possible statuses').toContain(status);
    const stored = await store.read(id);
    if (status === 200) model.set(id, sent);
    else if (known === undefined && stored !== undefined) model.set(id, sent);
    await expectStored(model);
  }
  override toString = () =>
    `create ${this.place} ${JSON.stringify(this.content)}, ${this.isLasting ? 'lasting' : 'once'}: ${this.fault}`;
}

class Race extends Create {
  readonly other: Content;
  constructor(place: number, content: Content, other: Content) {
    super(place, content);
    this.other = other;
  }
  override async run(model: Model): Promise<void> {
    const racers = await Promise.all([this.content, this.other].map((content) => create(model, this.place, content)));
    const winner = racers.find(({ status }) => status === 200);
    if (winner !== undefined) model.set(winner.id, winner.sent);
    expect(model.has(ids[this.place] ?? ''), 'one of the two was acknowledged').toBe(true);
    // Either of the two concurrent requests may have stored its item. Each of them that sent the stored item must
    // have got a 200, and each that sent a different item a 409.
    for (const { id, sent, status } of racers) {
      expect(status, 'status').toBe(isDeepStrictEqual(model.get(id), sent) ? 200 : 409);
    }
    await expectStored(model);
  }
  override toString = () => `race ${this.place} ${JSON.stringify([this.content, this.other])}`;
}

class CreateInvalid implements Command {
  readonly place: number;
  readonly what: string;
  readonly body: (id: string) => string;
  constructor(place: number, [what, body]: InvalidBody) {
    this.place = place;
    this.what = what;
    this.body = body;
  }
  check = () => true;
  async run(model: Model): Promise<void> {
    const calls = store.calls();
    const { status } = await stack.send(this.body(ids[this.place] ?? ''));
    expect(status, 'status').toBe(400);
    expect(store.calls() - calls, 'calls to the store').toBe(0);
    await expectStored(model);
  }
  toString = () => `invalid ${this.place} ${this.what}`;
}

class CreateTooLarge extends Create {
  override async run(model: Model): Promise<void> {
    const id = ids[this.place] ?? '';
    const { status } = await stack.send(bodyOf(id, this.content));
    // The store (dynalite) first checks whether the id is taken, and then the size, so an item that is too large gets a
    // 409 if its id is taken.
    expect(status, 'status').toBe(model.has(id) ? 409 : 413);
    await expectStored(model);
  }
  override toString = () => `too large ${this.place}`;
}

/** A body that the service must refuse, for the id that a command refers to. */
type InvalidBody = [what: string, body: (id: string) => string];

const invalidBodies = (fields?: Content): InvalidBody[] => [
  ['without an id', () => invalidBody],
  ['half a body', (id) => bodyOf(id, fields).slice(0, -1)],
  ...violations('x', newId(), fields).map(
    (_, index): InvalidBody => [`violation ${index}`, (id) => violations('x', id, fields)[index] ?? ''],
  ),
];

/** Contents that exceed DynamoDB's limit of 400 KB: none if the contract has no text of any length. */
const tooLarge = (fields: Content = {}): Content[] =>
  Object.keys(fields).flatMap((field) => (longFields.includes(field) ? [{ ...fields, [field]: longText }] : []));

const place = fc.nat({ max: places - 1 });

/** Random commands that send these contents, and bodies made of the first. */
const commandsWith = (examples: Content[]) => {
  const contents = fc.constantFrom(...examples);
  return fc.commands(
    [
      fc.tuple(place, contents).map((args) => new Create(...args)),
      fc.tuple(place, contents).map((args) => new Create(...args)),
      fc.tuple(place, contents, contents).map((args) => new Race(...args)),
      fc.tuple(place, fc.constantFrom(...invalidBodies(examples[0]))).map((args) => new CreateInvalid(...args)),
      ...tooLarge(examples[0]).map((fields) => place.map((each) => new CreateTooLarge(each, fields))),
      fc
        .tuple(place, contents, fc.constantFrom(...Object.keys(faults)), fc.boolean())
        .map((args) => new CreateWithFault(...args)),
    ],
    { maxCommands: 25 },
  );
};

const runs = trialSize(1_000, 5);

/** Sends random requests to the stack, one sequence after the other. The store must not be used by others meanwhile. */
export const compareWithModel = ({ contents, ...parts }: Modelled): void => {
  test(`the service responds as a simple model predicts in ${runs} random sequences of requests (seed ${seed})`, async () => {
    ({ store, stack } = parts);
    const tick = progress('sequences', runs);
    await fc.assert(
      fc.asyncProperty(commandsWith(contents), async (sequence) => {
        ids = Array.from({ length: places }, newId);
        await fc.asyncModelRun(() => ({ model: new Map<string, Item>(), real: {} }), sequence);
        tick();
      }),
      { seed, numRuns: runs },
    );
  });
};

export const testModel = part('model', async () =>
  compareWithModel({ ...(await startTrial()), contents: someContents }),
);
