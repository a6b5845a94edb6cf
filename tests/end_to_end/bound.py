"""What is tested of BOUND embedded and with a Redis: the ways in which a connection ends. Also a client: bound.py PORT KEY."""
import os
import socket
import struct
import subprocess
import sys
import time

from server import Client, encode, until

SLOTS = "in_flight=20000"


def holds(client, key):
    """How many slots of SLOTS are taken."""
    told = client.ask("WEIR.RESERVE", "COST", "0", key, SLOTS)
    return told[1] - told[2]


class Ends:
    """The ways in which a connection ends; each client has `count` holds then."""
    probe = None

    def held(self, count=1, server=None):
        client = (server or self.server).client()
        self.addCleanup(client.close)
        for _ in range(count):
            self.assertEqual(client.ask("WEIR.RESERVE", "BOUND", "HOLD", "600000", self.key, SLOTS)[0], 0)
        self.assertEqual(holds(self.probe, self.key), count)
        return client

    def is_free(self):
        until(lambda: holds(self.probe, self.key) == 0, "the holds have ended")

    def test_fin(self):
        self.held(3).close()
        self.is_free()

    def test_the_end_of_one_side_after_its_replies(self):
        client = self.held(0)
        command = encode("WEIR.RESERVE", "BOUND", "HOLD", "600000", self.key, SLOTS)
        client.send_bytes(command * 200)
        client.socket.shutdown(socket.SHUT_WR)
        self.assertEqual([client.reply()[0] for _ in range(200)], [0] * 200)
        self.assertEqual(client.socket.recv(1), b"")
        self.is_free()

    def test_reset(self):
        client = self.held(3)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        self.is_free()

    def test_client_kill(self):
        client = self.held(3)
        number = client.ask("CLIENT", "ID")
        self.assertEqual(self.probe.ask("CLIENT", "KILL", "ID", number), 1)
        self.is_free()

    def test_quit_before_the_peer_has_closed_its_side(self):
        """Its side stays open for 2 s: one that we look at late may be closed by then, and shows nothing."""
        def free_while_it_is_open():
            client = self.held(3)
            there = self.server.descriptors()
            self.assertEqual(client.ask("QUIT"), "OK")
            self.is_free()
            return self.server.descriptors() >= there
        until(free_while_it_is_open, "the holds end before the connection is closed")

    def test_a_process_that_is_killed_under_load(self):
        worker = subprocess.Popen([sys.executable, os.path.abspath(__file__), str(self.server.port), self.key], stdout=subprocess.PIPE)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        until(lambda: holds(self.probe, self.key) > 500, "it holds")
        worker.kill()
        worker.stdout.close()
        self.is_free()

    def test_those_of_others_stay(self):
        one, other = self.held(2), self.server.client()
        self.addCleanup(other.close)
        other.ask("WEIR.RESERVE", "HOLD", "600000", self.key, SLOTS)
        held = other.ask("WEIR.RESERVE", "BOUND", "HOLD", "600000", self.key, SLOTS)[5]
        one.close()
        until(lambda: holds(self.probe, self.key) == 2, "its own have ended")
        self.assertEqual(other.ask("WEIR.SETTLE", held), 0)
        other.close()
        time.sleep(0.1)
        self.assertEqual(holds(self.probe, self.key), 1)

    def test_before_its_moment_it_is_cancelled_and_after_it_settled_at_what_it_was_charged(self):
        client = self.held(0)
        rule = "1/min burst 2"
        words = ("WEIR.RESERVE", "COST", "2", "MAXWAIT", "60000", "BOUND", "HOLD", "60000", self.key, rule)
        self.assertEqual(client.ask(*words)[3], 0)
        self.assertEqual(client.ask(*words)[0], 1)
        later = client.ask("WEIR.RESERVE", "COST", "1", *words[3:])
        self.assertTrue(50_000 < later[3] <= 60_000, later)
        client.close()

        def owed():
            return self.probe.ask("WEIR.THROTTLE", "COST", "0", self.key, rule)[4]
        until(lambda: owed() <= 120_000, "the one that waited is cancelled")
        self.assertGreater(owed(), 100_000)

    def test_acquire_is_bound_too(self):
        holder = self.held(0)
        one = ("WEIR.ACQUIRE", "MAXWAIT", "10000", "BOUND", "HOLD", "600000", self.key, "in_flight=1")
        self.assertEqual(holder.ask(*one)[0], 0)
        waiting = self.server.client()
        self.addCleanup(waiting.close)
        waiting.send(*one)
        until(lambda: self.server.info()["blocked_clients"] == "1", "it waits")
        holder.close()
        self.assertEqual(waiting.reply()[0], 0)

    def test_ten_thousand_hold_up_nobody(self):
        client = self.server.client()
        self.addCleanup(client.close)
        command = encode("WEIR.RESERVE", "BOUND", "HOLD", "600000", self.key, SLOTS)
        for _ in range(100):
            client.send_bytes(command * 100)
            for _ in range(100):
                self.assertEqual(client.reply()[0], 0)
        self.assertEqual(holds(self.probe, self.key), 10_000)
        client.close()
        # That others are served in between is in src/service/bound_holds_test.cpp, which has no clock.
        slowest = 0.0
        deadline = time.monotonic() + 60
        left = 1
        while left and time.monotonic() < deadline:
            began = time.monotonic()
            left = holds(self.probe, self.key)
            slowest = max(slowest, time.monotonic() - began)
        self.assertEqual(left, 0)
        print(f"{self.id()}: the slowest answer meanwhile took {slowest * 1000:.1f} ms", file=sys.stderr)


def work(port, key):
    """Takes holds and settles some of them, until it is killed."""
    client = Client(port)
    while True:
        for _ in range(10):
            client.ask("WEIR.RESERVE", "BOUND", "HOLD", "600000", key, SLOTS)
        client.ask("WEIR.SETTLE", client.ask("WEIR.RESERVE", "BOUND", "HOLD", "600000", key, SLOTS)[5])
        client.send_bytes(encode("WEIR.RESERVE", "BOUND", "HOLD", "600000", key, SLOTS) * 10)
        for _ in range(10):
            client.reply()


if __name__ == "__main__":
    work(int(sys.argv[1]), sys.argv[2])
