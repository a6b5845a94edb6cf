// Rules as text, read whole before anybody is asked: '10/min burst 20', '10 per minute', '10/s;1000/d'. Each becomes the
// one text that all that mean it share ('10/1m'), which the server takes. clients/cases/rules.json is the table of right
// and wrong texts. It knows no zones: whether there is one of a tz= the server says.
import { inWholeNumbers, refusalOf, durationOf, written, wholeNumber } from './rate.js';

const FORM = '; the form is COUNT/PERIOD [burst N] [algorithm=NAME] [align=clock], as in 10/s burst 50 or 1000/h algorithm=fixed_window';
const NOTHING = 'to refuse everybody: deny, in the limits file; to limit nobody: leave the limit out';
const CALENDAR: Record<string, string> = { hour: 'hour', h: 'hour', day: 'day', d: 'day', week: 'week', w: 'week', month: 'month', year: 'year' };
const NOMINAL_S: Record<string, bigint> = { hour: 3600n, day: 86_400n, week: 604_800n, month: 2_629_746n, year: 31_556_952n };
const ALGORITHMS: Record<string, string> = { gcra: 'gcra', token_bucket: 'gcra', leaky_bucket: 'gcra', fixed_window: 'fixed_window',
  sliding_window_log: 'sliding_window_log', sliding_window_counter: 'sliding_window_counter' };
const MOST_OF_A_SLIDING_WINDOW = 2n ** 32n - 1n;
const MOST_PERIOD_OF_A_COUNTER = 2n ** 62n - 1n;
const MOST_OF_A_CALENDAR = 68_719_476_735n;
const MOST_SLOTS = 1_000_000_000;
const MOST_BYTES = 128;
const MOST_RULES = 16;

const PER = /^([^ \t/]+)[ \t]+per[ \t]+(?:([0-9.]+)[ \t]+)?([^ \t]+)([^]*)$/;
const BLANK = /^(?:([^ \t/]+)[ \t]+\/[ \t]*|([^ \t/]+)\/[ \t]+)([^ \t=]+)(?![^ \t]*=)/;

/** What is wrong with a rule, without the rule. */
class Wrong extends Error {}

const wrong = (what: string): never => {
  throw new Wrong(what);
};

const own = <T>(table: Record<string, T>, name: string): T | undefined => (Object.hasOwn(table, name) ? table[name] : undefined);

/** The rules that one or several texts say, each as the text that all that mean it share; a TypeError says what is wrong with one. */
export function rulesIn(texts: unknown, where: string): string[] {
  const found = (Array.isArray(texts) ? texts : [texts]).flatMap((text: unknown) => {
    if (typeof text !== 'string') throw new TypeError(`${where}: a rule is text, as in '10/s burst 50', not ${shown(text)}`);
    return text.split(';').map((each) => canonical(each, where));
  });
  const twice = found.find((each, at) => found.indexOf(each) !== at);
  if (twice !== undefined) throw new TypeError(`${where}: rule '${twice}' is given twice`);
  if (found.length < 1 || found.length > MOST_RULES) throw new TypeError(`${where}: ${found.length} rules; one question has 1 to ${MOST_RULES}`);
  return found;
}

const shown = (value: unknown): string => (value === null ? 'null' : typeof value === 'number' ? String(value) : `another ${typeof value}`);

function canonical(text: string, where: string): string {
  try {
    if (Buffer.byteLength(text) > MOST_BYTES) wrong(`longer than ${MOST_BYTES} bytes`);
    return read(text.replace(/^[ \t]+|[ \t]+$/g, ''));
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    throw new TypeError(`${where}: rule '${text.slice(0, MOST_BYTES)}': ${error.message}`);
  }
}

function read(said: string): string {
  if (!said) wrong(`there is no rule${FORM}`);
  if (said.startsWith('in_flight=')) return slots(said.slice('in_flight='.length));
  const text = said.replace(PER, (_, count: string, number = '', unit: string, rest: string) => `${count}/${number}${unit}${rest}`);
  const blank = BLANK.exec(text);
  if (blank && blank[3] !== 'burst') wrong(`write '${blank[1] ?? blank[2]}/${blank[3]}', without a space`);
  const [rate, ...rest] = text.split(/[ \t]+/) as [string, ...string[]];
  const words = wordsOf(rest);
  const slash = rate.indexOf('/');
  if (slash < 0) wrong(`missing '/' between count and period${FORM}`);
  const [count, period] = [rate.slice(0, slash), rate.slice(slash + 1)];
  if (words.align === 'calendar') return byCalendar(count, period, words);
  if (words.tz !== undefined) wrong('tz= requires align=calendar');
  return byPeriod(count, period, words);
}

function slots(said: string): string {
  const [number = '', more] = said.split(/[ \t]+/);
  if (more) wrong(`unexpected '${more}'; the form is in_flight=N, and a rate is another limit`);
  if (number === '0') wrong(NOTHING);
  if (!/^[1-9][0-9]{0,9}$/.test(number) || Number(number) > MOST_SLOTS) wrong(`in_flight: '${number}' is not an integer from 1 to ${MOST_SLOTS}`);
  return `in_flight=${number}`;
}

type Words = Partial<Record<'burst' | 'algorithm' | 'align' | 'tz', string>>;

/** What stands after the rate. */
function wordsOf(rest: string[]): Words {
  const found: Words = {};
  for (let at = 0; at < rest.length; ++at) {
    const word = rest[at]!;
    const [, name = word, value = ''] = /^(algorithm|align|tz)=([^]*)$/.exec(word) ?? (word === 'burst' ? ['', word, rest[++at]] : []);
    if (name === word && word !== 'burst') wrong(`unexpected '${word}'${FORM}`);
    if (name in found) wrong(`${name} is given twice`);
    if (name === 'algorithm' && !own(ALGORITHMS, value)) wrong(`unknown algorithm '${value}'; known: ${Object.keys(ALGORITHMS).join(', ')}`);
    if (name === 'align' && value !== 'clock' && value !== 'calendar') wrong(`unknown alignment '${word}'; known: align=clock, align=calendar`);
    if (name === 'tz' && !value) wrong('tz= names no zone; write tz=Area/City');
    found[name as keyof Words] = name === 'algorithm' ? ALGORITHMS[value]! : value;
  }
  return found;
}

function byCalendar(count: string, period: string, { algorithm = 'fixed_window', burst, tz = 'UTC' }: Words): string {
  if (algorithm !== 'fixed_window') wrong(`align=calendar requires algorithm=fixed_window; this is ${algorithm}`);
  if (burst !== undefined) wrong('there is no burst with align=calendar; only gcra has one');
  const unit = own(CALENDAR, period) ?? wrong(`'${period}' is not one of hour, day, week, month and year, which align=calendar counts by`);
  const number = wholeNumber(count);
  if (number === 0n) wrong(NOTHING);
  if (number === undefined || refusalOf(number, NOMINAL_S[unit]! * 1_000_000_000n, 1n) !== undefined) return wrong(`'${count}' is not a count that a ${unit} can have`);
  if (number > MOST_OF_A_CALENDAR) wrong(`count: ${number} is above the maximum for calendar (${MOST_OF_A_CALENDAR})`);
  return `${number}/${unit} align=calendar${tz === 'UTC' ? '' : ` tz=${tz}`}`;
}

function byPeriod(count: string, period: string, { algorithm = 'gcra', burst, align }: Words): string {
  const length = periodOf(count, period);
  const number = wholeNumber(count);
  if (number === undefined) return wrong(`the count is not a whole number below 2^63${inWholeNumbers(count, length, burst !== undefined)}`);
  if (number === 0n) wrong(NOTHING);
  const units = burst === undefined ? number : wholeNumber(burst);
  if (units === undefined) return wrong('the burst is not a whole number below 2^63');
  const refusal = refusalOf(number, length, units);
  if (refusal !== undefined) wrong(refusal);
  if (burst !== undefined && algorithm !== 'gcra') wrong(`there is no burst with algorithm=${algorithm}; only gcra has one`);
  if (align !== undefined && algorithm !== 'fixed_window') wrong(`align=clock requires algorithm=fixed_window; this is ${algorithm}`);
  if (algorithm.startsWith('sliding') && number > MOST_OF_A_SLIDING_WINDOW)
    wrong(`count: ${number} is above the maximum for ${algorithm} (${MOST_OF_A_SLIDING_WINDOW})`);
  if (algorithm === 'sliding_window_counter' && length > MOST_PERIOD_OF_A_COUNTER) wrong(`period: it is above the maximum for ${algorithm} (2^62 ns)`);
  return `${number}/${written(length)}${units === number ? '' : ` burst ${units}`}` +
    `${algorithm === 'gcra' ? '' : ` algorithm=${algorithm}`}${align === undefined ? '' : ' align=clock'}`;
}

/** In nanoseconds, rounded up. */
function periodOf(count: string, text: string): bigint {
  if (text === 'm') wrong(`'m' is a minute or a month: write '${count}/min', or '${count}/month align=calendar'`);
  const unit = /month/.test(text) ? 'month' : /year/.test(text) ? 'year' : undefined;
  if (unit) wrong(`months and years differ in length; write ${count}/${unit} align=calendar, with tz=Area/City where it is not UTC, or a period such as 30d`);
  if (/^[0-9.]+$/.test(text)) wrong('the period has no unit, such as the s of 10s');
  const length = durationOf(text);
  if (length === 'none') return wrong('the period is not a time such as s, 10s, 250ms, min, h or 1.5d');
  return length === 'too long' ? wrong('the period is above the maximum (106751d23h47m16.854775807s)') : length;
}
