"""Reservations over RESP: charge now, act when the moment comes."""
import http.client
import json
import shlex
import time
import unittest

from server import Error, Folder, OneServer, OneServerWithLimits, Server, until, weir
from server import run as run_tests

FILE = """\
version: 1
classes: [critical, default, bulk]
limits:
  tenant: { by: [tenant], rate: 100/s burst 1200, leave: { default: 0%, bulk: 50% } }
  api:    { by: [tenant, api], rate: 1/s burst 1, max_wait: 5s }
  tokens: { by: [tenant, model], rate: 1/min burst 1000, max_wait: 10s, hold: { estimate: 400, ttl: 60s, at_most: 50% } }
"""


class TestRules(OneServer):
    def setUp(self):
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.key = self.id()

    def reserve(self, *words):
        return self.client.ask("WEIR.RESERVE", *words)

    def test_the_moments_of_a_key_follow_each_other(self):
        waits = [self.reserve("MAXWAIT", "60000", self.key, "1/min burst 2")[3] for _ in range(3)]
        self.assertEqual(waits[:2], [0, 0])
        self.assertTrue(59_000 < waits[2] <= 60_000, waits)
        denied = self.reserve("MAXWAIT", "60000", self.key, "1/min burst 2")
        self.assertEqual((denied[0], denied[5]), (1, None))
        self.assertTrue(59_000 < denied[3] <= 60_000, denied)

    def test_acting_at_the_moment_that_was_told_is_early_enough(self):
        self.reserve(self.key, "20/s burst 1")
        wait = self.reserve("MAXWAIT", "1000", self.key, "20/s burst 1")[3]
        self.assertTrue(0 < wait <= 50, wait)
        time.sleep(wait / 1000)
        # The key is free again one T after that moment, as after a check at it.
        self.assertLessEqual(self.client.ask("WEIR.THROTTLE", "COST", "0", self.key, "20/s burst 1")[4], 50)

    def test_a_cancelled_moment_is_the_next_ones(self):
        self.reserve(self.key, "2/min burst 1")
        first, second = (self.reserve("MAXWAIT", "60000", self.key, "2/min burst 1") for _ in range(2))
        self.assertTrue(29_000 < first[3] <= 30_000 and 59_000 < second[3] <= 60_000, (first, second))
        self.assertRegex(first[5], rb"^[A-Za-z0-9_-]{22}$")
        self.assertEqual([self.client.ask("WEIR.CANCEL", first[5]) for _ in range(2)], [1, 0])
        self.assertEqual(self.client.ask("WEIR.THROTTLE", self.key, "2/min burst 1")[0], 1)
        again = self.reserve("MAXWAIT", "60000", self.key, "2/min burst 1")
        self.assertTrue(29_000 < again[3] <= 30_000, again)

    def test_what_is_open_is_told(self):
        # Of a server of its own: what other tests reserved runs out meanwhile.
        with Server() as server, server.client() as client:
            before = server.info()
            client.ask("WEIR.RESERVE", self.key, "2/min burst 1")
            first, _ = (client.ask("WEIR.RESERVE", "MAXWAIT", "60000", self.key, "2/min burst 1") for _ in range(2))
            client.ask("WEIR.CANCEL", first[5])
            after = server.info()
            self.assertEqual(int(after["reservations"]) - int(before["reservations"]), 1)

    def test_a_hold_is_settled_once(self):
        held = self.reserve("COST", "5", "HOLD", "60000", self.key, "1/min burst 10")
        self.assertEqual(held[3], 0)
        self.assertEqual([self.client.ask("WEIR.SETTLE", held[5], "2") for _ in range(2)], [0, -1])
        self.assertEqual(self.client.ask("WEIR.THROTTLE", "COST", "0", self.key, "1/min burst 10")[2], 8)

    def test_several_limits_are_charged_all_or_none(self):
        other = self.key + ":all"
        self.reserve(self.key, "1/min burst 1")
        denied = self.reserve("MAXWAIT", "1000", self.key, "1/min burst 1", other, "1/s burst 5")
        self.assertEqual((denied[0], denied[6]), (1, self.key.encode()))
        self.assertEqual(self.client.ask("WEIR.THROTTLE", "COST", "0", other, "1/s burst 5")[2], 5)

    def test_in_a_pipeline_and_in_multi_nothing_blocks(self):
        client = self.client
        client.send("MULTI")
        for _ in range(3):
            client.send("WEIR.RESERVE", "MAXWAIT", "60000", self.key, "1/s burst 1")
        client.send("EXEC")
        replies = [client.reply() for _ in range(5)]
        self.assertEqual([row[0] for row in replies[-1]], [0, 0, 0])
        self.assertEqual([-(-row[3] // 1000) for row in replies[-1]], [0, 1, 2])

    def test_a_reset_forgets_reservations_too(self):
        self.reserve(self.key, "1/min burst 1")
        waits = self.reserve("MAXWAIT", "60000", self.key, "1/min burst 1")
        self.assertEqual(self.client.ask("DEL", self.key), 1)
        self.assertEqual(self.client.ask("WEIR.CANCEL", waits[5]), 0)
        self.assertEqual(self.client.ask("WEIR.SETTLE", waits[5], "1"), -1)
        self.assertEqual(self.reserve(self.key, "1/min burst 1")[:2], [0, 1])

    def test_wrong_words_are_told(self):
        form = ("; the form is WEIR.RESERVE [COST n] [MAXWAIT ms] [CLASS c] [HOLD ms] [BOUND] [FIELDS] [KEYS] key rule [key "
                "rule ...], "
                "or ... AS attribute=value ...")
        for words, error in (
            ("MAXWAIT 3600001 k 1/s", "MAXWAIT: '3600001' is not an integer from 0 to 3600000"),
            ("MAXWAIT -1 k 1/s", "MAXWAIT: '-1' is not an integer from 0 to 3600000"),
            ("maxwait 1 MAXWAIT 1 k 1/s", "MAXWAIT is given twice"),
            ("HOLD 0 k 1/s", "HOLD: '0' is not an integer from 1 to 86400000"),
            ("COST x k 1/s", "COST: 'x' is not an integer from 0 to 9223372036854775807"),
            ("COST 1 COST 1", "COST is given twice"),
            ("COST 1 HOLD", "missing the value of HOLD"),
            ("COST 1", "missing a key and its rule" + form),
            ("COST 1 k", "missing the rule of key 'k'" + form),
            ("CLASS bulk k 1/s", "CLASS is for limits of the limits file, after AS; a rule has no classes"),
            ("k 1/s k 2/s", "key 'k' is given twice; one call charges each key once"),
            ("k '1/s algorithm=sliding_window_counter'",
             "sliding_window_counter cannot be reserved: gcra and fixed windows can"),
            ("AS a=b", "there is no limits file: start weir with --limits FILE"),
        ):
            self.assertEqual(self.reserve(*shlex.split(words)), Error("ERR " + error), words)
        for words, error in ((("WEIR.SETTLE", "id", "-1"), "actual: '-1' is not an integer from 0 to 9223372036854775807"),
                             (("WEIR.CANCEL",), "wrong number of arguments for 'weir.cancel' command")):
            self.assertEqual(self.client.ask(*words), Error("ERR " + error))

    def test_keys_that_read_like_options(self):
        self.assertEqual(self.reserve("keys", "AS", "1/s", "cost", "1/s")[6], b"AS")


class TestFile(OneServerWithLimits):
    limits = FILE
    flags = ("--max-wait", "10s")

    def test_max_wait_of_a_limit_is_the_default_and_the_most(self):
        ask = "WEIR.RESERVE AS %s api=x" % self.tenant
        waits = [self.ask(ask)[3] for _ in range(6)]
        self.assertEqual([-(-wait // 1000) for wait in waits], [0, 1, 2, 3, 4, 5])
        denied = self.ask(ask)
        self.assertEqual((denied[0], denied[6]), (1, b"api"))
        self.assertTrue(0 < denied[3] <= 1000, denied)
        self.assertEqual(self.ask("WEIR.RESERVE MAXWAIT 5001 AS %s api=x" % self.tenant),
                         Error("ERR MAXWAIT: '5001' is not an integer from 0 to 5000"))

    def test_max_wait_of_the_server_bounds_all(self):
        self.assertEqual(self.ask("WEIR.RESERVE MAXWAIT 10001 AS %s" % self.tenant),
                         Error("ERR MAXWAIT: '10001' is not an integer from 0 to 10000"))

    def test_a_hold_takes_its_estimate_and_is_settled(self):
        held = self.ask("WEIR.RESERVE AS %s model=m" % self.tenant)
        self.assertEqual((held[0], held[1], held[2], held[3], held[6]), (0, 1000, 600, 0, b"tokens"))
        # A second one would hold 800 of 1,000, and half may be held.
        denied = self.ask("WEIR.RESERVE AS %s model=m" % self.tenant)
        self.assertEqual((denied[0], denied[6]), (1, b"tokens"))
        self.assertTrue(59_000 < denied[3] <= 60_000, denied)
        self.assertEqual(self.ask("WEIR.SETTLE %s 100" % held[5].decode()), 0)
        self.assertEqual(self.ask("WEIR.LOOK COST 0 %s model=m" % self.tenant)[2], 900)
        self.assertEqual(self.ask("WEIR.RESERVE AS %s model=m" % self.tenant)[0], 0)

    def test_a_hold_is_at_most_the_ttl_of_its_limits(self):
        for verb in ("WEIR.RESERVE", "WEIR.ACQUIRE MAXWAIT 0"):
            self.assertEqual(self.ask("%s HOLD 86400000 AS %s model=m" % (verb, self.tenant)),
                             Error("ERR HOLD: '86400000' is not an integer from 1 to 60000"))
        self.assertEqual(self.ask("WEIR.RESERVE HOLD 60000 AS %s model=m" % self.tenant)[0], 0)

    def test_a_request_says_what_it_costs_by_limit_and_so_does_its_settlement(self):
        self.assertEqual(self.ask("WEIR.CHECK COST tokens=150,api=0 %s model=m api=x" % self.tenant)[:3], [0, 1, 1])
        self.assertEqual(self.ask("WEIR.LOOK COST 0 %s model=m" % self.tenant)[2], 850)
        held = self.ask("WEIR.RESERVE COST tokens=200 AS %s model=m" % self.tenant)
        self.assertEqual((held[0], held[2]), (0, 650))
        settle = "WEIR.SETTLE %s " % held[5].decode()
        for actual, error in (("tenant=1", "limit 'tenant' has no hold, so there is nothing to settle"),
                              ("tokns=1", "unknown limit 'tokns'; did you mean tokens?"),
                              ("tokens=1,tokens=2", "the cost of 'tokens' is given twice"),
                              ("tokens=", "'' of 'tokens' is not an integer from 0 to 9223372036854775807")):
            self.assertEqual(self.ask(settle + actual), Error("ERR actual: " + error))
        self.assertEqual([self.ask(settle + "tokens=50"), self.ask(settle)], [0, -1])
        self.assertEqual(self.ask("WEIR.LOOK COST 0 %s model=m" % self.tenant)[2], 800)
        held = self.ask("WEIR.RESERVE AS %s model=m" % self.tenant)
        self.assertEqual(self.ask("WEIR.SETTLE " + held[5].decode()), 0)
        self.assertEqual(self.ask("WEIR.LOOK COST 0 %s model=m" % self.tenant)[2], 400)
        for words in ("WEIR.THROTTLE COST tokens=1 k 1/s", "WEIR.RESERVE COST tokens=1 k 1/s",
                      "WEIR.ACQUIRE MAXWAIT 0 COST tokens=1 KEYS k 1/s"):
            self.assertEqual(self.ask(words), Error("ERR COST by name is for limits of the limits file; of rules, each key "
                                                    "costs the same"))
        self.assertEqual(self.ask("WEIR.CHECK COST tokns=1 " + self.tenant),
                         Error("ERR unknown limit 'tokns'; did you mean tokens?"))
        self.assertEqual(self.ask("WEIR.CHECK COST tokens=x " + self.tenant),
                         Error("ERR COST: 'x' of 'tokens' is not an integer from 0 to 9223372036854775807"))
        self.assertEqual(self.ask("WEIR.SETTLE a 1 2"), Error("ERR wrong number of arguments for 'weir.settle' command"))

    def test_what_was_granted_without_a_hold_cannot_be_settled(self):
        self.ask("WEIR.RESERVE AS %s api=x" % self.tenant)
        waits = self.ask("WEIR.RESERVE MAXWAIT 5000 AS %s api=x" % self.tenant)
        self.assertEqual(self.ask("WEIR.SETTLE %s 1" % waits[5].decode()),
                         Error("ERR the reservation was granted without a hold, so there is nothing to settle"))
        self.assertEqual(self.ask("WEIR.CANCEL " + waits[5].decode()), 1)

    def test_a_check_takes_the_estimate_too(self):
        for _ in range(2):
            self.assertEqual(self.ask("WEIR.CHECK %s model=m" % self.tenant)[0], 0)
        self.assertEqual(self.ask("WEIR.CHECK %s model=m" % self.tenant)[5], b"tokens")
        self.assertEqual(self.ask("WEIR.CHECK COST 1 %s model=m" % self.tenant)[0], 0)

    def test_a_lower_class_does_not_wait(self):
        self.assertEqual(self.ask("WEIR.RESERVE CLASS bulk AS %s api=x" % self.tenant)[0], 0)
        denied = self.ask("WEIR.RESERVE CLASS bulk MAXWAIT 5000 AS %s api=x" % self.tenant)
        self.assertEqual((denied[0], denied[6]), (1, b"api"))
        self.assertTrue(0 < denied[3] <= 1000, denied)

    def test_a_request_that_meets_nothing_is_granted(self):
        self.assertEqual(self.ask("WEIR.RESERVE AS x=y"), [0, -1, -1, 0, 0, None, b""])


class TestReload(OneServerWithLimits):
    flags = ("--http", "127.0.0.1:0")
    limits = "version: 1\nlimits: { api: { by: [api], rate: 60/min burst 1, max_wait: 10s } }\n"

    def test_new_numbers_act_on_all_who_come_after_them(self):
        self.write(self.limits)
        ask = "WEIR.RESERVE AS api=x"
        told = [self.ask(ask) for _ in range(6)]
        self.assertEqual([-(-row[3] // 1000) for row in told], [0, 1, 2, 3, 4, 5])
        self.write(self.limits.replace("60/min", "600/min"))
        # What is owed now is one unit in the new numbers too, and those that were told a moment hold up nobody before it.
        waits = [self.ask(ask)[3] for _ in range(3)]
        self.assertTrue(waits[0] <= 100, waits)
        for earlier, later in zip(waits, waits[1:]):
            self.assertTrue(later <= earlier + 100, waits)
        # They keep theirs.
        self.assertEqual([self.ask("WEIR.CANCEL " + row[5].decode()) for row in told[4:]], [1, 1])

    def test_one_whose_moment_comes_within_a_second_keeps_it(self):
        self.write(self.limits)
        began = time.monotonic()
        self.ask("WEIR.ACQUIRE MAXWAIT 0 AS api=y")
        self.client.send(*"WEIR.ACQUIRE MAXWAIT 10000 AS api=y".split())
        with self.server.client() as other:
            until(lambda: b" flags=b " in other.ask("CLIENT", "LIST"), "it waits")
        self.write(self.limits.replace("60/min", "1/min"))
        self.assertEqual(self.client.reply()[0], 0)
        self.assertLess(time.monotonic() - began, 10)

    # Of a class that is told no moment ahead, and stands in line.
    line = ("version: 1\nclasses: [critical, default, bulk]\nlimits:\n  api: { by: [api], rate: RATE, max_wait: 60s, "
            "leave: { default: 0%, bulk: 50% } }\n")

    def test_one_that_stands_in_line_goes_by_the_limits_in_force(self):
        self.write(self.line.replace("RATE", "1/min burst 2"))
        words = "WEIR.ACQUIRE MAXWAIT %d CLASS bulk AS api=%s"
        self.assertEqual(self.ask(words % (0, "line-1"))[0], 0)
        began = time.monotonic()
        self.client.send(*(words % (60_000, "line-1")).split())
        asks = http.client.HTTPConnection("127.0.0.1", self.server.ports[1], timeout=60)
        self.addCleanup(asks.close)
        with self.server.client() as other:
            self.assertEqual(other.ask("WEIR.CHECK", "CLASS", "bulk", "api=line-2")[0], 0)
            asks.request("POST", "/v1/acquire",
                         json.dumps({"attributes": {"api": "line-2"}, "class": "bulk", "max_wait": 60}))
            until(lambda: other.ask("CLIENT", "LIST").count(b" flags=b ") == 2, "both wait")
        self.write(self.line.replace("RATE", "1000/s burst 2"))
        granted = self.client.reply()
        self.assertEqual(granted[:2], [0, 2])
        answer = asks.getresponse()
        self.assertEqual((answer.status, json.loads(answer.read())["allowed"]), (200, True))
        self.assertLess(time.monotonic() - began, 30)

    def test_one_that_stands_in_line_is_told_what_it_no_longer_may(self):
        self.write(self.line.replace("RATE", "1/min burst 2"))
        words = "WEIR.ACQUIRE MAXWAIT %d CLASS bulk AS api=line-3"
        self.assertEqual(self.ask(words % 0)[0], 0)
        self.client.send(*(words % 60_000).split())
        with self.server.client() as other:
            until(lambda: b" flags=b " in other.ask("CLIENT", "LIST"), "it waits")
        self.write(self.limits)
        self.assertEqual(self.client.reply(), Error("ERR class 'bulk': the limits file has no classes"))

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)
        with self.server.client() as other:
            self.assertEqual(other.ask("WEIR.CONFIG", "RELOAD"), "OK")

    def test_a_max_wait_above_the_servers_is_refused(self):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(self.limits.replace("10s", "2h"))
        error = ("%s:2:%d: limits.api.max_wait: '2h' is above --max-wait 1h, the longest that the server lets anybody wait; "
                 "it does not start with such a file" % (self.file, self.limits.splitlines()[1].index("10s") + 1))
        with self.server.client() as other:
            self.assertEqual(other.ask("WEIR.CONFIG", "CHECK"), [error.encode()])
            self.assertEqual(other.ask("WEIR.CONFIG", "RELOAD"), Error("ERR " + error))
        code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--limits", self.file)
        self.assertEqual((code, error in errors), (2, True), errors)


class TestHttp(OneServerWithLimits):
    limits = FILE
    flags = ("--http", "127.0.0.1:0")

    def ask(self, what, **body):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.ports[1], timeout=10)
        self.addCleanup(connection.close)
        connection.request("POST", "/v1/" + what, json.dumps(body))
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), json.loads(answer.read())

    def test_keys_reserve_cancel_and_settle(self):
        body = {"key": self.id(), "limit": "2/min burst 1", "max_wait": 30}
        status, _, now = self.ask("reserve", **body)
        self.assertEqual((status, now["wait"], now["id"], now["by"]), (200, 0, None, "limit"))
        status, _, waits = self.ask("reserve", **body)
        self.assertEqual((status, waits["allowed"], waits["retry_after"]), (200, True, None))
        self.assertTrue(29 < waits["wait"] <= 30, waits)
        status, headers, denied = self.ask("reserve", **body)
        self.assertEqual((status, denied["verdict"], denied["id"]), (429, "denied", None))
        self.assertTrue(29 < denied["wait"] <= 30, denied)
        self.assertEqual(headers["Retry-After"], "30")
        self.assertEqual(self.ask("cancel", id=waits["id"])[::2], (200, {"given_back": 1}))
        self.assertEqual(self.ask("cancel", id=waits["id"])[::2], (200, {"given_back": 0}))
        status, _, never = self.ask("reserve", key=self.id(), limit="2/min burst 1", cost=2)
        self.assertEqual((status, never["verdict"], never["wait"]), (429, "never", None))

    def test_the_file_can_be_explained_with_and_without_a_cost(self):
        words = ("explain", self.file, "tenant=a", "model=m", "--json")
        for more, cost in (((), 400), (("--cost", "1"), 1), (("--cost", "tokens=7"), 7)):
            code, out, _ = weir(*words, *more)
            self.assertEqual((code, [each["cost"] for each in json.loads(out)["checks"] if each["name"] == "tokens"]),
                             (0, [cost]))

    def test_costs_by_limit(self):
        tenant = {"tenant": self.id(), "model": "m"}
        _, _, held = self.ask("reserve", attributes=tenant, cost={"tokens": 300, "api": 7})
        self.assertEqual((held["allowed"], held["remaining"]), (True, 700))
        pointed = lambda answer: [(each["pointer"], each["detail"]) for each in answer[2]["errors"]]
        self.assertEqual(pointed(self.ask("check", attributes=tenant, cost={"tokns": 1, "tokens": -1})), [
            ("/cost/tokns", "unknown limit 'tokns'; did you mean tokens?"),
            ("/cost/tokens", "must be an integer from 0 to 9223372036854775807")])
        self.assertEqual(pointed(self.ask("check", key="k", limit="1/s", cost={"tokens": 1})),
                         [("/cost", "by limit is only for 'attributes'")])
        self.assertEqual(pointed(self.ask("settle", id=held["id"], actual={"tenant": 1})),
                         [("/actual", "limit 'tenant' has no hold, so there is nothing to settle")])
        self.assertEqual(pointed(self.ask("settle", id=held["id"], actual="many")),
                         [("/actual", "must be an integer from 0 to 9223372036854775807")])
        self.assertEqual(self.ask("settle", id=held["id"], actual={"tokens": 100})[::2], (200, {"wait": 0}))
        self.assertEqual(self.ask("look", attributes=tenant, cost=0)[2]["remaining"], 900)
        _, _, held = self.ask("reserve", attributes=tenant)
        self.assertEqual(self.ask("settle", id=held["id"])[::2], (200, {"wait": 0}))
        self.assertEqual(self.ask("look", attributes=tenant, cost=0)[2]["remaining"], 500)

    def test_the_other_protocol_can_cancel_and_settle(self):
        with self.server.client() as client:
            client.ask("WEIR.RESERVE", self.id(), "1/min burst 1")
            _, _, waits = self.ask("reserve", key=self.id(), limit="1/min burst 1", max_wait=60)
            self.assertEqual(client.ask("WEIR.CANCEL", waits["id"]), 1)
            held = client.ask("WEIR.RESERVE", "HOLD", "60000", "COST", "3", self.id() + "x", "1/min burst 10")
            self.assertEqual(self.ask("settle", id=held[5].decode(), actual=1)[::2], (200, {"wait": 0}))
            self.assertEqual(self.ask("settle", id=held[5].decode(), actual=1)[::2], (200, {"wait": -1}))

    def test_attributes_wait_as_the_file_says(self):
        body = {"attributes": {"tenant": self.id(), "api": "x"}}
        self.assertEqual([self.ask("reserve", **body)[2]["wait"] for _ in range(1)], [0])
        _, _, waits = self.ask("reserve", **body)
        self.assertTrue(0 < waits["wait"] <= 1, waits)
        status, _, wrong = self.ask("reserve", max_wait=5.5, **body)
        self.assertEqual((status, wrong["errors"]), (400, [{"pointer": "/max_wait", "detail":
                         "must be a number of seconds from 0 to 5, the least of the limits that the request meets"}]))
        for verb in ("reserve", "acquire"):
            status, _, wrong = self.ask(verb, max_wait=0, hold=60.5, attributes={"tenant": self.id() + "h", "model": "m"})
            self.assertEqual((status, wrong.get("errors")), (400, [{"pointer": "/hold", "detail": "must be a number of seconds "
                             "from 0 to 60, the shortest ttl of the limits that the request meets"}]))
        _, _, held = self.ask("reserve", attributes={"tenant": self.id() + "h", "model": "m"}, explain=True)
        self.assertEqual([(each["name"], each["cost"]) for each in held["limits"] if "cost" in each],
                         [("tenant", 1), ("tokens", 400)])
        self.assertEqual(self.ask("settle", id=held["id"], actual=10)[::2], (200, {"wait": 0}))

    def test_wrong_members_are_told(self):
        number = "must be an integer from 0 to 9223372036854775807"
        for what, body, errors in (
            ("reserve", {"key": "k", "limit": "1/s", "max_wait": 3601}, [("/max_wait", "must be a number of seconds from 0 to 3600")]),
            ("reserve", {"key": "k", "limit": "1/s", "max_wait": -1, "hold": "1"},
             [("/max_wait", "must be a number of seconds from 0 to 3600"), ("/hold", "must be a number of seconds from 0 to 86400")]),
            ("cancel", {}, [("/id", "missing")]),
            ("cancel", {"id": 5}, [("/id", "must be a text")]),
            ("settle", {}, [("/id", "missing")]),
            ("settle", {"actual": -1}, [("/id", "missing"), ("/actual", number)]),
            ("settle", {"id": "x", "actual": 1, "cost": 1}, [("/cost", "unknown member; known are id, actual")]),
        ):
            status, _, answer = self.ask(what, **body)
            self.assertEqual((status, [(each["pointer"], each["detail"]) for each in answer["errors"]]), (400, errors), body)


class TestRestarts(unittest.TestCase):
    def test_a_snapshot_keeps_moments_and_holds(self):
        rule = "1/min burst 2"
        with Folder() as folder:
            saved = ("--snapshot", folder.file("snapshot"), "--max-wait", "1h")
            with Server(*saved) as server, server.client() as client:
                held = client.ask("WEIR.RESERVE", "COST", "2", "HOLD", "600000", "k", rule)
                waits = [client.ask("WEIR.RESERVE", "MAXWAIT", "600000", "k", rule) for _ in range(4)]
                acts = client.ask("WEIR.RESERVE", "HOLD", "600000", "other", rule)
                self.assertEqual(client.ask("WEIR.CANCEL", waits[1][5]), 1)  # between two that were told theirs
                self.assertEqual(client.ask("WEIR.CANCEL", waits[3][5]), 1)  # the last one
            with Server(*saved) as server, server.client() as client:
                server.says("4 reservations restored")
                # The moments of those that were cancelled are free, and no others.
                free = [client.ask("WEIR.RESERVE", "MAXWAIT", "240000", "k", rule) for _ in range(3)]
                self.assertEqual([row[0] for row in free], [0, 0, 1])
                for row, moment in zip(free, (waits[1][3], waits[3][3])):
                    self.assertTrue(moment - 60_000 < row[3] <= moment, (free, waits))
                    self.assertEqual(client.ask("WEIR.CANCEL", row[5]), 1)
                self.assertEqual([client.ask("WEIR.CANCEL", each[5]) for each in waits], [1, 0, 1, 0])
                # All that waited have gone, and what is charged is what acted.
                self.assertEqual(client.ask("WEIR.THROTTLE", "COST", "0", "k", rule)[2], 0)
                self.assertEqual(client.ask("WEIR.SETTLE", held[5], "1"), 0)
                self.assertEqual(client.ask("WEIR.SETTLE", held[5], "1"), -1)
                self.assertEqual(client.ask("WEIR.SETTLE", acts[5], "0"), 0)
                self.assertEqual(client.ask("WEIR.THROTTLE", "COST", "0", "other", rule)[2], 2)

    def test_without_one_ids_are_dead(self):
        with Server() as server, server.client() as client:
            held = client.ask("WEIR.RESERVE", "HOLD", "60000", "k", "1/min burst 2")
        with Server() as server, server.client() as client:
            self.assertEqual(client.ask("WEIR.SETTLE", held[5], "0"), -1)
            self.assertEqual(client.ask("WEIR.CANCEL", held[5]), 0)


class TestFlags(unittest.TestCase):
    def test_max_wait_has_bounds(self):
        for value in ("0s", "25h", "x"):
            done = weir("serve", "--resp", "127.0.0.1:0", "--max-wait", value)
            self.assertEqual(done[0], 2, value)
            self.assertIn("max-wait", done[2])


if __name__ == "__main__":
    run_tests()
