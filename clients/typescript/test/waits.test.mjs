// Acquires that wait by TAG, on the connection of all calls.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { Call, Wait } from '../dist/esm/call.js';
import { dial } from '../dist/esm/dialer.js';
import { connect } from '../dist/esm/index.js';
import { encode, Parser } from '../dist/esm/resp.js';
import { pretender, Proxy, until, Weir } from './support.mjs';

const PATIENT = { timeoutMs: 10_000, connectTimeoutMs: 10_000, log: () => {} };
const QUESTION = { key: 'k', rule: '1/s', maxWaitMs: 60_000 };
let proxy;
before(async () => (proxy = await Proxy.start()));
after(() => proxy.stop());

const bulk = (text) => `$${text.length}\r\n${text}\r\n`;
const granted = (id) => `*7\r\n:0\r\n:1\r\n:0\r\n:0\r\n:1000\r\n${id ? bulk(id) : '_\r\n'}${bulk('k')}`;
const pushed = (word, answer) => `>3\r\n${bulk('weir.acquire')}${bulk(word)}${answer}`;

/** A server that says what `answers` has of each verb, `verb(words, say)`; what it is asked, and a socket of each client. */
async function tagging(answers, { maxWaiters = 100 } = {}) {
  const asked = [];
  const hello = `%3\r\n${bulk('weir_version')}${bulk('0.1.0')}${bulk('proto')}:3\r\n${bulk('max_waiters')}:${maxWaiters}\r\n`;
  const parsers = new Map();
  const server = await pretender((text, socket) => {
    if (!parsers.has(socket)) parsers.set(socket, new Parser());
    parsers.get(socket).feed(Buffer.from(text), (words) => {
      asked.push(words);
      if (words[0] === 'HELLO') socket.write(hello);
      else if (words[0] === 'PING') socket.write('+PONG\r\n');
      else answers[words[0]]?.(words, (...texts) => socket.write(texts.join('')));
    });
  });
  return Object.assign(server, { asked, of: (verb) => asked.filter(([first]) => first === verb), words: () => asked.filter(([first]) => first === 'WEIR.ACQUIRE').map(wordOf) });
}

const wordOf = (words) => words[words.indexOf('TAG') + 1];
const QUEUES = { 'WEIR.ACQUIRE': (_, say) => say('+QUEUED\r\n'), 'WEIR.LEAVE': (_, say) => say(':1\r\n'), 'WEIR.SETTLE': (_, say) => say(':0\r\n'),
  'WEIR.THROTTLE': (_, say) => say('*6\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:1\r\n$1\r\nk\r\n') };

/** A client of such a server, and what holds for both at the end: no word was said twice. */
async function waiting(t, answers = {}, { maxWaiters, ...options } = {}) {
  const server = await tagging({ ...QUEUES, ...answers }, { maxWaiters });
  const client = connect(server.url, { ...PATIENT, ...options });
  t.after(async () => {
    await client.close();
    server.close();
    assert.equal(new Set(server.words()).size, server.words().length);
  });
  const say = (...texts) => [...server.sockets].at(-1).write(texts.join(''));
  const queued = (number) => until(() => server.words().length >= number, `${number} acquires`);
  return { client, server, say, queued };
}

test('what is QUEUED is answered by its push, in any order and between the replies of other calls', async (t) => {
  const { client, server, say, queued } = await waiting(t);
  const [first, second] = [client.acquire(QUESTION), client.acquire({ ...QUESTION, holdMs: 1000 })];
  await queued(2);
  const [one, two] = server.words();
  assert.equal((await client.check('k', '1/s')).decided, true);
  say('>2\r\n+invalidate\r\n*0\r\n', pushed('nobody', granted()), pushed(two, granted('id-2')));
  assert.equal((await second).id, 'id-2');
  assert.equal((await client.check('k', '1/s')).decided, true);
  say(pushed(one, granted()), pushed(one, granted()));
  assert.equal((await first).decision.allowed, true);
  assert.equal(server.sockets.size, 1);
  assert.deepEqual(server.of('WEIR.ACQUIRE')[1], ['WEIR.ACQUIRE', 'MAXWAIT', '60000', 'HOLD', '1000', 'TAG', two, 'KEYS', 'k', '1/s']);
});

test('what is decided at once is answered like any call', async (t) => {
  const denied = granted().replace(':0', ':1').replace(':0\r\n:1000', ':700\r\n:1000');
  const answers = [granted(), denied, '-ERR max_wait: it is wrong\r\n', '+QUEUED\r\n'];
  const { client, server, say, queued } = await waiting(t, { 'WEIR.ACQUIRE': (_, say) => say(answers.shift()) });
  assert.equal((await client.acquire(QUESTION)).waitMs, 0);
  await assert.rejects(client.acquire(QUESTION), { code: 'DENIED', message: /retry after 700 ms/ });
  await assert.rejects(client.acquire(QUESTION), { code: 'REFUSED', message: 'max_wait: it is wrong' });
  const last = client.acquire(QUESTION);
  await queued(4);
  say(pushed(server.words()[3], '-ERR the server is shutting down\r\n'));
  assert.match((await last).decision.error.message, /shutting down/);
});

test('one that is given up leaves the line', async (t) => {
  const { client, server, queued } = await waiting(t);
  const giveUp = new AbortController();
  const one = client.acquire({ ...QUESTION, signal: giveUp.signal });
  await queued(1);
  await client.ready(); // so QUEUED has been read
  giveUp.abort();
  await assert.rejects(one, { name: 'AbortError' });
  await until(() => server.of('WEIR.LEAVE').length === 1, 'it leaves');
  assert.deepEqual(server.of('WEIR.LEAVE'), [['WEIR.LEAVE', server.words()[0]]]);
  assert.deepEqual(server.of('WEIR.SETTLE'), []);
});

test('one that is given up before it is told QUEUED leaves when it is', async (t) => {
  const { client, server, say, queued } = await waiting(t, { 'WEIR.ACQUIRE': () => {} });
  const giveUp = new AbortController();
  const one = client.acquire({ ...QUESTION, signal: giveUp.signal });
  await queued(1);
  giveUp.abort();
  await assert.rejects(one, { name: 'AbortError' });
  say('+QUEUED\r\n');
  await until(() => server.of('WEIR.LEAVE').length === 1, 'it leaves');
});

test('a grant that comes as it is given up is settled at 0', async (t) => {
  const leaves = [];
  const { client, server, say, queued } = await waiting(t, { 'WEIR.LEAVE': ([, word]) => leaves.push(word) });
  const giveUp = new AbortController();
  const both = [client.acquire({ ...QUESTION, holdMs: 1000, signal: giveUp.signal }), client.acquire({ ...QUESTION, signal: giveUp.signal })];
  await queued(2);
  await client.ready();
  giveUp.abort();
  for (const each of both) await assert.rejects(each, { name: 'AbortError' });
  await until(() => leaves.length === 2, 'they leave');
  say(pushed(leaves[0], granted('late')), pushed(leaves[1], granted()), ':0\r\n:0\r\n');
  await until(() => server.of('WEIR.SETTLE').length === 1, 'it is settled');
  assert.deepEqual(server.of('WEIR.SETTLE'), [['WEIR.SETTLE', 'late', '0']]);
  assert.equal((await client.check('k', '1/s')).decided, true);
});

test('a connection that ends with 100 in line: none is decided, and none is asked again', async (t) => {
  const { client, server, queued } = await waiting(t, {}, { onError: 'deny' });
  const all = Array.from({ length: 100 }, () => client.acquire(QUESTION).catch((error) => error));
  await queued(100);
  await client.ready();
  [...server.sockets][0].destroy();
  for (const each of await Promise.all(all)) assert.equal(each.decision.error.code, 'UNAVAILABLE');
  await client.ready();
  assert.equal(server.words().length, 100);
});

test('the first answer has the timeout, and the push what it may wait besides', async (t) => {
  const answers = ['', '+QUEUED\r\n'];
  const { client, server, say, queued } = await waiting(t, { 'WEIR.ACQUIRE': (_, say) => say(answers.shift()) }, { timeoutMs: 150 });
  await client.ready();
  const first = await client.acquire(QUESTION);
  assert.match(first.decision.error.message, /no answer from .* within 150 ms/);
  say('+QUEUED\r\n'); // too late
  await until(() => server.of('WEIR.LEAVE').length === 1, 'nobody waits for it any more');
  const second = await client.acquire({ ...QUESTION, maxWaitMs: 100 });
  assert.match(second.decision.error.message, /no answer from .* within 250 ms/);
  await queued(2);
  await until(() => server.of('WEIR.LEAVE').length === 2, 'nor for this');
});

test('those in line are not unanswered, and leave room to calls while they get there', async (t) => {
  const { client, server, say, queued } = await waiting(t, {}, { maxInFlight: 4 });
  const all = Array.from({ length: 50 }, () => client.acquire(QUESTION));
  await queued(2);
  const checks = Array.from({ length: 2 }, () => client.check('k', '1/s'));
  assert.deepEqual((await Promise.all(checks)).map(({ decided }) => decided), [true, true]);
  await queued(50);
  say(...server.words().map((word) => pushed(word, granted())));
  for (const each of await Promise.all(all)) assert.equal(each.decision.decided, true);
});

test('more than the server lets wait on a connection wait here, within their maxWaitMs', async (t) => {
  const { client, server, say, queued } = await waiting(t, { 'WEIR.ACQUIRE': (words, say) => say(words.includes('TAG') ? '+QUEUED\r\n' : granted()) }, { maxWaiters: 2 });
  const all = [1, 2, 3].map(() => client.acquire(QUESTION));
  const giveUp = new AbortController();
  const given = client.acquire({ ...QUESTION, signal: giveUp.signal });
  await queued(2);
  await client.ready();
  giveUp.abort();
  await assert.rejects(given, { name: 'AbortError' });
  assert.equal(server.words().length, 2);
  say(pushed(server.words()[1], granted()));
  await queued(3);
  const [, , last] = server.of('WEIR.ACQUIRE');
  assert.ok(Number(last[2]) <= 60_000, last);
  await client.acquire({ ...QUESTION, maxWaitMs: 1 });
  assert.deepEqual(server.of('WEIR.ACQUIRE')[3], ['WEIR.ACQUIRE', 'MAXWAIT', '0', 'KEYS', 'k', '1/s']); // its time is over
  say(...server.words().slice(0, 3).map((word) => pushed(word, granted())));
  assert.equal((await Promise.all(all)).length, 3);
});

test('those that stand here have the timeout when the connection breaks, and not as long as they may wait', async (t) => {
  const { client, server, queued } = await waiting(t, {}, { maxWaiters: 1, timeoutMs: 500 });
  const all = [client.acquire(QUESTION), client.acquire(QUESTION)];
  await queued(1);
  server.close();
  for (const each of await Promise.all(all)) assert.equal(each.decision.error.code, 'UNAVAILABLE');
  assert.equal(server.words().length, 1);
});

test('close ends those in line', async (t) => {
  const { client, queued } = await waiting(t, {}, { maxWaiters: 2, timeoutMs: 100 });
  const all = [1, 2, 3].map(() => client.acquire(QUESTION));
  await queued(2);
  await client.close();
  for (const each of await Promise.all(all)) assert.match(each.decision.error.message, /the client is closed/);
});

test('a server that has no TAG is waited at on a connection for each', async (t) => {
  const { client, server } = await waiting(t, { 'WEIR.ACQUIRE': (_, say) => say(granted()) }, { maxWaiters: 0 });
  await Promise.all([client.acquire(QUESTION), client.acquire(QUESTION)]);
  assert.deepEqual(server.of('WEIR.ACQUIRE')[0], ['WEIR.ACQUIRE', 'MAXWAIT', '60000', 'KEYS', 'k', '1/s']);
  assert.ok(server.sockets.size > 1);
  server.asked.length = 0; // there is no word to look at
});

test('what nobody waits for any more is forgotten', async (t) => {
  const server = await tagging({ ...QUEUES, 'WEIR.LEAVE': ([, word], say) => (word === 'd' ? say(pushed('d', granted()), ':0\r\n') : say(':1\r\n')) });
  t.after(() => server.close());
  const connection = await dial({ host: '127.0.0.1', port: Number(new URL(server.url).port) }, {}, 10_000, 10_000, () => {});
  const wait = (word) => {
    const one = new Wait(word, 60_000, encode(['WEIR.ACQUIRE', 'TAG', word]), performance.now() + 10_000, 10_000, () => {}, () => {});
    connection.ask(one);
    return one;
  };
  const [a, , , d] = ['a', 'b', 'c', 'd'].map(wait);
  const unwritten = wait('e');
  unwritten.end();
  await until(() => server.words().length === 4, 'all are asked');
  await new Promise((resolve, reject) => connection.ask(new Call(encode(['PING']), performance.now() + 10_000, 10_000, resolve, reject)));
  assert.equal(connection.waits, 4);
  a.end();
  d.end();
  [...server.sockets][0].write(pushed('b', granted()));
  await until(() => connection.waits === 1, 'c alone waits');
  connection.end('it is over');
  assert.equal(connection.waits, 0);
});

for (const ms of [0, 3, 10, 25, 100]) {
  test(`15 acquires at once, ${ms} ms away: each has its moment`, async () => {
    const weir = await Weir.start();
    const client = connect(await proxy.far(weir.url, ms), PATIENT);
    let ended = 0;
    const all = Array.from({ length: 15 }, () => client.acquire({ key: 'k', rule: '1/s', maxWaitMs: 60_000 }).finally(() => ++ended));
    for (let each = 1; each <= 15; ++each) {
      await until(async () => (await weir.waiting()) === 15 - each, `${15 - each} wait`);
      await until(() => ended >= each, `${each} have acted`);
      assert.equal(ended, each);
      await weir.advance(1000);
    }
    for (const { decision } of await Promise.all(all)) assert.deepEqual([decision.allowed, decision.decided], [true, true]);
    await client.close();
    await weir.stop();
  });

  test(`2,000 acquires at once, ${ms} ms away: they wait on one connection`, async () => {
    const weir = await Weir.start();
    const client = connect(await proxy.far(weir.url, ms), PATIENT);
    const all = Array.from({ length: 2000 }, () => client.acquire({ key: 'k', rule: '100/s burst 1', maxWaitMs: 60_000 }));
    await until(async () => (await weir.waiting()) === 1999, 'all but one wait');
    assert.equal((await weir.ask('CLIENT', 'LIST')).trim().split('\n').length, 2); // and that of this question
    assert.equal((await client.check('other', '1/s')).decided, true);
    await weir.advance(20_000);
    const decisions = (await Promise.all(all)).map(({ decision }) => decision);
    assert.equal(decisions.filter(({ allowed, decided }) => allowed && decided).length, 2000);
    await client.close();
    await weir.stop();
  });
}
