#!/usr/bin/python3
"""The two commands of the README's first screen, in an empty system: ./dev run until it answers, and ./dev test.

first_commands.py [run | test] [SUITE...]: both, in Debian 12 and Ubuntu 24.04, unless it is told otherwise. Needs root and
the network; a suite that no archive here has is said to be left out, and fails only if none is left. It takes half an
hour a suite.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time

from root import Root

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SUITES = {"bookworm": (), "noble": ("--components=main,universe",)}
LONGEST_S = 3600
ASK = ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/6390 && printf 'CL.THROTTLE user:7 15 30 60\\r\\n' >&3 && head -n 2 <&3"]


def clone(root):
    subprocess.run(["git", "clone", "--quiet", SOURCE, root.of("/weir")], check=True)


def inside(root, *command):
    """In a namespace of its own, with the devices and processes that every system has."""
    line = 'mount -t proc proc "$0/proc"; mount --bind /dev "$0/dev"; cp /etc/resolv.conf "$0/etc/"; exec chroot "$0" env -C /weir "$@"'
    return ["unshare", "--mount", "bash", "-ec", line, root.path, *command]


def first_answer(root):
    """The seconds from ./dev run to the answer of the server that it started."""
    began = time.monotonic()
    process = subprocess.Popen(inside(root, "./dev", "run"), stdin=subprocess.DEVNULL, env=Root.ENVIRONMENT, start_new_session=True)
    try:
        while time.monotonic() - began < LONGEST_S and process.poll() is None:
            asked = subprocess.run(ASK, capture_output=True, text=True)
            if asked.stdout.startswith("*5"):
                return time.monotonic() - began
            time.sleep(1)
        raise SystemExit(f"./dev run does not answer: exit code {process.poll()}")
    finally:
        try:
            os.killpg(process.pid, 15)
        except ProcessLookupError:
            pass
        process.wait(60)


def tests_pass(root):
    began = time.monotonic()
    done = subprocess.run(inside(root, "./dev", "test"), stdin=subprocess.DEVNULL, env=Root.ENVIRONMENT)
    if done.returncode != 0:
        raise SystemExit(f"./dev test ends with {done.returncode}")
    return time.monotonic() - began


def main():
    words = sys.argv[1:]
    what = [each for each in ("run", "test") if each in words] or ["run", "test"]
    left = 0
    for suite in [each for each in SUITES if each in words] or SUITES:
        try:
            root = Root(suite, "--include=ca-certificates", *SUITES[suite])
        except AssertionError as wrong:
            print(f"{suite}: left out, no archive has it: {str(wrong).splitlines()[-1]}")
            continue
        left += 1
        try:
            clone(root)
            if "run" in what:
                print(f"{suite}: ./dev run answers after {first_answer(root):.0f} s", flush=True)
            if "test" in what:
                print(f"{suite}: ./dev test passes in {tests_pass(root):.0f} s", flush=True)
        finally:
            shutil.rmtree(root.path, ignore_errors=True)
    return 0 if left else 1


if __name__ == "__main__":
    sys.exit(main())
