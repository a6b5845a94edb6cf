import { Backoff } from './backoff.js';
import { Wait, type Call } from './call.js';
import { clearTimeout, now, setImmediate, setTimeout } from './clock.js';
import type { Connection } from './connection.js';
import { dial, type Access, type Address } from './dialer.js';
import { Unavailable, type WeirError } from './error.js';
import type { Server } from './hello.js';

export interface PoolOptions extends Access {
  /** Where to connect now; several are tried in their order. */
  find: () => Promise<Address[]>;
  /** How long the first connection may take, beyond what a call waits for its answer. */
  firstMs: number;
  connectTimeoutMs: number;
  /** A server that says nothing for so long is given up. */
  silenceMs: number;
  maxConnections: number;
  maxInFlight: number;
  connected: (server: Server) => void;
}

/** Somebody who will wait at the server. */
interface Waiter {
  readonly timeoutMs: number;
  readonly maxWaitMs: number;
  deadline: number;
  /** When it found that others left it no room; connecting is not a wait of that kind. */
  since: number | undefined;
  take: (connection: Connection) => void;
  fail: (error: WeirError) => void;
}

/** As many wait at the server as may. */
export class Crowded extends Unavailable {}

/** One connection that all calls share. Where the server knows no TAG, each that waits at it has one of its own meanwhile. */
export class Pool {
  #shared: Connection | undefined;
  #tags: boolean | undefined; // whether the server of the shared connection knows TAG; undefined before there was one
  #waiting: Call[] = [];
  #line: Waiter[] = [];
  readonly #own = new Set<Connection>();
  #idle: Connection[] = [];
  #dialing = false;
  #tried = false;
  closed = false;
  #failure: WeirError | undefined;
  readonly #backoff = new Backoff();
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;

  readonly #options: PoolOptions; // which has the password

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  ask(call: Call): void {
    if (this.closed) return call.fail(new Unavailable('the client is closed'));
    const { maxInFlight, firstMs } = this.#options;
    if (this.#waiting.length + (this.#shared?.unanswered ?? 0) >= maxInFlight)
      return call.fail(new Unavailable(`${maxInFlight} calls are unanswered`));
    if (this.#shared) return this.#shared.ask(call);
    if (!this.#tried) call.deadline += firstMs;
    this.#waiting.push(call);
    if (this.#dialing) this.#wakeBy(call.deadline); // to look at all that wait, for each of them, takes too long
    else this.#pump();
  }

  /**
   * What `use` makes of a connection to wait at the server on, and of how long others left it none: of the shared one, or
   * where the server knows no TAG, of one of its own until it is given back.
   */
  place<T>(timeoutMs: number, maxWaitMs: number, signal: AbortSignal | undefined, use: (connection: Connection, waitedMs: number) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(new Unavailable('the client is closed'));
      const { maxInFlight } = this.#options;
      if (this.#tags === false && this.#line.length >= maxInFlight) return reject(new Unavailable(`${maxInFlight} calls are unanswered`));
      const leave = (): void => {
        this.#line = this.#line.filter((each) => each !== waiter);
        reject(signal!.reason);
      };
      const over = (): void => signal?.removeEventListener('abort', leave);
      const waiter: Waiter = {
        timeoutMs, maxWaitMs, deadline: Infinity, since: undefined,
        take: (connection) => (over(), resolve(use(connection, waiter.since === undefined ? 0 : now() - waiter.since))),
        fail: (error) => (over(), reject(error)),
      };
      if (this.#room && !this.#line.length) return waiter.take(this.#shared!);
      signal?.addEventListener('abort', leave, { once: true });
      this.#reckon(waiter);
      this.#line.push(waiter);
      if (this.#tags !== false && (this.#dialing || this.#crowded)) this.#wakeBy(waiter.deadline);
      else this.#pump();
    });
  }

  giveBack(connection: Connection): void {
    if (this.closed) return connection.end('the client is closed');
    if (connection.closed) return;
    this.#idle.push(connection);
    this.#pump();
  }

  close(): void {
    this.closed = true;
    this.#sleep();
    const error = new Unavailable('the client is closed');
    for (const each of [...this.#waiting.splice(0), ...this.#line.splice(0)]) each.fail(error);
    this.#shared?.end('the client is closed');
    for (const each of this.#own) each.end('the client is closed');
  }

  get #full(): boolean {
    return this.#own.size >= this.#options.maxConnections - 1;
  }

  /** Whether one more may wait on the shared connection. Half of what may be unanswered is left to calls. */
  get #room(): boolean {
    const shared = this.#tags ? this.#shared : undefined;
    return shared !== undefined && shared.unanswered < this.#options.maxInFlight / 2 && shared.waits < shared.server.maxWaiters;
  }

  /** Whether it is for others that somebody stands here, and not for a connection. */
  get #crowded(): boolean {
    return this.#tags ? this.#shared !== undefined : this.#full;
  }

  /** Until when somebody stands here, by what that is for. */
  #reckon(each: Waiter): void {
    const { timeoutMs, maxWaitMs } = each;
    if (this.#crowded) each.deadline = (each.since ??= now()) + maxWaitMs;
    else each.deadline = now() + (this.#tags === false ? Math.max(maxWaitMs, timeoutMs) : timeoutMs + (this.#tried ? 0 : this.#options.firstMs));
  }

  /** Gives what is wanted what there is, and connects once more if that is not enough. */
  #pump(): void {
    this.#expire();
    this.#give();
    const owning = this.#tags === false && this.#line.length > 0 && !this.#full;
    const sharing = !this.#shared && (this.#waiting.length > 0 || (this.#tags !== false && this.#line.length > 0));
    if (!this.closed && !this.#dialing && (owning || sharing)) {
      if (now() >= this.#backoff.at) void this.#dial(sharing);
      else this.#failThoseThatCannotWait();
    }
    this.#wake();
  }

  #give(): void {
    while (this.#line.length && this.#room) this.#line.shift()!.take(this.#shared!);
    while (this.#tags === false && this.#line.length && this.#idle.length) {
      const connection = this.#idle.pop()!;
      if (!connection.closed) this.#line.shift()!.take(connection);
    }
  }

  async #dial(sharing: boolean): Promise<void> {
    this.#dialing = true;
    try {
      const connection = await this.#first(await this.#options.find(), sharing);
      this.#backoff.succeeded();
      this.#failure = undefined;
      if (this.closed) return connection.end('the client is closed');
      this.#options.connected(connection.server);
      if (sharing) this.#share(connection);
      else {
        this.#own.add(connection);
        this.#idle.push(connection);
      }
      this.#settleDeadlines((each) => Math.min(each.deadline, now() + ('patience' in each ? each.patience : Infinity)));
    } catch (error) {
      this.#backoff.failed();
      this.#failure = error as WeirError;
      this.#settleDeadlines((each) => each.deadline - this.#options.firstMs);
    } finally {
      this.#dialing = false;
      this.#pump();
    }
  }

  /** Of the first connection: what calls wait for their answers counts from here. */
  #settleDeadlines(deadline: (each: Call | Waiter) => number): void {
    if (this.#tried) return;
    this.#tried = true;
    for (const each of [...this.#waiting, ...this.#line]) each.deadline = deadline(each);
  }

  async #first(addresses: Address[], sharing: boolean): Promise<Connection> {
    let failure: unknown = new Unavailable('there is no host');
    for (const address of addresses)
      try {
        const made: Connection = await dial(address, this.#options, this.#options.connectTimeoutMs, this.#options.silenceMs, (unwritten) => this.#ended(made, sharing, unwritten));
        return made;
      } catch (error) {
        failure = error;
      }
    throw failure;
  }

  #share(connection: Connection): void {
    this.#shared = connection;
    this.#tags = connection.server.maxWaiters > 0;
    connection.onRoom = () => {
      if (this.#line.length && this.#room) this.#pump();
    };
    for (const call of this.#waiting.splice(0)) {
      if (call instanceof Wait && !this.#tags) call.fail(new Unavailable(`${connection.name} does not know TAG`));
      else if (!call.over) connection.ask(call);
    }
    this.#give();
    this.#line.forEach((each) => this.#reckon(each)); // what the others stand for now
  }

  /** What was not written goes to the next connection. */
  #ended(connection: Connection, sharing: boolean, unwritten: Call[]): void {
    if (!sharing) {
      this.#own.delete(connection);
      this.#idle = this.#idle.filter((each) => each !== connection);
      for (const call of unwritten) call.fail(new Unavailable(`${connection.name}: the connection has closed`));
    } else if (this.#shared === connection) {
      this.#shared = undefined;
      this.#waiting.push(...unwritten);
      if (this.#tags) this.#line.forEach((each) => this.#reckon(each));
    }
    if (!this.closed) this.#pump();
  }

  #failThoseThatCannotWait(): void {
    const failure = this.#failure!;
    const next = failure instanceof Unavailable ? this.#backoff.at : Infinity;
    this.#end((each) => each.deadline <= next, () => failure);
  }

  #expire(): void {
    this.#waiting = this.#waiting.filter((call) => !call.over);
    const crowded = this.#crowded;
    const at = now(); // one time for all, else who is due meanwhile is dropped and told nothing
    this.#end((each) => each.deadline <= at, (each) => (crowded && 'take' in each ? new Crowded('as many wait as may')
      : (this.#failure ?? new Unavailable('there is no connection in time'))));
  }

  #end(whether: (each: Call | Waiter) => boolean, why: (each: Call | Waiter) => WeirError): void {
    const [calls, line] = [this.#waiting.filter(whether), this.#line.filter(whether)];
    if (!calls.length && !line.length) return;
    this.#waiting = this.#waiting.filter((each) => !whether(each));
    this.#line = this.#line.filter((each) => !whether(each));
    for (const each of [...calls, ...line]) each.fail(why(each));
  }

  #wake(): void {
    this.#sleep();
    const wanted = [...this.#waiting, ...this.#line];
    let at = Math.min(...wanted.map((each) => each.deadline));
    if (!this.#dialing && wanted.length && this.#backoff.at > now()) at = Math.min(at, this.#backoff.at);
    this.#wakeBy(at);
  }

  #wakeBy(at: number): void {
    if (at >= this.#wakesAt || this.closed) return;
    this.#sleep();
    this.#wakesAt = at;
    this.#timer = setTimeout(() => setImmediate(() => this.#pump()), Math.max(0, at - now()));
  }

  #sleep(): void {
    clearTimeout(this.#timer);
    this.#wakesAt = Infinity;
  }
}
