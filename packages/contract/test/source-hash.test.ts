import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sourceHash } from '../source-hash.ts';

test('the hash of the sources changes with the document, and only with it as long as the generator is the same', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'contract-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const document = path.join(folder, 'openapi.yaml');
  const hashes: string[] = [];
  for (const text of ['paths: {}', 'paths:', 'paths: {}']) {
    await writeFile(document, text);
    hashes.push(sourceHash(document));
  }
  expect(hashes[1]).not.toBe(hashes[0]);
  expect(hashes[2]).toBe(hashes[0]);
});
