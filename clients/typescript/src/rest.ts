// A key beside another that says until when that one rests. It is asked about in the same question, so while it rests
// nothing is charged at either; its unit is a nanosecond, so what passes leaves nothing there.
import type { Decision } from './answer.js';
import type { Client } from './client.js';
import { Refused } from './error.js';
import { keyOf } from './identity.js';

// Its burst is more than any count has left, so that the count's answer is told.
const RULE = '1000000000/1s burst 10000000000';
const BURST_MS = 10_000; // which is spent when a rest is over
const LONGEST_MS = 86_400_000;

/** A key that is counted by a rule, and rests now and then. */
export interface Resting {
  key: string;
  rule: string;
}

const restOf = (key: string): { key: string; rule: string } => ({ key: keyOf(key, 'rest'), rule: RULE });

/** A TypeError where weir keeps no rest of that length. */
export function assertRest(ms: number, where: string): void {
  if (!(ms > 0 && ms <= LONGEST_MS))
    throw new TypeError(`${where}: a key rests for up to a day, and not without end; for longer deny it by WEIR.BAN, of a limit of the limits file`);
}

/** Charges the key unless it rests; `restsMs` is how long it does. The decision is of its rule. */
export async function charge(client: Client, { key, rule }: Resting, cost: number): Promise<{ decision: Decision; restsMs: number }> {
  const rest = restOf(key);
  const decision = await client.check({ rules: { [rest.key]: rest.rule, [key]: rule }, cost });
  if (!decision.decided || decision.by === key) return { decision, restsMs: 0 };
  const { allowed, resetAfterMs } = decision;
  if (!allowed && resetAfterMs <= BURST_MS) {
    await end(client, key); // it is over, and would let one unit after the other through
    return charge(client, { key, rule }, cost);
  }
  // It rests; or a rest that is just over has less left than the count.
  return { decision: { ...(await client.look({ key, rule })), allowed }, restsMs: allowed ? 0 : resetAfterMs - BURST_MS };
}

/** What is left, and how long it rests. */
export async function look(client: Client, { key, rule }: Resting): Promise<{ decision: Decision; restsMs: number }> {
  const [decision, rest] = await Promise.all([client.look({ key, rule }), client.look(restOf(key))]);
  return { decision, restsMs: Math.max(0, rest.resetAfterMs - BURST_MS) };
}

/** It rests from now on for so long, in place of how long it did. */
export async function begin(client: Client, { key }: Resting, ms: number): Promise<void> {
  await Promise.all([end(client, key), client.charge({ ...restOf(key), pauseMs: ms })]);
}

/** Whether it did rest. */
export const end = async (client: Client, key: string): Promise<number> => client.reset({ key: restOf(key).key });

let told = false;

/** A count that lasts longer than a rest is to be forgotten by it; without refunds it is not, and refuses the key until its end. */
export function tellOfRefunds(error: unknown): void {
  if (!(error instanceof Refused)) throw error;
  if (!told) console.warn(`weir: a key that has rested stays refused until its window ends: ${error.message}`);
  told = true;
}
