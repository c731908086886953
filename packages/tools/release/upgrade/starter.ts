/** What a new service gets besides the packages. Each version has its own, so two versions can be compared. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/**
 * `files` are those that have nothing to do with its data, with `{{StackName}}` and `{{Title}}` for its names. `pins` are
 * the versions that the packages are tested with; the one of Node.js has the name `.node-version`.
 */
export type Starter = { files: Record<string, string>; pins: Record<string, string> };

/** Moves each pin that is as the older version set it. The others are the team's. */
export const withNewPins = (pins: Record<string, string>, before: Starter, after: Starter): Record<string, string> =>
  Object.fromEntries(
    Object.entries(pins).map(([name, pin]) => [name, pin === before.pins[name] ? (after.pins[name] ?? pin) : pin]),
  );

/** Puts the names of a service into a file, made of the name of its npm package, such as order-store. */
export const withNames = (text: string, packageName: string): string => {
  const words = packageName.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return text.replaceAll('{{StackName}}', words.join('')).replaceAll('{{Title}}', words.join(' '));
};

/** Returns the differences between two versions of the files as a patch, empty if there are none. */
export const starterPatch = async (before: Starter, after: Starter, packageName: string): Promise<string> => {
  const parent = await mkdtemp(path.join(os.tmpdir(), 'service-starter-'));
  try {
    for (const [side, { files }] of Object.entries({ a: before, b: after })) {
      await mkdir(path.join(parent, side));
      for (const [file, text] of Object.entries(files)) {
        const own = withNames(text, packageName);
        await mkdir(path.dirname(path.join(parent, side, file)), { recursive: true });
        await writeFile(path.join(parent, side, file), own, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
      }
    }
    // It exits with 1 if there are differences.
    const diff = promisify(execFile)(
      'git',
      ['diff', '--no-ext-diff', '--full-index', '--no-index', '--no-prefix', '--no-color', 'a', 'b'],
      {
        cwd: parent,
      },
    );
    return await diff.then(
      ({ stdout }) => stdout,
      (error: { code: number; stdout: string }) => {
        if (error.code !== 1) throw error;
        return error.stdout;
      },
    );
  } finally {
    await rm(parent, { recursive: true });
  }
};
