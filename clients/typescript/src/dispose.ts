/** Symbol.asyncDispose, which Node has from 18.18 and 20.4 on. */
export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose');
if (!Symbol.asyncDispose) Object.defineProperty(Symbol, 'asyncDispose', { value: asyncDispose });
