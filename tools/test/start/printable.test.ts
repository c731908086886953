/** Tests that no command prints a control character that a server, a file or a file's name contains. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import tls from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { answer, startScriptedService } from '../../../packages/client/test/kit/scripted-service.ts';
import { programs, run, temporaryFolder } from '../../../test/kit/local-service.ts';
import { printable } from '../../start/printable.ts';
import { writeSession } from '../../start/session.ts';

test.each([
  ['\u0000\r\u001b[2J\u007f\u009b', '\\u0000\\u000d\\u001b[2J\\u007f\\u009b'],
  ['two\nlines of\t"Löwenzahn" \\u001b', 'two\nlines of\t"Löwenzahn" \\u001b'],
])('printable escapes control characters except tabs and line breaks, and nothing else: %j', (text, escaped) => {
  expect(printable(text)).toBe(escaped);
});

const evil = '\u001b]0;x\u0007\r\u009b';
const escaped = '\\u001b]0;x\\u0007';

type Command = { args: string[]; environment?: Record<string, string> };

/** Commands that get the text `evil` from a server or a file's name. Each gets an empty folder. */
const commands: Record<string, (folder: string) => Promise<Command>> = {
  'the name of an imported file, from npm run plant': async (INIT_CWD) => {
    await writeFile(path.join(INIT_CWD, evil), 'no JSON\n');
    const args = [programs.plant, 'import', evil, '--url', 'http://127.0.0.1:9', '--token=a.b.c'];
    return { args, environment: { INIT_CWD } };
  },
  'the error of a token issuer, from npm run token': async (DATA_DIR) => {
    const { baseUrl } = await startScriptedService(answer(400, { error: evil }));
    const [certificate = ''] = tls.rootCertificates;
    const client = { clientId: 'x', clientSecret: 'x', scope: 'x', certificate };
    writeSession(DATA_DIR, { url: 'http://127.0.0.1:9', tokenUrl: baseUrl, ...client });
    return { args: [programs.token], environment: { DATA_DIR } };
  },
  'the error of AWS, from npm run restore': async () => {
    const { baseUrl } = await startScriptedService(answer(400, { __type: 'ValidationException', message: evil }));
    const account = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
    const environment = { ...account, AWS_ENDPOINT_URL: baseUrl };
    return { args: [programs.restore, '--from=one', '--to=two'], environment };
  },
};

test.each(Object.entries(commands))('control characters are escaped in %s', async (_, command) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const { args, environment } = await command(folder);
  const { code, stdout, stderr } = await run(process.execPath, args, environment).ended;
  expect(code).toBe(1);
  expect(stdout + stderr).toContain(escaped);
  expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]/u);
});
