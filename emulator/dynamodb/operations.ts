import { tableArn } from '../account.ts';

/** The fields that say what a request to DynamoDB is about. The store checks their types, this file does not. */
type Body = { TableName?: unknown; IndexName?: unknown; RequestItems?: unknown; ResourceArn?: unknown };

const table = ({ TableName }: Body): string[] => (typeof TableName === 'string' ? [arnOf(TableName)] : []);

const tableOrIndex = (body: Body): string[] =>
  typeof body.IndexName === 'string' ? table(body).map((arn) => `${arn}/index/${body.IndexName}`) : table(body);

const eachTable = ({ RequestItems }: Body): string[] => Object.keys(RequestItems ?? {}).map(arnOf);

const resource = ({ ResourceArn }: Body): string[] => (typeof ResourceArn === 'string' ? [ResourceArn] : []);

/** DynamoDB takes a table's name or its ARN. */
const arnOf = (name: string): string => (name.startsWith('arn:') ? name : tableArn(name));

/**
 * The operations that dynalite has, and the resources that IAM checks for each of them. An operation on several tables
 * needs the permission for all of them.
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
