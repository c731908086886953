import { existsSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../gateway/response.ts';
import { type Account, defaultAccount } from '../served-stack.ts';
import type { Template } from './template.ts';

/** A stack. `names` are the one that `cdk list` prints, such as Prod/Orders for a stack of a stage, and `nameOnAws`. */
export type Stack = { names: string[]; nameOnAws: string; template: Template; account: Account };

export const manifestOf = (folder: string): string => path.join(folder, 'manifest.json');

/**
 * Reads the stacks of a cloud assembly, which is a folder that `cdk synth` has written, and of the stages in it.
 * https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.cloud_assembly_schema-readme.html
 */
export const readStacks = (folder: string, root = folder): Stack[] => {
  const file = manifestOf(folder);
  const { artifacts = {} } = objectIn(file, readJson(file));
  return Object.entries(objectIn(file, artifacts)).flatMap(([id, artifact]): Stack[] => {
    const { type, displayName, environment, properties = {} } = objectIn(`${id} in ${file}`, artifact);
    const { templateFile, directoryName, stackName } = objectIn(`${id} in ${file}`, properties);
    if (type === 'cdk:cloud-assembly' && directoryName !== undefined)
      return readStacks(inside(folder, folder, directoryName, file), root);
    if (type !== 'aws:cloudformation:stack' || templateFile === undefined) return [];
    const template = readTemplateFile(inside(root, folder, templateFile, file));
    const nameOnAws = String(stackName ?? id);
    const names = [String(displayName ?? id), nameOnAws];
    return [{ names, nameOnAws, template, account: accountOf(String(environment)) }];
  });
};

/** The path of a file or folder. @throws Error if it is not in the folder `root`, or is `root` itself */
const inside = (root: string, folder: string, name: unknown, manifest: string): string => {
  const found = path.join(folder, String(name));
  const named = `${manifest} names ${JSON.stringify(name)}, which`;
  try {
    if (realpathSync(found).startsWith(realpathSync(root) + path.sep)) return found;
  } catch (cause) {
    throw new Error(`${named} cannot be read. Run \`cdk synth\` again.`, { cause });
  }
  throw new Error(`${named} is not in ${root}.`);
};

const readTemplateFile = (file: string): Template => {
  // The CDK leaves out the Resources of an empty stack.
  const { Resources = {}, ...others } = objectIn(file, readJson(file));
  return { ...others, Resources: objectIn(`Resources in ${file}`, Resources) } as Template;
};

const objectIn = (place: string, value: unknown): Record<string, unknown> => {
  if (isObject(value)) return value;
  throw new Error(`${place} is not an object. Run \`cdk synth\` again.`);
};

export const readJson = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file} cannot be read: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
};

/** Where and by which name a template is deployed. */
export type Deployment = Partial<Pick<Stack, 'account' | 'nameOnAws'>>;

/** Finds the deployment of a template. Without a cloud assembly in `assets`, nothing is known of it. */
export const readDeployment = (template: Template, assets: string): Deployment | undefined => {
  const stacks = existsSync(manifestOf(assets)) ? readStacks(assets) : [];
  return stacks.length === 1 ? stacks[0] : stacks.find((stack) => isDeepStrictEqual(stack.template, template));
};

/** The account and region of a stack, written as aws://ACCOUNT/REGION; the defaults if the app leaves them open. */
const accountOf = (environment: string): Account => {
  const [, id = '', region = ''] = /^aws:\/\/(.+)\/(.+)$/.exec(environment) ?? [];
  return {
    id: /^\d{12}$/.test(id) ? id : defaultAccount.id,
    region: ['', 'unknown-region'].includes(region) ? defaultAccount.region : region,
  };
};
