// A key that is blocked: weir pauses it, and at the end it is as if never used.
import type { Client } from './client.js';
import { Refused } from './error.js';

const LONGEST_MS = 86_400_000;

/** A TypeError where weir blocks no key for that long. */
export function assertBlock(ms: number, where: string): void {
  if (!(ms > 0 && ms <= LONGEST_MS))
    throw new TypeError(`${where}: a key is blocked for up to a day, and not without end; for longer deny it by WEIR.BAN, of a limit of the limits file`);
}

let told = false;

/** From now on, unless it is for longer already. False, and told once, where the server takes no pause that forgets. */
export async function block(client: Client, { key, rule }: { key: string; rule: string }, ms: number): Promise<boolean> {
  try {
    await client.charge({ key, rule, pauseMs: ms, afresh: true });
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (!told) console.warn(`weir: a key that is to be blocked is refused until its window ends, and no longer: ${error.message}`);
    told = true;
    return false;
  }
}
