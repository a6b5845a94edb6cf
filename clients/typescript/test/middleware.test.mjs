// limit() in the frameworks that it is for.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { serve } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { connect } from '../dist/esm/index.js';
import { limit as limitExpress } from '../dist/esm/express.js';
import { limit as limitFastify } from '../dist/esm/fastify.js';
import { limit as limitHono } from '../dist/esm/hono.js';
import { limit as limitKoa } from '../dist/esm/koa.js';
import { startWeir } from '../dist/esm/testing.js';
import { deadPort, Weir } from './support.mjs';

const LIMITS = `version: 1
attributes: [ip, method, path, user]
limits:
  user: { by: [user], rate: 2/h }
  needed: { by: [user], rate: 1000/h, required: true }
routes:
  - { when: { path: /hello }, limits: [user] }
  - { when: { path: /needs }, limits: [needed] }
  - { limits: [] }
`;

const listens = async (server) => {
  if (!server.listening) await once(server, 'listening');
  return { port: server.address().port, close: () => server.close() };
};

const FRAMEWORKS = {
  async express(options) {
    const app = express();
    app.use((req, _, next) => {
      if (req.get('x-user')) req.user = { id: req.get('x-user') };
      next();
    });
    app.use(limitExpress(options));
    app.use((_, res) => res.send('hello'));
    app.use((error, _req, res, _next) => res.status(500).send(error.message));
    return listens(app.listen(0, '127.0.0.1'));
  },
  async fastify(options) {
    const app = fastify();
    app.addHook('onRequest', async (request) => {
      if (request.headers['x-user']) request.user = { id: request.headers['x-user'] };
    });
    app.addHook('onRequest', limitFastify(options));
    for (const path of ['/hello', '/needs', '/other']) app.get(path, async () => 'hello');
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { port: app.server.address().port, close: () => app.close() };
  },
  async koa(options) {
    const app = new Koa();
    app.silent = true;
    app.use((ctx, next) => {
      if (ctx.get('x-user')) ctx.state.user = { id: ctx.get('x-user') };
      return next();
    });
    app.use(limitKoa(options));
    app.use((ctx) => (ctx.body = 'hello'));
    return listens(app.listen(0, '127.0.0.1'));
  },
  async hono(options) {
    const app = new Hono();
    app.use(async (c, next) => {
      if (c.req.header('x-user')) c.set('user', { id: c.req.header('x-user') });
      await next();
    });
    app.use(limitHono(options));
    app.get('*', (c) => c.text('hello'));
    return listens(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }));
  },
};

let weir, client, dead;
before(async () => {
  weir = await startWeir({ limits: LIMITS });
  client = weir.connect({ timeoutMs: 10_000 });
  dead = await deadPort();
});
after(() => weir.close());

for (const [name, start] of Object.entries(FRAMEWORKS))
  describe(name, () => {
    const asking = async (options, requests) => {
      const app = await start(options);
      const answers = [];
      for (const [path, user] of requests) {
        const answer = await fetch(`http://127.0.0.1:${app.port}${path}`, { headers: user ? { 'x-user': user } : {} });
        answers.push({ status: answer.status, headers: answer.headers, text: await answer.text() });
      }
      app.close();
      return answers;
    };
    const statuses = async (...args) => (await asking(...args)).map(({ status }) => status);

    test('by a rule: the fields when it is allowed, 429 with Retry-After when it is not', async () => {
      const [first, , third] = await asking({ client, rule: '2/h', key: `${name}:one` }, [['/'], ['/'], ['/']].map(() => ['/hello']));
      assert.deepEqual([first.status, first.text], [200, 'hello']);
      assert.match(first.headers.get('ratelimit'), /r=1;t=/);
      assert.deepEqual([third.status, third.text], [429, 'Too many requests\n']);
      assert.equal(third.headers.get('retry-after'), '1800');
      assert.match(third.headers.get('ratelimit'), /r=0;t=1800/);
      assert.match(third.headers.get('content-type'), /^text\/plain/);
    });

    test('a counter for each key, and without one for each address', async () => {
      const key = (it) => `${name}:${it.get?.('x-user') ?? it.headers?.['x-user'] ?? it.req.header('x-user')}`;
      assert.deepEqual(await statuses({ client, rule: '1/h', key }, [['/hello', 'a'], ['/hello', 'b'], ['/hello', 'a']]), [200, 200, 429]);
      const requests = [['/hello', 'a'], ['/hello', 'b']];
      assert.deepEqual(await statuses({ client, rule: `1/h burst ${100 + name.length}`, }, requests), [200, 200]);
    });

    test('by the limits file, and a request that lacks what is required is 400', async () => {
      const user = `${name}-ann`;
      assert.deepEqual(await statuses({ client }, [['/hello', user], ['/hello', user], ['/hello', user], ['/other', user], ['/needs']]),
        [200, 200, 429, 200, 400]);
      const attributes = () => ({ path: '/hello', user: `${name}-bob` });
      assert.deepEqual(await statuses({ client, attributes }, [['/other'], ['/other'], ['/other']]), [200, 200, 429]);
    });

    test('without weir: as the client says, or as is said here', async () => {
      for (const [clients, here, status] of [['allow', undefined, 200], ['deny', undefined, 503], ['throw', undefined, 500], ['throw', 'allow', 200],
        ['allow', 'deny', 503], ['allow', () => false, 503], ['deny', () => true, 200], ['allow', 'throw', 500]]) {
        const away = connect(`weir://127.0.0.1:${dead}`, { onError: clients, log: () => {}, timeoutMs: 100 });
        const [answer] = await asking({ client: away, onError: here }, [['/hello']]);
        assert.equal(answer.status, status, `${clients}, ${here}`);
        if (status === 503) assert.equal(answer.headers.get('retry-after'), '1');
        await away.close();
      }
    });

    test('a wrong password is 503, whatever onError says, and logged once a minute', async (t) => {
      const logged = t.mock.method(console, 'error', () => {});
      const guarded = await Weir.start({ flags: ['--password', 'right'] });
      const wrong = connect(guarded.url, { password: 'wrong', log: () => {} });
      assert.deepEqual(await statuses({ client: wrong, onError: 'allow' }, [['/hello'], ['/hello']]), [503, 503]);
      assert.equal(logged.mock.callCount(), 1);
      assert.match(logged.mock.calls[0].arguments[0], /password/);
      await wrong.close();
      await guarded.stop();
    });

    test('an option that is unknown or cannot be meant', async () => {
      for (const options of [{ rule: 'x' }, { rules: '1/s' }, { key: 'x' }, { rule: '1/s', attributes: () => ({}) }]) {
        const failed = await start(options).then((app) => app.close(), (error) => error);
        assert.ok(failed instanceof TypeError, JSON.stringify(options));
      }
    });
  });
