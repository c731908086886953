import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import path from 'node:path';
import { reason } from './dynamodb/data-folder.ts';
import { openStore, type StoreLocation } from './dynamodb/store.ts';
import { type AccessLogEntry, gateway } from './gateway/server.ts';
import { Functions, type Outcome } from './lambda/functions.ts';
import { listen } from './listen.ts';
import { readTemplate, type Template } from './template/read-template.ts';

/** A CDK app, or anything else whose `synth` gives templates of stacks and the folder of their assets. */
type App = { synth: () => { directory: string; stacks: { stackName: string; template: Template }[] } };

export type ServeOptions = ({ app: App; stack?: string } | { template: Template; assets: string }) & {
  /** A folder for the embedded store's data, or the address of a DynamoDB that the caller runs. */
  store: StoreLocation;
  /** Certificate authorities (PEM) that the functions trust besides the usual ones. */
  certificates?: string[];
  /** The port on 127.0.0.1; 0 (the default) means any free port. */
  port?: number;
  /** Called after each request, with the lines that the functions logged during it. */
  onRequest?: (entry: AccessLogEntry) => void;
  /** Called before the API handles a request: if it returns true, it responds itself. */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Whether requests beyond the throttles of the stage get 429, as on AWS. */
  throttle?: boolean;
};

export type Emulator = {
  url: string;
  /** The routes of the API, as in POST /orders. */
  routeKeys: string[];
  /** The names of the functions: the logical id if the template gives no FunctionName. */
  functionNames: string[];
  /** Describes the store to a reader. */
  store: string;
  /** Whether a function may do in the store only what its role allows; a store of the caller's own is not restricted. */
  enforcesRoles: boolean;
  /** The latest 1,000 requests, oldest first. */
  log: readonly AccessLogEntry[];
  /** Invokes a function by its name, without the gateway. */
  invoke: (functionName: string, event: unknown) => Promise<Outcome>;
  /**
   * Replaces a function's code by that in `folder`. Requests in progress end with the old code, later ones use the new.
   * Rejects with the reason if the new code cannot be loaded; the old code then stays.
   */
  swap: (functionName: string, folder: string) => Promise<void>;
  /** Ends requests in progress within two seconds, and stops everything that `serve` started. */
  close: () => Promise<void>;
};

/** How many requests `log` keeps. */
const logLength = 1_000;

/**
 * Serves the HTTP API of a synthesized stack on 127.0.0.1, with its functions and tables.
 * @throws Error with a message for the user if the stack cannot be served as it would be deployed
 */
export const serve = async (options: ServeOptions): Promise<Emulator> => {
  const { template, assets } = 'app' in options ? synthesize(options.app, options.stack) : options;
  if (!template?.Resources || !assets || !options.store)
    throw new Error('serve() needs an app, or a template and the folder of its assets; and a store.');
  const stack = readTemplate(template, assets);
  if (!existsSync(assets)) throw new Error(`The folder of the assets, ${assets}, does not exist.`);
  // In Lambda, no package.json surrounds a function's code. Here, one in a parent folder could declare a module type.
  const packageJson = path.join(assets, 'package.json');
  if (!existsSync(packageJson)) writeFileSync(packageJson, '{}');

  await using started = new AsyncDisposableStack();
  const store = await openStore(options.store, stack.functions);
  started.defer(store.close);
  await store.createTables(stack.tables);

  const functions = new Functions(
    stack.functions.map((spec) => ({ ...spec, environment: { ...store.environmentOf(spec), ...spec.environment } })),
    options.certificates,
  );
  started.defer(() => functions.close());
  await functions.warmUp();

  const log: AccessLogEntry[] = [];
  const server = gateway({
    api: stack.api,
    invoke: (target, event) => functions.invoke(target, event),
    onRequest: (entry) => {
      log.push(entry);
      if (log.length > logLength) log.shift();
      return options.onRequest?.(entry);
    },
    ...(options.intercept && { intercept: options.intercept }),
    ...(options.throttle && { throttleClock: () => performance.now() }),
  });
  const url = `http://127.0.0.1:${await listenOn(server, options.port ?? 0)}`;
  started.defer(async () => {
    server.close();
    const closeTimer = setTimeout(() => server.closeAllConnections(), 2_000);
    await once(server, 'close');
    clearTimeout(closeTimer);
  });

  const running = started.move();
  return {
    url,
    routeKeys: stack.api.routes.map(({ routeKey }) => routeKey),
    functionNames: stack.functions.map(({ name }) => name),
    store: store.description,
    enforcesRoles: store.enforcesRoles,
    log,
    invoke: (name, event) => functions.invokeByName(name, event),
    swap: (name, folder) => functions.swap(name, folder),
    close: () => running.disposeAsync(),
  };
};

/** Synthesizes an app. @throws Error if it has several stacks, and `name` is not the name of one */
const synthesize = (app: App, name?: string): { template: Template; assets: string } => {
  const { directory, stacks } = app.synth();
  const [stack, ...others] = stacks.filter(({ stackName }) => name === undefined || stackName === name);
  if (stack !== undefined && others.length === 0) return { template: stack.template, assets: directory };
  const names = stacks.map(({ stackName }) => stackName).join(', ') || 'none';
  throw new Error(
    name === undefined
      ? `The app must have one stack, but it has ${names}. Pass the name of one as \`stack\`. For a stack of a Stage, pass its template and assets.`
      : `The app has no stack ${name}. It has ${names}.`,
  );
};

const listenOn = async (server: Server, port: number): Promise<number> => {
  try {
    return await listen(server, port);
  } catch (error) {
    throw new Error(`The port ${port} cannot be used (${reason(error)}). Choose another one, or 0 for any free port.`, {
      cause: error,
    });
  }
};
