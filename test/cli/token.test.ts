/** Tests `npm run token` with the local service; deployed-issuer.test.ts tests its option --stack. */
import path from 'node:path';
import tls from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { startIssuer } from '../../local/issuer.ts';
import { writeSession } from '../../local/session.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { answer, startScriptedService } from '../kit/scripted-service.ts';

const token = async (folder: string, ...args: string[]) =>
  run(process.execPath, [path.resolve('cli/token.ts'), ...args], { DATA_DIR: folder }).ended;

test('npm run token prints only a token or, if no local service is running, only what to do', async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const issuer = await startIssuer();
  onTestFinished(issuer.close);
  const { tokenUrl, clientId, clientSecret, scope, certificate } = issuer;
  const end = writeSession(folder, { url: 'http://x', tokenUrl, clientId, clientSecret, scope, certificate });
  const { code, stdout, stderr } = await token(folder);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  end();
  const sentence = `No local service is running with its data in ${folder}. Start it (npm start), or set DATA_DIR to its data folder.\n`;
  expect(await token(folder)).toEqual({ code: 1, stdout: '', stderr: sentence });
});

test.each([
  [[], 'plants%2Fcreate+plants%2Fread'],
  [['--scope', 'plants/read'], 'plants%2Fread'],
])('npm run token with the arguments %j asks the issuer for the scope %s', async (args, scope) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const { baseUrl, received } = await startScriptedService(answer(200, { access_token: 'a.b.c' }));
  const client = { clientId: 'me', clientSecret: 'shh', scope: 'plants/create plants/read' };
  const [certificate = ''] = tls.rootCertificates;
  writeSession(folder, { url: 'http://x', tokenUrl: baseUrl, ...client, certificate });
  expect(await token(folder, ...args)).toEqual({ code: 0, stdout: 'a.b.c\n', stderr: '' });
  expect(received).toMatchObject([{ body: `grant_type=client_credentials&scope=${scope}` }]);
});
