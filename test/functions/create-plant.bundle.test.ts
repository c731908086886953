/** Every answer again, from the bundle that would be deployed. */
import { readFile } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { testAnswers } from '../answers.ts';
import { type InProcess, startInProcess } from './in-process.ts';

const { functions } = inject('stack');
const bundle = path.join(functions.find(({ name }) => name.startsWith('CreatePlant'))?.folder ?? '', 'index.js');

let service: InProcess;
beforeAll(async () => {
  service = await startInProcess(async () => createRequire(bundle)(bundle));
});
afterAll(() => service.close());

testAnswers(() => service, true);

test('the bundle brings all that it needs: the versions of the lock file, not those of the runtime', async () => {
  const required = (await readFile(bundle, 'utf8')).matchAll(/require\("([^"]+)"\)/g);
  const outside = [...required].map(([, name = '']) => name).filter((name) => !isBuiltin(name));
  expect(outside).toEqual([]);
});
