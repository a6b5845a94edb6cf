"""Envoy's rate limit service over envoyproxy/ratelimit's own YAML: what that program answers, weir answers too."""
import time
import unittest
import urllib.request

from ports import free_port
from rls import DAY, HOUR, MINUTE, OK, OVER, Client, Limit, Status, descriptor
from server import PATIENCE, Folder, Server, run, until

CONFIG = """domain: shop
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 3 }
  - key: user
    value: vip
    rate_limit: { unlimited: true }
  - key: kind
    value: heavy
    rate_limit: { unit: hour, requests_per_unit: 2, name: heavy }
  - key: kind
    value: all
    rate_limit: { unit: hour, requests_per_unit: 1, name: all, replaces: [{ name: heavy }] }
  - key: shade
    shadow_mode: true
    rate_limit: { unit: day, requests_per_unit: 1 }
  - key: none
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: service
    value: first
    quota_mode: true
    metadata: { service: { name: first, zones: [a, b], weight: 2, live: true } }
    rate_limit: { unit: day, requests_per_unit: 1 }
  - key: service
    value: second
    quota_mode: true
    metadata: { service: { name: second } }
    rate_limit: { unit: day, requests_per_unit: 2 }
  - key: token
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: deep
    descriptors:
      - key: path
        value: /v1/*
        share_threshold: true
        rate_limit: { unit: day, requests_per_unit: 2 }
"""


class Trees:
    """The tests; those below say where the numbers are kept."""

    flags = ()

    @classmethod
    def setUpClass(cls):
        # Far enough from a day's and an hour's end, where counters begin again.
        left = 3600 - time.time() % 3600
        if left < 20:
            time.sleep(left + 1)
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.folder.file("shop.yaml", CONFIG)
        cls.server = Server("--threads", "2", "--rls", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--rls-config", cls.folder.path,
                            "--rls-dynamic-metadata", *cls.flags)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None)

    def setUp(self):
        self.rls = Client(self.server.ports[1])
        self.addCleanup(self.rls.close)
        self.me = self.id().rsplit(".", 1)[1]

    def ask(self, *descriptors, **options):
        answer = self.rls.ask("shop", *descriptors, **options)
        self.assertEqual(len(answer.statuses), len(descriptors))
        return answer

    def codes(self, *descriptors, **options):
        return [each.code for each in self.ask(*descriptors, **options).statuses]

    def one(self, asked, **options):
        """The status, without until when."""
        code, limit, remaining, until_reset = self.ask(asked, **options).statuses[0]
        if limit is not None:
            length = {MINUTE: 60, HOUR: 3600, DAY: 86400}.get(limit.unit)
            left = length - time.time() % length
            self.assertLess(abs(until_reset - left), 5, "to the end of the window")
        return code, limit, remaining

    def test_hits_are_counted_in_the_unit_and_beyond_the_limit_too(self):
        user, limit = descriptor(user=self.me), Limit(3, DAY, "")
        self.assertEqual([self.one(user) for _ in range(4)], [(OK, limit, 2), (OK, limit, 1), (OK, limit, 0), (OVER, limit, 0)])
        self.assertEqual(self.one(descriptor(user=self.me + "2"), hits=4), (OVER, limit, 0))
        self.assertEqual(self.one(descriptor(user=self.me + "2")), (OVER, limit, 0), "what was denied counts")
        answer = self.ask(user)
        (name, seconds), = answer.headers
        self.assertEqual((answer.code, name), (OVER, "Retry-After"))
        self.assertEqual(int(seconds), answer.statuses[0].until_reset)

    def test_a_counter_that_is_met_twice(self):
        user = descriptor(user=self.me)
        self.assertEqual(self.codes(user, user, user, user), [OK, OK, OK, OVER])

    def test_each_descriptor_is_charged_whatever_the_others_say(self):
        self.assertEqual(self.codes(descriptor(none="x"), descriptor(user=self.me)), [OVER, OK])
        self.assertEqual(self.one(descriptor(user=self.me))[2], 1)

    def test_what_meets_no_limit(self):
        for asked in (descriptor(other="x"), descriptor(user=self.me, more="x"), descriptor(), descriptor(deep="x")):
            self.assertEqual(self.one(asked), (OK, None, 0))
        self.assertEqual(self.rls.ask("elsewhere", descriptor(user="x", limit=(1, DAY))).statuses, [Status(OK, None, 0, None)])
        self.assertEqual(self.one(descriptor(user="vip")), (OK, None, 2**32 - 1))

    def test_a_limit_of_nothing(self):
        asked = f"none-{self.me}"
        self.assertEqual(self.one(descriptor(none=asked, hits=0)), (OK, Limit(0, DAY, ""), 0))
        self.assertEqual(self.one(descriptor(none=asked)), (OVER, Limit(0, DAY, ""), 0))
        self.assertEqual(self.one(descriptor(none=asked, hits=0)), (OVER, Limit(0, DAY, ""), 0))
        self.assertEqual(self.ask(descriptor(none=asked)).headers, [], "no time helps")

    def test_overrides(self):
        asked = lambda count, unit: descriptor(user=self.me, limit=(count, unit))
        self.assertEqual(self.one(asked(1, HOUR)), (OK, Limit(1, HOUR, ""), 0))
        self.assertEqual(self.one(asked(1, HOUR)), (OVER, Limit(1, HOUR, ""), 0))
        self.assertEqual(self.one(asked(5, HOUR)), (OK, Limit(5, HOUR, ""), 2), "one state for each unit")
        self.assertEqual(self.one(asked(0, DAY)), (OVER, Limit(0, DAY, ""), 0))
        self.assertEqual(self.one(descriptor(anything=self.me, limit=(7, DAY))), (OK, Limit(7, DAY, ""), 6))
        self.assertEqual(self.ask(asked(1, 9)).body, "an override has an unknown unit")

    def test_a_limit_that_replaces_another_in_its_message(self):
        self.assertEqual(self.one(descriptor(kind="heavy"))[:2], (OK, Limit(2, HOUR, "heavy")))
        both = self.ask(descriptor(kind="heavy"), descriptor(kind="all")).statuses
        self.assertEqual([each.limit for each in both], [None, Limit(1, HOUR, "all")])

    def test_shadow(self):
        shade = descriptor(shade=self.me)
        self.assertEqual([self.one(shade) for _ in range(2)], [(OK, Limit(1, DAY, ""), 0)] * 2)
        self.assertIn('weir_rls_decisions_total{limit="shop.shade",verdict="would_deny"} 1\n', self.metrics())

    def test_quotas_of_which_one_is_enough(self):
        first, second = descriptor(service="first"), descriptor(service="second")
        answers = [self.ask(first, second) for _ in range(3)]
        self.assertEqual([[each.code for each in answer.statuses] for answer in answers], [[OK, OK], [OVER, OK], [OVER, OVER]])
        self.assertEqual([answer.code for answer in answers], [OK, OK, OVER])
        self.assertEqual([answer.metadata.get("metadata") for answer in answers],
                         [{"service": {"name": "first", "zones": ["a", "b"], "weight": 2.0, "live": True}}, {"service": {"name": "second"}}, None])
        self.assertEqual([answer.headers for answer in answers[:2]], [[], []])

    def test_tokens_that_are_reported(self):
        # Three pass and the fourth is refused, by two a minute.
        left = 60 - time.time() % 60
        if left < 5:
            time.sleep(left)
        look, report = descriptor(token=self.me, hits=0), descriptor(token=self.me, hits=1)
        for _ in range(3):
            self.assertEqual(self.one(look)[0], OK)
            self.one(report)
        self.assertEqual(self.one(look)[0], OVER)

    def test_values_that_share_a_counter(self):
        path = lambda value: descriptor(deep=self.me, path=value)
        self.assertEqual([self.one(path(each))[2] for each in ("/v1/a", "/v1/b")], [1, 0])
        self.assertEqual(self.one(path("/v1/c"))[0], OVER)

    def test_a_thousand_descriptors(self):
        codes = self.codes(*[descriptor(user=f"{self.me}{i % 250}") for i in range(1000)])
        self.assertEqual(codes, [OK] * 750 + [OVER] * 250)

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.ports[2]}/metrics", timeout=PATIENCE) as reply:
            return reply.read().decode()


class Embedded(Trees, unittest.TestCase):
    def test_a_file_that_changes(self):
        self.folder.file("more.yaml", "domain: more\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 9 } }]\n")
        until(lambda: self.rls.ask("more", descriptor(k="v")).statuses[0].limit, "the new domain")
        self.assertIn('limit="more.k"', self.metrics())


class Shared(Trees, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import subprocess
        port = free_port()
        redis = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        cls.addClassCleanup(redis.wait)
        cls.addClassCleanup(redis.kill)
        cls.redis_port = port
        cls.flags = ("--store", f"redis://127.0.0.1:{port}", "--store-deadline", "2s")
        super().setUpClass()
        with Client(cls.server.ports[1]) as client:
            until(lambda: "fallback" not in client.ask("shop", descriptor(user="warm")).metadata, "the store decides")

    def test_all_descriptors_are_one_pipeline(self):
        self.codes(*[descriptor(user=f"{self.me}{i}") for i in range(3)])
        calls = lambda: int(self.redis("INFO", "commandstats").partition("cmdstat_evalsha:calls=")[2].partition(",")[0] or 0)
        reads = lambda: int(self.redis("INFO", "stats").partition("total_reads_processed:")[2].partition("\r")[0] or 0)
        before_calls, before_reads = calls(), reads()
        self.codes(*[descriptor(user=f"{self.me}{i}") for i in range(50)])
        self.assertEqual(calls() - before_calls, 50)
        self.assertLess(reads() - before_reads, 8, "one, and those of the client here")

    def redis(self, *words):
        import redis
        with redis.Redis(port=self.redis_port, decode_responses=True) as client:
            reply = client.execute_command(*words)
        return "\r\n".join(f"{k}:{v if not isinstance(v, dict) else ','.join(f'{a}={b}' for a, b in v.items())}" for k, v in reply.items())


class Gcra(unittest.TestCase):
    def test_counts_drain(self):
        with Folder() as folder:
            folder.file("shop.yaml", CONFIG)
            with Server("--rls", "127.0.0.1:0", "--rls-config", folder.path, "--rls-algorithm", "gcra") as server, Client(server.ports[1]) as client:
                ask = lambda **more: client.ask("shop", descriptor(user="u", **more)).statuses[0]
                self.assertEqual(ask(), Status(OK, Limit(3, DAY, ""), 2, 28800))
                self.assertEqual([ask().code for _ in range(3)], [OK, OK, OVER])
                self.assertEqual(ask(), Status(OVER, Limit(3, DAY, ""), 0, 28800), "what was denied took nothing")
                self.assertEqual(ask(hits=0).code, OK)
                self.assertEqual(ask(hits=1), Status(OVER, Limit(3, DAY, ""), 0, 57600), "what is reported is owed")


if __name__ == "__main__":
    run()
