"""Windows of the calendar in the whole program: a month's end, clocks that step, a restart, a reload, a Redis whose
clock decides, and what the tools say."""
import datetime
import os
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))

from clocks import SHIM, Clocks
from server import Error, Folder, Server, run, until, weir
from world import Redis, available

HOUR, DAY = 3600, 24 * 3600
BERLIN = "3/month align=calendar tz=Europe/Berlin"


def utc(*date):
    return datetime.datetime(*date, tzinfo=datetime.timezone.utc).timestamp()


def file_of(rate):
    return f"version: 1\nlimits:\n  tenant: {{ by: [tenant], rate: {rate} }}\n"


class Stepping(unittest.TestCase):
    """A server whose wall clock is what the test says."""

    def setUp(self):
        self.folder = self.enterContext(Folder())
        self.clocks = Clocks(self.folder, "weir")

    def set_clock(self, at, clocks=None):
        clocks = clocks or self.clocks
        clocks.step(wall=at - time.time() - clocks.wall)

    def serve(self, rate, *flags):
        self.file = self.folder.file("limits.yaml", file_of(rate))
        return self.enterContext(Server("--threads", "2", "--limits", self.file, *flags, env=self.clocks.environment))

    def check(self, server, cost=1, tenant="a"):
        with server.client() as client:
            return client.ask("WEIR.CHECK", "COST", cost, f"tenant={tenant}")

    def expect_wait(self, answer, seconds):
        """Denied for that long, but for what the test took since it set the clock."""
        self.assertEqual(answer[0], 1, answer)
        self.assertLessEqual(answer[3], seconds * 1000)
        self.assertGreater(answer[3], (seconds - 60) * 1000)


BUDGET = """version: 1
limits:
  calls: { by: [tenant], rate: 100/s burst 1, max_wait: 20s }
  budget: { by: [tenant], rate: 10/month align=calendar tz=Europe/Berlin, hold: { estimate: 4, ttl: 1h } }
"""


class Held(Stepping):
    """A pace, and a month's budget beside it, of calls that are reserved."""

    def hold(self, server, units):
        with server.client() as client:
            return client.ask("WEIR.RESERVE", "MAXWAIT", 20000, "COST", f"budget={units},calls=1", "AS", "tenant=a")

    def held(self, server, units):
        """The id of one whose moment has come: before it nothing can be settled."""
        answer = self.hold(server, units)
        self.assertEqual(answer[0], 0, answer)
        with server.client() as client:
            until(lambda: client.ask("WEIR.MOMENT", answer[5]) == 0, "its moment")
        return answer[5].decode()

    def settle(self, server, *words):
        with server.client() as client:
            return client.ask("WEIR.SETTLE", *words)

    def expect_full(self, server, units, seconds):
        answer = self.hold(server, units)
        self.expect_wait(answer, seconds)
        self.assertEqual(answer[6], b"budget")

    def a_month_of_holds(self, server, clocks=None):
        self.set_clock(utc(2027, 3, 31, 21, 50), clocks)  # in Berlin ten minutes before April, in summer time
        first = self.held(server, 4)
        self.held(server, 4)
        self.expect_full(server, 4, 600)
        self.assertEqual(self.settle(server, first, 1), 0)
        late = self.held(server, 5)
        self.expect_full(server, 1, 600)
        # What cost more is charged beyond the number too, and then the month is what is waited for.
        self.assertGreater(self.settle(server, late, 7), 540_000)
        last_of_march = self.settle(server, first)
        self.assertEqual(last_of_march, -1)
        self.set_clock(utc(2027, 3, 31, 22), clocks)
        april = self.held(server, 6)
        self.expect_full(server, 5, 30 * DAY)
        self.assertEqual(self.settle(server, april, 5), 0)
        self.held(server, 5)
        self.expect_full(server, 1, 30 * DAY)

    def a_hold_over_the_end_of_a_month(self, server, clocks=None):
        self.set_clock(utc(2027, 5, 31, 21, 59), clocks)
        of_may = self.held(server, 10)
        self.set_clock(utc(2027, 5, 31, 22), clocks)
        self.held(server, 6)
        self.assertEqual(self.settle(server, of_may, 0), 0)
        self.expect_full(server, 5, 30 * DAY)
        self.held(server, 4)

    def a_day_of_25_hours(self, client):
        rule = "2/day align=calendar tz=Europe/Berlin"
        self.assertEqual(client.ask("WEIR.RESERVE", "HOLD", 60000, "COST", 2, "day", rule)[0], 0)
        denied = client.ask("WEIR.RESERVE", "HOLD", 60000, "day", rule)
        self.expect_wait(denied, 25 * HOUR)


@unittest.skipUnless(SHIM, "needs CLOCK_SHIM, which CMake builds: weir_clock_shim")
class TestHolds(Held):
    def serve_budget(self, *flags):
        return Server("--threads", "2", "--limits", self.folder.file("limits.yaml", BUDGET), *flags,
                      env=self.clocks.environment)

    def test_a_reservation_counts_in_the_month_of_its_grant(self):
        self.set_clock(utc(2027, 3, 31, 21, 50))
        self.a_month_of_holds(self.enterContext(self.serve_budget()))

    def test_a_settlement_of_last_month_changes_nothing_of_this_one(self):
        self.set_clock(utc(2027, 5, 31, 21, 59))
        self.a_hold_over_the_end_of_a_month(self.enterContext(self.serve_budget()))

    def test_the_day_on_which_the_clocks_go_back(self):
        self.set_clock(utc(2027, 10, 30, 22))
        with self.serve_budget() as server, server.client() as client:
            self.a_day_of_25_hours(client)

    def test_after_a_restart_what_cost_more_is_charged_and_nothing_goes_back(self):
        self.set_clock(utc(2027, 2, 10))
        snapshot = self.folder.file("snap")
        with self.serve_budget("--snapshot", snapshot) as server:
            more, less = self.held(server, 4), self.held(server, 3)
        with self.serve_budget("--snapshot", snapshot) as server:
            self.assertEqual(self.settle(server, more, 5), 0)
            self.assertEqual(self.settle(server, less, 0), 0)
            self.expect_full(server, 3, 18 * DAY + 23 * HOUR)
            self.held(server, 2)


@unittest.skipUnless(SHIM and available(), "needs CLOCK_SHIM and redis-server")
class TestHoldsInRedis(Held):
    def test_the_clock_of_redis_says_which_month_runs(self):
        theirs = Clocks(self.folder, "redis")
        self.set_clock(utc(2027, 3, 31, 21, 50), theirs)
        redis = self.enterContext(Redis(env={**os.environ, **theirs.environment}))
        self.set_clock(utc(2031, 1, 1))  # ours is in another year
        server = self.enterContext(Server("--threads", "2", "--limits", self.folder.file("limits.yaml", BUDGET), "--store",
                                          f"redis://127.0.0.1:{redis.port}", "--store-deadline", "2s",
                                          env=self.clocks.environment))
        self.a_month_of_holds(server, theirs)
        self.a_hold_over_the_end_of_a_month(server, theirs)
        self.set_clock(utc(2027, 10, 30, 22), theirs)
        with server.client() as client:
            self.a_day_of_25_hours(client)
        self.assertEqual(server.info()["store_fallbacks"], "0")


@unittest.skipUnless(SHIM, "needs CLOCK_SHIM, which CMake builds: weir_clock_shim")
class TestClock(Stepping):
    def test_a_month_ends_at_midnight_there(self):
        self.set_clock(utc(2027, 3, 1))
        server = self.serve(BERLIN)
        self.assertEqual(self.check(server, 3)[0], 0)
        # The 31st ends an hour earlier in UTC than the 28th of February did: summer time.
        self.expect_wait(self.check(server), utc(2027, 3, 31, 22) - utc(2027, 3, 1))
        self.set_clock(utc(2027, 3, 31, 21, 50))
        self.expect_wait(self.check(server), 600)
        self.set_clock(utc(2027, 3, 31, 22))
        self.assertEqual(self.check(server, 3)[0], 0)
        self.expect_wait(self.check(server), utc(2027, 4, 30, 22) - utc(2027, 3, 31, 22))

    def test_a_clock_that_goes_back_hands_out_nothing_twice(self):
        self.set_clock(utc(2027, 4, 30, 22, 1))
        server = self.serve(BERLIN)
        self.assertEqual(self.check(server, 3)[0], 0)
        self.set_clock(utc(2027, 4, 30, 20))
        self.expect_wait(self.check(server), utc(2027, 5, 31, 22) - utc(2027, 4, 30, 20))
        # A leap second is a step back by one.
        self.set_clock(utc(2027, 4, 30, 21, 59, 59))
        self.assertEqual(self.check(server)[0], 1)

    def test_a_restart_keeps_the_month(self):
        self.set_clock(utc(2027, 2, 10))
        snapshot = self.folder.file("snap")
        self.file = self.folder.file("limits.yaml", file_of(BERLIN))
        flags = ("--threads", "2", "--limits", self.file, "--snapshot", snapshot)
        with Server(*flags, env=self.clocks.environment) as server:
            self.assertEqual(self.check(server, 2)[0], 0)
        self.set_clock(utc(2027, 2, 28, 22))
        with Server(*flags, env=self.clocks.environment) as server:
            self.expect_wait(self.check(server, 2), HOUR)
            self.assertEqual(self.check(server)[0], 0)
        self.set_clock(utc(2027, 2, 28, 23))
        with Server(*flags, env=self.clocks.environment) as server:
            self.assertEqual(self.check(server, 3)[0], 0)

    def test_a_reload_with_another_zone_moves_no_debt(self):
        self.set_clock(utc(2027, 2, 28, 22))
        server = self.serve(BERLIN)
        self.assertEqual(self.check(server, 3)[0], 0)
        self.folder.file("limits.yaml", file_of("4/month align=calendar tz=America/New_York"))
        with server.client() as client:
            until(lambda: client.ask("WEIR.CONFIG", "RELOAD") == "OK", "it is read")
        # February goes on, until it ends there.
        self.assertEqual(self.check(server)[:3], [0, 4, 0])
        self.folder.file("limits.yaml", file_of("9/month align=calendar tz=America/New_Yorc"))
        with server.client() as client:
            self.assertIn("did you mean America/New_York?", client.ask("WEIR.CONFIG", "RELOAD"))
        self.expect_wait(self.check(server), utc(2027, 3, 1, 5) - utc(2027, 2, 28, 22))
        self.set_clock(utc(2027, 3, 1, 4, 50))
        self.expect_wait(self.check(server), 600)
        self.set_clock(utc(2027, 3, 1, 5))
        self.assertEqual(self.check(server, 4)[0], 0)

    def test_what_clients_are_told(self):
        self.set_clock(utc(2027, 2, 10))
        server = self.serve(f"[{BERLIN}, 2/week align=calendar, 9/year align=calendar, 8/day align=calendar]",
                            "--http", "127.0.0.1:0")
        request = urllib.request.Request(f"http://127.0.0.1:{server.ports[-1]}/v1/check", method="POST",
                                         headers={"Content-Type": "application/json"},
                                         data=b'{"attributes": {"tenant": "a"}}')
        with urllib.request.urlopen(request, timeout=10) as answer:
            told = answer.headers["RateLimit-Policy"]
        self.assertEqual(told, f'"tenant-1month";q=3;w={28 * DAY}, "tenant-1week";q=2;w={7 * DAY}, '
                               f'"tenant-1year";q=9;w={365 * DAY}, "tenant-1d";q=8;w={DAY}')

    def test_rules_as_text(self):
        self.set_clock(utc(2027, 10, 31))  # 25 hours in Berlin, and two of the day before are over
        server = self.serve("9/s")
        with server.client() as client:
            rule = "2/day align=calendar tz=Europe/Berlin"
            self.assertEqual(client.ask("WEIR.THROTTLE", "COST", 2, "k", rule)[0], 0)
            self.assertAlmostEqual(client.ask("WEIR.THROTTLE", "k", rule)[3], 23 * HOUR * 1000, delta=60_000)
            self.assertEqual(
                client.ask("WEIR.THROTTLE", "k", "2/day align=calendar tz=Berlin"),
                Error("ERR limit '2/day align=calendar tz=Berlin': no time zone 'Berlin' in /usr/share/zoneinfo; did "
                      "you mean Europe/Berlin?"))
            charged = client.ask("WEIR.CHARGE", "COST", 2, "k", rule)
            self.assertEqual(charged[:2], [2, 2])
            self.assertLessEqual(charged[2], 23 * HOUR * 1000)


@unittest.skipUnless(SHIM and available(), "needs CLOCK_SHIM and redis-server")
class TestRedis(Stepping):
    def test_the_clock_of_redis_decides(self):
        theirs = Clocks(self.folder, "redis")
        self.set_clock(utc(2027, 4, 30, 21, 50), theirs)
        redis = self.enterContext(Redis(env={**os.environ, **theirs.environment}))
        # Ours is in another year.
        self.set_clock(utc(2031, 1, 1))
        # Its steps are unknown here for as long as denials are remembered.
        server = self.serve(BERLIN, "--store", f"redis://127.0.0.1:{redis.port}", "--store-deadline", "2s",
                            "--no-remember-denials")
        self.assertEqual(self.check(server, 3)[0], 0)
        self.expect_wait(self.check(server), 600)
        self.set_clock(utc(2027, 4, 30, 22), theirs)
        self.assertEqual(self.check(server, 2)[0], 0)
        self.expect_wait(self.check(server, 2), utc(2027, 5, 31, 22) - utc(2027, 4, 30, 22))
        # Back into April: what was used in May stays.
        self.set_clock(utc(2027, 4, 30, 21), theirs)
        self.expect_wait(self.check(server, 2), utc(2027, 5, 31, 22) - utc(2027, 4, 30, 21))
        with server.client() as client:
            self.assertEqual(client.ask("WEIR.CHARGE", "COST", 5, "AS", "tenant=a")[:2], [5, 4])
        # Another server, another zone, the same month.
        other = self.enterContext(Server("--threads", "1", "--store", f"redis://127.0.0.1:{redis.port}", "--store-deadline",
                                         "2s", "--limits",
                                         self.folder.file("other.yaml", file_of("9/month align=calendar"))))
        self.set_clock(utc(2027, 5, 20), theirs)
        self.assertEqual(self.check(other)[:3], [0, 9, 1])
        # As much as there is, in a month that nobody has heard of yet.
        self.set_clock(utc(2027, 6, 20), theirs)
        with other.client() as client:
            answer = client.ask("WEIR.CHECK", "COST", 12, "ATLEAST", 1, "tenant=a")
        self.assertEqual((answer[:3], answer[-1]), ([0, 9, 0], 9))
        self.assertEqual(other.info()["store_fallbacks"], "0")
        info = server.info()
        self.assertEqual(info["store_fallbacks"], "0")


class TestTools(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(Folder())

    def fails(self, rate, error):
        file = self.folder.file("limits.yaml", file_of(rate))
        code, out, _ = weir("lint", file)
        self.assertEqual(code, 1)
        self.assertIn(": " + error + "\n", out)
        code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--limits", file)
        self.assertEqual(code, 2)
        self.assertIn(error, errors)

    def test_what_is_wrong_is_told_by_lint_and_at_the_start(self):
        self.fails("9/month", "limit '9/month': months and years differ in length; write 9/month align=calendar, with "
                              "tz=Area/City where it is not UTC, or a period such as 30d")
        self.fails("9/day align=calendar tz=Europe/Berln",
                   "limit '9/day align=calendar tz=Europe/Berln': no time zone 'Europe/Berln' in /usr/share/zoneinfo; did "
                   "you mean Europe/Berlin?")
        self.fails("[9/day, 9/day align=calendar]", "'9/day align=calendar' has the period of '9/d'; the windows of a "
                                                    "limit differ in their periods")

    def test_zones_are_those_of_tzdir(self):
        """Where the folder lacks one, has a broken one, or does not exist, the error names it."""
        os.makedirs(self.folder.file("zones/Europe"))
        zones = self.folder.path + "/zones"
        for name, whole in (("Berlin", True), ("Paris", False)):
            with open("/usr/share/zoneinfo/Europe/Berlin", "rb") as given, open(f"{zones}/Europe/{name}", "wb") as file:
                file.write(given.read() if whole else given.read(100))
        os.mkfifo(zones + "/Europe/Madrid")
        for zone, folder, error in (
                ("Europe/Berlin", zones, None), ("Europe/Berlin", "", None),
                ("Europe/Paris", zones, f"time zone 'Europe/Paris': {zones}/Europe/Paris: it is cut off"),
                ("Europe/Madrid", zones, f"no time zone 'Europe/Madrid' in {zones}"),
                ("Europe/Berln", zones, f"no time zone 'Europe/Berln' in {zones}; did you mean Europe/Berlin?"),
                ("../zones/Europe/Berlin", zones, f"no time zone '../zones/Europe/Berlin' in {zones}"),
                ("Europe/Berlin", zones + "/none", "time zone 'Europe/Berlin': the system has no time zone database in "
                 f"{zones}/none, which TZDIR names: No such file or directory")):
            with self.subTest(zone, folder=folder):
                rate = f"9/day align=calendar tz={zone}"
                code, out, errors = weir("lint", self.folder.file("limits.yaml", file_of(rate)), env={"TZDIR": folder})
                self.assertEqual((code, errors), (1 if error else 0, ""), out)
                if error:
                    self.assertIn(f": limit '{rate}': {error}\n", out)
                log = self.folder.file("a.log", "192.0.2.1 - - [01/Mar/2026:00:00:00] \"GET / HTTP/1.1\" 200 1\n")
                code, _, errors = weir("replay", log, "--limit", "1/s", "--zone", zone, env={"TZDIR": folder})
                self.assertEqual(code, 2 if error else 0, errors)
                if error:
                    self.assertIn(folder, errors)

    def test_tests_count_by_it(self):
        self.folder.file("limits.yaml", f"""version: 1
limits:
  tenant:
    by: [tenant]
    rate: {BERLIN}
    overrides: [{{ when: {{ tenant: big }}, rate: unlimited/month }}]
""")
        tests = self.folder.file("tests.yaml", """limits: limits.yaml
tests:
  - name: february ends
    now: 2027-02-28T22:00:00Z
    steps:
      - { as: { tenant: a }, times: 4, expect: { allowed: 3, denied: 1, retry_after: 1h } }
      - { at: 59m59s, as: { tenant: a }, expect: { denied: 1, retry_after: 1s } }
      - { at: 1h, as: { tenant: a }, times: 4, expect: { allowed: 3, retry_after: 743h } }
      - { at: 1h, as: { tenant: big }, times: 9, expect: { allowed: 9 } }
    explain: { as: { tenant: big }, expect: { tenant: [unlimited/month] } }
""")
        self.assertEqual(weir("test", tests)[0], 0, weir("test", tests)[1])
        code, out, _ = weir("explain", self.folder.path + "/limits.yaml", "tenant=a", "--now", "2027-02-28")
        self.assertEqual(code, 0)
        self.assertIn("3/month align=calendar tz=Europe/Berlin", out)

    def test_a_new_zone_is_the_same_window(self):
        before = self.folder.file("before.yaml", file_of(BERLIN))
        after = self.folder.file("after.yaml", file_of("3/month align=calendar"))
        code, out, _ = weir("diff", before, after)
        self.assertEqual(code, 1)
        self.assertTrue(out.startswith("~ limits.tenant.rate: 3/month align=calendar tz=Europe/Berlin -> 3/month "
                                       "align=calendar"), out)


if __name__ == "__main__":
    run()
