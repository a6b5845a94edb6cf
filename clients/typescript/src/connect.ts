import type { ConnectionOptions } from 'node:tls';
import { guessedApp } from './app.js';
import { authorities } from './authorities.js';
import { WeirClient, type Client } from './client.js';
import type { Address } from './dialer.js';
import type { Server } from './hello.js';
import { joinLocal } from './local.js';
import { findProgram } from './program.js';
import { settingsOf, type Options, type Settings } from './options.js';
import { Pool } from './pool.js';
import { placeOf, type Place } from './url.js';

const START_MS = 20_000; // of a weir that is started here
const STUCK_MS = 1000; // beyond the timeout
const WRONG_PASSWORD_MS = 1500; // weir holds that answer back for a second

/**
 * A client of the weir at `url`, or at WEIR_URL, or of one that is started on this machine. It connects at the first
 * call; a TypeError says what is wrong with the URL or an option.
 */
export function connect(url?: string, options: Options = {}): Client {
  const settings = settingsOf(options);
  const place = placeOf(url ?? unnamed(settings.log));
  assertFits(place, settings);
  let server: Server | undefined;
  const connected = (now: Server): void => {
    if (!server && now.storeDeadlineMs >= settings.timeoutMs)
      settings.log(`weir: timeoutMs is ${settings.timeoutMs}, but the server waits ${now.storeDeadlineMs} ms for its store; let it be more`);
    server = now;
  };
  const pool = new Pool({ ...wayTo(place, settings), connectTimeoutMs: settings.connectTimeoutMs, silenceMs: settings.timeoutMs + STUCK_MS, maxConnections: settings.maxConnections,
    maxInFlight: settings.maxInFlight, connected });
  return new WeirClient(pool, settings, () => server, () => guessed(place, settings.log));
}

function unnamed(log: (line: string) => void): string {
  const { WEIR_URL, WEIR_LOCAL } = process.env;
  if (WEIR_URL) return WEIR_URL;
  if (WEIR_LOCAL === 'never') throw new TypeError('connect: there is neither a URL nor WEIR_URL, and WEIR_LOCAL is never');
  log('weir: there is neither a URL nor WEIR_URL: a weir of this machine is used, which counts for it alone');
  return 'weir+local:';
}

/** Told where others count there too, who may have a name of the same kind. */
function guessed(place: Place, log: (line: string) => void): string {
  const app = guessedApp();
  if (place.kind !== 'local') log(`weir: limits are counted under '${app}', the name of this program; WEIR_APP, or app of connect(), says another`);
  return app;
}

function assertFits(place: Place, { limits, tls }: Settings): void {
  if (limits !== undefined && place.kind !== 'local') throw new TypeError('connect: limits is for a weir that is started here; a server has its own');
  if (tls && !(place.kind === 'hosts' && place.tls)) throw new TypeError('connect: tls is for weirs://');
}

function wayTo(place: Place, settings: Settings): { find: () => Promise<Address[]>; firstMs: number; user?: string | undefined; password?: string | undefined; tls?: ConnectionOptions } {
  if (place.kind === 'local') {
    const program = findProgram();
    return { find: () => joinLocal(program, settings.limits), firstMs: START_MS };
  }
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
