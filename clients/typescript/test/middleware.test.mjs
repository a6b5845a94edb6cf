// limit() in the frameworks that it is for.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { connect } from '../dist/esm/index.js';
import { startWeir } from '../dist/esm/testing.js';
import { FRAMEWORKS } from './frameworks.mjs';
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

let weir, client, dead;
before(async () => {
  weir = await startWeir({ limits: LIMITS });
  client = weir.connect({ timeoutMs: 10_000 });
  dead = await deadPort();
});
after(() => weir.close());

/** What each framework says of its own to a denied client that does not say what it takes. */
const DENIED = {
  express: [/^text\/plain/, 'Too many requests\n'],
  fastify: [/^application\/json/, '{"statusCode":429,"code":"DENIED","error":"Too Many Requests","message":"Too many requests"}'],
  koa: [/^text\/plain/, 'Too many requests'],
  hono: [/^text\/plain/, 'Too many requests\n'],
  nestjs: [/^application\/json/, '{"statusCode":429,"message":"Too many requests"}'],
};

for (const [name, { limit, header, start }] of Object.entries(FRAMEWORKS))
  describe(name, () => {
    const asking = async (options, requests) => {
      const app = await start({ all: [limit(options)] });
      const answers = [];
      for (const [path, user] of requests) {
        const answer = await fetch(`http://127.0.0.1:${app.port}${path}`, { headers: user ? { 'x-user': user } : {} });
        answers.push({ status: answer.status, headers: answer.headers, text: await answer.text() });
      }
      app.close();
      return answers;
    };
    const statuses = async (...args) => (await asking(...args)).map(({ status }) => status);

    test('a denial is the 429 of the framework', async () => {
      const [, { status, headers, text }] = await asking({ client, rule: '1/h', name }, [['/hello'], ['/hello']]);
      assert.deepEqual([status, text], [429, DENIED[name][1]]);
      assert.match(headers.get('content-type'), DENIED[name][0]);
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
        ['allow', 'deny', 503], ['allow', () => false, 503], ['deny', () => true, 200], ['allow', 'throw', 500],
        ['allow', async () => false, 500], ['allow', async () => true, 500]]) {
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

    test('an option that is unknown or cannot be meant', () => {
      for (const options of [{ rule: 'x' }, { rules: '1/s' }, { key: 'x' }, { name: 'x' }, { rule: '1/s', attributes: () => ({}) }, { rule: '1/s', name: '' },
        { rule: '1/s', cost: -1 }, { rule: '1/s', cost: '1' }, { rule: '1/s', exempt: true }, { rule: '1/s', onDenied: 'no' }, { rule: '1/s', key: 5 }, { rule: '1/s', onError: 'alow' },
        { rule: '1/s', toString: 1 }, ...(name === 'express' ? [{ next: 1 }] : [{ next: true }])])
        assert.throws(() => limit(options), TypeError, JSON.stringify(options));
    });
  });
