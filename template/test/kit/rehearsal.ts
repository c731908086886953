/** Runs of the proof whose commands a test answers, or runs with programs that play AWS. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { testFolder } from '@lambda-service/testing/programs';
import type { State } from '../../prove/report.ts';
import { type Options, prove, type Surroundings } from '../../prove/run.ts';

export const account = '123456789012';
export const commit = '0123456789abcdef0123456789abcdef01234567';
const region = 'eu-central-1';

/** The options of a run, which by default begins without a question. */
export type RunOptions = Partial<Omit<Options, 'yes'>> & { yes?: boolean };

/** Makes a folder for runs. `said` has the lines that they print. */
export const startRehearsal = async () => {
  const parent = await testFolder();
  const folder = path.join(parent, 'prove');
  const state = path.join(folder, 'state.json');
  mkdirSync(folder);
  const said: string[] = [];
  const surroundings = {
    ...{ folder, scale: 0, stop: new AbortController().signal },
    ask: () => Promise.reject(new Error('asked')),
    say: (line: string) => void said.push(line),
  };
  return {
    parent,
    folder,
    said,
    run: ({ yes = true, ...options }: RunOptions, more: Partial<Surroundings> & Pick<Surroundings, 'run'>) =>
      prove({ account, region, ...(yes && { yes }), ...options }, { ...surroundings, ...more }),
    report: (): string => readFileSync(path.join(folder, 'report.md'), 'utf8'),
    hasState: (): boolean => existsSync(state),
    writeState: (results: State['results']): void =>
      writeFileSync(state, JSON.stringify({ account, region, commit, started: 0, results } satisfies State)),
  };
};
