import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Account, defaultAccount } from '../served-stack.ts';
import type { Template } from './template.ts';

type Properties = { stackName?: string; templateFile?: string; directoryName?: string };
type Artifact = { type: string; displayName?: string; environment?: string; properties?: Properties };

/**
 * A stack. `names` are the one that `cdk list` prints, such as Prod/Orders for a stack of a stage, and the one on AWS.
 * `environment` is its account and region, as aws://ACCOUNT/REGION.
 */
type Stack = { names: string[]; template: Template; environment: string };

export const manifestOf = (folder: string): string => path.join(folder, 'manifest.json');

/**
 * Reads the stacks of a cloud assembly, which is a folder that `cdk synth` has written, and of the stages in it.
 * https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.cloud_assembly_schema-readme.html
 */
export const readStacks = (folder: string): Stack[] => {
  const { artifacts = {} }: { artifacts?: Record<string, Artifact> } = readJson(manifestOf(folder));
  return Object.entries(artifacts).flatMap(([id, { type, displayName = id, environment = '', properties = {} }]) => {
    const { stackName = id, templateFile, directoryName } = properties;
    if (type === 'cdk:cloud-assembly' && directoryName !== undefined)
      return readStacks(path.join(folder, directoryName));
    if (type !== 'aws:cloudformation:stack' || templateFile === undefined) return [];
    const names = [displayName, stackName];
    return [{ names, template: readJson(path.join(folder, templateFile)), environment }];
  });
};

export const readJson = (file: string) => JSON.parse(readFileSync(file, 'utf8'));

/**
 * The account and the region for which the CDK has synthesized a stack (its `env`); the defaults if the app leaves them
 * open, or if `assets` is not a cloud assembly.
 */
export const readAccount = (template: Template, assets: string): Account => {
  const stacks = existsSync(manifestOf(assets)) ? readStacks(assets) : [];
  const isOfTemplate = (stack: Stack) => isDeepStrictEqual(stack.template, template);
  const { environment = '' } = (stacks.length === 1 ? stacks[0] : stacks.find(isOfTemplate)) ?? {};
  const [, id = '', region = ''] = /^aws:\/\/(.+)\/(.+)$/.exec(environment) ?? [];
  return {
    id: /^\d{12}$/.test(id) ? id : defaultAccount.id,
    region: ['', 'unknown-region'].includes(region) ? defaultAccount.region : region,
  };
};
