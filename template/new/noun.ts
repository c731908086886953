/** A noun in kebab-case, with its plural. */
export type Noun = { singular: string; plural: string };

const pluralOf = (singular: string): string => {
  if (/[^sui]s$/.test(singular)) throw new Error(`${singular} looks like a plural. Give the singular, or both.`);
  if (/(?:s|x|z|ch|sh)$/.test(singular)) return `${singular}es`;
  return /[^aeiou]y$/.test(singular) ? `${singular.slice(0, -1)}ies` : `${singular}s`;
};

/**
 * The prefix of Cognito's domain (packages/cdk/token-issuer.ts) begins with the plural. It has at most 63 characters, of which
 * a hyphen and a UUID take 37. Every other name may be longer.
 */
const maxLength = 26;

/** The words that Cognito forbids in that prefix. */
const reserved = ['aws', 'amazon', 'cognito'];

/**
 * Reads the noun from the command's arguments: a noun in kebab-case and, if irregular, its plural.
 * @throws Error with a sentence for the user if the arguments are anything else
 */
export const readNoun = (singular = '', plural = pluralOf(singular)): Noun => {
  if (singular === '')
    throw new Error('Give a noun: npm run new -- ../orders order, or: npm run new -- ../people person people');
  const odd = [singular, plural].find((name) => !/^[a-z]{2,}(?:-[a-z]+)*$/.test(name));
  if (odd !== undefined) throw new Error(`${odd} is not a noun in lower case, such as order or customer-order.`);
  const length = Math.max(singular.length, plural.length);
  if (length > maxLength)
    throw new Error(`The noun, or its plural, has ${length} characters. Give one of at most ${maxLength}.`);
  const word = reserved.find((each) => plural.includes(each));
  if (word !== undefined) throw new Error(`The plural ${plural} must not contain "${word}": Cognito refuses that.`);
  if (singular === plural) throw new Error(`${singular}: the code needs a plural that differs from the singular.`);
  if (/plant/.test(singular + plural)) throw new Error(`${singular}: the new name must not contain "plant".`);
  return { singular, plural };
};

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** How each style joins the words of a name, such as `customer-order` (kebab) or `customerOrder` (camel). */
export const styles = {
  kebab: (words: string[]) => words.join('-'),
  flat: (words: string[]) => words.join(''),
  constant: (words: string[]) => words.join('_').toUpperCase(),
  pascal: (words: string[]) => words.map(capitalized).join(''),
  camel: ([first = '', ...others]: string[]) => first + others.map(capitalized).join(''),
  spaced: (words: string[]) => words.join(' '),
  title: (words: string[]) => words.map(capitalized).join(' '),
  sentence: (words: string[]) => capitalized(words.join(' ')),
};

export const takesAn = ({ singular }: Noun): boolean =>
  /^(?:[aeio]|u(?!ni|s[aeiu]|t[ei]|r[aeiu])|hour|honou?r|heir)/.test(singular) && !/^(?:eu|one|once)/.test(singular);
