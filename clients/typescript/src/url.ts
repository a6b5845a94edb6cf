import { isIPv6 } from 'node:net';

export interface Host {
  host: string;
  port: number;
}

/** Where weir is: hosts by TCP or TLS, a Unix socket, or one of this machine that is started when it is needed. */
export type Place =
  | { kind: 'hosts'; hosts: Host[]; tls: boolean; user?: string; password?: string }
  | { kind: 'unix'; path: string }
  | { kind: 'local' };

const PORT = 6390;
const FORM = 'the form is weir://[[user]:password@]host[:6390][,host2...], weirs://..., unix:/path or weir+local:';

/** A TypeError says what is wrong; it never shows a password. */
export function placeOf(url: string): Place {
  if (url === 'weir+local:') return { kind: 'local' };
  const path = /^(?:unix:|weir\+unix:\/\/)(\/[^\0]+)$/.exec(url)?.[1];
  if (path !== undefined) return { kind: 'unix', path };
  if (/^(weir\+)?unix:/.test(url)) throw new TypeError(`${shown(url)}: a socket needs its whole path; ${FORM}`);
  const parts = /^(weirs?):\/\/(?:([^/?#]*)@)?([^/?#@]*)(.*)$/s.exec(url);
  if (!parts) throw new TypeError(`${shown(url)} is not a URL of weir; ${FORM}`);
  const [, scheme, name, where, rest] = parts as unknown as [string, string, string | undefined, string, string];
  if (rest !== '' && rest !== '/') throw new TypeError(`${shown(url)}: nothing may follow the host; ${FORM}`);
  const hosts = where.split(',').map((each) => hostOf(each, url));
  return { kind: 'hosts', hosts, tls: scheme === 'weirs', ...(name === undefined ? {} : credentials(name, url)) };
}

function hostOf(text: string, url: string): Host {
  const parts = /^(?:\[([^\]]*)\]|([^:[\]\s]*))(?::(.*))?$/s.exec(text);
  if (!parts) throw new TypeError(`${shown(url)}: '${text}' is not a host; ${FORM}`);
  if (parts[1] !== undefined && !isIPv6(parts[1])) throw new TypeError(`${shown(url)}: '${parts[1]}' is not an IPv6 address`);
  if (!parts[1] && !parts[2]) throw new TypeError(`${shown(url)} is a URL without a host; ${FORM}`);
  const port = parts[3] === undefined ? PORT : Number(/^\d{1,5}$/.test(parts[3]) ? parts[3] : NaN);
  if (!(port >= 1 && port <= 65535)) throw new TypeError(`${shown(url)}: port '${parts[3]}' is not a number from 1 to 65535`);
  return { host: (parts[1] ?? parts[2])!, port };
}

/** `user:password`, `:password`, or a password (or token) alone. */
function credentials(text: string, url: string): { user?: string; password: string } {
  try {
    const colon = text.indexOf(':');
    if (colon < 0) return { password: decodeURIComponent(text) };
    const password = decodeURIComponent(text.slice(colon + 1));
    return colon === 0 ? { password } : { user: decodeURIComponent(text.slice(0, colon)), password };
  } catch {
    throw new TypeError(`${shown(url)}: a % in the user or the password is written %25`);
  }
}

/** The URL without what may be a password. */
function shown(url: string): string {
  const text = String(url).replace(/^([a-z+]*:\/\/)?[^/]*@/s, '$1***@');
  return `'${text.length > 80 ? `${text.slice(0, 80)}...` : text}'`;
}
