import type { Statement } from './served-stack.ts';

/** What IAM decides about one action on one resource. */
type Decision = 'allowed' | 'explicitly denied' | 'implicitly denied';

/** Decides whether an action (such as dynamodb:PutItem) on a resource (an ARN or `*`) is allowed. */
export type Policy = (action: string, resource: string) => Decision;

/**
 * Evaluates statements as IAM does: a Deny wins over an Allow, and what no statement allows is denied.
 * Actions are case-insensitive; resources are case-sensitive.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 */
export const readPolicy =
  (statements: Statement[]): Policy =>
  (action, resource) => {
    const name = action.toLowerCase();
    const effects = statements
      .filter(({ actions }) => actions.some((pattern) => matches(pattern.toLowerCase(), name)))
      .filter(({ resources }) => resources.some((pattern) => matches(pattern, resource)))
      .map(({ effect }) => effect);
    if (effects.includes('Deny')) return 'explicitly denied';
    return effects.includes('Allow') ? 'allowed' : 'implicitly denied';
  };

/**
 * Compares an action or ARN with a pattern. A wildcard matches within one colon-separated segment; only a `*` at the end
 * of a segment also matches further segments.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_resource.html
 */
const matches = (pattern: string, text: string): boolean => {
  const segments = pattern.split(':').flatMap((segment) => (segment.endsWith('*') ? [segment, any] : [segment]));
  return matchInTurn(segments, text.split(':'), (segment, part) =>
    matchInTurn(
      Array.from(segment, (each) => (each === '*' ? any : each)),
      [...part],
      (wanted, character) => wanted === '?' || wanted === character,
    ),
  );
};

/** Matches any number of items. */
const any = null;

/**
 * Compares items with patterns. Only the last `any` is ever extended, which suffices, and takes at most the product of
 * both lengths; a RegExp would try all combinations.
 */
const matchInTurn = (
  patterns: (string | null)[],
  items: string[],
  isMatch: (pattern: string, item: string) => boolean,
): boolean => {
  let [next, lastAny, taken] = [0, -1, 0];
  for (let index = 0; index < items.length; ) {
    const [pattern, item = ''] = [patterns[next], items[index]];
    if (pattern === any) {
      [lastAny, taken] = [next, index];
      next += 1;
    } else if (pattern !== undefined && isMatch(pattern, item)) {
      next += 1;
      index += 1;
    } else if (lastAny >= 0) {
      next = lastAny + 1;
      taken += 1;
      index = taken;
    } else return false;
  }
  return patterns.slice(next).every((pattern) => pattern === any);
};
