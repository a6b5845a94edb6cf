import { DelayedError, UnrecoverableError, type Job } from 'bullmq';
import type { Decision } from './answer.js';
import type { Client } from './client.js';
import { now, setTimeout } from './clock.js';
import { Unavailable, WeirError } from './error.js';
import type { Question, Waits } from './question.js';
import type { Reservation } from './reservation.js';
import { sharedClient } from './shared.js';

export interface PacedOptions {
  /** One for this process, made at the first job, unless it is said. */
  client?: Client;
  /** How far ahead a moment may be: as far as weir allows, unless it is said. */
  maxWaitMs?: number;
}

/** What a job that was put away keeps in its data. */
interface Kept {
  moment?: number;
  reservation?: string | null;
}

// A moment that was missed by more is given up: all that were put away while no worker ran would act at once.
const LATE_MS = 1000;
const NAP_MS = 50; // less is slept: a timer of BullMQ's that woke a little early
const HOLD_MS = 30_000; // by a rule: so long weir tells a moment that has come from one that is gone
const LONGEST_MS = 3_600_000; // what weir allows unless its --max-wait or the limits file says less
const TOO_LONG = /MAXWAIT: '\d+' is not an integer from 0 to (\d+)/;
const AWAY_MS = 1000;
const QUIET_MS = 60_000;

/**
 * A processor for a Worker of BullMQ that runs `call` when its moment has come. A job that has to wait is put away until
 * then, however long that is, so no worker waits; one that comes back asks whether its moment still stands, and acts. So
 * weir is asked twice for a call. While it does not answer, jobs come back later.
 */
export function paced<Data extends object, Result>(question: Question | ((data: Data) => Question), call: (data: Data, job: Job) => Promise<Result>,
  { client, maxWaitMs }: PacedOptions = {}): (job: Job, token?: string) => Promise<Result> {
  let longestMs = maxWaitMs ?? LONGEST_MS;
  async function reserve(weir: Client, waits: Waits): Promise<Reservation> {
    try {
      return await weir.tryReserve({ ...waits, maxWaitMs: longestMs });
    } catch (error) {
      const allowed = error instanceof WeirError && TOO_LONG.exec(error.message);
      if (!allowed) throw error;
      longestMs = Number(allowed[1]);
      return reserve(weir, waits);
    }
  }
  return async (job, token) => {
    const { moment, reservation, ...rest } = job.data as Data & Kept;
    const [data, weir] = [rest as unknown as Data, client ?? sharedClient()];
    const asked = typeof question === 'function' ? question(data) : question;
    const later = (ms: number, kept: Kept = {}) => putAway(job, token, { ...data, ...kept }, ms);
    const away = () => later(AWAY_MS + 4 * AWAY_MS * Math.random());
    let leftMs = moment === undefined ? null : await told(() => left(weir, moment, reservation));
    if (leftMs === undefined) return away();
    let id = reservation;
    if (leftMs === null) {
      const booked = await told(() => reserve(weir, 'attributes' in asked ? asked : { ...asked, holdMs: HOLD_MS }));
      if (!booked?.decision.decided) return away();
      if (booked.decision.never) throw new UnrecoverableError('this call can never pass its limit');
      if (!booked.decision.allowed) return later(denied(booked.decision, longestMs));
      leftMs = booked.waitMs!;
      id = booked.id;
    }
    if (leftMs > NAP_MS) return later(leftMs, { moment: Date.now() + leftMs, reservation: id });
    if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs!));
    if (moment !== undefined) await job.updateData(data); // used: if the call fails, its retry needs another moment
    return call(data, job);
  };
}

/** Until a moment that was told before, by what weir says now; null: it is gone. */
async function left(client: Client, moment: number, id: string | null | undefined): Promise<number | null> {
  const leftMs = id == null ? null : await client.moment(id);
  const overdueMs = Date.now() - moment;
  if (overdueMs > LATE_MS && !leftMs) return null;
  return id == null && overdueMs >= -NAP_MS ? 0 : leftMs;  // without an id it was told to act at once
}

/** When to ask again. A line longer than what was asked for goes on for half of that without those that it denies: each comes
 *  back at a time of its own, or all would ask for each moment. Not so at a window's end. */
function denied({ retryAfterMs, resetAfterMs }: Decision, askedMs: number): number {
  return retryAfterMs! + (resetAfterMs > retryAfterMs! + askedMs / 2 ? (Math.random() * askedMs) / 2 : 0);
}

let toldAt = -Infinity;

/** Undefined where weir cannot be asked, which is for somebody to mend: the job waits for that. */
async function told<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
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
