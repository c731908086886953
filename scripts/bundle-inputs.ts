import { buildSync } from 'esbuild';
import { esbuildOptions } from '../infra/bundling.ts';

/** Bundles an entry, and lists the source files and packages (as keys of package-lock.json) that contribute code to it. */
export const bundleInputs = (entry: string): { bundle: Uint8Array; files: string[]; packages: string[] } => {
  const { metafile, outputFiles } = buildSync({ ...esbuildOptions(entry), metafile: true });
  const files = Object.values(metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs).flatMap(([input, { bytesInOutput }]) => (bytesInOutput > 0 ? [input] : [])),
  );
  const packageOf = (file: string): string[] => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [];
  return {
    bundle: Buffer.concat(outputFiles.map(({ contents }) => contents)),
    files: files.filter((file) => packageOf(file).length === 0).sort(),
    packages: [...new Set(files.flatMap(packageOf))].sort(),
  };
};
