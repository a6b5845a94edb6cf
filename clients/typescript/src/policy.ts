import type { Booked, Charged, Decision } from './answer.js';
import type { Unavailable, WeirError } from './error.js';
import type { Question, Words } from './question.js';

export type OnError = 'allow' | 'deny' | 'throw' | ((error: Unavailable, question: Question) => boolean);

const DENIED_MS = 1000;

export const isOnError = (value: unknown): boolean => value === 'allow' || value === 'deny' || value === 'throw' || typeof value === 'function';

/** Whether it is allowed though nobody decided; throws where that is what `onError` says. */
export function allows(onError: OnError, error: WeirError, question: Words): boolean {
  if (onError === 'throw') throw error;
  if (typeof onError !== 'function') return onError === 'allow';
  const says: unknown = onError(error as Unavailable, question as Question);
  if (typeof (says as { then?: unknown } | undefined)?.then !== 'function') return says === true;
  Promise.resolve(says).catch(() => {}); // what it says later, nobody hears
  throw new TypeError('onError returns true or false at once, so it cannot be async');
}

/** What is answered where weir did not. */
export function undecided(error: WeirError, allowed: boolean, question: Words): Decision {
  return { allowed, limit: null, remaining: null, retryAfterMs: allowed ? null : DENIED_MS, resetAfterMs: 0, by: null, never: false,
    granted: allowed ? (question.cost ?? 1) : 0, decided: false, error, fields: [] };
}

export const unbooked = (error: WeirError, allowed: boolean, question: Words): Booked =>
  ({ id: null, waitMs: allowed ? 0 : null, decision: undecided(error, allowed, question) });

export const uncharged = (): Charged => ({ charged: 0, owed: 0, waitMs: 0, resetAfterMs: 0, by: null });
