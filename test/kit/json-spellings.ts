/** JSON text for a value, in any of the spellings that RFC 8259 has for it. */
import fc, { type GeneratorValue } from 'fast-check';

/** A number from 0 to `end` - 1. (fast-check keeps what it was asked for, so that other questions would pile up.) */
export const below = (gen: GeneratorValue, end: number): number => gen(fc.nat) % end;

/** One of them. */
export const pick = <T>(gen: GeneratorValue, choices: readonly [T, ...T[]]): T =>
  choices[below(gen, choices.length)] ?? choices[0];

/** With fraction, exponent or both, and in all cases the very integer. */
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
    // JSON has no leading zeros: 00e-1 is no number.
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

/** Each character as it is or escaped, where JSON leaves the choice. */
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

/** An object of these fields, given as JSON text, with white space wherever it may be. */
export const spellObject = (gen: GeneratorValue, fields: readonly [name: string, value: string][]): string => {
  const space = () => pick(gen, ['', '', ' ', '\n', '\r\n', '\t ']);
  const written = fields.map(([name, value]) => `${space()}${name}${space()}:${space()}${value}${space()}`);
  return `${space()}{${written.join(',') || space()}}${space()}`;
};
