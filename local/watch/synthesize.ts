/**
 * Synthesizes the stack and sends it to the parent process, `npm start`, which cannot import a changed module again.
 * The only argument is JSON with the fields `assets`, `context` and `debug` of the running service.
 */
import type { ServeOptions } from 'http-api-emulator';
import { listDevEntries } from '../../infra/bundling.ts';
import { prebuildBundles } from '../prebuild.ts';
import { allScopes } from '../scopes.ts';
import type { Service } from './reloader.ts';

/**
 * A synthesized stack. `entries` has the entry file of each function, by the function's name. `scope` has all scopes of
 * the contract, separated by spaces.
 */
export type Synthesized = {
  template: Extract<ServeOptions, { assets: string }>['template'];
  entries: Record<string, string>;
  scope: string;
};

const { assets, context, debug } = JSON.parse(process.argv[2] ?? '') as Pick<Service, 'assets' | 'context' | 'debug'>;
const [{ makeApp, entriesOf, readCdkJson }] = await Promise.all([
  import('../stack.ts'),
  prebuildBundles({ debug, entries: listDevEntries() }),
]);
const app = makeApp(assets, { ...readCdkJson(), ...context });
const [stack] = app.synth().stacks;
const synthesized: Synthesized = { template: stack?.template, entries: entriesOf(app), scope: allScopes };
process.send?.(synthesized);
