/** Tests the help and the error messages of `npm start` that test/start.test.ts does not. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { lockFolder, openDatabase } from '../../emulator/dynamodb/data-folder.ts';
import { programs, run } from '../kit/local-service.ts';
import { test } from '../kit/local-service-test.ts';

test('npm start names the data folder and exits with code 1 if the stored data is damaged', async ({ home }) => {
  const dynamodb = path.join(home.folder, 'dynamodb');
  await (await lockFolder(home.folder))();
  await (await openDatabase(dynamodb))();
  await writeFile(path.join(dynamodb, 'CURRENT'), 'rubbish\n');
  expect(await home.failure()).toContain(`The data in ${dynamodb} cannot be read`);
});

test('npm start --help lists its settings; an argument or an invalid port for debuggers is an error', async () => {
  const start = (...args: string[]) => run(process.execPath, [programs.start, ...args]).ended;
  const help = await start('--help');
  expect(help).toMatchObject({ code: 0, stderr: '' });
  for (const setting of ['PORT', 'DATA_DIR', 'AWS_ENDPOINT_URL_DYNAMODB']) expect(help.stdout).toContain(setting);
  expect((await start('4000')).stderr).toMatch(/too many arguments.*npm start -- --help/s);
  expect((await start('--debug=none')).stderr).toContain('from 0 (any free port) to 65535');
});
