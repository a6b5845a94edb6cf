"""A store that is there and decides nothing: weir says so and why, whichever of its loops meets it, and notices when it
is over. A real Redis wherever one can be brought to it."""
import contextlib
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
import unittest

from world import PROGRAM, Redis, Server, available
from server import Error, Folder, run, sanitized, until
from test_store import HOUR, Strange, failed, ready, throttle
from test_tls import Authority

DEADLINE = "3s"  # far more than a refusal takes, and far less than a client here waits
LONG = os.environ.get("WEIR_LONG", "") not in ("", "0")


class TestRefusals(unittest.TestCase):
    """Every check is refused, for one cause after another."""

    def serve(self, url, *flags):
        server = Server("--store", url, "--threads", "2", "--store-deadline", DEADLINE, *flags)
        self.addCleanup(server.__exit__, None)
        return ready(server)

    def clients(self, server):
        """One on each loop: connections are dealt to them in turn."""
        return [self.enterContext(server.client()) for _ in range(2)]

    def refuses(self, server, client, why, cause):
        """Asks by one client, so by one loop: the fallback decides; INFO and log say why."""
        before = failed(server)
        lines = server.stderr().count("failing")
        self.assertEqual(throttle(client, "k", 5, 1, HOUR)[:2], [0, 5])
        self.assertEqual({name: n for name, n in failed(server).items() if n > before.get(name, 0)}.keys(), {cause})
        until(lambda: server.info()["store_state"] == "failing", "the store is failing")
        self.assertRegex(server.info()["store_error"], why)
        until(lambda: re.search(rf"store redis\S+: failing: .*{why}", server.stderr()), f"a line that says {why}")
        for _ in range(20):
            throttle(client, "k", 5, 1, HOUR)
        self.assertEqual(server.stderr().count("failing"), lines + 1, server.stderr())

    def recovers(self, server, client):
        """Notices by the checks that it is asked anyway."""
        def decided():
            throttle(client, "back", 1_000_000, 1, HOUR)
            return server.info()["store_state"] == "ready"
        until(decided, f"the store is ready: {server.info()}")
        self.assertNotIn("store_error", server.info())
        lines = server.stderr().count(": ready")
        until(lambda: server.stderr().count(": ready") > lines or lines > 1, "a line that says so")

    def goes_and_comes(self, redis, begin, end, why, cause, **flags):
        for loop in (0, 1):
            server = self.serve(f"redis://{flags.get('who', '')}127.0.0.1:{redis.port}")
            client = self.clients(server)[loop]
            with self.subTest(loop=loop):
                begin()
                self.refuses(server, client, why, cause)
                end()
                self.recovers(server, client)
                self.assertEqual(throttle(client, f"mine{loop}", 5, 1, HOUR), [0, 5, 4, -1, HOUR])

    def test_oom(self):
        with Redis([("maxmemory-policy", "noeviction")]) as redis:
            def fill():
                redis.must("CONFIG", "SET", "maxmemory", "1mb")
                until(lambda: isinstance(redis.ask("APPEND", "filler", b"x" * 100_000), Error), "it is full")

            def empty():
                redis.must("CONFIG", "SET", "maxmemory", 0)
                redis.must("DEL", "filler")
            self.goes_and_comes(redis, fill, empty, "OOM", "oom")

    def test_too_few_replicas(self):
        with Redis() as redis:
            self.goes_and_comes(redis, lambda: redis.must("CONFIG", "SET", "min-replicas-to-write", 1),
                                lambda: redis.must("CONFIG", "SET", "min-replicas-to-write", 0), "NOREPLICAS", "other")

    def test_no_permission(self):
        with Redis() as redis:
            redis.must("ACL", "SETUSER", "weir", "on", ">pw-weir", "~*", "+@all")
            self.goes_and_comes(redis, lambda: redis.must("ACL", "SETUSER", "weir", "-evalsha"),
                                lambda: redis.must("ACL", "SETUSER", "weir", "+evalsha"), "NOPERM", "auth", who="weir:pw-weir@")

    def test_no_permission_from_the_start(self):
        with Redis() as redis:
            redis.must("ACL", "SETUSER", "weir", "on", ">pw-weir", "~*", "+@all", "-evalsha")
            server = self.serve(f"redis://weir:pw-weir@127.0.0.1:{redis.port}")
            self.refuses(server, self.clients(server)[1], "NOPERM", "auth")
            self.assertNotIn("pw-weir", server.stderr() + str(server.info()))

    def test_busy(self):
        with Redis([("lua-time-limit", 5)]) as redis:
            def spin():
                def forever():
                    with contextlib.suppress(OSError), redis.connect(timeout=30) as client:
                        client.ask("EVAL", "while true do end", 0)
                threading.Thread(target=forever, daemon=True).start()
                until(lambda: isinstance(redis.ask("PING"), Error), "it is busy")
            self.goes_and_comes(redis, spin, lambda: redis.must("SCRIPT", "KILL"), "BUSY", "busy")

    def test_cluster_down(self):
        # A master takes writes again after that time.
        with Redis([("cluster-enabled", "yes"), ("cluster-require-full-coverage", "no"), ("cluster-node-timeout", "500")]) as redis:
            def abandon():
                redis.must("FLUSHALL")
                redis.must("CLUSTER", "FLUSHSLOTS")
            self.goes_and_comes(redis, abandon,
                                lambda: redis.must("CLUSTER", "ADDSLOTSRANGE", 0, 16383), "CLUSTERDOWN", "clusterdown")


class TestCertificates(unittest.TestCase):
    """Which check of the store's certificate has failed."""

    def test_each_check(self):
        with Folder() as folder:
            authority = Authority(folder, "authority")
            alone = Authority(folder, "alone")
            tomorrow = time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + 86400))
            rows = [(authority.issue("past", "20200101000000Z", "20200102030405Z"),
                     "it expired at Jan  2 03:04:05 2020 GMT"),
                    (authority.issue("future", tomorrow, "20990101000000Z"),
                     "it is not valid before [A-Z][a-z][a-z] .* GMT"),
                    ((alone.certificate, alone.key), "it is self-signed, and is not itself trusted"),
                    (alone.issue("other"), r"no trusted authority has signed it \(unable to get local issuer certificate\)")]
            for (certificate, key), why in rows:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(certificate, key)
                with self.subTest(why=why), TlsListener(context) as listener:
                    server = Server("--store", f"rediss://127.0.0.1:{listener.port}", "--store-tls-ca", authority.certificate)
                    with server:
                        line = f"down: 127.0.0.1:{listener.port}: TLS: certificate verify failed: {why}; --on-store-error"
                        until(lambda line=line: re.search(line, server.stderr()), line)


class TlsListener:
    """Takes connections and their handshakes, and nothing else."""

    def __init__(self, context):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.context = context
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._greet, args=(client,), daemon=True).start()

    def _greet(self, client):
        with contextlib.suppress(OSError), client:
            self.context.wrap_socket(client, server_side=True).read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


NAMES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

typedef int lookup(const char*, const char*, const struct addrinfo*, struct addrinfo**);

/* never.test: as when DNS does not answer. two.test: two addresses. */
int getaddrinfo(const char* node, const char* service, const struct addrinfo* hints, struct addrinfo** found) {
  lookup* real = (lookup*)dlsym(RTLD_NEXT, "getaddrinfo");
  if (node && strcmp(node, "never.test") == 0) {
    sleep(60);
    return EAI_AGAIN;
  }
  if (!node || strcmp(node, "two.test") != 0) return real(node, service, hints, found);
  int error = real("127.0.0.1", service, hints, found);
  return error ? error : real("127.0.0.2", service, hints, &(*found)->ai_next);
}
"""


@unittest.skipIf(sanitized() or not shutil.which("cc"), "a library is loaded before those of the program")
class TestNames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.library = cls.folder.file("names.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", cls.library, cls.folder.file("names.c", NAMES), "-ldl"], check=True, timeout=60)

    def test_a_name_that_dns_does_not_answer_delays_neither_checks_nor_the_end(self):
        with Server("--store", "redis://never.test", "--threads", "2", env={"LD_PRELOAD": self.library}) as server:
            with server.client() as client:
                self.assertEqual(throttle(client, "k", 5, 1, HOUR), [0, 5, 4, -1, HOUR])
                until(lambda: server.info()["store_state"] == "down", "it is given up for now")
                threads = len(os.listdir(f"/proc/{server.pid}/task"))
                time.sleep(1.5)  # longer than two attempts
                self.assertEqual(len(os.listdir(f"/proc/{server.pid}/task")), threads)
            self.assertEqual(server.stop(), 0, "and not when DNS has answered, after twice as long as this waits")

    def test_a_name_whose_first_address_drops_packets(self):
        with Redis(host="127.0.0.2") as redis, socket.socket() as drops, contextlib.ExitStack() as filling:
            drops.bind(("127.0.0.1", redis.port))
            drops.listen(0)  # a queue that is full, so that what comes now is dropped
            for _ in range(4):
                each = filling.enter_context(socket.socket())
                each.setblocking(False)
                each.connect_ex(drops.getsockname())
            with socket.socket() as probe:
                probe.settimeout(0.5)
                self.assertRaises(TimeoutError, probe.connect, drops.getsockname())
            with Server("--store", f"redis://two.test:{redis.port}", env={"LD_PRELOAD": self.library}) as server:
                with ready(server).client() as client:
                    self.assertEqual(throttle(client, "k", 5, 1, HOUR), [0, 5, 4, -1, HOUR])
                self.assertNotIn("down", server.stderr())


class TestSettings(unittest.TestCase):
    """What can never work is said, and said again while it lasts."""

    def test_settings_that_can_never_work(self):
        with Redis(password="pw-right") as redis, Redis([("sentinel monitor", f"mymaster 127.0.0.1 {redis.port} 1")],
                                                        sentinel=True) as sentinel:
            where = f"127.0.0.1:{redis.port}"
            for url, why in ((f"redis://:pw-wrong@{where}", rf"{where}: WRONGPASS .*"),
                             (f"redis://{where}", rf"{where}: NOAUTH.*"),
                             (f"redis://:pw-right@{where}/99", rf"{where}: ERR DB index is out of range"),
                             (f"redis+sentinel://:pw-right@{sentinel.address}/other",
                              rf"{sentinel.address}: this sentinel knows no master named 'other'")):
                with self.subTest(url=url), Server("--store", url, "--threads", "2") as server:
                    until(lambda why=why: re.search(f": down: {why}; --on-store-error decides\n", server.stderr()), why)
                    self.assertRegex(server.info()["store_error"], f"^{why}$")
                    if LONG:
                        until(lambda why=why: re.search(f": still down: {why}; --on-store-error decides, 0 requests since this was "
                                                        "last said\n", server.stderr()), f"again: {why}", 70)
                    self.assertNotIn("pw-", server.stderr() + str(server.info()))


class TestEviction(unittest.TestCase):
    def test_a_changed_policy_is_said(self):
        with Redis() as redis, Server("--store", f"valkey://127.0.0.1:{redis.port}", "--threads", "2") as server:
            ready(server)
            for policy, line in (("allkeys-lru", "maxmemory-policy is allkeys-lru: under pressure it evicts"),
                                 ("noeviction", "maxmemory-policy is noeviction now")):
                redis.must("CONFIG", "SET", "maxmemory-policy", policy)
                # A new connection asks at once; the ones that there are ask each minute.
                redis.must("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
                until(lambda line=line: line in server.stderr(), line)
                until(lambda: int(redis.info("clients")["connected_clients"]) > 2, "both loops are back")
            self.assertEqual(server.stderr().count("maxmemory-policy"), 2, server.stderr())


class TestEvil(unittest.TestCase):
    """What no Redis answers to the script."""

    NOT_OURS = "the store's answer is not that of weir's script"
    ROWS = [(b":1\r\n", NOT_OURS, "other"),
            (b"+OK\r\n", NOT_OURS, "other"),
            (b"*-1\r\n", NOT_OURS, "other"),
            # A negative time, and one that no clock has.
            (Strange.good(seconds=b"-1700000000"), NOT_OURS, "other"),
            (Strange.good(seconds=b"9999999999999999999"), NOT_OURS, "other"),
            (Strange.good(charged=b"0"), "weir's script and weir disagree: it did not charge what is allowed", "other"),
            (b"-MISCONF no snapshot\r\n", "MISCONF no snapshot", "other"),
            (b"-ERR \x1b[31mred\x9b\x7f\r\n", r"ERR \\x1b\[31mred\\x9b\\x7f", "other"),
            (b"-ERR " + b"x" * 100_000 + b"\r\n", "ERR x{150,250}", "other")]

    def test_answers(self):
        for answer, why, cause in self.ROWS:
            store = Strange()
            self.addCleanup(store.close)
            store.answer = answer
            with self.subTest(answer=answer[:60]), Server("--store", f"redis://127.0.0.1:{store.port}", "--threads", "2") as server:
                ready(server)
                self.enterContext(server.client())
                client = self.enterContext(server.client())
                self.assertEqual(throttle(client, "k", 5, 1, HOUR)[:2], [0, 5])
                until(lambda: server.info()["store_state"] == "failing", "the store is failing")
                self.assertRegex(server.info()["store_error"][:999], f"^{why}$")
                until(lambda why=why: re.search(f"failing: {why}; --on-store-error decides", server.stderr()), why)
                self.assertEqual(failed(server), {cause: 1})
                store.answer = Strange.good()
                until(lambda: throttle(client, "k", 5, 1, HOUR)[2] == 4 and server.info()["store_state"] == "ready", "it is ready")

    def test_the_key_of_another_is_not_the_stores_fault(self):
        with Redis() as redis:
            redis.must("RPUSH", "weir:list", "a")
            with Server("--store", f"redis://127.0.0.1:{redis.port}") as server, ready(server).client() as client:
                for _ in range(20):
                    self.assertIsInstance(throttle(client, "list", 5, 1, HOUR), Error)
                time.sleep(0.3)  # longer than an outcome is looked at
                self.assertEqual(server.info()["store_state"], "ready")


if __name__ == "__main__":
    if not available():
        raise SystemExit(f"{PROGRAM} is not here")
    run(400 if LONG else 150)
