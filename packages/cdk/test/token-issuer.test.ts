/** Tests that the authorizer trusts the issuer in the CDK context or, if that has none, the stack's user pool. */

import {
  emptyStack,
  externalIssuer,
  kinds,
  propertiesOf,
  ref,
  resolve,
  type Template,
  templateOf,
  withoutHashes,
} from '@lambda-service/testing/stack';
import { expect, test } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';
import { TokenIssuer } from '../../packages/cdk/token-issuer.ts';

const withPool = templateOf(kinds.prod).toJSON();
const withIssuer = templateOf({ ...kinds.prodWithIssuer, scopeClaim: 'scp,roles' }).toJSON();
const cognito = withoutHashes(withPool);

const variables = (template: Template): unknown =>
  Object(template.Resources['Authorizer']?.Properties['Environment']).Variables;

test('the authorizer trusts the external issuer that the CDK context names', () => {
  const template = withoutHashes(withIssuer);
  expect(variables(template)).toEqual({
    BUNDLE_SHA256: expect.any(String),
    ISSUER: externalIssuer.issuer,
    JWKS_URI: externalIssuer.jwksUri,
    AUDIENCE: externalIssuer.audience,
    CLIENT_IDS: externalIssuer.clientIds,
    SCOPE_CLAIM: 'scp,roles',
  });
  expect(template.Outputs['Issuer']?.Value).toBe(externalIssuer.issuer);
});

test("the authorizer trusts the stack's own user pool, and its client, if the CDK context names no issuer", () => {
  const issuer = { 'Fn::GetAtt': ['TokenIssuerPool', 'ProviderURL'] };
  expect(variables(cognito)).toMatchObject({
    ISSUER: issuer,
    JWKS_URI: { 'Fn::Join': ['', [issuer, '/.well-known/jwks.json']] },
    AUDIENCE: 'none',
    CLIENT_IDS: ref('TokenIssuerPoolMachine'),
    SCOPE_CLAIM: 'scope',
  });
});

test("further clients of the stack's own user pool may call the API if the CDK context names them", () => {
  const template = withoutHashes(templateOf({ ...kinds.dev, clientIds: 'a,b' }).toJSON());
  expect(resolve(Object(variables(template)).CLIENT_IDS)).toBe('TokenIssuerPoolMachine,a,b');
});

const poolIn = (template: object) =>
  Object.entries((template as Template).Resources).filter(([, { Type }]) => Type.startsWith('AWS::Cognito::'));

test('in prod, a deployment with another issuer, and one that goes back, change nothing in the user pool', () => {
  expect(poolIn(withPool)).not.toEqual([]);
  expect(poolIn(withIssuer)).toEqual(poolIn(withPool));
});

test('a prod stack with an external issuer has no user pool if Cognito cannot have the scopes of the contract', () => {
  const scopes = Object.values(operations).map((operation) => operation.scopes);
  for (const operation of Object.values(operations)) Object.assign(operation, { scopes: ['create:plants'] });
  try {
    expect(poolIn(templateOf(kinds.prodWithIssuer).toJSON())).toEqual([]);
  } finally {
    for (const [index, operation] of Object.values(operations).entries())
      Object.assign(operation, { scopes: scopes[index] });
  }
});

test.each([['plants'], ['plants/create', 'garden/water'], ['plants/create', 'plantsX/read'], ['plants/create/all']])(
  'TokenIssuer throws an error for scopes that a Cognito user pool cannot have: %j',
  (...scopes) => {
    const makePool = () =>
      new TokenIssuer(emptyStack(), 'Other', {
        ...{ scopes, stage: 'dev', clientIds: undefined, domainPrefix: 'plants' },
      });
    const message =
      'Cognito needs scopes of the form RESOURCE/PERMISSION with one RESOURCE, but schemas/openapi.yaml has';
    expect(makePool).toThrow(`${message} ${scopes.join(' ')}.`);
  },
);

test('the user pool issues tokens only to one machine client with a secret; the tokens last an hour and can have only scopes of the contract', () => {
  const scopes = new Set(Object.values(operations).flatMap((operation) => operation.scopes));
  expect(Object.values(propertiesOf('AWS::Cognito::UserPoolClient', cognito))).toMatchObject([
    {
      AllowedOAuthFlows: ['client_credentials'],
      AllowedOAuthScopes: [...scopes].map((scope) => {
        return { 'Fn::Join': ['', [ref('TokenIssuerPoolApi'), scope.replace(/^[^/]*/, '')]] };
      }),
      GenerateSecret: true,
      AccessTokenValidity: 60,
      TokenValidityUnits: { AccessToken: 'minutes' },
    },
  ]);
  expect(JSON.stringify(cognito)).not.toContain('ClientSecret');
});

test('nobody can sign up in the user pool, and users added by hand need a strong password and a second factor', () => {
  expect(propertiesOf('AWS::Cognito::UserPool', cognito)['TokenIssuerPool']).toMatchObject({
    AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
    MfaConfiguration: 'ON',
    EnabledMfas: ['SOFTWARE_TOKEN_MFA'],
    Policies: { PasswordPolicy: { MinimumLength: 16 } },
    DeletionProtection: 'ACTIVE',
  });
});

test("the name of the user pool's domain contains the stack's UUID, so that no other stack's domain has the same name", () => {
  const uuid = { 'Fn::Select': [2, { 'Fn::Split': ['/', ref('AWS::StackId')] }] };
  expect(propertiesOf('AWS::Cognito::UserPoolDomain', cognito)['TokenIssuerPoolDomain']).toMatchObject({
    Domain: { 'Fn::Join': ['', ['plants-', uuid]] },
  });
});

test('the outputs of the stack include the user pool, its client and the token URL', () => {
  expect(cognito.Outputs).toMatchObject({
    UserPoolId: { Value: ref('TokenIssuerPool') },
    ClientId: { Value: ref('TokenIssuerPoolMachine') },
  });
  expect(resolve(cognito.Outputs['TokenUrl']?.Value)).toBe(
    'https://TokenIssuerPoolDomain.auth.AWS::Region.amazoncognito.com/oauth2/token',
  );
});
