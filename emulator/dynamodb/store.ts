import { existsSync } from 'node:fs';
import path from 'node:path';
import {
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ListTablesCommand,
  ResourceNotFoundException,
  type TableDescription,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { account } from '../account.ts';
import { listen } from '../listen.ts';
import type { TableSpec } from '../template/read-template.ts';
import { mustBeEmpty, openDatabase, reason } from './data-folder.ts';

/** A server that speaks DynamoDB's protocol. `environment` directs the SDK in the functions to this server. */
export type Store = {
  description: string;
  environment: Record<string, string>;
  /** Creates the tables that are missing. @throws Error with a one-sentence message for the user */
  createTables: (tables: TableSpec[]) => Promise<void>;
  close: () => Promise<void>;
};

/**
 * Uses the store at AWS_ENDPOINT_URL_DYNAMODB if that is set; otherwise starts dynalite with its data in `dataFolder`.
 * @throws Error with a one-sentence message for the user
 */
export const openStore = async (dataFolder: string): Promise<Store> => {
  const given = process.env['AWS_ENDPOINT_URL_DYNAMODB'];
  const embedded = given ? undefined : await openDynalite(path.join(dataFolder, 'dynamodb'));
  const endpoint = embedded?.endpoint ?? given ?? '';
  const description = embedded === undefined ? endpoint : `dynalite, data in ${dataFolder}`;
  const credentials = readCredentials();
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;

  const withClient = async (use: (client: DynamoDBClient) => Promise<unknown>): Promise<void> => {
    try {
      const client = new DynamoDBClient({ ...probeLimits, endpoint, region: account.region, credentials });
      await use(client).finally(() => client.destroy());
    } catch (error) {
      throw new Error(`The store (${description}) cannot be used: ${reason(error)}`, { cause: error });
    }
  };

  await withClient((client) => client.send(new ListTablesCommand({ Limit: 1 })));
  return {
    description,
    environment: {
      AWS_ENDPOINT_URL_DYNAMODB: endpoint,
      AWS_REGION: account.region,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      ...(sessionToken !== undefined && { AWS_SESSION_TOKEN: sessionToken }),
    },
    createTables: (tables) => withClient((client) => Promise.all(tables.map((table) => createTable(client, table)))),
    close: async () => embedded?.close(),
  };
};

/** Limits for the calls at start-up, in milliseconds: a store on this machine responds at once or not at all. */
const probeLimits = {
  maxAttempts: 1,
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
};

/** The user's AWS credentials if they are set; otherwise made-up ones, which a store on this machine accepts. */
const readCredentials = (): { accessKeyId: string; secretAccessKey: string; sessionToken?: string } => {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = process.env;
  const { AWS_SESSION_TOKEN: sessionToken } = process.env;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    return { accessKeyId: 'local', secretAccessKey: 'local' };
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
};

const openDynalite = async (folder: string): Promise<{ endpoint: string; close: () => Promise<void> }> => {
  if (!existsSync(path.join(folder, 'CURRENT'))) await mustBeEmpty(folder);
  try {
    // dynalite does not catch the error if its database cannot be opened: the process would end at a later request.
    const close = await openDatabase(folder);
    await close();
  } catch (error) {
    throw new Error(
      `The plants in ${folder} cannot be read: ${reason(error)}. Choose another folder (DATA_DIR=... npm start), or ` +
        'delete this one and the plants in it.',
      { cause: error },
    );
  }
  const server = dynalite({ path: folder, createTableMs: 0 });
  return {
    endpoint: `http://127.0.0.1:${await listen(server, 0)}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};

/** Creates the table if it is missing, and waits until it is ready; an earlier start may have left it half-made. */
const createTable = async (client: DynamoDBClient, table: TableSpec): Promise<void> => {
  const existing = await describe(client, table.TableName);
  if (existing === undefined) {
    await client.send(new CreateTableCommand({ ...table, BillingMode: 'PAY_PER_REQUEST' }));
  } else if (keyOf(existing) !== keyOf(table)) {
    throw new Error(
      `its table ${table.TableName} has a different key from the stack's; use another store, or delete the table`,
    );
  }
  await waitUntilTableExists(
    { client, maxWaitTime: 10, minDelay: 0.02, maxDelay: 0.5 },
    { TableName: table.TableName },
  );
};

/** Names, order and types of the key's attributes, as text to compare. Attributes of indexes are left out. */
const keyOf = ({ KeySchema = [], AttributeDefinitions = [] }: TableDescription | TableSpec): string =>
  JSON.stringify(
    KeySchema.map(({ AttributeName, KeyType }) => [
      AttributeName,
      KeyType,
      AttributeDefinitions.find((attribute) => attribute.AttributeName === AttributeName)?.AttributeType,
    ]),
  );

const describe = async (client: DynamoDBClient, TableName?: string): Promise<TableDescription | undefined> => {
  try {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
};
