/** A command for each operation of the contract, which calls that operation. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { generateIfChanged } from '@lambda-service/cdk/generated-code';
import { type Operation, toJson } from '@lambda-service/client';
import type { Command } from 'commander';
import { joined, operationsOf, readContract, type Schema } from 'openapi-contract/page';
import { contractFile } from '../start/settings.ts';
import { printable, type Terminal } from '../terminal.ts';
import { addsItem, addTarget, connect, explain, type Operations, type Target } from './connection.ts';
import { addOptions, commandName, type Descriptions } from './operation-options.ts';

/** Reads the operations of the contract from the code that is generated from it. */
export const readOperations = async (): Promise<Operations> => {
  generateIfChanged();
  const { operations } = await import(pathToFileURL(path.resolve('functions/generated/contract.ts')).href);
  return operations;
};

const call = async (id: string, operation: Operation, args: unknown[], target: Target, { console }: Terminal) => {
  const { url, call } = await connect(target, console);
  const result = await call(operation, args);
  if (!result.ok) throw new Error(explain(id, operation, result, url));
  // Add what the response lacks, such as the id, so that `import` can read the printed line.
  const json = toJson(addsItem(operation) ? { ...Object(args.at(-1)), ...Object(result.body) } : result.body);
  if (json !== undefined) console.log(printable(json));
};

/** Reads what the contract says about each parameter and each field of the body of an operation. */
const readDescriptions = async (id: string): Promise<Descriptions> => {
  const operation = operationsOf(await readContract(contractFile)).find((each) => each.operationId === id);
  const { schema = {} } = operation?.requestBody?.content?.['application/json'] ?? {};
  const parameters =
    operation?.parameters.map(({ name, description, schema }) => [name, { ...schema, description }]) ?? [];
  const described = [...parameters, ...Object.entries(joined(schema).properties ?? {})] as [string, Schema][];
  return new Map(described.map(([name, field]) => [name, describe(field)]));
};

/** Describes the values of a field in a sentence or two. */
const describe = (field: Schema): string => {
  const { description = '', enum: values, const: value } = joined(field);
  const allowed = Array.isArray(values) ? values : value === undefined ? [] : [value];
  const choices =
    allowed.length > 0 &&
    `One of: ${allowed.map((each) => (typeof each === 'string' ? each : toJson(each))).join(', ')}`;
  return [description.trim().replaceAll(/\s+/g, ' ').replace(/\.$/, ''), choices].filter(Boolean).join('. ');
};

type OperationCommand = {
  name: string;
  about: string;
  define: (command: Command, terminal: Terminal, isHelp: boolean) => Promise<unknown>;
};

/** Lists the commands of the operations. @param taken the names of the other commands */
export const operationCommands = async (taken: string[]): Promise<OperationCommand[]> => {
  const operations = await readOperations();
  const files = Object.values(operations).map(({ file }) => file);
  return Object.entries(operations).map(([id, operation]) => ({
    name: commandName(operation.file, files, taken),
    about: `calls ${id}, and prints the response`,
    define: async (command, terminal, isHelp) => {
      const given = addOptions(command, operation, isHelp ? await readDescriptions(id) : undefined);
      addTarget(command).action((target) => call(id, operation, given(), target, terminal));
    },
  }));
};
