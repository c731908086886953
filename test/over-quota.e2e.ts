/**
 * Runs the same tests as `npm run journey`, behind a gateway that often refuses a request because a quota is used up.
 */
import http, { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { run } from './kit/local-service.ts';
import { startPlantsStore } from './kit/plants-store.ts';
import { startServer } from './kit/servers.ts';
import { startTrialStack } from './kit/trial-stack.ts';
import { until } from './kit/waiting.ts';

/** The number of Lambda invocations that a new AWS account may run at a time. */
const quota = 10;

/**
 * How often a body is refused at most; later, it waits for its turn. The journey sends a request eight times in 13 s. On
 * a busy machine, ten requests take longer than that.
 */
const mostRefusals = 4;

const cleanUp: (() => unknown)[] = [];

let serviceUrl: string;
let deployment: Record<string, string>;
beforeAll(async () => {
  const TABLE_NAME = 'plants';
  const { endpoint, close } = await startPlantsStore(TABLE_NAME);
  cleanUp.push(close);
  const stack = await startTrialStack(endpoint);
  cleanUp.push(stack.close);
  serviceUrl = stack.url;
  deployment = {
    TABLE_NAME,
    ACCESS_TOKEN: stack.token,
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  };
});
afterAll(async () => {
  for (const undo of cleanUp.reverse()) await undo();
});

type Handler = (request: IncomingMessage, response: ServerResponse, body: Buffer) => unknown;

const pass: Handler = (request, response, body) => {
  const { method, rawHeaders: headers } = request;
  const onward = http.request(serviceUrl + request.url, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  onward.end(body);
};

const refuse =
  (status: number, body: unknown): Handler =>
  (_, response) => {
    response
      .writeHead(status, { 'content-type': 'application/json', 'apigw-requestid': 'refused=' })
      .end(JSON.stringify(body));
  };

const runJourney = async (gateway: Handler) => {
  const server = createServer(async (request, response) =>
    gateway(request, response, Buffer.concat(await request.toArray())),
  );
  const API_URL = `http://127.0.0.1:${await startServer(server)}`;
  const vitest = path.resolve('node_modules/vitest/vitest.mjs');
  const [, ...args] = packageJson.scripts.journey.split(' ');
  // Clear VITEST_REPORT, because the inner run must not overwrite the report of this run.
  const environment = { ...deployment, API_URL, VITEST_REPORT: '' };
  const journey = run(process.execPath, [vitest, ...args], environment);
  const { code, stdout, stderr } = await journey.ended;
  return { code, output: stdout + stderr };
};

test('npm run journey passes even if the gateway accepts only ten requests at a time and refuses every seventh request', async () => {
  const refusals = [
    refuse(429, { message: 'Too Many Requests' }),
    refuse(500, { message: 'Internal Server Error' }),
    refuse(503, { message: 'Service Unavailable' }),
  ];
  const quotaUsedUp = Promise.withResolvers<void>();
  const refusalsOf = new Map<string, number>();
  let [number, inProgress, overQuota, refused] = [0, 0, 0, 0];
  const { code, output } = await runJourney(async (request, response, body) => {
    number += 1;
    const isOverQuota = inProgress >= quota;
    if (isOverQuota) {
      overQuota += 1;
      quotaUsedUp.resolve();
    }
    const text = body.toString();
    const refusedBefore = refusalsOf.get(text) ?? 0;
    if (refusedBefore < mostRefusals && (isOverQuota || number % 7 === 0)) {
      refusalsOf.set(text, refusedBefore + 1);
      refused += 1;
      refusals[refused % 3]?.(request, response, body);
      return;
    }
    await until(() => inProgress < quota);
    inProgress += 1;
    response.on('close', () => (inProgress -= 1));
    // `npm run journey` sends twenty requests at once. The first ten wait here until one of the others has been
    // refused, so that this happens for certain.
    if (text.includes('"racer ')) await quotaUsedUp.promise;
    pass(request, response, body);
  });
  expect(code, output).toBe(0);
  expect(overQuota, 'requests beyond ten at a time').toBeGreaterThan(0);
  expect(refused, 'requests refused').toBeGreaterThan(20);
});
