/**
 * `npm run --prefix template record` makes the README's two pictures: `npm start` with a pasted `curl`, and `/docs` in
 * Chromium.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { chromium } from 'playwright-core';

new Command('npm run --prefix template record --')
  .description(
    "Makes the README's two pictures, in docs/images. Needs a free port 3000, and Chromium from CHROMIUM or the PATH.",
  )
  .showHelpAfterError()
  .parse();

const root = path.resolve(import.meta.dirname, '..');
const images = path.join(root, 'docs/images');

/** A line in the terminal, and how many seconds after the start it appeared. */
type Line = { at: number; text: string };

const columns = 110;

/**
 * Draws the terminal as an SVG whose lines appear one after another, or all at once for readers who prefer less motion.
 */
const drawTerminal = (lines: Line[]): string => {
  const rows = lines.flatMap(({ at, text }) => wrap(text).map((row) => ({ at, row })));
  const toXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const texts = rows.map(
    ({ at, row }, index) =>
      `<text x="16" y="${32 + 20 * index}" style="animation-delay:${at.toFixed(1)}s">${toXml(row)}</text>`,
  );
  const size = `width="${32 + 8.4 * columns}" height="${32 + 20 * rows.length}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="npm start, then a pasted curl">
<style>
text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre; opacity: 0; animation: show 0s forwards }
@keyframes show { to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { text { opacity: 1; animation: none } }
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${texts.join('\n')}
</svg>
`;
};

const wrap = (text: string): string[] => text.match(new RegExp(`.{1,${columns}}(?: |$)`, 'g')) ?? [''];

const folder = await mkdtemp(path.join(os.tmpdir(), 'plant-store-record-'));
const service = spawn('npm', ['start'], {
  env: { ...process.env, DATA_DIR: folder },
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const started = performance.now();
  const lines: Line[] = [];
  /** Adds a line to the recording, with this machine's folders replaced by descriptive names. */
  const show = (text: string): void => {
    const shown = text.replaceAll(folder, '.local-service').replaceAll(root, '~/plant-store');
    lines.push({ at: (performance.now() - started) / 1_000, text: shown });
  };

  show('$ npm start');
  let output = '';
  service.stdout.on('data', (chunk) => {
    output += chunk;
    for (const line of String(chunk).split('\n')) if (!/^(>.*|)$/.test(line)) show(line);
  });
  const ended = once(service, 'exit').then(() => {
    throw new Error(`npm start exited before it was ready:\n${output}`);
  });
  while (!output.includes('Ctrl-C')) await Promise.race([once(service.stdout, 'data'), ended]);

  await pause(1_000);
  const curl = /^curl (?:.*\\\n)*.*$/m.exec(output)?.[0] ?? '';
  show('');
  for (const line of `$ ${curl}`.split('\n')) show(line);
  const { stdout } = await promisify(execFile)('sh', ['-c', curl]);
  for (const line of stdout.trimEnd().split(/\r?\n/)) show(line);
  await mkdir(images, { recursive: true });
  await writeFile(path.join(images, 'start.svg'), drawTerminal(lines));

  const executablePath =
    process.env['CHROMIUM'] ?? execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
  const browser = await chromium.launch({ executablePath });
  const page = await browser.newPage({ viewport: { width: 1_100, height: 780 } });
  await page.goto(/http:\S+\/docs/.exec(output)?.[0] ?? '');
  // The picture shows a request and its response.
  await page.getByRole('button', { name: 'Send' }).first().click();
  await page.locator('.answer').first().waitFor();
  await page.screenshot({ path: path.join(images, 'docs.png') });
  await browser.close();
} finally {
  const exited = service.exitCode === null && service.signalCode === null ? once(service, 'exit') : undefined;
  service.kill();
  await exited;
  await rm(folder, { recursive: true, force: true });
}
