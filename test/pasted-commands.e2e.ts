/**
 * Pastes the shell blocks of the documents into a shell, which goes on after a command that fails. Fake programs record
 * their calls. If one fails, nothing after it in its block may change an account.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileFolder, run } from '@lambda-service/testing/programs';
import { describe, expect, test } from 'vitest';

/** Matches calls that only read, or stay on this machine. Every other call counts as a change. */
const harmless = /^(?:aws \S+ (?:describe|list|get|wait)|(?:curl|gh|npm|npx @\S+) (?!.*(?:--stack|restore))|block )/;

const root = path.resolve(import.meta.dirname, '..');
const documents = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: root })
  .toString()
  .trim()
  .split('\n')
  .filter((file) => existsSync(path.join(root, file)));

/** The blocks of each section, with a word for each placeholder. */
const sections = documents.flatMap((file) =>
  readFileSync(path.join(root, file), 'utf8')
    .split(/^##+ /m)
    .map((section) => ({
      name: `${file}, ${section.split('\n')[0]}`,
      blocks: [...section.matchAll(/^ *```(?:sh|bash)\n(.*?)^ *```/gms)].map(([, block = '']) =>
        block.replaceAll(/<[a-z][^<>\n]*>/gi, 'placeholder'),
      ),
    })),
);

const stackId = 'arn:aws:cloudformation:eu-west-1:123456789012:stack/PlantStore-prod-x/0a1b';

/** The n-th line of the file with the calls is that of the n-th call, which fails if `$FAILING` is n. */
const fake = `#!/bin/bash
printf -v call '%s ' "\${0##*/}" "$@"
echo "\${call//$'\\n'/ }" >> "$CALLS"
mapfile -t calls < "$CALLS"
[ "\${#calls[@]}" -ne "$FAILING" ] || { echo 'An error occurred (ExpiredToken)' >&2; exit 254; }
case "$*" in *StackId*) echo ${stackId};; *StackStatus*) echo "$STATUS";; *) echo one;; esac
`;
const folder = await fileFolder();
for (const name of ['aws', 'npx', 'npm', 'node', 'cdk', 'gh', 'curl', 'rm', 'sleep'])
  await writeFile(path.join(folder, name), fake, { mode: 0o755 });
for (const name of ['awk', 'date', 'grep', 'sed'])
  await writeFile(path.join(folder, name), `#!/bin/sh\nPATH=/usr/bin:/bin exec ${name} "$@"\n`, { mode: 0o755 });

let pastes = 0;
/**
 * Pastes blocks into a shell that finds only these programs.
 * @param failing which line of the result is that of a call that fails, from 1
 * @returns the calls, and a line `block n` before those of each block
 */
const paste = async (blocks: string[], { failing = 0, status = 'DELETE_COMPLETE' } = {}): Promise<string[]> => {
  const own = path.join(folder, String(pastes++));
  await mkdir(own);
  const calls = path.join(own, 'calls');
  const environment = { CALLS: calls, FAILING: String(failing), STATUS: status, HOME: own, HISTFILE: '/dev/null' };
  const { child, ended } = run('bash', ['--norc', '--noprofile', '-i'], environment);
  const marked = blocks.map((block, index) => `echo "block ${index}" >> "$CALLS"\n${block}`);
  child.stdin.end(`cd '${own}' && PATH='${folder}'\n${marked.join('\n')}`);
  const { stderr } = await ended;
  expect(stderr).not.toMatch(/command not found|syntax error/);
  return (await readFile(calls, 'utf8')).trim().split('\n');
};

const changesIn = (calls: string[]): string[] => calls.filter((call) => !harmless.test(call));

const changing = sections.filter(
  ({ blocks }) => changesIn(blocks.join('\n').match(/\b(aws|npx|rm) .*/g) ?? []).length > 0,
);

test.each(changing)('$name: if a command fails, nothing after it in its block changes anything', async ({ blocks }) => {
  const calls = await paste(blocks);
  const text = calls.join('\n');
  for (const [command] of blocks.join('\n').matchAll(/\b(?:aws \S+ \S+|npx \S+ \w+)/g)) expect(text).toContain(command);
  for (const [index, call] of calls.entries()) {
    if (call.startsWith('block ')) continue;
    const after = (await paste(blocks, { failing: index + 1 })).slice(index + 1);
    const end = after.findIndex((each) => each.startsWith('block '));
    expect(changesIn(end === -1 ? after : after.slice(0, end)), `after this failed: ${call}`).toEqual([]);
  }
});

describe('the section of the runbook that removes the stack', () => {
  const [{ blocks } = { blocks: [] }] = sections.filter(({ name }) => name.endsWith('runbook.md, Remove the stack'));

  test('deletes the roles in the path of this very stack and its region', async () => {
    const listed = (await paste(blocks)).filter((call) => call.includes('list-roles'));
    expect(listed).toEqual([expect.stringContaining(' --path-prefix /PlantStore-prod-x/eu-west-1/ ')]);
  });

  test.each(['UPDATE_COMPLETE', 'DELETE_IN_PROGRESS', 'DELETE_FAILED', 'None', ''])(
    'changes nothing but the stack as long as the status of the stack is %j',
    async (status) => {
      const changed = changesIn(await paste(blocks, { status }));
      expect(changed.map((call) => call.split(' ').slice(0, 3).join(' '))).toEqual([
        'aws cloudformation update-termination-protection',
        'npx cdk destroy',
      ]);
    },
  );

  test('changes nothing if AWS does not say which stack it is', async () => {
    expect(changesIn(await paste(blocks, { failing: 2 }))).toEqual([]);
  });
});
