/** A handler to compare with: Powertools' HTTP router with a Zod schema, used as Powertools' documentation shows. */
import { Router } from '@aws-lambda-powertools/event-handler/http';
import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { addUnlessOther } from '@lambda-service/runtime/dynamodb';
import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { key, toItem } from '../../../functions/plant-table.ts';

const client = new DynamoDBClient({});
const app = new Router();

const newPlant = z.object({ id: z.int(), name: z.string(), tag: z.string().optional() });

app.post(
  '/plants',
  async (reqCtx) => {
    const { id, name, tag } = reqCtx.valid.req.body;
    await client.send(
      new UpdateItemCommand({
        TableName: process.env['TABLE_NAME'],
        ...addUnlessOther(key, toItem({ id, name, tag })),
      }),
    );
    return { name, tag };
  },
  { validation: { req: { body: newPlant } } },
);

export const handler = async (event: unknown, context: Context) => app.resolve(event, context);
