/** A TypeError where a rule is plainly none; weir itself reads it. */
export function assertRule(rule: unknown, where: string): asserts rule is string {
  if (typeof rule !== 'string' || rule.length > 128 || !/^\s*(\d+\s*\/\s*\S|in_flight=\d)/.test(rule))
    throw new TypeError(`${where}: ${JSON.stringify(rule) ?? String(rule)} is not a rule; the form is COUNT/PERIOD [burst N] ` +
      `[algorithm=NAME], as in '100/min burst 20', or in_flight=N`);
}
