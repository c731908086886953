import { createServer } from 'node:http';
import { key } from './template-parts.ts';
import { startServer } from './temporary.ts';

/**
 * Starts a fake DynamoDB whose only table stays CREATING until the test sets `status` to ACTIVE. `described` counts the
 * calls of DescribeTable.
 */
export const startSlowStore = async () => {
  const store: { endpoint: string; status?: 'CREATING' | 'ACTIVE'; described: number } = { endpoint: '', described: 0 };
  const server = createServer(async (request, response) => {
    await request.toArray();
    const [, operation = ''] = String(request.headers['x-amz-target']).split('.');
    response.setHeader('content-type', 'application/x-amz-json-1.0');
    if (operation === 'ListTables') return response.end('{"TableNames":[]}');
    if (operation === 'CreateTable') {
      store.status = 'CREATING';
      return response.end(JSON.stringify({ TableDescription: { ...key, TableStatus: store.status } }));
    }
    store.described += 1;
    if (store.status !== undefined) {
      return response.end(JSON.stringify({ Table: { ...key, TableStatus: store.status } }));
    }
    return response.writeHead(400).end('{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"}');
  });
  store.endpoint = `http://127.0.0.1:${await startServer(server)}`;
  return store;
};
