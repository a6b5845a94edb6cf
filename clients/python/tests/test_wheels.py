"""What would be published: built, checked, and used by somebody who has nothing but the wheel. An application that a new user
writes with it is tested in tests/packaging/test_releasing.py.

WEIR_ARCHIVE names an unpacked weir-linux-ARCHITECTURE.tar.gz; without it the program under test is put into the wheel."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent
sys.path.insert(0, str(PROJECT.parents[1] / "tests/end_to_end"))
import pypi
from server import ROOT, WEIR, Folder, environment, run

TOOLS = str(pypi.installed(HERE / "requirements_wheels.txt", "python_wheels"))
PYTHON = "/usr/bin/python3"
MACHINE = os.uname().machine


def ran(*command, cwd=None, **env):
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=environment(**env), capture_output=True, text=True, timeout=180)
    return done.returncode, done.stdout + done.stderr


class Wheels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.dist = pathlib.Path(cls.folder.path, "dist")
        project = pathlib.Path(cls.folder.path, "python")
        shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("tests", "__pycache__", ".*_cache"))
        cls.build(project)
        cls.build(project, "--wheel", WEIR_ARCHIVE=str(cls.archive()))
        (cls.pure,) = cls.dist.glob("*-py3-none-any.whl")
        (cls.full,) = cls.dist.glob(f"*-py3-none-manylinux_2_17_{MACHINE}.musllinux_1_1_{MACHINE}.whl")

    @classmethod
    def build(cls, project, *flags, **env):
        code, said = ran(PYTHON, "-m", "build", "--no-isolation", "-o", cls.dist, *flags, project, PYTHONPATH=TOOLS, **env)
        assert code == 0, said

    @classmethod
    def archive(cls):
        if "WEIR_ARCHIVE" in os.environ:
            return pathlib.Path(os.environ["WEIR_ARCHIVE"])
        folder = pathlib.Path(cls.folder.path, f"weir-linux-{MACHINE}")
        (folder / "bin").mkdir(parents=True)
        subprocess.run(["strip", "-o", folder / "bin/weir", WEIR], check=True)
        shutil.copy(os.path.join(ROOT, "LICENSE"), folder / "LICENSES")
        return folder

    def venv(self, wheel):
        """The interpreter of a new environment that has the wheel."""
        where = pathlib.Path(self.enterContext(Folder()).path, "venv")
        for command in (
            (PYTHON, "-m", "venv", "--without-pip", where),
            (PYTHON, "-m", "pip", "--python", where / "bin/python", "install", "--quiet", "--no-index", "--no-deps", wheel),
        ):
            code, said = ran(*command)
            self.assertEqual(code, 0, said)
        return where / "bin/python"

    def test_what_is_built_passes_twine(self):
        code, said = ran(PYTHON, "-m", "twine", "check", "--strict", *self.dist.iterdir(), PYTHONPATH=TOOLS)
        self.assertEqual((code, said.count("PASSED")), (0, 3), said)

    def test_all_have_the_licence(self):
        said = pathlib.Path(ROOT, "LICENSE").read_bytes()
        for wheel in (self.pure, self.full):
            with zipfile.ZipFile(wheel) as files:
                (name,) = (each for each in files.namelist() if each.endswith(".dist-info/licenses/LICENSE"))
                self.assertEqual(files.read(name), said)
        (source,) = self.dist.glob("*.tar.gz")
        with tarfile.open(source) as files:
            self.assertEqual(files.extractfile(f"{source.name[: -len('.tar.gz')]}/LICENSE").read(), said)

    def test_one_wheel_has_the_program(self):
        with zipfile.ZipFile(self.pure) as pure, zipfile.ZipFile(self.full) as full:
            more = set(full.namelist()) - set(pure.namelist())
            self.assertEqual(more, {"weir/_program/weir", "weir/_program/LICENSES"})
            self.assertEqual(full.getinfo("weir/_program/weir").external_attr >> 16 & 0o777, 0o755)
            self.assertIn("weir/py.typed", pure.namelist())
            metadata = pure.read(next(name for name in pure.namelist() if name.endswith("METADATA"))).decode()
        required = re.findall(r"^Requires-Dist: (.*)$", metadata, re.M)
        self.assertTrue(required and all("extra ==" in each for each in required), metadata)

    def test_an_empty_environment_needs_nothing_else(self):
        code, said = ran(
            self.venv(self.full),
            "-c",
            "import weir; print(weir.connect(timeout=20, on_error='raise').check('k', '1/h').remaining)",
            cwd=self.folder.path,
            XDG_RUNTIME_DIR=self.folder.path,
        )
        self.assertEqual((code, said.splitlines()[0]), (0, "0"), said)

    def test_without_the_program_it_says_so(self):
        code, said = ran(
            self.venv(self.pure),
            "-c",
            "import weir; weir.connect().check('k', '1/h')",
            cwd=self.folder.path,
            PATH="/usr/bin:/bin",
        )
        self.assertEqual(code, 1)
        self.assertIn("the weir program is not in this package", said)


if __name__ == "__main__":
    run()
