"""`weir diff --log` reads a log as `weir replay` does, with the same flags, and says as much of it."""
import json
import os
import unittest

from program import Folder, answer, line, run, weir

OLD = "version: 1\nlimits:\n  ip: { by: [ip], rate: 1/s burst 2 }\n"
NEW = OLD.replace("burst 2", "burst 1")
AT = 1_795_240_187  # 2026-11-21T05:49:47Z


class Diff(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.files = self.folder.file("old.yaml", OLD), self.folder.file("new.yaml", NEW)

    def log(self, content, name="some.log"):
        return self.folder.file(name, content)

    def said(self, *args, **options):
        return answer("diff", *self.files, *args, expect=1, **options)["log"]

    def test_lines_that_cannot_be_read_are_counted_and_shown(self):
        log = self.log("".join(line(n, f"192.0.2.{n}") for n in range(60)) + "who knows\n" * 540)
        said = self.said("--log", log)
        self.assertEqual((said["requests"], said["lines"]["read"], said["lines"]["unreadable"]), (60, 600, 540))
        self.assertEqual(len(said["lines"]["unreadable_examples"]), 5)
        self.assertEqual(said["warnings"][0], "540 of 600 lines (90 %) could not be read, and are not counted")
        code, out, _ = weir("diff", *self.files, "--log", log)
        self.assertEqual(code, 1)
        self.assertIn("\nwarning: 540 of 600 lines (90 %) could not be read, and are not counted\n", out)
        self.assertIn("\n540 of 600 lines could not be read\n  " + log + ":61: ", out)

    def test_it_knows_the_flags_of_replay(self):
        rows = [{"when": f"21.11.2026 06:49:{47 + n}", "ip": "192.0.2.1", "status": 200 + n % 2, "units": 1} for n in range(4)]
        log = self.log("".join(json.dumps(row) + "\n" for row in rows), "odd.jsonl")
        asked = ("--time", "when", "--time-format", "%d.%m.%Y %H:%M:%S", "--zone", "Europe/Berlin")
        for more, requests in ((), 4), (("--where", "status=200"), 2), (("--since", "2026-11-21T05:49:49Z"), 2), (
                ("--until", "2026-11-21T06:49:48"), 1), (("--cost", "units"), 4), (("--spread",), 4), (
                ("--reorder", "all"), 4), (("--format", "jsonl"), 4):
            with self.subTest(more):
                said = self.said("--log", log, *asked, *more)
                self.assertEqual(said["requests"], requests)
                self.assertEqual(said["lines"]["left_out"], 4 - requests)
                if not more:
                    self.assertEqual((said["from"], said["to"]), ("2026-11-21T05:49:47Z", "2026-11-21T05:49:50Z"))
        text = self.log("".join(f"[2026-11-21 05:49:{47 + n}] 192.0.2.1 asks\n" for n in range(4)))
        self.assertEqual(self.said("--log", text, "--regex", r"\[(?<time>[^]]+)\] (?<ip>\S+) .*")["requests"], 4)

    def test_what_is_left_out_is_said_with_what_asked_for_it(self):
        log = self.log("".join(line(n, size=n) for n in range(9)))
        code, out, _ = weir("diff", *self.files, "--log", log, "--where", "bytes>2", "--since", "2026-03-01T00:00:05Z")
        self.assertEqual(code, 1)
        self.assertIn("\n5 other requests are left out by --where bytes>2 and --since 2026-03-01T00:00:05Z\n", out)

    def test_flags_that_are_about_a_log_need_one(self):
        for flags in (("--where", "status=1"), ("--time", "ts"), ("--format", "csv"), ("--zone", "Z"), ("--anonymize",)):
            code, out, errors = weir("diff", *self.files, *flags)
            self.assertEqual((code, out), (2, ""))
            self.assertEqual(errors, f"weir: {flags[0]} requires --log (see weir diff --help)\n")

    def test_a_log_that_breaks_off_is_reported_and_an_error(self):
        import gzip
        packed = gzip.compress("".join(line(n // 9, f"192.0.2.{n * 7 % 251}") for n in range(20_000)).encode())
        log = self.log(packed[:-20], "cut.gz")
        code, out, errors = weir("diff", *self.files, "--log", log, "--json")
        self.assertEqual((code, errors), (2, f"weir: {log}: is truncated: its compressed data ends too early\n"))
        self.assertEqual(len(json.loads(out)["log"]["lines"]["broken"]), 1)

    def test_the_page_names_the_log_and_what_is_left_out(self):
        log, page = self.log("".join(line(n) for n in range(9)) + "who\n" * 9, "shop.log"), self.folder.file("page.html")
        code, out, errors = weir("diff", *self.files, "--log", log, "--html", page, "--where", "path=/*", "--until",
                                 "2026-03-01T00:00:05Z")
        self.assertEqual((code, errors), (1, ""))
        self.assertTrue(out.endswith(f"\nwritten: {page}\n"), out)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn('title="shop.log">shop.log</span>', text)
        self.assertNotIn(os.path.dirname(log), text)
        self.assertIn("<li>4 other requests are left out by --where path and --until 2026-03-01T00:00:05Z.</li>", text)
        self.assertIn("9 of 18 lines (50 %) could not be read", text)

    def test_a_page_that_cannot_be_written_does_not_lose_the_table(self):
        log = self.log(line(0))
        code, out, errors = weir("diff", *self.files, "--log", log, "--html", "/dev/full")
        self.assertEqual((code, errors), (2, "weir: /dev/full: cannot be written: No space left on device\n"))
        self.assertIn("0 denied before, 0 after", out)
        code, out, errors = weir("diff", *self.files, "--html", "/dev/full")
        self.assertEqual((code, errors), (2, "weir: /dev/full: cannot be written: No space left on device\n"))
        self.assertIn("~ limits.ip.rate", out)


if __name__ == "__main__":
    run()
