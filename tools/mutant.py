#!/usr/bin/python3
"""`./dev mutant FILE 's/a/b/' [TEST]`: plants a change in a copy of the sources, and says which test finds it.

./dev mutant src/core/gcra.hpp 's/>=/>/' [TEST]   one change, as sed -E has it
./dev mutant --list TABLE                         many: each line of the table is FILE s/a/b/ [TEST]; # begins a comment

The copy is build/mutant. TEST is a pattern of ctest's names; without it come the suite of the file's folder, that of every
store, those of the folders that use it, the oracles, the simulation, and the scripts that run the program, until one
fails. Each passes without the change first, or it has found nothing.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check  # noqa: E402

COPY = check.ROOT / "build/mutant"
TREE = COPY / "build/dev"
LONGEST_S = 600


class Wrong(Exception):
    """What was asked for makes no sense; said as it is."""


def run(*command):
    done = subprocess.run(command, cwd=COPY, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    return done.returncode, done.stdout


def write(path, data):
    """Only what has changed, so that nothing else is compiled again."""
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def copy():
    names = set(filter(None, check.git("ls-files", "-co", "--exclude-standard").splitlines()))
    for name in names:
        if (check.ROOT / name).is_file():
            write(COPY / name, (check.ROOT / name).read_bytes())
            (COPY / name).chmod((check.ROOT / name).stat().st_mode)
    for path in (each for folder in ("src", "include", "tests") for each in (COPY / folder).rglob("*") if each.is_file()):
        if str(path.relative_to(COPY)) not in names and "__pycache__" not in path.parts:
            path.unlink()
    os.environ["CCACHE_BASEDIR"] = str(COPY)
    code, said = run("cmake", "--preset", "dev", "-DWEIR_TEST_EACH=OFF")
    if code != 0:
        raise Wrong(said)


# The tests, and what they run

def tests():
    code, said = run("ctest", "--test-dir", str(TREE), "-N", "-LE", "timing|long|foreign")
    return re.findall(r"^ *Test +#\d+: (\S+)$", said, re.M)


def target_of(test):
    if test.startswith("suite."):
        return f"weir_{test.split('.')[1]}_tests"
    if test.startswith("redis."):
        return "weir_redis_agreement_tests"
    return "weir_simulation" if test.startswith("simulation.") else "all" if test.startswith(("end_to_end.", "example.")) else ""


def order(file, known):
    """The tests that may find a change of this file, the nearest first."""
    folder = file.split("/")[1] if file.startswith("src/") else ""
    users = check.users_of({folder} if folder else set(check.folders_of_src())) - {folder}
    nearest = [folder, "conformance", "verbs", *sorted(users), "facade", "asking", "agreement", "soak"]
    suites = [f"suite.{each}" for each in nearest]
    of_suites = [name for suite in suites for name in known if name == suite or name.startswith(suite + ".")]
    rest = [name for name in known if name.startswith(("redis.", "suite.redis_agreement", "simulation.", "end_to_end."))]
    return list(dict.fromkeys(of_suites + sorted(rest, key=lambda name: name.startswith("end_to_end."))))


def compiled(test):
    target = target_of(test)
    if not target:
        return ""
    code, said = run("cmake", "--build", str(TREE), "--target", target)
    return "" if code == 0 else next(iter(re.findall(r"(\S+:\d+).*error: (.*)", said)), ("", said[-300:]))


def failure(test):
    """What of it fails; "" when nothing does."""
    code, said = run("ctest", "--test-dir", str(TREE), "-R", f"^{re.escape(test)}$", "--output-on-failure", "--timeout", str(LONGEST_S))
    if code == 0:
        return ""
    names = re.findall(r"\[  FAILED  \] ([\w./]+)|^(?:FAIL|ERROR): (\w+)", said, re.M)
    return next((a or b for a, b in names), "it crashes, or does not end")


def changed_by(file, expression):
    path = COPY / file
    if not path.is_file():
        raise Wrong(f"{file}: there is no such file")
    done = subprocess.run(["sed", "-E", "-e", expression, str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Wrong(f"{expression}: {done.stderr.strip()}")
    before = path.read_text()
    if done.stdout == before:
        raise Wrong(f"{file}: '{expression}' changes nothing")
    return before, done.stdout


def find(file, expression, pattern, known):
    """Whether a test finds the change, and the line that says it."""
    before, after = changed_by(file, expression)
    lines = sum(a != b for a, b in zip(before.splitlines(), after.splitlines()))
    what = f"{file} {expression}" + (f" ({lines} lines)" if lines > 1 else "")
    candidates = [name for name in known if re.search(pattern, name)] if pattern else order(file, known)
    if not candidates:
        raise Wrong(f"no test's name has '{pattern}' in it")
    began = time.monotonic()
    for test in candidates:
        if wrong := compiled(test):
            raise Wrong(f"{test} does not build without the change: {wrong[1]}")
        if wrong := failure(test):
            raise Wrong(f"{test} fails without the change: {wrong}")
        write(COPY / file, after.encode())
        try:
            if wrong := compiled(test):
                return True, f"found     {what}: by the compiler, {wrong[0]} {wrong[1]}"
            started = time.monotonic()
            if found := failure(test):
                return True, f"found     {what}: by {test}, {found}, in {time.monotonic() - started:.0f} s"
        finally:
            write(COPY / file, before.encode())
    return False, f"NOT FOUND {what}: by {len(candidates)} tests in {time.monotonic() - began:.0f} s"


def table(path):
    """(file, expression, test) of each line."""
    found = []
    try:
        text = pathlib.Path(path).read_text()
    except (OSError, UnicodeDecodeError) as wrong:
        raise Wrong(f"{path}: {wrong.strerror if isinstance(wrong, OSError) else 'it is not a text'}") from None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        row = re.fullmatch(r"(\S+)\s+((?:/.*/)?s(.)(?:\\.|(?!\3).)*\3(?:\\.|(?!\3).)*\3\w*)(?:\s+(\S+))?\s*", line)
        if not row:
            raise Wrong(f"{path}:{number}: a line is FILE s/a/b/ [TEST], and not: {line}")
        found.append((row[1], row[2], row[4] or ""))
    return found


def main():
    words = argparse.ArgumentParser(prog="./dev mutant", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                    epilog="Exit code 0: each was found; 1: one was not; 2: it cannot be planted.")
    words.add_argument("--list", metavar="TABLE", help="a file of many changes")
    words.add_argument("change", nargs="*", metavar="FILE s/a/b/ [TEST]")
    asked = words.parse_args()
    if bool(asked.list) == bool(asked.change) or (asked.change and len(asked.change) not in (2, 3)):
        words.error("it takes FILE 's/a/b/' [TEST], or --list TABLE")
    try:
        rows = table(asked.list) if asked.list else [(*asked.change, "")[:3]]
        copy()
        known, missed = tests(), 0
        for file, expression, pattern in rows:
            found, line = find(file, expression, pattern, known)
            print(line, flush=True)
            missed += not found
    except Wrong as wrong:
        print(f"./dev mutant: {wrong}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if len(rows) > 1:
        print(f"{len(rows) - missed} of {len(rows)} found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
