"""What the tests of `weir replay` and `weir suggest` share: running the program, and logs that are easily written."""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "end_to_end"))
from server import PATIENCE, WEIR, Folder, environment, run, until  # noqa: E402,F401

SOURCE = HERE.parent.parent
EXAMPLE_LOG = SOURCE / "examples" / "replay" / "access.log"


def weir(*args, stdin=None, env=None, timeout=60, **options):
    """Runs the program to its end: (exit code, stdout, stderr). `stdin` is bytes."""
    done = subprocess.run([WEIR, *map(str, args)], env=environment(**(env or {})), timeout=timeout, input=stdin or b"",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    return done.returncode, done.stdout.decode(errors="surrogateescape"), done.stderr.decode(errors="surrogateescape")


def answer(*args, expect=0, **options):
    """What `--json` says."""
    code, out, errors = weir(*args, "--json", **options)
    assert code == expect, f"exit code {code}: {errors}{out[:500]}"
    return json.loads(out) if out or not expect else None


def line(second, who="192.0.2.1", size=1, request="GET / HTTP/1.1"):
    """A line of a log that begins on 2026-03-01 at midnight."""
    days, rest = divmod(int(second), 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f'{who} - - [{1 + days:02}/Mar/2026:{clock} +0000] "{request}" 200 {size}\n'


if __name__ == "__main__":
    sys.exit("a module of the tests, not a test")
