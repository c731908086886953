/**
 * Tests that the editors' settings name only scripts, files and ports that exist. CI starts no editor, so nothing else
 * would notice a wrong name.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import devContainer from '../../../../.devcontainer/devcontainer.json' with { type: 'json' };
import packageJson from '../../../../package.json' with { type: 'json' };
import { readPort } from '../../start/settings.ts';

const root = path.resolve(import.meta.dirname, '../../../..');

/** Lists all strings in a configuration. Also joins each command and its arguments into a string, and lists that. */
const stringsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  const strings = Object.values(Object(value)).flatMap(stringsIn);
  const { runtimeExecutable = '', command = runtimeExecutable, runtimeArgs = [], args = runtimeArgs } = Object(value);
  return [...strings, [command, ...[args].flat()].join(' ')];
};

describe.each(globSync('.{vscode,devcontainer}/*.json', { cwd: root }))('%s', (file) => {
  const strings = (): string[] => stringsIn(JSON.parse(readFileSync(path.join(root, file), 'utf8')));

  test('names only npm scripts that exist', () => {
    const scripts = strings().flatMap((text) =>
      [...text.matchAll(/\bnpm (?:run (?:-s )?)?([a-z][\w:-]*)/g)].map(([, script = '']) => script),
    );
    expect(scripts.filter((script) => !(script in packageJson.scripts) && script !== 'ci')).toEqual([]);
  });

  test('names only files and folders that exist', () => {
    const paths = strings().flatMap((text) =>
      [...text.matchAll(/\$\{workspaceFolder\}\/([^\s*]*)/g)].map(([, name = '']) => name),
    );
    expect(paths.filter((name) => !existsSync(path.join(root, name)))).toEqual([]);
  });
});

test('VS Code hides the address of every process that it debugs from other users, as npm start does', () => {
  const { configurations } = JSON.parse(readFileSync(path.join(root, '.vscode/launch.json'), 'utf8'));
  const [hide] = /--inspect-publish-uid=\w+/.exec(readFileSync(path.join(root, 'packages/tools/bin.js'), 'utf8')) ?? [];
  expect(configurations.map(({ env }: { env?: object }) => env)).toEqual([
    { NODE_OPTIONS: hide },
    { NODE_OPTIONS: hide },
  ]);
});

test('VS Code starts the service with reload and the debugger', () => {
  const launch = readFileSync(path.join(root, '.vscode/launch.json'), 'utf8');
  expect(JSON.parse(launch).configurations[0].runtimeArgs).toEqual(['start', '--', '--debug', '--watch']);
});

describe('the dev container', () => {
  test('has the same major version of Node.js as .node-version', () => {
    const [major] = readFileSync(path.join(root, '.node-version'), 'utf8').split('.');
    expect(devContainer.image).toMatch(
      new RegExp(`^mcr\\.microsoft\\.com/devcontainers/.+:\\d+\\.\\d+\\.\\d+-${major}-`),
    );
  });

  test('forwards the default ports of npm start and of its debugger, and no others', () => {
    vi.stubEnv('PORT', '');
    const [service, debug, ...others] = devContainer.forwardPorts;
    expect([service, ...others]).toEqual([readPort()]);
    expect(readFileSync(path.join(root, 'packages/tools/start/command.ts'), 'utf8')).toContain(
      `on port ${debug} unless`,
    );
    expect(devContainer.otherPortsAttributes).toEqual({ onAutoForward: 'ignore' });
    // /docs refuses a Host header with another port.
    expect(devContainer.portsAttributes['3000'].requireLocalPort).toBe(true);
  });
});
