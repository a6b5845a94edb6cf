#!/usr/bin/env python3
"""Runs the tests of this folder, each class in a process of its own and three at a time; 0 when all pass."""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(part):
    file, name = part
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", file, name], cwd=HERE, capture_output=True, text=True, timeout=280
    )
    return file.name, name, done.returncode, done.stdout + done.stderr


def parts():
    for file in sorted(HERE.glob("test_*.py")):
        for name in re.findall(r"^class (Test\w+)\(", file.read_text(), re.MULTILINE):
            yield file, name


def main():
    failed = False
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for file, name, code, text in pool.map(run, list(parts())):
            print(f"{file} {name}: {'passed' if code == 0 else f'exit code {code}'}\n{text}")
            failed |= code != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
