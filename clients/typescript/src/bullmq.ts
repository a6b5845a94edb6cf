import { DelayedError, UnrecoverableError, type Job } from 'bullmq';
import type { Client } from './client.js';
import { now, setTimeout } from './clock.js';
import { Unavailable, WeirError } from './error.js';
import type { Question, Waits } from './question.js';
import type { Reservation } from './reservation.js';
import { sharedClient } from './shared.js';

export interface PacedOptions {
  /** One for this process, made at the first job, unless it is said. */
  client?: Client;
  /** 60,000 unless it is said. */
  maxWaitMs?: number;
}

/** What a job that was put away keeps in its data. */
interface Kept {
  moment?: number;
  reservation?: string | null;
}

// A moment that was missed by more is given up: all that were put away while no worker ran would act at once.
const LATE_MS = 1000;
const AWAY_MS = 1000;
const QUIET_MS = 60_000;

/**
 * A processor for a Worker of BullMQ that runs `call` when its moment has come. A job that has to wait is put away until
 * then, so no worker waits, and a job that comes back does not ask again. While weir does not answer, jobs come back later.
 */
export function paced<Data extends object, Result>(question: Question | ((data: Data) => Question), call: (data: Data, job: Job) => Promise<Result>,
  { client, maxWaitMs = 60_000 }: PacedOptions = {}): (job: Job, token?: string) => Promise<Result> {
  return async (job, token) => {
    const { moment, reservation: _, ...rest } = job.data as Data & Kept;
    const data = rest as unknown as Data;
    if (moment === undefined || Date.now() > moment + LATE_MS) {
      const asked = typeof question === 'function' ? question(data) : question;
      const booked = await reserved(client ?? sharedClient(), { ...asked, maxWaitMs });
      if (!booked?.decision.decided) return putAway(job, token, data, AWAY_MS + 4 * AWAY_MS * Math.random());
      const { id, waitMs, decision } = booked;
      if (decision.never) throw new UnrecoverableError('this call can never pass its limit');
      if (!decision.allowed) return putAway(job, token, data, decision.retryAfterMs!);
      if (waitMs! > 0) return putAway(job, token, { ...data, moment: Date.now() + waitMs!, reservation: id }, waitMs!);
    } else {
      const early = moment - Date.now(); // a timer of BullMQ's that woke a little early
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
      await job.updateData(data); // used: if the call fails, its retry needs another moment
    }
    return call(data, job);
  };
}

let toldAt = -Infinity;

/** Undefined where weir cannot be asked, which is for somebody to mend: the job waits for that. */
async function reserved(client: Client, question: Waits): Promise<Reservation | undefined> {
  try {
    return await client.tryReserve(question);
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    if (!(error instanceof Unavailable) && now() - toldAt >= QUIET_MS) {
      toldAt = now();
      console.error(`weir cannot be asked like this, jobs wait: ${error.message}`);
    }
    return undefined;
  }
}

async function putAway(job: Job, token: string | undefined, data: object, ms: number): Promise<never> {
  await job.updateData(data);
  await job.moveToDelayed(Date.now() + ms, token);
  throw new DelayedError();
}

/** Takes a job that was put away out of the queue, and gives its moment to the next; the units that went back. */
export async function abandon(job: Job, client: Client = sharedClient()): Promise<number> {
  await job.remove();
  const { reservation } = job.data as Kept;
  return reservation ? client.cancel(reservation) : 0;
}
