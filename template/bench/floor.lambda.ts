/**
 * Calls DynamoDB at the lowest possible cost: with node:https and a hand-written signature, without the SDK. Do not
 * copy this code: it has no retry, time-out or error handling, and no test checks its signature.
 */
import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { Agent, request } from 'node:https';
import { addUnlessOther, toItem } from '../../functions/plants/plant-table.ts';

const {
  AWS_REGION: region = '',
  AWS_ACCESS_KEY_ID: accessKey = '',
  AWS_SECRET_ACCESS_KEY: secretKey = '',
  AWS_SESSION_TOKEN: token,
  AWS_ENDPOINT_URL_DYNAMODB: endpoint = `https://dynamodb.${region}.amazonaws.com`,
  TABLE_NAME,
} = process.env;
const { hostname, port, host } = new URL(endpoint);
const agent = new Agent({ keepAlive: true });

const hmac = (key: string | Buffer | KeyObject, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The signing key, and the scope (day, region and service) for which it is valid. Cached, as in the SDK. */
let signing = { scope: '', key: createSecretKey(Buffer.from('none')) };

/** Returns the headers of a request, signed with AWS Signature Version 4. */
const signedHeaders = (body: string): Record<string, string> => {
  const time = new Date().toISOString().replace(/[:-]|\.\d+/g, '');
  const scope = `${time.slice(0, 8)}/${region}/dynamodb/aws4_request`;
  const headers = {
    'content-type': 'application/x-amz-json-1.0',
    host,
    'x-amz-date': time,
    ...(token !== undefined && { 'x-amz-security-token': token }),
    'x-amz-target': 'DynamoDB_20120810.UpdateItem',
  };
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const canonical = `POST\n/\n\n${lines.join('')}\n${names}\n${sha256(body)}`;
  if (signing.scope !== scope) {
    const key = scope.split('/').reduce<Buffer>(hmac, Buffer.from(`AWS4${secretKey}`));
    signing = { scope, key: createSecretKey(key) };
  }
  const signature = hmac(signing.key, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(canonical)}`).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...headers, authorization };
};

const updateItem = (input: object): Promise<void> => {
  const body = JSON.stringify(input);
  return new Promise((resolve, reject) => {
    const headers = { ...signedHeaders(body), 'content-length': Buffer.byteLength(body) };
    const call = request({ hostname, port, method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('end', () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`DynamoDB returned ${response.statusCode}.`)),
      );
    });
    call.on('error', reject);
    call.end(body);
  });
};

export const handler = async (event: { body: string }) => {
  const { id, name, tag } = JSON.parse(event.body);
  await updateItem({ TableName: TABLE_NAME, ...addUnlessOther(toItem({ id, name, tag })) });
  return {
    statusCode: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, tag }),
  };
};
