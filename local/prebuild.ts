import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build, stop } from 'esbuild';
import { bundles, esbuildOptions, functions, listEntries } from '../infra/bundling.ts';

/** Readable code with a source map. Its sources are absolute, because the CDK moves a bundle to another folder. */
const debugOptions = {
  minify: false,
  sourcemap: 'inline',
  sourceRoot: pathToFileURL(`${path.dirname(functions)}/`).href,
  absWorkingDir: path.dirname(functions),
} satisfies BuildOptions;

/** With `debug`, a debugger can show the sources, and the bundle is not the one that is deployed. */
export const bundleOptions = (entry: string, debug: boolean) => ({
  ...esbuildOptions(entry),
  ...(debug && debugOptions),
});

/** Bundles every entry in esbuild's own process, so that this process can do other work, such as loading CDK. */
export const prebuildBundles = async ({ debug = false } = {}): Promise<void> => {
  const make = async (entry: string): Promise<void> => {
    const { outputFiles } = await build(bundleOptions(entry, debug));
    for (const { contents } of outputFiles) bundles.set(entry, contents);
  };
  await Promise.all(listEntries().map(make));
  // Stop esbuild's child process (50 MB); otherwise it idles until we exit.
  await stop();
};
