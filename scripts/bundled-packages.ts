import { buildSync } from 'esbuild';
import { esbuildOptions } from '../infra/bundling.ts';

/** The folders of the packages that the bundle of an entry has something of, as the keys of the lock file. */
export const bundledPackages = (entry: string): string[] => {
  const { metafile } = buildSync({ ...esbuildOptions(entry), metafile: true });
  const inputs = Object.values(metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs).flatMap(([input, { bytesInOutput }]) => (bytesInOutput > 0 ? [input] : [])),
  );
  const packages = inputs.flatMap((input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? []);
  return [...new Set(packages)].sort();
};
