"""HTTP on a bad day: certificates, clients in great number or that stand still, a store that fails, an end that comes
while requests are under way, addresses that cannot be used. Each has its stated answer."""
import contextlib
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import time
import unittest

from server import PATIENCE, Folder, Server, sanitized, until, weir, run_at_once
from test_tls import Authority

LIMITS = """version: 1
limits:
  user: { by: [user], rate: 5/h }
gateways:
  g: { from: x-forwarded, attributes: { user: header.x-user-id } }
"""
KEY = json.dumps({"key": "k", "limit": "1000000/s"}).encode()
POST = b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(KEY), KEY)
GATE = b"GET /v1/gate/g HTTP/1.1\r\nHost: a\r\nX-User-Id: u\r\n\r\n"


def connect(port, tls=None, host="127.0.0.1"):
    wire = socket.create_connection((host, port), timeout=PATIENCE)
    return tls.wrap_socket(wire, server_hostname="localhost") if tls else wire


def read_answer(wire):
    """(status, fields, body) of the next answer, and not a byte of what follows it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        letter = wire.recv(1)
        if not letter:
            raise ConnectionError(f"closed after {head!r}")
        head += letter
    first, *lines = head.decode().rstrip().split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines)
    body = b""
    while len(body) < int(fields.get("Content-Length", 0)):
        body += wire.recv(int(fields["Content-Length"]) - len(body))
    return int(first.split()[1]), fields, body


def ask(port, request=POST, tls=None):
    with connect(port, tls) as wire:
        wire.sendall(request)
        return read_answer(wire)


def rest(wire):
    """Everything until the server closes."""
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := wire.recv(1 << 16):
            got += chunk
    return got


class Certificates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.ours = Authority(cls.folder, "ours")
        cls.files = cls.ours.issue("localhost")
        cls.flags = ("--http", "127.0.0.1:0", "--tls-cert", cls.files[0], "--tls-key", cls.files[1])

    def trust(self, files=None):
        context = ssl.create_default_context(cafile=self.ours.certificate)
        if files:
            context.load_cert_chain(*files)
        return context

    def test_https_is_answered_and_plain_http_there_is_not(self):
        with Server(*self.flags) as server:
            where = next(a for a in server.addresses if a.startswith("https://"))
            port = int(where.rsplit(":", 1)[1])
            done = subprocess.run(["curl", "-s", "--cacert", self.ours.certificate, "--json", KEY.decode(),
                                   f"https://localhost:{port}/v1/check", "--resolve", f"localhost:{port}:127.0.0.1"],
                                  capture_output=True, timeout=20)
            self.assertIn(b'"allowed":true', done.stdout, done.stderr)
            with connect(port, self.trust()) as wire:
                for _ in range(3):
                    wire.sendall(POST)
                    self.assertEqual(read_answer(wire)[0], 200)
            with connect(port) as wire:
                wire.sendall(POST)
                self.assertNotIn(b"HTTP", rest(wire))
            until(lambda: "not TLS, at a listener that speaks TLS" in server.stderr(), "the log says that a client spoke without TLS")
            self.assertEqual(ask(port, tls=self.trust())[0], 200)

    def test_with_an_authority_only_its_clients_are_let_in(self):
        with Server(*self.flags, "--tls-ca", self.ours.certificate) as server:
            port = server.ports[-1]
            self.assertEqual(ask(port, tls=self.trust(self.ours.issue("client")))[0], 200)
            for files in (None, Authority(self.folder, "theirs").issue("client")):
                with self.assertRaises((ssl.SSLError, ConnectionError)):
                    ask(port, tls=self.trust(files))
            self.assertEqual(ask(port, tls=self.trust(self.ours.issue("another")))[0], 200)

    def test_half_a_handshake_is_cut_off(self):
        with Server(*self.flags, "--stall-timeout", "1s") as server:
            with connect(server.ports[-1]) as wire:
                wire.sendall(b"\x16\x03\x01\x02")
                self.assertNotIn(b"HTTP", rest(wire))
            self.assertEqual(ask(server.ports[-1], tls=self.trust())[0], 200)

    def test_beyond_this_machine_the_gate_takes_a_certificate_for_a_token_and_no_tls_alone(self):
        limits = self.folder.file("limits.yaml", LIMITS)
        beyond = ("--http", "0.0.0.0:0", *self.flags[2:], "--limits", limits)
        code, _, errors = weir("serve", "--resp", "127.0.0.1:0", *beyond)
        self.assertEqual(code, 2)
        self.assertIn("gateways.g.token: missing; the gate can be reached from beyond this machine", errors)
        with Server(*beyond, "--tls-ca", self.ours.certificate, resp=("127.0.0.1:0",)) as server:
            self.assertEqual(ask(server.ports[-1], GATE, self.trust(self.ours.issue("gateway")))[0], 200)

    def test_a_unix_socket_needs_no_token(self):
        limits = self.folder.file("limits.yaml", LIMITS)
        path = self.folder.file("gate.socket")
        with Server("--http", f"unix:{path}", "--limits", limits), socket.socket(socket.AF_UNIX) as wire:
            wire.settimeout(PATIENCE)
            wire.connect(path)
            wire.sendall(GATE)
            self.assertEqual(read_answer(wire)[0], 200)


class Crowds(unittest.TestCase):
    def test_ten_thousand_idle_connections(self):
        count = 10_000
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < count + 200:
            self.skipTest(f"the system allows {hard} open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with Server("--threads", "2", "--http", "127.0.0.1:0", "--max-connections", "20000") as server, \
                contextlib.ExitStack() as stack:
            self.assertEqual(ask(server.ports[1])[0], 200)
            before = server.rss()
            idle = [stack.enter_context(connect(server.ports[1])) for _ in range(count)]
            for wire in idle:
                wire.sendall(POST)
            for wire in idle:
                self.assertTrue(wire.recv(4096).startswith(b"HTTP/1.1 200 OK"))
            if not sanitized():
                each = (server.rss() - before) / count
                self.assertLess(each, 4 * 1024, "bytes a connection")
            # Any of them is answered as before.
            for wire in idle[::500]:
                wire.sendall(POST)
                self.assertTrue(wire.recv(4096).startswith(b"HTTP/1.1 200 OK"))
            self.assertEqual(server.info()["connected_clients"], str(count + 1))
        # With them gone, the program too: it waits for none that is idle.

    def test_a_client_that_never_reads_is_bounded_and_cut_off(self):
        with Server("--threads", "1", "--http", "127.0.0.1:0", "--stall-timeout", "2s") as server:
            before = server.rss()
            with connect(server.ports[1]) as deaf, connect(server.ports[1]) as other:
                deaf.setblocking(False)
                sent, last = 0, time.monotonic()
                while sent < 64 << 20 and time.monotonic() - last < 0.3:
                    try:
                        # Always whole requests, so that its silence alone is what it is cut off for.
                        sent, last = sent + deaf.send(POST * 1000), time.monotonic()
                    except BlockingIOError:
                        time.sleep(0.01)
                self.assertLess(sent, 64 << 20)
                if not sanitized():
                    self.assertLess(server.rss() - before, 8 << 20)
                for _ in range(50):
                    other.sendall(POST)
                    self.assertEqual(read_answer(other)[0], 200)
                until(lambda: server.info()["stalled_connections"] == "1", "the cut")
                other.sendall(POST)
                self.assertEqual(read_answer(other)[0], 200, "one that is idle is left alone")

    def test_many_that_send_their_heads_slowly_keep_nobody_out(self):
        with Server("--threads", "1", "--http", "127.0.0.1:0", "--stall-timeout", "1s") as server, \
                contextlib.ExitStack() as stack:
            slow = [stack.enter_context(connect(server.ports[1])) for _ in range(200)]
            deadline = time.monotonic() + PATIENCE
            letters = iter(GATE[:-4] + b"\r\nX: y" * 1000)
            answered = 0
            while slow and time.monotonic() < deadline:
                letter = bytes([next(letters)])
                for wire in list(slow):
                    try:
                        wire.sendall(letter)
                    except (BrokenPipeError, ConnectionResetError):
                        slow.remove(wire)  # it was told 408 before
                self.assertEqual(ask(server.ports[1])[0], 200)
                answered += 1
                time.sleep(0.05)
            self.assertEqual((len(slow), answered > 5), (0, True))
            until(lambda: server.info()["stalled_connections"] == "200", "all are cut off")


class Bodies(unittest.TestCase):
    """At the gate a body says nothing: it is thrown away as it comes, however long it is."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.server = cls.enterClassContext(Server("--threads", "1", "--http", "127.0.0.1:0", "--stall-timeout", "2s", "--limits",
                                                  cls.folder.file("limits.yaml", LIMITS.replace("5/h", "1000/h"))))
        cls.port = cls.server.ports[1]
    HEAD = b"POST /v1/gate/g HTTP/1.1\r\nHost: a\r\nX-User-Id: u\r\n"

    def test_fifty_mebibytes_are_thrown_away(self):
        size = 50 << 20
        piece = b"x" * (1 << 16)
        chunk = b"%x;a=b\r\n%s\r\n" % (len(piece), piece)
        for head, body, end in ((b"Content-Length: %d\r\n\r\n" % size, piece, b""),
                                (b"Transfer-Encoding: chunked\r\n\r\n", chunk, b"0\r\nX-Trailer: y\r\n\r\n")):
            before = self.server.rss()
            with connect(self.port) as wire:
                wire.sendall(self.HEAD + head)
                for _ in range(size // len(piece)):
                    wire.sendall(body)
                if not sanitized():
                    self.assertLess(self.server.rss() - before, 4 << 20)
                wire.sendall(end + GATE)
                self.assertEqual(read_answer(wire)[0], 200)
                self.assertEqual(read_answer(wire)[0], 200, "the request after it")

    def test_a_body_cut_anywhere(self):
        body = b"3\r\nabc\r\n10;x=y\r\n0123456789abcdef\r\n0\r\nX: y\r\n\r\n"
        for head, body in ((b"Transfer-Encoding: chunked\r\n\r\n", body), (b"Content-Length: 20\r\n\r\n", b"GET / HTTP/1.1\r\n\r\nab")):
            for at in range(len(body) + 1):
                with connect(self.port) as wire:
                    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    wire.sendall(self.HEAD + head + body[:at])
                    self.assertEqual(read_answer(wire)[0], 200)
                    wire.sendall(body[at:] + GATE)
                    self.assertEqual(read_answer(wire)[0], 200, at)

    def test_a_malformed_or_endless_chunk_ends_the_connection_and_asks_nothing(self):
        def decided():
            return int(self.server.info()["total_commands_processed"])
        for body in (b"zz\r\n" + GATE, b"3\r\nabcd\r\n" + GATE, b"3;" + b"x" * 40_000, b"0\r\n" + b"X: y\r\n" * 20_000,
                     b"fffffffffffffffff\r\n"):
            with connect(self.port) as wire:
                with contextlib.suppress(ConnectionError):
                    wire.sendall(self.HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body)
                answer = rest(wire)
                self.assertEqual(answer.count(b"HTTP/1.1 "), answer.count(b"HTTP/1.1 200 "), (body[:20], answer))
                self.assertEqual(answer.count(b"HTTP/1.1 "), 1, (body[:20], answer))
        self.assertEqual(ask(self.port, GATE)[0], 200)

    def test_half_a_body_stalls(self):
        with connect(self.port) as wire:
            wire.sendall(self.HEAD + b"Content-Length: 100\r\n\r\nabc")
            self.assertEqual(read_answer(wire)[0], 200)
            began = time.monotonic()
            rest(wire)
            self.assertGreater(time.monotonic() - began, 0.5)

    def test_one_who_waits_to_be_told_is_told(self):
        with connect(self.port) as wire:
            wire.sendall(self.HEAD + b"Content-Length: 2097152\r\nExpect: 100-continue\r\n\r\n")
            self.assertEqual(wire.recv(25), b"HTTP/1.1 100 Continue\r\n\r\n")
            wire.sendall(b"x" * 2097152 + GATE)
            self.assertEqual(read_answer(wire)[0], 200)
            self.assertEqual(read_answer(wire)[0], 200)

    def test_elsewhere_a_mebibyte_is_the_most(self):
        answer = ask(self.port, b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n")
        self.assertEqual((answer[0], answer[1]["Connection"]), (413, "close"))


class Patience(unittest.TestCase):
    def test_a_gateway_that_may_ask_keeps_its_connection_though_a_password_is_set(self):
        with Folder() as folder:
            limits = folder.file("limits.yaml", LIMITS)
            with Server("--threads", "1", "--http", "127.0.0.1:0", "--stall-timeout", "1s", "--limits", limits, "--password", "x") as server:
                with connect(server.ports[1]) as wire, connect(server.ports[1]) as stranger:
                    wire.sendall(GATE)
                    self.assertEqual(read_answer(wire)[0], 200)
                    stranger.sendall(POST)
                    self.assertEqual(read_answer(stranger)[0], 401)
                    rest(stranger)  # has to show who it is before the timeout, and is closed
                    time.sleep(1)
                    wire.sendall(GATE)
                    self.assertEqual(read_answer(wire)[0], 200)


@contextlib.contextmanager
def redis(folder, name):
    """The path of a Redis' socket, and the process."""
    path = folder.file(name)
    process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder.path],
                               stdout=subprocess.DEVNULL)
    try:
        until(lambda: os.path.exists(path), "a Redis")
        yield path, process
    finally:
        process.kill()
        process.wait()


class Store(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(Folder())
        self.limits = self.folder.file("limits.yaml", LIMITS)
        self.path, self.redis = self.enterContext(redis(self.folder, "redis.sock"))

    def serve(self, *flags, **options):
        server = self.enterContext(Server("--threads", "1", "--http", "127.0.0.1:0", "--limits", self.limits, "--store",
                                          f"redis+unix://{self.path}", *flags, **options))
        until(lambda: server.info()["store_state"] == "ready", "the store is ready")
        return server

    def test_a_store_that_fails_is_not_an_error_of_the_gate(self):
        """The fallback decides: `deny` and `local` alike answer with a decision, never with a 5xx."""
        for fallback, statuses in (("deny", [429] * 7), ("allow", [200] * 7)):
            server = self.serve("--on-store-error", fallback, "--store-deadline", "100ms")
            self.redis.send_signal(signal.SIGSTOP)
            try:
                self.assertEqual([ask(server.ports[1], GATE)[0] for _ in range(7)], statuses, fallback)
                self.assertEqual(ask(server.ports[1])[0], 200 if fallback == "allow" else 429)
            finally:
                self.redis.send_signal(signal.SIGCONT)

    def test_of_a_remembered_denial_only_the_limit_that_decides_is_told(self):
        """What the others would say is not known then."""
        self.limits = self.folder.file("limits.yaml", LIMITS.replace(
            "gateways:", "  tenant: { by: [tenant], rate: 9/h }\ngateways:").replace(
            "attributes: {", "attributes: { tenant: header.x-tenant,"))
        server = self.serve("--store-deadline", "5s")
        attributes = b'{"attributes":{"user":"u","tenant":"t"}}'
        check = b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(attributes), attributes)
        gate = GATE[:-2] + b"X-Tenant: t\r\n\r\n"
        self.assertEqual([ask(server.ports[1], gate)[0] for _ in range(6)], [200] * 5 + [429])
        self.assertEqual(server.info()["store_remembered"], "0")
        for number, request in enumerate((check, gate), 1):
            status, fields, body = ask(server.ports[1], request)
            self.assertEqual((status, json.loads(body)["violated-policies"]), (429, ["user"]))
            self.assertEqual(fields["RateLimit-Policy"], '"user";q=5;w=3600')
            self.assertEqual(server.info()["store_remembered"], str(number))

    def test_503_when_a_value_of_another_program_leaves_nobody_to_decide(self):
        server = self.serve()
        self.assertEqual(ask(server.ports[1], GATE)[0], 200)
        def cli(*words):
            return subprocess.run(["redis-cli", "-s", self.path, *words], capture_output=True, text=True, timeout=10).stdout.split()
        keys = cli("KEYS", "*")
        self.assertEqual(len(keys), 1, keys)
        cli("SET", keys[0], "a stranger's")
        status, fields, body = ask(server.ports[1], GATE)
        self.assertEqual((status, fields["Content-Type"]), (503, "application/problem+json"))
        self.assertTrue(json.loads(body)["detail"].startswith("nobody could decide: "), body)
        status, _, body = ask(server.ports[1], b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 27\r\n\r\n"
                              b'{"attributes":{"user":"u"}}')
        self.assertEqual(status, 503, body)
        self.assertEqual(cli("GET", keys[0]), ["a", "stranger's"], "what is another's is left alone")

    def test_a_drain_answers_what_had_arrived_and_then_closes(self):
        server = self.serve("--store-deadline", "8s", "--on-store-error", "deny")
        with connect(server.ports[1]) as waiting, connect(server.ports[1]) as idle:
            idle.sendall(GATE)
            self.assertEqual(read_answer(idle)[0], 200)
            self.redis.send_signal(signal.SIGSTOP)
            try:
                waiting.sendall(GATE)
                until(lambda: server.info()["store_under_way"] != "0", "the store has been asked")
                server.signal(signal.SIGTERM)
                self.assertEqual(rest(idle), b"", "one that asks nothing is closed")
            finally:
                self.redis.send_signal(signal.SIGCONT)
            self.assertEqual(read_answer(waiting)[0], 200, "by the store, which came back")
            self.assertEqual(rest(waiting), b"")
            with self.assertRaises(ConnectionRefusedError):
                connect(server.ports[1]).close()
            self.assertEqual(server.wait(), 0)


class Names(unittest.TestCase):
    def test_the_policies_that_deny_have_the_names_of_the_fields(self):
        with Folder() as folder:
            limits = folder.file("limits.yaml", """version: 1
limits:
  user: { by: [user], rate: [2/h, 3/day] }
  trial: { by: [user], rate: 1/h burst 1, shadow: until 2260-01-01 }
  other: { by: [user], rate: 2/h, show: false }
  everybody: { rate: 2/h }
gateways:
  g: { from: x-forwarded, attributes: { user: header.x-user-id } }
""")
            def check(cost):
                body = b'{"attributes":{"user":"u"},"cost":%d}' % cost
                return b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            with Server("--threads", "1", "--http", "127.0.0.1:0", "--limits", limits) as server:
                self.assertEqual(ask(server.ports[1], check(2))[0], 200)
                for request, names in ((check(1), ["user-1h", "other", "everybody"]), (GATE, ["user-1h"]),
                                       (check(2), ["user-1h", "user-1d", "other", "everybody"])):
                    status, fields, body = ask(server.ports[1], request)
                    self.assertEqual((status, json.loads(body)["violated-policies"]), (429, names))
                    told = [each.split(";")[0].strip(' "') for each in fields["RateLimit-Policy"].split(",")]
                    self.assertEqual(told, ["user-1h", "user-1d"])
                two = {"checks": [{"key": each, "limit": "1/h"} for each in "abc"]}
                text = json.dumps(two).encode()
                ask_two = b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
                self.assertEqual(ask(server.ports[1], ask_two)[0], 200)
                status, fields, body = ask(server.ports[1], ask_two)
                self.assertEqual(json.loads(body)["violated-policies"], ["limit", "limit-2", "limit-3"])
                self.assertEqual([each.split(";")[0].strip(' "') for each in fields["RateLimit-Policy"].split(",")],
                                 ["limit", "limit-2", "limit-3"])


class Addresses(unittest.TestCase):
    def test_what_cannot_be_bound_is_named(self):
        with Folder() as folder, socket.create_server(("127.0.0.1", 0)) as taken:
            where = f"127.0.0.1:{taken.getsockname()[1]}"
            missing = folder.file("none/sock")
            for flags, errors in (
                    (("--resp", where, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"), f"resp: cannot listen on {where}: "),
                    (("--resp", "127.0.0.1:0", "--http", where, "--admin", "127.0.0.1:0"), f"http: cannot listen on {where}: "),
                    (("--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--http", where), f"http: cannot listen on {where}: "),
                    (("--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--admin", where), f"admin: cannot listen on {where}: "),
                    (("--resp", "127.0.0.1:0", "--http", f"unix:{missing}"), f"http: cannot listen on '{missing}': "),
                    (("--resp", "127.0.0.1:0", "--admin", f"unix:{missing}"), f"admin: cannot listen on '{missing}': "),
                    (("--resp", "127.0.0.1:0", "--http", "192.0.2.1:0", "--insecure"), "http: cannot listen on 192.0.2.1:0: ")):
                code, out, said = weir("serve", *flags)
                self.assertEqual((code, out), (2, ""), flags)
                last = said.splitlines()[-1]
                self.assertTrue(last.startswith("weir: " + errors), (flags, said))


if __name__ == "__main__":
    run_at_once()
