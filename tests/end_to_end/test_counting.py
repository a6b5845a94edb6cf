"""Who is denied most, who has used what: WEIR.TOP and /v1/top, WEIR.USAGE and /v1/usage."""
import json
import unittest
import urllib.error
import urllib.request

from server import OneServerWithLimits, Server, run as run_tests

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
        self.assertEqual(told["top"], [{"limit": "user", "key": "user=<b>", "count": 11, "error": 0}])
        self.assertEqual([row["key"] for row in get(port, "/v1/top?limit=inline")[1]["top"]][0], "\x00\ufffd")
        self.assertEqual(get(port, "/v1/top?by=cost")[1]["by"], "cost")

    def test_what_cannot_be_asked(self):
        for words, error in (
                ("LIMIT nobody", "ERR unknown limit 'nobody'; known: user, ip, tried"),
                ("LIMIT", "ERR missing the value of LIMIT"), ("BY who", "ERR BY: 'who' is none of: denied, cost"),
                ("BY cost BY cost", "ERR BY is given twice"), ("LIMIT user LIMIT user", "ERR LIMIT is given twice"),
                ("COUNT 1025", "ERR COUNT: '1025' is not an integer from 1 to 1024"),
                ("COUNT -1", "ERR COUNT: '-1' is not an integer from 1 to 1024"),
                ("user", "ERR the form is WEIR.TOP [LIMIT name] [BY denied|cost] [COUNT n]")):
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
