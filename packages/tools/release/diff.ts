/**
 * Shows what deploying the working tree would change in a stack that was deployed from another commit. Fails if the
 * change needs more than a review: packages/tools/decisions.md
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { formatDifferences, fullDiff } from '@aws-cdk/cloudformation-diff';
import { breaksOf, readContract, readReleases } from 'openapi-contract';
import type { Stacks, StackTemplate, Template } from '../app.ts';
import {
  type CommandProcess,
  type Define,
  matching,
  ourCommand,
  printable,
  type Terminal,
  workIn,
} from '../terminal.ts';
import { findPermissions, findRoutes } from './diff/access.ts';
import { findLosses } from './diff/loss.ts';
import { type Finding, functionsWithNewCode, synthesize, withoutHashes } from './diff/template.ts';
import { allowable, explainRename, verdictOn } from './diff/verdict.ts';
import { checkOut, sharedWithMain } from './project-copy.ts';

const collect = (pattern: RegExp, form: string) => {
  const parse = matching(pattern, `It must be ${form}.`, String);
  return (text: string, others: string[] = []): string[] => [...others, parse(text)];
};
const rule = collect(new RegExp(`^(?:${allowable.join('|')})$`), allowable.join(' or '));
const setting = collect(/^[^=]+=/, 'a key and a value, such as stage=dev');

/** Makes the text in a template printable, because CDK prints it as it is. */
const printableIn = (template: Template): Template =>
  JSON.parse(JSON.stringify(template), (_, value) => (typeof value === 'string' ? printable(value) : value));

/** Finds stacks that the app no longer has: a deployment would not delete them, but leave them behind. */
const missingStacks = (before: Stacks, after: Stacks): Finding[] =>
  [...before.keys()]
    .filter((name) => !after.has(name))
    .map((name) => ({ rule: 'loss', what: `The stack ${name} would stay behind, because the app no longer has it.` }));

const readProject = (folder: string, stacks: Stacks) => {
  const { name } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { name: string };
  return { name, stacks: [...stacks.keys()] };
};

const noStack: StackTemplate = { template: { Resources: {} }, isProtected: false };

/** `root` is the folder of the working tree. Commands leave temporary files in `parent` until `stop` ends them. */
type Run = { root: string; parent: string; process: CommandProcess; console: Console; stop: AbortSignal };

/** Prints CDK's diff of a stack. @returns the changes that are forbidden unless --allow names their rule */
const compareStack = ({ process, console }: Run, name: string, before: StackTemplate, after: StackTemplate) => {
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

const compareContracts = ({ root, console }: Run, base: string): Finding[] => {
  const releases = readReleases(path.join(base, 'schemas/released'));
  if (releases.length === 0) console.log('No contract has been released, so none is compared.');
  return releases.flatMap(({ version, contract }) =>
    breaksOf(contract, readContract(path.join(root, 'schemas/openapi.yaml'))).map(
      (what): Finding => ({ rule: 'contract', what: `${version}: ${what}` }),
    ),
  );
};

type Options = { allow?: string[]; context?: string[]; deployed?: string[] };

/** Prints what the change from a commit would do. @returns false if it would do something that is not allowed */
const compare = async (run: Run, given: string | undefined, options: Options): Promise<boolean> => {
  const { root, parent, console, stop } = run;
  const { allow = [], context = [], deployed = context } = options;
  const ref = given ?? (await sharedWithMain(stop, root));
  if (ref === undefined)
    throw new Error(
      `git finds no commit that this branch shares with main. Name one, such as: ${ourCommand} diff HEAD`,
    );
  const checkout = await checkOut(path.join(parent, 'base'), ref, stop, { project: root, ownPackages: true });
  const packages = checkout.hasSamePackages ? '' : ', with its own packages';
  console.log(`From ${ref} (${checkout.commit.slice(0, 8)}${packages}) to the working tree`);
  const head = { folder: root, temporary: path.join(parent, 'head') };
  const hint = `If ${ref} has other settings, or does not know one, name all that it has, such as: --deployed stage=dev`;
  const synthesized = [
    synthesize('The working tree', head, context, stop),
    synthesize(ref, checkout, deployed, stop, hint),
  ] as const;
  // Wait for both, so that neither writes into a removed folder. If both fail, the first error is thrown.
  await Promise.allSettled(synthesized);
  const [after, before] = await Promise.all(synthesized);
  const renamed = explainRename(ref, readProject(checkout.folder, before), readProject(root, after));
  if (renamed !== undefined) {
    console.log(printable(renamed));
    return false;
  }
  const ofStacks = [...after].flatMap(([name, stack]) => compareStack(run, name, before.get(name) ?? noStack, stack));
  const findings = [...ofStacks, ...missingStacks(before, after), ...compareContracts(run, checkout.folder)];
  const { lines, isGood } = verdictOn(findings, allow);
  console.log(printable(`\n${lines.join('\n')}`));
  return isGood;
};

const diff = (ref: string | undefined, options: Options, terminal: Terminal): Promise<void> =>
  workIn('service-diff-', terminal, (parent, stop) => {
    const { process, console } = terminal;
    return compare({ root: path.resolve(), parent, process, console, stop }, ref, options);
  });

export const define: Define = (command, terminal) =>
  command
    .argument('[ref]', 'the commit that is deployed (default: the last one that this branch shares with main)')
    .option('--allow <rule>', `allow more permissions, or new routes (${allowable.join(', ')}; repeatable)`, rule)
    .option('-c, --context <key=value>', 'a setting of the stack, such as stage=dev (repeatable)', setting)
    .option(
      '--deployed <key=value>',
      'a setting that is deployed; the deployed commit then gets none of -c (repeatable)',
      setting,
    )
    .action((ref: string | undefined, options: Options) => diff(ref, options, terminal));
