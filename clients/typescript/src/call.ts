import { Unavailable, type WeirError } from './error.js';
import type { Reply } from './resp.js';

/** One command on its way, which ends once: by its reply, by an error, or because its caller has given up. */
export class Call {
  over = false;
  onEnd?: () => void;
  writtenAt = 0;

  constructor(
    readonly text: string,
    /** When nobody waits for its reply any more. */
    public deadline: number,
    readonly patience: number,
    private readonly answered: (reply: Reply) => void,
    private readonly failed: (error: WeirError) => void,
  ) {}

  answer(reply: Reply): void {
    if (this.end()) this.answered(reply);
  }

  fail(error: WeirError): void {
    if (this.end()) this.failed(error);
  }

  expire(name: string): void {
    this.fail(new Unavailable(`no answer from ${name} within ${Math.round(this.patience)} ms`));
  }

  /** False where it had ended before. */
  end(): boolean {
    if (this.over) return false;
    this.over = true;
    this.onEnd?.();
    return true;
  }
}
