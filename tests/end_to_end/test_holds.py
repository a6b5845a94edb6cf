"""Which holds of a key are open: WEIR.HOLDS and /v1/holds. With a shared store: tests/faults/test_slots.py."""
import json
import urllib.error
import urllib.request

from server import Error, OneServerWithLimits, run as run_tests

FILE = """\
version: 1
attributes: [account, job, user]
limits:
  vendor: { by: [account], rate: [100/min, 1000/h], in_flight: 5, hold: { estimate: 2, ttl: 30s } }
  jobs: { by: [job], in_flight: 2, hold: { ttl: 30s } }
  tokens: { by: [user], rate: 60/min burst 10, hold: { estimate: 4, ttl: 30s } }
  plain: { by: [user], rate: 60/min }
  daily: { by: [user], rate: 60/day align=calendar, hold: { ttl: 30s } }
routes:
  - { when: { job: "*" }, limits: [jobs] }
  - { when: { account: "*" }, limits: [vendor] }
  - { when: { user: "t*" }, limits: [tokens] }
  - { limits: [plain, daily] }
"""
WHOLE = [b"id", b"cost", b"moment_ms", b"ends_ms", b"client"]


def rows_of(answer):
    return [dict(zip(row[::2], row[1::2])) for row in answer]


class TestHolds(OneServerWithLimits):
    limits = FILE
    flags = ("--http", "127.0.0.1:0")

    def reserve(self, *words):
        return self.client.ask("WEIR.RESERVE", *words)[5]

    def holds(self, *words):
        return rows_of(self.client.ask("WEIR.HOLDS", *words))

    def post(self, body, path="/v1/holds"):
        url = f"http://127.0.0.1:{self.server.ports[1]}{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def test_who_has_the_slots_and_settling_one_frees_it(self):
        asked = ("LIMIT", "jobs", "AS", "job=slots")
        self.assertEqual(self.client.ask("WEIR.HOLDS", *asked), [])
        first = self.reserve("AS", "job=slots")
        with self.server.client() as other:
            second = other.ask("WEIR.RESERVE", "AS", "job=slots")[5]
            mine, its = (f"127.0.0.1:{c.socket.getsockname()[1]}".encode() for c in (self.client, other))
            self.assertIsNone(self.reserve("AS", "job=slots"))
            answer = self.client.ask("WEIR.HOLDS", *asked)
            self.assertEqual([row[::2] for row in answer], [WHOLE, WHOLE])
            rows = rows_of(answer)
        self.assertEqual([row[b"id"] for row in rows], [first, second])
        self.assertEqual([row[b"client"] for row in rows], [mine, its])
        for row in rows:
            self.assertEqual((row[b"cost"], row[b"moment_ms"]), (1, 0))
            self.assertTrue(0 < row[b"ends_ms"] <= 30_000, row)
        self.assertEqual(self.client.ask("WEIR.HOLDS", "count", "1", *asked)[0][1], first)
        self.assertEqual(self.client.ask("WEIR.SETTLE", second), 0)
        self.assertEqual([row[b"id"] for row in self.holds(*asked)], [first])
        self.assertIsNotNone(self.reserve("AS", "job=slots"))

    def test_a_rate_a_moment_ahead_and_several_windows(self):
        first = self.reserve("AS", "user=t1")
        self.client.ask("WEIR.CHECK", "COST", "6", "user=t1")
        later = self.reserve("MAXWAIT", "60000", "COST", "5", "AS", "user=t1")
        rows = self.holds("LIMIT", "tokens", "AS", "user=t1")
        self.assertEqual([(row[b"id"], row[b"cost"]) for row in rows], [(first, 4), (later, 5)])
        self.assertEqual(rows[0][b"moment_ms"], 0)
        self.assertTrue(4_000 < rows[1][b"moment_ms"] <= 5_000, rows)
        self.assertTrue(34_000 < rows[1][b"ends_ms"] <= 35_000, rows)
        both = self.reserve("AS", "account=a")
        self.assertEqual([(row[b"id"], row[b"cost"]) for row in self.holds("LIMIT", "vendor", "AS", "account=a")],
                         [(both, 2)])

    def test_over_http(self):
        asked = {"limit": "jobs", "attributes": {"job": "http"}}
        granted = self.post({"attributes": {"job": "http"}}, "/v1/reserve")[1]["id"]
        status, told = self.post(asked)
        self.assertEqual((status, list(told), len(told["holds"])), (200, ["holds"], 1))
        hold = told["holds"][0]
        self.assertEqual((hold["id"], hold["cost"], hold["wait"], hold["client"]), (granted, 1, 0, "127.0.0.1"))
        self.assertTrue(29 < hold["ends"] <= 30, hold)
        self.assertEqual(self.post({**asked, "count": 1024})[0], 200)
        for body, pointer, detail in (
                ({**asked, "count": 0}, "/count", "must be an integer from 1 to 1024"),
                ({**asked, "count": 1025}, "/count", "must be an integer from 1 to 1024"),
                ({"limit": "jobs"}, "/attributes", "missing: of which key"),
                ({"attributes": {"job": "x"}}, "/limit", "missing: whose holds")):
            status, told = self.post(body)
            self.assertEqual((status, told["errors"]), (400, [{"pointer": pointer, "detail": detail}]), body)
        self.assertEqual(self.post({"limit": "no", "attributes": {}})[0], 400)

    def test_what_is_wrong(self):
        form = "ERR the form is WEIR.HOLDS [COUNT n] LIMIT name AS attribute=value ..."
        for words, error in (
                ("AS job=1 x=2", form),
                ("LIMIT jobs job=1", form),
                ("LIMIT jobs LIMIT jobs AS job=1", "ERR LIMIT is given twice"),
                ("COUNT 1 COUNT 2 LIMIT jobs AS job=1", "ERR COUNT is given twice"),
                ("COUNT 0 LIMIT jobs AS job=1", "ERR COUNT: '0' is not an integer from 1 to 1024"),
                ("COUNT 1025 LIMIT jobs AS job=1", "ERR COUNT: '1025' is not an integer from 1 to 1024"),
                ("LIMIT job AS job=1", "ERR unknown limit 'job'; did you mean jobs?"),
                ("LIMIT jobs AS user=1", "ERR limits.jobs: the request has no attribute 'job'"),
                ("LIMIT plain AS user=1", "ERR limit 'plain' has no list of holds: it has neither in_flight nor a hold "
                                          "with a rate of gcra's"),
                ("LIMIT daily AS user=1", "ERR limit 'daily' has no list of holds: it has neither in_flight nor a hold "
                                          "with a rate of gcra's")):
            self.assertEqual(self.client.ask("WEIR.HOLDS", *words.split()), Error(error), words)


class TestWithoutFile(OneServerWithLimits):
    limits = "version: 1\nlimits: { all: { in_flight: 3, hold: { ttl: 30s } } }\n"

    def test_a_limit_of_everybody(self):
        held = self.client.ask("WEIR.RESERVE", "AS", "user=1")[5]
        self.assertEqual([row[b"id"] for row in rows_of(self.client.ask("WEIR.HOLDS", "LIMIT", "all", "AS"))], [held])


if __name__ == "__main__":
    run_tests()
