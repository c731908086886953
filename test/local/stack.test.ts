import { describe, expect, test } from 'vitest';
import { readTemplate } from '../../emulator/template/read-template.ts';
import { externalIssuer, kinds, templateOf } from '../kit/stacks.ts';

type Template = Parameters<typeof readTemplate>[0];

const templates = Object.fromEntries(
  Object.entries(kinds).map(([kind, context]) => [kind, templateOf(context).toJSON() as Template]),
);

const resource = (template: Template | undefined, type: string) =>
  Object.values(template?.Resources ?? {}).find(({ Type }) => Type === type);

describe('readTemplate', () => {
  test.each(['prodWithIssuer', 'devWithIssuer'])(
    'reads everything that it needs to serve from the stack %s',
    (kind) => {
      const { api, functions, tables } = readTemplate(templates[kind] as Template, '/assembly');
      const createPlant = functions.find(({ name }) => name.startsWith('CreatePlant'));
      const authorizer = functions.find(({ name }) => name.startsWith('Authorizer'));
      expect(api).toEqual({
        routes: [
          {
            routeKey: 'POST /plants',
            target: {
              functionName: createPlant?.name,
              arn: expect.stringMatching(/:function:CreatePlant.*:live$/),
              version: '1',
            },
            timeout: 30_000,
            throttle: { rate: 500, burst: 1_000 },
            authorizer: {
              target: {
                functionName: authorizer?.name,
                arn: expect.stringMatching(/:function:Authorizer.*:live$/),
                version: '1',
              },
              identitySources: ['$request.header.Authorization'],
            },
          },
        ],
      });
      expect(createPlant).toMatchObject({
        handler: 'index.handler',
        timeout: 5_000,
        memoryMegabytes: 1_769,
        logLevel: 'INFO',
      });
      expect(createPlant?.environment).toEqual({ TABLE_NAME: tables[0]?.TableName });
      expect(createPlant?.role).toEqual([
        {
          effect: 'Allow',
          actions: ['dynamodb:PutItem'],
          resources: [expect.stringMatching(`:table/${tables[0]?.TableName}$`)],
        },
      ]);
      expect(authorizer?.environment).toMatchObject({
        ISSUER: externalIssuer.issuer,
        AUDIENCE: externalIssuer.audience,
      });
      expect(authorizer?.role).toEqual([]);
      expect(tables).toEqual([
        {
          TableName: expect.stringMatching(/^Plants/),
          KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
          AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
        },
      ]);
    },
  );

  test.each(['prod', 'dev'])('rejects the stack %s, whose authorizer needs its user pool', (kind) => {
    expect(() => readTemplate(templates[kind] as Template, '/assembly')).toThrow(
      /^Authorizer\w+ \(AWS::Lambda::Function\) cannot be served here: Environment\.Variables\.ISSUER refers to ProviderURL of \w+ \(AWS::Cognito::UserPool\), which is unknown here\. User pools are not emulated: give the property a literal value for another token issuer\.$/,
    );
  });

  test('rejects a permission for the function itself if the API calls its alias', () => {
    const template = structuredClone(templates['prodWithIssuer']);
    const permission = resource(template, 'AWS::Lambda::Permission')?.Properties;
    expect(permission?.['FunctionName']).toHaveProperty('Ref');
    const functionName = resource(template, 'AWS::Lambda::Alias')?.Properties?.['FunctionName'];
    Object.assign(permission ?? {}, { FunctionName: functionName });
    expect(() => readTemplate(template as Template, '/assembly')).toThrow(
      /API Gateway has no permission to invoke arn:.*:live\./,
    );
  });
});
