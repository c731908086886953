/** One measurement, in a Node of its own: `node child.cjs TASK FILE`, with the event in EVENT. Sends one number. */
const [task, file] = process.argv.slice(2);
const event = () => JSON.parse(process.env.EVENT);
const context = { awsRequestId: 'bench', functionName: 'bench', getRemainingTimeInMillis: () => 5_000 };

const load = async () => (file.endsWith('.mjs') ? import(file) : require(file));

const ask = async (handler) => {
  const answer = await handler(event(), context);
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
  /** Milliseconds. */
  import: async () => {
    const started = performance.now();
    await load();
    return performance.now() - started;
  },
  /** The number is of no use: the parent looks at its clock. */
  first: async () => {
    await ask((await load()).handler);
    return 0;
  },
  /** Milliseconds of CPU time a request. */
  warm: async () => {
    const { handler } = await load();
    await askMany(handler, 200, 1);
    const before = process.cpuUsage();
    await askMany(handler, 400, 1);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / 400;
  },
  /** Requests a second. */
  throughput: async () => {
    const { handler } = await load();
    await askMany(handler, 300, 50);
    const started = performance.now();
    await askMany(handler, 600, 50);
    return 600 / ((performance.now() - started) / 1_000);
  },
};

tasks[task]().then((number) => process.send(number, () => process.exit()));
