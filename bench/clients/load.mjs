// One measurement of Node's clients, for bench/clients.py: asks for a while, twice, and prints what the second took as JSON.
//
//   node load.mjs CLIENT PORT [--callers N] [--seconds S] [--headers] [--rate N] [--waits N] --packages FOLDER
//
// CLIENT: weir, get (node-redis' GET), limits (rate-limiter-flexible in Redis). FOLDER has them, and @weir/client built.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const RULE = '1000000/min', POINTS = { points: 1_000_000, duration: 60 };
const KEYS = Array.from({ length: 1000 }, (_, n) => `user:${n}`);

const { positionals, values } = parseArgs({ allowPositionals: true, options: { callers: { type: 'string', default: '1' },
  seconds: { type: 'string', default: '1' }, headers: { type: 'boolean', default: false }, rate: { type: 'string' }, waits: { type: 'string' }, packages: { type: 'string' } } });
const [client, port] = positionals;
const require = createRequire(join(values.packages, 'package.json'));

async function redis() {
  return require('redis').createClient({ url: `redis://127.0.0.1:${port}` }).connect();
}

const QUESTIONS = {
  async weir() {
    const weir = require('@weir/client').connect(`weir://127.0.0.1:${port}`, { timeoutMs: 5000, onError: 'throw' });
    if (!values.headers) return (key) => weir.check(key, RULE);
    return (key) => weir.check({ key, rule: RULE, fields: true });
  },
  async get() {
    const there = await redis();
    return (key) => there.get(key);
  },
  async limits() {
    const { RateLimiterRedis } = require('rate-limiter-flexible');
    const limiter = new RateLimiterRedis({ storeClient: await redis(), useRedisPackage: true, ...POINTS });
    if (!values.headers) return (key) => limiter.consume(key);
    return async (key) => {
      const { remainingPoints, msBeforeNext } = await limiter.consume(key); // from which its users write the fields
      return { 'RateLimit-Policy': `"limit";q=${POINTS.points};w=${POINTS.duration}`, RateLimit: `"limit";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1000)}` };
    };
  },
};

async function caller(ask, start, deadline) {
  let done = start;
  for (; performance.now() < deadline; ++done) await ask(KEYS[done % KEYS.length]);
  return done - start;
}

/** The 99th percentile of a call, in microseconds, at this rate. */
async function paced(ask, rate, seconds) {
  const times = [];
  const began = performance.now();
  for (let n = 0; n < rate * seconds; ++n) {
    const at = began + (n * 1000) / rate;
    while (performance.now() < at) await new Promise((resolve) => setImmediate(resolve)); // a timer has whole milliseconds
    const asked = performance.now();
    await ask(KEYS[n % KEYS.length]);
    times.push(performance.now() - asked);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] * 1000;
}

/** As many acquires in line on the connection of all calls, and what each keeps here. */
async function stand(waits) {
  const { connect } = require('@weir/client');
  const weir = connect(`weir://127.0.0.1:${port}`, { timeoutMs: 5000, onError: 'throw' });
  await weir.check(KEYS[0], RULE);
  const server = await redis(), before = process.memoryUsage().rss;
  for (let n = 0; n < waits; ++n) weir.acquire({ key: 'line', rule: 'in_flight=1', holdMs: 3_600_000, maxWaitMs: 3_600_000 }).catch(() => {});
  while (Number(/blocked_clients:(\d+)/.exec(await server.info('clients'))[1]) < waits - 1) await new Promise((resolve) => setTimeout(resolve, 10));
  return [(key) => weir.check(key, RULE), (process.memoryUsage().rss - before) / 1024 / Math.max(waits, 1)];
}

if (values.waits) {
  const [beside, kib] = await stand(Number(values.waits));
  console.log(JSON.stringify({ p99_us: await paced(beside, Number(values.rate), Number(values.seconds)), kib }));
  process.exit();
}
const ask = await QUESTIONS[client]();
await ask(KEYS[0]);
const seconds = Number(values.seconds);
if (values.rate) {
  console.log(JSON.stringify({ p99_us: await paced(ask, Number(values.rate), seconds) }));
} else {
  const all = (deadline) => Promise.all(Array.from({ length: Number(values.callers) }, (_, n) => caller(ask, 17 * n, deadline)));
  await all(performance.now() + seconds * 1000); // V8 compiles what it has seen often, for a second and more
  const began = performance.now(), cpu = process.cpuUsage();
  const counts = await all(began + seconds * 1000);
  const calls = counts.reduce((sum, each) => sum + each);
  const { user, system } = process.cpuUsage(cpu);
  console.log(JSON.stringify({ rate: (calls / (performance.now() - began)) * 1000, cpu_us: (user + system) / calls }));
}
process.exit();
