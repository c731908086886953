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
import type { FunctionSpec, TableSpec } from '../served-stack.ts';
import { FolderError, mustBeEmpty, openDatabase, reason } from './data-folder.ts';

/** A folder for the embedded store's data, or the address of a DynamoDB that the caller runs. */
export type StoreLocation = { folder: string } | { endpoint: string };

/** A server that speaks DynamoDB's protocol. */
export type Store = {
  description: string;
  /** Returns the variables that direct the SDK in a function to this server. */
  environmentOf: (spec: FunctionSpec) => Record<string, string>;
  /** Creates the tables that are missing. @throws Error with a one-sentence message for the user */
  createTables: (tables: TableSpec[]) => Promise<void>;
  close: () => Promise<void>;
};

/**
 * Uses the store at an address, or starts dynalite with its data in a folder.
 * @throws FolderError, or Error with a one-sentence message for the user
 */
export const openStore = async (location: StoreLocation): Promise<Store> => {
  const embedded = 'folder' in location ? await openDynalite(path.join(location.folder, 'dynamodb')) : undefined;
  const endpoint = embedded?.endpoint ?? ('endpoint' in location ? location.endpoint : '');
  const description = 'folder' in location ? `dynalite, data in ${location.folder}` : endpoint;
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
    environmentOf: () => ({
      AWS_ENDPOINT_URL_DYNAMODB: endpoint,
      AWS_REGION: account.region,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      ...(sessionToken !== undefined && { AWS_SESSION_TOKEN: sessionToken }),
    }),
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
    throw new FolderError(
      `The data in ${folder} cannot be read: ${reason(error)}. Delete that folder and its data, or choose another folder.`,
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
