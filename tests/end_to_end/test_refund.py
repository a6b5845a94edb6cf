"""What was charged and not used: WEIR.REFUND and /v1/refund."""
import unittest

from server import Error, OneServer, OneServerWithLimits, run as run_tests
from test_http import Http

FILE = """\
version: 1
attributes: [model, user]
limits:
  rpm:  { by: [model], rate: 300/h burst 10, refunds: true }
  tpm:  { by: [model], rate: [1000/h burst 1000, 20000/d algorithm=fixed_window], refunds: true }
  user: { by: [user], rate: 5/h }
  slow: { by: [user], rate: 5/h algorithm=sliding_window_counter, refunds: true }
routes:
  - { when: { model: "*" }, limits: [rpm, tpm] }
  - { when: { user: "s*" }, limits: [slow] }
  - { limits: [user] }
"""


class ByFile(OneServerWithLimits):
    limits = FILE
    flags = ("--http", "127.0.0.1:0")

    def refund(self, *words):
        return self.client.ask("WEIR.REFUND", *words)

    def test_all_limits_give_back_and_the_least_is_told(self):
        self.client.ask("WEIR.CHECK", "COST", "rpm=3,tpm=500", "model=a")
        self.assertEqual(self.refund("COST", "rpm=5,tpm=200", "AS", "model=a"), 3)
        self.assertEqual(self.client.ask("WEIR.LOOK", "COST", "0", "model=a")[2], 10)
        self.assertEqual(self.refund("COST", "rpm=0,tpm=1000", "AS", "model=a"), 0, "rpm gives nothing")
        self.assertEqual(self.refund("AS", "model=a"), 0)

    def test_a_limit_has_to_allow_it(self):
        sentence = "limit 'user' takes no refunds: it has to say refunds: true"
        self.client.ask("WEIR.CHECK", "user=u")
        self.assertEqual(self.refund("AS", "user=u"), Error("ERR " + sentence))
        self.assertEqual(self.client.ask("WEIR.LOOK", "COST", "0", "user=u")[2], 4, "nothing went back")
        rule = "limit '5/h' takes no refunds: start weir with --allow-refunds"
        self.assertEqual(self.refund("k", "5/h"), Error("ERR " + rule))
        with Http(self.server.ports[1]) as http:
            for body, pointer, detail in (({"attributes": {"user": "u"}}, "/attributes", sentence),
                                          ({"key": "k", "limit": "5/h"}, "/limit", rule)):
                status, _, reply = http.ask("/v1/refund", body)
                self.assertEqual((status, reply["errors"]), (400, [{"pointer": pointer, "detail": detail}]))

    def test_over_http(self):
        with Http(self.server.ports[1]) as http:
            http.ask("/v1/check", {"attributes": {"model": "h"}, "cost": {"rpm": 4, "tpm": 9}})
            ask = {"attributes": {"model": "h"}, "cost": {"rpm": 2, "tpm": 100}}
            self.assertEqual(http.ask("/v1/refund", ask)[::2], (200, {"given_back": 2}))
            self.assertEqual(http.ask("/v1/refund", ask)[::2], (200, {"given_back": 0}))

    def test_what_cannot_be_refunded(self):
        self.assertEqual(self.refund("AS", "user=s"), Error(
            "ERR sliding_window_counter cannot be refunded: gcra and fixed windows can"))
        self.assertEqual(self.refund("k"), Error("ERR wrong number of arguments for 'weir.refund' command"))
        form = "the form is WEIR.REFUND [COST n] [KEYS] key rule [key rule ...], or ... AS attribute=value ..."
        self.assertEqual(self.refund("k", "1/s", "z"), Error(f"ERR missing the rule of key 'z'; {form}"))
        self.assertEqual(self.refund("COST", "-1", "k", "1/s"),
                         Error("ERR COST: '-1' is not an integer from 0 to 9223372036854775807"))


class WhereItIsAllowed(OneServer):
    flags = ("--allow-refunds",)

    def setUp(self):
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def test_of_rules(self):
        key, rule = self.id(), "1/h burst 4"
        self.client.ask("WEIR.THROTTLE", "COST", "3", key, rule)
        self.assertEqual(self.client.ask("WEIR.REFUND", "COST", "2", key, rule), 2)
        self.assertEqual(self.client.ask("WEIR.REFUND", key, rule), 1)
        self.assertEqual(self.client.ask("WEIR.REFUND", key, rule), 0)
        self.assertEqual(self.client.ask("WEIR.THROTTLE", "COST", "4", key, rule)[0], 0)

    def test_one_who_waits_keeps_its_moment(self):
        key, rule = self.id(), "1/20s burst 1"
        self.client.ask("WEIR.THROTTLE", key, rule)
        waits = self.client.ask("WEIR.RESERVE", "MAXWAIT", "60000", key, rule)[5].decode()
        self.assertEqual(self.client.ask("WEIR.REFUND", "COST", "9", key, rule), 1)
        self.assertTrue(19_000 < self.client.ask("WEIR.MOMENT", waits) <= 20_000)


if __name__ == "__main__":
    run_tests()
