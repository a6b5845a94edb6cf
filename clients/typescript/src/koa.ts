import type { Context, Middleware } from 'koa';
import { Gate, plainPath, userOf, type Facts, type LimitOptions } from './gate.js';

const facts = (ctx: Context): Facts => ({
  ip: ctx.ip,
  attributes: { ip: ctx.ip, method: ctx.method, path: plainPath(ctx.path), user: userOf((ctx.state as { user?: unknown })['user']) },
});

/** `app.use(limit())`, after what authenticates your users. */
export function limit(options: LimitOptions<Context> = {}): Middleware {
  const gate = new Gate(options, facts);
  return async (ctx, next) => {
    const { status, body, fields } = await gate.ask(ctx);
    for (const [name, value] of fields) ctx.set(name, value);
    if (status === undefined) return next();
    ctx.status = status;
    ctx.type = 'text';
    ctx.body = body;
  };
}
