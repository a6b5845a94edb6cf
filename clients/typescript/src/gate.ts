import type { Decision } from './answer.js';
import type { Client } from './client.js';
import { now } from './clock.js';
import { Refused, Unauthorized, Unavailable, type WeirError } from './error.js';
import { keysOf, whoOf } from './identity.js';
import { claim } from './names.js';
import { allows, isOnError, undecided, type OnError } from './policy.js';
import type { Asked, Value } from './question.js';
import { rulesIn } from './rule.js';
import { sharedClient } from './shared.js';

type Told<T> = T | Promise<T>;

export interface LimitOptions<Request, Answer extends unknown[] = []> {
  /** One rule or several, all of which have to allow; without one the limits file decides, by `attributes`. */
  rule?: string | string[];
  /** What it is called, which its counts go by; its rules unless it is said, so a second of the same rules needs one. */
  name?: string;
  /** One counter for all, or whose counter it is; the client's address unless it is said. */
  key?: string | ((request: Request) => Told<string | number>);
  /** What the limits file is asked with; ip, method, path and user unless it is said. */
  attributes?: (request: Request) => Told<Record<string, Value>>;
  /** Units, 1 unless it is said. */
  cost?: number | ((request: Request) => Told<number>);
  /** Whether a request passes uncounted. */
  exempt?: (request: Request) => Told<boolean>;
  /** Answers a request that is denied, in place of the framework's own 429. */
  onDenied?: (request: Request, decision: Decision, ...answer: Answer) => unknown;
  /** One for this process, made at the first request, unless it is said. */
  client?: Client;
  /** A limits file, for a weir that is started here; for a client of one's own, connect() takes it. */
  limits?: string;
  /** What a request gets when weir does not answer, if it is something else than what the client says. */
  onError?: OnError;
}

/** What a framework tells of a request. */
export interface Facts {
  ip: string | undefined;
  attributes: Record<string, Value>;
  /** The request as the runtime knows it, whichever of an application's routers looks at it. */
  once: object;
  /** X-Forwarded-For, and the setting by which the framework would believe it. */
  forwarded: string | string[] | undefined;
  trust: string;
}

export interface Verdict {
  /** Undefined: the request goes on. */
  status: 400 | 429 | 503 | undefined;
  fields: [string, string][];
  /** Of a 429. */
  decision?: Decision;
}

const callable = (value: unknown): boolean => typeof value === 'function';
const named = (value: unknown): boolean => typeof value === 'string' && value !== '';
const known = (value: unknown): boolean => value !== undefined;
const units = (value: unknown): boolean => callable(value) || (Number.isSafeInteger(value) && (value as number) >= 0);

const OPTIONS: Record<string, [check: (value: unknown) => boolean, form: string]> = {
  rule: [known, 'a text, or several'],
  name: [named, 'a text'],
  key: [(value) => callable(value) || typeof value === 'string', 'a text or a function'],
  attributes: [callable, 'a function'],
  cost: [units, 'an integer from 0, or a function'],
  exempt: [callable, 'a function'],
  onDenied: [callable, 'a function'],
  client: [known, 'what connect() returns'],
  limits: [named, 'the path of a limits file'],
  onError: [isOnError, "'allow', 'deny', 'throw' or a function"],
};
const TEXTS = { 400: 'Bad request', 429: 'Too many requests', 503: 'Service unavailable' };
const QUIET_MS = 60_000;
const PASSES: Verdict = { status: undefined, fields: [] };

// What each client has been asked about a request: what its router and its route ask alike is charged once.
const asked = new WeakMap<object, Map<Client, Map<string, Promise<Verdict>>>>();

// The settings that have been named as those by which X-Forwarded-For would be believed.
const toldOf = new Set<string>();

/** Asks about each request of a framework; throws Unavailable where `onError` says so. */
export class Gate<Request, Answer extends unknown[] = []> {
  readonly #rules: string[] | undefined;
  readonly #name: string | undefined;
  #toldAt = -Infinity;

  /** `placed`: the framework says at each request where the limit stands, which is its name. */
  constructor(readonly options: LimitOptions<Request, Answer>, private readonly facts: (request: Request) => Facts, placed = false) {
    for (const [name, value] of Object.entries(options)) {
      const option = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
      if (!option) throw new TypeError(`limit: unknown option '${name}'; known: ${Object.keys(OPTIONS).join(', ')}`);
      if (value !== undefined && !option[0](value)) throw new TypeError(`limit: ${name} is ${option[1]}`);
    }
    const { rule, name, key, attributes, client, limits } = options;
    if (client && limits !== undefined) throw new TypeError('limit: limits is for connect(), where a client is given');
    if (rule === undefined && (key ?? name) !== undefined)
      throw new TypeError(`limit: ${key === undefined ? 'name' : 'key'} is of a rule; the limits file is asked with attributes`);
    if (rule === undefined) return;
    if (attributes !== undefined) throw new TypeError('limit: ask by a rule or by attributes, not both');
    this.#rules = rulesIn(rule, 'limit');
    const slots = this.#rules.find((each) => each.startsWith('in_flight='));
    if (slots) throw new TypeError(`limit: ${slots} is held for as long as a call takes, which is client.slot(); a limit has a rate`);
    this.#name = placed && name === undefined ? undefined : claim('limit', name, this.#rules.join(';'));
  }

  /** `place` names a limit that has no name. */
  async ask(request: Request, place = (): string => ''): Promise<Verdict> {
    const { exempt, limits, client = sharedClient(limits) } = this.options;
    if (await exempt?.(request)) return PASSES;
    const facts = this.facts(request);
    const question = await this.#question(request, facts, client, place);
    const { cost: _, ...same } = question;
    const ofRequest = asked.get(facts.once) ?? new Map<Client, Map<string, Promise<Verdict>>>();
    asked.set(facts.once, ofRequest);
    const before = ofRequest.get(client) ?? new Map<string, Promise<Verdict>>();
    ofRequest.set(client, before);
    const words = JSON.stringify(same, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    const verdict = before.get(words) ?? this.#verdict(client, question);
    before.set(words, verdict);
    return verdict;
  }

  async #verdict(client: Client, question: Asked): Promise<Verdict> {
    try {
      return verdictOf(await this.#decided(client, question));
    } catch (error) {
      if (error instanceof Refused && lacksAttribute(error)) return { status: 400, fields: [] };
      if (!(error instanceof Refused || error instanceof Unauthorized)) throw error;
      this.#tell(error);
      return { status: 503, fields: [] };
    }
  }

  async #decided(client: Client, question: Asked): Promise<Decision> {
    const { onError } = this.options;
    let failure: WeirError;
    try {
      const decision = await client.check(question);
      if (decision.decided || onError === undefined) return decision;
      failure = decision.error!;
    } catch (error) {
      if (!(error instanceof Unavailable) || onError === undefined) throw error;
      failure = error;
    }
    return undecided(failure, allows(onError, failure, question), question);
  }

  async #question(request: Request, facts: Facts, client: Client, place: () => string): Promise<Asked> {
    const { attributes, cost } = this.options;
    const words = { fields: true, ...(cost !== undefined && { cost: typeof cost === 'function' ? await cost(request) : cost }) };
    if (!this.#rules) return { attributes: attributes ? await attributes(request) : facts.attributes, ...words };
    const keys = keysOf(client.app, this.#name ?? place(), await this.#who(request, facts), this.#rules);
    const [[key, rule], ...more] = keys as [[string, string], ...[string, string][]];
    return more.length ? { rules: Object.fromEntries(keys), ...words } : { key, rule, ...words };
  }

  async #who(request: Request, facts: Facts): Promise<string> {
    const { key } = this.options;
    if (key === undefined) return this.#address(facts);
    const whose = typeof key === 'function' ? await key(request) : key;
    if (typeof whose !== 'string' && typeof whose !== 'number') throw new TypeError(`limit: key is a text or a number, not ${whose === null ? 'null' : typeof whose}`);
    return String(whose);
  }

  #address({ ip, forwarded, trust }: Facts): string {
    if (!ip) throw new TypeError('limit: the framework tells no address of this client; say whose counter it is by key');
    const said = String(forwarded ?? '');
    if (said && !toldOf.has(trust) && !said.split(',').some((each) => whoOf(each.trim()) === whoOf(ip))) {
      toldOf.add(trust);
      console.warn(`weir: requests have X-Forwarded-For, and are counted by ${ip}, which may be a proxy's address; for the client's: ${trust}`);
    }
    return whoOf(ip);
  }

  #tell(error: WeirError): void {
    if (now() - this.#toldAt < QUIET_MS) return;
    this.#toldAt = now();
    console.error(`weir cannot be asked like this, requests get 503: ${error.message}`);
  }
}

const lacksAttribute = (error: Refused): boolean => /the request has no attribute '/.test(error.message);

function verdictOf(decision: Decision): Verdict {
  const { allowed, decided, fields } = decision;
  if (allowed) return { status: undefined, fields };
  return decided ? { status: 429, fields, decision } : { status: 503, fields: [['Retry-After', '1']] };
}

export const textOf = (status: 400 | 429 | 503): string => TEXTS[status];

/** An error as frameworks answer their own; it tells a client nothing but its status. `decision` is that of a 429. */
export function errorOf({ status, fields, decision }: Verdict): Error {
  return Object.assign(new Error(TEXTS[status!]), { status, statusCode: status, expose: true, headers: Object.fromEntries(fields),
    ...(decision && { code: 'DENIED', decision }) });
}

/** As frameworks compare paths that take /Login/ for /login, so that it is the same limit. */
export const plainPath = (path: string): string => path.toLowerCase().replace(/(?<=.)\/$/, '');

/** The id of whoever an earlier middleware has found. */
export function userOf(user: unknown): string | undefined {
  const id: unknown = typeof user === 'object' && user !== null && 'id' in user ? user.id : user;
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined;
}
