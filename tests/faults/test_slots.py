"""Slots on bad days, with a shared Redis: it is away, its clock steps, a replica takes over, servers have other files, and
numbers change under what is open."""
import os
import sys
import unittest

from world import PROGRAM, Proxy, Redis, Sentinels, Server, available, end_to_end, until
from clocks import SHIM, Clocks
from server import Error, Folder

HOUR = 3600


def file_of(number, on_store_error="local"):
    return f"""version: 1
attributes: [job]
limits:
  jobs: {{ by: [job], in_flight: {number}, hold: {{ ttl: 60s }}, on_store_error: {on_store_error} }}
"""


class Slots(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(Folder())

    def redis(self, **options):
        redis = Redis(**options)
        self.addCleanup(redis.close)
        return redis

    def serve(self, redis, number, on_store_error="local", name="limits.yaml", flags=("--store-deadline", "5s"), **options):
        store = redis if isinstance(redis, str) else f"redis://{redis.address}"
        server = self.enterContext(Server("--store", store, "--threads", "1", "--limits",
                                          self.folder.file(name, file_of(number, on_store_error)), *flags, **options))
        client = self.enterContext(server.client())
        client.server = server
        until(lambda: server.info()["store_state"] == "ready", "the store is ready")
        return client

    def take(self, client):
        """Its row."""
        return client.ask("WEIR.RESERVE", "AS", "job=1")

    def held(self, client):
        row = self.take(client)
        self.assertEqual(row[0], 0, row)
        return row[5].decode()

    def assert_busy(self, client, number, least=0, most=60_000):
        denied, limit, left, wait, _, reservation, by = self.take(client)
        self.assertEqual((denied, limit, left, reservation, by), (1, number, 0, None, b"jobs"))
        self.assertTrue(least < wait <= most, wait)

    def free(self, client):
        return client.ask("WEIR.LOOK", "job=1")[2]


class TestAway(Slots):
    def test_while_redis_is_away_each_server_has_its_share_and_nothing_of_it_is_carried_over(self):
        redis = self.redis()
        proxy = Proxy(redis.port)
        self.addCleanup(proxy.close)
        proxy.address = f"127.0.0.1:{proxy.port}"
        # 40 % of 5 are 2, and 1 % of them is one at least.
        two = self.serve(proxy, 5, "local 40%", "two.yaml")
        one = self.serve(proxy, 5, "local 1%", "one.yaml")
        theirs = [self.held(client) for client in (two, one, two)]
        self.assertEqual(self.free(one), 2)
        proxy.refuse()
        mine = [self.held(two), self.held(two)]
        self.assert_busy(two, 2)
        alone = self.held(one)
        self.assert_busy(one, 1)
        # So that day 3 + 2 + 1 are open of 5. What is open in Redis cannot be ended now; what is open here can.
        self.assertIsInstance(two.ask("WEIR.SETTLE", theirs[0]), Error)
        self.assertGreaterEqual(two.ask("WEIR.SETTLE", mine[0]), 0)
        self.held(two)
        proxy.accept()
        for client in (two, one):
            until(lambda client=client: client.server.info()["store_state"] == "ready", "it is back")
        until(lambda: self.free(one) == 2, "those of that day are not in it")
        self.assertEqual(one.ask("WEIR.SETTLE", alone), 0)
        self.assertEqual(self.free(one), 2)
        self.assertEqual(two.ask("WEIR.SETTLE", theirs[0]), 0)
        self.assertEqual(self.free(one), 3)
        for _ in range(3):
            self.held(one)
        self.assert_busy(two, 5)

    def test_a_replica_that_is_promoted_knows_what_is_open_and_what_a_month_has_counted(self):
        month = "2/month align=calendar tz=Europe/Berlin"
        with Sentinels() as sentinels:
            ports = ",".join(f"127.0.0.1:{each.port}" for each in sentinels.sentinels)
            client = self.serve(f"redis+sentinel://{ports}/mymaster", 2, "deny",
                                flags=("--store-deadline", "2s", "--on-store-error", "deny"))
            ids = [self.held(client) for _ in range(2)]
            self.assertEqual(client.ask("WEIR.THROTTLE", "COST", 2, "month", month)[0], 0)
            sentinels.redis[0].must("WAIT", 1, 5_000)
            sentinels.redis[0].kill()
            until(lambda: client.ask("WEIR.THROTTLE", "other", "1000/s")[0] == 0, "another is master")
            self.assert_busy(client, 2)
            self.assertEqual(client.ask("WEIR.THROTTLE", "month", month)[0], 1)
            self.assertEqual([client.ask("WEIR.SETTLE", ids[0]) for _ in range(2)], [0, -1])
            self.held(client)
            self.assert_busy(client, 2)


class TestHolds(Slots):
    def holds(self, client, *words):
        answer = client.ask("WEIR.HOLDS", *words, "LIMIT", "jobs", "AS", "job=1")
        return answer if isinstance(answer, Error) else [dict(zip(row[::2], row[1::2])) for row in answer]

    def test_each_server_lists_those_of_all(self):
        redis = self.redis()
        one, two = self.serve(redis, 3), self.serve(redis, 3)
        ids = [self.held(client).encode() for client in (one, two, one)]
        for client in (one, two):
            rows = self.holds(client)
            self.assertEqual([row[b"id"] for row in rows], ids)
            for row in rows:
                self.assertEqual((row[b"cost"], row[b"moment_ms"], row[b"client"]), (1, 0, b""))
                self.assertTrue(0 < row[b"ends_ms"] <= 60_000, row)
        self.assertEqual([row[b"id"] for row in self.holds(two, "COUNT", 1)], ids[:1])
        self.assertEqual(two.ask("WEIR.SETTLE", ids[0]), 0)
        self.assertEqual([row[b"id"] for row in self.holds(one)], ids[1:])
        redis.kill()
        self.assertIsInstance(self.holds(one), Error)


class TestNumbers(Slots):
    def test_of_two_files_the_lower_number_denies_and_a_reload_throws_nobody_out(self):
        redis = self.redis()
        many, few = self.serve(redis, 3, name="many.yaml"), self.serve(redis, 1, name="few.yaml")
        ids = [self.held(many) for _ in range(3)]
        self.assert_busy(few, 1)
        self.assert_busy(many, 3)
        self.folder.file("many.yaml", file_of(2))
        self.assertEqual(many.ask("WEIR.CONFIG", "RELOAD"), "OK")
        self.assert_busy(many, 2)
        # All three go on, and end when they end.
        self.assertEqual([many.ask("WEIR.EXTEND", each, 50_000) for each in ids], [50_000] * 3)
        self.assertEqual(few.ask("WEIR.SETTLE", ids[0]), 0)
        self.assert_busy(many, 2)
        self.assertEqual(few.ask("WEIR.SETTLE", ids[1]), 0)
        self.assert_busy(few, 1)
        self.held(many)
        self.assert_busy(many, 2)


@unittest.skipUnless(SHIM, "needs CLOCK_SHIM, which CMake builds: weir_clock_shim")
class TestClock(Slots):
    def test_a_clock_of_redis_that_steps_moves_the_ends_of_holds_and_mints_no_slot(self):
        clocks = Clocks(self.folder, "redis")
        redis = self.redis(env={**os.environ, **clocks.environment})
        client = self.serve(redis, 2, "deny")
        first, second = self.held(client), self.held(client)
        clocks.step(wall=-HOUR)
        # By its clock they end an hour later, unless they are settled or shortened.
        self.assert_busy(client, 2, HOUR * 1000, (HOUR + 60) * 1000)
        self.assertEqual(client.ask("WEIR.EXTEND", second, 30_000), 30_000)
        self.assertEqual(client.ask("WEIR.SETTLE", first), 0)
        third = self.held(client)
        self.assert_busy(client, 2, 0, 30_000)
        # Forwards they end earlier: by as much, as many more are under way.
        clocks.step(wall=HOUR)
        self.assertEqual(self.free(client), 2)
        self.assertEqual([client.ask("WEIR.SETTLE", each) for each in (first, second, third)], [-1] * 3)
        self.held(client), self.held(client)
        self.assert_busy(client, 2)

    def test_a_wall_clock_that_steps_is_nothing_to_a_server_of_its_own(self):
        clocks = Clocks(self.folder, "weir")
        server = self.enterContext(Server("--threads", "1", "--limits", self.folder.file("limits.yaml", file_of(1)),
                                          env=clocks.environment))
        with server.client() as client:
            held = self.held(client)
            for step in (-24 * HOUR, 48 * HOUR):
                clocks.step(wall=step)
                self.assert_busy(client, 1)
            # It goes by the monotonic one.
            clocks.step(monotonic=61)
            self.held(client)
            self.assertEqual(client.ask("WEIR.SETTLE", held), -1)
            self.assert_busy(client, 1)


if __name__ == "__main__":
    if not available():
        sys.exit(f"{PROGRAM} is not here")
    end_to_end.run(240)
