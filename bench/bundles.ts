import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { type BundlingOptions, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { makeApp } from '../local/stack.ts';

/** The bundle of one function. `file` is the file that Lambda would load the handler from; `bytes` is its size. */
export type Bundle = { name: string; file: string; bytes: number };

const root = path.resolve(import.meta.dirname, '..');

/** Bundles the service's functions as its stack does (named after their operations), and two other handlers with CDK's usual options. */
export const makeBundles = (folder: string): Bundle[] => {
  const service = path.join(folder, 'service');
  mkdirSync(service);
  const app = makeApp(service, { issuer: 'https://issuer.example', audience: 'none' });
  // A function's logical id is the operation's name, capitalized, and a hash.
  const nameOf = (id: string): string => id.charAt(0).toLowerCase() + id.slice(1).replace(/[\dA-F]{8}$/, '');
  const own = assetsOf(app).map(({ id, folder }) => bundle(nameOf(id), path.join(folder, 'index.js')));
  const others = path.join(folder, 'others');
  const otherApp = new App({ outdir: others });
  const stack = new Stack(otherApp, 'Bench');
  const add = (id: string, bundling: BundlingOptions) =>
    new NodejsFunction(stack, id, {
      entry: path.join(root, 'bench', `${id}.lambda.ts`),
      projectRoot: root,
      depsLockFilePath: path.join(root, 'package-lock.json'),
      runtime: Runtime.NODEJS_24_X,
      bundling: { minify: true, bundleAwsSDK: true, ...bundling },
    });
  add('bare', { mainFields: ['module', 'main'], format: OutputFormat.CJS });
  // CommonJS libraries call `require`, which an ESM bundle does not have unless its banner defines it.
  const banner = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  add('usual', { format: OutputFormat.ESM, banner });
  const assets = assetsOf(otherApp);
  const asset = (name: string): string => assets.find(({ id }) => id.startsWith(name))?.folder ?? '';
  return [
    bundle('bare', path.join(asset('bare'), 'index.js')),
    bundle('usual', path.join(asset('usual'), 'index.mjs')),
    ...own,
  ];
};

/** Synthesizes an app of one stack. @returns the logical id of each function, and the folder of its bundle */
const assetsOf = (app: App): { id: string; folder: string }[] => {
  const { directory, stacks } = app.synth();
  // Declare the bundles CommonJS, because a package.json in a parent folder could declare them ES modules.
  writeFileSync(path.join(directory, 'package.json'), '{"type":"commonjs"}');
  type Resource = { Type: string; Properties: { Code: { S3Key: string } } };
  // The CDK writes an asset to asset.HASH, and uploads it as HASH.zip.
  return Object.entries<Resource>(stacks[0]?.template.Resources).flatMap(([id, { Type, Properties }]) =>
    Type === 'AWS::Lambda::Function'
      ? { id, folder: path.join(directory, `asset.${path.parse(Properties.Code.S3Key).name}`) }
      : [],
  );
};

const bundle = (name: string, file: string): Bundle => ({ name, file, bytes: statSync(file).size });
