// clients/cases/middleware.json: what a limit means in a framework, and who shares one.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startWeir } from '../dist/esm/testing.js';
import { FRAMEWORKS } from './frameworks.mjs';
import { CASES } from './support.mjs';

const { cases } = JSON.parse(readFileSync(join(CASES, 'middleware.json'), 'utf8'));
test('there are cases', () => assert.ok(cases.length > 20));

const ask = (port, path, { from = '127.0.0.1', headers = {} } = {}) => new Promise((resolve, reject) =>
  http.get({ port, path, headers, host: '127.0.0.1', localAddress: from, agent: false }, async (answer) =>
    resolve({ status: answer.statusCode, headers: answer.headers, text: (await answer.toArray()).join('') })).on('error', reject));

/** The options of a limit, in the framework's words. */
function options({ rules, name, key, cost, exempt, on_denied: denied }, { header, answer }, client) {
  const of = ({ header: name }, as = String) => (request) => as(header(request, name));
  return {
    client,
    rule: rules.length === 1 ? rules[0] : rules,
    ...(name && { name }),
    ...(key && { key: key.header ? of(key) : key }),
    ...(cost && { cost: cost.header ? of(cost, Number) : cost }),
    ...(exempt && { exempt: of(exempt, (value) => value === 'yes') }),
    ...(denied && { onDenied: (...words) => answer(denied.status, `again in ${words[1].retryAfterMs / 1000} s`, ...words) }),
  };
}

async function step({ ask: path, statuses, fields = {}, text, guess, ...step }, weir, { port }) {
  if (step.advance_ms) return weir.advance(step.advance_ms);
  if (guess) {
    let passed = 0;
    for (let each = 0; each < step.times; ++each) {
      passed += (await ask(port, guess)).status === 200;
      await weir.advance(step.every_ms);
    }
    const [least, most] = step.passes;
    return assert.ok(passed >= least && passed <= most, `${passed} guesses`);
  }
  const answers = [];
  for (const _ of statuses) answers.push(await ask(port, path, step));
  assert.deepEqual(answers.map(({ status }) => status), statuses);
  const last = answers.at(-1);
  for (const [name, value] of Object.entries(fields)) assert.equal(last.headers[name] ?? null, value, name);
  // Nest makes an error of its own of it.
  if (text) assert.ok(last.text === text || JSON.parse(last.text).message === text, last.text);
}

for (const [framework, its] of Object.entries(FRAMEWORKS))
  describe(framework, () => {
    for (const { name, of, limits, apps, wrong, steps = [] } of cases)
      test(name, { skip: of && of !== (its.placed ? 'placed' : 'mounted') && `it is for what is ${of}` }, async () => {
        globalThis[Symbol.for('@weir/client names')].clear(); // each case is a process of its own
        const weir = await startWeir();
        const started = [];
        const start = async () => {
          for (const { app = 'shop', all = [], routes } of apps) {
            const client = weir.connect({ app });
            const made = Object.fromEntries(Object.entries(limits).map(([each, said]) => [each, its.limit(options(said, its, client))]));
            const known = (names = []) => names.map((each) => made[each]);
            started.push(await its.start({ all: known(all), routes: routes.map((each) => ({ ...each, limits: known(each.limits) })) }));
          }
        };
        try {
          if (wrong) await assert.rejects(start, (error) => error instanceof TypeError && error.message.includes(wrong));
          else await start();
          for (const each of steps) await step(each, weir, started[each.app ?? 0]);
        } finally {
          for (const each of started) await each.close();
          await weir.close();
        }
      });
  });
