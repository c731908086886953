import { esbuildOptions } from '@lambda-service/cdk/bundling';
import { buildSync } from 'esbuild';

/**
 * Lists the source files and packages (as keys of package-lock.json) that contribute code to an entry's bundle.
 * `generatedBytes` is the size of the code that comes from the contract.
 */
export const bundleInputs = (entry: string): { files: string[]; packages: string[]; generatedBytes: number } => {
  const { metafile } = buildSync(esbuildOptions(entry));
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const files = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file);
  const packageOf = (file: string): string[] =>
    /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(file) ?? [];
  const generated = inputs.filter(([file]) => file.startsWith('functions/generated/'));
  return {
    generatedBytes: generated.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0),
    files: files.filter((file) => packageOf(file).length === 0).sort(),
    packages: [...new Set(files.flatMap(packageOf))].sort(),
  };
};
