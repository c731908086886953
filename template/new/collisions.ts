import { parseSync } from 'oxc-parser';
import { identifiersIn, type ProjectFile, renamedPath } from './files.ts';
import { type Noun, styles } from './noun.ts';
import { respell } from './respell.ts';

const isReserved = (name: string): boolean =>
  parseSync('name.ts', `export const ${name} = 0;`, { showSemanticErrors: true }).errors.length > 0;

const hasPlant = (name: string): boolean => /plant/i.test(name);
const globals = Object.getOwnPropertyNames(globalThis);

/**
 * Returns the new names that the code already uses for something else, or that are in `others`, such as global names.
 */
const takenNames = (names: string[], rename: (name: string) => string, others: string[] = []): string[] => {
  const used = new Set([...names.filter((name) => !hasPlant(name)), ...others]);
  return names
    .filter(hasPlant)
    .map(rename)
    .filter((name) => used.has(name));
};

/**
 * Checks that a service can be about `noun`.
 * @throws Error with a sentence for the user if the noun would make a reserved word or a name that the code already
 * uses, or if no name in the code contains `plant`
 */
export const refuseCollisions = (files: ProjectFile[], noun: Noun): void => {
  const namesByFile = files.map((file) => [...identifiersIn(file)]);
  if (!namesByFile.flat().some(hasPlant))
    throw new Error('No name in the code contains "plant", so there is nothing to make a service from.');

  const reserved = [noun.singular, noun.plural].find((name) => isReserved(styles.camel(name.split('-'))));
  if (reserved !== undefined) throw new Error(`${reserved} is a reserved word of TypeScript. Choose another noun.`);

  const packageJson = files.find(({ file }) => file === 'package.json')?.source ?? '{}';
  const scripts = Object.keys(JSON.parse(packageJson).scripts ?? {});
  const paths = files.map(({ file }) => file);
  const taken = new Set([
    ...namesByFile.flatMap((names) => takenNames(names, (name) => respell(name, noun, () => 'code'), globals)),
    ...[scripts, paths].flatMap((names) => takenNames(names, (name) => renamedPath(name, noun))),
  ]);
  if (taken.size > 0)
    throw new Error(
      `${noun.singular}: the code uses ${[...taken].slice(0, 2).join(' and ')} for something else. ` +
        `Choose another noun, or put a word before it: customer-${noun.singular}.`,
    );
};
