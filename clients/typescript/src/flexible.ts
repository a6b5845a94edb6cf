import { RateLimiterCompatibleAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import type { Decision } from './answer.js';
import { Blocks } from './blocks.js';
import type { Client } from './client.js';
import { setTimeout } from './clock.js';
import { sharedClient } from './shared.js';

export interface RateLimiterWeirOptions {
  client?: Client;
  points?: number;
  /** Seconds. */
  duration?: number;
  keyPrefix?: string;
  /** Seconds that a key rests that has been refused. */
  blockDuration?: number;
  /** Points are spread over the duration: consume() waits for its moment. */
  execEvenly?: boolean;
  /** A window, as in this library's other limiters; with a blockDuration 'gcra', since a window cannot be blocked. */
  algorithm?: 'gcra' | 'fixed_window';
}

type Custom = { customDuration?: number };

const KNOWN = ['client', 'points', 'duration', 'keyPrefix', 'blockDuration', 'execEvenly', 'algorithm'];

/** A limiter of rate-limiter-flexible, with its wrappers, unions and queues. */
export class RateLimiterWeir extends RateLimiterCompatibleAbstract {
  readonly points: number;
  readonly duration: number;
  override readonly keyPrefix: string;
  override blockDuration: number;
  override execEvenly: boolean;
  readonly #client: Client | undefined;
  readonly #blocks = new Blocks();
  readonly #algorithm: 'gcra' | 'fixed_window';

  constructor(options: RateLimiterWeirOptions = {}) {
    super();
    for (const name in options)
      if (!KNOWN.includes(name)) throw new TypeError(`RateLimiterWeir: unknown option '${name}'; known: ${KNOWN.join(', ')}`);
    const { client, points = 4, duration = 1, keyPrefix = 'rlflx', blockDuration = 0, execEvenly = false } = options;
    const { algorithm = blockDuration || execEvenly ? 'gcra' : 'fixed_window' } = options;
    if (!(duration > 0)) throw new TypeError('RateLimiterWeir: duration is above 0, since weir forgets nothing that is never due');
    if ((blockDuration || execEvenly) && algorithm !== 'gcra') throw new TypeError("RateLimiterWeir: blockDuration and execEvenly need the algorithm 'gcra'");
    this.points = points;
    this.duration = duration;
    this.keyPrefix = keyPrefix;
    this.#client = client;
    this.#algorithm = algorithm;
    this.blockDuration = blockDuration;
    this.execEvenly = execEvenly;
  }

  override async consume(key: string | number, pointsToConsume = 1, options: Custom = {}): Promise<RateLimiterRes> {
    const question = { ...this.#question(key, options), cost: pointsToConsume };
    const decision = this.execEvenly ? await this.#evenly(question) : await this.#weir.check(question);
    if (decision.allowed) {
      this.#blocks.forget(question.key);
      return this.#result(decision, pointsToConsume);
    }
    const { key: whose, rule } = question;
    const paceMs = (pointsToConsume * this.duration * 1000) / this.points;
    const waitMs = await this.#blocks.waitMs(this.#weir, { key: whose, rule }, decision, paceMs, this.blockDuration * 1000);
    throw new RateLimiterRes(0, waitMs, this.points - (decision.remaining ?? 0) + pointsToConsume);
  }

  override async penalty(key: string | number, points = 1, options: Custom = {}): Promise<RateLimiterRes> {
    await this.#weir.charge({ ...this.#question(key, options), cost: points });
    return this.#looked(key, options);
  }

  override async reward(key: string | number, points = 1, options: Custom = {}): Promise<RateLimiterRes> {
    await this.#weir.refund({ ...this.#question(key, options), cost: points });
    return this.#looked(key, options);
  }

  override async get(key: string | number, options: Custom = {}): Promise<RateLimiterRes | null> {
    const result = await this.#looked(key, options);
    return result.consumedPoints === 0 && result.msBeforeNext === 0 ? null : result;
  }

  override async set(key: string | number, points: number, secDuration: number): Promise<RateLimiterRes> {
    const question = this.#question(key, secDuration > 0 ? { customDuration: secDuration } : {});
    await this.#forget(question);
    const { resetAfterMs } = await this.#weir.charge({ ...question, cost: points });
    return new RateLimiterRes(Math.max(0, this.points - points), resetAfterMs, points);
  }

  override async block(key: string | number, secDuration: number): Promise<RateLimiterRes> {
    const { waitMs } = await this.#weir.charge({ ...this.#question(key), pauseMs: secDuration * 1000 });
    return new RateLimiterRes(0, waitMs, this.points + 1);
  }

  override async delete(key: string | number): Promise<boolean> {
    return (await this.#forget(this.#question(key))) > 0;
  }

  get #weir(): Client {
    return this.#client ?? sharedClient();
  }

  #question(key: string | number, { customDuration }: Custom = {}): { key: string; rule: string } {
    const ms = Math.ceil((customDuration ?? this.duration) * 1000);
    return { key: this.keyPrefix ? `${this.keyPrefix}:${key}` : String(key), rule: `${this.points}/${ms}ms${this.#algorithm === 'gcra' ? '' : ' algorithm=fixed_window'}` };
  }

  /** A window is not forgotten, but all of it is given back. */
  async #forget(question: { key: string; rule: string }): Promise<number> {
    if (this.#algorithm === 'gcra') return this.#weir.reset(question);
    const { remaining } = await this.#weir.look(question);
    const used = this.points - (remaining ?? this.points);
    return used > 0 ? this.#weir.refund({ ...question, cost: used }) : 0;
  }

  /** Points are let through one by one, each at its moment. */
  async #evenly({ key, rule, cost }: { key: string; rule: string; cost: number }): Promise<Decision> {
    const { waitMs, decision } = await this.#weir.tryReserve({ key, rule: `${rule} burst 1`, cost, maxWaitMs: this.duration * 1000 });
    if (waitMs) await new Promise((resolve) => setTimeout(resolve, waitMs));
    return decision;
  }

  async #looked(key: string | number, options: Custom): Promise<RateLimiterRes> {
    return this.#result(await this.#weir.look(this.#question(key, options)), 0);
  }

  #result({ remaining, resetAfterMs }: Decision, consumed: number): RateLimiterRes {
    const left = remaining ?? this.points - consumed;
    return new RateLimiterRes(left, resetAfterMs, this.points - left, this.points - left === consumed);
  }
}
