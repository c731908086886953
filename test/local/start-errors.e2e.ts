/** Tests the help and the error messages of `npm start` and `npm run -s token`. */
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

test('with the option --help, npm start lists its settings; with an unknown option, it prints an error that names the option', async () => {
  const start = (...args: string[]) => run(process.execPath, [programs.start, ...args]).ended;
  const help = await start('--help');
  expect(help).toMatchObject({ code: 0, stderr: '' });
  for (const setting of ['PORT', 'DATA_DIR', 'AWS_ENDPOINT_URL_DYNAMODB']) expect(help.stdout).toContain(setting);
  const { code, stdout, stderr } = await start('--port', '4000');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/unknown option '--port'.*npm start -- --help/s);
  expect((await start('4000')).stderr).toMatch(/too many arguments.*npm start -- --help/s);
  expect((await start('--debug=none')).stderr).toContain('from 0 (any free port) to 65535');
});

test('npm run token lists its options if it gets --help, and prints an error that names the option if it gets an unknown one', async () => {
  const token = (...args: string[]) => run(process.execPath, [programs.token, ...args]).ended;
  expect(await token('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('--stack <name>') });
  const { code, stdout, stderr } = await token('--stak', 'PlantStore');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/unknown option '--stak'.*npm run -s token -- --help/s);
});
