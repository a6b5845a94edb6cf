// An Express application whose requests are limited by weir: npm install express @weir/client
//
// WEIR_URL says where weir is, as in weirs://limits.internal, and WEIR_PASSWORD is its password; without them a weir of
// this machine is started. It goes by limits.yaml: `weir serve --limits limits.yaml`.
import express from 'express';
import { limit } from '@weir/client/express';

/** `client` is one of your own; without it this process has one. */
export function application(client) {
  const app = express();
  app.use((req, _, next) => {
    if (req.get('X-User')) req.user = { id: req.get('X-User') }; // whatever you have; weir counts by req.user.id
    next();
  });
  app.use(limit({ client })); // after what sets req.user
  app.get('/hello', (_, res) => res.type('text').send('hello'));
  app.get('/healthz', (_, res) => res.type('text').send('well'));
  app.post('/login', (_, res) => res.type('text').send('login'));
  return app;
}
