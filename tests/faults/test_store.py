"""`weir serve --store` beside a real Redis: what it writes there, what it answers, who decides without it.

Nothing breaks in here but what a test breaks once; test_faults.py is for faults under load.
"""
import random
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest

from world import PROGRAM, Cluster, Proxy, Redis, Sentinels, Server, TlsFiles, available, free_port, slot_of
from chance import chance
from redis_cell import Panic, RedisCell
from server import PATIENCE, Closed, Error, Folder, encode, run, until, weir
from test_tls import Authority

HOUR = 3600


def throttle(client, key, burst, count, period, cost=1):
    """CL.THROTTLE with the burst as weir counts it."""
    return client.ask("CL.THROTTLE", key, burst - 1, count, period, cost)


def ready(server, patience=PATIENCE):
    until(lambda: server.info()["store_state"] == "ready", "the store is ready", patience)
    return server


def patient(flags):
    """With a deadline that no answer misses because the machine is busy, unless they say one."""
    return flags if "--store-deadline" in flags else (*flags, "--store-deadline", "5s")


def failed(server):
    """The counters by cause that are not 0."""
    return {k[len("store_failed_"):]: int(v) for k, v in server.info().items()
            if k.startswith("store_failed_") and v != "0"}


class WithRedis(unittest.TestCase):
    options = ()
    password = ""

    @classmethod
    def setUpClass(cls):
        cls.redis = Redis(cls.options, password=cls.password)

    @classmethod
    def tearDownClass(cls):
        cls.redis.close()

    def setUp(self):
        self.redis.must("FLUSHALL")
        self.redis.must("CONFIG", "RESETSTAT")

    def url(self, rest="", port=None):
        who = f":{self.password}@" if self.password else ""
        return f"redis://{who}127.0.0.1:{port or self.redis.port}{rest}"

    def serve(self, *flags, url=None, wait=True, **options):
        server = Server("--store", url or self.url(), *(patient(flags) if wait else flags), **options)
        self.addCleanup(server.__exit__, None)
        return ready(server) if wait else server

    def client(self, server, **options):
        client = server.client(**options)
        self.addCleanup(client.close)
        return client

    def proxy(self, redis=None):
        proxy = Proxy((redis or self.redis).port)
        self.addCleanup(proxy.close)
        return proxy

    def evals(self):
        return self.redis.calls("evalsha")[0]


class TestValues(WithRedis):
    def test_the_value_is_tat_and_interval_and_lives_as_long(self):
        client = self.client(self.serve())
        for _ in range(3):
            self.assertEqual(throttle(client, "user:42", 10, 30, 60)[0], 0)
        value = self.redis.must("GET", "weir:user:42").decode()
        self.assertRegex(value, r"^weir1g \d{19} 2000000000$")
        tat = int(value.split()[1])
        self.assertLess(abs(tat - time.time_ns() - 6e9), 1e9)
        expires = self.redis.must("PEXPIRETIME", "weir:user:42")
        self.assertLessEqual(tat, expires * 1_000_000)
        self.assertLess(expires * 1_000_000 - tat, 2_000_000)

    def test_the_five_numbers(self):
        client = self.client(self.serve())
        rows = [(1, [0, 5, 4, -1, HOUR]), (3, [0, 5, 1, -1, 4 * HOUR]), (0, [0, 5, 1, -1, 4 * HOUR]),
                (2, [1, 5, 1, HOUR, 4 * HOUR]), (1, [0, 5, 0, -1, 5 * HOUR]), (6, [1, 5, 0, -1, 5 * HOUR])]
        for cost, wanted in rows:
            self.assertEqual(throttle(client, "k", 5, 1, HOUR, cost), wanted, f"cost {cost}")
        self.assertEqual(client.ask("GCRA", "g", 4, 1, HOUR), [0, 5, 4, -1, HOUR])

    def test_a_foreign_value_is_an_error_and_stays(self):
        for prefix in ("weir:", ""):
            with self.subTest(prefix=prefix):
                self.foreign_values(prefix)

    def foreign_values(self, prefix):
        server = self.serve(url=self.url("" if prefix else "?prefix="))
        client = self.client(server)
        f = prefix + "f"
        tat = time.time_ns() + 5 * HOUR * 10**9
        for kind, command in (("list", ("RPUSH", f, "a")), ("hash", ("HSET", f, "a", "b")), ("set", ("SADD", f, "a")),
                              ("zset", ("ZADD", f, 1, "a")), ("string", ("SET", f, "hello")),
                              ("string", ("SET", f, b"\xff\0")), ("string", ("SET", f, "")), ("string", ("SET", f, 5)),
                              ("string", ("SET", f, tat)), ("string", ("SET", f, f"{tat} 12000000000"))):
            self.redis.must("DEL", f)
            self.redis.must(*command)
            before = self.redis.must("DUMP", f)
            throttle(client, "ours", 5, 1, 60)
            for asked in (("CL.THROTTLE", "f", 4, 1, 60), ("CL.THROTTLE", "f", 4, 1, 60, 0), ("GCRA", "f", 4, 1, 60),
                          ("WEIR.RESET", "f"), ("DEL", "f"), ("DEL", "ours", "f", "none")):
                answer = client.ask(*asked)
                self.assertIsInstance(answer, Error, f"{command} {asked}")
                self.assertTrue(answer.startswith("WRONGTYPE "), f"{command} {asked}: {answer}")
                self.assertEqual(self.redis.must("DUMP", f), before, f"{command} {asked}")
            self.assertEqual(self.redis.must("TYPE", f), kind)
            self.assertEqual(self.redis.must("TTL", f), -1)
            self.assertEqual(self.redis.must("EXISTS", prefix + "ours"), 0, "the others are forgotten")
        self.redis.must("DEL", f)
        self.assertEqual(failed(server), {"wrongtype": 60})
        self.assertEqual(server.info()["store_fallbacks"], "0")
        self.assertEqual(server.info()["store_state"], "ready")
        self.assertEqual(throttle(client, "other", 5, 1, 60)[0], 0)

    def test_database_and_prefix(self):
        client = self.client(self.serve(url=self.url("/3?prefix=lim%3A")))
        throttle(client, "user", 5, 1, HOUR)
        self.assertEqual(self.redis.must("DBSIZE"), 0)
        with self.redis.connect() as third:
            third.ask("SELECT", 3)
            self.assertEqual(third.ask("KEYS", "*"), [b"lim:user"])
        self.assertEqual(client.ask("DEL", "user", "nobody"), 1)
        self.assertEqual(throttle(client, "user", 5, 1, HOUR)[2], 4)

    def test_a_database_that_there_is_not(self):
        server = self.serve("--on-store-error", "allow", url=self.url("/99"), wait=False)
        client = self.client(server)
        until(lambda: "out of range" in server.stderr(), "a warning that says why")
        self.assertEqual(throttle(client, "k", 5, 1, 60)[0], 0)
        self.assertEqual(server.info()["store_state"], "down")

    def test_keys_of_any_bytes(self):
        client = self.client(self.serve())
        for key in (b"", b"\0\r\n", b"\xff" * 300, "ünï".encode(), b"{a}{b}", b"x" * 10_000):
            self.assertEqual(throttle(client, key, 2, 1, HOUR), [0, 2, 1, -1, HOUR])
            self.assertEqual(self.redis.must("EXISTS", b"weir:" + key), 1)

    def test_del_and_reset(self):
        client = self.client(self.serve())
        for key in "abc":
            throttle(client, key, 1, 1, HOUR)
        self.assertEqual(client.ask("DEL", "a", "b", "x"), 2)
        self.assertEqual(client.ask("WEIR.RESET", "c"), 1)
        self.assertEqual(client.ask("WEIR.RESET", "c"), 0)
        self.assertEqual(self.redis.must("DBSIZE"), 0)

    def test_del_of_very_many_keys_holds_redis_up_no_longer_than_a_thousand_do(self):
        client = self.client(self.serve("--store-deadline", "5s"))
        keys = [f"k{n}" for n in range(30_000)]
        client.send_bytes(b"".join(encode("CL.THROTTLE", key, 0, 1, HOUR) for key in keys[:3000]))
        self.assertEqual([client.reply()[0] for _ in keys[:3000]], [0] * 3000)
        before = self.evals()
        self.assertEqual(client.ask("DEL", *keys), 3000)
        self.assertEqual(self.evals(), before + 30)
        self.assertEqual(self.redis.must("DBSIZE"), 0)


class TestBesideRedisCell(WithRedis):
    """Services move from redis-cell to weir one by one, and what weir writes is fatal to the module; a stand-in is it."""

    def setUp(self):
        super().setUp()
        connection = self.redis.connect()
        self.addCleanup(connection.close)
        self.cell = RedisCell(connection)

    def test_by_default_redis_cell_finds_nothing_that_weir_has_written(self):
        with Server("--store", self.url()) as server, ready(server).client() as client:
            keys = [b"k", b"", b"{a}b", b"limit#1:k", b"weir", b"\0\r\n", b"x" * 5000]
            for key in keys:
                for command in ("CL.THROTTLE", "RL.THROTTLE", "GCRA"):
                    self.assertEqual(client.ask(command, key, 9, 10, HOUR)[0], 0)
                self.assertEqual(client.ask("WEIR.RESET", key), 1)
                self.assertEqual(client.ask("GCRA", key, 9, 10, HOUR)[0], 0)
            self.assertEqual({key.startswith(b"weir:") for key in self.redis.must("KEYS", "*")}, {True})
            for key in keys:
                self.assertTrue(self.cell.throttle(key, 9, 10, HOUR, 10))
                self.assertFalse(self.cell.throttle(key, 9, 10, HOUR))
                self.assertEqual(client.ask("GCRA", key, 9, 10, HOUR)[2], 8, "they count apart")

    def test_the_stand_in_notices_what_would_end_redis(self):
        client = self.client(self.serve(url=self.url("?prefix=")))
        throttle(client, "k", 5, 1, HOUR)
        self.redis.must("SET", "empty", "")
        for key in ("k", "empty"):
            with self.assertRaises(Panic):
                self.cell.throttle(key, 4, 1, HOUR)


class TestSharing(WithRedis):
    def test_two_processes_and_many_connections_admit_exactly_the_burst(self):
        flags = ("--threads", "2", "--store-deadline", "5s", "--on-store-error", "deny")
        servers = [self.serve(*flags) for _ in range(2)]
        clients = [self.client(server) for server in servers for _ in range(8)]
        command = encode("CL.THROTTLE", "shared", 99, 1, HOUR, 1)
        for _ in range(3):
            self.redis.must("DEL", "weir:shared")
            admitted = []

            def ask(client):
                client.send_bytes(command * 60)
                admitted.append([client.reply()[0] for _ in range(60)].count(0))

            threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sum(admitted), 100, admitted)
            # Each process remembers; this one forgets for it too.
            for client in (clients[0], clients[-1]):
                client.ask("DEL", "shared")
        self.assertEqual([failed(server) for server in servers], [{}, {}])

    def test_what_one_charges_the_other_sees(self):
        one, two = self.client(self.serve()), self.client(self.serve())
        self.assertEqual([throttle(c, "k", 4, 1, HOUR)[2] for c in (one, two, one, two)], [3, 2, 1, 0])
        self.assertEqual(throttle(one, "k", 4, 1, HOUR)[0], 1)


class TestHiccups(WithRedis):
    def test_ten_pauses_hand_out_no_second_burst(self):
        """A unit drains in 10 s: whatever the machine does, what is admitted beyond the burst is a second one."""
        patient_client = self.client(self.serve("--no-remember-denials"))
        for threads in ("1", "2"):
            server = self.serve("--threads", threads, "--no-remember-denials", "--store-deadline", "50ms")
            clients = [self.client(server) for _ in range(2)]
            # The burst is used up before the first pause: what that finds left may be handed out twice.
            start, admitted, asked = time.monotonic(), 50, 0
            self.assertEqual([throttle(patient_client, f"k{threads}", 50, 1, 10)[0] for _ in range(50)], [0] * 50)
            until(lambda: throttle(clients[0], f"k{threads}", 50, 1, 10)[0] == 1, "Redis has told that it is used up")
            for pause in range(10):
                due = start + 0.4 * pause + 0.2
                while time.monotonic() < due:
                    asked += 1
                    admitted += throttle(clients[asked % 2], f"k{threads}", 50, 1, 10)[0] == 0
                    time.sleep(0.002)
                self.redis.pause()
                try:
                    end = time.monotonic() + 0.08
                    while time.monotonic() < end:
                        asked += 1
                        admitted += throttle(clients[asked % 2], f"k{threads}", 50, 1, 10)[0] == 0
                finally:
                    self.redis.go_on()
            took = time.monotonic() - start
            self.assertGreater(int(server.info()["store_fallbacks"]), 0)
            self.assertLessEqual(admitted, 50 + 2 * took / 10 + 10)


class TestRememberedDenials(WithRedis):
    def test_a_blocked_caller_costs_redis_nothing(self):
        server = self.serve("--threads", "1")
        client = self.client(server)
        start = time.monotonic()
        self.assertEqual([throttle(client, "k", 1, 1, HOUR)[0] for _ in range(2)], [0, 1])
        before = self.evals()
        client.send_bytes(encode("CL.THROTTLE", "k", 0, 1, HOUR, 1) * 2000)
        for _ in range(2000):
            answer = client.reply()
            self.assertEqual((answer[:3], answer[3] in (HOUR - 1, HOUR)), ([1, 1, 0], True))
        asked = self.evals() - before
        if time.monotonic() - start < 1:  # after which it is asked again
            self.assertEqual(asked, 0)
        self.assertEqual(server.info()["store_remembered"], str(2000 - asked))

    def test_event_loops_and_processes_know_of_each_other(self):
        """60 of 100, then 50, which is denied and remembered; what somebody else charges meanwhile is in the numbers at
        once on another loop, and after a second in another process."""
        servers = [self.serve("--threads", "2"), self.serve("--threads", "1")]
        a, b = self.client(servers[0]), self.client(servers[0])  # dealt to the loops in turn
        other = self.client(servers[1])
        self.assertEqual(throttle(a, "k", 100, 1, 1000, 60)[:3], [0, 100, 40])
        self.assertEqual(throttle(a, "k", 100, 1, 1000, 50)[:3], [1, 100, 40])
        self.assertEqual(throttle(b, "k", 100, 1, 1000, 10)[:3], [0, 100, 30])
        self.assertEqual(throttle(a, "k", 100, 1, 1000, 50)[:3], [1, 100, 30])
        self.assertEqual(throttle(other, "k", 100, 1, 1000, 10)[:3], [0, 100, 20])
        time.sleep(1.01)
        self.assertEqual(throttle(a, "k", 100, 1, 1000, 50)[:3], [1, 100, 20])
        self.assertEqual(throttle(other, "k", 200, 1, 1000, 50)[:3], [0, 200, 70])  # it raises the limit
        time.sleep(1.01)
        self.assertEqual(throttle(a, "k", 200, 1, 1000, 50)[:3], [0, 200, 20])

    def test_it_ends_on_time(self):
        """By Redis' own clock, looked at before each question and after it: none is let in before the key is free, and
        none is denied that was asked later."""
        server = self.serve("--threads", "1", "--store-deadline", "5s")
        client = self.client(server)

        def clock():
            seconds, micros = self.redis.must("TIME")
            return int(seconds) * 10**9 + int(micros) * 1000

        def let_in():
            """Asks until it is let in; whether a denial that was remembered ended so."""
            free = int(self.redis.must("GET", "weir:k").split()[1])
            before, remembered = clock(), server.info()["store_remembered"]
            while throttle(client, "k", 1, 2, 1)[0] == 1:
                self.assertLess(before, free + 10**6, "denied although it was free")  # the clocks may drift a little
                before = clock()
            self.assertGreaterEqual(clock(), free, "let in before it was free")
            return server.info()["store_remembered"] != remembered
        self.assertEqual(throttle(client, "k", 1, 2, 1)[0], 0)  # one in 500 ms
        ended = []

        def four_ended():
            ended.append(let_in())
            return sum(ended) >= 4
        until(four_ended, "four denials that were remembered have ended")
        self.assertEqual(server.info()["store_fallbacks"], "0")

    def test_a_reset_through_weir_ends_it_at_once_on_every_loop(self):
        server = self.serve("--threads", "2")
        clients = [self.client(server) for _ in range(4)]  # dealt to the loops in turn
        for turn in range(40):
            key = f"k{turn}"
            self.assertEqual(throttle(clients[0], key, 1, 1, HOUR)[0], 0)
            for client in clients:
                self.assertEqual([throttle(client, key, 1, 1, HOUR)[0] for _ in range(2)], [1, 1])
            command = ("DEL", key) if turn % 2 else ("WEIR.RESET", key)
            self.assertEqual(clients[turn % 4].ask(*command), 1)
            asker = clients[(turn + turn // 4) % 4]
            self.assertEqual(throttle(asker, key, 1, 1, HOUR)[0], 0, f"turn {turn}")
            self.assertEqual([throttle(c, key, 1, 1, HOUR)[0] for c in clients], [1] * 4)

    def test_another_limit_or_cost_is_another_question(self):
        client = self.client(self.serve("--threads", "1"))
        self.assertEqual(throttle(client, "k", 10, 1, HOUR, 8)[0], 0)
        self.assertEqual(throttle(client, "k", 10, 1, HOUR, 5)[0], 1)
        self.assertEqual(throttle(client, "k", 10, 1, HOUR, 5)[0], 1)
        self.assertEqual(throttle(client, "k", 10, 1, HOUR, 1)[:3], [0, 10, 1])
        self.assertEqual(throttle(client, "k", 10, 1, HOUR, 5)[:3], [1, 10, 1])
        self.assertEqual(throttle(client, "k", 20, 1, HOUR, 5)[:3], [0, 20, 6])
        self.assertEqual(throttle(client, "k", 10, 1, HOUR, 0)[:3], [0, 10, 0])

    def test_no_remember_denials_asks_every_time(self):
        client = self.client(self.serve("--no-remember-denials"))
        throttle(client, "k", 1, 1, HOUR)
        before = self.evals()
        for _ in range(50):
            self.assertEqual(throttle(client, "k", 1, 1, HOUR)[0], 1)
        self.assertEqual(self.evals(), before + 50)
        self.redis.must("DEL", "weir:k")
        self.assertEqual(throttle(client, "k", 1, 1, HOUR)[0], 0)

    def test_what_nobody_counted_is_not_remembered(self):
        """A denial by the fallback, because the store was away, is not one of the store's."""
        proxy = self.proxy()
        server = self.serve("--on-store-error", "deny", url=self.url(port=proxy.port))
        client = self.client(server)
        proxy.refuse()
        until(lambda: throttle(client, "k", 5, 1, HOUR)[0] == 1, "a denial by the fallback")
        proxy.accept()
        ready(server)
        self.assertEqual(throttle(client, "k", 5, 1, HOUR), [0, 5, 4, -1, HOUR])


class TestWays(unittest.TestCase):
    """How one gets to Redis: sockets, TLS, users."""

    def serve(self, url, *flags, wait=True, **options):
        server = Server("--store", url, *(patient(flags) if wait else flags), **options)
        self.addCleanup(server.__exit__, None)
        return ready(server) if wait else server

    def works(self, url, *flags):
        server = self.serve(url, *flags, "--on-store-error", "deny")
        with server.client() as client:
            self.assertEqual(throttle(client, f"k{random.random()}", 5, 1, HOUR), [0, 5, 4, -1, HOUR])
        return server

    def degrades(self, url, why, *flags, cause, secret=None):
        """Serves by its fallback, says why once, and counts the cause."""
        server = self.serve(url, *patient(flags), "--on-store-error", "allow", wait=False)
        with server.client() as client:
            until(lambda: re.search(why, server.stderr()), f"{why} in {server.stderr()!r}")
            for _ in range(3):
                self.assertEqual(throttle(client, "k", 1, 1, HOUR)[0], 0)
            time.sleep(0.5)
            self.assertEqual(throttle(client, "k", 1, 1, HOUR)[0], 0)
        self.assertEqual(server.info()["store_state"], "down")
        self.assertEqual(set(failed(server)), {cause}, server.stderr())
        self.assertLess(server.stderr().count("\n"), 4, server.stderr())
        if secret:
            self.assertNotIn(secret, server.stderr())
            self.assertNotIn(secret, str(server.info()))
        return server

    def test_unix_socket(self):
        with Folder() as folder, Redis(unix=folder.file("r.sock"), port=0, password="p@s/s:w%rd") as redis:
            url = f"redis+unix://:p%40s%2Fs%3Aw%25rd@{redis.unix}"
            self.works(url)
            self.works(url + "?db=2&prefix=x")
            with redis.connect() as client:
                client.ask("SELECT", 2)
                self.assertEqual(client.ask("DBSIZE"), 1)
            self.degrades(f"redis+unix://{redis.unix}.not", "No such file", cause="connection")

    def test_tls(self):
        with Folder() as folder:
            ours, theirs = Authority(folder, "ours"), Authority(folder, "theirs")
            certificate, key = ours.issue("localhost")
            port = free_port()
            options = [("tls-port", port), ("tls-cert-file", certificate), ("tls-key-file", key), ("tls-auth-clients", "no"),
                       ("tls-ca-cert-file", ours.certificate), ("bind", "127.0.0.1 127.0.0.2")]
            with Redis(options, password="s3cret-in-tls") as redis:
                who = ":s3cret-in-tls@"
                trust = ("--store-tls-ca", ours.certificate)
                self.works(f"rediss://{who}127.0.0.1:{port}", *trust)
                self.works(f"rediss://{who}localhost:{port}/1", *trust)
                # By an address that the certificate does not bear.
                self.works(f"rediss://{who}127.0.0.2:{port}", *trust, "--store-tls-name", "localhost")
                failed_check = "127.0.0.[12]:[0-9]+: TLS: certificate verify failed: "
                unknown = failed_check + r"no trusted authority has signed it \([a-z -]*\)"
                for url, flags, why, cause in (
                        (f"rediss://{who}127.0.0.1:{port}", ("--store-tls-ca", theirs.certificate), unknown, "connection"),
                        (f"rediss://{who}127.0.0.1:{port}", (), unknown, "connection"),
                        # The certificate is for localhost and 127.0.0.1.
                        (f"rediss://{who}127.0.0.2:{port}", trust, failed_check + "it is not for '127.0.0.2';", "connection"),
                        (f"rediss://{who}127.0.0.1:{port}", (*trust, "--store-tls-name", "redis.example"),
                         failed_check + "it is not for 'redis.example';", "connection"),
                        (f"rediss://{who}127.0.0.1:{redis.port}", trust, "TLS: |no greeting", "connection"),
                        (f"redis://{who}127.0.0.1:{port}", (), "clos|reset|not an answer", "connection")):
                    with self.subTest(url=url, flags=flags):
                        self.degrades(url, why, *flags, cause=cause, secret="s3cret-in-tls")
                for file in (folder.file("no-such-file"), folder.file("no-certificate", "hello\n")):
                    code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--store", f"rediss://127.0.0.1:{port}",
                                           "--store-tls-ca", file)
                    self.assertEqual(code, 2)
                    self.assertIn("store-tls-ca", errors)

    def test_a_hangup_reads_the_files_again(self):
        with Folder() as folder:
            ours, theirs = Authority(folder, "ours"), Authority(folder, "theirs")

            def trust(authority):
                with open(authority.certificate, "rb") as file:
                    return folder.file("trusted.pem", file.read())
            with Redis(tls=TlsFiles(ours)) as redis:
                server = self.serve(f"rediss://127.0.0.1:{redis.port}", "--threads", "2", "--store-tls-ca", trust(theirs),
                                    wait=False)
                until(lambda: "no trusted authority has signed it" in server.stderr(), "it is not trusted")
                trusted = folder.file("trusted.pem", "junk")
                server.signal(signal.SIGHUP)
                until(lambda: f"[error] SIGHUP: store-tls-ca: '{trusted}': contains no certificate in PEM; what was read "
                              "before stays in use" in server.stderr(), "a bad file is said")
                trust(ours)
                server.signal(signal.SIGHUP)
                ready(server)

    def test_a_redis_that_asks_for_a_certificate(self):
        with Folder() as folder:
            ours, theirs = Authority(folder, "ours"), Authority(folder, "theirs")
            with Redis(tls=TlsFiles(ours, auth_clients="yes")) as redis:
                certificate, key = ours.issue("weir")
                foreign = theirs.issue("weir")
                url = f"rediss://127.0.0.1:{redis.port}"
                trust = ("--store-tls-ca", ours.certificate)
                self.works(url, *trust, "--store-tls-cert", certificate, "--store-tls-key", key)
                for files, why in (((), "certificate required"), (foreign, "unknown ca")):
                    flags = ("--store-tls-cert", files[0], "--store-tls-key", files[1]) if files else ()
                    with self.subTest(files=files):
                        server = self.degrades(url, why, *trust, *flags, cause="connection")
                        self.assertIn(why, server.info()["store_error"])
                rsa = folder.file("rsa.key")
                subprocess.run(["openssl", "genrsa", "-out", rsa, "2048"], check=True, capture_output=True, timeout=20)
                locked = folder.file("locked.key")
                subprocess.run(["openssl", "pkey", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked],
                               check=True, capture_output=True, timeout=20)
                no_pem, nowhere = folder.file("no.pem", "hello\n"), folder.file("nowhere")
                no_key = "is not a private key in PEM without a passphrase, or not that of the certificate"
                for where, cert_file, key_file, wanted in (
                        (url, nowhere, key, f"store-tls-cert: '{nowhere}': No such file or directory"),
                        (url, no_pem, key, f"store-tls-cert: '{no_pem}': is not a certificate in PEM"),
                        (url, certificate, nowhere, f"store-tls-key: '{nowhere}': No such file or directory"),
                        (url, certificate, no_pem, f"store-tls-key: '{no_pem}': {no_key}"),
                        (url, certificate, foreign[1], f"store-tls-key: '{foreign[1]}': {no_key}"),
                        (url, certificate, rsa, f"store-tls-key: '{rsa}': {no_key}"),
                        (url, certificate, locked, f"store-tls-key: '{locked}': {no_key}"),
                        (url, certificate, None, "store-tls-cert and store-tls-key must be given together"),
                        (url, None, key, "store-tls-cert and store-tls-key must be given together"),
                        (f"redis://127.0.0.1:{redis.port}", certificate, key,
                         "store-tls-cert needs a store with TLS: a URL that begins with rediss"),
                        (None, certificate, key, "store-tls-cert needs --store"), (None, None, key, "store-tls-key needs --store")):
                    flags = [word for flag, value in (("--store", where), ("--store-tls-cert", cert_file),
                                                      ("--store-tls-key", key_file)) if value for word in (flag, value)]
                    with self.subTest(flags=flags):
                        self.assertEqual(weir("serve", "--resp", "127.0.0.1:0", *flags), (2, "", f"weir: {wanted}\n"))

    def test_a_cluster_by_tls(self):
        with Folder() as folder:
            ours, theirs = Authority(folder, "ours"), Authority(folder, "theirs")
            with Cluster(password="pw-cluster", tls=TlsFiles(ours)) as cluster:
                url = f"rediss+cluster://:pw-cluster@{','.join(server.address for server in cluster.servers[:2])}"
                trust = ("--store-tls-ca", ours.certificate)

                def moved():
                    return sum(int(server.info("errorstats").get("errorstat_MOVED", "count=0").partition("=")[2])
                               for server in cluster.servers)

                server = self.serve(url, *trust, "--on-store-error", "deny", "--store-deadline", "1s")
                with server.client() as client:
                    for n in range(30):
                        self.assertEqual(throttle(client, f"k{n}", 5, 1, HOUR), [0, 5, 4, -1, HOUR])
                    self.assertGreater(min(master.must("DBSIZE") for master in cluster.masters()), 0)
                    used = 0

                    def sent_on():
                        # Every other second weir asks for the map anyway, and may know before it is told.
                        nonlocal used
                        before = moved()
                        self.assertEqual(cluster.migrate(slot_of("weir:moves")), used > 0)
                        self.assertEqual(throttle(client, "moves", 50, 1, HOUR)[:3], [0, 50, 49 - used])
                        used += 1
                        return moved() > before

                    until(sent_on, "a MOVED")
                self.assertEqual(failed(server), {})
                self.degrades(url, "certificate verify failed", "--store-tls-ca", theirs.certificate, cause="connection",
                              secret="pw-")

    def test_sentinels_by_tls(self):
        with Folder() as folder:
            authority = Authority(folder, "authority")
            certificate, key = authority.issue("weir")
            with Sentinels(password="pw-master", tls=TlsFiles(authority, auth_clients="yes")) as world:
                where = ",".join(sentinel.address for sentinel in world.sentinels)
                url = f"rediss+sentinel://:pw-master@{where}/mymaster"
                trust = ("--store-tls-ca", authority.certificate)
                # The sentinels too ask for a certificate.
                self.degrades(url, "certificate required", *trust, cause="connection", secret="pw-")
                server = self.works(url, *trust, "--store-tls-cert", certificate, "--store-tls-key", key)
                before = world.master()
                self.assertEqual(before.must("DBSIZE"), 1)
                world.sentinels[0].must("SENTINEL", "FAILOVER", "mymaster")
                after = until(lambda: (m := world.master()) is not before and m, "another master")
                with server.client() as client:
                    def told():
                        return throttle(client, "k", 10_000, 1, HOUR)[0] == 0 and after.must("EXISTS", "weir:k")

                    until(told, "the new master is asked")

    def test_users(self):
        with Redis() as redis:
            needed = ("+evalsha", "+script|load", "+get", "+set", "+time", "+del", "+ping", "+config|get")
            redis.must("ACL", "SETUSER", "least", "on", ">pw-least", "~lim:*", *needed)
            redis.must("ACL", "SETUSER", "shy", "on", ">pw-shy", "~lim:*", *needed[:-1])
            redis.must("ACL", "SETUSER", "noeval", "on", ">pw-noeval", "~*", "+@all", "-evalsha", "-eval")
            redis.must("ACL", "SETUSER", "noscript", "on", ">pw-noscript", "~*", "+@all", "-script")
            redis.must("ACL", "SETUSER", "off", "off", ">pw-off", "~*", "+@all")
            where = f"127.0.0.1:{redis.port}"
            for user in ("least", "shy"):
                self.works(f"redis://{user}:pw-{user}@{where}?prefix=lim:")
            # A key that the user may not touch is a failure, and no reason to leave Redis.
            server = self.serve(f"redis://least:pw-least@{where}?prefix=", "--on-store-error", "deny")
            with server.client() as client:
                self.assertEqual(throttle(client, "other", 5, 1, HOUR)[:2], [1, 5])
                self.assertEqual(throttle(client, "lim:mine", 5, 1, HOUR), [0, 5, 4, -1, HOUR])
            self.assertEqual(failed(server), {"auth": 1})
            ready(server)
            # EVALSHA is refused with every call.
            server = self.serve(f"redis://noeval:pw-noeval@{where}", "--on-store-error", "deny")
            with server.client() as client:
                for n in range(5):
                    self.assertEqual(throttle(client, "k", 5, 1, HOUR)[:2], [1, 5])
                    self.assertEqual(failed(server), {"auth": n + 1})
            for url, why in ((f"redis://noscript:pw-noscript@{where}", "NOPERM"),
                             (f"redis://off:pw-off@{where}", "WRONGPASS"),
                             (f"redis://least:pw-wrong@{where}", "WRONGPASS"),
                             (f"redis://:pw-default@{where}", "AUTH")):
                with self.subTest(url=url):
                    self.degrades(url, why, cause="auth", secret="pw-")
            redis.must("CONFIG", "SET", "requirepass", "pw-needed")
            self.degrades(f"redis://{where}", "NOAUTH", cause="auth", secret="pw-")

    def test_sentinels_with_passwords_of_their_own(self):
        # A password of the URL is the master's alone, so it is not told to the sentinels.
        users = [("user", "default off"), ("user", "least on >pw-least -@all +ping +sentinel|get-master-addr-by-name"),
                 ("user", "deaf on >pw-deaf -@all +ping")]
        with Redis(password="pw-of-master") as redis:
            watched = [("sentinel monitor", f"mymaster 127.0.0.1 {redis.port} 1"),
                       ("sentinel auth-pass", "mymaster pw-of-master")]
            with Redis(watched, sentinel=True, password="pw-ä&?@") as one, \
                    Redis(watched + users, sentinel=True, user="least", password="pw-least") as two, \
                    Redis(watched, sentinel=True) as open_to_all:
                def url(sentinel, rest=""):
                    return f"redis+sentinel://:pw-of-master@127.0.0.1:{sentinel.port}/mymaster{rest}"
                right = "sentinel_password=pw-%C3%A4%26%3F%40"
                server = self.works(url(one, f"/2?{right}&prefix=x"))
                self.assertNotIn("pw-", str(server.info()) + server.stderr())
                self.assertEqual(server.info()["store"], f"redis+sentinel://:***@127.0.0.1:{one.port}/mymaster/2")
                self.works(url(two, "?sentinel_user=least&sentinel_password=pw-least"))
                for where, why in ((url(one), "NOAUTH"), (url(one, "?sentinel_password=pw-of-master"), "WRONGPASS"),
                                   (url(two, "?sentinel_password=pw-least"), "WRONGPASS"),
                                   (url(two, "?sentinel_user=least&sentinel_password=pw-deaf"), "WRONGPASS"),
                                   (url(two, "?sentinel_user=deaf&sentinel_password=pw-deaf"), "NOPERM"),
                                   (url(open_to_all, f"?{right}"), "without any password configured")):
                    with self.subTest(url=where):
                        server = self.degrades(where, why, cause="auth", secret="pw-")
                        self.assertRegex(server.info()["store_error"], why)

    def test_names_that_nobody_has(self):
        self.degrades("redis://no-such-host.invalid:6379", "cannot be found", cause="connection")

    def test_absent_at_start(self):
        """It is tried again each half second: five times together may take no longer than one wait here."""
        port, left = free_port(), PATIENCE
        with Redis(port=port, start=False) as redis:
            for _ in range(5):
                server = self.serve(f"redis://127.0.0.1:{port}", "--threads", "2", wait=False)
                with server.client() as client:
                    # By the embedded store, each loop of which counts for all.
                    self.assertEqual([throttle(client, "k", 3, 1, HOUR)[0] for _ in range(5)], [0, 0, 0, 1, 1])
                    self.assertEqual(failed(server), {"connection": 5})
                    self.assertEqual(server.info()["store_fallbacks"], "5")
                    until(lambda: "refused" in server.stderr(), "it says why")
                    redis.start()
                    since = time.monotonic()
                    ready(server, left)
                    left -= time.monotonic() - since
                    self.assertEqual(throttle(client, "k", 3, 1, HOUR), [0, 3, 2, -1, HOUR])
                    redis.kill()
                    until(lambda: server.info()["store_state"] == "down", "it notices")

    def test_eviction_is_warned_of(self):
        for policy, warned in (("allkeys-lru", True), ("volatile-ttl", True), ("noeviction", False)):
            with Redis([("maxmemory-policy", policy)]) as redis:
                server = self.works(f"redis://127.0.0.1:{redis.port}")
                if warned:
                    until(lambda: f"maxmemory-policy is {policy}" in server.stderr(), server.stderr())
                    self.assertEqual(server.stderr().count("maxmemory-policy"), 1)
                else:
                    time.sleep(0.2)
                    self.assertNotIn("maxmemory-policy", server.stderr())

    def test_bad_urls(self):
        rows = ("", "redis", "http://:hunter2@h", "redis:/:hunter2@h", ":hunter2@h", "redis://:hunter2@", "redis://:hunter2@:6379",
                "redis://:hunter2@h:0", "redis://:hunter2@h:65536", "redis://:hunter2@h:x", "redis://:hunter2@h:1:2",
                "redis://:hunter2@h/x", "redis://:hunter2@h/-1", "redis://:hunter2@h/99999999999", "redis://:hunter2@h,i",
                "redis://:hunter2@[::1", "redis://:hunter2@h?password=hunter2",
                "redis://:hunter2@h?prefix=%zz", "redis://:hunter2%@h", "redis://hunter2@h", "redis://user:@h",
                "redis+cluster://:hunter2@h/1", "redis+cluster://:hunter2@h?db=1", "redis+sentinel://:hunter2@h", "redis+sentinel://:hunter2@h/",
                "redis+sentinel://:hunter2@h/name/x", "redis+unix://:hunter2@path", "redis+unix://path", "redis+cluster://:hunter2@h,",
                "redis://:hunter2?x@h", "redis://h?sentinel_password=hunter2", "redis+sentinel://h/m?sentinel_user=hunter2",
                "redis+sentinel://h/m?sentinel_password=hunter2%", "REDIS://:hunter2", "redis://:hunter2/@h:1/2/3",
                "redis://u:hunter2#@h:6379:", "redis://[::1:hunter2@", "redis://h:hunter2@x:y@", "redis+unix://hunter2:x@y@z")
        for url in rows:
            for how in ("flag", "environment"):
                args, env = (("--store", url), {}) if how == "flag" else ((), {"WEIR_STORE": url})
                if url == "":
                    continue
                with self.subTest(url=url, how=how):
                    code, out, errors = weir("serve", "--resp", "127.0.0.1:0", *args, env=env, timeout=5)
                    self.assertEqual(code, 2, errors)
                    self.assertEqual(out, "")
                    self.assertIn("store: ", errors)
                    self.assertEqual(errors.count("\n"), 1, errors)
                    self.assertNotIn("hunter2", errors)

    def test_bad_flags(self):
        for flags, why in ((("--store-deadline", "0s"), "store-deadline"), (("--store-deadline", "x"), "store-deadline"),
                           (("--local-share", "0%"), "local-share"), (("--local-share", "101%"), "local-share"),
                           (("--local-share", "50"), "local-share"), (("--on-store-error", "maybe"), "on-store-error")):
            code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--store", "redis://127.0.0.1:1", *flags, timeout=5)
            self.assertNotEqual(code, 0, flags)
            self.assertIn(why, errors)


class TestPolicies(unittest.TestCase):
    """What is answered while there is no store."""

    def serve(self, *flags):
        server = Server("--store", f"redis://127.0.0.1:{free_port()}", "--threads", "1", *flags)
        self.addCleanup(server.__exit__, None)
        client = server.client()
        self.addCleanup(client.close)
        until(lambda: "refused" in server.stderr(), "it says why")
        return server, client

    def test_local(self):
        _, client = self.serve()
        self.assertEqual([throttle(client, "k", 5, 1, HOUR)[:3] for _ in range(6)],
                         [[0, 5, 4], [0, 5, 3], [0, 5, 2], [0, 5, 1], [0, 5, 0], [1, 5, 0]])
        self.assertEqual(throttle(client, "k", 5, 1, HOUR, 6)[3], -1)

    def test_local_share(self):
        _, client = self.serve("--local-share", "50%")
        self.assertEqual([throttle(client, "k", 10, 1, HOUR)[0] for _ in range(7)], [0] * 5 + [1] * 2)
        self.assertEqual([throttle(client, "one", 1, 1, HOUR)[0] for _ in range(2)], [0, 1])
        # Half the rate too: two an hour are one.
        self.assertEqual(throttle(client, "rate", 2, 2, HOUR)[0], 0)
        denied, _, _, wait, _ = throttle(client, "rate", 2, 2, HOUR)
        self.assertTrue(denied and 0.9 * HOUR < wait <= HOUR, wait)

    def test_allow(self):
        server, client = self.serve("--on-store-error", "allow")
        for _ in range(20):
            self.assertEqual(throttle(client, "k", 5, 1, HOUR)[:4], [0, 5, 5, -1])
        self.assertEqual(throttle(client, "k", 5, 1, HOUR, 6)[0], 1)  # it never would
        self.assertEqual(failed(server), {"connection": 21})

    def test_deny(self):
        server, client = self.serve("--on-store-error", "deny")
        for _ in range(20):
            self.assertEqual(throttle(client, "k", 5, 1, HOUR), [1, 5, 0, 1, 1])
        self.assertEqual(throttle(client, "k", 5, 1, HOUR, 6)[3], -1)
        self.assertEqual(throttle(client, "k", 5, 1, HOUR, 0)[0], 0)  # a look
        self.assertEqual(failed(server), {"connection": 22})

    def test_a_reset_without_a_store_is_an_error(self):
        _, client = self.serve()
        for command in (("DEL", "a"), ("DEL", "a", "b", "c"), ("WEIR.RESET", "a")):
            answer = client.ask(*command)
            self.assertIsInstance(answer, Error)
            self.assertIn("refused", answer)
        self.assertEqual(client.ask("PING"), "PONG")


class Strange:
    """Takes itself for a Redis: greets as one, and answers EVALSHA with whatever `answer` is."""

    def __init__(self):
        self.answer = b""
        self.greeting = {b"SCRIPT": b"$40\r\n" + b"0" * 40 + b"\r\n", b"CONFIG": b"*0\r\n", b"PING": b"+PONG\r\n"}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @staticmethod
    def good(charged=b"1", seconds=b"1700000000"):
        """What weir's script says of a fresh key."""
        return b"*4\r\n:%s\r\n$%d\r\n%s\r\n$1\r\n0\r\n$-1\r\n" % (charged, len(seconds), seconds)

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, client.makefile("rb") as lines:
            try:
                while header := lines.readline():
                    words = [lines.read(int(lines.readline()[1:]) + 2)[:-2] for _ in range(int(header[1:]))]
                    client.sendall(self.greeting.get(words[0].upper(), self.answer))
            except (OSError, ValueError):
                pass

    def close(self):
        self.listener.close()


class TestStrangeStores(unittest.TestCase):
    """Whatever a store answers, weir decides by its fallback and stays up."""

    def test_a_store_that_has_redis_cell_is_warned_of_once_where_it_is_in_danger(self):
        store = Strange()
        self.addCleanup(store.close)
        store.greeting[b"MODULE"] = b"*1\r\n*4\r\n$4\r\nname\r\n$10\r\nredis-cell\r\n$3\r\nver\r\n:1\r\n"
        line = ("the module redis-cell is loaded, and the keys of weir have no prefix: redis-cell aborts Redis when it is "
                "asked for one; expected a prefix")
        for rest, lines in (("?prefix=", 1), ("", 0), ("?prefix=lim:", 0)):
            with self.subTest(rest=rest):
                store.answer = Strange.good()
                with Server("--store", f"redis://127.0.0.1:{store.port}{rest}", "--threads", "2") as server:
                    with ready(server).client() as client:
                        throttle(client, "k", 5, 1, HOUR)
                        if lines:
                            until(lambda: line in server.stderr(), "the warning")
                        store.answer = b"garbage\r\n"  # ends the connection
                        throttle(client, "k2", 5, 1, HOUR)
                        store.answer = Strange.good()
                        ready(server)
                    self.assertEqual(server.stderr().count(line), lines, server.stderr())

    GOOD = Strange.good()
    ANSWERS = [b":1\r\n", b"$-1\r\n", b"*-1\r\n", b"*0\r\n", b"+OK\r\n", b"-FOO bar\r\n", b"-\r\n", b"-ERR\r\n", b"!5\r\nERR x\r\n",
               b"_\r\n", b"#t\r\n", b",1.5\r\n", b"(12345678901234567890\r\n", b"%1\r\n+a\r\n+b\r\n", b"garbage\r\n", b"\0" * 64, b"\r\n",
               GOOD.replace(b":1", b":0"), GOOD.replace(b":1", b":7"), GOOD.replace(b"*4", b"*5") + b":0\r\n", GOOD.replace(b"*4", b"*3", 1)[:-5],
               GOOD.replace(b"1700000000", b"9999999999"), GOOD.replace(b"1700000000", b"-170000000"), GOOD.replace(b"$1\r\n0", b"$7\r\n1000000"),
               GOOD.replace(b"$-1", b"$5\r\nhello"), GOOD.replace(b"$-1", b"$41\r\n9223372036854775807 99999999999999999999"),
               GOOD.replace(b"$-1", b"$21\r\n1700000001000000000 0"), GOOD.replace(b"$-1", b":5"), GOOD.replace(b"$-1", b"*0"),
               GOOD + GOOD, GOOD[:-1], b"*1000000000\r\n", b"$99999999999\r\nx", b"*1\r\n" * 10_000, b"x" * 300_000, b"$300000\r\n" + b"x" * 299_999,
               b"*99999999999999999999\r\n", b"$-2\r\n", b"*4\n:1\n", b"-MOVED 1 127.0.0.1:1\r\n", b"-MOVED\r\n", b"-ASK x y\r\n", b"-NOSCRIPT x\r\n",
               b"-TRYAGAIN x\r\n", b"-NOAUTH x\r\n", b"-LOADING x\r\n", b"-CLUSTERDOWN x\r\n", b"-READONLY \x1b[31m\r\n", b"-MASTERDOWN x\r\n",
               b">2\r\n+a\r\n+b\r\n" + b":1\r\n"]

    def test_answers(self):
        for scheme in ("redis://127.0.0.1:{}", "redis+cluster://127.0.0.1:{}", "redis+sentinel://127.0.0.1:{}/m"):
            store = Strange()
            self.addCleanup(store.close)
            port = str(store.port).encode()
            node = b"$9\r\n127.0.0.1\r\n"
            store.greeting[b"CLUSTER"] = b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + node + b":" + port + b"\r\n"
            store.greeting[b"SENTINEL"] = b"*2\r\n" + node + b"$%d\r\n%s\r\n" % (len(port), port)
            server = Server("--store", scheme.format(store.port), "--on-store-error", "deny", "--threads", "1")
            self.addCleanup(server.__exit__, None)
            with server.client() as client:
                def decided(key):
                    return client.ask("CL.THROTTLE", key, 8, 1, HOUR) == [0, 9, 8, -1, HOUR]
                for answer in [*self.ANSWERS, *(self.GOOD[:n] for n in range(1, len(self.GOOD)))]:
                    store.answer = self.GOOD
                    until(lambda: decided("good"), f"{scheme}: a good answer, before {answer[:60]!r}: {server.stderr()[-300:]}")
                    store.answer = answer
                    client.send_bytes(encode("CL.THROTTLE", "k", 8, 1, HOUR) * 3)
                    for reply in [client.reply() for _ in range(3)]:
                        # One good answer, and then one that nobody asked for, is a good answer.
                        self.assertIn(reply[:3] if reply else reply, ([1, 9, 0], [0, 9, 8]), answer[:60])
                        if answer != self.GOOD + self.GOOD:
                            self.assertEqual(reply, [1, 9, 0, 1, 1], answer[:60])
            self.assertLess(server.rss(), 60 << 20)
            self.assertNotIn("\x1b", server.stderr())

    def test_greetings(self):
        for word in (b"SCRIPT", b"CONFIG", b"CLUSTER", b"SENTINEL", b"PING"):
            for scheme in ("redis+cluster://127.0.0.1:{}", "redis+sentinel://127.0.0.1:{}/m"):
                store = Strange()
                self.addCleanup(store.close)
                server = Server("--store", scheme.format(store.port), "--on-store-error", "allow", "--threads", "1")
                self.addCleanup(server.__exit__, None)
                store.answer = self.GOOD
                with server.client() as client:
                    for answer in self.ANSWERS:
                        store.greeting[word] = answer
                        self.assertEqual(client.ask("CL.THROTTLE", "k", 8, 1, HOUR)[0], 0)
                        time.sleep(0.01)
                self.assertLess(server.rss(), 60 << 20)

    def test_itself(self):
        """A server that is told to ask itself."""
        port = free_port()
        server = Server("--store", f"redis://127.0.0.1:{port}", "--threads", "1", resp=(f"127.0.0.1:{port}",))
        self.addCleanup(server.__exit__, None)
        with server.client() as client:
            self.assertEqual([throttle(client, "k", 1, 1, HOUR)[0] for _ in range(2)], [0, 1])
        self.assertFalse(server.spins())


class Model:
    """What a connection answers, for limits that give nothing back for an hour: built beside the commands."""

    def __init__(self, rng):
        self.rng = rng
        self.used = {}
        self.serial = 0
        self.on, self.skip, self.multi = True, False, None
        self.sent, self.wanted = [], []

    def say(self, words, answer):
        self.sent.append(encode(*words))
        if self.skip:
            self.skip = False
        elif self.on:
            self.wanted.append((words, answer))

    def decide(self, key, burst, cost):
        used = self.used.get(key, 0)
        if used + cost <= burst:
            if cost > 0:
                self.used[key] = used + cost
            return [0, burst, burst - used - cost]
        return [1, burst, max(0, burst - used)]

    def one(self):
        """A command that may stand in MULTI: its words, and a function that runs it."""
        rng = self.rng
        key = f"{self.prefix}{rng.randrange(6)}"
        kind = rng.choice(["throttle"] * 6 + ["look", "much", "bad", "ping", "echo", "del", "reset", "gcra"])
        self.serial += 1
        text = f"m{self.serial}".encode()
        if kind == "ping":
            return ("PING", text), lambda: text
        if kind == "echo":
            return ("ECHO", text), lambda: text
        if kind == "bad":
            return ("CL.THROTTLE", key, "x", 1, HOUR), lambda: Error
        if kind == "del":
            keys = [f"{self.prefix}{rng.randrange(8)}" for _ in range(rng.randrange(1, 4))]
            return ("DEL", *keys), lambda: sum(self.used.pop(k, None) is not None for k in keys)
        if kind == "reset":
            return ("WEIR.RESET", key), lambda: int(self.used.pop(key, None) is not None)
        cost = {"look": 0, "much": 9}.get(kind, rng.randrange(1, 3))
        words = ("GCRA", key, 4, 1, HOUR, "TOKENS", cost) if kind == "gcra" else ("CL.THROTTLE", key, 4, 1, HOUR, cost)
        return words, lambda: self.decide(key, 5, cost)

    def step(self):
        kind = self.rng.random()
        if kind < 0.8:
            words, run_it = self.one()
            self.say(words, run_it())
        elif kind < 0.88:
            self.say(("MULTI",), "OK")
            runs = []
            for _ in range(self.rng.randrange(5)):
                words, run_it = self.one()
                self.say(words, "QUEUED")
                runs.append(run_it)
            self.say(("EXEC",), [each() for each in runs] if self.rng.random() < 2 else None)
        elif kind < 0.92 and self.on:
            self.sent.append(encode("CLIENT", "REPLY", "SKIP"))
            self.skip = True
            words, run_it = self.one()
            self.say(words, run_it())
        elif kind < 0.95 and self.on:
            self.sent.append(encode("CLIENT", "REPLY", "OFF"))
            self.on = False
        elif not self.on:
            self.on = True
            self.say(("CLIENT", "REPLY", "ON"), "OK")
        else:
            self.say(("NOSUCH", "x"), Error)


def agrees(answer, wanted):
    if wanted is Error:
        return isinstance(answer, Error)
    if isinstance(wanted, list) and isinstance(answer, list):
        if len(wanted) == 3 and len(answer) == 5 and all(isinstance(x, int) for x in answer):
            return answer[:3] == wanted
        return len(wanted) == len(answer) and all(map(agrees, answer, wanted))
    return answer == wanted and not isinstance(answer, Error)


class TestOrder(WithRedis):
    """Replies come in the order of the commands, however slow the store."""

    def test_pipelines_of_everything(self):
        rng = chance()
        proxy = self.proxy()
        # Remembered denials say what was left when they were made, so here they are not.
        server = self.serve("--threads", "2", "--store-deadline", "5s", "--no-remember-denials",
                            url=self.url(port=proxy.port))
        commands = 0
        for turn in range(60):
            proxy.delay = rng.choice([0, 0.0005, 0.003, 0.01])
            model = Model(rng)
            model.prefix = f"t{turn}:"
            for _ in range(rng.choice([5, 40, 150])):
                model.step()
            if not model.on:
                model.on = True
                model.say(("CLIENT", "REPLY", "ON"), "OK")
            commands += len(model.sent)
            with server.client() as client:
                data = b"".join(model.sent)
                pieces = rng.choice([1, 2, 20])

                def send(client=client, data=data, pieces=pieces):
                    size = len(data) // pieces + 1
                    for at in range(0, len(data), size):
                        client.send_bytes(data[at:at + size])
                        if pieces > 2:
                            time.sleep(0.002)

                sender = threading.Thread(target=send)
                sender.start()
                for number, (words, wanted) in enumerate(model.wanted):
                    answer = client.reply()
                    self.assertTrue(agrees(answer, wanted), f"turn {turn}: reply {number}, to {words}, "
                                    f"is {answer!r}, wanted {wanted!r}")
                sender.join()
                client.send("ECHO", "end")
                self.assertEqual(client.reply(), b"end")
        self.assertEqual(failed(server), {})
        self.assertGreater(commands, 1500)

    def test_a_long_pipeline(self):
        proxy = self.proxy()
        server = self.serve("--store-deadline", "5s", url=self.url(port=proxy.port))
        proxy.delay = 0.01
        client = self.client(server)
        client.send_bytes(encode("CL.THROTTLE", "k", 999_999, 1, HOUR, 1) * 1500)
        self.assertEqual([client.reply()[2] for _ in range(1500)], list(range(999_999, 998_499, -1)))

    def test_a_store_that_is_away_keeps_the_order_too(self):
        proxy = self.proxy()
        server = self.serve("--on-store-error", "allow", "--store-deadline", "30ms", url=self.url(port=proxy.port))
        client = self.client(server)
        proxy.frozen = True
        for _ in range(5):
            client.send_bytes(b"".join(encode("CL.THROTTLE", f"a{n}", 8, 1, HOUR) + encode("PING", n) + encode("DEL", "x")
                                       for n in range(5)))
            for n in range(5):
                self.assertEqual(client.reply()[:3], [0, 9, 9])
                self.assertEqual(client.reply(), str(n).encode())
                self.assertIsInstance(client.reply(), Error)

    def test_quit_and_protocol_errors_come_after_what_was_asked_before(self):
        proxy = self.proxy()
        server = self.serve("--store-deadline", "5s", url=self.url(port=proxy.port))
        proxy.delay = 0.05
        for last, wanted in ((encode("QUIT"), b"+OK\r\n"), (b"*1\r\n:1\r\n", b"-ERR Protocol error"),
                             (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"")):
            with server.client() as client:
                client.send_bytes(encode("CL.THROTTLE", "q", 99, 1, HOUR) * 3 + last)
                for _ in range(3):
                    self.assertEqual(client.reply()[:2], [0, 100])
                self.assertTrue(client.rest().startswith(wanted))


class TestGoing(WithRedis):
    """Clients, and weir, that leave while the store has not answered."""

    def test_clients_that_leave(self):
        proxy = self.proxy()
        server = self.serve("--threads", "1", "--store-deadline", "1s", "--on-store-error", "deny", url=self.url(port=proxy.port))
        before = server.descriptors()
        for how in ("close", "reset"):
            for frozen in (False, True):
                proxy.delay, proxy.frozen = 0.03, frozen
                for n in range(40):
                    client = server.client()
                    client.send_bytes(encode("CL.THROTTLE", f"k{n}", 4, 1, HOUR) * 3 + encode("DEL", "x") + encode("MULTI")
                                      + encode("CL.THROTTLE", "m", 4, 1, HOUR) + encode("EXEC"))
                    if n % 2:
                        time.sleep(0.005)
                    getattr(client, how)()
                time.sleep(0.05)
                proxy.frozen = False
                until(lambda: server.info()["connected_clients"] == "1", f"{how}: the connections are gone")
        proxy.delay = 0
        ready(server)
        until(lambda: server.descriptors() <= before + 1, "all descriptors closed")
        with server.client() as client:
            self.assertEqual(throttle(client, "fresh", 5, 1, HOUR), [0, 5, 4, -1, HOUR])

    def test_one_that_left_costs_no_time(self):
        """Its connection tells of its end again and again, until it is closed."""
        proxy = self.proxy()
        server = self.serve("--threads", "1", "--store-deadline", "3s", url=self.url(port=proxy.port))
        teller = self.client(server)
        proxy.frozen = True
        for how in ("reset", "close"):
            client = server.client()
            client.send_bytes(encode("CL.THROTTLE", "k", 4, 1, HOUR))
            until(lambda: b"cmd=cl.throttle" in teller.ask("CLIENT", "LIST"), "it asks")
            getattr(client, how)()
            self.assertFalse(server.spins(), how)
        proxy.frozen = False

    def drains(self, client, server, count, **options):
        with server.client(**options) as teller:
            client.send_bytes(encode("CL.THROTTLE", "k", 99_999, 1, HOUR) * count)
            until(lambda: b"cmd=cl.throttle" in teller.ask("CLIENT", "LIST"), "it asks")
        server.signal(signal.SIGTERM)
        since = time.monotonic()
        answers = []
        try:
            for _ in range(count):
                answers.append(client.reply())
        except (Closed, OSError):
            pass
        self.assertEqual([a[0] for a in answers], [0] * count)
        self.assertEqual(client.rest(), b"")
        self.assertEqual(server.wait(), 0)
        return time.monotonic() - since

    def test_sigterm_answers_those_that_wait(self):
        proxy = self.proxy()
        for count in (1, 3, 200):
            server = Server("--threads", "2", "--store-deadline", "2s", "--store", self.url(port=proxy.port))
            with server, ready(server).client() as client:
                proxy.delay = 0.15
                self.assertLess(self.drains(client, server, count), 3)
            proxy.delay = 0

    def test_sigterm_while_the_store_says_nothing(self):
        proxy = self.proxy()
        server = Server("--store-deadline", "400ms", "--on-store-error", "allow", "--store", self.url(port=proxy.port))
        with server, ready(server).client() as client:
            proxy.frozen = True
            self.assertLess(self.drains(client, server, 3), 2)

    def test_sigterm_answers_those_that_wait_by_tls(self):
        with Folder() as folder:
            authority = Authority(folder, "authority")
            certificate, key = authority.issue("localhost")
            proxy = self.proxy()
            for delay in (0.04, 0.2):  # one is less than what weir waits for what is still encrypted
                server = Server("--store-deadline", "2s", "--tls-cert", certificate, "--tls-key", key,
                                "--store", self.url(port=proxy.port))
                trust = ssl.create_default_context(cafile=authority.certificate)
                with server:
                    with server.client(tls=trust) as client:
                        until(lambda: b"store_state:ready" in client.ask("INFO", "store"), "ready")
                        proxy.delay = delay
                        with self.subTest(delay=delay):
                            self.drains(client, server, 3, tls=trust)
                        server.wait()
                proxy.delay = 0

    def test_clients_by_tls(self):
        """A session that waits for the store has nothing else to do, and is kept all the same."""
        with Folder() as folder:
            authority = Authority(folder, "authority")
            certificate, key = authority.issue("localhost")
            trust = ssl.create_default_context(cafile=authority.certificate)
            proxy = self.proxy()
            server = self.serve("--threads", "2", "--store-deadline", "2s", "--tls-cert", certificate, "--tls-key", key,
                                url=self.url(port=proxy.port), wait=False)
            clients = [self.client(server, tls=trust) for _ in range(8)]
            until(lambda: b"store_state:ready" in clients[0].ask("INFO", "store"), "ready")
            for proxy.delay in (0, 0.02):
                for n, client in enumerate(clients):
                    client.send_bytes(encode("CL.THROTTLE", f"t{n}{proxy.delay}", 9, 1, HOUR) * 5 + encode("PING"))
                for client in clients:
                    self.assertEqual([client.reply()[:3] for _ in range(5)], [[0, 10, 9 - n] for n in range(5)])
                    self.assertEqual(client.reply(), "PONG")
            for n, client in enumerate(clients[1:]):  # and those that leave are gone
                client.send_bytes(encode("CL.THROTTLE", "left", 9, 1, HOUR))
                (client.close if n % 2 else client.reset)()
            until(lambda: b"connected_clients:1\r" in clients[0].ask("INFO", "clients"), "the others are gone")

    def test_sigterm_with_nothing_to_do_is_quick(self):
        server = Server("--store", self.url())
        with server:
            ready(server)
            since = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - since, 1)

    def test_shutdown_after_what_waits(self):
        proxy = self.proxy()
        server = Server("--store-deadline", "2s", "--store", self.url(port=proxy.port))
        with server, ready(server).client() as client:
            proxy.delay = 0.1
            client.send_bytes(encode("CL.THROTTLE", "k", 99, 1, HOUR) * 2 + encode("SHUTDOWN"))
            self.assertEqual([client.reply()[0] for _ in range(2)], [0, 0])
            self.assertEqual(client.rest(), b"")
            self.assertEqual(server.wait(), 0)


class TestInfo(WithRedis):
    password = "hunter-2-secret"

    def test_no_password_in_info_logs_or_the_command_line_of_a_file(self):
        server = self.serve("--log-level", "debug")
        client = self.client(server)
        throttle(client, "k", 5, 1, HOUR)
        info = server.info()
        self.assertEqual(info["store"], f"redis://:***@127.0.0.1:{self.redis.port}")
        self.assertEqual((info["store_state"], info["store_decided"]), ("ready", "1"))
        self.assertNotIn(self.password, str(info) + server.stderr())
        self.redis.must("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        self.assertNotIn(self.password, str(server.info()) + server.stderr())

    def test_settings_by_environment_and_file(self):
        with Folder() as folder:
            config = folder.file("weir.conf", f"store = {self.url()}\nstore-deadline = 100ms\non-store-error = deny\n")
            for flags, env in (((), {"WEIR_STORE": self.url()}), (("--config", config), {})):
                server = Server(*flags, env=env)
                with server, ready(server).client() as client:
                    self.assertEqual(throttle(client, f"k{env}", 5, 1, HOUR)[2], 4)


if __name__ == "__main__":
    if not available():
        raise SystemExit(f"{PROGRAM} is not here")
    run()
