import type { ConnectionOptions } from 'node:tls';
import { guessedApp } from './app.js';
import { authorities } from './authorities.js';
import type { Address } from './dialer.js';
import { fixture } from './fixture.js';
import type { Server } from './hello.js';
import { joinLocal } from './local.js';
import type { Settings } from './options.js';
import { Pool } from './pool.js';
import { findProgram } from './program.js';
import { placeOf, type Place } from './url.js';

const START_MS = 20_000; // of a weir that is started here
const STUCK_MS = 1000; // beyond the timeout
const WRONG_PASSWORD_MS = 1500; // weir holds that answer back for a second

let guessTold = false; // once for the process

/**
 * Where a client asks: the URL that it was given, or what is there at its first question, so that importing an
 * application starts nothing. Without a URL it follows the weir of a test.
 */
export class Source {
  server: Server | undefined;
  readonly #settings: Settings; // which has the password
  readonly #given: Place | undefined;
  #place: Place | undefined;
  #pool: Pool | undefined;
  #followed: string | undefined;
  #app: string | undefined;
  #closed = false;

  constructor(url: string | undefined, settings: Settings) {
    this.#settings = settings;
    this.#given = url === undefined ? undefined : placeOf(url);
    if (this.#given) assertFits(this.#given, settings);
  }

  get pool(): Pool {
    const place = this.#found;
    return (this.#pool ??= this.#made(place));
  }

  /** What limits are counted under. */
  get app(): string {
    return (this.#app ??= this.#settings.app ?? (process.env['WEIR_APP'] || this.#guessed()));
  }

  get closed(): boolean {
    return this.#closed || this.#pool?.closed === true;
  }

  close(): void {
    this.#closed = true;
    this.#pool?.close();
  }

  get #found(): Place {
    if (this.#place && (this.#given || fixture.url === this.#followed)) return this.#place;
    this.#pool?.close();
    this.#pool = undefined;
    this.#followed = fixture.url;
    this.#place = this.#given ?? placeOf(fixture.url ?? unnamed(this.#settings.log));
    assertFits(this.#place, this.#settings);
    const limits = limitsOf(this.#settings);
    if (limits && this.#place.kind !== 'local') this.#settings.log(`weir: the limits file '${limits}' is for a weir that is started here; the one at the URL has its own`);
    return this.#place;
  }

  #made(place: Place): Pool {
    const { timeoutMs, connectTimeoutMs, maxConnections, maxInFlight } = this.#settings;
    const pool = new Pool({ ...wayTo(place, this.#settings), connectTimeoutMs, silenceMs: timeoutMs + STUCK_MS, maxConnections, maxInFlight,
      connected: (server) => this.#connected(server) });
    if (this.#closed) pool.close();
    return pool;
  }

  #connected(server: Server): void {
    const { timeoutMs, log } = this.#settings;
    if (!this.server && server.storeDeadlineMs >= timeoutMs)
      log(`weir: timeoutMs is ${timeoutMs}, but the server waits ${server.storeDeadlineMs} ms for its store; let it be more`);
    this.server = server;
  }

  /** Told where others count there too, who may have a name of the same kind. */
  #guessed(): string {
    const app = guessedApp();
    if (this.#found.kind !== 'local' && !fixture.url && !guessTold) {
      guessTold = true;
      this.#settings.log(`weir: limits are counted under '${app}', the name of this program; WEIR_APP, or app of connect(), says another`);
    }
    return app;
  }
}

function unnamed(log: (line: string) => void): string {
  const { WEIR_URL, WEIR_LOCAL } = process.env;
  if (WEIR_URL) return WEIR_URL;
  if (WEIR_LOCAL === 'never') throw new TypeError('connect: no URL: WEIR_LOCAL=never forbids a local weir; give a URL or set WEIR_URL');
  log('weir: no URL and no WEIR_URL: counting in a local weir, for this machine alone');
  return 'weir+local:';
}

const limitsOf = ({ limits }: Settings): string | undefined => limits ?? (process.env['WEIR_LIMITS'] || undefined);

function assertFits(place: Place, { tls }: Settings): void {
  if (tls && !(place.kind === 'hosts' && place.tls)) throw new TypeError('connect: tls is for weirs://');
}

/** To what is at a place. */
export function wayTo(place: Place, settings: Settings): { find: () => Promise<Address[]>; firstMs: number; user?: string | undefined; password?: string | undefined; tls?: ConnectionOptions } {
  if (place.kind === 'local') return { find: async () => joinLocal(findProgram(), limitsOf(settings)), firstMs: START_MS };
  const given = place.kind === 'hosts' ? place : undefined;
  const password = settings.password ?? given?.password ?? process.env['WEIR_PASSWORD'];
  const credentials = { user: settings.user ?? given?.user, password };
  const firstMs = settings.connectTimeoutMs + (password === undefined ? 0 : WRONG_PASSWORD_MS);
  if (place.kind === 'unix') return { find: async () => [{ path: place.path }], firstMs, ...credentials };
  return { find: async () => shuffled(place.hosts), firstMs, ...credentials, ...(place.tls && { tls: { ca: authorities(), ...settings.tls } }) };
}

/** One by chance first. */
function shuffled<T>(values: T[]): T[] {
  return values.map((value) => [Math.random(), value] as const).sort(([a], [b]) => a - b).map(([, value]) => value);
}
