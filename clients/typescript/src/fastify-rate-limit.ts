import { claim } from './names.js';
import { Windows, type StoreOptions } from './window.js';

type Done = (error: Error | null, result?: { current: number; ttl: number }) => void;

/** Of a plugin's or a route's options, those that change what a store counts. */
interface Counted {
  continueExceeding?: boolean;
  exponentialBackoff?: boolean;
  routeInfo?: { method?: string | string[]; url?: string };
}

/** What @fastify/rate-limit makes a store of. */
export interface WeirStore {
  incr(key: string, done: Done, timeWindow: number): void;
  read(key: string, done: Done, timeWindow: number): void;
  child(route: object): WeirStore;
}

/** `app.register(rateLimit, { max, timeWindow, store: weirStore() })` of @fastify/rate-limit. */
export function weirStore({ prefix, ...options }: StoreOptions = {}): new (counted?: object) => WeirStore {
  const name = claim('weirStore', prefix, 'fastify-rate-limit', 'prefix');
  return class implements WeirStore {
    readonly #windows: Windows;

    constructor(counted: Counted = {}, private readonly before = `${name}-`) {
      if (counted.continueExceeding || counted.exponentialBackoff)
        throw new TypeError('weirStore: continueExceeding and exponentialBackoff need a window that moves; a limit of the limits file has a penalty for that');
      this.#windows = new Windows(options, before);
    }

    incr(key: string, done: Done, timeWindow: number): void {
      this.#windows.count(key, timeWindow).then(({ hits, endsInMs }) => done(null, { current: hits, ttl: endsInMs }), done);
    }

    read(key: string, done: Done, timeWindow: number): void {
      this.#windows.look(key, timeWindow).then(({ hits, endsInMs }) => done(null, { current: hits, ttl: endsInMs }), done);
    }

    child(route: object): WeirStore {
      const { method = '', url = '' } = (route as Counted).routeInfo ?? {};
      return new (this.constructor as new (counted: Counted, before: string) => WeirStore)(route, `${this.before}${String(method)}${url}-`);
    }
  };
}
