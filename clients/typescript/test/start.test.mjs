// One line from a laptop to production: where a client asks, and when it looks.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import express from 'express';
import webpack from 'webpack';
import { connect } from '../dist/esm/index.js';
import { limit } from '../dist/esm/express.js';
import { findProgram } from '../dist/esm/program.js';
import { startWeir } from '../dist/esm/testing.js';
import { PROGRAM, SOURCE, Weir } from './support.mjs';

const LIMITS = 'version: 1\nattributes: [user]\nlimits: { user: { by: [user], rate: 7/h } }\n';
const folder = mkdtempSync(join(tmpdir(), 'weir-start-'));
let weir;
before(async () => {
  weir = await Weir.start();
  writeFileSync(join(folder, 'limits.yaml'), LIMITS);
  process.env.XDG_RUNTIME_DIR = folder;
});
after(async () => {
  await weir.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** With these in the environment, and the lines that a client logs meanwhile. */
async function within(env, body) {
  const before = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
  const put = (values) => Object.entries(values).forEach(([name, value]) => (value === undefined ? delete process.env[name] : (process.env[name] = value)));
  const lines = [];
  put(env);
  try {
    await body((line) => lines.push(line), lines);
  } finally {
    put(before);
  }
}

test('without a URL nothing is looked at before the first question', async () => {
  await within({ WEIR_URL: undefined, WEIR_PROGRAM: join(folder, 'none') }, async (log, lines) => {
    const client = connect(undefined, { log });
    assert.deepEqual(lines, []);
    await assert.rejects(client.check('a', '1/s'), { code: 'REFUSED', message: /WEIR_PROGRAM names/ });
    assert.match(lines.join(), /no URL and no WEIR_URL/);
    await client.close();
  });
  const client = connect();
  await within({ WEIR_URL: weir.url }, async () => assert.equal((await client.check('late', '5/h')).remaining, 4));
  await client.close();
  await connect().close(); // one that was never asked
});

test('WEIR_LOCAL=never, and a WEIR_URL that is wrong, are errors at the first question', async () => {
  await within({ WEIR_LOCAL: 'never', WEIR_URL: undefined }, async (log) => assert.rejects(connect(undefined, { log }).check('a', '1/s'), /^TypeError: .*WEIR_LOCAL=never/));
  await within({ WEIR_URL: 'redis://a' }, async (log) => assert.rejects(connect(undefined, { log, onError: 'allow' }).acquire({ key: 'a', rule: '1/s' }), TypeError));
});

test('a limits file is for a weir that is started here: beside a URL one line says so', async () => {
  const limits = join(folder, 'limits.yaml');
  await within({}, async (log, lines) => {
    const client = connect(weir.url, { limits, log, app: 'test' });
    for (let each = 0; each < 2; ++each) assert.equal((await client.check('beside', '5/h')).allowed, true);
    await client.close();
    assert.deepEqual(lines, [`weir: the limits file '${limits}' is for a weir that is started here; the one at the URL has its own`]);
  });
  await within({ WEIR_LIMITS: limits }, async (log, lines) => {
    const client = connect('weir+local:', { log });
    assert.equal((await client.check({ attributes: { user: 1 } })).limit, 7);
    await client.close();
    assert.deepEqual(lines, []);
    const beside = connect(weir.url, { log });
    await beside.ready();
    await beside.close();
    assert.equal(lines.length, 1);
  });
});

test('middleware takes a limits file too', async () => {
  const app = express();
  app.use(limit({ limits: join(folder, 'limits.yaml'), attributes: () => ({ user: 'ann' }) }), (_, res) => res.send('hello'));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { status, headers } = await fetch(`http://127.0.0.1:${server.address().port}/`);
  server.close();
  assert.equal(status, 200);
  assert.match(headers.get('ratelimit'), /"user";r=6/);
  assert.throws(() => limit({ limits: 'x', client: connect(weir.url) }), TypeError);
});

test('a request that meets the limits of two clients is asked about by each', async () => {
  writeFileSync(join(folder, 'narrow.yaml'), LIMITS.replace('7/h', '1/h'));
  const app = express();
  for (const limits of ['limits.yaml', 'narrow.yaml']) app.use(limit({ limits: join(folder, limits), attributes: () => ({ user: 'bob' }) }));
  app.use((_, res) => res.send('hello'));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const statuses = [];
  for (let each = 0; each < 2; ++each) statuses.push((await fetch(`http://127.0.0.1:${server.address().port}/`)).status);
  server.close();
  assert.deepEqual(statuses, [200, 429]);
});

test('a client that is made before a test\'s weir asks that one, and the next one after it', async () => {
  await within({ WEIR_URL: 'weir://elsewhere.invalid' }, async (log, lines) => {
    const [client, ofCommonJs] = [connect, createRequire(import.meta.url)('../dist/cjs/index.js').connect].map((connects) => connects(undefined, { log }));
    for (let each = 0; each < 2; ++each) {
      const mine = await startWeir();
      assert.equal(process.env.WEIR_URL, mine.url);
      assert.deepEqual([(await client.check('a', '3/h')).remaining, (await client.check('a', '3/h')).remaining, (await ofCommonJs.check('a', '3/h')).remaining], [2, 1, 0]);
      assert.equal(typeof client.app, 'string');
      await mine.close();
      assert.equal(process.env.WEIR_URL, 'weir://elsewhere.invalid');
    }
    assert.deepEqual(lines, []);
    for (const each of [client, ofCommonJs]) await each.close();
  });
});

test('where the program does not run, a command is told that starts the image', async () => {
  const [platform, local] = [Object.getOwnPropertyDescriptor(process, 'platform'), { WEIR_PROGRAM: undefined, PATH: '' }];
  let said;
  Object.defineProperty(process, 'platform', { ...platform, value: 'darwin' });
  try {
    await within(local, async () => findProgram());
  } catch ({ message }) {
    said = message;
  } finally {
    Object.defineProperty(process, 'platform', platform);
  }
  const [, words] = /`docker run --rm -p 127\.0\.0\.1:6390:6390 weir ([^`]*)`, and connect to weir:\/\/127\.0\.0\.1$/.exec(said);
  const [program, ...entry] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(readFileSync(join(SOURCE, 'packaging/Containerfile'), 'utf8'))[1]);
  assert.equal(program, 'weir');
  const child = spawn(PROGRAM, [...entry, ...words.replace('0.0.0.0:6390', '0.0.0.0:0').split(' ')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  child.kill();
  assert.match(String(line), /0\.0\.0\.0:\d+/);
});

/** Of an entry to a file, by each bundler. */
const BUNDLERS = {
  esbuild: (entry, outfile, format) => build({ entryPoints: [entry], bundle: true, platform: 'node', format, outfile, logLevel: 'error' }),
  webpack: async (entry, outfile, format) => {
    const output = { path: dirname(outfile), filename: basename(outfile), ...(format === 'esm' && { module: true, chunkFormat: 'module' }) };
    const stats = await promisify(webpack)({ entry, output, mode: 'production', target: 'node18', ...(format === 'esm' && { experiments: { outputModule: true } }) });
    assert.deepEqual([...stats.compilation.errors, ...stats.compilation.warnings].map(String), []);
  },
};

for (const [bundler, bundle] of Object.entries(BUNDLERS))
  for (const format of ['cjs', 'esm'])
    test(`in a bundle of ${bundler}, ${format}`, async () => {
      const entry = join(mkdtempSync(join(dirname(fileURLToPath(import.meta.url)), '../bundle-')), 'main.mjs'); // which may import the package
      writeFileSync(entry, `import { connect } from '@weir/client';\nimport { limit } from '@weir/client/koa';
        limit({ rule: '10/min' });\nconst client = connect();\nclient.check('${bundler} ${format}', '5/h').then(({ remaining }) => { console.log(remaining); return client.close(); });\n`);
      const outfile = join(folder, `${bundler}.${format === 'cjs' ? 'cjs' : 'mjs'}`);
      await bundle(entry, outfile, format);
      rmSync(dirname(entry), { recursive: true });
      const { stdout } = await promisify(execFile)(process.execPath, [outfile], { cwd: folder, env: { ...process.env, WEIR_URL: weir.url, NODE_TEST_CONTEXT: undefined } });
      assert.equal(stdout, '4\n');
    });
