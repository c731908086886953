/** Makes one measurement: `node child.cjs TASK FILE`, with the event in EVENT. Sends the figures to its parent. */
const { writeSync } = require('node:fs');

const [task, file] = process.argv.slice(2);
const event = () => JSON.parse(process.env.EVENT);
const context = () => ({ awsRequestId: 'bench', functionName: 'bench', getRemainingTimeInMillis: () => 5_000 });

// Like Lambda's own console: each call writes one line of JSON, synchronously.
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

/** Sends `count` requests, `width` at a time. */
const invokeMany = async (handler, count, width) => {
  let left = count;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      await invoke(handler);
    }
  };
  await Promise.all(Array.from({ length: width }, client));
};

const tasks = {
  /** Measures how long the bundle takes to load, in milliseconds. */
  import: async () => {
    const started = performance.now();
    await load();
    return { import: performance.now() - started };
  },
  /** Handles one request. Returns no number, because the parent process measures the time. */
  first: async () => {
    await invoke((await load()).handler);
    return {};
  },
  /** Measures CPU milliseconds per request, sent one at a time; then requests per second, sent 50 at a time. */
  warm: async () => {
    const { handler } = await load();
    // V8's compilers use much of the CPU during the first thousand requests, and little after two thousand.
    await invokeMany(handler, 2_000, 1);
    const cpu = [];
    const rates = [];
    for (let batch = 0; batch < 6; batch += 1) {
      const before = process.cpuUsage();
      await invokeMany(handler, 150, 1);
      const { user, system } = process.cpuUsage(before);
      cpu.push((user + system) / 1_000 / 150);
    }
    await invokeMany(handler, 200, 50);
    for (let batch = 0; batch < 5; batch += 1) {
      const started = performance.now();
      await invokeMany(handler, 300, 50);
      rates.push(300 / ((performance.now() - started) / 1_000));
    }
    // The best batch counts: if another one is slower, the reason is mostly the machine.
    return { warm: Math.min(...cpu), throughput: Math.max(...rates) };
  },
};

tasks[task]().then((numbers) => process.send(numbers, () => process.exit()));
