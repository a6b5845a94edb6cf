#!/usr/bin/python3
"""What docs/from-redis-recipes.md says of the recipes, each race step by step in a real Redis, and weir beside them.

A client of a recipe runs in a thread that stops before every command until the test lets it continue. So the order
of commands is the test's and not chance's. WEIR_BUILD is the build folder; without a weir in it its tests are skipped.
"""
import contextlib
import pathlib
import queue
import re
import sys
import threading
import time
import unittest

import redis  # the library, before bench/redis.py can be found in its place

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import lock_gcra
import servers
import time_bucket
import wait_time

PAGE = servers.ROOT / "docs/from-redis-recipes.md"
PATIENCE = 20
NO_TTL = -1
DONE = "done"


class Crashed(Exception):
    pass


class Stepped(redis.Redis):
    """A connection that asks the test before each command."""

    def __init__(self, port):
        super().__init__(port=port)
        self.next_command = queue.Queue()
        self.may_go = queue.Queue()
        self.dead = False

    def execute_command(self, *words, **options):
        if self.dead:
            raise Crashed
        self.next_command.put(words[0])
        if not self.may_go.get(timeout=PATIENCE):
            self.dead = True
            raise Crashed
        return super().execute_command(*words, **options)


class Client:
    """A call of a recipe, stopped before the command `at`."""

    def __init__(self, port, recipe, *arguments, kind=Stepped):
        self.redis = kind(port)
        self.sent = []
        self.thread = threading.Thread(target=self.run, args=(recipe, arguments), daemon=True)
        self.thread.start()
        self.at = self.redis.next_command.get(timeout=PATIENCE)

    def run(self, recipe, arguments):
        self.result = None
        with contextlib.suppress(Crashed):
            self.result = recipe(self.redis, *arguments)
        self.redis.next_command.put(DONE)

    def step(self):
        self.sent.append(self.at)
        self.redis.may_go.put(True)
        self.at = self.redis.next_command.get(timeout=PATIENCE)

    def until(self, command):
        """Continues until just before the command."""
        while self.at != command:
            assert self.at != DONE, f"it ended without {command}: {self.sent}"
            self.step()
        return self

    def finish(self):
        while self.at != DONE:
            self.step()
        self.end()
        return self.result

    def crash(self):
        self.redis.may_go.put(False)
        self.redis.next_command.get(timeout=PATIENCE)
        self.end()

    def end(self):
        self.thread.join(PATIENCE)
        self.redis.close()


class Recipe(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.server = stack.enter_context(servers.redis(servers.cores()[0]))
        self.redis = stack.enter_context(redis.Redis(port=self.server.port))

    def client(self, *arguments, **options):
        return Client(self.server.port, self.recipe, *arguments, **options)

    def ask(self, *arguments, **options):
        return self.client(*arguments, **options).finish()

    def until_gone(self, key):
        deadline = time.monotonic() + PATIENCE
        while self.redis.exists(key):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)


class TimeBucket(Recipe):
    recipe = staticmethod(time_bucket.allowed)
    limit_of_one = ("k", 1, 60_000)

    def test_round_trips(self):
        for sent in (["SETNX", "PEXPIRE", "GET", "DECRBY"], ["SETNX", "GET", "DECRBY"], ["SETNX", "GET"]):
            client = self.client("k", 2, 60_000)
            self.assertEqual(client.finish(), "DECRBY" in sent)
            self.assertEqual(client.sent, sent)

    def test_two_who_read_the_last_unit_are_both_allowed(self):
        a = self.client(*self.limit_of_one).until("DECRBY")  # a: SETNX 1, PEXPIRE, GET = 1
        b = self.client(*self.limit_of_one).until("DECRBY")  # b: SETNX 0, GET = 1
        self.assertTrue(a.finish())  # DECRBY = 0
        self.assertTrue(b.finish())  # DECRBY = -1
        self.assertEqual(self.redis.get("k"), b"-1")

    def test_ten_at_once_are_all_allowed_where_one_is(self):
        clients = [self.client(*self.limit_of_one).until("DECRBY") for _ in range(10)]
        self.assertEqual([client.finish() for client in clients], [True] * 10)

    def test_a_crash_after_setnx_leaves_a_key_that_never_ends(self):
        a = self.client(*self.limit_of_one).until("PEXPIRE")
        a.crash()
        self.assertEqual(self.redis.pttl("k"), NO_TTL)
        self.assertEqual([self.ask(*self.limit_of_one) for _ in range(3)], [True, False, False])
        self.assertEqual(self.redis.pttl("k"), NO_TTL)

    def test_an_expiry_between_get_and_decrby_denies_forever(self):
        a = self.client("k", 5, 50).until("DECRBY")  # GET = 5
        self.until_gone("k")
        self.assertTrue(a.finish())  # DECRBY creates the key again
        self.assertEqual((self.redis.get("k"), self.redis.pttl("k")), (b"-1", NO_TTL))
        self.assertEqual([self.ask("k", 5, 50) for _ in range(3)], [False] * 3)

    def test_around_the_end_of_a_period_nearly_twice_the_limit_is_allowed(self):
        bucket = ("k", 10, 2000)
        self.assertTrue(self.ask(*bucket))
        while self.redis.pttl("k") > 500:
            time.sleep(0.005)
        start = time.monotonic()
        late = [self.ask(*bucket) for _ in range(9)]
        self.until_gone("k")
        early = [self.ask(*bucket) for _ in range(10)]
        self.assertLess(time.monotonic() - start, 1)
        self.assertEqual(late + early, [True] * 19)


class CarefulRelease(Stepped):
    """Frees the lock only when it is still its own, as the better recipes do."""

    def set(self, name, value, nx=False, **options):
        if nx:
            self.mine = value
        return super().set(name, value, nx=nx, **options)

    def delete(self, name):
        script = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"
        return self.eval(script, 1, name, self.mine)


class LockGcra(Recipe):
    recipe = staticmethod(lock_gcra.allowed)
    limit_of_two = ("k", 2, 60, 50)  # and the lock's TTL in ms

    def test_round_trips(self):
        for sent in (["SET", "TIME", "GET", "SET", "DEL"], ["SET", "TIME", "GET", "DEL"]):
            client = self.client("k", 1, 60)
            self.assertEqual(client.finish(), sent.count("SET") == 2)
            self.assertEqual(client.sent, sent)

    def test_who_waits_for_the_lock_asks_again_and_again(self):
        a = self.client("k", 5, 60, 60_000).until("TIME")
        b = self.client("k", 5, 60, 60_000)
        for _ in range(7):
            b.step()
        self.assertTrue(a.finish())
        self.assertTrue(b.finish())
        self.assertEqual(b.sent, ["SET"] * 7 + ["SET", "TIME", "GET", "SET", "DEL"])

    def test_a_holder_who_pauses_longer_than_the_lock_lives_forgets_a_charge(self):
        for kind in (Stepped, CarefulRelease):
            with self.subTest(kind.__name__):
                self.redis.flushall()
                a = self.client(*self.limit_of_two, kind=kind).until("GET")
                a.step()  # a has read; now its process is paused
                self.until_gone("lock:k")
                self.assertTrue(self.ask(*self.limit_of_two, kind=kind))  # b
                self.assertTrue(a.finish())  # overwrites what b has written
                # Two were allowed and the state knows of one, so there is room for a third.
                self.assertEqual([self.ask("k", 2, 60) for _ in range(2)], [True, False])

    def test_its_release_frees_the_lock_of_another(self):
        a = self.client(*self.limit_of_two).until("DEL")
        self.until_gone("lock:k")
        b = self.client("k", 2, 60, 60_000).until("TIME")  # b holds the lock
        self.assertTrue(a.finish())  # DEL
        c = self.client("k", 2, 60, 60_000).until("GET")  # and so does c
        b.until("SET"), c.step()
        self.assertTrue(b.finish())
        self.assertTrue(c.finish())  # the third of two
        self.assertEqual(c.sent, ["SET", "TIME", "GET", "SET", "DEL"])

    def test_while_a_crashed_holder_has_the_lock_nobody_gets_an_answer(self):
        self.client("k", 2, 60, 60_000).until("TIME").crash()
        b = self.client("k", 2, 60)
        for _ in range(20):
            b.step()
        self.assertEqual(b.at, "SET")
        self.assertGreater(self.redis.pttl("lock:k"), 30_000)
        b.crash()


class WaitTime(Recipe):
    """The script alone, with times of ours for those of the caller."""
    now = "1732147200.123449"

    def wait(self, rate, burst, now=now, script=wait_time.SCRIPT):
        return float(self.redis.eval(script, 1, "k", rate, burst, now))

    # The answer as text: what a Redis keeps of a number is its whole part.
    as_text = wait_time.SCRIPT.replace("return (1 - tokens) / rate", "return tostring((1 - tokens) / rate)")

    def test_round_trips(self):
        client = Client(self.server.port, wait_time.acquire, "k", 1, 5)
        client.finish()
        self.assertEqual(client.sent, ["EVAL"])

    def test_a_wait_below_a_second_is_answered_as_go(self):
        self.assertEqual([self.wait(10, 1) for _ in range(1000)], [0] * 1000)
        self.redis.flushall()
        self.assertEqual([self.wait(0.4, 1) for _ in range(2)], [0, 2])  # and not 2.5
        self.redis.flushall()
        self.assertEqual(self.wait(10, 1, script=self.as_text), 0)
        self.assertAlmostEqual(self.wait(10, 1, script=self.as_text), 0.1, 3)

    def test_a_time_in_14_digits_refills_the_bucket_between_two_who_come_together(self):
        self.assertEqual([self.wait(50_000, 1, script=self.as_text) for _ in range(1000)], [0] * 1000)
        self.assertTrue(self.redis.get("k").endswith(b" 1732147200.1234"))

    def test_a_caller_whose_clock_is_ahead_makes_the_others_wait_for_it(self):
        self.assertEqual(self.wait(1, 1, now="1732147260"), 0)
        self.assertEqual(self.wait(1, 1, now="1732147200"), 61)


class ThePage(unittest.TestCase):
    def test_it_shows_the_code_that_is_tested(self):
        text = PAGE.read_text()
        for recipe in (time_bucket, lock_gcra, wait_time):
            source = pathlib.Path(recipe.__file__).read_text()
            code = re.sub(r'\A""".*?"""\n|^import \w+\n', "", source, flags=re.S | re.M).strip("\n")
            self.assertIn(f"```python\n{code}\n```\n", text, recipe.__name__)

    def test_it_names_every_test_and_no_other(self):
        named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
        there = {name for case in (TimeBucket, LockGcra, WaitTime, Weir) for name in dir(case)
                 if name.startswith("test_")}
        self.assertEqual(named - there, set())
        self.assertEqual(there - named, {"test_round_trips"})


@unittest.skipUnless((servers.BUILD / "src/cli/weir").exists(), "WEIR_BUILD has no weir")
class Weir(Recipe):
    def setUp(self):
        super().setUp()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        url = f"redis://127.0.0.1:{self.server.port}"
        # Two processes, one Redis. On a busy machine an answer may take long, and nobody else is to decide.
        self.weirs = [stack.enter_context(servers.weir(servers.cores()[0], "--store", url, "--store-deadline", "10s"))
                      for _ in range(2)]
        self.clients = [stack.enter_context(redis.Redis(port=weir.port)) for weir in self.weirs]

    def throttle(self, *words, client=0):
        return self.clients[client].execute_command("CL.THROTTLE", *words)

    def scripts_run(self):
        return self.redis.info("commandstats").get("cmdstat_evalsha", {"calls": 0})["calls"]

    def test_of_those_who_come_at_once_to_two_processes_one_is_allowed(self):
        start = threading.Barrier(10)
        allowed = []

        def ask(number):
            with redis.Redis(port=self.weirs[number % 2].port) as client:
                client.ping()
                for key in range(20):
                    start.wait(PATIENCE)
                    if client.execute_command("CL.THROTTLE", key, 0, 1, 3600)[0] == 0:
                        allowed.append(key)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(allowed), list(range(20)))

    def test_a_check_is_one_command_and_its_key_ends(self):
        self.throttle("warm-up", 9, 10, 60)
        before = self.scripts_run()
        self.assertEqual(self.throttle("k", 9, 10, 60)[0], 0)
        self.assertEqual(self.scripts_run(), before + 1)
        self.assertTrue(0 < self.redis.pttl("weir:k") <= 6001)

    def test_a_key_that_is_denied_is_denied_without_redis(self):
        self.assertEqual([self.throttle("k", 0, 1, 3600)[0] for _ in range(2)], [0, 1])
        before = self.scripts_run()
        self.assertEqual([self.throttle("k", 0, 1, 3600)[0] for _ in range(100)], [1] * 100)
        self.assertEqual(self.scripts_run(), before)

    def test_a_wait_is_never_answered_as_none(self):
        answers = [self.throttle("k", 0, 2, 1) for _ in range(2)]
        self.assertEqual([(answer[0], answer[3]) for answer in answers], [(0, -1), (1, 1)])

    def test_state_is_whole_nanoseconds(self):
        self.throttle("k", 999_999, 50_000, 1, 500_000)  # owed for ten seconds
        self.assertRegex(self.redis.get("weir:k"), rb"\Aweir1g \d{19} 20000\Z")


if __name__ == "__main__":
    unittest.main()
