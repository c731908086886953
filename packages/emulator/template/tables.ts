import type { TableSpec } from '../served-stack.ts';
import { type Table, tableName } from './names.ts';
import { tableTypes } from './resource-types.ts';
import type { Resources } from './resources.ts';

export const tableTypeNames = ['AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable'] satisfies Table['type'][];

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html */
const nameOf = (table: Table): string => {
  table.text('TableName', '', /^[\w.-]{3,255}$/);
  return tableName(table);
};

const { withoutEffect } = tableTypes['AWS::DynamoDB::Table'];

export const readTables = (resources: Resources): TableSpec[] => {
  const read = (table: Table): TableSpec => {
    for (const [index, replica] of [table.raw('Replicas') ?? []].flat().entries())
      table.fields(`Replicas.${index}`, replica, [], replicaFields);
    const globalIndexes = readIndexes(table, 'GlobalSecondaryIndexes');
    const localIndexes = readIndexes(table, 'LocalSecondaryIndexes');
    return {
      TableName: nameOf(table),
      // The store checks the values in these two when it creates the table.
      KeySchema: objectsIn(table, 'KeySchema') as TableSpec['KeySchema'],
      AttributeDefinitions: objectsIn(table, 'AttributeDefinitions') as TableSpec['AttributeDefinitions'],
      ...(globalIndexes.length > 0 && { GlobalSecondaryIndexes: globalIndexes }),
      ...(localIndexes.length > 0 && { LocalSecondaryIndexes: localIndexes }),
    };
  };
  return resources.readAll(tableTypeNames, read);
};

const objectsIn = (table: Table, property: 'KeySchema' | 'AttributeDefinitions'): object[] =>
  table.list(property).map((each, position) => table.object(`${property}.${position}`, each));

type Index = NonNullable<TableSpec['LocalSecondaryIndexes']>[number];

const readIndexes = (table: Table, property: 'GlobalSecondaryIndexes' | 'LocalSecondaryIndexes'): Index[] =>
  table.list(property).map((index, position) => {
    const path = `${property}.${position}`;
    const read = ['IndexName', 'KeySchema', 'Projection'] as const;
    // What else an index may have configures limits and metrics, and the store has neither.
    const { IndexName, KeySchema, Projection } = table.fields(path, index, read, withoutEffect);
    table.fields(`${path}.Projection`, Projection, ['NonKeyAttributes', 'ProjectionType']);
    return { IndexName, KeySchema, Projection } as Index;
  });

/** The fields of a replica, which have no effect here. A ResourcePolicy is refused, as it is for a table. */
const replicaFields = `
  DisassociationProtectionEnabled GlobalSecondaryIndexes GlobalTableSettingsReplicationMode Region
  ${withoutEffect}`;
