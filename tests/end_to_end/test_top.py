"""`weir top` and `weir ctl top|usage`: one or several servers, on a terminal and off it.

The servers are small ones that answer as docs/wire.md says, so that counts are known.
"""
import json
import os
import signal
import socket
import threading
import unittest

from ports import free_port
from server import WEIR, run, until, weir
from talker import Talker


def bulk(value):
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(map(bulk, value))
    if isinstance(value, int):
        return b":%d\r\n" % value
    data = value if isinstance(value, bytes) else value.encode()
    return b"$%d\r\n%s\r\n" % (len(data), data)


class Answers:
    """A server that answers each command by a function of its words; what it returns is a reply, or an error's text."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"weir://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as lines:
            while line := lines.readline():
                words = []
                for _ in range(int(line[1:])):
                    size = int(lines.readline()[1:])
                    words.append(lines.read(size + 2)[:-2].decode())
                self.asked.append(words)
                reply = self.answer(words)
                try:
                    connection.sendall(b"-" + reply.encode() + b"\r\n" if isinstance(reply, str) else bulk(reply))
                except OSError:
                    return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def top_of(rows, cost=()):
    """Answers WEIR.TOP with those rows: limit, key, count, error, and perhaps whether a ban denied it."""
    def answer(words):
        by = words[words.index("BY") + 1]
        told = cost if by == "cost" else rows
        others, banned = ([row for row in told if bool(row[4:]) is which] for which in (False, True))
        return [["by", by, "seconds", 84, "total", sum(row[2] for row in others), "keys", len(others),
                 "banned", sum(row[2] for row in banned)]] + [
            ["limit", row[0], "key", row[1], "count", row[2], "error", row[3], "banned", len(row[4:])] for row in told]
    return answer


ROWS = [("user", "user=42", 812, 3), ("user", b"user=\x1b[31m\xff", 99, 0), ("ip", "ip=192.0.2.1", 7, 1)]
COST = [("tenant", "tenant=acme", 123456, 500)]
OTHER = [("ip", "ip=192.0.2.1", 1000, 10), ("user", "user=42", 8, 0)]
BANNED = [("user", "user=42", 2127, 0, True)]
ADDED = [{"limit": "ip", "key": "ip=192.0.2.1", "count": 1007, "error": 11, "banned": False},
         {"limit": "user", "key": "user=42", "count": 820, "error": 3, "banned": False},
         {"limit": "user", "key": "user=\\x1b[31m\\xff", "count": 99, "error": 0, "banned": False}]


class TestOnce(unittest.TestCase):
    def setUp(self):
        self.one = self.enterContext(Answers(top_of(ROWS, COST)))
        self.two = self.enterContext(Answers(top_of(OTHER)))

    def test_a_table(self):
        for command in (("top", "--once"), ("top",), ("ctl", "top")):
            self.assertEqual(weir(*command, "--url", self.one.url), (0, (
                "COUNT  ERROR  WHAT    LIMIT  KEY\n"
                "812    3      denied  user   user=42\n"
                "99     0      denied  user   user=\\x1b[31m\\xff\n"
                "7      1      denied  ip     ip=192.0.2.1\n"), ""))
        self.assertEqual(weir("ctl", "top", "--port", self.one.port, "--by", "cost", "--limit", "tenant", "--count", "1"),
                         (0, "COUNT   ERROR  WHAT     LIMIT   KEY\n123456  500    charged  tenant  tenant=acme\n", ""))
        self.assertEqual(self.one.asked[-1], ["WEIR.TOP", "BY", "cost", "COUNT", "1024", "LIMIT", "tenant"])

    def test_several_servers_are_added_up(self):
        code, out, errors = weir("ctl", "top", "--json", "--url", self.one.url, "--url", self.two.url)
        told = json.loads(out)
        self.assertEqual((code, errors, told["by"]), (0, "", "denied"))
        self.assertEqual([{**row, "key": row["key"].replace("\x1b", "\\x1b").replace("\ufffd", "\\xff")} for row in told["top"]], ADDED)
        self.assertEqual(told["servers"][1], {"server": self.two.url[7:], "error": None, "seconds": 84, "total": 1008, "keys": 2,
                                              "banned": 0})

    def test_those_who_are_banned_are_rows_of_their_own(self):
        with Answers(top_of(ROWS[:1] + BANNED)) as one, Answers(top_of(BANNED)) as two:
            words = ("--url", one.url, "--url", two.url)
            self.assertEqual(weir("top", "--once", *words), (0, (
                "COUNT  ERROR  WHAT    LIMIT  KEY\n"
                "4254   0      banned  user   user=42\n"
                "812    3      denied  user   user=42\n"), ""))
            told = json.loads(weir("ctl", "top", "--json", *words)[1])
            self.assertEqual([(each["total"], each["banned"]) for each in told["servers"]], [(812, 2127), (0, 2127)])
            self.assertEqual([(row["count"], row["banned"]) for row in told["top"]], [(4254, True), (812, False)])

    def test_a_server_that_does_not_answer(self):
        nobody = f"weir://ann:s3cret@127.0.0.1:{free_port()}"
        code, out, errors = weir("top", "--once", "--url", nobody, "--url", self.two.url)
        self.assertEqual((code, out.splitlines()[1]), (0, "1000   10     denied  ip     ip=192.0.2.1"))
        self.assertRegex(errors, r"^weir: 127\.0\.0\.1:\d+: cannot connect to .*\n$")
        self.assertNotIn("s3cret", errors)
        self.assertEqual(weir("top", "--once", "--url", nobody)[:2], (2, ""))

    def test_one_that_refuses(self):
        with Answers(lambda words: "NOPERM ann has the role decide; WEIR.TOP needs operate") as refuses:
            code, out, errors = weir("ctl", "top", "--url", refuses.url)
            self.assertEqual((code, out), (1, ""))
            self.assertIn(": refused: NOPERM ann has the role decide", errors)
            code, out, errors = weir("ctl", "usage", "--url", refuses.url, "user", "user=1")
            self.assertEqual((code, out), (1, ""))
            self.assertIn("weir: refused: NOPERM ann", errors)

    def test_no_message_has_a_password(self):
        with Answers(lambda words: b"OK" if words[0] == "AUTH" else "ERR no s3cret for you") as evil:
            url = evil.url.replace("//", "//ann:s3%63ret@")
            for command in (("top", "--once"), ("ctl", "usage", "user", "user=1"), ("ctl", "overrides")):
                code, out, errors = weir(*command, "--url", url)
                self.assertEqual((code, out), (1, ""))
                self.assertIn("no *** for you", errors)
            self.assertEqual(evil.asked[0], ["AUTH", "ann", "s3cret"])

    def test_nonsense(self):
        for count in ("0", "1025", "x"):
            code, out, errors = weir("top", "--once", "--count", count, "--url", self.one.url)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("count", errors)
        self.assertIn("every: '1'", Talker([WEIR, "top", "--every", "1", "--url", self.one.url]).ends()[1])
        with Answers(lambda words: [["x"]]) as odd:
            for command in (("top", "--once"), ("ctl", "usage", "user", "user=1")):
                code, out, errors = weir(*command, "--url", odd.url)
                self.assertEqual((code, out), (2, ""))
                self.assertIn("this is not a weir server", errors)


class TestUsage(unittest.TestCase):
    WINDOWS = [["limit", "tenant", "window", "1s", "key", "tenant=acme", "used", 8, "last", 90, "began", "2026-11-26T07:00:00.000Z",
                "ends", "2026-11-26T07:01:00.000Z"],
               ["limit", "tenant", "window", "1d", "key", "tenant=acme", "used", 812, "last", 9001, "began", "2026-11-26T00:00:00.000Z",
                "ends", "2026-11-27T00:00:00.000Z"]]

    def test_one_and_several(self):
        with Answers(lambda words: [*self.WINDOWS, ["hours", list(range(24))]]) as one:
            words = ("ctl", "usage", "--url", one.url, "tenant", "tenant=acme")
            code, out, errors = weir(*words)
            self.assertEqual((code, errors), (0, ""))
            self.assertEqual(out.splitlines()[0].split(), ["WINDOW", "USED", "LAST", "BEGAN", "ENDS"])
            self.assertEqual(out.splitlines()[2].split()[:3], ["1d", "812", "9001"])
            self.assertEqual(out.splitlines()[3], "the last 24 hours, the oldest first: " + " ".join(map(str, range(24))))
            self.assertEqual(one.asked[-1], ["WEIR.USAGE", "LIMIT", "tenant", "AS", "tenant=acme"])
            code, out, errors = weir(*words, "--json", "--url", one.url)
            told = [json.loads(line) for line in out.splitlines()]
            self.assertEqual((len(told), told[0]["server"], told[0]["limit"], told[0]["key"]), (2, one.url[7:], "tenant", "tenant=acme"))
            self.assertEqual(told[0]["windows"][1], {"window": "1d", "used": 812, "last": 9001, "began": "2026-11-26T00:00:00.000Z",
                                                     "ends": "2026-11-27T00:00:00.000Z"})
            self.assertEqual(told[0]["hours"], list(range(24)))
            code, out, errors = weir(*words, "--url", f"weir://127.0.0.1:{free_port()}")
            self.assertEqual((code, errors.count("\n")), (2, 1))
            self.assertIn("1d", out)


ENTER, LEAVE = "\x1b[?1049h", "\x1b[?7h\x1b[?25h\x1b[?1049l"


class TestLive(unittest.TestCase):
    def setUp(self):
        self.rows = list(ROWS)
        self.one = self.enterContext(Answers(lambda words: top_of(self.rows, COST)(words)))

    def start(self, *words, **options):
        self.top = Talker([WEIR, "top", "--every", "100ms", "--url", self.one.url, *words], **options)
        self.before = self.top.before
        self.top.shows(ENTER)
        return self.top

    def ends(self, code):
        got, rest = self.top.ends()
        self.assertEqual(got, code, rest)
        self.assertTrue(rest.endswith(LEAVE), rest)

    def test_keys(self):
        top = self.start()
        screen = top.shows("filter\x1b[K")
        screen += top.shows("user=42\x1b[K\r\n")
        self.assertNotRegex(screen, "\x1b\\[(1|31)m")
        top.shows("user=\\x1b[31m\\xff")
        self.rows[0] = ("user", "user=42", 4711, 3)
        top.shows(" 4711 ")
        top.types("c")
        top.shows("cost 123456 in 84 s")
        top.types("d\x1b[A\x1b[B")
        top.shows("denied 4817 in 84 s")
        self.rows.extend(BANNED)
        top.shows("denied 4817, banned 2127 in 84 s")
        top.shows(" 2127      0  banned   user ")
        self.rows.remove(BANNED[0])
        top.types("/ipq\x7f")
        top.shows("filter: ip_")
        screen = top.shows("filter: ip_")
        self.assertNotIn("user=42", screen)
        self.assertIn("ip=192.0.2.1", screen)
        top.types("\r")
        top.shows("/ filter: ip")
        top.types("\x1b")
        top.shows("user=42")
        top.types("q")
        self.ends(0)

    def test_ctrl_c_and_signals_restore_the_terminal(self):
        for typed, number, code in (("\x03", None, 0), (None, signal.SIGINT, 0), (None, signal.SIGTERM, -signal.SIGTERM),
                                    (None, signal.SIGHUP, -signal.SIGHUP), (None, signal.SIGSEGV, -signal.SIGSEGV)):
            top = self.start()
            top.shows("q quit")
            until(lambda: top.modes() != self.before, "the terminal reads keys")
            if typed:
                top.types(typed)
            else:
                os.kill(top.pid, number)
            top.shows(LEAVE)
            until(lambda: top.modes() == self.before, "the terminal is as it was")
            self.assertEqual(top.ends()[0], code)

    def test_stopped_and_continued(self):
        """By a shell: nobody else would continue it."""
        shell = Talker(["bash", "--norc", "--noprofile", "-i"], PS1="ready> ")
        for _ in range(2):
            shell.shows("ready> ")
            shell.types(f"{WEIR} top --url {self.one.url}\n")
            shell.shows(ENTER)
            shell.shows("q quit")
            shell.types("\x1a")
            shell.shows(LEAVE)
            shell.shows("Stopped")
            shell.shows("ready> ")
            shell.types("stty -a\n")
            self.assertRegex(shell.shows("ready> "), r"(?s)[^-]icanon.*[^-]echo ")
            shell.types("fg\n")
            shell.shows(ENTER)
            shell.shows("q quit")
            shell.types("q")
            shell.shows(LEAVE)
        shell.shows("ready> ")
        shell.types("exit\n")
        self.assertEqual(shell.ends()[0], 0)

    def test_narrow_low_and_resized(self):
        long = "user=" + "\u00e4" * 300
        self.rows.insert(0, ("a-limit-with-a-long-name", long, 9999, 1))
        top = self.start(columns=40, rows=10)
        top.shows("\u00e4")
        screen = top.shows("\x1b[H") + top.shows("\x1b[H")
        lines = [line.split("\x1b[K")[0] for line in screen.split("\x1b[H")[1].split("\r\n")]
        self.assertTrue(all(len(line) <= 40 for line in lines), lines)
        self.assertLessEqual(len(lines), 10)
        self.assertIn(" 9999  denied   a-limit-wi  user=\u00e4", screen)
        top.resize(100, 24)
        top.shows("a-limit-with-a-long-name")
        for size in ((1, 1), (2, 2), (3, 5), (200, 60)):
            top.resize(*size)
            top.shows("\x1b[H")
        top.types("q")
        self.ends(0)

    def test_a_server_that_is_away_and_comes(self):
        port = free_port()
        top = self.start("--url", f"weir://ann:s3cret@127.0.0.1:{port}")
        screen = top.shows("1 of 2 servers") + top.shows(f"127.0.0.1:{port}: cannot connect") + top.shows("user=42")
        self.assertNotIn("s3cret", screen)
        top.types("q")
        self.ends(0)

    def test_one_that_hangs_holds_up_nobody(self):
        hangs = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        top = self.start("--url", f"weir://127.0.0.1:{hangs.getsockname()[1]}", "--timeout", "60s")
        top.shows("user=42")
        top.types("q")
        self.ends(0)

    def test_a_terminal_that_takes_nothing_holds_up_no_signal(self):
        self.rows[:] = [("user", f"{i}" * 100, 1000 - i, 0) for i in range(100)]
        top = self.start(columns=200, rows=100)
        until(lambda: len(self.one.asked) > 2, "more has been written than a terminal keeps")
        os.kill(top.pid, signal.SIGTERM)
        until(lambda: os.waitid(os.P_PID, top.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), "it has ended")
        self.assertEqual(top.ends()[0], -signal.SIGTERM)

    def test_colors(self):
        top = self.start(NO_COLOR="")
        top.shows("\x1b[1m")
        top.types("q")
        self.ends(0)
        self.assertNotIn(ENTER, Talker([WEIR, "top", "--url", self.one.url], TERM="dumb").ends()[1])


if __name__ == "__main__":
    run()
