interface Fixture {
  url: string | undefined;
}

// Of the process, not of a copy of this package: an application in CommonJS asks the weir of a test that is a module.
const FIXTURE = Symbol.for('@weir/client fixture');

/** The weir of a test, which clients that were given no URL ask for as long as it runs. */
export const fixture: Fixture = ((globalThis as { [FIXTURE]?: Fixture })[FIXTURE] ??= { url: undefined });

/** Of clients that ask it, unless they say otherwise: so that no test passes because a limit was not asked, also where the machine is busy. */
export const OF_A_TEST = { timeoutMs: 5000, onError: 'throw' } as const;
