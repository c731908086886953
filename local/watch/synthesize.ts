/**
 * Synthesizes the stack and sends it to the parent process. `npm start` runs this file in a new process, because
 * Node.js does not import a changed module again. The only argument is JSON: the assets' folder, and the app's context.
 */
import type { ServeOptions } from 'http-api-emulator';
import { listDevEntries } from '../../infra/bundling.ts';
import { prebuildBundles } from '../prebuild.ts';
import { allScopes } from '../scopes.ts';
import type { Service } from './reloader.ts';

/**
 * A synthesized stack. `entries` has the path of each function's entry file by the function's name; `scope` is every
 * scope of the contract.
 */
export type Synthesized = {
  template: Extract<ServeOptions, { assets: string }>['template'];
  entries: Record<string, string>;
  scope: string;
};

const { assets, context, debug } = JSON.parse(process.argv[2] ?? '') as Pick<Service, 'assets' | 'context' | 'debug'>;
const [{ makeApp, entriesOf }] = await Promise.all([
  import('../stack.ts'),
  prebuildBundles({ debug, entries: listDevEntries() }),
]);
const app = makeApp(assets, context);
const [stack] = app.synth().stacks;
const synthesized: Synthesized = { template: stack?.template, entries: entriesOf(app), scope: allScopes };
process.send?.(synthesized);
