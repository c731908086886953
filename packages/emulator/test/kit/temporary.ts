/** What exists until the test ends that creates it. */
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { listen } from '../../servers.ts';

/** Creates an empty folder. @returns its path */
export const temporaryFolder = async (): Promise<string> => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'emulator-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

/** Starts a server on a free port of 127.0.0.1. @returns the port */
export const startServer = async (server: Server): Promise<number> => {
  const port = await listen(server, 0);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return port;
};

/** Timers of this thread, such as time limits, then stand still until the test advances them. */
export const stopTimers = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
};
