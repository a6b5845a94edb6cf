import type { Booked, Decision } from './answer.js';
import { now } from './clock.js';
import { asyncDispose } from './dispose.js';
import { Refused } from './error.js';

/** What a reservation asks of its client. */
export interface Desk {
  cancel(id: string): Promise<number>;
  settle(id: string, actual?: number | Record<string, number>): Promise<number | null>;
  extend(id: string, ms: number): Promise<number>;
  moment(id: string): Promise<number | null>;
}

/** One that is not denied, so that it has a moment. */
export type Granted = Reservation & { readonly waitMs: number };

/** A moment that is charged, or what has denied it. Left by `await using` before it comes it is cancelled, later settled at what was charged. */
export class Reservation implements AsyncDisposable {
  readonly id: string | null;
  /** Null where it is denied. */
  readonly waitMs: number | null;
  readonly decision: Decision;
  readonly #at: number;
  #ended = false;

  readonly #desk: Desk;
  readonly #onEnd: (() => void) | undefined;

  constructor(booked: Booked, desk: Desk, onEnd?: () => void) {
    this.#desk = desk;
    this.#onEnd = onEnd;
    this.id = booked.id;
    this.waitMs = booked.waitMs;
    this.decision = booked.decision;
    this.#at = now() + (booked.waitMs ?? 0);
  }

  /** The units that went back; 0 without an id, or when its moment has come. */
  async cancel(): Promise<number> {
    this.#end();
    return this.id === null ? 0 : this.#desk.cancel(this.id);
  }

  /** Milliseconds until one more unit would be admitted; null where there is nothing to settle. */
  async settle(actual?: number | Record<string, number>): Promise<number | null> {
    this.#end();
    return this.id === null ? null : this.#desk.settle(this.id, actual);
  }

  /** How long the hold has now; 0 where none is open. */
  async extend(ms: number): Promise<number> {
    return this.id === null ? 0 : this.#desk.extend(this.id, ms);
  }

  /** Milliseconds until its moment; null: it has no id, is unknown, or a pause has come over it. */
  async moment(): Promise<number | null> {
    return this.id === null ? null : this.#desk.moment(this.id);
  }

  async [asyncDispose](): Promise<void> {
    if (this.#ended) return;
    try {
      await (now() < this.#at ? this.cancel() : this.settle());
    } catch (error) {
      if (!(error instanceof Refused)) throw error; // it has no hold, so there is nothing to settle
    }
  }

  #end(): void {
    if (!this.#ended) this.#onEnd?.();
    this.#ended = true;
  }
}
