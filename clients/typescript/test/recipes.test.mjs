// What the libraries publish as their recipes, each run against the library's own memory store and against weir, by one
// clock: the answers are the same, or there is an error at construction that says what to use.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { mock, test, before, after } from 'node:test';
import fastifyRateLimit from '@fastify/rate-limit';
import { ThrottlerStorageService } from '@nestjs/throttler';
import { MemoryStore, rateLimit } from 'express-rate-limit';
import fastify from 'fastify';
import { BurstyRateLimiter, RateLimiterMemory, RateLimiterQueue, RateLimiterUnion } from 'rate-limiter-flexible';
import { WeirStore } from '../dist/esm/express-rate-limit.js';
import { weirStore } from '../dist/esm/fastify-rate-limit.js';
import { RateLimiterWeir } from '../dist/esm/flexible.js';
import { WeirThrottlerStorage } from '../dist/esm/nestjs.js';
import { startWeir } from '../dist/esm/testing.js';
import './support.mjs';

const DAY = 24 * 60 * 60;
let weir, client, number = 0;
before(async () => {
  weir = await startWeir();
  client = weir.connect({ timeoutMs: 10_000 });
  mock.timers.enable({ apis: ['Date', 'setTimeout', 'setInterval'] });
});
after(() => {
  mock.timers.reset();
  return weir.close();
});

async function advance(ms) {
  await weir.advance(ms);
  mock.timers.tick(ms);
}

/** A recipe told of its own memory store, and of weir; what it says of both is the same. `wait` goes on in both at once. */
async function alike(recipe) {
  const stores = [(options) => new RateLimiterMemory(options), (options) => new RateLimiterWeir({ client, ...options, keyPrefix: `${options.keyPrefix} ${number}` })];
  ++number;
  const runs = stores.map((make) => recipe(make));
  for (;;) {
    const [own, ours] = await Promise.all(runs.map((run) => run.next()));
    assert.deepEqual(ours, own);
    if (own.done) return;
    if (own.value?.wait) await advance(own.value.wait * 1000);
  }
}

const told = ({ remainingPoints, msBeforeNext }) => ({ remainingPoints, msBeforeNext });
const counted = (result) => ({ consumedPoints: result.consumedPoints, ...told(result) }); // its fields are getters
const spent = async (promise) => promise.then((result) => ({ passes: true, ...told(result) }), (result) => {
  if (result instanceof Error) throw result;
  return { passes: false, ...told(result) };
});

/** Log-in: many wrong ones of an address in a day, and consecutive ones of a name there, both looked at before the password. */
function login(make, consecutiveBlock) {
  const byAddress = make({ keyPrefix: 'login_fail_ip_per_day', points: 100, duration: DAY, blockDuration: DAY });
  const consecutive = make({ keyPrefix: 'login_fail_consecutive', points: 10, duration: 90 * DAY, blockDuration: consecutiveBlock });
  let looked = 0;
  const attempt = async (name, address, right) => {
    const key = `${name}_${address}`;
    const [ofName, ofAddress] = await Promise.all([consecutive.get(key), byAddress.get(address)]);
    for (const [result, most] of [[ofAddress, 100], [ofName, 10]])
      if (result !== null && result.consumedPoints > most) return [429, Math.round(result.msBeforeNext / 1000) || 1];
    ++looked;
    if (right) {
      if (ofName !== null && ofName.consumedPoints > 0) await consecutive.delete(key);
      return [200];
    }
    const failed = await Promise.all([byAddress.consume(address), consecutive.consume(key)]).catch((error) => error);
    if (failed instanceof Error) throw failed;
    return Array.isArray(failed) ? [400] : [429, Math.round(failed.msBeforeNext / 1000) || 1];
  };
  return { attempt, passwords: () => looked };
}

test('rate-limiter-flexible: log-in', () => alike(async function* (make) {
  const { attempt, passwords } = login(make, 60 * 60);
  for (let each = 0; each < 30; ++each) yield attempt('ann', '192.0.2.1', false);
  yield passwords();
  assert.equal(passwords(), 11, 'of 30 guesses');
  yield attempt('ann', '192.0.2.1', true);
  yield { wait: 60 * 60 - 1 };
  yield attempt('ann', '192.0.2.1', true);
  yield { wait: 1 };
  yield attempt('ann', '192.0.2.1', false);
  yield attempt('ann', '192.0.2.1', true);
  for (let each = 0; each < 10; ++each) yield attempt('ann', '192.0.2.1', false);
  yield attempt('ann', '192.0.2.1', true);
  // From the same address names are guessed one after the other, until the day's are spent.
  for (let each = 0; each < 100; ++each) yield attempt(`user${each}`, '192.0.2.1', false);
  yield passwords();
  yield attempt('ann', '192.0.2.1', true);
  yield { wait: DAY };
  yield attempt('ann', '192.0.2.1', true);
}));

test('rate-limiter-flexible: 30 guesses at once', () => alike(async function* (make) {
  const { attempt, passwords } = login(make, 60 * 60);
  await Promise.all(Array.from({ length: 30 }, () => attempt('ann', '192.0.2.2', false)));
  yield attempt('ann', '192.0.2.2', true);
  yield { passwords: passwords() > 11 };
}));

test('rate-limiter-flexible: a block for twenty years is an error that says what to use', () => {
  assert.throws(() => login((options) => new RateLimiterWeir({ client, ...options }), 20 * 365 * DAY), /^TypeError: RateLimiterWeir: blockDuration.*WEIR\.BAN/);
});

test('rate-limiter-flexible: the least against guesses', () => alike(async function* (make) {
  const limiter = make({ keyPrefix: 'login', points: 5, duration: 3 * 60 * 60, blockDuration: 15 * 60 });
  for (let each = 0; each < 8; ++each) yield spent(limiter.consume('ann'));
  yield { wait: 15 * 60 - 0.001 };
  yield spent(limiter.consume('ann'));
  yield { wait: 0.001 };
  yield limiter.consume('ann').then(({ remainingPoints }) => remainingPoints);
  yield limiter.delete('ann');
  yield limiter.get('ann');
  yield limiter.delete('ann');
}));

test('rate-limiter-flexible: what is over by a penalty is blocked by no consume', () => alike(async function* (make) {
  const limiter = make({ keyPrefix: 'penalty', points: 3, duration: 60, blockDuration: 600 });
  yield limiter.penalty('ann', 5).then(told);
  yield spent(limiter.consume('ann'));
  yield { wait: 59 };
  yield spent(limiter.consume('ann'));
  yield { wait: 1 };
  for (let each = 0; each < 5; ++each) yield spent(limiter.consume('ann'));
}));

test('rate-limiter-flexible: websocket', () => alike(async function* (make) {
  const limiter = make({ keyPrefix: 'socket', points: 5, duration: 1 });
  for (let second = 0; second < 3; ++second) {
    for (let each = 0; each < 7; ++each) yield spent(limiter.consume('192.0.2.1'));
    yield { wait: 0.4 };
    yield limiter.consume('192.0.2.1').then(told, ({ msBeforeNext, consumedPoints }) => ({ 'retry-ms': msBeforeNext, consumedPoints }));
    yield { wait: 0.6 };
  }
}));

test('rate-limiter-flexible: penalty and reward', () => alike(async function* (make) {
  const limiter = make({ keyPrefix: 'points', points: 10, duration: 60 });
  yield limiter.get('ann');
  yield spent(limiter.consume('ann', 4));
  for (const [call, points] of [['penalty', 3], ['reward', 2], ['penalty', undefined], ['penalty', 7], ['reward', 1]]) yield limiter[call]('ann', points).then(counted);
  yield spent(limiter.consume('ann'));
  const { consumedPoints, remainingPoints, msBeforeNext } = await limiter.get('ann');
  yield { consumedPoints, remainingPoints, msBeforeNext };
  yield { wait: 60 };
  yield limiter.get('ann');
  yield spent(limiter.consume('ann', 10));
}));

test('rate-limiter-flexible: blocks that become longer', () => alike(async function* (make) {
  const limiter = make({ keyPrefix: 'login', points: 5, duration: 15 * 60 });
  const beyond = make({ keyPrefix: 'consecutive_outoflimits', points: 99_999, duration: DAY });
  const minutes = [1, 1, 2, 3, 5, 8];
  for (let round = 0; round < 3; ++round) {
    for (let each = 0; each < 7; ++each) {
      const before = await limiter.get('ann');
      if (before !== null && before.consumedPoints > 5) {
        yield [429, before.msBeforeNext];
        continue;
      }
      const failed = await limiter.consume('ann').then(() => undefined, (result) => result);
      if (failed instanceof Error) throw failed;
      if (failed) {
        const { consumedPoints } = await beyond.penalty('ann');
        const { msBeforeNext } = await limiter.block('ann', 60 * minutes[consumedPoints]);
        yield [429, consumedPoints, msBeforeNext];
      } else yield [400];
    }
    yield { wait: 60 * minutes[round + 1] };
  }
  yield limiter.block('ann', 30).then(told);
  yield limiter.block('ann', 10).then(told);
  yield limiter.get('ann').then(counted);
  yield limiter.delete('ann');
  yield limiter.get('ann');
}));

test('rate-limiter-flexible: more for those that are logged in, and a key of one\'s own duration', () => alike(async function* (make) {
  const limiter = make({ keyPrefix: 'mw', points: 10, duration: 1 });
  for (const points of [1, 5, 5]) yield spent(limiter.consume('address', points));
  for (const points of [1, 1, 9]) yield spent(limiter.consume('user', points, { customDuration: 3 }));
  yield { wait: 2 };
  yield limiter.consume('user').then(({ msBeforeNext }) => msBeforeNext, ({ msBeforeNext }) => msBeforeNext);
  yield limiter.set('user', 8, 60).then(told);
  yield spent(limiter.consume('user', 2)).then(({ passes, remainingPoints }) => ({ passes, remainingPoints }));
}));

test('rate-limiter-flexible: a union and a bursty one', () => alike(async function* (make) {
  const [second, minute] = [make({ keyPrefix: 'second', points: 1, duration: 1 }), make({ keyPrefix: 'minute', points: 5, duration: 60 })];
  const union = new RateLimiterUnion(second, minute);
  for (let each = 0; each < 8; ++each) {
    yield union.consume('ann').then(() => 'passes', (denied) => Object.values(denied).map(told));
    yield { wait: 0.5 };
  }
  const bursty = new BurstyRateLimiter(make({ keyPrefix: 'steady', points: 2, duration: 1 }), make({ keyPrefix: 'burst', points: 5, duration: 10 }));
  for (let each = 0; each < 9; ++each) yield bursty.consume('ann').then(({ remainingPoints }) => remainingPoints, ({ msBeforeNext }) => msBeforeNext);
}));

test('rate-limiter-flexible: a queue before an interface of somebody else', () => alike(async function* (make) {
  const queue = new RateLimiterQueue(make({ keyPrefix: 'queue', points: 2, duration: 5 }), { maxQueueSize: 3 });
  const done = [];
  const jobs = Array.from({ length: 6 }, (_, job) => queue.removeTokens(1).then(() => done.push(job), (error) => done.push(error.constructor.name)));
  for (const ended of [3, 5, 6]) {
    const deadline = performance.now() + 10_000;
    while (done.length < ended && performance.now() < deadline) await new Promise(setImmediate);
    yield [...done].sort();
    yield { wait: 5 };
  }
  await Promise.all(jobs);
}));

test('express-rate-limit: 100 in 15 minutes, failed log-ins alone, and a key that is reset', async () => {
  for (const [options, statuses] of [[{ limit: 3, windowMs: 900_000 }, [200, 401, 200]], [{ limit: 3, windowMs: 900_000, skipSuccessfulRequests: true }, [200, 401]],
    [{ limit: 2, windowMs: 60_000, skipFailedRequests: true }, [401, 200]], [{ limit: () => 2, windowMs: 60_000 }, [200]]]) {
    ++number;
    const stores = [new MemoryStore(), new WeirStore({ client, prefix: `recipe ${number}` })];
    const limiters = stores.map((store) => rateLimit({ standardHeaders: 'draft-8', legacyHeaders: true, validate: false, ...options, store }));
    const compared = async (status) => {
      const [own, ours] = await Promise.all(limiters.map((limiter, at) => asked(limiter, stores[at], status)));
      assert.deepEqual(ours, own);
      assert.notEqual(ours.headers['retry-after'], '0');
    };
    for (let each = 0; each < 9; ++each) {
      await compared(statuses[each % statuses.length]);
      await advance(1000);
    }
    for (const limiter of limiters) await limiter.resetKey('192.0.2.1');
    assert.deepEqual([await stores[1].get('192.0.2.1'), await stores[0].get('192.0.2.1')], [undefined, undefined]);
    await compared(200);
    await advance(1000);
    await compared(200);
    await advance(options.windowMs);
    await compared(200);
  }
});

/** A request of 192.0.2.1 that the application answers with `status`, and how it is answered. */
async function asked(limiter, store, status) {
  const takenBack = [];
  const decrement = mock.method(store, 'decrement', function (key) {
    takenBack.push(MemoryStore.prototype.isPrototypeOf(this) ? MemoryStore.prototype.decrement.call(this, key) : WeirStore.prototype.decrement.call(this, key));
    return takenBack.at(-1);
  });
  const headers = {};
  const set = (name, value) => (headers[name.toLowerCase()] = String(value));
  const answer = Object.assign(new EventEmitter(), { statusCode: 200, headersSent: false, writableEnded: false, setHeader: set, append: set, getHeader: (name) => headers[name.toLowerCase()] });
  answer.status = (code) => Object.assign(answer, { statusCode: code });
  const passes = await new Promise((resolve, reject) => {
    answer.send = () => resolve(false);
    limiter({ ip: '192.0.2.1', headers: {}, app: { get: () => false } }, answer, (error) => (error ? reject(error) : resolve(true)));
  });
  if (passes) answer.statusCode = status;
  answer.writableEnded = true;
  for (const each of ['finish', 'close']) answer.emit(each);
  await new Promise(setImmediate); // when all promises that were kept have gone on
  await Promise.all(takenBack);
  decrement.mock.restore();
  return { passes, status: answer.statusCode, headers };
}

test('express-rate-limit: a second one of the same numbers is an error', async (t) => {
  const logger = { error: t.mock.fn(), warn: () => {} };
  const options = { windowMs: 77_000, limit: 7, validate: false, logger };
  rateLimit({ ...options, store: new WeirStore({ client }) });
  assert.equal(logger.error.mock.callCount(), 0);
  const store = new WeirStore({ client });
  const second = rateLimit({ ...options, store });
  assert.match(logger.error.mock.calls[0].arguments[0].message, /'7\/77000ms' in this process: give each its own prefix/);
  await assert.rejects(asked(second, store, 200), /give each its own prefix/);
});

test('@fastify/rate-limit: a limit for all, one of a route, and a ban', async () => {
  const start = async (store) => {
    const app = fastify();
    await app.register(fastifyRateLimit, { max: 3, timeWindow: '1 minute', ...(store && { store }) });
    app.get('/', async () => 'hello');
    app.get('/login', { config: { rateLimit: { max: 2, timeWindow: '15 minutes', ban: 2 } } }, async () => 'hello');
    return app;
  };
  const apps = [await start(), await start(weirStore({ client, prefix: 'recipe' }))];
  for (const url of ['/', '/login', '/', '/login', '/', '/login', '/', '/login', '/', '/login', '/login']) {
    const [own, ours] = await Promise.all(apps.map((app) => app.inject({ url })));
    const said = ({ statusCode, headers, body }) => [statusCode, body, Object.entries(headers).filter(([name]) => /ratelimit|retry/.test(name))];
    assert.deepEqual(said(ours), said(own));
    assert.notEqual(ours.headers['retry-after'], 0);
    await advance(20_000);
  }
  for (const app of apps) await app.close();
});

test('@nestjs/throttler: short, medium and long, each with its block', async () => {
  const storages = [new ThrottlerStorageService(), new WeirThrottlerStorage({ client })];
  const throttlers = [['short', 1000, 3], ['medium', 10_000, 20], ['long', 60_000, 100], ['login', 60_000, 5, 300_000]];
  for (const [name, ttl, limit, block = ttl] of throttlers)
    for (let round = 0; round < 3; ++round) {
      for (let each = 0; each < limit + 3; ++each) {
        const [own, ours] = await Promise.all(storages.map((storage) => storage.increment(`key ${name}`, ttl, limit, block, name)));
        assert.deepEqual([ours.totalHits, ours.isBlocked], [own.totalHits, own.isBlocked], `${name}, hit ${each} of round ${round}`);
        if (own.isBlocked) assert.equal(ours.timeToBlockExpire, own.timeToBlockExpire);
        else assert.equal(ours.timeToExpire, ttl / 1000);
      }
      await advance(block);
    }
  storages[0].onApplicationShutdown();
});
