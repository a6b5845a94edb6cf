/** The first line of an error reply. */
export class ErrorReply {
  constructor(readonly text: string) {}
}

export type Reply = number | string | null | ErrorReply | Reply[];

/** One command as RESP. */
export function encode(words: readonly string[]): string {
  let text = `*${words.length}\r\n`;
  for (const word of words) text += `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
  return text;
}

const MOST_BYTES = 1 << 20; // of one reply; the longest that a client asks for has some hundred
const DEEPEST = 4;
const INCOMPLETE = Symbol('incomplete');
const CR = 13, LF = 10, MINUS = 45, COLON = 58, PLUS = 43, DOLLAR = 36, STAR = 42, PERCENT = 37, GREATER = 62, UNDERSCORE = 95, EQUALS = 61;
const FORMAT = 'txt:'.length; // of a verbatim text

/** What came is neither RESP2 nor what weir says by RESP3. */
export class NotResp extends Error {}

/** Bytes to replies, however they are cut. A map is an array of names and values. */
export class Parser {
  #rest: Buffer | null = null;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  /** Calls `take` with each reply that is whole, and with what the server says unasked: that is `pushed`. Throws NotResp. */
  feed(chunk: Buffer, take: (reply: Reply, pushed: boolean) => void): void {
    this.#bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    this.#rest = null;
    this.#at = 0;
    while (this.#at < this.#bytes.length) {
      const begin = this.#at;
      const reply = this.#value(0);
      if (reply === INCOMPLETE) {
        if (this.#bytes.length - begin > MOST_BYTES) throw new NotResp(`a reply of more than ${MOST_BYTES} bytes`);
        this.#rest = this.#bytes.subarray(begin);
        return;
      }
      take(reply, this.#bytes[begin] === GREATER);
    }
  }

  #value(depth: number): Reply | typeof INCOMPLETE {
    if (this.#at >= this.#bytes.length) return INCOMPLETE;
    const kind = this.#bytes[this.#at++]!;
    switch (kind) {
      case COLON:
        return this.#integer();
      case DOLLAR:
        return this.#bulk();
      case STAR:
        return this.#array(depth, 1);
      case PERCENT:
        return this.#array(depth, 2);
      case GREATER:
        if (depth > 0) throw new NotResp('a push within a reply');
        return this.#array(depth, 1);
      case UNDERSCORE: {
        const text = this.#line();
        return text === INCOMPLETE ? text : null;
      }
      case EQUALS: {
        const text = this.#bulk();
        return typeof text === 'string' ? text.slice(FORMAT) : text;
      }
      case PLUS:
        return this.#line();
      case MINUS: {
        const text = this.#line();
        return text === INCOMPLETE ? text : new ErrorReply(text);
      }
      default:
        throw new NotResp(`a reply begins with byte ${kind}`);
    }
  }

  #line(): string | typeof INCOMPLETE {
    const end = this.#bytes.indexOf(CR, this.#at);
    if (end < 0 || end + 1 >= this.#bytes.length) return INCOMPLETE;
    if (this.#bytes[end + 1] !== LF) throw new NotResp('a line ends without LF');
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 2;
    return text;
  }

  /** Above 2^53 - 1 it is 2^53 - 1, and likewise below 0. */
  #integer(): number | typeof INCOMPLETE {
    const bytes = this.#bytes;
    const negative = bytes[this.#at] === MINUS;
    let at = negative ? this.#at + 1 : this.#at;
    const first = at;
    let value = 0;
    for (; at < bytes.length && bytes[at] !== CR; ++at) {
      const digit = bytes[at]! - 48;
      if (digit < 0 || digit > 9) throw new NotResp('an integer has other bytes than digits');
      if (at - first > 20) throw new NotResp('an integer is too long');
      value = value * 10 + digit;
    }
    if (at + 1 >= bytes.length) return INCOMPLETE;
    if (at === first || bytes[at + 1] !== LF) throw new NotResp('an integer has no digits or no LF');
    this.#at = at + 2;
    const most = Math.min(value, Number.MAX_SAFE_INTEGER);
    return negative && most ? -most : most;
  }

  #bulk(): string | null | typeof INCOMPLETE {
    const length = this.#integer();
    if (length === INCOMPLETE) return length;
    if (length === -1) return null;
    if (length < 0 || length > MOST_BYTES) throw new NotResp(`a bulk of ${length} bytes`);
    const end = this.#at + length;
    if (end + 2 > this.#bytes.length) return INCOMPLETE;
    if (this.#bytes[end] !== CR || this.#bytes[end + 1] !== LF) throw new NotResp('a bulk is longer than it says');
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 2;
    return text;
  }

  #array(depth: number, each: number): Reply[] | null | typeof INCOMPLETE {
    const length = this.#integer();
    if (length === INCOMPLETE) return length;
    if (length === -1) return null;
    if (length < 0 || length > MOST_BYTES || depth === DEEPEST) throw new NotResp(`an array of ${length}, ${depth} deep`);
    const values: Reply[] = [];
    while (values.length < length * each) {
      const value = this.#value(depth + 1);
      if (value === INCOMPLETE) return value;
      values.push(value);
    }
    return values;
  }
}
