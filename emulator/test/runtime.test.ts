/** Tests the worker thread that runs a function; functions.test.ts tests the rest. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import tls from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { makeCertificate } from '../../local/issuer.ts';
import { temporaryFolder } from '../../test/kit/local-service.ts';
import { localFunction } from '../lambda/functions.ts';

const invoke = async (handler: string, ...certificates: string[]) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  await writeFile(path.join(folder, 'package.json'), '{"type":"commonjs"}');
  await writeFile(path.join(folder, 'index.js'), `exports.handler = async () => ${handler};`);
  const spec = {
    name: 'Fn',
    folder,
    handler: 'index.handler',
    environment: {},
    timeout: 9_000,
    memoryMegabytes: 128,
    role: [],
  };
  const fn = localFunction(spec, certificates);
  onTestFinished(fn.close);
  return fn.invoke({});
};

test('a function trusts the given certificate besides the default certificate authorities', async () => {
  const { certificate } = await makeCertificate();
  const outcome = await invoke("require('node:tls').getCACertificates('default').length", certificate);
  expect(Number('result' in outcome && outcome.result)).toBeGreaterThan(tls.rootCertificates.length);
});

test('an object logged with further arguments becomes text, as does one that JSON cannot represent', async () => {
  const { log } = await invoke('{ console.info({ a: 1 }, "and more"); console.info({ big: 1n }); }');
  expect(log.map(({ message }) => message)).toEqual(['{ a: 1 } and more', '{ big: 1n }']);
});
