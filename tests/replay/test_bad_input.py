"""What `weir replay` says when something is wrong: with the log, with what was asked, with where it has to write."""
import bz2
import contextlib
import fcntl
import gzip
import json
import lzma
import os
import pathlib
import pty
import re
import resource
import select
import shlex
import signal
import stat
import struct
import subprocess
import termios
import time
import unittest

from program import EXAMPLE_LOG, PATIENCE, WEIR, Folder, answer, environment, line, run, until, weir

LIMIT = ("--limit", "10/min")


def zstd(data):
    return subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout


class BadInput(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.good = self.folder.file("good.log", "".join(line(n) for n in range(30)))

    def log(self, content, name="some.log"):
        return self.folder.file(name, content)

    def fails(self, *args, names, command="replay", code=2, silent=True, **options):
        """Ends with `code` and a message that has all of `names` in it; returns the message."""
        got, out, errors = weir(command, *args, **options)
        self.assertEqual(got, code, (out, errors))
        if silent:
            self.assertEqual(out, "")
        self.assertTrue(errors.startswith("weir: "), errors)
        self.assertTrue(errors.endswith("\n"), errors)
        for word in ("terminate called", "Sanitizer", "runtime error", "\x1b"):
            self.assertNotIn(word, errors)
        for name in names:
            self.assertIn(str(name), errors)
        return errors


class Logs(BadInput):
    def test_nothing_to_read(self):
        for what, path, words in (("empty", self.log("", "no.bytes"), ["contains no requests"]),
                                  ("empty lines", self.log("\n\n\r\n"), ["contains no requests"]),
                                  ("folder", self.folder.path, ["directory"]),
                                  ("missing", self.folder.file("no.log"), ["No such file"]),
                                  ("below a file", self.good + "/x.log", ["Not a directory"])):
            with self.subTest(what):
                self.fails(path, *LIMIT, names=[os.path.basename(path), *words], silent="empty" not in what)

    def test_a_good_log_does_not_hide_a_missing_one(self):
        self.fails(self.good, self.folder.file("no.log"), *LIMIT, names=["no.log", "No such file"])

    def test_an_empty_log_beside_a_good_one(self):
        self.assertEqual(answer("replay", self.log(""), self.good, *LIMIT)["lines"]["requests"], 30)

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_without_permission(self):
        os.chmod(self.good, 0)
        self.fails(self.good, *LIMIT, names=[self.good, "Permission denied"])

    def test_a_binary_file(self):
        content = bytes(n * 7 % 256 for n in range(100_000))
        errors = self.fails(self.log(content), *LIMIT, names=["some.log", "--format"], silent=False)
        self.assertNotRegex(errors, r"[\x00-\x09\x0b-\x1f\x7f]")

    def test_a_log_of_another_format(self):
        syslog = "Mar  1 00:00:01 web sshd[812]: Accepted publickey for root\n" * 20
        names = ["some.log", "1", "--format", "--time", "--key"]
        self.fails(self.log(syslog), *LIMIT, names=names, silent=False)
        self.fails(self.log('{"when": 1, "who": "x"}\n' * 9), *LIMIT, names=["time", "--time"], silent=False)
        self.fails(self.log("when,who\n1,2\n"), *LIMIT, names=["time", "--time"], silent=False)
        self.fails(self.log("time,who\n1795240187,2\n"), *LIMIT, names=["client", "--key"], silent=False)
        self.fails(self.good, "--format", "jsonl", *LIMIT, names=["good.log", "--format"], silent=False)

    def test_what_is_truncated(self):
        whole = "".join(line(n // 9, f"192.0.2.{n * 7 % 251}") for n in range(20_000)).encode()
        for name, packed in (("gzip", gzip.compress(whole)), ("zstd", zstd(whole))):
            for cut in (len(packed) // 2, len(packed) - 3):
                with self.subTest(name, cut=cut):
                    path = self.log(packed[:cut], name)
                    code, out, errors = weir("replay", path, *LIMIT, "--json")
                    self.assertEqual(code, 2, errors)
                    self.assertIn(name, errors)
                    self.assertIn("truncated", errors)
                    self.assertGreater(json.loads(out)["lines"]["requests"], 1000)
            with self.subTest(name, what="nothing left"):
                self.fails(self.log(packed[:6], name), *LIMIT, names=[name], silent=False)
            with self.subTest(name, what="damaged"):
                broken = bytearray(packed)
                broken[len(packed) // 2] ^= 0xff
                broken[len(packed) // 2 + 1] ^= 0xff
                self.fails(self.log(broken and bytes(broken), name), *LIMIT, names=[name], silent=False)

    def test_rubbish_after_a_gzip(self):
        """gzip(1) warns and continues; reading it in silence as if it were the log's would be wrong."""
        path = self.log(gzip.compress(line(0).encode()) + b"rubbish rubbish rubbish\n")
        code, out, errors = weir("replay", path, *LIMIT, "--json")
        self.assertIn(code, (0, 2))
        self.assertEqual(json.loads(out)["lines"]["requests"], 1)
        self.assertNotEqual(errors, "")

    def test_a_line_of_10_MB(self):
        long = line(1, request="GET /" + "x" * 10_000_000 + " HTTP/1.1")
        said = answer("replay", self.log(line(0) + long + line(2)), *LIMIT)
        self.assertEqual((said["lines"]["read"], said["lines"]["requests"], said["lines"]["unreadable"]), (3, 2, 1))
        example, = said["lines"]["unreadable_examples"]
        self.assertEqual(example["line"], 2)
        self.assertLess(len(example["text"]), 200)
        almost = line(1, request="GET /" + "x" * ((1 << 20) - 200) + " HTTP/1.1")
        self.assertEqual(answer("replay", self.log(line(0) + almost + line(2)), *LIMIT)["lines"]["unreadable"], 0)
        self.fails(self.log(b"x" * 10_000_000), *LIMIT, names=["some.log"], silent=False)
        nested = b'{"a":' * 300_000
        deep = self.log(b"[" * 500_000 + b"\n" + nested)
        self.fails(deep, "--format", "jsonl", *LIMIT, names=["some.log"], silent=False)

    def test_times_out_of_range(self):
        bad = line(0).replace("01/Mar/2026", "31/Dec/1969") + line(0).replace("2026", "2106") + \
            line(0).replace("01/Mar/2026:00", "31/Dec/2099:23").replace(":00:00 +0000", ":59:59 -0100")
        said = answer("replay", self.log(line(0) + bad + line(1)), *LIMIT)["lines"]
        self.assertEqual((said["requests"], said["unreadable"], said["clamped"]), (2, 3, 0))
        self.assertEqual([each["line"] for each in said["unreadable_examples"]], [2, 3, 4])
        self.assertTrue(all(re.search("1970|2100", each["why"]) for each in said["unreadable_examples"]), said)
        rows = "time,ip\n946684800,a\n-1,b\n3471292799.999999999,c\n3471292800,d\n" + "9" * 30 + ",e\nnan,f\n1e999,g\n"
        self.assertEqual(answer("replay", self.log(rows), *LIMIT)["lines"]["requests"], 2)

    def test_the_reasons_are_shown(self):
        content = line(0) + "rubbish\n" + line(1).replace("Mar", "Foo") + line(2)
        said = answer("replay", self.log(content), *LIMIT)["lines"]["unreadable_examples"]
        self.assertEqual([(each["line"], each["text"][:7]) for each in said], [(2, "rubbish"), (3, "192.0.2")])
        self.assertTrue(all(each["file"].endswith("some.log") and each["why"] for each in said), said)
        _, out, errors = weir("replay", self.log(content), *LIMIT)
        self.assertIn("2", out + errors)
        self.assertIn("some.log", out + errors)

    def test_escape_sequences_of_a_log_do_not_reach_the_terminal(self):
        evil = "\x1b]0;owned\x07\x1b[2J"
        content = line(0, request=f"GET {evil} HTTP/1.1") * 30 + evil + "\n" + '"' + evil + "\n"
        code, out, errors = weir("replay", self.log(content), "--key", "path", *LIMIT)
        self.assertEqual(code, 0, errors)
        self.assertNotRegex(out + errors, "[\x07\x1b\x9b]")
        self.assertEqual(json.loads(weir("replay", self.log(content), *LIMIT, "--json")[1])["lines"]["unreadable"], 2)

    def test_numbers_that_are_not_times(self):
        """Durations, days of Excel, seconds since 2001 or 1900, FILETIME, ticks, microseconds since 1601."""
        numbers = ("0.253", "812", "46347.2428", "816932987", "4004228987", "134397137870000000", "639308369870000000",
                   "13439713787000000")
        for number in numbers:
            with self.subTest(number):
                self.fails(self.log(f"time,ip\n{number},192.0.2.1\n", "t.csv"), *LIMIT, names=[
                    "t.csv:2: the number is not a time from 2000 to 2079 in s, ms, us or ns since 1970; --time-format reads "
                    "excel, filetime, webkit and ticks: "])

    def test_a_date_and_a_clock(self):
        rows = "date,time,ip\n2026-11-21,05:49:47,192.0.2.1\n2026-11-21,05:49:48.5,192.0.2.1\n"
        objects = '{"Day": "21.11.2026", "Clock": "05:49:47", "ip": "192.0.2.1"}\n'
        for content, flags in ((rows, ()), (rows.replace("date,time", "d,t"), ("--time", "d,t")),
                               (objects, ("--time", "Day,Clock", "--time-format", "%d.%m.%Y %T"))):
            with self.subTest(flags):
                self.assertEqual(answer("replay", self.log(content), *LIMIT, *flags)["from"], "2026-11-21T05:49:47Z")
        self.fails(self.log(rows.replace("date", "day")), *LIMIT, names=[
            "the time has no date; --time DATE,TIME names two fields"])
        self.fails(self.log(objects), *LIMIT, "--time", "Tag,Clock", names=["there is no field Tag (--time chooses another)"])

    def test_zones_of_places(self):
        path = self.log(line(0).replace(" +0000", "").replace("01/Mar", "01/Jul"))
        said = answer("replay", path, *LIMIT, "--zone", "America/New_York")
        self.assertEqual(said["from"], "2026-07-01T04:00:00Z")
        for zone, near in (("Europe/Berln", "Europe/Berlin"), ("Berlin", "Europe/Berlin"), ("new york", None)):
            self.assertEqual(self.fails(path, *LIMIT, "--zone", zone, names=[]),
                             f"weir: zone: '{zone}' is neither an offset such as +0000, -05:30 or Z nor a place in "
                             f"/usr/share/zoneinfo, such as Europe/Berlin{'; did you mean ' + near + '?' if near else ''}\n")

    @unittest.skipIf(os.geteuid() != 0, "only root may mount")
    def test_a_system_without_zones(self):
        nothing, path = self.folder.file("nothing"), self.log(line(0))
        os.mkdir(nothing)
        inside = ("unshare", "-m", "sh", "-c", f'mount --bind {nothing} /usr/share/zoneinfo && exec "$@"', "sh")
        if subprocess.run([*inside, "true"], capture_output=True).returncode:
            self.skipTest("mount is not allowed here")
        for zone, code, errors in (("Europe/Berlin", 2, "weir: zone: the system has no time zone database in "
                                                        "/usr/share/zoneinfo, Debian's package tzdata: it is empty\n"), ("+0100", 0, "")):
            done = subprocess.run([*inside, WEIR, "replay", path, *LIMIT, "--zone", zone], capture_output=True, text=True,
                                  env=environment(), timeout=60)
            self.assertEqual((done.returncode, done.stderr), (code, errors))

    def test_client_and_ip_are_two_fields(self):
        rows = [{"time": 1_795_240_187 + n, "client": "app", "ip": f"192.0.2.{n % 3}"} for n in range(9)]
        path = self.log("".join(json.dumps(row) + "\n" for row in rows), "two.jsonl")
        for key, clients in (("ip", 3), ("client", 1), ("client,ip", 3), ("ip,client", 3)):
            self.assertEqual(answer("replay", path, *LIMIT, "--key", key)["clients"], clients, key)
        limits = self.log("version: 1\nlimits:\n  both: { by: [client, ip], rate: 1/min }\n", "limits.yaml")
        worst = answer("replay", path, "--limits", limits)["limits"][0]["worst"]
        self.assertEqual({each["client"] for each in worst}, {f"app 192.0.2.{n}" for n in range(3)})

    def test_what_json_warns_of(self):
        bad = self.log("".join(line(n) for n in range(33)) + "who knows\n" * 67, "bad.log")
        self.assertIn("67 of 100 lines (67 %) could not be read, and are not counted", answer("replay", bad, *LIMIT)["warnings"])
        day = ["".join(line(86400 * n + 60 * i, f"192.0.2.{i % 7}") for i in range(100)) for n in (0, 1)]
        said = answer("replay", self.log(day[1] + day[0], "back.log"), *LIMIT)["warnings"]
        self.assertIn("100 lines (50 % of the requests) came too late to be sorted, and count at the greatest time before: the "
                      "log seems to hold days in the wrong order; --reorder all sorts the whole log", said)

    def test_an_hour_that_comes_twice(self):
        """Local time without a zone in autumn: 02:59:59 is followed by 02:00:00."""
        local = lambda second: line(second).replace(" +0000", "")
        path = self.log("".join(map(local, [*range(7200, 10800, 30), *range(7200, 14400, 30)])))
        said = answer("replay", path, *LIMIT)["lines"]
        self.assertEqual((said["requests"], said["clamped"], said["reordered"]), (360, 117, 2))
        self.assertEqual(answer("replay", path, *LIMIT, "--reorder", "1h")["lines"]["clamped"], 0)
        _, out, errors = weir("replay", path, *LIMIT)
        self.assertIn("--reorder", out + errors)

    def test_days_in_the_wrong_order(self):
        day = [self.log("".join(line(86400 * n + 60 * i) for i in range(1000)), f"{n}.log") for n in (0, 1)]
        said = answer("replay", day[1], day[0], *LIMIT)["lines"]
        self.assertEqual((said["requests"], said["clamped"], said["reordered"]), (2000, 0, 0))
        both = self.log(open(day[1]).read() + open(day[0]).read(), "both.log")
        said = answer("replay", both, *LIMIT)["lines"]
        self.assertEqual((said["requests"], said["clamped"]), (2000, 1000))
        _, out, errors = weir("replay", both, *LIMIT)
        self.assertIn("--reorder all", out + errors)
        said = answer("replay", both, *LIMIT, "--reorder", "all")["lines"]
        self.assertEqual((said["clamped"], said["reordered"]), (0, 1000))
        _, out, errors = weir("replay", self.good, *LIMIT)
        self.assertNotIn("--reorder all", out + errors)

    def test_one_file_twice(self):
        link = self.folder.file("link.log")
        os.symlink(self.good, link)
        self.assertEqual(self.fails(self.good, self.good, *LIMIT, names=[]),
                         f"weir: {self.good}: is given twice, so its requests would count twice\n")
        self.assertEqual(self.fails(link, self.good, *LIMIT, names=[]),
                         f"weir: {self.good}: is given twice, first as {link}, so its requests would count twice\n")
        text = open(self.good).read()
        for name, content in (("copy.log", text), ("copy.log.gz", gzip.compress(text.encode()))):
            copy = self.log(content, name)
            self.assertEqual(self.fails(self.good, copy, *LIMIT, names=[]),
                             f"weir: {copy}: begins and ends with the same lines as {self.good}, so its requests would count "
                             "twice\n")
        other = self.log(text + line(31), "other.log")
        self.assertEqual(answer("replay", self.good, other, *LIMIT)["lines"]["requests"], 61)

    def test_what_is_neither_text_nor_gzip_nor_zstd(self):
        data = open(self.good, "rb").read()
        other = {"xz": (lzma.compress(data), "is compressed by xz", "xz -dc {}"),
                 "bz2": (bz2.compress(data), "is compressed by bzip2", "bzip2 -dc {}"),
                 "utf16": (data.decode().encode("utf-16"), "is text in UTF-16", "iconv -f UTF-16 -t UTF-8 {}"),
                 "utf16le": (data.decode().encode("utf-16-le"), "is text in UTF-16", "iconv -f UTF-16LE -t UTF-8 {}"),
                 "utf16be": (data.decode().encode("utf-16-be"), "is text in UTF-16", "iconv -f UTF-16BE -t UTF-8 {}")}
        for name, (content, what, command) in other.items():
            with self.subTest(name):
                path = self.log(content, f"some log.{name}")
                command = command.format(shlex.quote(path))
                why = (f"weir: {path}: {what}, and not plain text, gzip or zstd; {command} makes text of it, which - reads "
                       "from a pipe\n")
                self.assertEqual(self.fails(path, *LIMIT, names=[]), why)
                self.assertEqual(self.fails(path, names=[], command="formats"), why)
                self.assertEqual(self.fails(path, *LIMIT, "--follow", names=[]), why)
                text = subprocess.run(command, shell=True, capture_output=True, check=True).stdout
                self.assertEqual(answer("replay", "-", *LIMIT, stdin=text)["lines"]["requests"], 30)
                self.fails("-", *LIMIT, names=["standard input", what], stdin=content)
        self.fails(self.log(b"\x04\x22\x4d\x18 and so on, and more"), *LIMIT, names=["lz4 -dc "])
        self.fails(self.log(b"\x1f\x9d\x90 and so on, and more"), *LIMIT, names=["gzip -dc "])
        self.fails(self.log(b"PK\x03\x04 and so on, and more"), *LIMIT, names=["unzip -p "])
        self.assertEqual(answer("replay", self.log("BZh, it says\n" + line(0)), *LIMIT)["lines"]["unreadable"], 1)

    def test_standard_input(self):
        data = open(self.good, "rb").read()
        for packed in (data, gzip.compress(data), zstd(data)):
            self.assertEqual(answer("replay", "-", *LIMIT, stdin=packed)["lines"]["requests"], 30)
        self.assertEqual(answer("replay", "-", self.good, *LIMIT, stdin=data)["lines"]["requests"], 60)
        self.fails("-", "-", *LIMIT, names=["-"], stdin=data)
        self.fails("-", *LIMIT, names=[], stdin=b"", silent=False)


class Asked(BadInput):
    def test_no_log_and_no_limit(self):
        self.fails(*LIMIT, names=["LOG"])
        self.fails(self.good, names=["--limit"])

    def test_limits(self):
        for spec in ("", "x", "10", "0/s", "-1/s", "1/0s", "1/fortnight", "1.5/s", "1/s burst", "1/s burst 0",
                     "1/s boost 2",                      "1/s algorithm=", "1/s algorithm=magic",
                     "1/s align=clock", "1/s algorithm=fixed_window align=moon",
                     "1/s algorithm=fixed_window burst 5", "1/s algorithm=sliding_window_log align=clock",
                     "1/s algorithm=gcra algorithm=gcra", "5000000000/s", "99999999999999999999/s", "1/s, 2/s",
                     "10000000000/min algorithm=sliding_window_log"):
            with self.subTest(spec):
                self.fails(self.good, "--limit", spec, names=["limit", spec])
        errors = self.fails(self.good, "--limit", "1/s algorithm=magic",
                            names=["gcra", "fixed_window", "sliding_window_log", "sliding_window_counter"])
        self.assertEqual(errors.count("\n"), 1, errors)

    def test_as_people_write_them(self):
        for spec in ("100/min", "10/s burst 50", "1000/h algorithm=fixed_window",
                     "1000/h algorithm=fixed_window align=clock",
                     "5/10s algorithm=token_bucket burst 7", "5/10s burst 7 algorithm=leaky_bucket"):
            with self.subTest(spec):
                self.assertEqual(answer("replay", self.good, "--limit", spec)["limits"][0]["requests"], 30)

    def test_16_limits_and_17(self):
        sixteen = [word for n in range(16) for word in ("--limit", f"{n + 1}/min")]
        self.assertEqual(len(answer("replay", self.good, *sixteen)["limits"]), 16)
        self.fails(self.good, *sixteen, *LIMIT, names=["16"])

    def test_fields_that_are_not_there(self):
        self.fails(self.good, "--key", "uzer", *LIMIT,
                   names=["uzer", "client", "user", "path", "status", "agent"], silent=False)
        self.fails(self.good, "--key", "ip,uzer", *LIMIT, names=["uzer", "client"], silent=False)
        self.fails(self.good, "--cost", "uzer", *LIMIT, names=["uzer", "bytes"], silent=False)
        self.fails(self.good, "--cost", "agent", *LIMIT, names=["agent"], silent=False)
        objects = self.log('{"time": 1795240187, "ip": "192.0.2.1", "request": {"host": "x"}}\n' * 3)
        self.fails(objects, "--key", "uzer", *LIMIT, names=["uzer", "--key"], silent=False)
        rows = self.log("time,ip,tenant\n1795240187,2,3\n")
        self.fails(rows, "--key", "uzer", *LIMIT, names=["uzer", "tenant"], silent=False)
        self.fails(rows, "--time", "wenn", *LIMIT, names=["wenn", "tenant"], silent=False)

    def test_costs_that_are_not_costs(self):
        costs = ("3", "-", "-3", "1.5", "", "x", "9" * 25, "0", "+1", "0x1")
        rows = "time,ip,units\n" + "".join(f"1795240187,a,{cost}\n" for cost in costs)
        said = answer("replay", self.log(rows), "--cost", "units", *LIMIT)
        self.assertEqual((said["lines"]["requests"], said["units"]), (3, 3), said["lines"])

    def test_values_of_options(self):
        for option, values in (("--key", ("", "ip/129", "ip/-1", "ip/x", "ip/24/129", "ip/64/64/64", "ip,,path")),
                               ("--format", ("", "apache", "xml")), ("--zone", ("", "+25:00", "Berlin", "1")),
                               ("--reorder", ("", "-1s", "soon", "60")), ("--worst", ("", "-1", "x", "1.5", "1001"))):
            for value in values:
                with self.subTest(option, value=value):
                    self.fails(self.good, *LIMIT, option, value, names=[option.strip("-")])

    def test_keys_of_several_fields_do_not_meet(self):
        rows = self.log("time,ip,a,b\n1795240187,x,1 2,3\n1795240187,x,1,2 3\n")
        self.assertEqual(answer("replay", rows, "--key", "a,b", *LIMIT)["clients"], 2)


FORM = "the form is COUNT/PERIOD [burst N], as in 100/min or 5/10s burst 20"
NO_SLASH = "missing '/' between count and period; " + FORM
NAMES = "gcra, token_bucket, leaky_bucket, fixed_window, sliding_window_log, sliding_window_counter"
LIMITS = (
    ("x", f"quota 'x': {NO_SLASH}"),
    ("0/s", "quota '0/s': to refuse everybody: deny, in the limits file; to limit nobody: leave the limit out"),
    ("10/m", "quota '10/m': 'm' may be minutes or months: write '10/min', or '10/month align=calendar'"),
    ("1/0s", "quota '1/0s': period: 0s is below the minimum (1ns)"),
    ("1.5/s", f"quota '1.5/s': the count is not a whole number below 2^63; 1.5/s is 90/min: write '3/2s burst 2'; {FORM}"),
    ("0.0055/s", f"quota '0.0055/s': the count is not a whole number below 2^63; 0.0055/s is 19.8/h: write '11/2000s burst 1'; {FORM}"),
    ("1/fortnight", f"quota '1/fortnight': the period is not a time such as s, 10s, 250ms, min, h or 1.5d; {FORM}"),
    ("1/month", "limit '1/month': months and years differ in length; write 1/month align=calendar, with tz=Area/City "
     "where it is not UTC, or a period such as 30d"),
    ("1/day align=calendar tz=Europe/Berln", "limit '1/day align=calendar tz=Europe/Berln': no time zone 'Europe/Berln' "
     "in /usr/share/zoneinfo; did you mean Europe/Berlin?"),
    ("1 /s", "limit '1 /s': write '1/s', without a space"),
    ("100/60", f"quota '100/60': the period has no unit, such as the s of 10s; {FORM}"),
    ("1/s burst 0", "quota '1/s burst 0': burst: 0 is below the minimum (1)"),
    ("1/s boost 2", "limit '1/s boost 2': unexpected 'boost'; the form is COUNT/PERIOD [burst N] "
     "[algorithm=NAME] [align=clock], as in 10/s burst 50 or 1000/h algorithm=fixed_window"),
    ("1/s algorithm=magic", f"limit '1/s algorithm=magic': unknown algorithm 'magic'; known: {NAMES}"),
    ("1/s align=clock", "limit '1/s align=clock': align=clock requires algorithm=fixed_window; this is gcra"),
    ("1/s algorithm=fixed_window align=moon", "limit '1/s algorithm=fixed_window align=moon': unknown alignment "
     "'align=moon'; known: align=clock, align=calendar"),
    ("1/s algorithm=fixed_window burst 5", "limit '1/s algorithm=fixed_window burst 5': there is no burst with "
     "algorithm=fixed_window; only gcra has one"),
    ("1/s algorithm=gcra algorithm=gcra", "limit '1/s algorithm=gcra algorithm=gcra': algorithm is given twice"),
)
OTHERS = (   # what is asked of good.log, and of others beside it
    (["no.log", *LIMIT], "no.log: cannot be opened: No such file or directory"),
    ([".", *LIMIT], ".: is a directory; give the files in it instead"),
    (["empty.log", *LIMIT], "empty.log: contains no requests"),
    (["good.log"], "--limit, --limits or --in-flight is required (see weir replay --help)"),
    (LIMIT, "LOG is required (see weir replay --help)"),
    (["good.log", *LIMIT * 17], "limit: 17 limits; the maximum is 16"),
    (["-", "-", *LIMIT], "standard input (-) can be read only once"),
    (["good.log", "--key", "uzer", *LIMIT], "good.log: there is no field uzer (--key chooses another); the fields are "
     "client, ident, user, time, request, method, path, protocol, status, bytes, vhost, referer, agent"),
    (["rows.csv", "--key", "uzer", *LIMIT], "rows.csv: there is no field uzer (--key chooses another); the fields are "
     "time, ip, tenant"),
    (["good.log", "--key", "ip/129", *LIMIT], "key: 'ip/129': expected a number of bits after ip/: ip/64 for IPv6, ip/24 "
     "for IPv4, ip/24/64 for both"),
    (["good.log", "--key", "", *LIMIT], "key: '' is neither a field nor fields separated by commas"),
    (["good.log", "--zone", "Berlin", *LIMIT], "zone: 'Berlin' is neither an offset such as +0000, -05:30 or Z nor a place "
     "in /usr/share/zoneinfo, such as Europe/Berlin; did you mean Europe/Berlin?"),
    (["good.log", "--time-format", "soon", *LIMIT], "time-format: 'soon': neither a pattern such as '%d.%m.%Y %H:%M:%S' nor "
     "s, ms, us, ns, excel, filetime, webkit or ticks"),
    (["good.log", "--reorder", "soon", *LIMIT], "reorder: 'soon' is not a time such as 60s or 5min, nor 0, nor all"),
    (["good.log", "--html", "no/x.html", *LIMIT], "no/x.html: cannot be written: No such file or directory"),
    (["good.log", "--html", "/dev/full", *LIMIT], "/dev/full: cannot be written: No space left on device"),
    (["good.log", "--html", "good.log", *LIMIT], "html: 'good.log' is the log itself; choose another file"),
    (["good.log", "--names", "./good.log", *LIMIT], "names: './good.log' is the log itself; choose another file"),
    (["good.log", "--clients", "good.log", *LIMIT], "clients: 'good.log' is the log itself; choose another file"),
    (["syslog", *LIMIT], "none of 1 lines could be read\n"
     "  syslog:1: there is no time in [brackets]: Mar  1 00:00:01 web sshd[812]: Accepted\n"
     "  expected lines such as: 192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET / HTTP/1.1\" 200 512\n"
     "  --format, --regex, --time, --key and --cost describe a log that is laid out differently; weir formats syslog "
     "says how"),
)


class Verbatim(BadInput):
    def test_limits(self):
        for spec, text in LIMITS:
            with self.subTest(spec):
                self.assertEqual(weir("replay", self.good, "--limit", spec), (2, "", f"weir: limit: {text}\n"))

    def test_others(self):
        self.log("", "empty.log")
        self.log("time,ip,tenant\n1,2,3\n", "rows.csv")
        self.log("Mar  1 00:00:01 web sshd[812]: Accepted\n", "syslog")
        for args, text in OTHERS:
            with self.subTest(args):
                code, _, errors = weir("replay", *args, cwd=self.folder.path)
                self.assertEqual((code, errors), (2, f"weir: {text}\n"))


class Writing(BadInput):
    def names(self):
        return sorted(os.listdir(self.folder.path))

    def test_the_page(self):
        page = self.folder.file("page.html")
        code, out, errors = weir("replay", EXAMPLE_LOG, *LIMIT, "--html", page)
        self.assertEqual(code, 0, errors)
        text = open(page, encoding="utf-8").read()
        self.assertIn("203.0.113.66", text)
        outside = r"""(?:(?:src|href)\s*=|url\()\s*["']?https?:"""
        self.assertNotRegex(text.replace("http://www.w3.org", ""), outside)
        self.assertEqual(stat.S_IMODE(os.stat(page).st_mode), 0o666 & ~self.umask())
        self.assertEqual(self.names(), ["good.log", "page.html"])

    @staticmethod
    def umask():
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def test_what_a_log_says_is_not_markup_of_the_page(self):
        page, evil = self.folder.file("page.html"), "</script><script>alert(1)</script><!--<img/src=x>"
        code, _, errors = weir("replay", self.log(line(0, request=f"GET {evil} HTTP/1.1") * 20), "--key", "path", *LIMIT, "--html", page)
        self.assertEqual(code, 0, errors)
        text = open(page, encoding="utf-8").read()
        for bad in ("<script>alert", "<!--<img", "<img/src"):
            self.assertNotIn(bad, text)

    def test_a_place_that_cannot_be_written(self):
        for path, words in (("/dev/full", ["No space left"]), (self.folder.file("no/page.html"), ["No such file"]),
                            (self.folder.path, ["directory"])):
            with self.subTest(path):
                self.fails(self.good, *LIMIT, "--html", path, names=[path, *words], silent=False)
        self.assertEqual(self.names(), ["good.log"])

    def test_a_full_disk_does_not_lose_the_table(self):
        small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        many = self.log("".join(line(n, f"192.0.2.{n}") for n in range(20_000)), "many.log")
        for flag, name in (("--html", "page.html"), ("--decisions", "decisions.csv"), ("--names", "names")):
            for form in ((), ("--json",)):
                with self.subTest(flag, form=form):
                    code, out, errors = weir("replay", many, *LIMIT, flag, self.folder.file(name), *form, preexec_fn=small)
                    self.assertEqual((code, errors), (2, f"weir: {self.folder.file(name)}: cannot be written: File too large\n"))
                    self.assertIn('"requests":20000' if form else "20,000 requests of 20,000 clients", out)
                    self.assertNotIn("written: ", out)
        self.assertEqual(self.names(), ["good.log", "many.log"])

    def test_a_full_disk_leaves_nothing_half_written(self):
        """RLIMIT_FSIZE stands for the disk; SIGXFSZ is ignored, so that a write fails as on a full one."""
        def small():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        page = self.folder.file("page.html")
        self.fails(self.good, *LIMIT, "--html", page, names=[page, "File too large"], silent=False, preexec_fn=small)
        self.assertEqual(self.names(), ["good.log"])
        self.folder.file("page.html", "the old page")
        self.fails(self.good, *LIMIT, "--html", page, names=[page], silent=False, preexec_fn=small)
        self.assertEqual((self.names(), open(page).read()), (["good.log", "page.html"], "the old page"))

    @unittest.skipIf(os.geteuid() != 0, "only root may mount")
    def test_a_full_tmpfs(self):
        disk = self.folder.file("disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", disk], capture_output=True).returncode:
            self.skipTest("mount is not allowed here")
        self.addCleanup(subprocess.run, ["umount", disk])
        self.fails(self.good, *LIMIT, "--html", disk + "/page.html", names=["page.html", "No space left"], silent=False)
        self.assertEqual(os.listdir(disk), [])

    def test_nothing_is_written_when_nothing_was_read(self):
        page = self.folder.file("page.html")
        self.fails(self.folder.file("no.log"), *LIMIT, "--html", page, names=["no.log"])
        self.assertEqual(self.names(), ["good.log"])

    def test_a_log_is_not_overwritten_by_its_page(self):
        before = open(self.good).read()
        weir("replay", self.good, *LIMIT, "--html", self.good)
        self.assertEqual(open(self.good).read(), before)

    def test_a_full_stdout(self):
        for extra in ((), ("--json",)):
            with self.subTest(extra), open("/dev/full", "w") as full:
                done = subprocess.run([WEIR, "replay", self.good, *LIMIT, *extra], stdout=full, stderr=subprocess.PIPE,
                                      env=environment(), timeout=20)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(b"No space left", done.stderr)

    def test_a_stdout_that_is_closed_early(self):
        """`weir replay ... | head -1` ends, quietly."""
        limits = [word for n in range(16) for word in ("--limit", f"{n + 1}/min")]
        process = subprocess.Popen([WEIR, "replay", EXAMPLE_LOG, *limits, "--json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment())
        process.stdout.close()
        errors = process.stderr.read()
        code = process.wait(20)
        process.stderr.close()
        self.assertIn(code, (0, 2, -signal.SIGPIPE, 128 + signal.SIGPIPE))
        self.assertNotIn(b"terminate", errors)
        self.assertLessEqual(errors.count(b"\n"), 1)


class Running(BadInput):
    def slow(self, *args, stderr=subprocess.PIPE):
        """The program reading a pipe into which 30 lines were written and which stays open."""
        process = subprocess.Popen([WEIR, "replay", "-", *LIMIT, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=stderr, env=environment())
        self.addCleanup(process.kill)
        process.stdin.write(open(self.good, "rb").read())
        process.stdin.flush()
        until(lambda: self.waits(process), "it waits for more lines")
        return process

    @staticmethod
    def waits(process):
        """It has read all there is, would catch SIGINT, and each of its threads sleeps."""
        unread = struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)))[0]
        threads = []
        for status in pathlib.Path(f"/proc/{process.pid}/task").glob("*/status"):
            threads.append(dict(line.split(":", 1) for line in status.read_text().splitlines()))
        catches = all(int(each["SigCgt"], 16) >> (signal.SIGINT - 1) & 1 for each in threads)
        return unread == 0 and catches and all(each["State"].strip().startswith("S") for each in threads)

    def test_ctrl_c(self):
        for extra in ((), ("--json",)):
            with self.subTest(extra):
                process = self.slow(*extra)
                process.send_signal(signal.SIGINT)
                out, errors = process.communicate(timeout=PATIENCE)
                self.assertEqual(process.returncode, 130, errors)
                if extra:
                    said = json.loads(out)
                    self.assertEqual((said["interrupted"], said["lines"]["requests"]), (True, 30))
                else:
                    self.assertIn("interrupted", (out + errors).decode())
                    self.assertIn("10/min", out.decode())

    def test_ctrl_c_before_anything_came(self):
        process = subprocess.Popen([WEIR, "replay", "-", *LIMIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment())
        until(lambda: self.waits(process), "it waits for lines")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertIn(process.returncode, (130, 2), errors)

    def test_ctrl_c_twice_ends_at_once(self):
        process = self.slow()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        self.assertIn(process.returncode, (130, -signal.SIGINT))

    def on_a_terminal(self, *args, env=None):
        """(exit code, what the terminal gets on stdout and stderr)"""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([WEIR, *args], stdin=subprocess.PIPE, stdout=theirs, stderr=theirs,
                                   env=env or environment())
        os.close(theirs)
        shown, left = b"", 30   # pieces of the log, which come for 1.5 seconds
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if left:
                left -= 1
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write("".join(line(100 * left + n) for n in range(100)).encode())
                    process.stdin.flush()
                    if not left:
                        process.stdin.close()
            if select.select([ours], [], [], 0.05)[0]:
                try:
                    chunk = os.read(ours, 65536)
                except OSError:   # the program has ended
                    break
                shown += chunk
        os.close(ours)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        return process.wait(5), shown

    def test_progress_is_shown_on_a_terminal_only(self):
        code, shown = self.on_a_terminal("replay", "-", *LIMIT)
        self.assertEqual(code, 0, shown)
        self.assertRegex(shown, rb"\r[^\n]")
        _, out, errors = weir("replay", EXAMPLE_LOG, *LIMIT)
        self.assertEqual(errors, "")
        self.assertNotRegex(out, "[\r\x1b]")

    def test_no_color(self):
        plain = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        plain["TERM"] = "xterm-256color"
        colour = re.compile(rb"\x1b\[[0-9;]*m")
        _, shown = self.on_a_terminal("replay", str(self.good), *LIMIT, env={**plain, "NO_COLOR": "1"})
        self.assertNotRegex(shown, colour)
        code, out, _ = weir("replay", self.good, *LIMIT, env={"NO_COLOR": ""})
        self.assertNotIn("\x1b", out)


if __name__ == "__main__":
    run(300)
