import type { Socket } from 'node:net';
import { Call, Wait } from './call.js';
import { clearTimeout, now, setImmediate, setTimeout } from './clock.js';
import { Unavailable } from './error.js';
import type { Server } from './hello.js';
import { encode, NotResp, Parser, type Reply } from './resp.js';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * A socket on which calls are answered in their order, but for those that stand in line. What is asked in one turn of the
 * event loop is one write. What has been written is never sent again; what has not is handed back when the connection
 * ends. A program may end while a connection is open on which nobody waits.
 */
export class Connection {
  closed = false;
  server!: Server; // once it has greeted
  /** Fewer may be unanswered now, or wait. */
  onRoom?: () => void;
  readonly #parser = new Parser();
  #waiting: Call[] = []; // to be written
  #sent: Call[] = [];
  #head = 0; // of #sent: the first without a reply
  readonly #waits = new Map<string, Wait>(); // those that stand in line, or may when they are answered
  #pushesDue = Infinity; // none of those in line ends before
  #awaited = 0; // calls whose callers still wait
  #flushing = false;
  #blocked = false;
  #readAt = now();
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;

  /** `ended` is called once, with what was not written. A server that says nothing for `silenceMs` is given up. */
  constructor(
    readonly socket: Socket,
    readonly name: string,
    private readonly silenceMs: number,
    private readonly ended: (unwritten: Call[], error: Unavailable) => void,
  ) {
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('drain', () => {
      this.#blocked = false;
      this.#flush();
    });
    socket.on('error', (error) => this.end(error.message));
    socket.on('close', () => this.end('the connection has closed'));
    socket.on('end', () => this.end('it has closed the connection'));
    socket.unref();
  }

  /** Replies that are still to come, also those that nobody waits for any more. */
  get unanswered(): number {
    return this.#sent.length - this.#head + this.#waiting.length;
  }

  /** How many stand in line, or may when they are answered. */
  get waits(): number {
    return this.#waits.size;
  }

  ask(call: Call): void {
    if (++this.#awaited === 1) this.socket.ref();
    call.onEnd = () => {
      if (--this.#awaited === 0) this.socket.unref();
      if (call instanceof Wait && call.queued && this.#waits.has(call.word)) this.#leave(call);
    };
    if (call instanceof Wait) this.#waits.set(call.word, call);
    this.#waiting.push(call);
    this.#wake(call.deadline);
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  end(reason: string): void {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.#timer);
    this.socket.destroy();
    const error = new Unavailable(`${this.name}: ${reason}`);
    const unwritten = this.#waiting.filter((call) => !call.over);
    const lost = [...this.#sent.slice(this.#head), ...[...this.#waits.values()].filter(({ queued }) => queued)];
    this.#waiting = this.#sent = [];
    this.#waits.clear();
    this.#head = 0;
    this.ended(unwritten, error);
    for (const call of lost) call.fail(error);
  }

  #flush(): void {
    if (this.closed || this.#blocked || !this.#waiting.length) return;
    const calls = this.#waiting;
    this.#waiting = [];
    let text = '';
    const at = now();
    for (const call of calls) {
      if (call.over) {
        this.#forget(call); // given up before it was written
        continue;
      }
      call.writtenAt = at;
      text += call.text;
      this.#sent.push(call);
    }
    if (text) this.#blocked = !this.socket.write(text);
    this.onRoom?.();
  }

  #read(chunk: Buffer): void {
    this.#readAt = now();
    try {
      this.#parser.feed(chunk, (reply, pushed) => (pushed ? this.#push(reply) : this.#take(reply)));
      this.onRoom?.();
    } catch (error) {
      if (!(error instanceof NotResp)) throw error;
      this.end(`it answers what is not RESP: ${error.message}`);
    }
  }

  #take(reply: Reply): void {
    const call = this.#sent[this.#head];
    if (!call) {
      if (!this.closed) this.end(`it answers what nobody asked${typeof reply === 'object' && reply && 'text' in reply ? `: ${reply.text}` : ''}`);
      return;
    }
    if (++this.#head === this.#sent.length) {
      this.#sent = [];
      this.#head = 0;
    } else if (this.#head > 1024) {
      this.#sent = this.#sent.slice(this.#head);
      this.#head = 0;
    }
    if (call instanceof Wait && reply === 'QUEUED') return this.#stand(call);
    this.#forget(call);
    call.answer(reply);
  }

  #forget(call: Call): void {
    if (call instanceof Wait) this.#waits.delete(call.word);
  }

  #stand(wait: Wait): void {
    wait.stands();
    if (wait.over) return this.#leave(wait);
    this.#pushesDue = Math.min(this.#pushesDue, wait.deadline);
    this.#wake(wait.deadline);
  }

  /** Of another kind, or of a word that nobody has, it says nothing to us. */
  #push(said: Reply): void {
    const [kind, word, reply] = Array.isArray(said) ? said : [];
    const wait = kind === 'weir.acquire' ? this.#waits.get(String(word)) : undefined;
    if (!wait?.queued || reply === undefined) return;
    this.#forget(wait);
    wait.answer(reply);
  }

  /** For one that is over; a grant that comes first is told before this is answered. */
  #leave(wait: Wait): void {
    const gone = (): void => this.#forget(wait);
    this.ask(new Call(encode(['WEIR.LEAVE', wait.word]), now() + this.silenceMs, this.silenceMs, gone, gone));
  }

  #wake(at: number): void {
    if (at >= this.#wakesAt) return;
    clearTimeout(this.#timer);
    this.#wakesAt = at;
    // A program that stood still reads first what has arrived in time.
    this.#timer = setTimeout(() => setImmediate(() => this.#expire()), Math.min(Math.max(0, at - now()), LONGEST_TIMER_MS)).unref();
  }

  #expire(): void {
    this.#wakesAt = Infinity;
    if (this.closed) return;
    const at = now();
    const head = this.#sent[this.#head];
    if (head?.over && at - Math.max(this.#readAt, head.writtenAt) >= this.silenceMs) return this.end('it does not answer');
    let next = head?.over ? Math.max(this.#readAt, head.writtenAt) + this.silenceMs : Infinity;
    for (const calls of [this.#sent.slice(this.#head), this.#waiting])
      for (const call of calls) {
        if (!call.over && call.deadline <= at) call.expire(this.name);
        next = Math.min(next, call.over ? Infinity : call.deadline);
      }
    this.#expirePushes(at);
    next = Math.min(next, this.#pushesDue);
    for (const call of this.#waiting) if (call.over) this.#forget(call);
    this.#waiting = this.#waiting.filter((call) => !call.over);
    this.onRoom?.();
    if (this.#sent.length > this.#head || this.#waiting.length || next < Infinity) this.#wake(Math.max(next === Infinity ? at + this.silenceMs : next, at + 1));
  }

  /** Those in line are many, and are looked at only when one of them may be due. */
  #expirePushes(at: number): void {
    if (this.#pushesDue > at) return;
    this.#pushesDue = Infinity;
    for (const wait of this.#waits.values()) {
      if (!wait.queued || wait.over) continue;
      if (wait.deadline <= at) wait.expire(this.name);
      else this.#pushesDue = Math.min(this.#pushesDue, wait.deadline);
    }
  }
}
