/** Serves the stack like `npm start` (template, bundles, gateway), with a store and an issuer that a trial controls. */
import { createHash } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import path from 'node:path';
import { makeCertificate } from '@lambda-service/tools/issuer';
import type { AccessLogLine, Outcome } from 'http-api-emulator';
import { closeServer, listen } from 'http-api-emulator/servers';
import { type FunctionSpec, Functions, gateway, httpApi } from 'http-api-emulator/testing';
import { readContract, referencePage } from 'openapi-contract/page';
import { afterAll, beforeEach, inject } from 'vitest';
import { jsonHeaders, postItem, temporaryFolder } from '../programs/local-service.ts';
import { closedDuring, keepingIdle } from '../servers/servers.ts';
import { startFaultyStore } from '../store/faulty-store.ts';
import { storeEnvironment } from '../store/item-store.ts';
import type { ServiceResponse } from '../suite/responses.ts';
import { audience, makeKey, type SigningKey, sign } from '../tokens.ts';
import { untilAvailable } from '../waiting.ts';
import { claims } from './forged-tokens.ts';
import { seed } from './scale.ts';

export type Handler = (event: never, context: { getRemainingTimeInMillis: () => number }) => unknown;

/** Wraps a bundle's handler. The wrapper's source text is copied to a file, so it cannot use variables from outside. */
type Wrapper = (handler: Handler) => Handler;

/** Makes a function whose handler is wrapped, in a new folder inside `folder`. `wrapper` may be source text, too. */
export const wrapHandler = async (
  spec: FunctionSpec,
  folder: string,
  wrapper: Wrapper | string,
): Promise<FunctionSpec> => {
  const wrapped = await mkdtemp(path.join(folder, 'version-'));
  const handler = `require(${JSON.stringify(path.join(spec.folder, 'index.js'))}).handler`;
  await writeFile(path.join(wrapped, 'package.json'), '{"type":"commonjs"}');
  await writeFile(path.join(wrapped, 'index.js'), `exports.handler = (${wrapper})(${handler});`);
  return { ...spec, folder: wrapped };
};

/**
 * Wraps a handler so that it misbehaves as the request header x-authorizer or x-operation says. The header names a
 * misbehaviour, or contains environment variables (as JSON), with which the function starts anew for this event only.
 */
export const misbehaving =
  (handler: Handler): Handler =>
  async (event: { type?: string; headers: Record<string, string>; body?: string }, context) => {
    const behaviour = event.headers[event.type === 'REQUEST' ? 'x-authorizer' : 'x-operation'] ?? '';
    const { info } = console;
    const { now } = Date;
    const { env } = process;
    try {
      if (behaviour.startsWith('{')) {
        const bundle = module.children[0]?.id ?? '';
        delete require.cache[bundle];
        process.env = { ...env, ...JSON.parse(behaviour) };
        return await require(bundle).handler(event, context);
      }
      switch (behaviour) {
        case 'throws':
          throw new TypeError('oops');
        case 'crashes':
          return process.exit(1);
        case 'takes too long':
          return await new Promise((resolve) => setTimeout(resolve, 300_000));
        case 'has a bug':
          console.info = () => {
            throw new TypeError('oops');
          };
          break;
        case 'returns 500':
          return { statusCode: 500 };
        case 'loses the body':
          event.body = '{}';
          break;
        case 'runs ten minutes later':
          Date.now = () => now() + 600_000;
          break;
      }
      return await handler(event as never, context);
    } finally {
      Object.assign(console, { info });
      Date.now = now;
      process.env = env;
    }
  };

type Change = { wrapper?: Wrapper; environment?: Record<string, string> };

export type TrialStack = Awaited<ReturnType<typeof startTrialStack>>;

/** Starts a store and the stack for all tests of a file, and closes both after them. */
export const startTrial = async (changes: Changes = {}) => {
  const store = await startFaultyStore('items');
  afterAll(store.close);
  const stack = await startTrialStack(store.endpoint, changes);
  afterAll(stack.close);
  beforeEach(({ onTestFailed }) => {
    const before = stack.invocations.length;
    const log = () => stack.invocations.slice(before).flatMap(({ outcome }) => outcome.log);
    onTestFailed(() => console.error('The functions last logged:', ...log().slice(-4)));
  });
  return { store, stack };
};

type Invocation = { functionName: string; outcome: Outcome };

type Send = (body: string, headers?: Record<string, string>) => Promise<ServiceResponse>;

/** Names a function of the stack: `authorizer`, or the route of the operation that the function handles. */
export type FunctionName = 'authorizer' | `${string} /${string}`;

/**
 * What a test changes in its copy of the stack: the environment or code of functions, or the previous versions of
 * functions in a roll-out.
 */
export type Changes = {
  authorizer?: Change;
  operations?: Change;
  /**
   * The old functions, which a roll-out replaces. If set, the old functions get 90 % of the events at first, and the
   * new ones the rest.
   */
  previous?: FunctionSpec[];
};

/** A time-out in milliseconds that only a function that hangs can reach. */
export const longTimeout = 300_000;

const unchanged: Wrapper = (handler) => handler;

/** Makes a handler see the time-out that it has when deployed. The emulator's time-out is longer, for busy machines. */
const withTimeout =
  (handler: Handler, timeout: number): Handler =>
  (event, context) => {
    const end = performance.now() + timeout;
    return handler(event, { ...context, getRemainingTimeInMillis: () => end - performance.now() });
  };

/**
 * Starts the stack. The functions that handle the API's operations use the DynamoDB endpoint `storeEndpoint`, unless
 * `changes` sets another.
 */
export const startTrialStack = async (storeEndpoint: string, changes: Changes = {}) => {
  const undo: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const each of undo.reverse()) await each();
  };
  const { folder, remove } = await temporaryFolder();
  undo.push(remove);
  const issuer = await startTrialIssuer();
  undo.push(issuer.close);
  const own: Record<'authorizer' | 'operations', Record<string, string>> = {
    operations: storeEnvironment(storeEndpoint),
    authorizer: { ISSUER: issuer.issuer, JWKS_URI: issuer.jwksUri, AUDIENCE: audience },
  };
  const { functions: all, api } = inject('stack');
  const specs = all.filter(({ name }) => !name.startsWith('SmokeTest'));
  const fullName = (which: FunctionName): string => {
    const route = api.routes.find(({ routeKey }) => which === 'authorizer' || routeKey === which);
    return (which === 'authorizer' ? route?.authorizer?.target : route?.target)?.functionName ?? '';
  };

  const changed = async (spec: FunctionSpec, version: 'new' | 'previous'): Promise<FunctionSpec> => {
    const kind = spec.name === fullName('authorizer') ? 'authorizer' : 'operations';
    const { wrapper = unchanged, environment = {} } = (version === 'new' && changes[kind]) || {};
    const all = { ...spec, timeout: longTimeout, environment: { ...spec.environment, ...own[kind], ...environment } };
    return wrapHandler(all, folder, `(handler) => (${withTimeout})((${wrapper})(handler), ${spec.timeout})`);
  };

  const current = await Promise.all(specs.map((spec) => changed(spec, 'new')));
  const older = await Promise.all((changes.previous ?? []).map((spec) => changed(spec, 'previous')));
  const functions = new Functions(current, { certificates: [issuer.certificate] });
  const previous = new Functions(older, { certificates: [issuer.certificate] });
  undo.push(() => Promise.all([functions.close(), previous.close()]));
  const newShares = new Map<string, number>();
  const events = new Map<string, number>();
  /** Chooses a version at random, as an alias with weights does. The trial's seed makes the choice repeatable. */
  const isForPrevious = (functionName: string): boolean => {
    const count = (events.get(functionName) ?? 0) + 1;
    events.set(functionName, count);
    const random = createHash('sha256').update(`${seed} ${functionName} ${count}`).digest().readUInt32BE() / 2 ** 32;
    return random >= (newShares.get(functionName) ?? 0.1) && older.some(({ name }) => name === functionName);
  };
  const log: AccessLogLine[] = [];
  const invocations: Invocation[] = [];
  const token = await sign(issuer.key, claims({ iss: issuer.issuer }));
  const respond = httpApi(api, async (target, event, onStart) => {
    const version = isForPrevious(target.functionName) ? previous : functions;
    const outcome = await version.invoke(target, event, onStart);
    invocations.push({ functionName: target.functionName, outcome });
    return outcome;
  });
  const server = gateway({
    respond,
    onRequest: (logged) => log.push(logged),
    // On AWS, GET / gets a 404 of API Gateway. The local service answers it with its own page unless the API has such a
    // route. Tell it that the API has one: then it leaves GET / to the emulated gateway, which answers 404.
    intercept: referencePage({
      readContract: () => readContract('schemas/openapi.yaml'),
      newToken: async () => token,
      tokenCommand: '',
      client: '',
      requests: () => log,
      routeKeys: () => ['GET /'],
    }),
  });
  try {
    await Promise.all([functions.warmUp(), previous.warmUp()]);
  } catch (error) {
    await close();
    throw error;
  }
  const url = `http://127.0.0.1:${await listen(keepingIdle(server), 0)}`;
  undo.push(() => closeServer(server));
  /**
   * Sends `body` to the operation that adds an item, with `token` unless `headers` has another. Checks the response by
   * the contract.
   */
  const sendOnce: Send = (body, headers = {}) => postItem(url, body, { ...jsonHeaders(token), ...headers });

  return {
    url,
    issuer,
    token,
    /** The gateway's access log: a line for each request so far. */
    log,
    /** The invocations that the gateway made and that have ended, each with the lines that the function logged. */
    invocations,
    sendOnce,
    /** Works like `sendOnce`, but sends again after a 503. */
    send: (...request: Parameters<Send>) => untilAvailable(() => sendOnce(...request)),
    /** Sets the time-out of a function, in milliseconds, for later events. */
    setFunctionTimeout: (name: FunctionName, timeout: number) => {
      for (const spec of current) if (spec.name === fullName(name)) spec.timeout = timeout;
    },
    /** Sets which share of events (0 to 1) the new versions of `which`, by default of all functions, get. */
    shift: (share: number, which?: FunctionName) => {
      const shifted = which === undefined ? current.map(({ name }) => name) : [fullName(which)];
      for (const name of shifted) newShares.set(name, share);
    },
    /** Returns the function's name in the template, which is its logical id. */
    nameOf: fullName,
    /** Invokes a function directly, without the gateway. */
    invoke: (name: FunctionName, event: unknown) => functions.invokeByName(fullName(name), event),
    close,
  };
};

/** Starts a token issuer whose keys and responses a test controls. Its JWKS contains `key` at the start. */
export const startTrialIssuer = async () => {
  const [{ key: privateKey, certificate }, key] = await Promise.all([makeCertificate(), makeKey('ES256', 'trial')]);
  const requests: string[] = [];
  const showing =
    (...keys: SigningKey[]): RequestListener =>
    (_, response) =>
      response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
  let listener = showing(key);
  const server = createServer({ key: privateKey, cert: certificate }, (request, response) => {
    requests.push(request.url ?? '');
    listener(request, response);
  });
  const port = await listen(server, 0);
  const issuer = `https://127.0.0.1:${port}`;
  return {
    issuer,
    jwksUri: `${issuer}/jwks?appid=a1`,
    certificate,
    key,
    /** The path of every request that the issuer received. */
    requests,
    publish: (...keys: SigningKey[]) => {
      listener = showing(...keys);
    },
    /** Responds to all later requests with `next`. */
    answer: (next: RequestListener) => {
      listener = next;
    },
    refuseConnections: <T>(during: () => Promise<T>) => closedDuring(server, port, during),
    useUntrustedCertificate: async <T>(during: () => Promise<T>) => {
      const other = await makeCertificate();
      server.setSecureContext({ key: other.key, cert: other.certificate });
      server.closeAllConnections();
      try {
        return await during();
      } finally {
        server.setSecureContext({ key: privateKey, cert: certificate });
      }
    },
    close: () => closeServer(server),
  };
};
