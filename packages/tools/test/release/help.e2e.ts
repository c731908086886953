import { run, programs as testedPrograms } from '@lambda-service/testing/programs';
import { expect, test } from 'vitest';
import packageJson from '../../../../package.json' with { type: 'json' };

/**
 * The npm scripts that run a program of this project, each with the file of the program. The other scripts run tools
 * such as Vitest and Biome.
 */
const programs = Object.entries(packageJson.scripts).flatMap(([script, command]) => {
  const [, file] = /\bnode (?:\S+ )*(\S+\.ts)$/.exec(command) ?? [];
  return file === undefined ? [] : [[script, file] as const];
});

/**
 * Options that turn on the permission model of Node.js, so that a program that writes a file or starts a process gets
 * an error.
 */
const readOnly = ['--permission', '--allow-fs-read=*', '--allow-addons', '--disable-warning=PERM0001'];
const runReadOnly = (...args: string[]) => run(process.execPath, [...readOnly, ...args]).ended;
/** bin.js starts Node.js again unless it has these options. */
const start = ['--inspect-publish-uid=stderr', '--max-semi-space-size=16', ...testedPrograms.start.slice(1)];

test.each([...programs.map(([script, file]) => [script, [file]] as const), ['start', start] as const])(
  'npm run %s -- --help prints how to use it, and does nothing else',
  async (script, args) => {
    const { code, stdout, stderr } = await runReadOnly(...args, '--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: npm (?:run (?:-s )?)?${script} -- `));
  },
);

// A test of one program is enough, because all programs leave unknown options to Commander.
test("if npm start gets an unknown option, it prints the option's name, exits with code 1, and does nothing else", async () => {
  const { code, stdout, stderr } = await runReadOnly(...start, '--nonsense');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: unknown option '--nonsense'\n/);
});
