/** Tests that the emulator can read every stack of ours, whatever its settings. */

import { operations } from '@lambda-service/testing/data';
import { combinations, kinds, templateOf } from '@lambda-service/testing/stack';
import { build } from 'esbuild';
import { readTemplate } from 'http-api-emulator/testing';
import { describe, expect, inject, test } from 'vitest';

const read = (context: Parameters<typeof templateOf>[0]) =>
  readTemplate(templateOf(context).toJSON() as Parameters<typeof readTemplate>[0], '/assembly', { leaveOut: true });

describe('readTemplate', () => {
  const external = combinations.filter(({ issuer }) => issuer === 'external');

  test.each(external)('reads routes and tables of the stack $what', ({ context, origins }) => {
    const { api, tables } = read(context);
    const routeKeys = operations.map(({ routeKey }) => routeKey);
    expect(api.routes.map(({ routeKey }) => routeKey)).toEqual(routeKeys);
    expect(api.cors?.allowOrigins).toEqual(origins === 'some' ? context['allowOrigins']?.split(',') : undefined);
    expect(tables).toEqual(inject('stack').tables);
  });

  test('says that it makes up the issuer of a stack with a Cognito user pool', () => {
    const reason = expect.stringMatching(/^it refers to ProviderURL of \w+ \(AWS::Cognito::UserPool\), .* made up$/);
    const resource = expect.stringMatching(/^Environment.Variables.ISSUER of \w+ \(AWS::Lambda::Function\)$/);
    expect(read(kinds.prod).leftOut).toContainEqual({ resource, reason });
  });
});

test('npm start does not keep the CDK in memory: only a child process loads it', async () => {
  const entryPoints = ['packages/tools/start/main.ts'];
  const options = { bundle: true, write: false, format: 'esm', platform: 'node', packages: 'external' } as const;
  const { outputFiles } = await build({ entryPoints, ...options });
  expect(outputFiles[0]?.text).toContain('from "http-api-emulator/command"');
  expect(outputFiles[0]?.text).not.toContain('"aws-cdk-lib');
});
