/**
 * Synthesizes the stack and sends it to the parent process. It runs in a new process because Node.js does not import a
 * changed module again. Its argument is JSON: the folder of the assets, and the context of the app.
 */
import type { ServeOptions } from 'http-api-emulator';
import { prebuildBundles } from '../../infra/bundling.ts';
import { allScopes } from '../scopes.ts';

/** The entries are the files of the functions, by the functions' names. */
export type Synthesized = {
  template: Extract<ServeOptions, { assets: string }>['template'];
  entries: Record<string, string>;
  scope: string;
};

const { assets, context } = JSON.parse(process.argv[2] ?? '') as { assets: string; context: Record<string, string> };
const [{ makeApp, entriesOf }] = await Promise.all([import('../stack.ts'), prebuildBundles()]);
const app = makeApp(assets, context);
const [stack] = app.synth().stacks;
const synthesized: Synthesized = { template: stack?.template, entries: entriesOf(app), scope: allScopes };
process.send?.(synthesized);
