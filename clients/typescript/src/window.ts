import type { Decision } from './answer.js';
import type { Client } from './client.js';
import { Refused } from './error.js';
import { sharedClient } from './shared.js';

export interface StoreOptions {
  /** One for this process, made at the first question, unless it is said. */
  client?: Client;
  /** Before each key. */
  prefix?: string;
}

/** Hits in a window, and when it ends; beyond its number they are counted as one more than that. */
export interface Hits {
  hits: number;
  endsInMs: number;
}

/** Fixed windows for the stores of other libraries, which count and compare for themselves. */
export class Windows {
  #toldOfRefunds = false;

  constructor(private readonly options: StoreOptions, private readonly log: (line: string) => void = console.warn) {}

  get client(): Client {
    return this.options.client ?? sharedClient();
  }

  async count(key: string, most: number, windowMs: number): Promise<Hits> {
    if (most === 0) return { hits: 1, endsInMs: windowMs }; // weir has no such rule
    return hitsOf(await this.client.check(this.#question(key, most, windowMs)), most, windowMs);
  }

  async look(key: string, most: number, windowMs: number): Promise<Hits> {
    if (most === 0) return { hits: 0, endsInMs: windowMs };
    const { limit, remaining, resetAfterMs } = await this.client.look(this.#question(key, most, windowMs));
    return { hits: limit === null ? 0 : limit - remaining!, endsInMs: resetAfterMs };
  }

  /** Takes the last hits back, where the server allows that; else one line says so. */
  async giveBack(key: string, most: number, windowMs: number, hits = 1): Promise<void> {
    try {
      if (most > 0) await this.client.refund({ ...this.#question(key, most, windowMs), cost: hits });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!this.#toldOfRefunds) this.log(`weir: what is not to be counted stays counted: ${error.message}`);
      this.#toldOfRefunds = true;
    }
  }

  async reset(key: string, most: number, windowMs: number): Promise<void> {
    const { hits } = await this.look(key, most, windowMs);
    if (hits > 0) await this.giveBack(key, most, windowMs, hits);
  }

  #question(key: string, most: number, windowMs: number): { key: string; rule: string } {
    if (!Number.isInteger(most) || most < 0) throw new TypeError(`the limit is to be an integer, not ${most}`);
    return { key: (this.options.prefix ?? '') + key, rule: `${most}/${Math.ceil(windowMs)}ms algorithm=fixed_window` };
  }
}

function hitsOf({ allowed, decided, remaining, retryAfterMs, resetAfterMs }: Decision, most: number, windowMs: number): Hits {
  if (!decided) return { hits: allowed ? 1 : most + 1, endsInMs: allowed ? windowMs : retryAfterMs! };
  return allowed ? { hits: most - remaining!, endsInMs: resetAfterMs } : { hits: most + 1, endsInMs: retryAfterMs ?? resetAfterMs };
}
