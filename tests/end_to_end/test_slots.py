"""Slots: how many calls are under way at once, by rules and by the limits file, over RESP and HTTP."""
import json
import re
import time
import unittest
import urllib.error
import urllib.request

from server import Error, Folder, OneServerWithLimits, Server, encode, until, run as run_tests

FILE = """\
version: 1
classes: [critical, default, bulk]
attributes: [account, job]
limits:
  vendor:
    by: [account]
    rate: 100/min
    in_flight: 2
    hold: { ttl: 30s }
    leave: { bulk: 50% }
    overrides:
      - { when: { account: big }, in_flight: 3 }
      - { when: { account: free }, in_flight: unlimited }
  jobs: { by: [job], in_flight: 1, hold: { ttl: 30s } }
routes:
  - { when: { job: "*" }, limits: [jobs] }
  - { limits: [vendor] }
"""
NEEDS = ("is met by WEIR.RESERVE and WEIR.ACQUIRE alone (/v1/reserve, /v1/acquire), with a hold: a slot is taken "
         "until the hold's end")


class TestSlots(OneServerWithLimits):
    limits = FILE
    flags = ("--http", "127.0.0.1:0", "--admin", "127.0.0.1:0")

    def setUp(self):
        super().setUp()
        self.key = self.id()

    def reserve(self, *words):
        return self.client.ask("WEIR.RESERVE", *words)

    def open_holds(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.ports[2]}/metrics") as page:
            return int(re.search(r'^weir_in_flight\{limit="jobs"\} (\d+)$', page.read().decode(), re.M)[1])

    def test_open_holds_are_a_metric(self):
        before = self.open_holds()
        all_before = int(self.info("Keyspace")["in_flight"])
        held = self.reserve("MAXWAIT", "0", "AS", "job=metric")[5]
        self.assertEqual(self.open_holds(), before + 1)
        told = self.info("Keyspace")
        self.assertEqual((int(told["in_flight"]), told["slot_waiters"]), (all_before + 1, "0"))
        self.client.ask("WEIR.SETTLE", held)
        self.assertEqual(self.open_holds(), before)

    def test_a_third_of_two_is_busy_and_a_settlement_makes_room(self):
        first, second = (self.reserve("HOLD", "60000", self.key, "in_flight=2") for _ in range(2))
        self.assertEqual((first[:3], second[:4]), ([0, 2, 1], [0, 2, 0, 0]))
        denied, limit, left, wait, reset, name, by = self.reserve("HOLD", "60000", self.key, "in_flight=2")
        self.assertEqual((denied, limit, left, name, by), (1, 2, 0, None, self.key.encode()))
        self.assertTrue(0 < wait <= reset <= 60_000, (wait, reset))
        self.assertEqual(self.client.ask("WEIR.SETTLE", first[5]), 0)
        self.assertEqual(self.client.ask("WEIR.SETTLE", first[5]), -1)
        self.assertEqual(self.reserve("HOLD", "60000", self.key, "in_flight=2")[0], 0)
        self.assertEqual(self.reserve("HOLD", "60000", self.key, "in_flight=2")[0], 1)
        self.assertEqual([self.client.ask("DEL", self.key) for _ in range(2)], [1, 0])
        self.assertEqual(self.reserve("HOLD", "60000", self.key, "in_flight=2")[0], 0)

    def test_its_time_ends_a_hold_and_is_counted(self):
        self.reserve("HOLD", "50", self.key, "in_flight=1")
        until(lambda: self.reserve("HOLD", "60000", self.key, "in_flight=1")[0] == 0, "its time ends it")
        self.assertGreaterEqual(int(self.info("Keyspace")["holds_expired"]), 1)

    def info(self, section):
        text = self.client.ask("INFO", section).decode()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def test_extend(self):
        held = self.reserve("HOLD", "1000", self.key, "in_flight=1")[5]
        self.assertEqual(self.client.ask("WEIR.EXTEND", held, "60000"), 60_000)
        self.assertTrue(59_000 < self.reserve("HOLD", "1", self.key, "in_flight=1")[3] <= 60_000)
        self.assertEqual(self.client.ask("WEIR.EXTEND", held, str(10 ** 15)), 86_400_000)
        self.assertEqual(self.client.ask("WEIR.EXTEND", held, "0"), 0)
        self.assertEqual(self.client.ask("WEIR.EXTEND", held, "60000"), 0)
        self.assertEqual(self.reserve("HOLD", "1", self.key, "in_flight=1")[0], 0)
        self.assertEqual(self.reserve("HOLD", "86400001", self.key, "in_flight=1"),
                         Error("ERR HOLD: '86400001' is not an integer from 1 to 86400000"))
        self.assertEqual(self.client.ask("WEIR.EXTEND", "x", "-1"),
                         Error("ERR ms: '-1' is not an integer from 0 to 9223372036854775807"))

    def test_what_has_no_hold_is_an_error_that_names_the_verb(self):
        for words in (("WEIR.THROTTLE", self.key, "in_flight=1"), ("WEIR.RESERVE", self.key, "in_flight=1")):
            self.assertEqual(self.client.ask(*words), Error("ERR in_flight=1 " + NEEDS))
        self.assertEqual(self.client.ask("WEIR.CHECK", "account=1"), Error("ERR in_flight=2 " + NEEDS))
        self.assertEqual(self.client.ask("WEIR.CHARGE", self.key, "in_flight=1"),
                         Error("ERR in_flight=1 " + NEEDS))
        self.assertEqual(self.client.ask("WEIR.CHARGE", "AS", "account=2")[0::4], [1, b"vendor"])
        for rule, error in (("in_flight=0", "to refuse everybody: deny, in the limits file; to limit nobody: leave the limit out"),
                            ("in_flight=x", "'x' is not an integer from 1 to 1000000000")):
            self.assertEqual(self.reserve(self.key, rule), Error(f"ERR limit '{rule}': in_flight: {error}"))
        self.assertEqual(self.reserve(self.key, "in_flight=1 5/s"),
                         Error("ERR limit 'in_flight=1 5/s': unexpected '5/s'; the form is in_flight=N, and a rate "
                               "is another limit"))
        status, problem = self.post("/v1/check", {"attributes": {"account": "3"}})
        self.assertEqual((status, problem["detail"]), (400, "in_flight=2 " + NEEDS))

    def test_by_the_file(self):
        ids = [self.reserve("AS", "account=a")[5] for _ in range(2)]
        denied = self.reserve("MAXWAIT", "5000", "AS", "account=a")
        self.assertEqual((denied[:3], denied[6]), ([1, 2, 0], b"vendor"))
        self.assertTrue(29_000 < denied[3] <= 30_000, denied)
        row = self.client.ask("WEIR.LOOK", "account=a")
        self.assertEqual((row[0], row[1], row[2], row[5]), (1, 2, 0, b"vendor"))
        self.assertEqual(self.client.ask("WEIR.CANCEL", ids[0]), 0)
        self.assertTrue(29_000 < self.client.ask("WEIR.EXTEND", ids[0], "3600000") <= 30_000)
        self.assertGreaterEqual(self.client.ask("WEIR.SETTLE", ids[0]), 0)
        self.assertEqual(self.reserve("AS", "account=a")[0], 0)
        self.assertEqual([self.reserve("AS", "account=big")[0] for _ in range(4)], [0, 0, 0, 1])
        self.assertEqual([self.reserve("AS", "account=free")[0] for _ in range(4)], [0, 0, 0, 0])
        self.assertEqual([self.reserve("CLASS", "bulk", "AS", "account=b")[0] for _ in range(2)], [0, 1])
        self.assertEqual(self.reserve("AS", "account=b")[0], 0)
        self.assertEqual([self.reserve("AS", "job=1")[0] for _ in range(2)], [0, 1])
        self.assertEqual(self.client.ask("WEIR.RESET", "AS", "job=1"), 1)
        self.assertEqual(self.reserve("AS", "job=1")[0], 0)

    def test_acquire_stands_in_line_and_has_a_freed_slot_at_once(self):
        words = ("MAXWAIT", "20000", "HOLD", "60000", self.key, "in_flight=1")
        held = self.reserve("HOLD", "60000", self.key, "in_flight=1")[5]
        line = []
        for _ in range(20):
            client = self.server.client()
            self.addCleanup(client.close)
            client.send("WEIR.ACQUIRE", *words)
            line.append(client)
            until(lambda: int(self.info("Clients")["blocked_clients"]) == len(line), "it waits")
        line.pop(5).close()  # who goes holds up nobody
        began = time.monotonic()
        for client in line:
            self.client.ask("WEIR.SETTLE", held)
            got = client.reply()
            self.assertEqual((got[0], got[3]), (0, 0))
            held = got[5]
        self.assertLess(time.monotonic() - began, 5)
        denied = self.client.ask("WEIR.ACQUIRE", "MAXWAIT", "50", *words[2:])
        self.assertEqual((denied[0], denied[6]), (1, self.key.encode()))
        self.assertTrue(50_000 < denied[3] <= 60_000, denied)

    def waiters(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.ports[2]}/metrics") as page:
            return int(re.search(r'^weir_slot_waiters\{limit="jobs"\} (\d+)$', page.read().decode(), re.M)[1])

    def test_a_reservation_does_not_pass_the_line(self):
        holder = self.reserve("AS", "job=line")[5]
        waiting = self.server.client()
        self.addCleanup(waiting.close)
        waiting.send("WEIR.ACQUIRE", "MAXWAIT", "20000", "AS", "job=line")
        until(lambda: self.waiters() == 1, "it stands in line")
        # Settled and asked for in one breath, before anybody else has been told.
        self.client.send_bytes(b"".join(encode(*words) for words in (
            ("WEIR.SETTLE", holder), ("WEIR.RESERVE", "AS", "job=line"), ("WEIR.RESERVE", "AS", "job=other"))))
        self.assertEqual(self.client.reply(), 0)
        busy = self.client.reply()
        self.assertEqual((busy[0], busy[5], busy[6]), (1, None, b"jobs"))
        self.assertEqual(self.client.reply()[0], 0)
        self.assertEqual(waiting.reply()[0], 0)
        until(lambda: self.waiters() == 0, "nobody does")

    def test_over_http(self):
        asked = {"attributes": {"job": "2"}}
        status, granted = self.post("/v1/reserve", asked)
        self.assertEqual((status, granted["limit"], granted["remaining"]), (200, 1, 0))
        status, denied = self.post("/v1/reserve", asked)
        self.assertEqual((status, denied["verdict"], denied["by"], denied["remaining"]), (429, "busy", "jobs", 0))
        explained = self.post("/v1/explain", {**asked, "cost": 3})[1]["limits"][0]
        self.assertEqual((explained["window"], explained["rate"], explained["verdict"], explained["cost"]),
                         ("in_flight", "in_flight=1", "busy", 1))
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.ports[1]}/openapi.json") as page:
            answer = json.load(page)["components"]["schemas"]["Answer"]
        self.assertIn("busy", answer["properties"]["verdict"]["enum"])
        self.assertEqual(self.post("/v1/extend", {"id": granted["id"], "hold": 10}), (200, {"hold": 10.0}))
        self.assertEqual(self.post("/v1/extend", {"id": granted["id"]})[0], 400)
        self.assertEqual(self.post("/v1/settle", {"id": granted["id"]}), (200, {"wait": 0}))
        self.assertEqual(self.post("/v1/extend", {"id": granted["id"], "hold": 10}), (200, {"hold": 0}))
        self.assertEqual(self.post("/v1/reserve", asked)[0], 200)


# What a limit may have beside a rate of one an hour, or in its place.
MEMBERS = {
    "slots": "in_flight: 1, hold: { ttl: 60s }",
    "slots and a rate": "rate: 1/h, in_flight: 1, hold: { ttl: 60s }",
    "hold": "rate: 1/h, hold: { estimate: 1, ttl: 60s }",
    "max_wait": "rate: 1/h, max_wait: 10ms",
    "penalty": "rate: 1/h, penalty: 1min",
    "charge": "rate: 1/h, charge: after",
    "leave": "rate: 2/h, leave: { bulk: 50% }",
    "window": "rate: \"1/h algorithm=fixed_window\"",
}
SHADOWS = {"the file": ", shadow: until 2100-01-01", "an operator": ""}


class TestShadow(unittest.TestCase):
    """A limit in shadow is an error for nobody and denies nobody, whatever else it has and however it is asked."""

    def asks(self, server, client):
        """Whether each of the ways to ask passes, three times."""
        def resp(verb, *words):
            told = client.ask(verb, *words)
            return told[0] == 0 if isinstance(told, list) else told

        def http(verb, **more):
            return server.post("/v1/" + verb, {"attributes": {"user": "a"}, **more})[0] == 200

        def gate(profile):
            request = urllib.request.Request(f"http://127.0.0.1:{server.ports[1]}/v1/gate/{profile}", headers={"X-User": "a"})
            try:
                with urllib.request.urlopen(request) as reply:
                    return reply.status == 200
            except urllib.error.HTTPError as error:
                with error:
                    return f"{error.code} {error.read()}"

        for _ in range(3):
            yield "check", resp("WEIR.CHECK", "user=a")
            yield "look", resp("WEIR.LOOK", "user=a")
            yield "reserve", resp("WEIR.RESERVE", "AS", "user=a")
            yield "reserve and hold", resp("WEIR.RESERVE", "HOLD", "100000", "AS", "user=a")
            yield "acquire", resp("WEIR.ACQUIRE", "MAXWAIT", "1", "AS", "user=a")
            yield "take", resp("WEIR.CHECK", "COST", "2", "ATLEAST", "1", "user=a")
            yield "/v1/check", http("check")
            yield "/v1/reserve", http("reserve")
            yield "/v1/acquire", http("acquire", max_wait=0.001)
            yield "a gate", gate("plain")
            yield "a gate that holds", gate("holds")

    def test_is_felt_by_nobody(self):
        gates = ("gateways:\n  plain: { from: path, trusted: [127.0.0.1], attributes: { user: header.x-user } }\n"
                 "  holds: { from: path, trusted: [127.0.0.1], attributes: { user: header.x-user }, hold: true }\n")
        for name, members in MEMBERS.items():
            for way, shadow in SHADOWS.items():
                for other in ("", "  other: { by: [user], rate: 1000/s }\n"):
                    with self.subTest(member=name, by=way, other=other), Folder() as folder:
                        limits = folder.file("limits.yaml", "version: 1\nclasses: [default, bulk]\nlimits:\n"
                                             f"  tried: {{ by: [user], {members}{shadow} }}\n{other}{gates}")
                        with Server("--limits", limits, "--http", "127.0.0.1:0") as server, server.client() as client:
                            if not shadow:
                                told = client.ask("WEIR.SHADOW", "LIMIT", "tried", "ON", "FOR", "86400000", "REASON", "tried out")
                                self.assertNotIsInstance(told, Error)
                            wrong = [(how, passes) for how, passes in self.asks(server, client) if passes is not True]
                            self.assertEqual(wrong[:3], [])

    def test_what_was_held_can_be_settled(self):
        with Folder() as folder:
            limits = folder.file("limits.yaml", "version: 1\nlimits:\n  calls: { by: [user], in_flight: 1, hold: { ttl: 60s } }\n")
            with Server("--limits", limits) as server, server.client() as client:
                client.ask("WEIR.SHADOW", "LIMIT", "calls", "ON", "FOR", "86400000", "REASON", "tried out")
                ids = [client.ask("WEIR.RESERVE", "AS", "user=a")[5] for _ in range(2)]
                self.assertGreater(len(ids[0]), 0)
                self.assertEqual(client.ask("WEIR.SETTLE", ids[0]), 0)


if __name__ == "__main__":
    run_tests()
