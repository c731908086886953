/** Writes values as JSON text, in random spellings that RFC 8259 allows. */
import fc, { type GeneratorValue } from 'fast-check';

/**
 * Returns a random integer from 0 to `end` - 1. Does not pass `end` to `fc.nat`, because fast-check would cache a
 * generator for each `end`, and search all of these generators at each call.
 */
export const below = (gen: GeneratorValue, end: number): number => gen(fc.nat) % end;

export const pick = <T>(gen: GeneratorValue, choices: readonly [T, ...T[]]): T =>
  choices[below(gen, choices.length)] ?? choices[0];

/** Writes exactly this integer in a random spelling, such as 12, 12.0, 1.2e1 or 120e-1. */
export const spellInteger = (gen: GeneratorValue, integer: bigint): string => {
  const sign = integer < 0n ? '-' : integer === 0n ? pick(gen, ['', '-']) : '';
  const digits = String(integer).replace('-', '');
  const zeros = '0'.repeat(below(gen, 31));
  const places = below(gen, digits.length + 6);
  const shifted = digits.padStart(places + 1, '0');
  const [whole, fraction] = [shifted.slice(0, shifted.length - places), shifted.slice(shifted.length - places) + zeros];
  const e = pick(gen, ['e', 'E']);
  const plus = pick(gen, ['', '+', '0', '+00']);
  return pick(gen, [
    sign + digits,
    `${sign}${digits}.0${zeros}`,
    `${sign}${digits}${e}${pick(gen, ['', '+', '-'])}0`,
    // A number except 0 may also have zeros after its digits and a negative exponent, as in 120e-1 for 12. 0 may not:
    // JSON forbids the leading zero in 00e-1.
    integer === 0n ? `${sign}0` : `${sign}${digits}${zeros}${e}-${zeros.length}`,
    `${sign}${whole}${fraction && `.${fraction}`}${e}${plus}${places}`,
  ]);
};

const shortEscapes: Record<string, string> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/**
 * Writes a text as a JSON string, in which each character that JSON allows both escaped and unescaped is escaped at
 * random.
 */
export const spellString = (gen: GeneratorValue, value: string): string => {
  const escaped = (unit: string): string => {
    const hexadecimal = unit.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${pick(gen, [hexadecimal, hexadecimal.toUpperCase()])}`;
  };
  const characters = [...value].map((character) => {
    const raw = JSON.stringify(character).slice(1, -1);
    const allEscaped = character.split('').map(escaped).join('');
    return pick(gen, [raw, allEscaped, shortEscapes[character] ?? raw]);
  });
  return `"${characters.join('')}"`;
};

/** Writes a JSON object with random white space between its tokens. The names and values of `fields` are JSON text. */
export const spellObject = (gen: GeneratorValue, fields: readonly [name: string, value: string][]): string => {
  const space = () => pick(gen, ['', '', ' ', '\n', '\r\n', '\t ']);
  const written = fields.map(([name, value]) => `${space()}${name}${space()}:${space()}${value}${space()}`);
  return `${space()}{${written.join(',') || space()}}${space()}`;
};
