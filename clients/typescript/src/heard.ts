// What the answer of a vendor's API says of its limits, by the table of vendors. A time is nanoseconds, so that none of its
// digits is lost.
import { decimalTimes, roundedUp, wholeNumber } from './rate.js';
import { BODIES, FIELDS, LIMITS, MESSAGES, MOST_PAUSE_MS, PAUSES, REFUSALS, type VendorLimit } from './vendors.js';

/** What was said of one of the vendor's limits, or of all (''). */
export interface Said {
  limit: string;
  remaining: number | undefined;
  pauseMs: number;
}

/** Header by header, in lower case. */
export type Headers = ReadonlyMap<string, string>;

const MS = 1_000_000n;
const S = 1000n * MS;
const NUMBER = /^[0-9]+(?:\.[0-9]+)?$/;
const USED = /^([0-9]+)\/([0-9]+)$/;
const SPAN = new RegExp(`^${['d', 'h', 'm', 's', 'ms'].map((unit) => `(?:([0-9]+(?:\\.[0-9]+)?)${unit})?`).join('')}$`);
const SPAN_UNITS = [86_400n * S, 3600n * S, 60n * S, S, MS];
const ISO = /^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})(?::([0-9]{2})(\.[0-9]+)?)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))$/;
const DATE = /^[A-Z][a-z]+, ([0-9]{2})[ -]([A-Z][a-z]{2})[ -]([0-9]{2}|[0-9]{4}) ([0-9:]{8}) GMT$/;
const ASCTIME = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ 0-9][0-9]) ([0-9:]{8}) ([0-9]{4})$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MEMBER = /^[ \t]*(?:"([^"]*)"|([A-Za-z*][^,;" \t]*))((?:[ \t]*;[ \t]*[a-z]+=[^,;]*)*)[ \t]*(?:,|$)/;

/** Of an answer that came at `nowMs` by our clock. */
export function heard(status: number, headers: Headers, body: string, nowMs: number): Said[] {
  const now = dateOf(headers.get('date') ?? '') ?? BigInt(Math.round(nowMs)) * MS; // theirs, so that no clock has to be right
  const isRefusal = REFUSALS.includes(status);
  const pauseMs = isRefusal ? pauseOfAll(headers, now) : 0;
  const unsaid = isRefusal && !pauseMs; // how long to stay away
  const found = new Map<string, Said>();
  const hear = (limit: string, remaining: number | undefined, reset: string, window: boolean): void => {
    const isUsedUp = remaining === 0 && (unsaid || (window && !pauseMs));
    const untilMs = isUsedUp || (remaining === undefined && unsaid && status === 429) ? lasts(reset, now) : 0;
    if (remaining !== undefined || untilMs) found.set(limit, stricter(found.get(limit), { limit, remaining, pauseMs: untilMs }));
  };
  for (const row of LIMITS) {
    const reset = row.reset.find((each) => headers.has(each));
    hear(nameOf(row, headers), leftBy(row, headers), headers.get(reset ?? '') ?? '', row.window);
  }
  for (const name of FIELDS) for (const [limit, remaining, reset] of membersOf(headers.get(name) ?? '')) hear(limit, remaining, reset, true);
  for (const { limit, remaining } of BODIES) hear(limit, numberAt(body, remaining), '', false);
  const all = [...found.values()];
  const ofAllMs = unsaid && !all.some((each) => each.pauseMs) ? pauseOfMessage(status, headers, body) : pauseMs;
  return ofAllMs ? [...all, { limit: '', remaining: undefined, pauseMs: ofAllMs }] : all;
}

function stricter(one: Said | undefined, other: Said): Said {
  if (!one) return other;
  const remaining = [one.remaining, other.remaining].filter((each) => each !== undefined);
  return { limit: one.limit, remaining: remaining.length ? Math.min(...remaining) : undefined, pauseMs: Math.max(one.pauseMs, other.pauseMs) };
}

function pauseOfAll(headers: Headers, now: bigint): number {
  for (const { header, unit } of PAUSES) {
    const text = headers.get(header) ?? '';
    if (unit === 's') {
      const ms = lasts(text, now);
      if (ms) return ms;
    } else if (NUMBER.test(text)) return inMs(decimalTimes(text, MS));
  }
  return 0;
}

function pauseOfMessage(status: number, headers: Headers, body: string): number {
  const text = body.toLowerCase();
  return MESSAGES.find((each) => each.statuses.includes(status) && headers.has(each.header) && text.includes(each.text))?.pauseMs ?? 0;
}

function nameOf({ limit, resource, usual }: VendorLimit, headers: Headers): string {
  const named = headers.get(resource ?? '');
  return named && named !== usual ? named : limit;
}

function leftBy({ used, remaining }: VendorLimit, headers: Headers): number | undefined {
  if (used === undefined) return unitsOf(headers.get(remaining ?? '') ?? '');
  const [, taken, of] = USED.exec(headers.get(used) ?? '') ?? [];
  return of === undefined ? undefined : unitsOf(String(BigInt(of) > BigInt(taken!) ? BigInt(of) - BigInt(taken!) : 0n));
}

function unitsOf(text: string): number | undefined {
  const units = NUMBER.test(text) ? wholeNumber(text.split('.')[0]!) : undefined;
  return units === undefined ? undefined : Math.min(Number(units), Number.MAX_SAFE_INTEGER);
}

function numberAt(body: string, path: string[]): number | undefined {
  let found: unknown;
  try {
    found = body && JSON.parse(body);
  } catch {
    return undefined; // it is no JSON, and says nothing
  }
  for (const name of path) found = (found as Record<string, unknown> | null | undefined)?.[name];
  return typeof found === 'number' && Math.abs(found) < 2 ** 53 ? Math.max(0, Math.floor(found)) : undefined;
}

/** Of a RateLimit field; of one alone the limit is the requests. As the drafts up to 7 have it the field is one list of words. */
function membersOf(text: string): [limit: string, remaining: number | undefined, reset: string][] {
  if (text.includes('remaining=')) {
    const { remaining = '', reset = '' } = wordsOf(text);
    return [['requests', unitsOf(remaining), reset]];
  }
  const all: [string, number | undefined, string][] = [];
  for (let rest = text; rest; ) {
    const member = MEMBER.exec(rest);
    if (!member) return [];
    const { r = '', t = '' } = wordsOf(member[3]!);
    all.push([member[1] ?? member[2]!, unitsOf(r), t]);
    rest = rest.slice(member[0].length);
  }
  return all.length === 1 ? [['requests', all[0]![1], all[0]![2]]] : all;
}

const wordsOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/([a-z]+)=([^,; \t]*)/g)].map(([, name, value]) => [name!, value!]));

/**
 * How many milliseconds a time of any form lasts: seconds, an epoch in seconds or milliseconds (told by their size: no vendor
 * says 30 years), 6m0s, ISO 8601 or a date of HTTP. 0 where there is none.
 */
function lasts(text: string, now: bigint): number {
  if (NUMBER.test(text)) {
    const digits = text.split('.')[0]!.replace(/^0+/, '').length;
    const ns = decimalTimes(text, digits > 11 ? MS : S);
    return inMs(digits > 9 ? ns - now : ns);
  }
  const span = text ? SPAN.exec(text) : undefined;
  if (span) return inMs(SPAN_UNITS.reduce((sum, unit, at) => sum + decimalTimes(span[at + 1] ?? '0', unit), 0n));
  const at = isoOf(text) ?? dateOf(text);
  return at === undefined ? 0 : inMs(at - now);
}

function inMs(ns: bigint): number {
  const ms = ns > 0n ? roundedUp(ns, MS) : 0n;
  return ms > MOST_PAUSE_MS ? MOST_PAUSE_MS : Number(ms);
}

function isoOf(text: string): bigint | undefined {
  const [, minute, second = '00', fraction = '', sign, hours, minutes] = ISO.exec(text) ?? [];
  const at = minute === undefined ? undefined : epochOf(`${minute}:${second}`);
  if (at === undefined || Number(hours ?? 0) > 23 || Number(minutes ?? 0) > 59) return undefined;
  const ahead = (BigInt(hours ?? 0) * 60n + BigInt(minutes ?? 0)) * 60n * S;
  return at + decimalTimes(`0${fraction}`, S) - (sign === '-' ? -ahead : ahead);
}

/** A date of HTTP, in each of its three forms. */
function dateOf(text: string): bigint | undefined {
  const named = DATE.exec(text);
  const bare = ASCTIME.exec(text);
  if (!named && !bare) return undefined;
  const [day, month, year, time] = (named ? [named[1], named[2], named[3], named[4]] : [bare![2], bare![1], bare![4], bare![3]]) as [string, string, string, string];
  const full = year.length === 4 ? year : `${Number(year) < 69 ? 20 : 19}${year}`;
  return epochOf(`${full}-${String(MONTHS.indexOf(month) + 1).padStart(2, '0')}-${day.replace(' ', '0')}T${time}`);
}

/** Of a moment of UTC that there is: no 30th of February. */
function epochOf(text: string): bigint | undefined {
  const ms = Date.parse(`${text}Z`);
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, -5) !== text ? undefined : BigInt(ms) * MS;
}
