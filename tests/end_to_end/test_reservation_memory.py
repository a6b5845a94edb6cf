"""What one client can make the server keep for its reservations, and what is left for the others."""
import unittest

from server import Error, Server, sanitized, until
from server import run as run_tests

MIB = 1 << 20
BOUND = 8 * MIB
HOLDS = f"what holds may take of the memory for reservations is full: {BOUND - BOUND // 4} bytes"
MINE = f"this client's share of the memory for reservations is full: {BOUND // 2} bytes"


class TestMemory(unittest.TestCase):
    def serve(self):
        server = Server("--memory", "16MiB", "--client-memory", "16MiB", "--reservation-memory", "8MiB")
        self.addCleanup(server.stop)
        return server

    def client(self, server):
        client = server.client()
        self.addCleanup(client.close)
        return client

    def hold_until_full(self, client, words, most=200_000):
        """The error that ends it."""
        for _ in range(most // 500):
            for number in range(500):
                client.send("WEIR.RESERVE", *words, f"key:{number % 16}", "1000000/s burst 100000000")
            answers = [client.reply() for _ in range(500)]
            refused = [answer for answer in answers if isinstance(answer, Error)]
            if refused:
                return str(refused[0])
        self.fail(f"{most} reservations were all granted an id")

    def test_one_connection_takes_half_and_all_holds_three_quarters(self):
        server = self.serve()
        before = server.rss()
        first, second, third = (self.client(server) for _ in range(3))
        hold = ("HOLD", "86400000")
        self.assertEqual(self.hold_until_full(first, hold), f"ERR {MINE}")
        self.assertEqual(self.hold_until_full(second, hold), f"ERR {HOLDS}")
        self.assertEqual(third.ask("WEIR.RESERVE", *hold, "other", "10/s burst 5"), Error(f"ERR {HOLDS}"))
        # Those that wait have the last quarter.
        third.ask("WEIR.RESERVE", "other", "1/min burst 1")
        granted = third.ask("WEIR.RESERVE", "MAXWAIT", "60000", "other", "1/min burst 1")
        self.assertEqual((granted[0], granted[5] is None), (0, False), granted)
        self.assertEqual(third.ask("WEIR.CANCEL", granted[5]), 1)
        told = server.info()
        self.assertLessEqual(int(told["reservation_memory"]), BOUND)
        self.assertEqual(int(told["reservation_memory_limit"]), BOUND)
        if not sanitized():
            self.assertLess(server.rss() - before, BOUND + 16 * MIB)

    def test_a_wait_that_finds_no_memory_has_no_id(self):
        server = self.serve()
        client = self.client(server)
        rule = "1000/s burst 1"
        client.ask("WEIR.RESERVE", "k", rule)
        # The first that acts at its moment has none either; what tells is the server's count.
        for _ in range(200):
            for _ in range(500):
                client.send("WEIR.RESERVE", "MAXWAIT", "60000", "k", rule)
            answers = [client.reply() for _ in range(500)]
            if int(server.info()["reservations_without_id"]) > 0:
                break
        else:
            self.fail("every wait had an id")
        self.assertTrue(any(answer[0] == 0 and answer[3] > 0 and answer[5] is None for answer in answers))
        # Another connection has a share of its own.
        other = self.client(server)
        self.assertIsNotNone(other.ask("WEIR.RESERVE", "MAXWAIT", "60000", "k", rule)[5])

    def test_what_is_over_makes_room(self):
        server = self.serve()
        client = self.client(server)
        self.assertEqual(self.hold_until_full(client, ("HOLD", "1000")), f"ERR {MINE}")
        answers = []

        def granted():
            answers[:] = [client.ask("WEIR.RESERVE", "HOLD", "1000", "later", "10/s burst 5")]
            return not isinstance(answers[0], Error)
        try:
            until(granted, "the holds are over")
        except AssertionError as error:
            told = server.info()
            raise AssertionError(f"{error}: {answers}, {told['reservations']} reservations, "
                                 f"{told['reservation_memory']} bytes") from error


if __name__ == "__main__":
    run_tests()
