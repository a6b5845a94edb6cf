// An application in each framework that limit() is for: start(limits for all of it, limits by path), which says hello.
import { once } from 'node:events';
import { serve } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import 'reflect-metadata';
import { All, Controller, HttpCode, Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { limit as limitExpress } from '../dist/esm/express.js';
import { limit as limitFastify } from '../dist/esm/fastify.js';
import { limit as limitHono } from '../dist/esm/hono.js';
import { limit as limitKoa } from '../dist/esm/koa.js';
import { limit as limitNest } from '../dist/esm/nestjs.js';

const PATHS = ['/hello', '/needs', '/other', '/login'];

let classes = 0;

const listens = async (server, close = () => server.close()) => {
  if (!server.listening) await once(server, 'listening');
  return { port: server.address().port, close };
};

/** `header(request, name)` of what its limits are told; `failed` is told of what its own error handler gets. */
export const FRAMEWORKS = {
  express: {
    limit: limitExpress,
    header: (req, name) => req.get(name),
    async start({ all = [], at = {}, failed, on = [0, '127.0.0.1'] }) {
      const app = express();
      app.use((req, _, next) => {
        if (req.get('x-user')) req.user = { id: req.get('x-user') };
        next();
      });
      for (const each of all) app.use(each);
      for (const [path, limits] of Object.entries(at)) app.all(path, ...limits);
      app.use((_, res) => res.send('hello'));
      app.use((error, _req, res, _next) => res.status(error.status ?? 500).send(failed ? failed(error) : error.message));
      return listens(app.listen(...on));
    },
  },
  fastify: {
    limit: limitFastify,
    header: (request, name) => request.headers[name],
    async start({ all = [], at = {}, failed, on = [0, '127.0.0.1'] }) {
      const app = fastify();
      app.addHook('onRequest', async (request) => {
        if (request.headers['x-user']) request.user = { id: request.headers['x-user'] };
      });
      for (const each of all) app.addHook('onRequest', each);
      for (const path of PATHS) app.route({ method: ['GET', 'POST'], url: path, onRequest: at[path] ?? [], handler: async () => 'hello' });
      if (failed) app.setErrorHandler((error, _, reply) => reply.code(error.statusCode ?? 500).send(failed(error)));
      await app.listen(typeof on[0] === 'string' ? { path: on[0] } : { port: on[0], host: on[1] });
      return { port: app.server.address().port, close: () => app.close() };
    },
  },
  koa: {
    limit: limitKoa,
    header: (ctx, name) => ctx.get(name),
    async start({ all = [], at = {}, failed, on = [0, '127.0.0.1'] }) {
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
      for (const [path, limits] of Object.entries(at))
        for (const each of limits) app.use((ctx, next) => (ctx.path === path ? each(ctx, next) : next()));
      app.use((ctx) => (ctx.body = 'hello'));
      return listens(app.listen(...on));
    },
  },
  hono: {
    limit: limitHono,
    header: (c, name) => c.req.header(name),
    async start({ all = [], at = {}, failed, on = [0, '127.0.0.1'] }) {
      const app = new Hono();
      if (failed) app.onError((error, c) => c.text(failed(error.cause ?? error), error.status ?? 500));
      app.use(async (c, next) => {
        if (c.req.header('x-user')) c.set('user', { id: c.req.header('x-user') });
        await next();
      });
      for (const each of all) app.use(each);
      for (const [path, limits] of Object.entries(at)) for (const each of limits) app.use(path, each);
      app.all('*', (c) => c.text('hello'));
      if (typeof on[0] === 'number') return listens(serve({ fetch: app.fetch, port: on[0], hostname: on[1] }));
      const { createAdaptorServer } = await import('@hono/node-server');
      return listens(createAdaptorServer({ fetch: app.fetch }).listen(...on));
    },
  },
  nestjs: {
    limit: limitNest,
    header: (context, name) => context.switchToHttp().getRequest().get(name),
    async start({ all = [], at = {}, failed, on = [0, '127.0.0.1'] }) {
      const controllers = PATHS.map((path) => {
        const name = `Class${++classes}`;
        const it = { [name]: class { hello() { return 'hello'; } } }[name];
        decorate([Controller(path)], it);
        decorate([All(), HttpCode(200), UseGuards(...(at[path] ?? []))], it.prototype, 'hello');
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
