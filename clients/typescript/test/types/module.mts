import { connect, Denied, told, WeirError, type Asked, type Client, type Decision, type Granted, type Reservation } from '@weir/client';
import { limit as express } from '@weir/client/express';
import { limit as fastify } from '@weir/client/fastify';
import { limit as hono } from '@weir/client/hono';
import { limit as koa } from '@weir/client/koa';
import { WeirStore } from '@weir/client/express-rate-limit';
import { weirStore } from '@weir/client/fastify-rate-limit';
import { RateLimiterWeir } from '@weir/client/flexible';
import { limit as nest, WeirThrottlerStorage } from '@weir/client/nestjs';
import { paced } from '@weir/client/bullmq';
import { startWeir } from '@weir/client/testing';
import Express from 'express';
import Fastify from 'fastify';
import fastifyRateLimit from '@fastify/rate-limit';
import { Hono } from 'hono';
import Koa from 'koa';
import { rateLimit } from 'express-rate-limit';
import { UseGuards } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';
import { RateLimiterUnion } from 'rate-limiter-flexible';
import { Worker } from 'bullmq';

export async function asks(client: Client): Promise<number | null> {
  const asked: Asked = { attributes: { user: 42, vip: true, tenant: undefined }, costs: { tpm: 3 }, signal: AbortSignal.timeout(9) };
  const decision: Decision = await client.check(asked);
  if (!decision.decided) console.log(decision.error?.code === 'UNAVAILABLE');
  await client.check('key', '1/s');
  await client.look({ rules: { a: '1/s' }, fields: true });
  await using turn: Granted = await client.reserve({ key: 'a', rule: '1/s', maxWaitMs: 5 });
  const maybe: Reservation = await client.tryReserve({ key: 'a', rule: '1/s' });
  console.log(turn.waitMs + 1, maybe.decision.allowed && maybe.waitMs! > 1);
  const text: string = await client.slot('api', { attributes: { tokens: 5 } }, async (slot) => slot.id ?? 'none');
  await client.charge({ key: 'a', rule: '1/s', pauseMs: 5 });
  await told(client, await fetch('https://api.example'), asked, { limits: { requests: null }, body: new Uint8Array() });
  await told(client, { statusCode: 429, headers: { 'retry-after': '5', 'set-cookie': ['a'] } }, { key: 'a', rule: '1/s' });
  await client.reset({ key: text });
  await client.reset({ attributes: { user: 1 }, limit: 'user' });
  try {
    await client.acquire({ key: 'a', rule: '1/s' });
  } catch (error) {
    if (error instanceof Denied) return error.decision.retryAfterMs;
    if (error instanceof WeirError) console.log(error.code satisfies string);
  }
  return turn.settle({ tpm: 5 });
}

export function wrong(client: Client): void {
  // @ts-expect-error: a key needs its rule
  void client.check({ key: 'a' });
  // @ts-expect-error: costs are numbers
  void client.check({ key: 'a', rule: '1/s', cost: '1' });
  // @ts-expect-error: what is denied has no moment
  void client.tryReserve({ key: 'a', rule: '1/s' }).then(({ waitMs }) => waitMs + 1);
  // @ts-expect-error: no such option
  connect('weir://a', { timeout: 5 });
  // @ts-expect-error: no such answer
  connect('weir://a', { onError: 'ignore' });
}

export async function plugs(): Promise<void> {
  await using weir = await startWeir({ now: new Date() });
  const client = weir.connect({ timeoutMs: 5, onError: (error, question) => error.code === 'UNAVAILABLE' && 'key' in question });
  Express().use(express({ rule: ['1/s', '5/min'], name: 'all', key: (req) => req.get('authorization') ?? '', client, next: true,
    exempt: async (req) => req.path === '/', cost: (req) => Number(req.get('cost')), onDenied: (_, { retryAfterMs }, res) => res.status(429).json({ retryAfterMs }) }));
  Express().use(rateLimit({ windowMs: 1000, limit: 5, store: new WeirStore({ client }) }));
  const app = Fastify();
  app.addHook('onRequest', fastify({ rule: '1/s', onDenied: async (_, decision, reply) => reply.code(420).send(decision.by) }));
  app.addHook('onRequest', fastify({ attributes: (request) => ({ ip: request.ip }) }));
  await app.register(fastifyRateLimit, { max: 5, timeWindow: 1000, store: weirStore({ client }) });
  new Koa().use(koa({ rule: '1/s', onDenied: (ctx) => (ctx.body = 'later') }));
  new Hono().use(hono({ rule: '1/s', key: (c) => c.req.path, onDenied: (c) => c.text('later', 429) }));
  UseGuards(nest({ rule: '1/s', key: (context) => context.switchToHttp().getRequest<{ id: number }>().id }));
  // @ts-expect-error: of Express alone
  koa({ rule: '1/s', next: true });
  ThrottlerModule.forRoot({ throttlers: [{ ttl: 1, limit: 1 }], storage: new WeirThrottlerStorage({ client }) });
  new RateLimiterUnion(new RateLimiterWeir({ points: 1, duration: 1, client }));
  new Worker('jobs', paced((data: { user: string }) => ({ key: data.user, rule: '1/s' }), async ({ user }) => user, { client }));
}
