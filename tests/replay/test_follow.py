"""weir replay --follow: a log that grows, is renamed or truncated, and a pipe; in a terminal and elsewhere."""
import csv
import json
import os
import pty
import signal
import subprocess
import unittest

from program import WEIR, Folder, environment, line, run, until, weir


class Follow(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.log = self.folder.file("access.log", "")

    def started(self, *arguments, log=None, **options):
        process = subprocess.Popen([WEIR, "replay", log or self.log, "--limit", "1/min", "--follow", *arguments],
                                   stderr=subprocess.PIPE, env=environment(),
                                   **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options})
        self.addCleanup(process.kill)
        return process

    def write(self, text, log=None):
        with open(log or self.log, "a") as out:
            out.write(text)

    def reads_all(self, process, log=None):
        """Waits until the program is at the end of the file."""
        name = os.path.realpath(log or self.log)

        def at_the_end():
            for each in os.listdir(f"/proc/{process.pid}/fd"):
                try:
                    if os.path.realpath(f"/proc/{process.pid}/fd/{each}") != name:
                        continue
                    with open(f"/proc/{process.pid}/fdinfo/{each}") as info:
                        return int(info.readline().split()[1]) == os.path.getsize(name)
                except OSError:
                    continue
            return False
        until(at_the_end, "the program reads the log to its end")

    def said(self, process):
        """Its last words, after Ctrl-C."""
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0, errors)
        return json.loads(out)

    def test_a_log_that_grows(self):
        process = self.started("--json")
        self.write(line(0) + line(1))
        self.reads_all(process)
        self.write(line(2) + line(3)[:30])
        self.reads_all(process)
        self.write(line(3)[30:] + line(4)[:40])
        self.reads_all(process)
        said = self.said(process)
        self.assertEqual(said["lines"]["requests"], 4)
        self.assertEqual((said["interrupted"], said["limits"][0]["denied"], said["reorder"]), (False, 3, "5s"))

    def test_a_log_that_is_renamed(self):
        self.write(line(0))
        process = self.started("--json")
        self.reads_all(process)
        os.rename(self.log, self.log + ".1")
        self.write(line(1) + "half a line", self.log + ".1")
        self.reads_all(process, self.log + ".1")
        self.write(line(2) + line(3))
        self.reads_all(process)
        said = self.said(process)
        self.assertEqual((said["lines"]["requests"], said["lines"]["unreadable"]), (4, 1))

    def test_a_log_that_is_truncated(self):
        self.write(line(0) + line(1) + line(2))
        process = self.started("--json")
        self.reads_all(process)
        os.truncate(self.log, 0)
        self.reads_all(process)
        self.write(line(3))
        self.reads_all(process)
        self.assertEqual(self.said(process)["lines"]["requests"], 4)

    def test_what_the_log_is_may_show_late(self):
        """A program says a few words before its first request, and they look like columns."""
        self.write("starting, please wait\nlistening, port 80\n")
        process = self.started("--json")
        self.reads_all(process)
        self.write("ready\n" + line(0))
        self.reads_all(process)
        self.write(line(1))
        self.reads_all(process)
        lines = self.said(process)["lines"]
        self.assertEqual((lines["requests"], lines["unreadable"]), (2, 3))

    def test_a_limits_file(self):
        limits = self.folder.file("limits.yaml", "version: 1\nlimits:\n  ip: { by: [ip], rate: 1/min }\n")
        self.write(line(0))
        process = subprocess.Popen([WEIR, "replay", self.log, "--limits", limits, "--follow", "--json"], env=environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        self.reads_all(process)
        self.write(line(1) + line(2))
        self.reads_all(process)
        said = self.said(process)
        self.assertEqual([(each["limit"], each["requests"], each["denied"]) for each in said["limits"]],
                         [("together", 3, 2), ("ip", 3, 2)])

    def test_a_suggestion_needs_the_whole_log(self):
        code, _, errors = weir("suggest", self.log, "--deny-clients", "0", "--follow")
        self.assertEqual(code, 2)
        self.assertIn("--follow", errors)

    def test_a_pipe_that_ends(self):
        process = self.started("--json", log="-", stdin=subprocess.PIPE)
        out, errors = process.communicate((line(0) + line(1)).encode(), timeout=20)
        self.assertEqual((process.returncode, json.loads(out)["lines"]["requests"]), (0, 2), errors)

    def test_the_table_is_printed_once_where_there_is_no_terminal(self):
        self.write(line(0) + line(1))
        process = self.started()
        self.reads_all(process)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out.count(b"2 requests"), out.count(b"\x1b")), (0, 1, 0))
        self.assertNotIn(b"interrupted", out)

    def test_decisions_are_written_at_the_end(self):
        path = self.folder.file("out.csv")
        process = self.started("--json", "--decisions", path)
        self.write(line(0) + line(1))
        self.reads_all(process)
        self.assertFalse(os.path.exists(path))
        self.said(process)
        self.assertEqual([row[3] for row in csv.reader(open(path))], ["1/min", "allowed", "denied"])

    def test_a_terminal_shows_the_report_meanwhile(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.write(line(0) + line(1) + line(100))
        process = self.started("--reorder", "0", stdout=slave)
        os.close(slave)
        seen = b""
        while b"3 requests of 1 client" not in seen:
            seen += os.read(master, 65536)
        self.assertIn(b"\x1b[H", seen)
        self.write(line(101))
        while b"4 requests of 1 client" not in seen:
            seen += os.read(master, 65536)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), 0)
        process.stderr.close()

    def test_what_cannot_be_followed(self):
        packed = self.folder.file("log.gz", b"\x1f\x8b\x08\x00")
        for arguments, wrong in (((self.log, self.log), "follow: expected one log, not 2"),
                                 ((packed,), f"{packed}: is compressed, so it cannot be followed"),
                                 ((self.log, "--spread"), "spread: what the times of a log leave open is known at its end")):
            with self.subTest(arguments):
                code, out, errors = weir("replay", *arguments, "--limit", "1/s", "--follow")
                self.assertEqual((code, out), (2, ""))
                self.assertIn(wrong, errors)


if __name__ == "__main__":
    run()
