import type { Socket } from 'node:net';
import type { Call } from './call.js';
import { clearTimeout, now, setImmediate, setTimeout } from './clock.js';
import { Unavailable } from './error.js';
import { NotResp, Parser, type Reply } from './resp.js';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * A socket on which calls are answered in their order. What is asked in one turn of the event loop is one write. What
 * has been written is never sent again; what has not is handed back when the connection ends. A program may end while a
 * connection is open on which nobody waits.
 */
export class Connection {
  closed = false;
  readonly #parser = new Parser();
  #waiting: Call[] = []; // to be written
  #sent: Call[] = [];
  #head = 0; // of #sent: the first without a reply
  #awaited = 0; // calls of both whose callers still wait
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

  ask(call: Call): void {
    if (++this.#awaited === 1) this.socket.ref();
    call.onEnd = () => {
      if (--this.#awaited === 0) this.socket.unref();
    };
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
    const lost = this.#sent.slice(this.#head);
    this.#waiting = this.#sent = [];
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
      if (call.over) continue; // given up before it was written
      call.writtenAt = at;
      text += call.text;
      this.#sent.push(call);
    }
    if (text) this.#blocked = !this.socket.write(text);
  }

  #read(chunk: Buffer): void {
    this.#readAt = now();
    try {
      this.#parser.feed(chunk, (reply) => this.#take(reply));
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
    call.answer(reply);
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
    this.#waiting = this.#waiting.filter((call) => !call.over);
    if (this.#sent.length > this.#head || this.#waiting.length) this.#wake(Math.max(next === Infinity ? at + this.silenceMs : next, at + 1));
  }
}
