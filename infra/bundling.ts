import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { type BuildOptions, buildSync } from 'esbuild';

const functions = fileURLToPath(new URL('../functions', import.meta.url));

/**
 * Parts of the AWS SDK that no function here uses, though the SDK imports them, and the files below functions/ that a
 * bundle has in their place: two fifths of its size, and of the time that it takes to load. Where the SDK comes to need more
 * of such a part than the file has, esbuild refuses the bundle; where it gets at them by another name,
 * test/infra/bundles.test.ts notices.
 */
const replaced = {
  '@aws-sdk/credential-provider-node': 'replaced/credentials.ts',
  '@aws-sdk/middleware-endpoint-discovery': 'replaced/endpoint-discovery.ts',
  '@smithy/core/event-streams': 'replaced/event-streams.ts',
};

/** How an entry becomes one file. The SDK is that of the lock file, not the one that the runtime happens to bring. */
export const esbuildOptions = (entry: string) =>
  ({
    entryPoints: [path.join(functions, entry)],
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    // CommonJS output starts faster than ESM, whose import of node:http also loads undici.
    format: 'cjs',
    // Libraries' ESM sources can be shaken, their CommonJS builds cannot: 195 KB less.
    mainFields: ['module', 'main'],
    alias: Object.fromEntries(Object.entries(replaced).map(([part, file]) => [part, path.join(functions, file)])),
    logLevel: 'warning',
  }) satisfies BuildOptions;

/** The code of a function, index.js alone. NodejsFunction would make the same, through npx, which takes longer than esbuild. */
export const bundled = (entry: string): Code =>
  Code.fromAsset(functions, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // For where the bundling below would say that it cannot be done here, which it does not.
      image: DockerImage.fromRegistry('none'),
      // CDK takes assets for the same that have the same source and options; the function below is none to it.
      command: [entry],
      local: {
        tryBundle: (folder) => {
          buildSync({ ...esbuildOptions(entry), outfile: path.join(folder, 'index.js') });
          return true;
        },
      },
    },
  });
