/**
 * A handler to compare with, written as most projects would write it: Middy, a schema that Ajv compiles at run time,
 * Powertools' logger, and errors as plain text.
 */
import { Logger } from '@aws-lambda-powertools/logger';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { addUnlessOther } from '@lambda-service/runtime/dynamodb';
import middy from '@middy/core';
import httpErrorHandler from '@middy/http-error-handler';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import validator from '@middy/validator';
import { transpileSchema } from '@middy/validator/transpile';
import { key, toItem } from '../../functions/plant-table.ts';

const client = new DynamoDBClient({});
const logger = new Logger({ serviceName: 'plants' });

const eventSchema = transpileSchema({
  type: 'object',
  required: ['body'],
  properties: {
    body: {
      type: 'object',
      required: ['id', 'name'],
      properties: { id: { type: 'integer' }, name: { type: 'string' }, tag: { type: 'string' } },
    },
  },
});

type Plant = { id: number; name: string; tag?: string };

export const handler = middy<{ body: Plant }>()
  .use(injectLambdaContext(logger))
  .use(httpErrorHandler())
  .use(httpJsonBodyParser())
  .use(validator({ eventSchema }))
  .handler(async ({ body: { id, name, tag } }) => {
    await client.send(
      new UpdateItemCommand({
        TableName: process.env['TABLE_NAME'],
        ...addUnlessOther(key, toItem({ id, name, ...(tag !== undefined && { tag }) })),
      }),
    );
    logger.info('created');
    return {
      statusCode: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, tag }),
    };
  });
