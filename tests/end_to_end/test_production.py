"""What docs/production.md says of sizes, of several servers, of restarts of Redis, of backups and of upgrades. How servers are
replaced: tests/examples/test_rolling.py."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

from ports import free_port
from server import ROOT, Folder, Server, encode, run, until

PAGE = pathlib.Path(ROOT, "docs/production.md").read_text()
LIMITS = """version: 1
limits:
  user: { by: [user], rate: 1/day burst 5 }
"""


def number(pattern):
    """What the page says."""
    return int(re.search(pattern, " ".join(PAGE.split()))[1].replace(",", ""))


class Redis:
    def __init__(self, folder, *flags):
        self.port = free_port()
        self.command = ["redis-server", "--port", str(self.port), "--save", "", "--dir", folder.path, *flags]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        until(lambda: self.ask("ping") == "PONG", "redis-server answers")

    def ask(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True).stdout.strip()

    def memory(self):
        """Less what its clients' buffers take."""
        told = self.ask("info", "memory")
        return int(re.search(r"used_memory:(\d+)", told)[1]) - int(re.search(r"mem_clients_normal:(\d+)", told)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()


class Production(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.file = self.folder.file("limits.yaml", LIMITS)

    def redis(self, *flags):
        redis = Redis(self.folder, *flags)
        self.addCleanup(redis.kill)
        return redis

    def allowed(self, *servers, times=12):
        """How many of `times` requests, that the servers are asked in turn."""
        clients = [each.client() for each in servers]
        try:
            return sum(clients[i % len(clients)].ask("WEIR.CHECK", "user=ada")[0] == 0 for i in range(times))
        finally:
            for each in clients:
                each.close()

    def fill(self, client, commands):
        client.send_bytes(b"".join(commands))
        return [client.reply()[0] for _ in commands]

    def test_two_servers_admit_twice_the_limit_and_with_a_store_once(self):
        with Server("--limits", self.file) as one, Server("--limits", self.file) as two:
            self.assertEqual(self.allowed(one, two), 10)
        flags = "--limits", self.file, "--store", self.redis().url, "--store-deadline", "5s"
        with Server(*flags) as one, Server(*flags) as two:
            self.assertEqual(self.allowed(one, two), 5)

    def test_a_key_takes_as_much_of_redis_as_the_page_says(self):
        """Of enough keys that other memory does not matter, and that the last growth of Redis' table, which goes step by
        step with each command, is over: from 16,384 places to 32,768."""
        fixed, count = number(r"Memory\*\*: (\d+) bytes and the length of its name"), 23_000
        redis = self.redis()
        with Server("--threads", "1", "--limits", self.file, "--store", redis.url, "--store-deadline", "5s") as server, server.client() as client:
            for key in ("{:08d}", "{:0200d}"):
                for words in (lambda name: ("CL.THROTTLE", name, 4, 1, 86400), lambda name: ("WEIR.CHECK", f"user={name}")):
                    redis.ask("flushall")
                    self.fill(client, [encode(*words(key.format(count)))])
                    before = redis.memory()
                    self.fill(client, [encode(*words(key.format(i))) for i in range(count)])
                    took, says = (redis.memory() - before) / count, fixed + len(redis.ask("randomkey"))
                    self.assertLessEqual(took, says)
                    self.assertGreater(took, 0.7 * says)
        self.assertLessEqual(fixed + len("weir:{6c00c00c6d0c2b7c}limit#17:user|1d|gcra|user8:00013408"), 270)

    def test_memory_has_room_for_as_many_keys_as_the_page_says(self):
        each, safely = number(r"each MiB has room for ([\d,]+) keys"), number(r"\(M - 8\) x ([\d,]+) keys")
        for mib in (9, 64, 256):
            with Server("--memory", f"{mib}MiB") as server:
                self.assertEqual(int(server.info()["capacity"]), (mib - 8) * each)
        self.assertGreaterEqual((64 - 8) * safely, 2_500_000)
        with Server("--threads", "1", "--memory", "9MiB") as server, server.client() as client:
            admitted = sum(answer == 0 for answer in self.fill(client, [encode("CL.THROTTLE", f"key:{i}", 0, 1, 86400) for i in range(each)]))
            self.assertGreaterEqual(admitted, safely)

    def test_what_redis_keeps_over_its_own_restart(self):
        for flags, left in ((("--appendonly", "yes", "--appendfsync", "everysec"), 0), ((), 5)):
            with self.subTest(flags=flags), Folder() as folder:
                redis = Redis(folder, *flags)
                self.addCleanup(lambda each=redis: each.kill())
                serve = "--limits", self.file, "--store", redis.url, "--store-deadline", "5s"
                with Server(*serve) as server:
                    self.assertEqual(self.allowed(server), 5)
                redis.process.send_signal(signal.SIGTERM)
                redis.process.wait()
                redis.start()
                with Server(*serve) as server:
                    self.assertEqual(self.allowed(server), left)

    def test_a_copy_of_a_snapshot_is_whole_while_the_server_runs(self):
        snapshot = self.folder.file("snapshot")
        flags = "--threads", "1", "--limits", self.file
        with Server(*flags, "--snapshot", snapshot, "--snapshot-every", "10ms") as server:
            self.assertEqual(self.allowed(server), 5)
            saved = int(server.info()["snapshots"])
            until(lambda: int(server.info()["snapshots"]) >= saved + 2, "it is saved")
            for copy in range(20):
                shutil.copyfile(snapshot, self.folder.file(f"copy-{copy}"))
        for copy in (0, 10, 19):
            with Server(*flags, "--snapshot", self.folder.file(f"copy-{copy}")) as server:
                self.assertEqual(self.allowed(server), 0)

    def test_a_limits_file_that_is_too_new_stops_nothing(self):
        with Server("--threads", "1", "--limits", self.file) as server:
            self.assertEqual(self.allowed(server, times=2), 2)
            newer = self.folder.file("newer.yaml", LIMITS.replace("burst 5 }", "burst 50, of_the_next_version: yes }"))
            os.rename(newer, self.file)
            until(lambda: "of_the_next_version" in server.stderr(), "the log says so")
            self.assertEqual(self.allowed(server), 3)

    def test_the_grace_fits_into_what_the_unit_gives_a_stop(self):
        unit = pathlib.Path(ROOT, "packaging/systemd/weir.service").read_text()
        stop = int(re.search(r"^TimeoutStopSec=(\d+)s$", unit, re.M)[1])
        self.assertEqual(stop, number(r"The unit gives a stop (\d+) s"))
        self.assertLess(number(r"drain-grace = (\d+)s") + 5, stop)

    def test_the_rows_of_gateways_name_lines_that_the_examples_have(self):
        for gateway, words in re.findall(r"^\| (nginx|HAProxy|Envoy) \| (.*?) \|", PAGE, re.M):
            file = {"nginx": "nginx_auth_request.conf", "HAProxy": "haproxy.cfg", "Envoy": "envoy.yaml"}[gateway]
            text = pathlib.Path(ROOT, "examples/gateways", file).read_text()
            for word in re.findall(r"`(.+?)`", words):
                self.assertIn(word, text, gateway)


if __name__ == "__main__":
    run()
