import { attributesOf, isByAttributes, rulesOf, type Words } from './question.js';

const ASKED = ['key', 'rule', 'rules', 'attributes', 'cost', 'costs', 'signal'];
const CHECKED = new Set([...ASKED, 'atLeast', 'class', 'fields']);
const WAITS = new Set([...ASKED, 'class', 'fields', 'maxWaitMs', 'holdMs', 'bound']);
const CHARGED = new Set([...ASKED, 'remaining', 'pauseMs', 'afresh', 'limit', 'window']);
const REFUNDED = new Set(ASKED);
const RESET = new Set(['key', 'rule', 'rules', 'attributes', 'limit']);

/** Milliseconds as the wire has them: whole, rounded up. */
function whole(ms: number, verb: string): string {
  if (typeof ms !== 'number' || !(ms >= 0 && ms < Infinity)) throw new TypeError(`${verb}: ${String(ms)} is not a number of milliseconds from 0`);
  return String(Math.ceil(ms));
}

function units(number: number, name: string, verb: string): string {
  if (!Number.isSafeInteger(number) || number < 0) throw new TypeError(`${verb}: ${name} is an integer from 0, not ${String(number)}`);
  return String(number);
}

const byName = (costs: Record<string, number>, name: string, verb: string): string =>
  Object.entries(costs).map(([limit, number]) => `${limit}=${units(number, name, verb)}`).join(',');

function cost({ cost, costs, atLeast }: Words, verb: string): string[] {
  if (cost !== undefined && costs !== undefined) throw new TypeError(`${verb}: give cost or costs, not both`);
  if (cost !== undefined || atLeast !== undefined) return ['COST', units(cost ?? 1, 'cost', verb)];
  return costs === undefined ? [] : ['COST', byName(costs, 'costs', verb)];
}

function optional(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, String(value)];
}

const atLeast = ({ atLeast: least }: Words, verb: string): string[] => (least === undefined ? [] : ['ATLEAST', units(least, 'atLeast', verb)]);

const flag = (name: string, value: boolean | undefined): string[] => (value ? [name] : []);

/** WEIR.CHECK and WEIR.LOOK by the limits file, WEIR.THROTTLE by rules, of which a look costs 0. */
export function checking(verb: 'check' | 'look', question: Words): string[] {
  if (isByAttributes(question, verb, CHECKED)) {
    const words = [...cost(question, verb), ...atLeast(question, verb), ...optional('CLASS', question.class),
      ...flag('FIELDS', question.fields), ...attributesOf(question.attributes!, verb)];
    return [verb === 'check' ? 'WEIR.CHECK' : 'WEIR.LOOK', ...(words.length > 0 ? words : ['COST', '1'])];
  }
  const amount = verb === 'look' ? ['COST', '0'] : [...cost(question, verb), ...atLeast(question, verb)];
  return ['WEIR.THROTTLE', ...amount, ...flag('FIELDS', question.fields), 'KEYS', ...rulesOf(question, verb)];
}

/** WEIR.ACQUIRE, by `word` on a connection that others share, or WEIR.RESERVE. */
export function waiting(verb: 'reserve' | 'tryReserve' | 'acquire', question: Words, word?: string): string[] {
  const by = isByAttributes(question, verb, WAITS);
  const { maxWaitMs, holdMs } = question;
  return [verb === 'acquire' ? 'WEIR.ACQUIRE' : 'WEIR.RESERVE', ...(maxWaitMs === undefined ? [] : ['MAXWAIT', whole(maxWaitMs, verb)]),
    ...cost(question, verb), ...(holdMs === undefined ? [] : ['HOLD', whole(holdMs, verb)]), ...flag('BOUND', question.bound),
    ...optional('CLASS', question.class), ...flag('FIELDS', question.fields), ...optional('TAG', word), ...target(question, by, verb)];
}

const target = (question: Words, by: boolean, verb: string): string[] =>
  by ? ['AS', ...attributesOf(question.attributes!, verb)] : ['KEYS', ...rulesOf(question, verb)];

export function charging(question: Words): string[] {
  const by = isByAttributes(question, 'charge', CHARGED);
  const { pauseMs, remaining, afresh } = question;
  if (afresh && pauseMs === undefined) throw new TypeError('charge: afresh is said of a pause alone');
  return ['WEIR.CHARGE', ...cost(question, 'charge'), ...(remaining === undefined ? [] : ['REMAINING', units(remaining, 'remaining', 'charge')]),
    ...(pauseMs === undefined ? [] : ['PAUSE', whole(pauseMs, 'charge'), ...(afresh ? ['AFRESH'] : [])]), ...optional('LIMIT', question.limit),
    ...optional('WINDOW', question.window), ...target(question, by, 'charge')];
}

export function refunding(question: Words): string[] {
  const by = isByAttributes(question, 'refund', REFUNDED);
  return ['WEIR.REFUND', ...cost(question, 'refund'), ...target(question, by, 'refund')];
}

/** WEIR.RESET by the limits file; by rules DEL, which takes several keys. */
export function resetting(question: Words): string[] {
  if (isByAttributes(question, 'reset', RESET))
    return ['WEIR.RESET', 'AS', ...optional('LIMIT', question.limit), ...attributesOf(question.attributes!, 'reset')];
  if (question.limit !== undefined) throw new TypeError('reset: limit is of the limits file');
  return ['DEL', ...(question.rules ? rulesOf(question, 'reset').filter((_, place) => place % 2 === 0) : [String(question.key)])];
}

export function settling(id: string, actual?: number | Record<string, number>): string[] {
  if (actual === undefined) return ['WEIR.SETTLE', id];
  return ['WEIR.SETTLE', id, typeof actual === 'number' ? units(actual, 'actual', 'settle') : byName(actual, 'actual', 'settle')];
}

export const extending = (id: string, ms: number): string[] => ['WEIR.EXTEND', id, whole(ms, 'extend')];
