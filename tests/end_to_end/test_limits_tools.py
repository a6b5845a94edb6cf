"""The tools around a limits file: weir test, weir explain, weir replay --limits. The examples are their input."""
import json
import os
import re
import time
import unittest
import xml.etree.ElementTree

from server import ROOT, Folder, run, sanitized, weir

EXAMPLES = os.path.join(ROOT, "examples/limits")
LIMITS = """\
version: 1
limits:
  ip:     { by: [ip], rate: 1/s burst 2, deny: { ip: 192.0.2.99 } }
  user:   { by: [user], rate: 1/min burst 3, required: true }
  tried:  { by: [ip], rate: 1/h burst 1, shadow: until 2026-11-22 }
  search: { by: [ip], rate: 1/min burst 1, cost: { from: weight } }
routes:
  - { when: { path: /healthz }, limits: [] }
  - { when: { path: /account }, limits: [ip, user] }
  - { when: { path: "/search*" }, limits: [search] }
  - { limits: [ip, tried] }
"""
TESTS = """\
limits: l.yaml
now: 2026-11-21T12:00:00Z
tests:
  - name: two at once
    steps:
      - { times: 3, as: { ip: 192.0.2.1 }, expect: { allowed: 2, denied: 1, by: ip, retry_after: 1s } }
  - name: an account is a user's
    steps:
      - { times: 2, as: { path: /account, user: u }, expect: { allowed: 2 } }
"""


def example(name):
    return os.path.join(EXAMPLES, name)


def examples():
    return sorted(example(name) for name in os.listdir(EXAMPLES) if name.endswith("_test.yaml"))


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(Folder())
        self.limits = self.folder.file("l.yaml", LIMITS)

    def tests(self, text=TESTS, name="l_test.yaml"):
        return self.folder.file(name, text)


class TestTest(WithFolder):
    def test_every_example_passes_and_its_tests_meet_all_of_it(self):
        code, out, errors = weir("test", *examples(), "--threshold", "100%")
        self.assertEqual((code, errors), (0, ""), out)
        self.assertEqual(out.count(" 0 failed\n"), 4, out)
        self.assertEqual(out.count("100.0 %"), 4, out)

    def test_the_example_of_the_documentation_passes(self):
        with open(os.path.join(ROOT, "docs/limits.md"), encoding="utf-8") as page:
            shown = re.search(r"^```yaml\n(limits: .*?)^```$", page.read(), re.M | re.S)[1]
        path = self.tests(shown.replace("limits: public_api.yaml", f"limits: {example('public_api.yaml')}"))
        self.assertEqual(weir("test", path), (0, f"{path}: 2 tests, 0 failed\n", ""))

    def test_passes_quietly_and_names_what_passed_when_asked(self):
        path = self.tests()
        self.assertEqual(weir("test", path), (0, f"{path}: 2 tests, 0 failed\n", ""))
        self.assertEqual(weir("test", path, "-v"),
                         (0, f"ok      two at once\nok      an account is a user's\n{path}: 2 tests, 0 failed\n", ""))

    def test_a_failure_is_exit_code_1_and_shows_why(self):
        path = self.tests(TESTS.replace("allowed: 2, denied: 1", "allowed: 3, denied: 0"))
        code, out, errors = weir("test", path)
        self.assertEqual((code, errors), (1, ""))
        self.assertEqual(out, f"""\
FAILED  two at once
  {path}:6:9: step 1, at 0s, 3 times
             expected  seen
    allowed  3         2
    denied   0         1
    route  {self.limits}:11
    * ip  1/s burst 2  {self.limits}:3  key ip=192.0.2.1
        denied, 0 of 2 left, retry in 1s
      tried  1/h  {self.limits}:5  key ip=192.0.2.1
        would_deny, 0 of 1 left, retry in 1h
{path}: 2 tests, 1 failed
""")

    def test_reports_for_programs(self):
        path = self.tests(TESTS.replace("by: ip", "by: tried"))
        code, out, _ = weir("test", path, "--json")
        self.assertEqual(code, 1)
        report = json.loads(out)
        self.assertEqual((report["tests"], report["failed"]), (2, 1))
        self.assertEqual(report["files"][0]["tests"][0]["failures"][0]["mismatches"],
                         [{"what": "by", "expected": "tried", "seen": "ip"}])
        self.assertEqual(out, weir("test", path, "--format", "json")[1])
        code, out, _ = weir("test", path, "--format", "junit")
        root = xml.etree.ElementTree.fromstring(out)
        self.assertEqual((code, root.attrib), (1, {"tests": "2", "failures": "1"}))
        self.assertEqual([case.get("name") for case in root.iter("testcase") if case.find("failure") is not None],
                         ["two at once"])

    def test_some_of_the_tests(self):
        path = self.tests()
        self.assertEqual(weir("test", path, "--run", "t*once"), (0, f"{path}: 1 test, 0 failed\n", ""))
        self.assertEqual(weir("test", path, "--run", "twice"),
                         (2, "", "weir: run: no test has 'twice' in its name\n"))

    def test_coverage_below_the_threshold_fails(self):
        path = self.tests()
        code, out, errors = weir("test", path, "--coverage")
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(out, f"""\
{path}: 2 tests, 0 failed
coverage of {self.limits}: 7 of 12, 58.3 %
  {self.limits}:4:3: limits.user: never denied
  {self.limits}:6:3: limits.search: never allowed
  {self.limits}:6:3: limits.search: never denied
  {self.limits}:8:5: routes[0]: never met
  {self.limits}:10:5: routes[2]: never met
""")
        self.assertEqual(weir("test", path, "--threshold", "58%")[0], 0)
        self.assertEqual(weir("test", path, "--threshold", "59%")[::2],
                         (1, "weir: the coverage is below 59%\n"))
        self.assertEqual(weir("test", path, "--threshold", "most"),
                         (2, "", "weir: threshold: 'most' is not a share from 0% to 100%, such as 20% or 12.5%\n"))

    def test_the_coverage_of_several_files_is_one(self):
        first = self.tests(TESTS.split("  - name: an account")[0], "a_test.yaml")
        second = self.tests(TESTS.split("  - name: two")[0] + "  - name: an" + TESTS.split("  - name: an")[1], "b_test.yaml")
        out = weir("test", first, second, "--coverage")[1]
        self.assertEqual(out.count("coverage of"), 1, out)
        self.assertIn("7 of 12", out)

    def test_what_is_wrong_with_the_file_is_exit_code_2(self):
        path = self.tests(TESTS.replace("allowed: 2 }", "alowed: 2 }").replace("steps:", "stepps:", 1))
        self.assertEqual(weir("test", path), (2, "", f"""\
{path}:4:5: tests[0]: tests nothing; write steps or explain
{path}:5:5: tests[0].stepps: unknown; did you mean steps?
{path}:9:64: tests[1].steps[0].expect.alowed: unknown; did you mean allowed?
"""))
        gone = self.folder.file("gone.yaml")
        self.assertEqual(weir("test", gone), (2, "", f"{gone}: cannot read it: No such file or directory\n"))

    def test_what_is_wrong_with_the_limits_is_exit_code_2(self):
        self.folder.file("l.yaml", LIMITS.replace("rate: 1/s burst 2", "raet: 1/s"))
        code, out, errors = weir("test", self.tests())
        self.assertEqual((code, out), (2, ""))
        self.assertIn(f"{self.limits}:3:23: limits.ip.raet: unknown; did you mean rate?\n", errors)

    def test_a_hundred_tests_take_hardly_longer_than_one(self):
        """The figure is ./dev bench's; here, that nothing sleeps: 100 tests of an hour each."""
        steps = "      - { times: 5, as: { ip: 192.0.2.1 } }\n      - { at: 1h, as: { ip: 192.0.2.1 }, expect: { allowed: 1 } }\n"
        path = self.tests("limits: l.yaml\nnow: 2026-11-21\ntests:\n" +
                          "".join(f"  - name: t{i}\n    steps:\n{steps}" for i in range(100)))
        began = time.monotonic()
        self.assertEqual(weir("test", path, timeout=60)[0], 0)
        self.assertLess(time.monotonic() - began, 60 if sanitized() else 30)


class TestExplain(WithFolder):
    def test_says_the_route_the_limits_and_whose_numbers(self):
        path = example("internal_service.yaml")
        code, out, errors = weir("explain", path, "team=reports", "path=/batch/x", "--now", "2026-12-24")
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(out, f"""\
route  {path}:41  class bulk
* service  2000/s burst 1000  {path}:16
    allowed, 250 of 1000 left
  team  1500/s burst 600  {path}:25, override {path}:29 (OPS-93, the yearly statements)  key team=reports
    allowed, 600 of 600 left
""")

    def test_goes_by_the_moment_the_class_and_the_cost(self):
        path = example("internal_service.yaml")
        asks = ("explain", path, "team=reports", "path=/items", "--json")
        later = json.loads(weir(*asks, "--now", "2027-01-08")[1])
        self.assertEqual([check["rate"] for check in later["checks"]], ["2000/s burst 1000", "1000/s burst 400"])
        self.assertEqual(later["class"], "default")
        self.assertEqual(json.loads(weir(*asks, "--class", "bulk")[1])["class"], "bulk")
        code, out, _ = weir(*asks, "--now", "2027-01-08", "--cost", "401")
        self.assertEqual((code, json.loads(out)["by"], json.loads(out)["allowed"]), (1, "team", False))

    def test_denied_is_exit_code_1(self):
        code, out, errors = weir("explain", self.limits, "ip=192.0.2.99")
        self.assertEqual((code, errors), (1, ""))
        self.assertIn("    denied by `deny`\n", out)

    def test_what_meets_nothing(self):
        self.assertEqual(weir("explain", self.limits, "path=/healthz"),
                         (0, f"route  {self.limits}:8\n  meets no limit\n", ""))

    def test_errors_are_one_line_and_exit_code_2(self):
        for words, error in ((["ip"], "missing '=' after 'ip'; write user=42"),
                             (["ip=1", "ip=2"], "'ip' a second time"),
                             (["IP=1"], "'IP' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _, . and -"),
                             (["path=/account", "ip=1"], "limits.user: the request has no attribute 'user'"),
                             (["ip=1", "--class", "bulk"], "class 'bulk': the limits file has no classes")):
            self.assertEqual(weir("explain", self.limits, *words), (2, "", f"weir: {error}\n"), words)
        code, out, errors = weir("explain", self.limits, "ip=1", "--now", "soon")
        self.assertEqual((code, out), (2, ""))
        self.assertTrue(errors.startswith("weir: now: 'soon' is not a date"), errors)


class TestReplay(WithFolder):
    def log(self, *lines):
        return self.folder.file("log.jsonl", "".join(json.dumps(line) + "\n" for line in lines))

    def replay(self, log, *flags):
        code, out, errors = weir("replay", log, "--limits", self.limits, "--json", *flags)
        self.assertEqual((code, errors), (0, ""), out)
        return json.loads(out)

    def by_name(self, report):
        return {limit["limit"]: limit for limit in report["limits"]}

    def test_all_limits_together_and_each(self):
        at = "2026-11-21T12:00:0%dZ"
        log = self.log(*({"time": at % s, "client": "192.0.2.1", "path": "/x"} for s in (0, 0, 0, 1)),
                       {"time": at % 2, "client": "192.0.2.2", "path": "/healthz"},
                       {"time": at % 2, "client": "192.0.2.2", "path": "/account"},
                       *({"time": at % 3, "client": "192.0.2.9", "user": "u", "path": "/account"} for _ in range(3)),
                       {"time": at % 3, "client": "192.0.2.99", "path": "/x"})
        report = self.replay(log)
        self.assertEqual(report["file"], {"name": self.limits, "unlimited": 1, "errors": 1,
                                          "first_error": "limits.user: the request has no attribute 'user'"})
        limits = self.by_name(report)
        self.assertEqual(list(limits), ["together", "ip", "user", "tried", "search"])
        seen = {name: [each[what] for what in ("requests", "allowed", "denied", "decided", "would_deny")]
                for name, each in limits.items()}
        self.assertEqual(seen, {"together": [9, 6, 3, 0, 0], "ip": [8, 5, 3, 3, 0], "user": [3, 3, 0, 0, 0],
                                "tried": [2, 2, 0, 0, 3], "search": [0, 0, 0, 0, 0]})
        self.assertEqual([worst["client"] for worst in limits["ip"]["worst"]],
                         ["ip=192.0.2.1", "ip=192.0.2.9", "ip=192.0.2.99"])

    def test_what_ends_ends_by_the_time_of_the_log(self):
        lines = [{"time": f"2026-11-{day}T23:59:59Z", "client": f"192.0.2.{i}"} for day in (21, 22) for i in (1, 1)]
        tried = self.by_name(self.replay(self.log(*lines)))["tried"]
        self.assertEqual((tried["would_deny"], tried["denied"]), (1, 1))

    def test_fields_are_attributes_by_name_or_as_told(self):
        line = {"time": "2026-11-21T12:00:00Z", "client": "192.0.2.1", "uri": "/search/x", "w": 2}
        self.assertEqual(self.replay(self.log(line))["file"]["first_error"],
                         "limits.search.cost: the request has no attribute 'weight'")
        search = self.by_name(self.replay(self.log(line), "--attribute", "weight=w"))["search"]
        self.assertEqual((search["never"], search["denied"]), (1, 1))

    def test_errors_are_one_line_and_exit_code_2(self):
        log = self.log({"time": 1_795_240_187, "client": "::1"})
        for flags, error in (((), "--limit, --limits or --in-flight is required (see weir replay --help)"),
                             (("--limits", self.limits, "--limit", "1/s"), "give one of --limit, --limits and --in-flight"),
                             (("--limit", "1/s", "--attribute", "a=b"), "attribute: only --limits has attributes"),
                             (("--limits", self.limits, "--attribute", "a"), "attribute: missing '=FIELD' after 'a'"),
                             (("--limits", self.limits, "--attribute", "a=b"),
                              "attribute: nothing in the limits file goes by 'a'"),
                             (("--limits", self.limits, "--key", "user"),
                              "key: with --limits each limit says what it counts by")):
            self.assertEqual(weir("replay", log, *flags), (2, "", f"weir: {error}\n"), flags)
        self.folder.file("l.yaml", "version: 2\nlimits: {}\n")
        code, _, errors = weir("replay", log, "--limits", self.limits)
        self.assertEqual(code, 2)
        self.assertIn(f"\n{self.limits}:1:1: version: '2' is not a version; write version: 1\n", errors)

    def test_the_page_has_every_limit(self):
        page = self.folder.file("page.html")
        code, _, errors = weir("replay", self.log({"time": 1_795_240_187, "client": "::1"}), "--limits", self.limits, "--html", page)
        self.assertEqual((code, errors), (0, ""))
        with open(page, encoding="utf-8") as text:
            self.assertIn('"limit":"tried"', text.read())


class TestLog(WithFolder):
    """What the table of one process does not count, and a shared store does, a trial counts too."""
    LIMITS = """\
version: 1
limits:
  user: { by: [user], rate: [2/s algorithm=sliding_window_log, 100/min] }
routes: [{ limits: [user] }]
"""
    TESTS = """\
limits: l.yaml
now: 2026-11-21T12:00:00Z
tests:
  - name: exactly two in any second
    steps:
      - { times: 3, as: { user: u }, expect: { allowed: 2, denied: 1, by: user, retry_after: 1s } }
      - { at: 999ms, as: { user: u }, expect: { denied: 1, retry_after: 1ms } }
      - { at: 1s, as: { user: u }, expect: { allowed: 1 } }
"""

    def setUp(self):
        super().setUp()
        self.limits = self.folder.file("l.yaml", self.LIMITS)

    def test_is_tested_explained_replayed_and_compared(self):
        code, out, errors = weir("test", self.tests(self.TESTS), "-v")
        self.assertEqual((code, errors), (0, ""), out)
        code, out, errors = weir("explain", self.limits, "user=u")
        self.assertEqual((code, errors), (0, ""), out)
        self.assertIn("2/s algorithm=sliding_window_log", out)
        self.assertEqual(weir("explain", self.limits, "user=u", "--cost", "3")[0], 1)
        times = (0, 0, 0, 900, 1000, 1100)
        log = self.folder.file("log.jsonl", "".join(
            json.dumps({"time": 1_795_240_187 + ms / 1000, "client": "192.0.2.1", "user": "u"}) + "\n" for ms in times))
        code, out, errors = weir("replay", log, "--limits", self.limits, "--json")
        self.assertEqual((code, errors), (0, ""), out)
        report = json.loads(out)
        user = {limit["limit"]: limit for limit in report["limits"]}["user"]
        self.assertEqual((user["allowed"], user["denied"], report["file"]["errors"]), (4, 2, 0))
        other = self.folder.file("other.yaml", self.LIMITS.replace("2/s", "9/s"))
        code, out, errors = weir("diff", self.limits, other, "--log", log)
        self.assertEqual((code, errors), (1, ""), out)
        self.assertIn("9/s algorithm=sliding_window_log", out)


class TestDiff(WithFolder):
    def test_nothing_differs(self):
        self.assertEqual(weir("diff", self.limits, self.limits), (0, f"{self.limits} and {self.limits} say the same\n", ""))

    def test_says_what_differs_where(self):
        after = self.folder.file("after.yaml", LIMITS.replace("1/s burst 2", "2/s burst 4"))
        self.assertEqual(weir("diff", self.limits, after),
                         (1, f"~ limits.ip.rate: 1/s burst 2 -> 2/s burst 4  {self.limits}:3  {after}:3\n", ""))
        difference = json.loads(weir("diff", self.limits, after, "--json")[1])
        self.assertEqual(difference, {"before": self.limits, "after": after, "differences": [
            {"kind": "changed", "path": "limits.ip.rate", "before": "1/s burst 2", "after": "2/s burst 4",
             "line_before": 3, "line_after": 3, "note": None}]})

    def test_says_who_of_a_log_is_decided_otherwise(self):
        after = self.folder.file("after.yaml", LIMITS.replace("1/s burst 2", "1/s burst 1"))
        lines = [{"time": "2026-11-21T12:00:00Z", "client": f"192.0.2.{i}"} for i in (1, 1, 1, 2)]
        log = self.folder.file("log.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        page = self.folder.file("page.html")
        code, out, errors = weir("diff", self.limits, after, "--log", log, "--html", page)
        self.assertEqual((code, errors), (1, ""))
        self.assertEqual(out.split("\n", 1)[1], f"""
warning: the log spans 0s, less than the period of '1/s burst 2', '1/min burst 3', '1/h', '1/min' and '1/s': what would \
be denied in a whole period is not known
4 requests of 2 clients, 2026-11-21T12:00:00Z to 2026-11-21T12:00:00Z (0s); by ip, user
1 denied before, 2 after

  requests  before -> after
         1  allowed -> denied by ip

  requests    denied before     after  client (ip, user)
         3                1         2  192.0.2.1 \n
written: {page}
""")
        with open(page, encoding="utf-8") as text:
            self.assertRegex(text.read(), "<td[^>]*>allowed</td><td[^>]*>denied by <code>ip</code></td>")

    def test_errors_are_exit_code_2(self):
        self.assertEqual(weir("diff", self.limits, self.folder.file("gone"))[0], 2)
        self.assertEqual(weir("diff", self.limits, self.limits, "--log", self.folder.file("gone"))[0], 2)


if __name__ == "__main__":
    run()
