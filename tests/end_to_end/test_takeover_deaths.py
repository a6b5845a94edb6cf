"""weir serve --takeover: whenever the process in charge is killed, the next one serves.

The process in charge is played here: what a real one says to one that takes over is recorded, with its descriptors,
and then said again by a process that kills itself at a moment of the protocol.
"""
import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import unittest

from server import PATIENCE, WEIR, Folder, Server, environment, run, until
from test_takeover import Stranger

MIN = "10/w burst 10"
LOST = "the process in charge has ended and not handed over: this one starts without it"


def left(client, key="k"):
    return client.ask("WEIR.THROTTLE", "COST", "0", key, MIN)[2]


class Recorded:
    """What a process in charge has said to the one that was to take over from it; it is killed in the middle of that."""

    def __init__(self, path, *flags):
        self.path = path
        self.messages = []  # each with its descriptors
        with Server("--takeover", path, "--threads", "1", *flags, expect_exit=(-signal.SIGKILL,)) as old:
            self.port = old.port
            self.clients = [old.client() for _ in range(200)]  # more than one message has
            until(lambda: int(old.info()["connected_clients"]) > 200, "all have come")  # and who asks
            for each in self.clients[:3]:
                each.ask("WEIR.THROTTLE", "k", MIN)
            if "--snapshot" in flags:
                self.clients[0].ask("BGSAVE")
                until(lambda: os.path.exists(flags[1]), "it is saved")
            self.clients[3].ask("WEIR.THROTTLE", "k", MIN)  # of which the snapshot knows nothing
            with Stranger(self) as stranger:
                stranger.hello(listeners=[("resp", "127.0.0.1:0")])
                self.hear(stranger)
                stranger.word(b"begin")
                while b"done" not in self.messages[-1][0]:
                    self.hear(stranger)
                old.kill()
            assert old.wait() == -signal.SIGKILL

    def hear(self, stranger):
        data, descriptors, _, _ = socket.recv_fds(stranger.socket, 1 << 16, 253)
        self.messages.append((data, descriptors))

    def close(self):
        for _, descriptors in self.messages:
            for each in descriptors:
                os.close(each)
        self.messages = []


class Played:
    """A process that says as much of it as it is told to, and then does what `at_the_end` does."""

    def __init__(self, recorded, moment, at_the_end=lambda connection: None):
        self.listens = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(recorded.path)
        self.listens.bind(recorded.path)
        heard, said = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                self.listens.listen(8)  # by this process, which is the one that the other side sees
                os.write(said, b"1")
                self.play(recorded, moment, at_the_end)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        os.read(heard, 1)  # it listens
        os.close(heard)
        os.close(said)
        self.listens.close()
        recorded.close()  # the next must get them from nobody else

    def play(self, recorded, moment, at_the_end):
        if moment == "it has connected":
            select.select([self.listens], [], [])
            return
        connection, _ = self.listens.accept()
        connection.recv(1 << 16)
        said = 0
        for data, descriptors in recorded.messages:
            if said == moment:
                break
            socket.send_fds(connection, [data], descriptors)
            said += 1
            if said == 1 and moment != 1:
                connection.recv(1 << 16)  # begin
        at_the_end(connection)

    def wait(self):
        os.waitpid(self.process, 0)


class Deaths(unittest.TestCase):
    def folder(self):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        return folder

    def next(self, path, *flags):
        return Server("--takeover", path, "--threads", "1", *flags)

    def test_it_is_killed_at_each_moment(self):
        folder = self.folder()
        recorded = Recorded(folder.file("count"))
        kinds = [data[8:15].rstrip(b"\0") for data, _ in recorded.messages]
        recorded.close()
        self.assertEqual(sum(kind.startswith(b"connec") for kind in kinds), 2, kinds)
        for moment in ("it has connected", *range(len(kinds))):
            with self.subTest(moment):
                recorded = Recorded(folder.file(f"takeover{moment}"))
                played = Played(recorded, moment)
                with self.next(recorded.path) as next, next.client() as client:
                    next.says(LOST)
                    self.assertEqual(left(client), 10)
                    with self.next(recorded.path) as third:  # from which another takes over in turn
                        self.assertEqual(next.wait(), 0)
                        until(lambda: "took over from" in third.stderr(), "it says so")
                        self.assertEqual(client.ask("PING"), "PONG")
                played.wait()

    def test_it_is_killed_when_it_has_handed_over_all(self):
        recorded = Recorded(self.folder().file("takeover"))
        clients, count = recorded.clients, len(recorded.messages)
        played = Played(recorded, count)
        with self.next(recorded.path) as next, next.client() as fresh:
            played.wait()
            self.assertNotIn(LOST, next.stderr())
            self.assertEqual((next.port, left(fresh)), (recorded.port, 6))
            self.assertEqual({each.ask("PING") for each in clients}, {"PONG"})

    def test_debts_of_its_last_snapshot_are_known(self):
        folder = self.folder()
        for moment in ("it has connected", 0, 1, 2, 4):
            with self.subTest(moment):
                flags = ("--snapshot", folder.file(f"snapshot{moment}"))
                recorded = Recorded(folder.file(f"takeover{moment}"), *flags)
                played = Played(recorded, moment)
                with self.next(recorded.path, *flags) as next, next.client() as client:
                    next.says(LOST)
                    self.assertEqual(left(client), 7)
                played.wait()

    def test_one_that_stays_in_charge_is_left_alone(self):
        """It has said so, and closes the connection, and lives on."""
        recorded = Recorded(self.folder().file("takeover"))
        word = recorded.messages[0][1][0]

        def stay(connection):
            os.pwrite(word, struct.pack("<I", 1), 0)
            connection.close()
            signal.pause()
        played = Played(recorded, 3, stay)
        try:
            done = subprocess.run([WEIR, "serve", "--takeover", recorded.path, "--resp", "127.0.0.1:0"], env=environment(),
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"the process in charge stays in charge", done.stderr)
        finally:
            os.kill(played.process, signal.SIGKILL)
            played.wait()

    def test_the_one_in_charge_says_that_it_stays_before_it_goes(self):
        """To one that does not begin too: what is unsaid then is of one that was killed."""
        path = self.folder().file("takeover")
        with Server("--takeover", path) as old:
            old.path = path
            with Stranger(old) as stranger:
                self.assertIn(b"offer", stranger.hello(listeners=[("resp", "127.0.0.1:0")]).hear())
                stranger.word(b"what is not begin")
                self.assertEqual(stranger.hear(), b"")
                self.assertEqual(os.pread(stranger.descriptors[0], 4, 0), struct.pack("<I", 1))


if __name__ == "__main__":
    run()
