/** Tests the smoke test's function. permissions.test.ts tests its permissions; roll-out.test.ts tests when it runs. */
import { expect, inject, test } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';
import { propertiesOf, ref } from '../kit/template.ts';

const functions = propertiesOf('AWS::Lambda::Function');

test('the function of the smoke test has the same settings as the other functions, but no versions and no alias', () => {
  const { Code, Environment, LoggingConfig, Role, Timeout, ...settings } = functions['Authorizer'] ?? {};
  expect(functions['SmokeTest']).toMatchObject(settings);
  const ofSmokeTest = ['Version', 'Alias'].flatMap((type) =>
    Object.values(propertiesOf(`AWS::Lambda::${type}`)).filter(
      ({ FunctionName }) => JSON.stringify(FunctionName) === JSON.stringify(ref('SmokeTest')),
    ),
  );
  expect(ofSmokeTest).toEqual([]);
});

test('the environment of the smoke test names the new version of each function, and the issuer that the authorizer trusts', () => {
  const spec = inject('stack').functions.find(({ name }) => name.startsWith('SmokeTest'));
  const { ISSUER, VERSIONS = '', ...others } = spec?.environment ?? {};
  expect([ISSUER, Object.keys(others)]).toEqual(['https://issuer.example', ['BUNDLE_SHA256']]);
  const idOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
  const arnOf = (name: string) =>
    expect.stringMatching(new RegExp(`^arn:aws:lambda:.*:function:${idOf(name)}[^:]*:1$`));
  const names = [...Object.keys(operations), 'authorizer'];
  expect(JSON.parse(VERSIONS)).toEqual(Object.fromEntries(names.map((name) => [name, arnOf(name)])));
});
