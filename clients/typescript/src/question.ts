export type Value = string | number | boolean | null | undefined;
/** One key and its rule, several, or what the limits file is asked with. */
export type Question = { key: string; rule: string } | { rules: Record<string, string> } | { attributes: Record<string, Value> };
export type Asked = Question & {
  cost?: number;
  costs?: Record<string, number>;
  atLeast?: number;
  class?: string;
  fields?: boolean;
  signal?: AbortSignal;
};
export type Waits = Asked & { maxWaitMs?: number; holdMs?: number; bound?: boolean };
export type Outside = Asked & { remaining?: number; pauseMs?: number; afresh?: boolean; limit?: string; window?: string };

/** What is forgotten: of rules the keys alone count. */
export type Forgotten = { key: string; rule?: string } | { rules: Record<string, string> } | { attributes: Record<string, Value>; limit?: string };

/** All that any question may say. */
export type Words = Partial<Record<'key' | 'rule' | 'limit' | 'window' | 'class', string>> &
  Partial<Record<'cost' | 'atLeast' | 'maxWaitMs' | 'holdMs' | 'remaining' | 'pauseMs', number>> & {
    rules?: Record<string, string>;
    attributes?: Record<string, Value>;
    costs?: Record<string, number>;
    fields?: boolean;
    bound?: boolean;
    afresh?: boolean;
    signal?: AbortSignal;
  };

/** Whether it is for the limits file; a TypeError where it is neither, or has options that its verb does not take. */
export function isByAttributes(question: Words, verb: string, options: ReadonlySet<string>): boolean {
  if (typeof question !== 'object' || question === null) throw new TypeError(`${verb} takes a question: ${FORM}`);
  for (const name in question)
    if (!options.has(name)) throw new TypeError(`${verb}: unknown option '${name}'; known: ${[...options].join(', ')}`);
  const { key, rule, rules, attributes } = question;
  const ways = Number(key !== undefined || rule !== undefined) + Number(rules !== undefined) + Number(attributes !== undefined);
  if (ways === 0) throw new TypeError(`${verb}: nothing to ask about; ask by ${FORM}`);
  if (ways > 1) throw new TypeError(`${verb}: ask by rules or by attributes, not by both: by ${FORM}`);
  if (attributes !== undefined) return true;
  if (question.class !== undefined) throw new TypeError(`${verb}: class is of the limits file, and rules have none`);
  return false;
}

const MOST_KEYS = 16;
const FORM = '{ key, rule }, by { rules: { key: rule } } or by { attributes }, one of the three';

/** Keys and rules in their order. */
export function rulesOf({ key, rule, rules }: Words, verb: string): string[] {
  const words = rules === undefined ? [key, rule] : Object.entries(rules).flat();
  if (!words.every((each) => typeof each === 'string')) throw new TypeError(`${verb}: a key is a text and needs its rule, as in 'user:42' and '10/s'`);
  if (words.length < 2 || words.length > 2 * MOST_KEYS) throw new TypeError(`${verb}: ${words.length / 2} rules; one question has 1 to ${MOST_KEYS}`);
  return words as string[];
}

/** `name=value` each; null and undefined are left out. */
export function attributesOf(attributes: Record<string, Value>, verb: string): string[] {
  const words: string[] = [];
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (typeof value === 'object' || typeof value === 'function' || typeof value === 'symbol')
      throw new TypeError(`${verb}: attribute '${name}' is neither a text, a number nor a boolean`);
    words.push(`${name}=${value}`);
  }
  return words;
}
