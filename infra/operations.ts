import { existsSync } from 'node:fs';
import path from 'node:path';
import type { HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import type { Operation as TableOperation } from 'aws-cdk-lib/aws-dynamodb';
import type { OperationId } from '../functions/generated/contract.ts';
import { functions } from '../packages/cdk/bundling.ts';
import { ConfigurationError } from '../packages/cdk/settings.ts';
import { PlantsTable } from './plants-table.ts';

export const tables = { Plants: PlantsTable };

type TableId = keyof typeof tables;

/**
 * Lists the tables. `output` names the table in the stack's outputs, and `variable` in the environment of functions. Only
 * the first table's names have no prefix: TableName and TABLE_NAME, but EventsTableName and EVENTS_TABLE_NAME.
 */
export const listTables = () =>
  (Object.keys(tables) as TableId[]).map((id, index) => {
    const prefix = index === 0 ? '' : id;
    const output = `${prefix}TableName`;
    return { id, prefix, output, variable: output.replaceAll(/\B[A-Z]/g, '_$&').toUpperCase(), Table: tables[id] };
  });

export type Grants = Readonly<Partial<Record<TableId, readonly `dynamodb:${TableOperation}`[]>>>;

/** The only DynamoDB operations that the function of each API operation may call. */
export const grants: Readonly<Record<OperationId, Grants>> = {
  // UpdateItem can change any item. Only the condition in createPlant's calls keeps it from changing a stored plant.
  createPlant: { Plants: ['dynamodb:UpdateItem'] },
};

type Declared = {
  method: keyof typeof HttpMethod;
  path: string;
  scopes: readonly string[];
  parameters: readonly { name: string; in: string }[];
};

/** `name` is the id of the function's construct, and `entry` the function's entry file, relative to functions/. */
export type Operation<Id extends string = OperationId> = Declared & { id: Id; name: string; entry: string };

/** Lists the operations in the contract's order. @throws ConfigurationError that names a missing entry file */
export const listOperations = <Id extends string>(contract: Readonly<Record<Id, Declared>>): Operation<Id>[] =>
  (Object.entries(contract) as [Id, Declared][]).map(([id, declared]) => {
    const entry = `${id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.lambda.ts`;
    if (!existsSync(path.join(functions, entry))) {
      throw new ConfigurationError(`The contract has the operation ${id}, but functions/${entry} does not exist.`);
    }
    return { id, name: id.charAt(0).toUpperCase() + id.slice(1), entry, ...declared };
  });
