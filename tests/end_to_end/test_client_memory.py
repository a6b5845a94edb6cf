"""What clients make the server keep: bounded, given back, and room for everything ordinary."""
import concurrent.futures
import contextlib
import resource
import socket
import ssl
import time
import unittest

import redis

from rls import SERVICE
from server import PATIENCE, Folder, Server, encode, run, sanitized, until
from test_tls import Authority

MIB = 1 << 20
AT_REST = 18 << 10  # with TLS
TOO_LARGE = b"-ERR closed: clients together keep more than --client-memory, and this one the most\r\n"


def setUpModule():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))


def fields(client, section="everything"):
    lines = bytes(client.ask("INFO", section)).decode().split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)


def on_its_way(port):
    """The bytes that one end of a connection with that port of ours has sent and the other not read."""
    waiting = 0
    with open("/proc/net/tcp", encoding="ascii") as table:
        next(table)
        for line in table:
            _, local, remote, state, queues = line.split()[:5]
            if state == "01" and f"{port:04X}" in (local.split(":")[1], remote.split(":")[1]):
                waiting += sum(int(each, 16) for each in queues.split(":"))
    return waiting


class TestBound(unittest.TestCase):
    """The bound of each is far below what the clients ask for, and the figure of RSS far above the bound."""

    def attack(self, make, count, bound, least_closed, *flags, threads=2, rss=64 * MIB):
        with Server("--threads", threads, "--client-memory", f"{bound}MiB", *flags) as server:
            with server.client() as other:
                other.ask("PING")
                before = server.rss()
                clients, most = [], 0
                for i in range(count):
                    clients.append(make(server))
                    if i % 20 == 0:
                        most = max(most, server.rss())
                        self.assertEqual(other.ask("PING"), "PONG", "one that keeps nothing is left alone")

                until(lambda: int(fields(other)["closed_for_client_memory"]) >= least_closed, "enough are closed")

                # All that was sent is read: nothing changes any more.
                def settled():
                    then = fields(other)
                    time.sleep(0.1)
                    now = fields(other)
                    return all(then[each] == now[each] for each in ("client_memory", "closed_for_client_memory"))
                until(settled, "a server at rest")
                most = max(most, server.rss())
                told = fields(other)
                self.assertEqual(int(told["client_memory_limit"]), bound * MIB)
                self.assertLessEqual(int(told["client_memory"]), bound * MIB)
                self.assertAlmostEqual(int(told["used_memory_rss"]), server.rss(), delta=16 * MIB)
                if not sanitized():
                    self.assertLess(most - before, bound * MIB + rss)
                said = 0
                for client in clients:
                    said += self.end_of(client)
                    client.close()
                until(lambda: int(fields(other)["connected_clients"]) == 1, "all have gone")
                if not sanitized():
                    until(lambda: server.rss() - before < 16 * MIB, "the memory is given back")
                self.assertLess(int(fields(other)["client_memory"]), MIB)
            server.says("connection closed: it kept too much memory")
            return said

    def end_of(self, client):
        """Whether it was told why it was closed."""
        with contextlib.suppress(OSError):
            client.setblocking(False)
            return client.recv(1 << 16).endswith(TOO_LARGE)
        return False

    def connect(self, server):
        client = socket.create_connection(("127.0.0.1", server.port))
        client.settimeout(20)
        return client

    def send(self, client, data):
        with contextlib.suppress(OSError):
            client.sendall(data)

    def test_half_commands(self):
        def make(server):
            client = self.connect(server)
            self.send(client, b"*3\r\n$4\r\nECHO\r\n$524288\r\n" + b"x" * 524_288 + b"\r\n$524288\r\n" + b"x" * 400_000)
            return client
        said = self.attack(make, 150, 32, 100)
        self.assertGreater(said, 50, "most are told why")

    def test_transactions(self):
        queue = encode("MULTI") + encode("ECHO", b"x" * 100_000) * 10

        def make(server):
            client = self.connect(server)
            self.send(client, queue)
            return client
        self.attack(make, 150, 32, 100)

    def test_replies_that_are_not_taken(self):
        commands = b"COMMAND\r\n" * 5_000  # 3 KiB of reply each

        def make(server):
            client = self.connect(server)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            with contextlib.suppress(OSError):
                client.send(commands)
            return client
        self.attack(make, 100, 4, 10)

    def test_two_that_are_equal_and_one_that_is_large(self):
        with Server("--threads", "2", "--client-memory", "8MiB") as server:
            small = [self.connect(server) for _ in range(4)]
            for client in small:
                self.send(client, b"*2\r\n$4\r\nECHO\r\n$400000\r\n" + b"x" * 300_000)
            large = self.connect(server)
            self.send(large, encode("MULTI") + encode("ECHO", b"x" * 500_000) * 16)
            with contextlib.suppress(ConnectionError):
                while large.recv(1 << 16):
                    pass
            large.close()
            for client in small:
                client.sendall(b"x" * 100_000 + b"\r\n")
                got = b""
                while len(got) < 400_011:
                    got += client.recv(1 << 16)
                client.close()

    def test_connections_that_keep_nothing_are_neither_refused_nor_closed(self):
        with Server("--threads", "2", "--client-memory", "1MiB") as server, server.client() as first:
            first.ask("PING")
            others = [server.client() for _ in range(700)]
            for client in others:
                self.assertEqual(client.ask("PING"), "PONG")
            told = fields(first)
            self.assertEqual((int(told["closed_for_client_memory"]), int(told["client_memory"])), (0, 0))
            for client in others:
                client.close()


class TestHttp2(unittest.TestCase):
    """A connection of HTTP/2 costs much by itself, whatever its client does."""

    LIMITS = "version: 1\nattributes: [user]\nlimits:\n  user: { by: [user], rate: 2/h burst 3 }\n"
    HEAD = (b"\x83\x86\x01\x01w\x04" + bytes([len(SERVICE)]) + SERVICE.encode() + b"\x0f\x10\x10application/grpc")

    def frame(self, kind, flags, stream, payload=b""):
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    def connect(self, server):
        wire = socket.create_connection(("127.0.0.1", server.ports[1]), PATIENCE)
        self.addCleanup(wire.close)
        wire.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(4, 0, 0))
        return wire

    def answers_a_ping(self, wire):
        wire.sendall(self.frame(6, 0, 0, b"12345678"))
        got = b""
        while self.frame(6, 1, 0, b"12345678") not in got:
            more = wire.recv(65536)
            if not more:
                return False
            got += more
        return True

    def test_quiet_ones_stay_and_what_their_peers_make_it_keep_is_bounded(self):
        with Folder() as folder, Server("--threads", "2", "--client-memory", "1MiB", "--rls", "127.0.0.1:0", "--limits",
                                        folder.file("limits.yaml", self.LIMITS)) as server, server.client() as other:
            quiet = [self.connect(server) for _ in range(300)]
            self.assertTrue(all(self.answers_a_ping(wire) for wire in quiet))
            told = fields(other)
            self.assertEqual((int(told["closed_for_client_memory"]), int(told["client_memory"])), (0, 0))

            half = b"\0" + (60_000).to_bytes(4, "big") + b"x" * 45_000
            data = b"".join(self.frame(0, 0, 1, half[at:at + 16_000]) for at in range(0, len(half), 16_000))
            for _ in range(40):
                self.connect(server).sendall(self.frame(1, 4, 1, self.HEAD) + data)
            until(lambda: int(fields(other)["closed_for_client_memory"]) >= 10, "enough are closed")
            until(lambda: int(fields(other)["client_memory"]) <= MIB, "the bound holds")
            self.assertTrue(all(self.answers_a_ping(wire) for wire in quiet))


class TestTls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.authority = Authority(cls.folder, "authority")
        certificate, key = cls.authority.issue("localhost")
        cls.flags = ("--tls-cert", certificate, "--tls-key", key)

    @classmethod
    def tearDownClass(cls):
        cls.folder.__exit__()

    def trust(self):
        return ssl.create_default_context(cafile=self.authority.certificate)

    # A first record of 16 KiB of a ClientHello that announces 128 KiB, and five more.
    RECORD = b"\x16\x03\x01\x40\x00"
    HELLO = RECORD + (b"\x01\x01\xf0\x00\x03\x03" + b"a" * (16384 - 6)) + (RECORD + b"a" * 16384) * 5

    def test_half_handshakes_are_bounded_and_keep_no_client_out(self):
        with Server("--threads", "2", "--client-memory", "16MiB", *self.flags) as server:
            with server.client(tls=self.trust()) as other:
                before = server.rss()
                halves = []
                for i in range(1500):
                    client = socket.create_connection(("127.0.0.1", server.port))
                    client.sendall((b"", self.HELLO[:300], self.HELLO)[i % 3])
                    halves.append(client)
                    if i % 100 == 99:
                        with server.client(tls=self.trust()) as late:
                            self.assertEqual(late.ask("PING"), "PONG")
                        self.assertEqual(other.ask("PING"), "PONG")
                if not sanitized():
                    self.assertLess(server.rss() - before, 16 * MIB + 40 * MIB)
                self.assertGreater(int(fields(other)["closed_for_client_memory"]), 500)
                # For a moment each of the two event loops may be 4 MiB above it.
                self.assertLessEqual(int(fields(other)["client_memory"]), (16 + 2 * 4) * MIB)
                until(lambda: int(fields(other)["client_memory"]) <= 16 * MIB, "the bound holds")
                for client in halves:
                    client.close()
                if not sanitized():
                    until(lambda: server.rss() - before < 16 * MIB, "the memory is given back")

    @unittest.skipIf(sanitized(), "its memory is not the program's")
    def test_what_is_charged_is_at_least_what_it_costs(self):
        for what, data, count in (("a handshake of which nothing has come", b"", 500),
                                  ("half a hello", self.HELLO[:300], 500),
                                  ("nine bytes of a long hello", b"\x16\x03\x01\x00\x04\x01\x01\xf0\x00", 500),
                                  ("the first record", self.HELLO[:16389], 500),
                                  ("six records", self.HELLO, 200), ("idle", None, 300)):
            with self.subTest(what), Server("--threads", "1", "--client-memory", "1GiB", *self.flags) as server:
                with server.client(tls=self.trust()) as other:
                    before, charged = server.rss(), int(fields(other)["client_memory"])
                    clients = []
                    for _ in range(count):
                        if data is None:
                            clients.append(server.client(tls=self.trust()))
                            clients[-1].ask("PING")
                        else:
                            clients.append(socket.create_connection(("127.0.0.1", server.port)))
                            clients[-1].sendall(data)
                    until(lambda: int(fields(other)["connected_clients"]) == count + 1, "all have come")
                    until(lambda: on_its_way(server.port) == 0, "all is read")
                    charged = int(fields(other)["client_memory"]) - charged + count * AT_REST
                    self.assertLess(server.rss() - before, charged + 2 * MIB)
                    for client in clients:
                        client.close()


class TestOrdinaryUse(unittest.TestCase):
    def test_pipelines_of_redis_py_in_one_transaction(self):
        with Server("--threads", "2") as server:
            client = redis.Redis(port=server.port)
            for count in (6_000, 20_000):
                pipeline = client.pipeline()  # MULTI and EXEC unless told otherwise
                for i in range(count):
                    pipeline.execute_command("CL.THROTTLE", f"user:{count}:{i}", 15, 30, 60)
                answers = pipeline.execute()
                self.assertEqual(len(answers), count)
                self.assertTrue(all(each == [0, 16, 15, -1, 2] for each in answers))
            client.close()

    def test_del_of_a_hundred_thousand_keys(self):
        with Server("--threads", "2") as server:
            client = redis.Redis(port=server.port)
            keys = [f"ratelimit:tenant:acme:user:{i:08}" for i in range(100_000)]
            pipeline = client.pipeline(transaction=False)
            for key in keys[:5_000]:
                pipeline.execute_command("CL.THROTTLE", key, 0, 1, 3600)
            pipeline.execute()
            self.assertEqual(client.delete(*keys), 5_000)
            self.assertEqual(client.delete(*keys), 0)
            client.close()
            if not sanitized():
                until(lambda: server.rss() < 40 * MIB, "the memory is given back")

    def test_an_open_multi_stalls_like_half_a_command(self):
        with Server("--threads", "1", "--stall-timeout", "1s") as server, server.client(timeout=20) as client:
            with server.client() as idle:
                start = time.monotonic()
                self.assertEqual(client.ask("MULTI"), "OK")
                self.assertEqual(client.rest(), b"")
                self.assertGreaterEqual(time.monotonic() - start, 1)
                self.assertEqual(idle.ask("PING"), "PONG")

    def test_a_stall_is_never_cut_short(self):
        with Server("--threads", "1", "--stall-timeout", "1s") as server, concurrent.futures.ThreadPoolExecutor(8) as pool:
            def stalls(number):
                time.sleep(0.07 * number)  # anywhere between two looks of the server
                with server.client(timeout=20) as client:
                    start = time.monotonic()
                    client.send_bytes(b"*1\r\n$4\r\nPI")
                    self.assertEqual(client.rest(), b"")
                    return time.monotonic() - start
            self.assertGreaterEqual(min(pool.map(stalls, range(8))), 1)


if __name__ == "__main__":
    run()
