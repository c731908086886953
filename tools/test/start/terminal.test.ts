import tls from 'node:tls';
import { expect, test } from 'vitest';
import { answer, startScriptedService } from '../../../packages/client/test/kit/scripted-service.ts';
import { testFolder } from '../../../test/kit/local-service.ts';
import { token } from '../../cli/token.ts';
import { writeSession } from '../../start/session.ts';
import { printable } from '../../start/terminal.ts';
import { runHere } from '../cli/kit/run-here.ts';

test.each([
  ['\u0000\r\u001b[2J\u007f\u009b', '\\u0000\\u000d\\u001b[2J\\u007f\\u009b'],
  ['two\nlines of\t"Löwenzahn" \\u001b', 'two\nlines of\t"Löwenzahn" \\u001b'],
])('printable escapes control characters except tabs and line breaks, and nothing else: %j', (text, escaped) => {
  expect(printable(text)).toBe(escaped);
});

test('a command escapes the control characters in what a server says', async () => {
  const folder = await testFolder();
  const { baseUrl } = await startScriptedService(answer(400, { error: '\u001b]0;x\u0007\r\u009b' }));
  const client = { clientId: 'x', clientSecret: 'x', scope: 'x', certificate: tls.rootCertificates[0] ?? '' };
  writeSession(folder, { url: 'http://127.0.0.1:9', tokenUrl: baseUrl, ...client });
  const { code, stdout, stderr } = await runHere(token, [], { DATA_DIR: folder }).ended;
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('refused: \\u001b]0;x\\u0007\\u000d\\u009b\n');
});
