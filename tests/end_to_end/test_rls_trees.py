"""Envoy's rate limit service over envoyproxy/ratelimit's own YAML: what that program answers, weir answers too."""
import os
import re
import subprocess
import time
import unittest
import urllib.request

from chance import chance
from ports import free_port
from rls import DAY, HOUR, MINUTE, OK, OVER, Client, Limit, Status, descriptor
from server import PATIENCE, Folder, Server, encode, run, until

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
    metadata: { service: { name: first, zones: [a, b], weight: 2, live: true, deep: { a: 1 } } }
    rate_limit: { unit: day, requests_per_unit: 1 }
  - key: service
    value: second
    quota_mode: true
    metadata: { service: { name: second, deep: { b: 2 } }, own: [2] }
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


def start_redis(test):
    """For all tests of a class."""
    port = free_port()
    redis = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    test.addClassCleanup(redis.wait)
    test.addClassCleanup(redis.kill)
    return port


def page(port, path, accept="text/plain"):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        return reply.read().decode()


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
                         [{"service": {"name": "first", "zones": ["a", "b"], "weight": 2.0, "live": True, "deep": {"a": 1.0, "b": 2.0}},
                           "own": [2.0]},
                          {"service": {"name": "second", "deep": {"b": 2.0}}, "own": [2.0]}, None])
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

    def test_kuadrant_asks_first_and_reports_afterwards(self):
        user = descriptor(user=self.me)
        asked = [self.rls.check("shop", user, descriptor(none=self.me), descriptor(other="x"), descriptor(shade=self.me)) for _ in range(2)]
        self.assertEqual([[each.code for each in answer.statuses] for answer in asked], [[OK, OVER, OK, OK]] * 2)
        self.assertEqual([answer.code for answer in asked], [OVER, OVER])
        self.assertEqual(asked[1].statuses[0].remaining, 3, "nothing is charged")
        self.assertEqual([self.rls.report("shop", user, hits=each).statuses[0][:3] for each in (2, 4, 0)],
                         [(OK, Limit(3, DAY, ""), 1), (OK, Limit(3, DAY, ""), 0), (OK, Limit(3, DAY, ""), 0)])
        answer = self.rls.check("shop", user)
        self.assertEqual((answer.code, answer.statuses[0][:3]), (OVER, (OVER, Limit(3, DAY, ""), 0)))
        self.assertEqual(answer.headers, [("Retry-After", str(answer.statuses[0].until_reset))])
        self.assertEqual(self.one(user)[0], OVER)
        self.assertEqual(self.rls.report("shop", descriptor(user=self.me + "2", hits=0)).statuses[0].remaining, 2, "at least one")

    def test_kuadrant_holds_nothing_of_a_window(self):
        sentence = "UNIMPLEMENTED", "a window cannot be held: Reserve and Commit need limits of gcra"
        user = descriptor(user=self.me)
        self.assertEqual(self.rls.refused(self.rls.reserve, "shop", user, amount=1), sentence)
        self.assertEqual(self.rls.refused(self.rls.commit, "shop", user, reservation="", actual=1), sentence)
        self.assertEqual(self.one(user)[2], 2)

    def test_values_that_share_a_counter(self):
        path = lambda value: descriptor(deep=self.me, path=value)
        self.assertEqual([self.one(path(each))[2] for each in ("/v1/a", "/v1/b")], [1, 0])
        self.assertEqual(self.one(path("/v1/c"))[0], OVER)

    def test_a_thousand_descriptors(self):
        codes = self.codes(*[descriptor(user=f"{self.me}{i % 250}") for i in range(1000)])
        self.assertEqual(codes, [OK] * 750 + [OVER] * 250)

    def metrics(self):
        return page(self.server.ports[2], "/metrics")


class Embedded(Trees, unittest.TestCase):
    def test_a_file_that_changes(self):
        self.folder.file("more.yaml", "domain: more\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 9 } }]\n")
        until(lambda: self.rls.ask("more", descriptor(k="v")).statuses[0].limit, "the new domain")
        self.assertIn('limit="more.k"', self.metrics())


class Shared(Trees, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis_port = port = start_redis(cls)
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


class StatsNames(unittest.TestCase):
    """The metrics of envoyproxy/ratelimit, by limit, never by value."""
    FILE = """domain: a.b
descriptors:
  - key: user
    rate_limit: { unit: year, requests_per_unit: 10 }
  - key: path
    value: "/x:y"
    descriptors:
      - key: deep
        shadow_mode: true
        rate_limit: { unit: year, requests_per_unit: 1 }
        descriptors: [{ key: deeper, rate_limit: { unit: year, requests_per_unit: 1 } }]
"""

    def test_they_count_as_there(self):
        with Folder() as folder:
            folder.file("a.yaml", self.FILE)
            with Server("--rls", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--rls-config", folder.path, "--rls-stats-names") as server, \
                    Client(server.ports[1]) as client:
                ask = lambda *asked, **options: client.ask("a.b", *asked, **options)
                ask(descriptor(user="u"), hits=9)       # one of the 9 is above 8 of 10
                ask(descriptor(user="u"))               # and this one
                ask(descriptor(user="u"), hits=3)       # over
                for value in ("v", "w", "v"):
                    ask(descriptor(path="/x:y", deep=value))
                    ask(descriptor(path="/x:y", deep=value, deeper="z"))
                self.assertRaises(Exception, client.ask, "", descriptor(user="u"))
                text = page(server.ports[2], "/metrics")
                counted = {}
                for name, labels, value in re.findall(r"^ratelimit_service_(\w+?)(?:\{(.*)\})? (\d+)$", text, re.M):
                    counted.setdefault(name, {})[labels] = int(value)
                user, deep = 'domain="a_b",key1="user"', 'domain="a_b",key1="path_/x_y",key2="deep"'
                override = 'domain="a_b",key1="override"'
                for name, by_user, by_deep in (("total_hits", 13, 6), ("over_limit", 3, 2), ("near_limit", 2, 4), ("within_limit", 10, 4),
                                               ("over_limit_with_local_cache", 0, 0), ("shadow_mode", 0, 1)):
                    self.assertEqual(counted["rate_limit_" + name], {user: by_user, deep: by_deep, override: 0}, name)
                self.assertEqual(counted["should_rate_limit_error"], {'err_type="redis_error"': 0, 'err_type="service_error"': 1})
                self.assertEqual(counted["total_requests"], {'grpc_method="ShouldRateLimit"': 10})
                self.assertEqual(counted["response_time_seconds_count"], {'grpc_method="ShouldRateLimit"': 9})
                self.assertEqual([counted["config_load_" + each] for each in ("success", "error")], [{"": 1}, {"": 0}])
                open_metrics = page(server.ports[2], "/metrics", accept="application/openmetrics-text; version=1.0.0")
                self.assertIn("\n# TYPE ratelimit_service_total_requests unknown\n", open_metrics)


class OthersFree:
    """--rls-charge others-free. Below: where the numbers are kept."""

    CONFIG = """domain: shop
descriptors:
  - { key: one, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: user, rate_limit: { unit: day, requests_per_unit: 3 } }
  - { key: many, rate_limit: { unit: day, requests_per_unit: 100 } }
  - { key: none, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: shade, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: quota, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: free, rate_limit: { unlimited: true } }
"""
    LIMITS = {"one": 1, "user": 3, "many": 100, "none": 0, "shade": 1, "quota": 1}

    @classmethod
    def setUpClass(cls):
        left = 86400 - time.time() % 86400
        if left < 20:
            time.sleep(left + 1)
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.folder.file("shop.yaml", cls.CONFIG)
        cls.server = Server("--threads", "2", "--rls", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--rls-config", cls.folder.path,
                            "--rls-charge", "others-free", "--rls-dynamic-metadata", *cls.flags())
        cls.addClassCleanup(cls.server.__exit__, None)

    def setUp(self):
        self.client = Client(self.server.ports[1])
        self.addCleanup(self.client.close)
        self.me = self.id().rsplit(".", 1)[1]

    def ask(self, *asked, **options):
        """(OVER or OK, what is left) of each; those are descriptors, or keys with this test's value."""
        asked = [descriptor(**{each: self.me}) if isinstance(each, str) else each for each in asked]
        return [(each.code, each.remaining) for each in self.client.ask("shop", *asked, **options).statuses]

    def left(self, key="many"):
        return self.ask(descriptor(**{key: self.me}, hits=0))[0][1]

    def test_where_one_is_over_no_other_is_charged(self):
        self.assertEqual(self.ask("one", "many"), [(OK, 0), (OK, 99)])
        self.assertEqual([self.ask("many", "one") for _ in range(2)], [[(OK, 99), (OVER, 0)]] * 2)
        self.assertEqual(self.ask("one", "user", "many", hits=2), [(OVER, 0), (OK, 3), (OK, 99)])
        self.assertEqual(self.ask("user", "many", hits=2), [(OK, 1), (OK, 97)])
        self.assertEqual(self.ask("user", "many", hits=2), [(OVER, 0), (OK, 97)], "two do not fit, and are counted")
        self.assertEqual(self.ask(descriptor(user=self.me, limit=(9, DAY)), "many"), [(OK, 4), (OK, 96)], "4 and 1 of an override's 9")

    def test_what_has_no_limit_and_what_is_alone(self):
        self.assertEqual(self.ask("other", "one", "free"), [(OK, 0), (OK, 0), (OK, 2**32 - 1)])
        self.assertEqual(self.ask("free", "many", "other", "one"), [(OK, 2**32 - 1), (OK, 100), (OK, 0), (OVER, 0)])

    def test_shadows_quotas_and_limits_of_nothing_leave_the_others_free_too(self):
        for key, verdict in (("shade", "would_deny"), ("quota", "denied")):
            self.ask(key)
            before, counted = self.left(), [self.hits(key, verdict), self.hits("many", "allowed")]
            self.assertEqual(self.ask(key, "many", hits=5)[1], (OK, before), key)
            self.assertEqual([self.hits(key, verdict), self.hits("many", "allowed")], [counted[0] + 5, counted[1] + 5], "as they are told")
        before = self.left()
        for hits in (1, 0, 2):
            self.assertEqual(self.ask(descriptor(none=self.me, hits=hits), "many"), [(OVER, 0), (OK, before)], hits)
        self.assertEqual(self.ask(descriptor(none=self.me + "2", hits=0), "many"), [(OK, 0), (OK, before - 1)], "a look at nothing")

    def test_a_look_that_is_over_leaves_the_others_free(self):
        look = descriptor(one=self.me, hits=0)
        self.assertEqual(self.ask(look, "many"), [(OK, 1), (OK, 99)])
        self.ask("one")
        self.assertEqual(self.ask(look, "many"), [(OK, 0), (OK, 98)])
        self.ask("one")
        self.assertEqual(self.ask(look, "many"), [(OVER, 0), (OK, 98)])

    def test_what_is_given_back(self):
        self.ask("one", hits=2)
        back = descriptor(many=self.me, gives_back=True)
        self.ask("many", hits=10)
        self.assertEqual(self.ask("one", back), [(OVER, 0), (OK, 90 + self.gives_back)])
        self.assertEqual(self.ask(back, "user"), [(OK, 90 + 2 * self.gives_back), (OK, 2)])

    def test_a_counter_that_is_met_twice(self):
        self.assertEqual(self.ask("user", "user", "user", "many"), [(OK, 2), (OK, 1), (OK, 0), (OK, 99)])
        self.assertEqual(self.ask("user", "user", "many"), [(OVER, 0), (OVER, 0), (OK, 99)])
        self.me += "2"
        self.assertEqual(self.ask(descriptor(user=self.me, hits=2), descriptor(user=self.me, hits=2), "many"), [(OK, 1), (OVER, 0), (OK, 99)],
                         "each fits, but for the other")
        self.assertEqual(self.ask(descriptor(many=self.me, hits=0), descriptor(many=self.me, hits=100), "user"), [(OK, 99), (OVER, 0), (OVER, 0)])

    def test_more_than_sixteen_limits(self):
        asked = [descriptor(many=f"{self.me}{i}") for i in range(17)]
        self.assertEqual(self.ask(*asked[:16], "free", "other")[:2], [(OK, 99)] * 2)
        answer = self.client.ask("shop", *asked)
        self.assertEqual((answer.code, [each.code for each in answer.statuses], answer.body[:20]), (OVER, [OVER] * 17, "more than 16 limits "))
        self.assertEqual(self.ask(descriptor(many=f"{self.me}0", hits=0)), [(OK, 99)])

    def test_a_report_charges_each(self):
        self.ask("one", hits=2)
        statuses = self.client.report("shop", descriptor(one=self.me), descriptor(many=self.me)).statuses
        self.assertEqual([(each.code, each.remaining) for each in statuses], [(OK, 0), (OK, 99)])

    def test_random_messages_are_answered_as_by_envoyproxys_rule(self):
        lot, used = chance(self.id()), {}
        for number in range(200):
            asked, hits = [], lot.choice([0, 1, 2])
            for _ in range(lot.randint(1, 5)):
                key, own = lot.choice([*self.LIMITS, "free", "other"]), lot.choice([None, None, 0, 1, 2])
                asked.append((key, f"{self.me}{lot.randrange(3)}", own))
            said = self.ask(*[descriptor(**{key: value}, hits=own) for key, value, own in asked], hits=hits)
            self.assertEqual(said, self.rule(asked, hits, used), f"{number}: {asked} hits {hits}")

    def rule(self, asked, hits, used):
        """Count by count, as fixed_cache_impl.go has it."""
        units = [own if own is not None else max(hits, 1) for _, _, own in asked]
        over = [key in self.LIMITS and used.get((key, value), 0) + own > self.LIMITS[key] for (key, value, _), own in zip(asked, units)]
        told = []
        for (key, value, _), own, its in zip(asked, units, over):
            if key not in self.LIMITS:
                told.append((OK, 2**32 - 1 if key == "free" else 0))
                continue
            used[key, value] = used.get((key, value), 0) + (own if its or not any(over) else 0)
            left = self.LIMITS[key] - used[key, value]
            told.append((OVER if left < 0 and key != "shade" else OK, max(left, 0)))
        return told

    def hits(self, limit, verdict):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.ports[2]}/metrics", timeout=PATIENCE) as reply:
            text = reply.read().decode()
        return int(text.partition(f'weir_rls_hits_total{{limit="shop.{limit}",verdict="{verdict}"}} ')[2].partition("\n")[0])


class OthersFreeHere(OthersFree, unittest.TestCase):
    gives_back = 0

    @classmethod
    def flags(cls):
        return ()


class OthersFreeShared(OthersFree, unittest.TestCase):
    gives_back = 1

    @classmethod
    def flags(cls):
        cls.redis_port = start_redis(cls)
        return "--store", f"redis://127.0.0.1:{cls.redis_port}", "--store-deadline", "2s", "--allow-refunds"

    def setUp(self):
        super().setUp()
        until(lambda: self.server.info()["store_state"] == "ready", "the store decides")

    def test_a_message_is_one_call(self):
        import redis
        with redis.Redis(port=self.redis_port) as client:
            calls = lambda: client.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0)
            before = calls()
            self.ask("one", "user", "many", "shade", "other")
            self.assertEqual(calls() - before, 1)


def fill(server):
    """Until a table of 1 MiB has no room for another key."""
    with server.client() as client:
        for first in range(0, 100_000, 2000):
            client.send_bytes(b"".join(encode("WEIR.THROTTLE", f"full{i}", "1/d") for i in range(first, first + 2000)))
            for _ in range(2000):
                client.reply()
    assert int(server.info()["refused_for_lack_of_room"]) > 40_000


class FullTable(unittest.TestCase):
    """A new key for which there is no room is decided by --when-full, however it is asked for."""

    LIMITS = ("version: 1\nattributes: [user, after]\nlimits:\n"
              "  plain: { by: [user], rate: 5/d }\n"
              "  after: { by: [after], rate: 5/d, charge: after }\nrls: { edge: {} }\n")

    def allowed(self, when_full, algorithm, *flags):
        """How many of 24 requests pass, for each way to ask."""
        with Folder() as folder:
            os.mkdir(folder.file("config"))
            folder.file("config/shop.yaml", "domain: shop\ndescriptors:\n"
                        "  - { key: user, rate_limit: { unit: day, requests_per_unit: 5 } }\n"
                        "  - { key: other, rate_limit: { unit: day, requests_per_unit: 5 } }\n")
            with Server("--rls", "127.0.0.1:0", "--memory", "9MiB", "--when-full", when_full, "--rls-config", folder.file("config"),
                        "--rls-algorithm", algorithm, "--limits", folder.file("limits.yaml", self.LIMITS), *flags) as server:
                fill(server)
                with Client(server.ports[1]) as client:
                    def passes(ask):
                        return [ask(f"new{i}").code for i in range(24)].count(OK)

                    def then_report(name):
                        told = client.check("edge", descriptor(user=name))
                        client.report("edge", descriptor(user=name))
                        return told
                    return {"a descriptor": passes(lambda name: client.ask("shop", descriptor(user=name))),
                            "two": passes(lambda name: client.ask("shop", descriptor(user=name), descriptor(other=name))),
                            "its own hits": passes(lambda name: client.ask("shop", descriptor(user=name, hits=2))),
                            "charged after": passes(lambda name: client.ask("edge", descriptor(after=name, hits=2))),
                            "check, then report": passes(then_report)}

    def test_is_decided_by_when_full(self):
        for algorithm in ("fixed_window", "gcra"):
            for flags in ((), ("--rls-charge", "others-free")):
                with self.subTest(algorithm=algorithm, flags=flags):
                    denied = self.allowed("deny", algorithm, *flags)
                    self.assertLess(max(denied.values()), 4, denied)
                    allowed = self.allowed("allow", algorithm, *flags)
                    self.assertEqual(set(allowed.values()), {24}, allowed)

    def test_what_can_never_pass_is_not_told_to_come_again(self):
        for algorithm in ("fixed_window", "gcra"):
            with Folder() as folder, self.subTest(algorithm):
                folder.file("shop.yaml", "domain: shop\ndescriptors:\n  - { key: user, rate_limit: { unit: hour, requests_per_unit: 5 } }\n")
                with Server("--rls", "127.0.0.1:0", "--rls-config", folder.path, "--rls-algorithm", algorithm) as server:
                    with Client(server.ports[1]) as client:
                        answer = client.ask("shop", descriptor(user="a", hits=6))
                        self.assertEqual((answer.code, answer.headers), (OVER, []))


class Kuadrant:
    """What it holds. Below: where."""

    CONFIG = """domain: ai
descriptors:
  - { key: tokens, rate_limit: { unit: day, requests_per_unit: 100 } }
  - { key: model, rate_limit: { unit: day, requests_per_unit: 41 } }
  - { key: none, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: free, rate_limit: { unlimited: true } }
"""

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.folder.file("ai.yaml", cls.CONFIG)
        cls.server = Server("--threads", "2", "--rls", "127.0.0.1:0", "--rls-config", cls.folder.path, "--rls-algorithm", "gcra", *cls.flags())
        cls.addClassCleanup(cls.server.__exit__, None)

    def setUp(self):
        self.client = Client(self.server.ports[1])
        self.addCleanup(self.client.close)
        me = self.id().rsplit(".", 1)[1]
        self.tokens, self.model = descriptor(tokens=me), descriptor(model=me)

    def left(self, *descriptors):
        return [each.remaining for each in self.client.check("ai", *descriptors or (self.tokens,)).statuses]

    def reserve(self, *descriptors, amount, ttl=None):
        return self.client.reserve("ai", *descriptors or (self.tokens,), amount=amount, ttl=ttl)

    def commit(self, reservation, actual):
        return self.client.commit("ai", self.tokens, reservation=reservation, actual=actual)

    def test_what_is_held_is_settled_at_what_it_turned_out_to_cost(self):
        for actual in (10, 35):
            code, held = self.reserve(amount=30)
            self.assertEqual((code, bool(held)), (OK, True))
            before = self.left()[0]
            self.assertTrue(self.commit(held, actual))
            self.assertEqual(self.left(), [before + 30 - actual])

    def test_a_commit_is_charged_whatever_its_id(self):
        _, held = self.reserve(amount=30)
        self.assertEqual([self.commit(each, 10) for each in (held, held, "", "unknown", "?")], [True, False, False, False, False])
        self.assertEqual(self.left(), [50])
        self.assertFalse(self.commit("", 0))
        self.assertEqual(self.left(), [50])
        self.assertFalse(self.commit("", 80))
        self.assertEqual(self.client.check("ai", self.tokens).code, OVER, "more than is left")

    def test_half_of_a_limit_is_held_at_most_and_all_or_none(self):
        code, held = self.reserve(self.tokens, self.model, amount=1000)
        self.assertEqual((code, self.left(self.tokens, self.model)), (OK, [50, 21]))
        self.assertTrue(self.client.commit("ai", self.tokens, self.model, reservation=held, actual=30))
        self.assertEqual(self.left(self.tokens, self.model), [70, 11], "of each")
        self.assertEqual(self.reserve(self.tokens, self.model, amount=1000), (OVER, ""))
        self.assertEqual(self.left(self.tokens, self.model), [70, 11], "none is held")

    def test_what_nobody_commits_goes_back(self):
        code, held = self.reserve(amount=30, ttl=0.3)
        self.assertEqual((code, self.left()), (OK, [70]))
        until(lambda: self.left() == [100], "all of it is back")
        self.assertFalse(self.commit(held, 5))
        self.assertEqual(self.left(), [95])

    def test_what_meets_nothing_and_what_nothing_helps(self):
        self.assertEqual(self.reserve(descriptor(free="x"), descriptor(other="x"), amount=5), (OK, ""))
        self.assertEqual(self.client.reserve("elsewhere", self.tokens, amount=5), (OK, ""))
        self.assertEqual(self.reserve(self.tokens, descriptor(none="x"), amount=5), (OVER, ""))
        many = [descriptor(tokens=f"{i}") for i in range(17)]
        self.assertEqual(self.reserve(*many, amount=5), (OVER, ""), "more than 16 limits")
        self.assertEqual(self.client.refused(self.client.reserve, "", self.tokens, amount=5), ("INVALID_ARGUMENT", "rate limit domain must not be empty"))
        self.assertEqual(self.left(), [100])


class Holds(Kuadrant, unittest.TestCase):
    @classmethod
    def flags(cls):
        return ()


class SharedHolds(Kuadrant, unittest.TestCase):
    @classmethod
    def flags(cls):
        return "--store", f"redis://127.0.0.1:{start_redis(cls)}", "--store-deadline", "2s"

    def setUp(self):
        super().setUp()
        until(lambda: self.server.info()["store_state"] == "ready", "the store decides")


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

    def test_a_descriptor_that_is_over_leaves_the_others_free(self):
        with Folder() as folder:
            folder.file("shop.yaml", CONFIG)
            with Server("--rls", "127.0.0.1:0", "--rls-config", folder.path, "--rls-algorithm", "gcra", "--rls-charge", "others-free") as server, \
                    Client(server.ports[1]) as client:
                ask = lambda *asked: [each[:1] + each[2:] for each in client.ask("shop", *asked).statuses]
                user = lambda value, **more: descriptor(user=value, **more)
                self.assertEqual(ask(user("a", hits=3), user("b")), [(OK, 0, 86400), (OK, 2, 28800)])
                self.assertEqual(ask(user("a"), user("b")), [(OVER, 0, 28800), (OK, 2, 28800)], "and what was denied took nothing")
                self.assertEqual(ask(user("a", hits=0), user("b")), [(OK, 0, 86400), (OK, 1, 57600)], "no more is owed than the limit")
                self.assertEqual(ask(user("a", hits=1), user("b")), [(OVER, 0, 57600), (OK, 1, 57600)], "what is reported is owed")
                self.assertEqual(ask(user("a", hits=0), user("b")), [(OVER, 0, 57600), (OK, 1, 57600)])

    def test_headers_as_HTTP_tells_them(self):
        with Folder() as folder:
            folder.file("shop.yaml", CONFIG)
            with Server("--rls", "127.0.0.1:0", "--rls-config", folder.path, "--rls-algorithm", "gcra", "--rls-headers", "answers") as server, \
                    Client(server.ports[1]) as client:
                asked = descriptor(user="u"), descriptor(kind="heavy"), descriptor(shade="s"), descriptor(user="vip"), descriptor(other="o")
                self.assertEqual(client.ask("shop", *asked).headers, [
                    ("RateLimit-Policy", '"shop.user";q=3;w=86400, "heavy";q=2;w=3600'), ("RateLimit", '"shop.user";r=2;t=57600, "heavy";r=1;t=1800')])
                self.assertEqual(client.ask("shop", descriptor(none="x")).headers,
                                 [("RateLimit-Policy", '"shop.none";q=0;w=86400'), ("RateLimit", '"shop.none";r=0;t=86400')])


if __name__ == "__main__":
    run()
