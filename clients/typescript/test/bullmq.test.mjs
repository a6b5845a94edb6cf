// weir.paced of BullMQ without BullMQ's Redis: jobs as its Worker hands them out, in virtual time.
import assert from 'node:assert/strict';
import { after, before, mock, test } from 'node:test';
import { paced } from '../dist/esm/bullmq.js';
import { connect } from '../dist/esm/index.js';
import { Weir } from './support.mjs';

const [RULE, BURST, INTERVAL_MS, READS_MS] = ['295/min burst 5', 5, 60_000 / 295, 2];
let weir, client;
before(async () => {
  weir = await Weir.start();
  client = connect(weir.url, { timeoutMs: 10_000 });
  mock.timers.enable({ apis: ['Date'] });
});
after(async () => {
  mock.timers.reset();
  await client.close();
  await weir.stop();
});

/** Jobs that are read one after the other and put away until they fall due. */
class Fleet {
  queue = [];
  delayed = [];
  begun = [];
  asks = 0;

  constructor(key, options) {
    const asking = (verb) => (...words) => (++this.asks, client[verb](...words));
    this.client = { tryReserve: asking('tryReserve'), moment: asking('moment') };
    const call = async (data) => void this.begun.push({ at: Date.now(), ...data });
    this.processor = paced({ key, rule: RULE }, call, { client: this.client, ...options });
  }

  add(count) {
    for (let number = 0; number < count; ++number) {
      const job = { data: { number }, updateData: async (data) => void (job.data = data) };
      job.moveToDelayed = async (at) => void this.delayed.push({ at, job });
      this.queue.push(job);
    }
  }

  async advance(ms) {
    await weir.advance(ms);
    mock.timers.tick(ms);
  }

  /** Until all are done; `what` happens after that many milliseconds. */
  async run(afterMs = Infinity, what = undefined) {
    const began = Date.now();
    while (this.queue.length + this.delayed.length > 0) {
      if (what && Date.now() >= began + afterMs) [what] = [void (await what())];
      this.delayed.sort((one, other) => one.at - other.at);
      while (this.delayed[0]?.at <= Date.now()) this.queue.push(this.delayed.shift().job);
      const job = this.queue.shift();
      if (job) await this.processor(job, 'token').catch((error) => assert.equal(error.name, 'DelayedError'));
      await this.advance(this.queue.length > 0 || this.delayed.length === 0 ? READS_MS : Math.max(1, Math.ceil(this.delayed[0].at - Date.now())));
    }
    this.begun.sort((one, other) => one.at - other.at);
  }

  keepsTheQuota() {
    this.begun.forEach(({ at }, place) => place < 300 || assert.ok(at - this.begun[place - 300].at >= 60_000 - 1, `${place}`));
  }
}

test('the quota is used by two questions a call, however long the line is', async () => {
  const fleet = new Fleet('backlog');
  fleet.add(600);
  await fleet.run();
  assert.equal(new Set(fleet.begun.map(({ number }) => number)).size, 600);
  fleet.keepsTheQuota();
  const took = fleet.begun.at(-1).at - fleet.begun[0].at;
  assert.ok(600 / (BURST + took / INTERVAL_MS) >= 0.98, `${took}`);
  assert.ok(fleet.asks <= 2.01 * 600, `${fleet.asks}`); // one that is read late asks for another moment
});

test('a pause is kept by those that were put away', async () => {
  const fleet = new Fleet('paused');
  fleet.add(60);
  let from, to;
  await fleet.run(5_000, async () => {
    [from, to] = [Date.now(), Date.now() + 30_000];
    await client.charge({ key: 'paused', rule: RULE, pauseMs: 30_000 });
  });
  assert.equal(fleet.begun.filter(({ at }) => at > from && at < to - 1).length, 0);
  fleet.keepsTheQuota();
});

test('moments that were missed are given up', async () => {
  const fleet = new Fleet('missed');
  fleet.add(60);
  await fleet.run(2_000, () => fleet.advance(5_000));
  const back = fleet.begun[0].at + 7_000;
  assert.ok(fleet.begun.filter(({ at }) => at >= back && at < back + 1_000).length <= BURST + 5 + 5);
  fleet.keepsTheQuota();
});

test('where no moment may lie so far ahead, jobs come back to ask', async () => {
  const fleet = new Fleet('short', { maxWaitMs: 10_000 });
  fleet.add(100);
  await fleet.run();
  fleet.keepsTheQuota();
  assert.ok(fleet.asks <= 4 * 100, `${fleet.asks}`);
});
