/** Tests how serve() checks its options. foreign-stack.e2e.ts sends requests to the API that serve() starts. */
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { type ServeOptions, serve } from '../index.ts';
import { smallStack } from './kit/small-stack.ts';
import { startServer, temporaryFolder } from './kit/temporary.ts';

/** Makes options that can be served, and a stand-in for a CDK app. Only the app's stack named Api can be served. */
const prepare = async () => {
  const folder = await temporaryFolder();
  const stack = await smallStack(folder, { functions: {} });
  const store = { folder };
  const appOf = (...names: string[]) => ({
    synth: () => ({
      directory: folder,
      stacks: names.map((stackName) => ({
        stackName,
        template: stackName === 'Api' ? stack.template : { Resources: { Jobs: { Type: 'AWS::SQS::Queue' } } },
      })),
    }),
  });
  return { options: { ...stack, store }, store, appOf };
};

test.each([
  [{ template: undefined }, 'The stack is missing: pass '],
  [{ store: undefined }, 'The store is missing: pass '],
  [{ assets: '/nowhere' }, 'The folder of the assets, /nowhere, does not exist.'],
])('serve rejects options with %j', async (change, message) => {
  const { options } = await prepare();
  await expect(serve({ ...options, ...change } as unknown as ServeOptions)).rejects.toThrow(message);
});

test('serve rejects a port that is in use, names the port in the error, and stops what was already started', async () => {
  const port = await startServer(createServer());
  const { options } = await prepare();
  await expect(serve({ ...options, port })).rejects.toThrow(
    `The port ${port} cannot be used (listen EADDRINUSE: address already in use 127.0.0.1:${port}). Choose another one`,
  );
  await (await serve(options)).close();
});

test('serve serves the stack that the option `stack` names if the app has several stacks', async () => {
  const { appOf, store } = await prepare();
  const { routeKeys, close } = await serve({ app: appOf('Jobs', 'Api'), stack: 'Api', store });
  expect(routeKeys).toEqual([]);
  await close();
});

test.each<[names: string[], stack: { stack?: string }, sentence: string]>([
  [[], {}, 'The app must have one stack, but it has none. '],
  [['Jobs', 'Api'], {}, 'The app must have one stack, but it has Jobs, Api. Pass the name of one as `stack`.'],
  [['Jobs', 'Api'], { stack: 'Ape' }, 'The app has no stack Ape. It has Jobs, Api.'],
])('serve rejects an app with the stacks %j and the options %j', async (names, stack, sentence) => {
  const { appOf, store } = await prepare();
  await expect(serve({ app: appOf(...names), ...stack, store })).rejects.toThrow(sentence);
});
