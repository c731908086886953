/** One run of the proof: checks, a question, the steps, the report, and the clean-up. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { exampleRequest, readContract } from 'openapi-contract/page';
import { scopes } from '../../functions/generated/contract.ts';
import { type Result, redact, type State, writeReport } from './report.ts';
import { commands, type Step, steps } from './steps.ts';
import { changed } from './versions.ts';

export type Options = { account: string; region: string; yes?: true; cleanUp?: true };

type Output = { code: number | null; stdout: string; output: string };

/** What a run needs from this machine. The state and the report are in `folder`. `scale` shortens pauses in tests. */
export type Surroundings = {
  folder: string;
  scale: number;
  run: (script: string, environment: Record<string, string>) => Promise<Output>;
  ask: (question: string) => Promise<string>;
  say: (line: string) => void;
  stop: AbortSignal;
};

const [dev, prod] = ['PlantStore-dev-prove', 'PlantStore-prod-prove'];

const plan = ({ account, region }: Options): string => `In the account ${account}, region ${region}, this
- deploys the stacks ${dev} and ${prod}, each an API with functions, table, user pool, alarms and roles;
- sends some 10,000 requests to them, and deploys versions that are broken on purpose;
- takes about four hours, and costs about a dollar (docs/cost.md);
- removes both stacks with their data, and lists what is left.
It leaves a key that AWS deletes after 30 days, traces, files in CDK's bucket, and names of logs in a policy for logs.
It needs the rights of an administrator, for four hours. Ctrl-C stops it; the same command continues.`;

/** A run, whose state is in a file after each step. */
class Run {
  readonly #file: string;
  readonly #surroundings: Surroundings;
  readonly #example = readContract(new URL('../../schemas/openapi.yaml', import.meta.url)).then(exampleRequest);
  readonly state: State;

  constructor({ account, region }: Options, surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.#file = path.join(surroundings.folder, 'state.json');
    const started = Math.floor(Date.now() / 1_000);
    this.state = this.#read() ?? { account, region, commit: '', started, results: [] };
  }

  #read(): State | undefined {
    try {
      return existsSync(this.#file) ? JSON.parse(readFileSync(this.#file, 'utf8')) : undefined;
    } catch {
      throw new Error(`${this.#file} is damaged. Delete it, and add --clean-up.`);
    }
  }

  get hasBegun(): boolean {
    return this.state.commit !== '';
  }

  /** Writes a new file and renames it, so that an interruption leaves the old state or the new one. */
  save(): void {
    writeFileSync(`${this.#file}.next`, JSON.stringify(this.state), { mode: 0o600 });
    renameSync(`${this.#file}.next`, this.#file);
  }

  end = () => rmSync(this.#file, { force: true });

  /** Runs commands of commands.sh. @throws what has stopped the run, if the user has */
  async sh(script: string): Promise<Output> {
    const { folder, scale, stop, run } = this.#surroundings;
    stop.throwIfAborted();
    const { account, region, started } = this.state;
    const { method = '', path: route = '', body = '{}' } = (await this.#example) ?? {};
    const texts = Object.entries(JSON.parse(body)).flatMap(([name, value]) =>
      typeof value === 'string' ? [name] : [],
    );
    const temporary = path.join(folder, 'tmp');
    rmSync(temporary, { recursive: true, force: true });
    mkdirSync(temporary, { recursive: true });
    const output = await run(`${commands}\nset -eu\n${script}`, {
      ...{ ACCOUNT: account, AWS_REGION: region, DEV: dev, PROD: prod, SERVICE: 'plant-store' },
      ...{ METHOD: method, EXAMPLE_PATH: route, EXAMPLE: body, TEXT_FIELDS: texts.join(' '), CHANGED: changed },
      ...{ ROUTE_KEY: Object.keys(scopes)[0] ?? '', ORIGIN: 'https://shop.example', STARTED: String(started) },
      ...{ T: temporary, STOP: path.join(folder, 'stop'), SCALE: String(scale) },
    });
    if (output.code === 130) stop.throwIfAborted();
    return output;
  }

  /** @returns what the commands have printed. @throws Error with the end of that if they fail */
  async ask(script: string): Promise<string> {
    const { code, stdout, output } = await this.sh(script);
    if (code !== 0) throw new Error(output.trim().split('\n').slice(-15).join('\n'));
    return stdout.trim();
  }

  async try({ kind, name, expected, script }: Step): Promise<Omit<Result, 'minutes'>> {
    const deployed = this.state.results[steps.findIndex((step) => step.name === `deploy ${kind}`)];
    if (deployed && deployed.verdict !== 'as expected') return { verdict: 'not tried', observed: 'there is no stack' };
    const reach = name === `deploy ${kind}` ? '' : 'reach';
    const { code, stdout, output } = await this.sh(`use ${kind}; ${reach}\n${script}`);
    const [printed, all] = [stdout, output].map((text) => text.trim().replaceAll(/\s*\n\s*/g, '; '));
    // The code does not tell, because these commands may stand in pipes.
    if (/ExpiredToken|(token|session).*expired/i.test(output))
      throw new Error(`The AWS credentials have expired: ${all}`);
    if (code !== 0) return { verdict: code === 77 ? 'not tried' : 'failed', observed: redact(all ?? '').slice(-500) };
    if (expected.startsWith('? ')) return { verdict: 'seen', observed: printed ?? '' };
    return { verdict: new RegExp(expected).test(printed ?? '') ? 'as expected' : 'differs', observed: printed ?? '' };
  }
}

/** Without a run, for example of another checkout, the user sees what would be removed, and types the account's id. */
const mayCleanUp = async (run: Run, { account, yes }: Options, { ask, say }: Surroundings): Promise<boolean> => {
  await run.ask('check_credentials');
  if (run.hasBegun) return true;
  const found = await run.ask('remains');
  if (found === '') throw new Error('The account has nothing to clean up.');
  say(`No run has begun here. This would be removed:\n${found}`);
  return yes === true || (await ask("Type the account's id to remove it: ")) === account;
};

/** Finds the run to continue, or begins one if the user agrees. @returns undefined if the user does not */
const begin = async (options: Options, surroundings: Surroundings): Promise<Run | undefined> => {
  const run = new Run(options, surroundings);
  const { account, region, commit: before } = run.state;
  if (account !== options.account || region !== options.region)
    throw new Error(`First end the run in the account ${account}, region ${region}.`);
  if (options.cleanUp) return (await mayCleanUp(run, options, surroundings)) ? run : undefined;
  const commit = await run.ask('check_tools');
  if (run.hasBegun && before !== commit)
    throw new Error(`The run began at the commit ${before}: check it out, or add --clean-up.`);
  if (run.hasBegun) return run;
  await run.ask('check_account');
  surroundings.say(plan(options));
  const answer = options.yes ? 'yes' : await surroundings.ask('Type yes to begin: ');
  if (answer !== 'yes' && answer !== account) return undefined;
  run.state.commit = commit;
  run.save();
  return run;
};

const runSteps = async (run: Run, say: Surroundings['say']): Promise<void> => {
  const { results } = run.state;
  if (results.length > 0) say(`Continues after: ${steps[results.length - 1]?.name}`);
  for (const step of steps.slice(results.length)) {
    say(`${results.length + 1} of ${steps.length}: ${step.name} …`);
    const start = performance.now();
    const result = await run.try(step);
    results.push({ ...result, minutes: Math.round((performance.now() - start) / 60_000) });
    run.save();
    say(`  ${result.verdict}: ${result.observed}`);
  }
};

/** @returns the exit code: 0 if all was as expected, and nothing is left in the account */
export const prove = async (options: Options, surroundings: Surroundings): Promise<number> => {
  const run = await begin(options, surroundings);
  if (run === undefined) return 1;
  const { folder, say, ask } = surroundings;
  const report = path.join(folder, 'report.md');
  let [left, listed]: (string | undefined)[] = [];
  try {
    if (!options.cleanUp) await runSteps(run, say);
    if (options.yes || options.cleanUp || (await ask('Type yes to remove everything: ')) === 'yes') {
      say('Removing everything …');
      say((await run.sh('clean_up')).output);
      listed = await run.ask('still_listed');
      left = await run.ask('remains');
    }
  } finally {
    const again = `npx node template/prove/main.ts --account ${options.account} --region ${options.region}`;
    if (left === '') run.end();
    else say(`Something is left:\n${left ?? ''}\nTo continue: ${again}\nTo remove everything: ${again} --clean-up`);
    if (listed) say(`AWS still lists, perhaps for hours:\n${listed}`);
    writeFileSync(report, writeReport(run.state, steps, left, listed));
    say(`The report is ${report}. Please read it, and send it as an issue.`);
  }
  const isGood = run.state.results.every(({ verdict }) => verdict !== 'failed' && verdict !== 'differs');
  return isGood && left === '' ? 0 : 1;
};
