/**
 * `npm run --prefix template growth` measures how the local service's latency and memory grow with the number of
 * clients and the size of the table. It prints the figures and draws template/bench/growth.svg.
 * template/bench/README.md explains the figures.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { BatchWriteItemCommand, DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { Command } from 'commander';
import dynalite from 'dynalite';
import { startLocalService } from '../../test/kit/local-service.ts';
import { anyCredentials } from '../../test/kit/plants-store.ts';
import { mapConcurrently } from '../../test/kit/scale.ts';
import { listen } from '../../tools/start/listen.ts';
import { fetchToken, readSession } from '../../tools/start/session.ts';
import { plot } from './plot.ts';
import { quantile } from './quantile.ts';

new Command('npm run --prefix template growth --')
  .description(
    'Measures how latency and memory of the local service grow, and draws template/bench/growth.svg. Takes ten minutes.',
  )
  .showHelpAfterError()
  .parse();

const clientCounts = [1, 8, 64];
/**
 * The table sizes to measure: how many plants are in the table when a run starts. Each request of a run, warm-up
 * included, adds one plant.
 */
const tableSizes = [1_000, 100_000, 1_000_000];

/** How many times to measure each number of clients and each table size. The medians are reported. */
const rounds = 3;

/** How many requests of a run are measured, and how many warm-up requests precede them. */
const requests = 1_500;
const warmUp = 1_500;

const folder = mkdtempSync(path.join(os.tmpdir(), 'plant-store-growth-'));
const end = new AbortController();
process.on('exit', () => {
  end.abort();
  rmSync(folder, { recursive: true, force: true });
});
// By default, SIGINT, SIGTERM and SIGHUP end the process without an 'exit' event, so the temporary folder would remain.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));
const filled = path.join(folder, 'filled');
const say = (line: string): void => console.error(line);

/** Adds plants to a table that has `from` plants, until it has `size`. The local service must not be running. */
const fill = async (from: number, size: number): Promise<void> => {
  const server = dynalite({ path: path.join(filled, 'dynamodb'), createTableMs: 0 });
  const endpoint = `http://127.0.0.1:${await listen(server, 0)}`;
  const client = new DynamoDBClient({ ...anyCredentials, endpoint });
  const [table = ''] = (await client.send(new ListTablesCommand())).TableNames ?? [];
  // Each call writes 25 items, the most that BatchWriteItem accepts.
  const calls = Array.from({ length: (size - from) / 25 }, (_, call) => from + call * 25);
  await mapConcurrently(calls, 8, async (first) => {
    const puts = Array.from({ length: 25 }, (_, index) => ({
      PutRequest: {
        Item: { id: { N: String(first + index) }, name: { S: 'Swiss cheese plant' }, tag: { S: 'climber' } },
      },
    }));
    await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: puts } }));
  });
  client.destroy();
  await new Promise((resolve) => server.close(resolve));
};

type Figures = { median: number; p99: number; perSecond: number; megabytes: number };

/** The id of the plant created last. The initial value is above all ids in the filled table. */
let nextId = 1_000_000_000;

/** Creates `count` plants, with `clients` requests at a time. @returns how many milliseconds each request took */
const load = async (url: string, token: string, clients: number, count: number): Promise<number[]> => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: clients });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const createOne = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const started = performance.now();
      const request = http.request(`${url}/plants`, { method: 'POST', agent, headers }, (response) => {
        response.resume();
        response.on('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - started);
          else reject(new Error(`The service returned ${response.statusCode}.`));
        });
      });
      request.on('error', reject);
      nextId += 1;
      request.end(`{"id":${nextId},"name":"Swiss cheese plant","tag":"climber"}`);
    });
  const times = await mapConcurrently(Array.from({ length: count }), clients, createOne);
  agent.destroy();
  return times;
};

/** Returns the resident memory of a process in megabytes. (`ps` prints kilobytes.) */
const residentMegabytes = (pid: number): number =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1_024;

/** Measures a new service with a new copy of the table, so that earlier runs do not affect its memory or its data. */
const measure = async (clients: number): Promise<Figures> => {
  const data = path.join(folder, 'copy');
  cpSync(filled, data, { recursive: true });
  const service = await startLocalService(data, {}, undefined, end.signal);
  const token = await fetchToken(readSession(data));
  await load(service.url, token, clients, warmUp);
  const started = performance.now();
  const times = await load(service.url, token, clients, requests);
  const perSecond = requests / ((performance.now() - started) / 1_000);
  const megabytes = residentMegabytes(service.pid);
  await service.stop();
  rmSync(data, { recursive: true });
  return { median: quantile(times, 0.5), p99: quantile(times, 0.99), perSecond, megabytes };
};

const medianFigures = (runs: Figures[]): Figures => {
  const of = (name: keyof Figures): number =>
    quantile(
      runs.map((run) => run[name]),
      0.5,
    );
  return { median: of('median'), p99: of('p99'), perSecond: of('perSecond'), megabytes: of('megabytes') };
};

const repeat = async (counts: number[]): Promise<Figures[]> => {
  const runs = counts.map((): Figures[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, clients] of counts.entries()) runs[index]?.push(await measure(clients));
  }
  return runs.map(medianFigures);
};

const print = (what: string, at: number[], figures: Figures[]): void =>
  console.table(
    figures.map(({ median, p99, perSecond, megabytes }, index) => ({
      [what]: at[index],
      'median, ms': median.toFixed(2),
      'p99, ms': p99.toFixed(2),
      'requests per second': Math.round(perSecond),
      'memory, MB': Math.round(megabytes),
    })),
  );

const byTable: Figures[] = [];
let byClients: Figures[] = [];
// Start the service once, so that it creates the table.
await (await startLocalService(filled)).stop();
let size = 0;
for (const next of tableSizes) {
  say(`Filling the table up to ${next.toLocaleString('en')} plants ...`);
  await fill(size, next);
  size = next;
  if (byClients.length === 0) {
    say(`Measuring with ${clientCounts.join(', ')} clients ...`);
    byClients = await repeat(clientCounts);
  }
  say('Measuring with 8 clients ...');
  byTable.push(...(await repeat([8])));
}

print('clients', clientCounts, byClients);
print('plants', tableSizes, byTable);
const panel = (what: string, along: string, at: number[], figures: Figures[]) => [
  {
    title: `Latency by ${what}`,
    along,
    unit: 'ms',
    at,
    lines: [
      { label: 'median', values: figures.map(({ median }) => median) },
      { label: '99 %', values: figures.map(({ p99 }) => p99) },
    ],
  },
  {
    title: `Memory by ${what}`,
    along,
    unit: 'MB',
    at,
    lines: [{ label: 'resident', values: figures.map(({ megabytes }) => megabytes) }],
  },
];
writeFileSync(
  path.join(import.meta.dirname, 'growth.svg'),
  plot('Latency and memory of the local service, by clients and by table', [
    ...panel('clients', 'clients at a time, table of 1,000 plants', clientCounts, byClients),
    ...panel('table', 'plants in the table, 8 clients', tableSizes, byTable),
  ]),
);
