import { now } from './clock.js';
import type { WeirError } from './error.js';

/** One line when weir goes away, and one when it is back. */
export class Outage {
  #began: number | undefined;
  #missed = 0;

  constructor(private readonly log: (line: string) => void) {}

  /** A call has gone without weir. */
  missed(error: WeirError): void {
    ++this.#missed;
    if (this.#began !== undefined) return;
    this.#began = now();
    this.log(`weir does not answer: ${error.message}`);
  }

  /** What was asked then has its answer, from the weir of this name. */
  answered(asked: number, name: string): void {
    if (this.#began === undefined || asked < this.#began) return;
    this.log(`weir at ${name} answers again; ${this.#missed} ${this.#missed === 1 ? 'call' : 'calls'} went without it`);
    this.#began = undefined;
    this.#missed = 0;
  }
}
