import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Account, defaultAccount } from '../served-stack.ts';
import type { Template } from './template.ts';

/**
 * The account and the region for which the CDK has synthesized a stack (its `env`); the defaults if the app leaves them
 * open. They are in the manifest beside the assets:
 * https://docs.aws.amazon.com/cdk/api/v2/docs/@aws-cdk_cloud-assembly-schema.ArtifactManifest.html
 */
export const readAccount = (template: Template, assets: string): Account => {
  const stacks = stacksIn(assets);
  const isOfTemplate = ({ file }: Stack) => isDeepStrictEqual(JSON.parse(readFileSync(file, 'utf8')), template);
  const { environment = '' } = (stacks.length === 1 ? stacks[0] : stacks.find(isOfTemplate)) ?? {};
  const [, id = '', region = ''] = /^aws:\/\/(.+)\/(.+)$/.exec(environment) ?? [];
  return {
    id: /^\d{12}$/.test(id) ? id : defaultAccount.id,
    region: ['', 'unknown-region'].includes(region) ? defaultAccount.region : region,
  };
};

/** A stack of a cloud assembly: its account and region, as aws://ACCOUNT/REGION, and the file of its template. */
type Stack = { environment: string; file: string };

type Artifact = { type: string; environment?: string; properties?: { templateFile?: string; directoryName?: string } };

/** The stacks of a cloud assembly, and of those in it (in CDK: Stage). */
const stacksIn = (folder: string): Stack[] => {
  const manifest = path.join(folder, 'manifest.json');
  if (!existsSync(manifest)) return [];
  const { artifacts = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as { artifacts?: Record<string, Artifact> };
  return Object.values(artifacts).flatMap(({ type, environment = '', properties = {} }) => {
    const { templateFile = '', directoryName = '' } = properties;
    if (type === 'cdk:cloud-assembly') return stacksIn(path.join(folder, directoryName));
    return type === 'aws:cloudformation:stack' ? [{ environment, file: path.join(folder, templateFile) }] : [];
  });
};
