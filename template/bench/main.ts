/**
 * `npm run --prefix template bench` runs the service's functions and other handlers in turn, and compares their cost.
 * It prints a table of ratios, and writes template/bench/results.json and a picture. template/bench/README.md
 * describes the handlers and the method.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { authorizerEvent, event } from '@lambda-service/testing/events';
import { audience, claims, makeKey, type SigningKey, sign } from '@lambda-service/testing/tokens';
import { makeCertificate } from '@lambda-service/tools/issuer';
import { Command } from 'commander';
import { listen } from 'http-api-emulator';
import { operations } from '../../functions/generated/contract.ts';
import lock from '../../package-lock.json' with { type: 'json' };
import { type Answer, check, plant } from './answers.ts';
import { bars } from './bars.ts';
import { asOurs, type Bundle, makeBundles } from './bundles.ts';
import { type ColdTimes, coldPhases } from './cold.ts';
import { quantile } from './quantile.ts';

new Command('npm run --prefix template bench --')
  .description(
    'Compares the functions with other handlers, and writes template/bench/results.json and a picture. Takes ten minutes.',
  )
  .showHelpAfterError()
  .parse();

/** The number of rounds. A round measures the bundles one after another; their order changes from round to round. */
const rounds = 20;

/**
 * The highest acceptable noise. Each round measures the bare handler twice: if the median ratio of the two figures
 * differs from 1 by more, the comparison proves nothing.
 */
const tolerance = 0.05;

/** What a task of child.cjs measures: the milliseconds until a bundle is loaded or responds, or CPU time for a request. */
const measures = ['import', 'first', 'warm'] as const;
type Measure = (typeof measures)[number];

/** The operation whose handler is compared with other handlers, such as Hono's. They all store a plant. */
const [measured = ''] = Object.entries(operations).flatMap(([id, { method, path }]) =>
  method === 'POST' && path === '/plants' ? id : [],
);

/**
 * A target in template/bench/README.md: the figure of one bundle (`of`) must be at most `bound`, after a division by
 * that of another bundle (`against`), if any.
 */
type Target = { measure: Measure | 'bytes'; of: string; against?: string; bound: number };
const targets: Target[] = [
  { measure: 'bytes', of: measured, against: 'bare', bound: 0.62 },
  { measure: 'bytes', of: measured, against: 'usual', bound: 0.4 },
  { measure: 'import', of: measured, against: 'bare', bound: 0.75 },
  { measure: 'import', of: measured, against: 'usual', bound: 0.35 },
  { measure: 'import', of: 'authorizer', against: 'bare', bound: 0.35 },
  { measure: 'first', of: measured, against: 'bare', bound: 0.85 },
  { measure: 'first', of: measured, against: 'usual', bound: 0.5 },
  { measure: 'warm', of: measured, against: 'logging', bound: 1.05 },
  { measure: 'warm', of: measured, against: 'usual', bound: 0.95 },
  { measure: 'warm', of: 'authorizer', bound: 0.2 },
  { measure: 'warm', of: 'authorizer, ES256', bound: 0.2 },
];

const folder = mkdtempSync(path.join(os.tmpdir(), 'plant-store-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// By default, SIGINT, SIGTERM and SIGHUP end the process without an 'exit' event, so the temporary folder would remain.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));
console.log('Bundling ...');
const { own, others } = await makeBundles(folder);

// One HTTPS server takes the place of both DynamoDB and the token issuer, and responds at once.
const { key, certificate } = await makeCertificate();
// The authorizer accepts tokens signed with RS256, which the stack's default issuer (Cognito) uses, or with ES256.
const signing = { RS256: await makeKey('RS256', 'rs'), ES256: await makeKey('ES256', 'es') };
const keySet = JSON.stringify({ keys: [signing.RS256.jwk, signing.ES256.jwk] });
let storedId: string | undefined;
const server = createServer({ key, cert: certificate }, (request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    storedId = /"id":{"N":"(.*?)"}/.exec(body)?.[1];
    response.setHeader('x-amzn-requestid', 'BENCH');
    response.end(request.method === 'GET' ? keySet : '{}');
  });
});
const url = `https://127.0.0.1:${await listen(server, 0)}`;
const certificateFile = path.join(folder, 'certificate.pem');
writeFileSync(certificateFile, certificate);

const environment = {
  // Hide the Node.js warnings that come from the libraries of `usual`, the handler that is built the usual way.
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
  CLIENT_IDS: 'client-1',
  SCOPE_CLAIM: 'scope',
};
const { scopes, ...called } = operations.createPlant;
const routeKey = `${called.method} ${called.path}`;
const requestWith = async (key: SigningKey): Promise<string> =>
  JSON.stringify(authorizerEvent(`Bearer ${await sign(key, claims({ iss: url, scope: scopes.join(' ') }))}`, routeKey));
const events: Record<string, string> = {
  authorizer: await requestWith(signing.RS256),
  'authorizer, ES256': await requestWith(signing.ES256),
};

const isOther = (name: string): boolean => others.some((bundle) => bundle.name === name);

/**
 * The bundles to measure: the operation that `measured` names, the handlers to compare it with (the bare handler twice,
 * to show the noise), and the authorizer (once for each signature algorithm).
 */
const contenders: Bundle[] = [...own, ...others].flatMap((bundle) => {
  if (bundle.name === 'bare') return [bundle, { ...bundle, name: 'again' }];
  if (bundle.name === 'authorizer') return [bundle, { ...bundle, name: 'authorizer, ES256' }];
  return bundle.name === measured || isOther(bundle.name) ? [bundle] : [];
});

/** Returns the time in milliseconds, comparable with the times that the child processes send. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6;

type Ran<Message> = { message: Message; started: number; milliseconds: number };

/**
 * Runs a task of child.cjs in a new process.
 * @returns the process's message, the time at which the process was started, and the milliseconds from then to the
 *   message
 */
const spawnChild = <Message>(task: string, { name, file }: Bundle, event: string) =>
  new Promise<Ran<Message>>((resolve, reject) => {
    const started = now();
    const child = spawn(process.execPath, [path.join(import.meta.dirname, 'child.cjs'), task, file], {
      env: { ...environment, EVENT: event },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    let result: Ran<Message> | undefined;
    child.on('message', (message) => {
      result = { message: message as Message, started, milliseconds: now() - started };
    });
    // Wait until the child process has exited; otherwise its exit would slow down the next measurement.
    child.on('exit', (code) =>
      code === 0 && result ? resolve(result) : reject(new Error(`${task} of ${name} failed`)),
    );
  });

const eventOf = (body: string): string => JSON.stringify(event({ routeKey, body }));

const run = async (measure: Measure, bundle: Bundle): Promise<number> => {
  const { message, milliseconds } = await spawnChild<number>(measure, bundle, events[bundle.name] ?? eventOf(plant));
  return measure === 'first' ? milliseconds : message;
};

const median = (numbers: number[]): number => quantile(numbers, 0.5);

/**
 * Returns whether to measure a bundle. These figures are left out: the authorizer's first response, because nothing is
 * compared with it; its import with ES256, which is the same as with RS256; and warm requests to a handler that is
 * bundled a second time, with our options (`asOurs`).
 */
const isMeasured = (measure: Measure, name: string): boolean =>
  measure === 'warm'
    ? !name.endsWith(asOurs)
    : !name.startsWith('authorizer') || (measure === 'import' && name === 'authorizer');

const answers = new Map<string, Awaited<ReturnType<typeof check>>>();
for (const bundle of contenders.filter(({ name }) => events[name] === undefined)) {
  const ask = async (body: string): Promise<Answer> => {
    storedId = undefined;
    const { message } = await spawnChild<{ status: number; body: string }>('answer', bundle, eventOf(body));
    return { ...message, storedId };
  };
  answers.set(bundle.name, await check(bundle.name, ask));
}

/**
 * The figures for each pair of a measure and a bundle, one for each round in which the measure is taken. The key
 * `warm bare` stands for the measure `warm` of the bundle `bare`.
 */
const figures = new Map(contenders.map(({ name, bytes }) => [`bytes ${name}`, [bytes]]));
const of = (measure: Target['measure'], name: string): number[] => figures.get(`${measure} ${name}`) ?? [];

for (let round = 0; round < rounds; round += 1) {
  // Warm requests take most of a round's time, so only every second round has them.
  for (const measure of round % 2 === 0 ? measures : measures.slice(0, 2)) {
    const turn = round % contenders.length;
    for (const contender of [...contenders.slice(turn), ...contenders.slice(0, turn)]) {
      if (!isMeasured(measure, contender.name)) continue;
      figures.set(`${measure} ${contender.name}`, [...of(measure, contender.name), await run(measure, contender)]);
    }
  }
  process.stderr.write(`\r${round + 1} of ${rounds} rounds`);
}
process.stderr.write('\n');

/** The functions that API Gateway calls for a request, in the order of the calls. */
const route = ['authorizer', measured].flatMap((name) => own.filter((bundle) => bundle.name === name));
const coldRounds: Record<string, ColdTimes>[] = [];
for (let round = 0; round < rounds; round += 1) {
  const times: Record<string, ColdTimes> = {};
  for (const bundle of route) {
    const event = events[bundle.name] ?? eventOf(plant);
    const { message, started } = await spawnChild<Omit<ColdTimes, 'spawn'>>('cold', bundle, event);
    times[bundle.name] = { spawn: started, ...message };
  }
  coldRounds.push(times);
}
const cold = coldPhases(coldRounds);
server.close();

/** Divides the figures of one bundle by those of another, round by round. */
const ratios = (measure: Target['measure'], one: string, other: string): number[] => {
  const others = of(measure, other);
  return of(measure, one).map((figure, index) => figure / (others[index] ?? Number.NaN));
};

const summary = (numbers: number[]) => ({
  min: Math.min(...numbers),
  lowerQuartile: quantile(numbers, 0.25),
  median: median(numbers),
  upperQuartile: quantile(numbers, 0.75),
  max: Math.max(...numbers),
});

const medians = targets.map((target) => {
  const { measure, of: one, against } = target;
  return { ...target, median: median(against === undefined ? of(measure, one) : ratios(measure, one, against)) };
});
const missed = medians.filter(({ median, bound }) => median > bound);

/**
 * The noise of each measure. The bare handler is measured twice in a round, as `bare` and as `again`; the noise is the
 * median, over these rounds, of the figure of `again` divided by that of `bare`. Without noise, it would be 1.
 */
const noise = Object.fromEntries(measures.map((measure) => [measure, median(ratios(measure, 'again', 'bare'))]));

/** The results of all handlers. `ratios` are a handler's figures, divided by those of the bare handler. */
const handlers = contenders
  .filter(({ name }) => name !== 'again' && name !== 'authorizer, ES256')
  .map(({ name, bytes }) => ({
    name,
    bytes,
    ratios: Object.fromEntries(
      measures.flatMap((measure) =>
        of(measure, name).length > 0 ? [[measure, summary(ratios(measure, name, 'bare'))] as const] : [],
      ),
    ),
    ...answers.get(name),
  }));
console.table(
  Object.fromEntries(
    handlers.map(({ name, bytes, ratios, largeId, noName }) => [
      name,
      {
        bytes,
        ...Object.fromEntries(
          measures.map((measure) => {
            const ratio = ratios[measure];
            const spread = ratio && `${ratio.lowerQuartile.toFixed(2)}–${ratio.upperQuartile.toFixed(2)}`;
            return [measure, ratio ? `${ratio.median.toFixed(2)} (${spread})` : ''];
          }),
        ),
        'id over 2^53': largeId ?? '',
        'no name': noName ?? '',
      },
    ]),
  ),
);
console.log('All but bytes are ratios to bare: median (lower–upper quartile).');
for (const { measure, of, against, median, bound } of missed)
  console.log(`Missed: ${measure} of ${of}${against ? ` / ${against}` : ''}: ${median.toFixed(3)}, at most ${bound}`);
console.log('The bare handler against itself:', noise);
const tooNoisy = measures.filter((measure) => Math.abs((noise[measure] ?? 1) - 1) > tolerance);
for (const measure of tooNoisy)
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
  handlers,
  figures: Object.fromEntries(
    [...figures].flatMap(([name, numbers]) => (name.startsWith('bytes ') ? [] : [[name, summary(numbers)]])),
  ),
  targets: medians,
  cold,
  bareAgainstItself: noise,
};
writeFileSync(path.join(import.meta.dirname, 'results.json'), `${JSON.stringify(results, null, 2)}\n`);
const panels = [
  { title: 'Import', measure: 'import' },
  { title: 'Spawn to first response', measure: 'first' },
  { title: 'CPU time of a warm request', measure: 'warm' },
].map(({ title, measure }) => ({
  title,
  bars: handlers.map(({ name, ratios }) => ({ label: name, isOurs: !isOther(name), ...ratios[measure] })),
}));
writeFileSync(path.join(import.meta.dirname, 'results.svg'), bars('Costs of the handlers, as ratios to bare', panels));
console.log('A cold request through both functions, in ms:');
console.table(cold);
process.exitCode = tooNoisy.length === 0 && missed.length === 0 ? 0 : 1;
