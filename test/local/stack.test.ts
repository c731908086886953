import { describe, expect, test } from 'vitest';
import { readTemplate } from '../../emulator/template/read-template.ts';
import { operations } from '../../functions/generated/contract.ts';
import { grants } from '../../infra/grants.ts';
import { combinations, externalIssuer, kinds, templateOf } from '../kit/stacks.ts';
import { operationNames } from '../kit/template.ts';

type Template = Parameters<typeof readTemplate>[0];

const templates = Object.fromEntries(
  Object.entries(kinds).map(([kind, context]) => [kind, templateOf(context).toJSON() as Template]),
);

describe('readTemplate', () => {
  test.each(['prodWithIssuer', 'devWithIssuer'])(
    'reads everything that the emulator needs to serve the stack %s',
    (kind) => {
      const { api, functions, tables } = readTemplate(templates[kind] as Template, '/assembly');
      /** Finds a function by the id of its CDK construct, to which CDK appends a hash to make the logical id. */
      const find = (construct: string) => functions.find(({ name }) => name.replace(/[\dA-F]{8}$/, '') === construct);
      const authorizer = find('Authorizer');
      const alias = (construct: string) => ({
        functionName: find(construct)?.name,
        arn: expect.stringMatching(`:function:${construct}.*:live$`),
        version: '1',
      });
      expect(api).toEqual({
        routes: operationNames.map(([id, name]) => ({
          routeKey: `${operations[id].method} ${operations[id].path}`,
          target: alias(name),
          timeout: 30_000,
          throttle: { rate: 500, burst: 1_000 },
          authorizer: { target: alias('Authorizer'), identitySources: ['$request.header.Authorization'] },
        })),
      });
      for (const [id, name] of operationNames) {
        expect(find(name)).toMatchObject({ timeout: 5_000, memoryMegabytes: 1_769, logLevel: 'INFO' });
        expect(find(name)?.environment).toMatchObject({ TABLE_NAME: tables[0]?.TableName });
        const resources = [expect.stringMatching(`:table/${tables[0]?.TableName}$`)];
        const actions = grants[id].toSorted();
        expect(find(name)?.role).toEqual(actions.length === 0 ? [] : [{ effect: 'Allow', actions, resources }]);
      }
      const { issuer: ISSUER, audience: AUDIENCE } = externalIssuer;
      expect(authorizer?.environment).toMatchObject({ ISSUER, AUDIENCE });
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

  const external = combinations.filter(({ issuer }) => issuer === 'external');

  test.each(external)(
    'reads the same routes from any stack with an external token issuer, whatever its other settings: $what',
    ({ context, origins }) => {
      const { api } = readTemplate(templateOf(context).toJSON() as Template, '/assembly');
      const served = readTemplate(templates['prodWithIssuer'] as Template, '/assembly').api;
      expect(api.routes).toEqual(served.routes);
      expect(api.cors?.allowOrigins).toEqual(origins === 'some' ? context['allowOrigins']?.split(',') : undefined);
    },
  );

  test('rejects a stack with a Cognito user pool, because that is not emulated', () => {
    expect(() => readTemplate(templates['prod'] as Template, '/assembly')).toThrow(
      /ISSUER refers to ProviderURL of \w+ \(AWS::Cognito::UserPool\), .* User pools are not emulated/,
    );
  });
});
