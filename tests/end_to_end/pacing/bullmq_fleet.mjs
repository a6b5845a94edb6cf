// examples/pacing/bullmq_jobs.mjs at work: what happens is written down in the broker's Redis.
//   node bullmq_fleet.mjs worker          until SIGTERM, and then the job at work is ended
//   node bullmq_fleet.mjs add COUNT       COUNT calls, and then one job of another kind
//   node bullmq_fleet.mjs fail            a call that fails the first time
//   node bullmq_fleet.mjs abandon NUMBER  that call is given up
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { connect } from '@weir/client';
import { abandon } from '@weir/client/bullmq';
import { partner } from './bullmq_jobs.mjs';

const [what, argument] = process.argv.slice(2);
const connection = { url: process.env.BROKER, maxRetriesPerRequest: null };
const broker = new Redis(process.env.BROKER);
const weir = connect();
let current; // the number of the job at work

async function timed(word, ask, told) {
  const began = Date.now();
  const answer = await ask();
  const ended = Date.now();
  await broker.rpush('asked', `${word} ${(ended - began) / 1000} ${told(answer)}`);
  return [answer, ended];
}

const client = {
  async tryReserve(question) {
    const [booked, ended] = await timed('WEIR.RESERVE', () => weir.tryReserve(question), ({ decision }) => Number(decision.allowed));
    // It is slept for; a timer of Node's may wake a millisecond early.
    if (booked.decision.allowed && booked.waitMs <= 50) await broker.rpush('moments', `${current} ${(ended + booked.waitMs - 1) / 1000}`);
    return booked;
  },
  async moment(id) {
    const [left] = await timed('WEIR.MOMENT', () => weir.moment(id), (ms) => ms);
    return left;
  },
  cancel: async (id) => (await timed('WEIR.CANCEL', () => weir.cancel(id), (units) => units))[0],
};

async function call(data) {
  await broker.rpush('calls', `${data.number} ${Date.now() / 1000}`);
  if (data.fails && (await broker.incr('failed')) === 1) throw new Error('the partner is out');
}

if (what === 'worker') {
  const processor = partner(call, { client });
  const worker = new Worker(
    'jobs',
    async (job, token) => {
      if (job.name === 'other') return broker.rpush('others', Date.now() / 1000);
      current = job.data.number;
      if (job.data.moment) await broker.rpush('moments', `${job.data.number} ${job.data.moment / 1000}`);
      return processor(job, token);
    },
    { connection, concurrency: 1 },
  );
  worker.on('error', (error) => console.error(error));
  process.once('SIGTERM', () => worker.close().then(() => process.exit()));
} else {
  const queue = new Queue('jobs', { connection });
  if (what === 'add') {
    for (let number = 0; number < Number(argument); ++number) await queue.add('call', { number });
    await queue.add('other', {});
  } else if (what === 'fail') {
    await queue.add('call', { number: 0 });
    await queue.add('call', { number: 1000, fails: true }, { attempts: 2 });
  } else {
    const job = (await queue.getDelayed()).find((each) => each.data.number === Number(argument));
    await abandon(job, client);
  }
  await queue.close();
  broker.disconnect();
  await weir.close();
}
