"""examples/gateways in the real programs: nginx (auth_request, njs, Lua), Caddy, HAProxy, Envoy and Traefik before one
backend, with a weir that asks for its token. `test_gateways.py CLASS` runs one of them."""
import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import time
import unittest
import urllib.request

import gateways
from gateways import EXAMPLES, TOKEN, Backend
from ports import free_port
from programs import ask
from server import PATIENCE, Folder, Server, run, until

ORIGIN = "https://app.example.com"
EXPOSED = {"ratelimit", "ratelimit-policy", "retry-after"}
PREFLIGHT = [("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "x-user-id")]


def limits(**changes):
    """The example's; each gateway has to send its token."""
    hidden = ("  - { when: { path: /edge }, limits: [edge] }\n  - { when: { path: /export }, limits: [exports] }\n"
              "  - { limits: [edge, ip, user] }")
    return gateways.slowed(EXAMPLES / "limits.yaml", {
        "5/min": "5/h", "  - { limits: [edge, ip, user] }": hidden,
        "{ from:": "{ token: { header: x-gate-token, env: GATE_TOKEN }, hold: true, from:",
        "routes:": "  exports: { by: [user], in_flight: 2, hold: { ttl: 1h } }\nroutes:", **changes})


def raw(port, head, *said):
    """What comes back to a request that is written as bytes; after it each of `said` is sent and answered."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as wire:
        wire.sendall(head)
        answer = b""
        while b"\r\n\r\n" not in answer:
            got = wire.recv(65536)
            if not got:
                return answer, b""
            answer += got
        answer, _, rest = answer.partition(b"\r\n\r\n")
        for each in said:
            wire.sendall(each)
            while not rest.endswith(each):
                got = wire.recv(65536)
                if not got:
                    return answer, rest
                rest += got
        return answer, rest


class States(gateways.OneGateway):
    """One gateway's tests; those below say which, and how it differs."""

    limits = staticmethod(limits)
    down = hung = 200  # what clients get then
    hung_patience = PATIENCE
    tells = True  # clients that are allowed are told what is left
    odd = (429,)  # what a path with %2f gets
    fits = 20  # KiB of a client's headers, all of which it passes on to the backend
    fields = 150  # of them too
    long_target = 200  # what a query of 10 KiB gets

    @classmethod
    def serve(cls, port=None, token=TOKEN, file=None):
        return Server("--http", f"127.0.0.1:{port or cls.port}", "--admin", "127.0.0.1:0", "--limits", file or cls.limits_file, env={"GATE_TOKEN": token})

    def is_asked(self):
        before = self.decided()
        self.ask(path="/is-asked")
        return self.decided() > before

    def decided(self):
        """How many requests met the limit by address."""
        text = ask(self.weir.ports[-1], path="/metrics")[2].decode()
        return sum(map(int, re.findall(r'^weir_decisions_total\{limit="ip",.*\} (\d+)$', text, re.M)))

    def exhaust(self, user):
        """Nothing is left to `user`."""
        headers = [("X-User-Id", user)]
        self.assertEqual([self.ask(path="/exhaust", headers=headers)[0] for _ in range(4)], [200] * 3 + [429], self.program.text())
        return headers

    def test_what_is_allowed_reaches_the_backend_and_clients_are_told_what_is_left(self):
        status, headers, body = self.ask(path="/hello", headers=[("X-User-Id", "ann")])
        self.assertEqual((status, body), (200, b"backend"), self.program.text())
        if self.tells:
            self.assertEqual(headers.get_all("RateLimit-Policy"), ['"ip";q=100000;w=100, "user";q=3;w=3600'])
            self.assertRegex(headers["RateLimit"], r'^"ip";r=\d+;t=\d+, "user";r=2;t=2400$')
        self.assertIsNone(headers["Retry-After"])

    def test_what_is_allowed_without_fields_reaches_the_backend(self):
        for path in ("/healthz", "/edge"):  # without limits; by a limit that is not told of
            before = self.backend.seen[path]
            status, headers, body = self.ask(path=path)
            self.assertEqual((status, body, headers["RateLimit"], headers["RateLimit-Policy"]), (200, b"backend", None, None))
            self.assertEqual(self.backend.seen[path] - before, 1)

    def test_what_is_denied_is_429_with_the_fields(self):
        for _ in range(3):
            self.assertEqual(self.ask(path="/denied", headers=[("X-User-Id", "bob")])[0], 200)
        status, headers, body = self.ask(path="/denied", headers=[("X-User-Id", "bob")])
        self.assertEqual(status, 429, self.program.text())
        self.assertEqual(self.backend.seen["/denied"], 3)
        self.assertTrue(1100 <= int(headers["Retry-After"]) <= 1200, headers)
        self.assertEqual(headers.get_all("RateLimit-Policy"), ['"ip";q=100000;w=100, "user";q=3;w=3600'])
        wait = re.search(r'"user";r=0;t=(\d+)$', headers["RateLimit"])
        self.assertEqual(wait and wait[1], headers["Retry-After"])
        self.assertEqual(headers.get_all("Cache-Control"), ["no-store"])
        self.assertIn(headers.get_all("Content-Type"), (["application/problem+json"], ["text/plain"]))
        self.assertNotIn(b"edge", body)
        self.assertNotIn(b"%0A", body)
        self.assertTrue(body.endswith(b"\n"), body)

    def test_a_client_does_not_choose_its_address_or_its_spelling_of_a_path(self):
        forged = [[("X-Forwarded-For", "203.0.113.%d" % i), ("X-Real-IP", "203.0.113.%d" % i), ("Forwarded", "for=203.0.113.9"),
                   ("X-Forwarded-Uri", "/free"), ("X-Original-URI", "/free"), ("X-Original-Method", "GET"),
                   ("X-Forwarded-Method", "GET"), ("X-Gate-Token", "other")] for i in range(10)]
        paths = ["/login", "//login", "/./login", "/%6cogin", "/x/../login", "/login?a", "/login", "/login", "/login", "/login"]
        statuses = [self.ask("POST", path, headers) [0] for path, headers in zip(paths, forged)]
        self.assertEqual(statuses, [200] * 5 + [429] * 5, self.program.text())

    def test_a_query_and_headers_of_a_client_do_not_change_the_cost(self):
        forged = [("X-User-Id", "eve"), ("X-Weir-Cost", "0"), ("X-Weir-Class", "critical")]
        statuses = [self.ask(path=f"/?cost=0&class=critical&user={i}", headers=forged)[0] for i in range(5)]
        self.assertEqual(statuses, [200, 200, 200, 429, 429])

    def test_a_path_that_can_be_read_in_two_ways_is_denied_and_says_why(self):
        self.assertIn(self.ask("POST", "/x%2f..%2flogin")[0], self.odd)
        status, headers, _ = self.ask("POST", "/free/..;/login")
        self.assertEqual(status, 429, self.program.text())
        self.assertEqual(headers.get_all("Proxy-Status"),
                         ['weir; error=http_request_denied; details="the path can be read in more than one way"'])

    def test_slots_are_held_until_the_application_settles(self):
        def export():
            return self.ask(path="/export", headers=[("X-User-Id", "eva"), ("Weir-Reservation", "forged")])[0]
        self.assertEqual([export() for _ in range(3)], [200, 200, 429], self.program.text())
        (first,), (second,) = held = self.backend.held["/export"]
        self.assertNotEqual(first, second)
        self.assertNotIn("forged", (first, second))
        self.assertGreaterEqual(self.settle_one(first), 0)
        self.assertEqual([export() for _ in range(2)], [200, 429], self.program.text())
        self.assertEqual([len(each) for each in held], [1] * 3)
        self.assertEqual(self.settle_one(first), -1)

    def settle_one(self, held):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/settle", json.dumps({"id": held}).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["wait"]

    def test_a_client_does_not_bring_a_reservation(self):
        self.ask(path="/brings", headers=[("Weir-Reservation", "forged"), ("weir-reservation", "again")])
        self.assertEqual(self.backend.held["/brings"], [None], self.program.text())

    def test_many_requests_of_one_connection(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.program.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        for _ in range(300):
            connection.request("GET", "/many")
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read()), (200, b"backend"), self.program.text()[-2000:])
        self.assertEqual(self.backend.seen["/many"], 300)

    def test_a_client_s_headers_do_not_make_the_check_too_long(self):
        piece = "x" * 5000
        pieces = [(f"X-Piece-{i}", piece) for i in range(self.fits // 5)]
        many = [(f"X-Field-{i}", "x") for i in range(self.fields)]
        for headers in (pieces, many):
            status, told, body = self.ask(path="/long", headers=headers)
            self.assertEqual((status, body), (200, b"backend"), self.program.text())
            if self.tells:
                self.assertIn('"ip";', told["RateLimit"])
        before = self.decided()
        self.assertEqual(self.ask(path="/long?" + "x" * 10_000)[0], self.long_target, self.program.text())
        self.assertEqual(self.decided() - before, 1 if self.long_target == 200 else 0)

    def test_http_2(self):
        def curl(user):
            done = subprocess.run(["curl", "-s", "-i", "--http2-prior-knowledge", "-H", f"X-User-Id: {user}",
                                   f"http://127.0.0.1:{self.program.h2_port}/h2"], capture_output=True, timeout=PATIENCE)
            return done.stdout.decode()
        user = "h2"
        answers = [curl(user) for _ in range(4)]
        for each in answers[:3]:
            self.assertTrue(each.startswith("HTTP/2 200") and each.endswith("backend"), (each, self.program.text()))
            self.assertEqual(self.tells, '"user";r=' in each, each)
        self.assertTrue(answers[3].startswith("HTTP/2 429"), (answers[3], self.program.text()))
        self.assertIn("retry-after: 1", answers[3].lower())

    def test_an_upgrade(self):
        head = ("GET /socket HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-User-Id: socket\r\n\r\n").encode()
        for _ in range(3):
            answer, said = raw(self.program.port, head, b"one", b"two")
            self.assertTrue(answer.startswith(b"HTTP/1.1 101"), (answer, self.program.text()))
            self.assertEqual(said, b"onetwo")
        answer, _ = raw(self.program.port, head)
        self.assertTrue(answer.startswith(b"HTTP/1.1 429"), (answer, self.program.text()))
        self.assertEqual(self.backend.seen["/socket"], 3)

    def test_a_preflight_is_not_asked_for(self):
        user = self.exhaust("page")
        before = self.decided()
        for origin in (ORIGIN, "https://other.example"):
            status, headers, body = self.ask("OPTIONS", "/preflight", [*user, ("Origin", origin), *PREFLIGHT])
            self.assertEqual((status, body, headers["RateLimit"]), (200, b"backend", None), self.program.text())
        self.assertEqual(self.decided(), before)
        # What only looks like one is.
        for headers in ([("Origin", ORIGIN)], PREFLIGHT):
            self.assertEqual(self.ask("OPTIONS", "/preflight", [*user, *headers])[0], 429)
        self.assertEqual(self.ask("POST", "/preflight", [*user, ("Origin", ORIGIN), *PREFLIGHT])[0], 429)

    def test_a_web_page_may_read_what_its_denied_requests_are_told(self):
        user = self.exhaust("reader")
        status, headers, _ = self.ask(headers=[*user, ("Origin", ORIGIN)])
        self.assertEqual((status, headers.get_all("Access-Control-Allow-Origin")), (429, [ORIGIN]))
        exposed = headers.get_all("Access-Control-Expose-Headers")
        self.assertEqual([set(re.split(", ?", each.lower())) for each in exposed], [EXPOSED])
        status, headers, _ = self.ask(headers=[*user, ("Origin", "https://other.example")])
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (429, None))

    def test_while_weir_is_down_clients_get_at_once_what_the_example_says_and_then_are_limited_again(self):
        type(self).stop()
        try:
            began = time.monotonic()
            answers = [self.ask(path="/down", headers=[("X-User-Id", "dan")]) for _ in range(5)]
            took = time.monotonic() - began
        finally:
            type(self).restart()
        self.assertEqual([(status, headers["RateLimit"]) for status, headers, _ in answers], [(self.down, None)] * 5, self.program.text())
        self.assertLess(took, 5, "no request waits for a connection to be tried again")
        until(self.is_asked, "weir is asked again")
        self.exhaust("dan")

    def test_while_weir_hangs_clients_do_not(self):
        self.weir.signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            connection = http.client.HTTPConnection("127.0.0.1", self.program.port, timeout=self.hung_patience)
            self.addCleanup(connection.close)
            for _ in range(6 if self.hung_patience == PATIENCE else 1):
                connection.request("GET", "/hung", headers={"X-User-Id": "hal"})
                answer = connection.getresponse()
                answer.read()
                self.assertEqual((answer.status, answer.headers["RateLimit"]), (self.hung, None), self.program.text())
            self.assertLess(time.monotonic() - began, self.hung_patience)
        finally:
            self.weir.signal(signal.SIGCONT)

    def test_a_gateway_whose_token_is_wrong_lets_nobody_through(self):
        type(self).stop()
        type(self).weir = self.serve(token="another")
        try:
            status, _, _ = until(self.refused, "a request does not pass")  # while weir is taken for gone, some may
            self.assertIn(status, (401, 500))
            until(lambda: "a gateway's token is wrong or missing" in self.weir.stderr(), "weir's log says why")
            before = self.backend.seen["/wrong"]
            self.assertEqual([self.ask(path="/wrong")[0] for _ in range(3)], [status] * 3, self.program.text())
            self.assertEqual(self.backend.seen["/wrong"], before)
        finally:
            type(self).stop()
            type(self).restart()

    def refused(self):
        before = self.backend.seen["/wrong"]
        answer = self.ask(path="/wrong")
        return self.backend.seen["/wrong"] == before and answer


class Opens:
    """Of those that let requests pass while weir is down, unless a line says otherwise. closed: that line, the other, and what
    clients get then."""

    def test_with_the_line_that_it_names_no_request_passes_while_weir_is_down(self):
        old, new, status = self.closed
        self.assertIn(old, self.gateway.text())
        gateway = self.gateway.start(free_port(), self.backend.port, (old, new))
        self.addCleanup(gateway.close)
        self.assertEqual([ask(gateway.port, path="/closed")[0] for _ in range(3)], [status] * 3, gateway.text())
        self.assertEqual(self.backend.seen["/closed"], 0)


class AfterABalancer:
    """Of those whose profile says `from: x-forwarded`. balancer: what is changed in the example and in the limits."""

    def test_after_a_load_balancer_each_client_is_one(self):
        changes, trusted = self.balancer
        with Folder() as folder:
            file = folder.file("limits.yaml", limits(**trusted))
            port = free_port()
            with self.serve(port=port, file=file):
                gateway = self.gateway.start(port, self.backend.port, *changes)
                self.addCleanup(gateway.close)
                until(lambda: ask(gateway.port)[0] == 200, "it has read its configuration")

                def login(address):
                    forged = [("X-Forwarded-For", address), ("X-Forwarded-Uri", "/free"), ("X-Forwarded-Method", "GET")]
                    return ask(gateway.port, "POST", "/login", forged)[0]
                self.assertEqual([login("203.0.113.1") for _ in range(6)], [200] * 5 + [429], gateway.text())
                self.assertEqual(login("198.51.100.9, 203.0.113.1"), 429)
                self.assertEqual(login("203.0.113.2"), 200, gateway.text())


class NginxAuthRequest(Opens, States, unittest.TestCase):
    gateway = gateways.NGINX_AUTH_REQUEST
    long_target = 414  # its own answer, as with njs and Lua
    closed = "      error_page 502 503 504 = @weir_is_down;  # FAIL MODE: without this line, 500\n", "", 500


class NginxNjs(Opens, States, unittest.TestCase):
    gateway = gateways.NGINX_NJS
    long_target = 414
    closed = ("To deny them: return r.return(503).\n  if (reply.status >= 500) {\n    return r.internalRedirect('@allowed');",
              "\n  if (reply.status >= 500) {\n    return r.return(503);", 503)


class NginxLua(Opens, States, unittest.TestCase):
    gateway = gateways.NGINX_LUA
    long_target = 414
    closed = "return  -- FAIL MODE: or return ngx.exit(503)", "return ngx.exit(503)", 503

    def test_an_outage_is_a_line_and_not_one_for_each_request(self):
        gateway = self.gateway.start(free_port(), self.backend.port)
        self.addCleanup(gateway.close)
        self.assertEqual([ask(gateway.port)[0] for _ in range(3)], [200] * 3)
        self.assertEqual(gateway.text().count("weir does not decide, requests pass"), 1, gateway.text())


class Caddy(AfterABalancer, States, unittest.TestCase):
    gateway = gateways.CADDY
    down = 502
    hung = 504
    balancer = (), {"caddy: { ": "caddy: { trusted: [127.0.0.0/8], "}


class Haproxy(Opens, States, unittest.TestCase):
    gateway = gateways.HAPROXY
    closed = ("return  -- FAIL MODE: or return txn:done(txn:reply({ status = 503 }))", "return txn:done(txn:reply({ status = 503 }))",
              503)
    # Its own buffer takes 15 KiB and 100 fields.
    fits = 10
    fields = 90


class Envoy(Opens, States, unittest.TestCase):
    gateway = gateways.ENVOY
    long_target = 414  # weir's: the target of the check has the client's in it
    closed = "failure_mode_allow: true", "failure_mode_allow: false", 403
    fields = 80  # it takes 100


class Traefik(AfterABalancer, States, unittest.TestCase):
    gateway = gateways.TRAEFIK
    down = 500
    hung = 500
    hung_patience = 4 * PATIENCE  # it waits for 30 s, and nothing says otherwise
    tells = False
    odd = (400, 429)
    balancer = (("trustedIPs=10.0.0.0/8", "trustedIPs=127.0.0.0/8"),), {"10.0.0.0/8": "127.0.0.0/8"}

    def test_a_user_who_is_named_twice_is_denied(self):
        # It alone sends weir both fields; the others one of them, or both as one text.
        self.assertEqual(self.ask(headers=[("X-User-Id", "joe"), ("X-User-Id", "joan")])[0], 429)


class Documents(unittest.TestCase):
    def test_what_the_guide_shows_is_in_the_examples(self):
        guide = pathlib.Path(EXAMPLES.parents[1], "docs/gateways.md").read_text()
        nginx = re.search(r"^```nginx\n.*?^```$", guide.partition("\n## How many at once")[2], re.M | re.S)[0]
        part = guide.partition("\n## Web pages")[2].partition("\n## ")[0] + nginx
        examples = {line.strip() for each in EXAMPLES.iterdir() for line in each.read_text().splitlines()}
        shown = [line.strip() for block in re.findall(r"^```\w+\n(.*?)^```$", part, re.M | re.S) for line in block.splitlines()]
        self.assertGreater(len(shown), 5)
        for line in shown:
            self.assertIn(line, examples)


if __name__ == "__main__":
    run(300)
