import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWeir } from '../dist/esm/testing.js';
import './support.mjs';

test('time stands still until it is advanced', async () => {
  const weir = await startWeir({ now: '2027-03-28T00:59:59Z' });
  const client = weir.connect();
  const began = await weir.now();
  assert.equal(began.toISOString(), '2027-03-28T00:59:59.000Z');
  assert.equal((await client.check('a', '1/min')).allowed, true);
  assert.equal((await client.check('a', '1/min')).retryAfterMs, 60_000);
  const waits = client.acquire({ key: 'a', rule: '1/min', maxWaitMs: 60_000 });
  await weir.advance(60_000);
  assert.equal((await waits).decision.allowed, true);
  assert.equal((await weir.now()) - began, 60_000);
  await assert.rejects(weir.advance(-1), { code: 'REFUSED' });
  await weir.close();
  await weir.close();
  await assert.rejects(client.check('a', '1/min'), { code: 'UNAVAILABLE' }, 'its clients are closed with it, and say so');
});

test('a limits file, and another one', async () => {
  const weir = await startWeir({ limits: 'version: 1\nattributes: [user]\nlimits: { user: { by: [user], rate: 1/h } }\n' });
  const client = weir.connect();
  const question = { attributes: { user: 1 } };
  assert.equal((await client.check(question)).limit, 1);
  await weir.limits('version: 1\nattributes: [user]\nlimits: { user: { by: [user], rate: 7/h } }\n');
  assert.equal((await client.check(question)).limit, 7);
  await assert.rejects(weir.limits('version: 1\nlimits: x\n'), { code: 'REFUSED' });
  await weir[Symbol.asyncDispose]();
});

test('a limits file with errors', async () => {
  await assert.rejects(startWeir({ limits: 'version: 1\nlimits: { a: { rate: x } }\n' }), /limits\.a\.rate/);
});

test('as CommonJS too', async () => {
  const { createRequire } = await import('node:module');
  const require = createRequire(import.meta.url);
  const cjs = require('../dist/cjs/testing.js');
  const weir = await cjs.startWeir();
  const client = require('../dist/cjs/index.js').connect(weir.url, { log: () => {} });
  assert.equal((await client.check('a', '1/min')).allowed, true);
  await client.close();
  await weir.close();
});

test('reserve acts now unless maxWaitMs says another time, whatever the limits file lets wait', async () => {
  const weir = await startWeir({ limits: 'version: 1\nattributes: [api]\nlimits: { calls: { by: [api], rate: 1/min, max_wait: 60s } }\n' });
  const client = weir.connect();
  const question = { attributes: { api: 'x' } };
  assert.equal((await client.reserve(question)).waitMs, 0);
  await assert.rejects(client.reserve(question), { code: 'DENIED' });
  assert.equal((await client.tryReserve(question)).waitMs, null);
  assert.equal((await client.tryReserve({ ...question, maxWaitMs: 60_000 })).waitMs, 60_000);
  await weir.close();
});
