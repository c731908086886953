/** Defines tests of every operation of the contract, with the contract's examples. */
import { toJson } from '@lambda-service/client';
import { errors } from '@lambda-service/runtime/http';
import { describe, expect, test } from 'vitest';
import { bodyOf, compile, examplesOf, newId, type Operation, operations, proxyEvent, tableKey } from '../data/index.ts';
import { type EventRequest, event } from '../events.ts';
import { type Invoke, invoker } from '../in-process.ts';
import { functionNameOf, permissionsOf } from '../stack/template.ts';
import { dynamoDbError, type Faults } from '../store/index.ts';
import { loadOperation } from '../under-test.ts';

/** Returns the request of the contract's examples. `given` replaces the values of parameters, by their names. */
const exampleOf = (operation: Operation, given: Record<string, unknown> = {}): EventRequest => {
  const { routeKey, parameters, requestBody } = operation;
  const valuesIn = (place: string) =>
    Object.fromEntries(
      parameters.filter((each) => each.in === place).map(({ name, example }) => [name, String(given[name] ?? example)]),
    );
  return {
    routeKey,
    pathParameters: valuesIn('path'),
    queryStringParameters: valuesIn('query'),
    headers: valuesIn('header'),
    ...(requestBody && { body: toJson(examplesOf(requestBody)[0]) }),
  };
};

/**
 * Returns the parameters that refuse some text, each with such a text. One that is a list takes any, as a list of one.
 */
const wrongParameters = ({ parameters }: Operation): [name: string, text: string][] =>
  parameters.flatMap(({ name, schema }): [string, string][] => {
    const isText = compile(schema);
    const wrong = ['no number', '', 'x'.repeat(5_000)].find((text) => !isText(text) && !isText([text]));
    return wrong === undefined ? [] : [[name, wrong]];
  });

/** `faults` injects faults into the store that the functions use, and `create` adds an item. */
export const testOperations = ({ faults, invoke: create }: { faults: Faults; invoke: Invoke }): void => {
  describe.each(operations)('$id', (operation) => {
    const call = async (given?: Record<string, unknown>) =>
      invoker(await loadOperation(operation.id))(event(exampleOf(operation, given)));

    test("succeeds with the contract's examples, if the item that they name is stored", async () => {
      const named = operation.parameters.find(({ name }) => name === tableKey.name)?.example;
      if (named !== undefined) await create(proxyEvent(bodyOf(String(named))));
      expect((await call()).status).toBeLessThan(300);
    });

    test.each([
      ['answers 503', 500, 'InternalServerError', errors.storeUnavailable],
      ['answers 500', 400, 'ResourceNotFoundException', errors.fault],
    ])(
      '%s if it calls the store, and the store answers %i %s',
      async (_, status, type, { status: expected, error }) => {
        const before = faults.calls();
        faults.fail(undefined, dynamoDbError(status, type));
        const answered = await call({ [tableKey.name]: newId() }).finally(() => faults.fail(undefined));
        const callsStore = permissionsOf(functionNameOf(operation.id)).some((each) => each.includes('dynamodb:'));
        expect(faults.calls() > before, 'whether it calls the store').toBe(callsStore);
        if (callsStore) expect(answered).toMatchObject({ status: expected, body: { error } });
      },
    );

    test.each(wrongParameters(operation))('answers 400 if the parameter %s is %j', async (name, text) => {
      expect(await call({ [name]: text })).toMatchObject({ status: 400, body: { error: errors.notValid.error } });
    });
  });
};
