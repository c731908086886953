/** `npm start`: serves the synthesized stack on this machine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { generateIfChanged } from '@lambda-service/cdk/generated-code';
import { type Emulator, lockFolder } from 'http-api-emulator';
import { notServed, Serving, say, stackIn } from 'http-api-emulator/command';
import { closeServer, listenOnChosen } from 'http-api-emulator/servers';
import type { Contract } from 'openapi-contract/document';
import { curlLine, exampleRequest, readContract, referencePage } from 'openapi-contract/page';
import { runApp, type Stacks } from '../app.ts';
import { ourCommand } from '../terminal.ts';
import { prebuildBundles, whenLoaded, withSources, writeBundles } from './bundles.ts';
import { reserveIssuer } from './issuer-address.ts';
import { logFormat } from './log-format.ts';
import type { Service } from './reloader.ts';
import { fetchToken, removeStaleSession, writeSession } from './session.ts';
import { clientName, contractFile, dataFolder, readPort } from './settings.ts';
import { tokenCommand } from './token-command.ts';

export type Options = { debug?: number; watch?: true; verbose?: true };

/** Serves the project in the current folder until Ctrl-C. */
export const start = async (options: Options): Promise<void> => {
  const serving = new Serving({ PortError: 'PORT=3001 npm start', FolderError: 'DATA_DIR=... npm start' });
  await serving.run(() => startService(serving, options));
};

const startService = async (serving: Serving, { debug: inspectorPort, watch, verbose }: Options): Promise<void> => {
  const debug = inspectorPort !== undefined;
  const inspector = debug ? await import('http-api-emulator/inspector') : undefined;
  if (debug) {
    say(
      `Debug in Chrome: devtools://devtools/bundled/js_app.html?v8only=true&ws=${inspector?.openInspector(inspectorPort)}`,
    );
    say('Other debuggers need the address above, which begins with ws://. Whoever knows it can run code as you.');
    say('Nothing times out. Unlike the bundles that cdk deploy uploads, these are readable and have source maps.');
  }
  const [data, port] = [dataFolder(), readPort()];
  // Check that the port is free before the slow steps, so that the user learns at once if it is in use.
  const portProbe = createServer();
  await listenOnChosen(portProbe, port);
  await closeServer(portProbe);

  say('Opening the data folder ...');
  serving.defer(await lockFolder(data));
  removeStaleSession(data);
  const reserved = await reserveIssuer(path.join(data, 'issuer.json'), port);
  serving.defer(() => closeServer(reserved.server));

  generateIfChanged();
  const outdir = temporaryFolder();
  // The app's own settings, except the issuer's, and a permissions boundary, which is a policy that only AWS has. The
  // API of stage `dev` is that of `prod`. Only `prod` has roll-outs and a smoke test, which a local service does not need.
  const given = JSON.parse(process.env['CDK_CONTEXT_JSON'] || '{}');
  const context = { permissionsBoundary: undefined, stage: 'dev', ...reserved.settings, ...given };
  const synthesize: Service['synthesize'] = (bundles, signal) => runApp('.', { outdir, context, bundles }, signal);
  // Loading the CDK, importing issuer.ts and bundling take most of the start-up time, so do all three at once.
  const stop = new AbortController();
  serving.defer(() => stop.abort());
  const bundling = prebuildBundles({ debug });
  const synthesizing = synthesize(
    bundling.then((made) => writeBundles(outdir, made)),
    stop.signal,
  );
  // An error is thrown below, where this promise is awaited.
  synthesizing.catch(() => {});
  const [{ startIssuer }, contract, bundles] = await Promise.all([
    import('./issuer.ts'),
    readContract(contractFile),
    bundling,
  ]);

  say('Starting a token issuer ...');
  const issuer = await startIssuer(reserved);
  if (reserved.hasMoved)
    say('Its last port is in use, so it has a new one: tokens from before this start are refused.');

  say('Serving the stack ...');
  const stacks = await synthesizing;
  const source = stackIn(outdir);
  const emulator = await serving.serve({
    source,
    data,
    port,
    verbose,
    debug,
    leaveOut: true,
    certificates: [issuer.certificate],
    format: logFormat,
    // Later, the source maps of the bundles that ran may be gone.
    onRequest: (logged) => (logged.log = withSources(logged.log)),
    intercept: referencePage({
      readContract: () => readContract(contractFile),
      tokenCommand: tokenCommand(),
      client: clientName(),
      newToken: () => fetchToken(issuer),
      requests: () => emulator.log,
      routeKeys: () => emulator.routeKeys,
    }),
  });
  if (inspector) serving.defer(inspector.closeInspector);
  await whenLoaded(emulator.warmUp(), bundles.values());
  for (const line of notServed(emulator.stack)) say(line);

  let removeSession = () => {};
  serving.defer(() => removeSession());
  const grantScopes = (stacks: Stacks): void => {
    issuer.setScope(scopesOf(stacks));
    removeSession();
    const { tokenUrl, clientId, clientSecret, scope, certificate } = issuer;
    removeSession = writeSession(data, { url: emulator.url, tokenUrl, clientId, clientSecret, scope, certificate });
  };
  grantScopes(stacks);

  if (watch) {
    const { startWatching } = await import('./reloader.ts');
    const reloadStack = async (stacks: Stacks) => {
      await emulator.reload(source);
      grantScopes(stacks);
    };
    await startWatching({ debug, emulator, outdir, bundles, synthesize, reloadStack }, serving);
  }
  announce(emulator, contract, watch);
};

/** Creates a folder that only this user can open. It is removed however this process ends, except by `kill -9`. */
const temporaryFolder = (): string => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'lambda-service-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** The output `Scope` of the stack: every scope of the contract, separated by spaces. */
const scopesOf = (stacks: Stacks): string =>
  [...stacks.values()]
    .map(({ template: { Outputs } }) => Object(Outputs?.['Scope']).Value ?? '')
    .join(' ')
    .trim();

const announce = (emulator: Emulator, contract: Contract, watch?: true): void => {
  const { url } = emulator;
  say(`Serving ${emulator.routeKeys.join(', ')} at ${url} (store: ${emulator.store}).`);
  if (!emulator.enforcesRoles) say('You run the store yourself, so the permissions of the functions are not checked.');
  const example = exampleRequest(contract);
  if (example) say(`Try it, in another terminal:\n\n${curlLine(url, example, tokenCommand())}\n`);
  say(`${example ? 'Or' : 'Try it'} in a browser: ${url}/docs`);
  if (watch) say('Changes in functions/, infra/ and schemas/ are served without a restart.');
  say(`Ctrl-C stops the service. One row per request (${ourCommand} request <id> shows all of one):`);
};
