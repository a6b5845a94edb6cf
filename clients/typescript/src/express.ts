import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { errorOf, Gate, plainPath, textOf, userOf, type Facts, type LimitOptions, type Verdict } from './gate.js';

export interface ExpressLimitOptions extends LimitOptions<Request, [Response]> {
  /** What is denied goes to the application's error handlers, with `status`, and with `decision` where that is 429. */
  next?: boolean;
}

const facts = (req: Request): Facts => ({
  ip: req.ip,
  attributes: { ip: req.ip, method: req.method, path: plainPath(req.baseUrl + req.path), user: userOf((req as { user?: unknown }).user) },
  once: req,
  forwarded: req.headers['x-forwarded-for'],
  trust: "app.set('trust proxy', 1)",
});

/** `app.use(limit())`, after what authenticates your users; or for one route. */
export function limit({ next: passOn = false, ...options }: ExpressLimitOptions = {}): RequestHandler {
  if (typeof passOn !== 'boolean') throw new TypeError('limit: next is true or false');
  const gate = new Gate(options, facts);
  return (req, res, next) => {
    gate.ask(req).then(async (verdict) => {
      const { status, decision, fields } = verdict;
      for (const [name, value] of fields) res.setHeader(name, value);
      if (status === undefined) next();
      else if (decision && options.onDenied) await options.onDenied(req, decision, res.status(status));
      else deny(verdict, req, res, passOn && next);
    }).catch(next);
  };
}

function deny(verdict: Verdict, req: Request, res: Response, next: NextFunction | false): void {
  if (next) return next(errorOf(verdict));
  const text = textOf(verdict.status!);
  res.status(verdict.status!);
  if (req.accepts(['text', 'json']) === 'json') res.json({ error: text });
  else res.type('text').send(`${text}\n`);
}
