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
export const readPolicy = (statements: Statement[]): Policy => {
  const matchers = statements.map(({ effect, actions, resources }) => ({
    effect,
    actions: actions.map((action) => matcher(action, 'i')),
    resources: resources.map((resource) => matcher(resource)),
  }));
  return (action, resource) => {
    const matches = (patterns: RegExp[], text: string) => patterns.some((pattern) => pattern.test(text));
    const effects = matchers
      .filter((each) => matches(each.actions, action) && matches(each.resources, resource))
      .map(({ effect }) => effect);
    if (effects.includes('Deny')) return 'explicitly denied';
    return effects.includes('Allow') ? 'allowed' : 'implicitly denied';
  };
};

/**
 * Turns an action or ARN pattern into a RegExp. A wildcard matches within one colon-separated segment; only a `*` at
 * the end of a segment also matches colons.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_resource.html
 */
const matcher = (pattern: string, flags = ''): RegExp => {
  const segments = pattern.split(':').map((segment) => translate(segment).replace(/\[\^:\]\*$/, '.*'));
  return new RegExp(`^${segments.join(':')}$`, `s${flags}`);
};

const translate = (segment: string): string =>
  segment.replaceAll(/[*?.+^${}()|[\]\\]/g, (character) => wildcards[character] ?? `\\${character}`);

const wildcards: Record<string, string> = { '*': '[^:]*', '?': '[^:]' };
