#!/usr/bin/python3
"""The same limits file decides alike wherever it is used: in `weir serve` with its own table and with a Redis, in `weir
test`, in `weir replay`, in `weir diff --log`, and in the C++ library when WEIR_LIBRARY names its program.

All requests come at one moment, and what drains takes an hour for each unit, so the clocks of a server and of Redis
make no difference. Rates are those whose emission interval is a whole number of nanoseconds; no two limits have the
same one, or else the microseconds between two requests to a server would decide which of them denies for longer.
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/end_to_end"), str(ROOT / "tests/faults")]
import chance  # noqa: E402
from server import Folder, Server, run, until, weir  # noqa: E402
from world import Redis  # noqa: E402

LIMITS = """\
version: 1
classes: [critical, default, bulk]
ceiling: default
lists: { partners: [acme, big-old, big-new], tried: ["t3*"], bad: [192.0.2.0/24, "2001:db8:bad::/48"] }
limits:
  edge:   { rate: 24/day burst 160, leave: { default: 20%, bulk: 50% }, reserve: 25% }
  tenant:
    by: [tenant]
    within: edge
    rate: [1/61min burst 12, 1/190min burst 14]
    overrides:
      - { when: { tenant: "@partners" }, rate: 1/61min burst 13, guarantee: 8/day burst 5 }
      - { when: { tenant: acme }, until: 2099-01-01, rate: [1/61min burst 16, unlimited/190min] }
      - { when: { tenant: big-old }, until: 2020-01-01, rate: unlimited }
      - { when: { tenant: "@tried" }, rate: 1/61min burst 7 }
  ip:     { by: [ip], rate: 1/67min burst 7, deny: { ip: "@bad" }, allow: { ip: 10.0.0.0/8 } }
  search: { by: [tenant], rate: 1/71min burst 9, cost: [{ when: { path: "/deep*" }, cost: 4 }, { cost: 1 }] }
  tried:  { by: [ip], rate: 1/73min burst 2, shadow: until 2099-01-01 }
  window: { by: [ip, path], rate: 6/10d algorithm=fixed_window }
routes:
  - { when: { path: /healthz }, limits: [] }
  - { when: { path: "/batch*" }, class: bulk, limits: [tenant, tried] }
  - { when: { path: /critical }, class: critical, limits: [tenant] }
  - { when: { path: ["/search", "/deep*"] }, limits: [tenant, ip, search] }
  - { when: { path: /window }, limits: [window] }
  - { limits: [ip, tenant, tried] }
"""
AT = "2026-11-21T12:00:00Z"


def requests(random, count):
    """(attributes, class or None, cost): several of each kind, so that most limits deny some."""
    made = []
    for _ in range(count):
        asks = {}
        if random.random() < 0.9:
            asks["tenant"] = random.choice(["acme", "big-old", "big-new", "t1", "t2", "t3"])
        if random.random() < 0.9:
            asks["ip"] = random.choice(["198.51.100.1", "::ffff:198.51.100.1", "10.1.2.3", "192.0.2.7", "2001:db8:bad::1",
                                        "2001:db8::1", "2001:db8::2", "2001:DB8::3", "somebody"])
        if random.random() < 0.9:
            asks["path"] = random.choice(["/healthz", "/batch/1", "/critical", "/search", "/deep/1", "/window", "/x"])
        made.append((asks, random.choice([None, None, "critical", "default", "bulk"]), random.choice([1, 1, 1, 2, 3])))
    return made


class Agreement(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        random = chance.chance("limits agreement")
        cls.requests = requests(random, 600)
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.limits = cls.folder.file("limits.yaml", LIMITS)
        cls.answers = cls.served()
        # Or else the others agree on nothing much.
        cls.denied_by = {each[3] for each in cls.answers if not each[0]}

    @classmethod
    def served(cls, *flags):
        """[(allowed, limit, remaining, by)], one for each request."""
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(Server("--limits", cls.limits, *flags))
            client = stack.enter_context(server.client())
            if "--store" in flags:
                until(lambda: cls.store(client)["store_state"] == "ready", "the store is ready")
            for asks, klass, cost in cls.requests:
                words = [f"{name}={value}" for name, value in asks.items()]
                client.send("WEIR.CHECK", "COST", str(cost), *(["CLASS", klass] if klass else []), *words)
            answers = [client.reply() for _ in cls.requests]
            if "--store" in flags:
                assert cls.store(client)["store_fallbacks"] == "0", "the fallback decided, and not Redis"
        for answer in answers:
            assert isinstance(answer, list), answer
        return [(each[0] == 0, each[1], each[2], each[5].decode()) for each in answers]

    @staticmethod
    def store(client):
        """What INFO tells of it."""
        return dict(line.split(":", 1) for line in client.ask("INFO", "store").decode().split("\r\n") if ":" in line)

    def test_most_limits_deny_something(self):
        self.assertLessEqual({"tenant", "ip", "search", "edge", "window"}, self.denied_by)

    def test_served_again(self):
        self.assertEqual(self.served(), self.answers)

    def test_with_redis(self):
        if shutil.which("redis-server") is None:
            self.skipTest("no redis-server")
        # A denial that is remembered is told at once, and names its own limit: another may deny for longer.
        def told(answers):
            return [each if each[0] else "denied" for each in answers]
        with Redis() as redis:
            self.assertEqual(told(self.served("--store", f"redis://{redis.address}", "--store-deadline", "5s")), told(self.answers))

    def test_in_the_library(self):
        program = os.environ.get("WEIR_LIBRARY")
        if not program:
            self.skipTest("WEIR_LIBRARY does not name the program")
        lines = "".join("\t".join([str(cost), klass or "-", *(f"{name}={value}" for name, value in asks.items())]) + "\n"
                        for asks, klass, cost in self.requests)
        done = subprocess.run([program, self.limits], input=lines, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        answers = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual([(each[0] == "1", int(each[1]), int(each[2]), each[3]) for each in answers], self.answers)

    def cases(self, answers):
        steps = []
        for (asks, klass, cost), (allowed, _, remaining, by) in zip(self.requests, answers):
            expect = {"allowed": int(allowed), "denied": int(not allowed), "remaining": str(remaining)}
            if by:
                expect["by"] = by
            step = {"as": asks, "cost": cost, "expect": expect, **({"class": klass} if klass else {})}
            steps.append(json.dumps(step))  # JSON of this kind is YAML
        return self.folder.file("l_test.yaml", f"limits: limits.yaml\nnow: {AT}\ntests:\n  - name: all\n    steps:\n" +
                                "".join(f"      - {step}\n" for step in steps))

    def test_in_weir_test(self):
        code, out, errors = weir("test", self.cases(self.answers))
        self.assertEqual((code, errors), (0, ""), out)

    def test_weir_test_would_notice(self):
        for i in (0, 300, 599):
            allowed, *rest = self.answers[i]
            code, out, _ = weir("test", self.cases([*self.answers[:i], (not allowed, *rest), *self.answers[i + 1:]]))
            self.assertEqual(code, 1, out)

    def log(self):
        """The classes of requests are not in logs, so only those without."""
        kept = [each for each in self.requests if each[1] is None]
        return kept, self.folder.file("log.jsonl", "".join(
            json.dumps({"time": AT, "cost": cost, **asks}) + "\n" for asks, _, cost in kept))

    def served_without_classes(self):
        kept, path = self.log()
        whole, type(self).requests = self.requests, kept
        try:
            return kept, path, self.served()
        finally:
            type(self).requests = whole

    def test_in_weir_replay(self):
        kept, path, answers = self.served_without_classes()
        code, out, errors = weir("replay", path, "--limits", self.limits, "--cost", "cost", "--worst", "1000", "--json")
        self.assertEqual((code, errors), (0, ""), out)
        report = json.loads(out)
        limits = {each["limit"]: each for each in report["limits"]}
        self.assertEqual(limits["together"]["allowed"], sum(allowed for allowed, *_ in answers))
        self.assertEqual(limits["together"]["denied"], sum(not allowed for allowed, *_ in answers))
        self.assertEqual(report["file"]["unlimited"], sum(limit < 0 for _, limit, *_ in answers))
        for name in ("edge", "tenant", "ip", "search", "window"):
            self.assertEqual(limits[name]["decided"], sum(not allowed and by == name for allowed, _, _, by in answers), name)
        denied = {}
        for (asks, *_), (allowed, *_) in zip(kept, answers):
            key = (asks.get("tenant", ""), asks.get("ip", ""), asks.get("path", ""))
            denied[key] = denied.get(key, 0) + (not allowed)
        # Attributes are shown in the order in which limits count by them, those that are missing as nothing.
        seen = sorted(each["denied"] for each in limits["together"]["worst"])
        self.assertEqual(seen, sorted(count for count in denied.values() if count))

    def test_in_weir_diff(self):
        _, path, answers = self.served_without_classes()
        open_file = self.folder.file("open.yaml", "version: 1\nlimits: { x: { by: [tenant], rate: 1000000/s } }\n")
        code, out, errors = weir("diff", open_file, self.limits, "--log", path, "--cost", "cost", "--json")
        self.assertEqual((code, errors), (1, ""), out)
        log = json.loads(out)["log"]
        self.assertEqual((log["denied_before"], log["denied_after"]), (0, sum(not allowed for allowed, *_ in answers)))
        self.assertEqual({each["by_after"]: each["requests"] for each in log["otherwise"]},
                         {by: sum(not a and b == by for a, _, _, b in answers)
                          for by in {b for a, _, _, b in answers if not a}})


if __name__ == "__main__":
    run()
