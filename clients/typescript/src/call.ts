import { now } from './clock.js';
import { Unavailable, type WeirError } from './error.js';
import type { Reply } from './resp.js';

/** One command on its way, which ends once: by its reply, by an error, or because its caller has given up. */
export class Call {
  over = false;
  onEnd?: () => void;
  /** What is done with an answer for which nobody waits any more. */
  late?: (reply: Reply) => void;
  writtenAt = 0;

  constructor(
    public text: string,
    /** When nobody waits for its reply any more. */
    public deadline: number,
    public patience: number,
    private readonly answered: (reply: Reply) => void,
    private readonly failed: (error: WeirError) => void,
  ) {}

  answer(reply: Reply): void {
    if (this.end()) this.answered(reply);
    else this.late?.(reply);
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

/** One that may stand in line on a connection that others share: then its answer is a push that names its word. */
export class Wait extends Call {
  queued = false;

  constructor(readonly word: string, private readonly waitMs: number, ...call: ConstructorParameters<typeof Call>) {
    super(...call);
  }

  /** It stands in line: from now on its answer may take as long as it may wait. */
  stands(): void {
    this.queued = true;
    this.text = ''; // nothing is sent again
    this.patience += this.waitMs;
    this.deadline = now() + this.patience;
  }
}
