"""Which keys are denied most, and what each has used: WEIR.TOP and /v1/top, WEIR.USAGE and /v1/usage."""
import json
import shutil
import unittest
import urllib.error
import urllib.request

from server import Folder, OneServerWithLimits, Server, run as run_tests, until, weir
from test_ratelimit import Redis

FILE = """\
version: 1
limits:
  user: { by: [user], rate: 2/h }
  ip: { by: [ip], rate: 1/h, group_ip: { v4: 24 } }
  tried: { by: [tried], rate: 1/h, shadow: until 2100-01-01 }
"""


def pairs(values):
    """Names and values, as a dictionary."""
    return dict(zip(values[::2], values[1::2]))


def get(port, target):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{target}") as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


class TestTop(OneServerWithLimits):
    limits = FILE
    flags = ("--http", "127.0.0.1:0")

    def top(self, words=""):
        first, *rows = self.ask("WEIR.TOP " + words)
        return pairs(first), [pairs(row) for row in rows]

    def test_both_protocols_tell_who_was_denied(self):
        port = self.server.ports[1]
        before, _ = self.top()
        for _ in range(9):
            self.client.ask("WEIR.CHECK", "user=<b>")
        with self.server.client() as other:  # of the other loop
            for _ in range(4):
                other.ask("WEIR.CHECK", "user=<b>")
                other.ask("CL.THROTTLE", b"\x00\xff", "0", "1", "3600")
        self.post("/v1/check", {"attributes": {"ip": "198.51.100.1"}})
        self.post("/v1/check", {"attributes": {"ip": "198.51.100.2"}})
        self.ask("WEIR.CHECK tried=1")
        self.ask("WEIR.CHECK tried=1")
        about, rows = self.top()
        self.assertEqual((about[b"by"], about[b"total"] - before[b"total"], about[b"keys"] - before[b"keys"]), (b"denied", 15, 3))
        self.assertLessEqual(about[b"seconds"], 120)
        self.assertEqual([(row[b"limit"], row[b"key"], row[b"count"], row[b"error"]) for row in rows if len(row[b"key"]) < 100],
                         [(b"user", b"user=<b>", 11, 0), (b"inline", b"\x00\xff", 3, 0), (b"ip", b"ip=198.51.100.0/24", 1, 0)])
        status, told = get(port, "/v1/top?limit=user&count=1")
        self.assertEqual((status, told["by"], told["total"], told["keys"]), (200, "denied", about[b"total"], about[b"keys"]))
        self.assertEqual(told["top"], [{"limit": "user", "key": "user=<b>", "count": 11, "error": 0, "banned": False}])
        self.assertEqual([row["key"] for row in get(port, "/v1/top?limit=inline")[1]["top"]][0], "\x00\ufffd")
        self.assertEqual(get(port, "/v1/top?by=cost")[1]["by"], "cost")

    def test_one_who_is_banned_and_still_asks_is_seen(self):
        before, _ = self.top()
        number = self.ask("WEIR.BAN LIMIT user FOR 60000 REASON scraping AS user=banned")
        for _ in range(7):
            self.client.ask("WEIR.CHECK", "user=banned")
        self.client.ask("WEIR.CHECK", "COST", "3", "ATLEAST", "1", "user=banned")
        self.client.ask("WEIR.LOOK", "user=banned")
        about, rows = self.top()
        self.assertEqual((about[b"total"], about[b"banned"]), (before[b"total"], 8))
        self.assertEqual([(row[b"limit"], row[b"count"], row[b"error"]) for row in rows if row[b"banned"]], [(b"user", 8, 0)])
        told = get(self.server.ports[1], "/v1/top?limit=user")[1]
        self.assertEqual(told["banned"], 8)
        self.assertIn({"limit": "user", "key": "user=banned", "count": 8, "error": 0, "banned": True}, told["top"])
        code, out, errors = weir("top", "--once", "--port", self.server.port)
        self.assertEqual((code, errors), (0, ""))
        self.assertRegex(out, r"(?m)^8 +0 +banned +user +user=banned$")
        self.ask(f"WEIR.LIFT {number}")

    def test_what_cannot_be_asked(self):
        for words, error in (
                ("LIMIT nobody", "ERR unknown limit 'nobody'; known: user, ip, tried"),
                ("LIMIT", "ERR missing the value of LIMIT"), ("BY who", "ERR BY: 'who' is none of: denied, cost"),
                ("BY cost BY cost", "ERR BY is given twice"), ("LIMIT user LIMIT user", "ERR LIMIT is given twice"),
                ("COUNT 1025", "ERR COUNT: '1025' is not an integer from 1 to 1024"),
                ("COUNT -1", "ERR COUNT: '-1' is not an integer from 1 to 1024"),
                ("user",
                 "ERR unknown option 'user'; the form is WEIR.TOP [LIMIT name] [BY denied|cost] [COUNT n]")):
            self.assertEqual(self.client.ask(*("WEIR.TOP " + words).split()), error)
        port = self.server.ports[1]
        for query, detail in (
                ("by=who", "query 'by': 'who' is none of: denied, cost"), ("count=0", "query 'count': '0' is not an integer from 1 to 1024"),
                ("x=1", "query 'x': unknown; known: limit, by, count"), ("by=cost&by=cost", "query 'by': given twice"),
                ("limit=%2", "query 'limit=%2': a percent sign needs two hexadecimal digits after it")):
            status, told = get(port, "/v1/top?" + query)
            self.assertEqual((status, told["errors"][0]["detail"]), (400, detail))
        status, told = get(port, "/v1/top?limit=nobody")
        self.assertEqual((status, told["detail"]), (400, "unknown limit 'nobody'; known: user, ip, tried"))

    def test_a_key_of_64_kib(self):
        key = "k" * (64 << 10)
        for _ in range(3):
            self.client.ask("CL.THROTTLE", key, "0", "1", "3600")
        _, rows = self.top("LIMIT inline COUNT 1000")
        row = next(row for row in rows if row[b"key"].startswith(b"k"))
        self.assertEqual((row[b"count"], len(row[b"key"]), row[b"key"][:74]), (2, 138, b"k" * 64 + b"...sha256:"))


USAGE = """\
version: 1
limits:
  tenant: { by: [tenant], rate: [10000/h, 100000/day], track: true, hold: { ttl: 60s }, refunds: true }
  user: { by: [user], rate: 10/h }
"""


def used(client, words):
    """By window, and the last hour's."""
    *windows, hours = client.ask(*("WEIR.USAGE LIMIT tenant AS " + words).split())
    return {row[b"window"].decode(): row[b"used"] for row in map(pairs, windows)}, hours[1][-1]


class TestUsage(OneServerWithLimits):
    limits = USAGE
    flags = ("--http", "127.0.0.1:0")

    def test_both_protocols_tell_what_was_used(self):
        key = self.tenant
        self.ask(f"WEIR.CHECK COST 5 {key}")
        self.post("/v1/check", {"attributes": {"tenant": key[7:]}, "cost": 4})
        self.ask(f"WEIR.CHARGE COST 3 AS {key}")
        self.ask(f"WEIR.REFUND COST 2 AS {key}")
        held = self.ask(f"WEIR.RESERVE COST 10 MAXWAIT 0 AS {key}")
        self.ask(f"WEIR.SETTLE {held[5].decode()} 1")
        self.ask(f"WEIR.LOOK COST 7 {key}")
        windows, _ = used(self.client, key)
        self.assertEqual(windows["1d"], 11)
        self.assertEqual(set(windows), {"1h", "1d"})
        status, told = self.post("/v1/usage", {"limit": "tenant", "attributes": {"tenant": key[7:]}})
        self.assertEqual((status, told["limit"], told["key"], len(told["hours"])), (200, "tenant", key, 24))
        day = told["windows"][1]
        self.assertEqual((day["window"], day["used"], day["last"]), ("1d", 11, 0))
        self.assertRegex(day["began"], "^20..-..-..T00:00:00.000Z$")

    def test_a_hold_that_its_connection_ends_is_booked_as_it_was_charged(self):
        with self.server.client() as other:
            other.ask(*f"WEIR.RESERVE COST 6 MAXWAIT 0 BOUND AS {self.tenant}".split())
        self.assertEqual(used(self.client, self.tenant)[0]["1d"], 6)

    def test_what_cannot_be_asked(self):
        form = "ERR the form is WEIR.USAGE LIMIT name AS attribute=value ..."
        for words, error in (
                ("FOR tenant AS tenant=1", form), ("LIMIT tenant BY tenant=1", form),
                ("LIMIT tenant AS tenant", "ERR missing '=' after 'tenant'"),
                ("LIMIT nobody AS tenant=1", "ERR unknown limit 'nobody'; known: tenant, user"),
                ("LIMIT tenant AS user=1", "ERR limits.tenant: the request has no attribute 'tenant'"),
                ("LIMIT user AS user=1", "ERR not tracked: limit 'user' has to say track: true"),
                ("LIMIT user", "ERR wrong number of arguments for 'weir.usage' command")):
            self.assertEqual(self.client.ask(*("WEIR.USAGE " + words).split()), error)
        for body, pointer, detail in (
                ([], "", "must be an object"), ({}, "/limit", "missing"), ({"limit": "tenant"}, "/attributes", "missing"),
                ({"limit": 1, "attributes": {}}, "/limit", "must be the name of a limit"),
                ({"limit": "tenant", "attributes": []}, "/attributes", "must be an object"),
                ({"limit": "tenant", "attributes": {"tenant": 1}}, "/attributes/tenant", "must be a string"),
                ({"limits": "tenant"}, "/limits", "unknown member; known are limit, attributes")):
            status, told = self.post("/v1/usage", body)
            self.assertEqual((status, told["errors"][0]["pointer"], told["errors"][0]["detail"]), (400, pointer, detail))
        for limit, attributes, detail in (
                ("user", {"user": "1"}, "not tracked: limit 'user' has to say track: true"),
                ("tenant", {}, "limits.tenant: the request has no attribute 'tenant'")):
            status, told = self.post("/v1/usage", {"limit": limit, "attributes": attributes})
            self.assertEqual((status, told["detail"]), (400, detail))

    def test_without_a_file(self):
        with Server("--http", "127.0.0.1:0") as server, server.client() as client:
            self.assertEqual(client.ask("WEIR.USAGE", "LIMIT", "a", "AS", "b=c"),
                             "ERR there is no limits file: start weir with --limits FILE")


class TestFull(OneServerWithLimits):
    limits = USAGE
    flags = ("--track-memory", "8KiB", "--http", "127.0.0.1:0")

    def test_full_memory_is_told(self):
        for i in range(200):
            self.client.ask("WEIR.CHECK", f"tenant={i}")
        said = [self.client.ask("WEIR.USAGE", "LIMIT", "tenant", "AS", f"tenant={i}") for i in range(200)]
        turned_away = said.count("ERR not tracked")
        self.assertTrue(100 < turned_away < 200, turned_away)
        self.assertEqual(int(self.server.info()["untracked"]), turned_away)
        first = said.index("ERR not tracked")
        self.assertEqual(self.post("/v1/usage", {"limit": "tenant", "attributes": {"tenant": str(first)}})[0], 409)


@unittest.skipUnless(shutil.which("redis-server"), "needs redis-server")
class TestSharedUsage(unittest.TestCase):
    """Two servers and one Redis."""

    def test_an_answer_is_whole_within_two_seconds_at_either_server(self):
        with Folder() as folder:
            redis = Redis(self, folder)
            flags = ("--threads", "2", "--limits", folder.file("limits.yaml", USAGE), "--store",
                     f"redis://127.0.0.1:{redis.port}", "--top-hash")
            with Server(*flags) as one, Server(*flags) as other, one.client() as a, other.client() as b:
                for _ in range(30):
                    a.ask("WEIR.CHECK", "COST", "2", "tenant=acme")
                    b.ask("WEIR.CHECK", "COST", "3", "tenant=acme")
                held = a.ask(*"WEIR.RESERVE COST 50 MAXWAIT 0 AS tenant=acme".split())
                self.assertEqual(held[0], 0)
                b.ask("WEIR.SETTLE", held[5], "7")  # at the other server
                until(lambda: used(a, "tenant=acme")[0]["1d"] == used(b, "tenant=acme")[0]["1d"] == 157, "both tell the same")
                self.assertEqual(used(a, "tenant=acme")[1], used(b, "tenant=acme")[1])
                for client in (a, b):
                    for _ in range(12):
                        client.ask("WEIR.CHECK", "user=42")
                tops = []
                def both_show():
                    tops[:] = [client.ask("WEIR.TOP") for client in (a, b)]
                    return all(isinstance(top, list) and len(top) > 1 for top in tops)
                until(both_show, "the secret is known")
                keys = {pairs(row)[b"key"] for top in tops for row in top[1:]}
                self.assertEqual(len(keys), 1, keys)
                redis.process.kill()
                redis.process.wait()
                self.assertRegex(a.ask("WEIR.USAGE", "LIMIT", "tenant", "AS", "tenant=acme"), "^ERR the store: ")


class TestFlags(unittest.TestCase):
    def test_off_and_hashed(self):
        with Server("--top", "0") as server, server.client() as client:
            self.assertEqual(client.ask("WEIR.TOP"), "ERR --top is 0")
        with Server("--top-hash") as server, server.client() as client:
            for _ in range(2):
                client.ask("CL.THROTTLE", "secret", "0", "1", "3600")
            _, row = client.ask("WEIR.TOP")
            self.assertRegex(pairs(row)[b"key"], rb"^#[0-9a-f]{16}$")


if __name__ == "__main__":
    run_tests()
