/**
 * Synthesizes the stack and sends it to the parent process. It runs in a new process because Node.js does not import a
 * changed module again. Its argument is JSON: the folder of the assets, and the context of the app.
 */
import type { ServeOptions } from 'http-api-emulator';
import { prebuildBundles } from '../prebuild.ts';
import { allScopes } from '../scopes.ts';
import type { Service } from './reloader.ts';

/** The entries are the files of the functions, by the functions' names. */
export type Synthesized = {
  template: Extract<ServeOptions, { assets: string }>['template'];
  entries: Record<string, string>;
  scope: string;
};

const { assets, context, debug } = JSON.parse(process.argv[2] ?? '') as Pick<Service, 'assets' | 'context' | 'debug'>;
const [{ makeApp, entriesOf }] = await Promise.all([import('../stack.ts'), prebuildBundles({ debug })]);
const app = makeApp(assets, context);
const [stack] = app.synth().stacks;
const synthesized: Synthesized = { template: stack?.template, entries: entriesOf(app), scope: allScopes };
process.send?.(synthesized);
