"""Virtual time: `weir local --virtual-time` and WEIR.TIME. No test here waits for a time, and none can be late."""
import concurrent.futures
import contextlib
import os
import random
import select
import time
import unittest

from chance import seeds
from ports import free_port
from server import PATIENCE, Client, Closed, Error, Folder, Server, encode, run as run_tests, until, weir

DAY = 86_400_000
ONLY = Error("ERR time can be advanced only under weir local --virtual-time")
FILE = """\
version: 1
classes: [default, bulk]
attributes: [user, api]
limits:
  login: { by: [user], rate: 2/h burst 2, penalty: 15m }
  grows: { by: [user], rate: 1/min burst 1, penalty: { for: 15m, growing: 2, most: 24h } }
  daily: { by: [user], rate: 3/day align=calendar tz=Europe/Berlin }
  tried: { by: [user], rate: 1/day burst 1, shadow: until 2026-04-01 }
  calls: { by: [api], rate: 60/min burst 1, in_flight: 1, max_wait: 60s, hold: { ttl: 10s } }
  shared: { by: [api], rate: 10/s burst 10, leave: { bulk: 50% } }
routes:
  - { when: { api: shared }, limits: [shared] }
  - { when: { api: "*" }, limits: [calls] }
  - { when: { user: "login*" }, limits: [login] }
  - { when: { user: "tried*" }, limits: [tried] }
  - { when: { user: "grows*" }, limits: [grows] }
  - { limits: [daily] }
"""


class Virtual(unittest.TestCase):
    """Each test has a server of its own, whose clocks stand still at the evening of a day of 23 hours."""

    now = "2026-03-28T20:00:00Z"

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.file = self.folder.file("limits.yaml", FILE)
        self.path = self.start("--limits", self.file, "--now", self.now)
        self.client = self.connect()
        self.waiters = 0

    def start(self, *args):
        code, out, err = weir("local", "--virtual-time", *args, env={"XDG_RUNTIME_DIR": self.folder.path}, timeout=3 * PATIENCE)
        self.assertEqual((code, err), (0, ""))
        self.addCleanup(self.end, out[:-1])
        return out[:-1]

    def end(self, path):
        with contextlib.suppress(OSError, Closed), Client(path) as client:
            client.send("SHUTDOWN", "NOSAVE")
            client.rest()
        until(lambda: not os.path.exists(path), "its end")

    def connect(self):
        client = Client(self.path)
        self.addCleanup(client.close)
        return client

    def ask(self, words):
        return self.client.ask(*words.split())

    def advance(self, ms):
        answer = self.client.ask("WEIR.TIME", "ADVANCE", ms)
        self.assertIsInstance(answer, list, answer)
        return answer

    def waiting(self, *words):
        """A connection whose acquire waits, and then says when it has acted."""
        client = self.connect()
        client.send_bytes(encode("WEIR.ACQUIRE", *words) + encode("WEIR.TIME"))  # in one read
        self.waiters += 1
        until(lambda: f"blocked_clients:{self.waiters}\r\n" in self.client.ask("INFO", "clients").decode(), "it waits")
        return client

    def acted(self, client):
        """What it is told is there already: its answer, and at how many ms since the start it came."""
        self.assertTrue(select.select([client.socket], [], [], 0)[0], "it was told before the answer to ADVANCE")
        return client.reply(), client.reply()[1]


class TestTime(Virtual):
    def test_it_stands_still(self):
        self.assertEqual(self.ask("WEIR.TIME"), [1, 0, b"2026-03-28T20:00:00.000Z"])
        self.ask("WEIR.THROTTLE COST 5 k 100/s")
        time.sleep(0.05)  # five units of it
        self.assertEqual(self.ask("WEIR.THROTTLE COST 0 k 100/s"), [0, 100, 95, -1, 50, b"k"])
        self.assertEqual(self.ask("WEIR.TIME"), [1, 0, b"2026-03-28T20:00:00.000Z"])
        self.assertEqual(self.ask("TIME"), [b"1774728000", b"0"])

    def test_all_goes_on_together(self):
        self.ask("WEIR.THROTTLE COST 5 k 5/5s")
        self.assertEqual(self.advance(1), [1, 1, b"2026-03-28T20:00:00.001Z"])
        self.assertEqual(self.ask("WEIR.THROTTLE k 5/5s"), [1, 5, 0, 999, 4999, b"k"])
        self.assertEqual(self.advance(1000)[1], 1001)
        self.assertEqual(self.ask("WEIR.THROTTLE k 5/5s")[0], 0)
        self.assertEqual(self.advance(366 * DAY), [1, 1001 + 366 * DAY, b"2027-03-29T20:00:01.001Z"])
        self.assertEqual(self.ask("WEIR.THROTTLE COST 0 k 5/5s")[2:], [5, -1, 0, b"k"])

    def test_how_far(self):
        for wrong in ("0", "-1", "x", str(366 * DAY + 1), "1.5", ""):
            self.assertEqual(self.client.ask("WEIR.TIME", "ADVANCE", wrong),
                             Error(f"ERR ms: '{wrong}' is not an integer from 1 to {366 * DAY}"))
        for _ in range(99):
            self.advance(366 * DAY)
        self.assertEqual(self.advance(291 * DAY)[1], 36_525 * DAY)
        self.assertEqual(self.client.ask("WEIR.TIME", "ADVANCE", "1"),
                         Error("ERR virtual time goes no further than 100 years from its start"))
        self.assertEqual(self.ask("WEIR.THROTTLE k 1/day")[:3], [0, 1, 0])

    def test_the_words(self):
        self.assertEqual(self.ask("WEIR.TIME ADVANCE"), Error("ERR wrong number of arguments for 'weir.time|advance' command"))
        self.assertEqual(self.ask("WEIR.TIME ADVANCE 1 2"), Error("ERR wrong number of arguments for 'weir.time|advance' command"))
        self.assertEqual(self.ask("WEIR.TIME BACK 1"), Error("ERR unknown subcommand 'BACK'"))
        self.assertEqual(self.ask("MULTI"), "OK")
        for words in ("WEIR.THROTTLE m 1/s", "WEIR.TIME ADVANCE 1000", "weir.throttle m 1/s", "WEIR.TIME"):
            self.assertEqual(self.ask(words), "QUEUED")
        one, time_then, two, last = self.ask("EXEC")
        self.assertEqual((one[0], two[0], time_then[1], last), (0, 0, 1000, time_then))

    def test_several_at_once_each_have_their_part(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            times = list(pool.map(lambda client: client.ask("WEIR.TIME", "ADVANCE", 1000)[1], [self.connect() for _ in range(8)]))
        self.assertEqual(sorted(times), [1000 * n for n in range(1, 9)])

    def test_elsewhere_it_only_tells(self):
        with Server("--http", "127.0.0.1:0") as server, server.client() as client:
            virtual, ms, wall = client.ask("WEIR.TIME")
            self.assertEqual(virtual, 0)
            self.assertGreaterEqual(ms, 0)
            self.assertRegex(wall.decode(), r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ$")
            self.assertEqual(client.ask("WEIR.TIME", "ADVANCE", 5), ONLY)
            self.assertEqual(client.ask("WEIR.TIME", "ADVANCE", "x"), ONLY)


class TestServers(Virtual):
    def test_each_is_new_and_nobody_joins(self):
        self.assertNotEqual(self.start("--limits", self.file), self.path)
        own = self.folder.file("own.sock")
        self.assertEqual(self.start("--socket", own), own)
        code, out, err = weir("local", "--virtual-time", "--socket", own, env={"XDG_RUNTIME_DIR": self.folder.path})
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(err, f"weir: local: '{own}' is another server's, and with --virtual-time nobody joins one\n")

    def test_the_clock_of_the_machine_unless_said(self):
        before = time.time()
        with Client(self.start()) as client:
            started = int(client.ask("TIME")[0])
        self.assertTrue(before - 1 <= started <= time.time(), (before, started))

    def test_it_ends_by_the_real_clock_and_leaves_nothing(self):
        path = self.start("--idle", "200ms")
        with Client(path) as client:
            client.ask("WEIR.TIME", "ADVANCE", DAY)
            self.assertEqual(client.ask("PING"), "PONG")
        until(lambda: not any(each.startswith(os.path.basename(path)[:-5]) for each in os.listdir(os.path.dirname(path))),
              "its end, and that of its files")

    def test_half_a_command_stalls_by_the_real_clock(self):
        half = self.connect()
        half.send_bytes(b"*1\r\n$4\r\nPI")
        self.advance(DAY)
        time.sleep(1.2)  # it is looked at each second
        half.send_bytes(b"NG\r\n")
        self.assertEqual(half.reply(), "PONG")

    def test_who_waits_is_answered_when_it_ends(self):
        self.ask("WEIR.THROTTLE k 1/min")
        waiter = self.waiting("MAXWAIT", 60000, "k", "1/min")
        self.client.send("SHUTDOWN", "NOSAVE")
        self.assertEqual(waiter.reply(), Error("ERR the server is shutting down"))


class TestDue(Virtual):
    def test_acquires_act_in_order_each_at_its_moment(self):
        self.ask("WEIR.THROTTLE k 1/s")
        waiters = [self.waiting("MAXWAIT", 60000, "k", "1/s") for _ in range(5)]
        self.advance(999)
        self.assertFalse(select.select([each.socket for each in waiters], [], [], 0.05)[0], "none is due")
        self.advance(1)
        self.assertEqual(self.acted(waiters[0])[1], 1000)
        self.advance(10_000)
        self.assertEqual([self.acted(each)[1] for each in waiters[1:]], [2000, 3000, 4000, 5000])

    def test_what_acts_may_wait_again(self):
        self.ask("WEIR.THROTTLE k 1/s")
        client = self.connect()
        client.send_bytes(encode("WEIR.ACQUIRE", "MAXWAIT", 5000, "k", "1/s") * 20 + encode("WEIR.TIME"))
        until(lambda: "blocked_clients:1\r\n" in self.client.ask("INFO", "clients").decode(), "it waits")
        self.advance(25_000)
        self.assertEqual([client.reply()[0] for _ in range(20)], [0] * 20)
        self.assertEqual(client.reply()[1], 20_000)

    def test_a_hold_that_ends_frees_its_slot(self):
        words = ("MAXWAIT", "60000", "AS", "api=a")
        self.assertEqual(self.client.ask("WEIR.ACQUIRE", *words)[0], 0)
        waiters = [self.waiting(*words) for _ in range(3)]
        self.advance(9_999)
        self.assertFalse(select.select([each.socket for each in waiters], [], [], 0.05)[0])
        self.advance(60_000)
        self.assertEqual([self.acted(each)[1] for each in waiters], [10_000, 20_000, 30_000])

    def test_a_slot_that_is_given_back_is_had_at_the_same_moment(self):
        held = self.client.ask("WEIR.RESERVE", "AS", "api=a")[5]
        waiter = self.waiting("MAXWAIT", "60000", "AS", "api=a")
        self.advance(2000)
        self.client.ask("WEIR.SETTLE", held)
        self.assertEqual(waiter.reply()[0], 0)
        self.assertEqual(waiter.reply()[1], 2000)

    def test_a_wait_that_ends_in_vain(self):
        self.client.ask("WEIR.RESERVE", "AS", "api=a")
        waiter = self.waiting("MAXWAIT", "5000", "AS", "api=a")
        self.advance(7000)
        answer, at = self.acted(waiter)
        self.assertEqual((answer[0], at), (1, 5000))

    def test_a_class_that_leaves_room_waits_for_it(self):
        self.ask("WEIR.CHECK COST 10 api=shared")
        waiter = self.waiting("MAXWAIT", "60000", "CLASS", "bulk", "AS", "api=shared")
        self.advance(10_000)
        self.assertEqual(self.acted(waiter)[1], 600, "half of ten and one more at ten a second")

    def test_a_moment_comes_nearer(self):
        self.ask("WEIR.THROTTLE k 1/min")
        name = self.ask("WEIR.RESERVE MAXWAIT 60000 k 1/min")[5]
        self.advance(15_000)
        self.assertEqual(self.client.ask("WEIR.MOMENT", name), 45_000)
        self.advance(45_000)
        self.assertEqual(self.client.ask("WEIR.MOMENT", name), 0)
        self.assertEqual(self.client.ask("WEIR.CANCEL", name), 0)

    def test_a_pause_and_a_penalty_end(self):
        self.ask("WEIR.CHARGE PAUSE 30000 k 1/s")
        self.advance(29_999)
        self.assertEqual(self.ask("WEIR.THROTTLE k 1/s")[0::3], [1, 1])
        self.advance(1)
        self.assertEqual(self.ask("WEIR.THROTTLE k 1/s")[0], 0)
        for denied in (0, 0, 1):
            self.assertEqual(self.ask("WEIR.CHECK user=login")[0], denied)
        rest = self.ask("WEIR.LOOK user=login")[3]
        self.advance(rest - 1)
        self.assertEqual(self.ask("WEIR.LOOK user=login")[0::3][:2], [1, 1])
        self.advance(1)
        self.assertEqual(self.ask("WEIR.CHECK user=login")[0], 0)

    def test_a_penalty_grows_to_a_day_and_is_forgotten(self):
        minute = 60_000
        for minutes in (15, 30, 60, 120, 240, 480, 960, 1440, 1440):
            self.assertEqual(self.ask("WEIR.CHECK user=grows")[0], 0)
            self.assertEqual(self.ask("WEIR.CHECK user=grows")[0::3][:2], [1, minutes * minute])
            self.advance(minutes * minute)
        self.advance(2 * DAY)
        self.assertEqual(self.ask("WEIR.CHECK user=grows")[0], 0)
        # It counted eight after the ninth breach, and three days have passed since.
        self.assertEqual(self.ask("WEIR.CHECK user=grows")[3], 480 * minute)
        self.advance(12 * DAY)
        self.assertEqual(self.ask("WEIR.CHECK user=grows")[0], 0)
        self.assertEqual(self.ask("WEIR.CHECK user=grows")[3], 15 * minute)

    def test_a_hold_is_settled_in_time_or_not(self):
        early = self.ask("WEIR.RESERVE COST 5 HOLD 1000 k 5/h")[5]
        self.advance(999)
        self.assertGreaterEqual(self.client.ask("WEIR.SETTLE", early, 1), 0)
        late = self.ask("WEIR.RESERVE COST 4 HOLD 1000 k 5/h")[5]
        self.advance(1000)
        self.assertEqual(self.client.ask("WEIR.SETTLE", late, 1), -1)


class TestWallClock(Virtual):
    def test_windows_of_the_calendar(self):
        for _ in range(3):
            self.assertEqual(self.ask("WEIR.CHECK user=a")[0], 0)
        denied = self.ask("WEIR.CHECK user=a")
        self.assertEqual(denied[3], 3 * 3_600_000, "midnight in Berlin is 23:00Z in winter")
        self.advance(denied[3])
        self.assertEqual([self.ask("WEIR.CHECK user=a")[0] for _ in range(4)], [0, 0, 0, 1])
        self.assertEqual(self.ask("WEIR.CHECK user=a")[3], 23 * 3_600_000, "the day on which summer time begins")

    def test_dates_of_the_limits_file(self):
        self.assertEqual([self.ask("WEIR.CHECK user=tried")[0] for _ in range(3)], [0, 0, 0], "in shadow")
        self.advance(4 * DAY)
        self.assertEqual([self.ask("WEIR.CHECK user=tried2")[0] for _ in range(2)], [0, 1])


OTHERS = Error("ERR another connection has begun tests here, whose states this would take away; let one process at a time run "
               "tests: pytest -n 0, vitest --no-file-parallelism, go test -p 1")


class TestReset(Virtual):
    """WEIR.TIME RESET: as if the server had just begun."""

    def trace(self, seed):
        """What is told of a day of questions by chance, but for what is made up by chance there."""
        chance = random.Random(seed)
        rules = ("5/min", "2/h burst 3", "3/10s algorithm=fixed_window", "4/min algorithm=sliding_window_counter",
                 "3/day align=calendar tz=Europe/Berlin", "2/min algorithm=fixed_window align=clock")
        told, ids = [], [b"none"]
        for _ in range(120):
            key, rule = f"k{chance.randrange(3)}", chance.choice(rules)
            who = chance.choice(("user=login1", "user=grows1", "user=tried1", "user=x", "api=shared", "user=y"))
            words = chance.choice((
                ("WEIR.THROTTLE", "COST", chance.randrange(4), key + rule[-6:], rule), ("WEIR.CHECK", who), ("WEIR.LOOK", who),
                ("WEIR.RESERVE", "MAXWAIT", 60_000, "HOLD", 5000, key, "5/min"), ("WEIR.RESERVE", "AS", "api=a"),
                ("WEIR.CHARGE", "COST", 2, "AS", who), ("WEIR.CHARGE", "PAUSE", 900, "K" + key, "5/min"),
                ("WEIR.SETTLE", ids[-1]), ("WEIR.CANCEL", ids[0]), ("WEIR.TIME", "ADVANCE", chance.choice((1, 700, 40_000, 7_200_000))),
                ("WEIR.BAN", "LIMIT", "daily", "FOR", 60_000, "REASON", "x", "AS", "user=y"), ("WEIR.OVERRIDES",),
                ("WEIR.TOP",), ("WEIR.USAGE", "LIMIT", "daily", "AS", "user=x"), ("DBSIZE",)))
            answer = self.client.ask(*words)
            if words[0] == "WEIR.RESERVE" and isinstance(answer, list) and answer[5]:
                ids.append(answer[5])
                answer[5] = b"an id"
            if words[0] == "WEIR.BAN":
                answer = isinstance(answer, int)
            if words[0] == "WEIR.OVERRIDES":
                answer = [row[2:] for row in answer]
            told.append((words[0], answer))
        return told

    def test_all_is_forgotten(self):
        for seed in seeds(4):
            with self.subTest(seed=seed):
                self.assertEqual(self.ask("WEIR.TIME RESET"), [1, 0, b"2026-03-28T20:00:00.000Z"])
                first = self.trace(seed)
                self.assertEqual(self.ask("WEIR.TIME RESET")[1], 0)
                self.assertEqual(self.trace(seed), first)

    def test_who_waits_is_denied(self):
        self.ask("WEIR.THROTTLE k 1/min")
        waits = self.waiting("MAXWAIT", 60_000, "k", "1/min")
        self.ask("WEIR.TIME RESET")
        answer = waits.reply()
        self.assertEqual(answer[0], 1)
        self.assertEqual(self.ask("WEIR.THROTTLE k 1/min")[0], 0)
        self.assertIn("blocked_clients:0\r\n", self.client.ask("INFO", "clients").decode())

    def test_one_connection_at_a_time(self):
        other = self.connect()
        self.assertEqual(self.ask("WEIR.TIME RESET")[1], 0)
        self.ask("WEIR.THROTTLE k 1/min")
        for words in (("WEIR.TIME", "RESET"), ("WEIR.CONFIG", "SET", FILE)):
            self.assertEqual(other.ask(*words), OTHERS)
        self.assertEqual(self.ask("WEIR.THROTTLE k 1/min")[0], 1, "nothing is forgotten")
        self.client.close()
        until(lambda: other.ask("WEIR.TIME", "RESET") != OTHERS, "the other has gone")
        self.client = other
        self.assertEqual(self.ask("WEIR.THROTTLE k 1/min")[0], 0)

    def test_over_tcp(self):
        port = free_port()
        self.path = self.start("--resp", f"127.0.0.1:{port}", "--now", self.now)
        with Client(port) as other:
            other.ask("WEIR.THROTTLE", "k", "1/h")
            self.assertEqual(other.ask("WEIR.TIME", "RESET"), [1, 0, b"2026-03-28T20:00:00.000Z"])
            self.assertEqual(other.ask("WEIR.THROTTLE", "k", "1/h")[0], 0)
        code, _, errors = weir("local", "--virtual-time", "--resp", "0.0.0.0:0", env={"XDG_RUNTIME_DIR": self.folder.path})
        self.assertEqual(code, 2)
        self.assertIn("or --insecure to serve anyone who can reach it", errors)

    def test_the_words(self):
        self.assertEqual(self.ask("WEIR.TIME RESET 1"), Error("ERR wrong number of arguments for 'weir.time|reset' command"))
        with Server() as server, server.client() as client:
            self.assertEqual(client.ask("WEIR.TIME", "RESET"),
                             Error("ERR time can go back to the start only under weir local --virtual-time"))


class TestLimitsOfATest(Virtual):
    """WEIR.CONFIG SET: a test brings its limits."""

    SMALL = "version: 1\nlimits: { user: { by: [user], rate: %s } }\n"

    def test_they_take_the_place_of_the_file(self):
        self.assertEqual(self.client.ask("WEIR.CONFIG", "SET", self.SMALL % "1/h"), "OK")
        self.assertEqual([self.ask("WEIR.CHECK user=a")[0] for _ in range(2)], [0, 1])
        self.assertEqual(self.client.ask("WEIR.CONFIG", "GET"), (self.SMALL % "1/h").encode())
        answer = self.client.ask("WEIR.CONFIG", "SET", self.SMALL % "1/m")
        self.assertIn(": limits.user.rate: quota '1/m': 'm' may be minutes or months", str(answer))
        self.assertEqual(self.ask("WEIR.CHECK user=a")[0], 1, "what was in force stays")
        self.assertEqual(self.ask("WEIR.CONFIG RELOAD"), "OK")
        self.assertEqual(self.client.ask("WEIR.CONFIG", "SET", self.SMALL % "3/h"), "OK")
        self.assertEqual(self.ask("WEIR.CHECK user=a")[:3], [0, 3, 1])
        self.ask("WEIR.TIME RESET")
        self.assertEqual(self.ask("WEIR.CHECK user=a")[:3], [0, 3, 2], "they stay")

    def test_new_numbers_act_on_all_who_come_after_them(self):
        """What is owed now is recounted in units, and those that were told a moment keep it and their units."""
        rate, ask = "version: 1\nlimits: { api: { by: [api], rate: %s burst 1, max_wait: 10s } }\n", "WEIR.RESERVE AS api=x"
        self.assertEqual(self.client.ask("WEIR.CONFIG", "SET", rate % "60/min"), "OK")
        told = [self.ask(ask) for _ in range(6)]
        self.assertEqual([row[3] for row in told], [0, 1000, 2000, 3000, 4000, 5000])
        self.assertEqual(self.client.ask("WEIR.CONFIG", "SET", rate % "600/min"), "OK")
        between = [*range(100, 1000, 100), *range(1100, 2000, 100), 2100]  # all but those that are told
        self.assertEqual([self.ask(ask)[3] for _ in between], between)
        self.assertEqual(self.client.ask("WEIR.CONFIG", "SET", rate % "1/min"), "OK")
        # After what is owed by then: 6 + 19 units, of a minute each.
        denied = self.ask(ask)
        self.assertEqual((denied[0], denied[3]), (1, 25 * 60_000 - 10_000))
        self.assertEqual(self.ask("WEIR.CANCEL " + told[4][5].decode()), 1)
        self.assertEqual(self.ask(ask)[3], 24 * 60_000 - 10_000)

    def test_where_there_is_no_file(self):
        self.path = self.start()
        self.client = self.connect()
        none = Error("ERR there is no limits file: start weir with --limits FILE")
        for words in ("WEIR.CHECK user=a", "WEIR.CONFIG GET", "WEIR.CONFIG CHECK", "WEIR.CONFIG RELOAD", "WEIR.OVERRIDES",
                      "WEIR.EXPLAIN user=a"):
            self.assertEqual(self.ask(words), none, words)
        self.assertIn("limits.yaml:1:1: ", str(self.client.ask("WEIR.CONFIG", "SET", "limits: {}\n")))
        self.assertEqual(self.ask("WEIR.CHECK user=a"), none)
        self.assertEqual(self.client.ask("WEIR.CONFIG", "SET", self.SMALL % "1/h"), "OK")
        self.assertEqual([self.ask("WEIR.CHECK user=a")[0] for _ in range(2)], [0, 1])
        self.assertIsInstance(self.ask("WEIR.BAN LIMIT user FOR 60000 REASON x AS user=b"), int)
        self.assertEqual(self.ask("WEIR.CHECK user=b")[:2], [1, 0])
        self.advance(60_001)
        self.assertEqual(self.ask("WEIR.CHECK user=b")[:2], [0, 1])
        self.assertIsInstance(self.ask("WEIR.BAN LIMIT user FOR 60000 REASON x AS user=c"), int)
        self.ask("WEIR.TIME RESET")
        self.assertEqual([self.ask(f"WEIR.CHECK user={who}")[0] for who in "abc"], [0, 0, 0])


if __name__ == "__main__":
    run_tests()
