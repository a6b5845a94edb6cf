import { execFile } from 'node:child_process';
import type { Address } from './dialer.js';
import { Refused, Unavailable } from './error.js';

const START_MS = 20_000;

/** The server of this machine that all share who go by the same limits file; the program starts it where there is none. */
export function joinLocal(program: string, limits: string | undefined): Promise<Address[]> {
  const words = ['local', ...(limits === undefined ? [] : ['--limits', limits])];
  return new Promise((resolve, reject) =>
    execFile(program, words, { timeout: START_MS }, (error, stdout, stderr) => {
      const path = stdout.trim();
      if (!error && path) return resolve([{ path }]);
      if (typeof error?.code === 'number') return reject(new Refused(stderr.trim() || `weir local ended with exit code ${error.code}`));
      reject(new Unavailable(`weir local did not start: ${error?.message ?? 'it names no socket'}`));
    }));
}
