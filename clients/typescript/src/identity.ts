// What a limit that travels with a request counts by: APP, NAME, WHO and the rule, in one key that no value can pretend to
// be (clients/cases/identity.json).
import { createHash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';

const MOST_BYTES = 200; // of a part; a longer one is told by its hash
const NETWORK_GROUPS = 4; // one client has all addresses that begin with these 64 bits

/** Netstrings, so that 'a' and 'b:c' are another key than 'a:b' and 'c'. */
export const keyOf = (...parts: string[]): string => parts.map(netstring).join('');

function netstring(part: string): string {
  const bytes = Buffer.byteLength(part);
  if (bytes <= MOST_BYTES) return `${bytes}:${part},`;
  return netstring(createHash('sha256').update(part).digest('hex'));
}

/** A key for each rule of a limit. `who` is the client's address, or what `key` says. */
export const keysOf = (app: string, name: string, who: string, rules: string[]): [key: string, rule: string][] =>
  rules.map((rule) => [keyOf(app, name, who, rule), rule]);

/** What an address is counted as: without its port, a mapped IPv4 one as that, an IPv6 one by its network. Any other text stays. */
export function whoOf(address: string): string {
  const port = /^(?:([0-9.]+):[0-9]+|\[([^\]]*)\](?::[0-9]+)?)$/.exec(address);
  const text = (port?.[1] ?? port?.[2] ?? address).replace(/%.*$/s, '');
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return address;
  const groups = groupsOf(text);
  if (groups.slice(0, 6).join() === '0,0,0,0,0,65535') return bytesOf(groups.slice(6)).join('.');
  const network = groups.slice(0, NETWORK_GROUPS);
  while (network.at(-1) === 0) network.pop();
  return `${network.map((each) => each.toString(16)).join(':')}::/64`;
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  const plain = address.replace(/[0-9]+\.[0-9.]+$/, (four) => {
    const [a, b, c, d] = four.split('.').map(Number) as [number, number, number, number];
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const [front, back] = plain.split('::').map((half) => (half ? half.split(':').map((each) => parseInt(each, 16)) : [])) as [number[], number[]?];
  return back ? [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back] : front;
}

const bytesOf = (groups: number[]): number[] => groups.flatMap((each) => [each >> 8, each & 255]);
