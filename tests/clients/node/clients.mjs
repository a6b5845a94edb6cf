// ioredis, node-redis, iovalkey and valkey-glide against a weir server: node clients.mjs PORT [PASSWORD-PORT]
// Each connects with its own handshake, asks, pipelines, and is compared with the right answers.
import assert from 'node:assert/strict';

const port = Number(process.argv[2]);
const passwordPort = Number(process.argv[3]);
const password = process.env.CLIENT_PASSWORD;

const throttle = (key, burst = 2) => ['CL.THROTTLE', key, String(burst - 1), '1', '3600'];
// Replies as plain numbers, whatever integer type a client has.
const numbers = (reply) => reply.map(Number);
const verdicts = (replies) => replies.map((reply) => Number(reply[0]));

// The same questions for every client: `ask` runs one command, `pipeline` many without waiting, `transaction`
// many in MULTI/EXEC.
async function questions(name, { ask, pipeline, transaction }) {
  const key = `${name}:k`;
  assert.deepEqual(numbers(await ask(throttle(key))), [0, 2, 1, -1, 3600], name);
  assert.equal(Number((await ask(throttle(key)))[0]), 0, name);
  const denied = numbers(await ask(throttle(key)));
  assert.deepEqual(denied.slice(0, 3), [1, 2, 0], name);
  assert.ok(denied[3] > 3590 && denied[3] <= 3600 && denied[4] > 7190 && denied[4] <= 7200, name);
  assert.deepEqual(numbers(await ask(['GCRA', key, '1', '1', '3600', 'TOKENS', '0'])).slice(0, 4), [0, 2, 0, -1], name);
  assert.equal(Number(await ask(['WEIR.RESET', key])), 1, name);
  assert.deepEqual(numbers(await ask(throttle(key))), [0, 2, 1, -1, 3600], name);
  await assert.rejects(ask(['CL.THROTTLE', key, '1', '1', '0']), /period: '0' is not an integer/, name);
  assert.equal(String(await ask(['PING'])), 'PONG', name);

  const many = Array.from({ length: 1000 }, () => throttle(`${name}:many`, 300));
  const expected = Array.from({ length: 1000 }, (_, i) => (i < 300 ? 0 : 1));
  assert.deepEqual(verdicts(await pipeline(many)), expected, name);

  const tx = throttle(`${name}:tx`);
  const inOrder = await transaction([tx, ['ECHO', 'x'], tx, tx]);
  assert.equal(String(inOrder[1]), 'x', name);
  assert.deepEqual(verdicts([inOrder[0], inOrder[2], inOrder[3]]), [0, 0, 1], name);
}

async function ioredisLike(name, Redis, options) {
  const client = new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: 1, ...options });
  const failed = new Promise((_, reject) => client.once('error', reject));
  const values = (results) =>
    results.map(([error, value]) => {
      if (error) throw error;
      return value;
    });
  const queue = (chain, commands) => commands.reduce((queued, words) => queued.call(...words), chain);
  try {
    await Promise.race([
      failed,
      questions(name, {
        ask: (words) => client.call(...words),
        pipeline: async (commands) => values(await queue(client.pipeline(), commands).exec()),
        transaction: async (commands) => values(await queue(client.multi(), commands).exec()),
      }),
    ]);
  } finally {
    client.disconnect();
  }
  if (passwordPort) {
    const known = new Redis({ host: '127.0.0.1', port: passwordPort, password, maxRetriesPerRequest: 1, ...options });
    assert.equal(await known.ping(), 'PONG', name);
    await known.quit();
  }
}

async function nodeRedis(name, options) {
  const { createClient } = await import('redis');
  const client = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false }, ...options });
  client.on('error', () => {}); // connect() rejects with it
  await client.connect();
  try {
    await questions(name, {
      ask: (words) => client.sendCommand(words),
      pipeline: (commands) => Promise.all(commands.map((words) => client.sendCommand(words))),
      transaction: (commands) =>
        commands.reduce((queued, words) => queued.addCommand(words), client.multi()).exec(),
    });
  } finally {
    await client.close();
  }
  if (passwordPort) {
    const known = createClient({ socket: { host: '127.0.0.1', port: passwordPort, reconnectStrategy: false }, password, ...options });
    known.on('error', () => {});
    await known.connect();
    assert.equal(await known.ping(), 'PONG', name);
    await known.close();
  }
}

async function glide(name, options) {
  let library;
  try {
    library = await import('@valkey/valkey-glide');
  } catch {
    console.log(`${name}: skipped, there is no binary of it for this machine`);
    return;
  }
  const { GlideClient, Batch, ProtocolVersion } = library;
  const base = { protocol: options.RESP === 3 ? ProtocolVersion.RESP3 : ProtocolVersion.RESP2, requestTimeout: 5000 };
  const client = await GlideClient.createClient({ addresses: [{ host: '127.0.0.1', port }], ...base });
  const batch = (atomic, commands) =>
    client.exec(commands.reduce((queued, words) => queued.customCommand(words), new Batch(atomic)), true);
  try {
    await questions(name, {
      ask: (words) => client.customCommand(words),
      pipeline: (commands) => batch(false, commands),
      transaction: (commands) => batch(true, commands),
    });
  } finally {
    client.close();
  }
  if (passwordPort) {
    const known = await GlideClient.createClient({
      addresses: [{ host: '127.0.0.1', port: passwordPort }], credentials: { password }, ...base });
    assert.equal(await known.ping(), 'PONG', name);
    known.close();
  }
}

const { default: IoRedis } = await import('ioredis');
const { default: IoValkey } = await import('iovalkey');
const runs = [
  ['ioredis', (name) => ioredisLike(name, IoRedis, {})],
  ['ioredis, protocol 3', (name) => ioredisLike(name, IoRedis, { protocol: 3 })],
  ['ioredis, auto-pipelining', (name) => ioredisLike(name, IoRedis, { enableAutoPipelining: true })],
  ['iovalkey', (name) => ioredisLike(name, IoValkey, {})],
  ['node-redis, RESP2', (name) => nodeRedis(name, { RESP: 2 })],
  ['node-redis, RESP3', (name) => nodeRedis(name, { RESP: 3 })],
  ['node-redis as it comes', (name) => nodeRedis(name, {})],
  ['valkey-glide, RESP2', (name) => glide(name, { RESP: 2 })],
  ['valkey-glide, RESP3', (name) => glide(name, { RESP: 3 })],
];
let wrong = 0;
for (const [name, start] of runs) {
  try {
    await Promise.race([
      start(name),
      new Promise((_, reject) => setTimeout(() => reject(new Error('no answer in 15 s')), 15_000).unref()),
    ]);
    console.log(`${name}: ok`);
  } catch (error) {
    wrong += 1;
    console.log(`${name}: ${error.stack}`);
  }
}
process.exit(wrong === 0 ? 0 : 1);
