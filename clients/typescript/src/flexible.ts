import { RateLimiterCompatibleAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import type { Decision } from './answer.js';
import type { Client } from './client.js';
import { setTimeout } from './clock.js';
import { keyOf } from './identity.js';
import { claim } from './names.js';
import * as rest from './rest.js';
import { sharedClient } from './shared.js';
import { countingRule } from './window.js';

export interface RateLimiterWeirOptions {
  client?: Client;
  points?: number;
  /** Seconds. */
  duration?: number;
  /** What it is called; without one another limiter of the same numbers is an error. */
  keyPrefix?: string;
  /** Seconds that a key rests that has been refused, a day at most. */
  blockDuration?: number;
  /** Points are spread over the duration: consume() waits for its moment. */
  execEvenly?: boolean;
  /** A window, as in this library's other limiters, unless it is said; with execEvenly 'gcra'. */
  algorithm?: 'gcra' | 'fixed_window';
}

type Custom = { customDuration?: number };
type Asked = rest.Resting & { cost: number };

const KNOWN = ['client', 'points', 'duration', 'keyPrefix', 'blockDuration', 'execEvenly', 'algorithm'];
const INSTEAD: Record<string, string> = { storeClient: 'client, of connect()', insuranceLimiter: 'onError of connect()',
  inMemoryBlockOnConsumed: 'rememberDenials of connect()', inMemoryBlockDuration: 'rememberDenials of connect()', blockOnConsumed: 'a penalty, in the limits file' };
const MOST_POINTS = 900_000_000;

/** A limiter of rate-limiter-flexible, with its wrappers, unions and queues. */
export class RateLimiterWeir extends RateLimiterCompatibleAbstract {
  readonly points: number;
  readonly duration: number;
  override readonly keyPrefix: string;
  override blockDuration: number;
  override execEvenly: boolean;
  readonly #client: Client | undefined;
  readonly #algorithm: 'gcra' | 'fixed_window';
  readonly #name: string;

  constructor(options: RateLimiterWeirOptions = {}) {
    super();
    for (const name in options) {
      if (Object.hasOwn(INSTEAD, name)) throw new TypeError(`RateLimiterWeir: in place of ${name} there is ${INSTEAD[name]}`);
      if (!KNOWN.includes(name)) throw new TypeError(`RateLimiterWeir: unknown option '${name}'; known: ${KNOWN.join(', ')}`);
    }
    const { client, points = 4, duration = 1, keyPrefix = 'rlflx', blockDuration = 0, execEvenly = false } = options;
    const { algorithm = execEvenly ? 'gcra' : 'fixed_window' } = options;
    if (!(Number.isInteger(points) && points > 0 && points <= MOST_POINTS))
      throw new TypeError(`RateLimiterWeir: points is an integer from 1 to ${MOST_POINTS}; to refuse everybody: deny, in the limits file`);
    if (!(duration > 0)) throw new TypeError('RateLimiterWeir: duration is above 0, since what is never due is never forgotten; to deny without end: WEIR.BAN');
    if (execEvenly && algorithm !== 'gcra') throw new TypeError("RateLimiterWeir: execEvenly needs the algorithm 'gcra'");
    if (blockDuration) rest.assertRest(blockDuration * 1000, 'RateLimiterWeir: blockDuration');
    this.points = points;
    this.duration = duration;
    this.keyPrefix = keyPrefix;
    this.#client = client;
    this.#algorithm = algorithm;
    this.blockDuration = blockDuration;
    this.execEvenly = execEvenly;
    this.#name = claim('RateLimiterWeir', options.keyPrefix, `${points}/${duration}s`, 'keyPrefix');
  }

  override async consume(key: string | number, pointsToConsume = 1, options: Custom = {}): Promise<RateLimiterRes> {
    const asked = this.#asked(key, pointsToConsume, options);
    const { decision, restsMs } = this.execEvenly ? await this.#evenly(asked) : await rest.charge(this.#weir, asked, pointsToConsume);
    const result = this.#result(decision, restsMs, pointsToConsume);
    if (result.consumedPoints <= this.points) return result;
    const first = result.consumedPoints <= this.points + pointsToConsume; // that went beyond the points
    if (restsMs > 0 || !this.blockDuration || !first || !decision.decided) throw result;
    const blockMs = this.blockDuration * 1000;
    await this.#block(asked, result.consumedPoints, decision.resetAfterMs, blockMs);
    throw new RateLimiterRes(0, blockMs, result.consumedPoints);
  }

  override async penalty(key: string | number, points = 1, options: Custom = {}): Promise<RateLimiterRes> {
    const asked = this.#asked(key, points, options);
    if (this.#algorithm === 'gcra') {
      await this.#weir.charge(asked);
      return this.#looked(asked);
    }
    const { decision, restsMs } = await rest.charge(this.#weir, asked, points);
    return this.#result(decision, restsMs, points);
  }

  override async reward(key: string | number, points = 1, options: Custom = {}): Promise<RateLimiterRes> {
    const asked = this.#asked(key, points, options);
    await this.#weir.refund(asked);
    return this.#looked(asked);
  }

  override async get(key: string | number, options: Custom = {}): Promise<RateLimiterRes | null> {
    const result = await this.#looked(this.#asked(key, 0, options));
    return result.consumedPoints === 0 && result.msBeforeNext === 0 ? null : result;
  }

  override async set(key: string | number, points: number, secDuration: number): Promise<RateLimiterRes> {
    if (!(secDuration > 0)) throw new TypeError('RateLimiterWeir: set() takes seconds above 0; to deny without end: WEIR.BAN');
    const asked = this.#asked(key, points, { customDuration: secDuration });
    await this.#forget(asked);
    if (points > 0) await this.#weir.charge(asked);
    return new RateLimiterRes(0, secDuration * 1000, points);
  }

  override async block(key: string | number, secDuration: number): Promise<RateLimiterRes> {
    const ms = secDuration * 1000;
    rest.assertRest(ms, 'RateLimiterWeir: block()');
    const asked = this.#asked(key, 0);
    const { consumedPoints, msBeforeNext } = this.#result(await this.#weir.look(bare(asked)), 0, 0);
    await this.#block(asked, consumedPoints, msBeforeNext, ms);
    return new RateLimiterRes(0, ms, this.points + 1);
  }

  override async delete(key: string | number): Promise<boolean> {
    return this.#forget(this.#asked(key, 0));
  }

  get #weir(): Client {
    return this.#client ?? sharedClient();
  }

  #asked(key: string | number, cost: number, { customDuration = this.duration }: Custom = {}): Asked {
    const ms = Math.ceil(customDuration * 1000);
    return { key: keyOf(this.#weir.app, this.#name, String(key), `${this.points}/${this.duration}s`),
      rule: this.#algorithm === 'gcra' ? `${this.points}/${ms}ms` : countingRule(ms), cost };
  }

  /** What lasts longer than the rest is forgotten, so that the key begins as a new one after it. */
  async #block(asked: Asked, consumed: number, endsInMs: number, ms: number): Promise<void> {
    await rest.begin(this.#weir, asked, ms);
    if (consumed > 0 && endsInMs > ms) await this.#clear(asked, consumed).catch(rest.tellOfRefunds);
  }

  async #forget(asked: Asked): Promise<boolean> {
    const [rested, { consumedPoints }] = await Promise.all([rest.end(this.#weir, asked.key), this.#weir.look(bare(asked)).then((each) => this.#result(each, 0, 0))]);
    return (consumedPoints > 0 ? await this.#clear(asked, consumedPoints) : 0) > 0 || rested > 0;
  }

  /** A window is not forgotten, but all of it is given back; it ends when it would have. */
  async #clear(asked: Asked, consumed: number): Promise<number> {
    if (this.#algorithm === 'gcra') return this.#weir.reset({ key: asked.key });
    return this.#weir.refund({ ...asked, cost: consumed });
  }

  /** Points are let through one by one, each at its moment. */
  async #evenly({ key, rule, cost }: Asked): Promise<{ decision: Decision; restsMs: number }> {
    const { restsMs, decision: looked } = await rest.look(this.#weir, { key, rule });
    if (restsMs > 0) return { decision: looked, restsMs };
    const { waitMs, decision } = await this.#weir.tryReserve({ key, rule: `${rule} burst 1`, cost, maxWaitMs: this.duration * 1000 });
    if (waitMs) await new Promise((resolve) => setTimeout(resolve, waitMs));
    return { decision: { ...decision, limit: decision.limit && this.points }, restsMs: 0 };
  }

  async #looked(asked: Asked): Promise<RateLimiterRes> {
    const { decision, restsMs } = await rest.look(this.#weir, bare(asked));
    return this.#result(decision, restsMs, 0);
  }

  /** Of a key that rests its points are spent; of an answer that nobody gave, what onError says of them. */
  #result({ allowed, decided, limit, remaining, retryAfterMs, resetAfterMs }: Decision, restsMs: number, consumed: number): RateLimiterRes {
    if (!decided) return new RateLimiterRes(allowed ? this.points - consumed : 0, retryAfterMs ?? 0, allowed ? consumed : this.points + consumed);
    const counted = limit! - remaining! + (allowed || restsMs > 0 ? 0 : consumed); // GCRA counts none that it denies
    const points = restsMs > 0 ? Math.max(this.points + 1, counted) : counted;
    const next = restsMs || (allowed ? resetAfterMs : (retryAfterMs ?? resetAfterMs));
    return new RateLimiterRes(Math.max(0, this.points - points), next, points, points === consumed);
  }
}

const bare = ({ key, rule }: Asked): rest.Resting => ({ key, rule });
