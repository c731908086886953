/** Emulates Lambda's Node.js runtime in a worker thread: loads a bundle, then handles one event at a time. */
import { createRequire } from 'node:module';
import tls from 'node:tls';
import { format } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';

/** `file` and `exportName` locate the handler; `certificates` (PEM) are trusted besides the usual authorities. */
export type RuntimeData = {
  file: string;
  exportName: string;
  functionName: string;
  functionArn: string;
  memoryMegabytes: number;
  certificates: string[];
};

/** `deadline` is in milliseconds since the epoch. Events and results are passed as JSON text, as in Lambda. */
export type Invocation = { requestId: string; event: string; deadline: number };

export type RuntimeMessage =
  | { kind: 'ready' }
  | { kind: 'log'; level: string; message: unknown }
  | { kind: 'result'; result: string }
  | { kind: 'failure'; reason: string };

const { file, exportName, functionName, functionArn, memoryMegabytes, certificates } = workerData as RuntimeData;
const send = (message: RuntimeMessage): void => parentPort?.postMessage(message);

/** Formats logged values as Lambda does: one object stays an object if JSON can represent it; all else becomes text. */
const loggable = (values: unknown[]): unknown => {
  const [value] = values;
  if (values.length > 1 || typeof value !== 'object' || value === null) return format(...values);
  if (value instanceof Error) return { errorType: value.name, errorMessage: value.message, stackTrace: value.stack };
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    return format(value);
  }
};

for (const [method, level] of Object.entries({
  trace: 'TRACE',
  debug: 'DEBUG',
  log: 'INFO',
  info: 'INFO',
  warn: 'WARN',
  error: 'ERROR',
})) {
  Object.assign(console, {
    [method]: (...values: unknown[]) => send({ kind: 'log', level, message: loggable(values) }),
  });
}

if (certificates.length > 0) tls.setDefaultCACertificates([...tls.getCACertificates('default'), ...certificates]);

type Handler = (event: unknown, context: object) => unknown;
const handler: unknown = createRequire(file)(file)[exportName];
if (typeof handler !== 'function') throw new Error(`${functionName}: the bundle does not export ${exportName}.`);

parentPort?.on('message', async ({ requestId, event, deadline }: Invocation) => {
  const context = {
    awsRequestId: requestId,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: functionArn,
    memoryLimitInMB: String(memoryMegabytes),
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  };
  try {
    const result = await (handler as Handler)(JSON.parse(event), context);
    // Lambda turns a missing result into null.
    send({ kind: 'result', result: JSON.stringify(result) ?? 'null' });
  } catch (error) {
    send({ kind: 'failure', reason: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
  }
});
send({ kind: 'ready' });
