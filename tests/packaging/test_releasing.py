#!/usr/bin/python3
"""docs/releasing.md from a clean clone to the files that would be published, and what a new user makes of these: the log-in of
docs/clients.md with its test of docs/testing.md, in Flask, FastAPI, Express with vitest, and Go.

WEIR_ARCHIVE names an unpacked weir-linux-ARCHITECTURE.tar.gz; without it the program under test stands for it. The other
architecture's is never run."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/end_to_end"), str(ROOT / "tests/clients")]
import npm  # noqa: E402
import pages  # noqa: E402
import pypi  # noqa: E402
from server import WEIR, Folder, environment, run  # noqa: E402

PYTHON = "/usr/bin/python3"
TESTS = ROOT / "clients/python/tests"
VERSION = re.search(r"^project\(weir VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
MACHINE = os.uname().machine
COMMANDS = re.search(r"^## The packages of the clients$.*?^```sh\n(.*?)^```$", (ROOT / "docs/releasing.md").read_text(),
                     re.M | re.S)[1]
CLONE = (ROOT / ".git").exists() and shutil.which("git")


def ran(*command, cwd, longest=280, **env):
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=environment(**env), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=longest)
    if done.returncode != 0:
        raise AssertionError(f"{command[:3]}: {done.stdout}{done.stderr}")
    return done.stdout


@unittest.skipUnless(CLONE, "not a clone of git")
@unittest.skipUnless(npm.available() and shutil.which("go"), "no node, or no go")
class Releasing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.clone = pathlib.Path(cls.folder.path, "weir")
        cls.cloned()
        for machine in ("x86_64", "aarch64"):
            cls.archive(machine)
        shim = pathlib.Path(cls.folder.path, "bin")
        shim.mkdir()
        tools = pypi.installed(TESTS / "requirements_wheels.txt", "python_wheels")
        (shim / "python3").write_text(f'#!/bin/sh\nPYTHONPATH={tools} exec {PYTHON} "$@"\n')
        (shim / "python3").chmod(0o755)
        os.symlink(os.path.abspath(WEIR), shim / "weir")
        cls.path = f"{shim}:{os.environ['PATH']}"
        ran("bash", "-euc", COMMANDS, cwd=cls.clone, PATH=cls.path, npm_config_prefer_offline="true")
        cls.dist = cls.clone / "dist"
        cls.left = ran("git", "status", "--porcelain", cwd=cls.clone)

    @classmethod
    def cloned(cls):
        """With what is not committed yet, but nothing that git ignores."""
        ran("git", "clone", "-q", ROOT, cls.clone, cwd=ROOT)
        git = ("git", "-c", "user.name=test", "-c", "user.email=test@weir.invalid")
        changed = ran(*git, "diff", "HEAD", "--binary", cwd=ROOT)
        if changed:
            subprocess.run([*git, "apply", "--index", "-"], input=changed, text=True, cwd=cls.clone, check=True)
        for each in ran(*git, "ls-files", "-z", "--others", "--exclude-standard", cwd=ROOT).split("\0")[:-1]:
            (cls.clone / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / each, cls.clone / each)
        ran(*git, "add", "-A", cwd=cls.clone)
        ran(*git, "commit", "-q", "--allow-empty", "-m", "as it is now", cwd=cls.clone)

    @classmethod
    def archive(cls, machine):
        folder = cls.clone / f"build/package/weir-linux-{machine}"
        (folder / "bin").mkdir(parents=True)
        given = os.environ.get("WEIR_ARCHIVE") if machine == MACHINE else None
        if given:
            shutil.copytree(given, folder, dirs_exist_ok=True)
            return
        subprocess.run(["strip", "-o", folder / "bin/weir", WEIR], check=True)
        shutil.copy(ROOT / "LICENSE", folder / "LICENSES")

    def test_the_files_are_those_of_the_table(self):
        text = (ROOT / "docs/releasing.md").read_text()
        said = {each.replace("VERSION", VERSION) for each in re.findall(r"`dist/([^`]*)`", text)}
        wheel = next(each for each in said if "manylinux" in each)
        said |= {wheel.replace("x86_64", "aarch64"), f"weir_client-{VERSION}.tar.gz"}
        self.assertEqual({each.name for each in self.dist.iterdir()}, said)
        self.assertEqual(self.left, "", "what is built is ignored")

    def test_flask_and_fastapi(self):
        folder = self.enterContext(Folder())
        pages.python_files(folder)
        venv = pathlib.Path(folder.path, "venv")
        wheel, = self.dist.glob(f"*manylinux*{MACHINE}*.whl")
        ran(PYTHON, "-m", "venv", "--without-pip", "--system-site-packages", venv, cwd=folder.path)
        ran(PYTHON, "-m", "pip", "--python", venv / "bin/python", "install", "-q", "--no-index", "--no-deps", wheel, cwd=folder.path)
        found = pypi.installed(TESTS / "requirements_adapters.txt", "python_adapters")
        said = ran(venv / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=folder.path, PYTHONPATH=found)
        self.assertIn("3 passed", said)

    def test_express_with_vitest(self):
        # In the clone, whose packages stand for those of the registry.
        place = self.clone / "clients/typescript/shop"
        for name in ("client", f"linux-{'x64' if MACHINE == 'x86_64' else 'arm64'}"):
            file, = self.dist.glob(f"weir-{name}-*.tgz")
            with tarfile.open(file) as archive:
                archive.extractall(place / "unpacked")
            (place / "node_modules/@weir").mkdir(parents=True, exist_ok=True)
            (place / "unpacked/package").rename(place / "node_modules/@weir" / name)
        (place / "package.json").write_text('{ "name": "shop", "private": true, "type": "module" }')
        for name, text in pages.files("js"):
            (place / f"{name}.js").write_text(text.replace("'node:test'; // or 'vitest'", "'vitest';"))
        self.assertIn("'vitest'", (place / "login.test.js").read_text())
        vitest = place.parent / "node_modules/vitest/vitest.mjs"
        said = ran("node", vitest, "run", "--root", place, cwd=place, CI="1")
        self.assertRegex(said, r"Tests +1 passed")

    def test_go(self):
        place = pathlib.Path(self.enterContext(Folder()).path)
        proxy = place / "proxy/example.com/weir/go/@v"
        proxy.mkdir(parents=True)
        version = f"v{VERSION}"
        (proxy / "list").write_text(f"{version}\n")
        (proxy / f"{version}.info").write_text(f'{{"Version": "{version}"}}')
        (proxy / f"{version}.mod").write_text(ran("git", "show", "go-module:go.mod", cwd=self.clone))
        # As a proxy makes it of the tag: without the modules inside.
        modules = [os.path.dirname(each) for each in ran("git", "ls-tree", "-r", "--name-only", "go-module", cwd=self.clone).split()
                   if each.endswith("/go.mod")]
        ran("git", "archive", "--format=zip", f"--prefix=example.com/weir/go@{version}/", "-o", proxy / f"{version}.zip",
            "go-module", "--", ".", *(f":(exclude){each}" for each in modules), cwd=self.clone)
        shop = place / "shop"
        shop.mkdir()
        for name, text in pages.files("go"):
            (shop / f"{name}.go").write_text(text)
        cache = os.environ.get("GOCACHE") or os.path.join(os.environ.get("WEIR_BUILD") or place, "go-cache")
        env = {"GOPROXY": (place / "proxy").as_uri(), "GONOSUMDB": "example.com", "GOSUMDB": "off", "GOTOOLCHAIN": "local",
               "GOFLAGS": "-modcacherw -buildvcs=false", "GOMODCACHE": str(place / "modules"), "GOCACHE": cache, "PATH": self.path}
        ran("go", "mod", "init", "shop", cwd=shop, **env)
        ran("go", "get", f"example.com/weir/go@{version}", cwd=shop, **env)
        self.assertIn("ok", ran("go", "test", "-count=1", ".", cwd=shop, **env))


if __name__ == "__main__":
    run(590)
