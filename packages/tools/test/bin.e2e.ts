/** Tests that the command finds its project; node.e2e.ts tests that it finds its Node.js. */
import path from 'node:path';
import { run, tools } from '@lambda-service/testing/programs';
import { expect, test } from 'vitest';

const bin = path.resolve(tools[1]);
const runIn = (folder: string, ...args: string[]) =>
  run('sh', ['-c', 'cd "$0" && exec "$@"', folder, tools[0], bin, ...args]).ended;

test('a command runs in every folder of the project, and looks there for a file', async () => {
  const stderr = expect.stringMatching(`^There is no file ${path.resolve('docs', 'nothing.ndjson')}: `);
  expect(await runIn('docs', 'import', 'nothing.ndjson')).toEqual({ code: 1, stdout: '', stderr });
});

test('outside a project, a command says what it looks for', async () => {
  const stderr = expect.stringMatching(/^\/ is not in the project of a service: .* cdk\.json\.\n$/);
  expect(await runIn('/', 'token')).toEqual({ code: 1, stdout: '', stderr });
});
