// clients/cases/rules.json: which texts are rules, and what is said of others.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { limit } from '../dist/esm/express.js';
import { rulesIn } from '../dist/esm/rule.js';
import { startWeir } from '../dist/esm/testing.js';
import { CASES } from './support.mjs';

const { right, wrong } = JSON.parse(readFileSync(join(CASES, 'rules.json'), 'utf8'));
let weir, client;
before(async () => {
  weir = await startWeir();
  client = weir.connect({ timeoutMs: 10_000 });
});
after(() => weir.close());

for (const { text, rules } of right)
  test(`right: ${JSON.stringify(text)}`, async () => {
    assert.deepEqual(rulesIn(text, 'limit'), rules);
    assert.deepEqual(rulesIn(rules, 'limit'), rules, 'the canonical text is one');
    // The server reads it as a rule, though it counts a log in a store alone, and slots by reservations.
    for (const rule of rules)
      await client.look({ key: `rules:${rule}`, rule }).catch((error) => assert.match(error.message, /by the table of this process|is met by WEIR.RESERVE/));
  });

for (const { text, error } of wrong)
  test(`wrong: ${JSON.stringify(text.slice(0, 40))}`, () => {
    const says = (thrown) => thrown instanceof TypeError && thrown.message.includes(error) || assert.fail(thrown.message);
    assert.throws(() => rulesIn(text, 'limit'), says);
    assert.throws(() => limit({ rule: text }), says);
  });

test('slots are not asked about by a request', () => assert.throws(() => limit({ rule: ['10/min', 'in_flight=3'] }), /in_flight=3 .* client\.slot/));

test('a rule is a text', () => {
  for (const rule of [5, null, [5], {}, ['1/s', undefined], []]) assert.throws(() => rulesIn(rule, 'limit'), TypeError);
});
