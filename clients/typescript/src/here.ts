/** This file. The build gives the form for ES modules. */
export const here = __filename;
