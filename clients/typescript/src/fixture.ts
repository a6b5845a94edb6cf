/** The weir of a test, which clients that were given no URL ask for as long as it runs. */
export const fixture: { url: string | undefined } = { url: undefined };
