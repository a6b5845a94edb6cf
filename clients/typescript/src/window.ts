import type { Decision } from './answer.js';
import type { Client } from './client.js';
import { Refused, Unauthorized } from './error.js';
import { keyOf } from './identity.js';
import { sharedClient } from './shared.js';

export interface StoreOptions {
  /** One for this process, made at the first question, unless it is said. */
  client?: Client;
  /** What it is called, which its counts go by. */
  prefix?: string;
}

/** Hits in a window, and when it ends. */
export interface Hits {
  hits: number;
  endsInMs: number;
}

/** Windows for the stores of other libraries, which compare for themselves: hits beyond their limit are counted too. */
export class Windows {
  #toldOfRefunds = false;

  /** `name` is what it is called. */
  constructor(private readonly options: Pick<StoreOptions, 'client'>, private readonly name: string, private readonly log: (line: string) => void = console.warn) {}

  get client(): Client {
    return this.options.client ?? sharedClient();
  }

  async count(key: string, windowMs: number): Promise<Hits> {
    const decision = await this.client.check(this.#question(key, windowMs));
    if (decision.decided) return hitsOf(decision);
    return decision.allowed ? { hits: 1, endsInMs: windowMs } : { hits: Number.MAX_SAFE_INTEGER, endsInMs: decision.retryAfterMs! };
  }

  async look(key: string, windowMs: number): Promise<Hits> {
    const decision = await this.client.look(this.#question(key, windowMs));
    return decision.decided ? hitsOf(decision) : { hits: 0, endsInMs: 0 };
  }

  async giveBack(key: string, windowMs: number): Promise<void> {
    await this.#takesBack(this.client.refund(this.#question(key, windowMs)));
  }

  async reset(key: string, windowMs: number): Promise<void> {
    await this.#takesBack(forget(this.client, this.#question(key, windowMs)));
  }

  /** Where the server takes nothing back, one line says so. */
  async #takesBack(call: Promise<unknown>): Promise<void> {
    try {
      await call;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!this.#toldOfRefunds) this.log(`weir: what is not to be counted stays counted: ${error.message}`);
      this.#toldOfRefunds = true;
    }
  }

  #question(key: string, windowMs: number): { key: string; rule: string } {
    return { key: keyOf(this.client.app, this.name, key, `${windowMs}ms`), rule: countingRule(windowMs) };
  }
}

const MOST_HITS = 1_000_000_000n;

/** A window that denies nobody, or as good as: its hits are what is gone of its number. */
export function countingRule(windowMs: number): string {
  const ns = BigInt(Math.ceil(windowMs)) * 1_000_000n;
  const each = ns / MOST_HITS || 1n; // whole nanoseconds, as weir counts them
  return `${(ns + each - 1n) / each}/${Math.ceil(windowMs)}ms algorithm=fixed_window`;
}

/**
 * Forgets a key, and says whether there was something. Where that is for another role, what is counted is taken back: then
 * the window ends when it would have, and what is blocked stays so, which is the error.
 */
export async function forget(client: Client, { key, rule }: { key: string; rule: string }): Promise<boolean> {
  try {
    return (await client.reset({ key })) > 0;
  } catch (error) {
    if (!(error instanceof Unauthorized && error.message.startsWith('NOPERM '))) throw error;
    const units = await client.refund({ key, rule, cost: Number(MOST_HITS) });
    if (units === 0 && (await client.look({ key, rule })).remaining === 0) throw error;
    return units > 0;
  }
}

const hitsOf = ({ limit, remaining, resetAfterMs }: Decision): Hits => ({ hits: limit! - remaining!, endsInMs: resetAfterMs });
