/** Kills the service of `npm start` (SIGKILL) under load, or fills its disk: every acknowledged item must be stored. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fetchToken, readSession } from '@lambda-service/tools/session';
import { expect, onTestFinished, test } from 'vitest';
import { bodyOf, differentFrom, type Sample, someSamples } from '../data/index.ts';
import { type LocalService, post, startLocalService, testFolder } from '../programs/index.ts';
import { mapConcurrently, report, seed, trialSize } from '../trial/index.ts';
import { isUnavailable, retryWhile } from '../waiting.ts';
import { part } from './part.ts';

export const testKill = part('kill', async () => {
  const rounds = trialSize(10, 1);

  /** The number of acknowledged items at which the service is killed, with up to `width` more requests in progress. */
  const load = trialSize(400, 50);
  const width = trialSize(8, 4);

  type Running = { service: LocalService; token: string; milliseconds: number };

  const start = async (folder: string, environment = {}): Promise<Running> => {
    const started = performance.now();
    const service = await startLocalService(folder, environment);
    onTestFinished(async () => void (await service.stop('SIGKILL')));
    const milliseconds = performance.now() - started;
    return { service, milliseconds, token: await fetchToken(readSession(folder)) };
  };

  const add = ({ service, token }: Running, { id, content }: Sample): Promise<number> =>
    post(service.url, bodyOf(id, content), token);

  /** Adds an item, and sends the request again after a 503, as the contract advises. @returns the status */
  const addWithRetries = (running: Running, sample: Sample): Promise<number> =>
    retryWhile(() => add(running, sample), isUnavailable);

  /**
   * Sends a different item under an acknowledged id: a 409 proves that the id is taken. To send the acknowledged item
   * would prove nothing, because it would get a 200 even if it had been lost.
   */
  const addOther = (running: Running, sample: Sample): Promise<number> =>
    addWithRetries(running, { ...sample, content: differentFrom(sample.content) });

  test(`npm start keeps every acknowledged item after ${rounds} SIGKILL(s) under load (seed ${seed})`, async () => {
    const folder = await testFolder();
    let running = await start(folder);
    const first = running.milliseconds;
    const starts: number[] = [];
    const all = someSamples(rounds * 2 * load, seed);
    let acknowledgedInAll = 0;

    for (let round = 0; round < rounds; round += 1) {
      const { service } = running;
      const acknowledged: Sample[] = [];
      const unanswered: Sample[] = [];
      await mapConcurrently(all.slice(round * 2 * load, (round + 1) * 2 * load), width, async (sample) => {
        try {
          expect(await addWithRetries(running, sample), 'status').toBe(200);
          acknowledged.push(sample);
        } catch (error) {
          // fetch throws a TypeError if the service has been killed, so this item is not acknowledged.
          if (!(error instanceof TypeError)) throw error;
          unanswered.push(sample);
        }
        if (acknowledged.length === load) void service.stop('SIGKILL');
      });
      await service.ended;
      await expect(fetchToken(readSession(folder))).rejects.toThrow('Start it: npm start');
      expect(unanswered.length, 'requests without a response').toBeGreaterThan(0);

      running = await start(folder);
      starts.push(running.milliseconds);
      const restarted = running;
      const others = await mapConcurrently(acknowledged, width, (sample) => addOther(restarted, sample));
      expect(others).toEqual(acknowledged.map(() => 409));
      const again = (sample: Sample) => addWithRetries(restarted, sample);
      expect(await mapConcurrently(acknowledged, width, again)).toEqual(acknowledged.map(() => 200));
      expect(await mapConcurrently(unanswered, width, again)).toEqual(unanswered.map(() => 200));
      acknowledgedInAll += acknowledged.length;
      report(`round ${round + 1}: ${acknowledged.length} acknowledged, all there; ${unanswered.length} sent again`);
    }
    const slowest = Math.max(...starts);
    report(
      `killed ${rounds} times: ${acknowledgedInAll} acknowledged, 0 missing; slowest start ${ratio(slowest, first)}`,
    );
  });

  const ratio = (time: number, normal: number): string =>
    `${(time / normal).toFixed(2)} of the first (${Math.round(normal)} ms)`;

  test('npm start acknowledges nothing once its disk is full, exits with code 1, and keeps what it acknowledged', async () => {
    const folder = await testFolder();
    const DISK_FULL = path.join(await testFolder(), 'full');
    // A URL, because NODE_OPTIONS would end a path at a space.
    const program = import.meta.resolve(`../programs/full-disk${path.extname(import.meta.filename)}`);
    const running = await start(folder, { DISK_FULL, NODE_OPTIONS: `--import=${program}` });
    const all = someSamples(2 * width, seed);
    const [acknowledged, late] = [all.slice(0, width), all.slice(width)];
    for (const sample of acknowledged) expect(await addWithRetries(running, sample)).toBe(200);
    await writeFile(DISK_FULL, '');
    const ends = await Promise.allSettled(late.map((sample) => add(running, sample)));
    expect(ends).not.toContainEqual({ status: 'fulfilled', value: 200 });
    const stderr = expect.stringContaining('No space left on device');
    expect(await running.service.ended).toMatchObject({ code: 1, stderr });

    const again = await start(folder);
    for (const sample of acknowledged) expect(await addOther(again, sample), 'status of a different item').toBe(409);
  });
});
