import { type TableSpec, tableArn } from '../served-stack.ts';
import type { Resource } from './resource.ts';
import type { ServedTypes, Values } from './resource-types.ts';
import type { Resources } from './resources.ts';

type Table = Resource<keyof typeof tableTypes>;

/** The name of a table. Without a TableName, the name is the logical id, extended if that is too short for DynamoDB. */
export const tableName = (table: Table): string =>
  table.text('TableName', table.madeUpName.length < 3 ? `${table.madeUpName}-table` : table.madeUpName);

const lists = {
  read: 'TableName KeySchema AttributeDefinitions GlobalSecondaryIndexes LocalSecondaryIndexes',
  // StreamSpecification is ignored: nothing can read the stream, since event sources and the stream's ARN are refused.
  // TimeToLiveSpecification is ignored: DynamoDB may keep expired items for days, so services must expect such items.
  // Only AWS::DynamoDB::Table has those of the second and third line. Only AWS::DynamoDB::GlobalTable has those of the
  // last three: the emulator has no replicas in other regions, and does not limit throughput.
  withoutEffect: `
    BillingMode KinesisStreamSpecification SSESpecification StreamSpecification TimeToLiveSpecification WarmThroughput
    ContributorInsightsSpecification DeletionProtectionEnabled OnDemandThroughput PointInTimeRecoverySpecification
    ProvisionedThroughput TableClass Tags
    GlobalTableWitnesses MultiRegionConsistency
    ReadOnDemandThroughputSettings ReadProvisionedThroughputSettings
    WriteOnDemandThroughputSettings WriteProvisionedThroughputSettings`,
  refused: {
    ImportSourceSpecification: 'the items to import are in S3, which is not emulated',
    ResourcePolicy: "only the policies of the functions' roles are enforced here, not those of tables",
  },
} as const;

export const tableTypes = {
  'AWS::DynamoDB::Table': lists,
  'AWS::DynamoDB::GlobalTable': { ...lists, read: `${lists.read} Replicas` },
} as const satisfies ServedTypes;

export const tableTypeNames = ['AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable'] satisfies Table['type'][];

const values = { Ref: tableName, Arn: (each: Table) => tableArn(each.account, tableName(each)) };

export const tableValues: Values = { 'AWS::DynamoDB::Table': values, 'AWS::DynamoDB::GlobalTable': values };

export const readTables = (resources: Resources): TableSpec[] => {
  const read = (table: Table): TableSpec => {
    for (const [index, replica] of [table.raw('Replicas') ?? []].flat().entries())
      table.fields(`Replicas.${index}`, replica, [], replicaFields);
    const globalIndexes = readIndexes(table, 'GlobalSecondaryIndexes');
    const localIndexes = readIndexes(table, 'LocalSecondaryIndexes');
    return {
      TableName: readName(table),
      // KeySchema and AttributeDefinitions are not checked here: the store checks both when it creates the table.
      KeySchema: table.list('KeySchema') as TableSpec['KeySchema'],
      AttributeDefinitions: table.list('AttributeDefinitions') as TableSpec['AttributeDefinitions'],
      ...(globalIndexes.length > 0 && { GlobalSecondaryIndexes: globalIndexes }),
      ...(localIndexes.length > 0 && { LocalSecondaryIndexes: localIndexes }),
    };
  };
  return resources.readAll(tableTypeNames, read);
};

/**
 * Reads a table's name, and checks it against DynamoDB's rules:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
 */
const readName = (table: Table): string => {
  const name = tableName(table);
  if (/^[\w.-]{3,255}$/.test(name)) return name;
  throw table.unsupported('TableName', name, 'Use 3 to 255 letters, digits, _, - and dots.');
};

type Index = NonNullable<TableSpec['LocalSecondaryIndexes']>[number];

const readIndexes = (table: Table, property: 'GlobalSecondaryIndexes' | 'LocalSecondaryIndexes'): Index[] =>
  table.list(property).map((index, position) => {
    const path = `${property}.${position}`;
    const read = ['IndexName', 'KeySchema', 'Projection'] as const;
    // What else an index may have configures limits and metrics, and the store has neither.
    const { IndexName, KeySchema, Projection } = table.fields(path, index, read, lists.withoutEffect);
    table.fields(`${path}.Projection`, Projection, ['NonKeyAttributes', 'ProjectionType']);
    return { IndexName, KeySchema, Projection } as Index;
  });

/** The fields of a replica, which have no effect here. A ResourcePolicy is refused, as it is for a table. */
const replicaFields = `
  DisassociationProtectionEnabled GlobalSecondaryIndexes GlobalTableSettingsReplicationMode Region
  ${lists.withoutEffect}`;
