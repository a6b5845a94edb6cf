"""Logs that a pattern describes: --regex.

WEIR_SEED=N runs one seed alone.
"""
import unittest

from program import Folder, answer, run, weir
import chance
import make_formats
import test_formats
from test_formats import requests_of

PATTERN = r'(?:DEBUG|INFO) at=(?<time>.+?) (?<method>[A-Z]+) (?P<path>/\S*) from (?<ip>\S+?)(?:;|$).* (?<status>\d{3})/(?<bytes>\d+)'


def epoch(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"


# Each way to write a time that other formats know.
STAMPS = {"iso": lambda ns: make_formats.iso(ns, 3), "clf": lambda ns: f"{make_formats.clf(ns)}.{ns % 10**9 // 10**6:03}",
          "python": lambda ns: make_formats.iso(ns, 3)[:-1].replace("T", " ").replace(".", ","),
          "go": lambda ns: make_formats.iso(ns, 6)[:-1].replace("T", " ").replace("-", "/"), "seconds": epoch, "ms": lambda ns: str(ns // 10**6), "us": lambda ns: str(ns // 1000), "ns": str}


def lines_of(requests, stamp):
    return [f"INFO at={stamp(ns)} {method} {path} from {client}; \xff by \"x\" {status}/{size}"
            for ns, client, method, path, status, size in requests]


class Regex(unittest.TestCase):
    compare = test_formats.Formats.compare

    def test_random_logs_with_any_time(self):
        for seed in chance.seeds(1):
            for name, stamp in STAMPS.items():
                with self.subTest(name, seed=seed):
                    requests = requests_of(seed, False)
                    lines = lines_of(requests, stamp)
                    asked = ("--regex", PATTERN)
                    self.compare(name, requests, lines, *asked)
                    self.compare(name, requests, lines, *asked, "--key", "status,method", key="status,method")
                    self.compare(name, requests, lines, *asked, "--key", "ip/24/64", "--cost", "bytes", "--where",
                                 "path=/v1/*", key="ip/24/64", cost="bytes", where=["path=/v1/*"])

    def test_words_around_the_lines(self):
        requests = requests_of(3, False)
        plain = lines_of(requests, epoch)
        cri = [f"{make_formats.iso(ns, 9)} stdout F {line}" for (ns, *_), line in zip(requests, plain)]
        syslog = [f"<190>Nov 21 05:49:47 web app[12]: {line}" for line in plain]
        for name, lines in (("cri", cri), ("syslog", syslog)):
            with self.subTest(name):
                self.compare(name, requests, lines, "--regex", PATTERN)

    def test_a_time_of_the_words_around(self):
        with Folder() as folder:
            log = folder.file("a.log", "2026-11-21T05:49:47.5Z stdout F 192.0.2.1 said hello\n")
            said = answer("replay", log, "--limit", "1/s", "--regex", r"(?<ip>\S+) said .*", "--time", "cri.time")
            self.assertEqual((said["clients"], said["from"]), (1, "2026-11-21T05:49:47Z"))

    def test_lines_that_do_not_match_are_counted(self):
        with Folder() as folder:
            log = folder.file("a.log", "hello\n1795240187 192.0.2.1\n1795240188 192.0.2.1 and more\n")
            code, out, _ = weir("replay", log, "--limit", "1/s", "--regex", r"(?<time>\d+) (?<ip>\S+)")
            self.assertEqual(code, 0)
            self.assertIn(f"2 of 3 lines could not be read\n  {log}:1: the line does not match the regex: hello\n"
                          f"  {log}:3: the regex matches a part of the line only; .* stands for any rest: 1795240188 192.0.2.1 "
                          "and more\n", out)

    def test_groups_are_fields(self):
        with Folder() as folder:
            log = folder.file("a.log", "".join(f"1795240187 plan={n % 2} cost={n} 192.0.2.1\n" for n in range(10)))
            asked = ("--regex", r"(?<time>\d+) plan=(?<plan>\d) cost=(?<units>\d+) (?<ip>\S+)")
            said = answer("replay", log, *asked, "--key", "plan", "--cost", "units", "--where", "units>5", "--limit", "20/s")
            self.assertEqual((said["clients"], said["units"], said["lines"]["left_out"]), (2, 30, 6))
            said = answer("replay", log, *asked, "--limit-by", "plan", "--limit", "0=1/s,1=2/s")
            self.assertEqual([each["allowed"] for each in said["limits"]], [3, 1, 2])
            code, _, errors = weir("replay", log, *asked, "--limit", "1/s", "--key", "tenant")
            self.assertEqual((code, errors), (2, f"weir: {log}: there is no field tenant (--key chooses another); the fields "
                                                 "are time, plan, units, ip\n"))

    def test_what_weir_formats_says(self):
        with Folder() as folder:
            log = folder.file("a.log", "1795240187 192.0.2.1 ann\n1795240188 192.0.2.1 bob\nx\n")
            pattern = r"(?<time>\d+) (?<ip>\S+) (?<user>\w+)"
            said = answer("formats", log, "--regex", pattern)
            self.assertEqual((said["format"], said["lines"], said["requests"]), ("regex", 3, 2))
            self.assertEqual([each["name"] for each in said["fields"]], ["time", "ip", "user"])
            self.assertEqual(said["run"], f"weir suggest {log} --regex '{pattern}' --deny-clients 0.1%")
            code, out, errors = weir("formats", log, "--regex", pattern)
            self.assertEqual((code, errors), (0, ""))
            self.assertTrue(out.startswith(f"{log}: regex: lines of --regex\n2 of the first 3 lines are requests\n"), out)

    def test_a_request_has_parts_that_weir_formats_lists(self):
        request = "GET /a?b HTTP/1.1"
        with Folder() as folder:
            for name, line, *asked in (
                    ("a.log", f"1795240187 192.0.2.1 {request}\n", "--regex", r"(?<time>\d+) (?<ip>\S+) (?<request>.*)"),
                    ("a.json", f'{{"time":1795240187,"ip":"192.0.2.1","request":"{request}"}}\n'),
                    ("a.csv", f"time,ip,request\n1795240187,192.0.2.1,{request}\n")):
                log = folder.file(name, line)
                self.assertEqual([(each["name"], each["example"]) for each in answer("formats", log, *asked)["fields"]],
                                 [("time", "1795240187"), ("ip", "192.0.2.1"), ("request", request), ("method", "GET"),
                                  ("path", "/a?b"), ("protocol", "HTTP/1.1")])
                said = answer("replay", log, *asked, "--limit", "1/s", "--where", "path=/a", "--key", "method")
                self.assertEqual((said["lines"]["requests"], said["lines"]["left_out"]), (1, 0))

    def test_a_pattern_that_no_line_matches(self):
        with Folder() as folder:
            log = folder.file("a.log", "x\n")
            code, out, _ = weir("formats", log, "--regex", r"(?<time>\d+)")
            self.assertEqual(code, 2)
            self.assertTrue(out.startswith(f"{log}: regex: no line matches the regex\n0 of the first 1 lines are requests\n"), out)

    def test_what_is_wrong_with_a_pattern(self):
        rows = [("(?<ip>.*)", "regex: no group is named time, as in (?<time>[^ ]+)"),
                ("(?<time>.*)(", "regex: a ')' is missing"),
                ("(?<time>[a)", "regex: missing ]: [a)"),
                ("(?<time>a)(?P<time>b)", "regex: group 'time' a second time"),
                ("(?<time>a)(?!b)", "regex: invalid perl operator: (?!; RE2 has neither look-around nor back-references")]
        for command in (("replay", "--limit", "1/s"), ("suggest", "--deny-clients", "1%"), ("formats",)):
            for pattern, message in rows:
                with self.subTest(pattern, command=command[0]), Folder() as folder:
                    log = folder.file("a.log", "x\n")
                    self.assertEqual(weir(command[0], log, *command[1:], "--regex", pattern), (2, "", f"weir: {message}\n"))

    def test_a_pattern_is_in_place_of_a_format(self):
        with Folder() as folder:
            log = folder.file("a.log", "x\n")
            self.assertEqual(weir("formats", log, "--regex", "(?<time>.*)", "--format", "jsonl"),
                             (2, "", "weir: regex: the log has a pattern or a --format, not both\n"))

    def test_no_pattern_takes_more_than_linear_time(self):
        """A backtracking engine would take longer than the universe is old."""
        with Folder() as folder:
            log = folder.file("a.log", "a" * 10_000 + "\n1795240187 192.0.2.1\n")
            said = answer("replay", log, "--limit", "1/s", "--regex", r"(?:(?:a*)*)*b|(?<time>\d+) (?<ip>\S+)")
            self.assertEqual(said["lines"]["unreadable"], 1)


if __name__ == "__main__":
    run()
