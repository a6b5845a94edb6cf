#!/usr/bin/env python3
"""mypy, pyright (both strict) and ruff over the client, as typed.py uses it too; 0 when they find nothing."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CLIENT, ROOT = HERE.parent, HERE.parents[2]
sys.path[:0] = [str(ROOT / "tests/end_to_end")]

import kept
import npm
import pypi


def finds_nothing(name, command, **env):
    done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, timeout=250, env={**os.environ, **env})
    print(f"{name}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def main():
    tools = pypi.installed(HERE / "checkers/requirements.txt", "python-checkers")
    adapters = pypi.installed(HERE / "requirements_adapters.txt", "python_adapters")
    cache = kept.caches() / "python-checkers"  # what they made of the standard library is the same in each clone
    good = [
        finds_nothing("ruff check", [tools / "bin/ruff", "check", "--cache-dir", cache, "."]),
        finds_nothing("ruff format", [tools / "bin/ruff", "format", "--check", "--cache-dir", cache, "."]),
        finds_nothing("mypy", [sys.executable, "-m", "mypy", "--cache-dir", cache], PYTHONPATH=f"{tools}:{adapters}"),
    ]
    if npm.available():
        pyright = pathlib.Path(npm.installed(str(HERE / "checkers"), "python-pyright")) / "node_modules/pyright/index.js"
        good.append(finds_nothing("pyright", ["node", pyright, "--pythonpath", sys.executable]))
    else:
        print("pyright: skipped, there is no node and npm")
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
