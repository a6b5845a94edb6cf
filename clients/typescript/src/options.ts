import type { Call } from './client.js';
import { fixture, OF_A_TEST } from './fixture.js';
import { isOnError, type OnError } from './policy.js';

export interface Options {
  /** A limits file, for a weir that is started here: WEIR_LIMITS unless it is said. One at a URL has its own. */
  limits?: string;
  /** What limits are counted under: WEIR_APP unless it is said, or else the name in the program's package.json. */
  app?: string;
  user?: string;
  password?: string;
  tls?: { ca?: string | Buffer; cert?: string | Buffer; key?: string | Buffer };
  /** 200, which is more than the server waits for its store. */
  timeoutMs?: number;
  connectTimeoutMs?: number;
  /** What a call gets that weir does not answer: 'allow' unless it is said. */
  onError?: OnError;
  rememberDenials?: boolean;
  maxConnections?: number;
  maxInFlight?: number;
  /** After each call. */
  onCall?: (call: Call) => void;
  log?: (line: string) => void;
}

type Defaulted = 'timeoutMs' | 'connectTimeoutMs' | 'onError' | 'rememberDenials' | 'maxConnections' | 'maxInFlight' | 'log';
export type Settings = Required<Pick<Options, Defaulted>> & Omit<Options, Defaulted>;

const number = (least: number): ((value: unknown) => boolean) => (value) => typeof value === 'number' && value >= least && value < 2 ** 31;
/** A value that is not secret, or what kind it is of. */
const shown = (value: unknown): string => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : `another ${typeof value}`);
const text = (value: unknown): boolean => typeof value === 'string' && value !== '';
const callable = (value: unknown): boolean => typeof value === 'function';

const KNOWN: Record<keyof Options, [check: (value: unknown) => boolean, form: string]> = {
  limits: [text, 'the path of a limits file'],
  app: [text, 'a name'],
  user: [text, 'a name'],
  password: [text, 'a text'],
  tls: [(value) => typeof value === 'object' && value !== null && Object.keys(value).every((each) => ['ca', 'cert', 'key'].includes(each)), '{ ca, cert, key }'],
  timeoutMs: [number(1), 'milliseconds, from 1'],
  connectTimeoutMs: [number(1), 'milliseconds, from 1'],
  onError: [isOnError, "'allow', 'deny', 'throw' or a function"],
  rememberDenials: [(value) => typeof value === 'boolean', 'true or false'],
  maxConnections: [(value) => Number.isInteger(value) && number(2)(value), 'an integer from 2: one for all calls, and with an older weir one for each acquire'],
  maxInFlight: [(value) => Number.isInteger(value) && number(1)(value), 'an integer from 1'],
  onCall: [callable, 'a function'],
  log: [callable, 'a function'],
};

const USUAL = { timeoutMs: 200, onError: 'allow' } as const;

/** With what is not given; a TypeError where an option is unknown or another thing than it may be. */
export function settingsOf(options: Options, url?: string): Settings {
  for (const [name, value] of Object.entries(options)) {
    const known = KNOWN[name as keyof Options];
    if (!known) throw new TypeError(`connect: unknown option '${name}'; known: ${Object.keys(KNOWN).join(', ')}`);
    if (value !== undefined && !known[0](value)) throw new TypeError(`connect: ${name} is ${known[1]}, not ${shown(value)}`);
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
  const usual = (): typeof USUAL | typeof OF_A_TEST => (url === undefined && fixture.url ? OF_A_TEST : USUAL);
  return { get timeoutMs() { return usual().timeoutMs; }, get onError() { return usual().onError; }, connectTimeoutMs: 1000, rememberDenials: false,
    maxConnections: 16, maxInFlight: 1024, log: (line) => console.warn(line), ...given };
}
