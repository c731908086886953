import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Account, defaultAccount, type JwtIssuer } from '../served-stack.ts';
import type { Template } from './template.ts';

type Properties = { stackName?: string; templateFile?: string; directoryName?: string };
type Artifact = { type: string; displayName?: string; environment?: string; properties?: Properties };

/**
 * A stack. `folder` is that of the manifest that lists it, and `names` are the one that `cdk list` prints, such as
 * Prod/Orders for a stack of a stage, and `nameOnAws`.
 */
type Stack = { names: string[]; nameOnAws: string; template: Template; account: Account; folder: string };

export const manifestOf = (folder: string): string => path.join(folder, 'manifest.json');

/**
 * Reads the stacks of a cloud assembly, which is a folder that `cdk synth` has written, and of the stages in it.
 * https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.cloud_assembly_schema-readme.html
 */
export const readStacks = (folder: string): Stack[] => {
  const { artifacts = {} }: { artifacts?: Record<string, Artifact> } = readJson(manifestOf(folder));
  return Object.entries(artifacts).flatMap(([id, { type, displayName = id, environment, properties = {} }]) => {
    const { templateFile, directoryName, stackName: nameOnAws = id } = properties;
    if (type === 'cdk:cloud-assembly' && directoryName !== undefined)
      return readStacks(path.join(folder, directoryName));
    if (type !== 'aws:cloudformation:stack' || templateFile === undefined) return [];
    const template = readJson(path.join(folder, templateFile));
    return [{ names: [displayName, nameOnAws], nameOnAws, template, account: accountOf(environment), folder }];
  });
};

export const readJson = (file: string) => JSON.parse(readFileSync(file, 'utf8'));

/**
 * Where and by which name a template is deployed, and the other stacks in the same cloud assembly. `jwt` is as in
 * `serve`.
 */
export type Deployment = Partial<Omit<OtherStack, 'template'>> & { others?: OtherStack[]; jwt?: JwtIssuer | undefined };

export type OtherStack = Pick<Stack, 'account' | 'nameOnAws' | 'template'>;

/** Finds the deployment of a template. Without a cloud assembly in `assets`, nothing is known of it. */
export const readDeployment = (template: Template, assets: string): Omit<Deployment, 'jwt'> => {
  const stacks = existsSync(manifestOf(assets)) ? readStacks(assets) : [];
  const found = stacks.length === 1 ? stacks[0] : stacks.find((stack) => isDeepStrictEqual(stack.template, template));
  return { ...found, others: othersOf(found, stacks) };
};

/** The other stacks. Those of the same stage of the app come first, because each stage may export the same names. */
export const othersOf = (stack: Stack | undefined, all: Stack[]): Stack[] => {
  const distance = ({ folder }: Stack) => Number(folder !== stack?.folder);
  return all.filter((each) => each !== stack).toSorted((one, other) => distance(one) - distance(other));
};

/** The account and region of a stack, written as aws://ACCOUNT/REGION; the defaults if the app leaves them open. */
const accountOf = (environment = ''): Account => {
  const [, id = '', region = ''] = /^aws:\/\/(.+)\/(.+)$/.exec(environment) ?? [];
  return {
    id: /^\d{12}$/.test(id) ? id : defaultAccount.id,
    region: ['', 'unknown-region'].includes(region) ? defaultAccount.region : region,
  };
};
