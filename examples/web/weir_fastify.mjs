// A Fastify application whose requests are limited by weir: npm install fastify @weir/client
//
// WEIR_URL says where weir is, as in weirs://limits.internal, and WEIR_PASSWORD is its password; without them a weir of
// this machine is started. It goes by limits.yaml: `weir serve --limits limits.yaml`.
import fastify from 'fastify';
import { limit } from '@weir/client/fastify';

/** `client` is one of your own; without it this process has one. */
export function application(client) {
  const app = fastify();
  app.addHook('onRequest', async (request) => {
    const user = request.headers['x-user']; // whatever you have; weir counts by request.user.id
    if (user) request.user = { id: user };
  });
  app.addHook('onRequest', limit({ client })); // after what sets request.user
  app.get('/hello', async () => 'hello');
  app.get('/healthz', async () => 'well');
  app.post('/login', async () => 'login');
  return app;
}
