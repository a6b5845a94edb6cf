"""FIELDS: what a RESP client gets to pass on is what HTTP sends for the same question."""
import http.client
import json
import unittest

from server import PATIENCE, OneServerWithLimits, Server, run as run_tests, until

FILE = """\
version: 1
attributes: [user, path]
answers: { headers: [%s] }
limits:
  user:   { by: [user], rate: 40/h burst 4 }
  pages:  { by: [user], rate: [100/day, 20/min] }
  hidden: { by: [user], rate: 2/h, show: false }
  bad:    { by: [user], rate: 1000/s, deny: { user: mallory } }
routes:
  - { when: { path: /free }, limits: [] }
  - { when: { path: /hidden }, limits: [hidden] }
  - { limits: [user, pages, bad] }
"""
TOLD = ("ratelimit", "x-ratelimit", "retry-after")


class TestFields(OneServerWithLimits):
    limits = FILE % "ratelimit-11, retry-after"
    flags = ("--http", "127.0.0.1:0")

    def http(self, path, body):
        """(status, [(name, value)] of what tells of limits)."""
        wire = http.client.HTTPConnection("127.0.0.1", self.server.ports[1], timeout=PATIENCE)
        self.addCleanup(wire.close)
        wire.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        reply = wire.getresponse()
        reply.read()
        return reply.status, [(name, value) for name, value in reply.getheaders() if name.lower().startswith(TOLD)]

    def by_resp(self, command, more, options=(), size=7):
        answer = self.client.ask(*command.split(), *options, *more)
        self.assertIsInstance(answer, list, answer)
        self.assertEqual(len(answer), size, answer)
        words = [word.decode() for word in answer[-1]]
        return list(zip(words[::2], words[1::2]))

    def same(self, command, path, attributes, body=(), options=(), size=7):
        """Asked by HTTP, by RESP, by HTTP: where time changes nothing between the first and the last, all are equal."""
        said = [f"{name}={value}" for name, value in attributes.items()]

        def all_equal():
            before = self.http(path, {"attributes": attributes, **dict(body)})[1]
            found = self.by_resp(command, said, options, size)
            return before == self.http(path, {"attributes": attributes, **dict(body)})[1] and (before, found)
        before, found = until(all_equal, "two answers of HTTP that are the same")
        self.assertEqual(found, before)
        return dict(found)

    def test_a_look(self):
        user = {"user": self.id()}
        self.assertEqual(list(self.same("WEIR.LOOK FIELDS", "/v1/look", user)), ["RateLimit-Policy", "RateLimit"])
        denied = self.same("WEIR.LOOK COST 5 FIELDS", "/v1/look", user, {"cost": 5})
        self.assertNotIn("Retry-After", denied, "no wait helps")
        self.client.ask("WEIR.CHECK", "COST", 4, "user=" + self.id())
        denied = self.same("WEIR.LOOK FIELDS COST 2", "/v1/look", user, {"cost": 2})
        self.assertIn("Retry-After", denied)
        self.assertIn("Retry-After", self.same("WEIR.LOOK FIELDS COST 9 ATLEAST 2", "/v1/look", user,
                                               {"cost": 9, "at_least": 2}, size=8))

    def test_nothing_is_told_of_what_meets_no_limit_or_one_that_is_not_shown(self):
        self.assertEqual(self.same("WEIR.LOOK FIELDS", "/v1/look", {"user": "a", "path": "/free"}), {})
        self.assertEqual(self.same("WEIR.LOOK FIELDS", "/v1/look", {"user": "a", "path": "/hidden"}), {})
        self.assertEqual(self.same("WEIR.LOOK FIELDS", "/v1/look", {"user": "mallory"}), {})

    def test_of_what_charges(self):
        """Of keys that are new the answer does not go by the time."""
        for command, path, body, size in (("WEIR.CHECK FIELDS", "/v1/check", {}, 7),
                                          ("WEIR.RESERVE FIELDS MAXWAIT 0 AS", "/v1/reserve", {"max_wait": 0}, 8),
                                          ("WEIR.ACQUIRE MAXWAIT 0 FIELDS AS", "/v1/acquire", {"max_wait": 0}, 8)):
            _, there = self.http(path, {"attributes": {"user": self.id() + path}, **body})
            self.assertEqual([name for name, _ in there], ["RateLimit-Policy", "RateLimit"], path)
            self.assertEqual(self.by_resp(command, [f"user={self.id()}{command}"], size=size), there, command)

    def test_a_rule(self):
        for protocol in (2, 3):
            with self.server.client() as client:
                client.ask("HELLO", protocol)
                answer = client.ask("WEIR.THROTTLE", "FIELDS", self.id() + str(protocol), "40/h burst 4")
            _, there = self.http("/v1/check", {"key": f"{self.id()}{protocol}http", "limit": "40/h burst 4"})
            self.assertEqual([word.decode() for word in answer[6]], [text for pair in there for text in pair])

    def test_where_there_are_none(self):
        words = "FIELDS is for WEIR.CHECK, WEIR.LOOK, WEIR.THROTTLE, WEIR.RESERVE and WEIR.ACQUIRE"
        for command in ("WEIR.EXPLAIN FIELDS user=a", "WEIR.RESERVE AS FIELDS user=a", "WEIR.RESET AS FIELDS user=a"):
            self.assertIn(words, self.client.ask(*command.split()))
        self.assertIn("given twice", self.client.ask(*"WEIR.CHECK FIELDS fields user=a".split()))


class TestOtherForms(TestFields):
    """The forms are those of the file."""
    limits = FILE % "x-ratelimit, retry-after"

    def test_a_look(self):
        self.assertEqual(list(self.same("WEIR.LOOK FIELDS", "/v1/look", {"user": "a"})),
                         ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"])

    test_of_what_charges = test_a_rule = None


class TestHello(unittest.TestCase):
    def test_the_deadline_of_a_store(self):
        with Server() as server, server.client() as client:
            self.assertEqual(client.ask("HELLO", "3")[b"store_deadline_ms"], 0)
        with Server("--store", "redis://127.0.0.1:1", "--store-deadline", "70ms") as server, server.client() as client:
            hello = client.ask("HELLO", "3")
            self.assertEqual(hello[b"store_deadline_ms"], 70)
            self.assertEqual(hello[b"weir_version"].decode(), server.info()["weir_version"])


if __name__ == "__main__":
    run_tests()
