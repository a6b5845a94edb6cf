"""The rest after a breach: `penalty` of a limit."""
import json
import unittest

from server import Folder, OneServerWithLimits, until, run as run_tests, weir

FILE = """\
version: 1
attributes: [account, user, name, door]
limits:
  login: { by: [account], rate: 5/h burst 5, penalty: 15m, hold: { ttl: 30s },
           overrides: [{ when: { account: staff }, penalty: 1m }, { when: { account: boss }, penalty: 0s }] }
  name: { by: [name], rate: 5/h burst 5, penalty: { for: 300ms, then: afresh } }
  door: { by: [door], rate: 5/h algorithm=fixed_window, penalty: { for: 300ms, growing: 2, then: afresh } }
  slow: { by: [user], rate: 1/min burst 1, penalty: 1h }
routes:
  - { when: { account: "*" }, limits: [login] }
  - { when: { name: "*" }, limits: [name] }
  - { when: { door: "*" }, limits: [door] }
  - { limits: [slow] }
"""


class TestPenalty(OneServerWithLimits):
    limits = FILE

    def check(self, *attributes):
        """Whether it is denied, and in how many seconds to come again."""
        denied, _, _, retry, _, *_ = self.client.ask("WEIR.CHECK", *attributes)
        return denied, retry / 1000

    def rest_of(self, account):
        for _ in range(5):
            self.assertEqual(self.check(f"account={account}")[0], 0)
        denied, retry = self.check(f"account={account}")
        self.assertEqual(denied, 1)
        return retry

    def test_a_denial_makes_the_key_rest_for_its_own_time(self):
        self.assertTrue(899 <= self.rest_of("a") <= 900)
        self.assertTrue(719 <= self.rest_of("staff") <= 720, "more is owed than its minute")
        self.assertTrue(719 <= self.rest_of("boss") <= 720, "it does not rest")
        for _ in range(20):
            self.assertLessEqual(self.check("account=a")[1], 900, "nobody waits longer for knocking on")
        self.assertEqual(self.check("account=b")[0], 0, "another key")

    def test_guesses_at_once_get_the_burst_and_a_success_costs_nothing(self):
        for _ in range(3):
            held = self.client.ask("WEIR.RESERVE", "MAXWAIT", "0", "AS", "account=c")
            self.assertEqual(held[0], 0)
            self.assertGreaterEqual(self.client.ask("WEIR.SETTLE", held[5], "0"), 0)
        guesses = [self.client.ask("WEIR.RESERVE", "MAXWAIT", "0", "AS", "account=c") for _ in range(40)]
        self.assertEqual(sum(guess[0] == 0 for guess in guesses), 5)
        self.assertTrue(899 <= self.check("account=c")[1] <= 900)

    def test_a_rest_that_forgets_and_then_five_more(self):
        for who, rests in ("name=a", (0.3, 0.3)), ("door=a", (0.3, 0.6)):
            for rest in rests:
                self.assertEqual([self.check(who)[0] for _ in range(6)], [0] * 5 + [1])
                self.assertLessEqual(self.check(who)[1], rest)
                until(lambda: self.client.ask("WEIR.LOOK", who)[2] == 5, f"{who} is as if never used")

    def test_a_look_takes_none_and_a_reset_ends_it(self):
        self.check("user=u")
        self.assertLessEqual(self.client.ask("WEIR.LOOK", "user=u")[3], 60_000)
        self.assertTrue(3599 <= self.check("user=u")[1] <= 3600)
        self.assertEqual(self.client.ask("WEIR.RESET", "AS", "user=u"), 1)
        self.assertEqual(self.check("user=u")[0], 0)


class TestTools(unittest.TestCase):
    def lint(self, text):
        with Folder() as folder:
            _, out, _ = weir("lint", folder.file("limits.yaml", text), "--json")
            return [(each["severity"], each["path"], each["text"]) for each in json.loads(out)["findings"]]

    def told(self, limits):
        found = self.lint(f"version: 1\nattributes: [user]\nlimits: {{ {limits} }}\n")
        return [each for each in found if "penalty" in each[1]]

    def test_lint(self):
        self.assertEqual(self.told("a: { by: [user], rate: 1/s, penalty: 24h }"), [])
        self.assertEqual(self.told("a: { by: [user], rate: 1/s, penalty: 25h }"),
                         [("error", "limits.a.penalty", "'25h' is above the maximum (1d)")])
        self.assertEqual(self.told("a: { rate: 1/s, penalty: 1m }"),
                         [("note", "limits.a.penalty",
                           "the limit has no by: one denial makes everybody wait")])
        self.assertEqual(self.told("a: { by: [user], rate: 1/s algorithm=fixed_window, penalty: 1m }"),
                         [("error", "limits.a.penalty",
                           "only gcra can do this; '1/s algorithm=fixed_window' counts by fixed_window")])
        afresh = "penalty: { for: 1m, then: afresh }"
        self.assertEqual(self.told("a: { by: [user], rate: 1/s algorithm=fixed_window, %s }" % afresh), [])
        self.assertEqual(self.told("a: { by: [user], rate: 1/day align=calendar, %s }" % afresh),
                         [("error", "limits.a.penalty",
                           "gcra and fixed windows can do this; '1/day align=calendar' counts by calendar")])
        self.assertEqual(self.told("a: { by: [user], rate: 1/s algorithm=fixed_window, %s,\n"
                                   "  overrides: [{ when: { user: x }, penalty: 5m }] }" % afresh),
                         [("error", "limits.a.overrides[0].penalty",
                           "only gcra can do this; '1/s algorithm=fixed_window' counts by fixed_window")])
        self.assertEqual(self.told("a: { by: [user], rate: 1/s, penalty: 1m, reserve: 10% }")[0][2],
                         "while a key rests nobody has what the reserve on line 3 keeps for guarantees")
        self.assertEqual(
            self.told("a: { by: [user], rate: 1/s, penalty: 1m }, b: { by: [user], rate: 1/s, within: a }"),
            [("note", "limits.a.penalty", "one denial makes all that is within it wait, as 'b' is")])

    def test_lint_of_one_that_grows(self):
        def told(penalty):
            return [(each[1], each[2]) for each in self.told("a: { by: [user], rate: 1/s, penalty: %s }" % penalty)]
        self.assertEqual(told("{ for: 15m, growing: 2, most: 24h }"), [])
        self.assertEqual(told("{ for: 15m, growing: 1.001 }"), [])
        self.assertEqual(told("{ for: 15m, growing: 1, most: 15m }"), [])
        self.assertEqual(told("{ for: 15m }"), [])
        for growing in ("0.9", "0", "-2", "1001", "1.0001", "twice", "2%"):
            self.assertEqual(told("{ for: 15m, growing: %s }" % growing),
                             [("limits.a.penalty.growing",
                               f"'{growing}' is not a number from 1 to 1000 with at most three decimals")])
        self.assertEqual(told("{ for: 15m, growing: 2, most: 14m }"),
                         [("limits.a.penalty.most", "'14m' is shorter than for ('15m')")])
        self.assertEqual(told("{ growing: 2, most: 24h }"),
                         [("limits.a.penalty", "missing for: how long a key rests the first time")])
        self.assertEqual(told("{ for: 15m, most: 24h }"),
                         [("limits.a.penalty.most", "nothing grows: write growing: 2")])
        self.assertEqual(told("{ for: 25h, growing: 2 }"),
                         [("limits.a.penalty.for", "'25h' is above the maximum (1d)")])
        self.assertEqual(told("{ for: 1h, growing: 2, most: 25h }"),
                         [("limits.a.penalty.most", "'25h' is above the maximum (1d)")])
        self.assertEqual(told("{ for: 0s, growing: 2 }"), [("limits.a.penalty.for", "'0s' does not grow")])
        self.assertEqual(told("{ for: 15m, growth: 2 }"),
                         [("limits.a.penalty.growth", "unknown; known: for, growing, most, then")])
        self.assertEqual(told("{ for: 15m, growing: 2, most: 1h, then: afresh }"), [])
        self.assertEqual(told("{ for: 15m, then: again }"),
                         [("limits.a.penalty.then", "'again' is none of: afresh")])

    def test_diff_says_how_it_grows(self):
        with Folder() as folder:
            files = [folder.file(f"{i}.yaml", "version: 1\nlimits: { a: { by: [user], rate: 1/s, penalty: %s,\n"
                                 "  overrides: [{ when: { user: x }, penalty: %s }] } }\n" % both)
                     for i, both in enumerate([("15m", "0s"),
                                               ("{ for: 15m, growing: 2, most: 1h }", "{ for: 1m, growing: 1.5, then: afresh }")])]
            _, out, err = weir("diff", *files)
            self.assertIn("15m growing 2 to 1h", out + err)
            self.assertIn("penalty 1m growing 1.5 to 1d then afresh", out + err)

    def test_a_file_of_tests_knows_one_that_grows(self):
        with Folder() as folder:
            folder.file("limits.yaml", """\
version: 1
attributes: [user]
limits: { slow: { by: [user], rate: 1/min burst 1, penalty: { for: 1h, growing: 2, most: 3h } } }
""")
            tests = folder.file("limits_test.yaml", """\
limits: limits.yaml
now: 2026-11-23T12:00:00Z
tests:
  - name: longer each time, and shorter again
    steps:
      - { at: 0s, times: 2, as: { user: u }, expect: { allowed: 1, denied: 1, by: slow, retry_after: 1h } }
      - { at: 1h, times: 2, as: { user: u }, expect: { allowed: 1, denied: 1, retry_after: 2h } }
      - { at: 3h, times: 2, as: { user: u }, expect: { allowed: 1, denied: 1, retry_after: 3h } }
      - { at: 6h, times: 2, as: { user: u }, expect: { allowed: 1, denied: 1, retry_after: 3h } }
      - { at: 9h, times: 2, as: { user: u }, expect: { allowed: 1, denied: 1, retry_after: 3h } }
      - { at: 15h, times: 2, as: { user: u }, expect: { allowed: 1, denied: 1, retry_after: 2h } }
      - { at: 22h, times: 2, as: { user: u }, expect: { allowed: 1, denied: 1, retry_after: 1h } }
""")
            code, out, err = weir("test", tests)
            self.assertEqual(code, 0, out + err)

    def test_a_file_of_tests_knows_it(self):
        with Folder() as folder:
            folder.file("limits.yaml", FILE)
            tests = folder.file("limits_test.yaml", """\
limits: limits.yaml
now: 2026-11-23T12:00:00Z
tests:
  - name: a rest, which no denial makes longer
    steps:
      - { at: 0s, times: 2, as: { user: u }, expect: { allowed: 1, denied: 1, by: slow, retry_after: 1h } }
      - { at: 59m, as: { user: u }, expect: { denied: 1, retry_after: 1m } }
      - { at: 1h, times: 2, as: { user: u }, expect: { allowed: 1, denied: 1, retry_after: 1h } }
""")
            code, out, err = weir("test", tests)
            self.assertEqual(code, 0, out + err)



if __name__ == "__main__":
    run_tests()
