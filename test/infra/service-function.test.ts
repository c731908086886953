/** The functions, their versions and their logs. What they may do: permissions.test.ts. */
import { expect, test } from 'vitest';
import { byFunction, propertiesOf, ref } from '../kit/template.ts';

const functions = propertiesOf('AWS::Lambda::Function');

test('every function runs on Node 24 and arm64, is traced, and logs JSON into a log group of its own', () => {
  expect(functions).toMatchObject(
    byFunction((name) => [
      [
        name,
        {
          Runtime: 'nodejs24.x',
          Architectures: ['arm64'],
          Handler: 'index.handler',
          MemorySize: 1_769,
          TracingConfig: { Mode: 'Active' },
          LoggingConfig: {
            LogFormat: 'JSON',
            ApplicationLogLevel: 'INFO',
            SystemLogLevel: 'INFO',
            LogGroup: ref(`${name}Logs`),
          },
        },
      ],
    ]),
  );
});

test('no function reserves concurrency, which would cap it and take as much from all others of the account', () => {
  expect(Object.keys(functions).filter((name) => 'ReservedConcurrentExecutions' in (functions[name] ?? {}))).toEqual(
    [],
  );
});

test('createPlant is told its table, and nothing else', () => {
  expect(functions['CreatePlant']?.['Environment']).toEqual({ Variables: { TABLE_NAME: ref('Plants') } });
});

test('the authorizer has less time than API Gateway gives it, and more than it needs to fetch keys', () => {
  expect(functions['Authorizer']?.['Timeout'], 'seconds of the authorizer').toBeLessThan(10);
  expect(functions['Authorizer']?.['Timeout'], 'seconds of the authorizer').toBeGreaterThan(3);
});

test('createPlant has less time than API Gateway gives it, and more than its own limit', () => {
  expect(functions['CreatePlant']?.['Timeout'], 'seconds of createPlant').toBeLessThan(30);
  expect(functions['CreatePlant']?.['Timeout'], 'seconds of createPlant').toBeGreaterThan(2.5);
});

test('every function is called by its alias live', () => {
  expect(propertiesOf('AWS::Lambda::Alias')).toMatchObject(
    byFunction((name) => [[`${name}Live`, { Name: 'live', FunctionName: ref(name) }]]),
  );
});

test('the log of each function, and that of the API, ends', () => {
  const days = Object.entries(propertiesOf('AWS::Logs::LogGroup')).map(([name, log]) => [name, log['RetentionInDays']]);
  expect(Object.fromEntries(days)).toEqual({ ...byFunction((name) => [[`${name}Logs`, 90]]), ApiAccessLog: 90 });
});
