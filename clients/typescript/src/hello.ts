import { NotAnAnswer } from './answer.js';
import { errorOfReply, Refused, Unavailable, type WeirError } from './error.js';
import { ErrorReply, type Reply } from './resp.js';
import { VERSION } from './version.js';

export interface Server {
  version: string;
  /** How long it waits for its store; 0 without one. */
  storeDeadlineMs: number;
}

const START = 'start `weir serve --store` and connect to that';

export function helloWords(user: string | undefined, password: string | undefined): string[] {
  return password === undefined ? ['HELLO', '2'] : ['HELLO', '2', 'AUTH', user ?? 'default', password];
}

/** Who answers there; throws what is wrong with it. */
export function serverOf(reply: Reply, name: string): Server {
  if (reply instanceof ErrorReply) throw errorOfHello(reply.text, name);
  if (!Array.isArray(reply)) throw new NotAnAnswer();
  const said = new Map<unknown, Reply>();
  for (let at = 0; at + 1 < reply.length; at += 2) said.set(reply[at], reply[at + 1]!);
  const version = said.get('weir_version');
  if (typeof version !== 'string') throw new Refused(`${name} is ${another(said)}, not a weir; ${START}`);
  if (tooOld(version)) throw new Refused(`${name} is weir ${version}; this client is of ${VERSION} and speaks with one minor version less or more`);
  return { version, storeDeadlineMs: Number(said.get('store_deadline_ms') ?? 0) };
}

function another(said: Map<unknown, Reply>): string {
  const server = String(said.get('server') ?? 'a server');
  return `a ${server.charAt(0).toUpperCase()}${server.slice(1)} ${said.get('version') ?? ''}`.trimEnd();
}

function errorOfHello(text: string, name: string): WeirError {
  if (/^ERR unknown command/i.test(text)) return new Refused(`${name} does not know HELLO, so it is not a weir; ${START}`);
  const error = errorOfReply(text);
  if (error instanceof Unavailable) return new Unavailable(`${name}: ${error.message}`);
  return error;
}

function tooOld(version: string): boolean {
  const [major, minor] = version.split('.').map(Number) as [number, number];
  const [ours, mine] = VERSION.split('.').map(Number) as [number, number];
  return major < ours || (major === ours && minor < mine - 1);
}
