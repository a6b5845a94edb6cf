// BullMQ workers under the quota of somebody else's API, over all workers together:
//
//   const weir = new Redis(process.env.WEIR ?? 'redis://127.0.0.1:6390', fromEnvironment).on('error', () => {});
//   new Worker('partner', paced(weir, 'partner', '20/s burst 5', call), { connection });
//
// A job asks weir for its moment, keeps it in its data, and is put away until then: no worker waits, and a job that
// comes back does not ask again. WEIR may be rediss:// too, WEIR_PASSWORD is weir's password. While weir is away, or does
// not take the password, no call is made: it is logged once, and each job comes back later.
import { setTimeout as sleep } from 'node:timers/promises';
import { DelayedError, UnrecoverableError } from 'bullmq';

const MAX_WAIT = 60_000;
// A moment that was missed by more is given up: all that were put away while no worker ran would act at once.
const LATE = 1000;

/** For a client of ioredis: a command that weir does not answer fails, and then its job comes back. */
export const fromEnvironment = { password: process.env.WEIR_PASSWORD, maxRetriesPerRequest: 1, commandTimeout: 2000 };

let away = false;

async function reserve(weir, key, rule) {
  const answer = await weir.call('WEIR.RESERVE', 'MAXWAIT', MAX_WAIT, key, rule).catch((error) => error);
  const failed = answer instanceof Error;
  if (failed !== away) console.warn(failed ? `weir does not decide, jobs wait: ${answer.message}` : 'weir decides again');
  away = failed;
  return failed ? [1, 0, 0, 1000 + 4000 * Math.random(), 0, null] : answer;
}

/** A processor that runs `call(data)` when `rule` allows; `weir` is a client of ioredis. */
export function paced(weir, key, rule, call) {
  return async (job, token) => {
    const { moment, reservation, ...data } = job.data;
    if (moment === undefined || Date.now() > moment + LATE) {
      const [denied, , , wait, , id] = await reserve(weir, key, rule);
      if (wait < 0) throw new UnrecoverableError('this call can never pass its limit');
      if (denied || wait > 0) {
        const back = Date.now() + wait;
        await job.updateData(denied ? data : { ...data, moment: back, reservation: id });
        await job.moveToDelayed(back, token);
        throw new DelayedError();
      }
    } else {
      await sleep(Math.max(0, moment - Date.now())); // a timer of BullMQ's that woke a little early
      await job.updateData(data); // used: if the call fails, its retry needs another moment
    }
    return call(data);
  };
}

/** Takes a job that was put away out of the queue, and gives its moment to the next. */
export async function abandon(weir, job) {
  await job.remove();
  if (job.data.reservation) await weir.call('WEIR.CANCEL', job.data.reservation);
}
