"""npm's ioredis, redis, iovalkey and @valkey/valkey-glide; installed once into the build folder from the lock file."""
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


if __name__ == "__main__":
    run(200)
