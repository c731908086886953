/** A handler to compare with: Hono with its Lambda adapter and Zod validator, used as Hono's documentation shows. */
import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { zValidator } from '@hono/zod-validator';
import { addUnlessOther } from '@lambda-service/runtime/dynamodb';
import { Hono } from 'hono';
import { handle } from 'hono/aws-lambda';
import * as z from 'zod';
import { key, toItem } from '../../../functions/plant-table.ts';

const client = new DynamoDBClient({});
const app = new Hono();

const newPlant = z.object({ id: z.int(), name: z.string(), tag: z.string().optional() });

app.post('/plants', zValidator('json', newPlant), async (c) => {
  const { id, name, tag } = c.req.valid('json');
  await client.send(
    new UpdateItemCommand({ TableName: process.env['TABLE_NAME'], ...addUnlessOther(key, toItem({ id, name, tag })) }),
  );
  return c.json({ name, tag });
});

export const handler = handle(app);
