import { tableArn } from '../account.ts';

/**
 * The fields of a request to DynamoDB that name tables and indexes. Their values may have any type here: the embedded
 * store checks the types.
 */
type Body = { TableName?: unknown; IndexName?: unknown; RequestItems?: unknown; ResourceArn?: unknown };

const table = ({ TableName }: Body): string[] => (typeof TableName === 'string' ? [arnOf(TableName)] : []);

const tableOrIndex = (body: Body): string[] =>
  typeof body.IndexName === 'string' ? table(body).map((arn) => `${arn}/index/${body.IndexName}`) : table(body);

const eachTable = ({ RequestItems }: Body): string[] => Object.keys(RequestItems ?? {}).map(arnOf);

const resource = ({ ResourceArn }: Body): string[] => (typeof ResourceArn === 'string' ? [ResourceArn] : []);

/** Returns the ARN of a table. In a request to DynamoDB, `name` may be either the table's name or its ARN. */
const arnOf = (name: string): string => (name.startsWith('arn:') ? name : tableArn(name));

/**
 * The operations that dynalite supports, and the resources that IAM checks for each of them. An operation on several
 * tables needs permission for all of those tables.
 * https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html
 */
export const resourcesOf: ReadonlyMap<string, (body: Body) => string[]> = new Map([
  ['BatchGetItem', eachTable],
  ['BatchWriteItem', eachTable],
  ['CreateTable', table],
  ['DeleteItem', table],
  ['DeleteTable', table],
  ['DescribeTable', table],
  ['DescribeTimeToLive', table],
  ['GetItem', table],
  ['ListTables', () => ['*']],
  ['ListTagsOfResource', resource],
  ['PutItem', table],
  ['Query', tableOrIndex],
  ['Scan', tableOrIndex],
  ['TagResource', resource],
  ['UntagResource', resource],
  ['UpdateItem', table],
  ['UpdateTable', table],
]);
