// BullMQ workers under the quota of somebody else's API, over all workers together:
//
//   const weir = new Redis('redis://127.0.0.1:6390');
//   new Worker('partner', paced(weir, 'partner', '20/s burst 5', call), { connection });
//
// A job asks weir for its moment, keeps it in its data, and is put away until then: no worker waits, and a job that
// comes back does not ask again.
import { setTimeout as sleep } from 'node:timers/promises';
import { DelayedError, UnrecoverableError } from 'bullmq';

const MAX_WAIT = 60_000;
// A moment that was missed by more is given up: all that were put away while no worker ran would act at once.
const LATE = 1000;

/** A processor that runs `call(data)` when `rule` allows; `weir` is a client of ioredis. */
export function paced(weir, key, rule, call) {
  return async (job, token) => {
    const { moment, reservation, ...data } = job.data;
    if (moment === undefined || Date.now() > moment + LATE) {
      const [denied, , , wait, , id] = await weir.call('WEIR.RESERVE', 'MAXWAIT', MAX_WAIT, key, rule);
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
