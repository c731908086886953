import { spawnSync } from 'node:child_process';
import { type Browser, chromium } from 'playwright-core';

/**
 * Starts Chromium, and waits as long as the start takes. Runs the program that the environment variable CHROMIUM names
 * or, if it is unset or empty, the first `chromium` in PATH. @throws Error if no such program is found
 */
export const startChromium = async (proxy: string): Promise<Browser> => {
  const found = spawnSync('sh', ['-c', 'command -v "$0"', process.env['CHROMIUM'] || 'chromium'], { encoding: 'utf8' });
  const executablePath = found.stdout.trim();
  if (executablePath === '') {
    throw new Error(
      'No chromium is on PATH. Install it (Debian: apt-get install chromium), or set CHROMIUM to its path.',
    );
  }
  return chromium.launch({ executablePath, proxy: { server: proxy, bypass: '127.0.0.1' }, timeout: 0 });
};
