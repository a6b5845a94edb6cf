"""weir serve --takeover: the next process goes on with connections, debts and holds, or nothing has changed."""
import contextlib
import hashlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import ssl
import stat
import struct
import subprocess
import threading
import time
import unittest

import rls
from server import PATIENCE, WEIR, Client, Closed, Error, Folder, Server, encode, environment, run_at_once, until, weir
from test_tls import Authority

LONG = bool(os.environ.get("WEIR_LONG"))
SNAPSHOT_FORMAT = 8  # of src/store/snapshot.hpp
LIMITS = """\
version: 1
attributes: [job, user]
limits:
  jobs: { by: [job], in_flight: 2, hold: { ttl: 10m } }
  user: { by: [user], rate: 10/h burst 10 }
routes:
  - { when: { job: "*" }, limits: [jobs] }
  - { limits: [user] }
"""


class Chain:
    """The server in charge at a path, and those that take over from it."""

    def __init__(self, *flags, **options):
        self.folder = Folder()
        self.path = self.folder.file("takeover")
        self.flags = ("--threads", "2", *flags)
        self.options = options
        self.now = self.start()
        self.addresses = self.now.addresses

    def start(self, *more, **options):
        return Server("--takeover", self.path, *self.flags, *more, **{**self.options, **options})

    def take_over(self, *more):
        """The next is in charge, and the one before has ended in order."""
        next = self.start(*more)
        before, self.now = self.now, next
        assert before.wait() == 0, before.stderr()
        self.before = before.stderr()
        before.__exit__(None)
        return next

    def refused(self, *args):
        """What a process says that does not take over; the one in charge is asked whether it still is."""
        code, out, errors = weir("serve", "--takeover", self.path, *args)
        assert (code, out) == (2, ""), (code, out, errors)
        with self.now.client() as client:
            assert client.ask("PING") == "PONG"
        return errors

    @property
    def port(self):
        return self.now.port

    def client(self, **options):
        return self.now.client(**options)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.now.__exit__(*(error or (None,)))
        self.folder.__exit__()


class WithChain(unittest.TestCase):
    def chain(self, *flags, **options):
        chain = Chain(*flags, **options)
        self.addCleanup(chain.folder.__exit__)
        self.addCleanup(lambda: chain.now.__exit__(None))
        return chain

    def client(self, where):
        client = where.client() if hasattr(where, "client") else Client(where)
        self.addCleanup(client.close)
        return client


def check(connection, key, limit):
    """POST /v1/check: allowed."""
    connection.request("POST", "/v1/check", json.dumps({"key": key, "limit": limit}), {"Content-Type": "application/json"})
    reply = connection.getresponse()
    body = json.loads(reply.read())
    assert reply.status in (200, 429) and not reply.will_close, (reply.status, body)
    return body["allowed"]


class GoesOn(WithChain):
    def test_connections_at_rest(self):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        path = folder.file("resp")
        chain = self.chain("--http", "127.0.0.1:0", "--unix-socket", path, "--admin", "127.0.0.1:0", "--http-token", "t")
        three, two, quiet, by_path = self.client(chain), self.client(chain), self.client(chain), self.client(path)
        self.assertEqual(three.ask("HELLO", "3", "SETNAME", "ann")[b"proto"], 3)
        numbers = [each.ask("CLIENT", "ID") for each in (three, two, by_path)]
        quiet.send("CLIENT", "REPLY", "OFF")
        web = http.client.HTTPConnection("127.0.0.1", chain.now.ports[1], timeout=PATIENCE)
        self.addCleanup(web.close)
        web.request("GET", "/v1/nothing", headers={"Authorization": "Bearer t"})
        self.assertEqual(web.getresponse().read() != b"", True)
        until(lambda: b"cmd=client" in two.ask("CLIENT", "LIST"), "all have been read")
        for _ in range(3):
            chain.take_over()
            self.assertEqual(chain.now.addresses, chain.addresses)
        self.assertEqual([each.ask("CLIENT", "ID") for each in (three, two, by_path)], numbers)
        self.assertEqual(three.ask("CLIENT", "GETNAME"), b"ann")
        self.assertIsInstance(three.ask("CONFIG", "GET", "maxmemory"), dict)
        self.assertIsInstance(two.ask("CONFIG", "GET", "maxmemory"), list)
        quiet.send("PING")
        quiet.send("CLIENT", "REPLY", "ON")
        self.assertEqual(quiet.reply(), "OK")
        web.request("GET", "/v1/nothing", headers={"Authorization": "Bearer t"})
        self.assertEqual(web.getresponse().status, 404)
        for where in (chain.port, path):
            with contextlib.closing(Client(where)) as fresh:
                self.assertEqual(fresh.ask("PING"), "PONG")
                self.assertGreater(fresh.ask("CLIENT", "ID"), max(numbers))
        chain.now.stop()
        self.assertFalse(os.path.exists(path))
        self.assertFalse(os.path.exists(chain.path))

    def test_who_has_authenticated_stays_so_and_nobody_else(self):
        chain = self.chain("--stall-timeout", "3s", env={"WEIR_PASSWORD": "secret"})
        known = self.client(chain)
        self.assertEqual(known.ask("AUTH", "secret"), "OK")
        began = time.monotonic()
        unknown = self.client(chain)
        self.assertTrue(unknown.ask("PING").startswith("NOAUTH"))
        chain.take_over()
        self.assertEqual(known.ask("PING"), "PONG")
        try:
            self.assertTrue(unknown.ask("PING").startswith("NOAUTH"))
        except (Closed, OSError):
            self.assertGreater(time.monotonic() - began, 3, "it was closed before the stall timeout")
        self.assertEqual(unknown.rest(), b"")  # after the stall timeout
        self.assertEqual(known.ask("PING"), "PONG")

    def test_debts_windows_and_what_is_reserved(self):
        chain = self.chain()
        client = self.client(chain)
        for _ in range(3):
            client.ask("WEIR.THROTTLE", "k", "10/d burst 10")
            client.ask("WEIR.THROTTLE", "w", "10/d algorithm=fixed_window")
        held = client.ask("WEIR.RESERVE", "HOLD", "600000", "COST", "5", "h", "10/d burst 10")
        client.ask("WEIR.RESERVE", "c", "1/min burst 1")
        ahead = client.ask("WEIR.RESERVE", "MAXWAIT", "60000", "c", "1/min burst 1")
        for _ in range(2):
            chain.take_over()
        self.assertEqual(client.ask("WEIR.THROTTLE", "COST", "0", "k", "10/d burst 10")[2], 7)
        self.assertEqual(client.ask("WEIR.THROTTLE", "COST", "0", "w", "10/d algorithm=fixed_window")[2], 7)
        self.assertGreater(client.ask("WEIR.MOMENT", ahead[5]), 0)
        self.assertEqual(client.ask("WEIR.CANCEL", ahead[5]), 1)
        client.ask("WEIR.SETTLE", held[5], "1")
        self.assertEqual(client.ask("WEIR.THROTTLE", "COST", "0", "h", "10/d burst 10")[2], 9)

    def test_a_pause_lasts_and_ends_what_lies_under_it_and_so_it_does_from_a_snapshot(self):
        rule = "1/min burst 1"
        with Folder() as folder:
            path = folder.file("snapshot")
            chain = self.chain("--snapshot", path)
            client, waits = self.client(chain), self.client(chain)
            told = {}
            for key in ("a", "b", "free"):
                client.ask("WEIR.THROTTLE", key, rule)
                told[key] = client.ask("WEIR.RESERVE", "MAXWAIT", "3600000", key, rule)[5]
            for key in ("a", "b"):
                client.ask("WEIR.CHARGE", "PAUSE", "3600000", key, rule)
            waits.send("WEIR.ACQUIRE", "MAXWAIT", "3600000", "free", rule)
            until(lambda: chain.now.info()["blocked_clients"] == "1", "it stands in line")

            def is_paused(client, ended):
                for key in ("a", "b"):
                    self.assertTrue(3_500_000 < client.ask("WEIR.THROTTLE", key, rule)[3] <= 3_600_000)
                verbs = ("WEIR.MOMENT", "WEIR.CANCEL")
                self.assertEqual([client.ask(verb, told[ended]) for verb in verbs], [-1, 0])
                self.assertGreater(client.ask("WEIR.MOMENT", told["free"]), 0)
            for _ in range(2):
                chain.take_over()
            self.assertEqual(waits.reply(), Error("ERR the server is shutting down"))
            is_paused(client, "a")
            chain.now.stop()
            with Server("--snapshot", path) as alone, alone.client() as again:
                is_paused(again, "b")
                # What waited in line has left nothing: the next after the told one is two minutes away.
                self.assertLessEqual(again.ask("WEIR.RESERVE", "MAXWAIT", "3600000", "free", rule)[3], 120_000)

    def test_a_slot_stays_taken_until_its_connection_ends(self):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        chain = self.chain("--limits", folder.file("limits.yaml", LIMITS))
        worker, other = self.client(chain), self.client(chain)
        self.assertEqual(worker.ask("WEIR.RESERVE", "BOUND", "AS", "job=a")[0], 0)
        held = other.ask("WEIR.RESERVE", "AS", "job=a")
        for _ in range(2):
            chain.take_over()
        # (tests/end_to_end/test_slots.py has what the numbers say.)
        self.assertEqual(other.ask("WEIR.RESERVE", "AS", "job=a")[0], 1)
        other.ask("WEIR.SETTLE", held[5])
        again = other.ask("WEIR.RESERVE", "AS", "job=a")
        self.assertEqual(again[0], 0)
        self.assertEqual(other.ask("WEIR.RESERVE", "AS", "job=a")[0], 1)
        worker.close()
        until(lambda: other.ask("WEIR.RESERVE", "AS", "job=a")[0] == 0, "the hold ended with its connection")
        self.assertEqual(other.ask("WEIR.RESERVE", "AS", "job=a")[0], 1)

    def test_who_waits_for_a_moment_is_told_and_not_charged(self):
        chain = self.chain()
        waits, probe = self.client(chain), self.client(chain)
        waits.ask("WEIR.THROTTLE", "a", "1/min burst 1")
        number = waits.ask("CLIENT", "ID")
        waits.send("WEIR.ACQUIRE", "MAXWAIT", "60000", "a", "1/min burst 1")
        waits.send("ECHO", "next")
        until(lambda: b" flags=b " in probe.ask("CLIENT", "LIST", "ID", number), "it waits")
        chain.take_over()
        self.assertEqual(waits.reply(), Error("ERR the server is shutting down"))
        self.assertEqual(waits.reply(), b"next")
        self.assertEqual(waits.ask("PING"), "PONG")  # it goes on
        after = waits.ask("WEIR.THROTTLE", "COST", "0", "a", "1/min burst 1")[4]
        self.assertLessEqual(after, 60_000)  # another unit would be two minutes

    def test_half_a_message_goes_on_and_a_transaction_ends(self):
        chain = self.chain("--http", "127.0.0.1:0")
        multi, half, probe = (self.client(chain) for _ in range(3))
        self.assertEqual(multi.ask("MULTI"), "OK")
        self.assertEqual(multi.ask("PING"), "QUEUED")
        command = encode("ECHO", "half")
        half.send_bytes(encode("PING") + command[:-3])
        self.assertEqual(half.reply(), "PONG")
        web, slow = (socket.create_connection(("127.0.0.1", chain.now.ports[1]), PATIENCE) for _ in range(2))
        body = json.dumps({"key": "k", "limit": "10/d burst 10"}).encode()
        head = b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
        web.sendall(head + b"\r\n" + body[:5])
        slow.sendall(head + b"Expect: 100-continue\r\n\r\n")
        self.assertTrue(slow.recv(100).startswith(b"HTTP/1.1 100 "))
        until(lambda: probe.ask("CLIENT", "LIST").count(b" qbuf=0 ") == 2, "half of three messages is read")
        for _ in range(2):
            chain.take_over()
        with self.assertRaises((Closed, ConnectionError)):
            multi.reply()
        half.send_bytes(command[-3:])
        self.assertEqual(half.reply(), b"half")
        for each, rest in ((web, body[5:]), (slow, body)):
            each.sendall(rest)
            self.assertTrue(each.recv(4096).startswith(b"HTTP/1.1 200 "))
            each.close()
        self.assertEqual(probe.ask("PING"), "PONG")

    def test_tls_ends_between_two_answers_and_its_listener_goes_on(self):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        authority = Authority(folder, "authority")
        certificate, key = authority.issue("localhost")
        chain = self.chain("--tls-cert", certificate, "--tls-key", key)
        tls = ssl.create_default_context(cafile=authority.certificate)
        with chain.client(tls=tls) as client:
            self.assertEqual(client.ask("WEIR.THROTTLE", "k", "10/d burst 10")[2], 9)
            chain.take_over()
            self.assertEqual(client.rest(), b"")
        with chain.client(tls=tls) as client:
            self.assertEqual(client.ask("WEIR.THROTTLE", "k", "10/d burst 10")[2], 8)
        self.assertIn("with TLS", chain_refusal(chain, "--resp", "127.0.0.1:0"))

    def test_overrides_and_the_audit_go_on_with_the_next(self):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        audit = folder.file("audit.log")
        chain = self.chain("--limits", folder.file("limits.yaml", LIMITS), "--audit", audit)
        client = self.client(chain)
        number = client.ask("WEIR.BAN", "LIMIT", "user", "FOR", "600000", "REASON", "x", "AS", "user=42")
        for i in range(3):
            chain.take_over()
            self.assertEqual(client.ask("WEIR.CHECK", "user=42")[0], 1)
            self.assertEqual(client.ask("WEIR.CHECK", f"user={i}")[0], 0)
            client.ask("DEL", f"k{i}")
        self.assertEqual(client.ask("WEIR.LIFT", number), 1)
        self.assertEqual(client.ask("WEIR.CHECK", "user=42")[0], 0)
        code, out, _ = weir("audit", "verify", audit)
        self.assertEqual(code, 0, out)
        with open(audit) as lines:
            self.assertEqual([json.loads(line)["verb"] for line in lines],
                             ["begin", "BAN", *3 * ["begin", "DEL"], "LIFT"])

    def test_nobody_may_more_after_it_than_before(self):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        users = folder.file("users.yaml", "users: { ann: { role: admin, token: \"sha256:" +
                            hashlib.sha256(b"secret").hexdigest() + "\" } }\n")
        os.chmod(users, 0o600)
        chain = self.chain("--users", users, resp=("127.0.0.1:0=decide",))
        known, unknown = self.client(chain), self.client(chain)
        self.assertEqual(known.ask("AUTH", "ann", "secret"), "OK")
        chain.take_over()
        self.assertEqual(known.ask("PING"), "PONG")
        self.assertTrue(known.ask("DEL", "x").startswith("NOPERM"))
        self.assertTrue(unknown.ask("PING").startswith("NOAUTH"))

    def test_what_a_connection_may_is_what_the_next_says(self):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        users = folder.file("users.yaml", "users: {}\n")
        os.chmod(users, 0o600)
        with self.subTest("users"):
            chain = self.chain()
            client = self.client(chain)
            self.assertEqual(client.ask("DEL", "x"), 0)
            chain.take_over("--users", users)
            self.assertTrue(client.ask("DEL", "x").startswith("NOAUTH"))
            chain.now.signal(signal.SIGHUP)
            until(lambda: chain.now.stderr().count(users) > 0, "the file is read again")
            self.assertTrue(client.ask("DEL", "x").startswith("NOAUTH"))
        with self.subTest("the most of its listener, of two"):
            chain = self.chain(resp=("127.0.0.1:0", "127.0.0.1:0"))
            first, second = self.client(chain.now.ports[0]), self.client(chain.now.ports[1])
            self.assertEqual([each.ask("DEL", "x") for each in (first, second)], [0, 0])
            chain.options["resp"] = ("127.0.0.1:0=decide", "127.0.0.1:0")
            chain.take_over()
            self.assertTrue(first.ask("DEL", "x").startswith("NOPERM"))
            self.assertEqual(second.ask("DEL", "x"), 0)
        with self.subTest("another password"):
            chain = self.chain(env={"WEIR_PASSWORD": "secret"})
            client = self.client(chain)
            self.assertEqual(client.ask("AUTH", "secret"), "OK")
            chain.options["env"] = {"WEIR_PASSWORD": "other"}
            chain.take_over()
            self.assertTrue(client.ask("PING").startswith("NOAUTH"))
            self.assertEqual(client.ask("AUTH", "other"), "OK")

    def test_the_snapshot_goes_on_with_the_next(self):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        path = folder.file("snapshot")
        chain = self.chain("--snapshot", path)
        client = self.client(chain)
        client.ask("WEIR.THROTTLE", "k", "10/d burst 10")
        chain.take_over()
        client.ask("WEIR.THROTTLE", "k", "10/d burst 10")
        code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--snapshot", path)
        self.assertEqual((code, "another process saves to it" in errors), (2, True))
        chain.now.stop()
        with Server("--snapshot", path) as alone, alone.client() as fresh:
            self.assertEqual(fresh.ask("WEIR.THROTTLE", "k", "10/d burst 10")[2], 7)


def chain_refusal(chain, *args):
    code, out, errors = weir("serve", "--takeover", chain.path, *args)
    assert (code, out) == (2, ""), (code, out, errors)
    return errors


class Refused(WithChain):
    def test_what_is_not_the_same_changes_nothing(self):
        chain = self.chain("--memory", "32MiB", "--http", "127.0.0.1:0")
        client = self.client(chain)
        same = ("--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--memory", "32MiB")
        for args, told in (
                (same[:2] + same[4:], "has other listeners"),
                (same + ("--admin", "127.0.0.1:0"), "has other listeners"),
                (same[:4] + ("--memory", "31MiB"), "which is less"),
                (same + ("--store", "redis://127.0.0.1:1"), "another --store: none; this one has redis://127.0.0.1:1"),
                (same + ("--limits", "/nowhere"), "/nowhere")):
            self.assertIn(told, chain.refused(*args), args)
            self.assertEqual(client.ask("PING"), "PONG")
        chain.flags = ("--memory", "33MiB", "--http", "127.0.0.1:0")
        chain.take_over()
        self.assertEqual(client.ask("PING"), "PONG")

    def test_a_file_at_the_path_is_left_alone(self):
        with Folder() as folder:
            path = folder.file("file", "text")
            code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--takeover", path)
            self.assertEqual((code, "exists and is not a socket" in errors), (2, True), errors)
            with open(path) as text:
                self.assertEqual(text.read(), "text")
            code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--takeover", folder.file("none/there"))
            self.assertEqual((code, "cannot listen there" in errors), (2, True), errors)

    def test_the_socket_of_a_killed_process_is_replaced(self):
        chain = self.chain(expect_exit=(0, -signal.SIGKILL))
        chain.now.process.kill()
        chain.now.wait()
        self.assertTrue(os.path.exists(chain.path))
        chain.now.__exit__(None)
        chain.now = chain.start()
        client = self.client(chain)
        chain.take_over()
        self.assertEqual(client.ask("PING"), "PONG")

    def test_only_the_same_user_connects(self):
        chain = self.chain()
        self.assertEqual(stat.S_IMODE(os.stat(chain.path).st_mode), 0o600)
        if os.geteuid() != 0:
            self.skipTest("needs root, to be somebody else")
        os.chmod(chain.folder.path, 0o755)
        args = dict(user=65534, group=65534, extra_groups=[])
        command = ("serve", "--takeover", chain.path, "--resp", "127.0.0.1:0")
        self.assertEqual(self.run_as_other(command, args), "Permission denied")
        os.chmod(chain.path, 0o666)  # then what it sees of the other side says who that is
        self.assertIn("of another user", self.run_as_other(command, args))
        os.chmod(chain.path, 0o600)
        self.assertEqual(self.client(chain).ask("PING"), "PONG")

    def run_as_other(self, command, args):
        code, _, errors = weir(*command, **args)
        self.assertEqual(code, 2, errors)
        return errors.strip().rsplit(": ", 1)[1]


class Stranger:
    """What speaks the protocol of a takeover, as far as a test wants it to."""

    def __init__(self, chain):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(chain.path)
        self.descriptors = []

    def hello(self, version=1, format=SNAPSHOT_FORMAT, memory=1 << 40, listeners=(), parts=("overrides", "rls-holds")):
        text = lambda t: struct.pack("<Q", len(t)) + t.encode()
        out = text("weir takeover") + struct.pack("<Q", version) + text("9.9.9") + struct.pack("<QQ", format, memory) + text("")
        out += struct.pack("<Q", len(listeners))
        for flag, wanted in listeners:
            out += text(flag) + text(wanted) + text("") + struct.pack("<QQ", 0, 0)
        out += struct.pack("<Q", len(parts)) + b"".join(map(text, parts))
        self.socket.sendall(out)
        return self

    def take_all(self):
        """Begins, and hears all that is handed over."""
        self.word(b"begin")
        while b"done" not in self.hear():
            pass

    def word(self, word):
        self.socket.sendall(struct.pack("<Q", len(word)) + word)

    def hear(self):
        data, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 16, 253)
        self.descriptors += descriptors
        return data

    def close(self):
        self.socket.close()
        for each in self.descriptors:
            os.close(each)
        self.descriptors = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Fails(WithChain):
    """Whatever becomes of the next process, the one in charge stays so until that has said otherwise."""

    def still(self, chain, client):
        """It decides, and others can take over from it."""
        self.assertEqual(client.ask("PING"), "PONG")
        with chain.client() as fresh:
            self.assertEqual(fresh.ask("PING"), "PONG")

    def test_a_hello_that_is_not_understood(self):
        chain = self.chain()
        client = self.client(chain)
        for args, told in ((dict(version=2), b"takeovers of version 1; this one in 2"),
                           (dict(format=SNAPSHOT_FORMAT + 1),
                            f"snapshots of version {SNAPSHOT_FORMAT}; this one reads {SNAPSHOT_FORMAT + 1}".encode()),
                           (dict(parts=("overrides",)), b"hands over 'rls-holds', which this one cannot read")):
            with Stranger(chain) as stranger:
                self.assertIn(told, stranger.hello(**args).hear())
            self.still(chain, client)
        for junk in (b"\0", b"x" * 100, struct.pack("<Q", 1 << 63), random.randbytes(5_000)):
            with Stranger(chain) as stranger:
                stranger.socket.sendall(junk)
                self.assertIn(b"refusal", stranger.hear())
            self.still(chain, client)

    def test_it_ends_after_each_message(self):
        chain = self.chain()
        clients = [self.client(chain) for _ in range(300)]
        listeners = [("resp", f"127.0.0.1:{chain.port}")]
        allowed = 0
        for heard in range(7):
            for each in clients:
                allowed += 1 - each.ask("WEIR.THROTTLE", "k", "1000/d burst 1000")[0]
            with Stranger(chain) as stranger:
                if heard > 0:
                    stranger.hello(listeners=listeners)
                    self.assertIn(b"offer", stranger.hear())
                    stranger.word(b"begin")
                    got = [stranger.hear() for _ in range(heard - 1)]
                    self.assertEqual(len(got) < 4 or b"part" in got[3], True)  # after three with 128 connections each
            until(lambda: heard == 0 or chain.now.stderr().count("stays in charge") == heard, "it gave up")
            self.still(chain, clients[0])
        self.assertEqual(allowed, 1000)
        chain.take_over()
        self.assertEqual(sum(1 - each.ask("WEIR.THROTTLE", "k", "1000/d burst 1000")[0] for each in clients), 0)

    def test_one_that_stalls_is_given_up_and_others_are_told_to_wait(self):
        chain = self.chain()
        client = self.client(chain)
        with Stranger(chain) as stranger:
            self.assertIn(b"offer", stranger.hello(listeners=[("resp", f"127.0.0.1:{chain.port}")]).hear())
            self.assertIn("another process is taking over", chain_refusal(chain, "--resp", "127.0.0.1:0"))
            self.assertEqual(client.ask("PING"), "PONG")  # nothing waits for it yet
            stranger.take_all()
            self.assertEqual(client.ask("PING"), "PONG")  # after the deadline
            until(lambda: "stays in charge" in chain.now.stderr(), "it says so")
            # It comes late: the word has been said.
            word = stranger.descriptors[0]
            self.assertEqual(os.pread(word, 4, 0), struct.pack("<I", 1))
            with self.assertRaises(ConnectionError):
                stranger.word(b"ready")
        self.still(chain, client)
        chain.take_over()
        self.still(chain, client)

    def test_one_that_has_said_the_word_and_tells_nobody(self):
        chain = self.chain()
        client = self.client(chain)
        with Stranger(chain) as stranger:
            stranger.hello(listeners=[("resp", f"127.0.0.1:{chain.port}")]).hear()
            stranger.take_all()
            os.pwrite(stranger.descriptors[0], struct.pack("<I", 2), 0)
            stranger.socket.close()
            self.assertEqual(chain.now.wait(), 0)
            chain.now.says("has taken over")
            # Its connections and its listener are the other's, untouched.
            client.send("PING")
            with socket.create_connection(("127.0.0.1", chain.port), PATIENCE):
                client.socket.settimeout(0.05)
                with self.assertRaises(TimeoutError):
                    client.reply()
        chain.now = chain.start()

    def test_a_signal_in_the_middle_ends_it_as_ever(self):
        chain = self.chain()
        client = self.client(chain)
        with Stranger(chain) as stranger:
            stranger.hello(listeners=[("resp", f"127.0.0.1:{chain.port}")]).hear()
            stranger.take_all()
            client.send("PING")
            chain.now.signal(signal.SIGTERM)
            self.assertEqual(client.reply(), "PONG")
            self.assertEqual(chain.now.wait(), 0)
            self.assertEqual(os.pread(stranger.descriptors[0], 4, 0), struct.pack("<I", 1))
        chain.now = chain.start()


class Load:
    """Clients that ask without pause, each with a connection of its own, and one that connects for each request. What
    they were allowed is counted by key; anything but an answer fails."""

    def __init__(self, chain, clients=3, burst=3000):
        self.port, self.web = chain.now.ports[:2]
        self.rule = f"{burst}/w burst {burst}"
        self.ends = threading.Event()
        self.allowed = {"resp": 0, "http": 0}
        self.asked = 0
        self.lock = threading.Lock()
        self.failed = []
        kinds = [self.resp, self.pipeline, self.http] * clients + [self.connects]
        self.threads = [threading.Thread(target=self.run, args=(kind,)) for kind in kinds]
        for each in self.threads:
            each.start()

    def run(self, kind):
        try:
            kind()
        except Exception as error:
            self.failed.append(f"{kind.__name__}: {error!r}")

    def count(self, key, allowed, asked=1):
        with self.lock:
            self.allowed[key] += allowed
            self.asked += asked

    def resp(self):
        with contextlib.closing(Client(self.port)) as client:
            while not self.ends.is_set():
                self.count("resp", 1 - client.ask("WEIR.THROTTLE", "resp", self.rule)[0])

    def pipeline(self):
        with contextlib.closing(Client(self.port)) as client:
            while not self.ends.is_set():
                client.send_bytes(encode("WEIR.THROTTLE", "resp", self.rule) * 16)
                self.count("resp", sum(1 - client.reply()[0] for _ in range(16)), 16)

    def http(self):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.web, timeout=PATIENCE)) as connection:
            while not self.ends.is_set():
                self.count("http", check(connection, "http", self.rule))

    def connects(self):
        while not self.ends.is_set():
            with contextlib.closing(Client(self.port)) as client:
                self.count("resp", 1 - client.ask("WEIR.THROTTLE", "resp", self.rule)[0])

    def stop(self):
        self.ends.set()
        for each in self.threads:
            each.join(PATIENCE * 2)
        assert not self.failed, self.failed

    def give_up(self):
        """They may have failed."""
        self.ends.set()
        for each in self.threads:
            each.join(PATIENCE * 2)
        self.failed.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class UnderLoad(WithChain):
    rounds = 30 if LONG else 5

    def run_load(self, chain, burst=3000):
        with Load(chain, burst=burst) as load:
            for _ in range(self.rounds):
                asked = load.asked
                until(lambda: load.asked > asked + 300 or load.failed, "they are answered", 30)
                chain.take_over()
            until(lambda: load.failed or load.asked > 3 * burst and min(load.allowed.values()) >= burst, "all of it is used", 60)
        return load

    def test_no_request_is_refused_or_lost_and_no_debt(self):
        chain = self.chain("--http", "127.0.0.1:0")
        load = self.run_load(chain)
        self.assertEqual(load.allowed, {"resp": 3000, "http": 3000})

    @unittest.skipUnless(shutil.which("redis-server"), "needs redis-server")
    def test_the_same_with_a_store(self):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        path = folder.file("redis")
        store = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder.path],
                                 stdout=subprocess.DEVNULL)
        self.addCleanup(store.wait)
        self.addCleanup(store.kill)
        until(lambda: os.path.exists(path), "Redis listens")
        # A machine that is slow is not a failure of Redis.
        chain = self.chain("--http", "127.0.0.1:0", "--store", f"redis+unix://{path}", "--store-deadline", "10s", "--on-store-error", "deny")
        load = self.run_load(chain)
        self.assertEqual(load.allowed, {"resp": 3000, "http": 3000})

    def next_of(self, chain):
        """Started, and not waited for: what it says goes to a file, which is returned too."""
        log = chain.folder.file(f"log{random.random()}", "")
        with open(log, "wb") as out:
            command = [WEIR, "serve", "--takeover", chain.path, "--resp", "127.0.0.1:0", *chain.flags]
            process = subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def says():
            with open(log) as text:
                return text.read()
        return process, says

    def test_the_next_is_killed_at_any_moment(self):
        stayed = 0
        for number in range(self.rounds * 2):
            with self.subTest(number), Chain("--http", "127.0.0.1:0") as chain, Load(chain, clients=1) as load:
                next, says = self.next_of(chain)
                until(lambda: load.asked > 50, "they are answered")
                time.sleep(random.random() * 0.05)
                if number % 2:  # it is slow first, and killed while the one in charge waits for it
                    next.send_signal(signal.SIGSTOP)
                    time.sleep(0.05)
                next.kill()
                next.wait()
                asked = load.asked
                until(lambda: load.asked > asked + 100 or load.failed, "the one in charge answers")
                if "has taken over" in chain.now.stderr():  # it was too late to fail
                    self.assertEqual(chain.now.wait(), 0)
                    load.give_up()
                else:
                    stayed += 1
                    load.stop()
            self.assertLessEqual(max(load.allowed.values()), 3000)
        self.assertGreater(stayed, 0)

    def test_the_one_in_charge_is_killed_at_any_moment(self):
        for number in range(self.rounds):
            with self.subTest(number), Chain("--http", "127.0.0.1:0", expect_exit=(-signal.SIGKILL, 0)) as chain:
                with Load(chain, clients=1) as load:
                    next, says = self.next_of(chain)
                    until(lambda: load.asked > 50, "they are answered")
                    time.sleep(random.random() * 0.1)
                    chain.now.process.kill()
                    chain.now.process.wait()
                    # In charge, of what was handed over or of nothing.
                    until(lambda: "listening on" in says(), "it serves", 40)
                    if "took over" not in says():
                        with contextlib.closing(Client(int(says().split(" listening on 127.0.0.1:")[1].split(",")[0]))) as client:
                            self.assertEqual(client.ask("PING"), "PONG")
                    load.give_up()

    def test_two_take_over_at_once(self):
        chain = self.chain("--http", "127.0.0.1:0")
        with Load(chain, clients=1, burst=100_000) as load:
            for _ in range(self.rounds):
                before = chain.now.process
                both = [self.next_of(chain) for _ in range(2)]
                until(lambda: all("listening on" in says() or next.poll() is not None for next, says in both), "both know", 40)
                until(lambda: sum(each.poll() is None for each in (before, *(next for next, _ in both))) == 1, "one is in charge")
                asked = load.asked
                until(lambda: load.asked > asked + 100 or load.failed, "it answers")
                for next, says in both:
                    if next.poll() is None:
                        if chain.now.process is before:
                            before.wait()
                            chain.now.__exit__(None)
                        chain.now = Adopted(next, chain.now)
                    else:
                        self.assertIn(next.returncode, (0, 2), says())


RLS = """\
version: 1
attributes: [token, tenant]
limits:
  tokens: { by: [token], rate: 100/day burst 100, charge: after }
  tenants: { by: [tenant], rate: 300/day burst 300 }
routes:
  - { limits: [tokens, tenants] }
rls:
  edge: { unmapped: keep }
"""


class Grpc(WithChain):
    def setUp(self):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        self.limits = self.chain("--limits", folder.file("limits.yaml", RLS), "--rls", "127.0.0.1:0")
        self.rls = rls.Client(self.limits.now.ports[1])
        self.addCleanup(self.rls.close)

    def test_clients_connect_again_and_no_call_fails(self):
        allowed = failed = 0
        ends = threading.Event()

        def ask():
            nonlocal allowed, failed
            while not ends.is_set():
                try:
                    allowed += self.rls.ask("edge", rls.descriptor(tenant="a")).code == rls.OK
                except Exception as error:
                    failed = error
                    return
        asker = threading.Thread(target=ask)
        asker.start()
        for _ in range(3):
            before = allowed
            until(lambda: failed or allowed > before + 10 or allowed == 300, "it is answered")
            self.limits.take_over()
        until(lambda: failed or allowed == 300, "all of it is used")
        ends.set()
        asker.join(PATIENCE)
        self.assertEqual((failed, allowed, self.rls.ask("edge", rls.descriptor(tenant="a")).code), (0, 300, rls.OVER))

    def test_what_nobody_commits_goes_back(self):
        token = rls.descriptor(token="a")
        left = lambda: self.rls.check("edge", token).statuses[0].remaining
        self.assertEqual(self.rls.reserve("edge", token, amount=30, ttl=1.5)[0], rls.OK)
        self.assertEqual(left(), 70)
        self.limits.take_over()
        until(lambda: left() == 100, "the next process has ended it")


class Adopted:
    """A process that next_of() has started, as a Chain has its server."""

    def __init__(self, process, before):
        self.process, self.port, self.ports = process, before.port, before.ports

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)


if __name__ == "__main__":
    run_at_once()
