import type { Client, InSlot } from './client.js';
import { clearTimeout, setTimeout } from './clock.js';
import { asyncDispose } from './dispose.js';
import type { Granted, Reservation } from './reservation.js';

const OPTIONS = ['maxWaitMs', 'holdMs', 'attributes', 'signal'];

/** Of whom a slot is had. */
export interface Landlord {
  client: Client;
  /** As the client's, but it throws where weir does not answer. */
  extend: (id: string, ms: number) => Promise<number>;
  held: Set<Reservation>;
  log: (line: string) => void;
}

/** A dead worker's slot is free after `holdMs` at most, since a living one extends its hold at each third of it. */
export async function inSlot<T>({ client, extend, held, log }: Landlord, api: string, question: InSlot,
  body: (reservation: Granted) => Promise<T>): Promise<T> {
  for (const name in question)
    if (!OPTIONS.includes(name)) throw new TypeError(`slot: unknown option '${name}'; known: ${OPTIONS.join(', ')}`);
  const { maxWaitMs, holdMs = 30_000, attributes, signal } = question;
  const reservation = await client.acquire({ attributes: { ...attributes, api }, ...(maxWaitMs !== undefined && { maxWaitMs }), ...(signal && { signal }) });
  held.add(reservation);
  const { id } = reservation;
  const kept = id === null ? undefined : keep(() => extend(id, holdMs), holdMs, (line) => log(`weir: ${api}: ${line}`));
  try {
    return await body(reservation);
  } finally {
    kept?.end();
    held.delete(reservation);
    await reservation[asyncDispose]();
  }
}

/** Extends the hold until it is ended. */
function keep(extension: () => Promise<number>, holdMs: number, log: (line: string) => void): { end: () => void } {
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  const extend = async (): Promise<void> => {
    if (ended) return;
    const has = await extension().catch((error: Error) => (log(error.message), holdMs));
    if (has === 0) log('the slot is no longer held; the call goes on');
    else if (!ended) timer = setTimeout(() => void extend(), Math.max(1, has / 3)).unref();
  };
  void extend();
  return {
    end: () => {
      ended = true;
      clearTimeout(timer);
    },
  };
}
