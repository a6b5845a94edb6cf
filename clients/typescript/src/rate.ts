// The numbers of a rate, as the server counts them: whole nanoseconds.

const UNITS = new Map<string, bigint>();
const unit = (ns: bigint, ...names: string[]): void => names.forEach((name) => UNITS.set(name, ns));
unit(86_400_000_000_000n, 'd', 'day', 'days');
unit(3_600_000_000_000n, 'h', 'hour', 'hours');
unit(60_000_000_000n, 'm', 'min', 'minute', 'minutes');
unit(1_000_000_000n, 's', 'sec', 'second', 'seconds');
unit(1_000_000n, 'ms');
unit(1000n, 'us');
unit(1n, 'ns');
unit(604_800_000_000_000n, 'w', 'week', 'weeks');
const WRITTEN = ['d', 'h', 'm', 's', 'ms', 'us', 'ns'];
const MOST = 2n ** 63n - 1n;

/** Of digits alone, below 2^63. */
export function wholeNumber(text: string): bigint | undefined {
  if (!/^-?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text);
  return value > MOST || value < -MOST ? undefined : value;
}

/** 1h30m or 1.5h in nanoseconds, rounded up. */
export function durationOf(text: string): bigint | 'none' | 'too long' {
  const parts = [...text.matchAll(/([0-9.]*)([^0-9.]+)/g)];
  if (!parts.length || parts.map(([part]) => part).join('') !== text) return 'none';
  let total = 0n;
  let before: bigint | undefined;
  for (const [at, [, digits = '', name = '']] of parts.entries()) {
    const ns = UNITS.get(name);
    const last = at + 1 === parts.length;
    if (ns === undefined || (before !== undefined && ns >= before) || (!last && digits.includes('.'))) return 'none';
    if (digits ? !/^([0-9]+\.?[0-9]*|\.[0-9]+)$/.test(digits) : parts.length > 1) return 'none';
    total += decimalTimes(digits || '1', ns);
    before = ns;
  }
  return total > MOST ? 'too long' : total;
}

/** A number with digits, and perhaps a point, of units; rounded up. */
export function decimalTimes(text: string, unit: bigint): bigint {
  const [front = '', decimals = ''] = text.split('.');
  return roundedUp(BigInt(front + decimals) * unit, 10n ** BigInt(decimals.length));
}

export const roundedUp = (number: bigint, by: bigint): bigint => (number + by - 1n) / by;

/** By the largest unit that it is whole in. */
export function written(ns: bigint): string {
  const name = WRITTEN.find((each) => ns % UNITS.get(each)! === 0n)!;
  return `${ns / UNITS.get(name)!}${name}`;
}

/** Why whole nanoseconds cannot keep it. */
export function refusalOf(count: bigint, period: bigint, burst: bigint): string | undefined {
  if (count < 1n) return `count: ${count} is below the minimum (1)`;
  if (period < 1n) return 'period: 0s is below the minimum (1ns)';
  if (count > period) return `count: ${count} per ${written(period)} is more than one per nanosecond; the maximum is ${period}`;
  const interval = roundedUp(period, count);
  if (interval * count - period > period / 1000n) return `count: ${count} would be slowed by more than 0.1 %, because time is counted in whole nanoseconds`;
  if (burst < 1n) return `burst: ${burst} is below the minimum (1)`;
  if (burst > MOST / interval) return `burst: ${burst} would take longer than 2^63 ns to drain; the maximum is ${MOST / interval}`;
  return undefined;
}

/** What a count with a point means: 0.0055/s is 11/2000s. */
export function inWholeNumbers(count: string, period: bigint, hasBurst: boolean): string {
  const parts = /^([0-9]{1,9})\.([0-9]{1,9})$/.exec(count);
  const number = parts ? BigInt(parts[1]! + parts[2]!) : 0n;
  if (!parts || number === 0n || period === 0n) return '';
  const scale = 10n ** BigInt(parts[2]!.length);
  const shared = common(number, scale);
  const burst = hasBurst ? '' : ` burst ${roundedUp(number, scale)}`;
  return `; write '${number / shared}/${written((scale / shared) * period)}${burst}'`;
}

const common = (a: bigint, b: bigint): bigint => (b === 0n ? a : common(b, a % b));
