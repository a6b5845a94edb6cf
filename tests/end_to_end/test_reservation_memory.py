"""What one client can make the server keep for its reservations, and what is left for the others."""
import unittest

from server import Client, Error, Folder, Server, sanitized, until
from server import run as run_tests

MIB = 1 << 20
BOUND = 8 * MIB
HOLDS = f"what holds may take of the memory for reservations is full: {BOUND - BOUND // 4} bytes"
PAUSES = f"what pauses may take of the memory for reservations is full: {BOUND // 4} bytes"
ADDRESS = f"this address's share of what pauses may take of the memory for reservations is full: {BOUND // 8} bytes"
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

    def test_a_wait_that_finds_no_memory_is_refused(self):
        server = self.serve()
        client = self.client(server)
        rule = "1000/s burst 1"
        client.ask("WEIR.RESERVE", "k", rule)
        for _ in range(200):
            for _ in range(500):
                client.send("WEIR.RESERVE", "MAXWAIT", "60000", "k", rule)
            answers = [client.reply() for _ in range(500)]
            refused = [answer for answer in answers if isinstance(answer, Error)]
            if refused:
                break
        else:
            self.fail("every wait was kept")
        self.assertEqual(refused[0], Error(f"ERR {MINE}"))
        self.assertFalse([answer for answer in answers
                          if not isinstance(answer, Error) and answer[0] == 0 and answer[3] > 0 and answer[5] is None])
        self.assertGreaterEqual(int(server.info()["reservations_refused"]), len(refused))
        # Another connection has a share of its own.
        other = self.client(server)
        self.assertIsNotNone(other.ask("WEIR.RESERVE", "MAXWAIT", "60000", "k", rule)[5])

    def test_what_acts_now_needs_no_memory(self):
        client = self.client(self.serve())
        self.assertEqual(self.hold_until_full(client, ("HOLD", "86400000")), f"ERR {MINE}")
        slow = ("MAXWAIT", "60000", "slow", "1/min burst 1")
        self.assertEqual(client.ask("WEIR.ACQUIRE", *slow)[0], 0)
        self.assertEqual(client.ask("WEIR.ACQUIRE", *slow), Error(f"ERR {MINE}"))

    def pause_until_full(self, client, name, most=20_000):
        """How many there were, and the error that ended it."""
        done = 0
        while done < most:
            for number in range(500):
                client.send("WEIR.CHARGE", "PAUSE", "86400000", f"{name}:{done + number}", "1/s burst 5")
            answers = [client.reply() for _ in range(500)]
            refused = [answer for answer in answers if isinstance(answer, Error)]
            done += 500 - len(refused)
            if refused:
                return done, str(refused[0])
        self.fail(f"{most} pauses were all kept")

    def test_pauses_of_one_address_leave_their_part_to_others_and_all_leave_room_to_hold(self):
        with Folder() as folder:
            words = ("--memory", "16MiB", "--reservation-memory", "8MiB", "--http", "127.0.0.1:0",
                     "--snapshot", folder.file("snapshot"))
            server = Server(*words)
            self.addCleanup(lambda: server.stop())
            attackers = [self.client(server) for _ in range(4)]
            paused, why = self.pause_until_full(attackers[0], "a")
            self.assertEqual(why, f"ERR {ADDRESS}")
            self.assertGreater(paused, 1000)
            # Whatever connection and protocol the address comes by.
            for attacker in attackers[1:]:
                self.assertEqual(self.pause_until_full(attacker, "b"), (0, f"ERR {ADDRESS}"))
            status, body = server.post("/v1/charge", {"key": "http", "limit": "1/s burst 5", "pause": 86400})
            self.assertEqual((status, body["detail"]), (400, ADDRESS))
            # And another address has its share.
            other = Client(server.port, source="127.0.0.2")
            self.addCleanup(other.close)
            self.assertEqual(other.ask("WEIR.CHARGE", "PAUSE", "86400000", "c", "1/s burst 5")[2], 86_400_000)
            self.pause_until_full(other, "c")
            third = Client(server.port, source="127.0.0.3")
            self.addCleanup(third.close)
            self.assertEqual(self.pause_until_full(third, "d")[1], f"ERR {PAUSES}")
            self.holds_and_waits(server)

            # Over a restart that, too, is all that pauses take.
            server.stop()
            server = Server(*words)
            self.assertEqual(self.client(server).ask("WEIR.CHARGE", "PAUSE", "86400000", "e", "1/s burst 5"),
                             Error(f"ERR {PAUSES}"))
            self.assertEqual(self.client(server).ask("CL.THROTTLE", "a:0", "4", "1", "1")[0], 1)
            self.holds_and_waits(server)
            # And with less memory.
            server.stop()
            server = Server(*words[:3], "4MiB", *words[4:])
            server.says("have no room in --reservation-memory 4MiB and are forgotten")
            self.assertLessEqual(int(server.info()["reservation_memory"]), 4 * MIB)
            self.assertEqual(self.client(server).ask("CL.THROTTLE", "a:0", "4", "1", "1")[0], 1)
            self.holds_and_waits(server)

    def holds_and_waits(self, server):
        client = self.client(server)
        self.assertIsNotNone(client.ask("WEIR.RESERVE", "HOLD", "60000", "held", "1000/s burst 1000")[5])
        client.ask("WEIR.RESERVE", "waits", "1/min burst 1")
        granted = client.ask("WEIR.RESERVE", "MAXWAIT", "60000", "waits", "1/min burst 1")
        self.assertIsNotNone(granted[5], granted)
        self.assertEqual(client.ask("WEIR.CANCEL", granted[5]), 1)

    def test_holds_leave_room_to_pause(self):
        server = self.serve()
        hold = ("HOLD", "86400000")
        self.hold_until_full(self.client(server), hold)
        self.assertEqual(self.hold_until_full(self.client(server), hold), f"ERR {HOLDS}")
        client = self.client(server)
        self.assertEqual(client.ask("WEIR.CHARGE", "PAUSE", "86400000", "c", "1/s burst 5")[2], 86_400_000)

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
