import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { openStore } from './dynamodb/store.ts';
import { type AccessLogLine, gateway } from './gateway/server.ts';
import type { Outcome } from './lambda/functions.ts';
import { type App, checkOptions, type ServeOptions, type Source } from './options.ts';
import { type ServedStack, stagePath } from './served-stack.ts';
import { listenOnChosen } from './servers.ts';
import { StackVersions } from './stack-versions.ts';
import { type Deployment, readDeployment, readStacks, type Stack } from './template/cloud-assembly.ts';
import { type ReadOptions, readTemplate, type Template } from './template/read-template.ts';

export { FolderError, lockFolder } from './dynamodb/data-folder.ts';
export type { LogLine } from './lambda/functions.ts';
export { closeServer, listen } from './servers.ts';
export type { AccessLogLine, Outcome, ServeOptions };

export type Emulator = {
  url: string;
  /** The keys of the API's routes, such as POST /orders. */
  routeKeys: string[];
  /** The functions and tables that are served, and what is left out or has no effect. */
  stack: Readonly<ServedStack>;
  /** A description of the store for people: the store's address, or "dynalite" and the data folder. */
  store: string;
  /**
   * Whether the store enforces the functions' roles. The embedded store does; a DynamoDB that the caller runs does not.
   */
  enforcesRoles: boolean;
  /** The latest 1,000 requests, oldest first. */
  log: readonly AccessLogLine[];
  /** Invokes a function by its name, without the gateway. */
  invoke: (functionName: string, event: unknown) => Promise<Outcome>;
  /**
   * Loads the functions that are not loaded yet. Otherwise, its first request loads a function. Rejects with the log of
   * each function that cannot be loaded; their requests fail, and the others are served.
   */
  warmUp: () => Promise<void>;
  /**
   * Replaces a function's code with the code in `folder`, and sets these environment variables. Requests in progress
   * finish with the old code; later ones use the new code. Rejects with the reason if the new code cannot be loaded:
   * the function then keeps the old code and variables.
   */
  swap: (functionName: string, folder: string, environment?: Record<string, string>) => Promise<void>;
  /**
   * Serves a changed stack at the same address, with the same store. Unchanged functions keep running, and requests in
   * progress finish with the old stack. Rejects, and serves the old stack, if the new stack cannot be served.
   */
  reload: (source: Source) => Promise<void>;
  /** Lets requests in progress end, each within the time-outs of its functions, then stops all that `serve` started. */
  close: () => Promise<void>;
};

/** How many requests the `log` of an Emulator keeps. */
const logLength = 1_000;

/**
 * Serves the HTTP API of a synthesized stack on 127.0.0.1, with its functions and tables.
 * @throws Error with a message for the user if the emulator cannot serve the stack as AWS would
 */
export const serve = async (options: ServeOptions): Promise<Emulator> => {
  checkOptions(options);
  const stack = readStack(options, options);
  if (!options.store)
    throw new Error('The store is missing: pass a folder for its data, or the endpoint of a DynamoDB.');

  await using started = new AsyncDisposableStack();
  const store = await openStore(options.store);
  started.defer(store.close);

  const versions = new StackVersions(store, options);
  started.defer(() => versions.close());
  await versions.add(stack);

  const log: AccessLogLine[] = [];
  const server = gateway({
    ...options,
    respond: versions.respond,
    onRequest: (logged) => {
      log.push(logged);
      if (log.length > logLength) log.shift();
      return options.onRequest?.(logged);
    },
  });
  const { port = 0 } = options;
  const listening = await listenOnChosen(server, port);
  const unfinished = new Set<ServerResponse>();
  server.on('request', (_, response) => {
    unfinished.add(response);
    response.on('close', () => unfinished.delete(response));
  });
  started.defer(async () => {
    const closed = once(server, 'close');
    server.close();
    // A request runs an authorizer and another function, and API Gateway answers after 30 s. Only a client that does
    // not send or read everything takes longer.
    const timeouts = versions.current.stack.functions.map(({ timeout }) => timeout);
    const limit = Math.min(30_000, 2 * Math.max(0, ...timeouts));
    const closeTimer = setTimeout(() => server.closeAllConnections(), limit);
    // Wait for responses, not for connections: browsers keep idle ones open.
    for (const response of unfinished) response.shouldKeepAlive = false;
    await Promise.all([...unfinished].map((response) => once(response, 'close')));
    clearTimeout(closeTimer);
    server.closeAllConnections();
    await closed;
  });

  const running = started.move();
  return {
    get url() {
      return `http://127.0.0.1:${listening}${stagePath(versions.current.stack.api.stages[0])}`;
    },
    get routeKeys() {
      return versions.current.stack.api.routes.map(({ routeKey }) => routeKey);
    },
    get stack() {
      return versions.current.stack;
    },
    store: store.description,
    enforcesRoles: store.enforcesRoles,
    log,
    invoke: (name, event) => versions.invoke(name, event),
    warmUp: () => versions.current.functions.warmUp(),
    swap: (...swapped) => versions.swap(...swapped),
    reload: async (source) => versions.add(readStack(source, options)),
    close: () => running.disposeAsync(),
  };
};

/**
 * Reads the stack to serve. @throws Error with a message for the user if the emulator cannot serve the stack as AWS
 * would
 */
const readStack = (source: Source, options: ReadOptions): ServedStack => {
  const found: Found = 'app' in source ? synthesize(source.app, source.stack) : source;
  const { template, assets } = found;
  if (!template?.Resources || !assets)
    throw new Error('The stack is missing: pass an app, or a template with the folder of its assets.');
  if (!existsSync(assets)) throw new Error(`The folder of the assets, ${assets}, does not exist.`);
  const deployment = 'app' in source ? found : readDeployment(template, assets);
  const stack = readTemplate(template, assets, { ...options, ...deployment });
  const issuers = stack.api.routes.flatMap(({ authorizer = {} }) => ('issuer' in authorizer ? authorizer.issuer : []));
  if (!options.jwt || issuers.length === 0 || issuers.includes(options.jwt.issuer)) return stack;
  const trusted = [...new Set(issuers)].join(', ');
  throw new Error(
    `The option jwt has the issuer ${options.jwt.issuer}, but the stack's JWT authorizers trust ${trusted}.`,
  );
};

/** A template, the folder of its assets, and, if it is of an app, how it is deployed. */
type Found = Deployment & { template: Template; assets: string };

/**
 * Synthesizes an app.
 * @returns the stack called `name` or, without a name, the app's only stack, or the only one with an API
 * @throws Error unless exactly one stack fits
 */
const synthesize = (app: App, name?: string): Found => {
  const { directory } = app.synth();
  const stacks = readStacks(directory);
  const hasApi = ({ template }: Stack) =>
    Object.values(template.Resources).some((each) => Object(each).Type === 'AWS::ApiGatewayV2::Api');
  const withApi = stacks.length === 1 ? stacks : stacks.filter(hasApi);
  const [stack, ...others] = name === undefined ? withApi : stacks.filter(({ names }) => names.includes(name));
  if (stack && others.length === 0) return { ...stack, assets: directory };
  const found = stacks.map(({ names }) => names[0]).join(', ') || 'none';
  const problem = name === undefined ? 'must have one stack with an HTTP API' : `has no stack ${name}`;
  throw new Error(`The app ${problem}, but it has ${found}. Pass the name of one as \`stack\` (--stack).`);
};
