import { booked, charged, checked, integer, looked, NotAnAnswer, ofReservation, type Charged, type Decision } from './answer.js';
import { Call as Sent, Wait } from './call.js';
import { now } from './clock.js';
import { charging, checking, extending, refunding, resetting, settling, waiting } from './command.js';
import type { Connection } from './connection.js';
import { Denials } from './denials.js';
import { asyncDispose } from './dispose.js';
import { Denied, errorOfReply, Refused, Unavailable, WeirError } from './error.js';
import type { Settings } from './options.js';
import { Outage } from './outage.js';
import { allows, unbooked, uncharged, undecided } from './policy.js';
import { Crowded } from './pool.js';
import type { Asked, Forgotten, Outside, Value, Waits, Words } from './question.js';
import { Reservation, type Granted } from './reservation.js';
import { encode, ErrorReply, type Reply } from './resp.js';
import { inSlot } from './slot.js';
import type { Source } from './source.js';
import { VERSION } from './version.js';

/** What `onCall` is told, for counters and traces. */
export interface Call {
  verb: string;
  /** The limit, or of rules the rule, that decided; never a key. */
  limit: string | null;
  /** Null for what is neither allowed nor denied, such as a charge. */
  allowed: boolean | null;
  decided: boolean;
  ms: number;
}

export interface InSlot {
  maxWaitMs?: number;
  holdMs?: number;
  attributes?: Record<string, Value>;
  signal?: AbortSignal;
}

export interface Client extends AsyncDisposable {
  /** What limits that travel with requests are counted under: two applications of one name share them. */
  readonly app: string;
  /** Connects, and fails with what is wrong. */
  ready(): Promise<void>;
  check(key: string, rule: string): Promise<Decision>;
  check(question: Asked): Promise<Decision>;
  /** What check would get now; it charges nothing. */
  look(question: Asked): Promise<Decision>;
  /** To act after `waitMs`, which is 0 where `maxWaitMs` is not given; throws Denied. */
  reserve(question: Waits): Promise<Granted>;
  /** As reserve, but one that is denied is returned: `decision` says so, and `waitMs` is null. */
  tryReserve(question: Waits): Promise<Reservation>;
  /** Returns when the moment has come, within 60 s unless `maxWaitMs` says another time; throws Denied. */
  acquire(question: Waits): Promise<Granted>;
  /** Runs `body` in a slot of a limit of the limits file that the attribute `api` meets, and keeps it until that has ended. */
  slot<T>(api: string, question: InSlot, body: (reservation: Granted) => Promise<T>): Promise<T>;
  charge(question: Outside): Promise<Charged>;
  refund(question: Asked): Promise<number>;
  reset(question: Forgotten): Promise<number>;
  cancel(id: string): Promise<number>;
  settle(id: string, actual?: number | Record<string, number>): Promise<number | null>;
  extend(id: string, ms: number): Promise<number>;
  moment(id: string): Promise<number | null>;
  /** What is under way is answered within the timeout, and slots are settled. */
  close(): Promise<void>;
}

/** How long an acquire waits that does not say it; a server that allows less cuts it. */
const MAX_WAIT_MS = 60_000;

/** One command, and what its caller gets. */
interface Command<T> {
  verb: string;
  question: Words;
  read: (reply: Reply, question: Words) => T;
  /** Where weir does not answer; throws, where `onError` says so. */
  without: (error: WeirError) => T;
}

export class WeirClient implements Client {
  readonly #outage: Outage;
  readonly #denials: Denials | undefined;
  readonly #slots = new Set<Reservation>();
  #underWay = 0;
  #words = 0; // of those that waited by TAG
  #idle: (() => void) | undefined; // who waits for no call to be under way
  #closing: Promise<void> | undefined;

  readonly #source: Source;
  readonly #settings: Settings; // which has the password

  constructor(source: Source, settings: Settings) {
    this.#source = source;
    this.#settings = settings;
    this.#outage = new Outage(settings.log);
    if (settings.rememberDenials) this.#denials = new Denials();
  }

  get app(): string {
    return this.#source.app;
  }

  async ready(): Promise<void> {
    return this.#ask(encode(['PING']), { verb: 'ready', question: {}, read: () => undefined, without: raise });
  }

  check(asked: string | Asked, rule?: string): Promise<Decision> {
    try {
      return this.#check(typeof asked === 'string' ? { key: asked, rule: rule! } : asked);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #check(question: Words): Promise<Decision> {
    const text = encode(checking('check', question));
    const denials = this.#denials;
    const denied = denials?.find(text);
    if (denied) {
      this.#tell({ verb: 'check', question }, denied, now(), true);
      return Promise.resolve(denied);
    }
    const read = !denials ? checked : (reply: Reply, asked: Words): Decision => denials.keep(text, checked(reply, asked));
    return this.#ask(text, { verb: 'check', question, read, without: this.#undecided(undecided, question) });
  }

  async look(question: Asked): Promise<Decision> {
    const read = 'attributes' in question ? checked : looked;
    return this.#ask(encode(checking('look', question)), { verb: 'look', question, read, without: this.#undecided(undecided, question) });
  }

  async reserve(question: Waits): Promise<Granted> {
    return granted(await this.#reserved('reserve', question));
  }

  async tryReserve(question: Waits): Promise<Reservation> {
    return this.#reserved('tryReserve', question);
  }

  async #reserved(verb: 'reserve' | 'tryReserve', question: Waits): Promise<Reservation> {
    // Else the limits file would say how long it may wait.
    const text = encode(waiting(verb, { ...question, maxWaitMs: question?.maxWaitMs ?? 0 }));
    return this.#ask(text, this.#booking('reserve', question));
  }

  #booking(verb: 'reserve' | 'acquire', question: Waits): Command<Reservation> {
    return { verb, question, read: (reply) => new Reservation(booked(reply, question), this),
      without: this.#undecided((...words) => new Reservation(unbooked(...words), this), question) };
  }

  async acquire(question: Waits): Promise<Granted> {
    waiting('acquire', question); // what is wrong with it is told before it stands in line
    question.signal?.throwIfAborted();
    this.#begins();
    try {
      return granted(await this.#acquired(question, question.maxWaitMs ?? MAX_WAIT_MS));
    } finally {
      this.#ends();
    }
  }

  async #acquired(question: Waits, maxWaitMs: number): Promise<Reservation> {
    if (maxWaitMs === 0) return this.#standing(question, 0);
    const began = now();
    let asked: { answer: Promise<Reservation> };
    try {
      asked = await this.#source.pool.place(this.#settings.timeoutMs, maxWaitMs, question.signal, (connection, waitedMs) => {
        const { maxWaiters, maxWaitMs: mostMs } = connection.server;
        const leftMs = Math.max(0, (question.maxWaitMs ?? Math.min(maxWaitMs, mostMs)) - waitedMs);
        const answer = maxWaiters > 0 ? this.#standing(question, leftMs, connection, (++this.#words).toString(36))
          : this.#alone(question, leftMs, connection);
        return { answer };
      });
    } catch (error) {
      if (error instanceof Crowded) return this.#standing(question, 0);
      if (!(error instanceof WeirError)) throw error;
      return this.#failed(error, this.#booking('acquire', question), began);
    }
    return asked.answer;
  }

  /** By a word, or where it waits for nothing, it does not hold up a connection that others share. */
  async #standing(question: Waits, leftMs: number, connection?: Connection, word?: string): Promise<Reservation> {
    const text = encode(waiting('acquire', { ...question, maxWaitMs: leftMs }, word));
    return this.#ask(text, this.#booking('acquire', question), connection, leftMs, word);
  }

  /** On a connection of its own, since those that are asked after it on one would be answered after it. */
  async #alone(question: Waits, leftMs: number, connection: Connection): Promise<Reservation> {
    const { pool } = this.#source;
    let keeps = false;
    try {
      const told = await this.#standing(question, leftMs, connection);
      keeps = question.bound === true && told.id !== null;
      return keeps ? new Reservation(told, this, () => pool.giveBack(connection)) : told;
    } finally {
      if (question.signal?.aborted) connection.end('it has been given up'); // so that its moment is another's
      else if (!keeps) pool.giveBack(connection);
    }
  }

  slot<T>(api: string, question: InSlot, body: (reservation: Granted) => Promise<T>): Promise<T> {
    const extend = (id: string, ms: number): Promise<number> => this.#effect('extend', extending(id, ms), integer, raise);
    return inSlot({ client: this, extend, held: this.#slots, log: this.#settings.log }, api, question, body);
  }

  async charge(question: Outside): Promise<Charged> {
    return this.#effect('charge', charging(question), charged, uncharged, question);
  }

  async refund(question: Asked): Promise<number> {
    return this.#effect('refund', refunding(question), integer, () => 0, question);
  }

  async reset(question: Forgotten): Promise<number> {
    this.#denials?.forget();
    return this.#effect('reset', resetting(question), integer, () => 0, question);
  }

  async cancel(id: string): Promise<number> {
    return this.#effect('cancel', ['WEIR.CANCEL', id], integer, () => 0);
  }

  async settle(id: string, actual?: number | Record<string, number>): Promise<number | null> {
    this.#denials?.forget();
    return this.#effect('settle', settling(id, actual), ofReservation, () => null);
  }

  async extend(id: string, ms: number): Promise<number> {
    return this.#effect('extend', extending(id, ms), integer, () => 0);
  }

  async moment(id: string): Promise<number | null> {
    return this.#effect('moment', ['WEIR.MOMENT', id], ofReservation, () => null);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const each of this.#slots) void each.settle().catch(() => {});
    if (this.#underWay > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
        setTimeout(resolve, this.#settings.timeoutMs);
      });
    this.#source.close();
  }

  /** What charges or gives back: nothing is allowed or denied, so without weir nothing has happened. */
  #effect<T>(verb: string, words: string[], read: (reply: Reply) => T, nothing: (error: WeirError) => T, question: Words = {}): Promise<T> {
    const without = (error: WeirError): T => (this.#settings.onError === 'throw' ? raise(error) : nothing(error));
    return this.#ask(encode(words), { verb, question, read, without });
  }

  #undecided<T>(answer: (error: WeirError, allowed: boolean, question: Words) => T, question: Words): (error: WeirError) => T {
    return (error) => answer(error, allows(this.#settings.onError, error, question), question);
  }

  /** What may wait `waitMs` takes so much longer; what has a word from when it is told that it stands in line. */
  #ask<T>(text: string, command: Command<T>, connection?: Connection, waitMs = 0, word?: string): Promise<T> {
    const { signal } = command.question;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const way = connection ?? this.#source.pool;
    const began = now();
    const patience = this.#settings.timeoutMs + (word === undefined ? waitMs : 0);
    let resolve!: (value: T) => void;
    let reject!: (error: unknown) => void;
    const answer = new Promise<T>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    // What these know is kept for as long as it waits: not the text, nor the way.
    const ends = (how: () => T): void => {
      if (signal) signal.removeEventListener('abort', leave);
      this.#ends();
      try {
        resolve(how());
      } catch (error) {
        reject(error);
      }
    };
    const call: ConstructorParameters<typeof Sent> = [text, began + patience, patience,
      (reply) => ends(() => this.#answered(reply, command, began)), (error) => ends(() => this.#failed(error, command, began))];
    const sent = word === undefined ? new Sent(...call) : new Wait(word, waitMs, ...call);
    const leave = (): void => {
      if (word !== undefined) sent.late = (reply) => void this.#undo(reply, command.question).catch(() => {});
      if (sent.end()) ends(() => raise(signal!.reason));
    };
    if (signal) signal.addEventListener('abort', leave);
    this.#begins();
    way.ask(sent);
    return answer;
  }

  /** Of a grant that came as its caller gave it up: what can be given back. */
  async #undo(reply: Reply, question: Words): Promise<void> {
    const { id } = booked(reply, question);
    if (id !== null) await this.settle(id, 0);
  }

  #begins(): void {
    ++this.#underWay;
  }

  #ends(): void {
    if (--this.#underWay === 0) this.#idle?.();
  }

  #answered<T>(reply: Reply, command: Command<T>, began: number): T {
    if (reply instanceof ErrorReply) return this.#failed(this.#errorOf(reply.text), command, began);
    this.#outage.answered(began, this.#name);
    let value: T;
    try {
      value = command.read(reply, command.question);
    } catch (error) {
      if (!(error instanceof NotAnAnswer)) throw error;
      throw new Refused(`the answer to ${command.verb} has another form than weir ${VERSION} gives it`);
    }
    this.#tell(command, value, began, true);
    return value;
  }

  #failed<T>(error: WeirError, command: Pick<Command<T>, 'verb' | 'question' | 'without'>, began: number): T {
    let value: T | undefined;
    try {
      if (!(error instanceof Unavailable)) throw error;
      if (!this.#source.closed) this.#outage.missed(error);
      return (value = command.without(error));
    } finally {
      this.#tell(command, value, began, false);
    }
  }

  #errorOf(text: string): WeirError {
    const verb = /^ERR unknown command '(weir\.\w+)'/i.exec(text)?.[1];
    return verb ? new Refused(`the weir at ${this.#name}, ${this.#source.server?.version}, has no ${verb}; ${VERSION} has it`) : errorOfReply(text);
  }

  get #name(): string {
    return this.#source.server?.name ?? 'an unknown place';
  }

  #tell(command: Pick<Command<unknown>, 'verb' | 'question'>, value: unknown, began: number, decided: boolean): void {
    const { onCall, log } = this.#settings;
    if (!onCall || command.verb === 'ready') return;
    const { verb, question } = command;
    const decision = decisionOf(value);
    const by = decision?.by ?? null;
    const limit = question.rule ?? (question.rules ? (question.rules[by ?? ''] ?? Object.values(question.rules)[0] ?? null) : by);
    try {
      onCall({ verb, limit, allowed: decision?.allowed ?? null, decided, ms: now() - began });
    } catch (error) {
      log(`weir: onCall has thrown: ${(error as Error)?.message ?? error}`);
    }
  }
}

function granted(reservation: Reservation): Granted {
  if (!reservation.decision.allowed) throw new Denied(reservation.decision);
  return reservation as Granted;
}

function raise(error: unknown): never {
  throw error;
}

function decisionOf(value: unknown): Decision | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if ('decision' in value) return value.decision as Decision;
  return 'allowed' in value ? (value as Decision) : undefined;
}
