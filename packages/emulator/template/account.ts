import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Account, defaultAccount } from '../served-stack.ts';
import type { Template } from './template.ts';

/** The part of a cloud assembly's manifest that names the account and the region of a stack. */
type Manifest = {
  artifacts?: Record<string, { type?: string; environment?: string; properties?: { templateFile?: string } }>;
};

/**
 * The account and the region for which the CDK has synthesized a stack (its `env`); the defaults if the app leaves them
 * open. They are in the manifest beside the assets:
 * https://docs.aws.amazon.com/cdk/api/v2/docs/@aws-cdk_cloud-assembly-schema.ArtifactManifest.html
 */
export const readAccount = (template: Template, assets: string): Account => {
  const manifest = path.join(assets, 'manifest.json');
  if (!existsSync(manifest)) return defaultAccount;
  const { artifacts = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as Manifest;
  const stacks = Object.values(artifacts).filter(({ type }) => type === 'aws:cloudformation:stack');
  const isOfTemplate = ({ properties: { templateFile = '' } = {} }: (typeof stacks)[number]) =>
    isDeepStrictEqual(JSON.parse(readFileSync(path.join(assets, templateFile), 'utf8')), template);
  const { environment = '' } = (stacks.length === 1 ? stacks[0] : stacks.find(isOfTemplate)) ?? {};
  const [, id = '', region = ''] = /^aws:\/\/(.+)\/(.+)$/.exec(environment) ?? [];
  return {
    id: /^\d{12}$/.test(id) ? id : defaultAccount.id,
    region: ['', 'unknown-region'].includes(region) ? defaultAccount.region : region,
  };
};
