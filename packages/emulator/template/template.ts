/**
 * A CloudFormation template, and the values of those intrinsic functions that are known before a deployment.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
 */

/** The parts of a CloudFormation template that the emulator reads. */
export type Template = {
  Resources: Record<string, TemplateResource>;
  Parameters?: Record<string, { Type?: string; Default?: unknown }>;
  Mappings?: Record<string, Record<string, Record<string, unknown>>>;
  Conditions?: Record<string, unknown>;
  Outputs?: Record<string, { Value?: unknown; Export?: { Name?: unknown } }>;
  Transform?: unknown;
};

export type TemplateResource = {
  Type: string;
  Properties?: Record<string, unknown>;
  Condition?: unknown;
};

/** Returns a field of the record itself, never an inherited one: a template may use a name such as `constructor`. */
export const own = <T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  record && Object.hasOwn(record, name) ? record[name] : undefined;

/** The names in a text, in which white space separates them. */
export const namesIn = <Text extends string>(text: Text): NamesIn<Text>[] =>
  (text.match(/\S+/g) ?? []) as NamesIn<Text>[];

export type NamesIn<Text extends string> = Text extends `${infer First}${' ' | '\n'}${infer Others}`
  ? NamesIn<First> | NamesIn<Others>
  : Exclude<Text, ''>;

export type Named = { logicalId: string; type: string };

/** Returns the text by which error messages name a resource, such as Orders (AWS::Lambda::Function). */
export const named = ({ logicalId, type }: Named): string => `${logicalId} (${type})`;

/** An error whose message says which resource the emulator cannot serve, why, and what the user can do. */
export class Refusal extends Error {
  readonly resource: Named;
  readonly reason: string;
  /** The message without the advice. */
  readonly summary: string;

  constructor(resource: Named, said: string, advice?: string) {
    // Names in a template may have line breaks, and each line of an error is a reason.
    const reason = said.replaceAll('\n', '\\n');
    const summary = `${named(resource)} cannot be served here: ${reason}`;
    super([`${summary}.`, advice].filter(Boolean).join(' '));
    this.resource = resource;
    this.reason = reason;
    this.summary = summary;
  }
}

/** A value that only AWS knows. `madeUp` may stand for it. */
export class UnknownValue extends Refusal {
  readonly path: string;
  readonly madeUp: string;

  constructor({ resource, path }: Place, reason: string, madeUp: string) {
    const isVariable = path.startsWith('Environment.Variables.');
    super(
      resource,
      `its ${path} ${reason}`,
      isVariable ? 'Set the variable with the option `environment` (the command: --options).' : undefined,
    );
    this.path = path;
    this.madeUp = madeUp;
  }
}

/**
 * Where in the template a value is, for error messages. `path` is the property, such as
 * Environment.Variables.TABLE_NAME.
 */
export type Place = { resource: Named; path: string };

/** What the intrinsic functions of a template depend on. */
export type Scope = {
  /**
   * Returns the value of `Ref` for a parameter or resource; if `attribute` is given, the value of `Fn::GetAtt` instead.
   * For AWS::NoValue, returns undefined.
   * @throws UnknownValue
   */
  lookUp: (name: string, attribute: string | undefined, place: Place) => unknown;
  conditions: Template['Conditions'];
  /** Returns what `find` returns. @throws Refusal if `find` needs the same thing again, or too many others */
  once: <Found>(what: string, place: Place, find: () => Found) => Found;
  mappings: Template['Mappings'];
  /** Returns a value to use in place of an unknown one. @throws UnknownValue if there may be none */
  makeUp: (unknown: UnknownValue) => unknown;
};

/**
 * Returns `value` with all intrinsic functions in it evaluated, and without the fields that are AWS::NoValue.
 * @throws Refusal that names the place and the intrinsic function if the emulator cannot find that function's value
 */
export const evaluate = (value: unknown, place: Place, scope: Scope): unknown => {
  try {
    const result = evaluateAny(value, place, scope);
    // Look for {{resolve:...}} only after the intrinsic functions are evaluated: Fn::Join may assemble a dynamic
    // reference from parts.
    if (typeof result !== 'string' || !result.includes('{{resolve:')) return result;
    const reason = 'has a dynamic reference ({{resolve:...}}), which only CloudFormation can look up';
    throw new UnknownValue(place, reason, result.replaceAll(/\{\{|\}\}/g, ''));
  } catch (error) {
    if (error instanceof UnknownValue) return scope.makeUp(error);
    throw error;
  }
};

/** Evaluates a value, but makes nothing up. @throws Refusal if the value depends on an unknown one */
export const evaluateKnown = (value: unknown, place: Place, scope: Scope): unknown => {
  const makeUp = (unknown: UnknownValue): never => {
    throw unknown;
  };
  return evaluate(value, place, { ...scope, makeUp });
};

/** Whether a condition of the template is true. Nothing is made up for what it depends on. @throws Refusal */
export const isTrue = (condition: unknown, place: Place, scope: Scope): boolean => {
  const { Condition: name } = Object(condition) as { Condition?: unknown };
  if (name !== undefined)
    return scope.once(`the condition ${name}`, place, () => isTrue(own(scope.conditions, String(name)), place, scope));
  const result = evaluateKnown(condition, place, scope);
  if (typeof result === 'boolean') return result;
  throw new Refusal(place.resource, `its ${place.path} depends on a malformed condition`);
};

const evaluateAny = (value: unknown, place: Place, scope: Scope): unknown => {
  const inside = (part: unknown, name: string) => evaluate(part, { ...place, path: `${place.path}.${name}` }, scope);
  if (Array.isArray(value)) {
    return value.map((part) => evaluate(part, place, scope)).filter((part) => part !== undefined);
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [[name = '', argument] = []] = entries;
  if (entries.length === 1 && /^(Ref$|Fn::)/.test(name)) return call(name, argument, place, scope);
  return Object.fromEntries(
    entries.map(([key, part]) => [key, inside(part, key)]).filter(([, part]) => part !== undefined),
  );
};

const maxLength = 1_000_000;

const call = (name: string, argument: unknown, place: Place, scope: Scope): unknown => {
  const malformed = () => new Refusal(place.resource, `its ${place.path} has a malformed ${name}`);
  const text = (part: unknown): string => {
    const result = evaluate(part, place, scope);
    if (typeof result === 'object' || result === undefined) throw malformed();
    return String(result);
  };
  const list = (part: unknown): unknown[] => {
    const result = evaluate(part, place, scope);
    if (!Array.isArray(result)) throw malformed();
    return result;
  };
  const existing = (result: unknown): unknown => {
    if (result === undefined) throw malformed();
    return result;
  };
  const parts: unknown[] = [argument].flat();
  const [first, second, third] = parts;
  switch (name) {
    case 'Ref':
      return scope.lookUp(text(argument), undefined, place);
    case 'Fn::GetAtt': {
      const [logicalId, attribute] = Array.isArray(argument) ? argument.map(text) : text(argument).split(/\.(.*)/);
      return scope.lookUp(logicalId ?? '', attribute ?? '', place);
    }
    case 'Fn::ImportValue':
      throw new UnknownValue(
        place,
        `imports ${text(argument)} from another stack, which is not served`,
        text(argument),
      );
    case 'Fn::Join':
      return list(second).map(text).join(text(first));
    case 'Fn::Split':
      return text(second).split(text(first));
    case 'Fn::Select':
      return existing(list(second)[Number(text(first))]);
    case 'Fn::FindInMap':
      return existing(own(own(own(scope.mappings, text(first)), text(second)), text(third)));
    case 'Fn::Sub': {
      const variables = new Map(Object.entries((second ?? {}) as object));
      const values = new Map<string, string>();
      let length = 0;
      return text(first).replace(/\$\{([^}]*)\}/g, (_, key: string) => {
        if (key.startsWith('!')) return `\${${key.slice(1)}}`;
        const [logicalId = '', attribute] = key.trim().split(/\.(.*)/);
        const reference = attribute === undefined ? { Ref: logicalId } : { 'Fn::GetAtt': [logicalId, attribute] };
        // Each once: a value may have variables, too, and so on.
        const value = values.get(key) ?? text(variables.has(key) ? variables.get(key) : reference);
        values.set(key, value);
        length += value.length;
        if (length <= maxLength) return value;
        throw new Refusal(place.resource, `its ${place.path} has a ${name} whose value is over 1,000,000 characters`);
      });
    }
    case 'Fn::Equals':
      return text(first) === text(second);
    case 'Fn::Not':
      return !isTrue(first, place, scope);
    case 'Fn::And':
      return parts.every((part) => isTrue(part, place, scope));
    case 'Fn::Or':
      return parts.some((part) => isTrue(part, place, scope));
    case 'Fn::If':
      return evaluate(isTrue({ Condition: first }, place, scope) ? second : third, place, scope);
    default:
      throw new UnknownValue(place, `uses ${name}`, name);
  }
};
