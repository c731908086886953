/** Searches every tracked file with secretlint for secret keys, private keys, and passwords in URLs. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { lintSource } from '@secretlint/core';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';

const id = '@secretlint/secretlint-rule-preset-recommend';
// Report AWS access key ids, too, because a secret key is usually close to its id; by default, secretlint ignores these
// ids. The rule also reports AWS account ids, so allow the two sample account ids of AWS's documentation.
const aws = {
  id: '@secretlint/secretlint-rule-aws',
  options: { enableIDScanRule: true, allows: ['123456789012', '000000000000'] },
};
const config = { rules: [{ id, rule: creator, rules: [aws] }] };

const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0').filter(Boolean);
for (const filePath of files) {
  const source = { filePath, content: readFileSync(filePath, 'utf8'), ext: '', contentType: 'text' as const };
  const { messages } = await lintSource({ source, options: { config, maskSecrets: true } });
  const found = messages.map(({ loc, messageId }) => `${filePath}:${loc.start.line}: ${messageId}`);
  // Reject a file with the comment that turns secretlint off. The comment's text is split here, because otherwise this
  // file itself would be rejected.
  if (source.content.includes(['secretlint', 'disable'].join('-')))
    found.push(`${filePath}: disables the search for secrets`);
  for (const each of found) console.error(each);
  if (found.length > 0) process.exitCode = 1;
}
