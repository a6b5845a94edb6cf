import type { ClientRateLimitInfo, Options, Store } from 'express-rate-limit';
import { claim } from './names.js';
import { Windows, type Hits, type StoreOptions } from './window.js';

/** rateLimit() tells whole seconds of what is left when it tells it, which is a little later; 0 would be now. */
const LEAST_MS = 1000;

/** `rateLimit({ windowMs, limit, store: new WeirStore() })` of express-rate-limit. */
export class WeirStore implements Store {
  readonly localKeys = false;
  readonly prefix: string;
  readonly #options: StoreOptions;
  #windows: Windows;
  #windowMs = NaN;
  #wrong: unknown = new TypeError('WeirStore: a store is for rateLimit({ store })');

  constructor(options: StoreOptions = {}) {
    this.#options = options;
    this.prefix = options.prefix ?? 'rl:';
    this.#windows = new Windows(options, this.prefix);
  }

  /** What this throws rateLimit() only logs, so it is thrown at each question too. */
  init({ limit, windowMs }: Pick<Options, 'limit' | 'windowMs'>): void {
    try {
      const rule = `${typeof limit === 'number' ? limit : 'limit()'}/${windowMs}ms`;
      this.#windows = new Windows(this.#options, claim('WeirStore', this.#options.prefix, rule, 'prefix'));
      this.#windowMs = windowMs;
      this.#wrong = undefined;
    } catch (error) {
      throw (this.#wrong = error);
    }
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const hits = await this.#usable.look(key, this.#windowMs);
    return hits.hits === 0 ? undefined : infoOf(hits);
  }

  async increment(key: string): Promise<ClientRateLimitInfo> {
    return infoOf(await this.#usable.count(key, this.#windowMs));
  }

  async decrement(key: string): Promise<void> {
    await this.#usable.giveBack(key, this.#windowMs);
  }

  async resetKey(key: string): Promise<void> {
    await this.#usable.reset(key, this.#windowMs);
  }

  get #usable(): Windows {
    if (this.#wrong) throw this.#wrong;
    return this.#windows;
  }
}

const infoOf = ({ hits, endsInMs }: Hits): ClientRateLimitInfo => ({ totalHits: hits, resetTime: new Date(Date.now() + Math.max(endsInMs, LEAST_MS)) });
