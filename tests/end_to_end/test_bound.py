"""BOUND: holds that end with the connection that was granted them, however it ends."""
import os
import signal

from bound import SLOTS, Ends, holds
from server import Error, Folder, OneServer, OneServerWithLimits, Server, encode, until
from server import run as run_tests


class Bound(Ends, OneServer):
    def setUp(self):
        self.key = self.id()
        self.probe = self.server.client()
        self.addCleanup(self.probe.close)

    def test_words_that_are_wrong(self):
        for words, error in (
                (("BOUND", self.key, SLOTS), "BOUND needs a hold: say HOLD, or ask by a limit that has one"),
                (("BOUND", self.key, "1/s"), "BOUND needs a hold: say HOLD, or ask by a limit that has one"),
                (("BOUND", "bound", "HOLD", "1", self.key, SLOTS), "BOUND is given twice")):
            self.assertEqual(self.probe.ask("WEIR.RESERVE", *words), Error("ERR " + error))
        # A key may still be called so.
        self.assertEqual(self.probe.ask("WEIR.RESERVE", "KEYS", "bound", "1/min burst 1")[6], b"bound")

    def test_an_id_is_all_the_right_that_it_takes_and_the_connection_ends_its_holds_all_the_same(self):
        client, other = self.held(0), self.server.client()
        self.addCleanup(other.close)
        words = ("WEIR.RESERVE", "BOUND", "HOLD", "1000", self.key, SLOTS)
        longer, shorter, settled = (client.ask(*words)[5] for _ in range(3))
        self.assertEqual(other.ask("WEIR.EXTEND", longer, "600000"), 600_000)
        self.assertEqual(other.ask("WEIR.EXTEND", shorter, "0"), 0)
        self.assertEqual(other.ask("WEIR.SETTLE", settled), 0)
        self.assertEqual(holds(self.probe, self.key), 1)
        self.assertEqual([other.ask("WEIR.EXTEND", each, "1000") for each in (shorter, settled)], [0, 0])
        client.close()
        self.is_free()
        self.assertEqual(other.ask("WEIR.EXTEND", longer, "600000"), 0)

    def test_there_may_not_be_more_than_that(self):
        client = self.held(0)
        most, sent = 16_384, 0
        command = encode("WEIR.RESERVE", "BOUND", "HOLD", "600000", self.key, SLOTS)
        refused = Error("ERR BOUND: this connection has 16384 holds that end with it, and may have no more; settle "
                        "some, or open another")
        last = None
        while sent < most + 40:
            client.send_bytes(command * 100)
            replies = [client.reply() for _ in range(100)]
            for reply in replies:
                sent += 1
                if sent > most:
                    self.assertEqual(reply, refused)
                else:
                    last = reply
                    self.assertEqual(reply[0], 0)
        self.assertEqual(client.ask("WEIR.SETTLE", last[5]), 0)
        self.assertEqual(client.ask("WEIR.RESERVE", "BOUND", "HOLD", "1", self.key, SLOTS)[0], 0)
        self.assertEqual(client.ask("WEIR.RESERVE", "BOUND", "HOLD", "1", self.key, SLOTS), refused)
        client.close()
        self.is_free()

    def test_a_drain_ends_them_before_the_last_snapshot(self):
        with Folder() as folder:
            flags = ("--snapshot", folder.file("weir.snapshot"), "--threads", "2")
            with Server(*flags) as server:
                client = server.client()
                for _ in range(500):
                    client.ask("WEIR.RESERVE", "BOUND", "HOLD", "600000", "k", SLOTS)
                other = client.ask("WEIR.RESERVE", "HOLD", "600000", "k", SLOTS)[5]
                server.stop()
                client.close()
            with Server(*flags) as server, server.client() as client:
                self.assertEqual(holds(client, "k"), 1)
                self.assertGreaterEqual(client.ask("WEIR.SETTLE", other), 0)

    def test_a_restart_ends_those_of_the_snapshot(self):
        with Folder() as folder:
            flags = ("--snapshot", folder.file("weir.snapshot"), "--threads", "2")
            server = Server(*flags, expect_exit=(-signal.SIGKILL,))
            with server.client() as client:
                client.ask("WEIR.RESERVE", "BOUND", "HOLD", "600000", "k", SLOTS)
                client.ask("WEIR.RESERVE", "HOLD", "600000", "k", SLOTS)
                client.ask("BGSAVE")
                until(lambda: os.path.exists(folder.file("weir.snapshot")), "it is saved")
                server.kill()
            with Server(*flags) as again, again.client() as client:
                self.assertEqual(holds(client, "k"), 1)


class ByTheFile(OneServerWithLimits):
    limits = """\
version: 1
attributes: [job, page]
limits:
  jobs: { by: [job], in_flight: 1, hold: { ttl: 30s } }
  pages: { by: [page], rate: 5/s }
routes:
  - { when: { job: "*" }, limits: [jobs] }
  - { when: { page: "*" }, limits: [pages] }
  - { limits: [] }
"""

    def test_a_hold_of_the_limit_is_enough(self):
        with self.server.client() as client:
            self.assertEqual(client.ask("WEIR.RESERVE", "BOUND", "AS", "job=1")[0], 0)
            self.assertEqual(self.client.ask("WEIR.LOOK", "job=1")[2], 0)
        until(lambda: self.client.ask("WEIR.LOOK", "job=1")[2] == 1, "it has ended")
        self.assertEqual(self.client.ask("WEIR.RESERVE", "BOUND", "AS", "page=1"),
                         Error("ERR BOUND needs a hold: say HOLD, or ask by a limit that has one"))
        self.assertEqual(self.client.ask("WEIR.RESERVE", "BOUND", "AS")[0], 0)


if __name__ == "__main__":
    run_tests()
