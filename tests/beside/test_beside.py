"""The comparison of two builds itself: of the same program it finds nothing, and of one that answers otherwise what."""
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "end_to_end"))
from chance import seed  # noqa: E402
from server import WEIR, Folder, run, sanitized  # noqa: E402

CLOCK = ["--clock", os.environ["WEIR_STILL_CLOCK"]] if "WEIR_STILL_CLOCK" in os.environ else []


def beside(new, *options):
    """(exit code, what is printed)."""
    done = subprocess.run([sys.executable, os.path.join(HERE, "beside.py"), WEIR, new, "--seed", str(seed()), *CLOCK, *options],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=90)
    return done.returncode, done.stdout


@unittest.skipIf(sanitized(), "a sanitizer wants to be loaded before the clock")
class Beside(unittest.TestCase):
    def test_a_program_does_not_differ_from_itself(self):
        code, told = beside(WEIR, "--pipelines", "240")
        self.assertEqual(code, 0, told)
        # Of leases, who answers first decides: what comes of it does not happen again.
        self.assertRegex(told, r"\d+ pipelines \(.*\) in \d+ s: 0 differences(, \d+ by chance)?\n$")

    def test_one_that_answers_otherwise_is_told_by_the_question_that_shows_it(self):
        with Folder() as folder:
            other = folder.file("weir", f'#!/bin/sh\n[ "$1" = serve ] && set -- "$@" --max-connections 77\nexec {WEIR} "$@"\n')
            os.chmod(other, 0o700)
            code, told = beside(other, "--kinds", "plain", "--pipelines", "3000", "--most", "1")  # chance asks for it soon
        self.assertEqual(code, 1, told)
        steps = [json.loads(line[len("step: "):]) for line in told.splitlines() if line.startswith("step: {")]
        self.assertEqual(len(steps), 1, told)
        self.assertEqual(len(steps[0].get("parts", [1])), 1, told)  # or INFO as the tool asks it
        self.assertRegex(told, r"(?m)^old: .*10000")
        self.assertRegex(told, r"(?m)^new: .*77")


if __name__ == "__main__":
    run()
