"""redis-cli, redis-benchmark and hiredis."""
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "end_to_end"))

from server import Folder, OneServer, Server, encode, run  # noqa: E402


class Tools(OneServer):
    def run_tool(self, *command, stdin=b"", timeout=30):
        done = subprocess.run([str(word) for word in command], input=stdin, capture_output=True, timeout=timeout)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout.decode()


@unittest.skipUnless(shutil.which("redis-cli"), "no redis-cli")
class TestRedisCli(Tools):
    def cli(self, *words, **options):
        return self.run_tool("redis-cli", "-p", self.server.port, *words, **options)

    def test_one_command(self):
        for protocol in ((), ("-3",), ("-2",)):
            self.assertEqual(self.cli(*protocol, "CL.THROTTLE", "cli" + "".join(protocol), 15, 30, 60),
                             "0\n16\n15\n-1\n2\n")
        self.assertEqual(self.cli("PING"), "PONG\n")
        self.assertIn("role:master", self.cli("-3", "INFO", "replication"))
        self.assertIn("ERR period: '0' is not an integer from 1 to", self.cli("CL.THROTTLE", "k", 1, 1, 0))

    def test_a_session(self):
        out = self.cli(stdin=b"PING\nMULTI\nCL.THROTTLE session 1 1 3600\nPING\nEXEC\nSELECT 0\nQUIT\n")
        self.assertEqual(out.split("\n"), "PONG OK QUEUED QUEUED 0 2 1 -1 3600 PONG OK ".split(" "))

    def test_pipe(self):
        commands = b"".join(encode("CL.THROTTLE", f"pipe{i % 100}", 99, 1, 3600) for i in range(5000))
        out = self.cli("--pipe", stdin=commands)
        self.assertIn("errors: 0, replies: 5000", out)
        self.assertEqual(self.cli("CL.THROTTLE", "pipe7", 99, 1, 3600, 0).split()[2], "50")
        out = subprocess.run(["redis-cli", "-p", str(self.server.port), "--pipe"], timeout=30, capture_output=True,
                             input=b"CL.THROTTLE k 1 1 0\r\n" * 3 + b"PING\r\n").stdout
        self.assertIn(b"errors: 3, replies: 4", out)

    def test_password(self):
        with Server(env={"WEIR_PASSWORD": "s3cret"}) as server:
            for words in (("-a", "s3cret"), ("-3", "-a", "s3cret"), ("--user", "default", "--pass", "s3cret")):
                self.assertEqual(self.run_tool("redis-cli", "-p", server.port, "--no-auth-warning", *words, "PING"),
                                 "PONG\n")

    def test_unix_socket(self):
        with Folder() as folder, Server("--unix-socket", folder.file("sock")):
            self.assertEqual(self.run_tool("redis-cli", "-s", folder.file("sock"), "PING"), "PONG\n")

    def test_latency_and_hints(self):
        # An interactive redis-cli asks COMMAND DOCS for its hints.
        self.assertIn("decides one request", self.cli("COMMAND", "DOCS", "cl.throttle"))
        self.assertIn("key max_burst", self.cli("-3", "COMMAND", "DOCS"))


@unittest.skipUnless(shutil.which("redis-benchmark"), "no redis-benchmark")
class TestRedisBenchmark(Tools):
    def benchmark(self, *words):
        return self.run_tool("redis-benchmark", "-p", self.server.port, "-q", "-n", 1000, *words)

    def test_throttle_and_ping(self):
        for words in (("-P", 16, "CL.THROTTLE", "bench:__rand_int__", 15, 30, 60), ("-P", 16, "-t", "ping"),
                      ("-c", 50, "-r", 1000, "CL.THROTTLE", "bench:__rand_int__", 15, 30, 60),
                      ("-3", "-P", 16, "PING"), ("--threads", 2, "-P", 4, "GCRA", "bench", 15, 30, 60)):
            out = self.benchmark(*words)
            self.assertIn("requests per second", out)
            self.assertNotIn("rror", out)
            self.assertNotIn("WARNING", out)


@unittest.skipUnless(shutil.which("cc") and os.path.exists("/usr/include/hiredis/hiredis.h"), "no hiredis")
class TestHiredis(Tools):
    def test_pipeline(self):
        with Folder() as folder:
            program = folder.file("hiredis_client")
            self.run_tool("cc", "-std=c99", "-Wall", "-Wextra", "-o", program,
                          os.path.join(HERE, "hiredis_client.c"), "-lhiredis")
            self.assertEqual(self.run_tool(program, self.server.port), "ok\n")


if __name__ == "__main__":
    run()
