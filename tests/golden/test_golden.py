"""Small logs whose outcome was worked out by hand from docs/algorithm.md and docs/replay.md; not by any program.

NAME.json says for each run of the program the verdict of each line with its reason, and the numbers that follow.
"""
import collections
import json
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "replay"))
from program import answer, run  # noqa: E402


def address(shown):
    """Of a network, however it is shown, its address."""
    return shown.split("/")[0] if isinstance(shown, str) else shown


class Golden(unittest.TestCase):
    maxDiff = None

    def check(self, name):
        case = json.loads((HERE / name).read_text())
        for asked in case["runs"]:
            with self.subTest(asked["arguments"]):
                said = answer("replay", HERE / case["log"], *asked["arguments"])
                flat = {**said["lines"], **said}
                self.assertEqual({each: flat[each] for each in asked["whole"]}, asked["whole"])
                self.assertEqual(len(said["limits"]), len(asked["limits"]))
                for got, want in zip(said["limits"], asked["limits"]):
                    self.consistent(want)
                    worst = ("client", "requests", "denied", "first_denied")
                    got["worst"] = [[address(each[name]) for name in worst] for each in got["worst"]]
                    got["longest_locked_out_client"] = address(got["longest_locked_out_client"])
                    self.assertEqual({each: got[each] for each in want["numbers"]}, want["numbers"])

    def consistent(self, want):
        """The verdicts of the file add up to its numbers."""
        count = collections.Counter(verdict.split(":")[0] for verdict in want["verdicts"])
        numbers = want["numbers"]
        self.assertEqual((count["allowed"], count["denied"] + count["never"], count["never"]),
                         (numbers["allowed"], numbers["denied"], numbers["never"]))


for path in sorted(HERE.glob("*.json")):
    setattr(Golden, "test_" + path.stem, lambda self, name=path.name: self.check(name))

if __name__ == "__main__":
    run()
