/** Runs the CDK app of a project as `cdk` does: by the command in its cdk.json. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { startGroup } from './process-group.ts';
import { messageOf, printable } from './terminal.ts';

/** The parts of a CloudFormation resource that the commands read. */
export type Resource = {
  Type: string;
  Condition?: unknown;
  Properties?: Record<string, unknown>;
  DeletionPolicy?: unknown;
  UpdateReplacePolicy?: unknown;
};

/** `Transform` names macros, which may change everything. */
export type Template = { Resources: Record<string, Resource>; Transform?: unknown } & {
  [section in 'Conditions' | 'Parameters' | 'Mappings' | 'Outputs']?: Record<string, unknown>;
};

/**
 * A stack's template. `isProtected` says whether the stack has termination protection, and `environment` where it is,
 * such as `aws://123456789012/eu-central-1`.
 */
export type StackTemplate = { template: Template; isProtected: boolean; environment?: string };

/** The stacks of a cloud assembly (the output of `cdk synth`), by name. */
export type Stacks = Map<string, StackTemplate>;

type Options = {
  /** The folder for the app's output. */
  outdir: string;
  /** Settings in addition to those of cdk.json. A setting that is undefined is left out. */
  context?: Record<string, unknown>;
  /** The file of each entry's bundle. The app waits for these instead of bundling itself. */
  bundles?: Promise<Record<string, string>>;
  environment?: Record<string, string | undefined>;
};

/**
 * Runs the app in a project's folder. Does not check the templates, which would take 2 s; `cdk synth` does.
 * @throws Error with a message for the user, in one line if that says all
 */
export const runApp = async (
  folder: string,
  { outdir, context, bundles, environment }: Options,
  signal: AbortSignal,
): Promise<Stacks> => {
  const cdk = readCdkJson(folder);
  const manifest = path.join(outdir, 'manifest.json');
  // It may be of an earlier run.
  rmSync(manifest, { force: true });
  const variables = {
    CDK_OUTDIR: outdir,
    CDK_CONTEXT_JSON: JSON.stringify({ ...cdk.context, ...context }),
    CDK_VALIDATION: 'false',
    // packages/cdk/bundling.ts reads it.
    PREBUILT_BUNDLES: bundles && '3',
    ...environment,
  };
  const input = bundles?.then((files) => JSON.stringify(files));
  const { stdout, stderr } = await runToEnd(folder, ['sh', '-c', cdk.app], signal, variables, input);
  // Whoever serves an app is working on it, and wants to see what it prints.
  if (bundles && stdout !== '') console.log(printable(stdout.trimEnd()));
  if (bundles && stderr !== '') console.error(printable(stderr.trimEnd()));
  if (!existsSync(manifest)) throw new Error('The synthesis ended early: does a file in infra/ call process.exit?');
  return readStacks(outdir, JSON.parse(readFileSync(manifest, 'utf8')));
};

/**
 * Runs a command to its end.
 * @throws Error with the command's error output if it fails
 */
export const runToEnd = async (...[folder, command, signal, ...others]: Parameters<typeof startGroup>) => {
  const { ended, stdout, stderr, output } = startGroup(folder, command, signal, ...others);
  const code = await ended;
  signal.throwIfAborted();
  if (code !== 0) throw new Error(shorten(folder, output().trimEnd()) || `${command.join(' ')} ended with ${code}`);
  return { stdout: stdout(), stderr: stderr() };
};

const readCdkJson = (folder: string): { app: string; context?: object } => {
  try {
    const cdk = JSON.parse(readFileSync(path.join(folder, 'cdk.json'), 'utf8'));
    if (typeof cdk.app === 'string') return cdk;
  } catch (error) {
    // The message may quote several lines of the file.
    throw new Error(`cdk.json is not valid JSON: ${messageOf(error).replaceAll(/\s+/g, ' ')}`);
  }
  throw new Error('cdk.json has no "app", the command that makes the stack.');
};

type Artifact = {
  type: string;
  environment?: string;
  properties?: { templateFile: string; stackName?: string; terminationProtection?: boolean };
};

const readStacks = (folder: string, { artifacts = {} }: { artifacts?: Record<string, Artifact> }): Stacks =>
  new Map(
    Object.entries(artifacts).flatMap(([id, { type, environment = '', properties }]) => {
      if (type !== 'aws:cloudformation:stack' || properties === undefined) return [];
      const { templateFile, stackName = id, terminationProtection: isProtected = false } = properties;
      const template = JSON.parse(readFileSync(path.join(folder, templateFile), 'utf8'));
      return [[stackName, { template, isProtected, environment }] as const];
    }),
  );

/** Matches what Node.js prints for an error whose message says all: the place, the code there, the error, a stack. */
const evident = /^(?:file:\/\/)?(\/[^\n]+:\d+)\n.*?^(Syntax|Configuration)Error\b[^:\n]*: ([^\n]+)/ms;

/**
 * Makes one line, such as `infra/app.ts:7: Unexpected token`, of what Node.js prints for an evident error. Of others,
 * leaves out long lines: if the CDK crashes, Node.js prints a line of its minified code, which may be a whole file.
 */
const shorten = (folder: string, output: string): string => {
  const [, place, kind, message = ''] = evident.exec(output) ?? [];
  if (place === undefined) return output.replaceAll(/^.{1000,}\n/gm, '');
  // Whoever set a wrong value does not look for it in the file that reads it.
  if (kind === 'Configuration') return message;
  const file = output.startsWith('file:') ? decodeURIComponent(place) : place;
  return `${path.relative(path.resolve(folder), file)}: ${message}`;
};
