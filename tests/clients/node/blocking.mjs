// WEIR.ACQUIRE, which blocks its connection, by clients whose timeouts are shorter than the wait: node blocking.mjs PORT
// For each case one line of JSON: how the wait ended and when, and whether its moment was given back.
import { setTimeout as sleep } from 'node:timers/promises';
import IoRedis from 'ioredis';
import IoRedis5 from 'ioredis5';
import { createClient } from 'redis';

const host = '127.0.0.1';
const port = Number(process.argv[2]);
const SHORT = 300; // ms
const RULE = '1/2s burst 1'; // so a second request waits for 2 s
const other = new IoRedis({ host, port });
const owed = async (key) => (await other.call('WEIR.THROTTLE', 'COST', '0', key, RULE))[4];

const ioredis = (Redis) => async (options) => {
  const client = new Redis({ host, port, ...options });
  client.on('error', () => {}); // the command is rejected with it
  return { ask: (...words) => client.call(...words), close: () => client.disconnect() };
};

async function nodeRedis(options) {
  const client = createClient({ ...options, socket: { host, port, ...options.socket } });
  client.on('error', () => {}); // the command is rejected with it
  await client.connect();
  return { ask: (...words) => client.sendCommand(words), close: () => client.isOpen && client.destroy() };
}

async function glide(options) {
  const { GlideClient } = await import('@valkey/valkey-glide');
  const client = await GlideClient.createClient({ addresses: [{ host, port }], ...options });
  return { ask: (...words) => client.customCommand(words), close: () => client.close() };
}

async function trial(name, open, options, leaveAfter) {
  const key = `${name} ${JSON.stringify(options)} ${leaveAfter ?? ''}`;
  const client = await open(options);
  while ((await client.ask('PING').catch(() => 'again')) === 'again'); // connecting may take longer
  await other.call('WEIR.ACQUIRE', 'MAXWAIT', '0', key, RULE);
  const began = Date.now();
  const waiting = client.ask('WEIR.ACQUIRE', 'MAXWAIT', '10000', key, RULE).then(
    (row) => (Number(row[0]) === 0 ? 'granted' : 'denied'),
    (error) => error.message,
  );
  if (leaveAfter !== undefined) {
    await sleep(leaveAfter);
    client.close();
  }
  const ended = await waiting;
  const took = Date.now() - began;
  // What is owed falls by itself, so it is compared with what the first one alone would owe by now.
  let charged = true;
  if (ended !== 'granted') {
    const deadline = began + 1500;
    do {
      charged = (await owed(key)) > Math.max(0, 2000 - (Date.now() - began));
      if (charged) await sleep(50);
    } while (charged && Date.now() < deadline);
  }
  client.close();
  console.log(JSON.stringify({ name, options, leave: leaveAfter !== undefined, ended, took, charged }));
}

const trials = [];
for (const [name, Redis] of [['ioredis 5', IoRedis5], ['ioredis 6', IoRedis]]) {
  trials.push(trial(name, ioredis(Redis), {}));
  trials.push(trial(name, ioredis(Redis), {}, SHORT));
  trials.push(trial(name, ioredis(Redis), { commandTimeout: SHORT }));
  trials.push(trial(name, ioredis(Redis), { socketTimeout: SHORT }));
  trials.push(trial(name, ioredis(Redis), { socketTimeout: SHORT, maxRetriesPerRequest: 0 }));
  trials.push(trial(name, ioredis(Redis), { blockingTimeout: SHORT }));
}
trials.push(trial('node-redis', nodeRedis, {}));
trials.push(trial('node-redis', nodeRedis, {}, SHORT));
trials.push(trial('node-redis', nodeRedis, { commandOptions: { timeout: SHORT } }));
trials.push(trial('node-redis', nodeRedis, { socket: { socketTimeout: SHORT } }));
const installed = await import('@valkey/valkey-glide').catch(() => undefined);
if (installed) {
  trials.push(trial('glide', glide, {}));
  trials.push(trial('glide', glide, { requestTimeout: 10_000 }));
  trials.push(trial('glide', glide, { requestTimeout: 10_000 }, SHORT));
}
await Promise.all(trials);
other.disconnect();
