"""npm's ioredis, redis, iovalkey and @valkey/valkey-glide; installed once into the build folder from the lock file."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "end_to_end"))

from server import Server, environment, run  # noqa: E402

SOURCE = os.path.join(HERE, "node")
FILES = ("package.json", "package-lock.json", ".npmrc")


def installed():
    """The folder with node_modules for exactly this lock file; made when it is not there yet."""
    build = os.environ.get("WEIR_BUILD") or os.path.join(tempfile.gettempdir(), "weir-node-clients")
    folder = os.path.join(build, "node_clients")
    with open(os.path.join(SOURCE, "package-lock.json"), "rb") as lock:
        wanted = hashlib.sha256(lock.read()).hexdigest()
    stamp = os.path.join(folder, "installed")
    if not os.path.exists(stamp) or open(stamp).read() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name in FILES:
            shutil.copy(os.path.join(SOURCE, name), folder)
        # No install script is needed: glide's binary comes as a package of its own.
        done = subprocess.run(["npm", "ci", "--omit=dev", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder,
                              capture_output=True, timeout=90)
        if done.returncode != 0:
            raise AssertionError(f"npm ci: {done.stderr.decode()}")
        with open(stamp, "w") as out:
            out.write(wanted)
    shutil.copy(os.path.join(SOURCE, "clients.mjs"), folder)
    return folder


@unittest.skipUnless(shutil.which("node") and shutil.which("npm"), "no node")
class TestNodeClients(unittest.TestCase):
    def test_the_lock_names_no_registry(self):
        with open(os.path.join(SOURCE, "package-lock.json")) as lock:
            self.assertNotIn('"resolved"', lock.read())

    def test_clients(self):
        folder = installed()
        with Server("--threads", "2") as server, Server("--threads", "1", env={"WEIR_PASSWORD": "s3cret"}) as guarded:
            done = subprocess.run(["node", "clients.mjs", str(server.port), str(guarded.port)], cwd=folder, timeout=60,
                                  capture_output=True, env=environment(CLIENT_PASSWORD="s3cret"))
            self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())
            self.assertIn("node-redis, RESP3: ok", done.stdout.decode())


if __name__ == "__main__":
    run(200)
