import { now } from './clock.js';

const FIRST_MS = 10, LAST_MS = 1000;

/** When to connect again: at once, then after up to 10 ms, doubling to 1 s, by chance, so that no fleet comes together. */
export class Backoff {
  #failures = 0;
  #at = -Infinity;

  /** The earliest moment of the next attempt. */
  get at(): number {
    return this.#at;
  }

  failed(): void {
    this.#at = now() + Math.random() * Math.min(LAST_MS, FIRST_MS * 2 ** this.#failures);
    if (FIRST_MS * 2 ** this.#failures < LAST_MS) ++this.#failures;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#at = -Infinity;
  }
}
