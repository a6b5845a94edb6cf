import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Call } from './call.js';
import type { Client } from './client.js';
import { clearTimeout, now, setTimeout } from './clock.js';
import { connect } from './connect.js';
import type { Connection } from './connection.js';
import { dial } from './dialer.js';
import { asyncDispose } from './dispose.js';
import { errorOfReply } from './error.js';
import { fixture, OF_A_TEST } from './fixture.js';
import { settingsOf, type Options } from './options.js';
import { findProgram } from './program.js';
import { encode, ErrorReply, type Reply } from './resp.js';
import { wayTo } from './source.js';
import { placeOf } from './url.js';

const PATIENCE_MS = 20_000;
const NO_LIMITS = 'version: 1\nlimits: {}\n';

/** A weir of one test, in virtual time: between two advances it stands still. */
export interface TestWeir extends AsyncDisposable {
  /** It is in WEIR_URL too, and clients that were given no URL ask it for as long as it runs, and throw where it does not answer. */
  readonly url: string;
  /** A client of it, which is closed with it; it throws where weir does not answer, unless `onError` says otherwise. */
  connect(options?: Omit<Options, 'limits'>): Client;
  /** Time goes on, and what falls due is answered. */
  advance(ms: number): Promise<void>;
  /** The wall clock by which it decides. */
  now(): Promise<Date>;
  /** Another limits file, as text. */
  limits(text: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts the program, which takes some 30 ms, or begins again with the weir of virtual time that WEIR_TEST_URL names. `limits`
 * is the text of a limits file, `now` what its wall clock says.
 */
export async function startWeir({ limits = NO_LIMITS, now: wall }: { limits?: string; now?: Date | string } = {}): Promise<TestWeir> {
  const elsewhere = process.env['WEIR_TEST_URL'];
  if (elsewhere && wall !== undefined) throw new TypeError('startWeir: the weir of WEIR_TEST_URL has a start of its own: start that with --now');
  const weir = elsewhere ? await begunAnew(elsewhere) : await started(wall);
  try {
    await weir.limits(limits);
    return weir;
  } catch (error) {
    await weir.close();
    throw error;
  }
}

async function started(wall: Date | string | undefined): Promise<Started> {
  const words = ['local', '--virtual-time', '--foreground'];
  if (wall !== undefined) words.push('--now', wall instanceof Date ? wall.toISOString() : wall);
  const child = spawn(findProgram(), words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const path = await socketOf(child);
  const connection = await dial({ path }, {}, PATIENCE_MS, PATIENCE_MS, () => {});
  return new Started(connection, `unix:${path}`, child);
}

/** Another process that does so while this connection is open is told by the server which flag keeps them apart. */
async function begunAnew(url: string): Promise<Started> {
  const place = placeOf(url);
  if (place.kind === 'local') throw new TypeError('startWeir: WEIR_TEST_URL names a weir that runs, as in weir://127.0.0.1');
  const { find, ...access } = wayTo(place, settingsOf({}));
  const [address] = await find();
  const connection = await dial(address!, access, PATIENCE_MS, PATIENCE_MS, () => {});
  try {
    await asked(connection, 'WEIR.TIME', 'RESET');
    return new Started(connection, url);
  } catch (error) {
    await ended(connection);
    throw error;
  }
}

function asked(connection: Connection, ...words: string[]): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const answered = (reply: Reply): void => (reply instanceof ErrorReply ? reject(errorOfReply(reply.text)) : resolve(reply));
    connection.ask(new Call(encode(words), now() + PATIENCE_MS, PATIENCE_MS, answered, reject));
  });
}

/** When the server knows it too, so that the next test may begin there. */
async function ended({ socket }: Connection): Promise<void> {
  if (socket.closed) return;
  const late = setTimeout(() => socket.destroy(), PATIENCE_MS);
  await new Promise((resolve) => socket.ref().once('close', resolve).end());
  clearTimeout(late);
}

/** What the program prints when it listens; an Error says why it does not. */
async function socketOf(child: ChildProcess): Promise<string> {
  let errors = '';
  child.stderr!.on('data', (chunk) => (errors += chunk));
  const late = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  try {
    const [line] = await Promise.race([once(child.stdout!, 'data'), once(child, 'close').then(() => [])]);
    if (line === undefined) throw new Error(errors.trim() || 'weir local ended before it listened');
    // A test's process may end while it runs.
    child.unref();
    for (const each of [child.stdout, child.stderr]) (each as unknown as { unref(): void }).unref();
    return String(line).trim();
  } finally {
    clearTimeout(late);
  }
}

class Started implements TestWeir {
  readonly #clients: Client[] = [];
  readonly #urlBefore = process.env['WEIR_URL'];
  #closing: Promise<void> | undefined;

  constructor(private readonly connection: Connection, readonly url: string, private readonly child?: ChildProcess) {
    process.once('exit', this.#kill);
    fixture.url = process.env['WEIR_URL'] = url;
  }

  connect(options: Omit<Options, 'limits'> = {}): Client {
    const client = connect(this.url, { app: 'test', ...OF_A_TEST, ...options });
    this.#clients.push(client);
    return client;
  }

  async advance(ms: number): Promise<void> {
    await asked(this.connection, 'WEIR.TIME', 'ADVANCE', String(Math.ceil(ms)));
  }

  async now(): Promise<Date> {
    const answer = await asked(this.connection, 'WEIR.TIME');
    return new Date(String((answer as Reply[])[2]));
  }

  async limits(text: string): Promise<void> {
    await asked(this.connection, 'WEIR.CONFIG', 'SET', text);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [asyncDispose](): Promise<void> {
    return this.close();
  }

  #restore(): void {
    if (this.#urlBefore === undefined) delete process.env['WEIR_URL'];
    else process.env['WEIR_URL'] = this.#urlBefore;
  }

  readonly #kill = (): void => void this.child?.kill('SIGKILL');

  async #close(): Promise<void> {
    if (fixture.url === this.url) fixture.url = undefined;
    if (process.env['WEIR_URL'] === this.url) this.#restore();
    await Promise.all(this.#clients.map((client) => client.close()));
    await ended(this.connection);
    process.off('exit', this.#kill);
    if (this.child?.exitCode === null && this.child.signalCode === null) {
      this.child.ref();
      this.child.kill('SIGTERM');
      await once(this.child, 'exit');
    }
  }
}
