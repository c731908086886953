/** Tests how the command `token` gets a token for the local service and, with --stack, for a deployed stack. */
import tls from 'node:tls';
import { startAccount } from '@lambda-service/testing/fake-aws';
import { testFolder } from '@lambda-service/testing/programs';
import { answer, startScriptedService } from '@lambda-service/testing/servers';
import { until } from '@lambda-service/testing/waiting';
import { decodeJwt } from 'jose';
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { fetchDeployedToken, readDeployedIssuer } from '../../cli/deployed-issuer.ts';
import { startIssuer } from '../../start/issuer.ts';
import { reserveIssuer } from '../../start/issuer-address.ts';
import { writeSession } from '../../start/session.ts';
import { runHere } from './kit/run-here.ts';

test('token prints only a token or, if no local service is running or a scope is unknown, only what to do', async () => {
  const folder = await testFolder();
  const issuer = await startIssuer(await reserveIssuer());
  onTestFinished(issuer.close);
  issuer.setScope('plants/create');
  const { tokenUrl, clientId, clientSecret, scope, certificate } = issuer;
  const end = writeSession(folder, { url: 'http://x', tokenUrl, clientId, clientSecret, scope, certificate });
  const run = (...options: string[]) => runHere(['token', ...options], { DATA_DIR: folder }).ended;
  const { code, stdout, stderr } = await run();
  expect([code, stderr]).toEqual([0, '']);
  expect(decodeJwt(stdout)).toMatchObject({ scope });
  const unknown = { code: 1, stdout: '', stderr: 'The contract has no scope x, y. It has plants/create.\n' };
  expect(await run('--scope', `x ${scope} y`)).toEqual(unknown);
  end();
  const sentence = `No local service is running with its data in ${folder}. Start it (npm start), or set DATA_DIR to its data folder.\n`;
  expect(await run()).toEqual({ code: 1, stdout: '', stderr: sentence });
});

test('a command escapes the control characters in what a server says', async () => {
  const folder = await testFolder();
  const { baseUrl } = await startScriptedService(answer(400, { error: '\u001b]0;x\u0007\r\u009b' }));
  const client = { clientId: 'x', clientSecret: 'x', scope: 'x', certificate: tls.rootCertificates[0] ?? '' };
  writeSession(folder, { url: 'http://127.0.0.1:9', tokenUrl: baseUrl, ...client });
  const { code, stdout, stderr } = await runHere(['token'], { DATA_DIR: folder }).ended;
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('refused: \\u001b]0;x\\u0007\\u000d\\u009b\n');
});

const stackName = inject('stackName');
const source = {
  tokenUrl: 'https://plants.auth.example/oauth2/token',
  clientId: 'client',
  clientSecret: 'shh',
  scope: 'plants/create',
};
const outputs = { TokenUrl: source.tokenUrl, ClientId: 'client', UserPoolId: 'pool', Scope: 'plants/create' };
const secret = () => ({ body: { UserPoolClient: { ClientSecret: 'shh' } } });

test("token --stack prints only the token to stdout, and says on stderr that it waits for the issuer's new domain", async () => {
  const { baseUrl, received } = await startScriptedService(answer(404, {}), answer(200, { access_token: 'a.b.c' }));
  const { calls, environment } = await startAccount({ outputs: { ...outputs, TokenUrl: baseUrl } }, secret);
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { ended } = runHere(['token', '--stack', stackName, '--scope', 'plants/read'], environment);
  await until(() => {
    vi.runOnlyPendingTimers();
    return received.length === 2;
  });
  const { code, stdout, stderr } = await ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'a.b.c\n' });
  expect(stderr).toMatch(/^The token issuer at \S+ refused: 404\. .*up to a minute.*\n$/);
  expect(calls).toMatchObject([
    { operation: 'DescribeStacks', input: { StackName: stackName } },
    { operation: 'DescribeUserPoolClient', input: { UserPoolId: 'pool', ClientId: 'client' } },
  ]);
  const request = {
    authorization: `Basic ${btoa('client:shh')}`,
    body: 'grant_type=client_credentials&scope=plants%2Fread',
  };
  expect(received).toEqual([request, request]);
});

describe('reading the issuer of a deployed stack', () => {
  const read = (environment: Record<string, string | undefined>, stack = stackName) => {
    const mine = Object.keys(process.env).filter((name) => name.startsWith('AWS_'));
    const nowhere = { AWS_CONFIG_FILE: '/nowhere', AWS_SHARED_CREDENTIALS_FILE: '/nowhere' };
    const clean = { ...Object.fromEntries(mine.map((name) => [name, undefined])), ...nowhere };
    const all = { ...clean, AWS_EC2_METADATA_DISABLED: 'true', ...environment };
    for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
    return readDeployedIssuer(stack);
  };

  test.each<[what: string, given: Record<string, string>, sentence: string]>([
    [
      'trusts another issuer',
      { Scope: 'plants/create', Issuer: 'https://issuer.example' },
      `The stack ${stackName} accepts tokens from https://issuer.example: get one there, with the scope plants/create (for calls from here, set ACCESS_TOKEN to it).`,
    ],
    ['has no client', { ...outputs, ClientId: '' }, `The stack ${stackName} does not have the outputs of a service.`],
  ])('says so if the stack %s', async (_, given, sentence) => {
    const { environment } = await startAccount({ outputs: given }, secret);
    await expect(read(environment)).rejects.toThrow(new Error(sentence));
  });

  test('gives the reason of AWS if the stack or the secret cannot be read', async () => {
    const denied = { __type: 'AccessDeniedException', message: 'not authorized' };
    const { environment } = await startAccount({ outputs }, () => ({ status: 400, body: denied }));
    const ofStack = 'The stack Other cannot be read: Stack with id Other does not exist';
    await expect(read(environment, 'Other')).rejects.toThrow(new Error(ofStack));
    await expect(read(environment)).rejects.toThrow(/^The secret of the client \w+ cannot be read: not authorized$/);
  });

  const key = { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' };
  test.each<[what: string, environment: Record<string, string>, sentence: string]>([
    ['no region', key, 'no region is set; set AWS_REGION, for example AWS_REGION=eu-central-1'],
    ['no credentials', { AWS_REGION: 'eu-central-1' }, 'no AWS credentials were found; set AWS_PROFILE'],
  ])('says which variable to set if the environment has %s', async (_, environment, sentence) => {
    await expect(read(environment)).rejects.toThrow(`The stack ${stackName} cannot be read: ${sentence}`);
  });
});

describe('fetching a token for a deployed stack', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const noConnection = () => Promise.reject(new TypeError('fetch failed'));
  const page = (status: number) => async () => new Response('<html>Not ready.</html>', { status });
  const json = (status: number, body: unknown) => async () => Response.json(body, { status });
  const issued = json(200, { access_token: 'a.b.c' });

  /** Fetches a token from a fake issuer, which gives each response of `atFirst` once, and then always `then`. */
  const ask = async (atFirst: (() => Promise<Response>)[], then: () => Promise<Response>) => {
    const answers = [...atFirst];
    const fetch = vi.spyOn(globalThis, 'fetch').mockImplementation(() => (answers.shift() ?? then)());
    const said: string[] = [];
    const started = performance.now();
    const outcome = fetchDeployedToken(source, (line) => said.push(line)).catch(({ message }: Error) => message);
    await vi.runAllTimersAsync();
    const seconds = (performance.now() - started) / 1000;
    return { outcome: await outcome, said, tries: fetch.mock.calls.length, seconds };
  };

  test.each<[what: string, notReady: () => Promise<Response>]>([
    ['cannot be reached', noConnection],
    ['answers 404 with JSON', json(404, { message: 'Not Found' })],
    ['answers 200 with a page', page(200)],
  ])('is retried, with only one message to the user, while the domain of the issuer %s', async (_, notReady) => {
    const { outcome, said, tries } = await ask([notReady, notReady], issued);
    expect({ outcome, tries }).toEqual({ outcome: 'a.b.c', tries: 3 });
    expect(said).toEqual([expect.stringMatching(/^The token issuer .*plants\.auth\.example.*up to a minute/)]);
  });

  test('gives up if no token has arrived within a minute', async () => {
    const { outcome, said, tries, seconds } = await ask([], page(404));
    expect(outcome).toBe(`The token issuer at ${source.tokenUrl} refused: 404`);
    expect(said, 'messages').toHaveLength(1);
    expect(tries, 'tries').toBeGreaterThan(10);
    expect(seconds, 'seconds').toBeLessThanOrEqual(60);
  });

  test('is not retried if the issuer refuses', async () => {
    const { outcome, said, tries } = await ask([json(400, { error: 'invalid_client' })], issued);
    expect(outcome).toBe(`The token issuer at ${source.tokenUrl} refused: invalid_client`);
    expect({ said, tries }).toEqual({ said: [], tries: 1 });
  });
});
