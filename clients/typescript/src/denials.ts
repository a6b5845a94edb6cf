import type { Decision } from './answer.js';
import { now } from './clock.js';

const LONGEST_MS = 10_000;
const MOST = 10_000;

/** Denials, each until the same words may pass. */
export class Denials {
  readonly #until = new Map<string, { decision: Decision; at: number; end: number }>();

  /** What is left of the denial of these words. */
  find(text: string): Decision | undefined {
    const denial = this.#until.get(text);
    if (!denial) return undefined;
    const passed = now() - denial.at;
    if (now() >= denial.end) {
      this.#until.delete(text);
      return undefined;
    }
    const { decision } = denial;
    const retryAfterMs = Math.ceil(decision.retryAfterMs! - passed);
    const fields = decision.fields.map(([name, value]): [string, string] =>
      [name, name.toLowerCase() === 'retry-after' ? String(Math.max(1, Math.ceil(retryAfterMs / 1000))) : value]);
    return { ...decision, retryAfterMs, resetAfterMs: Math.max(0, Math.ceil(decision.resetAfterMs - passed)), fields };
  }

  /** The decision, which is kept if it is a denial; the oldest is forgotten where there are too many. */
  keep(text: string, decision: Decision): Decision {
    if (decision.allowed || !decision.retryAfterMs) return decision;
    this.#until.delete(text);
    if (this.#until.size >= MOST) this.#until.delete(this.#until.keys().next().value!);
    this.#until.set(text, { decision, at: now(), end: now() + Math.min(decision.retryAfterMs, LONGEST_MS) });
    return decision;
  }

  forget(): void {
    this.#until.clear();
  }
}
