"""Questions that people ask of a log: some of its requests, limits by plan, and what was decided of each request.

The numbers are the oracle's, on random logs; WEIR_SEED=N runs one seed alone.
"""
import csv
import decimal
import json
import os
import pathlib
import random
import signal
import stat
import subprocess
import time
import unittest

import oracle
from program import WEIR, Folder, answer, environment, line, run, weir
import chance

LOG = (line(0) + line(1, "192.0.2.2", request="GET /v1/items/7?x=1 HTTP/1.1") + line(2) +
       line(3).replace(" 200 ", " 429 ") + line(60, "192.0.2.2"))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.log = self.folder.file("access.log", LOG)

    def said(self, *arguments, log=None, limit="1/s"):
        return answer("replay", log or self.log, "--limit", limit, *arguments)

    def refused(self, *arguments, log=None, limit="1/s"):
        code, out, errors = weir("replay", log or self.log, "--limit", limit, *arguments)
        self.assertEqual((code, out), (2, ""), errors)
        return errors


class Some(Case):
    """--where, --since, --until"""

    def test_conditions(self):
        for conditions, requests in ((["status!=429"], 4), (["status=429"], 1), (["path=/v1/*"], 1), (["path=/"], 4),
                                     (["path=/v1/items/7"], 1), (["status!=429", "ip=192.0.2.1"], 2),
                                     (["status>=400"], 1), (["status<400", "path!=/"], 1), (["bytes=1"], 5)):
            with self.subTest(conditions):
                lines = self.said(*(word for each in conditions for word in ("--where", each)))["lines"]
                self.assertEqual((lines["requests"], lines["left_out"], lines["unreadable"]), (requests, 5 - requests, 0))

    def test_spans(self):
        for arguments, requests in ((("--since", "2026-03-01T00:00:01Z"), 4), (("--until", "2026-03-01T00:00:01Z"), 1),
                                    (("--since", "2026-03-01"), 5), (("--until", "2026-03-01 01:00:03", "--zone=+0100"), 3),
                                    (("--since", "2026-03-01T00:00:00.5Z", "--until", "1772323203"), 2),
                                    (("--until", "-3h"), 5)):
            with self.subTest(arguments):
                if arguments[-1] == "-3h":
                    old = line(0) + line(1)
                    self.assertEqual(self.said(*arguments, log=self.folder.file("old.log", old))["lines"]["requests"], 2)
                else:
                    self.assertEqual(self.said(*arguments)["lines"]["requests"], requests)

    def test_hours_ago(self):
        now = int(time.time())
        log = self.folder.file("now.jsonl", "".join(f'{{"ts": {now - 3600 * ago}, "ip": "192.0.2.{ago}"}}\n' for ago in (9, 8, 1)))
        for flag, requests in (("--since", 1), ("--until", 2)):
            with self.subTest(flag):
                self.assertEqual(self.said(flag, "-3h", log=log)["lines"]["requests"], requests)

    def test_the_table_says_how_many_were_left_out(self):
        _, out, _ = weir("replay", self.log, "--limit", "1/s", "--where", "status!=429")
        self.assertIn("1 other request is left out by --where status!=429\n", out)

    def test_what_is_left_out_keeps_its_place_in_the_order(self):
        """The clamped line is late by what came before it, asked about or not."""
        log = self.folder.file("late.log", line(0) + line(600).replace(" 200 ", " 500 ") + line(10) + line(700))
        lines = self.said("--where", "status!=500", log=log)["lines"]
        self.assertEqual((lines["requests"], lines["left_out"], lines["clamped"]), (3, 1, 1))

    def test_what_is_wrong(self):
        for arguments, wrong in (
                (("--where", "status"), "where: 'status': expected a field, one of = != < > <= >=, and a value"),
                (("--where", "stauts!=429"), "where: 'stauts!=429': no line has a value in that field; the fields are client, ident, "
                 "user, "),
                (("--where", "stauts=429"), "where: 'stauts=429': no line has a value in that field; the fields are client, ident, "),
                (("--where", "status!=429", "--where", "stauts!=429"), "where: 'stauts!=429': no line has a value in that field"),
                (("--where", "status=500"), "--where, --since and --until leave out all of 5 requests"),
                (("--since", "yesterday"),
                 "since: 'yesterday' is not a time such as 2026-11-21, 2026-11-21T05:49:47Z or -3h"),
                (("--until", "-3"), "until: '-3' is not a time such as"),
                (("--since", "2026-03-02", "--until", "2026-03-01"),
                 "since: '2026-03-02' is not before --until '2026-03-01'"),
                (("--since", "2026-03-01", "--until", "2026-03-01"), "since: '2026-03-01' is not before --until '2026-03-01'")):
            with self.subTest(arguments):
                self.assertIn(wrong, self.refused(*arguments))

    def test_a_log_without_requests_says_so_whatever_was_asked_about(self):
        for text, wrong in (("", "contains no requests"), ("nothing\n", "none of 1 lines could be read")):
            with self.subTest(text):
                self.assertIn(wrong, self.refused("--where", "stauts=429", log=self.folder.file("odd.log", text)))

    def test_what_lacks_a_key_or_a_cost_matters_only_where_it_is_asked_about(self):
        log = self.folder.file("lacks.jsonl", "".join(json.dumps(each) + "\n" for each in (
            {"time": 1_772_323_200, "user": "anna", "status": 200, "n": 2}, {"time": 1_772_323_201, "status": 401},
            {"time": 1_772_323_202, "status": 200}, {"time": 1_772_323_203, "user": "ben", "status": 200}, {"user": "ben", "status": 401})))
        for more, lines in (((), (2, 3, 0)), (("--where", "status!=401"), (2, 2, 1)), (("--until", "2026-03-01T00:00:02Z"), (1, 2, 2)),
                            (("--where", "status=401"), None), (("--cost", "n", "--where", "user=anna"), (1, 1, 3))):
            with self.subTest(more):
                if lines is None:
                    self.assertIn("leave out all of 3 requests", self.refused("--key", "user", *more, log=log))
                    continue
                said = self.said("--key", "user", *more, log=log)["lines"]
                self.assertEqual((said["requests"], said["unreadable"], said["left_out"]), lines)

    def test_suggest_and_limits_files_ask_too(self):
        said = answer("suggest", self.log, "--deny-requests", "0", "--where", "status!=429")
        self.assertEqual(said["requests"], 4)
        limits = self.folder.file("limits.yaml", "version: 1\nlimits:\n  ip: { by: [ip], rate: 1/min }\n")
        said = answer("replay", self.log, "--limits", limits, "--where", "status!=429")
        self.assertEqual((said["limits"][0]["requests"], said["lines"]["left_out"]), (4, 1))


    def test_a_limits_file_decides_in_whole_nanoseconds_as_a_server_does(self):
        """A third of a second is rounded up there, which a log of whole seconds shows and an exact rule does not."""
        log = self.folder.file("thirds.log", "".join(line(n // 3) for n in range(1800)))
        limits = self.folder.file("limits.yaml", "version: 1\nlimits:\n  ip: { by: [ip], rate: 3/s }\n")
        said = answer("replay", log, "--limits", limits)
        self.assertEqual(said["limits"][0]["denied"], 300)
        self.assertIn("'3/s' may deny less live than here", " ".join(said["warnings"]))
        self.assertEqual(answer("replay", log, "--limit", "3/s")["limits"][0]["denied"], 0)
        self.assertEqual(answer("replay", log, "--limits", limits, "--spread")["limits"][0]["denied"], 0)

    def test_a_hold_charges_its_estimate_unless_the_log_says_the_cost(self):
        log = self.folder.file("holds.log", "".join(line(n, size=3) for n in range(6)))
        limits = self.folder.file("limits.yaml", "version: 1\nlimits:\n  tokens: { by: [ip], rate: 10/h, "
                                                 "hold: { estimate: 4, ttl: 60s } }\n")
        for more, allowed, units in (((), 2, 8), (("--cost", "bytes"), 3, 9)):
            with self.subTest(more):
                tokens = answer("replay", log, "--limits", limits, *more)["limits"][1]
                self.assertEqual((tokens["allowed"], tokens["denied"], tokens["units_admitted"]),
                                 (allowed, 6 - allowed, units))


class PathPatterns(Case):
    def paths(self, *paths):
        return self.folder.file("paths.log", "".join(line(second, request=f"GET {path} HTTP/1.1") for second, path in enumerate(paths)))

    def clients(self, log, *arguments):
        worst = self.said("--key", "path", *arguments, log=log, limit="1/d")["limits"][0]["worst"]
        return {each["client"]: each["requests"] for each in worst}

    def test_paths_that_match_count_as_one(self):
        log = self.paths("/v1/items/1", "/v1/items/2?full=1", "/v1/items/2/parts", "/v1//items/3", "/v1/item", "/v2/a", "/v2/a")
        both = ("--path-pattern", "/v1/items/*", "--path-pattern", "/v*/a")
        self.assertEqual(self.clients(log, *both), {"/v1/items/*": 4, "/v*/a": 2})
        self.assertEqual(self.clients(log, "--path-pattern", "/v1/*", "--path-pattern", "/v1/items/*"),
                         {"/v1/*": 5, "/v2/a": 2}, "the first that matches")
        said = self.said("--key", "ip,path", *both, log=log)
        self.assertEqual(said["clients"], 3)
        # A condition asks about the path itself.
        self.assertEqual(self.clients(log, *both, "--where", "path=/v1/items/*"), {"/v1/items/*": 4})

    def test_a_key_without_a_path_is_refused(self):
        self.assertIn("path-pattern: the key has no path; it may be --key path or ip,path",
                      self.refused("--path-pattern", "/v1/*"))


class Spread(Case):
    def test_requests_of_one_second_are_spread_over_it(self):
        log = self.folder.file("burst.log", "".join(line(second) for second in range(60) for _ in range(4)))
        self.assertEqual(self.said(log=log, limit="4/s burst 1")["limits"][0]["denied"], 180)
        self.assertEqual(self.said("--spread", log=log, limit="4/s burst 1")["limits"][0]["denied"], 0)
        said = answer("suggest", log, "--deny-requests", "0", "--spread")
        self.assertEqual(said["suggestions"][0]["limit"], "4/s burst 1")


class Plans(Case):
    KEPT = ["algorithm", "requests", "allowed", "denied", "never", "units_admitted", "clients_denied",
            "peak_admitted_second", "peak_admitted_minute"]

    def random_log(self, random):
        rows = ["time,ip,plan,bytes"]
        plans = {f"192.0.2.{n}": random.choice(("free", "pro", "trial", "staff, paid")) for n in range(12)}
        for _ in range(random.choice((5, 100, 600))):
            who = random.choice(sorted(plans))
            rows.append(f'{1_772_323_200 + random.randrange(300)},{who},"{plans[who]}",{random.randrange(1, 4)}')
        return self.folder.file("plans.csv", "\n".join(rows) + "\n"), plans

    def test_random_logs(self):
        for seed in chance.seeds(15):
            with self.subTest(seed=seed):
                dice = random.Random(seed)
                log, plans = self.random_log(dice)
                limits = {"free": dice.choice(("3/min", "1/s burst 2", "2/10s algorithm=fixed_window")), "pro": "7/min",
                          **({"*": "2/min algorithm=sliding_window_log"} if dice.random() < 0.5 else {})}
                asked = ",".join(f"{plan}={limit}" for plan, limit in limits.items())
                cost = ["--cost", "bytes"] if dice.random() < 0.5 else []
                read = {"cost": "bytes"} if cost else {}
                of_field = oracle.read([log], key="ip,plan", reorder=None, **read)
                of_client = oracle.read([log], key="ip", reorder=None, **read)
                clients = self.folder.file("clients.csv", "".join(f'{who},"{plan}"\n' for who, plan in plans.items()))
                for arguments, requests, plan_of in (
                        (("--limit-by", "plan"), of_field, lambda who: who[1]),
                        (("--plans", clients), of_client, lambda who: plans[who[0]])):
                    said = self.said("--reorder", "all", *arguments, *cost, log=log, limit=asked)["limits"]
                    together = oracle.decide(requests, limits, plan_of)
                    self.agrees(said[0], together)
                    self.assertEqual([each["limit"] for each in said],
                                     ["by plan"] + [f"{plan}: {limit}" for plan, limit in limits.items()])
                    for (plan, limit), part in zip(limits.items(), said[1:]):
                        mine = oracle.Log()
                        belongs = lambda who: plan_of(who) == plan or plan == "*" and plan_of(who) not in limits
                        mine.requests = [each for each in requests.requests if belongs(each[1])]
                        if mine.requests:
                            self.agrees(part, oracle.decide(mine, limit))

    def agrees(self, said, wanted):
        self.assertEqual({each: said[each] for each in self.KEPT}, {each: wanted[each] for each in self.KEPT})
        self.assertEqual([(each["client"], each["denied"]) for each in said["worst"]],
                         [(each["client"], each["denied"]) for each in wanted["worst"][:10]])
        self.assertAlmostEqual(said["longest_locked_out_s"], wanted["longest_locked_out_ns"] / 1e9)

    def test_a_plan_without_a_limit_is_told(self):
        log = self.folder.file("plans.csv", "time,ip,plan\n" + "".join(f"{1_795_240_187 + n},192.0.2.{n},{plan}\n" for n, plan in
                                                                      enumerate(("free", "trial", "-", "trial"))))
        warning, = [each for each in self.said("--limit-by", "plan", log=log, limit="free=1/s")["warnings"] if "plan" in each]
        self.assertEqual(warning, "3 clients have a plan without a limit, which denies nothing (-, trial); "
                                  "--limit '*=...' limits the rest")

    def test_what_is_wrong(self):
        plans = self.folder.file("clients.csv", "192.0.2.1,free\n")
        twice = self.folder.file("twice.csv", "192.0.2.1,free\n192.0.2.1,pro\n")
        odd = self.folder.file("odd.csv", "192.0.2.1\n")
        empty = self.folder.file("empty.csv", "\n")
        for arguments, limit, wrong in (
                (("--limit-by", "plan"), "60/min", "limit: '60/min': expected a plan, = and its limit, as in free=60/min"),
                (("--limit-by", "plan"), "free=60", "limit: plan free: "),
                (("--limit-by", "plan"), "free=1/s,free=2/s", "limit: plan 'free' a second time"),
                (("--limit-by", "plan", "--plans", plans), "free=1/s", "give --limit-by or --plans, not both"),
                (("--plans", twice), "free=1/s", f"plans: {twice}:2: '192.0.2.1' a second time"),
                (("--plans", odd), "free=1/s", f"plans: {odd}:1: expected a client, a comma and its plan"),
                (("--plans", empty), "free=1/s", f"plans: '{empty}' contains no clients"),
                (("--plans", "nowhere.csv"), "free=1/s", "plans: 'nowhere.csv' cannot be opened"),
                (("--plans", plans), ",".join(f"p{n}=1/s" for n in range(17)), "limit: 17 plans; the maximum is 16"),
                ((), "free=1/s", "quota 'free=1/s': the count is not a whole number")):
            with self.subTest(arguments):
                self.assertIn(wrong, self.refused(*arguments, limit=limit))


class Decisions(Case):
    """--decisions"""

    def rows(self, path):
        return list(csv.reader(open(path, newline="", encoding="utf-8", errors="surrogateescape")))

    def written(self, *arguments, name="out.csv", log=None):
        path = self.folder.file(name)
        if os.path.exists(path):
            os.unlink(path)
        answer("replay", log or self.log, *arguments, "--decisions", path)
        return path

    def test_random_logs(self):
        names = ["192.0.2.1", "2001:db8::1", 'a "b", c', "é", "x\\y", "tab\there"]
        limits = ["3/s", "7/min burst 2", "5/10s algorithm=fixed_window", "4/10s algorithm=sliding_window_log"]
        for seed in chance.seeds(10):
            with self.subTest(seed=seed):
                dice = random.Random(seed)
                log = self.folder.file("some.jsonl", "".join(json.dumps(
                    {"time": f"{1_772_323_200 + dice.randrange(60)}.{dice.choice(('0', '5', '123456789'))}",
                     "ip": dice.choice(names), "bytes": dice.randrange(10)}) + "\n" for _ in range(300)))
                asked = [word for limit in limits for word in ("--limit", limit)]
                requests = oracle.read([log], cost="bytes", reorder=None)
                wanted = [oracle.decide(requests, limit)["decisions"] for limit in limits]
                arguments = (*asked, "--cost", "bytes", "--reorder", "all")
                header, *rows = self.rows(self.written(*arguments, log=log))
                lines = [json.loads(each, parse_float=decimal.Decimal) for each in
                         open(self.written(*arguments, log=log, name="out.jsonl"), encoding="utf-8")]
                self.assertEqual(header, ["time", "client", "cost"] +
                                 [name for limit in limits for name in (limit, f"{limit} retry_after")])
                self.assertEqual((len(rows), len(lines)), (len(requests.requests),) * 2)
                for n, (now, (who,), cost) in enumerate(requests.requests):
                    fraction = f".{now % oracle.SECOND:09}".rstrip("0").rstrip(".")
                    common = [oracle.utc(now)[:-1] + fraction + "Z", who, cost]
                    self.assertEqual(rows[n][:3], list(map(str, common)))
                    self.assertEqual([lines[n][name] for name in header[:3]], common)
                    for limit, decisions in zip(limits, wanted):
                        verdict, wait = decisions[n]
                        at = header.index(limit)
                        wait = None if wait is None else decimal.Decimal(wait) / oracle.SECOND
                        self.assertEqual((rows[n][at], rows[n][at + 1] and decimal.Decimal(rows[n][at + 1])),
                                         (verdict, "" if wait is None else wait))
                        self.assertEqual((lines[n][limit], lines[n][f"{limit} retry_after"]), (verdict, wait))

    def test_only_its_owner_may_read_it(self):
        path = self.written("--limit", "1/s")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)

    def test_bytes_that_are_not_utf_8(self):
        log = self.folder.file("odd.log", "")
        pathlib.Path(log).write_bytes(line(0, request="GET WHO HTTP/1.1").encode().replace(b"WHO", b"caf\xe9,1"))
        self.assertEqual(self.rows(self.written("--limit", "1/s", "--key", "path", log=log))[1][1], "caf\udce9,1")
        said, = map(json.loads, open(self.written("--limit", "1/s", "--key", "path", log=log, name="o.jsonl"), encoding="utf-8"))
        self.assertEqual(said["client"], "caf\ufffd,1")

    def test_standard_output(self):
        code, out, errors = weir("replay", self.log, "--limit", "1/s", "--decisions", "-")
        self.assertEqual((code, out.splitlines()[0], len(out.splitlines())), (0, "time,client,cost,1/s,1/s retry_after", 6))
        self.assertIn("5 requests of 2 clients", errors)

    def test_pseudonyms(self):
        path = self.written("--limit", "1/s", "--anonymize")
        self.assertEqual({row[1] for row in self.rows(path)[1:]}, {"client 1", "client 2"})

    def test_of_a_limits_file(self):
        limits = self.folder.file("limits.yaml", "version: 1\nlimits:\n  ip: { by: [ip], rate: 1/min }\n"
                                                 "  bad: { by: [ip], rate: 9/s, deny: { ip: 192.0.2.2 } }\n")
        path = self.written("--limits", limits)
        self.assertEqual(self.rows(path), [
            ["time", "client", "cost", "verdict", "retry_after", "limit"],
            ["2026-03-01T00:00:00Z", "192.0.2.1", "1", "allowed", "", "ip"],
            ["2026-03-01T00:00:01Z", "192.0.2.2", "1", "denied", "", "bad"],
            ["2026-03-01T00:00:02Z", "192.0.2.1", "1", "denied", "58", "ip"],
            ["2026-03-01T00:00:03Z", "192.0.2.1", "1", "denied", "57", "ip"],
            ["2026-03-01T00:01:00Z", "192.0.2.2", "1", "denied", "", "bad"]])

    def test_limits_by_plan_have_one_verdict(self):
        plans = self.folder.file("clients.csv", "192.0.2.1,free\n")
        path = self.written("--plans", plans, "--limit", "free=1/min")
        self.assertEqual([row[3:] for row in self.rows(path)],
                         [["by plan", "by plan retry_after"], ["allowed", ""], ["allowed", ""], ["denied", "58"],
                          ["denied", "57"], ["allowed", ""]])

    def test_what_is_wrong(self):
        self.assertIn("is the log itself", self.refused("--decisions", self.log))
        self.assertIn("/nowhere/out.csv: cannot be written: No such file", self.refused("--decisions", "/nowhere/out.csv"))
        code, out, errors = weir("replay", self.log, "--limit", "1/s", "--decisions", "/dev/full")
        self.assertEqual((code, errors), (2, "weir: /dev/full: cannot be written: No space left on device\n"))
        self.assertIn("5 requests of 2 clients", out)
        self.assertIn("decisions: '1/s' is tried twice", self.refused("--decisions", "x.csv", "--limit", "1/s"))
        self.assertIn("decisions: standard output holds either them or --json",
                      self.refused("--decisions", "-", "--json"))

    def test_ctrl_c_leaves_no_half_file(self):
        path = pathlib.Path(self.folder.file("out.csv"))
        process = subprocess.Popen([WEIR, "replay", "-", "--limit", "1/s", "--decisions", path], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self.addCleanup(process.kill)
        process.stdin.write(LOG.encode() * 50_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(sorted(each.name for each in path.parent.iterdir()), ["access.log"])


class EachClient(unittest.TestCase):
    """--clients and --top."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        rows = [{"time": 1_772_323_200 + n // 4, "ip": f"192.0.2.{n % 3}", "plan": "pro" if n % 3 else "free",
                 "path": f"/items/{n % 2}?page={n}", "agent": None if n % 3 else "bot/1.0"} for n in range(60)]
        self.log = self.folder.file("some.jsonl", "".join(json.dumps(each) + "\n" for each in rows))
        self.table = self.folder.file("clients.csv")
        self.limits = self.folder.file("limits.yaml", "version: 1\nlimits:\n  ip: { by: [ip], rate: 1/s }\n")

    def rows(self, *args):
        said = answer("replay", self.log, *args, "--clients", self.table, "--worst", "1000")
        with open(self.table, encoding="utf-8", newline="") as file:
            return said, list(csv.DictReader(file))

    def test_a_line_for_each_client(self):
        said, rows = self.rows("--limit", "1/s", "--limit", "1000/s")
        self.assertEqual(list(rows[0]), ["client", "requests", "first", "last", "1/s denied", "1/s first denied",
                                         "1000/s denied", "1000/s first denied"])
        self.assertEqual({row["client"]: (int(row["1/s denied"]), row["1/s first denied"]) for row in rows},
                         {each["client"]: (each["denied"], each["first_denied"]) for each in said["limits"][0]["worst"]})
        for row in rows:
            self.assertEqual((row["requests"], row["first"], row["1000/s denied"], row["1000/s first denied"]),
                             ("20", "2026-03-01T00:00:00Z", "0", ""))
        self.assertEqual(os.stat(self.table).st_mode & 0o777, 0o600)

    def test_of_plans_of_a_file_and_without_names(self):
        for args, names in ((("--limit-by", "plan", "--limit", "free=1/s,pro=2/s"), {"192.0.2.0 free", "192.0.2.1 pro", "192.0.2.2 pro"}),
                            (("--limits", self.limits), {"192.0.2.0", "192.0.2.1", "192.0.2.2"}),
                            (("--limit", "1/s", "--anonymize"), {"client 1", "client 2", "client 3"})):
            with self.subTest(args):
                said, rows = self.rows(*args)
                self.assertEqual({row["client"] for row in rows}, names)
                denied = next(name for name in rows[0] if name.endswith("denied") and "first" not in name)
                self.assertEqual(sum(int(row[denied]) for row in rows), said["limits"][0]["denied"])

    def test_what_was_denied_most(self):
        plain = answer("replay", self.log, "--limit", "1/s", "--limit", "9/s")
        for args in (("--limit", "1/s", "--limit", "9/s"), ("--limits", self.limits), ("--limit-by", "plan", "--limit", "*=1/s"),
                     ("--limit", "1/s", "--key", "ip,plan")):
            with self.subTest(args):
                said = answer("replay", self.log, *args, "--top", "path,agent")
                first = said["limits"][0]
                self.assertEqual((said["clients"], first["denied"]), (3, plain["limits"][0]["denied"]))
                self.assertEqual({each["value"] for each in first["top"]["path"]} - {"/items/0", "/items/1"}, set())
                self.assertEqual([each["value"] for each in first["top"]["agent"]], ["", "bot/1.0"])
                for field in ("path", "agent"):
                    self.assertEqual(sum(each["denied"] for each in first["top"][field]), first["denied"])
                    self.assertGreater(sum(each["requests"] for each in first["top"][field]), first["denied"])
        self.assertNotIn("top", plain["limits"][0])
        page = self.folder.file("page.html")
        code, out, _ = weir("replay", self.log, "--limit", "1/s", "--top", "path,agent", "--html", page)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"denied most by agent  requests  denied\n  \(none\) ")
        with open(page, encoding="utf-8") as text:
            self.assertNotIn("/items/", text.read())
        self.assertEqual(weir("replay", self.log, "--limit", "1/s", "--top", "path,,agent")[2],
                         "weir: top: 'path,,agent' is neither a field nor fields separated by commas\n")


if __name__ == "__main__":
    run(300)
