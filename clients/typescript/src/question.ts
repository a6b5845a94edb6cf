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
export type Outside = Asked & { remaining?: number; pauseMs?: number; limit?: string; window?: string };

/** All that any question may say. */
export type Words = Partial<Record<'key' | 'rule' | 'limit' | 'window' | 'class', string>> &
  Partial<Record<'cost' | 'atLeast' | 'maxWaitMs' | 'holdMs' | 'remaining' | 'pauseMs', number>> & {
    rules?: Record<string, string>;
    attributes?: Record<string, Value>;
    costs?: Record<string, number>;
    fields?: boolean;
    bound?: boolean;
    signal?: AbortSignal;
  };

/** Whether it is for the limits file; a TypeError where it is none, or has options that its verb does not take. */
export function isByAttributes(question: Words, verb: string, options: ReadonlySet<string>): boolean {
  if (typeof question !== 'object' || question === null) throw new TypeError(`${verb} takes a question: ${FORM}`);
  for (const name in question)
    if (!options.has(name)) throw new TypeError(`${verb}: unknown option '${name}'; known: ${[...options].join(', ')}`);
  const { key, rule, rules, attributes } = question;
  if (Number(key !== undefined || rule !== undefined) + Number(rules !== undefined) + Number(attributes !== undefined) !== 1)
    throw new TypeError(`${verb}: ask by ${FORM}`);
  if (attributes !== undefined) return true;
  if (question.class !== undefined) throw new TypeError(`${verb}: class is of the limits file, and rules have none`);
  return false;
}

const FORM = '{ key, rule }, by { rules: { key: rule } } or by { attributes }, one of the three';

/** Keys and rules in their order. */
export function rulesOf({ key, rule, rules }: Words, verb: string): string[] {
  const words = rules === undefined ? [key, rule] : Object.entries(rules).flat();
  if (!words.length || !words.every((each) => typeof each === 'string'))
    throw new TypeError(`${verb}: a key and its rule are texts, and there is one at least`);
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
