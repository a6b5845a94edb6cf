"""POST /v1/acquire: an answer that comes when the moment has."""
import json
import select
import signal
import socket
import subprocess
import time
import unittest
import urllib.request

from chance import chance
from server import PATIENCE, Error, Folder, Server, until
from server import run as run_tests

LIMITS = """\
version: 1
limits:
  api:  { by: [user, api], rate: 20/s burst 1, max_wait: 2s }
  slow: { by: [user, slow], rate: 1/min burst 1 }
  nets: { by: [user], rate: 1000/s burst 1000, deny: { user: evil } }
answers: { status: 503 }
"""


class Wire:
    """A connection on which requests are written and answers read, each when the test says so."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def close(self):
        self.socket.close()

    def send(self, path="acquire", prefer=None, **body):
        self.socket.sendall(request(path, prefer, **body))

    def answer(self):
        """(status, headers, body)"""
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *fields = head.decode().split("\r\n")
        headers = dict(each.split(": ", 1) for each in fields)
        length = int(headers["Content-Length"])
        while len(self.buffer) < length:
            self.more()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return int(first.split()[1]), headers, json.loads(body)

    def more(self):
        chunk = self.socket.recv(65536)
        if not chunk:
            raise ConnectionError("the server has closed")
        self.buffer += chunk

    def quiet(self, seconds=0.05):
        return not self.buffer and not select.select([self.socket], [], [], seconds)[0]


def request(path, prefer=None, **body):
    text = json.dumps(body).encode()
    field = b"Prefer: %s\r\n" % prefer.encode() if prefer is not None else b""
    return b"POST /v1/%s HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n%s" % (path.encode(), field, len(text), text)


def next_wait(client, key, rule):
    """Milliseconds that one who came now would wait, after all those in line."""
    return client.ask("WEIR.ACQUIRE", "MAXWAIT", "0", key, rule)[3]


class WithServer(unittest.TestCase):
    args = ()

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.server = Server("--threads", "2", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--limits",
                             self.folder.file("limits.yaml", LIMITS), *self.args)
        self.addCleanup(self.server.__exit__, None)
        self.http = self.server.ports[1]
        self.probe = self.server.client()
        self.addCleanup(self.probe.close)
        self.key = self.id()

    def wire(self):
        wire = Wire(self.http)
        self.addCleanup(wire.close)
        return wire

    def owed(self, rule):
        """Milliseconds until the key is as if never used."""
        return self.probe.ask("WEIR.THROTTLE", "COST", "0", self.key, rule)[4]

    def next_wait(self, rule):
        return next_wait(self.probe, self.key, rule)

    def blocked(self):
        return int(self.server.info()["blocked_clients"])


class TestAcquire(WithServer):
    def test_it_answers_when_the_moment_has_come(self):
        wire, began = self.wire(), time.monotonic()
        for number in range(4):
            wire.send(key=self.key, limit="10/s burst 1", max_wait=5)
            status, headers, body = wire.answer()
            self.assertEqual((status, body["allowed"], body["wait"], body["id"], body["by"]), (200, True, 0, None, "limit"), number)
            self.assertEqual(headers["Cache-Control"], "no-store")
        self.assertGreaterEqual(time.monotonic() - began, 0.3)
        # What waited for its moment says nothing of how fast decisions are.
        self.assertEqual(self.server.info()["blocked_clients"], "0")

    def test_curl(self):
        body = json.dumps({"key": self.key, "limit": "5/s burst 1"})
        command = ["curl", "-sS", "-w", "%{http_code}", "--json", body, "-H", "Prefer: wait=10", f"http://127.0.0.1:{self.http}/v1/acquire"]
        began = time.monotonic()
        for _ in range(2):
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
            self.assertTrue(done.stdout.endswith("}\n200"), done)
        self.assertGreaterEqual(time.monotonic() - began, 0.15)

    def test_what_cannot_be_in_time_is_denied_at_once(self):
        wire = self.wire()
        ask = {"key": self.key, "limit": "1/min burst 1"}
        wire.send(max_wait=0, **ask)
        self.assertEqual(wire.answer()[0], 200)
        for how in ({"max_wait": 50}, {"prefer": "wait=50"}, {"max_wait": 60, "prefer": "wait=50"}, {"max_wait": 50, "prefer": "wait=60"}):
            wire.send(**how, **ask)
            status, headers, body = wire.answer()
            self.assertEqual((status, body["verdict"], body["id"]), (429, "denied", None), how)
            self.assertTrue(5 < body["wait"] <= 10, body)
            self.assertEqual(headers["Content-Type"], "application/problem+json")
        self.assertLessEqual(self.owed("1/min burst 1"), 60_000)

    def test_how_long_it_may_wait_has_to_be_said_somewhere(self):
        wire = self.wire()
        missing = [{"pointer": "/max_wait", "detail": "missing: how many seconds it may wait, here or as the field 'Prefer: wait=10'"}]
        for prefer in (None, "respond-async", "wait=soon"):
            for asked in ({"key": "k", "limit": "1/s"}, {"checks": [{"key": "k", "limit": "1/s"}]}, {"attributes": {"user": "a", "slow": "x"}}):
                wire.send(prefer=prefer, **asked)
                status, _, body = wire.answer()
                self.assertEqual((status, body["errors"]), (400, missing))
        # The limits file says it, or nothing has to wait.
        for asked in ({"user": "a", "api": "x"}, {"other": "a"}):
            wire.send(attributes=asked)
            self.assertEqual(wire.answer()[0], 200)
        wire.send(attributes={"user": "evil"}, prefer="wait=1")
        self.assertEqual(wire.answer()[2]["by"], "nets")

    def test_the_least_of_all_that_is_said_counts(self):
        wire = self.wire()
        ask = {"attributes": {"user": self.key, "api": "x"}}
        for _ in range(20):
            wire.send("reserve", **ask)
            self.assertEqual(wire.answer()[0], 200)
        for how in ({"prefer": "wait=0"}, {"max_wait": 0.2}, {"max_wait": 0.2, "prefer": "wait=1"}):
            wire.send(**how, **ask)
            status, _, body = wire.answer()
            self.assertEqual((status, body["by"]), (503, "api"), how)
        wire.send(max_wait=2.5, **ask)
        self.assertEqual(wire.answer()[2]["errors"], [{"pointer": "/max_wait", "detail":
                         "must be a number of seconds from 0 to 2, the least of the limits that the request meets"}])
        for how in ({}, {"prefer": "wait=100000"}, {"max_wait": 2}):
            wire.send(**how, **ask)
            self.assertEqual(wire.answer()[0], 200, how)

    def test_prefer_is_bounded_by_the_server(self):
        wire = self.wire()
        for _ in range(2):
            wire.send("reserve", key=self.key, limit="1/h burst 1", max_wait=3600)
            self.assertEqual(wire.answer()[0], 200)
        wire.send(key=self.key, limit="1/h burst 1", prefer="wait=86400")
        self.assertEqual(wire.answer()[0], 429)

    def test_what_is_sent_after_it_runs_after_it(self):
        wire = self.wire()
        first = request("check", key=self.key, limit="5/s burst 1")
        wait = request("acquire", key=self.key, limit="5/s burst 1", max_wait=5)
        last = request("check", key=self.key + ":after", limit="1/min burst 1")
        wire.socket.sendall(first + wait + last)
        self.assertEqual(wire.answer()[0], 200)
        self.assertTrue(wire.quiet())
        self.assertEqual(self.probe.ask("WEIR.THROTTLE", "COST", "0", self.key + ":after", "1/min burst 1")[2], 1)
        self.assertEqual([wire.answer()[2]["by"] for _ in range(2)], ["limit", "limit"])
        wire.send("check", key=self.key + ":after", limit="1/min burst 1")
        self.assertEqual(wire.answer()[0], 429)

    def test_http_1_0_and_close_are_answered_and_closed(self):
        for version, fields in (("1.0", b""), ("1.1", b"Connection: close\r\n")):
            wire = self.wire()
            body = json.dumps({"key": self.key, "limit": "10/s burst 1", "max_wait": 5}).encode()
            wire.socket.sendall(b"POST /v1/acquire HTTP/%s\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n%s"
                                % (version.encode(), fields, len(body), body))
            self.assertEqual(wire.answer()[0], 200)
            self.assertEqual(wire.socket.recv(1), b"")

    def test_a_client_that_goes_away_is_as_if_it_had_never_come(self):
        def reset(wire):
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            wire.close()

        for number, leave in enumerate((Wire.close, reset, lambda wire: wire.socket.shutdown(socket.SHUT_WR))):
            for pipelined in (b"", request("check", key="after", limit="1/s")):
                self.key = f"{self.id()}:{number}:{len(pipelined)}"
                rule = "1/10s burst 1"
                self.probe.ask("WEIR.THROTTLE", self.key, rule)
                wire = self.wire()
                wire.socket.sendall(request("acquire", key=self.key, limit=rule, max_wait=60) + pipelined)
                until(lambda: self.next_wait(rule) > 10_000, "it stands in line")
                leave(wire)
                until(lambda: self.next_wait(rule) <= 10_000, "nobody does")
                self.assertLessEqual(self.owed(rule), 10_000)
        until(lambda: self.blocked() == 0, "nobody waits")

    def test_one_that_leaves_before_others_leaves_its_moment_to_the_next(self):
        rule = "1/10s burst 1"
        self.probe.ask("WEIR.THROTTLE", self.key, rule)
        first, second = self.wire(), self.wire()
        first.send(key=self.key, limit=rule, max_wait=60)
        until(lambda: self.next_wait(rule) > 10_000, "the first stands in line")
        second.send(key=self.key, limit=rule, max_wait=60)
        until(lambda: self.next_wait(rule) > 20_000, "the second does")
        reserve = lambda max_wait: self.probe.ask("WEIR.RESERVE", "MAXWAIT", max_wait, self.key, rule)
        self.assertEqual(reserve(20_000)[0], 1)
        first.close()
        # The second has its moment now.
        taken = until(lambda: row if (row := reserve(20_000))[0] == 0 else None, "there is one more after the second's")
        self.assertTrue(10_000 < taken[3] <= 20_000, taken)
        self.assertEqual(reserve(10_000)[0], 1)

    def test_an_operator_ends_a_wait(self):
        for words, status in (((), 429), (("ERROR",), 503)):
            self.key += "+"
            wire = self.wire()
            self.probe.ask("WEIR.THROTTLE", self.key, "1/min burst 1")
            wire.send(key=self.key, limit="1/min burst 1", max_wait=60)
            until(lambda: self.blocked() == 1, "it waits")
            rows = [row for row in self.probe.ask("CLIENT", "LIST").decode().splitlines() if " flags=b " in row]
            self.assertEqual(len(rows), 1, rows)
            self.assertIn(" cmd=/v1/acquire ", rows[0] + " ")
            number = rows[0].split()[0].removeprefix("id=")
            self.assertEqual(self.probe.ask("CLIENT", "UNBLOCK", number, *words), 1)
            got, _, body = wire.answer()
            self.assertEqual(got, status)
            if status == 429:
                self.assertTrue(50 < body["wait"] <= 60, body)
            else:
                self.assertEqual(body["detail"], "the wait was ended by CLIENT UNBLOCK")
            self.assertLessEqual(self.owed("1/min burst 1"), 60_000)
            self.assertEqual(self.blocked(), 0)

    def test_a_hold_is_settled_after_its_moment(self):
        wire = self.wire()
        for _ in range(2):
            wire.send(key=self.key, limit="20/s burst 1", max_wait=5, hold=60)
            status, _, body = wire.answer()
            self.assertEqual((status, body["wait"]), (200, 0))
        wire.send("settle", id=body["id"], actual=4)
        self.assertTrue(0 < wire.answer()[2]["wait"] <= 0.2)

    def test_a_slow_reader_gets_what_it_waited_for(self):
        wire = self.wire()
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        many = 200
        wire.socket.sendall(request("acquire", key=self.key, limit="1000/s burst 1", max_wait=5) * many)
        time.sleep(0.3)
        self.assertEqual([wire.answer()[0] for _ in range(many)], [200] * many)

    def test_metrics_tell_of_those_who_wait_and_the_wait_is_not_in_the_histogram(self):
        wire, rule = self.wire(), "1/10s burst 1"
        wire.send(key=self.key, limit=rule, max_wait=5)
        self.assertEqual(wire.answer()[0], 200)
        before = self.metrics()
        wire.send(key=self.key, limit=rule, max_wait=10)
        until(lambda: self.metrics()["weir_waiters"] == "1", "it waits")
        wire.close()
        until(lambda: self.metrics()["weir_waiters"] == "0", "it has gone")
        other, count = self.wire(), 'weir_decision_seconds_count{protocol="http"}'
        other.send(key=self.key + "2", limit="5/s burst 1", max_wait=5)
        other.answer()
        other.send(key=self.key + "2", limit="5/s burst 1", max_wait=5)
        other.answer()
        # Of the three only the one that did not wait.
        self.assertEqual(float(self.metrics()[count]) - float(before[count]), 1)

    def metrics(self):
        where = next(each for each in self.server.addresses if each.startswith("admin ")).removeprefix("admin ")
        with urllib.request.urlopen(where + "/metrics", timeout=PATIENCE) as answer:
            lines = answer.read().decode().splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

    def test_wrong_members_are_told(self):
        wire = self.wire()
        wire.send(key="k", limit="1/s", max_wait=3601)
        self.assertEqual(wire.answer()[2]["errors"], [{"pointer": "/max_wait", "detail": "must be a number of seconds from 0 to 3600"}])
        wire.send(key="k", limit="1/s algorithm=sliding_window_counter", max_wait=1)
        self.assertEqual(wire.answer()[::2][1]["detail"],
                         "sliding_window_counter cannot be reserved: gcra and fixed windows can")
        wire.send(requests=[{"key": "k", "limit": "1/s"}], prefer="wait=1")
        self.assertEqual(wire.answer()[2]["errors"][0]["pointer"], "/requests")


class TestFull(WithServer):
    args = ("--max-waiters", "2")

    def test_a_full_house_denies_at_once(self):
        rule = "1/10s burst 1"
        self.probe.ask("WEIR.THROTTLE", self.key, rule)
        waiting = [self.wire(), self.server.client()]
        self.addCleanup(waiting[1].close)
        waiting[0].send(key=self.key, limit=rule, max_wait=60)
        until(lambda: self.blocked() == 1, "one waits")
        waiting[1].send("WEIR.ACQUIRE", "MAXWAIT", "60000", self.key, rule)
        until(lambda: self.blocked() == 2, "both wait")
        third = self.wire()
        third.send(key=self.key, limit=rule, max_wait=60)
        status, _, body = third.answer()
        self.assertEqual(status, 429)
        self.assertTrue(20 < body["wait"] <= 30, body)
        self.assertEqual(self.server.info()["waiters_turned_away"], "1")
        # One that need not wait is not turned away.
        third.send(key=self.key + "x", limit=rule, max_wait=60)
        self.assertEqual(third.answer()[0], 200)
        self.assertEqual(self.server.info()["waiters_turned_away"], "1")
        waiting[0].close()
        until(lambda: self.blocked() == 1, "one has gone")


class TestCrowd(WithServer):
    def test_a_thousand_over_both_protocols_are_served_in_the_order_of_their_moments_and_drained(self):
        rule, many = "200/s burst 1", 1000
        began = time.monotonic()
        crowd = [self.wire() if i % 2 else self.server.client() for i in range(many)]
        for i, each in enumerate(crowd):
            if i % 2:
                each.send(key=self.key, limit=rule, max_wait=60)
            else:
                self.addCleanup(each.close)
                each.send("WEIR.ACQUIRE", "MAXWAIT", "60000", self.key, rule)
        until(lambda: self.next_wait(rule) + (time.monotonic() - began) * 1000 >= many * 5, "all have come")
        self.assertGreater(self.blocked(), 100)
        for each in crowd[1:200:2]:
            each.close()
        stay = crowd[0:200:2] + crowd[200:]
        until(lambda: int(self.server.info()["connected_clients"]) <= len(stay) + 2, "those who left are gone")
        waiting = self.blocked()
        sent = time.monotonic()
        self.server.signal(signal.SIGTERM)
        granted = 0
        for each in stay:
            if isinstance(each, Wire):
                status, _, body = each.answer()
                wait, error = body.get("wait"), body.get("detail") if status == 503 else None
            else:
                row = each.reply()
                wait, error = (None, str(row)[4:]) if isinstance(row, Error) else (row[3], None)
            self.assertIn((wait, error), ((0, None), (None, "the server is shutting down")))
            granted += error is None
        self.assertLess(time.monotonic() - sent, 6)
        self.assertLess(len(stay) - granted, waiting, "some of those who waited were served while it drained")
        self.assertEqual(self.server.wait(), 0)


class TestAgreement(WithServer):
    def test_both_protocols_decide_alike(self):
        """A key by RESP and its twin by HTTP, asked one after the other: the same verdicts, and waits as long."""
        dice = chance()
        wire = self.wire()
        for step in range(150):
            rule = dice.choice(["1/min burst 3", "20/min burst 1"])
            number, cost = dice.randint(0, 9), dice.choice([0, 1, 1, 2, 4])
            wait = dice.choice([0, 0.01, 5])
            words = ["WEIR.ACQUIRE" if wait < 1 else "WEIR.RESERVE", "MAXWAIT", str(int(wait * 1000)), "COST", str(cost)]
            said = self.probe.ask(*words, f"{self.key}{number}{rule}r", rule)
            wire.send("acquire" if wait < 1 else "reserve", key=f"{self.key}{number}{rule}h", limit=rule, cost=cost, max_wait=wait)
            status, _, body = wire.answer()
            self.assertEqual((said[0], said[1], said[2]), (int(status != 200), body["limit"], body["remaining"]), (step, said, body))
            theirs = -1 if body["wait"] is None else body["wait"] * 1000
            self.assertLess(abs(said[3] - theirs), 2000, (step, said, body))
            self.assertEqual(said[5] is None, body["id"] is None)


if __name__ == "__main__":
    run_tests()
