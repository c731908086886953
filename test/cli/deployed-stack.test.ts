/** Tests how the token issuer of a deployed stack is read from CloudFormation and Cognito. */
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { CognitoIdentityProviderClient } from '@aws-sdk/client-cognito-identity-provider';
import { expect, test, vi } from 'vitest';

const outputs = {
  TokenUrl: 'https://plants.auth.example/oauth2/token',
  ClientId: 'client',
  UserPoolId: 'pool',
  Scope: 'plants/create',
};

/**
 * Reads the issuer of a stack from a fake AWS, which returns `given` as the stack's outputs. @returns the issuer, and
 * the requests sent to AWS
 */
const read = async (given: Record<string, string>, environment: Record<string, string> = {}) => {
  const all = { AWS_REGION: 'eu-west-1', AWS_DEFAULT_REGION: undefined, ...environment };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  vi.resetModules();
  const { readDeployedIssuer } = await import('../../cli/deployed-issuer.ts');
  const asked: object[] = [];
  vi.spyOn(CloudFormationClient.prototype, 'send').mockImplementation(async function (
    this: CloudFormationClient,
    { input }: { input: object },
  ) {
    asked.push({ ...input, region: await this.config.region() });
    const Outputs = Object.entries(given).map(([OutputKey, OutputValue]) => ({ OutputKey, OutputValue }));
    return { Stacks: [{ Outputs }] };
  });
  vi.spyOn(CognitoIdentityProviderClient.prototype, 'send').mockImplementation(async function (
    this: CognitoIdentityProviderClient,
    { input }: { input: object },
  ) {
    asked.push({ ...input, region: await this.config.region() });
    return { UserPoolClient: { ClientSecret: 'shh' } };
  });
  return { issuer: await readDeployedIssuer('PlantStore'), asked };
};

test.each<[whose: string, environment: Record<string, string>, region: string]>([
  ['AWS_REGION, even if AWS_DEFAULT_REGION is set', { AWS_DEFAULT_REGION: 'eu-central-1' }, 'eu-west-1'],
  ['AWS_DEFAULT_REGION, if AWS_REGION is empty', { AWS_REGION: '', AWS_DEFAULT_REGION: 'us-east-2' }, 'us-east-2'],
])(
  "a deployed stack's token issuer, and its client's secret, are looked up in the region that is set by %s",
  async (_, environment, region) => {
    const { TokenUrl: tokenUrl, ClientId: clientId, UserPoolId, Scope: scope } = outputs;
    expect(await read(outputs, environment)).toEqual({
      issuer: { tokenUrl, clientId, clientSecret: 'shh', scope },
      asked: [
        { StackName: 'PlantStore', region },
        { UserPoolId, ClientId: clientId, region },
      ],
    });
  },
);

test.each<[what: string, given: Record<string, string>, sentence: string]>([
  [
    'trusts another issuer',
    { Scope: 'plants/create', Issuer: 'https://issuer.example' },
    'The stack PlantStore accepts tokens from https://issuer.example: get one there, with the scope plants/create.',
  ],
  ...Object.keys(outputs).map((name): [string, Record<string, string>, string] => [
    `has no ${name}`,
    { ...outputs, [name]: '' },
    'The stack PlantStore does not have the outputs of a Plant Store.',
  ]),
])('reading the issuer of a deployed stack fails with a clear message if the stack %s', async (_, given, sentence) => {
  await expect(read(given)).rejects.toThrow(new Error(sentence));
});
