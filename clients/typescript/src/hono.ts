import type { Context, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { errorOf, Gate, textOf, userOf, type Facts, type LimitOptions } from './gate.js';

/** Of @hono/node-server; others tell it elsewhere. */
type OfNode = { incoming?: { socket?: { remoteAddress?: string } } } | undefined;

function facts(c: Context): Facts {
  const incoming = (c.env as OfNode)?.incoming;
  const ip = incoming?.socket?.remoteAddress;
  // app.mount() and bodyLimit() put another in the place of c.req.raw.
  return { ip, attributes: { ip, method: c.req.method, path: c.req.path, user: userOf(c.get('user')) }, once: incoming ?? c.req.raw,
    forwarded: c.req.header('x-forwarded-for'), trust: 'a key that takes it from a header that your proxy writes' };
}

/** `app.use(limit())`, after what authenticates your users. */
export function limit(options: LimitOptions<Context> = {}): MiddlewareHandler {
  const gate = new Gate(options, facts);
  return async (c, next) => {
    const verdict = await gate.ask(c);
    const { status, decision, fields } = verdict;
    for (const [name, value] of fields) c.header(name, value);
    if (status !== undefined && !(decision && options.onDenied)) {
      const res = new Response(`${textOf(status)}\n`, { status, headers: fields });
      throw new HTTPException(status, { res, message: textOf(status), cause: errorOf(verdict) });
    }
    if (status === undefined) return next();
    c.status(status);
    return (await options.onDenied!(c, decision!)) as Response;
  };
}
