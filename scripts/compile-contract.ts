/**
 * Generates functions/generated/ from schemas/openapi.yaml: contract.ts with types, routes and scopes, and for each
 * operation a module that checks the events of its Lambda function.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { parse } from 'yaml';
import { messageOf } from '../local/printable.ts';
import { type Contract, readOperations } from './contract/operations.ts';
import { capitalize, compileTypes } from './contract/types.ts';
import { compileValidators } from './contract/validators.ts';

new Command('npm run prepare --')
  .description(
    'Checks the version of Node.js, and generates functions/generated from schemas/openapi.yaml. Part of npm ci.',
  )
  .showHelpAfterError()
  .parse();

const header = '// Made from schemas/openapi.yaml by `npm ci`. Do not edit.\n';
const folder = new URL('../functions/generated/', import.meta.url);

const generate = async (): Promise<Record<string, string>> => {
  const contract = parse(readFileSync(new URL('../schemas/openapi.yaml', import.meta.url), 'utf8')) as Contract;
  const operations = readOperations(contract);
  const [types, validators] = await Promise.all([
    compileTypes(contract, operations),
    compileValidators(contract, operations),
  ]);
  const modules = operations.flatMap(({ id }) => {
    const file = id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const event = `Schemas['${capitalize(id)}Event']`;
    const exported = { parameters: 'EventParameter[]', validate: `Validator<${event}>` };
    const declarations = [
      "import type { EventParameter } from '../http/parameters.ts';",
      "import type { Validator } from '../http/valid-event.ts';",
      "import type { Schemas } from './contract.ts';\n",
      ...Object.entries(exported).map(([name, type]) => `export const ${name}: ${type};`),
      '',
    ];
    return [
      [`${file}.js`, validators[id] ?? ''],
      [`${file}.d.ts`, declarations.join('\n')],
    ];
  });
  return { 'contract.ts': types, ...Object.fromEntries(modules) };
};

try {
  const files = await generate();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, source] of Object.entries(files)) writeFileSync(new URL(name, folder), `${header}\n${source}`);
} catch (error) {
  console.error(`schemas/openapi.yaml: ${messageOf(error)}`);
  process.exitCode = 1;
}
