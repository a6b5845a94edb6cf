// Bad days that the cases of all languages do not have.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Backoff } from '../dist/esm/backoff.js';
import { greet } from '../dist/esm/hello.js';
import { connect } from '../dist/esm/index.js';
import { ErrorReply } from '../dist/esm/resp.js';
import { VERSION } from '../dist/esm/version.js';
import { deadPort, pretender, PROGRAM, Proxy, sleep, until, Weir } from './support.mjs';

const PATIENT = { timeoutMs: 10_000, connectTimeoutMs: 10_000, log: () => {} };
const INDEX = fileURLToPath(new URL('../dist/esm/index.js', import.meta.url));
let weir;
before(async () => (weir = await Weir.start()));
after(() => weir.stop());

const HELLO = '*4\r\n$12\r\nweir_version\r\n$5\r\n0.1.0\r\n$17\r\nstore_deadline_ms\r\n:50\r\n';
const greets = (answer) => (text, socket) => (text.includes('HELLO') ? socket.write(HELLO) : answer(text, socket));

test('10,000 calls at once are one connection and few writes', async () => {
  const client = connect(weir.url, { ...PATIENT, maxInFlight: 20_000 });
  const answers = await Promise.all(Array.from({ length: 10_000 }, () => client.check('many', '9000/h')));
  assert.equal(answers.filter((each) => each.decided).length, 10_000);
  assert.equal(answers.filter((each) => each.allowed).length, 9000);
  await client.close();
});

test('what is asked in one turn is one write, in its order', async () => {
  const writes = [];
  const server = await pretender(greets((text, socket) => {
    writes.push(text);
    socket.write('*6\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:1\r\n$1\r\nk\r\n'.repeat(text.split('WEIR.THROTTLE').length - 1));
  }));
  const client = connect(server.url, PATIENT);
  await client.check('first', '1/s');
  await Promise.all(['a', 'b', 'c'].map((key) => client.check(key, '1/s')));
  assert.equal(writes.length, 2);
  assert.match(writes[1], /\r\na\r\n.*\r\nb\r\n.*\r\nc\r\n/s);
  await client.close();
  server.close();
});

test('a program that stood still reads what came in time', async () => {
  const client = connect(weir.url, { timeoutMs: 100, connectTimeoutMs: 10_000, log: () => {} });
  await client.ready();
  const answer = client.check('blocked', '1/h');
  await new Promise((resolve) => setImmediate(resolve)); // it is written
  const until = performance.now() + 300;
  while (performance.now() < until);
  assert.equal((await answer).decided, true);
  await client.close();
});

test('what is not RESP ends the connection, and the next call has another', async () => {
  let asked = 0;
  const server = await pretender(greets((_, socket) => socket.write(asked++ ? '*6\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:1\r\n$1\r\nk\r\n' : 'HTTP/1.1 400 Bad\r\n')));
  const client = connect(server.url, PATIENT);
  const first = await client.check('k', '1/s');
  assert.equal(first.decided, false);
  assert.match(first.error.message, /not RESP/);
  assert.equal((await client.check('k', '1/s')).decided, true);
  assert.equal(server.sockets.size, 2);
  await client.close();
  server.close();
});

test('an answer of another form is refused in one sentence', async () => {
  const server = await pretender(greets((_, socket) => socket.write('+OK\r\n')));
  const client = connect(server.url, PATIENT);
  await assert.rejects(client.check('k', '1/s'), { code: 'REFUSED', message: /another form/ });
  await client.close();
  server.close();
});

test('what nobody asked ends the connection', async () => {
  const server = await pretender(greets((_, socket) => socket.write('+PONG\r\n')));
  const client = connect(server.url, PATIENT);
  await client.ready();
  const [socket] = server.sockets;
  const ended = once(socket, 'close');
  socket.write('-ERR closed: nothing was read for 30 s\r\n');
  await ended;
  await client.close();
  server.close();
});

test('a verb that an older weir lacks is named with the version that has it', async () => {
  const server = await pretender(greets((_, socket) => socket.write("-ERR unknown command 'WEIR.MOMENT'\r\n")));
  const client = connect(server.url, PATIENT);
  await assert.rejects(client.moment('x'), { code: 'REFUSED', message: /0\.1\.0, has no WEIR\.MOMENT; 0\.1\.0 has it/ });
  await client.close();
  server.close();
});

test('a timeout that is not above the server\'s store deadline is told once', async () => {
  const lines = [];
  const server = await pretender(greets((_, socket) => socket.write('+PONG\r\n')));
  const client = connect(server.url, { timeoutMs: 50, connectTimeoutMs: 10_000, log: (line) => lines.push(line) });
  await client.ready();
  for (const each of server.sockets) each.destroy();
  await until(() => client.ready().then(() => true, () => false), 'it connects again');
  assert.equal(lines.filter((line) => line.includes('timeoutMs is 50, but the server waits 50 ms for its store')).length, 1, lines);
  await client.close();
  server.close();
});

test('a signal drops the answer of a call, which stays charged', async () => {
  const client = connect(weir.url, PATIENT);
  await client.ready();
  const giveUp = new AbortController();
  const answer = client.check({ key: 'dropped', rule: '5/h', signal: giveUp.signal });
  await new Promise((resolve) => setImmediate(resolve));
  giveUp.abort(new Error('no more'));
  await assert.rejects(answer, /no more/);
  assert.equal((await client.look({ key: 'dropped', rule: '5/h' })).remaining, 4);
  await assert.rejects(client.check({ key: 'dropped', rule: '5/h', signal: giveUp.signal }), /no more/);
  await assert.rejects(client.acquire({ key: 'dropped', rule: '5/h', maxWaitMs: 1, signal: giveUp.signal }), /no more/);
  assert.equal((await client.look({ key: 'dropped', rule: '5/h' })).remaining, 4);
  await client.close();
});

test('what is given up before it is written is not charged', async () => {
  const client = connect(weir.url, PATIENT);
  await client.ready();
  const giveUp = new AbortController();
  const answer = client.check({ key: 'unwritten', rule: '5/h', signal: giveUp.signal });
  giveUp.abort();
  await assert.rejects(answer, { name: 'AbortError' });
  assert.equal((await client.look({ key: 'unwritten', rule: '5/h' })).remaining, 5);
  await client.close();
});

test('a bound slot keeps its connection, and is free when the client ends', async () => {
  const client = connect(weir.url, PATIENT), other = connect(weir.url, PATIENT);
  const question = { key: 'bound', rule: 'in_flight=1', holdMs: 3_600_000, maxWaitMs: 0 };
  const held = await client.acquire({ ...question, bound: true, maxWaitMs: 1 });
  assert.equal((await client.acquire({ key: 'else', rule: '1/s', maxWaitMs: 1 })).decision.allowed, true);
  await assert.rejects(other.acquire(question), { code: 'DENIED' });
  assert.notEqual(held.id, null);
  await client.close();
  const again = await until(() => other.acquire(question).catch(() => undefined), 'it is free');
  await again.settle();
  await other.close();
});

test('onCall that throws is logged, and the call is answered', async () => {
  const lines = [];
  const client = connect(weir.url, { ...PATIENT, log: (line) => lines.push(line), onCall: () => { throw new Error('counter'); } });
  assert.equal((await client.check('told', '1/s')).allowed, true);
  assert.deepEqual(lines, ['weir: onCall has thrown: counter']);
  await client.close();
});

test('onError allows by true alone, and cannot be async', async () => {
  const url = `weir://127.0.0.1:${await deadPort()}`;
  const question = { key: 'a', rule: '1/s' };
  for (const [says, allowed] of [[true, true], [false, false], [undefined, false], ['deny', false], [1, false]]) {
    const client = connect(url, { ...PATIENT, timeoutMs: 50, onError: () => says });
    for (const each of [await client.check(question), (await client.tryReserve(question)).decision]) assert.equal(each.allowed, allowed, String(says));
    await client.close();
  }
  for (const onError of [async () => false, async () => Promise.reject(new Error('nobody sees this')), () => ({ then: (resolve) => resolve(true) })]) {
    const client = connect(url, { ...PATIENT, timeoutMs: 50, onError });
    for (const verb of ['check', 'look', 'reserve', 'acquire']) await assert.rejects(client[verb](question), /^TypeError: onError returns true or false at once, so it cannot be async$/);
    await client.close();
  }
});

test('a program ends that has a client which nobody waits for', async () => {
  const script = `import { connect } from ${JSON.stringify(INDEX)};
    const client = connect(${JSON.stringify(weir.url)}); await client.check('ends', '1/s'); console.log('done');`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 30_000 });
  assert.equal(stdout, 'done\n');
});

test('attempts to connect come later and later, by chance', () => {
  const { random } = Math;
  const now = performance.now();
  performance.now = () => now; // a clock that stands still
  const waits = [];
  try {
    Math.random = () => 1;
    const backoff = new Backoff();
    assert.ok(backoff.at < now);
    for (let attempt = 0; attempt < 9; ++attempt) {
      backoff.failed();
      waits.push(Math.round(backoff.at - now));
    }
    Math.random = () => 0;
    backoff.failed();
    assert.ok(backoff.at <= now);
    backoff.succeeded();
    assert.ok(backoff.at < now);
  } finally {
    Math.random = random;
    delete performance.now; // the prototype's again
  }
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
});

test('TLS: a client without the certificate that is asked for is unauthorized', async () => {
  const proxy = await Proxy.start();
  const [ca, cert, key] = ['ca.pem', 'valid.crt', 'valid.key'].map((name) => join(proxy.folder, name));
  const guarded = await Weir.start({ flags: ['--tls-cert', cert, '--tls-key', key, '--tls-ca', ca] });
  try {
    const url = `weirs://localhost:${guarded.port}`, tls = { ca: readFileSync(ca) };
    const known = connect(url, { ...PATIENT, tls: { ...tls, cert: readFileSync(cert), key: readFileSync(key) } });
    assert.equal((await known.check('k', '1/s')).decided, true);
    await known.close();
    const unknown = connect(url, { ...PATIENT, tls });
    await assert.rejects(unknown.check('k', '1/s'), { code: 'UNAUTHORIZED' });
    await unknown.close();
  } finally {
    await guarded.stop();
    await proxy.stop();
  }
});

test('a local weir: four processes that begin at once share one, which a client starts again after it has ended', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-local-'));
  writeFileSync(join(folder, 'package.json'), '{}');
  const env = { ...process.env, WEIR_PROGRAM: PROGRAM, XDG_RUNTIME_DIR: folder };
  const script = `import { connect } from ${JSON.stringify(INDEX)};
    const client = connect(); const { remaining, decided } = await client.check('shared', '100/h'); console.log(remaining, decided);`;
  try {
    const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: folder, env, timeout: 60_000 });
    const ran = await Promise.all([run(), run(), run(), run()]);
    assert.deepEqual(ran.map(({ stdout }) => stdout).sort(), ['96 true\n', '97 true\n', '98 true\n', '99 true\n']);
    for (const { stderr } of ran) assert.match(stderr, /^weir: no URL and no WEIR_URL/);
    const socket = execFileSync(PROGRAM, ['local'], { cwd: folder, env, encoding: 'utf8' }).trim();
    rmSync(socket); // then it ends
    assert.equal((await run()).stdout, '99 true\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a local weir whose limits file has errors: in the words of lint', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-local-'));
  writeFileSync(join(folder, 'limits.yaml'), 'version: 1\nlimits: { a: { rate: x } }\n');
  const client = connect('weir+local:', { limits: join(folder, 'limits.yaml'), log: () => {} });
  await assert.rejects(client.ready(), { code: 'REFUSED', message: /limits\.yaml:2:22: limits\.a\.rate: quota 'x'/ });
  await assert.rejects(client.check('k', '1/s'), { code: 'REFUSED' });
  await client.close();
  rmSync(folder, { recursive: true });
});

test('what HELLO says of a server', async () => {
  const greeted = (...more) => greet(async () => ['server', 'weir', 'weir_version', VERSION, ...more], 'a', {});
  const nothing = { name: 'a', version: VERSION, storeDeadlineMs: 0, maxWaitMs: Infinity, maxWaiters: 0 };
  assert.deepEqual(await greeted(), nothing);
  const said = ['store_deadline_ms', 50, 'max_wait_ms', 5000, 'max_waiters', 10];
  assert.deepEqual(await greeted(...said), { ...nothing, storeDeadlineMs: 50, maxWaitMs: 5000 });
  assert.deepEqual(await greeted('proto', 3, ...said), { ...nothing, storeDeadlineMs: 50, maxWaitMs: 5000, maxWaiters: 10 });
});

test('a server without RESP3 is spoken to by RESP2', async () => {
  const asked = [];
  const ask = async (words) => (asked.push(words), words[1] === '3' ? new ErrorReply('NOPROTO unsupported protocol version') : ['weir_version', VERSION, 'max_waiters', 10]);
  assert.equal((await greet(ask, 'a', { password: 'secret' })).maxWaiters, 0);
  assert.deepEqual(asked, ['3', '2'].map((protocol) => ['HELLO', protocol, 'AUTH', 'default', 'secret']));
});

test('where there is no program one sentence says so, at the first question', async () => {
  const asked = () => connect('weir+local:').check('k', '1/s');
  const { WEIR_PROGRAM, PATH } = process.env;
  try {
    process.env.WEIR_PROGRAM = '/nowhere/weir';
    await assert.rejects(asked(), { code: 'REFUSED', message: "WEIR_PROGRAM names '/nowhere/weir', which is not a program" });
    delete process.env.WEIR_PROGRAM;
    process.env.PATH = '/nowhere';
    await assert.rejects(asked(), { code: 'REFUSED', message: /^there is no weir program: install @weir\/linux-/ });
  } finally {
    Object.assign(process.env, { WEIR_PROGRAM, PATH });
  }
});
