/**
 * Evaluates CloudWatch Logs filter patterns on JSON log lines, but only the forms that the stack uses:
 * `{ SELECTOR = "text" && ... }`, with `=` or `!=`, where the text may end with `*`, the wildcard `*`, and numeric comparisons.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntaxForMetricFilters.html
 */

/** Tells whether a log line, parsed as JSON, matches the pattern. */
export type FilterPattern = (line: unknown) => boolean;

const form = /^\{ (.+) \}$/;
const condition = /^(\$(?:\.\w+)+) (=|!=|<=?|>=?) (?:"([^"\\*]+)(\*?)"|("\*"|\*)|(-?\d+(?:\.\d+)?))$/;

const comparisons: Record<string, (value: unknown, other: unknown) => boolean> = {
  '=': (value, other) => value === other,
  '!=': (value, other) => value !== other,
  '<': (value, other) => Number(value) < Number(other),
  '<=': (value, other) => Number(value) <= Number(other),
  '>': (value, other) => Number(value) > Number(other),
  '>=': (value, other) => Number(value) >= Number(other),
};

/** Parses a filter pattern. @throws Error for a form that the stack does not use, even one that CloudWatch supports */
export const parseFilterPattern = (pattern: string): FilterPattern => {
  const [, conditions] = form.exec(pattern) ?? refuse(pattern, 'it is not a JSON pattern');
  const all = String(conditions)
    .split(' && ')
    .map((each) => parseCondition(pattern, each));
  return (line) => all.every((holds) => holds(line));
};

const parseCondition = (pattern: string, text: string): FilterPattern => {
  const [, selector = '', operator = '', quoted, more, wildcard, number] =
    condition.exec(text) ?? refuse(pattern, `"${text}" is not a known condition`);
  const compare = comparisons[operator];
  if (compare === undefined || (number === undefined && !['=', '!='].includes(operator)))
    return refuse(pattern, `${operator} needs a number`);
  if (wildcard !== undefined && operator !== '=') return refuse(pattern, `${operator} with a wildcard`);
  return (line) => {
    const value = valueAt(selector, line);
    if (value === undefined) return false;
    if (wildcard !== undefined) return true;
    // AWS does not document whether the text "7" matches the number 7, so refuse to compare text with a number.
    if ((typeof value === 'number') !== (number !== undefined))
      return refuse(pattern, `${selector} is ${JSON.stringify(value)}`);
    const start = more ? String(value).slice(0, quoted?.length) : value;
    return compare(start, quoted ?? Number(number));
  };
};

/**
 * Returns the string or number at a selector such as `$.level`, or else undefined. No condition, not even `!=`, matches
 * an object or list (AWS documents this) or a missing field (https://github.com/DataBiosphere/azul/issues/5884).
 */
export const valueAt = (selector: string, line: unknown): string | number | undefined => {
  const [, ...names] = selector.split('.');
  const value = names.reduce<unknown>((parent, name) => (isRecord(parent) ? parent[name] : undefined), line);
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const refuse = (pattern: string, reason: string): never => {
  throw new Error(`The filter pattern ${pattern} cannot be evaluated here: ${reason}.`);
};
