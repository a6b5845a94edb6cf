/** Of this package, of the program that it starts, and of the oldest server that it speaks with, less one. */
export const VERSION = '0.1.0';
