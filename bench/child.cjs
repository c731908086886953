/**
 * One measurement, in a Node.js of its own: `node child.cjs TASK FILE`, with the event in EVENT. Sends an object of numbers.
 */
const { writeSync } = require('node:fs');

const [task, file] = process.argv.slice(2);
const event = () => JSON.parse(process.env.EVENT);
const context = () => ({ awsRequestId: 'bench', functionName: 'bench', getRemainingTimeInMillis: () => 5_000 });

// As Lambda's own console: a line of JSON at a time, written at once.
for (const level of ['log', 'trace', 'debug', 'info', 'warn', 'error']) {
  console[level] = (message) => {
    const line = { timestamp: new Date().toISOString(), level: level.toUpperCase(), requestId: 'bench', message };
    writeSync(1, `${JSON.stringify(line)}\n`);
  };
}

const load = async () => (file.endsWith('.mjs') ? import(file) : require(file));

const ask = async (handler) => {
  const answer = await handler(event(), context());
  if (answer.statusCode !== 200 && answer.isAuthorized !== true) throw new Error(JSON.stringify(answer));
};

/** `width` requests at a time, `count` in all. */
const askMany = async (handler, count, width) => {
  let left = count;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      await ask(handler);
    }
  };
  await Promise.all(Array.from({ length: width }, client));
};

const tasks = {
  /** In milliseconds. */
  import: async () => {
    const started = performance.now();
    await load();
    return { import: performance.now() - started };
  },
  /** No number: the parent looks at its clock. */
  first: async () => {
    await ask((await load()).handler);
    return {};
  },
  /** Milliseconds of CPU time for each request, one at a time; then requests a second, 50 at a time. */
  warm: async () => {
    const { handler } = await load();
    // By then the compilers are done with most of it: in the first thousand requests they take a good part of the time.
    await askMany(handler, 2_000, 1);
    const cpu = [];
    const rates = [];
    for (let batch = 0; batch < 6; batch += 1) {
      const before = process.cpuUsage();
      await askMany(handler, 150, 1);
      const { user, system } = process.cpuUsage(before);
      cpu.push((user + system) / 1_000 / 150);
    }
    await askMany(handler, 200, 50);
    for (let batch = 0; batch < 5; batch += 1) {
      const started = performance.now();
      await askMany(handler, 300, 50);
      rates.push(300 / ((performance.now() - started) / 1_000));
    }
    // The best batch of each: what makes one slower is mostly the machine.
    return { warm: Math.min(...cpu), throughput: Math.max(...rates) };
  },
};

tasks[task]().then((numbers) => process.send(numbers, () => process.exit()));
