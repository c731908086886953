/**
 * Runs the command `journey` behind a gateway that often refuses a request because a quota is used up.
 */
import { globSync } from 'node:fs';
import http, { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { run } from '@lambda-service/testing/programs';
import { startServer } from '@lambda-service/testing/servers';
import { storeEnvironment } from '@lambda-service/testing/store';
import { startTrial } from '@lambda-service/testing/trial';
import { expect, test } from 'vitest';

/** How often a body is refused at most. The journey sends a request eight times. */
const mostRefusals = 4;

const { store, stack } = await startTrial();

const pass = (request: IncomingMessage, response: ServerResponse, body: Buffer): void => {
  const { method, rawHeaders: headers } = request;
  const onward = http.request(stack.url + request.url, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  onward.end(body);
};

const refusals = [
  [429, 'Too Many Requests'],
  [500, 'Internal Server Error'],
  [503, 'Service Unavailable'],
] as const;

test('journey passes even if the gateway refuses every seventh request', async () => {
  const refusalsOf = new Map<string, number>();
  let [number, refused] = [0, 0];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    number += 1;
    const refusedBefore = refusalsOf.get(String(body)) ?? 0;
    if (refusedBefore >= mostRefusals || number % 7 > 0) return pass(request, response, body);
    refusalsOf.set(String(body), refusedBefore + 1);
    refused += 1;
    const [status, message] = refusals[refused % 3] ?? refusals[0];
    response.writeHead(status, { 'content-type': 'application/json', 'apigw-requestid': 'refused=' });
    return response.end(JSON.stringify({ message }));
  });
  const API_URL = `http://127.0.0.1:${await startServer(server)}`;
  // Clear VITEST_REPORT, because the inner run must not overwrite the report of this run.
  const deployment = { ...storeEnvironment(store.endpoint), ACCESS_TOKEN: stack.token, API_URL };
  const environment = { ...deployment, VITEST_REPORT: '' };
  const { code, stdout, stderr } = await run(process.execPath, ['packages/tools/bin.js', 'journey'], environment).ended;
  expect(code, stdout + stderr).toBe(0);
  for (const file of globSync('**/*.journey.ts', { cwd: 'test' })) expect(stdout).toContain(file);
  expect(refused, 'requests refused').toBeGreaterThan(10);
});
