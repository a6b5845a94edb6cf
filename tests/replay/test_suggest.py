"""`weir suggest` against brute force: the oracle tries every count, then every burst, until one denies few enough.

WEIR_SEED=N runs one seed alone; WEIR_SEEDS=N runs N of them.
"""
import fractions
import math
import random
import unittest

import oracle
from program import EXAMPLE_LOG, Folder, answer, line, run, weir
from chance import seeds

RATES = {"s": 1, "min": 60, "h": 3600, "d": 86400}


class Denials:
    """What a limit would deny of a log: how many requests, and which clients."""

    def __init__(self, log):
        self.log, self.of_client = log, {}
        for now, who, cost in log.requests:
            self.of_client.setdefault(oracle.shown(who), []).append((now, cost))
        self.known = {}

    def __call__(self, count, period, burst):
        interval = fractions.Fraction(period, count)
        if (interval, burst) not in self.known:   # the oracle's bucket fills by this interval alone
            denied = {}
            for who, requests in self.of_client.items():
                bucket = oracle.Bucket(1, interval, burst)
                for now, cost in requests:
                    if cost == 0 or bucket.fits(now, cost):
                        if cost:
                            bucket.take(now, cost)
                    else:
                        denied[who] = denied.get(who, 0) + 1
            self.known[interval, burst] = sum(denied.values()), set(denied)
        return self.known[interval, burst]


def first_that(fits, most):
    return next(n for n in range(1, most + 1) if fits(n))


def random_log(chance):
    """Up to 90 requests of a few clients over some minutes or hours, in spells; lines of (second, client, units)."""
    span, rows = chance.choice((5, 60, 900, 10_000)), []
    clients = [f"192.0.2.{n}" for n in range(chance.choice((1, 3, 10, 30)))]
    while len(rows) < chance.choice((20, 60, 90)):
        at, who, step = chance.randrange(span), chance.choice(clients), chance.choice((0, 0, 1, 5))
        rows += [(at + n * step, who, chance.choice((0, 1, 1, 1, 2, 3, 7))) for n in range(chance.randrange(1, 9))]
    return sorted(rows)


class Suggest(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)

    def check(self, said, log, allowed, minimal=True):
        """`allowed(requests, clients)` says whether that may be denied."""
        denials = Denials(log)
        most = max(1, sum(cost for _, _, cost in log.requests))
        self.assertEqual([each["period"] for each in said["suggestions"]], list(RATES))
        for each in said["suggestions"]:
            count, burst, period = each["count"], each["burst"], RATES[each["period"]] * oracle.SECOND
            where = f"{each['limit']}: "
            self.assertEqual(each["limit"], f"{count}/{each['period']}" + (f" burst {burst}" if burst != count else ""))
            requests, clients = denials(count, period, burst)
            self.assertEqual((each["denied_requests"], each["clients_denied"]), (requests, len(clients)), where)
            self.assertAlmostEqual(each["denied_share"], requests / len(log.requests), msg=where)
            self.assertTrue(allowed(requests, clients), where + "denies more than asked for")
            if minimal:
                least = first_that(lambda n: allowed(*denials(n, period, n)), most)
                self.assertEqual(count, least, where + "the smallest count")
                least = first_that(lambda n: allowed(*denials(count, period, n)), most)
                self.assertEqual(burst, least, where + "its burst")
            rounded = each["rounded"]
            self.assertGreaterEqual(rounded["count"], count)
            self.assertLessEqual(len(str(rounded["count"]).rstrip("0")), 2, rounded)
            requests, clients = denials(rounded["count"], period, rounded["burst"])
            self.assertEqual((rounded["denied_requests"], rounded["clients_denied"]), (requests, len(clients)), rounded)
            self.assertTrue(allowed(requests, clients), rounded)
            if said["cost"] == "1":
                self.assertLessEqual(requests, each["denied_requests"], "rounding costs nobody a request")
        self.check_curve(said, denials, allowed, minimal)
        self.assertTrue(said["tradeoff"])
        rates = [each["per_second"] for each in said["tradeoff"]]
        self.assertEqual(rates, sorted(rates))
        self.check_ladder(said, minimal)
        for each in said["tradeoff"] if minimal else ():
            count, period = each["limit_rate"].split("/")
            period_ns = RATES[period] * oracle.SECOND
            self.assertAlmostEqual(each["per_second"], int(count) / RATES[period], places=4)
            self.assertEqual(each["burst"], first_that(lambda n: allowed(*denials(int(count), period_ns, n)), most),
                             f"tradeoff {each['limit_rate']}")

    def check_ladder(self, said, minimal):
        """It reaches every suggestion and then ends where a faster rate needs no smaller burst. The knee is where it
        falls furthest below the straight line from end to end, by the logarithm of the rate, unless that is not far."""
        rows = [(fractions.Fraction(int(count), RATES[period]), each["burst"], each["limit_rate"])
                for each in said["tradeoff"] for count, period in [each["limit_rate"].split("/")]]
        fastest = max(fractions.Fraction(each["rounded"]["count"], RATES[each["period"]]) for each in said["suggestions"])
        self.assertGreaterEqual(rows[-1][0], fastest)
        if minimal and len(rows) > 1:
            self.assertTrue(rows[-2][0] < fastest or rows[-1][1] != rows[-2][1], "a row that adds nothing")
        across, fall = math.log(rows[-1][0] / rows[0][0]), rows[0][1] - rows[-1][1]
        below = {name: fall * (1 - math.log(rate / rows[0][0]) / across) - (burst - rows[-1][1])
                 for rate, burst, name in rows} if across else {}
        far = max(below.values(), default=0) - fall / 5
        if abs(far) < 1e-9:
            return
        self.assertEqual(said["knee"] is not None, far > 0)
        if far > 0:
            self.assertAlmostEqual(below[said["knee"]["limit"].split(" ")[0]], max(below.values()))

    def check_curve(self, said, denials, allowed, exact):
        """Every limit on the line, which is a staircase, or above it meets the criterion. One that is below it by more
        than a reader sees does not: by a five-hundredth of the drawing to the left and a hundredth downwards."""
        points = [(each["interval_ns"], each["burst"]) for each in said["curve"]]
        self.assertEqual(points, sorted(points, key=lambda point: -point[0]))
        if not said["greater_meets_it_too"]:
            return
        for (interval, burst), (faster, _) in list(zip(points, points[1:]))[::5]:
            for more in (interval, (interval + faster) // 2, faster):
                self.assertTrue(allowed(*denials(1, more, burst)), f"1 each {more} ns burst {burst}")
            self.assertTrue(allowed(*denials(1, interval, burst * 2)))
        if not points:
            return
        self.assertEqual(exact, said["greater_meets_it_too"])
        left = (points[0][0] / points[-1][0]) ** (1 / 500)
        down = (points[0][1] / points[-1][1]) ** (1 / 100)
        for (interval, burst), (faster, _) in list(zip(points, points[1:]))[::5] + [(points[-1], points[-1])]:
            for on_the_line in {interval, (interval + faster) // 2, faster}:
                slower, smaller = math.ceil(on_the_line * left) + 1, math.ceil(burst / down) - 1
                if smaller > 0 and slower < points[0][0]:
                    self.assertFalse(allowed(*denials(1, slower, smaller)), f"1 each {slower} ns burst {smaller}")

    def test_random_logs(self):
        for seed in seeds(20):
            with self.subTest(seed=seed):
                chance = random.Random(seed)
                rows = random_log(chance)
                path = self.folder.file("some.log", "".join(line(*row) for row in rows))
                costs = chance.random() < 0.3
                log = oracle.read([path], cost="bytes" if costs else None)
                total, clients = len(log.requests), sorted(map(oracle.shown, log.clients()))
                share = chance.choice(("0%", "0.1%", "1%", "5%", "10%", "33.3%", "50%"))
                part = fractions.Fraction(share[:-1]) / 100
                good = chance.sample(clients, chance.randrange(1, len(clients) + 1))
                listed = self.folder.file("good", "".join(who + "\n" for who in good))
                for criterion, allowed, unit_costs_only in (
                        (["--deny-clients", share], lambda _, hit: len(hit) <= part * len(clients), False),
                        (["--deny-requests", share], lambda requests, _: requests <= part * total, True),
                        (["--good", listed], lambda _, hit: not hit & set(good), False)):
                    with self.subTest(" ".join(criterion), costs=costs):
                        said = answer("suggest", path, *criterion, *(["--cost", "bytes"] if costs else []))
                        self.assertEqual((said["requests"], said["clients"]), (total, len(clients)))
                        if criterion[0] == "--deny-clients":
                            self.assertEqual(said["allowed_denied_clients"], int(part * len(clients)))
                        # A larger burst may deny more requests where costs differ: it lets one in that fills it.
                        self.check(said, log, allowed, minimal=not (costs and unit_costs_only))

    def test_the_example_log(self):
        """The partner is good: the suggestion denies none of its requests, and replay agrees to the request."""
        listed = self.folder.file("good", "192.0.2.77\n192.0.2.10\n")
        for criterion in (["--deny-clients", "1%"], ["--deny-requests", "1%"], ["--good", listed]):
            with self.subTest(criterion):
                for each in answer("suggest", EXAMPLE_LOG, *criterion)["suggestions"]:
                    limit, = answer("replay", EXAMPLE_LOG, "--limit", each["limit"])["limits"]
                    self.assertEqual((limit["denied"], limit["clients_denied"]),
                                     (each["denied_requests"], each["clients_denied"]), each["limit"])
                    if criterion[0] == "--good":
                        self.assertNotIn("192.0.2.77", [worst["client"] for worst in limit["worst"]])

    def test_rounded_up_with_the_knee_and_today(self):
        said = answer("suggest", EXAMPLE_LOG, "--deny-clients", "1%", "--today", "100/min")
        self.assertEqual([each["rounded"]["limit"] for each in said["suggestions"]],
                         ["7/s", "60/min", "200/h", "700/d"])
        self.assertEqual([each["beyond_the_log"] for each in said["suggestions"]], [False, False, False, True])
        self.assertEqual(said["knee"]["rounded"]["limit"], "5/min burst 60")
        limits = answer("replay", EXAMPLE_LOG, "--limit", "5/min burst 60", "--limit", "100/min")["limits"]
        for each, limit in zip((said["knee"]["rounded"], said["today"]), limits):
            self.assertEqual((each["limit"], each["denied_requests"], each["clients_denied"]),
                             (limit["limit"], limit["denied"], limit["clients_denied"]))
        code, text, _ = weir("suggest", EXAMPLE_LOG, "--deny-clients", "1%", "--today", "100/min")
        self.assertEqual(code, 0)
        for words in ("100/min", "today", "the knee", "a period longer than the log"):
            self.assertIn(words, text)

    def test_a_rounded_limit_that_would_deny_more_is_not_offered(self):
        """25/d has room for the second 12, which leaves none for the four after it."""
        path = self.folder.file("some.log", "".join(line(30 * n, size=size) for n, size in enumerate((1, 12, 12, 4, 1, 1, 2))))
        day = answer("suggest", path, "--deny-requests", "20%", "--cost", "bytes")["suggestions"][3]
        self.assertEqual((day["limit"], day["rounded"]["limit"], day["rounded"]["denied_requests"]), ("21/d", "21/d", 1))
        self.assertEqual(answer("replay", path, "--limit", "25/d", "--cost", "bytes")["limits"][0]["denied"], 4)

    def test_requests_of_very_many_units(self):
        """Few rates of that size are whole nanoseconds: the next greater one may be hundreds of billions away."""
        for units, expected in ((624_000_000, [("1000000000/s burst 624000000", "1000000000/s burst 700000000"),
                                               ("625000000/min burst 624000000", "625000000/min burst 624000000"),
                                               ("624000000/h", "700000000/h"), ("624000000/d", "700000000/d")]),
                                (2_080_000_000_000, [("3600000000000/h burst 2080000000000", "3600000000000/h burst 2500000000000"),
                                                     ("2107317073171/d burst 2080000000000", "2107317073171/d burst 2080000000000")])):
            with self.subTest(units):
                path = self.folder.file("some.log", line(0, size=units))
                said = answer("suggest", path, "--deny-clients", "0%", "--cost", "bytes")["suggestions"]
                self.assertEqual([(each["limit"], each["rounded"]["limit"]) for each in said], expected)

    def test_a_straight_line_has_no_knee(self):
        path = self.folder.file("some.log", "".join(line(n, "192.0.2.1") for n in range(3)))
        self.assertIsNone(answer("suggest", path, "--deny-clients", "0%")["knee"])

    def test_a_piece_of_a_limits_file(self):
        """It is one that lint accepts, and replay by it denies what the suggestion says."""
        for key, by in (([], "by: [ip]"), (["--key", "ip/48"], "v6: 48"), (["--key", "path,ip/24/64"], "by: [path, ip]")):
            with self.subTest(key):
                code, text, errors = weir("suggest", EXAMPLE_LOG, "--deny-requests", "1%", "--as-limits", *key)
                self.assertEqual((code, errors), (0, ""))
                self.assertIn(by, text)
                path = self.folder.file("suggested.yaml", text)
                self.assertEqual(weir("lint", "--strict", path)[0], 0, text)
                first = answer("suggest", EXAMPLE_LOG, "--deny-requests", "1%", *key)["suggestions"][0]["rounded"]
                limits = answer("replay", EXAMPLE_LOG, "--limits", path)["limits"]
                self.assertEqual(limits[-1]["denied"], first["denied_requests"], text)
        path = self.folder.file("odd.jsonl", '{"ts": 1795240187, "User Id": "a", "ip": "1.2.3.4"}\n' * 3)
        code, out, errors = weir("suggest", path, "--deny-requests", "1%", "--as-limits", "--key", "User Id")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("as-limits: 'User Id' cannot be an attribute's name", errors)
        for other in (["--json"], ["--html", self.folder.file("page.html")]):
            code, out, errors = weir("suggest", EXAMPLE_LOG, "--deny-requests", "1%", "--as-limits", *other)
            self.assertEqual((code, out), (2, ""))

    def test_a_number_of_clients(self):
        """A whole number is a count, and not a share: 1 is one client, and not all of them."""
        for count in (1, 5, 17):
            said = answer("suggest", EXAMPLE_LOG, "--deny-clients", count)
            self.assertEqual((said["criterion"], said["allowed_denied_clients"]), ({"clients": count}, count))
            for each in said["suggestions"]:
                self.assertLessEqual(each["clients_denied"], count)
        self.assertGreater(answer("suggest", EXAMPLE_LOG, "--deny-clients", "5")["suggestions"][1]["clients_denied"], 1)
        code, out, _ = weir("suggest", EXAMPLE_LOG, "--deny-clients", "5")
        self.assertEqual(code, 0)
        self.assertIn("\nthe smallest limits that deny at most 5 of 153 clients:\n", out)
        code, out, _ = weir("suggest", EXAMPLE_LOG, "--deny-clients", "1")
        self.assertIn("\nthe smallest limits that deny at most 1 of 153 clients:\n", out)

    def test_clients_that_are_known_to_be_bad(self):
        """They count for nothing but themselves: the others' limits are those of a log without them."""
        asked = [(60 * n + k, f"192.0.2.{k}") for n in range(60) for k in range(5)]
        asked += [(n, f"198.51.100.{k}") for n in range(0, 3600, 2) for k in (66, 67)]
        path, bad = self.folder.file("all.log", "".join(line(*each) for each in sorted(asked))), self.folder.file("bad", "# scrapers\n198.51.100.66\n198.51.100.67\n")
        without = answer("suggest", path, "--deny-clients", "0", "--where", "ip!=198.51.100.*", "--today", "3/min")
        said = answer("suggest", path, "--deny-clients", "0", "--bad", bad, "--today", "3/min")
        self.assertEqual((said["bad_clients"], said["requests"], said["clients"]), (2, 300, 7))
        for ours, theirs in zip(said["suggestions"] + [said["today"]], without["suggestions"] + [without["today"]], strict=True):
            self.assertEqual((ours["limit"], ours["denied_requests"], ours["denied_share"], ours["clients_denied"]),
                             (theirs["limit"], theirs["denied_requests"], theirs["denied_share"], theirs["clients_denied"]))
            denied = answer("replay", path, "--limit", ours["limit"], "--where", "ip=198.51.100.*")["limits"][0]["clients_denied"]
            self.assertEqual(ours["bad_clients_denied"], denied, ours)
        self.assertEqual(said["today"]["bad_clients_denied"], 2)
        code, out, _ = weir("suggest", path, "--deny-clients", "0", "--bad", bad)
        self.assertEqual(code, 0)
        self.assertIn("\nthe smallest limits that deny at most 0 % of the clients (0 of 5):\n2 clients known to be bad count apart\n", out)
        self.assertRegex(out, r"clients  bad clients  not rounded up")
        self.assertRegex(out, r"/min [^/]*  0 +0 % +0 +2 of 2  ")
        for content, words in (("203.0.113.9\n", "none of the clients in"), ("", "contains no clients"),
                               ("".join(f"192.0.2.{k}\n" for k in range(5)) + "198.51.100.66\n198.51.100.67\n", "all clients of the log")):
            code, out, errors = weir("suggest", path, "--deny-clients", "0", "--bad", self.folder.file("bad", content))
            self.assertEqual((code, out), (2, ""))
            self.assertTrue(errors.startswith("weir: bad: ") and words in errors, errors)

    def test_every_form_says_what_was_left_out(self):
        path = self.folder.file("some.log", "".join(line(n, size=n % 3) for n in range(90)) + "who knows\n" * 10)
        asked = ("suggest", path, "--deny-requests", "1%", "--where", "bytes>0", "--until", "2026-03-01T00:01:00Z")
        words = "50 other requests are left out by --where bytes>0 and --until 2026-03-01T00:01:00Z"
        self.assertIn(f"\n{words}\n", weir(*asked)[1])
        limits = weir(*asked, "--as-limits")[1]
        self.assertIn(f"# {words}.\n", limits)
        self.assertTrue(limits.startswith("# Beware: 10 of 100 lines (10 %) could not be read, and are not counted.\n"), limits)
        self.assertEqual(weir("lint", self.folder.file("suggested.yaml", limits))[0], 0)
        said = answer(*asked)
        self.assertEqual((said["asked"], said["lines"]["left_out"]), (["--where bytes>0", "--until 2026-03-01T00:01:00Z"], 50))
        page = self.folder.file("page.html")
        weir(*asked, "--html", page)
        with open(page, encoding="utf-8") as text:
            self.assertIn("50 other requests are left out by --where bytes and --until 2026-03-01T00:01:00Z.", text.read())

    def test_what_is_asked_wrongly(self):
        path = self.folder.file("some.log", line(0))
        missing = self.folder.file("nobody")
        for args, words in (([], ["--deny-clients", "--deny-requests", "--good"]),
                            (["--deny-clients", "1%", "--deny-requests", "1%"], ["--deny-clients", "--deny-requests"]),
                            (["--deny-clients", "-1%"], ["deny-clients"]),
                            (["--deny-clients", "101%"], ["deny-clients", "101%"]),
                            (["--deny-clients", "few"], ["deny-clients", "few"]),
                            (["--deny-requests", "nan"], ["deny-requests"]),
                            (["--deny-clients", "1%", "--today", "often"], ["today: "]),
                            (["--good", missing], [missing, "No such file"]),
                            (["--good", self.folder.path], [self.folder.path]),
                            (["--good", self.folder.file("empty", "")], ["empty"])):
            with self.subTest(args):
                code, out, errors = weir("suggest", path, *args)
                self.assertEqual((code, out), (2, ""), errors)
                for word in words:
                    self.assertIn(word, errors)


if __name__ == "__main__":
    run(300)
