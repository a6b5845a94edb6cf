"""weir.celery without a worker; tests/end_to_end/test_pacing.py has fleets of them."""

import collections
import contextlib
import heapq
import itertools
import math
import os
import pathlib
import subprocess
import sys
import threading
import time
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parents[2] / "tests/end_to_end")]
import celery
import celery._state
from server import PATIENCE, Client, Folder, run, until
from world import Weir

import weir.celery
import weir.pool

LIMITS = """
version: 1
attributes: [api, size]
limits:
  calls: { by: [api], rate: 2/min, cost: { from: size } }
"""


class Paced(unittest.TestCase):
    def setUp(self):
        self.weir = self.enterContext(Weir(LIMITS))
        self.client = weir.connect(self.weir.url, timeout=PATIENCE)
        self.addCleanup(self.client.close)
        self.app = celery.Celery("test", broker="memory://", task_always_eager=True)
        self.made = []

    def task(self, *words, **options):
        @self.app.task(name=f"{len(self.app.tasks)}")
        @weir.celery.paced(*words, client=self.client, **options)
        def call(number, size=1):
            self.made.append(number)
            return number

        return call

    def test_called_directly_or_eagerly_it_waits_where_it_is(self):
        task = self.task("2/min", key="partner", max_wait=0)
        self.assertEqual((task(1), task.delay(2).get()), (1, 2))
        with self.assertRaises(weir.Denied):
            task(3)
        self.weir.advance(30_000)
        self.assertEqual(task(4), 4)
        self.assertEqual(self.made, [1, 2, 4])

    def test_what_is_counted_together_may_be_of_the_arguments(self):
        task = self.task("1/min", key=lambda number, size=1: f"partner {number}", max_wait=0)
        self.assertEqual((task(1), task(2)), (1, 2))
        task = self.task(attributes=lambda number, size: {"api": "partner", "size": size}, max_wait=0)
        self.assertEqual(task(3, size=2), 3)
        with self.assertRaises(weir.Denied):
            task(4, size=1)

    def test_without_a_key_a_task_has_one_counter(self):
        task = self.task("1/min", max_wait=0)
        self.assertEqual(task(1), 1)
        with self.assertRaises(weir.Denied):
            task(2)

    def test_each_task_has_its_own_and_a_name_is_shared(self):
        for options, shared in (({"key": "partner"}, False), ({"name": "partner"}, True)):
            first, second = self.task("1/min", max_wait=0, **options), self.task("1/min", max_wait=0, **options)
            self.assertEqual(first(1), 1)
            if shared:
                self.assertRaises(weir.Denied, second, 2)
            else:
                self.assertEqual(second(2), 2)
        self.app.main, other = "other", self.task("1/min", max_wait=0, name="partner")
        self.assertEqual(other(1), 1, "another application")

    def test_arguments_are_checked_when_a_task_is_sent(self):
        with self.assertRaises(TypeError):
            self.task("1/min").delay()

    def test_what_is_wrong_is_told_at_once(self):
        for words, options in (((), {}), (("1/min",), {"attributes": {}})):
            with self.assertRaisesRegex(TypeError, "paced goes by a rule, as in paced"):
                weir.celery.paced(*words, **options)
        with self.assertRaises(ValueError):
            weir.celery.paced("often")
        for said in {"key": 5}, {"name": 5}, {"cost": "2"}:
            with self.assertRaisesRegex(TypeError, f"^{next(iter(said))} is "):
                weir.celery.paced("1/min", **said)


VENDOR = """
version: 1
attributes: [api]
limits:
  calls: { by: [api], rate: 295/min burst 5 }
  day: { by: [api], rate: 9995/day align=calendar tz=America/Los_Angeles }
  at_once: { by: [api], in_flight: 5, hold: { ttl: 30s } }
"""
SLOTS = {"attributes": {"api": "partner"}, "costs": {"calls": 1, "day": 1}, "slots": ["at_once"], "windows": ["day"]}
BURST, INTERVAL, AT_ONCE = 5, 60 / 295, 5


class Fleet:
    """A broker and its workers in virtual time, and what they call. What is published is read last, as from a list in Redis,
    and is then kept until it falls due."""

    WORKERS, READS = 20, 0.002  # threads; seconds that it takes to run a task

    def __init__(self, server, paced, takes):
        self.now, self.asks, self.begun, self.errors = 1e6, 0, [], []
        self.at_once = self.most_at_once = 0
        self.server, self._takes = server, takes
        self._queue, self._events, self._order = collections.deque(), [], itertools.count()
        self._time = Client(server.path)
        self._running, self._free = [], self.WORKERS
        self._settle, paced.settle = paced.settle, self._settled_later
        app = celery.Celery("test", broker="redis://nowhere", set_as_default=False)

        class Published(celery.Task):
            def apply_async(task, args=(), kwargs=None, countdown=0, **_):
                self._queue.append((self.now + countdown, args, kwargs or {}))

        self.task = app.task(base=Published, name="call")(paced(self._call))

    def run(self, calls):
        for number in range(calls):
            self.task.apply_async((number,))
        while self._queue or self._events or self._running:
            self._step()
        self._time.close()

    def later(self, seconds, what):
        self._at(self.now + seconds, lambda: setattr(self, "told", what(self)))

    def stand_still(self, seconds):
        self._advance(seconds)

    def counting(self, asked):
        def ask(pool, data, *rest):
            self.asks += b"WEIR.SETTLE" not in data
            return asked(pool, data, *rest)

        return ask

    def _step(self):
        if self._events and self._events[0][0] <= self.now:
            heapq.heappop(self._events)[2]()
        elif self._queue and self._free:
            due, *task = self._queue.popleft()
            if due > self.now:
                return self._at(due, lambda: self._queue.appendleft((due, *task)))
            self._free -= 1
            self._running.append(threading.Thread(target=self._run, args=task))
            self._running[-1].start()
            self._wait()
            self._advance(self.READS)
        else:
            self._advance(self._events[0][0] - self.now if self._events and not self._running else self.READS)
        self._wait()

    def _at(self, when, what):
        heapq.heappush(self._events, (when, next(self._order), what))

    def _advance(self, seconds):
        milliseconds = max(1, math.ceil(seconds * 1000 - 0.001))
        self.now += milliseconds / 1000
        self._time.ask("WEIR.TIME", "ADVANCE", milliseconds)

    def _wait(self):
        """Until those that run have ended, but for those in line for a slot."""
        deadline = time.monotonic() + PATIENCE
        while self._running:
            self._running[0].join(0.002)
            self._running = [each for each in self._running if each.is_alive()]
            if self._running and len(self._running) == self.server.waiting():
                return
            assert time.monotonic() < deadline, "a task hangs"

    def _run(self, args, kwargs):
        celery._state._task_stack.push(self.task)
        self.task.push_request(args=args, kwargs=kwargs, called_directly=False, is_eager=False, id="1")
        try:
            self.task.run(*args, **kwargs)
        except celery.exceptions.Retry:
            self._free += 1
        except BaseException as error:
            self.errors.append(error)

    def _call(self, number):
        self.begun.append((self.now, number))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self._at(self.now + self._takes, self._ended)

    def _ended(self):
        self.at_once -= 1
        self._free += 1

    def _settled_later(self, id):
        """When the call has ended, for it ends at once."""
        self._at(self.now + self._takes, lambda: self._settle(id))


class Scripted:
    """`paced` by a script in Redis, as fleets have that know no weir: it books a moment and answers how long that takes. Of
    docs/from-redis-recipes.md's, with what the page says is wrong of it mended. The task acts when it is back, and asks no
    more: a pause, a slot or a crash is nothing to it."""

    SCRIPT = """
        local interval, burst, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
        local due = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
        redis.call('SET', KEYS[1], string.format('%.17g', due + interval))
        return string.format('%.17g', math.max(0, due - (burst - 1) * interval - now))
    """

    def __init__(self, path):
        self.path, self.fleet = path, None

    def __call__(self, call):
        def scripted(number, booked=False):
            if not booked:
                self.fleet.asks += 1
                with Client(self.path) as redis:
                    wait = float(redis.ask("EVAL", self.SCRIPT, 1, "partner", INTERVAL, BURST, repr(self.fleet.now)))
                if wait > 0:
                    later = self.fleet.task.signature_from_request(args=(number,), kwargs={"booked": True}, countdown=wait)
                    later.apply_async()
                    raise celery.exceptions.Retry(when=wait, sig=later)
            call(number)

        return scripted

    def settle(self, _):
        pass


@contextlib.contextmanager
def redis_server():
    """Where it listens."""
    with Folder() as folder:
        path = folder.file("redis.sock")
        command = ["redis-server", "--port", "0", "--unixsocket", path, "--save", ""]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as redis:
            try:
                until(lambda: os.path.exists(path) or redis.poll() is not None, "Redis listens")
                yield path
            finally:
                redis.terminate()


class Backlog(unittest.TestCase):
    """What a vendor counts of calls that are wanted at once, and weir of their questions."""

    def fleet(self, calls, *words, takes=0.1, limits=VENDOR, at=None, **options):
        server = self.enterContext(Weir(limits))
        client = weir.connect(server.url, timeout=PATIENCE, app="test")
        self.addCleanup(client.close)
        fleet = Fleet(server, weir.celery.paced(*words, client=client, **options), takes)
        clock = types.SimpleNamespace(time=lambda: fleet.now, monotonic=lambda: fleet.now, sleep=lambda _: None)
        self.enterContext(mock.patch.object(weir.celery, "time", clock))
        self.enterContext(mock.patch.object(weir.pool.Pool, "ask", fleet.counting(weir.pool.Pool.ask)))
        if at is not None:
            fleet.later(*at)
        fleet.run(calls)
        self.assertEqual(fleet.errors, [])
        self.assertEqual(sorted(number for _, number in fleet.begun), list(range(calls)))
        return fleet

    def scripted(self, calls):
        """The same by a script."""
        with Weir(VENDOR) as server, redis_server() as path:
            scripted = Scripted(path)
            scripted.fleet = Fleet(server, scripted, takes=0.1)
            scripted.fleet.run(calls)
        self.assertEqual(scripted.fleet.errors, [])
        self.assertEqual(sorted(number for _, number in scripted.fleet.begun), list(range(calls)))
        return scripted.fleet

    def assert_the_quota_is_kept(self, fleet):
        """The vendor allows 300 in any minute."""
        begun = [at for at, _ in fleet.begun]
        for first, after in zip(begun, begun[300:]):
            self.assertGreaterEqual(after - first, 60 - 0.001)

    def used(self, fleet):
        return len(fleet.begun) / (BURST + (fleet.begun[-1][0] - fleet.begun[0][0]) / INTERVAL)

    def test_the_quota_is_used_by_two_questions_a_call(self):
        """As by a script that asks once and looks at nothing when a task is back."""
        script = self.scripted(600)
        self.assertEqual(script.asks, 600)
        for words, options in ((("295/min burst 5",), {}), ((), SLOTS)):
            with self.subTest(options):
                fleet = self.fleet(600, *words, **options)
                self.assert_the_quota_is_kept(fleet)
                self.assertGreaterEqual(self.used(fleet), 0.98 * max(1, self.used(script)))
                self.assertLessEqual(fleet.asks, 2.01 * 600)  # a task that is read late asks for another moment
        self.assertEqual(fleet.most_at_once, AT_ONCE)

    def test_where_slots_are_few_all_of_them_are_used(self):
        fleet = self.fleet(100, takes=1.5, **SLOTS)
        self.assert_the_quota_is_kept(fleet)
        self.assertEqual(fleet.most_at_once, AT_ONCE)
        self.assertLessEqual(fleet.begun[-1][0] - fleet.begun[0][0], 100 / AT_ONCE * 1.5 / 0.9)
        self.assertLessEqual(fleet.asks, 4 * 100)  # one that finds no slot asks for another moment

    def test_a_line_that_may_not_be_so_long_is_joined_later(self):
        fleet = self.fleet(100, limits=VENDOR.replace("burst 5 }", "burst 5, max_wait: 10s }"), **SLOTS)
        self.assert_the_quota_is_kept(fleet)
        self.assertGreaterEqual(self.used(fleet), 0.98)
        self.assertLessEqual(fleet.asks, 4 * 100)

    def test_a_pause_is_kept_by_those_that_were_put_away(self):
        def paused(fleet):
            until = fleet.now + 30
            fleet.server.ask("WEIR.CHARGE", "PAUSE", 30_000, "LIMIT", "calls", "AS", "api=partner")
            return until

        fleet = self.fleet(60, at=(5, paused), **SLOTS)
        self.assertEqual([at for at, _ in fleet.begun if fleet.begun[0][0] + 5 < at < fleet.told], [])
        self.assert_the_quota_is_kept(fleet)
        self.assertLessEqual(fleet.asks, 4 * 60)  # a moment in the pause is gone: such a task asks for another

    def test_a_moment_that_was_missed_is_given_up(self):
        fleet = self.fleet(60, at=(2, lambda fleet: fleet.stand_still(5)), **SLOTS)
        self.assert_the_quota_is_kept(fleet)
        self.assertLessEqual(sum(fleet.begun[0][0] + 7 <= at < fleet.begun[0][0] + 8 for at, _ in fleet.begun), BURST + 5)


class Brokers(unittest.TestCase):
    def test_a_task_is_put_away_for_half_of_the_time_for_which_its_broker_lends_it(self):
        for broker, options, seconds in (
            ("redis://here", {}, 1800),
            ("rediss://here", {}, 1800),
            ("sentinel://here", {"visibility_timeout": 600}, 300),
            ("amqp://here", {}, 900),
            (None, {}, 900),
            ("sqs://", {"visibility_timeout": 60}, 30),
        ):
            with self.subTest(broker):
                app = celery.Celery("test", broker=broker, set_as_default=False, broker_transport_options=options)
                self.assertEqual(weir.celery._longest(app), seconds)


if __name__ == "__main__":
    run()
