import { HttpException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { assertBlock, block } from './block.js';
import { errorOf, Gate, plainPath, textOf, userOf, type Facts, type LimitOptions } from './gate.js';
import { keyOf } from './identity.js';
import { sharedClient } from './shared.js';
import type { StoreOptions } from './window.js';

/** Of Express and of Fastify. */
interface Request {
  ip?: string;
  method: string;
  path?: string;
  route?: { path?: string };
  routeOptions?: { url?: string };
  raw?: object;
  headers: Record<string, string | string[] | undefined>;
  user?: unknown;
}
interface Response {
  header(name: string, value: string): unknown;
}

const facts = (context: ExecutionContext): Facts => {
  const request = context.switchToHttp().getRequest<Request>();
  const { ip, method, route, routeOptions, path = '' } = request;
  return { ip, attributes: { ip, method, path: routeOptions?.url ?? route?.path ?? plainPath(path), user: userOf(request.user) }, once: request.raw ?? request,
    forwarded: request.headers['x-forwarded-for'], trust: "app.set('trust proxy', 1), or new FastifyAdapter({ trustProxy: '10.0.0.2' }), your proxy's address" };
};

/**
 * `@UseGuards(limit({ rule: '10/min' }))` of a class or a handler: each handler has its own counts, unless `name` is given.
 * `onDenied` throws what is to be answered in place of a 429.
 */
export function limit(options: LimitOptions<ExecutionContext> = {}): CanActivate {
  const gate = new Gate(options, facts, true);
  return {
    async canActivate(context: ExecutionContext): Promise<boolean> {
      if (context.getType() !== 'http') throw new TypeError(`limit: this is ${context.getType()}, and a limit is for HTTP; ask by a client`);
      const verdict = await gate.ask(context, () => placeOf(context));
      const { status, decision, fields } = verdict;
      for (const [name, value] of fields) context.switchToHttp().getResponse<Response>().header(name, value);
      if (status === undefined) return true;
      if (decision && options.onDenied) await options.onDenied(context, decision);
      throw new HttpException(textOf(status), status, { cause: errorOf(verdict) });
    },
  };
}

const classes = new Map<string, object>();

/** The class and the handler; two classes of one name would share their counts without a word. */
function placeOf(context: ExecutionContext): string {
  const found = context.getClass();
  const known = classes.get(found.name) ?? found;
  if (known !== found) throw new TypeError(`limit: there are two classes of the name ${found.name}; give the limits of one a name`);
  classes.set(found.name, found);
  return `${found.name}.${context.getHandler().name}`;
}

type Stored = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** `ThrottlerModule.forRoot({ throttlers, storage: new WeirThrottlerStorage() })` of @nestjs/throttler, by windows. */
export class WeirThrottlerStorage implements ThrottlerStorage {
  constructor(private readonly options: StoreOptions = {}) {}

  async increment(key: string, ttl: number, limit: number, blockDuration: number, throttlerName: string): Promise<Stored> {
    const { client = sharedClient(), prefix = 'throttler:' } = this.options;
    if (blockDuration > 0) assertBlock(blockDuration, 'WeirThrottlerStorage: blockDuration');
    if (limit < 1) return stored(1, ttl, blockDuration || ttl); // weir has no such rule
    const rule = `${limit}/${Math.ceil(ttl)}ms algorithm=fixed_window`;
    const counted = { key: keyOf(client.app, `${prefix}${throttlerName}`, key, rule), rule };
    const { allowed, decided, remaining, resetAfterMs, retryAfterMs } = await client.check(counted);
    if (allowed) return stored(limit - (remaining ?? limit - 1), decided ? resetAfterMs : ttl, 0);
    const denied = (ms: number): Stored => stored(limit + 1, ms, ms);
    const leftMs = retryAfterMs ?? resetAfterMs;
    if (blockDuration <= 0 || !decided || leftMs > ttl) return denied(leftMs); // no window lasts longer, so it is blocked
    const { charged, owed, resetAfterMs: endsInMs } = await client.charge(counted);
    if (charged === 0) return denied(leftMs); // nothing is counted of a key that is blocked
    if (owed === 0) return stored(1, endsInMs, 0); // the window has ended since, and this is a hit of the next
    return denied((await block(client, counted, blockDuration)) ? blockDuration : leftMs);
  }
}

const stored = (totalHits: number, endsInMs: number, blockedMs: number): Stored =>
  ({ totalHits, timeToExpire: seconds(endsInMs), isBlocked: blockedMs > 0, timeToBlockExpire: seconds(blockedMs) });

const seconds = (ms: number): number => Math.ceil(ms / 1000);
