import { orderTemplate, propertiesOf } from '@lambda-service/testing/stack';
import { Duration } from 'aws-cdk-lib';
import { expect, test } from 'vitest';
import { setBundle } from '../bundling.ts';
import { OperationFunction } from '../operations.ts';
import { ServiceLog } from '../service-log.ts';

const entry = 'operation-example.lambda.ts';

/** Returns the properties of an operation's function that is given these. */
const functionWith = (given: { memorySize?: number; timeout?: Duration }) => {
  const template = orderTemplate((stack) => {
    setBundle(entry, Buffer.from('exports.handler = () => {};'));
    new OperationFunction(stack, 'GetOrder', { entry, stage: 'dev', tracing: false, ...given });
  });
  return propertiesOf('AWS::Lambda::Function', template)['GetOrder'];
};

test('an operation has one whole core and 5 s, or the memory and the time-out that it is given', () => {
  expect(functionWith({})).toMatchObject({ MemorySize: 1_769, Timeout: 5 });
  const given = { memorySize: 512, timeout: Duration.seconds(29) };
  expect(functionWith(given)).toMatchObject({ MemorySize: 512, Timeout: 29 });
});

test('logs are kept for three months in prod, and for a week elsewhere', () => {
  const days = (['prod', 'dev'] as const).map((stage) =>
    orderTemplate((stack) => void new ServiceLog(stack, 'Logs', stage)),
  );
  expect(days.map((each) => propertiesOf('AWS::Logs::LogGroup', each)['Logs']?.['RetentionInDays'])).toEqual([90, 7]);
});

test.each([4, 30])('an operation cannot have a time-out of %i s', (seconds) => {
  expect(() => functionWith({ timeout: Duration.seconds(seconds) })).toThrow(
    'The time-out of GetOrder must be from 5 to 29 seconds.',
  );
});
