"""What docs/limits.md and the examples say of limits files is what `weir lint` says."""
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/end_to_end"))
from server import PATIENCE, WEIR, environment

PAGES = [(ROOT / page).read_text() for page in ("README.md", "docs/choosing-a-limit.md", "docs/limits.md")]
PAGE = PAGES[-1]
SCHEMA = json.loads((ROOT / "docs/limits.schema.json").read_text())
NOW = "--now=2026-11-21T12:00:00Z"


def lint(*args, stdin=None, env=None):
    done = subprocess.run([WEIR, "lint", *args], capture_output=True, text=True, timeout=PATIENCE, input=stdin,
                          env=environment(**(env or {})))
    return done.returncode, done.stdout, done.stderr


class Documents(unittest.TestCase):
    def test_every_file_that_the_pages_show_is_clean(self):
        for page, least in zip(PAGES, (1, 1, 5)):
            shown = [block for block in re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S) if block.startswith("version")]
            self.assertGreaterEqual(len(shown), least)
            for block in shown:
                code, out, _ = lint("--strict", NOW, "-", stdin=block)
                self.assertEqual(code, 0, out + block)

    def test_every_example_is_clean(self):
        examples = [path for path in (ROOT / "examples/limits").glob("*.yaml") if not path.stem.endswith("_test")]
        self.assertGreater(len(examples), 2)
        code, out, _ = lint("--strict", NOW, *map(str, examples))
        self.assertEqual(code, 0, out)

    def test_the_reference_has_a_row_for_every_key(self):
        for keys in (SCHEMA["properties"], SCHEMA["$defs"]["limit"]["properties"], SCHEMA["$defs"]["gateway"]["properties"]):
            for key in keys:
                self.assertRegex(PAGE, rf"(?m)^\| `{key}` \|")
        override = PAGE[PAGE.index("Inside an override:"):].split("\n\n")[0]
        for key in SCHEMA["$defs"]["override"]["properties"]:
            self.assertIn(f"`{key}`", override)

    def test_the_reference_has_a_row_for_every_rule(self):
        rules = PAGE[PAGE.index("## What is refused"):]
        self.assertEqual([int(number) for number in re.findall(r"(?m)^\| (\d+) \|", rules)], list(range(1, 37)))


WRONG = "version: 1\nlimits:\n  user: { by: [user], raet: 20/s }\n"
TOLD = "<stdin>:3:23: limits.user.raet: unknown; did you mean rate?\n"
DOUBTFUL = "version: 1\nlimits:\n  user: { by: [user], rate: 20/s, shadow: true }\n"


class Lint(unittest.TestCase):
    def test_exit_codes(self):
        warning = ("<stdin>:1:1: note: attributes: missing; with attributes: [user] a request that misspells one is an "
                   "error, and does not pass unlimited\n"
                   "<stdin>:3:43: warning: limits.user.shadow: has no end; write until 2026-12-01\n")
        self.assertEqual(lint("-", stdin="version: 1\n"), (0, "<stdin>: clean: 0 limits, 1 route\n", ""))
        self.assertEqual(lint("-", stdin=WRONG), (1, TOLD, ""))
        self.assertEqual(lint("-", stdin=DOUBTFUL), (0, warning, ""))
        self.assertEqual(lint("--strict", "-", stdin=DOUBTFUL), (1, warning, ""))
        self.assertEqual(lint("/no/such.yaml", "-", stdin=WRONG),
                         (2, "/no/such.yaml: cannot read it: No such file or directory\n" + TOLD, ""))
        self.assertEqual(lint("/"), (2, "/: cannot read it: Is a directory\n", ""))
        self.assertEqual(lint()[0], 2)
        self.assertEqual(lint("--now", "soon", "-"),
                         (2, "", "weir: now: 'soon' is not a date or a time of RFC 3339; write 2026-12-01, which is its "
                                 "midnight in UTC, or 2026-12-01T12:00:00Z\n"))

    def test_how_the_file_is_served(self):
        log = "version: 1\nlimits:\n  a: { rate: 9/s algorithm=sliding_window_log }\n"
        self.assertEqual(lint("-", stdin=log),
                         (1, "<stdin>:3:14: limits.a.rate: '9/s algorithm=sliding_window_log' is counted by a shared store "
                             "alone; write sliding_window_counter, or if there is a store, give --store\n", ""))
        self.assertEqual(lint("--store", "-", stdin=log)[0], 0)
        waits = "version: 1\nlimits:\n  a: { rate: 9/s, max_wait: 2h }\n"
        self.assertEqual(lint("-", stdin=waits),
                         (0, "<stdin>:3:29: warning: limits.a.max_wait: '2h' is above --max-wait 1h, the longest that the "
                             "server lets anybody wait; it does not start with such a file\n", ""))
        self.assertEqual(lint("--strict", "--max-wait", "2h", "-", stdin=waits)[0], 0)
        self.assertEqual(lint("--max-wait", "long", "-", stdin=waits),
                         (2, "", "weir: max-wait: 'long' is not a time such as 250ms, 10s, 1.5h or 1d\n"))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "limits.yaml")
            path.write_text("version: 1\nlists: { bans: { file: bans.txt } }\nlimits: { a: { rate: 9/s, deny: { ip: '@bans' } } }\n")
            pathlib.Path(folder, "bans.txt").write_text("# nobody today\n")
            self.assertEqual(lint("--strict", str(path)),
                             (0, f"{path}:2:24: note: lists.bans.file: '{folder}/bans.txt' has no entries, so it matches "
                                 "nothing\n", ""))

    def test_now_decides_what_is_past(self):
        file = "version: 1\nlimits:\n  user: { rate: 20/s, shadow: until 2026-12-01 }\n"
        self.assertEqual(lint("--now", "2026-11-30T23:59:59Z", "-", stdin=file)[0], 0)
        self.assertEqual(lint("--now", "2026-12-01", "-", stdin=file),
                         (1, "<stdin>:3:31: limits.user.shadow: 2026-12-01 is in the past: it is now 2026-12-01T00:00:00Z\n", ""))

    def test_json(self):
        code, out, errors = lint("--json", "-", stdin=WRONG)
        self.assertEqual((code, errors), (1, ""))
        self.assertEqual(json.loads(out), {"errors": 1, "warnings": 0, "findings": [
            {"severity": "error", "rule": 4, "file": "<stdin>", "line": 3, "column": 23, "path": "limits.user.raet",
             "text": "unknown; did you mean rate?"}]})
        self.assertEqual(json.loads(lint("--json", "-", stdin="version: 1\n")[1]), {"errors": 0, "warnings": 0, "findings": []})

    def test_lists_are_looked_for_beside_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "limits.yaml")
            path.write_text("version: 1\nlists: { nets: { file: nets.txt } }\n")
            self.assertEqual(lint(str(path)), (1, f"{path}:2:24: lists.nets.file: cannot read '{folder}/nets.txt': "
                                                  "No such file or directory\n", ""))
            pathlib.Path(folder, "nets.txt").write_text("\ufeff10.0.0.0/8\r\n10.0.0.1/8  # not one\r\n")
            self.assertEqual(lint(str(path)), (1, f"{folder}/nets.txt:2:1: lists.nets: '10.0.0.1/8' has bits set beyond its "
                                                  "prefix; did you mean 10.0.0.0/8?\n", ""))

    def test_colour_is_for_terminals_that_want_it(self):
        for env, coloured in (({"TERM": "xterm", "NO_COLOR": ""}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False),
                              ({"TERM": "dumb", "NO_COLOR": ""}, False)):
            ours, theirs = pty.openpty()
            process = subprocess.Popen([WEIR, "lint", "-"], stdin=subprocess.PIPE, stdout=theirs, env=environment(**env))
            process.communicate(WRONG.encode(), timeout=PATIENCE)
            shown = os.read(ours, 4096)
            self.assertEqual(b"\x1b[31m" in shown, coloured, env)
            self.assertIn(b"did you mean rate?", shown)
        self.assertNotIn("\x1b", lint("-", stdin=WRONG, env={"TERM": "xterm", "NO_COLOR": ""})[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
