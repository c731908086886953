import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build, stop } from 'esbuild';
import { esbuildOptions, functions, listEntries, setBundle } from '../infra/bundling.ts';
import { keepMap } from './source-maps.ts';
import { mapOptions, splitOutput } from './stack-traces.ts';

/**
 * esbuild's options for debugging: readable code and a source map. The paths in the map are absolute, because the CDK
 * moves a bundle to another folder.
 */
const debugOptions = {
  minify: false,
  sourcemap: 'inline',
  sourceRoot: pathToFileURL(`${path.dirname(functions)}/`).href,
  absWorkingDir: path.dirname(functions),
} satisfies BuildOptions;

/**
 * esbuild's options for an entry. With `debug`, a debugger can show the sources, but the bundle differs from the one
 * that would be deployed.
 */
export const bundleOptions = (entry: string, debug: boolean) => ({
  ...esbuildOptions(entry),
  ...(debug ? debugOptions : mapOptions),
});

/** Bundles entries in esbuild's own process, so that this process can do other work, such as loading CDK. */
export const prebuildBundles = async ({ debug = false, entries = listEntries() } = {}): Promise<void> => {
  const make = async (entry: string): Promise<void> => {
    const { code, map } = splitOutput(entry, (await build(bundleOptions(entry, debug))).outputFiles);
    setBundle(entry, code.contents);
    if (map !== undefined) keepMap(entry, code.contents, map.text);
  };
  await Promise.all(entries.map(make));
  // Stop esbuild's child process (50 MB); otherwise it idles until we exit.
  await stop();
};
