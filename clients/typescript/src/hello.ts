import { NotAnAnswer } from './answer.js';
import { errorOfReply, Refused, Unauthorized, Unavailable, type WeirError } from './error.js';
import { ErrorReply, type Reply } from './resp.js';
import { VERSION } from './version.js';

export interface Server {
  name: string;
  version: string;
  /** How long it waits for its store; 0 without one. */
  storeDeadlineMs: number;
  /** The longest that it lets anybody ask to wait; Infinity where it does not say it. */
  maxWaitMs: number;
  /** How many may stand in line on one connection, by TAG; 0 where it knows no TAG. */
  maxWaiters: number;
}

export interface Credentials {
  user?: string | undefined;
  password?: string | undefined;
}

/** Who answers there: HELLO, and INFO where that does not tell; throws what is wrong with it. */
export async function greet(ask: (words: string[]) => Promise<Reply>, name: string, { user, password }: Credentials): Promise<Server> {
  const credentials = password === undefined ? [] : ['AUTH', user ?? 'default', password];
  let hello = await ask(['HELLO', '3', ...credentials]);
  if (hello instanceof ErrorReply && hello.text.startsWith('NOPROTO')) hello = await ask(['HELLO', '2', ...credentials]);
  if (hello instanceof ErrorReply) throw errorOfHello(hello.text, name, user ?? 'default');
  if (!Array.isArray(hello)) throw new NotAnAnswer();
  const said = new Map<unknown, Reply>();
  for (let at = 0; at + 1 < hello.length; at += 2) said.set(hello[at], hello[at + 1]!);
  const version = said.get('weir_version') ?? ofInfo(await ask(['INFO', 'server']));
  if (typeof version !== 'string')
    throw new Refused(`${name} is a ${another(said)}, not a weir; start \`weir serve --store\` and connect to that`);
  if (!speaksWith(version))
    throw new Refused(`${name} is weir ${version}; this client, ${VERSION}, speaks with one minor version older or newer`);
  return { name, version, storeDeadlineMs: Number(said.get('store_deadline_ms') ?? 0), maxWaitMs: Number(said.get('max_wait_ms') ?? Infinity),
    maxWaiters: said.get('proto') === 3 ? Number(said.get('max_waiters') ?? 0) : 0 };
}

/** A weir from before HELLO said it. */
function ofInfo(info: Reply): string | undefined {
  return typeof info === 'string' ? /^weir_version:(.*?)\r?$/m.exec(info)?.[1] : undefined;
}

function another(said: Map<unknown, Reply>): string {
  const server = String(said.get('server') ?? 'server');
  return `${server === 'redis' ? 'Redis' : server === 'valkey' ? 'Valkey' : server} ${said.get('version') ?? '?'}`;
}

function errorOfHello(text: string, name: string, user: string): WeirError {
  if (text.startsWith('NOAUTH')) return new Unauthorized(`${name} wants a password: give it in the URL, as password or in WEIR_PASSWORD`);
  if (text.startsWith('WRONGPASS')) return new Unauthorized(`${name} does not know this password of user '${user}'`);
  const error = errorOfReply(text);
  if (error instanceof Unavailable) return new Unavailable(`${name}: ${error.message}`);
  return error instanceof Unauthorized ? error : new Refused(`${name} is not a weir: it answers HELLO with '${text.slice(0, 100)}'`);
}

function speaksWith(version: string): boolean {
  const [theirs, ours] = [version, VERSION].map((each) => each.split('.').map(Number)) as [number[], number[]];
  return theirs[0] === ours[0] && Math.abs(theirs[1]! - ours[1]!) <= 1;
}
