// What vendors say of their limits, by the table that all clients share, and what told() charges for it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { heard } from '../dist/esm/heard.js';
import { told } from '../dist/esm/index.js';
import { startWeir } from '../dist/esm/testing.js';
import * as vendors from '../dist/esm/vendors.js';
import { CASES } from './support.mjs';

const table = JSON.parse(readFileSync(join(CASES, 'vendors.json'), 'utf8'));
const nameless = (rows) => rows.map(({ vendors: _, ...row }) => row);

test('the table of vendors is that of the cases', () => {
  assert.deepEqual([vendors.REFUSALS, vendors.FIELDS, vendors.MOST_PAUSE_MS], [table.refusals, table.fields, table.most_pause_ms]);
  assert.deepEqual([vendors.PAUSES, vendors.LIMITS, vendors.BODIES], [table.pauses, table.limits, table.bodies].map(nameless));
  assert.deepEqual(vendors.MESSAGES.map(({ pauseMs, ...row }) => ({ ...row, pause_ms: pauseMs })), nameless(table.messages));
});

for (const { name, status, headers, body = '', now = '2026-11-28T12:00:00Z', asks } of table.cases)
  test(`vendors: ${name}`, () => {
    const lower = new Map(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value]));
    const said = heard(status, lower, body, Date.parse(now)).flatMap(({ limit, remaining, pauseMs }) => {
      const of = limit && { limit };
      return [...(remaining === undefined ? [] : [{ ...of, remaining }]), ...(pauseMs ? [{ ...of, pause_ms: pauseMs }] : [])];
    });
    assert.deepEqual(said, asks);
  });

test('a date is one that there is', () => {
  const pause = (text) => heard(503, new Map([['retry-after', text]]), '', Date.UTC(2026, 1, 28))[0]?.pauseMs;
  for (const text of ['Sunday, 01-Mar-26 00:00:00 GMT', 'Sun Mar  1 00:00:00 2026', '2026-03-01T01:30:00.0+01:30']) assert.equal(pause(text), 86_400_000, text);
  for (const text of ['Mon, 30 Feb 2026 00:00:00 GMT', 'Sun, 01 Foo 2026 00:00:00 GMT', 'Fri, 27 Feb 2026 24:00:00 GMT', '2026-02-30T00:00:00Z', '2026-02-28T00:00:00+25:00'])
    assert.equal(pause(text), undefined, text);
});

let weir, client;
before(async () => {
  weir = await startWeir({ limits: 'version: 1\nattributes: [api]\nlimits:\n  rpm: { by: [api], rate: 60/min }\n  tpm: { by: [api], rate: 9000/min }\n' });
  client = weir.connect();
});
after(() => weir.close());

test('a key: what is left, and a pause, of an answer in any form', async () => {
  const partner = { key: 'partner', rule: '60/min' };
  await told(client, new Response(null, { status: 200, headers: { 'X-RateLimit-Remaining': '7' } }), partner);
  await told(client, { status: 200, headers: { 'x-ratelimit-remaining': 50, 'set-cookie': ['a', 'b'], none: undefined } }, { ...partner, cost: 5 });
  assert.equal((await client.look(partner)).remaining, 7, 'nothing is given back');
  const [{ waitMs }] = await told(client, { statusCode: 429, headers: { 'Retry-After': '30' } }, partner);
  assert.equal(waitMs, 30_000);
  await weir.advance(29_000);
  assert.equal((await client.check(partner)).retryAfterMs, 1000);
  await weir.advance(1000);
  assert.equal((await client.check(partner)).allowed, true);
  assert.deepEqual(await told(client, { status: 200, headers: new Map([['X-Anything', '0']]) }, partner), []);
});

test('a window cannot be paused: nothing remains of it', async () => {
  const window = { key: 'window', rule: '10/min algorithm=fixed_window' };
  await told(client, { status: 429, headers: { 'Retry-After': '30' } }, window);
  assert.equal((await client.look(window)).remaining, 0);
  await assert.rejects(told(client, { status: 429, headers: { 'Retry-After': '30' } }, { key: 'a', rule: '10/m align=clock' }), { code: 'REFUSED' });
});

test('several limits, by the limits file and by keys', async () => {
  const answer = { status: 200, headers: { 'X-RateLimit-Remaining-Requests': '5', 'X-RateLimit-Remaining-Tokens': '3' } };
  const openai = { attributes: { api: 'openai' } };
  await told(client, answer, openai, { limits: { requests: 'rpm', tokens: 'tpm' } });
  const { by, remaining } = await client.look(openai);
  assert.deepEqual([by, remaining], ['tpm', 3]);
  const rules = { calls: '60/min', tokens: '9000/min' };
  await told(client, answer, { rules }, { limits: { requests: 'calls', tokens: 'tokens' } });
  for (const [key, left] of [['calls', 5], ['tokens', 3]]) assert.equal((await client.look({ key, rule: rules[key] })).remaining, left);
  await told(client, answer, { key: 'one', rule: '60/min' }, { limits: { requests: 'one' } });
  assert.equal((await client.look({ key: 'one', rule: '60/min' })).remaining, 5);
  await assert.rejects(told(client, answer, { key: 'one', rule: '60/min' }, { limits: { requests: 'other' } }), /^TypeError: told: limits: 'other' is not one of the keys, 'one'$/);
  await assert.rejects(told(client, answer, { rules }, { limits: { tokens: 'other' } }), /^TypeError: told: limits: 'other' is not one of the keys, 'calls', 'tokens'$/);
  await assert.rejects(told(client, answer, openai, { limits: { tokens: 'other' } }), { code: 'REFUSED', message: /unknown limit 'other'/ });
});

test('a body is looked at where it is given', async () => {
  const shop = { key: 'shop', rule: '50/s burst 1000' };
  const body = JSON.stringify({ extensions: { cost: { throttleStatus: { currentlyAvailable: 66.5 } } } });
  await told(client, { status: 200, headers: {} }, shop, { limits: { points: null }, body: new TextEncoder().encode(body) });
  assert.equal((await client.look(shop)).remaining, 66);
});
