/**
 * `npm run diff` shows what deploying the working tree would change in a stack that was deployed from another commit.
 * The command fails if the change needs more than a review: docs/decisions/tools.md
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { formatDifferences, fullDiff } from '@aws-cdk/cloudformation-diff';
import { breaksOf, readContract, readReleases } from '../../packages/contract/compatibility.ts';
import { NpmCommand } from '../cli/npm-command.ts';
import { matching, messageOf, printable } from '../start/terminal.ts';
import { findPermissions, findRoutes } from './diff/access.ts';
import { findLosses } from './diff/loss.ts';
import {
  type Finding,
  functionsWithNewCode,
  type Stacks,
  type StackTemplate,
  synthesize,
  type Template,
  withoutHashes,
} from './diff/template.ts';
import { allowable, explainRename, verdictOn } from './diff/verdict.ts';
import { checkOut, sharedWithMain } from './project-copy.ts';

const root = path.resolve(import.meta.dirname, '../..');

const collect = (pattern: RegExp, form: string) => {
  const parse = matching(pattern, `It must be ${form}.`, String);
  return (text: string, others: string[] = []): string[] => [...others, parse(text)];
};
const rule = collect(new RegExp(`^(?:${allowable.join('|')})$`), allowable.join(' or '));
const setting = collect(/^[^=]+=/, 'a key and a value, such as stage=dev');

const command = new NpmCommand('npm run diff --')
  .description('Shows what a deployment of the working tree would change, and fails if a rule for changes forbids it.')
  .argument('[ref]', 'the commit that is deployed (default: the last one that this branch shares with main)')
  .option('--allow <rule>', `allow more permissions, or new routes (${allowable.join(', ')}; repeatable)`, rule, [])
  .option('-c, --context <key=value>', 'something that the stack can configure (repeatable)', setting, [])
  .option(
    '--deployed <key=value>',
    'a setting that is deployed; the deployed commit then gets none of -c (repeatable)',
    setting,
  )
  .showHelpAfterError()
  .parse();
type Options = { allow: string[]; context: string[]; deployed?: string[] };
const { allow, context, deployed = context } = command.opts<Options>();

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

/** Makes the text in a template printable, because CDK prints it as it is. */
const printableIn = (template: Template): Template =>
  JSON.parse(JSON.stringify(template), (_, value) => (typeof value === 'string' ? printable(value) : value));

/** Prints CDK's diff of a stack. @returns the changes that `npm run diff` forbids unless --allow names their rule */
const compareStack = (name: string, before: StackTemplate, after: StackTemplate): Finding[] => {
  const then = { ...before, template: withoutHashes(before.template) };
  const now = { ...after, template: withoutHashes(after.template) };
  console.log(`Stack ${name}`);
  const difference = fullDiff(printableIn(then.template), printableIn(now.template));
  if (difference.isEmpty) console.log('No differences.');
  else formatDifferences(process.stdout, difference);
  const code = functionsWithNewCode(before.template, after.template);
  if (code.length > 0) console.log(`New code: ${code.join(', ')}`);
  return [
    ...findLosses(then, now),
    ...findPermissions(then.template, now.template),
    ...findRoutes(then.template, now.template),
  ];
};

/** Finds stacks that the app no longer has: a deployment would not delete them, but leave them behind. */
const missingStacks = (before: Stacks, after: Stacks): Finding[] =>
  [...before.keys()]
    .filter((name) => !after.has(name))
    .map((name) => ({ rule: 'loss', what: `The stack ${name} would stay behind, because the app no longer has it.` }));

const compareContracts = (base: string): Finding[] => {
  const releases = readReleases(path.join(base, 'schemas/released'));
  if (releases.length === 0) console.log('No contract has been released, so none is compared.');
  return releases.flatMap(({ version, contract }) =>
    breaksOf(contract, readContract(path.join(root, 'schemas/openapi.yaml'))).map(
      (what): Finding => ({ rule: 'contract', what: `${version}: ${what}` }),
    ),
  );
};

const readProject = (folder: string, stacks: Stacks) => {
  const { name } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { name: string };
  return { name, stacks: [...stacks.keys()] };
};

/** Prints what the change from a commit would do. @returns false if it would do something that is not allowed */
const compare = async (parent: string): Promise<boolean> => {
  const ref = command.args[0] ?? (await sharedWithMain(stop.signal));
  if (ref === undefined)
    throw new Error('git finds no commit that this branch shares with main. Name one, such as: npm run diff -- HEAD');
  const checkout = await checkOut(path.join(parent, 'base'), ref, stop.signal, { ownPackages: true });
  const packages = checkout.hasSamePackages ? '' : ', with its own packages';
  console.log(`From ${ref} (${checkout.commit.slice(0, 8)}${packages}) to the working tree`);
  const head = { folder: root, temporary: path.join(parent, 'head') };
  const hint = `If ${ref} has other settings, or does not know one, name all that it has, such as: --deployed stage=dev`;
  const synthesized = [
    synthesize('The working tree', head, context, stop.signal),
    synthesize(ref, checkout, deployed, stop.signal, hint),
  ] as const;
  // Wait for both, so that neither writes into a removed folder. If both fail, the first error is thrown.
  await Promise.allSettled(synthesized);
  const [after, before] = await Promise.all(synthesized);
  const renamed = explainRename(ref, readProject(checkout.folder, before), readProject(root, after));
  if (renamed !== undefined) {
    console.log(printable(renamed));
    return false;
  }
  const ofStacks = [...after].flatMap(([name, stack]) => compareStack(name, before.get(name) ?? noStack, stack));
  const findings = [...ofStacks, ...missingStacks(before, after), ...compareContracts(checkout.folder)];
  const { lines, isGood } = verdictOn(findings, allow);
  console.log(printable(`\n${lines.join('\n')}`));
  return isGood;
};

const noStack: StackTemplate = { template: { Resources: {} }, isProtected: false };

const parent = await mkdtemp(path.join(os.tmpdir(), 'plant-store-diff-'));
try {
  if (!(await compare(parent))) process.exitCode = 1;
} catch (error) {
  console.error(stop.signal.aborted ? 'Stopped.' : messageOf(error));
  process.exitCode = 1;
} finally {
  await rm(parent, { recursive: true, force: true, maxRetries: 5 });
}
