// What a limit counts by: clients/cases/identity.json, and how each framework tells what a limit asks.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { keyOf, keysOf, whoOf } from '../dist/esm/identity.js';
import { claim } from '../dist/esm/names.js';
import { rulesIn } from '../dist/esm/rule.js';
import { startWeir } from '../dist/esm/testing.js';
import { FRAMEWORKS } from './frameworks.mjs';
import { CASES } from './support.mjs';

const { keys, addresses, names } = JSON.parse(readFileSync(join(CASES, 'identity.json'), 'utf8'));

for (const { name, app, limit, who, rules, keys: expected } of keys)
  test(`keys: ${name}`, () => assert.deepEqual(keysOf(app, limit, who, rulesIn(rules, 'limit')).map(([key]) => key), expected));

for (const { address, who } of addresses) test(`who: ${address}`, () => assert.equal(whoOf(address), who));

for (const { rules, name } of names) test(`the name of ${rules}`, () => assert.equal(claim('a limit', undefined, rulesIn(rules, 'limit').join(';')), name) || forget(name));

/** So that another row may have it. */
function forget(name) {
  globalThis[Symbol.for('@weir/client names')].delete(`a limit ${name}`);
}

let weir, client, number = 0;
before(async () => {
  weir = await startWeir();
  client = weir.connect({ timeoutMs: 10_000, app: 'app' });
});
after(() => weir.close());

/** A name that nothing else in this process has. */
const fresh = (name) => `${name} ${++number}`;

for (const [framework, { limit, header, start }] of Object.entries(FRAMEWORKS))
  describe(framework, () => {
    const asking = async (settings, requests) => {
      const app = await start(settings);
      const answers = [];
      for (const [path, headers = {}] of requests) {
        const answer = await fetch(`http://127.0.0.1:${app.port}${path}`, { method: 'POST', headers });
        answers.push({ status: answer.status, headers: answer.headers, text: await answer.text() });
      }
      await app.close();
      return answers;
    };
    const statuses = async (...words) => (await asking(...words)).map(({ status }) => status);
    const times = (count, request) => Array.from({ length: count }, () => request);

    test('key, cost and exempt may be async, and a key a number', async () => {
      const name = fresh('by key');
      const key = async (request) => Number(header(request, 'x-tenant'));
      const cost = async (request) => Number(header(request, 'x-cost'));
      const exempt = async (request) => header(request, 'x-free') === 'yes';
      const asked = [['/hello', { 'x-tenant': '7', 'x-cost': '8' }], ['/hello', { 'x-tenant': '7', 'x-cost': '9', 'x-free': 'yes' }]];
      assert.deepEqual(await statuses({ all: [limit({ client, rule: '10/h', name, key, cost, exempt })] }, asked), [200, 200]);
      assert.equal((await client.look({ key: keyOf('app', name, '7', '10/1h'), rule: '10/h' })).remaining, 2);
    });

    test('a key that is undefined is an error, and nobody shares it', async () => {
      const none = limit({ client, rule: '10/h', name: fresh('none'), key: () => undefined });
      assert.deepEqual((await asking({ all: [none], failed: (error) => error.message }, [['/hello']])).map(({ status, text }) => [status, text]),
        [[500, 'limit: key is a text or a number, not undefined']]);
    });

    test('an error handler gets the decision, and the fields are there', async () => {
      const one = limit({ client, rule: '1/h', name: fresh('handled'), ...(framework === 'express' && { next: true }) });
      const [, { status, headers, text }] = await asking({ all: [one], failed: (error) => `${error.code} ${error.decision.retryAfterMs}` }, times(2, ['/hello']));
      assert.deepEqual([status, text], [429, 'DENIED 3600000']);
      assert.equal(headers.get('retry-after'), '3600');
    });

    test('onDenied that says no status is a 429', { skip: framework === 'nestjs' && 'it throws there' }, async () => {
      const onDenied = { express: (_, __, res) => res.send('later'), fastify: () => 'later', koa: (ctx) => (ctx.body = 'later'), hono: (c) => c.text('later') }[framework];
      const [, { status, text }] = await asking({ all: [limit({ client, rule: '1/h', name: fresh('plain'), onDenied })] }, times(2, ['/hello']));
      assert.deepEqual([status, text], [429, 'later']);
    });

    test('JSON for a client that asks for it', { skip: framework !== 'express' && 'it answers as the framework does' }, async () => {
      const json = { accept: 'application/json, text/plain, */*' };
      const [, { headers, text }] = await asking({ all: [limit({ client, rule: '1/h', name: fresh('json') })] }, times(2, ['/hello', json]));
      assert.match(headers.get('content-type'), /^application\/json/);
      assert.deepEqual(JSON.parse(text), { error: 'Too many requests' });
    });

    test('no address is an error at the first request', async () => {
      const path = join(mkdtempSync(join(tmpdir(), 'weir-')), 'app.sock');
      const app = await start({ all: [limit({ client, rule: '1/h', name: fresh('socket') })], on: [path], failed: (error) => error.message });
      const [status, text] = await new Promise((resolve, reject) => http.get({ socketPath: path, path: '/hello' }, async (answer) => {
        resolve([answer.statusCode, (await answer.toArray()).join('')]);
      }).on('error', reject));
      await app.close();
      assert.deepEqual([status, text], [500, 'limit: the framework tells no address of this client; say whose counter it is by key']);
    });

    test('a proxy that the framework does not trust is told once', async (t) => {
      const told = t.mock.method(console, 'warn', () => {});
      const one = limit({ client, rule: '9/h', name: fresh('proxy') });
      await asking({ all: [one] }, [['/hello'], ['/hello', { 'x-forwarded-for': '192.0.2.1, 127.0.0.1' }]]);
      assert.equal(told.mock.callCount(), 0);
      const another = limit({ client, rule: '9/h', name: fresh('proxy') });
      await asking({ all: [one, another] }, times(2, ['/hello', { 'x-forwarded-for': '192.0.2.1' }]));
      assert.equal(told.mock.callCount(), 1);
      assert.match(told.mock.calls[0].arguments[0], /counted by (::ffff:)?127\.0\.0\.1.*(trust|proxy)/);
    });
  });

test('hono: a request that is mounted, or read by bodyLimit, is charged once', async () => {
  const { limit } = FRAMEWORKS.hono;
  const one = limit({ client, rule: '9/h', name: fresh('hono'), key: () => 'me' });
  const [app, mounted] = [new Hono(), new Hono()];
  mounted.use(one).get('/', (c) => c.text('hello'));
  app.use(one).use(bodyLimit({ maxSize: 1000 })).post('/', one, async (c) => c.text(await c.req.text())).mount('/mounted', mounted.fetch);
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  const said = [];
  const chunked = () => new ReadableStream({ start: (stream) => (stream.enqueue(new TextEncoder().encode('hello')), stream.close()) });
  for (const answer of [await fetch(`${url}/mounted`), await fetch(url, { method: 'POST', body: chunked(), duplex: 'half' })])
    said.push([await answer.text(), /r=(\d+)/.exec(answer.headers.get('ratelimit'))[1]]);
  server.close();
  assert.deepEqual(said, [['hello', '8'], ['hello', '7']]);
});

test('a second limit of one name is an error that says so', () => {
  const { limit } = FRAMEWORKS.express;
  limit({ client, rule: '7/min' });
  for (const options of [{ rule: '7/min' }, { rule: '7 per minute', name: '7/1m' }])
    assert.throws(() => limit({ client, ...options }), /^TypeError: limit: there is a limit of the name '7\/1m' in this process: give each its own name/);
  limit({ client, rule: ['7/min', '70/h'] });
  assert.throws(() => FRAMEWORKS.koa.limit({ client, rule: '7/min; 70/h' }), /'7\/1m;70\/1h'/);
  limit({ client, rule: '7/min', name: 'again' });
  limit({ client, rule: '7/60s', name: 'again' }); // a module that is loaded again
  assert.throws(() => limit({ client, rule: '8/min', name: 'again' }), /name 'again' in this process, of 7\/1m: give/);
});

test('a limit that is made in a request is found', async () => {
  const { limit, start } = FRAMEWORKS.express;
  const app = await start({ all: [(req, res, next) => limit({ client, rule: '6/min' })(req, res, next)] });
  const said = [];
  for (let each = 0; each < 2; ++each) said.push((await fetch(`http://127.0.0.1:${app.port}/hello`)).status);
  await app.close();
  assert.deepEqual(said, [200, 500]);
});

test('nestjs: two classes of one name are an error, unless the limit has a name', async () => {
  const { limit } = FRAMEWORKS.nestjs;
  const handler = () => {};
  const asks = (guard, type) => guard.canActivate({ getType: () => 'http', getClass: () => type, getHandler: () => handler,
    switchToHttp: () => ({ getRequest: () => ({ ip: '127.0.0.1', method: 'GET', headers: {} }), getResponse: () => ({ header: () => {} }) }) });
  const [first, second] = [class Users {}, (() => class Users {})()];
  const unnamed = limit({ client, rule: '9/h' });
  assert.equal(await asks(unnamed, first), true);
  await assert.rejects(asks(unnamed, second), /two classes of the name Users; give/);
  assert.equal(await asks(limit({ client, rule: '9/h', name: 'users' }), second), true);
  await assert.rejects(unnamed.canActivate({ getType: () => 'ws' }), /this is ws, and a limit is for HTTP/);
});

test('what an application is called', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-app-'));
  const program = join(folder, 'shop/src/server.mjs');
  mkdirSync(join(folder, 'shop/src'), { recursive: true });
  const module = pathToFileURL(new URL('../dist/esm/index.js', import.meta.url).pathname);
  writeFileSync(program, `import { connect } from '${module}';\nconst [url, app] = process.argv.slice(2);
    const [client, another] = [1, 2].map(() => connect(url, { ...(app && { app }) }));\nconsole.log(client.app);\nclient.app;\nanother.app;
    for (const each of [client, another]) await each.close();\n`);
  const asked = async (words, env = {}) => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...words], { env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...env } });
    return [stdout.trim(), stderr.trim()];
  };
  const told = (name) => `weir: limits are counted under '${name}', the name of this program; WEIR_APP, or app of connect(), says another`;
  assert.deepEqual(await asked(['weir://a']), ['src', told('src')], 'the folder, without a package');
  writeFileSync(join(folder, 'shop/src/package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'shop/package.json'), '{ "name": "@acme/shop" }');
  assert.deepEqual(await asked(['weir://a']), ['@acme/shop', told('@acme/shop')]);
  assert.deepEqual(await asked(['weir+local:']), ['@acme/shop', ''], 'alone on a machine nothing is told');
  assert.deepEqual(await asked(['weir://a'], { WEIR_APP: 'till' }), ['till', '']);
  assert.deepEqual(await asked(['weir://a', 'desk'], { WEIR_APP: 'till' }), ['desk', '']);
  rmSync(folder, { recursive: true });
});
