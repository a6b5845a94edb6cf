#!/usr/bin/python3
"""`./dev check`, which installs first what this needs: everything that a commit has to pass.

tools/check.py [--long | --changed]

The parts are a small graph in two lanes: what computes, at a lower priority, runs beside what mostly waits (servers,
other programs). What nothing waits for is taken by the lane that is done first. Each writes build/check/PART.log; the
end of it is shown when the part fails. A test that talks to other processes and fails is run once more alone, and named
in the last lines; more than two of those are a failure, and a crash, a sanitizer's report or a referee's finding is
never tried again. Last and alone come the tests that judge time; ctest's closing line is then the last.
"""
import argparse
import collections
import contextlib
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
LOGS = ROOT / "build/check"
PROGRAM = "build/package/obj"  # g++, as it is packed; tests of the program, and of what must be optimised
UNITS = "build/asan"
THREADS = "build/tsan"
PROGRESS_S = 20
MAY_PASS_ALONE = 2
CORES = os.cpu_count() or 2
# What has threads: a suite, and which of its tests. The exception of a std::future is counted inside libstdc++, which is not
# built with ThreadSanitizer: whom it ends in which thread looks like a race.
THREAD_SUITES = {"library": "*", "thread": "*",
                 "redis_agreement": "RedisStore*:SharedLimiter*:With*:*connections*:-*though_the_table_is_full:*with_a_completion_token"}
FUZZED = ["resp", "front", "http", "grpc", "rls", "xds", "log", "reply", "limits", "envoy"]
# What no second run can excuse.
FINAL = re.compile(r"Sanitizer|runtime error:|Segmentation fault|SIG(SEGV|ABRT|BUS|ILL)|core dumped|\bassert(ion)? .* failed|"
                   r"terminate called|exit code -(4|6|7|11)\b")

running = set()  # processes, so that Ctrl-C ends them
processors = threading.local()  # `seconds` of them that the processes took which this thread has waited for


def step_back():
    """Of a process that computes: it leaves the processors to what waits. Linux shares them by sessions first."""
    os.nice(5)
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write("10")
    except OSError:
        pass


def succeeds(command, out, environment=None, begins=None):
    """Runs it to its end, in a session of its own, with `begins` called first there."""
    process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=ROOT,
                               env=environment, start_new_session=True, preexec_fn=begins)
    running.add(process)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    running.discard(process)
    processors.seconds = getattr(processors, "seconds", 0) + used.ru_utime + used.ru_stime
    return process.returncode == 0


def telling(lines):
    """Of what a test that failed has written: from where it first says so, and the end."""
    first = next((i for i, line in enumerate(lines) if re.search(r": Failure$|^(FAIL|ERROR): |Sanitizer|^not ok", line)), len(lines))
    return lines[first:first + 40] + lines[max(first + 40, len(lines) - 40):]


class Part:
    """One command, or several one after the other, that have a name, a log and a duration."""

    def __init__(self, name, *commands, after=(), patient=False, environment=None):
        self.name, self.commands, self.after, self.patient = name, commands, after, patient
        self.environment = {**os.environ, **(environment or {})}
        self.log = LOGS / f"{name.replace(' ', '_')}.log"
        self.done = threading.Event()
        self.failed = False
        self.began = self.seconds = self.of_processors = None

    def run(self):
        for each in self.after:
            each.done.wait()
        if not any(each.failed for each in self.after):
            self.began, processors.seconds = time.monotonic(), 0
            with open(self.log, "w") as out:
                self.failed = not all(self._succeeds(command, out) for command in self.commands)
            self.seconds, self.of_processors = time.monotonic() - self.began, processors.seconds
            say(f"{self.name}: {'FAILED after ' if self.failed else ''}{self.seconds:.0f} s")
        else:
            self.failed = True
        self.done.set()

    def _succeeds(self, command, out):
        if callable(command):
            return command(out)
        return succeeds(command, out, self.environment, None if self.patient else step_back)

    def told(self):
        """The end of its log; of tests, what each that failed wrote last."""
        text = self.log.read_text(errors="replace")
        failed = re.findall(r"^ *\d+/\d+ Test +#\d+: (\S+) \.+\*\*\*.*\n((?:(?! *\d+/\d+ Test | +Start +\d+:).*\n)*)", text, re.M)
        return [line for name, wrote in failed for line in (f"--- {name}", *telling(wrote.splitlines()))] + text.splitlines()[-50:]

    def progress(self):
        """`built 40 of 96`, by the last line of ninja's or ctest's."""
        try:
            with open(self.log, "rb") as log:
                log.seek(max(0, os.path.getsize(self.log) - 20000))
                text = log.read().decode(errors="replace")
        except OSError:
            return self.name
        steps = re.findall(r"^(?:\[|built )(\d+)(?:/| of )(\d+)|^ *(\d+)/(\d+) Test +#", text, re.M)
        if not steps:
            return self.name
        built, of, tested, tests = steps[-1]
        return f"{self.name}: " + (f"built {built} of {of}" if of else f"{tested} of {tests} tests")


started = time.monotonic()


def say(line):
    elapsed = int(time.monotonic() - started)
    print(f"./dev check: {elapsed // 60:3d}:{elapsed % 60:02d}  {line}", file=sys.stderr, flush=True)


def tell_progress(parts, over):
    while not over.wait(PROGRESS_S):
        now = [each.progress() for each in parts if each.began and not each.done.is_set()]
        if now:
            say(" | ".join(now))


# Tests by ctest

def ctest(tree, *flags):
    return ["ctest", "--test-dir", tree, "--output-on-failure", *flags]


def outputs(tree):
    """What each test of the last run of ctest wrote."""
    log = (ROOT / tree / "Testing/Temporary/LastTest.log").read_text(errors="replace")
    return dict(re.findall(r"^\d+/\d+ Testing: (\S+)$(.*?)^<end of output>$", log, re.M | re.S))


def listed(tree):
    shown = subprocess.run(["ctest", "--test-dir", tree, "--show-only=json-v1"], cwd=ROOT, capture_output=True, text=True)
    return {each["name"]: next((p["value"] for p in each.get("properties", []) if p["name"] == "LABELS"), [])
            for each in json.loads(shown.stdout)["tests"]}


class Retrying:
    """A run of ctest whose tests of processes may fail once: a neighbour took what they needed."""

    def __init__(self, tree, *flags):
        self.tree, self.flags, self.passed_alone = tree, flags, []

    def __call__(self, out):
        if self._run(out, *self.flags):
            return True
        last = ROOT / self.tree / "Testing/Temporary/LastTestsFailed.log"
        failed = [line.split(":", 1)[1] for line in last.read_text().splitlines()]
        wrote, labels = outputs(self.tree), listed(self.tree)
        for name in failed:
            if not name.startswith("end_to_end.") or "referee" in labels.get(name, []) or FINAL.search(wrote.get(name, "")):
                return False
        if len(failed) > MAY_PASS_ALONE:
            return False
        for name in failed:
            if not self._run(out, "-R", f"^{re.escape(name)}$"):
                return False
            self.passed_alone.append(name)
        return True

    def _run(self, out, *flags):
        return succeeds(ctest(self.tree, *flags), out)


# What changed

def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def changed():
    """The files that differ from where this work began, or None if that is not known: the common ancestor with what
    was cloned, else the commit that last passed here."""
    passed = LOGS / "passed"
    base = git("merge-base", "HEAD", "origin/HEAD") or git("merge-base", "HEAD", "origin/main")
    if not base or base == git("rev-parse", "HEAD"):
        base = passed.read_text().strip() if passed.exists() else ""
    if not base or not git("cat-file", "-t", base):
        return None
    return sorted({*git("diff", "--name-only", base).splitlines(),
                   *git("ls-files", "--others", "--exclude-standard").splitlines()})


def changed_of_late():
    """What tidy reads: the files that differ from where this work began, or, where nobody knows, of the last day."""
    files = changed()
    if files is not None:
        return files
    base = git("rev-list", "-1", "--first-parent", f"--before={int(git('log', '-1', '--format=%ct') or 0) - 86400}", "HEAD")
    return git("diff", "--name-only", base).splitlines() if base else None


def folders_of_src():
    return sorted(path.parent.name for path in ROOT.glob("src/*/CMakeLists.txt"))


@functools.cache
def code_of(folder):
    """Of a folder of src, all in one."""
    return "".join(path.read_text() for path in ROOT.glob(f"src/{folder}/*.?pp"))


def users_of(folders):
    """The folders of src whose code includes, through others too, a header of one of these."""
    uses = {each: set(re.findall(r'#include "(\w+)/', code_of(each)))
            for each in folders_of_src()}
    found = set(folders)
    while more := {each for each, used in uses.items() if each not in found and used & found}:
        found |= more
    return found


def tidied(files):
    """The folders of src that changed, and one that includes each public header that did (the library includes those
    that nobody else names); all where what is asked for did, or where nobody knows."""
    if files is None or ".clang-tidy" in files:
        return folders_of_src()
    found = {each.split("/")[1] for each in files if each.startswith("src/") and each.count("/") > 1}
    for header in (each.removeprefix("include/") for each in files if each.startswith("include/")):
        users = {folder for folder in folders_of_src() if f'#include "{header}"' in code_of(folder)}
        if not found & users:
            found.add(min(users - {"library"}) if users and "library" not in users else "library")
    return sorted(found)


def included(file):
    """The files of the repository that this one includes, through others too, and itself."""
    found, left = set(), [file]
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            for name in re.findall(r'#include [<"]([^>"]+)[>"]', each.read_text()):
                left += [path for path in (each.parent / name, ROOT / "src" / name, ROOT / "include" / name) if path.is_file()]
    return found


def proved(files):
    """Whether what a proof reads is among these: itself, or what is compiled for it. One that reads the same says the
    same."""
    if files is None:
        return True
    read = {str(path.relative_to(ROOT)) for unit in ROOT.glob("tests/prove/*.cpp") for path in included(unit)}
    return any(each in read or each.startswith("tests/prove/") for each in files)


def tidy(files, depth):
    """clang-tidy of the folders that changed, once they are configured; and a look for locks that may be left out."""
    folders = tidied(files)
    if not folders:
        return []
    return [["tools/tidy.py", UNITS, depth, *folders], ["tests/wont_compile/locks", "clang++-19", ".", *folders]]


# The graph

def build(tree, *targets):
    return ["cmake", "--build", tree, *(["--target", *targets] if targets else [])]


def configure(preset):
    return ["cmake", "--preset", preset]


def fuzz(seconds):
    line = (f"mkdir -p {UNITS}/corpus/$0 && {UNITS}/fuzz/weir_fuzz_$0 -max_total_time={seconds} -timeout=10 -max_len=8192 "
            f"-print_final_stats=1 $(ls fuzz/dictionaries/$0 2>/dev/null | sed s/^/-dict=/) {UNITS}/corpus/$0 fuzz/corpus/$0")
    return ["bash", "-c", f"printf '%s\\n' {' '.join(FUZZED)} | xargs -P {CORES} -n 1 bash -euc '{line}'"]


def package():
    return ["packaging/build", "-DWEIR_BUILD_TESTS=ON", "-DWEIR_TESTS=optimised;program", "-DWEIR_TEST_EACH=OFF",
            "-DWEIR_BUILD_BENCH=ON", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON"]


SOURCES = (["bash", "-c", "git ls-files -co --exclude-standard '*.cpp' '*.hpp' | xargs clang-format-19 --dry-run --Werror"],
           ["bash", "-c", "! git grep -nE -A1 '^ *if \\(.*\\)($| (EXPECT|ASSERT)_)' -- '*.cpp' "
                          "| grep -E '([0-9]-|\\)) *(EXPECT|ASSERT)_' || { echo 'gcc: a dangling else; put braces'; false; }"],
           ["tools/check_layers.py"], ["tools/check_english.py"], ["tools/check_sizes.py"],
           ["tests/models/run", "--names"], ["tests/simulation/defects", "--sources"], ["tests/prove/check_pages.py"])


def graph(long):
    """The lanes of a whole check, what either takes when its own is done, and its run of the tests of the program."""
    sources = Part("sources", *SOURCES)
    packed = Part("package", package(), after=[sources])
    tests = Part("tests of the program", build(PROGRAM), build(PROGRAM, "all_verify_interface_header_sets"), after=[packed])
    asan = Part("asan's build", configure("asan"), build(UNITS, "weir_tests", "weir_fuzz", "weir_commit"), after=[sources])
    units = Part("units", ctest(UNITS, "-j", str(CORES)), after=[asan])
    threaded = {**dict.fromkeys(THREAD_SUITES, "*"), "store": "*"} if long else THREAD_SUITES
    tsan = Part("tsan's build", configure("tsan"), build(THREADS, *(f"weir_{each}_tests" for each in threaded)),
                after=[sources])
    threads = Part("threads", *([f"{THREADS}/tests/weir_{suite}_tests", "--gtest_brief=1", f"--gtest_filter={tests}"]
                                for suite, tests in threaded.items()), after=[tsan])
    late = None if long else changed_of_late()
    tidying = Part("tidy", *tidy(late, "deep" if long else "shallow"), after=[asan])
    fuzzing = Part("fuzz", fuzz(600 if long else 3), after=[asan])
    proofs = [["tests/prove/run"], ["tests/prove/run", "--canaries"]] if long else [["tests/prove/run", "--quick"]]
    proving = Part("prove", *([["tests/prove/prove_test.py"], *proofs] if proved(late) else []), after=[sources])
    program = Retrying(PROGRAM, "-j", str(CORES + 1), "-LE", "timing|sources" if long else "timing|sources|long")
    waiting = Part("program", program, after=[tests], patient=True)
    return [[sources, packed, tests, asan, units, tsan, threads],
            [waiting, *(longer(tests, asan, waiting) if long else [])]], [proving, tidying, fuzzing], program


def longer(tests, asan, waiting):
    """What is left to --long, one after the other."""
    everything = {"WEIR_LONG": "1"}
    # Left out: a test in which qemu's own memory would count.
    arm = ctest("build/aarch64", "-j", str(CORES), "-E", "takes_memory_only_as_it_is_used")
    return [
        Part("oracles", *([f"{PROGRAM}/tests/weir_{suite}_tests"] for suite in ("agreement", "redis_agreement", "soak")),
             ["tests/calendar/test_boundaries.py"], [f"{UNITS}/tests/weir_store_tests", "--gtest_filter=AllOrNoneCheck.any_keys*"],
             after=[tests, asan, waiting], environment={**everything, "WEIR_BOUNDARIES": f"{PROGRAM}/tests/weir_boundaries"}),
        Part("more of the program", ctest(PROGRAM, "-j", str(CORES), "-R", r"^end_to_end\.(install|lifecycle|limits|limits_schema|python)$"),
             after=[waiting], environment=everything),
        Part("every store", [f"{UNITS}/tests/weir_conformance_tests", "--gtest_brief=1"],
             [f"{UNITS}/tests/weir_redis_tests", "--gtest_brief=1"], after=[asan], environment=everything),
        Part("larger models", ["./dev", "models", "--long"]),
        Part("built twice", ["tests/packaging/portable.py", "Archive"], after=[waiting], environment=everything),
        Part("sanitized program", ["cmake", "--preset", "asan", "-DWEIR_TESTS=units;program"], build(UNITS),
             ctest(UNITS, "-L", "faults|foreign", "-LE", "timing", "-j", "1"), after=[waiting, asan]),
        Part("arm", configure("aarch64"), build("build/aarch64"), arm, ["packaging/arm"]),
        Part("first commands", ["tests/packaging/first_commands.py"]),
    ]


# Which tests a changed folder needs, by the beginnings of the paths and a pattern of the tests' names. The code of the
# program needs all that run it but for the slowest, and those too where it is spoken to.
TESTS_OF = [
    (("src/", "include/", "cmake/", "CMakeLists.txt", "packaging/"), r"."),
    (("tests/end_to_end/server.py", "tests/end_to_end/ports.py"), r"^end_to_end\."),
    (("tests/faults/world.py",), r"^end_to_end\.faults_"),
    (("clients/python/", "examples/web/", "examples/pacing/"), r"^end_to_end\.(python|client_(image|token)|web|pacing|tokens)"),
    (("clients/typescript/",), r"^end_to_end\.(typescript|client_(image|node|token)|python_docs|web)"),
    (("clients/go/",), r"^end_to_end\.(go|client_(image|token)|python_docs)"),
    (("examples/",), r"^end_to_end\.examples|^example\."),
    (("bench/",), r"^end_to_end\.(bench|recipes)"),
    (("docs/", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"),
     r"^end_to_end\.(readme|client_image|python_docs|python_troubleshooting|limits_documents)"),
    (("tests/clients/pages.py",), r"^end_to_end\.python_docs"),
    (("tests/simulation/",), r"^simulation|^planted"),
    (("tests/agreement/",), r"^suite\.(agreement|redis_agreement)|^redis"),
    (("tests/prove/",), r"^prove"), (("tests/models/",), r"^models"),
    (("dev", "tools/"), r"^(dev|english|layers|sizes)"),
]
SPOKEN_TO = r"src/(redis|net|resp|http|grpc|rls|xds|server|store|waiting)/"


def selected(files):
    """The pattern of the names of the tests that these files need, and the labels that stay out."""
    patterns = {pattern for each in files for paths, pattern in TESTS_OF if each.startswith(paths)}
    for each in files:
        if found := re.fullmatch(r"(?:tests|clients/python/tests)/(\w+)/test_(\w+)\.py", each):
            folder, name = found.groups()
            patterns.add(rf"^end_to_end\.({folder}_)?{name}$")
    all_of_it = any(re.match(SPOKEN_TO, each) for each in files)
    return "|".join(sorted(patterns)), "timing|sources|long" if all_of_it else "timing|sources|long|faults|foreign|slow"


def graph_of(files):
    """Of what these files need, as graph()."""
    folders = users_of({each.split("/")[1] for each in files if re.match(r"src/\w+/", each)})
    if any(each.startswith(("include/", "cmake/", "CMakeLists.txt")) for each in files):
        folders = set(folders_of_src())
    sources = Part("sources", *SOURCES)
    lanes, program = [[sources]], None
    if folders or any(each.startswith(("tests/conformance/", "tests/verbs/", "tests/library/", "tests/asking/")) for each in files):
        suites = [each for each in sorted(folders) if list(ROOT.glob(f"src/{each}/*_test.cpp"))]
        suites += ["conformance", "verbs", "lua54", "facade", "asking"]
        targets = ["weir_commit", *(f"weir_{each}_tests" for each in suites)]
        asan = Part("asan's build", configure("asan"), build(UNITS, *targets), after=[sources])
        lanes[0] += [asan, Part("units", ctest(UNITS, "-j", str(CORES), "-R", f"^suite\\.({'|'.join(suites)})(\\.|$)"), after=[asan]),
                     Part("tidy", *tidy(files, "shallow"), after=[asan])]
    pattern, without = selected(files)
    if pattern:
        packed = Part("package", package(), build(PROGRAM), after=[sources])
        program = Retrying(PROGRAM, "-j", str(CORES + 1), "-LE", without, "-R", pattern)
        lanes[0].insert(1, packed)
        lanes.append([Part("program", program, after=[packed], patient=True)])
    return lanes, [], program


def run_lane(lane, spare):
    """Its own parts, one after the other, and then those that no lane has begun."""
    for each in lane:
        each.run()
    while spare:
        with contextlib.suppress(IndexError):
            spare.popleft().run()


def end_all(*_):
    for each in list(running):
        try:
            os.killpg(each.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
    os._exit(130)


def judge_time(long):
    """Last and alone, at the terminal: its closing line is the one that a CI reads."""
    process = subprocess.Popen(ctest(PROGRAM, "--progress", "-L", "timing", *([] if long else ["-LE", "long"])), cwd=ROOT,
                               stdin=subprocess.DEVNULL)
    return process.wait()


def main():
    words = argparse.ArgumentParser(prog="./dev check", description="Everything that a commit has to pass.",
                                    epilog="Exit code 0: all passed; 1: something did not; 130: interrupted.")
    which = words.add_mutually_exclusive_group()
    which.add_argument("--long", action="store_true", help="all proofs and larger models, and what takes long; hours")
    which.add_argument("--changed", action="store_true",
                       help="what the folders need that differ from the commit where this work began")
    asked = words.parse_args()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end_all)
    LOGS.mkdir(parents=True, exist_ok=True)
    commit = git("rev-parse", "HEAD")
    files = changed() if asked.changed else None
    if asked.changed and files is None:
        say("no commit is known to compare with, neither of a remote nor one that passed here: all is checked")
    if files == []:
        say("nothing differs")
        return 0
    lanes, spare, program = graph(asked.long) if files is None else graph_of(files)
    parts = [each for lane in (*lanes, spare) for each in lane]
    over = threading.Event()
    threading.Thread(target=tell_progress, args=(parts, over), daemon=True).start()
    spare = collections.deque(spare)
    runs = [threading.Thread(target=run_lane, args=(lane, spare)) for lane in lanes]
    for each in runs:
        each.start()
    for each in runs:
        each.join()
    over.set()
    for each in parts:
        if each.failed and each.began:
            print(f"\n{each.name} ({each.log.relative_to(ROOT)}):", *each.told(), sep="\n", file=sys.stderr)
    say("seconds of each part, and of the processors: " +
        ", ".join(f"{each.name} {each.seconds:.0f} ({each.of_processors:.0f})" for each in parts if each.seconds))
    for name in program.passed_alone if program else ():
        print(f"passed alone: {name}", file=sys.stderr)
    sys.stderr.flush()
    if any(each.failed for each in parts):
        say("FAILED: " + ", ".join(each.name for each in parts if each.failed))
        return 1
    if files is not None:
        say("passed")
        return 0
    code = judge_time(asked.long)
    if code == 0 and not git("status", "--porcelain"):
        (LOGS / "passed").write_text(commit + "\n")
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main())
