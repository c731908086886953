/**
 * The service over HTTP: a new local service or, if API_URL, ACCESS_TOKEN and TABLE_NAME are set, a deployment
 * (`npx @lambda-service/tools journey`), whose table is read with AWS credentials.
 */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { parseJson } from '@lambda-service/client';
import { fetchToken, readSession } from '@lambda-service/tools/session';
import { afterAll, beforeEach, expect } from 'vitest';
import { type Faults, startFaultyStore } from '../store/faulty-store.ts';
import { readItem } from '../store/item-store.ts';
import type { ServiceRequest, ServiceUnderTest } from '../suite/responses.ts';
import { isOverQuota, isUnavailable, retryWhile } from '../waiting.ts';
import { fileFolder, postItem, startLocalService } from './local-service.ts';

type Reached = Pick<ServiceUnderTest, 'read'> & { url: string; token: string; faults?: Faults };

const { API_URL, ACCESS_TOKEN, TABLE_NAME } = process.env;
export const isDeployed = [API_URL, ACCESS_TOKEN, TABLE_NAME].some(Boolean);

const reachDeployment = (): Reached => {
  if (!API_URL || !ACCESS_TOKEN || !TABLE_NAME) {
    throw new Error('Set API_URL, ACCESS_TOKEN and TABLE_NAME for a deployment, or none of them for a local service.');
  }
  const client = new DynamoDBClient();
  afterAll(() => client.destroy());
  const read: Reached['read'] = (id) => readItem(client, TABLE_NAME, id);
  return { url: API_URL.replace(/\/$/, ''), token: ACCESS_TOKEN, read };
};

const startLocal = async (): Promise<Reached> => {
  const folder = await fileFolder();
  const store = await startFaultyStore();
  afterAll(store.close);
  const service = await startLocalService(folder, { AWS_ENDPOINT_URL_DYNAMODB: store.endpoint });
  afterAll(async () => void (await service.stop()));
  beforeEach(({ onTestFailed }) => {
    const before = service.output().length;
    onTestFailed(() => console.error(`The local service printed:\n${service.output().slice(before)}`));
  });
  const token = await fetchToken(readSession(folder));
  return { url: service.url, token, read: store.read, faults: store };
};

/**
 * Returns whether to send a request again: after a 503, and after a 429 or 500 from the gateway itself. A gateway
 * responds 500 if a quota is exceeded or, locally, if loading a function takes longer than Lambda's 10 s.
 */
export const isToSendAgain = (status: number, body: unknown): boolean =>
  isUnavailable(status) || isOverQuota(status, body);

/** Sends a request until the service answers it. */
const untilAnswered = <T extends { status: number; body: unknown }>(send: () => Promise<T>): Promise<T> =>
  retryWhile(send, ({ status, body }) => isToSendAgain(status, body));

/** Starts or finds the service for one test file, and ends after its tests what it has started. */
export const reachService = async () => {
  const reached = isDeployed ? reachDeployment() : await startLocal();

  const requestOnce = async (path: string, init: RequestInit) => {
    const response = await fetch(reached.url + path, init);
    expect(response.headers.get('apigw-requestid'), 'id of the request').toMatch(/./);
    return { status: response.status, body: parseJson(await response.text()) };
  };

  // Send bytes, because fetch adds a content type to a body that is a string.
  const postOnce = (body: ServiceRequest['body'], headers: Record<string, string>) =>
    postItem(reached.url, body === undefined ? null : Buffer.from(body), headers);

  const send: ServiceUnderTest['send'] = ({ body, contentType, contentEncoding }) => {
    const headers = {
      authorization: `Bearer ${reached.token}`,
      ...(contentType !== undefined && { 'content-type': contentType }),
      ...(contentEncoding !== undefined && { 'content-encoding': contentEncoding }),
    };
    return untilAnswered(() => postOnce(body, headers));
  };

  return {
    ...reached,
    send,
    postOnce,
    post: (...args: Parameters<typeof postOnce>) => untilAnswered(() => postOnce(...args)),
    request: (...args: Parameters<typeof requestOnce>) => untilAnswered(() => requestOnce(...args)),
  };
};
