import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { CloudAssembly } from 'aws-cdk-lib/cx-api';
import { type ProjectCopy, startIn } from '../project-copy.ts';
import type { StackTemplate, Template } from './template.ts';

/** The stacks of a cloud assembly (the output of `cdk synth`), by name. */
export type Stacks = Map<string, StackTemplate>;

/**
 * Synthesizes a project as `cdk synth` does, but does not check the templates, because CI checks them separately.
 * @param name is what the error message, which ends with `hint`, calls the project
 * @param context has settings such as `stage=dev`, in addition to those of the project's cdk.json
 */
export const synthesize = async (
  name: string,
  project: ProjectCopy,
  context: string[],
  signal: AbortSignal,
  hint = '',
): Promise<Stacks> => {
  const cdk = JSON.parse(await readFile(path.join(project.folder, 'cdk.json'), 'utf8'));
  const more = context.map((setting) => [setting.replace(/=.*/s, ''), setting.replace(/^[^=]*=/, '')]);
  await mkdir(project.temporary, { recursive: true });
  const assembly = path.join(project.temporary, 'cdk.out');
  const environment = {
    CDK_OUTDIR: assembly,
    CDK_CONTEXT_JSON: JSON.stringify({ ...cdk.context, ...Object.fromEntries(more) }),
    CDK_VALIDATION: 'false',
  };
  const { ended, output } = startIn(project, ['sh', '-c', cdk.app], signal, environment);
  const code = await ended;
  signal.throwIfAborted();
  // Leave out long lines: if the CDK crashes, Node.js prints a line of the CDK's minified code, which may be a whole
  // file.
  if (code !== 0)
    throw new Error(`${name} cannot be synthesized:\n${output().replaceAll(/^.{1000,}\n/gm, '')}\n${hint}`);
  return new Map(
    new CloudAssembly(assembly).stacks.map(({ stackName, template, terminationProtection = false }) => [
      stackName,
      { template: template as Template, isProtected: terminationProtection },
    ]),
  );
};
