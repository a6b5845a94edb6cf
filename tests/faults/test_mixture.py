"""What a network, a machine and clocks do to weir and its Redis every day, one by one and then all at once: round trips
of 1 to 100 ms, pauses of 5 to 500 ms, steps of either's clocks in both directions, refusals, lost connections.

The figures are those of test_faults.py, which has the load and what is asked of it: every decision by its deadline, and
never more admitted than may be. A step of Redis' clock forward is a loss of state there: what was owed has drained.
"""
import os
import threading
import time
import unittest

from world import PROGRAM, Proxy, Redis, available
from clocks import SHIM, Clocks
from server import Folder, run
from test_faults import Faults, many, tearDownModule  # noqa: F401 (unittest calls tearDownModule)

ANY = {"timeout", "overload", "connection"}


@unittest.skipUnless(SHIM, "needs CLOCK_SHIM, which CMake builds: weir_clock_shim")
class TestMixture(Faults, unittest.TestCase):
    # Of a thousand batches that the store does not decide, the last thousandth is one: what the machine did to it.
    share = 0.99

    @classmethod
    def build(cls):
        folder = cls.cleanup.enter_context(Folder())
        cls.clocks_of_weir, cls.clocks_of_redis = Clocks(folder, "weir"), Clocks(folder, "redis")
        cls.environment = cls.clocks_of_weir.environment
        cls.redis = cls.cleanup.enter_context(Redis(env={**os.environ, **cls.clocks_of_redis.environment}))
        cls.proxy = Proxy(cls.redis.port)
        cls.cleanup.callback(cls.proxy.close)
        return f"redis://127.0.0.1:{cls.proxy.port}"

    def holder(self, _):
        return self.redis

    def held_up(self):
        lag, self.proxy.lag = self.proxy.lag, 0.0
        return lag > 0.015

    def charged(self, tag):
        self.assertEqual(self.clocks_of_redis.wall, 0)
        return super().charged(tag)

    def between(self, least, most):
        """Any magnitude is as likely as any other."""
        return least * (most / least) ** self.rng.random()

    def store_steps(self, by):
        """And comes back after a while: what was owed while the clock was back has drained then. By a second at most
        in one direction: what is charged while the clock is ahead is owed as much longer."""
        with self.losing():
            self.clocks_of_redis.step(wall=by)
            time.sleep(self.between(0.05, 0.5))
            self.clocks_of_redis.step(wall=-by)

    def any_step(self, direction):
        return -self.between(0.01, 100) if direction < 0 else self.between(0.01, 1)

    # One by one.

    def test_round_trips_of_1_to_100_ms(self):
        for _ in range(many(8)):
            self.proxy.delay = self.between(0.0005, 0.05)
            self.fault("a round trip of 1 to 100 ms")
            time.sleep(self.between(0.1, 0.5))
        self.proxy.delay = 0
        self.check_back(ANY)

    def test_pauses_of_5_to_500_ms(self):
        for _ in range(many(8)):
            self.redis.pause()
            self.fault("a pause of 5 to 500 ms")
            time.sleep(self.between(0.005, 0.5))
            self.redis.go_on()
            time.sleep(self.between(0.005, 0.3))
        self.check_back(ANY)

    def test_steps_of_the_clock_of_redis(self):
        for n in range(many(6)):
            self.fault("a step of Redis' clock")
            self.store_steps(self.any_step((-1, 1)[n % 2]))
        with self.losing():
            self.clocks_of_redis.step(wall=-100)
            self.assertAlmostEqual(int(self.redis.must("TIME")[0]), time.time() - 100, delta=10)
            self.clocks_of_redis.step(wall=100)
        self.check_back(ANY)

    def test_steps_of_the_clocks_of_weir(self):
        for n in range(many(6)):
            self.fault("a step of weir's clocks")
            wall = (-1, 1)[n % 2] * self.between(0.01, 36_000)
            self.clocks_of_weir.step(wall=wall, monotonic=self.between(0.001, 2) if n % 3 == 0 else 0)
            time.sleep(0.1)
            self.await_back()
            self.clocks_of_weir.step(wall=-wall)
        self.check_back(ANY)

    # And then all at once.

    def refuses(self):
        setting, value = self.rng.choice([("maxmemory", 1), ("min-replicas-to-write", 1)])
        self.redis.must("CONFIG", "SET", setting, value)
        time.sleep(self.between(0.01, 0.2))
        self.redis.must("CONFIG", "SET", setting, 0)

    def test_all_at_once(self):
        """Each misfortune in a thread of its own, one after the other with some time between them."""
        def again_and_again(what, between):
            def go_on():
                try:
                    while not over.wait(between()):
                        what()
                except BaseException as e:  # noqa: BLE001 (told below)
                    broken.append(e)
            return threading.Thread(target=go_on)

        def far():
            self.proxy.delay = self.between(0.0005, 0.05)

        def pause():
            self.redis.pause()
            time.sleep(self.between(0.005, 0.5))
            self.redis.go_on()

        def steps_of_redis():
            self.store_steps(self.any_step(self.rng.choice((-1, 1))))

        def steps_of_weir():
            wall = self.rng.choice((-1, 1)) * self.between(0.01, 36_000)
            self.clocks_of_weir.step(wall=wall, monotonic=self.between(0.001, 0.5))

        over, broken = threading.Event(), []
        threads = [again_and_again(what, lambda most=most: self.between(most / 10, most)) for what, most in (
            (far, 0.5), (pause, 1.0), (self.refuses, 2.0), (steps_of_redis, 2.0), (steps_of_weir, 1.0),
            (self.proxy.drop, 2.0))]
        self.fault("everything at once")
        for thread in threads:
            thread.start()
        time.sleep(many(8))
        over.set()
        for thread in threads:
            thread.join()
        self.assertEqual(broken, [])
        self.proxy.delay = 0
        self.check_back(ANY | {"oom", "other"})
        self.assertGreater(self.clocks_of_weir.monotonic, 0)


if __name__ == "__main__":
    if not available():
        raise SystemExit(f"{PROGRAM} is not here")
    run()
