/** Tests what calls the check from outside, and whom it calls. promises.test.ts rehearses its alarm. */

import {
  arn,
  kinds,
  named,
  ofType,
  permissionsIn,
  prod,
  propertiesOf,
  templateOf,
  withoutHashes,
} from '@lambda-service/testing/stack';
import { expect, test } from 'vitest';

test('a rule calls the check every five minutes, and nothing else may call it', () => {
  const [rule, ...others] = Object.entries(propertiesOf('AWS::Events::Rule'));
  expect(others).toEqual([]);
  const targets = [expect.objectContaining({ Arn: arn('OutsideCheck') })];
  expect(rule?.[1]).toMatchObject({ ScheduleExpression: 'rate(5 minutes)', State: 'ENABLED', Targets: targets });
  const permissions = Object.values(propertiesOf('AWS::Lambda::Permission')).filter(({ FunctionName }) =>
    JSON.stringify(FunctionName).includes('"OutsideCheck"'),
  );
  const events = { Principal: 'events.amazonaws.com', SourceArn: arn(rule?.[0] ?? '') };
  expect(permissions).toEqual([expect.objectContaining(events)]);
});

test('the check calls the address that clients call, and may do nothing but write its log', () => {
  const variablesOf = (template: typeof prod) =>
    Object(propertiesOf('AWS::Lambda::Function', template)['OutsideCheck']?.['Environment']).Variables;
  const variables = { BUNDLE_SHA256: expect.any(String), ISSUER: 'https://issuer.example' };
  expect(variablesOf(prod)).toEqual({ ...variables, API_URL: prod.Outputs['ApiUrl']?.Value });
  const withDomain = withoutHashes(templateOf({ ...kinds.prodWithIssuer, ...named }).toJSON());
  expect(variablesOf(withDomain)).toEqual({ ...variables, API_URL: `https://${named.domainName}` });
  const { PolicyDocument } = propertiesOf('AWS::IAM::Policy')['OutsideCheckRoleDefaultPolicy'] ?? {};
  const log = ['CreateLogStream', 'PutLogEvents'].map((action) => `Allow logs:${action}: OutsideCheckLogs.Arn`);
  expect(permissionsIn(PolicyDocument)).toEqual(log);
});

test('no other resource waits for the check, so it cannot stop a roll-out; a dev stage does not have it', () => {
  const waiting = Object.entries(prod.Resources).filter(([, { DependsOn = [] }]) =>
    DependsOn.some((each) => each.startsWith('OutsideCheck')),
  );
  expect(waiting.map(([name]) => name).filter((name) => !name.startsWith('OutsideCheck'))).toEqual([]);
  const dev = withoutHashes(templateOf(kinds.devWithIssuer).toJSON());
  expect(Object.keys(dev.Resources).filter((name) => name.startsWith('OutsideCheck'))).toEqual([]);
  expect(ofType('AWS::Events::Rule', dev)).toEqual({});
});
