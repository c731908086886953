import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { devNull } from 'node:os';
import path from 'node:path';
import { DynamoDBClient, DynamoDBServiceException, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { type Account, defaultAccount, type FunctionSpec, type TableSpec } from '../served-stack.ts';
import { reason } from './data-folder.ts';
import { startEmbeddedStore } from './embedded-store.ts';
import { type Caller, callerOf, makeGuard } from './guard.ts';
import { createTable } from './tables.ts';

/** A folder for the embedded store's data, or the address of a DynamoDB that the caller runs. */
export type StoreLocation = { folder: string } | { endpoint: string };

/** A server that speaks DynamoDB's protocol. */
export type Store = {
  description: string;
  /** Whether the store refuses a call that the role of the calling function does not allow. */
  enforcesRoles: boolean;
  /**
   * Returns the environment variables that give a function's SDK the address of this store, and credentials. If the
   * store enforces roles, the credentials stand for the function's role.
   */
  environmentOf: (spec: FunctionSpec) => Record<string, string>;
  /** Creates the tables that are missing. @throws Error with a one-sentence message for the user */
  createTables: (tables: TableSpec[], account?: Account) => Promise<void>;
  close: () => Promise<void>;
};

/**
 * Uses the store at an address, or starts dynalite with its data in a folder. dynalite accepts calls only with the
 * credentials that `environmentOf` has returned.
 * @throws FolderError, or Error with a one-sentence message for the user
 */
export const openStore = async (location: StoreLocation): Promise<Store> => {
  const server = 'folder' in location ? await embedded(location.folder) : external(location.endpoint);
  const { description, endpoint, credentials } = server;

  const withClient = async ({ region }: Account, use: (client: DynamoDBClient) => Promise<unknown>): Promise<void> => {
    try {
      const client = new DynamoDBClient({ ...probeLimits, endpoint, region, credentials });
      await use(client).finally(() => client.destroy());
    } catch (error) {
      throw new Error(`The store (${description}) cannot be used: ${reason(error)}`, { cause: error });
    }
  };

  await withClient(defaultAccount, async (client) => {
    await client.send(new ListTablesCommand({ Limit: 1 })).catch((error) => {
      throw new Error(describeFailure(error));
    });
  });
  return {
    description,
    enforcesRoles: server.enforcesRoles,
    environmentOf: (spec) => {
      const { accessKeyId, secretAccessKey, sessionToken } = server.credentialsOf(spec);
      return {
        AWS_ENDPOINT_URL_DYNAMODB: endpoint,
        AWS_REGION: spec.account.region,
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: secretAccessKey,
        // Hide the user's AWS configuration and credentials files, which Lambda does not have: they may name another
        // endpoint, even AWS's own.
        AWS_CONFIG_FILE: devNull,
        AWS_SHARED_CREDENTIALS_FILE: devNull,
        ...(sessionToken !== undefined && { AWS_SESSION_TOKEN: sessionToken }),
      };
    },
    // Some stores, such as DynamoDB Local, keep the tables of each region apart.
    createTables: (tables, account = defaultAccount) =>
      withClient(account, (client) => Promise.all(tables.map((table) => createTable(client, table)))),
    close: server.close,
  };
};

type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string };

/** A running store. `credentials` are those with which the emulator itself calls it. */
type StoreServer = Pick<Store, 'description' | 'enforcesRoles' | 'close'> & {
  endpoint: string;
  credentials: Credentials;
  credentialsOf: (spec: FunctionSpec) => Credentials;
};

const embedded = async (folder: string): Promise<StoreServer> => {
  const credentials = { accessKeyId: randomUUID(), secretAccessKey: 'local' };
  const secret = randomBytes(32);
  const callers = new Map<string, Caller>();
  const guard = makeGuard(callers, credentials.accessKeyId);
  return {
    ...(await startEmbeddedStore(path.join(folder, 'dynamodb'), guard)),
    description: `dynalite, data in ${folder}`,
    enforcesRoles: true,
    credentials,
    credentialsOf: (spec) => {
      const found = credentialsOf(spec, secret);
      callers.set(found.accessKeyId, callerOf(spec, found.sessionToken));
      return found;
    },
  };
};

/**
 * Returns the credentials of a function and its role. If a reload changes the role, the new role gets new ones, and
 * requests in progress keep the old ones. Without the secret of this start, neither another function nor another user
 * of the machine can compute them.
 */
const credentialsOf = (spec: FunctionSpec, secret: Buffer): Required<Credentials> => {
  const { name, account, role, boundary, roleName } = spec;
  const text = JSON.stringify([name, account, role, boundary, roleName]);
  const digest = createHmac('sha256', secret).update(text).digest('hex');
  return { accessKeyId: `${name}-${digest.slice(0, 32)}`, secretAccessKey: 'local', sessionToken: digest.slice(32) };
};

/** @throws Error with a message for the user if the address is not an http or https URL: the SDK would call AWS */
const external = (endpoint: string): StoreServer => {
  const { protocol } = URL.parse(endpoint) ?? {};
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new Error(
      'The store needs a folder, or an endpoint that is an http or https URL (such as http://localhost:8000), ' +
        `not ${JSON.stringify(endpoint)}.`,
    );
  const credentials = readCredentials();
  return {
    endpoint,
    description: endpoint,
    enforcesRoles: false,
    credentials,
    credentialsOf: () => credentials,
    close: async () => {},
  };
};

/** Limits (times in milliseconds) for the calls at start-up. A store on this machine responds at once or not at all. */
const probeLimits = {
  maxAttempts: 1,
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
};

/** The user's AWS credentials if they are set; otherwise made-up ones, which a store on this machine accepts. */
const readCredentials = (): Credentials => {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = process.env;
  const { AWS_SESSION_TOKEN: sessionToken } = process.env;
  if (!accessKeyId || !secretAccessKey) return { accessKeyId: 'local', secretAccessKey: 'local' };
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
};

/** Why a store does not list its tables, as a text that completes "The store cannot be used: ". */
const describeFailure = (error: unknown): string => {
  // The SDK names its error SyntaxError if the response is not JSON, and Unknown if an error response has no __type.
  // DynamoDB sends neither response.
  if (error instanceof Error && ['SyntaxError', 'Unknown'].includes(error.name))
    return 'it does not respond as DynamoDB does. Correct its address.';
  return error instanceof DynamoDBServiceException
    ? reason(error)
    : `${reason(error)}. Start it, or correct its address.`;
};
