/**
 * Gives a new service another contract, as docs/change-the-data.md says, with fields that are drawn at
 * random. Prints the seed, and what a developer would have had to change by hand.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseDocument } from 'yaml';
import { type Drawn, draw, type Field, randomOf } from './another-contract/draw.ts';
import { readNoun, styles } from './new/noun.ts';

/** What changing the data may cost besides the contract. */
const target = { files: 10, lines: 150 };

const [, , folder = '', singular = '', seed = String(Date.now() % 2 ** 31)] = process.argv;
console.log(`Seed ${seed}: to repeat, node template/another-contract.ts <folder> ${singular} ${seed}`);
const noun = readNoun(singular);
const [camel, pascal] = [styles.camel(singular.split('-')), styles.pascal(singular.split('-'))];
const drawn = draw(randomOf(Number(seed)));

const change = (file: string, edits: [before: RegExp, after: string][]): void => {
  const target = path.join(folder, file);
  const changed = edits.reduce(
    (text, [before, after]) => {
      if (!before.test(text)) throw new Error(`${file} does not have ${before}.`);
      return text.replace(before, () => after);
    },
    readFileSync(target, 'utf8'),
  );
  writeFileSync(target, changed);
};

const bodyOf = (fields: Field[], index: 0 | 1): object =>
  Object.fromEntries(
    fields.flatMap(({ name, isRequired, values }) => (index === 0 || isRequired ? [[name, values[index]]] : [])),
  );

/** The text of the field that only a response has. */
const addedText = 'v1';

/** The field that only a response has, if any. */
const fieldOf = (name: string | undefined): Field[] =>
  name === undefined ? [] : [{ name, isRequired: true, schema: { type: 'string' }, values: [addedText, addedText] }];

const objectOf = (fields: Field[]) => ({
  type: 'object',
  required: fields.flatMap(({ name, isRequired }) => (isRequired ? [name] : [])),
  properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
});

const changeContract = ({ key, fields, repeatsKey, added }: Drawn): void => {
  const file = path.join(folder, 'schemas/openapi.yaml');
  const document = parseDocument(readFileSync(file, 'utf8'));
  const json = 'content,application/json,examples'.split(',');
  const post = ['paths', `/${noun.plural}`, 'post'];
  const set = (at: string[], value: unknown) => document.setIn(at, document.createNode(value));
  const returned = [...(repeatsKey ? [key] : []), ...fields, ...fieldOf(added)];
  const whole = { ...objectOf([key, ...fields]), description: 'What to add.' };
  const reference = { $ref: `#/components/schemas/${pascal}` };
  const isPart = !repeatsKey && added === undefined;
  set(['components', 'schemas', `New${pascal}`], isPart ? { allOf: [objectOf([key]), reference] } : whole);
  set(['components', 'schemas', pascal], objectOf(returned));
  const examples = { whole: { value: bodyOf([key, ...fields], 0) }, least: { value: bodyOf([key, ...fields], 1) } };
  set([...post, 'requestBody', ...json], examples);
  set([...post, 'responses', '200', ...json], { whole: { value: bodyOf(returned, 0) } });
  writeFileSync(file, String(document));
};

const reserved = /^(?:default|class|enum|of|type)$/;
/** Returns the name of the variable for a field. */
const variable = (name: string): string => {
  const camel = styles.camel(name.split('-'));
  return reserved.test(camel) ? `${camel}Field` : camel;
};
const propertyOf = (name: string): string => (/^\w+$/.test(name) ? name : `'${name}'`);
const pattern = (fields: Field[]): string =>
  fields.map(({ name }) => (name === variable(name) ? name : `${propertyOf(name)}: ${variable(name)}`)).join(', ');
const propertiesOf = (fields: Field[], convert: (field: Field) => string): string =>
  fields.map((field) => `  ${propertyOf(field.name)}: ${convert(field)}(${variable(field.name)}),\n`).join('');

const changeCode = ({ key, fields, repeatsKey, added }: Drawn): void => {
  const all = [key, ...fields];
  const returned = repeatsKey ? all : fields;
  const item = propertiesOf(all, ({ isRequired }) => (isRequired ? 'attribute' : 'optional'));
  const addedCode = added === undefined ? '' : `  ${propertyOf(added)}: '${addedText}',\n`;
  const unused: [RegExp, string][] = item.includes('optional') ? [] : [[/, optional \} from/, ' } from']];
  change(`functions/${singular}-table.ts`, [
    ...unused,
    [/const key = 'id'/, `const key = '${key.name}'`],
    [
      /toItem = \(\{[^}]*\}([^{]*)\(\{\n[^}]*\}/,
      `toItem = ({ ${pattern(all)} }: New${pascal}): ${pascal}Item => ({\n${item}}`,
    ],
    [
      new RegExp(`to${pascal} = \\(\\{[^}]*\\}([^{]*)\\(\\{\\n[^}]*\\}`),
      `to${pascal} = ({ ${pattern(returned)} }: Partial<${pascal}Item>): Whole${pascal} => ({\n${propertiesOf(returned, () => 'fieldValue')}${addedCode}}`,
    ],
  ]);
  const isText = 'type' in key.schema && key.schema.type === 'string';
  change(`infra/${noun.plural}-table.ts`, [
    [/New\w+\['id'\]/, `New${pascal}['${key.name}']`],
    [/= AttributeType\.NUMBER;/, `= AttributeType.${isText ? 'STRING' : 'NUMBER'};`],
    [/'id' satisfies/, `'${key.name}' satisfies`],
  ]);
  const contentOf = (index: 0 | 1): string => `${JSON.stringify(bodyOf(fields, index))} satisfies Content;`;
  const edits: [RegExp, string][] = [
    [/, 'id'>/, `, '${key.name}'>`],
    [/const content = [^;]*;/, `const content = ${contentOf(0)}`],
    [/const other = [^;]*;/, `const other = ${contentOf(1)}`],
    [/= \{ id, /, `= { ${propertyOf(key.name)}: id, `],
    [/= \{ id: otherId, /, `= { ${propertyOf(key.name)}: otherId, `],
    [/(?<=\.\.\.other\w+, )id \}/, `${propertyOf(key.name)}: id }`],
    [/'an? [\w ]+ without a name': \{ body: \{ id \}/, `'a body without a key': { body: content`],
  ];
  if (key.code !== undefined) {
    const { random, imported } = key.code;
    edits.push(
      [/import \{ randomInt \}/, `import { ${imported} }`],
      [/const randomId = .*;/, `const randomId = (): ${isText ? 'string' : 'number'} => ${random};`],
      [/const otherId = .*;/, 'const otherId = randomId();'],
    );
  }
  const whole = (content: string, plant: string): string => {
    const response = repeatsKey ? plant : content;
    return added === undefined ? response : `{ ...${response}, ${addedCode.trim()} }`;
  };
  edits.push(
    [/response: content/g, `response: ${whole('content', camel)}`],
    [/response: other/, `response: ${whole('other', `other${pascal}`)}`],
  );
  change('functions/smoke-checks.ts', edits);
};

changeContract(drawn);
changeCode(drawn);
const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
run('git', 'rm', '-r', '--quiet', `test/${noun.plural}`);
run(path.resolve('node_modules/.bin/biome'), 'check', '--write', '--log-level=error', 'functions', 'infra');

const changed = run('git', 'diff', 'HEAD', '--numstat', '--', '.', ':!schemas', `:!test/${noun.plural}`)
  .trim()
  .split('\n')
  .map((line) => line.split('\t').map(Number));
const lines = changed.reduce((sum, [added = 0, removed = 0]) => sum + Math.max(added, removed), 0);
console.log(`Another contract by hand: ${changed.length} files, ${lines} lines, and one folder of tests deleted`);
if (changed.length > target.files || lines > target.lines) process.exitCode = 1;
