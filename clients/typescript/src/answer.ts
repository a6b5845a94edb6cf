import type { WeirError } from './error.js';
import type { Words } from './question.js';
import type { Reply } from './resp.js';

export interface Decision {
  allowed: boolean;
  limit: number | null;
  remaining: number | null;
  retryAfterMs: number | null;
  resetAfterMs: number;
  /** The key, or by the limits file the limit, that decides; null where none applies. */
  by: string | null;
  /** Denied, and waiting does not help. */
  never: boolean;
  /** Units, which are fewer than the cost only with `atLeast`; 0 when denied. */
  granted: number;
  /** False where weir did not answer and `onError` decided. */
  decided: boolean;
  error?: WeirError;
  /** With `fields`: names and values that an HTTP answer should carry. */
  fields: [string, string][];
}

export interface Charged {
  charged: number;
  owed: number;
  waitMs: number;
  resetAfterMs: number;
  by: string | null;
}

/** What WEIR.RESERVE and WEIR.ACQUIRE answer. */
export interface Booked {
  id: string | null;
  waitMs: number | null;
  decision: Decision;
}

/** The answer has another form than that of its verb. */
export class NotAnAnswer extends Error {}

function row(reply: Reply, least: number): Reply[] {
  if (!Array.isArray(reply) || reply.length < least) throw new NotAnAnswer();
  return reply;
}

export function integer(reply: Reply | undefined): number {
  if (typeof reply !== 'number') throw new NotAnAnswer();
  return reply;
}

function fieldsOf(reply: Reply | undefined): [string, string][] {
  if (!Array.isArray(reply) || reply.length % 2 || !reply.every((each) => typeof each === 'string')) throw new NotAnAnswer();
  const fields: [string, string][] = [];
  for (let at = 0; at < reply.length; at += 2) fields.push([reply[at] as string, reply[at + 1] as string]);
  return fields;
}

const NONE: [string, string][] = [];
const least = (value: number): number | null => (value < 0 ? null : value);

function decision(values: Reply[], by: Reply | undefined, granted: number, fields: [string, string][]): Decision {
  const allowed = integer(values[0]) === 0;
  const retry = integer(values[3]);
  return {
    allowed,
    limit: least(integer(values[1])),
    remaining: least(integer(values[2])),
    retryAfterMs: allowed || retry < 0 ? null : retry,
    resetAfterMs: integer(values[4]),
    by: typeof by === 'string' && by !== '' ? by : null,
    never: !allowed && retry < 0,
    granted: allowed ? granted : 0,
    decided: true,
    fields,
  };
}

export function checked(reply: Reply, question: Words): Decision {
  const values = row(reply, 6);
  const granted = question.atLeast === undefined ? (question.cost ?? 1) : integer(values[6]);
  return decision(values, values[5], granted, question.fields ? fieldsOf(values[values.length - 1]) : [...NONE]);
}

/** A look by rules, which costs 0: whether a check would be allowed is what remains. */
export function looked(reply: Reply, question: Words): Decision {
  const answer = checked(reply, { fields: question.fields });
  const units = question.cost ?? 1;
  const granted = Math.min(units, answer.remaining ?? units);
  const allowed = granted >= (question.atLeast ?? units);
  return { ...answer, allowed, granted: allowed ? granted : 0, never: !allowed && answer.limit !== null && (question.atLeast ?? units) > answer.limit };
}

export function booked(reply: Reply, question: Words): Booked {
  const values = row(reply, 7);
  const id = values[5];
  if (id !== null && typeof id !== 'string') throw new NotAnAnswer();
  const told = decision(values, values[6], question.cost ?? 1, question.fields ? fieldsOf(values[values.length - 1]) : [...NONE]);
  return { id: told.allowed ? id : null, waitMs: told.allowed ? integer(values[3]) : null, decision: told };
}

export function charged(reply: Reply): Charged {
  const values = row(reply, 5);
  const by = values[4];
  return { charged: integer(values[0]), owed: integer(values[1]), waitMs: integer(values[2]), resetAfterMs: integer(values[3]),
    by: typeof by === 'string' && by !== '' ? by : null };
}

/** Milliseconds, or null where there is no such reservation. */
export const ofReservation = (reply: Reply): number | null => least(integer(reply));
