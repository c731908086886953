import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import path from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/**
 * Starts Chromium, and waits as long as the start takes. Runs the program that the environment variable CHROMIUM names
 * or, if it is unset or empty, the first `chromium` in PATH. @throws Error if no such program is found
 */
export const startChromium = async (proxy: string): Promise<Browser> => {
  const { CHROMIUM, PATH = '' } = process.env;
  const places = CHROMIUM ? [CHROMIUM] : PATH.split(path.delimiter).map((folder) => path.join(folder, 'chromium'));
  for (const executablePath of places) {
    const isThere = await access(executablePath, constants.X_OK).then(
      () => true,
      () => false,
    );
    const bypass = '127.0.0.1';
    if (isThere) return chromium.launch({ executablePath, proxy: { server: proxy, bypass }, timeout: 0 });
  }
  throw new Error(
    CHROMIUM
      ? `CHROMIUM is ${CHROMIUM}, which is not a program.`
      : 'No chromium is on PATH. Install it (Debian: apt-get install chromium), or set CHROMIUM to its path.',
  );
};
