/** Tests how serve() checks its options. foreign-stack.e2e.ts sends requests to the API that serve() starts. */
import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ServeOptions, serve } from '../index.ts';
import { startServer } from './kit/servers.ts';
import { temporaryFolder } from './kit/temporary-folder.ts';

const template = {
  Resources: {
    Api: { Type: 'AWS::ApiGatewayV2::Api', Properties: { ProtocolType: 'HTTP' } },
    Stage: {
      Type: 'AWS::ApiGatewayV2::Stage',
      Properties: { ApiId: { Ref: 'Api' }, StageName: '$default', AutoDeploy: true },
    },
  },
};

const options = async (change: object = {}): Promise<ServeOptions> => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  return { template, assets: folder, store: { folder }, ...change };
};

/** Makes a stand-in for a CDK app, with a stack for each name. Only the stack named Api can be served. */
const appOf = (directory: string, ...names: string[]) => ({
  synth: () => ({
    directory,
    stacks: names.map((stackName) => ({
      stackName,
      template: stackName === 'Api' ? template : { Resources: { Jobs: { Type: 'AWS::SQS::Queue' } } },
    })),
  }),
});

describe('serve', () => {
  test.each([
    ['stack', { template: undefined }],
    ['store', { store: undefined }],
  ])('rejects options without a %s', async (what, change) => {
    await expect(serve(await options(change))).rejects.toThrow(`The ${what} is missing: pass `);
  });

  test('rejects an asset folder that does not exist', async () => {
    await expect(serve(await options({ assets: '/nowhere' }))).rejects.toThrow(
      'The folder of the assets, /nowhere, does not exist.',
    );
  });

  test('rejects a port that is in use, names the port in the error, and stops what was already started', async () => {
    const port = await startServer(createServer());
    const mine = await options({ port });
    await expect(serve(mine)).rejects.toThrow(
      `The port ${port} cannot be used (listen EADDRINUSE: address already in use 127.0.0.1:${port}). Choose another one`,
    );
    await (await serve({ ...mine, port: 0 })).close();
  });

  test('serves the stack that the option `stack` names if the app has several stacks', async () => {
    const { store, assets } = (await options()) as ServeOptions & { assets: string };
    const { routeKeys, close } = await serve({ app: appOf(assets, 'Jobs', 'Api'), stack: 'Api', store });
    expect(routeKeys).toEqual([]);
    await close();
  });

  test.each<[names: string[], stack: string | undefined, sentence: string]>([
    [[], undefined, 'The app must have one stack, but it has none. '],
    [['Jobs', 'Api'], undefined, 'The app must have one stack, but it has Jobs, Api. Pass the name of one as `stack`.'],
    [['Jobs', 'Api'], 'Ape', 'The app has no stack Ape. It has Jobs, Api.'],
  ])('rejects an app with the stacks %j if the option `stack` is %s', async (names, stack, sentence) => {
    const { store, assets } = (await options()) as ServeOptions & { assets: string };
    await expect(serve({ app: appOf(assets, ...names), ...(stack && { stack }), store })).rejects.toThrow(sentence);
  });
});
