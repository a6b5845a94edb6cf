"""Logs of a format that weir does not know: `weir formats` finds the command that reads one, or says that there is none.

What a command reads is compared, request by request, with what the log says: when, and who.
"""
import csv
import datetime
import io
import json
import os
import shlex
import unittest

import kinds
import make_formats
import quirks
from program import Folder, answer, run, weir
import chance


def decisions(words, folder):
    """(seconds, client) of each request that the command of `weir formats`, made a replay, reads."""
    assert words[:2] == ["weir", "suggest"], words
    words = [word for word in words[2:] if word not in ("--deny-clients", "0.1%")]
    code, out, errors = weir("replay", *words, "--limit", "1/s", "--reorder", "all", "--decisions", "-")
    assert code == 0, (words, errors)
    rows = list(csv.DictReader(io.StringIO(out)))
    return [(int(datetime.datetime.fromisoformat(row["time"][:19] + "+00:00").timestamp()), row["client"]) for row in rows]


class Kinds(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)

    def file_of(self, kind):
        """As old as its day, which tells the year where the lines do not."""
        log = self.folder.file("some.log", "\n".join(kind.lines) + "\n")
        os.utime(log, (kinds.DAY + 86_400,) * 2)
        return log

    def test_each_is_read_right_or_refused(self):
        self.assertGreater(len(kinds.KINDS), 20)
        for kind in kinds.KINDS:
            with self.subTest(kind.name):
                log = self.file_of(kind)
                code, out, errors = weir("formats", log, "--json")
                self.assertEqual(errors, "")
                said = json.loads(out)
                if kind.requests is None:
                    self.assertEqual((code, said["run"]), (2, None), out)
                    self.assertEqual(weir("replay", log, "--limit", "1/s")[0], 2)
                    continue
                self.assertEqual(code, 0, out)
                words = shlex.split(said["run"])
                self.assertEqual(weir(*words[1:])[0], 0, said["run"])
                self.assertEqual(sorted(decisions(words, self.folder)), sorted(kind.requests), said["run"])

    def test_read_without_a_word_they_are_read_right_or_not_at_all(self):
        for kind in kinds.KINDS:
            with self.subTest(kind.name):
                log = self.file_of(kind)
                code, _, errors = weir("replay", log, "--limit", "1/s")
                if code == 0:
                    self.assertEqual(sorted(decisions(["weir", "suggest", log], self.folder)), sorted(kind.requests))
                else:
                    self.assertIn("weir: ", errors)

    def test_a_refusal_names_what_helps(self):
        log = self.folder.file("some.log", "\n".join(kinds.KINDS[0].lines) + "\n")
        code, out, errors = weir("replay", log, "--limit", "1/s")
        self.assertEqual((code, out), (2, ""))
        self.assertTrue(errors.endswith("--format, --regex, --time, --key and --cost describe a log that is laid out "
                                        f"differently; weir formats {log} says how\n"), errors)

    def test_of_a_known_format_the_command_is_tried_too(self):
        for name, write in make_formats.WRITERS.items():
            with self.subTest(name):
                requests = [(1_795_240_187 * 10**9 + n * 10**9, f"203.0.113.{n % 7}", "GET", "/", 200, n) for n in range(50)]
                log = self.folder.file("some.log", "\n".join(write(requests)) + "\n")
                said = answer("formats", log)
                self.assertEqual(said["run"], f"weir suggest {log} --deny-clients 0.1%")
                self.assertEqual(decisions(shlex.split(said["run"]), self.folder),
                                 [(ns // 10**9, who) for ns, who, *_ in requests])

    def test_the_command_for_a_random_log_works(self):
        for seed in chance.seeds(20):
            case = quirks.make(seed, self.folder.path)
            for path in case.files:
                with self.subTest(path, seed=seed):
                    code, out, errors = weir("formats", path, "--json")
                    if code != 0 and errors.endswith(": contains no lines\n"):
                        continue
                    self.assertEqual(errors, "")
                    command = json.loads(out)["run"]
                    if command is None:   # there may be nothing to read in it
                        self.assertEqual((code, weir("replay", path, "--limit", "1/s")[0]), (2, 2))
                    else:
                        self.assertEqual((code, weir(*shlex.split(command)[1:])[0]), (0, 0), command)

    def test_a_year_that_no_line_names_is_said(self):
        kind, = (each for each in kinds.KINDS if each.name == "syslog, without a year")
        log = self.file_of(kind)
        code, out, _ = weir("formats", log)
        self.assertEqual(code, 0)
        self.assertIn("\n  they name no year: the first is taken to be of 2026, by when the file was written\n", out)
        words = shlex.split(answer("formats", log)["run"])
        said = answer("replay", *words[2:-2], "--limit", "1/s")
        self.assertIn("the times name no year: the first is taken to be of 2026, by when the file was written", said["warnings"])

    def test_what_nothing_reads_is_said(self):
        log = self.folder.file("some.log", "dnsmasq[812]: query[A] example.org from 203.0.113.7\n")
        code, out, errors = weir("formats", log)
        self.assertEqual((code, errors), (2, ""))
        self.assertTrue(out.endswith("\nno command was found that reads it: its lines have no known format, nor a time with its "
                                     "year and an address in one place\n"), out)
        table = self.folder.file("some.csv", "when,who\n0.25,203.0.113.7\n0.5,203.0.113.8\n")
        self.assertTrue(weir("formats", table)[1].endswith(
            "\nno command was found that reads it: no field has times that could be read\n"))

    def test_the_same_of_a_pipe(self):
        kind = kinds.KINDS[0]
        said = answer("formats", "-", stdin="\n".join(kind.lines).encode())
        words = shlex.split(said["run"])
        self.assertEqual(words[:3], ["weir", "suggest", "-"])
        self.assertEqual(weir(*words[1:], stdin="\n".join(kind.lines).encode())[0], 0)


class Keys(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)

    def first_key(self, rows):
        said = answer("formats", self.folder.file("some.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
        return said["keys"][0]["key"]

    def test_of_what_was_forwarded_it_is_never_the_proxy(self):
        for what, forwarded, key in (("nobody's own", "203.0.113.{n}", "xff[-1]"),
                                     ("a proxy of one's own", "203.0.113.{n}, 10.0.0.{n}", "xff[-2]"),
                                     ("two", "203.0.113.{n}, 10.0.0.1, 192.168.0.{n}", "xff[-3]"),
                                     ("a proxy of somebody else", "203.0.113.{n}, 198.51.100.9", "xff[-2]"),
                                     ("what the client said before", "192.0.2.8, 203.0.113.{n}, 10.0.0.1", "xff[-2]")):
            with self.subTest(what):
                rows = [{"time": 1_795_240_187 + n, "remote_addr": "10.0.0.7", "x_forwarded_for": forwarded.format(n=n)}
                        for n in range(9)]
                self.assertEqual(self.first_key(rows), key)

    def test_a_column_of_addresses_is_found_by_its_values(self):
        for what, row, key in (("one's own before others", {"lb": "10.0.0.{n}", "who": "203.0.113.{n}"}, "who"),
                               ("with a port", {"who": "203.0.113.{n}:4031{n}"}, "who/32/128"),
                               ("a server's is not", {"upstream_addr": "203.0.113.{n}", "who": "198.51.100.{n}"}, "who"),
                               ("a list", {"chain": "203.0.113.{n}, 10.0.0.1"}, "chain[-2]"),
                               ("the known name", {"who": "198.51.100.{n}", "remote_addr": "203.0.113.{n}"}, "ip"),
                               ("a client that is an application", {"client": "app-1.2", "who": "203.0.113.{n}"}, "who")):
            with self.subTest(what):
                rows = [{"time": 1_795_240_187 + n, **{name: value.format(n=n) for name, value in row.items()}} for n in range(9)]
                self.assertEqual(self.first_key(rows), key)


if __name__ == "__main__":
    run(300)
