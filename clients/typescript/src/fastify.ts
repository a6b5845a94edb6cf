import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorOf, Gate, userOf, type Facts, type LimitOptions } from './gate.js';

const facts = (request: FastifyRequest): Facts => ({
  ip: request.ip,
  // The route's own path, as in /users/:id: a client can write a URL of it in many ways.
  attributes: { ip: request.ip, method: request.method, path: request.routeOptions.url, user: userOf((request as { user?: unknown }).user) },
  once: request.raw,
  forwarded: request.headers['x-forwarded-for'],
  trust: "fastify({ trustProxy: '10.0.0.2' }), your proxy's address",
});

/** `app.addHook('onRequest', limit())`, after what authenticates your users; or `onRequest` of one route. */
export function limit(options: LimitOptions<FastifyRequest, [FastifyReply]> = {}): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  const gate = new Gate(options, facts);
  return async (request, reply) => {
    const verdict = await gate.ask(request);
    for (const [name, value] of verdict.fields) reply.header(name, value);
    if (verdict.status === undefined) return undefined;
    if (!verdict.decision || !options.onDenied) throw errorOf(verdict);
    const answer = await options.onDenied(request, verdict.decision, reply.code(verdict.status));
    return reply.sent ? reply : reply.send(answer);
  };
}
