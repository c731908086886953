/** Tests that the command finds its project; node.e2e.ts tests that it finds its Node.js. */
import path from 'node:path';
import { run, testFolder, tools } from '@lambda-service/testing/programs';
import { answer, startScriptedService } from '@lambda-service/testing/servers';
import { expect, test } from 'vitest';
import { writeSession } from '../start/session.ts';

const bin = path.resolve(tools[1]);
const runIn = (folder: string, ...args: string[]) =>
  run('sh', ['-c', 'cd "$0" && exec "$@"', folder, tools[0], bin, ...args]).ended;

test.each([{}, { NO_PROXY: 'a.example' }, { no_proxy: 'a.example' }, { NO_PROXY: '*' }])(
  'a command reaches the local service without the proxy that the environment names: %j',
  async (exempt) => {
    const { baseUrl: url } = await startScriptedService(answer(200, []));
    const folder = await testFolder();
    const unused = { tokenUrl: 'x', clientId: 'x', clientSecret: 'x', scope: 'x', certificate: 'x' };
    writeSession(folder, { url, ...unused });
    // Nothing listens there.
    const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:9' };
    const { stderr } = await run(tools[0], [bin, 'request', 'x'], { DATA_DIR: folder, ...proxy, ...exempt }).ended;
    expect(stderr).toContain(`The local service at ${url} has no request x.`);
  },
);

test('a command runs in every folder of the project, and looks there for a file', async () => {
  const stderr = expect.stringMatching(`^There is no file ${path.resolve('docs', 'nothing.ndjson')}: `);
  expect(await runIn('docs', 'import', 'nothing.ndjson')).toEqual({ code: 1, stdout: '', stderr });
});

test('outside a project, a command says what it looks for', async () => {
  const stderr = expect.stringMatching(/^\/ is not in the project of a service: .* cdk\.json\.\n$/);
  expect(await runIn('/', 'token')).toEqual({ code: 1, stdout: '', stderr });
});
