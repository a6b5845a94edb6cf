import type { ClientRateLimitInfo, Options, Store } from 'express-rate-limit';
import { Windows, type StoreOptions } from './window.js';

/** `rateLimit({ windowMs, limit, store: new WeirStore() })` of express-rate-limit. */
export class WeirStore implements Store {
  readonly localKeys = false;
  readonly prefix: string;
  readonly #windows: Windows;
  #limit = NaN;
  #windowMs = NaN;

  constructor({ prefix = 'rl:', ...options }: StoreOptions = {}) {
    this.prefix = prefix;
    this.#windows = new Windows({ ...options, prefix });
  }

  init({ limit, windowMs }: Pick<Options, 'limit' | 'windowMs'>): void {
    this.#windowMs = windowMs;
    if (typeof limit === 'function') throw new TypeError('WeirStore: limit is to be a number, since weir is asked with it; for another one make another rateLimit');
    this.#limit = limit;
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const { hits, endsInMs } = await this.#windows.look(key, this.#most, this.#windowMs);
    return hits === 0 ? undefined : { totalHits: hits, resetTime: new Date(Date.now() + endsInMs) };
  }

  async increment(key: string): Promise<ClientRateLimitInfo> {
    const { hits, endsInMs } = await this.#windows.count(key, this.#most, this.#windowMs);
    return { totalHits: hits, resetTime: new Date(Date.now() + endsInMs) };
  }

  decrement(key: string): Promise<void> {
    return this.#windows.giveBack(key, this.#most, this.#windowMs);
  }

  resetKey(key: string): Promise<void> {
    return this.#windows.reset(key, this.#most, this.#windowMs);
  }

  get #most(): number {
    if (Number.isNaN(this.#limit)) throw new TypeError('WeirStore: give rateLimit a limit that is a number');
    return this.#limit;
  }
}
