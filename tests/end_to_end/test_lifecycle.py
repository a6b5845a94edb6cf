"""Start, stop, kill, restart; a full disk, no descriptors, a port in use, a damaged snapshot, guessed passwords."""
import contextlib
import os
import resource
import select
import signal
import socket
import subprocess
import threading
import time
import unittest

from chance import chance
from programs import ask
from rls import Client as RlsClient
from server import PATIENCE, Client, Folder, Server, WEIR, encode, run_at_once, sanitized, until, weir


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.snapshot = self.folder.file("snap")


class TestTerminating(WithFolder):
    def test_at_once_after_the_line_that_says_listening(self):
        # A reader of that line may stop the server the next moment; it must already know how.
        for _ in range(15):
            with Server("--threads", "1", "--snapshot", self.snapshot) as server:
                self.assertEqual(server.stop(), 0)
            self.assertTrue(os.path.exists(self.snapshot))
            os.unlink(self.snapshot)

    def test_both_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Server("--threads", "2") as server, server.client() as client:
                client.ask("PING")
                server.signal(number)
                self.assertEqual(client.rest(), b"")
                self.assertEqual(server.wait(), 0)

    def test_answers_what_has_arrived(self):
        with Server("--threads", "2") as server:
            clients = [server.client() for _ in range(6)]
            for client in clients:
                client.ask("PING")
            # Stopped, the server cannot answer: so all of this has arrived when the signal does.
            server.signal(signal.SIGSTOP)
            for number, client in enumerate(clients):
                client.send_bytes(encode("ECHO", number) * 3000 + b"*1\r\n$4\r\nPI")
            server.signal(signal.SIGTERM)
            server.signal(signal.SIGCONT)
            for number, client in enumerate(clients):
                self.assertEqual(client.rest(), b"$1\r\n%d\r\n" % number * 3000)
            self.assertEqual(server.wait(), 0)

    def test_stops_accepting(self):
        with Server("--threads", "1") as server:
            deaf = server.client()  # keeps the server at its draining for a while
            deaf.ask("PING")
            deaf.fill(encode("ECHO", b"x" * 100_000))
            server.signal(signal.SIGTERM)

            def refused():
                try:
                    Client(server.port).close()
                except (ConnectionRefusedError, ConnectionResetError):
                    return True
                return False
            until(refused, "new connections refused")
            deaf.close()
            self.assertEqual(server.wait(), 0)

    def test_ends_in_spite_of_a_client_that_never_reads(self):
        with Server("--threads", "1", "--snapshot", self.snapshot) as server, server.client() as deaf:
            deaf.ask("PING")
            deaf.fill(encode("ECHO", b"x" * 100_000))
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
            self.assertTrue(os.path.exists(self.snapshot))

    def test_ends_in_spite_of_clients_that_never_stop_sending(self):
        # Written by other processes, because one Python thread is slower than the server.
        flood = ("import socket, sys, threading\n"
                 "s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
                 "def read():\n"
                 "    while s.recv(1 << 20): pass\n"
                 "threading.Thread(target=read, daemon=True).start()\n"
                 "while True: s.sendall(b'PING\\r\\n' * 200000)\n")
        # Whether the server finds its sockets empty for a moment is chance: so several times.
        for round in range(4):
            with Server("--threads", "1", "--snapshot", self.snapshot) as server:
                floods = [subprocess.Popen(["/usr/bin/python3", "-c", flood, str(server.port)],
                                           stderr=subprocess.DEVNULL) for _ in range(2)]
                try:
                    with server.client(timeout=20) as client:
                        until(lambda: int(client.ask("INFO", "stats").split(b"processed:")[1].split(b"\r")[0])
                              > 4_000_000, "the flood")
                    server.signal(signal.SIGTERM)
                    try:
                        self.assertEqual(server.wait(3 * PATIENCE), 0)
                    except subprocess.TimeoutExpired:
                        self.fail(f"still running after SIGTERM, in round {round}")
                finally:
                    for process in floods:
                        process.kill()
                        process.wait()

    def test_ends_soon_in_spite_of_a_client_that_quit_and_stays(self):
        with Server("--threads", "1") as server, server.client() as client:
            self.assertEqual(client.ask("QUIT"), "OK")
            self.assertEqual(client.rest(), b"")
            start = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - start, 3.5)

    def test_a_second_signal_ends_at_once(self):
        with Server("--threads", "1", expect_exit=(0, -signal.SIGTERM)) as server, server.client() as deaf:
            deaf.ask("PING")
            deaf.fill(encode("ECHO", b"x" * 100_000))
            start = time.monotonic()
            server.signal(signal.SIGTERM)
            until(server.drains, "the first has come")
            server.signal(signal.SIGTERM)
            server.wait()
            self.assertLess(time.monotonic() - start, 3)

    def test_a_reader_of_the_log_that_goes_away_ends_nothing(self):
        # `weir serve 2>&1 | head -1`: the pipe breaks at the next line of the log.
        reading, writing = os.pipe()
        process = subprocess.Popen([WEIR, "serve", "--resp", "127.0.0.1:0", "--threads", "1",
                                    "--snapshot", self.snapshot, "--snapshot-every", "10ms"],
                                   stdout=subprocess.PIPE, stderr=writing)
        os.close(writing)
        os.close(reading)
        try:
            port = int(process.stdout.readline().rsplit(b":", 1)[1])
            # Make saving fail, which is logged every 10 ms.
            os.mkdir(self.snapshot)
            with Client(port) as client:
                until(lambda: b"snapshot_errors:0\r\n" not in client.ask("INFO", "persistence"), "an error to log")
                for _ in range(20):
                    self.assertEqual(client.ask("PING"), "PONG")
        finally:
            process.kill()
            process.communicate()


class TestLeaving(unittest.TestCase):
    """--drain-grace: what asks whether it is ready is told, and everything else goes on."""

    QUESTION = (b'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 32\r\n\r\n'
                b'{"key": "a", "limit": "100/min"}')

    def serve(self, grace):
        return Server("--threads", "1", "--http", "127.0.0.1:0", "--rls", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--drain-grace", grace)

    def leave(self, server):
        server.signal(signal.SIGTERM)
        until(lambda: ask(server.ports[3], path="/readyz")[::2] == (503, b"draining\n"), "it says that it leaves")

    def test_it_serves_on_until_the_grace_is_over(self):
        with self.serve("1s") as server:
            with server.client() as before, RlsClient(server.ports[2]) as rls:
                before.ask("PING")
                self.assertEqual(rls.health(), 1)
                began = time.monotonic()
                self.leave(server)
                with server.client() as after:
                    for client in (before, after):
                        self.assertEqual(client.ask("CL.THROTTLE", "key", 15, 30, 60)[0], 0)
                    self.assertEqual(ask(server.ports[3], path="/healthz")[0], 200)
                    self.assertEqual(rls.health(), 2, "of gRPC: it does not serve")
                    self.assertEqual(after.rest(), b"")
                self.assertGreaterEqual(time.monotonic() - began, 1)
            self.assertEqual(server.wait(), 0)

    def test_clients_of_HTTP_are_told_to_ask_elsewhere_and_what_they_have_sent_is_answered(self):
        with self.serve("60s") as server:
            with Client(server.ports[1]) as client:
                client.send_bytes(self.QUESTION)
                self.assertNotIn(b"Connection:", client.socket.recv(1 << 16))
                self.leave(server)
                client.send_bytes(self.QUESTION * 3)
                answers = client.rest()
            self.assertEqual((answers.count(b"HTTP/1.1 200 OK\r\n"), answers.count(b"Connection: close\r\n")), (3, 1), answers)
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)

    def test_a_second_signal_ends_the_grace_and_answers_what_has_arrived(self):
        with self.serve("60s") as server, server.client() as client:
            client.ask("PING")
            self.leave(server)
            server.signal(signal.SIGSTOP)
            client.send("PING")
            server.signal(signal.SIGTERM)
            server.signal(signal.SIGCONT)
            self.assertEqual(client.rest(), b"+PONG\r\n")
            client.close()
            self.assertEqual(server.wait(), 0)


class TestRestart(WithFolder):
    def serve(self, *args, **options):
        return Server("--threads", "2", "--snapshot", self.snapshot, *args, **options)

    def test_debts_are_kept_and_the_time_that_passed_is_taken_off(self):
        with self.serve() as server, server.client() as client:
            for _ in range(5):
                self.assertEqual(client.ask("CL.THROTTLE", "slow", 4, 5, 36000)[0], 0)
            self.assertEqual(client.ask("CL.THROTTLE", b"\0\r\n", 0, 1, 3600)[0], 0)
            self.assertEqual(client.ask("CL.THROTTLE", "quick", 0, 1, 1)[0], 0)
            charged = time.monotonic()
            self.assertEqual(client.ask("CL.THROTTLE", "steady", 999, 1, 1, 1000)[0], 0)
            client.ask("CL.THROTTLE", "reset", 0, 1, 3600)
            client.ask("WEIR.RESET", "reset")
        time.sleep(1.1)
        with self.serve() as server, server.client() as client:
            denied = client.ask("CL.THROTTLE", "slow", 4, 5, 36000)
            self.assertEqual(denied[:3], [1, 5, 0])
            self.assertTrue(7190 <= denied[3] <= 7199, "1.1 s of the 7200 have passed")
            self.assertEqual(client.ask("CL.THROTTLE", b"\0\r\n", 0, 1, 3600)[0], 1)
            self.assertEqual(client.ask("CL.THROTTLE", "quick", 0, 1, 1)[0], 0, "its second is over")
            self.assertEqual(client.ask("CL.THROTTLE", "reset", 0, 1, 3600)[0], 0)
            self.assertEqual(client.ask("CL.THROTTLE", "other", 0, 1, 3600)[0], 0)
            remaining = client.ask("CL.THROTTLE", "steady", 999, 1, 1, 0)[2]
            self.assertLessEqual(remaining, time.monotonic() - charged)
            self.assertGreaterEqual(remaining, 1)

    def test_shutdown_nosave_saves_nothing(self):
        with self.serve() as server, server.client() as client:
            client.ask("CL.THROTTLE", "k", 0, 1, 3600)
            client.send("SHUTDOWN", "NOSAVE")
            client.rest()
            client.close()
            self.assertEqual(server.wait(), 0)
        self.assertFalse(os.path.exists(self.snapshot))

    def test_saved_at_an_interval(self):
        killed = {"expect_exit": (-signal.SIGKILL,)}
        with self.serve("--snapshot-every", "50ms", **killed) as server, server.client() as client:
            client.ask("CL.THROTTLE", "k", 0, 1, 3600)
            saved = int(server.info()["snapshots"])
            until(lambda: int(server.info()["snapshots"]) >= saved + 2, "two more snapshots")
            server.signal(signal.SIGKILL)
            server.wait()
        with self.serve() as server, server.client() as client:
            self.assertEqual(client.ask("CL.THROTTLE", "k", 0, 1, 3600)[0], 1)

    def test_many_keys(self):
        keys = 50_000
        with self.serve() as server, server.client() as client:
            client.send("CLIENT", "REPLY", "OFF")
            client.send_bytes(b"".join(b"CL.THROTTLE key:%d 0 1 3600\r\n" % i for i in range(keys)))
            client.send("CLIENT", "REPLY", "ON")
            client.reply()
        with self.serve() as server, server.client() as client:
            self.assertEqual(client.ask("DBSIZE"), keys)
            client.send_bytes(b"".join(b"CL.THROTTLE key:%d 0 1 3600\r\n" % i for i in range(0, keys, 10)))
            self.assertEqual([client.reply()[0] for _ in range(0, keys, 10)], [1] * (keys // 10))

    def test_kill_at_any_instant_leaves_a_whole_file(self):
        dice = chance()
        drained = [f"drained-{i}" for i in range(2000)]
        with self.serve() as server, server.client() as client:
            for key in drained:
                client.send("CL.THROTTLE", key, 0, 1, 36000)
            for _ in drained:
                self.assertEqual(client.reply()[0], 0)
        for round in range(20 if os.environ.get("WEIR_LONG") else 5):
            with self.serve("--snapshot-every", "10ms", expect_exit=(-signal.SIGKILL,)) as server:
                with server.client() as client, server.client() as load:
                    load.send("CLIENT", "REPLY", "OFF")
                    stop = time.monotonic() + dice.uniform(0.0, 0.15)
                    number = 0
                    while time.monotonic() < stop:
                        load.send_bytes(b"".join(b"CL.THROTTLE %d:%d 9 1 36000\r\n" % (round, number + i)
                                                 for i in range(200)))
                        number += 200
                    server.signal(signal.SIGKILL)
                    server.wait()
            with self.subTest(round=round):
                with self.serve() as server, server.client() as client:
                    # Refusing a damaged file would have ended it; forgetting keys would admit these.
                    client.send_bytes(b"".join(encode("CL.THROTTLE", key, 0, 1, 36000, 1) for key in drained))
                    self.assertEqual(sum(client.reply()[0] for _ in drained), len(drained))
        self.assertEqual(set(os.listdir(self.folder.path)), {"snap", "snap.lock"})

    def fill(self, client, keys, cost=1):
        """Fresh keys that owe for hours; how many of them were allowed."""
        before = client.ask("DBSIZE")
        client.send("CLIENT", "REPLY", "OFF")
        for start in range(0, keys, 10_000):
            client.send_bytes(b"".join(b"CL.THROTTLE %d:%d 99 1 36000 %d\r\n" % (keys, start + i, cost + i % 90)
                                       for i in range(10_000)))
        client.send("CLIENT", "REPLY", "ON")
        self.assertEqual(client.reply(), "OK")
        return client.ask("DBSIZE") - before

    def test_a_table_that_is_full_of_keys_in_use_starts_again(self):
        with self.serve("--memory", "11MiB") as server, server.client(timeout=60) as client:
            keys = self.fill(client, 220_000)
            self.assertGreater(keys, 0.95 * int(server.info()["capacity"]))
        with self.serve("--memory", "11MiB") as server, server.client() as client:
            self.assertEqual(client.ask("DBSIZE"), keys)
            server.says(f"snapshot {self.snapshot}: {keys} keys restored\n")
            self.assertNotIn("warn", server.stderr())

    def test_less_memory_keeps_the_keys_furthest_in_debt_and_says_what_it_dropped(self):
        with self.serve("--memory", "10MiB") as server, server.client(timeout=60) as client:
            keys = self.fill(client, 80_000)
            for number in range(1000):
                client.send("CL.THROTTLE", f"deep:{number}", 99, 1, 36000, 100)
            for number in range(1000):
                self.assertEqual(client.reply()[0], 0)
        with self.serve("--memory", "9MiB") as server, server.client() as client:
            kept = client.ask("DBSIZE")
            self.assertGreater(kept, 0.9 * int(server.info()["capacity"]))
            server.says(f"snapshot {self.snapshot}: {kept} keys restored\n")
            self.assertIn(f"snapshot {self.snapshot}: {keys + 1000 - kept} keys, those least in debt, have no room in "
                          "--memory 9MiB and are forgotten\n", server.stderr())
            for number in range(1000):
                client.send("CL.THROTTLE", f"deep:{number}", 99, 1, 36000, 1)
            self.assertEqual([client.reply()[0] for _ in range(1000)], [1] * 1000)

    def test_a_second_process_that_would_save_to_the_same_file_is_refused(self):
        with self.serve("--snapshot-every", "10ms") as server, server.client() as client:
            for _ in range(2):
                code, out, errors = weir("serve", "--resp", "127.0.0.1:0", "--snapshot", self.snapshot,
                                         "--ignore-bad-snapshot")
                self.assertEqual((code, out), (2, ""))
                self.assertEqual(errors, f"weir: snapshot '{self.snapshot}': another process saves to it; each needs a "
                                         "file of its own\n")
            self.assertEqual(client.ask("PING"), "PONG")
        with self.serve():
            pass

    def test_what_a_killed_server_holds_is_free(self):
        with self.serve(expect_exit=(-signal.SIGKILL,)) as server:
            server.signal(signal.SIGKILL)
            server.wait()
        with open(self.snapshot + ".tmp.kI11ed", "w"):
            pass
        with self.serve():
            self.assertEqual(os.listdir(self.folder.path), ["snap.lock"])


class TestNoRoom(WithFolder):
    def errors(self, server):
        return int(server.info()["snapshot_errors"])

    def fail_to_save(self, path, limits=None):
        """The server starts with a good snapshot at `path` and cannot write larger ones."""
        # The limit counts in the program only; the signal that goes with it must not end it.
        with Server("--threads", "1", "--snapshot", path) as server, server.client() as client:
            client.ask("CL.THROTTLE", "drained", 0, 1, 36000)
        with open(path, "rb") as file:
            old = file.read()
        started = time.monotonic()
        with Server("--threads", "1", "--snapshot", path, "--snapshot-every", "20ms", expect_exit=(2,),
                    preexec_fn=limits) as server:
            with server.client() as client:
                before = int(server.info()["snapshots"])
                client.send("CLIENT", "REPLY", "OFF")
                client.send_bytes(b"".join(b"CL.THROTTLE %d 0 1 36000\r\n" % i for i in range(60_000)))  # 1.4 MB
                client.send("CLIENT", "REPLY", "ON")
                self.assertEqual(client.reply(), "OK")
                failed = until(lambda: self.errors(server), "a failed save")
                until(lambda: self.errors(server) > failed + 5, "other tries")
                self.assertEqual(client.ask("CL.THROTTLE", "drained", 0, 1, 36000)[0], 1, "service goes on")
                self.assertEqual(client.ask("CL.THROTTLE", "new", 0, 1, 36000)[0], 0)
                self.assertGreaterEqual(int(server.info()["snapshots"]), before)
            self.assertEqual(server.stop(), 2, "the last save failed: that is not a good end")
            server.says(path)
            self.assertLessEqual(server.stderr().count("[error]"), 3 + (time.monotonic() - started) / 10,
                                 "what fails again and again is not said each time")
            lines = server.stderr().splitlines()
            self.assertTrue(all("[error]" in line or "[info]" in line or "[warning]" in line for line in lines), lines)
        name = os.path.basename(path)
        self.assertEqual(sorted(os.listdir(os.path.dirname(path))), [name, name + ".lock"])
        # One that was saved while the keys came in may leave no room for another beside it: 2 at the end.
        with Server("--threads", "1", "--snapshot", path, expect_exit=(0, 2)) as server, server.client() as client:
            self.assertEqual(client.ask("CL.THROTTLE", "drained", 0, 1, 36000)[0], 1, "the old snapshot stayed")
        self.assertGreaterEqual(len(old), 64)

    def test_disk_full(self):
        disk = self.folder.file("disk")
        os.mkdir(disk)
        mounted = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk],
                                                       capture_output=True).returncode == 0
        if not mounted:
            self.skipTest("a small file system can be mounted by root only")
        try:
            self.fail_to_save(os.path.join(disk, "snap"))
        finally:
            subprocess.run(["umount", "-l", disk], capture_output=True)

    def test_file_size_limit(self):
        def limits():
            resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, 256 << 10))
        folder = self.folder.file("limited")
        os.mkdir(folder)
        self.fail_to_save(os.path.join(folder, "snap"), limits)

    def test_the_folder_is_gone(self):
        folder = self.folder.file("gone")
        os.mkdir(folder)
        with Server("--threads", "1", "--snapshot", folder + "/snap", "--snapshot-every", "10ms",
                    expect_exit=(2,)) as server:
            until(lambda: int(server.info()["snapshots"]) >= 1, "a snapshot")
            os.rename(folder, folder + "2")
            until(lambda: self.errors(server) >= 2, "failed saves")
            with server.client() as client:
                self.assertEqual(client.ask("PING"), "PONG")

    def limit_files(self, most):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    # UBSan opens a pipe to look at an object, and takes having no descriptor for a broken object.
    @unittest.skipIf(sanitized(), "sanitizers need descriptors")
    def test_out_of_descriptors(self):
        began = time.monotonic()
        with Server("--threads", "2", preexec_fn=self.limit_files(40)) as server:
            clients = [server.client() for _ in range(60)]  # the last ones wait in the backlog
            self.assertEqual(clients[0].ask("PING"), "PONG")
            until(lambda: server.descriptors() >= 40, "no descriptor left")
            self.assertFalse(server.spins())
            for client in clients[:5]:
                self.assertEqual(client.ask("CL.THROTTLE", "k", 99, 1, 3600)[0], 0, "who is in stays in")
            said = [line for line in server.stderr().splitlines() if "cannot accept a connection: Too many open files" in line]
            self.assertTrue(1 <= len(said) <= 1 + (time.monotonic() - began) / 10, f"counted, not repeated: {said}")
            for client in clients[:40]:
                client.close()
            for client in clients[40:]:
                self.assertEqual(client.ask("PING"), "PONG", "those who waited are let in")
                client.close()

    @unittest.skipIf(sanitized(), "sanitizers need descriptors")
    def test_out_of_descriptors_with_two_listeners(self):
        with Server("--threads", "1", "--unix-socket", self.folder.file("sock"), resp=["127.0.0.1:0"] * 2,
                    preexec_fn=self.limit_files(40)) as server:
            places = server.ports + [self.folder.file("sock")]
            clients = [Client(place) for _ in range(20) for place in places]
            until(lambda: server.descriptors() >= 40, "no descriptor left")
            until(lambda: "cannot accept" in server.stderr(), "a listener fails")
            time.sleep(0.3)  # so do the others, and wait for their next try
            for client in clients:
                client.close()
            until(lambda: server.descriptors() < 20, "descriptors are free again")
            for place in places:
                with self.subTest(place), Client(place) as client:
                    self.assertEqual(client.ask("PING"), "PONG")


class TestUnixSocket(WithFolder):
    def setUp(self):
        super().setUp()
        self.path = self.folder.file("sock")

    def serve(self):
        return Server("--threads", "1", "--unix-socket", self.path)

    def test_it_works_and_is_removed_at_the_end(self):
        with self.serve() as server:
            self.assertEqual(server.addresses[1], self.path)
            with Client(self.path) as client:
                self.assertEqual(client.ask("CL.THROTTLE", "k", 0, 1, 3600)[0], 0)
                with server.client() as other:
                    self.assertEqual(other.ask("CL.THROTTLE", "k", 0, 1, 3600)[0], 1, "one table for all")
            self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o660)
        self.assertFalse(os.path.exists(self.path))

    def test_a_second_server_is_refused_and_the_first_goes_on(self):
        with self.serve():
            code, out, errors = weir("serve", "--resp", "127.0.0.1:0", "--unix-socket", self.path)
            self.assertEqual((code, out), (2, ""))
            self.assertEqual(errors, f"weir: unix-socket: '{self.path}' is in use by another program\n")
            with Client(self.path) as client:
                self.assertEqual(client.ask("PING"), "PONG")

    def test_a_file_left_by_a_killed_server_is_replaced(self):
        with self.serve() as server:
            server.expect_exit = (-signal.SIGKILL,)
            server.signal(signal.SIGKILL)
            server.wait()
        self.assertTrue(os.path.exists(self.path))
        with self.serve(), Client(self.path) as client:
            self.assertEqual(client.ask("PING"), "PONG")
        self.assertFalse(os.path.exists(self.path))

    def test_a_server_that_does_not_start_removes_no_other_ones_socket(self):
        with self.serve() as server:
            weir("serve", "--resp", f"127.0.0.1:{server.port}", "--unix-socket", self.path)
            with Client(self.path) as client:
                self.assertEqual(client.ask("PING"), "PONG")


class TestGuessingPasswords(unittest.TestCase):
    def guess(self, server, stop):
        """Guesses from another address as fast as connections can be made, without waiting for an answer."""
        while not stop.is_set():
            with contextlib.suppress(OSError):
                with socket.create_connection(("127.0.0.1", server.port), 10, ("127.0.0.2", 0)) as client:
                    client.sendall(encode("AUTH", "guess"))

    def test_an_address_has_256_guesses_a_second_by_all_its_connections(self):
        with Server("--threads", "2", "--http", "127.0.0.1:0", "--http-token", "t0ken", env={"WEIR_PASSWORD": "s3cret"}) as server:
            start = time.monotonic()
            in_http = b"GET /openapi.json HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer guess\r\n\r\n"
            for number in range(3000):
                port, asks = (server.ports[0], encode("AUTH", "guess")) if number % 2 else (server.ports[1], in_http)
                with socket.create_connection(("127.0.0.1", port), 10, ("127.0.0.2", 0)) as client:
                    client.sendall(asks)

            def answer(port, asks):
                with socket.create_connection(("127.0.0.1", port), 10, ("127.0.0.2", 0)) as client:
                    client.sendall(asks)
                    return client.recv(4096)

            with server.client() as known:
                known.ask("AUTH", "s3cret")

                def counts():
                    fields = dict(line.split(b":", 1) for line in known.ask("INFO").split(b"\r\n") if b":" in line)
                    return int(fields[b"auth_failures"]), int(fields[b"auth_refused"])
                until(lambda: sum(counts()) == 3000, "all are counted")
                seconds = time.monotonic() - start
                self.assertLessEqual(counts()[0], 256 * (seconds + 1) + 2, "one more for each event loop")

                def refused():
                    for _ in range(300):
                        with socket.create_connection(("127.0.0.1", server.port), 10, ("127.0.0.2", 0)) as client:
                            client.sendall(encode("AUTH", "guess"))
                    return (answer(server.ports[0], encode("AUTH", "s3cret")),
                            answer(server.ports[1], in_http.replace(b"guess", b"t0ken")))
                told = until(lambda: next((each for each in [refused()] if each[0][:4] == b"-ERR" and b" 429 " in each[1]), None),
                             "the address is over its bound")
                self.assertEqual(told[0], b"-ERR too many wrong passwords come from 127.0.0.2; try again in a second\r\n")
                self.assertIn(b"too many wrong credentials come from 127.0.0.2; try again in a second", told[1])
                self.assertIn(b"\r\nRetry-After: 1\r\n", told[1])
            with server.client() as other:
                self.assertEqual(other.ask("AUTH", "s3cret"), "OK", "another address knows the password")
            until(lambda: answer(server.ports[0], encode("AUTH", "s3cret")) == b"+OK\r\n", "and this one is let in again")

    def test_who_knows_the_password_is_let_in_at_once_beside_a_guesser(self):
        with Server("--threads", "2", env={"WEIR_PASSWORD": "s3cret"}) as server:
            stop = threading.Event()
            guessers = [threading.Thread(target=self.guess, args=(server, stop)) for _ in range(2)]
            waiting = [server.client() for _ in range(50)]
            for client in waiting:
                client.send_bytes(encode("AUTH", "guess") * 100)
            for guesser in guessers:
                guesser.start()
            before_the_wrong_one = []
            try:
                for _ in range(101):
                    with server.client() as wrong, server.client() as client:
                        wrong.send("AUTH", "guess")
                        self.assertEqual(client.ask("AUTH", "s3cret"), "OK")
                        before_the_wrong_one.append(not select.select([wrong.socket], [], [], 0)[0])
            finally:
                stop.set()
                for guesser in guessers:
                    guesser.join()
            self.assertGreater(sum(before_the_wrong_one), 50, "a wrong one waits for a second, and this one does not")
            for client in waiting:
                client.close()

    def test_a_connection_has_one_guess_a_second(self):
        with Server("--threads", "2", env={"WEIR_PASSWORD": "s3cret"}) as server:
            start = time.monotonic()
            clients = [server.client() for _ in range(8)]
            for client in clients:
                client.send_bytes(encode("AUTH", "guess") * 50 + encode("HELLO", "3", "AUTH", "default", "guess") * 50)
            for i in range(2):
                for client in clients:
                    self.assertTrue(client.reply().startswith("WRONGPASS"))
                    self.assertGreaterEqual(time.monotonic() - start, i + 1)
            with server.client() as known:
                known.ask("AUTH", "s3cret")
                fields = dict(line.split(b":", 1) for line in known.ask("INFO").split(b"\r\n") if b":" in line)
            guesses, seconds = int(fields[b"auth_failures"]), time.monotonic() - start
            self.assertGreaterEqual(guesses, 16)
            self.assertLessEqual(guesses, 8 * (seconds + 1))
            for client in clients:
                client.close()


if __name__ == "__main__":
    run_at_once()
