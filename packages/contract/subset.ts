/** Checks whether one schema accepts every value that another accepts. Knows the keywords that our contracts use. */
import { isDeepStrictEqual } from 'node:util';
import { type Contract, inlined, resolve, type Schema } from './document.ts';
import { isAnnotation, isSchema, mapSchema, withoutAnnotations } from './schemas.ts';
import { integerLimits, safeIntegers } from './validators.ts';

/** A schema, and the contract in which its references are looked up. */
export type Place = { contract: Contract; schema: Schema };

/** Whether a keyword never makes a schema refuse a value. */
const isHarmless = (keyword: string): boolean => isAnnotation(keyword) || ['readOnly', 'writeOnly'].includes(keyword);

/** Splits a schema into parts without `$ref` and `allOf`. The schema accepts a value if all parts accept it. */
export const partsOf = ({ contract, schema }: Place): Schema[] => {
  const { allOf, ...others } = resolve(contract, schema);
  const branches = [allOf].flat().filter(isSchema);
  return [others, ...branches.flatMap((branch) => partsOf({ contract, schema: branch }))];
};

/**
 * Lists the reasons why `wide` may refuse a value that `narrow` accepts. A keyword that cannot be compared counts as a
 * reason. A new optional field does not count as one, although a client may already send something else under that
 * name.
 */
export const refusals = (wide: Place, narrow: Place, at = 'the value', compared: string[] = []): string[] => {
  const pair = `${wide.schema['$ref']} ${narrow.schema['$ref']}`;
  if (compared.includes(pair)) return [];
  const seen = wide.schema['$ref'] && narrow.schema['$ref'] ? [...compared, pair] : compared;
  const comparison = new Comparison(wide.contract, { ...narrow, parts: partsOf(narrow) }, at, seen);
  return partsOf(wide).flatMap((part) => comparison.refusalsOf(part));
};

class Comparison {
  readonly #wide: Contract;
  readonly #narrow: Place & { parts: Schema[] };
  readonly #at: string;
  readonly #compared: string[];

  constructor(wide: Contract, narrow: Place & { parts: Schema[] }, at: string, compared: string[]) {
    this.#wide = wide;
    this.#narrow = narrow;
    this.#at = at;
    this.#compared = compared;
  }

  refusalsOf(part: Schema): string[] {
    const keywords = Object.entries(part).filter(([name]) => !isHarmless(name));
    const ranges = boundsOf(part).every((bound) => this.#narrow.parts.flatMap(boundsOf).some(isWithin(bound)));
    const isInteger = [part['type']].flat().includes('integer');
    return [
      ...(ranges ? [] : [this.#refusal(rangeOf(part))]),
      ...keywords
        .filter(([name]) => !(name in boundKeywords) && !(isInteger && name === 'format'))
        .flatMap(([keyword, value]) => this.#refusalsOf(keyword, value, part)),
    ];
  }

  #refusalsOf(keyword: string, value: unknown, part: Schema): string[] {
    if (keyword === 'properties') return this.#ofProperties(value as Record<string, Schema>);
    if (keyword === 'items' && isSchema(value)) return this.#ofItems(value);
    if (keyword === 'anyOf' && Array.isArray(value) && this.#isOneOf(value.filter(isSchema))) return [];
    if (keyword === 'required') return this.#ofRequired(value as string[]);
    return this.#implies(keyword, value, part) ? [] : [this.#refusal(`${keyword} ${JSON.stringify(value)}`)];
  }

  #refusal(what: string): string {
    return `${this.#at}: ${what}`;
  }

  #inNarrow(keyword: string): unknown[] {
    return this.#narrow.parts.flatMap((part) => (part[keyword] === undefined ? [] : [part[keyword]]));
  }

  #compare(wide: Schema, narrow: Schema, at: string): string[] {
    const { contract } = this.#narrow;
    return refusals({ contract: this.#wide, schema: wide }, { contract, schema: narrow }, at, this.#compared);
  }

  #ofProperties(properties: Record<string, Schema>): string[] {
    return Object.entries(properties).flatMap(([name, schema]) => {
      const all = this.#inNarrow('properties').map((each) => (each as Record<string, Schema>)[name]);
      const [only, ...more] = all.filter(isSchema);
      if (only === undefined) return [];
      return this.#compare(schema, more.length === 0 ? only : { allOf: [only, ...more] }, name);
    });
  }

  #ofRequired(names: string[]): string[] {
    const required = this.#inNarrow('required').flat();
    return names.filter((name) => !required.includes(name)).map((name) => `${name}: required`);
  }

  #ofItems(items: Schema): string[] {
    const [narrow] = this.#inNarrow('items').filter(isSchema);
    return narrow ? this.#compare(items, narrow, `an item of ${this.#at}`) : [this.#refusal('items')];
  }

  /**
   * Whether each `anyOf` alternative of the narrow schema is accepted by one of `alternatives`, which are those of the
   * wide schema. A narrow schema without `anyOf` counts as its only alternative.
   */
  #isOneOf(alternatives: Schema[]): boolean {
    const [narrow = [this.#narrow.schema]] = this.#inNarrow('anyOf') as Schema[][];
    return narrow.every((one) => alternatives.some((other) => this.#compare(other, one, '').length === 0));
  }

  #implies(keyword: string, value: unknown, part: Schema): boolean {
    const narrow = this.#inNarrow(keyword);
    if (keyword === 'type') return this.#hasTypes([value].flat());
    if (keyword === 'enum' || keyword === 'const') return this.#hasValues(keyword === 'enum' ? value : [value]);
    if (/^min[A-Z]/.test(keyword)) return value === 0 || narrow.some((limit) => Number(limit) >= Number(value));
    if (/^max[A-Z]/.test(keyword)) return narrow.some((limit) => Number(limit) <= Number(value));
    if (keyword === 'additionalProperties' && value === true) return true;
    if (keyword === 'additionalProperties' && !this.#hasFieldsOf(part)) return false;
    const rule = ruleOf(this.#wide, keyword, value);
    return narrow.some((each) => isDeepStrictEqual(ruleOf(this.#narrow.contract, keyword, each), rule));
  }

  #hasTypes(types: unknown[]): boolean {
    const [first, ...more] = this.#inNarrow('type').map((type) => [type].flat());
    const narrow = first?.filter((type) => more.every((others) => others.includes(type)));
    return narrow?.every((type) => types.includes(type) || (type === 'integer' && types.includes('number'))) ?? false;
  }

  #hasValues(values: unknown): boolean {
    const texts = (list: unknown) => [list].flat().map((each) => JSON.stringify(each));
    const narrow = [...this.#inNarrow('enum'), ...this.#inNarrow('const').map((value) => [value])];
    return narrow.some((list) => texts(list).every((text) => texts(values).includes(text)));
  }

  #hasFieldsOf({ properties }: Schema): boolean {
    const names = this.#inNarrow('properties').flatMap((each) => Object.keys(each as object));
    return names.every((name) => name in ((properties ?? {}) as object));
  }
}

/**
 * The keywords that limit a number. The value says whether the keyword sets the lower or the upper end of the range.
 */
const boundKeywords = { minimum: 'lower', exclusiveMinimum: 'lower', maximum: 'upper', exclusiveMaximum: 'upper' };

type Bound = { side: string; limit: number | bigint; isExclusive: boolean };

/** Returns the limits that a schema sets for a number, including those of the schema's format. */
const boundsOf = (part: Schema): Bound[] => {
  const isInteger = [part['type']].flat().includes('integer');
  const ofFormat = isInteger ? (integerLimits[String(part['format'])] ?? safeIntegers) : [];
  const ofKeywords = Object.entries(boundKeywords).flatMap(([keyword, side]) => {
    const limit = part[keyword];
    return typeof limit === 'number' ? [{ side, limit, isExclusive: keyword.startsWith('exclusive') }] : [];
  });
  const sides = ['lower', 'upper'];
  return [...ofFormat.map((limit, index) => ({ side: sides[index] ?? '', limit, isExclusive: false })), ...ofKeywords];
};

/** Returns a function that says whether a bound, such as a `minimum`, is at least as strict as the bound `wide`. */
const isWithin =
  (wide: Bound) =>
  (bound: Bound): boolean => {
    const [inner, outer] = wide.side === 'lower' ? [bound, wide] : [wide, bound];
    const isEqual = !(inner.limit > outer.limit) && !(inner.limit < outer.limit);
    return bound.side === wide.side && (isEqual ? bound.isExclusive || !wide.isExclusive : inner.limit > outer.limit);
  };

const rangeOf = (part: Schema): string =>
  ['format', ...Object.keys(boundKeywords)]
    .flatMap((keyword) => (part[keyword] === undefined ? [] : [`${keyword} ${part[keyword]}`]))
    .join(', ') || 'no format';

/** Returns a keyword and its value, with its references replaced and without what only describes, to be compared. */
const ruleOf = (contract: Contract, keyword: string, value: unknown): Schema =>
  mapSchema(inlined(contract, { [keyword]: value }) as Schema, withoutAnnotations);
