"""The log and the signals: what stderr says, in which form, and that no reader of it can hold up the server."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import ssl
import subprocess
import time
import unittest

from ports import free_port
from server import Client, Folder, Server, WEIR, encode, environment, run_at_once, until, weir
from test_tls import Authority

LINE = re.compile(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)\] \[(debug|info|warning|error)\] .+\Z")
IN_TIME = 4.0  # the bounded waits for readers, and a busy machine


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.snapshot = self.folder.file("snap")


class Piped:
    """`weir serve` whose stderr, or stdout, is a pipe that this test reads only when it wants to."""

    def __init__(self, *flags, full=False, stream="stderr", env=None):
        self.reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        if full:
            os.set_blocking(writing, False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(writing, b"." * 512)
            os.set_blocking(writing, True)
        self.port = free_port()
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: writing}
        self.process = subprocess.Popen([WEIR, "serve", "--resp", f"127.0.0.1:{self.port}", "--threads", "1", *flags],
                                        stdin=subprocess.DEVNULL, env=environment(**(env or {})), **streams)
        os.close(writing)
        until(self.listens, "it listens")

    def listens(self):
        with contextlib.suppress(ConnectionRefusedError):
            Client(self.port).close()
            return True

    def read(self, wanted, patience=10.0):
        """What the pipe has, until `wanted` is in it."""
        text, deadline = b"", time.monotonic() + patience
        while wanted not in text:
            ready, _, _ = select.select([self.reading], [], [], max(0, deadline - time.monotonic()))
            assert ready, (wanted, text[-2000:])
            text += os.read(self.reading, 1 << 16)
        return text.decode()

    def ends(self, number=signal.SIGTERM):
        start = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(10)
        return code, time.monotonic() - start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.reading)
        self.process.kill()
        self.process.wait()


class TestReaders(WithFolder):
    def test_a_log_that_nobody_reads_delays_no_check_and_no_end(self):
        with Piped("--snapshot", self.snapshot, "--store", "redis://127.0.0.1:1", full=True) as server:
            with Client(server.port, timeout=3) as client:
                for _ in range(50):
                    self.assertEqual(client.ask("CL.THROTTLE", "k", 99, 1, 3600)[0], 0)
                    client.ask("AUTH", "x")
            code, took = server.ends()
            self.assertEqual(code, 0)
            self.assertLess(took, IN_TIME)
        self.assertTrue(os.path.exists(self.snapshot), "and it has saved")

    def test_a_standard_output_that_nobody_reads_delays_nothing(self):
        with Piped(full=True, stream="stdout") as server:
            with Client(server.port, timeout=3) as client:
                self.assertEqual(client.ask("PING"), "PONG")
            code, took = server.ends()
            self.assertEqual(code, 0)
            self.assertLess(took, IN_TIME)

    def test_what_was_dropped_is_counted_and_said(self):
        with Piped(full=True) as server, Client(server.port) as client:
            def dropped():
                for _ in range(50):
                    server.process.send_signal(signal.SIGHUP)
                    client.ask("PING")
                return int(client.ask("INFO", "stats").split(b"log_lines_dropped:")[1].split(b"\r")[0])
            until(dropped, "lines are dropped")
            text = server.read(b" log lines were dropped: standard error did not take them\n")
            lines = text[:text.rindex("\n")].lstrip(".").splitlines()
            for line in lines:
                self.assertRegex(line, LINE)
            self.assertRegex(text, r"\[warning\] [1-9]\d* log lines were dropped")
            self.assertEqual(server.ends()[0], 0)

    def test_a_log_that_cannot_be_written_ends_nothing(self):
        with open("/dev/full", "wb") as full:
            server = subprocess.Popen([WEIR, "serve", "--resp", "127.0.0.1:0", "--threads", "1"],
                                      stdout=subprocess.PIPE, stderr=full, env=environment())
        try:
            port = int(server.stdout.readline().rsplit(b":", 1)[1])
            server.send_signal(signal.SIGHUP)
            with Client(port) as client:
                until(lambda: b"log_lines_dropped:1\r\n" in client.ask("INFO", "stats"), "a line is dropped")
            server.terminate()
            self.assertEqual(server.wait(IN_TIME), 0)
        finally:
            server.kill()
            server.communicate()

    def test_closed_streams_are_not_taken_for_connections_or_files(self):
        # Without an answer to it, the first file or connection would be descriptor 1 or 2 and get what we print.
        port = free_port()
        server = subprocess.Popen(f"exec {WEIR} serve --resp 127.0.0.1:{port} --threads 1 --snapshot {self.snapshot} "
                                  "0<&- 1>&- 2>&-", shell=True, env=environment())
        try:
            until(lambda: self.answers(port), "it listens")
            with Client(port) as client:
                server.send_signal(signal.SIGHUP)
                self.assertEqual(client.ask("CL.THROTTLE", "k", 0, 1, 3600)[0], 0)
                self.assertEqual(client.ask("PING"), "PONG")
            server.terminate()
            self.assertEqual(server.wait(IN_TIME), 0)
        finally:
            server.kill()
            server.wait()
        with Server("--threads", "1", "--snapshot", self.snapshot) as again, again.client() as client:
            self.assertEqual(client.ask("CL.THROTTLE", "k", 0, 1, 3600)[0], 1)

    @staticmethod
    def answers(port):
        with contextlib.suppress(ConnectionRefusedError):
            Client(port).close()
            return True


class TestForm(WithFolder):
    # Each says something at its start, in its life and at its end.
    flags = ("--threads", "1", "--resp", "0.0.0.0:0", "--insecure")

    def said(self, *flags, env=None):
        with Server(*self.flags, *flags, resp=(), env=env) as server:
            server.signal(signal.SIGHUP)
            until(lambda: "SIGHUP" in server.stderr() or "off" in flags, "it says that it has read again")
            server.stop()
            return server.stderr()

    def test_every_line_has_a_time_with_its_zone(self):
        lines = self.said().splitlines()
        self.assertEqual([line.split("] ", 2)[2] for line in lines], [
            "resp: 0.0.0.0:0: anyone who can reach it may do everything; --password, --users or --tls-ca restricts that",
            "SIGHUP: certificates and keys read again", "stopped"])
        for line in lines:
            self.assertRegex(line, LINE)
        for zone, ending in (("UTC0", "Z"), ("XXX-5:30", "+05:30"), ("XXX3", "-03:00")):
            for line in self.said(env={"TZ": zone}).splitlines():
                self.assertEqual(LINE.match(line)[1], ending)

    def test_json_is_one_object_a_line(self):
        lines = [json.loads(line) for line in self.said("--log-format", "json").splitlines()]
        self.assertEqual([(line["level"], line["message"]) for line in lines], [
            ("warning", "resp: 0.0.0.0:0: anyone who can reach it may do everything; --password, --users or --tls-ca restricts that"),
            ("info", "SIGHUP: certificates and keys read again"), ("info", "stopped")])
        for line in lines:
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$")
            self.assertEqual(sorted(line), ["level", "message", "time"])

    def test_json_names_the_client_and_counts(self):
        with Server("--threads", "1", "--max-connections", "1", "--log-format", "json") as server:
            with server.client() as client:
                client.ask("PING")
                with server.client() as refused:
                    refused.rest()
            line = json.loads(until(server.stderr, "a line"))
            del line["time"]
            self.assertEqual(line, {"level": "warning", "notice": "too_many_connections", "times": 1, "client": "127.0.0.1",
                                    "message": "connection refused: --max-connections are open; client 127.0.0.1"})

    def test_a_start_that_fails_is_json_too(self):
        path = self.folder.file('a "b" \\ \x1b\n', b"junk")
        code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--snapshot", path, "--log-format", "json")
        self.assertEqual(code, 2)
        line = json.loads(errors)
        self.assertEqual(line["level"], "error")
        self.assertIn('a "b" \\ \\x1b\\x0a', line["message"])

    def test_colour_is_for_terminals_that_want_it(self):
        self.assertNotIn("\x1b", self.said(env={"NO_COLOR": ""}))
        for settings, coloured in (({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb", "NO_COLOR": ""}, False)):
            with self.subTest(settings):
                ours, theirs = pty.openpty()
                server = subprocess.Popen([WEIR, "serve", *self.flags], stdout=subprocess.PIPE, stderr=theirs,
                                          env=environment(TERM="xterm") | settings)
                try:
                    server.stdout.readline()
                    text = os.read(ours, 4096).decode()
                    self.assertEqual("[\x1b[33;1mwarning\x1b[0m]" in text, coloured, text)
                    self.assertEqual("\x1b" in text, coloured, text)
                finally:
                    server.kill()
                    server.communicate()
                    os.close(ours)
                    os.close(theirs)

    def test_off_says_nothing(self):
        self.assertEqual(self.said("--log-level", "off"), "")


class TestNotices(WithFolder):
    def test_a_full_table_is_said_once(self):
        with Server("--threads", "1", "--memory", "1MiB") as server, server.client() as client:
            client.send("CLIENT", "REPLY", "OFF")
            client.send_bytes(b"".join(b"CL.THROTTLE %d 0 1 3600\r\n" % i for i in range(90_000)))
            client.send("CLIENT", "REPLY", "ON")
            client.reply()
            until(lambda: "the table is full: --when-full decides about new keys; " in server.stderr(), "it is said")
            time.sleep(1.2)
            self.assertEqual(server.stderr().count("the table is full"), 1)

    def test_connections_closed_for_a_reason(self):
        with Server("--threads", "1", "--stall-timeout", "1s") as server, server.client() as client:
            client.send_bytes(b"*1\r\n$4\r\nPI")
            client.rest()
            until(lambda: "connection closed: half a command or unread replies for --stall-timeout" in server.stderr(),
                  "it is said")

    def test_a_flood_of_one_kind_is_one_line(self):
        with Server("--threads", "1", "--max-connections", "1") as server, server.client() as client:
            client.ask("PING")
            for _ in range(200):
                with server.client() as refused:
                    refused.rest()
            self.assertEqual(server.stderr().count("connection refused"), 1, "and those that follow are counted")


class TestSignals(WithFolder):
    ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU)

    def test_those_that_end_it_drain_and_save(self):
        for number in self.ENDING:
            with self.subTest(number), Server("--threads", "2", "--snapshot", self.snapshot) as server:
                with server.client() as client:
                    client.ask("PING")
                    server.signal(signal.SIGSTOP)
                    client.send_bytes(encode("CL.THROTTLE", number, 0, 1, 3600))
                    server.signal(number)
                    server.signal(signal.SIGCONT)
                    self.assertEqual(client.reply()[0], 0, "what has arrived is answered")
                    self.assertEqual(client.rest(), b"")
                self.assertEqual(server.wait(), 0)
        with Server("--threads", "1", "--snapshot", self.snapshot) as server, server.client() as client:
            for number in self.ENDING:
                self.assertEqual(client.ask("CL.THROTTLE", number, 0, 1, 3600)[0], 1, "and kept")

    def test_a_second_one_ends_the_drain_and_saves(self):
        with Server("--threads", "1", "--snapshot", self.snapshot) as server, server.client() as deaf:
            deaf.ask("CL.THROTTLE", "k", 0, 1, 3600)
            deaf.fill(encode("ECHO", b"x" * 100_000))
            start = time.monotonic()
            server.signal(signal.SIGINT)
            until(server.drains, "the first has come")
            server.signal(signal.SIGINT)
            self.assertEqual(server.wait(), 0)
            self.assertLess(time.monotonic() - start, 3)
        with Server("--threads", "1", "--snapshot", self.snapshot) as server, server.client() as client:
            self.assertEqual(client.ask("CL.THROTTLE", "k", 0, 1, 3600)[0], 1)

    def test_a_hangup_never_ends_it(self):
        with Server("--threads", "2", "--snapshot", self.snapshot) as server, server.client() as deaf:
            for _ in range(20):
                server.signal(signal.SIGHUP)
                self.assertEqual(deaf.ask("PING"), "PONG")
            deaf.fill(encode("ECHO", b"x" * 100_000))
            server.signal(signal.SIGTERM)
            until(server.drains, "it has come")
            for _ in range(5):
                server.signal(signal.SIGHUP)
                time.sleep(0.02)
            deaf.close()
            self.assertEqual(server.wait(), 0)

    def test_a_hangup_that_comes_with_the_signal_to_end(self):
        for _ in range(10):
            with Server("--threads", "2") as server:
                for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP, signal.SIGCONT):
                    server.signal(number)
                self.assertEqual(server.wait(), 0)

    def test_a_hangup_while_it_starts_does_not_end_it(self):
        self.folder.file("nets.txt", "".join(f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}\n" for i in range(300_000)))
        limits = self.folder.file("limits.yaml", "version: 1\nlists: { nets: { file: nets.txt } }\n"
                                  "limits: { a: { by: [ip], rate: 1/s, deny: { ip: '@nets' } } }\n")

        def hung_up_while_it_started():
            server = subprocess.Popen([WEIR, "serve", "--resp", "127.0.0.1:0", "--limits", limits],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment())
            try:
                def ignores_it():
                    with open(f"/proc/{server.pid}/status") as status:
                        return int(re.search(r"SigIgn:\s*(\w+)", status.read())[1], 16) & 1
                until(ignores_it, "it has begun")
                server.send_signal(signal.SIGSTOP)
                still_starts = not select.select([server.stdout], [], [], 0)[0]
                server.send_signal(signal.SIGHUP)
                server.send_signal(signal.SIGCONT)
                port = int(server.stdout.readline().rsplit(b":", 1)[1])
                with Client(port) as client:
                    self.assertEqual(client.ask("PING"), "PONG")
                return still_starts
            finally:
                server.kill()
                server.communicate()
        until(hung_up_while_it_started, "the signal came while it started")


class TestCertificates(WithFolder):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder, "authority")
        self.certificate, self.key = self.folder.file("served.crt"), self.folder.file("served.key")

    def use(self, files):
        for source, target in zip(files, (self.certificate, self.key)):
            with open(source, "rb") as file:
                self.folder.file(os.path.basename(target) + ".new", file.read())
            os.rename(target + ".new", target)

    def serve(self, *flags, **options):
        return Server("--threads", "2", "--tls-cert", self.certificate, "--tls-key", self.key, *flags, **options)

    @staticmethod
    def reload(server):
        said = server.stderr().count("SIGHUP: ")
        server.signal(signal.SIGHUP)
        until(lambda: server.stderr().count("SIGHUP: ") > said, "it has read again")

    def shown(self, server):
        context = ssl.create_default_context(cafile=self.authority.certificate)
        context.check_hostname = False
        with Client(server.port, tls=context) as client:
            self.assertEqual(client.ask("PING"), "PONG")
            return dict(part[0] for part in client.socket.getpeercert()["subject"])["commonName"]

    def test_they_are_read_again_at_a_hangup(self):
        self.use(self.authority.issue("first"))
        second = self.authority.issue("second")
        with self.serve() as server:
            with Client(server.port, tls=ssl._create_unverified_context()) as old:
                self.assertEqual(self.shown(server), "first")
                self.use(second)
                self.assertEqual(self.shown(server), "first", "not by themselves")
                self.reload(server)
                self.assertEqual(self.shown(server), "second")
                self.assertEqual(old.ask("PING"), "PONG", "who is connected stays")
            server.says("[info] SIGHUP: certificates and keys read again")

    def test_bad_ones_are_said_and_the_old_ones_stay(self):
        first, other = self.authority.issue("first"), self.authority.issue("other")
        self.use(first)
        with self.serve() as server:
            for files, why in (
                    ((self.folder.file("junk", "junk"), first[1]), f"tls-cert: '{self.certificate}': is not a certificate in PEM"),
                    ((first[0], other[1]), f"tls-key: '{self.key}': is not a private key in PEM without a passphrase, or "
                                           "not that of the certificate")):
                self.use(files)
                self.reload(server)
                server.says(f"[error] SIGHUP: {why}; what was read before stays in use")
                self.assertEqual(self.shown(server), "first")
            os.unlink(self.certificate)
            self.reload(server)
            server.says(f"SIGHUP: tls-cert: '{self.certificate}': No such file or directory")
            self.assertEqual(self.shown(server), "first")
            self.use(other)
            self.reload(server)
            self.assertEqual(self.shown(server), "other")

    def test_the_authority_of_clients_is_read_again(self):
        other = Authority(self.folder, "other")
        trusted = self.folder.file("trusted.pem")
        self.use(self.authority.issue("first"))

        def trust(authority):
            with open(authority.certificate, "rb") as file:
                self.folder.file("trusted.pem", file.read())

        def is_let_in(authority):
            context = ssl.create_default_context(cafile=self.authority.certificate)
            context.load_cert_chain(*authority.issue("client"))
            try:
                with Client(server.port, tls=context) as client:
                    return client.ask("PING") == "PONG"
            except Exception:
                return False
        trust(self.authority)
        with self.serve("--tls-ca", trusted) as server:
            self.assertEqual((is_let_in(self.authority), is_let_in(other)), (True, False))
            trust(other)
            self.reload(server)
            self.assertEqual((is_let_in(self.authority), is_let_in(other)), (False, True))

    def test_clients_that_do_not_get_in_are_told_of(self):
        self.use(self.authority.issue("first"))
        for said, message in ((b"*1\r\n$4\r\nPING\r\n", "not TLS, at a listener that speaks TLS; client 127.0.0.1"),
                              (b"PING\r\n", "not TLS, at a listener that speaks TLS; client 127.0.0.1"),
                              (b"GET / HTTP/1.1\r\n\r\n", "not TLS, at a listener that speaks TLS; client 127.0.0.1"),
                              (None, "TLS handshake failed: peer did not return a certificate; client 127.0.0.1")):
            with self.subTest(said), self.serve("--tls-ca", self.authority.certificate) as server:
                with contextlib.suppress(Exception), Client(server.port, tls=None if said else
                                                            ssl._create_unverified_context()) as client:
                    client.send_bytes(said or b"x")
                    client.rest()
                until(lambda: f"connection closed: {message}\n" in server.stderr(), "it is said")
        with self.serve() as server:
            Client(server.port).close()
            Client(server.port, tls=ssl._create_unverified_context()).close()
            server.stop()
            self.assertNotIn("connection closed", server.stderr(), "who only looks is not told of")

    def test_dates_that_are_over_are_warned_of(self):
        over = self.authority.issue("over", "20200101000000Z", "20210101000000Z")
        early = self.authority.issue("early", "20400101000000Z", "20500101000000Z")
        good = self.authority.issue("good")
        for files, warning in (
                (over, f"tls-cert: '{self.certificate}': the certificate of /CN=over expired at 2021-01-01T00:00:00Z"),
                (early, f"tls-cert: '{self.certificate}': the certificate of /CN=early is not valid before 2040-01-01T00:00:00Z")):
            self.use(files)
            with self.serve() as server:
                server.says("[warning] " + warning)
                self.use(good)
                self.reload(server)
                self.assertEqual(server.stderr().count(warning), 1)
                self.use(files)
                self.reload(server)
                until(lambda: server.stderr().count(warning) == 2, "said again when it is read again")


if __name__ == "__main__":
    run_at_once()
