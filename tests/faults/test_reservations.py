"""Reservations in a shared Redis: through several servers, a cluster, a failover, and without Redis."""
import concurrent.futures
import os
import signal
import threading
import time
import unittest

from world import PROGRAM, Cluster, Error, Redis, Sentinels, Server, available, end_to_end, until
from chance import chance
from server import Folder, encode

SLOW = "1/min burst 1"


def reserve(client, key, rule, *words, max_wait=600_000):
    return client.ask("WEIR.RESERVE", "MAXWAIT", max_wait, *words, "KEYS", key, rule)


def owed_ms(client, key, rule):
    return client.ask("WEIR.THROTTLE", "COST", "0", key, rule)[4]


class TwoServers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        flags = ("--store", f"redis://{cls.redis.address}", "--store-deadline", "5s", "--max-wait", "1h", "--threads", "1")
        cls.servers = [Server(*flags) for _ in range(2)]
        cls.one, cls.other = (server.client() for server in cls.servers)

    @classmethod
    def tearDownClass(cls):
        cls.one.close()
        cls.other.close()
        for server in cls.servers:
            server.stop()
        cls.redis.close()

    def setUp(self):
        self.key = self.id()

    def test_any_server_cancels_what_another_has_reserved_and_only_once(self):
        rows = [reserve(self.one, self.key, SLOW) for _ in range(4)]
        self.assertEqual([row[0] for row in rows], [0] * 4)
        self.assertIsNone(rows[0][5])
        for before, after in zip(rows, rows[1:]):
            self.assertTrue(59_000 <= after[3] - before[3] <= 60_000, rows)
            self.assertRegex(after[5].decode(), "^[A-Za-z0-9_-]{25}$")
        owed = owed_ms(self.one, self.key, SLOW)
        # One between two others leaves its moment to the next that comes, wherever it comes.
        self.assertEqual([self.other.ask("WEIR.CANCEL", rows[2][5]) for _ in range(2)], [1, 0])
        self.assertLessEqual(owed - 5_000, owed_ms(self.one, self.key, SLOW))
        taken = reserve(self.one, self.key, SLOW)
        self.assertTrue(rows[2][3] - 5_000 <= taken[3] <= rows[2][3], (taken, rows))
        # The last one goes back whole.
        self.assertEqual(self.other.ask("WEIR.CANCEL", rows[3][5]), 1)
        self.assertTrue(owed - 65_000 <= owed_ms(self.one, self.key, SLOW) <= owed - 60_000)
        self.assertEqual(self.one.ask("WEIR.CANCEL", "A" * 25), 0)
        self.assertEqual(self.one.ask("WEIR.CANCEL", "no id"), 0)

    def test_any_server_settles(self):
        rule = "1/min burst 5"
        held = reserve(self.one, self.key, rule, "COST", 4, "HOLD", 60_000)
        self.assertEqual(held[3], 0)
        self.assertEqual([self.other.ask("WEIR.SETTLE", held[5], 1) for _ in range(2)], [0, -1])
        self.assertTrue(50_000 < owed_ms(self.one, self.key, rule) <= 60_000)
        held = reserve(self.one, self.key, rule, "COST", 1, "HOLD", 60_000)
        self.assertTrue(230_000 < self.other.ask("WEIR.SETTLE", held[5], 7) <= 240_000)

    def test_several_limits_are_charged_for_one_moment(self):
        tight, wide = (self.key + ":user", "2/min burst 1"), (self.key + ":tenant", "10/min burst 20")
        self.one.ask("WEIR.RESERVE", "KEYS", *tight, *wide)
        second = self.other.ask("WEIR.RESERVE", "MAXWAIT", 60_000, "KEYS", *tight, *wide)
        self.assertEqual(second[0], 0)
        self.assertTrue(25_000 < second[3] <= 30_000, second)
        self.assertGreater(owed_ms(self.one, *wide), 30_000)  # as of that moment
        self.assertEqual(self.one.ask("WEIR.CANCEL", second[5]), 1)
        self.assertLess(owed_ms(self.one, *wide), 7_000)

    def test_an_id_dies_with_what_it_charged(self):
        first = reserve(self.one, self.key, SLOW)
        second = reserve(self.one, self.key, SLOW)
        self.assertEqual([first[0], second[0]], [0, 0])
        self.assertEqual(self.other.ask("WEIR.RESET", self.key), 1)
        self.assertEqual(self.one.ask("WEIR.CANCEL", second[5]), 0)
        # Evicted, or lost with a master.
        reserve(self.one, self.key, SLOW)
        second = reserve(self.one, self.key, SLOW, "HOLD", 60_000)
        self.assertEqual(self.redis.must("DEL", "weir:" + self.key), 1)
        self.assertEqual(self.one.ask("WEIR.SETTLE", second[5], 0), -1)
        self.assertEqual(owed_ms(self.one, self.key, SLOW), 0)

    def test_what_lies_in_redis_has_the_prefix_and_ends_by_itself(self):
        reserve(self.one, self.key, "10/s burst 1")
        last = reserve(self.one, self.key, "10/s burst 1", "HOLD", 200)  # without one it is told of for a minute
        kept = [name for name in self.redis.must("KEYS", "*") if self.key.encode() in name or last[5] in name]
        self.assertEqual(len(kept), 3)
        self.assertEqual([name[:5] for name in kept], [b"weir:"] * 3)
        until(lambda: self.redis.must("EXISTS", *kept) == 0, "all are gone")

    def test_acquires_are_answered_in_order_over_servers_and_one_that_goes_away_had_nothing(self):
        rule = "1/s burst 1"

        def wait_for(clients):
            until(lambda: sum(int(server.info()["blocked_clients"]) for server in self.servers) == clients, "they wait")

        self.one.ask("WEIR.ACQUIRE", "MAXWAIT", 0, self.key, rule)
        began = time.monotonic()
        waiting = [server.client() for server in self.servers + self.servers]
        for number, client in enumerate(waiting, 1):
            client.send("WEIR.ACQUIRE", "MAXWAIT", 10_000, self.key, rule)
            wait_for(number)
        waiting[1].close()
        wait_for(3)
        self.one.send("WEIR.ACQUIRE", "MAXWAIT", 10_000, self.key, rule)
        took = []
        for client in (waiting[0], waiting[2], waiting[3], self.one):
            self.assertEqual(client.reply()[:4], [0, 1, 0, 0])
            took.append(time.monotonic() - began)
            client.close() if client is not self.one else None
        # All who came after it act a second earlier, and who came last is the last.
        self.assertEqual([round(each - 0.4) for each in took], [1, 2, 3, 4], took)

    def test_a_server_that_is_killed_loses_its_moments_and_mints_none(self):
        flags = ("--store", f"redis://{self.redis.address}", "--store-deadline", "5s", "--max-wait", "1h")
        doomed = Server(*flags, expect_exit=(-signal.SIGKILL,))
        client = doomed.client()
        held = [reserve(client, self.key, SLOW) for _ in range(3)]
        doomed.kill()
        later = reserve(self.one, self.key, SLOW)
        self.assertTrue(held[2][3] + 50_000 < later[3] <= held[2][3] + 60_000, (held, later))
        # With its id it can still be taken back.
        self.assertEqual(self.one.ask("WEIR.CANCEL", held[2][5]), 1)

    def wait_of_a_doomed_server(self, *words):
        """One has waited in line there, the first; the server is killed."""
        doomed = Server("--store", f"redis://{self.redis.address}", "--store-deadline", "5s", "--max-wait", "1h", "--threads", "1",
                        expect_exit=(-signal.SIGKILL,))
        self.addCleanup(doomed.__exit__, None)
        until(lambda: doomed.info()["store_state"] == "ready", "connected")
        with doomed.client() as client:
            client.send("WEIR.ACQUIRE", "MAXWAIT", 3_600_000, *words)
            until(lambda: doomed.info()["blocked_clients"] == "1", "it waits")
            yield
            doomed.kill()
            doomed.wait()
        yield

    def test_a_killed_server_that_was_first_in_line_holds_up_nobody(self):
        rule = "1/min burst 2"
        self.assertEqual(reserve(self.one, self.key, rule)[3], 0)
        doomed = self.wait_of_a_doomed_server("COST", 2, self.key, rule)
        next(doomed)
        # While it waits: a check would make it late, and who comes later acts after it.
        self.assertEqual(self.one.ask("WEIR.THROTTLE", self.key, rule)[0], 1)
        later = reserve(self.one, self.key, rule)
        self.assertGreater(later[3], 60_000)
        self.assertEqual(self.one.ask("WEIR.CANCEL", later[5]), 1)
        next(doomed)
        # It is asked by a server that has not asked before, in a check alone.
        until(lambda: self.other.ask("WEIR.THROTTLE", self.key, rule)[0] == 0, "its plan has lapsed")
        self.assertLessEqual(reserve(self.one, self.key, rule)[3], 60_000)

    def test_a_killed_server_that_was_first_in_line_keeps_no_slot(self):
        path = self.enterContext(Folder()).file("limits.yaml", """\
version: 1
attributes: [job]
limits:
  jobs: { by: [job], in_flight: 1, hold: { ttl: 10m } }
  pace: { by: [job], rate: 1/min, hold: { ttl: 10m, estimate: 1 } }
""")
        flags = ("--store", f"redis://{self.redis.address}", "--store-deadline", "5s", "--max-wait", "1h", "--threads", "1", "--limits", path)
        with Server(*flags) as server, Server(*flags, expect_exit=(-signal.SIGKILL,)) as doomed:
            until(lambda: all(each.info()["store_state"] == "ready" for each in (server, doomed)), "connected")
            with server.client() as client, doomed.client() as waiting:
                first = client.ask("WEIR.RESERVE", "AS", f"job={self.key}")
                self.assertGreaterEqual(client.ask("WEIR.SETTLE", first[5]), 0)
                waiting.send("WEIR.ACQUIRE", "MAXWAIT", 3_600_000, "AS", f"job={self.key}")
                until(lambda: self.redis.must("KEYS", f"*in_flight*{self.key}*"), "it has the slot with its moment")
                reserve = ("WEIR.RESERVE", "MAXWAIT", 3_600_000, "AS", f"job={self.key}")
                self.assertEqual(client.ask(*reserve)[6], b"jobs", "busy")
                doomed.kill()
                until(lambda: client.ask(*reserve)[0] == 0, "its slot is free")

    def test_a_state_of_a_former_build_is_taken_as_what_it_owes(self):
        line = "keys are there that a former build of weir has reserved from"
        asks = (owed_ms, lambda *args: reserve(*args)[3],
                lambda client, key, rule: client.ask("WEIR.CHARGE", "COST", 0, "KEYS", key, rule)[3])
        for ask in asks:
            with Server("--store", f"redis://{self.redis.address}", "--store-deadline", "5s", "--threads", "1") as server:
                until(lambda: server.info()["store_state"] == "ready", "connected")
                with server.client() as client:
                    for which in range(2):
                        key = f"{self.key} {asks.index(ask)} {which}"
                        stop = int(time.time()) + 100
                        self.assertEqual(server.stderr().count(line), which)
                        self.redis.must("SET", "weir:" + key, f"weir1g {stop}000000000 60000000000 @a_B-9 7 {stop}000000000")
                        self.assertTrue(70_000 < ask(client, key, SLOW) <= 100_000, ask)
                        until(lambda: line in server.stderr(), "it is logged")
            self.assertEqual(server.stderr().count(line), 1, "once for all of them")

    def test_checks_that_share_a_call_are_decided_beside_a_hold_under_any_numbers(self):
        hold, slow = "1/690s burst 8", "1/1380s burst 8"
        with Server("--store", f"redis://{self.redis.address}", "--store-deadline", "5s", "--threads", "1", "--merge") as server:
            until(lambda: server.info()["store_state"] == "ready", "connected")
            # The first is asked alone, and the others share the next call.
            for first in (hold, slow):
                for rule in (hold, slow):
                    key = f"{self.key} {first} {rule}"
                    with server.client() as client:
                        self.assertEqual(client.ask("WEIR.RESERVE", "HOLD", 10_000, "KEYS", key, hold)[0], 0)
                        rules = [first] + [rule] * 11
                        client.send_bytes(b"".join(encode("WEIR.THROTTLE", key, each) for each in rules))
                        rows = [client.reply() for _ in rules]
                    self.assertEqual([row[:3] for row in rows], [[0, 8, left] for left in range(6, -1, -1)] + [[1, 8, 0]] * 5, key)
                    T = 1_380_000 if rule == slow else 690_000
                    self.assertTrue(all(T - 60_000 < row[3] <= T for row in rows[7:]), rows)
            told = server.info()
            self.assertGreaterEqual(int(told["store_merged"]), 4 * 10)
            self.assertEqual((told["store_fallbacks"], told["store_failed_other"]), ("0", "0"), told)

    def test_a_plan_counts_among_what_may_be_held(self):
        path = self.enterContext(Folder()).file("limits.yaml", """\
version: 1
attributes: [job]
limits:
  pace: { by: [job], rate: 1/min burst 1, hold: { ttl: 10m } }
""")
        flags = ("--store", f"redis://{self.redis.address}", "--store-deadline", "5s", "--max-wait", "1h", "--threads", "1", "--limits", path)
        with Server(*flags) as server, Server(*flags) as other:
            until(lambda: all(each.info()["store_state"] == "ready" for each in (server, other)), "connected")
            with server.client() as waiting, server.client() as one, other.client() as two:
                self.assertEqual(one.ask("WEIR.CHECK", f"job={self.key}")[0], 0)
                waiting.send("WEIR.ACQUIRE", "MAXWAIT", 3_600_000, "AS", f"job={self.key}")
                until(lambda: int(server.info()["blocked_clients"]) == 1, "it stands in line")
                for client in (one, two):
                    row = client.ask("WEIR.RESERVE", "MAXWAIT", 600_000, "AS", f"job={self.key}")
                    self.assertEqual((row[0], row[5], row[6]), (1, None, b"pace"), "one may be held, and that one will be")

    def test_what_cannot_be_reserved_from_is_said(self):
        refused = {
            "1/min algorithm=sliding_window_log":
                "sliding_window_log cannot be reserved: gcra and fixed windows can",
            "1/d burst 93": "burst: 93 takes longer than 92 days to drain at this rate, which is the most that can be "
                            "reserved from in Redis",
        }
        for rule, why in refused.items():
            self.assertEqual(reserve(self.one, self.key, rule), Error("ERR " + why))
        self.redis.must("SET", "weir:" + self.key, "hello")
        self.assertTrue(reserve(self.one, self.key, SLOW).startswith("WRONGTYPE"))


class Trace:
    """What acts of one key whose units drain by one an hour: moments are whole hours, however slow the machine is."""

    def __init__(self, key, dice, cancels):
        self.key = key
        self.burst = dice.randint(1, 5)
        self.cancels = cancels
        self.lock = threading.Lock()
        self.acts = {}   # (hour, units) by id; of those that act at once, by a number
        self.ids = []

    def play(self, client, dice, steps):
        """One client's part; what it was granted, in its order."""
        rule, hours = f"1/h burst {self.burst}", []
        for _ in range(steps):
            what = dice.random()
            units = dice.randint(1, self.burst)
            if what < 0.3 and self.cancels:
                self.cancel(client, dice)
            elif what < 0.4:
                if client.ask("WEIR.THROTTLE", "COST", units, self.key, rule)[0] == 0:
                    self.add(0, units, None)
            else:
                longest = dice.randint(0, 24) * HOUR
                granted, *_, wait, _, id, _ = reserve(client, self.key, rule, "COST", units, max_wait=longest)
                if granted == 0:
                    hours.append(round(wait / HOUR))
                    self.add(hours[-1], units, id)
        return hours

    def add(self, hour, units, id):
        with self.lock:
            self.acts[id or len(self.acts)] = (hour, units)
            if id:
                self.ids.append(id)

    def cancel(self, client, dice):
        with self.lock:
            id = dice.choice(self.ids) if self.ids else None
        if id and client.ask("WEIR.CANCEL", id) > 0:
            with self.lock:
                self.acts[id] = (0, 0)

    def is_kept(self):
        acts = sorted(act for act in self.acts.values() if act[1] > 0)
        return all(sum(units for _, units in acts[first:last + 1]) <= self.burst + acts[last][0] - acts[first][0]
                   for first in range(len(acts)) for last in range(first, len(acts)))


HOUR = 3_600_000


class FourServers(unittest.TestCase):
    """Processes of their own, asked at once."""
    COUNT = 4

    def setUp(self):
        self.redis = Redis()
        self.addCleanup(self.redis.close)
        flags = ("--store", f"redis://{self.redis.address}", "--store-deadline", "10s", "--on-store-error", "deny",
                 "--max-wait", "24h", "--threads", "1")
        self.clients = []
        for _ in range(self.COUNT):
            server = Server(*flags)
            self.addCleanup(server.stop)
            self.clients.append(server.client())
            self.addCleanup(self.clients[-1].close)

    def test_random_traces_keep_the_promise_at_the_moments_of_acting(self):
        dice = chance("traces")
        traces = [Trace(f"{self.id()}:{number}", dice, number % 4 != 0)
                  for number in range(100_000 if os.environ.get("WEIR_LONG") else 150)]
        together = threading.Barrier(self.COUNT)
        hours = [[] for _ in traces]

        def play(number):
            try:
                its = chance(f"process {number}")
                for trace, told in zip(traces, hours):
                    together.wait()
                    told.append(trace.play(self.clients[number], its, 8))
            except BaseException:
                together.abort()
                raise
        with concurrent.futures.ThreadPoolExecutor(self.COUNT) as threads:
            for done in [threads.submit(play, number) for number in range(self.COUNT)]:
                done.result()
        for trace, told in zip(traces, hours):
            self.assertTrue(trace.is_kept(), (trace.burst, trace.acts))
            if not trace.cancels:
                for each in told:
                    self.assertEqual(each, sorted(each), "moments follow the order of grants where nothing was given up")
        self.assertGreater(sum(len(trace.ids) for trace in traces), len(traces))


class WithoutRedis(unittest.TestCase):
    def test_the_fallback_reserves_and_its_ids_are_of_its_process(self):
        redis = Redis()
        self.addCleanup(redis.close)
        with Server("--store", f"redis://{redis.address}", "--store-deadline", "2s", "--max-wait", "1h",
                    "--threads", "1") as server, server.client() as client:
            reserve(client, "k", SLOW)
            shared = reserve(client, "k", SLOW)
            self.assertEqual(len(shared[5]), 25)
            redis.kill()
            until(lambda: server.info()["store_state"] == "down", "it is seen")
            # It continues from what Redis said last.
            local = reserve(client, "k", SLOW)
            self.assertEqual((local[0], len(local[5])), (0, 22))
            self.assertGreater(local[3], 50_000)
            self.assertIsInstance(client.ask("WEIR.CANCEL", shared[5]), Error)
            self.assertEqual([client.ask("WEIR.CANCEL", local[5]) for _ in range(2)], [1, 0])
            redis.start()
            until(lambda: server.info()["store_state"] == "ready", "it is back")
            self.assertEqual(client.ask("WEIR.CANCEL", shared[5]), 0)  # Redis has forgotten it


class Failover(unittest.TestCase):
    def test_a_replica_that_is_promoted_knows_the_reservations(self):
        with Sentinels() as sentinels:
            ports = ",".join(f"127.0.0.1:{each.port}" for each in sentinels.sentinels)
            with Server("--store", f"redis+sentinel://{ports}/mymaster", "--store-deadline", "2s", "--max-wait", "1h",
                        "--threads", "1", "--on-store-error", "deny") as server, server.client() as client:
                until(lambda: server.info()["store_state"] == "ready", "connected")
                rows = [reserve(client, "k", SLOW) for _ in range(3)]
                self.assertEqual([row[0] for row in rows], [0] * 3)
                sentinels.redis[0].must("WAIT", 1, 5_000)
                sentinels.redis[0].kill()
                until(lambda: reserve(client, "other", SLOW)[0] == 0, "another is master")
                self.assertEqual([client.ask("WEIR.CANCEL", rows[1][5]) for _ in range(2)], [1, 0])
                again = reserve(client, "k", SLOW)
                self.assertLess(again[3], rows[1][3] + 1)


class InACluster(unittest.TestCase):
    def test_an_id_says_where_it_lies_and_keys_of_several_slots_are_refused(self):
        with Cluster() as cluster:
            flags = ("--store", f"redis+cluster://127.0.0.1:{cluster.servers[0].port}", "--store-deadline", "5s",
                     "--max-wait", "1h", "--threads", "1")
            with Server(*flags) as a, Server(*flags) as b, a.client() as one, b.client() as other:
                for i in range(12):  # on all of its nodes
                    key = f"k{i}"
                    now, told = [reserve(one, key, SLOW, "HOLD", 60_000) for _ in range(2)]
                    self.assertEqual([now[3] > 0, told[3] > 0], [False, True], key)
                    self.assertEqual(other.ask("WEIR.SETTLE", told[5], 1), -1, key)  # before its moment
                    self.assertEqual([other.ask("WEIR.CANCEL", each[5]) for each in (told, told, now)], [1, 0, 0], key)
                    self.assertGreaterEqual(other.ask("WEIR.SETTLE", now[5], 1), 0, key)
                    self.assertEqual(other.ask("WEIR.SETTLE", now[5], 1), -1, key)
                self.assertEqual(one.ask("WEIR.RESET", "k1"), 1)
                together = ("KEYS", "{t}a", SLOW, "{t}b", "10/s burst 10")
                self.assertEqual(one.ask("WEIR.RESERVE", *together)[0], 0)
                waits = one.ask("WEIR.RESERVE", "MAXWAIT", 100, "KEYS", "{u}a", "20/s burst 1", "{u}b", "9/s burst 9")
                self.assertEqual(waits[0], 0)
                apart = one.ask("WEIR.RESERVE", "KEYS", "a", SLOW, "b", SLOW)
                self.assertEqual(apart, Error("ERR the keys of this request lie in different slots of the cluster, and "
                                              "cannot be charged for one moment: let them share a {hash tag}"))


if __name__ == "__main__":
    if not available():
        raise SystemExit(f"{PROGRAM} is not here")
    end_to_end.run(240)
