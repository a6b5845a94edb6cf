"""A second implementation of docs/replay.md: slow, obvious, sharing nothing with the program it judges.

    log = read(["access.log"], key="ip/64", reorder=60)      every line parsed, merged, put in order
    decide(log, "100/min burst 5")                           what a limit would have done, in the words of --json

Time is an integer of nanoseconds since 1970; every level and every weight is an exact fraction. The GCRA is here a
bucket of tokens, which gains one each T nanoseconds. As a program: `oracle.py LOG... --limit SPEC [--key ...]`.
"""
import argparse
import bisect
import datetime
import fractions
import fnmatch
import gzip
import ipaddress
import itertools
import json
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "calendar"))

import places
import readers
from readers import Unreadable

SECOND = 10**9
SPEC_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": SECOND, "sec": SECOND, "second": SECOND, "m": 60 * SECOND,
              "min": 60 * SECOND, "minute": 60 * SECOND, "h": 3600 * SECOND, "hour": 3600 * SECOND,
              "d": 86400 * SECOND, "day": 86400 * SECOND, "w": 604800 * SECOND}
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
TIME_FIELDS = "time timestamp @timestamp ts time_iso8601 time_local msec date datetime".split()
CLIENT_FIELDS = ("ip client client_ip remote_addr remote_ip clientip request.remote_ip request.client_ip "
                 "remote_host").split()
FOREVER = datetime.datetime(2100, 1, 1, tzinfo=datetime.timezone.utc).timestamp() * SECOND
NUMBERS = 946_684_800, 3_471_292_800   # 2000 to 2080: a number beyond counts something else
MOST_BYTES = 1 << 20


# ---- times ----------------------------------------------------------------------------------------------------

CLF_TIME = re.compile(r"(\d\d)/([A-Z][a-z][a-z])/(\d{4}):(\d\d):(\d\d):(\d\d)([.,]\d+)?(?: (Z|[+-]\d\d:?\d\d))?")
ISO_TIME = re.compile(r"(\d{4})(?=(.)..\2)[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)([.,]\d+)?(?: ?(Z|[+-]\d\d:?\d\d))?")
NUMBER = re.compile(r"\d+(\.\d+)?")


def offset_s(zone):
    if zone == "Z":
        return 0
    size = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return -size if zone[0] == "-" else size


def parse_time(text, zone):
    """Nanoseconds since 1970."""
    if match := CLF_TIME.fullmatch(text):
        day, month, year, *clock, fraction, own_zone = match.groups()
        if month not in MONTHS:
            raise Unreadable("no such month")
        month = MONTHS.index(month) + 1
    elif match := ISO_TIME.fullmatch(text):
        year, _, month, day, *clock, fraction, own_zone = match.groups()
    elif NUMBER.fullmatch(text):
        number = fractions.Fraction(text)
        unit = next((ns for most, ns in ((10**11, SECOND), (10**14, 10**6), (10**17, 10**3)) if number < most), 1)
        ns = int(number * unit)
        if not NUMBERS[0] * SECOND <= ns < NUMBERS[1] * SECOND:
            raise Unreadable("a number of something else")
        return ns
    else:
        raise Unreadable("no time")
    try:
        whole = datetime.datetime(int(year), int(month), int(day), *map(int, clock), tzinfo=datetime.timezone.utc)
    except ValueError as error:
        raise Unreadable(str(error))
    seconds = (whole - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(seconds=1)
    seconds -= offset_s(own_zone or zone)
    return in_range(seconds * SECOND + int(fractions.Fraction("0." + (fraction or ".0")[1:]) * SECOND))


def in_range(ns):
    if not 0 <= ns < FOREVER:
        raise Unreadable("before 1970 or from 2100 on")
    return ns


# ---- lines -> fields: each reader is handed the file's lines and yields (number, {field: text} or Unreadable) -----

def address(text):
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


HOST = r"[0-9A-Za-z.:_%\[\]-]+"
QUOTED = r'"(?:[^"\\]|\\.)*"'
COMBINED = re.compile(rf'(?P<head>.*? )??\[(?P<time>[0-9](?:[^\]]/|[^\]]{{3}}-)[^\]]*)\] *(?P<request>{QUOTED}) *'
                      rf'(?P<status>[0-9]{{3}}|-) +(?P<bytes>[0-9]+|-)(?: +(?P<tail>.*)| *)', re.S)
HEAD = re.compile(rf" *(?:(?P<vhost>{HOST}) +)??(?P<client>{HOST}) +(?P<ident>[^ ]+) +(?P<user>[^ ].*?) *", re.S)
FURTHER = re.compile(rf'(?P<name>[\w-]+=)(?P<named>{QUOTED})|(?P<quoted>{QUOTED})|[^ "][^ ]*')


def combined_fields(line):
    match = COMBINED.fullmatch(line)
    head = HEAD.fullmatch(match["head"] or "") if match else None
    if head and address(head["client"]) is None:
        more = head["user"].split(" ")
        if address(head["ident"]) is not None:   # the first word is a virtual host
            head = re.fullmatch(r" *(?P<vhost>[^ ]+) +(?P<client>[^ ]+) +(?P<ident>[^ ]+) +(?P<user>[^ ].*?) *",
                                 match["head"], re.S) if len(more) > 1 else None
    if not head or (" " in head["user"] and head["ident"] != "-"):
        raise Unreadable("not the shape")
    fields = {**match.groupdict(), **head.groupdict(), "request": match["request"][1:-1]}
    fields["vhost"] = fields["vhost"] or "-"
    request = re.split(" +", fields["request"].strip(" "))
    fields["method"], fields["path"], fields["protocol"] = (request + ["", ""])[:3]
    tail, further = match["tail"] or "", 0
    for name in ("referer", "agent"):
        quoted = re.match(QUOTED, tail, re.S)
        if not quoted:
            break
        fields[name], tail = quoted[0][1:-1], tail[quoted.end():].lstrip(" ")
    while found := FURTHER.match(tail):
        text, tail = found[0], tail[found.end():].lstrip(" ")
        if found["quoted"]:
            text = text[1:-1]
            fields.setdefault("xff", text)
        elif said := re.match(r"([\w-]+)=(?=.)", text):
            fields.setdefault(said[1], found["named"][1:-1] if found["named"] else text[said.end():])
        fields[f"extra[{further}]"], further = text, further + 1
    return {name: value for name, value in fields.items() if value is not None}


combined = readers.each(combined_fields)


def jsonl_fields(line):
    def flat(value, prefix, into):
        for name, inner in value.items():
            if isinstance(inner, dict):
                flat(inner, prefix + name + ".", into)
            elif isinstance(inner, bool):
                into[prefix + name] = "true" if inner else "false"
            elif isinstance(inner, str):
                into[prefix + name] = inner
        return into
    return flat(readers.object_of(line), "", {})


jsonl = readers.each(jsonl_fields)


def table(separator):
    def split(line):
        cells, at = [], 0
        while True:
            cell = ""
            if line[at:at + 1] == '"':
                at += 1
                while True:
                    end = line.find('"', at)
                    if end < 0:
                        raise Unreadable("a quote is not closed")
                    cell += line[at:end]
                    at = end + 1
                    if line[at:at + 1] != '"':
                        break
                    cell, at = cell + '"', at + 1
            end = line.find(separator, at)
            cells.append(cell + line[at:end if end >= 0 else len(line)])
            if end < 0:
                return cells
            at = end + 1

    def reader(lines):
        columns = None
        for number, line in lines:
            try:
                cells = split(line)
            except Unreadable as why:
                yield number, why
                continue
            if columns is None:
                columns = cells
            else:
                yield number, dict(zip(columns, cells))
    return reader


FORMATS = {"jsonl": jsonl, **readers.readers(combined, table(","), table("\t"))}


def format_of(line):
    if line.startswith("{"):
        return "jsonl"
    if "\t" in line:
        return "tsv"
    return "csv" if "," in line and "[" not in line else "combined"


# ---- keys and costs --------------------------------------------------------------------------------------------

def ip_key(text, bits4, bits6):
    found = address(text)
    if found is None:
        return text
    bits = bits4 if found.version == 4 else bits6
    return str(ipaddress.ip_network((found, bits), strict=False).network_address)


def key_parts(key, fields):
    for part in key.split(","):
        if re.fullmatch(r"ip(/\d+){0,2}", part):
            bits4, bits6 = 32, 128
            for bits in map(int, part.split("/")[1:]):
                bits4, bits6 = (bits, bits6) if bits <= 32 and bits4 == 32 else (bits4, bits)
            yield ip_key(client_of(fields), bits4, bits6)
        else:
            yield need(fields, [part])


def need(fields, names):
    for name in names:
        if name in fields:
            return fields[name]
    raise Unreadable(f"no {names[0]}")


def client_of(fields):
    """`client` may be an application: then any other name comes before it."""
    names = [name for name in CLIENT_FIELDS if name != "client" or address(fields.get(name, "")) is not None]
    return need(fields, [*names, "client"])


def cost_of(text):
    if text == "-":
        return 0
    if not re.fullmatch(r"\d+", text):
        raise Unreadable("no whole number")
    return int(text)


# ---- which requests are asked about ----------------------------------------------------------------------------

DECIMAL = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMPARES = {"<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b}


def parts_of(condition):
    return re.fullmatch(r"([^=!<>]+)(!=|<=|>=|=|<|>)(.*)", condition, re.S).groups()


def value_of(field, fields):
    value = client_of(fields) if field == "ip" else fields.get(field, "")
    value = value.split("?")[0] if field == "path" else value   # and one spelling, which random logs do not test
    return "" if value == "-" else value


def holds(condition, fields):
    field, compares, wanted = parts_of(condition)
    value = value_of(field, fields)
    if compares in COMPARES:
        return bool(DECIMAL.fullmatch(value)) and COMPARES[compares](float(value), float(wanted))
    pattern = "".join("*" if c == "*" else f"[{c}]" if c in "?[" else c for c in wanted)
    return fnmatch.fnmatchcase(value, pattern) == (compares == "=")


def spread(requests):
    """Those of one stamp evenly over what all stamps leave open: a second, or a tenth of it, and so on."""
    resolution = next(10**n for n in range(9, -1, -1) if all(when % 10**n == 0 for when, _, _ in requests))
    out = []
    for when, same in itertools.groupby(requests, key=lambda request: request[0]):
        same = list(same)
        out += [(when + k * resolution // len(same), who, cost) for k, (_, who, cost) in enumerate(same)]
    return out


# ---- files -> one log in order ------------------------------------------------------------------------------------

def content(path):
    data = sys.stdin.buffer.read() if path == "-" else open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-dcq"], input=data, check=True, capture_output=True).stdout
    return data


class Log:
    def __init__(self):
        self.read = self.reordered = self.clamped = self.left_out = 0
        self.with_value = []   # for each condition the lines that have a value in its field
        self.unreadable = []   # (file, line)
        self.requests = []     # (time, key, cost) in the order of decision

    def clients(self):
        return {key for _, key, _ in self.requests}


def read(paths, key="ip", cost=None, format="auto", time=None, zone="+0000", reorder=60, where=(), since=None,
         until=None, spread_out=False):
    """reorder in seconds; None is `all`. since and until in nanoseconds."""
    log = Log()
    log.with_value = [0 for _ in where]

    def asked_about(when, fields):
        for i, condition in enumerate(where):
            log.with_value[i] += value_of(parts_of(condition)[0], fields) != ""
        return (all(holds(condition, fields) for condition in where) and (since is None or since <= when) and
                (until is None or when < until))

    def requests_of(path):
        """(time, key, cost), or (None, path, line) for what cannot be read; the key of what is left out is None."""
        lines = [(n, line.removesuffix(b"\r")) for n, line in enumerate(content(path).split(b"\n"), 1)]
        log.read += len(lines) - (not lines[-1][1])   # the empty ones and a header are read too
        lines = [(n, line) for n, line in lines if line]
        long = {n for n, line in lines if len(line) > MOST_BYTES}
        lines = [(n, "" if n in long else line.decode(errors="surrogateescape")) for n, line in lines]
        if not lines:
            return
        kind = format_of(lines[0][1]) if format == "auto" else format
        for number, fields in FORMATS[kind](lines):
            try:
                if isinstance(fields, Unreadable) or number in long:
                    raise Unreadable()
                when = parse_time(need(fields, [time] if time else TIME_FIELDS), zone)
                if not asked_about(when, fields):
                    yield when, None, None
                    continue
                who = tuple(key_parts(key, fields))
                units = 1 if cost is None else cost_of(need(fields, [cost]))
                yield when, who, units
            except Unreadable:
                yield None, path, number

    # Each file gives its lines in order; next comes the one whose newest time, that line's included, is the oldest.
    files = [iter(requests_of(path)) for path in paths]
    heads = [next(each, None) for each in files]
    newest = [head[0] or 0 if head else 0 for head in heads]
    greatest, order = 0, []
    while any(heads):
        unreadable = [i for i, head in enumerate(heads) if head and head[0] is None]
        i = unreadable[0] if unreadable else min((newest[i], i) for i, head in enumerate(heads) if head)[1]
        when, who, units = heads[i]
        heads[i] = next(files[i], None)
        if heads[i]:
            newest[i] = max(newest[i], heads[i][0] or 0)
        if when is None:
            log.unreadable.append((who, units))
            continue
        if who is None:
            log.left_out += 1
            greatest = max(greatest, when)
            continue
        if when < greatest:
            if reorder is None or when >= greatest - int(reorder * SECOND):
                log.reordered += 1
            else:
                log.clamped += 1
                when = greatest
        greatest = max(greatest, when)
        order.append((when, who, units))
    log.requests = sorted(order, key=lambda request: request[0])  # stable: equal times in the log's order
    if spread_out:
        log.requests = spread(log.requests)
    return log


# ---- the algorithms: fits(now, cost), take(now, cost), and when a cost that does not fit would -----------------------

class Bucket:
    """Holds up to `burst` tokens, full at first; gains one each T ns, a fraction. It is what the GCRA decides."""

    def __init__(self, count, period, burst):
        self.limit, self.interval = burst, fractions.Fraction(period, count)
        self.level, self.at = fractions.Fraction(burst), 0

    def level_at(self, now):
        return min(self.limit, self.level + (now - self.at) / self.interval)

    def fits(self, now, cost):
        return cost <= self.level_at(now)

    def take(self, now, cost):
        self.level, self.at = self.level_at(now) - cost, now

    def next_fit(self, now, cost):
        return now + -(-(cost - self.level_at(now)) * self.interval // 1)


class FixedWindow:
    """Up to `count` in a window; it begins with the first request that it admits, or with the clock."""

    def __init__(self, count, period, aligned):
        self.limit, self.period, self.aligned = count, period, aligned
        self.start, self.used = -period, 0

    def used_at(self, now):
        return self.used if now < self.start + self.period else 0

    def fits(self, now, cost):
        return self.used_at(now) + cost <= self.limit

    def take(self, now, cost):
        self.used = self.used_at(now) + cost
        if now >= self.start + self.period:
            self.start = now - now % self.period if self.aligned else now

    def next_fit(self, now, cost):
        return self.start + self.period


class Dated:
    """Up to `count` in an hour, a day, a week, a month or a year of a zone."""
    begins = {}   # of windows, by unit, zone and year

    def __init__(self, count, unit, zone):
        self.limit, self.unit, self.zone = count, unit, zone
        self.window, self.used = (float("-inf"), 0), 0

    def window_at(self, now):
        """From the last window's begin to the next one's, in ns."""
        year = datetime.datetime.fromtimestamp(now // SECOND, datetime.timezone.utc).year
        known = (self.unit, self.zone, year)
        if known not in self.begins:
            Dated.begins[known] = [at * SECOND for at in places.Place(self.zone, year, year).begins(self.unit)]
        begins = self.begins[known]
        after = bisect.bisect_right(begins, now)
        return max(self.window, (begins[after - 1], begins[after]))

    def used_at(self, now):
        return self.used if self.window_at(now) == self.window else 0

    def fits(self, now, cost):
        return self.used_at(now) + cost <= self.limit

    def take(self, now, cost):
        self.used, self.window = self.used_at(now) + cost, self.window_at(now)

    def next_fit(self, now, cost):
        return self.window_at(now)[1]


class WindowLog:
    """Up to `count` in (now - period, now]."""

    def __init__(self, count, period):
        self.limit, self.period, self.taken = count, period, []

    def fits(self, now, cost):
        while self.taken and self.taken[0][0] <= now - self.period:
            self.taken.pop(0)
        return sum(units for _, units in self.taken) + cost <= self.limit

    def take(self, now, cost):
        self.taken.append((now, cost))

    def next_fit(self, now, cost):
        used = sum(units for _, units in self.taken)
        for at, units in self.taken:
            used -= units
            if used + cost <= self.limit:
                return at + self.period


class WindowCounter:
    """Windows of the clock; the last one's sum counts for the share of it that lies within `period` before now, in
    whole units, rounded down."""

    def __init__(self, count, period):
        self.limit, self.period, self.sums = count, period, {}

    def used_at(self, now):
        window, into = divmod(now, self.period)
        return self.sums.get(window - 1, 0) * (self.period - into) // self.period + self.sums.get(window, 0)

    def fits(self, now, cost):
        return self.used_at(now) + cost <= self.limit

    def take(self, now, cost):
        window = now // self.period
        self.sums[window] = self.sums.get(window, 0) + cost

    def next_fit(self, now, cost):
        """What is used never grows by itself, so the first moment can be searched for by halves."""
        low, high = now, now - now % self.period + 2 * self.period
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.fits(middle, cost) else (middle, high)
        return high


def limiter_of(spec):
    """(a maker of limiters, the algorithm's name) of `COUNT/PERIOD [burst N] [algorithm=NAME] [align=clock]`, or of
    `COUNT/UNIT align=calendar [tz=ZONE]`."""
    rate, *words = spec.split()
    if "align=calendar" in words:
        zone = next((word[3:] for word in words if word.startswith("tz=")), "UTC")
        count, unit = rate.split("/")
        return lambda: Dated(int(count), unit, zone), "calendar"
    count, _, duration = rate.partition("/")
    count, (number, unit) = int(count), re.fullmatch(r"([\d.]*)([a-z]+)", duration).groups()
    period = int(fractions.Fraction(number or 1) * SPEC_UNITS[unit])
    options = dict(word.split("=") for word in words if "=" in word)
    burst = int(words[words.index("burst") + 1]) if "burst" in words else count
    name = options.get("algorithm", "gcra")
    if name in ("gcra", "token_bucket", "leaky_bucket"):
        return lambda: Bucket(count, period, burst), "gcra"
    if name == "fixed_window":
        aligned = options.get("align") == "clock"
        return lambda: FixedWindow(count, period, aligned), name + (" align=clock" if aligned else "")
    return lambda: {"sliding_window_log": WindowLog, "sliding_window_counter": WindowCounter}[name](count, period), name


# ---- the report ----------------------------------------------------------------------------------------------------

class Unlimited:
    limit = float("inf")

    def fits(self, now, cost):
        return True

    def take(self, now, cost):
        pass


class Client:
    def __init__(self, limiter):
        self.limiter, self.requests, self.denied = limiter, 0, 0
        self.first_denied = self.row = None   # row: (from, the moment that ends it)


def decide(log, spec, plan_of=None):
    """What the program's --json says of one limit; `lockouts` has every row (length in ns, from, client), `decisions`
    what came of each request: a verdict and the ns after which it would pass. With plan_of, which tells the plan of a
    client, `spec` is a dict of limits by plan; "*" is the rest."""
    if plan_of:
        of_plan, algorithm = {plan: limiter_of(each)[0] for plan, each in spec.items()}, ""
        make_for = lambda who: of_plan.get(plan_of(who), of_plan.get("*", Unlimited))()
    else:
        make, algorithm = limiter_of(spec)
        make_for = lambda who: make()
    clients, admitted, lockouts, never, decisions = {}, [], [], 0, []

    def end_row(who, client):
        if client.row:
            lockouts.append((client.row[1] - client.row[0], client.row[0], who))
        client.row = None

    for order, (now, who, cost) in enumerate(log.requests):
        if who not in clients:
            clients[who] = Client(make_for(who))
        client = clients[who]
        client.requests += 1
        if cost == 0 or client.limiter.fits(now, cost):
            if cost:
                client.limiter.take(now, cost)
                admitted.append((now, cost))
            end_row(who, client)
            decisions.append(("allowed", None))
            continue
        client.denied += 1
        if client.first_denied is None:
            client.first_denied = (now, order)
        if cost > client.limiter.limit:
            never += 1
            decisions.append(("never", None))
            until = max(client.row[1], now) if client.row else now
        else:
            until = client.limiter.next_fit(now, cost)
            decisions.append(("denied", until - now))
            until = max(client.row[1], until) if client.row else until
        client.row = (client.row[0] if client.row else now, until)
    for who, client in clients.items():
        end_row(who, client)

    hit = [(who, client) for who, client in clients.items() if client.denied]
    hit.sort(key=lambda pair: (-pair[1].denied, pair[1].first_denied[0],
                               shown(pair[0]).encode("utf-8", "surrogateescape")))
    classes = power_classes(client.requests for client in clients.values())
    classes_hit = power_classes(client.requests for _, client in hit)
    denied = sum(client.denied for _, client in hit)
    longest = max((length for length, _, _ in lockouts), default=0)
    return {
        "algorithm": algorithm, "requests": len(log.requests), "allowed": len(log.requests) - denied,
        "denied": denied, "never": never, "units_admitted": sum(units for _, units in admitted),
        "clients_denied": len(hit), "longest_locked_out_ns": longest, "lockouts": lockouts, "decisions": decisions,
        "peak_admitted_second": peak(admitted, SECOND), "peak_admitted_minute": peak(admitted, 60 * SECOND),
        "worst": [{"client": shown(who), "requests": client.requests, "denied": client.denied,
                   "first_denied": utc(client.first_denied[0])} for who, client in hit],
        "distribution": classes, "distribution_denied": classes_hit + [0] * (len(classes) - len(classes_hit)),
    }


def peak(admitted, span):
    """The greatest sum in any [t, t + span): one of them begins with a request."""
    times, sums = [now for now, _ in admitted], [0]
    for _, units in admitted:
        sums.append(sums[-1] + units)
    return max((sums[bisect.bisect_left(times, now + span)] - sums[bisect.bisect_left(times, now)] for now in times),
               default=0)


def power_classes(counts):
    """[how many are 1, 2 or 3, 4 to 7, ...]"""
    classes = []
    for count in counts:
        of = count.bit_length() - 1
        classes += [0] * (of + 1 - len(classes))
        classes[of] += 1
    return classes


def shown(who):
    return " ".join(who)


def utc(ns):
    return datetime.datetime.fromtimestamp(ns // SECOND, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def report(paths, limits, **options):
    log = read(paths, **options)
    return {
        "lines": {"read": log.read, "requests": len(log.requests), "reordered": log.reordered,
                  "clamped": log.clamped, "unreadable": len(log.unreadable), "left_out": log.left_out},
        "with_value": log.with_value,
        "unreadable": log.unreadable,
        "from": utc(log.requests[0][0]) if log.requests else None,
        "to": utc(log.requests[-1][0]) if log.requests else None,
        "clients": len(log.clients()), "units": sum(cost for _, _, cost in log.requests),
        "limits": [decide(log, spec) for spec in limits],
    }


def reorder_seconds(text):
    if text == "all":
        return None
    number, unit = re.fullmatch(r"([\d.]+)([a-z]*)", text).groups()
    return fractions.Fraction(number) * fractions.Fraction(SPEC_UNITS[unit] if unit else SECOND, SECOND)


def main():
    parser = argparse.ArgumentParser(description="what weir replay --json ought to say")
    parser.add_argument("logs", nargs="+")
    parser.add_argument("--limit", action="append", default=[])
    for name, default in (("key", "ip"), ("cost", None), ("format", "auto"), ("time", None), ("zone", "+0000"),
                          ("reorder", "60s")):
        parser.add_argument("--" + name, default=default)
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--since", type=int, help="nanoseconds")
    parser.add_argument("--until", type=int, help="nanoseconds")
    parser.add_argument("--spread", action="store_true", dest="spread_out")
    options = vars(parser.parse_args())
    options["reorder"] = reorder_seconds(options["reorder"])
    answer = report(options.pop("logs"), options.pop("limit"), **options)
    for limit in answer["limits"]:
        limit["lockouts"] = sorted(limit["lockouts"], key=lambda row: -row[0])[:3]
        limit["worst"] = limit["worst"][:10]
        del limit["decisions"]
    print(json.dumps(answer, indent=1))


if __name__ == "__main__":
    main()
