import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Call } from './call.js';
import type { Client } from './client.js';
import { clearTimeout, now, setTimeout } from './clock.js';
import { connect } from './connect.js';
import type { Connection } from './connection.js';
import { dial } from './dialer.js';
import { asyncDispose } from './dispose.js';
import { errorOfReply } from './error.js';
import type { Options } from './options.js';
import { fixture } from './fixture.js';
import { findProgram } from './program.js';
import { encode, ErrorReply, type Reply } from './resp.js';

const PATIENCE_MS = 20_000;
const NO_LIMITS = 'version: 1\nlimits: {}\n';

/** A weir of one test, in virtual time: between two advances it stands still. */
export interface TestWeir extends AsyncDisposable {
  /** It is in WEIR_URL too, and clients that were given no URL ask it for as long as it runs. */
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

/** Starts the program, which takes some 30 ms; `limits` is the text of a limits file, `now` what its wall clock says. */
export async function startWeir({ limits = NO_LIMITS, now: wall }: { limits?: string; now?: Date | string } = {}): Promise<TestWeir> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-test-'));
  const file = join(folder, 'limits.yaml');
  await writeFile(file, limits);
  const words = ['local', '--virtual-time', '--foreground', '--limits', file];
  if (wall !== undefined) words.push('--now', wall instanceof Date ? wall.toISOString() : wall);
  try {
    const child = spawn(findProgram(), words, { stdio: ['ignore', 'pipe', 'pipe'] });
    const path = await socketOf(child);
    const { connection } = await dial({ path }, {}, PATIENCE_MS, PATIENCE_MS, () => {});
    return new Started(child, connection, `unix:${path}`, folder);
  } catch (error) {
    await rm(folder, { recursive: true });
    throw error;
  }
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

  constructor(private readonly child: ChildProcess, private readonly connection: Connection, readonly url: string, private readonly folder: string) {
    process.once('exit', this.#kill);
    fixture.url = process.env['WEIR_URL'] = url;
  }

  connect(options: Omit<Options, 'limits'> = {}): Client {
    const client = connect(this.url, { app: 'test', onError: 'throw', ...options });
    this.#clients.push(client);
    return client;
  }

  async advance(ms: number): Promise<void> {
    await this.#ask('WEIR.TIME', 'ADVANCE', String(Math.ceil(ms)));
  }

  async now(): Promise<Date> {
    const answer = await this.#ask('WEIR.TIME');
    return new Date(String((answer as Reply[])[2]));
  }

  async limits(text: string): Promise<void> {
    await writeFile(join(this.folder, 'limits.yaml'), text);
    await this.#ask('WEIR.CONFIG', 'RELOAD');
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

  readonly #kill = (): void => void this.child.kill('SIGKILL');

  async #close(): Promise<void> {
    if (fixture.url === this.url) fixture.url = undefined;
    if (process.env['WEIR_URL'] === this.url) this.#restore();
    await Promise.all(this.#clients.map((client) => client.close()));
    this.connection.end('the test has ended');
    process.off('exit', this.#kill);
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.ref();
      this.child.kill('SIGTERM');
      await once(this.child, 'exit');
    }
    await rm(this.folder, { recursive: true });
  }

  #ask(...words: string[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const answered = (reply: Reply): void => (reply instanceof ErrorReply ? reject(errorOfReply(reply.text)) : resolve(reply));
      this.connection.ask(new Call(encode(words), now() + PATIENCE_MS, PATIENCE_MS, answered, reject));
    });
  }
}
