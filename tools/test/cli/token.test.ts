/** Tests `npm run token` with the local service; deployed-issuer.test.ts tests its option --stack. */
import { decodeJwt } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { programs, run, temporaryFolder } from '../../../test/kit/local-service.ts';
import { startIssuer } from '../../start/issuer.ts';
import { writeSession } from '../../start/session.ts';

const token = (folder: string) => run(process.execPath, [programs.token], { DATA_DIR: folder }).ended;

test('npm run token prints only a token or, if no local service is running, only what to do', async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const issuer = await startIssuer();
  onTestFinished(issuer.close);
  const { tokenUrl, clientId, clientSecret, scope, certificate } = issuer;
  const end = writeSession(folder, { url: 'http://x', tokenUrl, clientId, clientSecret, scope, certificate });
  const { code, stdout, stderr } = await token(folder);
  expect([code, stderr]).toEqual([0, '']);
  expect(decodeJwt(stdout)).toMatchObject({ scope });
  end();
  const sentence = `No local service is running with its data in ${folder}. Start it (npm start), or set DATA_DIR to its data folder.\n`;
  expect(await token(folder)).toEqual({ code: 1, stdout: '', stderr: sentence });
});
