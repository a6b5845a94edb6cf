import type { Context, Middleware } from 'koa';
import { errorOf, Gate, plainPath, userOf, type Facts, type LimitOptions } from './gate.js';

const facts = (ctx: Context): Facts => ({
  ip: ctx.ip,
  attributes: { ip: ctx.ip, method: ctx.method, path: plainPath(ctx.path), user: userOf((ctx.state as { user?: unknown })['user']) },
  once: ctx.req,
  forwarded: ctx.req.headers['x-forwarded-for'],
  trust: 'app.proxy = true, with app.maxIpsCount = 1',
});

/** `app.use(limit())`, after what authenticates your users. */
export function limit(options: LimitOptions<Context> = {}): Middleware {
  const gate = new Gate(options, facts);
  return async (ctx, next) => {
    const verdict = await gate.ask(ctx);
    for (const [name, value] of verdict.fields) ctx.set(name, value);
    if (verdict.status === undefined) return next();
    if (!verdict.decision || !options.onDenied) throw errorOf(verdict);
    ctx.status = verdict.status;
    return options.onDenied(ctx, verdict.decision);
  };
}
