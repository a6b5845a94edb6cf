import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { Call } from './call.js';
import { clearTimeout, now, setTimeout } from './clock.js';
import { Connection } from './connection.js';
import { Unauthorized, Unavailable, WeirError } from './error.js';
import { greet, type Credentials } from './hello.js';
import { NotAnAnswer } from './answer.js';
import { encode, type Reply } from './resp.js';
import type { Host } from './url.js';

/** A socket file, or a host. */
export type Address = { path: string } | Host;

export interface Access extends Credentials {
  tls?: ConnectionOptions | undefined;
}

/** weir holds the answer to a wrong password back for a second. */
const WRONG_PASSWORD_MS = 1000;

export const nameOf = (address: Address): string => ('path' in address ? `unix:${address.path}`
  : address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`);

type Ended = ConstructorParameters<typeof Connection>[3];

/** A connection whose server is a weir and takes the password; throws a WeirError. */
export async function dial(address: Address, access: Access, timeoutMs: number, silenceMs: number, ended: Ended): Promise<Connection> {
  const name = nameOf(address);
  const socket = await opened(address, name, access.tls, timeoutMs);
  let greeted = false;
  let lost: WeirError | undefined;
  socket.on('error', (error) => { // before the connection hears of it
    lost = certificateError(error, name);
  });
  const connection = new Connection(socket, name, silenceMs, (unwritten, error) => {
    if (greeted) return ended(unwritten, error);
    lost ??= error;
    for (const call of unwritten) call.fail(error);
  });
  try {
    connection.server = await greet((words) => asked(connection, words, timeoutMs + (access.password === undefined ? 0 : WRONG_PASSWORD_MS)), name, access);
    greeted = true;
    return connection;
  } catch (error) {
    const reason = lost ?? error;
    connection.end('it is not asked');
    throw reason instanceof NotAnAnswer ? new Unavailable(`${name} answers HELLO with something else`) : reason;
  }
}

function asked(connection: Connection, words: string[], patience: number): Promise<Reply> {
  return new Promise((resolve, reject) => connection.ask(new Call(encode(words), now() + patience, patience, resolve, reject)));
}

function opened(address: Address, name: string, tls: ConnectionOptions | undefined, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = tls && !('path' in address)
      ? connectTls({ ...address, ...tls, ...(/^[\d.]+$|:/.test(address.host) ? {} : { servername: address.host }) }, opens)
      : connectTcp(address as Host, opens);
    const late = setTimeout(() => socket.destroy(new Error(`no connection within ${timeoutMs} ms`)), timeoutMs);
    function fails(error: Error): void {
      clearTimeout(late);
      reject(certificateError(error, name) ?? new Unavailable(`${name}: ${error.message || String((error as NodeJS.ErrnoException).code)}`));
    }
    function closes(): void {
      fails(new Error('it has closed the connection'));
    }
    function opens(): void {
      clearTimeout(late);
      socket.off('error', fails).off('close', closes);
      resolve(socket.setNoDelay(true));
    }
    socket.once('error', fails).once('close', closes);
  });
}

/** Ours that it does not take, or its own that does not hold. */
function certificateError(error: Error | null | undefined, name: string): Unauthorized | undefined {
  const code = String((error as NodeJS.ErrnoException | null | undefined)?.code ?? '');
  if (/CERT|UNABLE_TO_|SELF_SIGNED|ALERT_(BAD|UNKNOWN|UNSUPPORTED)|ALERT_ACCESS_DENIED|HOSTNAME_MISMATCH/.test(code))
    return new Unauthorized(code.includes('ALERT') ? `${name} does not let this client in: ${(error as { reason?: string }).reason ?? code}`
      : `the certificate of ${name}: ${error!.message}`);
  return undefined;
}
