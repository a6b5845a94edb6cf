// Calls that wait for a connection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Call } from '../dist/esm/call.js';
import { Pool } from '../dist/esm/pool.js';
import { until } from './support.mjs';

const OPTIONS = { firstMs: 0, connectTimeoutMs: 1000, silenceMs: 1000, maxConnections: 16, maxInFlight: 100_000, connected: () => {} };

test('each call that waits for a connection ends, however long it takes to look at all of them', async (t) => {
  let at = 0;
  t.mock.method(performance, 'now', () => (at += 0.25)); // time goes on while they are looked at
  const pool = new Pool({ ...OPTIONS, find: () => new Promise(() => {}) });
  let ended = 0;
  for (let each = 0; each < 100; ++each) pool.ask(new Call('', each, each, () => assert.fail(), () => ++ended));
  await until(() => ended === 100, 'all have ended');
  pool.close();
});

test('a call that comes while others wait does not look at them', (t) => {
  let looks = 0;
  t.mock.method(performance, 'now', () => ++looks / 1e6);
  const pool = new Pool({ ...OPTIONS, find: () => new Promise(() => {}) });
  const call = () => Object.defineProperty(new Call('', 0, 0, () => {}, () => {}), 'over', { get: () => (++looks, false), set: () => {} });
  for (let each = 0; each < 10_000; ++each) pool.ask(Object.assign(call(), { deadline: 1e9 }));
  assert.ok(looks < 100_000, `${looks} looks for 10,000 calls`);
  pool.close();
});
