// An application in each framework that limit() is for, which says hello: start(limits for all of it, its routes). A route is
// { path, limits }, and may be `under` a router that is mounted, with a parameter as in /tenants/{tenant}.
import { once } from 'node:events';
import { serve } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import 'reflect-metadata';
import { All, Controller, HttpCode, HttpException, Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { limit as limitExpress } from '../dist/esm/express.js';
import { limit as limitFastify } from '../dist/esm/fastify.js';
import { limit as limitHono } from '../dist/esm/hono.js';
import { limit as limitKoa } from '../dist/esm/koa.js';
import { limit as limitNest } from '../dist/esm/nestjs.js';

const HELLO = ['/hello', '/needs', '/other', '/login'].map((path) => ({ path }));
const withColon = (under) => under.replace(/\{(\w+)\}/, ':$1');
const matches = ({ under = '', path }, url) => new RegExp(`^${(under + path).replace(/\{\w+\}/, '[^/]+')}$`).test(url);

let classes = 0;

const listens = async (server, close = () => server.close()) => {
  if (!server.listening) await once(server, 'listening');
  return { port: server.address().port, close };
};

/**
 * `header(request, name)` of what its limits are told, and `answer(status, text, ...)` in place of a denial, with what onDenied is
 * given; `failed` is told of what its own error handler gets.
 */
export const FRAMEWORKS = {
  express: {
    limit: limitExpress,
    header: (req, name) => req.get(name),
    answer: (status, text, _req, _decision, res) => res.status(status).send(text),
    async start({ all = [], routes = HELLO, failed, on = [0, '127.0.0.1'] }) {
      const app = express();
      app.use((req, _, next) => {
        if (req.get('x-user')) req.user = { id: req.get('x-user') };
        next();
      });
      for (const each of all) app.use(each);
      for (const { under, path, limits = [] } of routes) {
        const router = under ? express.Router() : app;
        if (limits.length) router.all(path, ...limits);
        if (under) app.use(withColon(under), router);
      }
      app.use((_, res) => res.send('hello'));
      app.use((error, _req, res, _next) => res.status(error.status ?? 500).send(failed ? failed(error) : error.message));
      return listens(app.listen(...on));
    },
  },
  fastify: {
    limit: limitFastify,
    header: (request, name) => request.headers[name.toLowerCase()],
    answer: (status, text, _request, _decision, reply) => (reply.code(status), text),
    async start({ all = [], routes = HELLO, failed, on = [0, '127.0.0.1'] }) {
      const app = fastify();
      app.addHook('onRequest', async (request) => {
        if (request.headers['x-user']) request.user = { id: request.headers['x-user'] };
      });
      for (const each of all) app.addHook('onRequest', each);
      for (const { under = '', path, limits = [] } of routes)
        app.register(async (scope) => scope.route({ method: ['GET', 'POST'], url: path, onRequest: limits, handler: async () => 'hello' }), { prefix: withColon(under) });
      if (failed) app.setErrorHandler((error, _, reply) => reply.code(error.statusCode ?? 500).send(failed(error)));
      await app.listen(typeof on[0] === 'string' ? { path: on[0] } : { port: on[0], host: on[1] });
      return { port: app.server.address().port, close: () => app.close() };
    },
  },
  koa: {
    limit: limitKoa,
    header: (ctx, name) => ctx.get(name),
    answer: (status, text, ctx) => Object.assign(ctx, { status, body: text }),
    async start({ all = [], routes = HELLO, failed, on = [0, '127.0.0.1'] }) {
      const app = new Koa();
      app.silent = true;
      if (failed)
        app.use((ctx, next) => next().catch((error) => {
          ctx.status = error.status ?? 500;
          ctx.body = failed(error);
        }));
      app.use((ctx, next) => {
        if (ctx.get('x-user')) ctx.state.user = { id: ctx.get('x-user') };
        return next();
      });
      for (const each of all) app.use(each);
      for (const route of routes) for (const each of route.limits ?? []) app.use((ctx, next) => (matches(route, ctx.path) ? each(ctx, next) : next()));
      app.use((ctx) => (ctx.body = 'hello'));
      return listens(app.listen(...on));
    },
  },
  hono: {
    limit: limitHono,
    header: (c, name) => c.req.header(name),
    answer: (status, text, c) => c.text(text, status),
    async start({ all = [], routes = HELLO, failed, on = [0, '127.0.0.1'] }) {
      const app = new Hono();
      if (failed) app.onError((error, c) => c.text(failed(error.cause ?? error), error.status ?? 500));
      app.use(async (c, next) => {
        if (c.req.header('x-user')) c.set('user', { id: c.req.header('x-user') });
        await next();
      });
      for (const each of all) app.use(each);
      for (const { under = '', path, limits = [] } of routes) {
        const router = new Hono();
        for (const each of limits) router.use(path, each);
        app.route(withColon(under), router);
      }
      app.all('*', (c) => c.text('hello'));
      if (typeof on[0] === 'number') return listens(serve({ fetch: app.fetch, port: on[0], hostname: on[1] }));
      const { createAdaptorServer } = await import('@hono/node-server');
      return listens(createAdaptorServer({ fetch: app.fetch }).listen(...on));
    },
  },
  nestjs: {
    limit: limitNest,
    placed: true,
    header: (context, name) => context.switchToHttp().getRequest().get(name),
    answer: (status, text) => {
      throw new HttpException(text, status);
    },
    async start({ all = [], routes = HELLO, failed, on = [0, '127.0.0.1'] }) {
      const controllers = routes.map(({ under = '', path, handler = 'hello', limits = [] }) => {
        const name = `Class${++classes}`;
        const it = { [name]: class { [handler]() { return 'hello'; } } }[name];
        decorate([Controller(withColon(under))], it);
        decorate([All(path), HttpCode(200), UseGuards(...limits)], it.prototype, handler);
        return it;
      });
      class App {}
      decorate([Module({ controllers })], App);
      const app = await NestFactory.create(App, { logger: false });
      app.use((req, _, next) => {
        if (req.get('x-user')) req.user = { id: req.get('x-user') };
        next();
      });
      if (all.length) app.useGlobalGuards(...all);
      if (failed)
        app.useGlobalFilters({ catch: (error, host) => host.switchToHttp().getResponse().status(error.getStatus?.() ?? 500).send(failed(error.cause ?? error)) });
      await app.listen(...on);
      return { port: app.getHttpServer().address().port, close: () => app.close() };
    },
  },
};

function decorate(decorators, target, name) {
  for (const each of decorators) each(target, name, name && Object.getOwnPropertyDescriptor(target, name));
}
