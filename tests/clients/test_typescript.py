"""clients/typescript: what node's test runner says of its tests, which are there."""
import json
import os
import subprocess
import unittest

import typescript
from server import WEIR, environment, run

npm = typescript.npm


@unittest.skipUnless(npm.available(), "no node")
class TestTypeScript(unittest.TestCase):
    def test_the_lock_names_no_registry(self):
        self.assertNotIn('"resolved"', (typescript.SOURCE / "package-lock.json").read_text())

    def test_versions_are_one(self):
        package = json.loads((typescript.SOURCE / "package.json").read_text())
        version = package["version"]
        self.assertIn(f"project(weir VERSION {version} ", (typescript.ROOT / "CMakeLists.txt").read_text())
        self.assertIn(f"VERSION = '{version}'", (typescript.SOURCE / "src/version.ts").read_text())
        for each in (typescript.SOURCE / "platforms").glob("*/package.json"):
            self.assertEqual(json.loads(each.read_text())["version"], version)

    def test_its_own_tests(self):
        folder = typescript.built()
        words = ["node", "--test", *sorted(f"test/{each.name}" for each in (folder / "test").glob("*.test.mjs"))]
        try:
            done = subprocess.run(words, cwd=folder, timeout=400, capture_output=True, text=True,
                                  env=environment(WEIR_PROGRAM=os.path.abspath(WEIR), WEIR_SOURCE=str(typescript.ROOT)))
        except subprocess.TimeoutExpired as late:
            self.fail(f"not within {late.timeout} s; until then:\n{(late.stdout or b'').decode()}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    run(290)
