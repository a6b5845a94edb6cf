import type { FastifyReply, FastifyRequest } from 'fastify';
import { Gate, userOf, type Facts, type LimitOptions } from './gate.js';

const facts = (request: FastifyRequest): Facts => ({
  ip: request.ip,
  // The route's own path, as in /users/:id: a client can write a URL of it in many ways.
  attributes: { ip: request.ip, method: request.method, path: request.routeOptions.url, user: userOf((request as { user?: unknown }).user) },
});

/** `app.addHook('onRequest', limit())`, after what authenticates your users; or `onRequest` of one route. */
export function limit(options: LimitOptions<FastifyRequest> = {}): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  const gate = new Gate(options, facts);
  return async (request, reply) => {
    const { status, body, fields } = await gate.ask(request);
    for (const [name, value] of fields) reply.header(name, value);
    return status === undefined ? undefined : reply.code(status).type('text/plain; charset=utf-8').send(body);
  };
}
