import type { PutItemCommandInput } from '@aws-sdk/client-dynamodb';

type Plant = { id: number; name: string; tag?: string };

/** The put that createPlant does, so that what is compared is all around it. */
export const put = ({ id, name, tag }: Plant): PutItemCommandInput => ({
  TableName: process.env['TABLE_NAME'],
  Item: { id: { N: String(id) }, name: { S: name }, ...(tag !== undefined && { tag: { S: tag } }) },
  ConditionExpression:
    tag === undefined
      ? 'attribute_not_exists(id) OR (#name = :name AND attribute_not_exists(tag))'
      : 'attribute_not_exists(id) OR (#name = :name AND tag = :tag)',
  ExpressionAttributeNames: { '#name': 'name' },
  ExpressionAttributeValues: { ':name': { S: name }, ...(tag !== undefined && { ':tag': { S: tag } }) },
  ReturnValues: 'ALL_OLD',
});
