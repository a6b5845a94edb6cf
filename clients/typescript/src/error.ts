import type { Decision } from './answer.js';

export type Code = 'UNAVAILABLE' | 'REFUSED' | 'UNAUTHORIZED' | 'DENIED';

/** What went wrong between this program and weir; `code` tells the kinds apart, also over copies of this package. */
export class WeirError extends Error {
  constructor(readonly code: Code, message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** Nobody decided: no answer in time, a connection that broke or was refused, too many calls under way. */
export class Unavailable extends WeirError {
  constructor(message: string) {
    super('UNAVAILABLE', message);
  }
}

/** weir does not take the question, or the server is not one that this client speaks with. */
export class Refused extends WeirError {
  constructor(message: string) {
    super('REFUSED', message);
  }
}

/** The password, the user or the certificate is wrong: for somebody to mend, whatever `onError` says. */
export class Unauthorized extends WeirError {
  constructor(message: string) {
    super('UNAUTHORIZED', message);
  }
}

/** An acquire or a reserve that cannot have its moment in time. */
export class Denied extends WeirError {
  constructor(readonly decision: Decision) {
    super('DENIED', saying(decision));
  }
}

function saying({ by, retryAfterMs, decided, never }: Decision): string {
  if (!decided) return 'denied, since weir does not answer';
  return `denied by ${by}; ${never ? 'waiting does not help' : `retry after ${retryAfterMs ?? 0} ms`}`;
}

/** The error of a reply that begins with "-", by its first word. */
export function errorOfReply(text: string): WeirError {
  const [first] = text.split(' ', 1);
  if (first === 'NOAUTH' || first === 'WRONGPASS' || first === 'NOPERM' || text.startsWith('ERR too many wrong passwords'))
    return new Unauthorized(text);
  if (first === 'UNBLOCKED' || text.startsWith('ERR max number of clients') || text === 'ERR the server is shutting down')
    return new Unavailable(text);
  return new Refused(text.replace(/^ERR /, ''));
}
