import { emptyStack, externalIssuer, orderTemplate, propertiesOf, ref, resolve } from '@lambda-service/testing/stack';
import { CfnOutput, type Stack } from 'aws-cdk-lib';
import { expect, test } from 'vitest';
import { trustedIssuer } from '../token-issuer.ts';

const external = { ...externalIssuer, scopeClaim: 'scope' };
const scopes = ['orders/create', 'orders/read'];

const trust = (stack: Stack, props: Partial<Parameters<typeof trustedIssuer>[2]> = {}) => {
  const common = {
    scopes,
    stage: 'prod',
    clientIds: undefined,
    domainPrefix: 'orders',
    externalIssuer: undefined,
  } as const;
  const { outputs } = trustedIssuer(stack, 'TokenIssuer', { ...common, ...props });
  for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value });
};

const template = orderTemplate(trust);

test('in prod, a deployment with another issuer, and one that goes back, change nothing in the user pool', () => {
  const withIssuer = orderTemplate((stack) => trust(stack, { externalIssuer: external }));
  expect(withIssuer.Resources).toEqual(template.Resources);
});

test.each([
  ['dev', scopes],
  ['prod', ['create:orders']],
] as const)('a %s stack with an external issuer has no user pool if its scopes are %j', (stage, scopes) => {
  const stack = emptyStack();
  trust(stack, { externalIssuer: external, stage, scopes: [...scopes] });
  expect(stack.node.children.map(({ node }) => node.id)).toEqual(['Issuer']);
});

test.each([['orders'], ['orders/create', 'garden/water'], ['orders/create', 'ordersX/read'], ['orders/create/all']])(
  'a user pool of Cognito cannot have these scopes, and an error says so: %j',
  (...scopes) => {
    const message =
      'Cognito needs scopes of the form RESOURCE/PERMISSION with one RESOURCE, but schemas/openapi.yaml has';
    expect(() => trust(emptyStack(), { scopes })).toThrow(`${message} ${scopes.join(' ')}.`);
  },
);

test('the user pool issues tokens only to one machine client with a secret; the tokens last an hour and can have only scopes of the contract', () => {
  expect(Object.values(propertiesOf('AWS::Cognito::UserPoolClient', template))).toMatchObject([
    {
      AllowedOAuthFlows: ['client_credentials'],
      AllowedOAuthScopes: ['/create', '/read'].map((scope) => ({
        'Fn::Join': ['', [ref('TokenIssuerPoolApi'), scope]],
      })),
      GenerateSecret: true,
      AccessTokenValidity: 60,
      TokenValidityUnits: { AccessToken: 'minutes' },
    },
  ]);
  expect(JSON.stringify(template)).not.toContain('ClientSecret');
});

test('nobody can sign up in the user pool, and users added by hand need a strong password and a second factor', () => {
  expect(propertiesOf('AWS::Cognito::UserPool', template)['TokenIssuerPool']).toMatchObject({
    AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
    MfaConfiguration: 'ON',
    EnabledMfas: ['SOFTWARE_TOKEN_MFA'],
    Policies: { PasswordPolicy: { MinimumLength: 16 } },
    DeletionProtection: 'ACTIVE',
  });
});

test("the name of the user pool's domain contains the stack's UUID, so that no other stack's domain has the same name", () => {
  const uuid = { 'Fn::Select': [2, { 'Fn::Split': ['/', ref('AWS::StackId')] }] };
  expect(propertiesOf('AWS::Cognito::UserPoolDomain', template)['TokenIssuerPoolDomain']).toMatchObject({
    Domain: { 'Fn::Join': ['', ['orders-', uuid]] },
  });
});

test('the outputs are the user pool, its client and the token URL', () => {
  expect(template.Outputs).toEqual({
    UserPoolId: { Value: ref('TokenIssuerPool') },
    ClientId: { Value: ref('TokenIssuerPoolMachine') },
    TokenUrl: { Value: expect.anything() },
  });
  expect(resolve(template.Outputs['TokenUrl']?.Value)).toBe(
    'https://TokenIssuerPoolDomain.auth.AWS::Region.amazoncognito.com/oauth2/token',
  );
});
