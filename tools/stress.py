#!/usr/bin/python3
"""`./dev stress`: runs tests over and over while every core is burnt by something else, and says which failed how often.

A test that judges time is run one after the other, the others beside each other as in a check. The tests run in the
trees of a check, build/package/obj and build/asan, which are built first.
"""
import argparse
import collections
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check  # noqa: E402


def burn():
    while True:
        pass


def must(*command):
    if subprocess.run(command, cwd=check.ROOT).returncode != 0:
        sys.exit(1)


def chosen(tree, names, timing):
    """The tests of a tree that a round runs."""
    return [name for name, labels in check.listed(tree).items()
            if names.search(name) and "long" not in labels and (not timing or "timing" in labels)]


def built(names, timing):
    """The trees in which such tests are, each with all that its tests need."""
    must(*check.package())
    must(*check.build(check.PROGRAM))
    must(*check.configure("asan"))
    trees = [tree for tree in (check.PROGRAM, check.UNITS) if chosen(tree, names, timing)]
    if check.UNITS in trees:
        must(*check.build(check.UNITS, "weir_tests"))
    return trees


def round_of(tree, number, pattern, timing):
    """What failed of one run of the tests, and how many there were."""
    log = check.LOGS / f"stress_{tree.replace('/', '_')}_{number}.log"
    parts = [] if timing else [["-LE", "timing|long", "-j", str(check.CORES + 1)]]
    parts.append(["-L", "timing", "-LE", "long", "-j", "1"])
    with open(log, "w+") as out:
        for flags in parts:
            subprocess.run(check.ctest(tree, *flags, "-R", pattern, "--timeout", "1200"), stdout=out, stderr=subprocess.STDOUT,
                           stdin=subprocess.DEVNULL, cwd=check.ROOT)
        out.seek(0)
        text = out.read()
    failed = re.findall(r"^ *\d+/\d+ Test +#\d+: (\S+) \.*\** *(?:\*\*\*)?(?:Failed|Timeout|Exception)", text, re.M)
    of = len(re.findall(r"^ *\d+/\d+ Test +#", text, re.M))
    return failed, of, log


def main():
    words = argparse.ArgumentParser(prog="./dev stress", description=__doc__.split("\n\n")[0],
                                    epilog="Exit code 0: none failed; 1: some did, or none ran; 2: no test has such a name.")
    words.add_argument("name", nargs="?", default=".", metavar="NAME", help="a pattern that the tests' names have in them (default: all)")
    words.add_argument("--times", type=int, default=10, metavar="N", help="how often (default: %(default)s)")
    words.add_argument("--timing", action="store_true", help="only those that judge time")
    asked = words.parse_args()
    if asked.times < 1:
        words.error(f"--times: {asked.times} is not 1 or more")
    try:
        names = re.compile(asked.name)
    except re.error as wrong:
        words.error(f"NAME: '{asked.name}' is not a pattern: {wrong}")
    check.LOGS.mkdir(parents=True, exist_ok=True)
    trees = built(names, asked.timing)
    if not trees:
        print(f"./dev stress: no test's name has '{asked.name}' in it; `ctest --test-dir {check.PROGRAM} -N` lists them", file=sys.stderr)
        return 2
    burners = [multiprocessing.Process(target=burn, daemon=True) for _ in range(os.cpu_count() or 2)]
    for each in burners:
        each.start()
    failures = collections.Counter()
    try:
        for number in range(1, asked.times + 1):
            began = time.monotonic()
            rounds = [round_of(tree, number, asked.name, asked.timing) for tree in trees]
            failures.update(name for failed, _, _ in rounds for name in failed)
            ran = sum(of for _, of, _ in rounds)
            print(f"round {number} of {asked.times}: {sum(len(failed) for failed, _, _ in rounds)} failed of {ran}, "
                  f"{time.monotonic() - began:.0f} s; "
                  f"{', '.join(str(log.relative_to(check.ROOT)) for _, _, log in rounds)}", flush=True)
            if ran == 0:
                print("./dev stress: no test has run", file=sys.stderr)
                return 1
    except KeyboardInterrupt:
        print("./dev stress: interrupted", file=sys.stderr)
        return 130
    finally:
        for each in burners:
            each.kill()
    for name, often in failures.most_common():
        print(f"{name}: failed {often} of {asked.times}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
