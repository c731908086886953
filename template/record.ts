/**
 * `npm run --prefix template record` makes the README's two pictures: `npm start` with a row for each of two
 * requests, and `/docs` in Chromium.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
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

const columns = 110;

/** Draws the terminal as an SVG. */
const drawTerminal = (text: string): string => {
  const rows = text.split('\n').flatMap(wrap);
  const toXml = (row: string): string => row.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const texts = rows.map((row, index) => `<text x="16" y="${32 + 20 * index}">${toXml(row)}</text>`);
  const size = `width="${32 + 8.4 * columns}" height="${32 + 20 * rows.length}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="npm start, and a row for each request">
<style>
text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre }
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
  let output = '';
  service.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const ended = once(service, 'exit').then(() => {
    throw new Error(`npm start exited before it was ready:\n${output}`);
  });
  const printed = async (text: string): Promise<void> => {
    while (!output.includes(text)) await Promise.race([once(service.stdout, 'data'), ended]);
  };
  await printed('Ctrl-C');
  // The second request has the id of the first, and another name.
  const curl = /^curl (?:.*\\\n)*.*$/m.exec(output)?.[0] ?? '';
  for (const [command, status] of [
    [curl, 200],
    [curl.replace('Swiss cheese plant', 'Moss'), 409],
  ] as const) {
    await promisify(execFile)('sh', ['-c', command]);
    await printed(` ${status} `);
  }
  // Show what npm start prints without DATA_DIR, in a folder of another name, and without the lines that npm adds.
  const shown = output
    .replaceAll(`DATA_DIR='${folder}' `, '')
    .replaceAll(folder, path.join(root, '.local-service'))
    .replaceAll(root, '~/plant-store')
    .replace(/^(?:>.*\n|\n)*/, '');
  await mkdir(images, { recursive: true });
  await writeFile(path.join(images, 'start.svg'), drawTerminal(`$ npm start\n${shown.trimEnd()}`));

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
