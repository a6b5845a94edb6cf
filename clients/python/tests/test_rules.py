"""Rules and keys by the tables that all clients share, and what the server says to the same rules."""

import itertools
import json
import unittest

from world import CASES, Weir, weir

from weir import identity, rules

RULES = json.loads((CASES / "rules.json").read_text())
IDENTITY = json.loads((CASES / "identity.json").read_text())


class TestRules(unittest.TestCase):
    fresh = itertools.count()  # keys

    def test_right_ones(self):
        for row in RULES["right"]:
            with self.subTest(row["text"]):
                self.assertEqual(list(rules.read(row["text"])), row["rules"])
                self.assertEqual(list(rules.read(*row["rules"])), row["rules"])

    def test_wrong_ones(self):
        for row in RULES["wrong"]:
            with self.subTest(row["text"]), self.assertRaises(ValueError) as raised:
                rules.read(row["text"])
            self.assertIn(row["error"], str(raised.exception))

    def test_what_is_made_of_a_rule_reads_it_whole(self):
        client = weir.connect("weir://localhost")
        for make in (weir.limit, client.limiter):
            for text in ("10/m", "0/s", "10/min burst", "10/min;"):
                with self.subTest((make, text)), self.assertRaisesRegex(ValueError, "^rule "):
                    make(text)
            with self.assertRaisesRegex(TypeError, "a rule is text"):
                make(10)
        with self.assertRaisesRegex(ValueError, "one rule is meant here, and these are 2"):
            client.limiter("10/min;100/h")
        self.assertEqual(client.limiter("10 per minute").rule, "10/1m")

    def test_the_server_takes_each_and_means_the_same(self):
        with Weir() as server:
            for row in RULES["right"]:
                for text in row["rules"]:
                    self.throttle(server, text)
                if len(row["rules"]) == 1 and " per " not in " ".join(row["text"].split()):
                    self.assertEqual(self.throttle(server, row["text"]), self.throttle(server, row["rules"][0]), row["text"])

    def throttle(self, server, rule):
        verb = ("WEIR.RESERVE", "HOLD", "1000") if "in_flight" in rule else ("WEIR.THROTTLE",)
        reply = server.ask(*verb, "KEYS", str(next(self.fresh)), rule)
        if "sliding_window_log" in rule:  # it needs a store; that it is one of its rules the server knows
            self.assertEqual(reply, "ERR sliding_window_log cannot be counted by the table of this process")
            return None
        self.assertIsInstance(reply, list, (rule, reply))
        return [each for each in reply if not isinstance(each, bytes)]  # not the key, nor an id


class TestIdentity(unittest.TestCase):
    def test_keys(self):
        for row in IDENTITY["keys"]:
            with self.subTest(row["name"]):
                found = identity.keys(row["app"], row["limit"], row["who"], rules.read(*row["rules"]))
                self.assertEqual(list(found), row["keys"])

    def test_addresses(self):
        for row in IDENTITY["addresses"]:
            with self.subTest(row["address"]):
                self.assertEqual(identity.who(row["address"]), row["who"])

    def test_any_text_is_a_key(self):
        self.assertEqual(len({identity.key(text) for text in ("\ud800", "\udcff", "?", "\ufffd")}), 4)


if __name__ == "__main__":
    unittest.main()
