/**
 * `npm run bench` measures the functions, a bare handler and a usual handler in turn, and reports the ratios. It prints
 * a table and writes bench/results.json. bench/README.md describes the method.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { operations } from '../functions/generated/contract.ts';
import { makeCertificate } from '../local/certificate.ts';
import { listen } from '../local/listen.ts';
import lock from '../package-lock.json' with { type: 'json' };
import { audience, claims, makeKey, type SigningKey, sign } from '../test/kit/access-tokens.ts';
import { authorizerEvent, proxyEvent } from '../test/kit/gateway-events.ts';
import { type Bundle, makeBundles } from './bundles.ts';
import { quantile } from './quantile.ts';

new Command('npm run bench --')
  .description(
    'Compares the functions with a bare and a usual handler, and writes bench/results.json. Takes ten minutes.',
  )
  .showHelpAfterError()
  .parse();

/** The number of rounds. Each round measures every bundle once for every task, in an order that changes. */
const rounds = 30;

/**
 * The highest acceptable noise: if a bundle's median ratio to itself differs from 1 by more, the run proves nothing.
 */
const tolerance = 0.05;

/** The tasks of a child process, and the measures that each task yields. */
const tasks = { import: ['import'], first: ['first'], warm: ['warm', 'throughput'] } as const;
type Task = keyof typeof tasks;
type Measure = (typeof tasks)[Task][number];
const measures = Object.values(tasks).flat();

/** The operation that is compared with the bare and the usual handler: all three store a plant. */
const [measured = ''] = Object.entries(operations).flatMap(([id, { method, path }]) =>
  method === 'POST' && path === '/plants' ? id : [],
);

/**
 * A target in bench/README.md: the ratio of the bundle `of` to the bundle `against` is at most `bound`, or at least
 * `bound` if `isLeast` is set.
 */
type Target = { what: string; measure: Measure; of: string; against: string; bound: number; isLeast?: true };
const targets: Target[] = [
  { what: 'import', measure: 'import', of: measured, against: 'bare', bound: 0.75 },
  { what: 'import', measure: 'import', of: measured, against: 'usual', bound: 0.35 },
  { what: 'import', measure: 'import', of: 'authorizer', against: 'bare', bound: 0.35 },
  { what: 'spawn to first response', measure: 'first', of: measured, against: 'bare', bound: 0.85 },
  { what: 'spawn to first response', measure: 'first', of: measured, against: 'usual', bound: 0.5 },
  { what: 'CPU time of a warm request', measure: 'warm', of: measured, against: 'bare', bound: 1.05 },
  { what: 'CPU time of a warm request', measure: 'warm', of: measured, against: 'usual', bound: 0.95 },
  { what: 'throughput', measure: 'throughput', of: measured, against: 'bare', bound: 0.95, isLeast: true },
  { what: 'throughput', measure: 'throughput', of: measured, against: 'usual', bound: 1.05, isLeast: true },
];

const folder = mkdtempSync(path.join(os.tmpdir(), 'plant-store-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// By default, SIGINT, SIGTERM and SIGHUP end the process without an 'exit' event, which would leave the temporary
// folder behind.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));
console.log('Bundling ...');
const bundles = makeBundles(folder);

// One server acts as the store and the token issuer. It responds at once, over TLS.
const { key, certificate } = await makeCertificate();
// RS256 is what Cognito, the stack's default issuer, uses; ES256 is the other algorithm that the authorizer accepts.
const signing = { RS256: await makeKey('RS256', 'rs'), ES256: await makeKey('ES256', 'es') };
const keySet = JSON.stringify({ keys: [signing.RS256.jwk, signing.ES256.jwk] });
const server = createServer({ key, cert: certificate }, (request, response) => {
  request.resume();
  request.on('end', () => {
    response.setHeader('x-amzn-requestid', 'BENCH');
    response.end(request.method === 'GET' ? keySet : '{}');
  });
});
const url = `https://127.0.0.1:${await listen(server, 0)}`;
const certificateFile = path.join(folder, 'certificate.pem');
writeFileSync(certificateFile, certificate);

const environment = {
  // Hide the warnings that libraries in the `usual` bundle make Node.js print.
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
  AUDIENCE: audience,
  SCOPE_CLAIM: 'scope',
};
const plant = JSON.stringify(proxyEvent('{"id":1234567,"name":"Swiss cheese plant","tag":"climber"}'));
const requestWith = async (key: SigningKey): Promise<string> =>
  JSON.stringify(authorizerEvent(`Bearer ${await sign(key, claims({ iss: url }))}`));
const events: Record<string, string> = {
  authorizer: await requestWith(signing.RS256),
  'authorizer, ES256': await requestWith(signing.ES256),
};

/**
 * The bundles to measure. Per round, the bare one is measured twice (to know the noise) and the authorizer once per
 * signature algorithm; other operations are left out.
 */
const contenders: Bundle[] = bundles.flatMap((bundle) => {
  if (!['bare', 'usual', measured, 'authorizer'].includes(bundle.name)) return [];
  if (bundle.name === 'bare') return [bundle, { ...bundle, name: 'again' }];
  return bundle.name === 'authorizer' ? [bundle, { ...bundle, name: 'authorizer, ES256' }] : [bundle];
});

type Numbers = Partial<Record<Measure, number>>;

/**
 * Runs a task in a child process. @returns the child's figures; for the task `first`, the milliseconds from spawn to
 * response
 */
const run = (task: Task, { name, file }: Bundle): Promise<Numbers> =>
  new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(process.execPath, [path.join(import.meta.dirname, 'child.cjs'), task, file], {
      env: { ...environment, EVENT: events[name] ?? plant },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    let measured: Numbers | undefined;
    child.on('message', (numbers: Numbers) => {
      measured = task === 'first' ? { first: performance.now() - started } : numbers;
    });
    // Wait until the child process has exited; otherwise its exit would slow down the next measurement.
    child.on('exit', (code) =>
      code === 0 && measured ? resolve(measured) : reject(new Error(`${task} of ${name} failed`)),
    );
  });

const median = (numbers: number[]): number => quantile(numbers, 0.5);

/**
 * Whether to run a task for a bundle. Nothing is compared with the authorizer's `first`, and its `import` does not
 * depend on the token's algorithm.
 */
const isMeasured = (task: Task, name: string): boolean =>
  task === 'warm' || !name.startsWith('authorizer') || (task === 'import' && name === 'authorizer');

/** The measured figures, one for each round, by measure and bundle. */
const figures = new Map<string, number[]>();
const of = (measure: Measure, name: string): number[] => figures.get(`${measure} ${name}`) ?? [];

for (let round = 0; round < rounds; round += 1) {
  for (const task of Object.keys(tasks) as Task[]) {
    const turn = round % contenders.length;
    for (const contender of [...contenders.slice(turn), ...contenders.slice(0, turn)]) {
      if (!isMeasured(task, contender.name)) continue;
      for (const [measure, figure] of Object.entries(await run(task, contender)) as [Measure, number][]) {
        figures.set(`${measure} ${contender.name}`, [...of(measure, contender.name), figure]);
      }
    }
  }
  process.stderr.write(`\r${round + 1} of ${rounds} rounds`);
}
process.stderr.write('\n');
server.close();

/** Divides the figures of one bundle by those of another, round by round. */
const ratios = (measure: Measure, one: string, other: string): number[] => {
  const others = of(measure, other);
  return of(measure, one).map((figure, index) => figure / (others[index] ?? Number.NaN));
};

const summary = (numbers: number[]) => ({
  min: Math.min(...numbers),
  median: median(numbers),
  max: Math.max(...numbers),
});

const bytes = (name: string): number => bundles.find((bundle) => bundle.name === name)?.bytes ?? Number.NaN;
const sizes = [
  { of: measured, against: 'bare', bound: 0.62 },
  { of: measured, against: 'usual', bound: 0.4 },
].map(({ of, against, bound }) => ({ what: 'bundle bytes', of, against, bound, median: bytes(of) / bytes(against) }));
const timed = targets.map((target) => ({
  ...target,
  ...summary(ratios(target.measure, target.of, target.against)),
}));
const rows: (Omit<Target, 'measure'> & { measure?: Measure; median: number; min?: number; max?: number })[] = [
  ...sizes,
  ...timed,
];
const isMet = ({ median, bound, isLeast }: (typeof rows)[number]): boolean =>
  isLeast ? median >= bound : median <= bound;

/** The noise: for each measure, the median ratio of the bare handler to itself. */
const noise = Object.fromEntries(measures.map((measure) => [measure, median(ratios(measure, 'again', 'bare'))]));

/**
 * Whether it is certain that a target is met or missed. It is not if the median is closer to the bound than the noise.
 */
const isDecided = ({ measure, median, bound }: (typeof rows)[number]): boolean =>
  measure === undefined || Math.abs(median / bound - 1) >= Math.abs((noise[measure] ?? 1) - 1);

const digits = (number: number | undefined): string => (number === undefined ? '' : number.toFixed(3));
console.table(
  rows.map((row) => ({
    measure: `${row.what}, ${row.of} / ${row.against}`,
    min: digits(row.min),
    median: digits(row.median),
    max: digits(row.max),
    target: `${row.isLeast ? '>=' : '<='} ${row.bound}`,
    met: `${isMet(row) ? 'yes' : 'no'}${isDecided(row) ? '' : ', within the noise'}`,
  })),
);
const authorizer = {
  bytes: bytes('authorizer'),
  warm: { RS256: summary(of('warm', 'authorizer')), ES256: summary(of('warm', 'authorizer, ES256')) },
};
console.log(
  `authorizer: ${authorizer.bytes} bytes (at most 25,600); CPU time of a warm request in ms, min / median / max: ${Object.entries(
    authorizer.warm,
  )
    .map(([alg, { min, median, max }]) => `${alg} ${digits(min)} / ${digits(median)} / ${digits(max)}`)
    .join(', ')} (at most 0.2)`,
);

const tooNoisy = Object.entries(noise).filter(([, ratio]) => Math.abs(ratio - 1) > tolerance);
console.log(
  `the bare handler against itself: ${Object.entries(noise)
    .map(([measure, ratio]) => `${measure} ${digits(ratio)}`)
    .join(', ')}`,
);
for (const [measure] of tooNoisy)
  console.log(`This machine is too noisy at the moment to compare this measure: ${measure}`);

const entries: Record<string, { version?: string; link?: boolean }> = lock.packages;
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
  authorizer,
  bareAgainstItself: noise,
};
writeFileSync(path.join(import.meta.dirname, 'results.json'), `${JSON.stringify(results, null, 2)}\n`);
const isGood =
  tooNoisy.length === 0 &&
  rows.every(isMet) &&
  authorizer.bytes <= 25_600 &&
  Object.values(authorizer.warm).every(({ median }) => median <= 0.2);
process.exitCode = isGood ? 0 : 1;
