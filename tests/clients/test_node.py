"""npm's ioredis, redis, iovalkey and @valkey/valkey-glide; installed once into the build folder from the lock file."""
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "end_to_end"))

import npm  # noqa: E402
from server import Server, environment, run  # noqa: E402

SOURCE = os.path.join(HERE, "node")


@unittest.skipUnless(npm.available(), "no node")
class TestNodeClients(unittest.TestCase):
    def test_the_lock_names_no_registry(self):
        with open(os.path.join(SOURCE, "package-lock.json")) as lock:
            self.assertNotIn('"resolved"', lock.read())

    def test_clients(self):
        folder = npm.installed(SOURCE, "node_clients", ["clients.mjs"])
        with Server("--threads", "2") as server, Server("--threads", "1", env={"WEIR_PASSWORD": "s3cret"}) as guarded:
            done = subprocess.run(["node", "clients.mjs", str(server.port), str(guarded.port)], cwd=folder, timeout=60,
                                  capture_output=True, env=environment(CLIENT_PASSWORD="s3cret"))
            self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())
            self.assertIn("node-redis, RESP3: ok", done.stdout.decode())

    def test_a_reply_that_waits(self):
        """What docs/pacing.md says about the timeouts of clients."""
        folder = npm.installed(SOURCE, "node_clients", ["blocking.mjs"])
        with Server("--threads", "2") as server:
            done = subprocess.run(["node", "blocking.mjs", str(server.port)], cwd=folder, timeout=60, capture_output=True,
                                  env=environment())
            self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())
        found = {}
        for line in done.stdout.decode().splitlines():
            if line.startswith("{"):  # glide writes warnings between them
                row = json.loads(line)
                found[row["name"], json.dumps(row["options"]), row["leave"]] = row["ended"], row["charged"]
        wanted = {}
        for name in ("ioredis 5", "ioredis 6"):
            wanted.update({
                (name, "{}", False): ("granted", True),
                (name, "{}", True): ("Connection is closed.", False),
                # The connection stays, and with it the wait.
                (name, '{"commandTimeout": 300}', False): ("Command timed out", True),
                # It connects again and asks again, and so gets the moment that it gave back.
                (name, '{"socketTimeout": 300}', False): ("granted", True),
                (name, '{"socketTimeout": 300, "maxRetriesPerRequest": 0}', False): ("Reached the max retries", False),
                (name, '{"blockingTimeout": 300}', False): ("granted", True)})
        wanted.update({
            ("node-redis", "{}", False): ("granted", True),
            ("node-redis", "{}", True): ("Disconnects client", False),
            ("node-redis", '{"commandOptions": {"timeout": 300}}', False): ("granted", True),
            ("node-redis", '{"socket": {"socketTimeout": 300}}', False): ("Socket timeout", False)})
        if any(name == "glide" for name, _, _ in found):
            wanted.update({("glide", "{}", False): ("timed out", True),
                           ("glide", '{"requestTimeout": 10000}', False): ("granted", True),
                           ("glide", '{"requestTimeout": 10000}', True): ("", True)})
        self.assertEqual({case: (ended[:len(wanted.get(case, [""])[0]) or None], charged)
                          for case, (ended, charged) in found.items()}, wanted)


if __name__ == "__main__":
    run()
