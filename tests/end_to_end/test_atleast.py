"""As much as there is: COST n ATLEAST m."""
import threading
import unittest

from server import Client, Error, OneServerWithLimits, run as run_tests

FILE = """\
version: 1
classes: [default, batch]
attributes: [user, path]
limits:
  mails: { by: [user], rate: 10/h burst 40, leave: { batch: 50% } }
  pages: { by: [user], rate: 100/day algorithm=fixed_window, cost: [{ when: { path: /big }, cost: 7 }, { cost: 1 }] }
  tried: { by: [user], rate: 2/h, shadow: until 2100-01-01 }
  held:  { by: [user], rate: 50/h, hold: { ttl: 1min, estimate: 30 } }
  bad:   { by: [user], rate: 1000/s, deny: { user: mallory } }
routes:
  - { when: { path: /free }, limits: [] }
  - { when: { path: /held }, limits: [held] }
  - { limits: [mails, pages, tried, bad] }
"""


class TestAtLeast(OneServerWithLimits):
    limits = FILE
    flags = ("--http", "127.0.0.1:0")

    def setUp(self):
        super().setUp()
        self.user = "user=" + self.id()

    def ask(self, words, *more):
        return self.client.ask(*words.split(), *more)

    def granted(self, words):
        answer = self.ask(words, self.user)
        self.assertEqual(len(answer), 7, answer)
        return answer[0], answer[5].decode(), answer[6]

    def test_what_is_left_is_granted_and_said(self):
        self.assertEqual(self.granted("WEIR.CHECK COST 30 ATLEAST 1"), (0, "mails", 30))
        self.assertEqual(self.granted("WEIR.LOOK COST 30 ATLEAST 1"), (0, "mails", 10))
        self.assertEqual(self.granted("WEIR.CHECK COST 30 ATLEAST 1"), (0, "mails", 10))
        self.assertEqual(self.granted("WEIR.CHECK COST 30 ATLEAST 1"), (1, "mails", 0))
        denied = self.ask("WEIR.CHECK COST 30 ATLEAST 2", self.user)
        self.assertTrue(360_000 < denied[3] <= 720_000, "the least is there after two of 6 min")

    def test_a_least_above_the_burst_is_never_there(self):
        self.assertEqual(self.ask("WEIR.CHECK COST 90 ATLEAST 41", self.user)[3::3], [-1, 0])
        self.assertEqual(self.granted("WEIR.CHECK COST 90 ATLEAST 40"), (0, "mails", 40))

    def test_each_limit_is_charged_its_own_cost(self):
        self.assertEqual(self.granted("WEIR.CHECK COST 40 ATLEAST 1 path=/big"), (0, "pages", 14))
        self.assertEqual(self.granted("WEIR.LOOK COST 40 ATLEAST 1"), (0, "pages", 2))

    def test_a_class_leaves_its_share(self):
        self.assertEqual(self.granted("WEIR.CHECK COST 40 ATLEAST 1 CLASS batch"), (0, "mails", 20))
        self.assertEqual(self.granted("WEIR.CHECK COST 40 ATLEAST 1 CLASS batch"), (1, "mails", 0))
        self.assertEqual(self.granted("WEIR.CHECK ATLEAST 1 COST 40 CLASS default"), (0, "mails", 20))

    def test_no_estimate_is_charged(self):
        self.assertEqual(self.granted("WEIR.CHECK COST 8 ATLEAST 8 path=/held"), (0, "held", 8))
        self.assertEqual(self.granted("WEIR.LOOK COST 100 ATLEAST 1 path=/held"), (0, "held", 42))

    def test_what_meets_nothing_and_what_a_list_denies(self):
        self.assertEqual(self.granted("WEIR.CHECK COST 9 ATLEAST 3 path=/free"), (0, "", 9))
        self.assertEqual(self.ask("WEIR.CHECK COST 9 ATLEAST 3 user=mallory"), [1, 0, 0, -1, 0, b"bad", 0])

    def test_keys_with_rules(self):
        a, b = self.id() + "a", self.id() + "b"
        self.assertEqual(self.ask("WEIR.THROTTLE COST 9 ATLEAST 2 KEYS", a, "5/h", b, "4/h algorithm=fixed_window"),
                         [0, 4, 0, -1, 3_600_000, b.encode(), 4])
        self.assertEqual(self.ask("WEIR.THROTTLE COST 9 ATLEAST 1", a, "5/h")[6], 1)

    def test_in_a_transaction_and_in_a_pipeline(self):
        key = self.id()
        self.client.ask("MULTI")
        for _ in range(3):
            self.client.ask("WEIR.THROTTLE", "COST", "4", "ATLEAST", "1", key, "1/h burst 6")
        self.assertEqual([each[6] for each in self.client.ask("EXEC")], [4, 2, 0])

    def test_all_that_ask_at_once_get_no_more_than_there_is(self):
        key, granted = self.id(), []

        def take():
            client = Client(self.server.ports[0])
            while True:
                units = client.ask("WEIR.THROTTLE", "COST", "7", "ATLEAST", "1", key, "1/h burst 1000")[6]
                if units == 0:
                    return client.close()
                granted.append(units)

        workers = [threading.Thread(target=take) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(sum(granted), 1000)
        self.assertEqual(sorted(granted)[0], 1000 % 7, "only the last one got less")

    def test_an_explanation_says_how_much_there_is(self):
        self.ask("WEIR.CHECK COST 35", self.user)
        first, *rows = self.ask("WEIR.EXPLAIN COST 30 ATLEAST 2", self.user)
        self.assertEqual(first[4:], [b"granted", 5])
        verdicts = [dict(zip(row[::2], row[1::2]))[b"verdict"] for row in rows]
        self.assertEqual(verdicts, [b"allowed", b"allowed", b"would_deny", b"allowed"])
        self.assertEqual(self.ask("WEIR.EXPLAIN COST 30 ATLEAST 2 user=mallory")[0][4:], [b"granted", 0])

    def told(self, path, body):
        status, answer = self.post(path, body)
        return status, answer["by"], answer["granted"]

    def test_over_http(self):
        who = {"attributes": {"user": self.id()}, "cost": 30, "at_least": 2}
        self.assertEqual(self.told("/v1/check", who), (200, "mails", 30))
        self.assertEqual(self.told("/v1/look", who), (200, "mails", 10))
        self.assertEqual(self.told("/v1/explain", who), (200, "mails", 10))
        self.assertEqual(self.told("/v1/check", who), (200, "mails", 10))
        self.assertEqual(self.told("/v1/check", who), (429, "mails", 0))
        self.assertEqual(self.told("/v1/look", {**who, "attributes": {"user": "mallory"}}), (200, "bad", 0))
        self.assertEqual(self.told("/v1/check", {**who, "attributes": {"user": "u", "path": "/free"}}), (200, None, 30))

    def test_over_http_each_check_has_the_cost_of_one_unit(self):
        key = self.id()
        body = {"checks": [{"key": key + "a", "limit": "9/h"}, {"key": key + "b", "limit": "50/h", "cost": 8}],
                "cost": 20, "at_least": 1}
        self.assertEqual(self.told("/v1/check", body), (200, "limit-2", 6))
        self.assertEqual(self.told("/v1/check", body), (429, "limit-2", 0))
        status, answer = self.post("/v1/check", {"requests": [
            {"key": key + "c", "limit": "5/h", "cost": 3, "at_least": 1}] * 3})
        self.assertEqual((status, [each["granted"] for each in answer["results"]]), (200, [3, 2, 0]))

    def test_wrong_members(self):
        for path, body, at, detail in [
                ("check", {"key": "k", "limit": "1/s", "at_least": 1}, "/at_least", "needs 'cost', which is the most"),
                ("check", {"key": "k", "limit": "1/s", "cost": 4, "at_least": 5}, "/at_least",
                 "must be an integer from 1 to 4, the cost"),
                ("look", {"key": "k", "limit": "1/s", "cost": 4, "at_least": "1"}, "/at_least",
                 "must be an integer from 1 to 4, the cost"),
                ("check", {"key": "k", "limit": "1/s", "cost": 0, "at_least": 1}, "/at_least", "a cost of 0 takes nothing"),
                ("check", {"attributes": {"user": "u"}, "cost": {"mails": 2}, "at_least": 1}, "/at_least",
                 "is not for a cost by limit"),
                ("reserve", {"key": "k", "limit": "1/s", "cost": 4, "at_least": 1}, "/at_least",
                 "is only for /v1/check, /v1/look and /v1/explain; all else has its whole cost or none of it")]:
            with self.subTest(body):
                status, answer = self.post("/v1/" + path, body)
                self.assertEqual((status, answer["errors"]), (400, [{"pointer": at, "detail": detail}]))

    def test_wrong_words(self):
        verbs = ("ERR ATLEAST is for WEIR.CHECK, WEIR.LOOK, WEIR.EXPLAIN and WEIR.THROTTLE, after COST; all else "
                 "has its whole cost or none of it")
        for words, sentence in [
                ("WEIR.CHECK ATLEAST 1 user=1", "ERR ATLEAST needs a COST, which is the most"),
                ("WEIR.CHECK COST 2 ATLEAST 3 user=1", "ERR ATLEAST: '3' is not an integer from 1 to 2"),
                ("WEIR.LOOK COST 2 ATLEAST 0 user=1", "ERR ATLEAST: '0' is not an integer from 1 to 2"),
                ("WEIR.CHECK COST 0 ATLEAST 1 user=1", "ERR ATLEAST: a COST of 0 takes nothing"),
                ("WEIR.CHECK COST 2 ATLEAST 1 ATLEAST 1 user=1", "ERR ATLEAST is given twice"),
                ("WEIR.CHECK COST mails=2 ATLEAST 1 user=1", "ERR ATLEAST is not for a COST by name"),
                ("WEIR.RESERVE COST 2 ATLEAST 1 k 1/s", verbs),
                ("WEIR.RESERVE COST 2 AS ATLEAST 1 user=1", verbs),
                ("WEIR.ACQUIRE MAXWAIT 5 COST 2 ATLEAST 1 k 1/s", verbs),
                ("WEIR.CHARGE COST 2 AS ATLEAST 1 user=1", verbs),
                ("WEIR.RESET AS ATLEAST 1 user=1", verbs)]:
            with self.subTest(words):
                self.assertEqual(self.ask(words), Error(sentence))


if __name__ == "__main__":
    run_tests()
