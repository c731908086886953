/** A debugger for tests: it speaks the Chrome DevTools Protocol, and attaches to worker threads as VS Code does. */
import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapping } from 'node:module';
import { pathToFileURL } from 'node:url';

type Message = { id?: number; method?: string; params?: unknown; result?: unknown; error?: { message: string } };
type Frame = { callFrameId: string };
type Pause = { reason: string; callFrames: Frame[] };
type Script = { scriptId: string; url: string; sourceMapURL?: string };

/** One thread of the debugged process. */
export class Thread {
  readonly #post: (message: string) => void;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #onEvent: (method: string, params: unknown) => void;
  readonly #scripts: Script[] = [];
  /** The innermost call frame while the thread is paused. */
  frame: Frame | undefined;

  constructor(post: (message: string) => void, onEvent: (method: string, params: unknown) => void = () => {}) {
    this.#post = post;
    this.#onEvent = onEvent;
  }

  receive({ id, method, params, result, error }: Message): void {
    const call = this.#calls.get(id ?? 0);
    if (error) call?.reject(new Error(error.message));
    else call?.resolve(result);
    if (method === 'Debugger.scriptParsed') this.#scripts.push(params as Script);
    if (method === 'Debugger.resumed') this.frame = undefined;
    if (method === 'Debugger.paused') {
      const { reason, callFrames } = params as Pause;
      // A worker that waited for the debugger pauses at its first line. Resume it, because it has hit no breakpoint.
      if (reason === 'Break on start') void this.call('Debugger.resume');
      else [this.frame] = callFrames;
    }
    if (method) this.#onEvent(method, params);
  }

  /** Calls a method of the Chrome DevTools Protocol. @throws Error with the response's message if the call fails */
  call(method: string, params: object = {}): Promise<unknown> {
    const id = this.#calls.size + 1;
    const call = Promise.withResolvers<unknown>();
    this.#calls.set(id, call);
    this.#post(JSON.stringify({ id, method, params }));
    return call.promise;
  }

  /**
   * Sets a breakpoint at the first line of `file` that contains `text`. @returns false if the thread has not loaded
   * this code
   */
  async breakAt(file: string, text: string): Promise<boolean> {
    const lines = readFileSync(file, 'utf8').split('\n');
    const source = { url: pathToFileURL(file).href, line: lines.findIndex((line) => line.includes(text)) };
    const mapped = this.#scripts.filter(({ sourceMapURL }) => sourceMapURL?.startsWith('data:'));
    for (const { scriptId, url, sourceMapURL = '' } of mapped) {
      const { scriptSource } = (await this.call('Debugger.getScriptSource', { scriptId })) as { scriptSource: string };
      const place = generatedPlace(scriptSource, sourceMapURL, source);
      if (place === undefined) continue;
      await this.call('Debugger.setBreakpointByUrl', { url, ...place });
      return true;
    }
    return false;
  }

  /** Evaluates an expression in the innermost frame of the paused thread. */
  async evaluate(expression: string): Promise<unknown> {
    const options = { ...this.frame, expression, returnByValue: true };
    return Object(await this.call('Debugger.evaluateOnCallFrame', options)).result.value;
  }
}

/** Finds, with the source map of a generated script, where the code of a source line begins. Lines count from 0. */
const generatedPlace = (script: string, sourceMapUrl: string, source: { url: string; line: number }) => {
  const map = new SourceMap(JSON.parse(Buffer.from(sourceMapUrl.split(',')[1] ?? '', 'base64').toString()));
  const { sources, sourceRoot } = map.payload;
  if (!sources.some((each) => sourceRoot + each === source.url)) return undefined;
  for (const [lineNumber, code] of script.split('\n').entries()) {
    for (let columnNumber = 0; columnNumber < code.length; columnNumber += 1) {
      const { originalLine, originalSource } = map.findEntry(lineNumber, columnNumber) as SourceMapping;
      if (originalLine === source.line && sourceRoot + originalSource === source.url)
        return { lineNumber, columnNumber };
    }
  }
  return undefined;
};

/**
 * Attaches to all worker threads of a process, including threads that start later.
 * @param address the address at which the process listens for debuggers, written as HOST:PORT/UUID
 * @returns `workers`, a list that grows with each new thread, and `detach`
 */
export const attachDebugger = async (address: string) => {
  const socket = new WebSocket(`ws://${address}`);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`Nothing can attach to ${address}.`)));
  });
  const workers: Thread[] = [];
  const sessions = new Map<string, Thread>();
  const attached: Promise<unknown>[] = [];
  const main = new Thread(
    (message) => socket.send(message),
    (method, params) => {
      const { sessionId, message } = params as { sessionId: string; message: string };
      if (method === 'NodeWorker.receivedMessageFromWorker') sessions.get(sessionId)?.receive(JSON.parse(message));
      if (method !== 'NodeWorker.attachedToWorker') return;
      const worker = new Thread((text) => {
        void main.call('NodeWorker.sendMessageToWorker', { sessionId, message: text });
      });
      sessions.set(sessionId, worker);
      workers.push(worker);
      attached.push(worker.call('Debugger.enable'), worker.call('Runtime.runIfWaitingForDebugger'));
    },
  );
  socket.addEventListener('message', ({ data }) => main.receive(JSON.parse(String(data))));
  await main.call('NodeWorker.enable', { waitForDebuggerOnStart: true });
  await Promise.all(attached);
  return { workers, detach: () => socket.close() };
};
