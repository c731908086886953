/**
 * `npm run growth`: how latency and memory of the local service grow with its clients and with its table. Prints both
 * and draws bench/growth.svg; the slopes are explained in bench/README.md.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { BatchWriteItemCommand, DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { listen } from '../local/listen.ts';
import { fetchToken, readSession } from '../local/session.ts';
import { startLocalService } from '../test/local-service.ts';
import { eachOf } from '../test/trials/scale.ts';
import { plot } from './plot.ts';

const clientCounts = [1, 8, 64];
const tableSizes = [1_000, 100_000, 1_000_000];

/** Of the runs over all counts, of which the medians count. */
const rounds = 3;

/** Requests of a run, and before it, at each count. */
const requests = 1_500;
const warmUp = 1_500;

const folder = mkdtempSync(path.join(os.tmpdir(), 'plant-store-growth-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const authorities = tls.getCACertificates('default');
const say = (line: string): void => console.error(line);

/** Fills the service's table, while it does not run, up to `size`. */
const fill = async (from: number, size: number): Promise<void> => {
  const server = dynalite({ path: path.join(folder, 'dynamodb'), createTableMs: 0 });
  const endpoint = `http://127.0.0.1:${await listen(server, 0)}`;
  const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' };
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
  const [table = ''] = (await client.send(new ListTablesCommand())).TableNames ?? [];
  // As many as a call takes.
  const calls = Array.from({ length: (size - from) / 25 }, (_, call) => from + call * 25);
  await eachOf(calls, 8, async (first) => {
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

/** New plants have ids from here on, so that none is there yet. */
let nextId = 1_000_000_000;

/** Sends `count` creates, `clients` at a time. @returns the milliseconds of each */
const load = async (url: string, token: string, clients: number, count: number): Promise<number[]> => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: clients });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const one = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const started = performance.now();
      const request = http.request(`${url}/plants`, { method: 'POST', agent, headers }, (response) => {
        response.resume();
        response.on('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - started);
          else reject(new Error(`The service answered ${response.statusCode}.`));
        });
      });
      request.on('error', reject);
      nextId += 1;
      request.end(`{"id":${nextId},"name":"Swiss cheese plant","tag":"climber"}`);
    });
  const times = await eachOf(Array.from({ length: count }), clients, one);
  agent.destroy();
  return times;
};

/** Of Linux; elsewhere there is none. */
const residentMegabytes = (pid: number): number => {
  const [, kilobytes = 'NaN'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
};

const quantile = (numbers: number[], part: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * part)] ?? Number.NaN;

/** Starts the service on the table as it is, and loads it with each number of clients. */
const measure = async (counts: number[]): Promise<Figures[]> => {
  const service = await startLocalService(folder);
  // Certificates of former starts have the same name, and would be tried in place of this one.
  tls.setDefaultCACertificates(authorities);
  const token = await fetchToken(await readSession(folder));
  const figures: Figures[] = [];
  for (const clients of counts) {
    await load(service.url, token, clients, warmUp);
    const started = performance.now();
    const times = await load(service.url, token, clients, requests);
    const perSecond = requests / ((performance.now() - started) / 1_000);
    const megabytes = residentMegabytes(service.pid);
    figures.push({ median: quantile(times, 0.5), p99: quantile(times, 0.99), perSecond, megabytes });
  }
  await service.stop();
  return figures;
};

/** The medians of several runs, figure by figure. */
const together = (runs: Figures[]): Figures => {
  const of = (name: keyof Figures): number =>
    quantile(
      runs.map((run) => run[name]),
      0.5,
    );
  return { median: of('median'), p99: of('p99'), perSecond: of('perSecond'), megabytes: of('megabytes') };
};

const repeat = async (counts: number[]): Promise<Figures[]> => {
  const runs: Figures[][] = [];
  for (let round = 0; round < rounds; round += 1) runs.push(await measure(counts));
  return counts.map((_, index) => together(runs.flatMap((run) => run[index] ?? [])));
};

const print = (what: string, at: number[], figures: Figures[]): void =>
  console.table(
    figures.map(({ median, p99, perSecond, megabytes }, index) => ({
      [what]: at[index],
      'median, ms': median.toFixed(2),
      'p99, ms': p99.toFixed(2),
      'requests a second': Math.round(perSecond),
      'memory, MB': Math.round(megabytes),
    })),
  );

const byTable: Figures[] = [];
let byClients: Figures[] = [];
// Makes the table.
await (await startLocalService(folder)).stop();
let filled = 0;
for (const size of tableSizes) {
  say(`Filling the table up to ${size.toLocaleString('en')} plants ...`);
  await fill(filled, size);
  filled = size;
  if (byClients.length === 0) {
    say(`Loading the service with ${clientCounts.join(', ')} clients ...`);
    byClients = await repeat(clientCounts);
  }
  say('Loading the service with 8 clients ...');
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
