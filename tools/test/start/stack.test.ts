/** Tests that the emulator can read every stack of ours that makes a token issuer, whatever its settings. */
import { describe, expect, test } from 'vitest';
import { operations } from '../../../functions/generated/contract.ts';
import { grants } from '../../../infra/operations.ts';
import { readTemplate } from '../../../packages/emulator/template/read-template.ts';
import { combinations, kinds, templateOf } from '../../../test/kit/stacks.ts';
import { operationNames } from '../../../test/kit/template.ts';

const read = (context: Parameters<typeof templateOf>[0]) =>
  readTemplate(templateOf(context).toJSON() as Parameters<typeof readTemplate>[0], '/assembly');

describe('readTemplate', () => {
  const external = combinations.filter(({ issuer }) => issuer === 'external');

  test.each(external)('reads routes, permissions and the table of the stack $what', ({ context, origins }) => {
    const { api, functions, tables } = read(context);
    const target = (construct: string) => ({
      functionName: expect.stringMatching(`^${construct}[\\dA-F]{8}$`),
      arn: expect.stringMatching(`:function:${construct}.*:live$`),
      version: '1',
    });
    expect(api.routes).toEqual(
      operationNames.map(([id, name]) => ({
        routeKey: `${operations[id].method} ${operations[id].path}`,
        target: target(name),
        timeout: 30_000,
        throttle: { rate: 500, burst: 1_000 },
        authorizer: { target: target('Authorizer'), identitySources: ['$request.header.Authorization'] },
      })),
    );
    expect(api.cors?.allowOrigins).toEqual(origins === 'some' ? context['allowOrigins']?.split(',') : undefined);
    const resources = [expect.stringMatching(`:table/${tables[0]?.TableName}$`)];
    for (const [id, name] of operationNames) {
      const { role } = functions.find((each) => each.name.replace(/[\dA-F]{8}$/, '') === name) ?? {};
      expect(role).toEqual(
        grants[id].length === 0 ? [] : [{ effect: 'Allow', actions: grants[id].toSorted(), resources }],
      );
    }
  });

  test('rejects a stack with a Cognito user pool, because that is not emulated', () => {
    expect(() => read(kinds.prod)).toThrow(
      /ISSUER refers to ProviderURL of \w+ \(AWS::Cognito::UserPool\), .* User pools are not emulated/,
    );
  });
});
