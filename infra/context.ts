/** Reads single values of the CDK context. settings.ts says what they mean. */
import type { Node } from 'constructs';
import { closestMatch } from 'leven';

/** An error that the person who deploys must fix in the settings or in the contract. Its message says how. */
export class ConfigurationError extends Error {}

// A stage's name must be short, because CloudFormation makes it part of the names of functions and roles. Those names
// have at most 64 characters, and must also say what each function or role is for.
export const stages = /^(prod|dev|dev-[a-z\d]([a-z\d-]{0,18}[a-z\d])?)$/;

/** The settings that the CDK context may have; docs/deploy.md says what each means. No other key can be read. */
export const keys = [
  'stage',
  'issuer',
  'jwksUri',
  'audience',
  'scopeClaim',
  'rateLimit',
  'burstLimit',
  'alarmEmail',
  'owner',
  'tracing',
  'allowOrigins',
  'domainName',
  'certificateArn',
  'hostedZoneId',
  'hostedZoneName',
  'github',
  'githubProvider',
] as const;

/** A key of the CDK context that can be read: a setting, or `scope`, which older versions had. */
type Key = (typeof keys)[number] | 'scope';

/** The keys with neither `@` nor `:` that the CDK itself reads or writes. A test finds them in the CDK's code. */
export const cdkKeys = ['acknowledged-issue-numbers', 'assets-ecr-repository-name', 'cdk-migrate', 'cli-telemetry'];

/**
 * Refuses a key that nothing reads: if somebody misspelt a setting, its default would be deployed instead.
 * @throws ConfigurationError whose message names the key and the nearest setting
 */
export const refuseUnknownKeys = (node: Node): void => {
  const known: string[] = [...keys, 'scope', ...cdkKeys];
  const unknown = Object.keys(node.getAllContext()).find((key) => !/[@:]/.test(key) && !known.includes(key));
  if (unknown === undefined) return;
  throw new ConfigurationError(
    `The CDK context (-c, cdk.json, cdk.context.json or ~/.cdk.json) has the key ${unknown}, which is not a setting. ` +
      `The nearest setting is ${closestMatch(unknown, keys)}; docs/deploy.md lists all.`,
  );
};

/** Only whoever names `prod` changes production. */
export const defaultStage = 'dev';

/** A pattern that matches no string. With it, `text` refuses every value of a setting that must not be set. */
export const nothing = /(?!)/;

/** Returns a setting's value. In cdk.json, a setting may be an object that has a value per stage: `{ "prod": 50 }`. */
const settingOf = (node: Node, key: Key): unknown => {
  const value: unknown = node.tryGetContext(key);
  if (key === 'stage' || Array.isArray(value) || !(value instanceof Object)) return value;
  if (!Object.keys(value).every((stage) => stages.test(stage))) {
    throw refused(key, value, 'one value, or an object that has a value for each of some stages');
  }
  return (value as Record<string, unknown>)[node.tryGetContext('stage') ?? defaultStage];
};

/**
 * Reads a setting that must be a string, or returns undefined if the setting is missing.
 * @throws ConfigurationError if the string is empty, has spaces around it or does not fit the pattern
 */
export const text = (node: Node, key: Key, pattern: Pick<RegExp, 'test'> = /^/, allowed = ''): string | undefined => {
  const value = settingOf(node, key);
  if (value === undefined) return undefined;
  // `-c audience=$AUDIENCE` passes an empty string if the variable is not set. That must not mean "no audience".
  if (typeof value !== 'string' || value === '' || value !== value.trim()) {
    throw refused(key, value, 'a string that is not empty, without spaces around it');
  }
  if (!pattern.test(value)) throw refused(key, value, allowed);
  return value;
};

/** Reads the key's value, a string that must be set whenever the context key named by `other` is set. */
export const partner = (node: Node, key: Key, other: Key, allowed: string, pattern?: Pick<RegExp, 'test'>): string => {
  const value = text(node, key, pattern, allowed);
  if (value === undefined) throw refused(key, value, `set together with ${other}: to ${allowed}`);
  return value;
};

/** Reads a positive integer, which is a string on the command line and may be a number in cdk.json. */
export const number = (node: Node, key: Key): number | undefined => {
  const value = settingOf(node, key);
  if (value === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(String(value)) || !['string', 'number'].includes(typeof value)) {
    throw refused(key, value, 'a whole number from 1 to 999999999');
  }
  return Number(value);
};

export const refused = (key: Key, value: unknown, allowed: string): ConfigurationError =>
  new ConfigurationError(
    `The context value ${key} is ${JSON.stringify(value) ?? 'not set'}, but it must be ${allowed}.`,
  );
