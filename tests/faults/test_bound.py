"""Holds that end with their connection, with a shared Redis: the server that has the connection ends them."""
import signal
import unittest

from world import PROGRAM, Redis, Server, available, end_to_end, until
from bound import SLOTS, Ends, holds


class TestBound(Ends, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        cls.flags = ("--store", f"redis://{cls.redis.address}", "--store-deadline", "5s")
        cls.server = Server(*cls.flags)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.redis.close()

    def setUp(self):
        self.key = self.id()
        self.probe = self.server.client()
        self.addCleanup(self.probe.close)

    def test_a_connection_that_goes_while_redis_is_asked(self):
        client = self.held(0)
        number = client.ask("CLIENT", "ID")
        words = ("WEIR.RESERVE", "BOUND", "HOLD", "600000", self.key, SLOTS)
        self.assertEqual(client.ask(*words)[0], 0)
        with self.server.client() as killer:
            self.redis.pause()
            client.send(*words)
            until(lambda: b"cmd=weir.reserve" in killer.ask("CLIENT", "LIST", "ID", number), "it asks")
            self.assertEqual(killer.ask("CLIENT", "KILL", "ID", number), 1)
            self.redis.go_on()
        self.is_free()

    def test_a_drain(self):
        with Server(*self.flags) as other:
            self.held(300, other)
        self.is_free()

    def test_their_time_ends_those_of_a_server_that_was_killed(self):
        with Server(*self.flags, expect_exit=(-signal.SIGKILL,)) as other:
            client = other.client()
            self.assertEqual(client.ask("WEIR.RESERVE", "BOUND", "HOLD", "1500", self.key, SLOTS)[0], 0)
            other.kill()
            client.close()
        self.assertEqual(holds(self.probe, self.key), 1)
        self.is_free()


if __name__ == "__main__":
    if not available():
        raise SystemExit(f"{PROGRAM} is not here")
    end_to_end.run(240)
