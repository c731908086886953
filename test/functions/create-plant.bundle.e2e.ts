/** Every answer again, from the bundle that would be deployed. */
import files, { readFile } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { newId, testAnswers } from '../kit/answers.ts';
import { proxyEvent } from '../kit/gateway-events.ts';
import { type InProcess, invoker, startInProcess } from '../kit/in-process.ts';

const { functions } = inject('stack');
const bundle = path.join(functions.find(({ name }) => name.startsWith('CreatePlant'))?.folder ?? '', 'index.js');

/** The bundle as a cold start loads it. */
const load = async () => {
  const require = createRequire(bundle);
  delete require.cache[bundle];
  return require(bundle);
};

let service: InProcess;
beforeAll(async () => {
  service = await startInProcess(load);
});
afterAll(() => service.close());

testAnswers(() => service, true);

test('the bundle requires no package of the runtime, only modules of Node.js', async () => {
  const required = (await readFile(bundle, 'utf8')).matchAll(/require\("([^"]+)"\)/g);
  const outside = [...required].map(([, name = '']) => name).filter((name) => !isBuiltin(name));
  expect(outside).toEqual([]);
});

test('the SDK reads no file, not even on the first request', async () => {
  const fresh = invoker(await load());
  const read = vi.spyOn(files, 'readFile');
  expect(await fresh(proxyEvent(`{"id":${newId()},"name":"Moss"}`))).toMatchObject({ status: 200 });
  expect(read).not.toHaveBeenCalled();
});
