"""What clients/typescript would publish: packed, judged by publint and attw, and used from an empty folder."""
import os
import pathlib
import shutil
import subprocess
import tarfile
import unittest

import typescript
from server import WEIR, Folder, environment, run

npm = typescript.npm
SCRIPT = """
import { createRequire } from 'node:module';
import { connect } from '@weir/client';
import { startWeir } from '@weir/client/testing';
const weir = connect('weir+local:'), other = createRequire(import.meta.url)('@weir/client').connect('weir+local:');
console.log((await weir.check('a', '5/h')).remaining, (await other.check('a', '5/h')).remaining);
await Promise.all([weir.close(), other.close()]);
const test = await startWeir();
await test.close();
"""


@unittest.skipUnless(npm.available(), "no node")
class TestPackage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.package = typescript.built()
        program = pathlib.Path(cls.folder.path, "weir-linux")
        (program / "bin").mkdir(parents=True)
        os.symlink(os.path.abspath(WEIR), program / "bin/weir")  # the portable one is tested where it is made
        (program / "LICENSES").write_text("notices\n")
        cls.command("node", "pack.mjs", cls.folder.path, f"linux-x64={program}")

    @classmethod
    def command(cls, *words, cwd=None, **options):
        done = subprocess.run(words, cwd=cwd or cls.package, capture_output=True, text=True, timeout=120, **options)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def packed(self, name):
        file, = pathlib.Path(self.folder.path).glob(f"weir-{name}-*.tgz")
        return file

    def test_publint(self):
        for name in "client", "linux-x64":
            self.command("node", "node_modules/publint/src/cli.js", "run", "--strict", self.packed(name))

    def test_attw(self):
        self.command("node", "node_modules/@arethetypeswrong/cli/dist/index.js", "--no-color", self.packed("client"))

    def test_what_is_in_it(self):
        with tarfile.open(self.packed("client")) as archive:
            names = {each.name.removeprefix("package/") for each in archive}
        self.assertLessEqual({"LICENSE", "README.md", "package.json", "dist/esm/index.js", "dist/cjs/index.js"}, names)
        self.assertEqual({each.split("/")[0] for each in names}, {"LICENSE", "README.md", "package.json", "dist"})
        with tarfile.open(self.packed("linux-x64")) as archive:
            names = {each.name.removeprefix("package/"): each for each in archive}
        self.assertEqual(set(names), {"LICENSE", "LICENSES", "README.md", "package.json", "bin/weir"})
        self.assertTrue(names["bin/weir"].isfile() and names["bin/weir"].mode & 0o111)

    def test_each_has_the_licence(self):
        for name in "client", "linux-x64":
            with tarfile.open(self.packed(name)) as archive:
                its = archive.extractfile("package/LICENSE").read()
            self.assertEqual(its, (typescript.ROOT / "LICENSE").read_bytes())

    def test_from_an_empty_folder_the_program_that_came_along_is_started(self):
        """As npm lays the two packages down."""
        place = pathlib.Path(self.folder.path, "user")
        for name in "client", f"linux-{'x64' if os.uname().machine == 'x86_64' else 'arm64'}":
            folder = place / "node_modules/@weir" / name
            folder.mkdir(parents=True)
            source = self.packed("client" if name == "client" else "linux-x64")
            with tarfile.open(source) as archive:
                archive.extractall(self.folder.path)
            shutil.copytree(pathlib.Path(self.folder.path, "package"), folder, dirs_exist_ok=True)
            shutil.rmtree(pathlib.Path(self.folder.path, "package"))
        (place / "package.json").write_text('{ "private": true }')
        (place / "main.mjs").write_text(SCRIPT)
        node = os.path.dirname(shutil.which("node"))
        said = self.command("node", "main.mjs", cwd=place, env=environment(XDG_RUNTIME_DIR=self.folder.path, PATH=node))
        self.assertEqual(said, "4 3\n")


if __name__ == "__main__":
    run(290)
