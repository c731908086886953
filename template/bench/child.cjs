/**
 * `node child.cjs TASK FILE` runs a task with the bundled handler FILE and the event in the environment variable EVENT,
 * and sends the result to the parent process.
 */
const { subscribe } = require('node:diagnostics_channel');
const { writeSync } = require('node:fs');

const [task, file] = process.argv.slice(2);
const event = () => JSON.parse(process.env.EVENT);
const context = () => ({ awsRequestId: 'bench', functionName: 'bench', getRemainingTimeInMillis: () => 5_000 });

// Make `console` work as in Lambda: each call writes one line of JSON, synchronously.
for (const level of ['log', 'trace', 'debug', 'info', 'warn', 'error']) {
  console[level] = (message) => {
    const line = { timestamp: new Date().toISOString(), level: level.toUpperCase(), requestId: 'bench', message };
    writeSync(1, `${JSON.stringify(line)}\n`);
  };
}

const load = async () => (file.endsWith('.mjs') ? import(file) : require(file));

const invoke = async (handler) => {
  const response = await handler(event(), context());
  if (response.statusCode !== 200 && response.isAuthorized !== true) throw new Error(JSON.stringify(response));
};

/** Calls the handler `count` times, one after the other. */
const invokeMany = async (handler, count) => {
  for (let done = 0; done < count; done += 1) await invoke(handler);
};

const tasks = {
  /** The task `answer`: handles one request. Returns the response, or status 500 if the handler throws an error. */
  answer: async () => {
    try {
      const { statusCode, body } = await (await load()).handler(event(), context());
      return { status: statusCode, body };
    } catch (error) {
      return { status: 500, body: String(error) };
    }
  },
  /** The task `import`: measures how many milliseconds the bundle takes to load. */
  import: async () => {
    const started = performance.now();
    await load();
    return performance.now() - started;
  },
  /** The task `first`: handles one request. The parent process measures the time. */
  first: async () => {
    await invoke((await load()).handler);
    return 'done';
  },
  /**
   * The task `cold`: handles a request that makes one call over TLS. Returns the time at which each step started
   * (`ColdTimes`).
   */
  cold: async () => {
    const now = () => Number(process.hrtime.bigint()) / 1e6;
    const times = { import: now() };
    const { handler } = await load();
    // The bundle has already loaded node:tls, so this line does not add to the measured time.
    const tls = require('node:tls');
    const { createSecureContext } = tls;
    // To open a TLS connection, Node.js first calls `createSecureContext`: that call begins the step `connect`.
    tls.createSecureContext = (options) => {
      times.connect ??= now();
      return createSecureContext(options);
    };
    subscribe('http.client.request.created', ({ request }) => {
      request.once('socket', (socket) => socket.once('secureConnect', () => Object.assign(times, { call: now() })));
      request.once('response', (response) => response.once('end', () => Object.assign(times, { finish: now() })));
    });
    times.handle = now();
    await invoke(handler);
    return { ...times, end: now() };
  },
  /** The task `warm`: measures the milliseconds of CPU time per request, with one request at a time. */
  warm: async () => {
    const { handler } = await load();
    // Warm up with 2,000 requests: V8's compilers use much CPU time during the first 1,000, and little afterwards.
    await invokeMany(handler, 2_000);
    const cpu = [];
    for (let batch = 0; batch < 3; batch += 1) {
      const before = process.cpuUsage();
      // V8 collects bare's garbage every 290 requests, ours every 45: bare's best shorter batch would have none of it.
      await invokeMany(handler, 600);
      const { user, system } = process.cpuUsage(before);
      cpu.push((user + system) / 1_000 / 600);
    }
    // Return the best batch's figure: if another batch is slower, the cause is mostly the machine, not the code.
    return Math.min(...cpu);
  },
};

tasks[task]().then((result) => process.send(result, () => process.exit()));
