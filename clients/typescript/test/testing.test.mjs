import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { connect } from '../dist/esm/index.js';
import { startWeir } from '../dist/esm/testing.js';
import { sleep, Weir } from './support.mjs';

test('time stands still until it is advanced', async () => {
  const weir = await startWeir({ now: '2027-03-28T00:59:59Z' });
  const client = weir.connect();
  const began = await weir.now();
  assert.equal(began.toISOString(), '2027-03-28T00:59:59.000Z');
  assert.equal((await client.check('a', '1/min')).allowed, true);
  assert.equal((await client.check('a', '1/min')).retryAfterMs, 60_000);
  const waits = client.acquire({ key: 'a', rule: '1/min', maxWaitMs: 60_000 });
  await weir.advance(60_000);
  assert.equal((await waits).decision.allowed, true);
  assert.equal((await weir.now()) - began, 60_000);
  await assert.rejects(weir.advance(-1), { code: 'REFUSED' });
  await weir.close();
  await weir.close();
  await assert.rejects(client.check('a', '1/min'), { code: 'UNAVAILABLE' }, 'its clients are closed with it, and say so');
});

test('a limits file, and another one', async () => {
  const weir = await startWeir({ limits: 'version: 1\nattributes: [user]\nlimits: { user: { by: [user], rate: 1/h } }\n' });
  const client = weir.connect();
  const question = { attributes: { user: 1 } };
  assert.equal((await client.check(question)).limit, 1);
  await weir.limits('version: 1\nattributes: [user]\nlimits: { user: { by: [user], rate: 7/h } }\n');
  assert.equal((await client.check(question)).limit, 7);
  await assert.rejects(weir.limits('version: 1\nlimits: x\n'), { code: 'REFUSED' });
  await weir[Symbol.asyncDispose]();
});

test('a limits file with errors', async () => {
  await assert.rejects(startWeir({ limits: 'version: 1\nlimits: { a: { rate: x } }\n' }), /limits\.a\.rate/);
});

test('as CommonJS too', async () => {
  const { createRequire } = await import('node:module');
  const require = createRequire(import.meta.url);
  const cjs = require('../dist/cjs/testing.js');
  const weir = await cjs.startWeir();
  const client = require('../dist/cjs/index.js').connect(weir.url, { log: () => {} });
  assert.equal((await client.check('a', '1/min')).allowed, true);
  await client.close();
  await weir.close();
});

test('reserve acts now unless maxWaitMs says another time, whatever the limits file lets wait', async () => {
  const weir = await startWeir({ limits: 'version: 1\nattributes: [api]\nlimits: { calls: { by: [api], rate: 1/min, max_wait: 60s } }\n' });
  const client = weir.connect();
  const question = { attributes: { api: 'x' } };
  assert.equal((await client.reserve(question)).waitMs, 0);
  await assert.rejects(client.reserve(question), { code: 'DENIED' });
  assert.equal((await client.tryReserve(question)).waitMs, null);
  assert.equal((await client.tryReserve({ ...question, maxWaitMs: 60_000 })).waitMs, 60_000);
  await weir.close();
});

test('WEIR_TEST_URL: a weir that somebody else has started is as new for each test', async (t) => {
  const theirs = await Weir.start({ limits: 'version: 1\nattributes: [user]\nlimits: { theirs: { by: [user], rate: 1/h } }\n' });
  process.env.WEIR_TEST_URL = theirs.url;
  t.after(async () => {
    delete process.env.WEIR_TEST_URL;
    await theirs.stop();
  });
  const began = [];
  for (const limits of ['version: 1\nattributes: [user]\nlimits: { ours: { by: [user], rate: 1/h } }\n', undefined]) {
    const weir = await startWeir({ limits });
    assert.deepEqual([weir.url, process.env.WEIR_URL], [theirs.url, theirs.url]);
    const client = weir.connect();
    assert.equal((await client.check({ attributes: { user: 1 } })).by, limits ? 'ours' : null);
    assert.equal((await client.check('a', '1/h')).allowed, true);
    assert.equal((await client.check('a', '1/h')).allowed, false);
    began.push((await weir.now()).getTime());
    await weir.advance(60_000);
    await weir.close();
  }
  assert.equal(began[0], began[1], 'time is at the start again');
  await assert.rejects(startWeir({ limits: 'version: 1\nlimits: { a: { rate: x } }\n' }), /limits\.a\.rate/);
  await assert.rejects(startWeir({ now: new Date() }), /a start of its own/);
  await (await startWeir()).close();
});

test('an application that does not say what it does without weir waits for the test\'s weir, and throws', async (t) => {
  const theirs = await Weir.start();
  process.env.WEIR_TEST_URL = theirs.url;
  t.after(() => theirs.stop());
  const [silent, saying] = [{}, { onError: 'allow', timeoutMs: 50 }].map((options) => connect(undefined, { log: () => {}, ...options }));
  const weir = await startWeir();
  delete process.env.WEIR_TEST_URL;
  const given = weir.connect();
  for (const each of [silent, saying, given]) await each.ready();
  theirs.child.kill('SIGSTOP');
  const answers = [silent, saying, given].map((each) => each.check('a', '9/h'));
  await sleep(400); // as on a busy machine
  theirs.child.kill('SIGCONT');
  assert.deepEqual((await Promise.all(answers)).map(({ decided }) => decided), [true, false, true]);
  theirs.child.kill('SIGKILL');
  for (const each of [silent, given]) await assert.rejects(each.check('a', '9/h'), { code: 'UNAVAILABLE' });
  assert.equal((await saying.check('a', '9/h')).allowed, true);
  await weir.close();
  process.env.WEIR_URL = theirs.url;
  assert.equal((await silent.check('a', '9/h')).allowed, true, 'after the test it is as ever');
  delete process.env.WEIR_URL;
  for (const each of [silent, saying]) await each.close();
});

test('WEIR_TEST_URL: a second process is told the flag that keeps them apart', async (t) => {
  const theirs = await Weir.start();
  t.after(() => theirs.stop());
  const code = `import('${new URL('../dist/esm/testing.js', import.meta.url)}').then(({ startWeir }) => startWeir()).then((weir) => weir.close())
    .catch(({ code, message }) => console.log(code, message));`;
  const asked = async (url = theirs.url) => (await promisify(execFile)(process.execPath, ['-e', code], { env: { ...process.env, WEIR_TEST_URL: url, NODE_TEST_CONTEXT: undefined } })).stdout;
  assert.equal(await asked(), '');
  process.env.WEIR_TEST_URL = theirs.url;
  const weir = await startWeir();
  delete process.env.WEIR_TEST_URL;
  assert.match(await asked(), /^REFUSED another connection has begun tests here, .*--no-file-parallelism/);
  await weir.close();
  assert.equal(await asked(), '');
  assert.match(await asked('weir+local:'), /names a weir that runs/);
});
