// clients/cases, as the runners of the other languages run them; README.md there says what a step means.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect, WeirError } from '../dist/esm/index.js';
import { CASES, deadPort, PATIENCE_MS, Proxy, sleep, until, Weir } from './support.mjs';

const KINDS = ['call', 'slot', 'advance_ms', 'sleep_ms', 'proxy', 'await', 'give_up', 'leave', 'log', 'calls', 'connections', 'fork'];
let proxy, dead;
before(async () => ([proxy, dead] = await Promise.all([Proxy.start(), deadPort()])));
after(() => proxy.stop());

/** max_wait_ms to maxWaitMs, in texts too. */
const camel = (text) => text.replace(/(?<=[a-z])_([a-z])/g, (_, letter) => letter.toUpperCase());

function named(given) {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [camel(name), value]));
}

/** An answer as a case's names. */
function told(answer) {
  if (answer === null || typeof answer !== 'object') return { value: answer };
  if ('decision' in answer) return { ...told(answer.decision), wait_ms: answer.waitMs, id: answer.id !== null };
  const { retryAfterMs, resetAfterMs, waitMs, error, ...rest } = answer;
  return { ...rest, retry_after_ms: retryAfterMs, reset_after_ms: resetAfterMs, wait_ms: waitMs, error: error?.code ?? null, text: error?.message };
}

class Run {
  saved = {};
  background = {};
  told = [];
  lines = [];

  constructor(given) {
    this.given = given;
    const steps = JSON.stringify([given.options, given.steps]);
    this.byProxy = ['"proxy"', '"connections"', '{proxy'].some((word) => steps.includes(word));
  }

  async run() {
    const { limits, server, options, steps } = this.given;
    this.weir = await Weir.start({ limits, flags: server });
    try {
      if (this.byProxy) {
        assert.equal(await proxy.say(`to ${this.weir.url}`), 'ok');
        await proxy.mode('up');
      }
      if (steps[0].call !== 'connect') this.connect(options);
      await this.steps(steps);
    } finally {
      await this.client?.close();
      await this.weir.stop();
    }
  }

  connect(given) {
    const url = this.byProxy ? proxy.at.unix : this.weir.url;
    const filled = (text) => text.replace('{proxy}', proxy.at.port).replace('{proxy_tls}', proxy.at.tls_port).replace('{proxy_ca}', proxy.at.ca).replace('{dead}', dead);
    const { url: where, ca, onError, ...rest } = named({ url, ...given });
    const options = { onCall: (call) => this.told.push(call), log: (line) => this.lines.push(line), timeoutMs: 5000, connectTimeoutMs: 5000, ...rest };
    if (ca) options.tls = { ca: readFileSync(filled(ca)) };
    if (onError) options.onError = onErrorOf(onError);
    this.client = connect(filled(where), options);
  }

  async steps(steps) {
    for (const [number, step] of steps.entries()) {
      try {
        await this[KINDS.find((kind) => kind in step)](step);
      } catch (error) {
        throw new Error(`step ${number}, ${JSON.stringify(step)}: ${error.message}`, { cause: error });
      }
    }
  }

  begin({ call, of, with: given = {} }, signal) {
    const { id, actual, by_limit, for_ms: ms, ...rest } = given;
    const subject = of ? this.saved[of] : this.client;
    if (call === 'connect') return this.connect(given);
    if (call === 'close') return subject.close();
    if (call === 'cancel' || call === 'moment') return subject[call](...(of ? [] : [id]));
    if (call === 'settle') return subject.settle(...(of ? [] : [id]), actual ?? by_limit);
    if (call === 'extend') return subject.extend(...(of ? [] : [id]), ms);
    return subject[camel(call)]({ ...named(rest), ...(signal && { signal }) });
  }

  async outcome(begin) {
    try {
      return await begin();
    } catch (error) {
      if (error instanceof WeirError || error instanceof TypeError) return error;
      throw error;
    }
  }

  expect(answer, { text = '', not_text, ...expected }) {
    if (answer instanceof Error) {
      assert.equal(answer.code ?? 'INVALID', expected.error, answer.message);
      assert.ok(answer.message.includes(camel(text)), answer.message);
      assert.ok(!not_text || !answer.message.includes(not_text), answer.message);
      return;
    }
    const actual = told(answer);
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, actual[name]])), expected);
    assert.ok((actual.text ?? '').includes(text), actual.text);
  }

  async call(step) {
    if (step.at_once) return this.at_once(step);
    if (step.background) return this.put(step);
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const began = performance.now();
      const answer = await this.outcome(() => this.begin(step));
      const took = performance.now() - began;
      try {
        this.expect(answer, step.expect ?? {});
      } catch (error) {
        if (!step.eventually || Date.now() > deadline) throw error;
        await sleep(20);
        continue;
      }
      assert.ok(took + 1 >= (step.took_at_least_ms ?? 0), `it took ${took} ms`); // timers may wake in the millisecond before
      if (step.save) this.saved[step.save] = answer;
      return;
    }
  }

  async put(step) {
    const waiting = await this.weir.waiting();
    const giveUp = new AbortController();
    const answer = this.outcome(() => this.begin(step, giveUp.signal));
    this.background[step.background] = { answer, giveUp };
    answer.catch(() => {});
    const early = answer.then((each) => assert.fail(`it does not wait: ${JSON.stringify(told(each))}`), () => {});
    await Promise.race([early, until(async () => (await this.weir.waiting()) > waiting, 'it waits')]);
  }

  async at_once(step) {
    const answers = await Promise.all(Array.from({ length: step.at_once }, () => this.outcome(() => this.begin(step))));
    const counted = step.each.map(([, expected]) => answers.filter((answer) => {
      try {
        this.expect(answer, expected);
        return true;
      } catch {
        return false;
      }
    }).length);
    assert.deepEqual(counted, step.each.map(([number]) => number));
  }

  async slot(step) {
    const { api, ...rest } = step.slot;
    let entered = false;
    const ran = await this.outcome(() => this.client.slot(api, named(rest), async (reservation) => {
      entered = true;
      this.expect(reservation, step.expect ?? {});
      await this.steps(step.steps);
    }));
    if (!entered) this.expect(ran, step.expect ?? {});
    else if (ran instanceof Error) throw ran;
  }

  advance_ms = (step) => this.weir.advance(step.advance_ms);
  sleep_ms = (step) => sleep(step.sleep_ms);
  proxy = (step) => proxy.mode(step.proxy);
  connections = (step) => until(async () => Number(await proxy.say('connections')) === step.connections, `${step.connections} connections`);
  leave = (step) => this.saved[step.leave][Symbol.asyncDispose]();

  async await(step) {
    this.expect(await this.background[step.await].answer, step.expect);
  }

  async give_up(step) {
    const { answer, giveUp } = this.background[step.give_up];
    giveUp.abort();
    await assert.rejects(answer, { name: 'AbortError' });
  }

  log(step) {
    const lines = this.lines.splice(0);
    assert.equal(lines.length, step.log.length, lines.join('\n'));
    step.log.forEach((text, at) => assert.ok(lines[at].includes(text), lines[at]));
  }

  calls(step) {
    assert.deepEqual(this.told.splice(0).map(({ verb, limit, allowed, decided }) => ({ verb, by: limit, allowed, decided })), step.calls);
  }
}

function onErrorOf(given) {
  if (typeof given === 'string') return given === 'raise' ? 'throw' : given;
  const words = ({ key, rules, attributes }) => [key, ...Object.keys(rules ?? {}), ...Object.values(attributes ?? {})];
  return (error, question) => words(question).includes(given.allows);
}

const tables = readdirSync(CASES).filter((name) => name.endsWith('.json')).sort().map((file) => [file, JSON.parse(readFileSync(join(CASES, file), 'utf8'))]);
for (const [file, cases] of tables)
  for (const each of Array.isArray(cases) ? cases : []) // an object is a table of something else
    test(`${file}: ${each.name}`, { skip: each.not_in?.typescript, timeout: 6 * PATIENCE_MS }, () => new Run(each).run());
