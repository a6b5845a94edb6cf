import type { Context, MiddlewareHandler } from 'hono';
import { Gate, userOf, type Facts, type LimitOptions } from './gate.js';

/** Of @hono/node-server; others tell it elsewhere. */
type Incoming = { incoming?: { socket?: { remoteAddress?: string } } } | undefined;

function facts(c: Context): Facts {
  const ip = (c.env as Incoming)?.incoming?.socket?.remoteAddress;
  return { ip, attributes: { ip, method: c.req.method, path: c.req.path, user: userOf(c.get('user')) } };
}

/** `app.use(limit())`, after what authenticates your users. */
export function limit(options: LimitOptions<Context> = {}): MiddlewareHandler {
  const gate = new Gate(options, facts);
  return async (c, next) => {
    const { status, body, fields } = await gate.ask(c);
    for (const [name, value] of fields) c.header(name, value);
    return status === undefined ? next() : c.text(body, status);
  };
}
