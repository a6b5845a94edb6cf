import { attributesOf, isByAttributes, rulesOf, type Words } from './question.js';

const ASKED = ['key', 'rule', 'rules', 'attributes', 'cost', 'costs', 'signal'];
const CHECKED = new Set([...ASKED, 'atLeast', 'class', 'fields']);
const WAITS = new Set([...ASKED, 'class', 'fields', 'maxWaitMs', 'holdMs', 'bound']);
const CHARGED = new Set([...ASKED, 'remaining', 'pauseMs', 'limit', 'window']);
const REFUNDED = new Set(ASKED);
const RESET = new Set(['key', 'rule', 'rules', 'attributes', 'limit']);

/** Milliseconds as the wire has them: whole, rounded up. */
const whole = (ms: number): string => String(Math.ceil(ms));

function cost({ cost, costs, atLeast }: Words, verb: string): string[] {
  if (cost !== undefined && costs !== undefined) throw new TypeError(`${verb}: give cost or costs, not both`);
  if (cost !== undefined || atLeast !== undefined) return ['COST', String(cost ?? 1)];
  return costs === undefined ? [] : ['COST', Object.entries(costs).map(([limit, units]) => `${limit}=${units}`).join(',')];
}

function optional(name: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [name, String(value)];
}

const flag = (name: string, value: boolean | undefined): string[] => (value ? [name] : []);

/** WEIR.CHECK and WEIR.LOOK by the limits file, WEIR.THROTTLE by rules, of which a look costs 0. */
export function checking(verb: 'check' | 'look', question: Words): string[] {
  if (isByAttributes(question, verb, CHECKED))
    return [verb === 'check' ? 'WEIR.CHECK' : 'WEIR.LOOK', ...cost(question, verb), ...optional('ATLEAST', question.atLeast),
      ...optional('CLASS', question.class), ...flag('FIELDS', question.fields), ...attributesOf(question.attributes!, verb)];
  const units = verb === 'look' ? ['COST', '0'] : [...cost(question, verb), ...optional('ATLEAST', question.atLeast)];
  return ['WEIR.THROTTLE', ...units, ...flag('FIELDS', question.fields), 'KEYS', ...rulesOf(question, verb)];
}

/** WEIR.RESERVE, or WEIR.ACQUIRE. */
export function waiting(verb: 'reserve' | 'acquire', question: Words): string[] {
  const by = isByAttributes(question, verb, WAITS);
  const { maxWaitMs, holdMs } = question;
  return [`WEIR.${verb.toUpperCase()}`, ...(maxWaitMs === undefined ? [] : ['MAXWAIT', whole(maxWaitMs)]),
    ...cost(question, verb), ...(holdMs === undefined ? [] : ['HOLD', whole(holdMs)]), ...flag('BOUND', question.bound),
    ...optional('CLASS', question.class), ...flag('FIELDS', question.fields), ...target(question, by, verb)];
}

const target = (question: Words, by: boolean, verb: string): string[] =>
  by ? ['AS', ...attributesOf(question.attributes!, verb)] : ['KEYS', ...rulesOf(question, verb)];

export function charging(question: Words): string[] {
  const by = isByAttributes(question, 'charge', CHARGED);
  const { pauseMs } = question;
  return ['WEIR.CHARGE', ...cost(question, 'charge'), ...optional('REMAINING', question.remaining),
    ...(pauseMs === undefined ? [] : ['PAUSE', whole(pauseMs)]), ...optional('LIMIT', question.limit),
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
  return ['DEL', ...rulesOf(question, 'reset').filter((_, place) => place % 2 === 0)];
}

export function settling(id: string, actual?: number | Record<string, number>): string[] {
  if (actual === undefined) return ['WEIR.SETTLE', id];
  const units = typeof actual === 'number' ? String(actual) : Object.entries(actual).map(([limit, n]) => `${limit}=${n}`).join(',');
  return ['WEIR.SETTLE', id, units];
}

export const extending = (id: string, ms: number): string[] => ['WEIR.EXTEND', id, whole(ms)];
