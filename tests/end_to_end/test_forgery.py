"""What a client sends is data wherever it comes out: in heads, bodies, log lines, labels, INFO.

Every place of a request takes a text with ends of lines, quotes, markup, what controls a terminal and what turns
text round. Afterwards all that weir has said is looked through.
"""
import base64
import json
import re
import socket
import unittest
import urllib.request

from server import PATIENCE, Folder, Server, run, until

MARK = "f0rged"
EVIL = (f'{MARK}\r\nX-Forged: 1\r\n\r\n<script>alert("{MARK}")</script><!--\n# HELP weir_forged 1\nweir_forged{{a="b"}} 1\n'
        f'[2026-11-22T00:00:00.000Z] [error] {MARK}\n\x1b[2J\x1b]0;{MARK}\x07\b\x7f\x85\u2028\u2029\u202e\ufeff\\"\'\\u0022'
        "{}%s%n&amp;\t\0")
LINE = re.sub(r"[\r\n\0\b\x07\x7f\x1b]|[^\x00-\xff]", "", EVIL)  # what a field may hold
# Of one line too, and what no HTTP may: each is refused, and what the refusal says is looked at.
BYTES = [b"\x1b[31m" + MARK.encode(), b"\0" + MARK.encode(), b"\x7f" + MARK.encode(), b"\rX-Forged: 1", b"\nX-Forged: 1",
         b"\x9b31m" + MARK.encode(), "\u202e".encode() + MARK.encode(), b"<script>" + MARK.encode(), b'"' + MARK.encode()]
FIELDS = {"date", "content-type", "content-length", "cache-control", "ratelimit-policy", "ratelimit", "retry-after", "connection",
          "allow", "accept-post", "www-authenticate", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset",
          "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "proxy-status", "accept-encoding"}
# What moves the cursor, ends a line, or is not seen, besides the ends of lines of an answer's own.
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

LIMITS = """version: 1
classes: [default, bulk]
limits:
  user: { by: [user, path], rate: 2/h }
  must: { by: [secret], rate: 2/h, required: true }
  user-agent: { by: [agent], rate: 2/h }
routes:
  - { when: { path: /must }, limits: [must] }
  - { limits: [user, user-agent] }
gateways:
  caddy: { from: x-forwarded, attributes: { user: header.x-user-id, agent: header.user-agent } }
  nginx: { from: x-original, odd_paths: keep, attributes: { user: header.x-user-id } }
  envoy: { from: path, attributes: { user: header.x-user-id } }
"""


def request(method, target, fields, body=b""):
    head = method + b" " + target + b" HTTP/1.1\r\nHost: a\r\n"
    for name, value in fields:
        head += name + b": " + value + b"\r\n"
    return head + (b"Content-Length: %d\r\n" % len(body) if body else b"") + b"\r\n" + body


def post(path, body):
    return request(b"POST", path.encode(), [], json.dumps(body).encode())


def requests():
    """(what, bytes): a client's text at every place of a request."""
    bodies = [{"key": EVIL, "limit": "2/h"}, {"key": EVIL, "limit": EVIL}, {"key": "k", "limit": "2/h", "class": EVIL}, {EVIL: 1},
              {"attributes": {"user": EVIL, "path": EVIL}}, {"attributes": {EVIL: "x"}}, {"attributes": {"path": "/must", "user": EVIL}},
              {"checks": [{"key": EVIL, "limit": "2/h"}, {"key": EVIL + "2", "limit": "9/h", EVIL: 1}]},
              {"checks": [{"key": EVIL, "limit": "2/h", "cost": 3}, {"key": EVIL + "2", "limit": "9/h"}]},
              {"requests": [{"key": EVIL, "limit": "2/h"}, {"attributes": {"user": EVIL}, "class": EVIL}, {EVIL: EVIL}]},
              {"key": EVIL, "limit": "2/h", "cost": EVIL}, {"attributes": EVIL}, {"id": EVIL}, {"id": EVIL, "actual": 1}, EVIL]
    for path in ("/v1/check", "/v1/look", "/v1/explain", "/v1/reset", "/v1/reserve", "/v1/acquire", "/v1/cancel", "/v1/settle",
                 "/v1/charge", "/v1/refund", "/v1/moment", "/v1/extend"):
        for body in bodies:
            for explain in ({}, {"explain": True}):
                yield path, post(path, {**body, **explain} if isinstance(body, dict) else body)
        yield path, request(b"POST", path.encode(), [], EVIL.encode())
        yield path, request(b"POST", path.encode(), [], b'{"key":"' + EVIL.encode() + b'","limit":"2/h"}')
    line = LINE.encode("latin-1")
    quoted = b"".join(b"%%%02x" % byte for byte in EVIL.encode())
    for gateway in (b"caddy", b"nginx", b"envoy", b"envoy/" + quoted, quoted):
        for _ in range(3):
            yield "gate", request(b"GET", b"/v1/gate/" + gateway, [
                (b"X-Forwarded-Uri", b"/" + quoted), (b"X-Original-URI", b"/" + quoted + b"?" + quoted), (b"X-Forwarded-Host", line),
                (b"X-Forwarded-For", b"1.1.1.1"), (b"X-Real-IP", b"1.1.1.1"), (b"X-User-Id", line), (b"User-Agent", line)])
        yield "gate", request(b"GET", b"/v1/gate/" + gateway, [(b"X-Forwarded-For", line), (b"X-Real-IP", line),
                                                               (b"X-Forwarded-Method", line), (b"X-Original-Method", line)])
    for name in (b"Content-Type", b"Authorization", b"Origin", b"Expect", b"Accept", b"X-Forwarded-For", b"Prefer", b"User-Agent"):
        yield name, request(b"POST", b"/v1/check", [(name, line)], b'{"key":"a","limit":"2/h"}')
    for secret in (b"Bearer " + line, b"Basic " + base64.b64encode(EVIL.encode() + b":" + EVIL.encode()), b"Basic " + line):
        yield "credentials", request(b"GET", b"/openapi.json", [(b"Authorization", secret)])
    yield "path", request(b"GET", b"/" + quoted, [])
    yield "query", request(b"POST", b"/v1/check?" + quoted, [], b'{"key":"a","limit":"2/h"}')
    for bad in BYTES:
        yield "method", b"GE" + bad + b"T / HTTP/1.1\r\nHost: a\r\n\r\n"
        yield "target", b"GET /" + bad + b" HTTP/1.1\r\nHost: a\r\n\r\n"
        yield "version", b"GET / HTTP/" + bad + b"\r\nHost: a\r\n\r\n"
        yield "host", b"GET / HTTP/1.1\r\nHost: " + bad + b"\r\n\r\n"
        yield "name", b"GET / HTTP/1.1\r\nHost: a\r\nX" + bad + b": 1\r\n\r\n"
        for name in (b"Content-Length", b"Transfer-Encoding", b"Expect", b"Connection", b"X-Forwarded-For", b"X-User-Id"):
            yield name, b"GET /v1/gate/caddy HTTP/1.1\r\nHost: a\r\n" + name + b": " + bad + b"\r\n\r\n"
        yield "chunk", b"POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;" + bad + b"\r\n{\r\n" + bad
        yield "chunk", b"POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + bad + b": 1\r\n\r\n"


class Forgery(unittest.TestCase):
    def ask(self, port, sent):
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as wire:
            wire.sendall(sent)
            wire.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: wire.recv(65536), b""))

    def judge_answer(self, what, answer):
        """One answer of fields that weir has, and a body that is JSON without anything that a terminal would obey."""
        context = (what, answer)
        head, end, body = answer.partition(b"\r\n\r\n")
        while head.startswith(b"HTTP/1.1 100"):
            head, end, body = body.partition(b"\r\n\r\n")
        self.assertTrue(end, context)
        first, *lines = head.split(b"\r\n")
        self.assertRegex(first, rb"^HTTP/1\.1 \d{3} [A-Za-z -]+$")
        fields = {}
        for line in lines:
            self.assertRegex(line, rb"^[A-Za-z-]+: [ -~]*$", context)
            name, _, value = line.partition(b": ")
            self.assertNotIn(name.lower(), fields, context)
            fields[name.lower().decode()] = value.decode()
        self.assertLessEqual(set(fields), FIELDS, context)
        self.assertNotIn(MARK, head.decode(), context)
        self.assertEqual(len(body), int(fields.get("content-length", 0)), context)
        if body:
            self.assertIn(fields["content-type"], ("application/json", "application/problem+json"), context)
            text = body.decode()
            self.assertIsNone(CONTROLS.search(text), context)
            self.assertEqual("\n" in text[:-1], text.startswith('{\n  "openapi"'), context)
            return json.loads(text)
        return None

    def judge_log(self, text, as_json):
        for line in text.splitlines():
            if as_json:
                self.assertLessEqual({"time", "level", "message"}, set(json.loads(line)), line)
            else:
                self.assertRegex(line, r"^(\[\S+\] \[\w+\] .+|weir: .+)$")
            self.assertRegex(line, "^[ -~]*$")
            self.assertNotIn(MARK, line)

    def try_all(self, *flags):
        with Folder() as folder, Server("--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--threads", "1", "--log-level", "debug",
                                        "--limits", folder.file("limits.yaml", LIMITS), *flags) as server:
            port, admin = server.ports[1:]
            statuses = set()
            for what, sent in requests():
                answer = self.ask(port, sent)
                if answer:  # half a message has none
                    passes = answer[9:12] == b"200" and b" /v1/gate/" in sent.partition(b"\r\n")[0]
                    statuses.add("passes" if passes else int(answer[9:12]))
                    self.judge_answer((what, sent), answer)
            for path in ("/metrics", "/healthz", "/readyz"):
                for target in (path, path + "?" + MARK):
                    for name in ("Accept", "Authorization", "X-Forwarded-For"):
                        head = self.ask(admin, request(b"GET", target.encode(), [(name.encode(), LINE.encode("latin-1"))]))
                        self.assertNotIn(MARK.encode(), head)
            self.ask(admin, request(b"GET", b"/" + BYTES[0], []))
            for form in ("text/plain", "application/openmetrics-text"):
                asked = urllib.request.Request(f"http://127.0.0.1:{admin}/metrics", headers={"Accept": form})
                with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                    self.judge_metrics(answer.read().decode())
            with server.client() as client:
                for words in (("INFO",), ("CLIENT", "LIST"), ("CLIENT", "INFO")):
                    said = client.ask(*words).decode()
                    self.assertNotIn(MARK, said)
                    self.assertIsNone(CONTROLS.search(said.replace("\r\n", "\n")), said)
            until(lambda: "malformed" in server.stderr(), "what is malformed is logged")
            self.judge_log(server.stderr(), "json" in flags)
            return statuses

    def judge_metrics(self, text):
        self.assertNotIn(MARK, text)
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE|UNIT) weir_\w+ [ -~]+|# EOF|weir_\w+(\{([a-z]+="[ -~]*",?)+\})? [-+.e\dInfNa]+)$')

    def test_at_every_place_of_a_request(self):
        self.assertLessEqual({200, "passes", 400, 404, 415, 429}, self.try_all())

    def test_in_a_log_of_json(self):
        self.try_all("--log-format", "json")

    def test_of_those_that_may_not_ask(self):
        statuses = self.try_all("--http-token", "right")
        self.assertLessEqual({"passes", 400, 401, 429}, statuses)
        self.assertNotIn(200, statuses)

    def test_in_fields_of_every_form(self):
        for form in ("draft-06", "x-ratelimit-epoch"):
            with self.subTest(form):
                self.try_all("--headers", form)

    def test_what_is_shown_of_a_key_is_the_key(self):
        """It comes back as it went in, in JSON that shows nothing of it as it is."""
        with Folder() as folder, Server("--http", "127.0.0.1:0", "--limits", folder.file("limits.yaml", LIMITS)) as server:
            for body in ({"key": EVIL, "limit": "2/h"}, {"checks": [{"key": EVIL, "limit": "2/h"}, {"key": EVIL + "2", "limit": "2/h"}]}):
                answer = self.judge_answer(body, self.ask(server.ports[1], post("/v1/explain", body)))
                self.assertEqual([each["key"] for each in answer["limits"]], [EVIL, EVIL + "2"][:len(answer["limits"])])
            answer = self.judge_answer("a name", self.ask(server.ports[1], post("/v1/check", {EVIL: 1})))
            pointer = answer["errors"][0]["pointer"]
            self.assertEqual(pointer[1:].replace("~1", "/").replace("~0", "~"), EVIL)


if __name__ == "__main__":
    run()
