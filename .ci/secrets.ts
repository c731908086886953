/** Searches every tracked file with secretlint for secret keys, private keys, and passwords in URLs. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { lintSource } from '@secretlint/core';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';
import { Command } from 'commander';

new Command('node .ci/secrets.ts')
  .description('Searches every tracked file for keys of clouds and services, private keys, and passwords in URLs.')
  .showHelpAfterError()
  .parse();

const id = '@secretlint/secretlint-rule-preset-recommend';
// Report AWS access key ids, too, because a secret key is usually close to its id; by default, secretlint ignores these
// ids. The rule also reports AWS account ids, so allow the two sample account ids of AWS's documentation.
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
  // Reject a file with the comment that turns secretlint off. The comment's text is split here, because otherwise this
  // file itself would be rejected.
  if (source.content.includes(['secretlint', 'disable'].join('-'))) {
    found += 1;
    console.error(`${filePath}: disables the search for secrets`);
  }
  for (const { loc, messageId } of messages) console.error(`${filePath}:${loc.start.line}: ${messageId}`);
}
console.info(`${files.length} files, ${found} secrets`);
process.exitCode = files.length > 0 && found === 0 ? 0 : 1;
