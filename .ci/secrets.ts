/** Looks in every tracked file for what secretlint knows: keys of clouds and services, private keys, passwords in addresses. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { lintSource } from '@secretlint/core';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';

const id = '@secretlint/secretlint-rule-preset-recommend';
// An id alone is not looked for unless told to, though a secret is seldom far from it. Accounts come along with it, of
// which these are the samples of AWS's documentation.
const aws = {
  id: '@secretlint/secretlint-rule-aws',
  options: { enableIDScanRule: true, allows: ['123456789012', '000000000000'] },
};
const config = { rules: [{ id, rule: creator, rules: [aws] }] };

const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0').filter(Boolean);
let found = 0;
for (const filePath of files) {
  const source = { filePath, content: readFileSync(filePath, 'utf8'), ext: '', contentType: 'text' as const };
  const { messages } = await lintSource({ source, options: { config, maskSecrets: true } });
  found += messages.length;
  // A comment that switches the search off; its name is put together here, or this file would be found.
  if (source.content.includes(['secretlint', 'disable'].join('-'))) {
    found += 1;
    console.error(`${filePath}: switches the search for secrets off`);
  }
  for (const { loc, messageId } of messages) console.error(`${filePath}:${loc.start.line}: ${messageId}`);
}
console.info(`${files.length} files, ${found} secrets`);
process.exitCode = files.length > 0 && found === 0 ? 0 : 1;
