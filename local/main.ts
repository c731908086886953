/** `npm start`: the synthesized stack, served on this machine. PORT and DATA_DIR are its settings. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { bundleAhead } from '../infra/bundling.ts';
import { dataFolder, takeDataFolder } from './data-folder.ts';
import { gateway } from './gateway.ts';
import { localFunctions } from './lambda.ts';
import { accessLine, curlLine, title } from './lines.ts';
import { leave, listen, readPort } from './listen.ts';
import { withReference } from './reference.ts';
import { fetchToken, leaveSession, removeStaleSession } from './session.ts';
import { openStore } from './store.ts';

const say = (line: string): void => console.log(line);

const usage = `Usage: npm start
Serves the stack on this machine. Settings are variables of the environment, as in PORT=3001 npm start:
  PORT                       port on 127.0.0.1, 0 for any free one (3000)
  DATA_DIR                   where the plants are kept (.plant-store)
  AWS_ENDPOINT_URL_DYNAMODB  a store to use in place of the one that comes along`;

const [argument] = process.argv.slice(2);
if (argument === '--help' || argument === '-h') {
  say(usage);
  process.exit(0);
}
if (argument !== undefined) {
  console.error(`npm start takes no ${argument}.\n${usage}`);
  process.exit(1);
}

/** Undone in reverse at the stop, and after a start that failed half-way. */
const undo: (() => unknown)[] = [];

const stop = async (): Promise<void> => {
  for (let last = undo.pop(); last !== undefined; last = undo.pop()) {
    try {
      await last();
    } catch (error) {
      console.error('While stopping:', error);
    }
  }
};

/** A new folder for this user alone, removed however this process ends, short of `kill -9`. */
const temporaryFolder = (): string => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'plant-store-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

const start = async (): Promise<void> => {
  const port = readPort();
  // What is in the way is said at once, not after all the rest.
  const trial = createServer();
  await listen(trial, port);
  await leave(trial);

  say('Opening the store ...');
  undo.push(await takeDataFolder(dataFolder()));
  removeStaleSession(dataFolder());
  const store = await openStore(dataFolder());
  undo.push(store.close);

  // These two take half of the start's time to load: only now, and at the same time as the functions are bundled.
  const [{ startIssuer }, { synthesize }] = await Promise.all([
    import('./issuer.ts'),
    import('./stack.ts'),
    bundleAhead(),
  ]);

  say('Starting a token issuer ...');
  const issuer = await startIssuer();
  undo.push(issuer.close);

  say('Synthesizing the stack ...');
  const { issuer: issuerUrl, audience, jwksUri, scope } = issuer;
  const stack = synthesize(temporaryFolder(), { issuer: issuerUrl, audience, jwksUri, scope });

  await store.createTables(stack.tables);

  say(`Loading ${stack.functions.map(({ name }) => title(name)).join(' and ')} ...`);
  const functions = localFunctions(
    stack.functions.map((spec) => ({ ...spec, environment: { ...store.environment, ...spec.environment } })),
    issuer.certificate,
  );
  undo.push(functions.close);
  await functions.warmUp();

  const api = gateway({
    routes: stack.routes,
    invoke: functions.invoke,
    onRequest: (entry) => say(accessLine(entry)),
  });
  const server = withReference(api, () => fetchToken(issuer));
  const url = `http://127.0.0.1:${await listen(server, port)}`;
  undo.push(async () => {
    server.close();
    // Requests under way get a moment to end.
    const impatience = setTimeout(() => server.closeAllConnections(), 2_000);
    await once(server, 'close');
    clearTimeout(impatience);
  });

  const { tokenUrl, clientId, clientSecret, certificate } = issuer;
  undo.push(leaveSession(dataFolder(), { url, tokenUrl, clientId, clientSecret, scope, certificate }));

  say(`Serving ${stack.routes.map(({ routeKey }) => routeKey).join(', ')} at ${url} (store: ${store.description}).`);
  say(`Try it, in another terminal:\n\n${curlLine(url)}\n`);
  say(`Or in a browser: ${url}/docs`);
  say('Ctrl-C stops the service. One line per request:');
};

/** The usual faults of a first start, in words that say what to do. */
const explain = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE') {
    return `Port ${readPort()} is in use. Stop what uses it, or choose another: PORT=3001 npm start (PORT=0 for any free one).`;
  }
  if ('code' in error && error.code === 'EACCES' && 'syscall' in error && error.syscall === 'listen') {
    return `Port ${readPort()} is not allowed to you. Choose another: PORT=3001 npm start (PORT=0 for any free one).`;
  }
  return error.message;
};

let stopping = false;
const end = async (exitCode: number): Promise<void> => {
  // A Ctrl-C arrives twice: from the terminal, and handed on by npm.
  if (stopping) return;
  stopping = true;
  setTimeout(() => process.exit(1), 10_000).unref();
  await stop();
  process.exit(exitCode);
};

// SIGHUP is a terminal that was closed.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!stopping) say('Stopping ...');
    void end(0);
  });
}

// The terminal or pipe is closed (EIO, EPIPE): nobody reads what the service says, not even this error.
for (const output of [process.stdout, process.stderr]) output.on('error', () => void end(1));

// The embedded store throws where nobody can catch it, for example if its disk is full.
process.on('uncaughtException', (error) => {
  // A stop closes things that are still in use.
  if (stopping) return;
  console.error('The local service failed:', error);
  void end(1);
});

try {
  await start();
} catch (error) {
  // A stop in the middle of the start makes it fail, too.
  if (!stopping) {
    console.error(explain(error));
    await end(1);
  }
}
