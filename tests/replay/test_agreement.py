"""The program's numbers are the oracle's, on random logs with every quirk, and on the example log.

WEIR_SEED=N runs one seed alone and keeps its log; WEIR_SEEDS=N runs N of them. WEIR_REAL_LOGS=DIR compares on every
DIR/*.log.gz as well, which CI does not.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import oracle
import quirks
from program import EXAMPLE_LOG, SOURCE, WEIR, Folder, answer, line, run
import chance

KEPT = ["algorithm", "requests", "allowed", "denied", "never", "units_admitted", "clients_denied",
        "peak_admitted_second", "peak_admitted_minute"]


def differences(said, wanted, worst):
    """What the program says otherwise, one sentence each."""
    out = []

    def compare(what, got, want):
        if got != want:
            out.append(f"{what}: the program says {got!r}, the oracle {want!r}")

    def name(text):   # of a network the address counts; bytes that are not UTF-8 may be shown in any way
        return re.sub(r"[^\x20-\x7e]+", "?", re.sub(r"/\d+(?= |$)", "", text)) if text is not None else None

    for each, want in wanted["lines"].items():
        compare(f"lines.{each}", said["lines"][each], want)
    for each in ("from", "to", "clients", "units"):
        compare(each, said[each], wanted[each])
    shown = [(each["file"], each["line"]) for each in said["lines"]["unreadable_examples"]]
    compare("unreadable_examples", shown, wanted["unreadable"][:5])
    compare("sum of series.requests", sum(said["series"]["requests"]), wanted["lines"]["requests"])
    compare("number of limits", len(said["limits"]), len(wanted["limits"]))
    for number, (got, want) in enumerate(zip(said["limits"], wanted["limits"])):
        limit = f"limit {number + 1} ({got['limit']}): "
        for each in KEPT:
            compare(limit + each, got[each], want[each])
        share = want["denied"] / want["requests"] if want["requests"] else 0
        if abs(got["denied_share"] - share) > 1e-6:
            compare(limit + "denied_share", got["denied_share"], share)
        compare(limit + "sum of series_denied", sum(got["series_denied"]), want["denied"])
        compare(limit + "distribution_denied", got["distribution_denied"], want["distribution_denied"])
        compare(limit + "worst", [{**{k: each[k] for k in ("requests", "denied", "first_denied")},
                                   "client": name(each["client"])} for each in got["worst"]],
                [{**each, "client": name(each["client"])} for each in want["worst"][:worst]])
        for each in got["worst"]:
            if timeline := each["timeline"]:
                compare(limit + f"sum of {each['client']}'s timeline", sum(timeline["denied"]), each["denied"])
                compare(limit + f"{each['client']}'s timeline has its requests from the first denial on",
                        each["denied"] <= sum(timeline["requests"]) <= each["requests"], True)
        longest = want["longest_locked_out_ns"]
        if abs(got["longest_locked_out_s"] * 10**9 - longest) > 1 + longest / 10**9:
            compare(limit + "longest_locked_out_s", got["longest_locked_out_s"], longest / 10**9)
        elif longest:
            first = min(begin for length, begin, _ in want["lockouts"] if length == longest)
            compare(limit + "longest_locked_out_client in", name(got["longest_locked_out_client"]) in
                    {name(oracle.shown(who)) for length, begin, who in want["lockouts"]
                     if length == longest and begin == first}, True)
        elif not want["denied"]:
            compare(limit + "longest_locked_out_client", got["longest_locked_out_client"], None)
    classes = len(wanted["limits"][0]["distribution"])
    compare("distribution", said["distribution"], {"requests_from": [1 << n for n in range(classes)],
                                                   "clients": wanted["limits"][0]["distribution"]})
    return out


class Agreement(unittest.TestCase):
    def agrees(self, files, limits, options, arguments, worst=10):
        asked = [arg for limit in limits for arg in ("--limit", limit)]
        command = ["replay", *map(str, files), *asked, *arguments, "--worst", worst]
        wanted = oracle.report([str(f) for f in files], limits, **options)
        nothing = not wanted["lines"]["requests"] or 0 in wanted["with_value"]
        said = answer(*command, timeout=300, expect=2) if nothing else answer(*command, timeout=300)
        if nothing:
            return
        wrong = differences(said, wanted, worst)
        if wrong:
            self.fail("\n  " + "\n  ".join(wrong[:20]) + "\n" + shlex.join([WEIR, *map(str, command), "--json"]) +
                      "\nWEIR_SEED=N keeps the log of a seed")

    def test_random_logs(self):
        for seed in chance.seeds(60):
            with self.subTest(seed=seed), Folder() as folder:
                path = tempfile.mkdtemp(prefix=f"weir-seed-{seed}-") if chance.GIVEN else folder.path
                case = quirks.make(seed, path)
                self.agrees(case.files, case.limits, case.options, case.arguments, worst=3 + seed % 10)

    def test_the_example_log(self):
        limits = ["60/min", "10/s burst 20", "200/5min algorithm=fixed_window",
                  "100/min algorithm=fixed_window align=clock",
                  "60/min algorithm=sliding_window_log", "60/min algorithm=sliding_window_counter",
                  "100/hour align=calendar tz=Asia/Kathmandu", "300/day align=calendar tz=America/New_York",
                  "1000/month align=calendar"]
        for key, cost in (("ip", None), ("ip/64", None), ("ip", "bytes"), ("path", None)):
            with self.subTest(key=key, cost=cost):
                asked = ["--key", key] + (["--cost", cost] if cost else [])
                scaled = [re.sub(r"(\d+)/", r"\g<1>0000/", limit, count=1) for limit in limits] if cost else limits
                self.agrees([EXAMPLE_LOG], scaled, {"key": key, "cost": cost, "reorder": 60}, asked)

    def test_real_logs(self):
        folder = os.environ.get("WEIR_REAL_LOGS")
        if not folder:
            self.skipTest("WEIR_REAL_LOGS is not set")
        for path in sorted(pathlib.Path(folder).glob("*.log.gz")):
            for reorder in (60, 0, None):
                with self.subTest(log=path.name, reorder=reorder):
                    limits = ["10/s", "100/min burst 20", "1000/h algorithm=fixed_window",
                              "30/min algorithm=fixed_window align=clock", "30/min algorithm=sliding_window_log",
                              "30/min algorithm=sliding_window_counter"]
                    self.agrees([path], limits, {"reorder": reorder},
                                ["--reorder", "all" if reorder is None else f"{reorder}s"])


class Small(unittest.TestCase):
    """What random logs had found, by name."""

    def said(self, *logs, limit, arguments=()):
        with Folder() as folder:
            files = [folder.file(f"{n}.log", log) for n, log in enumerate(logs)]
            return answer("replay", *files, "--limit", limit, *arguments)

    def test_logs_written_beside_each_other_are_one_log(self):
        """One of them is silent for ten minutes: the other's line of that time is neither late nor out of order."""
        lines = self.said(line(0) + line(600), line(1) + line(540), limit="1/s")["lines"]
        self.assertEqual((lines["requests"], lines["reordered"], lines["clamped"]), (4, 0, 0))

    def test_a_row_of_denials_ends_when_each_of_its_requests_would_have_passed(self):
        """One unit would have passed after one second, but nine were asked for too."""
        limit, = self.said(line(0, size=10) + line(0, size=9) + line(0, size=1), limit="10/10s",
                           arguments=("--cost", "bytes"))["limits"]
        self.assertEqual((limit["denied"], limit["longest_locked_out_s"]), (2, 9))

    def test_clients_equally_denied_since_the_same_moment_are_ordered_by_name(self):
        """Not by who came first."""
        b, a = "192.0.2.2", "192.0.2.1"
        limit, = self.said(line(0, b) + line(9, a) + line(9, a) + line(9, b) + line(9, b), limit="1/5s")["limits"]
        self.assertEqual([(each["client"], each["denied"]) for each in limit["worst"]], [(a, 1), (b, 1)])


class Exact(unittest.TestCase):
    """A limit decides by period / count, not by that rounded up to a nanosecond."""

    def denied(self, requests_a_second, limit):
        with Folder() as folder:
            log = "".join(line(second) for second in range(600) for _ in range(requests_a_second))
            return answer("replay", folder.file("0.log", log), "--limit", limit)["limits"][0]["denied"]

    def test_as_many_requests_in_each_second_as_the_limit_says(self):
        for limit, each in (("3/s", 3), ("7/s", 7), ("21/7s", 3), ("180/min burst 3", 3), ("9/s", 9)):
            with self.subTest(limit=limit):
                self.assertEqual(self.denied(each, limit), 0)

    def test_one_more_is_too_many(self):
        self.assertEqual(self.denied(4, "3/s"), 600)
        self.assertEqual(self.denied(3, "180/min burst 2"), 600)


class ExampleLog(unittest.TestCase):
    def test_the_script_writes_what_is_committed(self):
        with Folder() as folder:
            again = folder.file("access.log")
            script = SOURCE / "examples" / "replay" / "make_log.py"
            subprocess.run([sys.executable, script, "-o", again], check=True)
            self.assertEqual(pathlib.Path(again).read_bytes(), EXAMPLE_LOG.read_bytes())

    def test_as_many_lines_and_clients_as_asked_for(self):
        script = SOURCE / "examples" / "replay" / "make_log.py"
        out = subprocess.run([sys.executable, script, "--lines", "30000", "--clients", "2000"], check=True,
                             capture_output=True).stdout.splitlines()
        self.assertEqual(len(out), 30_000)
        self.assertTrue(1800 < len({line.split()[0] for line in out}) < 2100)


if __name__ == "__main__":
    run(900)
