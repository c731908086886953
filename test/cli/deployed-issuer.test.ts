import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { fetchDeployedToken } from '../../cli/deployed-issuer.ts';
import { fetchToken } from '../../local/session.ts';

const source = {
  tokenUrl: 'https://plants.auth.example/oauth2/token',
  clientId: 'client',
  clientSecret: 'shh',
  scope: 'plants/create',
};

const noConnection = (code: string) => () =>
  Promise.reject(new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) }));
const page = (status: number) => async () => new Response('<html>Not ready.</html>', { status });
const json = (status: number, body: unknown) => async () => Response.json(body, { status });
const token = json(200, { access_token: 'a.b.c' });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/**
 * Fetches a token from a fake issuer, which gives each response of `atFirst` once, and then always the response `then`.
 */
const ask = async (atFirst: (() => Promise<Response>)[], then: () => Promise<Response>) => {
  const answers = [...atFirst];
  const fetch = vi.spyOn(globalThis, 'fetch').mockImplementation(() => (answers.shift() ?? then)());
  const said: string[] = [];
  const started = performance.now();
  const outcome = fetchDeployedToken(source, (line) => said.push(line)).catch(({ message }: Error) => message);
  await vi.runAllTimersAsync();
  return {
    outcome: await outcome,
    said,
    tries: fetch.mock.calls.length,
    seconds: (performance.now() - started) / 1000,
  };
};

describe('fetching a token for a deployed stack', () => {
  test.each<[what: string, notReady: () => Promise<Response>]>([
    ['has no address yet', noConnection('ENOTFOUND')],
    ['cannot be resolved for now', noConnection('EAI_AGAIN')],
    ['refuses connections', noConnection('ECONNREFUSED')],
    ['resets connections', noConnection('ECONNRESET')],
    ['shows the certificate of another host', noConnection('ERR_TLS_CERT_ALTNAME_INVALID')],
    ['does not speak TLS', noConnection('EPROTO')],
    ['never answers', () => Promise.reject(new DOMException('aborted', 'TimeoutError'))],
    ['answers 400 with a page', page(400)],
    ['answers 403 with a page', page(403)],
    ['answers 404', page(404)],
    ['answers 404 with JSON', json(404, { message: 'Not Found' })],
    ['answers 502', page(502)],
    ['answers 503 with JSON', json(503, null)],
    ['answers 200 with a page', page(200)],
  ])('is retried, with only one message to the user, while the domain of the issuer %s', async (_, notReady) => {
    const { outcome, said, tries } = await ask([notReady, notReady], token);
    expect({ outcome, tries }).toEqual({ outcome: 'a.b.c', tries: 3 });
    expect(said).toEqual([expect.stringMatching(/^The token issuer .*plants\.auth\.example.*up to a minute/)]);
  });

  test('gives up if no token has arrived within a minute', async () => {
    const { outcome, said, tries, seconds } = await ask([], page(404));
    expect(outcome).toBe(`The token issuer at ${source.tokenUrl} refused: 404`);
    expect(said, 'messages').toHaveLength(1);
    expect(tries, 'tries').toBeGreaterThan(10);
    expect(seconds, 'seconds').toBeGreaterThan(50);
    expect(seconds, 'seconds').toBeLessThanOrEqual(60);
  });

  test.each([
    [400, 'invalid_client'],
    [401, 'invalid_client'],
    [400, 'invalid_grant'],
    [400, 'invalid_scope'],
    [400, 'unauthorized_client'],
  ])('is not retried if the issuer answers %i %s', async (status, error) => {
    const { outcome, said, tries } = await ask([json(status, { error })], token);
    expect(outcome).toBe(`The token issuer at ${source.tokenUrl} refused: ${error}`);
    expect({ said, tries }).toEqual({ said: [], tries: 1 });
  });

  test('succeeds at once if the issuer is ready', async () => {
    expect(await ask([], token)).toEqual({ outcome: 'a.b.c', said: [], tries: 1, seconds: 0 });
  });
});

test('fetchToken gives up on a token endpoint that does not answer within 10 seconds', async () => {
  const timeout = vi
    .spyOn(AbortSignal, 'timeout')
    .mockReturnValue(AbortSignal.abort(new DOMException('', 'TimeoutError')));
  vi.spyOn(globalThis, 'fetch').mockImplementation(
    (_, init) => new Promise((_, reject) => init?.signal?.aborted && reject(init.signal.reason)),
  );
  await expect(fetchToken(source)).rejects.toThrow('does not answer');
  expect(timeout).toHaveBeenCalledWith(10_000);
});
