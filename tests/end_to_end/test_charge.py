"""What happened outside: WEIR.CHARGE and /v1/charge."""
import time
import unittest

from server import Client, Error, OneServerWithLimits, until, run as run_tests

FILE = """\
version: 1
attributes: [model, user, account]
limits:
  login:  { by: [account], rate: 5/h burst 5, refunds: true }
  rpm:    { by: [model], rate: 300/min burst 10 }
  tpm:    { by: [model], rate: [1000/min burst 1000, 20000/d algorithm=fixed_window] }
  window: { by: [user], rate: 100/min algorithm=sliding_window_counter }
routes:
  - { when: { account: "*" }, limits: [login] }
  - { when: { model: "*" }, limits: [rpm, tpm] }
  - { limits: [window] }
"""


class TestCharge(OneServerWithLimits):
    limits = FILE
    flags = ("--http", "127.0.0.1:0")

    def setUp(self):
        super().setUp()
        self.key = self.id()

    def charge(self, *words):
        return self.client.ask("WEIR.CHARGE", *words)

    def fails(self, sentence, *words):
        self.assertEqual(self.charge(*words), Error(sentence))

    def test_it_is_charged_without_room_and_the_next_are_denied(self):
        self.assertEqual(self.charge(self.key, "1/h burst 4"), [1, 0, 0, 3_600_000, self.key.encode()])
        charged, owed, wait, reset, by = self.charge("COST", "7", self.key, "1/h burst 4")
        self.assertEqual((charged, owed, by), (7, 4, self.key.encode()))
        self.assertTrue(4.9 < wait / 3_600_000 <= 5 and 7.9 < reset / 3_600_000 <= 8, (wait, reset))
        self.assertEqual(self.client.ask("WEIR.THROTTLE", self.key, "1/h burst 4")[0], 1)

    def test_what_is_left_outside(self):
        self.assertEqual(self.charge("REMAINING", "1", self.key, "1/h burst 4")[:2], [3, 0])
        self.assertEqual(self.charge("remaining", "3", self.key, "1/h burst 4")[:2], [0, 0])
        self.assertEqual(self.client.ask("WEIR.THROTTLE", "COST", "0", self.key, "1/h burst 4")[2], 1)

    def test_by_the_file_all_limits_are_charged_and_the_longest_wait_is_told(self):
        self.assertEqual(self.charge("COST", "rpm=3,tpm=1500", "AS", "model=a")[0::4], [1500, b"tpm"])
        self.assertEqual(self.client.ask("WEIR.LOOK", "model=a")[0], 1)
        self.assertEqual(self.charge("AS", "model=b")[0::4], [1, b"rpm"], "the first of equals")

    def test_what_is_left_is_told_of_one_window(self):
        self.fails("ERR say which limit; the request meets rpm, tpm", "REMAINING", "3", "AS", "model=c")
        self.fails("ERR say which window; limit 'tpm' has 1min, 1d", "REMAINING", "3", "LIMIT", "tpm", "AS",
                   "model=c")
        self.fails("ERR limit 'tpm' has no such window; it has 1min, 1d", "REMAINING", "3", "LIMIT", "tpm",
                   "WINDOW", "1h", "AS", "model=c")
        self.assertEqual(self.charge("REMAINING", "3", "LIMIT", "tpm", "WINDOW", "day", "AS", "model=c")[0::4],
                         [19_997, b"tpm"])
        self.assertEqual(self.charge("REMAINING", "4", "LIMIT", "rpm", "AS", "model=c")[0::4], [6, b"rpm"])

    def test_nothing_that_applies(self):
        self.fails("ERR sliding_window_counter cannot be charged afterwards: gcra and fixed windows can", "AS",
                   "user=u")
        self.assertEqual(self.charge("LIMIT", "window", "AS", "model=d"), [0, 0, 0, 0, b""])

    def test_slots_are_passed_by(self):
        rules = self.key + ":slots", "in_flight=2", self.key, "1/s burst 5"
        self.assertEqual(self.charge("COST", "2", *rules), [2, 0, 0, 2000, self.key.encode()])
        self.assertEqual(self.charge("PAUSE", "60000", *rules)[2], 60_000)
        told = self.charge("k", "in_flight=2")
        self.assertIn("in_flight=2 is met by WEIR.RESERVE and WEIR.ACQUIRE alone", str(told))

    def test_wrong_words(self):
        form = ("the form is WEIR.CHARGE [COST n | REMAINING n | PAUSE ms [AFRESH]] [LIMIT name] [WINDOW period] [KEYS] "
                "key rule [key rule ...], or ... AS attribute=value ...")
        self.fails("ERR wrong number of arguments for 'weir.charge' command", "k")
        self.fails(f"ERR missing the rule of key 'z'; {form}", "k", "1/s", "z")
        self.fails("ERR COST: 'x' is not an integer from 0 to 9223372036854775807", "COST", "x", "k", "1/s")
        self.fails("ERR REMAINING: '-1' is not an integer from 0 to 9223372036854775807", "REMAINING", "-1", "k",
                   "1/s")
        self.fails("ERR COST is given twice", "COST", "1", "COST", "2", "k", "1/s")
        self.fails("ERR COST and REMAINING: it is one or the other", "COST", "1", "REMAINING", "2", "k", "1/s")
        for words in ("REMAINING", "2"), ("PAUSE", "2"):
            self.fails("ERR what remains, and a pause, are told of one key", *words, "k", "1/s", "j", "1/s")
        self.fails("ERR PAUSE: '86400001' is not an integer from 0 to 86400000", "PAUSE", "86400001", "k", "1/s")
        self.fails("ERR PAUSE: '30s' is not an integer from 0 to 86400000", "PAUSE", "30s", "k", "1/s")
        self.fails("ERR PAUSE is given twice", "PAUSE", "1", "PAUSE", "1", "k", "1/s")
        self.fails("ERR PAUSE and REMAINING: it is one or the other", "PAUSE", "1", "REMAINING", "1", "k", "1/s")
        self.fails("ERR COST and PAUSE: it is one or the other", "COST", "1", "PAUSE", "1", "k", "1/s")
        for length in "1", "0":
            self.fails("ERR fixed_window cannot be paused: only gcra can", "PAUSE", length, "k",
                       "1/s algorithm=fixed_window")
        self.fails("ERR LIMIT and WINDOW are for limits of the limits file, after AS", "LIMIT", "x", "k", "1/s")
        self.fails("ERR WINDOW: 'x' is not a period, as in 1min", "WINDOW", "x", "AS", "model=a")
        self.fails("ERR unknown limit 'x'; known: login, rpm, tpm, window", "LIMIT", "x", "AS", "model=a")
        self.fails("ERR COST by name is for limits of the limits file; of rules, each key costs the same", "COST",
                   "rpm=1", "k", "1/s")

    def test_what_lies_beyond_the_overdraft_is_dropped_and_counted(self):
        before = self.server.info()["overdraft_dropped_units"]
        self.assertEqual(self.charge("COST", "1000000", self.key, "1/s burst 10")[:2], [86_410, 86_400])
        self.assertEqual(int(self.server.info()["overdraft_dropped_units"]) - int(before), 1_000_000 - 86_410)
        # Whatever the product is, and on top of what is owed already.
        for units in 2 ** 62, 2 ** 63 - 1:
            self.assertIn(self.charge("COST", str(units), self.key, "1/s burst 10")[:2], ([0, 86_400], [1, 86_400]))
        self.assertEqual(self.charge("COST", str(2 ** 62), self.key + "/month", "5/month align=calendar")[:2],
                         [2 ** 32 - 1, 2 ** 32 - 6])
        self.fails(f"ERR COST: '{2 ** 63}' is not an integer from 0 to {2 ** 63 - 1}", "COST", str(2 ** 63), "k", "1/s")

    def test_more_than_the_burst_says_nothing(self):
        self.assertEqual(self.charge("COST", "3", self.key, "1/h burst 4")[0], 3)
        for left in 4, 5, 2 ** 62, 2 ** 63 - 1:
            self.assertEqual(self.charge("REMAINING", str(left), self.key, "1/h burst 4")[:2], [0, 0])
        self.assertEqual(self.client.ask("WEIR.THROTTLE", "COST", "0", self.key, "1/h burst 4")[2], 1)

    def test_who_was_told_a_moment_in_a_pause_begins_again(self):
        rule = "1/20s burst 1"
        self.client.ask("WEIR.THROTTLE", self.key, rule)
        first = self.client.ask("WEIR.RESERVE", "MAXWAIT", "60000", self.key, rule)[5].decode()
        last = self.client.ask("WEIR.RESERVE", "MAXWAIT", "60000", self.key, rule)[5].decode()
        charged, owed, wait, reset, by = self.charge("PAUSE", "3600000", self.key, rule)
        self.assertEqual(by, self.key.encode())
        self.assertTrue(0 <= 3_600_000 - wait < 1000 and wait == reset, (wait, reset))
        self.assertEqual([self.client.ask("WEIR.MOMENT", each) for each in (first, last)], [-1, -1])
        self.assertEqual(self.client.ask("WEIR.CANCEL", first), 0)
        self.assertEqual(self.client.ask("WEIR.MOMENT", "x"), -1)

    def test_a_pause_of_a_limit_is_of_its_windows_by_gcra(self):
        self.fails("ERR say which limit; the request meets rpm, tpm", "PAUSE", "1000", "AS", "model=p")
        self.assertEqual(self.charge("PAUSE", "60000", "LIMIT", "tpm", "AS", "model=p")[2::2], [60_000, b"tpm"])
        self.assertEqual(self.client.ask("WEIR.LOOK", "model=p")[0], 1)
        self.fails("ERR sliding_window_counter cannot be paused: only gcra can", "PAUSE", "1", "AS", "user=u")

    def test_afresh(self):
        login = "LIMIT", "login", "AS", "account=" + self.key
        self.charge("COST", "50", *login)
        self.assertEqual(self.charge("PAUSE", "300", "AFRESH", *login)[0::4], [0, b"login"])
        self.assertEqual(self.charge("pause", "400", "afresh", *login)[:2], [0, 0])
        self.assertEqual(self.client.ask("WEIR.LOOK", "account=" + self.key)[2], 0)
        until(lambda: self.client.ask("WEIR.LOOK", "account=" + self.key)[2] == 5, "as if never used")
        self.fails("ERR limit 'rpm' takes no pause afresh: it has to say refunds: true", "PAUSE", "1", "AFRESH",
                   "LIMIT", "rpm", "AS", "model=r")
        self.fails("ERR limit '1/s' takes no pause afresh: start weir with --allow-refunds", "PAUSE", "0", "AFRESH",
                   "k", "1/s")

    def test_afresh_over_http(self):
        asked = {"attributes": {"account": self.key}, "limit": "login", "pause": 30.5, "afresh": True}
        self.assertEqual(self.post("/v1/charge", asked), (200, {"charged": 0, "owed": 0, "wait": 30.5,
                                                                "reset_after": 30.5, "by": "login"}))
        for wrong in {"pause": 1, "afresh": "yes"}, {"afresh": True}:
            status, body = self.post("/v1/charge", {"key": self.key, "limit": "1/s", **wrong})
            self.assertEqual([each["pointer"] for each in body["errors"]], ["/afresh"])

    def test_an_acquire_waits_until_the_end_of_a_pause(self):
        rule = "1000/s burst 1"
        self.charge("PAUSE", "700", self.key, rule)
        before = time.monotonic()
        self.assertEqual(self.client.ask("WEIR.ACQUIRE", "MAXWAIT", "20000", self.key, rule)[0], 0)
        self.assertGreaterEqual(time.monotonic() - before, 0.6)

    def test_an_acquire_that_waits_moves(self):
        rule = "1/s burst 1"
        self.client.ask("WEIR.THROTTLE", self.key, rule)
        with Client(self.server.port) as waits, Client(self.server.port) as hurries:
            waits.send("WEIR.ACQUIRE", "MAXWAIT", "60000", self.key, rule)
            hurries.send("WEIR.ACQUIRE", "MAXWAIT", "2500", self.key, rule)
            until(lambda: self.server.info()["blocked_clients"] == "2", "both wait")
            before = time.monotonic()
            self.charge("PAUSE", "3000", self.key, rule)
            self.assertEqual(hurries.reply()[0], 1, "its moment is too late for it")
            self.assertEqual(waits.reply()[0], 0)
            self.assertGreaterEqual(time.monotonic() - before, 2.9)

    def test_a_pause_over_http(self):
        status, body = self.post("/v1/charge", {"key": self.key, "limit": "1/s burst 4", "pause": 30.5})
        self.assertEqual((status, body), (200, {"charged": 3, "owed": 0, "wait": 30.5, "reset_after": 33.5,
                                                "by": "limit"}))
        status, body = self.post("/v1/charge", {"key": self.key, "limit": "1/s burst 4", "pause": -1, "cost": 3, "remaining": 2})
        self.assertEqual([each["pointer"] for each in body["errors"]], ["/remaining", "/pause", "/pause", "/pause"])

    def test_over_http(self):
        status, body = self.post("/v1/charge", {"key": self.key, "limit": "1/s burst 4", "cost": 6})
        self.assertEqual((status, body), (200, {"charged": 6, "owed": 2, "wait": 3, "reset_after": 6, "by": "limit"}))
        status, body = self.post("/v1/charge", {"attributes": {"model": "h"}, "limit": "tpm", "window": "1d", "remaining": 1})
        self.assertEqual((status, body["charged"], body["by"]), (200, 19_999, "tpm"))
        status, body = self.post("/v1/charge", {"attributes": {"model": "h"}, "cost": {"rpm": 3, "tpm": 5000}})
        self.assertEqual((status, body["charged"], body["by"]), (200, 5000, "tpm"))

    def test_wrong_bodies(self):
        def errors(body):
            status, reply = self.post("/v1/charge", body)
            self.assertEqual(status, 400, reply)
            return [(each["pointer"], each["detail"]) for each in reply["errors"]]

        self.assertEqual(errors({"attributes": {"model": "h"}, "remaining": 1}),
                         [("/limit", "say which limit; the request meets rpm, tpm")])
        self.assertEqual(errors({"attributes": {"model": "h"}, "remaining": 1, "cost": 2, "window": "x"}),
                         [("/remaining", "cannot stand beside 'cost'"), ("/window", "must be a period, as in 1min")])
        self.assertEqual(errors({"key": "k", "limit": "1/s", "window": "1d"}),
                         [("/window", "is only for 'attributes'")])
        self.assertEqual(errors({"key": "k", "limit": "1/s", "max_wait": 1})[0][0], "/max_wait")


if __name__ == "__main__":
    run_tests()
