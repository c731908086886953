/**
 * Synthesizes the stack for the parent process, `npm start`: the parent cannot import a changed module again, and would
 * keep the memory that the CDK takes. The parent sends a `Synthesis`, and gets a `Synthesized`.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setBundle } from '@lambda-service/cdk/bundling';
import type { ServeOptions } from 'http-api-emulator';
import { prebuildBundles } from './bundles.ts';
import { allScopes } from './scopes.ts';
import { entriesOf, makeApp, readCdkJson } from './stack.ts';

/**
 * What to synthesize. `assets` is the folder of the app's assets, `context` the part of the app's context that does not
 * come from cdk.json; with `debug`, the bundles are for a debugger. `bundles` has the file with each entry's bundle; if
 * it is empty, this process bundles them.
 */
export type Synthesis = {
  assets: string;
  context: Record<string, string>;
  debug: boolean;
  bundles: (readonly [entry: string, file: string])[];
};

/**
 * A synthesized stack. `entries` has the entry file of each function, by the function's name. `scope` has all scopes of
 * the contract, separated by spaces.
 */
export type Synthesized = {
  template: Extract<ServeOptions, { assets: string }>['template'];
  entries: Record<string, string>;
  scope: string;
};

const [{ assets, context, debug, bundles }] = (await once(process, 'message')) as [Synthesis];
for (const [entry, file] of bundles) setBundle(entry, readFileSync(file));
if (bundles.length === 0) await prebuildBundles({ debug });
const app = makeApp(assets, { ...readCdkJson(), ...context });
const [stack] = app.synth().stacks;
process.send?.({ template: stack?.template, entries: entriesOf(app), scope: allScopes } satisfies Synthesized);
