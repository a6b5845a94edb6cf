// As they are when this module is loaded: a test's fake timers are to stop no connection.
const { performance, setTimeout, clearTimeout, setImmediate } = globalThis;

/** Milliseconds of a clock that nobody sets. */
export const now = (): number => performance.now();
export { clearTimeout, setImmediate, setTimeout };
