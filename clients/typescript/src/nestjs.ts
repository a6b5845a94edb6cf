import type { ThrottlerStorage } from '@nestjs/throttler';
import { Blocks } from './blocks.js';
import type { StoreOptions } from './window.js';
import { sharedClient } from './shared.js';

type Stored = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** `ThrottlerModule.forRoot({ throttlers, storage: new WeirThrottlerStorage() })` of @nestjs/throttler, by GCRA. */
export class WeirThrottlerStorage implements ThrottlerStorage {
  readonly #options: StoreOptions;
  readonly #blocks = new Blocks();

  constructor(options: StoreOptions = {}) {
    this.#options = options;
  }

  async increment(key: string, ttl: number, limit: number, blockDuration: number, throttlerName: string): Promise<Stored> {
    const client = this.#options.client ?? sharedClient();
    const question = { key: `${this.#options.prefix ?? 'throttler:'}${throttlerName}:${key}`, rule: `${limit}/${Math.ceil(ttl)}ms` };
    const decision = await client.check(question);
    const { allowed, remaining, resetAfterMs } = decision;
    if (allowed) {
      this.#blocks.forget(question.key);
      return { totalHits: limit - (remaining ?? limit), timeToExpire: seconds(resetAfterMs), isBlocked: false, timeToBlockExpire: 0 };
    }
    const waitMs = await this.#blocks.waitMs(client, question, decision, ttl / limit, blockDuration);
    return { totalHits: limit + 1, timeToExpire: seconds(Math.max(resetAfterMs, waitMs)), isBlocked: true, timeToBlockExpire: seconds(waitMs) };
  }
}

const seconds = (ms: number): number => Math.ceil(ms / 1000);
