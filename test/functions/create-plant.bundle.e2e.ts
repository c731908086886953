/** Runs the tests of test/kit/responses.ts against the bundle of createPlant, exactly as it would be deployed. */
import { readFile } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type InProcess, startInProcess } from '../kit/in-process.ts';
import { testResponses } from '../kit/responses.ts';

const { functions } = inject('stack');
const bundle = path.join(functions.find(({ name }) => name.startsWith('CreatePlant'))?.folder ?? '', 'index.js');

/** Loads the bundle again, without any state from before, as a cold start does. */
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

test("createPlant's bundle requires only Node.js's own modules, and no package of the Lambda runtime", async () => {
  const required = (await readFile(bundle, 'utf8')).matchAll(/require\("([^"]+)"\)/g);
  const outside = [...required].map(([, name = '']) => name).filter((name) => !isBuiltin(name));
  expect(outside).toEqual([]);
});
