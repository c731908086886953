import type { Finding } from './template.ts';

/**
 * The rules that `--allow` or a label can lift. Nothing lifts the rules against losing data, letting everyone in or
 * breaking clients.
 */
export const allowable: Finding['rule'][] = ['iam', 'route'];

/** Advice for those who want to change the contract in a way that breaks clients. */
export const advice =
  'Leave the old operation as it is, and add a new one under another path. node_modules/@lambda-service/tools/decisions.md says what else helps.';

/** Groups the findings of a change by rule. @returns the lines to print, and whether the change is allowed */
export const verdictOn = (findings: Finding[], allowed: string[]) => {
  const rules = [...new Set(findings.map(({ rule }) => rule))];
  const isAllowed = (rule: Finding['rule']) => allowable.includes(rule) && allowed.includes(rule);
  const lines = rules.flatMap((rule) => {
    const how = allowable.includes(rule) ? `--allow ${rule} or the label allow-${rule} allows it` : 'nothing allows it';
    return [
      isAllowed(rule) ? `allowed: ${rule}` : `FORBIDDEN: ${rule} (${how})`,
      ...findings.filter((each) => each.rule === rule).map(({ what }) => `- ${what}`),
      ...(rule === 'contract' ? [advice] : []),
      '',
    ];
  });
  return {
    lines: rules.length === 0 ? ['Nothing needs more than a review.'] : lines.slice(0, -1),
    isGood: rules.every(isAllowed),
  };
};

/** The name of the project at a commit, and the names of its stacks. */
type Project = { name: string; stacks: string[] };

/**
 * Explains the difference to a commit from before the project was renamed: a comparison would list every resource.
 * @returns undefined if the project has the same name, or the same stack
 */
export const explainRename = (ref: string, then: Project, now: Project): string | undefined => {
  if (then.name === now.name || now.stacks.some((name) => then.stacks.includes(name))) return undefined;
  const [old, own] = [then, now].map(({ stacks }) => stacks.join(' and '));
  return (
    `Nothing is compared: ${ref} is from before the project was renamed from ${then.name} to ${now.name}, and its ` +
    `stack, table and functions had other names. A deployment would create ${own} beside ${old}, which would stay as ` +
    `it is. If ${old} was never deployed, compare with a commit after the renaming. In the pull request that renames, ` +
    'an administrator merges past this check.'
  );
};
