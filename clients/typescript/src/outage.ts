import type { WeirError } from './error.js';

/** One line when weir goes away, and one when it is back. */
export class Outage {
  #without = 0;

  constructor(private readonly log: (line: string) => void, private readonly meanwhile: string) {}

  /** A call has gone without weir. */
  missed(error: WeirError): void {
    if (this.#without++ === 0) this.log(`weir does not answer: ${error.message}; ${this.meanwhile}`);
  }

  answered(): void {
    if (this.#without === 0) return;
    const calls = this.#without === 1 ? '1 call' : `${this.#without} calls`;
    this.#without = 0;
    this.log(`weir answers again; ${calls} went without it`);
  }
}
