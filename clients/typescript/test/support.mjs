// What the tests share: a weir on virtual time, and the bad day's proxy of clients/cases.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import readline from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { encode, Parser } from '../dist/esm/resp.js';

export const SOURCE = process.env.WEIR_SOURCE ?? join(dirname(fileURLToPath(import.meta.url)), '../../..');
export const CASES = join(SOURCE, 'clients/cases');
export const PROGRAM = (process.env.WEIR_PROGRAM ??= join(SOURCE, 'build/dev/src/cli/weir'));
export const PATIENCE_MS = 10_000;
for (const name of ['WEIR_URL', 'WEIR_PASSWORD', 'WEIR_LOCAL', 'WEIR_APP']) delete process.env[name];

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Until `condition` is true, and what it is then. */
export async function until(condition, what) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`not within ${PATIENCE_MS} ms: ${what}`);
    await sleep(10);
  }
}

async function ended(child) {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

// What a test that failed has started and not ended: it would keep the process, and nobody would see why it failed.
const left = new Set();
after(() => left.forEach((end) => end()));

/** Ends the child, unless `stop` does. */
function runs(child) {
  const kill = () => child.kill('SIGKILL');
  left.add(kill);
  child.once('exit', () => left.delete(kill));
  return child;
}

/** `weir local --virtual-time`, or `weir serve` with flags; `url` is its socket. */
export class Weir {
  static async start({ limits, flags, port, refunds = true } = {}) {
    const weir = new Weir();
    weir.folder = await mkdtemp(join(tmpdir(), 'weir-ts-'));
    weir.path = join(weir.folder, 'weir.sock');
    weir.url = `unix:${weir.path}`;
    const words = flags
      ? ['serve', '--resp', `127.0.0.1:${port ?? 0}`, '--unix-socket', weir.path, '--threads', '1', ...(refunds ? ['--allow-refunds'] : []), ...flags]
      : ['local', '--virtual-time', '--foreground', '--socket', weir.path];
    if (limits != null) {
      await writeFile(join(weir.folder, 'limits.yaml'), limits);
      words.push('--limits', join(weir.folder, 'limits.yaml'));
    }
    weir.child = runs(spawn(PROGRAM, words, { stdio: ['ignore', 'pipe', 'pipe'] }));
    let errors = '';
    weir.child.stderr.on('data', (chunk) => (errors += chunk));
    const [line] = await Promise.race([once(weir.child.stdout, 'data'), once(weir.child, 'close').then(() => [])]);
    if (line === undefined) throw new Error(`weir did not start: ${errors}`);
    weir.port = Number(/127\.0\.0\.1:(\d+)/.exec(String(line))?.[1]);
    return weir;
  }

  /** The reply to one command. */
  ask(...words) {
    return new Promise((resolve, reject) => {
      const parser = new Parser();
      const socket = net.connect(this.path).on('error', reject);
      socket.on('data', (chunk) => parser.feed(chunk, (reply) => (socket.end(), resolve(reply))));
      socket.write(encode(words.map(String)));
    });
  }

  async advance(ms) {
    const reply = await this.ask('WEIR.TIME', 'ADVANCE', ms);
    if (!Array.isArray(reply)) throw new Error(reply.text);
  }

  /** How many wait for their moment. */
  async waiting() {
    return Number(/^blocked_clients:(\d+)/m.exec(await this.ask('INFO', 'clients'))[1]);
  }

  async stop() {
    this.child.kill();
    await ended(this.child);
    await rm(this.folder, { recursive: true });
  }
}

/** clients/cases/proxy.py; `at` is what it said of itself. */
export class Proxy {
  static async start() {
    const proxy = new Proxy();
    proxy.folder = await mkdtemp(join(tmpdir(), 'weir-proxy-'));
    proxy.child = runs(spawn('python3', [join(CASES, 'proxy.py'), proxy.folder], { stdio: ['pipe', 'pipe', 'inherit'] }));
    proxy.lines = readline.createInterface({ input: proxy.child.stdout })[Symbol.asyncIterator]();
    proxy.at = JSON.parse((await proxy.lines.next()).value);
    return proxy;
  }

  async say(line) {
    this.child.stdin.write(`${line}\n`);
    return (await this.lines.next()).value;
  }

  async mode(name) {
    if ((await this.say(`mode ${name}`)) !== 'ok') throw new Error(`the proxy has no mode ${name}`);
  }

  /** Where the weir at this URL is so far away. */
  async far(url, ms) {
    for (const line of [`to ${url}`, `delay ${ms}`]) if ((await this.say(line)) !== 'ok') throw new Error(`the proxy does not take '${line}'`);
    return this.at.unix;
  }

  async stop() {
    this.child.stdin.end();
    await ended(this.child);
    await rm(this.folder, { recursive: true });
  }
}

/** A server that says what `answer(text, socket)` says. */
export async function pretender(answer) {
  const sockets = new Set();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (chunk) => answer(String(chunk), socket)).on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    for (const each of sockets) each.destroy();
    server.close();
    left.delete(close);
  };
  left.add(close);
  return { url: `weir://127.0.0.1:${server.address().port}`, close, sockets };
}

/** A port where nobody listens. */
export async function deadPort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
