#!/usr/bin/python3
"""The tools of ./dev check, stress and mutant: what they choose, what they refuse, what they excuse."""
import collections
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path[:0] = [str(TOOLS), str(TOOLS.parent / "tests/end_to_end")]
import check  # noqa: E402
import kept  # noqa: E402
import mutant  # noqa: E402
import stress  # noqa: E402


class Changed(unittest.TestCase):
    def test_a_folder_is_needed_by_those_that_include_it_through_others_too(self):
        self.assertGreaterEqual(check.users_of({"core"}), {"core", "store", "redis", "server"})
        self.assertNotIn("core", check.users_of({"store"}))

    def test_a_script_needs_itself_and_a_page_the_tests_of_pages(self):
        self.assertEqual(check.selected(["tests/faults/test_store.py"])[0], r"^end_to_end\.(faults_)?store$")
        self.assertIn("readme", check.selected(["docs/wire.md"])[0])
        self.assertEqual(check.selected(["LICENSE"])[0], "")

    def test_faults_and_gateways_are_left_out_only_where_the_code_speaks_to_nobody(self):
        self.assertIn("faults", check.selected(["src/logs/json_lines.cpp"])[1])
        self.assertEqual(check.selected(["src/redis/script.cpp"])[1], "timing|sources|long")

    def test_a_public_header_is_tidied_by_one_folder_and_what_is_asked_for_by_all(self):
        self.assertEqual(check.tidied(["include/weir/limiter.hpp"]), ["library"])
        self.assertEqual(check.tidied(["include/weir/asio.hpp"]), ["library"])
        self.assertEqual(check.tidied(["include/weir/version.hpp", "src/cli/main.cpp"]), ["cli"])
        self.assertEqual(check.tidied(["src/store/table.cpp", "docs/wire.md"]), ["store"])
        for files in (None, [".clang-tidy", "src/store/table.cpp"]):
            self.assertEqual(check.tidied(files), check.folders_of_src())

    def test_proofs_are_run_where_what_they_read_changed(self):
        for file in ("src/core/gcra.hpp", "src/core/word.hpp", "include/weir/quota.hpp", "src/store/slots.hpp", "tests/prove/gcra.py"):
            self.assertTrue(check.proved(["docs/wire.md", file]), file)
        self.assertTrue(check.proved(None))
        self.assertFalse(check.proved(["src/store/table.cpp", "src/core/gcra_test.cpp", "docs/wire.md", "tests/models/run"]))

    def test_what_a_file_includes_is_what_the_compiler_says(self):
        unit = "tests/prove/windows.cpp"
        said = subprocess.run(["g++", "-std=c++20", "-Isrc", "-Iinclude", "-MM", unit], cwd=check.ROOT, capture_output=True, text=True)
        files = said.stdout.split(":", 1)[1].replace("\\\n", " ").split()
        self.assertEqual({path.resolve() for path in check.included(check.ROOT / unit)}, {(check.ROOT / each).resolve() for each in files})


class Stress(unittest.TestCase):
    """By a tree of a few tests."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = folder.name
        tests = {"quick": ("true", ""), "waits": ("false", "integration"), "slow": ("false", "long"), "judges": ("true", "timing"),
                 "judges_long": ("false", "timing;long")}
        pathlib.Path(self.tree, "CTestTestfile.cmake").write_text("".join(
            f'add_test({name} {command})\nset_tests_properties({name} PROPERTIES LABELS "{labels}")\n'
            for name, (command, labels) in tests.items()))

    def round(self, timing, pattern="."):
        with mock.patch.object(check, "LOGS", pathlib.Path(self.tree)), mock.patch.object(stress.check, "ROOT", pathlib.Path(self.tree)):
            failed, of, _ = stress.round_of(".", 1, pattern, timing)
            self.assertEqual(of, len(stress.chosen(".", re.compile(pattern), timing)))
            return failed, of

    def test_a_round_runs_all_but_what_is_long_and_counts_what_failed(self):
        self.assertEqual(self.round(False), (["waits"], 3))
        self.assertEqual(self.round(True), ([], 1))
        self.assertEqual(self.round(False, "judges|nobody"), ([], 1))

    def test_a_round_in_which_nothing_ran_is_not_a_success(self):
        with mock.patch.object(stress, "built", return_value=["."]), mock.patch.object(stress, "round_of", return_value=([], 0, check.LOGS)), \
                mock.patch.object(stress, "burn", lambda: None), mock.patch.object(sys, "argv", ["stress"]), \
                contextlib.redirect_stdout(None), contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(stress.main(), 1)
        self.assertIn("no test has run", said.getvalue())


class Tidy(unittest.TestCase):
    def tidied(self, *sources):
        """What is said of folders of one source each."""
        with tempfile.TemporaryDirectory() as folder:
            tree, commands = pathlib.Path(folder).resolve(), []
            for number, source in enumerate(sources):
                path = tree / f"src/f{number}"
                path.mkdir(parents=True)
                (path / "a.cpp").write_text(source)
                (path / "unity_0_cxx.cxx").write_text(f'#include "{path}/a.cpp"\n')
                commands.append({"directory": folder, "file": f"{path}/unity_0_cxx.cxx", "command": f"clang++-19 -DF{number}=0 -std=c++20 -c"})
            (tree / "compile_commands.json").write_text(json.dumps(commands))
            done = subprocess.run([TOOLS / "tidy.py", tree, "shallow", *(f"f{number}" for number in range(len(sources)))],
                                  capture_output=True, text=True)
            return done.returncode, done.stdout

    def test_it_is_content_with_what_is_well(self):
        self.assertEqual(self.tidied("int one() { return F0; }\n", "int two() { return F1; }\n")[0], 0)

    def test_it_follows_the_paths_through_what_a_unity_file_includes(self):
        code, said = self.tidied("int one(const int* p) { return p ? 1 : *p; }\n", "int Two() { return 2; }\n", "int three() { return 3; }\n")
        self.assertEqual(code, 1)
        self.assertIn("f0/a.cpp:1:40: error: Dereference of null pointer", said)
        self.assertIn("f1/a.cpp:1:5: error: invalid case style", said)
        self.assertNotIn("f2/", said)

    def test_it_is_not_content_with_nothing_to_look_at(self):
        self.assertEqual(self.tidied()[0], 1)


class Lanes(unittest.TestCase):
    def test_what_is_spare_is_taken_by_the_lane_that_is_done_first_and_once(self):
        long_one, ran = threading.Event(), []

        class Counted:
            def __init__(self, name, waits=None):
                self.name, self.waits = name, waits

            def run(self):
                if self.waits:
                    self.waits.wait(30)
                ran.append((threading.current_thread().name, self.name))
                if self.name == "last":
                    long_one.set()

        spare = collections.deque([Counted("prove"), Counted("tidy"), Counted("last")])
        lanes = {"slow": [Counted("build", long_one)], "quick": [Counted("program")]}
        runs = [threading.Thread(target=check.run_lane, args=(lane, spare), name=name) for name, lane in lanes.items()]
        for each in runs:
            each.start()
        for each in runs:
            each.join(60)
        self.assertEqual(ran, [("quick", "program"), ("quick", "prove"), ("quick", "tidy"), ("quick", "last"), ("slow", "build")])


class Excuses(unittest.TestCase):
    def test_a_crash_is_final_and_a_late_answer_is_not(self):
        for final in ("==7==ERROR: AddressSanitizer: heap-use-after-free", "x.cpp:3: runtime error: signed integer overflow",
                      "weir ended with exit code -11", "Segmentation fault (core dumped)", "terminate called after throwing"):
            self.assertTrue(check.FINAL.search(final), final)
        self.assertFalse(check.FINAL.search("AssertionError: not within 30 s: the store is ready"))


class Progress(unittest.TestCase):
    def told(self, text):
        part = check.Part("part")
        with tempfile.TemporaryDirectory() as folder:
            part.log = pathlib.Path(folder) / "log"
            part.log.write_text(text)
            return part.progress()

    def test_is_the_last_step_of_ninja_or_of_ctest(self):
        self.assertEqual(self.told("[1/9] Building\n[3/9] Linking\n"), "part: built 3 of 9")
        self.assertEqual(self.told("built 40 of 96\n"), "part: built 40 of 96")
        self.assertEqual(self.told("[9/9] Linking\n 2/30 Test  #7: end_to_end.x ...   Passed    0.1 sec\n"), "part: 2 of 30 tests")
        self.assertEqual(self.told("no step\n"), "part")

    def test_of_a_test_that_fails_it_shows_what_says_so(self):
        part = check.Part("part")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        part.log = pathlib.Path(folder.name, "log")
        long = "".join(f"[ OK ] {i}\n" for i in range(500))
        part.log.write_text(f"1/3 Test #1: suite.a ...   Passed   1 sec\n2/3 Test #2: suite.b ...***Failed   1 sec\n{long}b.cpp:3: Failure\n"
                            f"Which is: 30\n{long}    Start 3: suite.c\n3/3 Test #3: suite.c ...   Passed   1 sec\n")
        told = part.told()
        self.assertEqual(told[:3], ["--- suite.b", "b.cpp:3: Failure", "Which is: 30"])
        self.assertLess(len(told), 140)


class ShowBuild(unittest.TestCase):
    def test_keeps_what_is_said_beside_the_steps(self):
        done = subprocess.run([TOOLS / "show_build"], input="[1/2] a\nx.cpp:1: warning: y\nninja: no work to do.\n", text=True,
                              capture_output=True)
        self.assertEqual(done.stdout, "x.cpp:1: warning: y\n")


class Kept(unittest.TestCase):
    def test_is_installed_once_for_each_lock_and_a_build_changes_its_copy_alone(self):
        made = []

        def install(new):
            (new / "packages").write_text(f"{len(made)}")
            made.append(new)

        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"XDG_CACHE_HOME": folder}):
            found = []
            for build, lock in (("a", "one"), ("b", "one"), ("b", "two"), ("a", "one")):
                place = pathlib.Path(folder, build)
                kept.folder_of("name", lock, place, install)
                found.append((place / "packages").read_text())
                (place / "packages").write_text("changed")
        self.assertEqual(found, ["0", "0", "1", "0"])


class Mutant(unittest.TestCase):
    def refused(self, *words):
        done = subprocess.run([sys.executable, TOOLS / "mutant.py", *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr.splitlines()[-1]

    def test_reads_a_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "table")
            with open(path, "w", encoding="utf-8") as out:
                out.write("# why\n\nsrc/a.cpp  s/x y/z/  suite.a\nsrc/b.cpp /only here/s|a/b|c|g\n")
            self.assertEqual(mutant.table(path), [("src/a.cpp", "s/x y/z/", "suite.a"), ("src/b.cpp", "/only here/s|a/b|c|g", "")])

    def test_every_row_of_a_table_of_the_repository_changes_its_file(self):
        for path in sorted((TOOLS.parent / "tests/mutants").iterdir()):
            for file, expression, test in mutant.table(path):
                self.assertRegex(test, r"^$|^(suite|end_to_end|simulation|redis)\.\w", f"{path.name}: no test of ctest has that name")
                before = (TOOLS.parent / file).read_text()
                done = subprocess.run(["sed", "-E", "-e", expression], input=before, capture_output=True, text=True)
                self.assertEqual(done.stderr, "", f"{path.name}: {file} {expression}")
                self.assertNotEqual(done.stdout, before, f"{path.name}: {file} {expression}")

    def test_refuses_what_makes_no_sense(self):
        self.assertIn("it takes FILE", self.refused())
        self.assertIn("it takes FILE", self.refused("src/core/gcra.hpp"))
        self.assertIn("No such file", self.refused("--list", "/nowhere"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "table")
            with open(path, "w", encoding="utf-8") as out:
                out.write("src/a.cpp s/x/y\n")
            self.assertIn(f"{path}:1: a line is FILE s/a/b/ [TEST]", self.refused("--list", path))


if __name__ == "__main__":
    unittest.main()
