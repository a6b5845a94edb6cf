"""The same random requests in every format: the program finds the format, and each of its numbers is the oracle's.

WEIR_SEED=N runs one seed alone.
"""
import csv
import datetime
import io
import json
import random
import re
import unittest
import zoneinfo

import make_formats
import oracle
from program import Folder, answer, run, weir
from test_agreement import differences
import chance

LIMITS = ["3/s", "20/min burst 4", "100/h algorithm=fixed_window"]


def requests_of(seed, whole_seconds):
    chooser = random.Random(seed)
    now = chooser.randrange(1_500_000_000, 1_900_000_000) * 10**9
    crowd = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::9", "198.51.100.3"]
    out = []
    for _ in range(200):
        now += chooser.choice((0, 0, 10**6, 250 * 10**6, 10**9, 40 * 10**9))
        out.append((now // 10**9 * 10**9 if whole_seconds else now, chooser.choice(crowd), chooser.choice(("GET", "POST")),
                    chooser.choice(("/", "/v1/items?page=2", "/login")), chooser.choice((200, 404, 429)),
                    chooser.randrange(20_000)))
    return out


# What is in nobody's log, whatever the format is.
RUBBISH = ["panic: oh no", "\x16\x03\x01", "null", "[1, 2]", "{", "-", "GET / HTTP/1.1", '"', "yesterday 192.0.2.1 GET /",
           "Nov 21 05:49:47 web systemd[1]: Started.", "2026-11-21T05:49:47Z stderr F listening on :80",
           '{"log":"ready\\n","stream":"stderr","time":"2026-11-21T05:49:47Z"}', '{"level":"info","msg":"serving"}']


def spoilt(chooser, line):
    """A line that broke off, or has another time or a word too few; some can still be read. JSON loses no
    word: the program skips what nobody asks for, without a look at it."""
    how = chooser.choice(("cut", "time", "rubbish") + (() if "{" in line and "}" in line else ("word",)))
    if how == "cut":
        return line[:chooser.randrange(1, len(line))]
    if how == "time":
        return re.sub(r"20\d\d|\b1[5-8]\d{8}", "yesterday", line)
    if how == "word":
        words = line.split(" ")
        del words[chooser.randrange(len(words))]
        return " ".join(words) or "-"
    return chooser.choice(RUBBISH)


class Formats(unittest.TestCase):
    def agrees(self, name, lines, *arguments, **options):
        """With the oracle, which reads the same lines by itself."""
        with Folder() as folder:
            log = folder.file("access.log", "\n".join(lines) + "\n")
            asked = [word for limit in LIMITS for word in ("--limit", limit)]
            said = answer("replay", log, *asked, "--worst", 5, *arguments)
            wrong = differences(said, oracle.report([log], LIMITS, reorder=60, format=name, **options), 5)
            shown = ["", *(f"{each['line']}: {each['why']}" for each in said["lines"]["unreadable_examples"])]
            self.assertEqual(wrong, [], f"{name}:\n" + "\n".join(lines[:20]) + "\n".join(shown))

    def compare(self, name, requests, lines, *arguments, **options):
        """With the oracle's numbers of the same requests in another format."""
        with Folder() as folder:
            log = folder.file("access.log", "\n".join(lines) + "\n")
            plain = folder.file("plain.log", "\n".join(make_formats.WRITERS["combined"](requests)) + "\n")
            asked = [word for limit in LIMITS for word in ("--limit", limit)]
            said = answer("replay", log, *asked, "--worst", 5, *arguments)
            wanted = oracle.report([plain], LIMITS, reorder=60, **options)
            wanted["lines"]["read"] = len(lines)
            wrong = differences(said, wanted, 5)
            self.assertEqual(wrong, [], f"{name}: {lines[-1]}")

    def test_random_logs_of_all_formats(self):
        for seed in chance.seeds(1):
            for name, write in make_formats.WRITERS.items():
                with self.subTest(name, seed=seed):
                    requests = requests_of(seed, name in make_formats.WHOLE_SECONDS)
                    lines = write(requests)
                    self.compare(name, requests, lines)
                    self.agrees(name, lines, "--key", "ip/24/64", "--cost", "bytes", key="ip/24/64", cost="bytes")
                    if name not in make_formats.WITHOUT_STATUS:
                        self.agrees(name, lines, "--key", "status,method", key="status,method")
                        self.agrees(name, lines, "--key", "path", "--where", "status!=404", key="path", where=["status!=404"])

    def test_lines_that_are_almost_it(self):
        for seed in chance.seeds(3):
            for name, write in make_formats.WRITERS.items():
                with self.subTest(name, seed=seed):
                    chooser = random.Random(f"{seed} {name}")
                    lines = list(write(requests_of(seed, name in make_formats.WHOLE_SECONDS)))
                    lines = lines[:2] + [spoilt(chooser, line) if chooser.random() < 0.3 and not line.startswith("#") else line
                                         for line in lines[2:]]
                    self.agrees(name, lines)

    def test_what_is_inside_is_named_by_its_path(self):
        requests = requests_of(1, False)
        with Folder() as folder:
            log = folder.file("access.log", "\n".join(make_formats.WRITERS["caddy"](requests)) + "\n")
            said = answer("replay", log, "--limit", "1/s", "--key", "request.headers.X-Api-Key[1]")
            self.assertEqual((said["clients"], said["lines"]["requests"]), (1, 200))
            code, _, errors = weir("replay", log, "--limit", "1/s", "--key", "request.headers.X-Api-Token[0]")
            self.assertEqual(code, 2)
            self.assertIn("there is no field request.headers.X-Api-Token[0] (--key chooses another); the fields are "
                          "level, ts, msg, request.remote_ip, request.remote_port, request.proto, request.method, "
                          "request.host, request.uri, request.headers.User-Agent[0], request.headers.X-Api-Key[0], "
                          "request.headers.X-Api-Key[1], size, status", errors)

    def test_words_before_the_first_request_do_not_hide_the_format(self):
        requests = requests_of(2, False)
        for name in ("combined", "haproxy", "caddy", "docker"):
            with self.subTest(name), Folder() as folder:
                lines = ["Starting, please wait", "worker 1, worker 2: up"] + make_formats.WRITERS[name](requests)
                log = folder.file("access.log", "\n".join(lines) + "\n")
                said = answer("replay", log, "--limit", "1/s")
                self.assertEqual((said["lines"]["requests"], said["lines"]["unreadable"]), (200, 2))

    def test_names_of_columns_that_lack_a_wanted_one(self):
        with Folder() as folder:
            log = folder.file("access.log", "#Version: 1.0\n#Fields: date time c-ip\n2026-11-21 05:49:47 192.0.2.1\n")
            code, out, errors = weir("replay", log, "--limit", "1/s", "--key", "tenant")
            self.assertEqual((code, out), (2, ""))
            self.assertEqual(errors, f"weir: {log}: there is no field tenant (--key chooses another); the fields are c-ip, "
                                     "time\n")

    def test_what_weir_formats_says(self):
        requests = requests_of(3, False)
        for name, format, wrapper in (("haproxy", "haproxy", None), ("syslog of json", "jsonl", "syslog"),
                                      ("cri", "combined", "cri"), ("alb", "alb", None), ("zeek", "zeek", None)):
            with self.subTest(name), Folder() as folder:
                log = folder.file("access.log", "\n".join(make_formats.WRITERS[name](requests)) + "\n")
                said = answer("formats", log)
                self.assertEqual((said["format"], said["wrapper"], said["known"]), (format, wrapper, True))
                self.assertEqual((said["lines"], said["requests"]), (200, 200))
                self.assertEqual(said["times"], "milliseconds")
                self.assertEqual(said["keys"][0], {"key": "ip", "different": 5})
                self.assertEqual(said["run"], f"weir suggest {log} --deny-clients 0.1%")
                status, = (each for each in said["fields"] if each["name"] in ("status", "response.status", "status_code",
                                                                              "elb_status_code"))
                self.assertEqual((status["lines"], status["different"]), (200, 3))
                code, out, errors = weir("formats", log)
                self.assertEqual((code, errors), (0, ""))
                self.assertTrue(out.endswith(f"run: weir suggest {log} --deny-clients 0.1%\n"), out)

    def test_the_command_for_a_log_after_a_proxy(self):
        lines = "".join(f'10.0.0.1 - - [21/Nov/2026:05:49:47 +0000] "GET / HTTP/1.1" 200 1 "-" "curl" "192.0.2.{n}"\n'
                        for n in range(9))
        with Folder() as folder:
            log = folder.file("access.log", lines)
            said = answer("formats", log)
            self.assertEqual(said["keys"], [{"key": "xff[-1]", "different": 9}, {"key": "ip", "different": 1}])
            self.assertEqual(said["run"], f"weir suggest {log} --key 'xff[-1]' --deny-clients 0.1%")
            self.assertEqual(answer("replay", log, "--limit", "1/s", "--key", "xff[-1]")["clients"], 9)

    def test_a_file_that_is_not_a_log(self):
        with Folder() as folder:
            log = folder.file("notes.txt", "Buy milk\n")
            code, out, _ = weir("formats", log)
            self.assertEqual(code, 2)
            self.assertTrue(out.startswith(f"{log}: combined: no line has the shape of a known format\n"
                                           "0 of the first 1 lines are requests\n"), out)

    def test_a_file_that_is_not_text(self):
        with Folder() as folder:
            for content in (b"\x7fELF\2\1\1" + bytes(100), b"a\0"):
                file = folder.file("program", content)
                self.assertEqual(weir("formats", file), (2, "", f"weir: {file}: is not text; a log is lines of text, plain "
                                                                "or compressed by gzip or zstd\n"))

    def test_a_header_alone(self):
        with Folder() as folder:
            for header in ("time,ip", "#Fields: date time c-ip"):
                log = folder.file("a.csv", header + "\n")
                code, out, errors = weir("formats", log)
                self.assertEqual((code, errors), (2, ""))
                self.assertIn("\nthere are no lines but headers\n", out)


class Times(unittest.TestCase):
    """Against Python's own zones and strftime."""
    ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo",
             "Africa/Casablanca", "Pacific/Apia", "Asia/Tehran", "Europe/London", "Europe/Dublin", "Antarctica/Troll")
    FORMATS = ("%d.%m.%Y %H:%M:%S", "%a %b %d %H:%M:%S %Y", "%B %d, %Y %I:%M:%S %p", "%Y%m%dT%H%M%S", "%y%m%d %H:%M:%S",
               "%d/%b/%Y:%H:%M:%S %z", "%A, %d %B %Y at %H.%M.%S", "%F %T", "%m/%d/%Y %I:%M:%S%p")

    def read(self, texts, *arguments):
        """Seconds since 1970 of each text, in rising order."""
        with Folder() as folder:
            log = folder.file("some.jsonl", "".join(json.dumps({"at": each, "ip": "192.0.2.1"}) + "\n" for each in texts))
            code, out, errors = weir("replay", log, "--limit", "1/s", "--time", "at", "--reorder", "all", "--decisions", "-",
                                     *arguments)
            self.assertEqual(code, 0, errors)
        rows = list(csv.DictReader(io.StringIO(out)))
        return [int(datetime.datetime.fromisoformat(row["time"][:19] + "+00:00").timestamp()) for row in rows]

    def instants(self, chooser):
        return sorted(chooser.randrange(946_684_800, 2_145_916_800) for _ in range(400))

    def test_of_places(self):
        for seed in chance.seeds(2):
            for name in self.ZONES:
                with self.subTest(name, seed=seed):
                    zone = zoneinfo.ZoneInfo(name)
                    local = [datetime.datetime.fromtimestamp(at, zone) for at in self.instants(random.Random(f"{seed} {name}"))]
                    once = [at for at in local if at.replace(fold=0).timestamp() == at.replace(fold=1).timestamp()]
                    self.assertEqual(self.read([f"{at:%Y-%m-%dT%H:%M:%S}" for at in once], "--zone", name),
                                     sorted(int(at.timestamp()) for at in once))

    def test_in_every_form(self):
        for seed in chance.seeds(2):
            for form in self.FORMATS:
                with self.subTest(form, seed=seed):
                    instants = self.instants(random.Random(f"{seed} {form}"))
                    texts = [datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime(form) for at in instants]
                    self.assertEqual(self.read(texts, "--time-format", form), instants)


if __name__ == "__main__":
    run(600)
