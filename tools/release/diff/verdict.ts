import type { Finding } from './template.ts';

/**
 * The rules that `--allow` or a label can lift. Nothing lifts the rules against losing data, letting everyone in or
 * breaking clients.
 */
export const allowable: Finding['rule'][] = ['iam', 'route'];

/** Advice for those who want to change the contract in a way that breaks clients. */
export const advice =
  'Leave the old operation as it is, and add a new one under another path. docs/decisions/tools.md says what else helps.';

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
