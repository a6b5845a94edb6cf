"""HTTP: what is asked, what is answered, and what is refused, with the real program."""
import base64
import http.client
import json
import os
import socket
import subprocess
import time
import unittest

import redis

from chance import chance
from server import Folder, Server, run, until, weir

LIMITS = """version: 1
classes: [critical, default, bulk]
limits:
  user: { by: [user], rate: 2/h burst 2 }
  paid: { by: [user, plan], required: true, rate: 5/h burst 5 }
  net: { by: [ip], rate: 100/s burst 100, deny: { ip: 10.0.0.0/8 } }
routes:
  - { when: { path: /free }, limits: [] }
  - { when: { path: /paid }, limits: [paid] }
  - { limits: [user, net] }
"""


class Http:
    """One connection; keeps it open from one request to the next."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def ask(self, path, body=None, method="POST", **headers):
        """(status, headers, parsed body)"""
        text = body if isinstance(body, (bytes, type(None))) else json.dumps(body)
        self.connection.request(method, path, text, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = self.connection.getresponse()
        content = answer.read()
        return answer.status, dict(answer.getheaders()), json.loads(content) if content else None

    def check(self, **body):
        status, _, answer = self.ask("/v1/check", body)
        return status, answer


def raw(port, *parts, pause=0.0):
    """All that comes back to these bytes, until the server closes or nothing comes for a while."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        for part in parts:
            wire.sendall(part)
            time.sleep(pause)
        wire.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := wire.recv(65536):
            answer += chunk
        return answer


class WithServer(unittest.TestCase):
    args = ("--threads", "1")

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.server = Server(*cls.args, "--http", "127.0.0.1:0", "--limits", cls.folder.file("limits.yaml", LIMITS))
        cls.resp, cls.http = cls.server.ports

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)
        cls.folder.__exit__()


class TestApi(WithServer):
    def test_a_key_with_its_limit(self):
        with Http(self.http) as http:
            key = self.id()
            status, answer = http.check(key=key, limit="1/h burst 2")
            self.assertEqual((status, answer), (200, {"allowed": True, "verdict": "allowed", "limit": 2, "remaining": 1,
                                                      "retry_after": None, "reset_after": 3600, "by": "limit"}))
            self.assertEqual(http.check(key=key, limit="1/h burst 2")[0], 200)
            status, headers, answer = http.ask("/v1/check", {"key": key, "limit": "1/h burst 2"})
            self.assertEqual(status, 429)
            self.assertEqual(headers["Content-Type"], "application/problem+json")
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertEqual(answer["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded")
            self.assertEqual((answer["status"], answer["violated-policies"], answer["verdict"]), (429, ["limit"], "denied"))
            self.assertTrue(3500 < answer["retry_after"] <= 3600)
            status, answer = http.check(key=key, limit="1/h burst 2", cost=3)
            self.assertEqual((status, answer["verdict"], answer["retry_after"]), (429, "never", None))
            self.assertEqual(http.ask("/v1/look", {"key": key, "limit": "1/h burst 2"})[0], 200)
            self.assertEqual(http.ask("/v1/reset", {"key": key})[2], {"reset": 1})
            self.assertEqual(http.check(key=key, limit="1/h burst 2")[1]["remaining"], 1)

    def test_all_or_none(self):
        with Http(self.http) as http:
            a, b = self.id() + "a", self.id() + "b"
            both = [{"key": a, "limit": "9/h"}, {"key": b, "limit": "1/h", "cost": 1}]
            self.assertEqual(http.check(checks=both)[0], 200)
            status, answer = http.check(checks=both, explain=True)
            self.assertEqual((status, answer["by"], answer["violated-policies"]), (429, "limit-2", ["limit-2"]))
            self.assertEqual([each["verdict"] for each in answer["limits"]], ["allowed", "denied"])
            self.assertEqual(http.ask("/v1/look", {"key": a, "limit": "9/h"})[2]["remaining"], 8)

    def test_attributes(self):
        with Http(self.http) as http:
            user = {"attributes": {"user": self.id()}}
            self.assertEqual(http.ask("/v1/look", user)[2]["remaining"], 2)
            status, answer = http.check(**user)
            self.assertEqual((status, answer["by"], answer["remaining"]), (200, "user", 1))
            status, answer = http.check(**user, explain=True)
            self.assertEqual([(each["name"], each["verdict"]) for each in answer["limits"]],
                             [("user", "allowed"), ("net", "skipped")])
            status, answer = http.check(**user)
            self.assertEqual((status, answer["violated-policies"]), (429, ["user"]))
            self.assertEqual(http.ask("/v1/explain", user)[2]["limits"][0]["verdict"], "denied")
            self.assertEqual(http.ask("/v1/reset", {**user, "limit": "user"})[2], {"reset": 1})
            self.assertEqual(http.check(**user)[0], 200)
            free = {"allowed": True, "verdict": "allowed", "limit": None, "remaining": None, "retry_after": None,
                    "reset_after": 0, "by": None}
            self.assertEqual(http.check(attributes={"path": "/free"}), (200, free))
            status, answer = http.check(attributes={"ip": "10.1.2.3", "user": "z"})
            self.assertEqual((status, answer["verdict"], answer["limit"], answer["remaining"], answer["retry_after"],
                              answer["by"], answer["violated-policies"]), (429, "denied", 0, 0, None, "net", ["net"]))

    def test_a_batch_is_decided_one_by_one(self):
        with Http(self.http) as http:
            key = self.id()
            requests = [{"key": key, "limit": "1/h"}, {"key": key, "limit": "1/h"}, {"key": key, "limt": "1/h"},
                        {"attributes": {"path": "/free"}}]
            status, _, answer = http.ask("/v1/check", {"requests": requests})
            self.assertEqual(status, 200)
            self.assertEqual([each["status"] for each in answer["results"]], [200, 429, 400, 200])
            many = [{"key": f"{key}{i}", "limit": "1/h"} for i in range(1000)]
            self.assertEqual({each["status"] for each in http.ask("/v1/check", {"requests": many})[2]["results"]}, {200})
            status, _, answer = http.ask("/v1/check", {"requests": many + many[:1]})
            self.assertEqual((status, answer["errors"][0]["pointer"]), (400, "/requests"))

    def test_every_fault_is_named_with_its_place(self):
        integer = "must be an integer from 0 to 9223372036854775807"
        known = "unknown member; known are attributes, key, limit, checks, requests, cost, at_least, class, explain"
        nothing = "missing 'attributes', or 'key' and 'limit', or 'checks'"
        rows = [
            ({}, {"": nothing}),
            ({"x": 1, "a/b~": 2, "key": "k", "limit": "1/s"}, {"/x": known, "/a~1b~0": known}),
            ({"key": 1, "limit": 2, "cost": -1, "explain": 0},
             {"/explain": "must be true or false", "/cost": integer, "/key": "must be a text", "/limit": "must be a text"}),
            ({"key": "k", "limit": "1/s", "cost": 1.0}, {"/cost": integer}),
            ({"key": "k", "limit": "1/s", "cost": 2**63}, {"/cost": integer}),
            ({"key": "k"}, {"/limit": "missing"}),
            ({"limit": "1/s"}, {"/key": "missing beside 'limit'"}),
            ({"checks": []}, {"/checks": "must be a list of 1 to 16"}),
            ({"checks": [{"key": "k", "limit": "1/s"}] * 2},
             {"/checks/1/key": "is given twice; one request charges each key once"}),
            ({"checks": [{"key": "k", "limit": "1/s", "class": "x"}, 5]},
             {"/checks/0/class": "unknown member; known are key, limit, cost", "/checks/1": "must be an object"}),
            ({"key": "k", "limit": "1/s", "class": "bulk"}, {"/class": "is only for 'attributes'"}),
            ({"attributes": {"user": 5, "": "x"}},
             {"/attributes/user": "must be a text", "/attributes/": "an attribute's name is empty"}),
            ({"attributes": [], "class": "bulk"}, {"/attributes": "must be an object"}),
            ({"attributes": {"user": "x"}, "limit": "user"},
             {"/limit": "is only for 'key': the limits file says which limits attributes meet"}),
            ({"requests": 5}, {"/requests": "must be a list of 1 to 1000"}),
            ({"requests": [], "cost": 1}, {"/requests": "stands alone; each request has its own members"}),
        ]
        with Http(self.http) as http:
            for body, faults in rows:
                status, headers, answer = http.ask("/v1/check", body)
                self.assertEqual((status, headers["Content-Type"]), (400, "application/problem+json"), body)
                self.assertEqual({each["pointer"]: each["detail"] for each in answer["errors"]}, faults, body)
            for path, body, pointer in (("/v1/check", {"attributes": {"user": "x"}, "class": "gold"}, "/class"),
                                        ("/v1/check", {"attributes": {"path": "/paid", "user": "x"}}, "/attributes"),
                                        ("/v1/reset", {"attributes": {"user": "x"}, "limit": "nix"}, "/limit"),
                                        ("/v1/reset", {"attributes": {}, "limit": "user"}, "/attributes"),
                                        ("/v1/reset", {"key": "k", "limit": "1/s"}, "/limit"),
                                        ("/v1/look", {"requests": []}, "/requests"),
                                        ("/v1/check", {"key": "k", "limit": "nonsense"}, "/limit")):
                status, _, answer = http.ask(path, body)
                self.assertEqual((status, answer["errors"][0]["pointer"]), (400, pointer), answer)

    def test_bodies_that_are_not_json(self):
        rows = [(b"", "the body is empty, and should be a JSON object"), (b"{", None), (b"[" * 100_000, None),
                (b'{"key":NaN}', None), (b'{"cost":1e400}', None), (b'{"cost":99999999999999999999}', None),
                (b'{"key":"\xff"}', "the body is not UTF-8"), (b'{"key":"\\ud800"}', None),
                (b'{"key":"\\udc00"}', None), (b'{"key":"a\nb"}', None), (b'{} {}', None), (b'{"a":1,}', None),
                (b"\xef\xbb\xbf{}", None), (b'{"key":"a"}' + b"\0", None)]
        with Http(self.http) as http:
            for body, detail in rows:
                status, _, answer = http.ask("/v1/check", body)
                self.assertEqual((status, answer["errors"][0]["pointer"]), (400, ""), body[:40])
                if detail:
                    self.assertEqual(answer["errors"][0]["detail"], detail)
            status, _, answer = http.ask("/v1/check", b'{"key":"a","key":"a","limit":"1/s"}')
            self.assertEqual((status, answer["errors"]), (400, [{"pointer": "/key", "detail": "is given twice"}]))
            status, _, answer = http.ask("/v1/check", b'{"attributes":{"a":"1","a":"2"}}')
            self.assertEqual((status, answer["errors"]), (400, [{"pointer": "/attributes/a", "detail": "is given twice"}]))

    def test_bytes_of_a_client_cannot_forge_anything(self):
        evil = "a\r\nX-Evil: 1\r\n\r\n<script>\"'\x1b[31m\u2028\u0085\x7f"
        with Http(self.http) as http:
            for body in ({"key": evil, "limit": "1/s", "explain": True}, {"key": evil, "limit": evil},
                         {evil: 1}, {"attributes": {evil: evil}, "explain": True}, {"attributes": {"user": evil}, "class": evil}):
                status, headers, _ = http.ask("/v1/check", body)
                self.assertNotIn("X-Evil", headers)
            status, headers, _ = http.ask("/" + "%0d%0aX-Evil:1", None, "GET", X=evil.split("\r")[0])
            self.assertEqual(status, 404)
        answer = raw(self.http, b"GET /\x1b[31m HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 "))
        self.assertNotIn(b"\x1b", answer)
        self.assertNotIn("\x1b", self.server.stderr())


class TestOpenApi(WithServer):
    def test_it_says_what_the_handlers_do(self):
        with Http(self.http) as http:
            _, _, document = http.ask("/openapi.json", None, "GET")
            schemas = document["components"]["schemas"]
            for path, methods in document["paths"].items():
                allowed = http.ask(path, None, "OPTIONS")[1]["Allow"].split(", ")
                self.assertEqual({m.upper() for m in methods}, set(allowed) - {"OPTIONS", "HEAD"}, path)
            members = {"/v1/check": ("Check", "Batch"), "/v1/look": ("Check",), "/v1/explain": ("Check",), "/v1/reset": ("Reset",),
                       "/v1/reserve": ("Reserve",), "/v1/acquire": ("Reserve",), "/v1/cancel": ("Cancel",), "/v1/settle": ("Settle",),
                       "/v1/charge": ("Charge",), "/v1/refund": ("Refund",), "/v1/moment": ("Cancel",), "/v1/extend": ("Extend",),
                       "/v1/holds": ("HoldsOf",), "/v1/usage": ("UsageOf",)}
            others = {"/openapi.json", "/v1/overrides", "/v1/overrides/{number}", "/v1/top", "/v1/status", "/v1/audit"}
            self.assertEqual(set(members) | others, set(document["paths"]))
            detail = http.ask("/v1/overrides", {"?": 1})[2]["errors"][0]["detail"]
            self.assertEqual(set(detail.removeprefix("unknown; known: ").split(", ")),
                             set(schemas["NewOverride"]["properties"]))
            top = document["paths"]["/v1/top"]["get"]
            detail = http.ask("/v1/top?x=1", None, "GET")[2]["errors"][0]["detail"]
            self.assertEqual(detail, "query 'x': unknown; known: " + ", ".join(each["name"] for each in top["parameters"]))
            for path, names in members.items():
                detail = http.ask(path, {"?": 1})[2]["errors"][0]["detail"]
                known = set(detail.removeprefix("unknown member; known are ").split(", "))
                self.assertEqual(known, {each for name in names for each in schemas[name]["properties"]}, path)
            detail = http.ask("/v1/check", {"checks": [{"?": 1}]})[2]["errors"][0]["detail"]
            self.assertEqual(set(detail.removeprefix("unknown member; known are ").split(", ")),
                             set(schemas["Check"]["properties"]["checks"]["items"]["properties"]))

            body = {"key": self.id(), "limit": "1/h"}
            answer = set(schemas["Answer"]["properties"]) - {"granted"}
            self.assertEqual(set(http.ask("/v1/look", {**body, "cost": 2, "at_least": 1})[2]), answer | {"granted"})
            self.assertEqual(set(http.ask("/v1/check", body)[2]), answer)
            self.assertEqual(set(http.ask("/v1/check", body)[2]), answer | set(schemas["Denial"]["properties"]))
            self.assertEqual(set(http.ask("/v1/explain", {"attributes": {"user": "o"}})[2]),
                             answer | set(schemas["Explanation"]["properties"]))
            self.assertEqual(set(http.ask("/v1/check", {})[2]), set(schemas["Problem"]["properties"]))
            self.assertEqual(set(http.ask("/v1/reset", {"key": "o"})[2]), {"reset"})
            self.assertEqual(set(http.ask("/v1/reserve", {"key": "o", "limit": "1/h"})[2]),
                             answer | set(schemas["Reservation"]["properties"]))
            self.assertEqual(http.ask("/v1/cancel", {"id": "o"})[2], {"given_back": 0})
            self.assertEqual(http.ask("/v1/settle", {"id": "o", "actual": 1})[2], {"wait": -1})


class TestProtocol(WithServer):
    def test_methods_paths_and_types(self):
        with Http(self.http) as http:
            status, headers, _ = http.ask("/v1/check", None, "OPTIONS")
            self.assertEqual((status, headers["Allow"]), (204, "POST, OPTIONS"))
            self.assertEqual(http.ask("*", None, "OPTIONS")[0], 204)
            status, headers, answer = http.ask("/v1/check", None, "GET")
            self.assertEqual((status, headers["Allow"]), (405, "POST, OPTIONS"))
            self.assertEqual(answer, {"title": "Method Not Allowed", "status": 405,
                                      "detail": "allowed methods: POST, OPTIONS"})
            self.assertEqual(http.ask("/v1/check", None, "HEAD")[0], 405)
            self.assertEqual(http.ask("/v1/reset", b"{}", "DELETE")[0], 405)
            for path in ("/", "/v1/check/", "/v1//check", "/%761/check", "/v1/Check"):
                self.assertEqual(http.ask(path, b"{}")[0], 404, path)
            body = b'{"key":"t","limit":"9/s"}'
            self.assertEqual(http.ask("/v1/check?cost=0", body)[0], 200)
            self.assertEqual(http.ask("http://any/v1/check", body)[0], 200)
            for kind, status in (("application/json", 200), ("Application/JSON; charset=utf-8", 200), ("text/plain", 415),
                                 ("application/x-www-form-urlencoded", 415), ("application/json5", 415)):
                self.assertEqual(http.ask("/v1/check", body, Content_Type=kind)[0], status, kind)
            for coding, status in (("identity", 200), ("Identity", 200), ("", 200), ("gzip", 415), ("identity, gzip", 415), ("br", 415)):
                answered, headers, told = http.ask("/v1/check", body, Content_Encoding=coding)
                self.assertEqual((answered, headers.get("Accept-Encoding")), (status, None if status == 200 else "identity"), coding)
            self.assertEqual(told["detail"], "the body must be sent as it is, without a Content-Encoding")
            status, _, answer = http.ask("/v1/check", body, Origin="http://evil")
            self.assertEqual((status, answer["title"]), (403, "Forbidden"))
            status, headers, _ = http.ask("/openapi.json", None, "HEAD")
            self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))

    def test_what_is_not_http_1_is_told_so_and_closed(self):
        for bytes_, status in ((b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505), (b"\x16\x03\x01\x02\0\x01\0", 400),
                               (b"CL.THROTTLE a 1 1 1\r\n", 400), (b"*1\r\n$4\r\nPING\r\n", 400),
                               (b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET /" + b"a" * 9000, 414),
                               (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 20000, 431),
                               (b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 67108864\r\n\r\n", 413),
                               (b"POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
                               (b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                                b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n", 400)):
            answer = raw(self.http, bytes_)
            self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % status), (bytes_[:60], answer[:100]))
            self.assertIn(b"\r\nConnection: close\r\n", answer)
            self.assertEqual(answer.count(b"Connection: close"), 1, answer)

    def test_pipelined_requests_are_answered_in_order_however_they_come(self):
        def post(i):
            body = b'{"key":"pipe%d","limit":"9/h","cost":%d}' % (i, i % 3)
            return b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        answer = raw(self.http, b"".join(post(i) for i in range(2000)))
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK"), 2000)
        found = [int(part.split(b",")[0]) for part in answer.split(b'"remaining":')[1:]]
        self.assertEqual(found, [9 - i % 3 for i in range(2000)])
        one = post(1) + post(2)
        answer = raw(self.http, *(one[i:i + 1] for i in range(len(one))))
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK"), 2)

    def test_keep_alive_of_both_versions(self):
        def get(version, *fields):
            lines = [b"OPTIONS /v1/check HTTP/" + version, b"Host: a", *fields, b"", b""]
            return b"\r\n".join(lines)
        self.assertEqual(raw(self.http, get(b"1.1") * 2).count(b"HTTP/1.1 204"), 2)
        self.assertEqual(raw(self.http, get(b"1.0") * 2).count(b"HTTP/1.1 204"), 1)
        kept = raw(self.http, get(b"1.0", b"Connection: keep-alive") * 2)
        self.assertEqual((kept.count(b"HTTP/1.1 204"), kept.count(b"Connection: keep-alive")), (2, 2))
        closed = raw(self.http, get(b"1.1", b"Connection: close") * 2)
        self.assertEqual((closed.count(b"HTTP/1.1 204"), closed.count(b"Connection: close")), (1, 1))

    def test_a_client_that_waits_to_be_told_is_told_or_refused(self):
        body = b'{"key":"expect","limit":"9/h"}'
        head = b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.http), timeout=10) as wire:
            wire.sendall(head % (b"/v1/check", len(body)))
            self.assertEqual(wire.recv(4096), b"HTTP/1.1 100 Continue\r\n\r\n")
            wire.sendall(body)
            self.assertTrue(wire.recv(4096).startswith(b"HTTP/1.1 200 OK"))
        answer = raw(self.http, head % (b"/nowhere", 500_000))
        self.assertTrue(answer.startswith(b"HTTP/1.1 404 "))
        self.assertIn(b"Connection: close", answer)

    def test_a_client_that_never_reads_is_held_back(self):
        body = b'{"requests":[' + b",".join([b'{"key":"r","limit":"9/h"}'] * 1000) + b"]}"
        post = b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        with socket.create_connection(("127.0.0.1", self.http), timeout=10) as wire:
            wire.settimeout(1)
            sent = 0
            with self.assertRaises(TimeoutError):
                while sent < 64 << 20:
                    sent += wire.send(post)
            with Http(self.http) as http:
                self.assertEqual(http.check(key="still", limit="9/s")[0], 200)


class TestStall(unittest.TestCase):
    def test_half_a_request_is_told_408(self):
        with Server("--threads", "1", "--http", "127.0.0.1:0", "--stall-timeout", "1s") as server:
            for part in (b"GET / HT", b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
                         b"POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"):
                with socket.create_connection(("127.0.0.1", server.ports[1]), timeout=10) as wire:
                    wire.sendall(part)
                    answer = b""
                    while chunk := wire.recv(4096):
                        answer += chunk
                    self.assertTrue(answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n"), answer)

    def test_a_trickle_of_bytes_does_not_prolong_it(self):
        with Server("--threads", "1", "--http", "127.0.0.1:0", "--stall-timeout", "1s") as server:
            with socket.create_connection(("127.0.0.1", server.ports[1]), timeout=10) as wire:
                wire.settimeout(0.1)
                began = time.monotonic()
                for letter in b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1000:
                    wire.sendall(bytes([letter]))
                    try:
                        answer = wire.recv(4096)
                        break
                    except TimeoutError:
                        self.assertLess(time.monotonic() - began, 30)
                self.assertTrue(answer.startswith(b"HTTP/1.1 408 "), answer)


class TestCredentials(unittest.TestCase):
    def test_a_token_or_the_password(self):
        basic = lambda user, password: "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        body = {"key": "k", "limit": "9/s"}
        with Server("--threads", "1", "--http", "127.0.0.1:0", "--user", "api",
                    env={"WEIR_PASSWORD": "pass:word", "WEIR_HTTP_TOKEN": "t0ken"}) as server:
            for secret, status in (("Bearer t0ken", 200), ("bearer  t0ken", 200), (basic("api", "pass:word"), 200),
                                   (None, 401), ("Bearer", 401), ("Digest x", 401), ("Basic !", 401),
                                   ("Bearer wrong", 401), (basic("default", "pass:word"), 401), (basic("api", "x"), 401)):
                with Http(server.ports[1]) as http:
                    answer = http.ask("/v1/check", body, **({"Authorization": secret} if secret else {}))
                    self.assertEqual(answer[0], status, secret)
                    if status == 401:
                        self.assertIn("WWW-Authenticate", answer[1])
                        self.assertEqual(answer[2]["title"], "Unauthorized")
            with Http(server.ports[1]) as http:
                self.assertEqual(http.ask("/nowhere", None, "GET")[0], 401)
            # A megabyte of a client that may not ask is not read.
            answer = raw(server.ports[1], b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
            self.assertTrue(answer.startswith(b"HTTP/1.1 401 "))
            self.assertIn(b"Connection: close", answer)
            self.assertNotIn("t0ken", server.stderr())

    def test_beyond_loopback_something_has_to_say_who_asks(self):
        code, out, errors = weir("serve", "--resp", "127.0.0.1:0", "--http", "0.0.0.0:0")
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(errors, "weir: http: 0.0.0.0:0 is not a loopback address: give --http-token, --password, --users or "
                                 "--tls-cert, or --insecure to serve anyone who can reach it\n")
        with Server("--http", "0.0.0.0:0", env={"WEIR_HTTP_TOKEN": "x"}):
            pass

    def test_an_address_that_cannot_be_bound_is_named(self):
        with Server("--http", "127.0.0.1:0") as server:
            code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--http", f"127.0.0.1:{server.ports[1]}")
            self.assertEqual(code, 2)
            self.assertTrue(errors.startswith("weir: http: "), errors)
        code, _, errors = weir("serve", "--resp", "", "--http", "unix:")
        self.assertEqual((code, errors), (2, "weir: http: 'unix:' is missing the path of the Unix socket\n"))


class TestUnixSocket(unittest.TestCase):
    def test_it_answers_by_a_path_and_alone(self):
        with Folder() as folder:
            path = folder.file("sock")
            with Server("--http", f"unix:{path}", resp=[""]) as server:
                self.assertEqual(server.addresses, [f"http unix:{path}"])
                done = subprocess.run(["curl", "-s", "--unix-socket", path, "--json", '{"key":"u","limit":"9/h"}',
                                       "http://weir/v1/check"], capture_output=True, timeout=20)
                self.assertIn(b'"allowed":true', done.stdout)


class TestAgreement(unittest.TestCase):
    """The same requests over RESP to one server and over HTTP to another: each is decided alike."""

    def compare(self, *args):
        dice = chance()
        with Folder() as folder:
            # No limit gains a unit while it is asked: the two servers are not asked at one moment.
            limits = folder.file("limits.yaml", LIMITS.replace("100/s burst", "100/d burst"))
            servers = [Server("--threads", "1", "--http", "127.0.0.1:0", "--limits", limits, *args[i]) for i in (0, 1)]
            try:
                resp = redis.Redis(port=servers[0].ports[0], socket_timeout=10)
                with Http(servers[1].ports[1]) as http:
                    for step in range(300):
                        cost = dice.choice([0, 1, 1, 2, 9])
                        if dice.random() < 0.5:
                            keys = dice.sample("abcd", dice.randint(1, 3))
                            words = ["WEIR.THROTTLE", "COST", cost]
                            for key in keys:
                                words += [key, "3/d burst 5"]
                            body = {"checks": [{"key": key, "limit": "3/d burst 5"} for key in keys], "cost": cost}
                            by = None
                        else:
                            names = {"user": dice.choice(["x", "y\u00e9"]), "ip": dice.choice(["10.1.1.1", "1.1.1.1"]),
                                     "path": dice.choice(["/free", "/"]), "plan": "gold"}
                            chosen = dice.sample(sorted(names), dice.randint(1, 4))
                            words = ["WEIR.CHECK", "COST", cost] + [f"{name}={names[name]}" for name in chosen]
                            body = {"attributes": {name: names[name] for name in chosen}, "cost": cost}
                            by = "file"
                        said = resp.execute_command(*words)
                        status, _, answer = http.ask("/v1/check", body)
                        ours = [int(said[0] == 0), said[1], said[2], said[3] >= 0]
                        theirs = [int(answer["allowed"]), -1 if answer["limit"] is None else answer["limit"],
                                  -1 if answer["remaining"] is None else answer["remaining"],
                                  answer["retry_after"] is not None]
                        self.assertEqual(ours, theirs, (step, words, said, answer))
                        self.assertEqual(status == 200, answer["allowed"])
                        if by:
                            self.assertEqual(said[5].decode(), answer["by"] or "", (step, words))
            finally:
                for server in servers:
                    server.__exit__(None, None, None)

    def test_embedded(self):
        self.compare((), ())

    def test_with_a_shared_store(self):
        with Folder() as folder:
            path = [folder.file(name) for name in ("a.sock", "b.sock")]
            stores = [subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", each, "--save", "", "--dir", folder.path],
                                       stdout=subprocess.DEVNULL) for each in path]
            try:
                for each in path:
                    until(lambda: os.path.exists(each), "a Redis")
                self.compare(*(("--store", f"redis+unix://{each}", "--store-deadline", "5s") for each in path))
            finally:
                for each in stores:
                    each.kill()
                    each.wait()


if __name__ == "__main__":
    run()
