import { execFileSync } from 'node:child_process';
import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { testFolder } from '@lambda-service/testing/programs';
import { expect, test, vi } from 'vitest';
import { tokenCommand } from '../../start/token-command.ts';

test.each([undefined, "/srv/Tom's plants"])(
  'the command for a token runs the bin in the project, with the DATA_DIR of the local service (%s), even if cd prints',
  async (data) => {
    const project = path.join(await realpath(await testFolder()), "it's me");
    const bin = path.join(project, 'node_modules/.bin');
    await mkdir(bin, { recursive: true });
    // In place of the bin: Node.js runs a file `token` in the current folder.
    await symlink(process.execPath, path.join(bin, 'lambda-service'));
    await writeFile(path.join(project, 'token'), 'console.log(process.cwd(), process.env.DATA_DIR)');
    vi.stubEnv('DATA_DIR', data);
    vi.spyOn(process, 'cwd').mockReturnValue(project);
    const script = `cd() { command cd "$@" && ls; }\necho "$(${tokenCommand()})"`;
    const options = { cwd: '/', env: { PATH: process.env['PATH'] }, encoding: 'utf8' } as const;
    expect(execFileSync('sh', ['-c', script], options)).toBe(`${project} ${data}\n`);
  },
);
