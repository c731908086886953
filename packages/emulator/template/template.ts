/**
 * A CloudFormation template, and the values of those intrinsic functions that are known before a deployment.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
 */

/** The parts of a CloudFormation template that the emulator reads. */
export type Template = {
  Resources: Record<string, TemplateResource>;
  Parameters?: Record<string, { Type?: string; Default?: unknown }>;
  Transform?: unknown;
};

export type TemplateResource = {
  Type: string;
  Properties?: Record<string, unknown>;
  Condition?: unknown;
};

/** Returns a field of the record itself, never an inherited one: a template may use a name such as `constructor`. */
export const own = <T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;

export type Named = { logicalId: string; type: string };

/** Returns the text by which error messages name a resource, such as Orders (AWS::Lambda::Function). */
export const named = ({ logicalId, type }: Named): string => `${logicalId} (${type})`;

/** An error whose message says which resource the emulator cannot serve, why, and what the user can do. */
export class Refusal extends Error {
  readonly resource: Named;
  readonly reason: string;

  constructor(resource: Named, reason: string, advice: string) {
    super(`${named(resource)} cannot be served here: ${reason}. ${advice}`);
    this.resource = resource;
    this.reason = reason;
  }
}

export const removeProperty = 'Leave that property out of the template.';

/**
 * Where in the template a value is, for error messages. `path` is the property, such as
 * Environment.Variables.TABLE_NAME.
 */
type Place = { resource: Named; path: string };

/**
 * Returns the value of `Ref` for a parameter or resource; if `attribute` is given, the value of `Fn::GetAtt` instead.
 * For AWS::NoValue, returns undefined.
 * @throws Error that names the place if the emulator does not know the value
 */
export type LookUp = (name: string, attribute: string | undefined, place: Place) => unknown;

/**
 * Returns `value` with all intrinsic functions in it evaluated, and without the fields that are AWS::NoValue.
 * @throws Error that names the place and the intrinsic function if the emulator cannot find that function's value
 */
export const evaluate = (value: unknown, place: Place, lookUp: LookUp): unknown => {
  const result = evaluateAny(value, place, lookUp);
  // Look for {{resolve:...}} only after the intrinsic functions are evaluated: Fn::Join may assemble a dynamic
  // reference from parts.
  if (typeof result !== 'string' || !result.includes('{{resolve:')) return result;
  const reason = `${place.path} has a dynamic reference ({{resolve:...}}), which only CloudFormation can look up`;
  throw new Refusal(place.resource, reason, 'Give the property a literal value.');
};

const evaluateAny = (value: unknown, place: Place, lookUp: LookUp): unknown => {
  const inside = (part: unknown, name: string) => evaluate(part, { ...place, path: `${place.path}.${name}` }, lookUp);
  if (Array.isArray(value)) {
    return value.map((part) => evaluate(part, place, lookUp)).filter((part) => part !== undefined);
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [[name = '', argument] = []] = entries;
  if (entries.length === 1 && /^(Ref$|Fn::)/.test(name)) return call(name, argument, place, lookUp);
  return Object.fromEntries(
    entries.map(([key, part]) => [key, inside(part, key)]).filter(([, part]) => part !== undefined),
  );
};

/** How to write the argument of each intrinsic function, for error messages. */
const forms = {
  Ref: '"LogicalId"',
  'Fn::GetAtt': '["LogicalId", "Attribute"]',
  'Fn::Join': '["delimiter", [values]]',
  'Fn::Select': '[index, [values]], with an index in the list',
  'Fn::Split': '["delimiter", "text"]',
  'Fn::Sub': '"text" or ["text", { variables }]',
};

const call = (name: string, argument: unknown, place: Place, lookUp: LookUp): unknown => {
  const malformed = () =>
    new Refusal(place.resource, `${place.path} has a malformed ${name}`, `Write its value as ${own(forms, name)}.`);
  const text = (part: unknown): string => {
    const result = evaluate(part, place, lookUp);
    if (typeof result === 'object' || result === undefined) throw malformed();
    return String(result);
  };
  const list = (part: unknown): unknown[] => {
    const result = evaluate(part, place, lookUp);
    if (!Array.isArray(result)) throw malformed();
    return result;
  };
  const [first, second] = Array.isArray(argument) ? (argument as unknown[]) : [argument];
  switch (name) {
    case 'Ref':
      return lookUp(text(argument), undefined, place);
    case 'Fn::GetAtt': {
      const [logicalId, attribute] = Array.isArray(argument) ? argument.map(text) : text(argument).split(/\.(.*)/);
      return lookUp(logicalId ?? '', attribute ?? '', place);
    }
    case 'Fn::Join':
      return list(second).map(text).join(text(first));
    case 'Fn::Split':
      return text(second).split(text(first));
    case 'Fn::Select': {
      const selected = list(second)[Number(text(first))];
      if (selected === undefined) throw malformed();
      return selected;
    }
    case 'Fn::Sub': {
      const variables = new Map(Object.entries((second ?? {}) as object));
      return text(first).replace(/\$\{([^}]*)\}/g, (_, key: string) => {
        if (key.startsWith('!')) return `\${${key.slice(1)}}`;
        if (variables.has(key)) return text(variables.get(key));
        const [logicalId = '', attribute] = key.trim().split(/\.(.*)/);
        return text(lookUp(logicalId, attribute, place));
      });
    }
    default:
      throw new Refusal(
        place.resource,
        `${place.path} uses ${name}`,
        'Use only Ref, Fn::GetAtt, Fn::Join, Fn::Select, Fn::Split and Fn::Sub, or a literal value.',
      );
  }
};
