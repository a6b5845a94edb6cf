import type { Decision } from './answer.js';
import type { Client } from './client.js';
import { now } from './clock.js';
import { Refused, Unauthorized, Unavailable, WeirError } from './error.js';
import { allows, undecided, type OnError } from './policy.js';
import type { Value, Words } from './question.js';
import { rulesIn } from './rule.js';
import { sharedClient } from './shared.js';

export interface LimitOptions<Request> {
  /** One rule for each `key`; without it the limits file decides, by `attributes`. */
  rule?: string;
  /** One counter for all, or whose counter it is; the client's address unless it is said. */
  key?: string | ((request: Request) => string);
  /** What the limits file is asked with; ip, method, path and user unless it is said. */
  attributes?: (request: Request) => Record<string, Value>;
  /** One for this process, made at the first request, unless it is said. */
  client?: Client;
  /** What a request gets when weir does not answer, if it is something else than what the client says. */
  onError?: OnError;
}

/** What a framework tells of a request. */
export interface Facts {
  ip: string | undefined;
  attributes: Record<string, Value>;
}

export interface Verdict {
  /** Undefined: the request goes on. */
  status: 400 | 429 | 503 | undefined;
  body: string;
  fields: [string, string][];
}

const OPTIONS = ['rule', 'key', 'attributes', 'client', 'onError'];
const QUIET_MS = 60_000;
const BODIES = { 400: 'Bad request\n', 429: 'Too many requests\n', 503: 'Service unavailable\n' };

/** Asks about each request of a framework; throws Unavailable where `onError` says so. */
export class Gate<Request> {
  #toldAt = -Infinity;

  constructor(private readonly options: LimitOptions<Request>, private readonly facts: (request: Request) => Facts) {
    for (const name in options)
      if (!OPTIONS.includes(name)) throw new TypeError(`limit: unknown option '${name}'; known: ${OPTIONS.join(', ')}`);
    const { rule, key, attributes } = options;
    const slots = rule === undefined ? undefined : rulesIn(rule, 'limit').find((each) => each.startsWith('in_flight='));
    if (slots) throw new TypeError(`limit: ${slots} is held for as long as a call takes, which is client.slot(); a limit has a rate`);
    if (rule === undefined && key !== undefined) throw new TypeError('limit: key is of a rule; the limits file is asked with attributes');
    if (rule !== undefined && attributes !== undefined) throw new TypeError('limit: ask by a rule or by attributes, not both');
  }

  async ask(request: Request): Promise<Verdict> {
    const question = this.#question(request);
    try {
      const decision = await this.#decided(question);
      return verdictOf(decision);
    } catch (error) {
      if (error instanceof Refused && lacksAttribute(error)) return refusal(400);
      if (!(error instanceof Refused || error instanceof Unauthorized)) throw error;
      this.#tell(error);
      return refusal(503);
    }
  }

  async #decided(question: Words): Promise<Decision> {
    const { client = sharedClient(), onError } = this.options;
    let failure: WeirError;
    try {
      const decision = await client.check(question as Parameters<Client['check']>[0] & object);
      if (decision.decided || onError === undefined) return decision;
      failure = decision.error!;
    } catch (error) {
      if (!(error instanceof Unavailable) || onError === undefined) throw error;
      failure = error;
    }
    return undecided(failure, allows(onError, failure, question), question);
  }

  #question(request: Request): Words {
    const { rule, key, attributes } = this.options;
    const facts = this.facts(request);
    if (rule === undefined) return { attributes: attributes?.(request) ?? facts.attributes, fields: true };
    const whose = typeof key === 'function' ? key(request) : (key ?? facts.ip);
    if (whose === undefined) throw new TypeError('limit: the framework does not tell the address of this client; say a key');
    return { key: String(whose), rule, fields: true };
  }

  #tell(error: WeirError): void {
    if (now() - this.#toldAt < QUIET_MS) return;
    this.#toldAt = now();
    console.error(`weir cannot be asked like this, requests get 503: ${error.message}`);
  }
}

const lacksAttribute = (error: Refused): boolean => /the request has no attribute '/.test(error.message);

function verdictOf({ allowed, decided, fields }: Decision): Verdict {
  if (allowed) return { status: undefined, body: '', fields };
  return decided ? { ...refusal(429), fields } : { ...refusal(503), fields: [['Retry-After', '1']] };
}

const refusal = (status: 400 | 429 | 503): Verdict => ({ status, body: BODIES[status], fields: [] });

/** As frameworks compare paths that take /Login/ for /login, so that it is the same limit. */
export const plainPath = (path: string): string => path.toLowerCase().replace(/(?<=.)\/$/, '');

/** The id of whoever an earlier middleware has found. */
export function userOf(user: unknown): string | undefined {
  const id: unknown = typeof user === 'object' && user !== null && 'id' in user ? user.id : user;
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined;
}
