"""Rules that requests bring: the table that the clients read, clients/cases/rules.json, put to the server, and what it says
of a key that is asked about by two rules in turn."""
import json
import os
import pathlib
import unittest
import urllib.request

from server import Client, Error, Folder, Server, run, until, weir

SOURCE = pathlib.Path(os.environ.get("WEIR_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
TABLE = json.loads((SOURCE / "clients/cases/rules.json").read_text())


class TestTable(unittest.TestCase):
    """Of several rules in one text (';') clients make a question of several: the server takes one."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        code, out, errors = weir("local", "--virtual-time", env={"XDG_RUNTIME_DIR": cls.folder.path})
        assert (code, errors) == (0, ""), errors
        cls.client = cls.enterClassContext(Client(out[:-1]))
        cls.addClassCleanup(cls.client.send, "SHUTDOWN", "NOSAVE")

    def meaning(self, rule, key):
        """What is told of one unit, and then of a look: numbers, state and algorithm, as time stands still."""
        if rule.strip().startswith("in_flight"):
            return [self.client.ask("WEIR.RESERVE", "COST", 0, "HOLD", 1, key, rule)]
        return [self.client.ask("WEIR.THROTTLE", "COST", cost, key, rule) for cost in (1, 0)]

    def test_right_ones_mean_what_their_canonical_text_means(self):
        for number, row in enumerate(TABLE["right"]):
            with self.subTest(row["text"]):
                if ";" in row["text"]:
                    self.assertIsInstance(self.client.ask("WEIR.THROTTLE", "k", row["text"]), Error)
                    continue
                key, canonical = f"key {number}", row["rules"][0]
                first, *rest = self.meaning(row["text"], key)
                if "sliding_window_log" in canonical:
                    self.assertIn("sliding_window_log cannot be counted", str(first))
                    continue
                self.assertNotIsInstance(first, Error)
                numbers = [each[:5] for each in (first, *rest)]
                self.assertEqual([each[:5] for each in self.meaning(canonical, f"other {number}")], numbers)
                if rest:
                    self.assertEqual(self.client.ask("WEIR.THROTTLE", "COST", 0, key, canonical), rest[0], "it is one state")

    def test_wrong_ones_are_told_the_same(self):
        for row in TABLE["wrong"]:
            with self.subTest(row["text"]):
                answer = self.client.ask("WEIR.THROTTLE", "k", row["text"])
                if row["text"].startswith("in_flight="):
                    answer = self.client.ask("WEIR.RESERVE", "HOLD", 1, "k", row["text"])
                self.assertIsInstance(answer, Error)
                if ";" not in row["text"]:
                    self.assertIn(row["error"], str(answer))


class TestTwoRules(unittest.TestCase):
    def test_a_key_under_two_rules_in_turn_is_counted_and_told(self):
        with Server("--threads", "2", "--admin", "127.0.0.1:0") as server, server.client() as one, server.client() as other:
            def count():
                url = f"http://127.0.0.1:{server.ports[-1]}/metrics"
                with urllib.request.urlopen(url, timeout=20) as answer:
                    rows = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
                return int(rows["weir_keys_under_two_rules_total"])

            for rule in ("10/min", "10/60s", "10 per minute"):
                one.ask("WEIR.THROTTLE", "alone", rule)
                one.ask("CL.THROTTLE", "alone", 9, 10, 60)
            self.assertEqual(count(), 0)
            for _ in range(3):
                one.ask("WEIR.THROTTLE", "shop", "10/min")
                other.ask("WEIR.THROTTLE", "shop", "100/h")
            self.assertEqual(count(), 5)
            self.assertEqual(server.info()["keys_under_two_rules"], "5")
            line = ("a key is asked about by two rules in turn, under which it has one debt; each needs its own key: 100/h and "
                    "10/min")
            until(lambda: line in server.stderr(), "the log's line")
            self.assertNotIn("shop", server.stderr())


if __name__ == "__main__":
    run(300)
