/** Tests whose tokens the authorizer trusts: those of the issuer in the context, or of the stack's own user pool. */
import { expect, test } from 'vitest';
import { externalIssuer, kinds, templateOf } from '../kit/stacks.ts';
import { ofType, propertiesOf, ref, type Template, withoutHashes } from '../kit/template.ts';

const cognito = withoutHashes(templateOf(kinds.prod).toJSON());

const withIssuer = (context: Record<string, string>) =>
  withoutHashes(templateOf({ ...externalIssuer, ...context }).toJSON());

const variables = (template: Template): unknown => template.Resources['Authorizer']?.Properties['Environment'];

test('the authorizer trusts the external issuer that the context names', () => {
  const template = withIssuer({});
  expect(variables(template)).toEqual({
    Variables: {
      ISSUER: externalIssuer.issuer,
      JWKS_URI: externalIssuer.jwksUri,
      AUDIENCE: externalIssuer.audience,
      REQUIRED_SCOPE: 'plants/create',
      SCOPE_CLAIM: 'scope',
    },
  });
  expect(ofType('AWS::Cognito::UserPool', template)).toEqual({});
  expect(template.Outputs['Issuer']?.Value).toBe(externalIssuer.issuer);
});

test("the authorizer trusts the stack's own user pool and any audience if the context names no issuer", () => {
  const issuer = { 'Fn::GetAtt': ['TokenIssuerPool', 'ProviderURL'] };
  expect(variables(cognito)).toEqual({
    Variables: {
      ISSUER: issuer,
      JWKS_URI: { 'Fn::Join': ['', [issuer, '/.well-known/jwks.json']] },
      AUDIENCE: 'none',
      REQUIRED_SCOPE: 'plants/create',
      SCOPE_CLAIM: 'scope',
    },
  });
});

test('the authorizer gets AUDIENCE=none if the context sets the audience `none` for an external issuer', () => {
  expect(variables(withIssuer({ audience: 'none' }))).toMatchObject({ Variables: { AUDIENCE: 'none' } });
});

test('the authorizer looks for the scope in the claims that the context names', () => {
  expect(variables(withIssuer({ scopeClaim: 'scp,roles' }))).toMatchObject({ Variables: { SCOPE_CLAIM: 'scp,roles' } });
});

test('the authorizer requires the scope that the context names, and the user pool grants it', () => {
  const template = withoutHashes(templateOf({ scope: 'garden/plant' }).toJSON());
  expect(variables(template)).toMatchObject({ Variables: { REQUIRED_SCOPE: 'garden/plant' } });
  expect(propertiesOf('AWS::Cognito::UserPoolResourceServer', template)).toMatchObject({
    TokenIssuerPoolApi: { Identifier: 'garden', Scopes: [{ ScopeName: 'plant' }] },
  });
});

test('the user pool issues tokens for an hour, with this scope only, to one machine client with a secret', () => {
  expect(propertiesOf('AWS::Cognito::UserPoolResourceServer', cognito)).toEqual({
    TokenIssuerPoolApi: expect.objectContaining({
      Identifier: 'plants',
      Scopes: [expect.objectContaining({ ScopeName: 'create' })],
    }),
  });
  expect(propertiesOf('AWS::Cognito::UserPoolClient', cognito)).toEqual({
    TokenIssuerPoolMachine: expect.objectContaining({
      AllowedOAuthFlows: ['client_credentials'],
      AllowedOAuthFlowsUserPoolClient: true,
      AllowedOAuthScopes: [{ 'Fn::Join': ['', [ref('TokenIssuerPoolApi'), '/create']] }],
      GenerateSecret: true,
      AccessTokenValidity: 60,
      TokenValidityUnits: { AccessToken: 'minutes' },
    }),
  });
});

test('the user pool has no users, and strict rules for any that are added by hand', () => {
  expect(propertiesOf('AWS::Cognito::UserPool', cognito)).toEqual({
    TokenIssuerPool: expect.objectContaining({
      AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
      MfaConfiguration: 'ON',
      Policies: {
        PasswordPolicy: {
          MinimumLength: 16,
          RequireLowercase: true,
          RequireNumbers: true,
          RequireSymbols: true,
          RequireUppercase: true,
        },
      },
    }),
  });
});

test('the user pool has a domain that no other stack can have', () => {
  const uuid = { 'Fn::Select': [2, { 'Fn::Split': ['/', ref('AWS::StackId')] }] };
  expect(propertiesOf('AWS::Cognito::UserPoolDomain', cognito)).toEqual({
    TokenIssuerPoolDomain: { Domain: { 'Fn::Join': ['', ['plants-', uuid]] }, UserPoolId: ref('TokenIssuerPool') },
  });
});

test('the outputs name the user pool, its client and the token URL, but no secret', () => {
  const host = [
    'https://',
    ref('TokenIssuerPoolDomain'),
    '.auth.',
    ref('AWS::Region'),
    '.amazoncognito.com/oauth2/token',
  ];
  expect(cognito.Outputs).toMatchObject({
    UserPoolId: { Value: ref('TokenIssuerPool') },
    ClientId: { Value: ref('TokenIssuerPoolMachine') },
    TokenUrl: { Value: { 'Fn::Join': ['', host] } },
  });
  expect(JSON.stringify(cognito)).not.toContain('ClientSecret');
});
