interface Named {
  rules: string;
  given: boolean;
}

// Of the process, not of a copy of this package: the same name means the same keys in all of them.
const NAMES = Symbol.for('@weir/client names');
const names = ((globalThis as { [NAMES]?: Map<string, Named> })[NAMES] ??= new Map());

/**
 * Takes a name for a limit, which without one is called as its rules are. Two of one name would share their counts
 * without a word, so the second is a TypeError, unless it is the same: a module that has been loaded again. `option` is
 * what a name is given by.
 */
export function claim(what: string, given: string | undefined, rules: string, option = 'name'): string {
  const name = given ?? rules;
  const taken = names.get(`${what} ${name}`);
  if (taken && !(taken.given && given !== undefined && taken.rules === rules))
    throw new TypeError(`${what}: there is a limit of the name '${name}' in this process${taken.rules === rules ? '' : `, of ${taken.rules}`}: ` +
      `give each its own ${option}. A limit is made once, outside of what handles requests`);
  names.set(`${what} ${name}`, { rules, given: given !== undefined });
  return name;
}
