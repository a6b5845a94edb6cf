import type { Decision } from './answer.js';
import type { Client } from './client.js';
import { now } from './clock.js';

const MOST = 10_000;

/** Keys that rest after a denial, each of them once: knocking on makes nobody wait longer. */
export class Blocks {
  readonly #until = new Map<string, number>();

  /** How long a denied key waits, which it does for `blockMs` if it did not rest before. */
  async waitMs(client: Client, question: { key: string; rule: string }, { retryAfterMs }: Decision, paceMs: number, blockMs: number): Promise<number> {
    const waits = retryAfterMs ?? 0;
    if (blockMs <= 0 || this.#rests(question.key, waits, paceMs)) return waits;
    this.#note(question.key, blockMs);
    const { waitMs } = await client.charge({ ...question, pauseMs: blockMs });
    return waitMs || waits;
  }

  /** It has been allowed again. */
  forget(key: string): void {
    this.#until.delete(key);
  }

  /** Of another process it is known by a wait that is longer than its pace makes anybody wait. */
  #rests(key: string, waitMs: number, paceMs: number): boolean {
    if ((this.#until.get(key) ?? 0) > now()) return true;
    if (waitMs <= Math.ceil(paceMs)) return false;
    this.#note(key, waitMs);
    return true;
  }

  #note(key: string, ms: number): void {
    if (this.#until.size >= MOST) this.#until.delete(this.#until.keys().next().value!);
    this.#until.set(key, now() + ms);
  }
}
