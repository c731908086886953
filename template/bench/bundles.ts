import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bundle as bundled } from '@lambda-service/cdk/bundling';
import { runApp } from '@lambda-service/tools/app';
import { App, Stack } from 'aws-cdk-lib';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { type BundlingOptions, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';

/**
 * The bundle of a function. `file` is the file from which Lambda would load the handler; `bytes` is the size of that
 * file.
 */
export type Bundle = { name: string; file: string; bytes: number };

const root = path.resolve(import.meta.dirname, '../..');

// An ES module bundle that contains CommonJS libraries needs this banner, because ES modules do not have `require`.
const banner = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

const asSdkDocuments: BundlingOptions = { minify: true, mainFields: ['module', 'main'], format: OutputFormat.CJS };

/** The handlers with which ours are compared, each with the NodejsFunction options in its library's documentation. */
const handlers: Record<string, { entry: string; bundling: BundlingOptions }> = {
  bare: { entry: 'bare.lambda.ts', bundling: asSdkDocuments },
  logging: { entry: 'logging.lambda.ts', bundling: asSdkDocuments },
  usual: { entry: 'usual.lambda.ts', bundling: { minify: true, format: OutputFormat.ESM, banner } },
  powertools: {
    entry: 'peers/powertools.lambda.ts',
    bundling: { minify: true, mainFields: ['module', 'main'], format: OutputFormat.ESM, banner },
  },
  hono: { entry: 'peers/hono.lambda.ts', bundling: {} },
};

/**
 * The suffix in the name of a handler's second bundle, which is built with the options of our own functions' bundles.
 * The first bundle is built with the options that the handler's library documents.
 */
export const asOurs = ', bundled as ours';

/**
 * Bundles the service's functions (`own`, named after their operations) and the handlers to compare them with
 * (`others`).
 */
export const makeBundles = async (folder: string): Promise<{ own: Bundle[]; others: Bundle[] }> => {
  const service = path.join(folder, 'service');
  mkdirSync(service);
  const trusted = { issuer: 'https://issuer.example', audience: 'urn:plant-store' };
  const context = { stage: 'prod', alarmEmail: 'none', permissionsBoundary: undefined, ...trusted };
  const [stack] = (await runApp(root, { outdir: service, context }, new AbortController().signal)).values();
  // A function's logical id is the capitalized name of its operation, followed by a hash.
  const nameOf = (id: string): string => id.charAt(0).toLowerCase() + id.slice(1).replace(/[\dA-F]{8}$/, '');
  const own = assetsOf(service, stack?.template).map(({ id, folder }) =>
    measured(nameOf(id), path.join(folder, 'index.js')),
  );
  const documented = bundleAsDocumented(path.join(folder, 'documented'));
  const inTwoWays = documented.flatMap((bundle) => {
    const entry = handlers[bundle.name]?.entry ?? '';
    return [bundle, bundleAsOurs(folder, `${bundle.name}${asOurs}`, entry)];
  });
  return { own, others: inTwoWays };
};

const bundleAsDocumented = (folder: string): Bundle[] => {
  const app = new App({ outdir: folder });
  const stack = new Stack(app, 'Bench');
  for (const [id, { entry, bundling }] of Object.entries(handlers)) {
    new NodejsFunction(stack, id, {
      entry: path.join(import.meta.dirname, entry),
      projectRoot: root,
      depsLockFilePath: path.join(root, 'package-lock.json'),
      runtime: Runtime.NODEJS_24_X,
      bundling: { bundleAwsSDK: true, ...bundling },
    });
  }
  const { directory, stacks } = app.synth();
  const assets = assetsOf(directory, stacks[0]?.template);
  return Object.entries(handlers).map(([name, { bundling }]) => {
    const asset = assets.find(({ id }) => id.startsWith(name))?.folder ?? '';
    return measured(name, path.join(asset, bundling.format === OutputFormat.ESM ? 'index.mjs' : 'index.js'));
  });
};

/** Bundles a handler with the same options, and the same stubs for unused modules, as the service's functions. */
const bundleAsOurs = (folder: string, name: string, entry: string): Bundle => {
  const file = path.join(folder, `${path.basename(entry, '.lambda.ts')}.cjs`);
  writeFileSync(file, bundled(path.join('../template/bench', entry)));
  return measured(name, file);
};

/** Returns the logical id of each function in a template, and the folder with its bundle. */
const assetsOf = (directory: string, template: { Resources?: object } = {}): { id: string; folder: string }[] => {
  // Mark the bundles as CommonJS: otherwise a package.json in a parent folder could mark them as ES modules.
  writeFileSync(path.join(directory, 'package.json'), '{"type":"commonjs"}');
  type Resource = { Type: string; Properties: { Code: { S3Key: string } } };
  // In the template, a bundle's upload is named HASH.zip; on disk, the bundle is in the folder asset.HASH.
  return Object.entries<Resource>(Object(template.Resources)).flatMap(([id, { Type, Properties }]) =>
    Type === 'AWS::Lambda::Function'
      ? { id, folder: path.join(directory, `asset.${path.parse(Properties.Code.S3Key).name}`) }
      : [],
  );
};

const measured = (name: string, file: string): Bundle => ({ name, file, bytes: statSync(file).size });
