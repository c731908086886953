/** Tests the help and the error messages of `npm start` and `npm run -s token`. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { lockFolder, openDatabase } from '../../emulator/dynamodb/data-folder.ts';
import { programs, run } from '../kit/local-service.ts';
import { test } from '../kit/local-service-test.ts';

test('npm start names the folder and exits with code 1 if its data is damaged', async ({ home }) => {
  const dynamodb = path.join(home.folder, 'dynamodb');
  await (await lockFolder(home.folder))();
  await (await openDatabase(dynamodb))();
  await writeFile(path.join(dynamodb, 'CURRENT'), 'rubbish\n');
  expect(await home.failure()).toContain(`The data in ${dynamodb} cannot be read`);
});

test('npm start accepts no argument except --help, which lists its settings', async () => {
  const start = (...args: string[]) => run(process.execPath, [programs.start, ...args]).ended;
  const help = await start('--help');
  expect(help).toMatchObject({ code: 0, stderr: '' });
  const { code, stderr } = await start('--port', '4000');
  expect({ code, stderr }).toEqual({ code: 1, stderr: `npm start does not accept --port.\n${help.stdout}` });
  for (const setting of ['PORT', 'DATA_DIR', 'AWS_ENDPOINT_URL_DYNAMODB']) expect(help.stdout).toContain(setting);
});

test('npm run token accepts --help, and names an unknown option when it rejects it', async () => {
  const token = (...args: string[]) => run(process.execPath, [programs.token, ...args]).ended;
  expect(await token('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('--stack <name>') });
  const { code, stdout, stderr } = await token('--stak', 'PlantStore');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/unknown option '--stak'.*npm run -s token -- --help/s);
});
