import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Template } from '../template/read-template.ts';

type Properties = { templateFile?: string; directoryName?: string };
type Artifact = { type: string; displayName?: string; properties?: Properties };

/** A stack by the name that `cdk list` prints: a stack of a stage has both names, as in Prod/Orders. */
type Stack = { stackName: string; template: Template };

/**
 * Reads the stacks of a cloud assembly, which is a folder that `cdk synth` has written, and of the stages in it.
 * https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.cloud_assembly_schema-readme.html
 * @throws Error with a message for the user if the folder is not a cloud assembly
 */
export const readStacks = (folder: string): Stack[] => {
  const manifest = path.join(folder, 'manifest.json');
  if (!existsSync(manifest))
    throw new Error(`${manifest} is missing. Run \`cdk synth\` first, or pass the folder to which it writes.`);
  const { artifacts = {} }: { artifacts?: Record<string, Artifact> } = readJson(manifest);
  return Object.entries(artifacts).flatMap(([id, { type, displayName = id, properties = {} }]) => {
    const { templateFile, directoryName } = properties;
    if (type === 'cdk:cloud-assembly' && directoryName !== undefined)
      return readStacks(path.join(folder, directoryName));
    if (type !== 'aws:cloudformation:stack' || templateFile === undefined) return [];
    return [{ stackName: displayName, template: readJson(path.join(folder, templateFile)) }];
  });
};

export const readJson = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
