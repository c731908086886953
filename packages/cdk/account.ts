/** Says that an AWS account is missing before the synthesis, after which the CDK would fail in words of its own. */
import { spawnSync } from 'node:child_process';

/** What the CDK's command line begins with if it needs an account. Others, such as `synth`, do without. */
const needsAccount = /\/cdk (bootstrap|deploy|destroy|drift|import|rollback|watch)\s/;

/** Returns a process's parent and its command line, or an empty string if the system does not say. */
const processOf = (id: number): string =>
  spawnSync('ps', ['-o', 'ppid=,args=', '-p', String(id)], { encoding: 'utf8' }).stdout ?? '';

/** Returns what to do if the CDK runs this app for a command that needs an account, and has found none. */
export const missingAccount = (): string | undefined => {
  const { CDK_CLI_VERSION, CDK_DEFAULT_ACCOUNT } = process.env;
  if (CDK_CLI_VERSION === undefined || CDK_DEFAULT_ACCOUNT !== undefined) return undefined;
  // The CDK does not tell its command to the app, which a shell of the CDK runs.
  const parent = processOf(process.ppid);
  const [, command] = needsAccount.exec(parent) ?? needsAccount.exec(processOf(Number.parseInt(parent, 10))) ?? [];
  return (
    command &&
    `cdk ${command} found no AWS credentials that work: set AWS_REGION, and AWS_PROFILE to a profile that has credentials, or ` +
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (the option -v says what the CDK has tried).'
  );
};
