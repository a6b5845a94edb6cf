"""Bad days of those who wait: clocks that step, a server that stands still or is killed, a store that is away,
numbers that change under a line, a hundred thousand told moments, a pause over ten thousand."""
import os
import select
import signal
import threading
import time
import unittest

from world import PROGRAM, Proxy, Redis, Server, available, end_to_end, until
from chance import chance
from clocks import SHIM, Clocks
from server import Folder, encode, sanitized

HOUR = 3_600_000
LIMITS = "version: 1\nattributes: [job]\nlimits:\n  pace: { by: [job], rate: RATE, max_wait: 1h }\n"


def told(clients, seconds=0):
    """Those that have an answer within that time."""
    poll, named = select.poll(), {each.socket.fileno(): each for each in clients}
    for number in named:
        poll.register(number, select.POLLIN)
    return [named[number] for number, _ in poll.poll(seconds * 1000)]


def many(client, commands):
    """Their answers, in pipelines that fit into a connection."""
    rows = []
    for first in range(0, len(commands), 1000):
        part = commands[first:first + 1000]
        client.send_bytes(b"".join(part))
        rows += [client.reply() for _ in part]
    return rows


class BadDay(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(Folder())
        self.key = self.id()

    def serve(self, *flags, redis=None, **options):
        store = ("--store", f"redis://127.0.0.1:{redis.port}", "--store-deadline", "5s") if redis else ()
        server = self.enterContext(Server("--threads", "1", *store, *flags, **options))
        if redis:
            until(lambda: server.info()["store_state"] == "ready", "the store is ready")
        return server

    def redis(self, **options):
        redis = Redis(**options)
        self.addCleanup(redis.close)
        return redis

    def client(self, server):
        return self.enterContext(server.client())

    def come(self, server, *words, count=1):
        """Connections that stand in line at once, or act."""
        clients = [self.client(server) for _ in range(count)]
        for each in clients:
            each.send("WEIR.ACQUIRE", "MAXWAIT", HOUR, *words)
        return clients

    def await_line(self, server, number):
        until(lambda: int(server.info()["blocked_clients"]) == number, f"{number} stand in line")

    def all_act(self, clients, note=lambda: None):
        left = set(clients)

        def some_act():
            for each in told(left, 0.1):
                left.remove(each)
                self.assertEqual(each.reply()[0], 0)
                note()
            return not left
        until(some_act, "all have acted")


@unittest.skipUnless(SHIM and available(), f"needs {PROGRAM} and CLOCK_SHIM, which CMake builds: weir_clock_shim")
class TestClocks(BadDay):
    PACE = "1/s burst 3"
    WINDOWS = ["3/2s algorithm=" + name for name in (
        "fixed_window", "fixed_window align=clock", "sliding_window_counter", "sliding_window_log")]

    def with_a_clock(self):
        clock = Clocks(self.folder, "redis")
        return clock, self.redis(env={**os.environ, **clock.environment})

    def test_a_redis_that_goes_back_by_an_hour_denies_nobody_for_that_hour(self):
        clock, redis = self.with_a_clock()
        one, other = (self.client(self.serve(redis=redis)) for _ in range(2))
        keys = {rule: rule for rule in (self.PACE, *self.WINDOWS)}
        for key, rule in keys.items():
            self.assertEqual(one.ask("WEIR.THROTTLE", "COST", 3, key, rule)[0], 0)
        for key, hold in (("told", ()), ("held", ("HOLD", 2_000))):
            keys[key] = self.PACE
            for cost in (3, 1):
                row = one.ask("WEIR.RESERVE", "MAXWAIT", 3_000, "COST", cost, *hold, "KEYS", key, self.PACE)
                self.assertEqual(row[0], 0)
        clock.step(wall=-3600)
        began = time.monotonic()
        for client in (one, other):
            client.ask("WEIR.THROTTLE", "both hear of it", self.PACE)
        for key, rule in keys.items():
            until(lambda: one.ask("WEIR.THROTTLE", key, rule)[0] == 0, f"{key} admits again")
            # The quota once more, and what has come back: nobody is handed an hour's.
            admitted = 1 + sum(other.ask("WEIR.THROTTLE", key, rule)[0] == 0 for _ in range(30))
            self.assertLessEqual(admitted, 2 * 3 + 1.5 * (time.monotonic() - began), key)

    def test_those_in_line_go_on_when_the_clock_of_redis_steps(self):
        clock, redis = self.with_a_clock()
        servers = [self.serve(redis=redis) for _ in range(2)]
        for step in (3600, -4, -3600):
            words = ("WEIR.ACQUIRE", "MAXWAIT", 20_000, f"{self.key} {step}", "2/s burst 1")
            waiting = [self.client(server) for server in servers * 4]
            for each in waiting:
                each.send(*words)
            until(lambda: told(waiting), "the first has acted")
            clock.step(wall=step)
            self.assertEqual([each.reply()[0] for each in waiting], [0] * 8, step)
            until(lambda: waiting[0].ask(*words)[0] == 0, "the next acts")

    def test_those_in_line_go_by_the_clock_that_counts_and_no_other(self):
        for in_redis in (False, True):
            its, forward = Clocks(self.folder, f"weir_{in_redis}"), "wall" if in_redis else "monotonic"
            counts, redis = self.with_a_clock() if in_redis else (its, None)
            server = self.serve(redis=redis, env=its.environment)
            clients = []
            for number in range(4):
                clients += self.come(server, self.key, "1/15min burst 1")
                self.await_line(server, number)
            self.assertEqual(clients[0].reply()[0], 0)
            for step in (-24 * 3600, 48 * 3600, -24 * 3600):
                its.step(wall=step)
                self.await_line(server, 3)
            for number, client in enumerate(clients[1:], 1):
                counts.step(**{forward: 900})
                self.assertEqual(client.reply()[0], 0)
                self.await_line(server, 3 - number)


class TestFrozen(BadDay):
    def test_of_a_thousand_in_line_those_that_are_overdue_act_as_they_fit_and_none_is_lost(self):
        burst, a_second = 3, 5
        path = self.folder.file("limits.yaml", LIMITS.replace("RATE", f"{a_second}/s burst {burst}"))
        server = self.serve("--limits", path)
        probe, waiting = self.client(server), [self.client(server) for _ in range(1000)]
        for each in waiting:  # and when it has acted, by the server's clock
            each.send_bytes(encode("WEIR.ACQUIRE", "MAXWAIT", HOUR, "AS", "job=a") + encode("WEIR.TIME"))
        until(lambda: int(server.info()["blocked_clients"]) > 900, "they stand in line")
        ms, then = probe.ask("WEIR.TIME")[1], time.monotonic()
        server.signal(signal.SIGSTOP)
        time.sleep(3)
        goes_on = ms + int((time.monotonic() - then) * 1000)
        server.signal(signal.SIGCONT)
        acted = []

        def read(at_least):
            for each in told(waiting, 0.1):
                waiting.remove(each)
                self.assertEqual(each.reply()[0], 0)
                acted.append(each.reply()[1])
            after = sorted(at for at in acted if at >= goes_on)
            for count, at in enumerate(after, 1):
                # One more: the first may be asked late by what a unit takes.
                most = burst + (at - goes_on) * a_second / 1000 + 1
                self.assertLessEqual(count, most, [each - goes_on for each in after])
            return len(after) >= at_least
        until(lambda: read(4 * burst), "they act")
        self.folder.file("limits.yaml", LIMITS.replace("RATE", "100000/s burst 1000"))
        self.assertEqual(probe.ask("WEIR.CONFIG", "RELOAD"), "OK")
        self.all_act(waiting)
        self.await_line(server, 0)


@unittest.skipUnless(available(), "needs redis-server")
class TestFar(BadDay):
    """Redis answers a tenth of a second later."""

    def setUp(self):
        super().setUp()
        self.store = self.redis()
        self.way = Proxy(self.store.port)
        self.addCleanup(self.way.close)
        self.server = self.serve(redis=self.way)
        self.way.delay = 0.05

    def test_those_in_line_for_whom_there_is_room_act_within_a_few_round_trips(self):
        rule, number = "1000/s burst 1000", 200
        control = self.client(self.server)
        control.ask("WEIR.CHARGE", "PAUSE", HOUR // 2, self.key, rule)
        clients = self.come(self.server, self.key, rule, count=number)
        self.await_line(self.server, number)
        trips, stop = [], threading.Event()

        def make_trips():
            with self.server.client() as probe:
                while not stop.is_set():
                    trips.append(probe.ask("WEIR.THROTTLE", f"{self.key} {len(trips)}", "1/s"))
        probing = threading.Thread(target=make_trips)
        probing.start()
        try:
            control.ask("WEIR.RESET", self.key)
            self.all_act(clients)
        finally:
            stop.set()
            probing.join()
        self.assertLess(len(trips), number // 4)

    def test_nobody_asks_redis_for_what_is_not_there(self):
        rule, number = "50/s burst 50", 40
        clients = self.come(self.server, self.key, rule, count=number)
        acts = 0

        def act(most):
            nonlocal acts
            for each in told(clients, 0.1):
                self.assertEqual(each.reply()[0], 0)
                each.send("WEIR.ACQUIRE", "MAXWAIT", HOUR, self.key, rule)
                acts += 1
            return acts >= most
        until(lambda: act(60), "the burst is over")
        scripts, before = self.store.calls("evalsha")[0], acts
        until(lambda: act(160), "a hundred act at the pace")
        self.assertLess(self.store.calls("evalsha")[0] - scripts, 2 * (acts - before))


@unittest.skipUnless(available(), f"needs {PROGRAM}")
class TestServers(BadDay):
    def test_those_after_the_first_go_on_when_its_server_is_killed(self):
        redis, rule, numbers = self.redis(), "1/min burst 5", iter(range(99))
        server, doomed = (self.serve(redis=redis, expect_exit=(0, -signal.SIGKILL)) for _ in range(2))

        def those_after():
            """None where a busy machine held up the first's server for a second, after which its plan lapses."""
            self.await_line(server, 0)
            key = f"{self.key} {next(numbers)}"
            self.assertEqual(self.client(server).ask("WEIR.THROTTLE", key, rule)[0], 0)
            first = self.come(doomed, "COST", 5, key, rule)
            until(lambda: redis.must("TYPE", "weir:" + key) == "hash", "the first has a plan")
            # They fit, and would make it late.
            after = self.come(server, key, rule, count=4)
            until(lambda: int(server.info()["blocked_clients"]) + len(told(after)) == 4, "all are decided")
            if not told(after):
                return after
            for each in first + after:
                each.close()
            return None
        after = until(those_after, "they wait for the first")
        doomed.kill()
        self.all_act(after)

    def lines_while_the_store_is_away(self, goes, comes_back, lost):
        redis, burst, a_second = self.redis(), 5, 50
        proxy = Proxy(redis.port)
        self.addCleanup(proxy.close)
        servers = [self.serve(redis=proxy) for _ in range(2)]
        began, gone, back, acted, waiting = time.monotonic(), None, None, [], []
        for server in servers:
            waiting += self.come(server, self.key, f"{a_second}/s burst {burst}", count=150)

        def note():
            now = time.monotonic()
            acted.append(now)
            most = burst + (now - began) * a_second + 1
            if gone:  # what each server's own table admits meanwhile
                most += 2 * (burst + ((back or now) - gone) * a_second + 1) + lost * burst
            self.assertLessEqual(len(acted), most, [each - began for each in acted])

        def read(number):
            for each in told(waiting, 0.1)[:number - len(acted)]:
                waiting.remove(each)
                self.assertEqual(each.reply()[0], 0)
                note()
            return len(acted) >= number
        until(lambda: read(20), "the first act")
        gone = time.monotonic()
        goes(redis, proxy)
        for server in servers:
            until(lambda: server.info()["store_state"] != "ready", "it is away")
        until(lambda: read(60), "they act by the fallback")
        comes_back(redis, proxy)
        for server in servers:
            until(lambda: server.info()["store_state"] == "ready", "it is back")
        back = time.monotonic()
        self.all_act(waiting, note)
        for server in servers:
            self.await_line(server, 0)

    def test_all_in_two_lines_act_though_the_store_is_away_for_a_while(self):
        self.lines_while_the_store_is_away(lambda _, proxy: proxy.refuse(), lambda _, proxy: proxy.accept(), 0)

    def test_all_in_two_lines_act_though_the_store_comes_back_empty(self):
        self.lines_while_the_store_is_away(lambda redis, _: redis.kill(), lambda redis, _: redis.start(), 1)


class Stores:
    """In memory, and with a Redis where there is one."""

    def test_in_memory(self):
        self.day(None)

    @unittest.skipUnless(available(), f"needs {PROGRAM}")
    def test_in_redis(self):
        self.day(self.redis())


class TestNumbers(Stores, BadDay):
    """Two of four in line cost more than the burst is lowered to. The others act after a raise."""

    def day(self, redis):
        path = self.folder.file("limits.yaml", LIMITS.replace("RATE", "1/5min burst 5"))
        server = self.serve("--limits", path, redis=redis)
        probe = self.client(server)

        def override(verb, rate, job):
            words = ("LIMIT", "pace", "RATE", rate, "FOR", HOUR, "REASON", "a bad day", "AS", job)
            self.assertGreater(probe.ask("WEIR." + verb, *words), 0)

        def reload(_, rate, __):
            self.folder.file("limits.yaml", LIMITS.replace("RATE", rate))
            self.assertEqual(probe.ask("WEIR.CONFIG", "RELOAD"), "OK")
        for job, change in (("job=by-override", override), ("job=by-file", reload)):
            self.assertEqual(probe.ask("WEIR.CHECK", "COST", 5, job)[0], 0)
            clients = []
            for number, cost in enumerate((5, 1, 4, 1), 1):
                clients += self.come(server, "COST", cost, "AS", job)
                self.await_line(server, number)
            change("LOWER", "1/5min burst 3", job)
            for never in clients.pop(2), clients.pop(0):  # wherever they stand
                denied = never.reply()
                self.assertEqual((denied[0], denied[1], denied[3], denied[6]), (1, 3, -1, b"pace"), "never")
            self.await_line(server, 2)
            change("RAISE", "300000/5min burst 5", job)
            self.all_act(clients)


class TestPause(Stores, BadDay):
    def day(self, redis):
        server, rule = self.serve("--max-wait", "24h", redis=redis), "1/s burst 1"
        count = 1000 if redis else 10_000
        probe, clients = self.client(server), [self.client(server) for _ in range(10)]
        probe.ask("WEIR.CHARGE", "COST", 3600, self.key, rule)  # so that none of them acts meanwhile
        reserve = [encode("WEIR.RESERVE", "MAXWAIT", 24 * HOUR, self.key, rule)] * (count // 10)
        ids = [[row[5] for row in many(client, reserve)] for client in clients]
        self.assertEqual(len({each for its in ids for each in its} - {None}), count)
        self.assertGreater(probe.ask("WEIR.MOMENT", ids[9][-1]), HOUR)
        probe.ask("WEIR.CHARGE", "PAUSE", 24 * HOUR, self.key, rule)
        for client, its in zip(clients, ids):
            client.send_bytes(b"".join(encode("WEIR.MOMENT", each) for each in its))
        for client, its in zip(clients, ids):
            self.assertEqual({client.reply() for _ in its}, {-1})
            self.assertEqual({client.ask("WEIR.CANCEL", each) for each in its[:5]}, {0})
        # Nothing of them is owed: the next acts when the pause ends.
        row = probe.ask("WEIR.RESERVE", "MAXWAIT", 24 * HOUR, self.key, rule)
        self.assertTrue(row[0] == 0 and 23 * HOUR < row[3] <= 24 * HOUR, row)


class TestAHundredThousand(BadDay):
    def test_told_moments_end_in_any_order_and_leave_nothing(self):
        server = self.serve("--reservation-memory", "256MiB", "--max-wait", "24h")
        client, other, dice, rule = self.client(server), self.client(server), chance(), "10/s burst 1"
        client.ask("WEIR.CHARGE", "COST", 36_000, self.key, rule)  # so that none of them acts meanwhile
        most = []
        for _ in range(2):
            ids = []
            for _ in range(100):
                client.send_bytes(encode("WEIR.RESERVE", "MAXWAIT", 24 * HOUR, self.key, rule) * 1000)
                self.assertEqual(other.ask("WEIR.THROTTLE", "another", "1000000/s")[0], 0)
                ids += [client.reply()[5] for _ in range(1000)]
            self.assertEqual(int(server.info()["reservations"]), 100_000)
            most.append(server.rss())
            dice.shuffle(ids)
            verbs = ("WEIR.MOMENT", "WEIR.CANCEL")
            rows = many(client, [encode(verb, each) for each in ids for verb in verbs])
            self.assertGreater(min(rows[::2]), 0)
            self.assertEqual(set(rows[1::2]), {1})
            ended = server.info()
            self.assertEqual((ended["reservations"], ended["reservation_memory"]), ("0", "0"))
        # The next have the memory of those before them.
        if not sanitized():
            self.assertLess(most[1], most[0] + (8 << 20))


if __name__ == "__main__":
    end_to_end.run(590)
