/** Every answer again, from the bundle that would be deployed. */
import { createRequire } from 'node:module';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { synthesize } from '../../local/stack.ts';
import { testAnswers } from '../answers.ts';
import { externalIssuer } from '../infra/stacks.ts';
import { temporaryFolder } from '../local-service.ts';
import { type InProcess, startInProcess } from './in-process.ts';

let service: InProcess;
let remove: () => Promise<void>;
beforeAll(async () => {
  const temporary = await temporaryFolder();
  remove = temporary.remove;
  const { functions } = synthesize(temporary.folder, externalIssuer);
  const bundle = path.join(functions.find(({ name }) => name.startsWith('CreatePlant'))?.folder ?? '', 'index.js');
  service = await startInProcess(async () => createRequire(bundle)(bundle));
});
afterAll(async () => {
  await service.close();
  await remove();
});

testAnswers(() => service, true);
