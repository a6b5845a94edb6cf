import type { Charged } from './answer.js';
import type { Client } from './client.js';
import { Refused } from './error.js';
import { heard, type Headers, type Said } from './heard.js';
import type { Asked, Outside, Words } from './question.js';

/** An answer of fetch, axios, undici or node:http. */
export interface Answered {
  status?: number | undefined;
  statusCode?: number | undefined;
  headers: Iterable<[string, unknown]> | object;
}

export interface Told {
  /**
   * Which of the vendor's limits are taken over, and what each is here: one of the keys, a limit of the limits file, or null,
   * the question as it is. `{ requests: null }` unless it is said.
   */
  limits?: Record<string, string | null>;
  /** Looked at for what is said there alone, by Shopify's GraphQL and GitHub's secondary limits. */
  body?: string | Uint8Array;
}

/**
 * Charges what a vendor's answer says: what remains there, and how long to stay away. `question` is what the call was asked
 * by; what it cost says nothing here. Headers that the table of vendors does not have are left alone.
 */
export async function told(client: Client, response: Answered, question: Asked, { limits = { requests: null }, body = '' }: Told = {}): Promise<Charged[]> {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const said = heard(response.status ?? response.statusCode ?? 0, headersOf(response.headers), text, Date.now());
  const asks = Object.entries(limits).flatMap(([name, ours]) => {
    const about = narrowed(question, ours);
    return outsideOf(said, name).map((outside) => ({ ...about, ...outside }));
  });
  const charged: Charged[] = [];
  for (const each of asks) charged.push(await asFarAsItGoes(client, each));
  return charged;
}

function headersOf(headers: Answered['headers']): Headers {
  const found = new Map<string, string>();
  for (const [name, value] of Symbol.iterator in headers ? headers : Object.entries(headers)) {
    if (value === undefined || value === null) continue;
    const [key, said] = [name.toLowerCase(), Array.isArray(value) ? value.join(', ') : String(value)];
    found.set(key, found.has(key) ? `${found.get(key)}, ${said}` : said);
  }
  return found;
}

/** The question about one of its limits. */
function narrowed({ key, rule, rules, attributes, signal }: Words, ours: string | null): Outside {
  const given = signal && { signal };
  if (attributes) return { attributes, ...given, ...(ours !== null && { limit: ours }) };
  const all = rules ?? { [key!]: rule! };
  if (ours === null) return { rules: all, ...given };
  if (!Object.hasOwn(all, ours)) throw new TypeError(`told: limits: '${ours}' is not one of the keys, ${Object.keys(all).map((each) => `'${each}'`).join(', ')}`);
  return { key: ours, rule: all[ours]!, ...given };
}

function outsideOf(said: Said[], name: string): Pick<Words, 'remaining' | 'pauseMs'>[] {
  const mine = said.filter(({ limit }) => limit === '' || limit === name);
  const pauseMs = Math.max(0, ...mine.map((each) => each.pauseMs));
  return [...mine.flatMap(({ remaining }) => (remaining === undefined ? [] : [{ remaining }])), ...(pauseMs ? [{ pauseMs }] : [])];
}

/** A window cannot be paused: nothing remains of it. */
async function asFarAsItGoes(client: Client, { pauseMs, ...question }: Outside): Promise<Charged> {
  if (pauseMs === undefined) return client.charge(question);
  try {
    return await client.charge({ ...question, pauseMs });
  } catch (error) {
    if (!(error instanceof Refused) || !error.message.includes('cannot be paused')) throw error;
    return client.charge({ ...question, remaining: 0 });
  }
}
