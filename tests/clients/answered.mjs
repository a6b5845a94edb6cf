// What an application of any framework answers to a request; the server's fields have to be in it.
import { once } from 'node:events';

export async function answered(app, headers = {}, path = '/') {
  let server;
  if (app.inject) server = (await app.listen({ port: 0, host: '127.0.0.1' }), app.server); // Fastify
  else if (app.getHttpServer) server = (await app.listen(0, '127.0.0.1'), app.getHttpServer()); // Nest
  else {
    const { createAdaptorServer } = await import('@hono/node-server');
    const listener = app.fetch ? createAdaptorServer({ fetch: app.fetch }) : app;
    server = listener.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const answer = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: { ...headers, Connection: 'close' } });
  const body = await answer.text();
  if (app.close) await app.close();
  else server.close();
  if (!answer.headers.has('RateLimit')) throw new Error(`${answer.status}: ${body}`);
  return { body, policy: answer.headers.get('RateLimit-Policy') };
}
