/**
 * Creates a plant with a client that the JSON argument configures, and prints the outcome as JSON (a bigint as '1n').
 * Runs on any JavaScript runtime, in the project that installed-client.ts makes.
 */
import process from 'node:process';
import { createPlantStoreClient } from '../../client/plant-store-client.ts';

/**
 * `token`: `endless` is a token function that never resolves; the call is then aborted after 1 ms. `abort`: `at once`
 * aborts the call immediately; if it is a URL, this program sends a GET to it, and aborts the call when that is
 * answered.
 */
export type Call = { baseUrl: string; token?: 'text' | 'function' | 'endless'; abort?: string };

const { baseUrl, token = 'text', abort }: Call = JSON.parse(process.argv[2] ?? '');

const end = new AbortController();
const enough = () => end.abort(new Error('enough'));
if (abort === 'at once') enough();
else if (abort !== undefined) void fetch(abort).then(enough);

const tokens = {
  text: 'a.b.c',
  function: ({ refused }: { refused: boolean }) => (refused ? 'new' : 'old'),
  endless: () => {
    setTimeout(enough, 1);
    return new Promise<string>(() => {});
  },
};

const { createPlant } = createPlantStoreClient({ baseUrl, token: tokens[token] });
const outcome = await createPlant({ id: 2n ** 63n - 1n, name: 'Löwenzahn 🌱', tag: '' }, { signal: end.signal }).catch(
  (error: Error) => ({ thrown: error.message }),
);
const printable = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);
const headers = 'headers' in outcome ? { replayed: outcome.headers.get('idempotent-replayed') } : undefined;
console.log(JSON.stringify({ ...outcome, cause: undefined, headers }, printable));
