import { execFileSync } from 'node:child_process';
import { expect, test, vi } from 'vitest';
import { tokenCommand } from '../../start/token-command.ts';

test.each([undefined, "/srv/Tom's plants"])(
  'the command for a token sets DATA_DIR if the local service has it: %s',
  (folder) => {
    vi.stubEnv('DATA_DIR', folder);
    vi.spyOn(process, 'cwd').mockReturnValue("/home/it's me");
    const script = `npm() { printf 'DATA_DIR=%s %s' "$DATA_DIR" "$*"; }\n${tokenCommand()}`;
    const env = { PATH: process.env['PATH'] };
    expect(execFileSync('sh', ['-c', script], { env, encoding: 'utf8' })).toBe(
      `DATA_DIR=${folder ?? ''} --prefix /home/it's me run -s token`,
    );
  },
);
