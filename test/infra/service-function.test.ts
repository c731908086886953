/** Tests the Lambda functions, their aliases and their logs. permissions.test.ts tests what the functions may do. */
import { expect, test } from 'vitest';
import { byFunction, byOperation, operationNames, propertiesOf, ref } from '../kit/template.ts';

const functions = propertiesOf('AWS::Lambda::Function');

test('every function runs on Node 24 and arm64, and logs JSON to a log group that no other function uses', () => {
  expect(functions).toMatchObject(
    byFunction((name) => [
      [
        name,
        {
          Runtime: 'nodejs24.x',
          Architectures: ['arm64'],
          Handler: 'index.handler',
          MemorySize: 1_769,
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

test("the environment of each operation's function has only the hash of the bundle and the name of the table", () => {
  expect(functions).toMatchObject(
    byOperation((name) => [
      [name, { Environment: { Variables: { BUNDLE_SHA256: expect.any(String), TABLE_NAME: ref('Plants') } } }],
    ]),
  );
  const variables = operationNames.map(([, name]) => functions[name]?.['Environment'] as { Variables: object });
  expect(variables.map(({ Variables }) => Object.keys(Variables).length)).toEqual(operationNames.map(() => 2));
});

test("the authorizer's time-out is below API Gateway's limit and above the time that fetching the issuer's keys may take", () => {
  expect(functions['Authorizer']?.['Timeout'], 'seconds of the authorizer').toBeLessThan(10);
  expect(functions['Authorizer']?.['Timeout'], 'seconds of the authorizer').toBeGreaterThan(3);
});

test.each(operationNames)(
  '%s has a time-out of 5 s; the code in functions/http/ answers at least 2.7 s before that, so within 2.3 s',
  (_, name) => {
    expect(functions[name]?.['Timeout'], 'seconds').toBe(5);
  },
);

test('every function is called through its alias `live`', () => {
  expect(propertiesOf('AWS::Lambda::Alias')).toMatchObject(
    byFunction((name) => [[`${name}Live`, { Name: 'live', FunctionName: ref(name) }]]),
  );
});

test('the logs of the functions and of the API expire', () => {
  const days = Object.entries(propertiesOf('AWS::Logs::LogGroup')).map(([name, log]) => [name, log['RetentionInDays']]);
  const others = { ApiAccessLog: 90, SmokeTestLogs: 90 };
  expect(Object.fromEntries(days)).toEqual({ ...byFunction((name) => [[`${name}Logs`, 90]]), ...others });
});
