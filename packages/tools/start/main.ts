/** `npm start`: serves the synthesized stack on this machine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { generateIfChanged } from '@lambda-service/cdk/generated-code';
import { closeServer, type Emulator, FolderError, listen, lockFolder, serve } from 'http-api-emulator';
import { notServed } from 'http-api-emulator/command';
import { accessLine, RequestLog } from 'http-api-emulator/request-log';
import type { Contract } from 'openapi-contract/document';
import { prebuildBundles, withSources, writeBundle } from './bundles.ts';
import { curlLine, exampleRequest, readContract } from './contract.ts';
import { logFormat } from './log-format.ts';
import { referencePage } from './reference.ts';
import { synthesize } from './run-script.ts';
import { fetchToken, removeStaleSession, writeSession } from './session.ts';
import { dataFolder, readOptions, readPort } from './settings.ts';
import type { Synthesis } from './synthesize.ts';
import { printable } from './terminal.ts';

const say = (line: string): void => console.log(printable(line));
/** Prints the line of a request, which may have colours, and in which `accessLine` has escaped all else. */
const sayRequest = (line: string): void => console.log(line);

const { debug, verbose, watch } = readOptions();

/** Clean-up steps, run in reverse order when the service stops or its start fails half-way. */
const cleanUps: (() => unknown)[] = [];

/** Creates a folder that only this user can open. It is removed however this process ends, except by `kill -9`. */
const temporaryFolder = (): string => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'plant-store-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

const start = async (): Promise<void> => {
  if (debug !== undefined) {
    const { openInspector } = await import('./inspector.ts');
    say(`Debug in Chrome: devtools://devtools/bundled/js_app.html?v8only=true&ws=${openInspector(debug)}`);
    say('Other debuggers need the address above, which begins with ws://. Whoever knows it can run code as you.');
    say('Nothing times out. Unlike the bundles that cdk deploy uploads, these are readable and have source maps.');
  }
  const port = readPort();
  // Check that the port is free before the slow steps, so that the user learns at once if it is in use.
  const portProbe = createServer();
  await listen(portProbe, port);
  await closeServer(portProbe);

  say('Opening the data folder ...');
  cleanUps.push(await lockFolder(dataFolder()));
  removeStaleSession(dataFolder());

  generateIfChanged();
  // Loading the CDK, importing issuer.ts and bundling take most of the start-up time, so do all three at once.
  const synthesis = Promise.withResolvers<Synthesis>();
  const stop = new AbortController();
  cleanUps.push(() => stop.abort());
  const synthesized = synthesize(synthesis.promise, stop.signal);
  // An error is thrown below, where this promise is awaited.
  synthesized.catch(() => {});
  const [{ startIssuer }, contract, made] = await Promise.all([
    import('./issuer.ts'),
    readContract(),
    prebuildBundles({ debug: debug !== undefined }),
  ]);

  say('Starting a token issuer ...');
  const issuer = await startIssuer(undefined, path.join(dataFolder(), 'issuer.json'), port);
  cleanUps.push(issuer.close);
  if (issuer.hasMoved) say('Its last port is in use, so it has a new one: tokens from before this start are refused.');

  say('Serving the stack ...');
  const { issuer: issuerUrl, audience, jwksUri, clientId } = issuer;
  const endpoint = process.env['AWS_ENDPOINT_URL_DYNAMODB'];
  const assets = temporaryFolder();
  // Use the stage `dev`: its API is the same as that of `prod`. Only `prod` has roll-outs and a smoke test, which a
  // local service does not need.
  const context = { stage: 'dev', issuer: issuerUrl, audience, jwksUri, clientIds: clientId, scopeClaim: 'scope' };
  const bundles = await Promise.all(
    made.map(async ([entry, each]) => [entry, await writeBundle(assets, each)] as const),
  );
  synthesis.resolve({ assets, context, debug: debug !== undefined, bundles });
  const { template, entries } = await synthesized;
  const requestLog = new RequestLog(sayRequest, logFormat);
  setInterval(() => requestLog.endSecond(), 1_000).unref();
  cleanUps.push(() => requestLog.endSecond());
  const emulator = await serve({
    template,
    assets,
    store: endpoint ? { endpoint } : { folder: dataFolder() },
    certificates: [issuer.certificate],
    port,
    leaveOut: true,
    debug: debug !== undefined,
    onRequest: (logged) => {
      // Later, the source maps of the bundles that ran may be gone.
      logged.log = withSources(logged.log);
      if (verbose) sayRequest(accessLine(logged, logFormat));
      else requestLog.add(logged);
    },
    intercept: referencePage({
      newToken: () => fetchToken(issuer),
      requests: () => emulator.log,
      routeKeys: () => emulator.routeKeys,
    }),
  });
  cleanUps.push(emulator.close);
  await emulator.warmUp();
  for (const line of notServed(emulator.stack)) say(line);
  const { url } = emulator;

  const { tokenUrl, clientSecret, certificate } = issuer;
  const shareSession = (scope: string): (() => void) =>
    writeSession(dataFolder(), { url, tokenUrl, clientId, clientSecret, scope, certificate });
  let removeSession = shareSession(issuer.scope);
  cleanUps.push(() => removeSession());

  if (watch) {
    const { startWatching } = await import('./watch/watch.ts');
    const onScope = (scope: string): void => {
      issuer.setScope(scope);
      removeSession();
      removeSession = shareSession(scope);
    };
    cleanUps.push(await startWatching({ debug: debug !== undefined, emulator, entries, assets, context, onScope }));
  }

  announce(emulator, contract);
};

const announce = (emulator: Emulator, contract: Contract): void => {
  const { url } = emulator;
  say(`Serving ${emulator.routeKeys.join(', ')} at ${url} (store: ${emulator.store}).`);
  if (!emulator.enforcesRoles) say('You run the store yourself, so the permissions of the functions are not checked.');
  const example = exampleRequest(contract);
  if (example) say(`Try it, in another terminal:\n\n${curlLine(url, example)}\n`);
  say(`${example ? 'Or' : 'Try it'} in a browser: ${url}/docs`);
  if (watch) say('Changes in functions/, infra/ and schemas/ are served without a restart.');
  say('Ctrl-C stops the service. One row per request (npm run -s request -- ID shows all of one):');
};

let stoppingSince: number | undefined;
const end = async (exitCode: number): Promise<void> => {
  if (stoppingSince !== undefined) return;
  stoppingSince = performance.now();
  setTimeout(() => process.exit(1), 30_000).unref();
  if (debug !== undefined) await (await import('./inspector.ts')).closeInspector();
  for (let last = cleanUps.pop(); last !== undefined; last = cleanUps.pop()) {
    try {
      await last();
    } catch (error) {
      console.error(printable(`Error while stopping: ${inspect(error)}`));
    }
  }
  process.exit(exitCode);
};

// Stop on SIGHUP, too: it means that the terminal was closed.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (stoppingSince === undefined) say('Stopping, once running requests have ended. Ctrl-C again stops at once.');
    // One Ctrl-C is two signals: the first comes from the terminal, the second from npm, which forwards it.
    else if (performance.now() - stoppingSince > 500) process.exit(1);
    void end(0);
  });
}

// EIO and EPIPE mean that the terminal or pipe is closed: nobody could read an error message, so end without one.
for (const output of [process.stdout, process.stderr]) output.on('error', () => void end(1));

process.on('uncaughtException', (error) => {
  // The embedded store throws this if, for example, the disk is full. End at once: what it writes from now on is lost.
  if (error instanceof FolderError) {
    console.error(printable(explain(error)));
    process.exit(1);
  }
  // Ignore errors while the service stops: it closes servers and the store while they are still in use.
  if (stoppingSince !== undefined) return;
  console.error(printable(`The local service failed: ${inspect(error)}`));
  void end(1);
});

/** Returns the message for an error of `npm start`. For errors that are common at a first start, it says what to do. */
const explain = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const { code, syscall } = error as NodeJS.ErrnoException;
  const example = 'PORT=3001 npm start (PORT=0 means any free port).';
  if (code === 'EADDRINUSE')
    return `Port ${readPort()} is in use. Stop the program that uses it, or choose another port: ${example}`;
  if (code === 'EACCES' && syscall === 'listen')
    return `You may not use port ${readPort()}. Choose another port: ${example}`;
  return error instanceof FolderError ? `${error.message} For example: DATA_DIR=... npm start` : error.message;
};

try {
  await start();
} catch (error) {
  // If the user has stopped the service during its start, the failure is expected: report nothing.
  if (stoppingSince === undefined) {
    console.error(printable(explain(error)));
    await end(1);
  }
}
