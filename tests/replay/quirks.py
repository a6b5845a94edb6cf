"""Random access logs with the quirks of real ones, and random questions about them: make(seed, folder) -> Case.

What is in them and where it was seen: seconds shuffled within a minute (the elastic sample), lines late by minutes
(nginx and Apache write at the end), probes with binary rubbish and escaped quotes, lines cut off in the middle,
offsets that change in spring and autumn, local times without one, a virtual host as the first word, log rotation, gzip of
several members (`cat *.gz`), JSON as Caddy, Traefik and jq write it, CSV and TSV as databases export them.
"""
import dataclasses
import datetime
import gzip
import ipaddress
import json
import os
import random
import subprocess

SECOND = 10**9
CLF_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
REQUESTS = ["GET / HTTP/1.1", "GET /a/b?c=d,e HTTP/1.0", "POST /login HTTP/2.0",
            "HEAD /%00%2e%2e/ HTTP/1.1", "OPTIONS * HTTP/1.1", "GET /[x]/{y} HTTP/1.1", "GET /é HTTP/1.1"]
RUBBISH = [r"\x16\x03\x01\x02", "-", "", "GET", r"GET /\"><script> HTTP/1.1", "GET /with space HTTP/1.1",
           r"\\", r"GET /\\\" HTTP/1.1",
           "\udc80\udcff\x01\x1b[31m", "\u202e"]
AGENTS = ["curl/8.5", "-", r"a \"quoted\" one", "Mozilla/5.0 (X11; Linux) [en]", r"O:21:\"JDatabase\";s:2:\"\\0\\0\";}"]


def is_address(text):
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False


@dataclasses.dataclass
class Case:
    files: list          # paths
    options: dict        # of oracle.read
    limits: list
    arguments: list      # of the program, without the files and limits
    kind: str


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, of):
        return self.random.random() < of

    def pick(self, *things):
        return self.random.choice(things)

    # ---- who came when, and what is asked ------------------------------------------------------------------------

    def addresses(self, how_many):
        whole = []
        for n in range(how_many):
            v4 = f"192.0.2.{self.random.randrange(24)}"
            v6 = ipaddress.IPv6Address(f"2001:db8:{self.random.randrange(2)}:{self.random.randrange(3)}::"
                                       f"{self.random.randrange(4):x}")
            mapped = self.pick(f"::ffff:{v4}", f"::FFFF:{v4}", "0:0:0:0:0:ffff:c000:2%02x" % int(v4.split(".")[-1]))
            spelt = self.pick(str(v6), v6.exploded, str(v6).upper())
            host = self.pick("localhost", "crawler.example.org", "Host-7.Example", "unknown", "192.0.2.1.example",
                             "192.0.2.256", "192.0.2", "2001:db8:::1")
            whole.append(self.random.choices((v4, spelt, mapped, host), (6, 4, 1, 1))[0])
        return whole

    def times(self, how_many):
        """Rising times in nanoseconds, in spells; whole seconds unless the log has finer ones."""
        span = self.pick(20, 600, 3 * 3600, 30 * 86400)
        start = self.pick(0, 1, 951_782_390, 1_111_888_790, 1_431_857_100, 1_457_852_000, 1_477_789_000,
                          2_000_000_000, 4_102_444_800 - 31 * 86400)
        at, out = start * SECOND, []
        while len(out) < how_many:
            at += int(self.random.expovariate(1) * span * SECOND * 6 / how_many)
            spell = self.random.randrange(1, 12)
            step = self.pick(0, 1, 10**6, SECOND // 3, SECOND, 7 * SECOND)
            out += [at + n * step for n in range(spell)]
            at = out[-1]
        self.step = self.pick(SECOND, SECOND, SECOND, 10**6, 1)
        last = 4_102_444_800 * SECOND - 1
        return sorted(min(t, last) // self.step * self.step for t in out[:how_many])

    def disorder(self, times):
        """The times in the order in which they are written."""
        how = self.pick("sorted", "end", "end", "minutes", "late", "days")
        if how == "end":
            return sorted(times, key=lambda t: t + self.random.expovariate(1 / 5) * SECOND)
        if how == "minutes":
            return sorted(times, key=lambda t: (t // (60 * SECOND), self.random.random()))
        if how == "late":
            return sorted(times, key=lambda t: t + self.chance(0.1) * self.random.random() * 3600 * SECOND)
        if how == "days":
            middle = self.random.randrange(len(times))
            return times[middle:] + times[:middle]
        return times

    def limit(self, big):
        count = self.pick(1, 1, 2, 3, 5, 7, 10, 30)
        scale = self.pick(1, 100, 4096, 10**6) if big else 1
        period = self.pick("s", "10s", "min", "h", "250ms", "7s", "90s", "1.5min", "d")
        if count * scale > 10**5 and period in ("250ms", "s", "7s", "10s"):
            period = "min"
        text = f"{count * scale}/{period}"
        if self.chance(0.15):
            return (f"{count * scale}/" + self.pick("hour", "day", "week", "month", "year") + " align=calendar" +
                    self.pick("", " tz=Europe/Berlin", " tz=America/St_Johns", " tz=Australia/Lord_Howe", " tz=Asia/Kolkata"))
        if self.chance(0.4):
            return text + self.pick("", f" burst {self.pick(1, 2, 4, 20) * scale}", " algorithm=gcra",
                                    " algorithm=token_bucket", f" burst {3 * scale} algorithm=leaky_bucket")
        return text + " algorithm=" + self.pick("fixed_window", "fixed_window align=clock", "sliding_window_log",
                                                "sliding_window_counter")

    # ---- lines ---------------------------------------------------------------------------------------------------

    def fraction(self, ns, always=False):
        digits = {SECOND: 0, 10**6: 3, 1: 9}[self.step]
        rest = f"{ns % SECOND:09}"[:digits]
        return "." + rest if rest else self.pick("", "", ".0", ".000") if self.extra_zeros else ""

    def civil(self, ns):
        """(local time, the offset as text), whose difference is the time."""
        zone = self.pick(*self.zones)
        offset = 0 if zone in ("", "Z") else (1 if zone[0] == "+" else -1) * (int(zone[1:3]) * 60 + int(zone[-2:]))
        if zone == "":
            offset = self.default_offset
        seconds = ns // SECOND + offset * 60
        if not 0 <= seconds:
            seconds, zone = ns // SECOND, "+0000"
        return datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds), zone

    def clf_time(self, ns):
        at, zone = self.civil(ns)
        text = f"{at.day:02}/{CLF_MONTHS[at.month - 1]}/{at.year}:{at:%H:%M:%S}{self.fraction(ns)}"
        return text + (" " + ("+0000" if zone == "Z" else zone.replace(":", "")) if zone else "")

    def iso_time(self, ns):
        at, zone = self.civil(ns)
        return f"{at:%Y-%m-%d}{self.pick('T', ' ')}{at:%H:%M:%S}{self.fraction(ns)}{zone}"

    def number_time(self, ns):
        """A number of the coarsest unit that keeps the time, and whose size says its unit, where one counts as a time."""
        if not 946_684_800 * SECOND <= ns < 3_471_292_800 * SECOND:
            return self.iso_time(ns)
        for unit, least, most in ((SECOND, 0, 10**11), (10**6, 10**11, 10**14), (10**3, 10**14, 10**17),
                                  (1, 10**17, 1 << 63)):
            if ns % unit == 0 and least <= ns // unit < most and self.chance(0.6):
                return str(ns // unit)
        return f"{ns // SECOND}" + (f".{ns % SECOND:09}".rstrip("0") if ns % SECOND else "")

    def any_time(self, ns):
        return self.pick(self.clf_time, self.iso_time, self.number_time)(ns)

    def size(self):
        return self.pick("-", "0", "1", "17", "512", "4096", str(self.random.randrange(20_000)), "1000000000000")

    def combined(self, ns, who):
        user = self.pick("-", "-", "ann", "bob", '""', "Ann Lee")
        request = self.pick(*REQUESTS) if self.chance(0.8) or self.path_is_key else self.pick(*RUBBISH)
        line = f'{who} - {user} [{self.clf_time(ns)}] "{request}" {self.pick(200, 404, 500)} {self.size()}'
        if not self.common:
            line += f' "{self.pick("-", "http://example.org/?q=[1]")}" "{self.pick(*AGENTS)}"'
        if self.vhosts:
            line = self.pick("example.org:443 ", "www.example.org ", "default:80 ") + line
        return line + (self.pick(" 0.003", ' "-" 0.1 0.2 .', ' rt=1 "x y"') if self.extra_fields else "")

    def spoil_combined(self, line):
        how = self.pick("cut", "no time", "bad month", "bad day", "rubbish", "too old", "too new")
        head, _, tail = line.partition("[")
        time, _, tail = tail.partition("]")
        return {"cut": line[:self.random.randrange(1, len(head) + 1 + len(time))], "no time": head + tail,
                "bad month": f"{head}[{time[:3]}Foo{time[6:]}]{tail}", "bad day": f"{head}[31/Feb{time[6:]}]{tail}",
                "rubbish": "\x16\x03\x01 \udcfe\udcff", "too old": f"{head}[31/Dec/1969:23:59:59 +0000]{tail}",
                "too new": f"{head}[01/Jan/2100:00:00:00 +0000]{tail}"}[how]

    def json(self, ns, who):
        def text(value):
            quoted = json.dumps(value, ensure_ascii=self.chance(0.5))
            return quoted.replace("/", "\\/") if self.chance(0.2) else quoted
        when = self.any_time(ns)
        when = when if when.replace(".", "").isdigit() and self.chance(0.8) else text(when)
        address = text(who)
        if self.chance(0.1):
            address = '"' + "".join(f"\\u{ord(c):04{self.pick('x', 'X')}}" for c in who) + '"'
        size = self.size()
        members = [f'"{self.time_name}": {when}', f'"status": {self.pick(200, 404)}',
                   f'"user": {text(self.pick("ann", "bob", "é", "a b", "😀", "-"))}',
                   f'"bytes": {size if size != "-" and self.chance(0.5) else text(size)}']
        members += [f'"request": {{"remote_ip": {address}, "uri": "/", "headers": {{"x": ["1", "{{"]}}}}'] \
            if self.nested else [f'"{self.client_name}": {address}']
        members += [f'"client": {text(self.application())}'] * self.applications
        members += self.random.sample(['"msg": "a \\"quoted\\" } one"', '"tags": [1, [2, {"time": 3}]]', '"ok": true',
                                       '"nothing": null', '"level":"info"', '"duration": 1.5e-3', '"": {}'],
                                      self.random.randrange(4))
        self.random.shuffle(members)
        space = self.pick("", " ")
        return "{" + space + f",{space}".join(members) + space + "}" + self.pick("", "", " ")

    def spoil_json(self, line):
        how = self.pick("cut", "no time", "no client", "rubbish", "bad time")
        return {"cut": line[:self.random.randrange(1, len(line) // 2)],
                "no time": line.replace(f'"{self.time_name}"', '"other"'),
                "no client": line.replace(f'"{self.client_name}"', '"other"').replace('"remote_ip"', '"remote_op"'),
                "rubbish": self.pick("panic: oh no", '[1, 2]', '"x"', "null", "\udcff\udcfe"),
                "bad time": '{"%s": "yesterday", "%s": "192.0.2.1", "request": {"remote_ip": "192.0.2.1"}}' % (
                    self.time_name, self.client_name)}[how]

    def application(self):
        return self.pick("shop", "shop", "app 2", "", "-", "192.0.2.77", "2001:db8::9")

    def row(self, ns, who):
        cells = {"user": self.pick("ann", "bob, the", 'the "c"', "a\tb" if self.separator == "," else "a,b", ""),
                 self.time_name: self.any_time(ns), "client": self.application(), self.client_name: who,
                 "bytes": self.size(), "status": "200"}
        return self.cells(cells[name] for name in self.columns)

    def cells(self, cells):
        quote = lambda cell: '"' + cell.replace('"', '""') + '"'
        needs = lambda cell: self.separator in cell or '"' in cell
        return self.separator.join(quote(c) if needs(c) or self.chance(0.1) else c for c in cells)

    def spoil_row(self, line):
        how = self.pick("cut", "rubbish", "bad time")
        return {"cut": self.separator.join(line.split(self.separator)[:1])[:3], "rubbish": "x",
                "bad time": self.separator.join("yesterday" for _ in self.columns)}[how]

    # ---- files -----------------------------------------------------------------------------------------------------

    def pack(self, data):
        how = self.pick("plain", "plain", "gzip", "zstd")
        cut = self.random.randrange(len(data) + 1)
        parts = [data[:cut], data[cut:]] if self.chance(0.5) else [data]
        if how == "gzip":
            return b"".join(gzip.compress(part, mtime=0) for part in parts)
        if how == "zstd":
            return b"".join(subprocess.run(["zstd", "-qc"], input=part, capture_output=True, check=True).stdout
                            for part in parts)
        return data

    def make(self, folder, how_many):
        kind = self.pick("combined", "combined", "combined", "jsonl", "csv", "tsv")
        self.common, self.vhosts, self.extra_fields = self.chance(0.3), self.chance(0.2), self.chance(0.2)
        self.extra_zeros, self.nested = self.chance(0.3), self.chance(0.4)
        self.default_zone = self.pick("+0000", "+0000", "+0100", "-0730")
        self.default_offset = {"+0000": 0, "+0100": 60, "-0730": -450}[self.default_zone]
        self.zones = self.pick(["+0000"], ["+0000"], ["-0500", "-0400"], ["+0530"], [""], ["+01:00", "Z"],
                               ["", "-0330", "+0000"])
        self.time_name = self.pick("time", "timestamp", "@timestamp", "ts", "time_iso8601", "time_local", "msec",
                                   "date", "datetime")
        self.client_name = self.pick("client", "ip", "client_ip", "remote_addr", "remote_ip", "clientip", "remote_host")
        asks_time = asks_client = False
        if kind != "combined" and self.chance(0.2):
            self.time_name, asks_time = "when", True
        if kind != "combined" and self.chance(0.2) and not (kind == "jsonl" and self.nested):
            self.client_name, asks_client = "who", True
        self.separator = {"csv": ",", "tsv": "\t"}.get(kind)
        # Mostly an application, which gives way to the address beside it.
        self.applications = self.client_name not in ("client", "ip", "who") and self.chance(0.4)
        self.columns = ["user", self.time_name, self.client_name, "bytes", "status"] + ["client"] * self.applications
        self.random.shuffle(self.columns)

        key = "who" if asks_client else self.pick("ip", "ip", "ip", "ip/64", "ip/24", "ip/24/64", "ip/48", "user",
                                                  "ip,user", "status,ip/16/32", "path", "ip/64,method")
        if kind != "combined" and ("path" in key or "method" in key):
            key = "ip"
        if "user" in key and self.chance(0.3):
            key = key.replace("user", "status")
        self.path_is_key = "path" in key or "method" in key
        cost = self.pick(None, None, "bytes", "bytes", "status")
        reorder = self.pick(60, 60, 60, 0, 5, 3600, None)
        options = {"key": key, "cost": cost, "reorder": reorder, "zone": self.default_zone,
                   "time": "when" if asks_time else None, "format": kind if self.chance(0.2) else "auto"}
        arguments = ["--key", key, "--zone=" + self.default_zone,
                     "--reorder", "all" if reorder is None else f"{reorder}s"]
        for name in ("cost", "time", "format"):
            if options[name] not in (None, "auto"):
                arguments += ["--" + name, options[name]]

        times = self.disorder(self.times(how_many))
        self.ask_about_some(kind, times, options, arguments)
        crowd = self.addresses(self.pick(1, 3, 12, 60))
        if self.vhosts and kind == "combined":
            crowd = [who for who in crowd if is_address(who)] or ["192.0.2.1"]
        write = {"combined": self.combined, "jsonl": self.json}.get(kind, self.row)
        spoil = {"combined": self.spoil_combined, "jsonl": self.spoil_json}.get(kind, self.spoil_row)
        spoilt = self.pick(0, 0, 0.02, 0.2)
        files, parts = [], self.split(times)
        for number, part in enumerate(parts):
            lines = [write(ns, self.pick(*crowd)) for ns in part]
            lines = [lines[0]] + [spoil(line) if self.chance(spoilt) else line for line in lines[1:]]
            if self.separator:
                lines.insert(0, self.cells(self.columns))
            if kind == "combined" and cost is None and not self.path_is_key:   # a line that broke off in its agent
                lines[1:] = [line.rstrip()[:-1] if self.chance(0.02) else line for line in lines[1:]]
            for _ in range(self.pick(0, 0, 3)):
                lines.insert(self.random.randrange(len(lines) + 1), "")
            end = self.pick("\n", "\n", "\n", "\r\n")
            text = end.join(lines) + self.pick(end, end, "")
            path = os.path.join(folder, f"{number}.log")
            with open(path, "wb") as out:
                out.write(self.pack(text.encode(errors="surrogateescape")))
            files.append(path)
        limits = [self.limit(cost is not None) for _ in range(self.pick(1, 3, 5, 16))]
        return Case(files, options, limits, arguments, kind)

    def ask_about_some(self, kind, times, options, arguments):
        """Conditions, spans and --spread: of every third log."""
        if self.chance(0.3):
            fields = {"status": ["=200", "!=404", "=4*", ">=404", "<404"],
                      "user": ["=ann", "!=ann", "=", "!=", "=*b*", "!=A*e"],
                      "bytes": [">512", "<=512", ">=0", "!=17", "<1e4", "=5*2"]}
            if kind == "combined":
                fields["path"] = ["=/a/*", "!=/a/b", "=*"]
            options["where"] = [name + self.pick(*fields[name]) for name in
                                self.random.sample(sorted(fields), self.pick(1, 1, 2))]
            arguments += [word for each in options["where"] for word in ("--where", each)]
        for name in ("since", "until"):
            if self.chance(0.15):
                at = max(0, self.pick(*times) + self.pick(0, 0, 1, -1, SECOND))
                options[name] = at
                whole = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=at // SECOND)
                arguments.append(f"--{name}={whole:%Y-%m-%dT%H:%M:%S}.{at % SECOND:09}Z")
        if options.get("since", 0) >= options.get("until", 1 << 63):
            del options["since"]
            arguments[:] = [word for word in arguments if not word.startswith("--since")]
        if self.chance(0.2):
            options["spread_out"] = True
            arguments.append("--spread")

    def split(self, times):
        how = self.pick("one", "one", "one", "rotated", "beside")
        if how == "one" or len(times) < 8:
            return [times]
        if how == "rotated":
            cut = sorted(self.random.sample(range(1, len(times)), 2))
            parts = [times[:cut[0]], times[cut[0]:cut[1]], times[cut[1]:]]
        else:
            parts = [[], [], []]
            for ns in times:
                self.pick(*parts).append(ns)
        self.random.shuffle(parts)
        return [part for part in parts if part]


def make(seed, folder, how_many=None):
    maker = Maker(seed)
    return maker.make(folder, how_many or maker.pick(2, 30, 200, 400, 800))
