/**
 * `npm run bench`: what the functions cost, beside a bare handler and a usual one, as ratios of interleaved runs. Prints a
 * table and writes bench/results.json. The method is in bench/README.md.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { makeCertificate } from '../local/issuer.ts';
import { listen } from '../local/listen.ts';
import lock from '../package-lock.json' with { type: 'json' };
import { claims, makeKey, sign } from '../test/access-tokens.ts';
import { authorizerEvent, proxyEvent } from '../test/gateway-events.ts';
import { type Bundle, makeBundles } from './bundles.ts';

/** Each measures every bundle once, in an order that changes. */
const rounds = 30;

/** Where two runs of the same bundle differ by more, in the median, nothing can be concluded. */
const tolerance = 0.05;

type Task = 'import' | 'first' | 'warm' | 'throughput';

/** `bound` is what issue and README promise; `of` and `against` name bundles. */
type Target = { what: string; task: Task; of: string; against: string; bound: number; isLeast?: true };
const targets: Target[] = [
  { what: 'import', task: 'import', of: 'createPlant', against: 'bare', bound: 0.75 },
  { what: 'import', task: 'import', of: 'createPlant', against: 'usual', bound: 0.35 },
  { what: 'import', task: 'import', of: 'authorizer', against: 'bare', bound: 0.35 },
  { what: 'spawn to first answer', task: 'first', of: 'createPlant', against: 'bare', bound: 0.85 },
  { what: 'spawn to first answer', task: 'first', of: 'createPlant', against: 'usual', bound: 0.5 },
  { what: 'CPU time of a warm request', task: 'warm', of: 'createPlant', against: 'bare', bound: 1.05 },
  { what: 'CPU time of a warm request', task: 'warm', of: 'createPlant', against: 'usual', bound: 0.95 },
  { what: 'throughput', task: 'throughput', of: 'createPlant', against: 'bare', bound: 0.95, isLeast: true },
  { what: 'throughput', task: 'throughput', of: 'createPlant', against: 'usual', bound: 1.05, isLeast: true },
];

const folder = mkdtempSync(path.join(os.tmpdir(), 'plant-store-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
console.log('Bundling ...');
const bundles = makeBundles(folder);

// Store and token issuer in one: both answer at once, over TLS.
const { key, certificate } = await makeCertificate();
const signing = await makeKey('ES256', 'bench');
const server = createServer({ key, cert: certificate }, (request, response) => {
  request.resume();
  request.on('end', () => {
    response.setHeader('x-amzn-requestid', 'BENCH');
    response.end(request.method === 'GET' ? JSON.stringify({ keys: [signing.jwk] }) : '{}');
  });
});
const url = `https://127.0.0.1:${await listen(server, 0)}`;
const certificateFile = path.join(folder, 'certificate.pem');
writeFileSync(certificateFile, certificate);
const token = await sign(signing, claims({ iss: url }));

const environment = {
  // Of the usual bundle's libraries, about themselves.
  NODE_NO_WARNINGS: '1',
  NODE_EXTRA_CA_CERTS: certificateFile,
  AWS_ENDPOINT_URL_DYNAMODB: url,
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'bench',
  AWS_SECRET_ACCESS_KEY: 'bench',
  AWS_LAMBDA_FUNCTION_NAME: 'bench',
  TABLE_NAME: 'plants',
  ISSUER: url,
  JWKS_URI: `${url}/jwks`,
};
const plant = JSON.stringify(proxyEvent('{"id":1234567,"name":"Swiss cheese plant","tag":"climber"}'));
const request = JSON.stringify(authorizerEvent(`Bearer ${token}`));

/** @returns the child's number; for `first` the milliseconds from its spawn to its answer */
const measure = (task: Task, { name, file }: Bundle): Promise<number> =>
  new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(process.execPath, [path.join(import.meta.dirname, 'child.cjs'), task, file], {
      env: { ...environment, EVENT: name === 'authorizer' ? request : plant },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', (number) => resolve(task === 'first' ? performance.now() - started : Number(number)));
    child.on('exit', (code) => code !== 0 && reject(new Error(`${task} of ${name} failed`)));
  });

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

/** For each task and bundle its figure in each round. The bare one is measured twice: the second time as `again`. */
const figures = new Map<string, number[]>();
const of = (task: Task, name: string): number[] => figures.get(`${task} ${name}`) ?? [];

for (let round = 0; round < rounds; round += 1) {
  for (const task of ['import', 'first', 'warm', 'throughput'] as const) {
    const contenders = bundles.map((bundle) => ({ name: bundle.name, bundle }));
    const [bare] = contenders;
    if (bare !== undefined) contenders.push({ ...bare, name: 'again' });
    const turn = round % contenders.length;
    for (const { name, bundle } of [...contenders.slice(turn), ...contenders.slice(0, turn)]) {
      figures.set(`${task} ${name}`, [...of(task, name), await measure(task, bundle)]);
    }
  }
  process.stderr.write(`\r${round + 1} of ${rounds} rounds`);
}
process.stderr.write('\n');
server.close();

/** Of pairs from the same round. */
const ratios = (task: Task, one: string, other: string): number[] => {
  const others = of(task, other);
  return of(task, one).map((figure, index) => figure / (others[index] ?? Number.NaN));
};

const summary = (numbers: number[]) => ({
  min: Math.min(...numbers),
  median: median(numbers),
  max: Math.max(...numbers),
});

const bytes = (name: string): number => bundles.find((bundle) => bundle.name === name)?.bytes ?? Number.NaN;
const sizes = [
  { of: 'createPlant', against: 'bare', bound: 0.62 },
  { of: 'createPlant', against: 'usual', bound: 0.4 },
].map(({ of, against, bound }) => ({ what: 'bundle bytes', of, against, bound, median: bytes(of) / bytes(against) }));
const timed = targets.map(({ task, ...target }) => ({
  ...target,
  ...summary(ratios(task, target.of, target.against)),
}));
const rows: (Omit<Target, 'task'> & { median: number; min?: number; max?: number })[] = [...sizes, ...timed];
const isMet = ({ median, bound, isLeast }: (typeof rows)[number]): boolean =>
  isLeast ? median >= bound : median <= bound;

const digits = (number: number | undefined): string => (number === undefined ? '' : number.toFixed(3));
console.table(
  rows.map((row) => ({
    measure: `${row.what}, ${row.of} / ${row.against}`,
    min: digits(row.min),
    median: digits(row.median),
    max: digits(row.max),
    target: `${row.isLeast ? '>=' : '<='} ${row.bound}`,
    met: isMet(row),
  })),
);
const authorizer = { bytes: bytes('authorizer'), warmMilliseconds: summary(of('warm', 'authorizer')) };
console.log(
  `authorizer: ${authorizer.bytes} bytes (at most 25,600), a warm request ${digits(authorizer.warmMilliseconds.median)} ms of CPU time (at most 0.2)`,
);

const noise = Object.fromEntries(
  (['import', 'first', 'warm', 'throughput'] as const).map((task) => [task, median(ratios(task, 'again', 'bare'))]),
);
const tooNoisy = Object.entries(noise).filter(([, ratio]) => Math.abs(ratio - 1) > tolerance);
console.log(
  `the bare handler against itself: ${Object.entries(noise)
    .map(([task, ratio]) => `${task} ${digits(ratio)}`)
    .join(', ')}`,
);
for (const [task] of tooNoisy) console.log(`This machine is too noisy now to conclude anything of: ${task}`);

const entries: Record<string, { version?: string }> = lock.packages;
const versionOf = (name: string) => [name, entries[`node_modules/${name}`]?.version] as const;
const results = {
  date: new Date().toISOString().slice(0, 10),
  machine: { cpu: os.cpus()[0]?.model, cores: os.cpus().length, memoryGigabytes: Math.round(os.totalmem() / 2 ** 30) },
  versions: {
    node: process.version,
    ...Object.fromEntries(['@aws-sdk/client-dynamodb', '@middy/core', 'aws-jwt-verify', 'esbuild'].map(versionOf)),
  },
  rounds,
  bytes: Object.fromEntries(bundles.map(({ name, bytes }) => [name, bytes])),
  figures: Object.fromEntries([...figures].map(([name, numbers]) => [name, summary(numbers)])),
  ratios: rows,
  bareAgainstItself: noise,
};
writeFileSync(path.join(import.meta.dirname, 'results.json'), `${JSON.stringify(results, null, 2)}\n`);
const isGood =
  tooNoisy.length === 0 && rows.every(isMet) && authorizer.bytes <= 25_600 && authorizer.warmMilliseconds.median <= 0.2;
process.exitCode = isGood ? 0 : 1;
