/** Says that an AWS account is missing before the synthesis, after which the CDK would fail in words of its own. */
import { spawnSync } from 'node:child_process';

/** The first of these words on the CDK's command line is its command. Those in the inner group need an account. */
const commands =
  /\/cdk\s(?:.*?\s)??(?:(bootstrap|deploy|destroy|drift|import|rollback|watch)|synth|synthesize|ls|list|diff)\s/;

/** Finds a command that needs an account among a process and those that started it: a shell, npx and the CDK. */
const commandOf = (id: number, generations = 6): string | undefined => {
  const { stdout } = spawnSync('ps', ['-ww', '-o', 'ppid=,args=', '-p', String(id)], { encoding: 'utf8' });
  const parent = Number.parseInt(stdout ?? '', 10);
  const [, command] = commands.exec(stdout ?? '') ?? [];
  return command ?? (parent > 1 && generations > 1 ? commandOf(parent, generations - 1) : undefined);
};

/** Returns what to do if the CDK runs this app for a command that needs an account, and has found none. */
export const missingAccount = (): string | undefined => {
  const { CDK_CLI_VERSION, CDK_DEFAULT_ACCOUNT } = process.env;
  if (CDK_CLI_VERSION === undefined || CDK_DEFAULT_ACCOUNT !== undefined) return undefined;
  // The CDK does not tell its command to the app.
  const command = commandOf(process.ppid);
  return (
    command &&
    `cdk ${command} found no AWS credentials that work: set AWS_REGION, and AWS_PROFILE to a profile that has credentials, or ` +
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (the option -v says what the CDK has tried).'
  );
};
