import type { ThrottlerStorage } from '@nestjs/throttler';
import type { StoreOptions } from './window.js';
import { sharedClient } from './shared.js';

type Stored = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** `ThrottlerModule.forRoot({ throttlers, storage: new WeirThrottlerStorage() })` of @nestjs/throttler, by GCRA. */
export class WeirThrottlerStorage implements ThrottlerStorage {
  readonly #options: StoreOptions;

  constructor(options: StoreOptions = {}) {
    this.#options = options;
  }

  async increment(key: string, ttl: number, limit: number, blockDuration: number, throttlerName: string): Promise<Stored> {
    const client = this.#options.client ?? sharedClient();
    const question = { key: `${this.#options.prefix ?? 'throttler:'}${throttlerName}:${key}`, rule: `${limit}/${Math.ceil(ttl)}ms` };
    const { allowed, remaining, resetAfterMs, retryAfterMs } = await client.check(question);
    if (allowed) return { totalHits: limit - (remaining ?? limit), timeToExpire: seconds(resetAfterMs), isBlocked: false, timeToBlockExpire: 0 };
    // By its pace alone nobody is denied for longer than one interval, so who is has been blocked before.
    const blocks = blockDuration > 0 && retryAfterMs! <= Math.ceil(ttl / limit);
    const waitMs = blocks ? (await client.charge({ ...question, pauseMs: blockDuration })).waitMs || retryAfterMs! : retryAfterMs!;
    return { totalHits: limit + 1, timeToExpire: seconds(Math.max(resetAfterMs, waitMs)), isBlocked: true, timeToBlockExpire: seconds(waitMs) };
  }
}

const seconds = (ms: number): number => Math.ceil(ms / 1000);
