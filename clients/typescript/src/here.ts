/** This file. The build gives the form for ES modules. A bundle may have none. */
export const here = (): string | undefined => __filename;
