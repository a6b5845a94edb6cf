import type { Request, RequestHandler } from 'express';
import { Gate, plainPath, userOf, type Facts, type LimitOptions } from './gate.js';

const facts = (req: Request): Facts => ({
  ip: req.ip,
  attributes: { ip: req.ip, method: req.method, path: plainPath(req.baseUrl + req.path), user: userOf((req as { user?: unknown }).user) },
});

/** `app.use(limit())`, after what authenticates your users; or for one route. */
export function limit(options: LimitOptions<Request> = {}): RequestHandler {
  const gate = new Gate(options, facts);
  return (req, res, next) => {
    gate.ask(req).then(({ status, body, fields }) => {
      for (const [name, value] of fields) res.setHeader(name, value);
      if (status === undefined) next();
      else res.status(status).type('text').send(body);
    }).catch(next);
  };
}
