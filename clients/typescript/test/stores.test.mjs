// The stores of other libraries, in those libraries.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fastifyRateLimit from '@fastify/rate-limit';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import fastify from 'fastify';
import { BurstyRateLimiter, RateLimiterQueue, RateLimiterUnion } from 'rate-limiter-flexible';
import { WeirStore } from '../dist/esm/express-rate-limit.js';
import { weirStore } from '../dist/esm/fastify-rate-limit.js';
import { RateLimiterWeir } from '../dist/esm/flexible.js';
import { WeirThrottlerStorage } from '../dist/esm/nestjs.js';
import { startWeir } from '../dist/esm/testing.js';
import { Weir } from './support.mjs';
import { connect } from '../dist/esm/index.js';

let weir, client;
before(async () => {
  weir = await startWeir();
  client = weir.connect({ timeoutMs: 10_000 });
});
after(() => weir.close());

test('express-rate-limit', async () => {
  const app = express();
  const limiter = rateLimit({ windowMs: 60_000, limit: 2, standardHeaders: 'draft-8', store: new WeirStore({ client, prefix: 'erl:' }) });
  app.use(limiter);
  app.get('/', (_, res) => res.send('hello'));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const ask = async () => {
    const answer = await fetch(`http://127.0.0.1:${server.address().port}/`);
    await answer.text();
    return answer;
  };
  const answers = [await ask(), await ask(), await ask()];
  assert.deepEqual(answers.map(({ status }) => status), [200, 200, 429]);
  assert.match(answers[0].headers.get('ratelimit'), /r=1; t=60/);
  assert.equal(answers[2].headers.get('retry-after'), '60');
  const key = '127.0.0.1';
  assert.equal((await limiter.getKey(key)).totalHits, 3);
  await limiter.resetKey(key);
  assert.equal(await limiter.getKey(key), undefined);
  assert.equal((await ask()).status, 200);
  await weir.advance(60_000);
  assert.equal(await limiter.getKey(key), undefined);
  server.close();
});

test('express-rate-limit: failed requests are taken back, where refunds are allowed; else one line says so', async (t) => {
  const told = t.mock.method(console, 'warn', () => {});
  const store = new WeirStore({ client, prefix: 'failed' });
  store.init({ limit: 5, windowMs: 60_000 });
  assert.equal((await store.increment('x')).totalHits, 1);
  assert.equal((await store.increment('x')).totalHits, 2);
  await store.decrement('x');
  assert.equal((await store.increment('x')).totalHits, 2);
  assert.equal(told.mock.callCount(), 0);
  await assert.rejects(new WeirStore({ client }).increment('x'), /a store is for rateLimit/);
  const none = new WeirStore({ client });
  none.init({ limit: 0, windowMs: 1000 });
  assert.equal((await none.increment('none')).totalHits, 1);
});

test('Retry-After is never 0, with a millisecond left of a window', async (t) => {
  const app = express();
  const windows = [{ windowMs: 1000, limit: 1 }, { windowMs: 1000, limit: () => 1 }];
  for (const [number, each] of windows.entries()) app.get(`/${number}`, rateLimit({ ...each, store: new WeirStore({ client, prefix: `last ${number}` }) }), (_, res) => res.send('hello'));
  const server = app.listen(0, '127.0.0.1');
  const inFastify = fastify();
  await inFastify.register(fastifyRateLimit, { max: 1, timeWindow: 1000, store: weirStore({ client, prefix: 'last' }) });
  inFastify.get('/', async () => 'hello');
  const storage = new WeirThrottlerStorage({ client, prefix: 'last' });
  const said = async () => [
    ...(await Promise.all(windows.map(async (_, number) => (await fetch(`http://127.0.0.1:${server.address().port}/${number}`)).headers.get('retry-after')))),
    (await inFastify.inject('/')).headers['retry-after'] ?? null,
    (await storage.increment('a', 1000, 1, 0, 'x')).timeToBlockExpire,
  ].map((each) => each && Number(each));
  t.after(() => [server, inFastify].forEach((each) => each.close()));
  assert.deepEqual(await said(), [null, null, null, 0]);
  await weir.advance(999);
  assert.deepEqual(await said(), [1, 1, 1, 1]);
});

test('@fastify/rate-limit, with a route of its own', async () => {
  const app = fastify();
  await app.register(fastifyRateLimit, { max: 2, timeWindow: 60_000, store: weirStore({ client }) });
  app.get('/', async () => 'hello');
  app.get('/own', { config: { rateLimit: { max: 1, timeWindow: '1 hour' } } }, async () => 'hello');
  const ask = (url) => app.inject({ url });
  const statuses = [];
  for (const url of ['/', '/', '/', '/own', '/own']) statuses.push((await ask(url)).statusCode);
  assert.deepEqual(statuses, [200, 200, 429, 200, 429]);
  assert.equal((await ask('/own')).headers['retry-after'], '3600');
  await weir.advance(60_000);
  const again = await ask('/');
  assert.deepEqual([again.statusCode, again.headers['x-ratelimit-remaining']], [200, '1']);
  await app.close();
  const other = fastify();
  await assert.rejects(async () => other.register(fastifyRateLimit, { max: 2, exponentialBackoff: true, store: weirStore({ client }) }), TypeError);
});

test('@nestjs/throttler: windows, and a block that begins once', async () => {
  const storage = new WeirThrottlerStorage({ client });
  const hit = (block = 0) => storage.increment('ip', 60_000, 2, block, 'default');
  assert.deepEqual(await hit(), { totalHits: 1, timeToExpire: 60, isBlocked: false, timeToBlockExpire: 0 });
  assert.deepEqual(await hit(), { totalHits: 2, timeToExpire: 60, isBlocked: false, timeToBlockExpire: 0 });
  assert.deepEqual(await hit(), { totalHits: 3, timeToExpire: 60, isBlocked: true, timeToBlockExpire: 60 });
  assert.deepEqual(await hit(300_000), { totalHits: 3, timeToExpire: 300, isBlocked: true, timeToBlockExpire: 300 });
  await weir.advance(100_000);
  assert.equal((await hit(300_000)).timeToBlockExpire, 200, 'knocking on makes nobody wait longer');
  const another = await new WeirThrottlerStorage({ client }).increment('ip', 60_000, 2, 300_000, 'default');
  assert.equal(another.timeToBlockExpire, 200, 'nor at another process');
  await weir.advance(200_000);
  assert.equal((await hit(300_000)).isBlocked, false);
  await assert.rejects(hit(86_400_001), /up to a day.*WEIR\.BAN/);
});

test('@nestjs/throttler in an application', async () => {
  await import('reflect-metadata');
  const { Controller, Get, Module } = await import('@nestjs/common');
  const { APP_GUARD, NestFactory } = await import('@nestjs/core');
  const { ThrottlerGuard, ThrottlerModule } = await import('@nestjs/throttler');
  class Hello {
    hello() {
      return 'hello';
    }
  }
  Controller()(Hello);
  Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'));
  class App {}
  const throttlers = [{ ttl: 60_000, limit: 2 }];
  Module({
    imports: [ThrottlerModule.forRoot({ throttlers, storage: new WeirThrottlerStorage({ client, prefix: 'app:' }) })],
    controllers: [Hello],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  })(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, '127.0.0.1');
  const statuses = [];
  for (let each = 0; each < 3; ++each) statuses.push((await fetch(await app.getUrl())).status);
  assert.deepEqual(statuses, [200, 200, 429]);
  await app.close();
});

test('@nestjs/throttler: a hundred at once are blocked together, and come back together', async () => {
  const storage = new WeirThrottlerStorage({ client, prefix: 'at once' });
  const hits = async () => (await Promise.all(Array.from({ length: 100 }, () => storage.increment('ip', 60_000, 5, 300_000, 'login')))).map((each) => each.timeToBlockExpire);
  for (let round = 0; round < 2; ++round) {
    assert.deepEqual(await hits(), [...Array(5).fill(0), ...Array(95).fill(300)]);
    await weir.advance(299_000);
    assert.deepEqual(await hits(), Array(100).fill(1));
    await weir.advance(1000);
  }
});

test('@nestjs/throttler: what is blocked for longer than any window is asked about once', async (t) => {
  const verbs = [];
  const told = weir.connect({ timeoutMs: 10_000, onCall: ({ verb }) => verbs.push(verb) });
  t.after(() => told.close());
  const hit = async () => (verbs.length = 0, await new WeirThrottlerStorage({ client: told, prefix: 'once' }).increment('ip', 60_000, 1, 300_000, 'login'), [...verbs]);
  assert.deepEqual([await hit(), await hit(), await hit()], [['check'], ['check', 'charge', 'charge'], ['check']]);
  await weir.advance(240_000);
  assert.deepEqual(await hit(), ['check', 'charge']);
});

test('@nestjs/throttler: a hit that its window ends under is one of the next', async () => {
  const charge = async (question) => {
    await weir.advance(60_000);
    return client.charge(question);
  };
  const slow = { app: client.app, check: (question) => client.check(question), charge };
  const hit = () => new WeirThrottlerStorage({ client: slow, prefix: 'late' }).increment('ip', 60_000, 2, 300_000, 'login');
  for (let each = 0; each < 2; ++each) assert.equal((await hit()).isBlocked, false);
  assert.deepEqual(await hit(), { totalHits: 1, timeToExpire: 60, isBlocked: false, timeToBlockExpire: 0 });
  assert.equal((await hit()).totalHits, 2);
});

const DURATION = /^TypeError: RateLimiterWeir: .* seconds above 0, up to 292 years.*WEIR\.BAN/;
const told = ({ consumedPoints, msBeforeNext }) => [consumedPoints, msBeforeNext];

test('rate-limiter-flexible', async () => {
  const limiter = new RateLimiterWeir({ client, points: 4, duration: 4, keyPrefix: 'rlf', algorithm: 'gcra' });
  const first = await limiter.consume('a');
  assert.deepEqual([first.remainingPoints, first.consumedPoints, first.msBeforeNext, first.isFirstInDuration], [3, 1, 1000, true]);
  await limiter.consume('a', 3);
  const refused = await limiter.consume('a', 2).then(() => assert.fail(), (result) => result);
  assert.deepEqual([refused.remainingPoints, refused.consumedPoints, refused.msBeforeNext], [0, 6, 2000]);
  assert.equal((await limiter.reward('a', 2)).remainingPoints, 2);
  assert.equal((await limiter.penalty('a', 1)).remainingPoints, 1);
  assert.equal((await limiter.get('a')).consumedPoints, 3);
  assert.equal(await limiter.get('nobody'), null);
  assert.equal((await limiter.set('a', 1, 4)).consumedPoints, 1);
  assert.equal((await limiter.get('a')).remainingPoints, 3);
  await assert.rejects(limiter.block('a', 10), /block\(\) needs a window.*penalty/);
  assert.equal(await limiter.delete('a'), true);
  assert.equal(await limiter.delete('a'), false);
  assert.equal((await limiter.consume('a')).consumedPoints, 1);
});

test('rate-limiter-flexible: a block, a custom duration, and points that are spread evenly', async () => {
  const limiter = new RateLimiterWeir({ client, points: 1, duration: 1, blockDuration: 60, keyPrefix: 'block' });
  await limiter.consume('a');
  assert.equal((await limiter.consume('a').catch((result) => result)).msBeforeNext, 60_000);
  await weir.advance(59_000);
  assert.equal((await limiter.consume('a').catch((result) => result)).msBeforeNext, 1000);
  await weir.advance(1000);
  assert.equal((await limiter.consume('a')).remainingPoints, 0);
  assert.equal((await limiter.consume('b', 1, { customDuration: 90 })).msBeforeNext, 90_000);
  for (const [options, says] of [[{ algorithm: 'fixed_window', execEvenly: true }, /gcra/], [{ blockDuration: 86_401 }, /up to a day.*WEIR\.BAN/],
    [{ blockDuration: 60, execEvenly: true }, /blockDuration needs a window.*penalty/], [{ blockDuration: 60, algorithm: 'gcra' }, /blockDuration needs a window.*penalty/], [{ duration: 0 }, DURATION],
    [{ duration: Infinity }, DURATION], [{ duration: '60' }, DURATION], [{ duration: NaN }, DURATION], [{ points: 0 }, /deny, in the limits file/], [{ insuranceLimiter: limiter }, /onError of connect/], [{ point: 1 }, /unknown option 'point'/]])
    assert.throws(() => new RateLimiterWeir({ client, ...options }), says);
  for (const seconds of [0, -1, Infinity, 9_223_372_037]) {
    await assert.rejects(limiter.consume('a', 1, { customDuration: seconds }), DURATION);
    await assert.rejects(limiter.set('a', 1, seconds), DURATION);
  }
  for (const seconds of [0, 86_401]) await assert.rejects(limiter.block('a', seconds), /up to a day.*WEIR\.BAN/);
  const windows = new RateLimiterWeir({ client, points: 2, duration: 60, keyPrefix: 'w' });
  await windows.consume('a');
  await windows.block('a', 1);
  await assert.rejects(windows.consume('a'), ({ msBeforeNext, consumedPoints }) => msBeforeNext === 1000 && consumedPoints === 3);
  assert.deepEqual(told(await windows.penalty('a', 5)), [3, 1000]);
  assert.deepEqual(told(await windows.reward('a', 5)), [3, 1000]);
  assert.deepEqual(told(await windows.get('a')), [3, 1000]);
  assert.equal((await windows.set('a', 2, 60)).remainingPoints, 0);
  assert.equal((await windows.get('a')).consumedPoints, 2);
  assert.equal(await windows.delete('a'), true);
  assert.equal(await windows.get('a'), null);

  const even = new RateLimiterWeir({ client, points: 50, duration: 1, execEvenly: true, keyPrefix: 'even' });
  const began = performance.now();
  await even.consume('a');
  await even.consume('a');
  assert.ok(performance.now() - began >= 19);
});

test('rate-limiter-flexible: in a union, a bursty limiter and a queue', async () => {
  const each = ['u1', 'u2'].map((keyPrefix, at) => new RateLimiterWeir({ client, points: 1 + at, duration: 60, keyPrefix }));
  const union = new RateLimiterUnion(...each);
  assert.equal((await union.consume('a')).u2.remainingPoints, 1);
  assert.equal((await union.consume('a').catch((result) => result)).u1.remainingPoints, 0);
  const bursty = new BurstyRateLimiter(each[0], new RateLimiterWeir({ client, points: 1, duration: 60, keyPrefix: 'burst' }));
  assert.equal((await bursty.consume('b')).remainingPoints, 0);
  await bursty.consume('b');
  await assert.rejects(bursty.consume('b'), (result) => result.msBeforeNext === 60_000);
  assert.equal(await new RateLimiterQueue(each[1]).removeTokens(1, 'c'), 1);
});

test('a server that takes no refunds: one line says so, and nobody is refused beyond the window', async (t) => {
  const told = t.mock.method(console, 'warn', () => {});
  const strict = await Weir.start({ flags: [], refunds: false });
  const its = connect(strict.url, { app: 'test', timeoutMs: 10_000 });
  const limiter = new RateLimiterWeir({ client: its, points: 1, duration: 600, blockDuration: 60, keyPrefix: 'strict' });
  await limiter.consume('a');
  for (let each = 0; each < 2; ++each) await assert.rejects(limiter.consume('a'), ({ msBeforeNext }) => msBeforeNext > 590_000 && msBeforeNext <= 600_000);
  const storage = new WeirThrottlerStorage({ client: its });
  for (const blocked of [false, true, true]) {
    const { isBlocked, timeToBlockExpire } = await storage.increment('a', 600_000, 1, 60_000, 'x');
    assert.deepEqual([isBlocked, timeToBlockExpire > 590], [blocked, blocked]);
  }
  assert.equal(told.mock.callCount(), 1);
  assert.match(told.mock.calls[0].arguments[0], /^weir: a key that is to be blocked is refused until its window ends.*--allow-refunds$/);
  await assert.rejects(limiter.block('a', 60), { code: 'REFUSED' });
  await assert.rejects(limiter.reward('a'), { code: 'REFUSED' });
  assert.equal(await limiter.delete('a'), true);
  const store = new WeirStore({ client: its, prefix: 'strict' });
  store.init({ limit: 5, windowMs: 60_000 });
  await store.increment('a');
  for (let each = 0; each < 2; ++each) await store.decrement('a');
  assert.equal(told.mock.callCount(), 2);
  await store.increment('a');
  await store.resetKey('a');
  assert.equal(await store.get('a'), undefined, 'to forget needs no refunds');
  await its.close();
  await strict.stop();
});

test('a token of the role decide: what only a reset does is an error, and else what is counted is taken back', async () => {
  const token = 'weir_kpq376k6jqtusqd4f2e2m4bjiazb436u';
  const users = join(mkdtempSync(join(tmpdir(), 'weir-users-')), 'users.yaml');
  writeFileSync(users, `users: { shop: { role: decide, token: "sha256:${createHash('sha256').update(token).digest('hex')}" } }\n`, { mode: 0o600 });
  const guarded = await Weir.start({ flags: ['--users', users] });
  const its = connect(guarded.url, { app: 'test', password: token, timeoutMs: 10_000 });
  for (const algorithm of ['fixed_window', 'gcra']) {
    const limiter = new RateLimiterWeir({ client: its, points: 5, duration: 600, algorithm, keyPrefix: `decides ${algorithm}` });
    await limiter.consume('a', 2);
    await limiter.penalty('a', 9);
    assert.deepEqual([await limiter.delete('a'), await limiter.get('a'), await limiter.delete('a')], [true, null, false]);
    assert.equal((await limiter.consume('a', 5)).remainingPoints, 0);
    await assert.rejects(limiter.set('a', 2, 10), { code: 'UNAUTHORIZED', message: /needs operate/ });
  }
  const limiter = new RateLimiterWeir({ client: its, points: 5, duration: 600, keyPrefix: 'decides' });
  await limiter.block('a', 60);
  await assert.rejects(limiter.delete('a'), { code: 'UNAUTHORIZED', message: /needs operate/ });
  const store = new WeirStore({ client: its, prefix: 'decides' });
  store.init({ limit: 5, windowMs: 600_000 });
  for (let each = 0; each < 3; ++each) await store.increment('a');
  await store.resetKey('a');
  assert.equal(await store.get('a'), undefined);
  await its.close();
  await guarded.stop();
});

test('without weir the stores do as their client says', async () => {
  const { deadPort } = await import('./support.mjs');
  const url = `weir://127.0.0.1:${await deadPort()}`;
  for (const [onError, hits, blocked] of [['allow', 1, false], ['deny', Number.MAX_SAFE_INTEGER, true]]) {
    const away = connect(url, { onError, log: () => {}, timeoutMs: 100 });
    const store = new WeirStore({ client: away, prefix: onError });
    store.init({ limit: 5, windowMs: 1000 });
    assert.equal((await store.increment('a')).totalHits, hits);
    assert.equal((await new WeirThrottlerStorage({ client: away }).increment('a', 1000, 5, 0, 'x')).isBlocked, blocked);
    await new RateLimiterWeir({ client: away, points: 5, duration: 1, keyPrefix: onError }).consume('a').then(() => assert.ok(!blocked), () => assert.ok(blocked));
    await away.close();
  }
});
