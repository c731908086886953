/** Runs the suite of test/kit/responses.ts against the bundle that would be deployed. */
import files, { readFile } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { proxyEvent } from '../kit/gateway-events.ts';
import { type InProcess, invoker, startInProcess } from '../kit/in-process.ts';
import { newId, testResponses } from '../kit/responses.ts';

const { functions } = inject('stack');
const bundle = path.join(functions.find(({ name }) => name.startsWith('CreatePlant'))?.folder ?? '', 'index.js');

/** Loads the bundle anew, as a cold start does. */
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

testResponses(() => service, true);

test("createPlant's bundle requires only modules of Node.js, no package of the Lambda runtime", async () => {
  const required = (await readFile(bundle, 'utf8')).matchAll(/require\("([^"]+)"\)/g);
  const outside = [...required].map(([, name = '']) => name).filter((name) => !isBuiltin(name));
  expect(outside).toEqual([]);
});

test('createPlant lets the SDK read no file, not even on the first request', async () => {
  const fresh = invoker(await load());
  const read = vi.spyOn(files, 'readFile');
  expect(await fresh(proxyEvent(`{"id":${newId()},"name":"Moss"}`))).toMatchObject({ status: 200 });
  expect(read).not.toHaveBeenCalled();
});
