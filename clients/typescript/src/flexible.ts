import { RateLimiterCompatibleAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import type { Decision } from './answer.js';
import { assertBlock, block } from './block.js';
import type { Client } from './client.js';
import { setTimeout } from './clock.js';
import { keyOf } from './identity.js';
import { claim } from './names.js';
import { sharedClient } from './shared.js';
import { countingRule, forget } from './window.js';

export interface RateLimiterWeirOptions {
  client?: Client;
  points?: number;
  /** Seconds. */
  duration?: number;
  /** What it is called; without one another limiter of the same numbers is an error. */
  keyPrefix?: string;
  /** Seconds that a key is blocked that has been refused, a day at most. */
  blockDuration?: number;
  /** Points are spread over the duration: consume() waits for its moment. */
  execEvenly?: boolean;
  /** A window, as in this library's other limiters, unless it is said; with execEvenly 'gcra'. */
  algorithm?: 'gcra' | 'fixed_window';
}

type Custom = { customDuration?: number };
type Asked = { key: string; rule: string; cost: number };

const KNOWN = ['client', 'points', 'duration', 'keyPrefix', 'blockDuration', 'execEvenly', 'algorithm'];
const INSTEAD: Record<string, string> = { storeClient: 'client, of connect()', insuranceLimiter: 'onError of connect()',
  inMemoryBlockOnConsumed: 'rememberDenials of connect()', inMemoryBlockDuration: 'rememberDenials of connect()', blockOnConsumed: 'a penalty, in the limits file' };
const MOST_POINTS = 900_000_000;
// By GCRA get() could not tell a key that is blocked from one that has just spent its points.
const OF_A_WINDOW = "needs a window, so neither execEvenly nor the algorithm 'gcra'; a limit of the limits file has a penalty for that";

const MOST_SECONDS = 9_223_372_036; // in nanoseconds, an integer of 64 bits

function assertDuration(seconds: number): void {
  if (!(Number.isFinite(seconds) && seconds > 0 && seconds <= MOST_SECONDS))
    throw new TypeError('RateLimiterWeir: a duration is seconds above 0, up to 292 years, since what is never due is never forgotten; to deny without end: WEIR.BAN');
}

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
    assertDuration(duration);
    if (execEvenly && algorithm !== 'gcra') throw new TypeError("RateLimiterWeir: execEvenly needs the algorithm 'gcra'");
    if (blockDuration) assertBlock(blockDuration * 1000, 'RateLimiterWeir: blockDuration');
    if (blockDuration && algorithm === 'gcra') throw new TypeError(`RateLimiterWeir: blockDuration ${OF_A_WINDOW}`);
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
    const decision = await (this.execEvenly ? this.#evenly(asked) : this.#weir.check(asked));
    const result = this.#result(decision, pointsToConsume);
    if (result.consumedPoints <= this.points) return result;
    const first = result.consumedPoints <= this.points + pointsToConsume; // that went beyond the points
    if (!this.blockDuration || !first || !decision.decided || this.#isBlocked(decision)) throw result;
    const blockMs = this.blockDuration * 1000;
    throw (await block(this.#weir, bare(asked), blockMs)) ? new RateLimiterRes(0, blockMs, result.consumedPoints) : result;
  }

  override async penalty(key: string | number, points = 1, options: Custom = {}): Promise<RateLimiterRes> {
    const asked = this.#asked(key, points, options);
    if (this.#algorithm === 'fixed_window') return this.#result(await this.#weir.check(asked), points);
    await this.#weir.charge(asked);
    return this.#looked(asked);
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
    const asked = this.#asked(key, points, { customDuration: secDuration });
    await this.#weir.reset({ key: asked.key });
    if (points > 0) await this.#weir.charge(asked);
    return new RateLimiterRes(0, secDuration * 1000, points);
  }

  override async block(key: string | number, secDuration: number): Promise<RateLimiterRes> {
    const ms = secDuration * 1000;
    assertBlock(ms, 'RateLimiterWeir: block()');
    if (this.#algorithm === 'gcra') throw new TypeError(`RateLimiterWeir: block() ${OF_A_WINDOW}`);
    const pause = { ...bare(this.#asked(key, 0)), pauseMs: ms, afresh: true };
    const { waitMs } = await this.#weir.charge(pause);
    if (waitMs > Math.ceil(ms)) { // a longer one, which this takes the place of
      await this.#weir.reset({ key: pause.key });
      await this.#weir.charge(pause);
    }
    return new RateLimiterRes(0, ms, this.points + 1);
  }

  override async delete(key: string | number): Promise<boolean> {
    return forget(this.#weir, bare(this.#asked(key, 0)));
  }

  get #weir(): Client {
    return this.#client ?? sharedClient();
  }

  #asked(key: string | number, cost: number, { customDuration = this.duration }: Custom = {}): Asked {
    assertDuration(customDuration);
    const ms = Math.ceil(customDuration * 1000);
    return { key: keyOf(this.#weir.app, this.#name, String(key), `${this.points}/${this.duration}s`),
      rule: this.#algorithm === 'gcra' ? `${this.points}/${ms}ms` : countingRule(ms), cost };
  }

  /** Points are let through one by one, each at its moment. */
  async #evenly({ key, rule, cost }: Asked): Promise<Decision> {
    const { waitMs, decision } = await this.#weir.tryReserve({ key, rule: `${rule} burst 1`, cost, maxWaitMs: this.duration * 1000 });
    if (waitMs) await new Promise((resolve) => setTimeout(resolve, waitMs));
    return { ...decision, limit: decision.limit && this.points };
  }

  async #looked(asked: Asked): Promise<RateLimiterRes> {
    return this.#result(await this.#weir.look(bare(asked)), 0);
  }

  /** Hits leave something of a window that denies nobody: only a block takes all of it. */
  #isBlocked({ decided, remaining }: Decision): boolean {
    return decided && remaining === 0 && this.#algorithm === 'fixed_window';
  }

  /** Of an answer that nobody gave, what onError says of the points. */
  #result(decision: Decision, consumed: number): RateLimiterRes {
    const { allowed, decided, limit, remaining, retryAfterMs, resetAfterMs } = decision;
    if (!decided) return new RateLimiterRes(allowed ? this.points - consumed : 0, retryAfterMs ?? 0, allowed ? consumed : this.points + consumed);
    if (this.#isBlocked(decision)) return new RateLimiterRes(0, resetAfterMs, this.points + 1);
    const points = limit! - remaining! + (allowed ? 0 : consumed); // GCRA counts none that it denies
    const next = allowed ? resetAfterMs : (retryAfterMs ?? resetAfterMs);
    return new RateLimiterRes(Math.max(0, this.points - points), next, points, points === consumed);
  }
}

const bare = ({ key, rule }: Asked): { key: string; rule: string } => ({ key, rule });
