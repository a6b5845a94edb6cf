"""/v1/gate/PROFILE by itself: who may ask, whose word is taken, what is answered; and that RESP, HTTP and the gate decide
alike."""
import http.client
import json
import os
import re
import subprocess
import unittest

from chance import chance
from server import PATIENCE, Folder, Server, run, until, weir

LIMITS = """version: 1
classes: [default, bulk]
limits:
  edge: { rate: 1000/s burst 100000 }
  ip: { by: [ip], rate: 3/h, deny: { ip: 192.0.2.66 } }
  user: { by: [user], rate: [2/h, 30/day] }
  chat: { by: [ip], rate: 3/h }
  strict: { by: [account], required: true, rate: 1/h }
  counted: { by: [ip], rate: 5/h, cost: { from: units } }
routes:
  - { when: { path: /free }, limits: [] }
  - { when: { path: /v1/chat }, limits: [chat] }
  - { when: { path: /strict }, limits: [strict] }
  - { when: { path: /counted }, limits: [counted] }
  - { when: { path: /user }, limits: [edge, user] }
  - { limits: [edge, ip] }
gateways:
  caddy: { from: x-forwarded, trusted: 10.0.0.0/8, attributes: { user: header.x-user-id, units: header.x-units } }
  nginx: { from: x-original, deny_status: 403 }
  envoy: { from: path }
  keep: { from: x-forwarded, odd_paths: keep }
  whole: { from: x-forwarded, on_missing: deny, attributes: { user: header.x-user-id } }
  secret: { from: x-forwarded, token: { header: X-Gate-Token, env: GATE_TOKEN } }
"""


def ask(port, target, headers=(), method="GET", body=None):
    """(status, headers, body); a header may come twice."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.putrequest(method, target)
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


class Gate(unittest.TestCase):
    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.limits = cls.folder.file("limits.yaml", LIMITS)
        cls.server = cls.enterClassContext(Server("--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--limits", cls.limits, "--password", "secret",
                                                  *cls.flags, env={"GATE_TOKEN": "t0ken"}))
        cls.number = 0

    @classmethod
    def address(cls):
        """Of a client that has not asked yet."""
        cls.number += 1
        return f"198.51.{cls.number >> 8}.{cls.number & 255}"

    def gate(self, profile, headers=(), **options):
        return ask(self.server.ports[1], "/v1/gate/" + profile, headers, **options)

    def statuses(self, profile, *requests):
        return [self.gate(profile, each)[0] for each in requests]

    def test_allowed_is_200_without_a_body_and_denied_the_status_of_the_file_or_of_the_profile(self):
        for profile, address, denied in (("caddy", "X-Forwarded-For", 429), ("nginx", "X-Real-IP", 403)):
            client = [(address, self.address())]
            for left in (2, 1, 0):
                status, headers, body = self.gate(profile, client)
                self.assertEqual((status, headers.get_all("Content-Length"), headers["Content-Type"], body), (200, ["0"], None, b""))
                wait = headers["RateLimit"].rsplit("=", 1)[1]
                self.assertEqual(headers["RateLimit"], f'"ip";r={left};t={wait}')
                self.assertEqual(headers["RateLimit-Policy"], '"ip";q=3;w=3600')
                self.assertIsNone(headers["Retry-After"])
            status, headers, body = self.gate(profile, client)
            self.assertEqual(status, denied)
            self.assertEqual(headers["Content-Type"], "application/problem+json")
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertTrue(1100 <= int(headers["Retry-After"]) <= 1200)
            told = json.loads(body)
            self.assertEqual(told["violated-policies"], ["ip"])
            self.assertEqual(told["status"], denied)
            self.assertEqual(told["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded")

    def test_a_window_of_several_is_named_and_a_whole_service_s_traffic_is_not_told(self):
        headers = [("X-Forwarded-Uri", "/user"), ("X-User-Id", "wendy")]
        self.assertEqual(self.gate("caddy", headers)[1]["RateLimit-Policy"], '"user-1h";q=2;w=3600, "user-1d";q=30;w=86400')
        self.gate("caddy", headers)
        status, fields, body = self.gate("caddy", headers)
        self.assertEqual((status, json.loads(body)["violated-policies"]), (429, ["user-1h"]))
        self.assertRegex(fields["RateLimit"], r'^"user-1h";r=0;t=\d+, "user-1d";r=\d+;t=\d+$')

    def test_any_method_and_any_body(self):
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "QUERY"):
            client = [("X-Forwarded-For", self.address())]
            body = b"x" * 10_000 if method in ("POST", "PUT", "PATCH") else None
            self.assertEqual(self.gate("caddy", client, method=method, body=body)[0], 200, method)

    def test_the_gate_reads_no_query_no_weir_headers_no_authorization_and_no_origin(self):
        client = [("X-Forwarded-For", self.address()), ("X-Weir-Cost", "0"), ("X-Weir-Class", "x"), ("Authorization", "Basic eDp5"),
                  ("Origin", "https://example.com"), ("X-Weir-User", "root")]
        self.assertEqual([self.gate("caddy?cost=0&class=x&ip=1.1.1.1", client)[0] for _ in range(4)], [200] * 3 + [429])
        self.assertEqual([self.gate("caddy/v1/check?cost=0", client)[0] for _ in range(2)], [429] * 2)

    def test_weir_s_own_paths_are_compared_as_they_came(self):
        for target in ("/v1/gate/%63addy", "/v1/gate//caddy", "/v1/gate/./caddy", "/v1/gate/Caddy", "/v1/gate/", "/v1/gate/other",
                       "/v1/gate/caddy%2f"):
            self.assertEqual(ask(self.server.ports[1], target)[0], 404, target)
        self.assertEqual(self.gate("caddy/any/thing", [("X-Forwarded-Uri", "/free")])[0], 200)

    def test_nobody_but_the_gateway_says_where_a_client_is(self):
        mine = self.address()
        self.assertEqual(self.statuses("caddy",
                                       [("X-Forwarded-For", mine)],
                                       [("X-Forwarded-For", f"203.0.113.1, {mine}")],
                                       [("X-Forwarded-For", "203.0.113.2"), ("X-Forwarded-For", f"{mine}:5000")],
                                       [("X-Forwarded-For", f"203.0.113.3, {mine}, 10.0.0.1"), ("X-Real-IP", "203.0.113.4")],
                                       [("X-Forwarded-For", f"::ffff:{mine}")]), [200] * 3 + [429] * 2)
        mine = self.address()
        self.assertEqual(self.statuses("nginx", *[[("X-Real-IP", mine), ("X-Forwarded-For", f"203.0.113.{i}")] for i in range(4)]),
                         [200] * 3 + [403])

    def test_what_is_not_an_address_where_the_client_s_should_be_is_denied(self):
        for value in ("unknown", "1.2.3.4, _hidden", "1.2.3", "1.2.3.4 5.6.7.8", "unknown, 10.0.0.1", "fe80::1%eth0"):
            self.assertEqual(self.gate("caddy", [("X-Forwarded-For", value)])[0], 429, value)
        self.assertEqual(self.gate("nginx", [("X-Real-IP", "1.1.1.1, 2.2.2.2")])[0], 403)

    def test_a_proxy_that_trusted_lacks_is_told_once(self):
        told = "put it into the gateway's 'trusted'; gateway: caddy: 192.168.7."
        for last in (7, 7, 7, 8):
            self.gate("caddy", [("X-Forwarded-For", f"203.0.113.9, 192.168.7.{last}")])
        until(lambda: told + "8" in self.server.stderr(), "the log says so")
        self.assertEqual(self.server.stderr().count(told + "7"), 1)

    def test_an_address_that_is_missing_skips_its_limits_is_logged_and_with_on_missing_denied(self):
        self.assertEqual(self.statuses("caddy", *[[]] * 6), [200] * 6)
        until(lambda: "the gate was asked without a client's address" in self.server.stderr(), "the log says so")
        self.assertEqual(self.gate("whole", [("X-Forwarded-Uri", "/")])[0], 429)
        self.assertEqual(self.gate("whole", [("X-Forwarded-For", self.address())])[0], 429)  # no path
        both = [("X-Forwarded-For", self.address()), ("X-Forwarded-Uri", "/user")]
        self.assertEqual(self.gate("whole", both)[0], 429)
        self.assertEqual(self.gate("whole", [*both, ("X-User-Id", "olga")])[0], 200)

    def test_a_path_is_one_however_it_is_spelled(self):
        client = ("X-Forwarded-For", self.address())
        spellings = ("/v1/chat", "/v1//chat", "/%761/chat?a", "/v1/./chat", "/x/../v1/chat", "http://h/v1/chat", "/v1/chat#x")
        self.assertEqual(self.statuses("caddy", *[[client, ("X-Forwarded-Uri", each)] for each in spellings]),
                         [200] * 3 + [429] * 4)

    def test_an_odd_path_is_denied_unless_the_profile_keeps_it(self):
        for path in ("/v1%2fchat", "/v1%5cchat", "/v1\\chat", "/v1/chat%00", "/v1/chat%", "/v1/%zz", "/a//../free", "free",
                     "/free/..;/login", "/free/..%3b/login", "/login;jsessionid=1"):
            headers = [("X-Forwarded-For", self.address()), ("X-Forwarded-Uri", path)]
            self.assertEqual(self.gate("caddy", headers)[0], 429, path)
            self.assertEqual(self.gate("keep", headers)[0], 200, path)

    def test_what_no_limit_denied_has_a_reason_a_counter_and_a_line_at_intervals(self):
        def counted(reason):
            found = re.search(r'^weir_gate_refused_total\{reason="%s"\} (\d+)$' % reason,
                              ask(self.server.ports[2], "/metrics")[2].decode(), re.M)
            return int(found[1])
        client = ("X-Forwarded-For", self.address())
        for profile, headers, reason, why in (
                ("caddy", [client, ("X-Forwarded-Uri", "/a%2fb")], "path", "the path can be read in more than one way"),
                ("caddy", [("X-Forwarded-For", "unknown")], "address", "where the client's address should be is something else"),
                ("caddy", [client, ("X-User-Id", "a"), ("X-User-Id", "a")], "header", "a header that says who asks for what comes twice"),
                ("whole", [], "attribute", "an attribute that is needed to decide is missing")):
            before = counted(reason)
            for _ in range(3):
                status, fields, body = self.gate(profile, headers)
                self.assertEqual((status, fields["Content-Type"], json.loads(body)["detail"]), (429, "application/problem+json", why))
                self.assertEqual(fields["Proxy-Status"], f'weir; error=http_request_denied; details="{why}"')
            self.assertEqual(counted(reason) - before, 3, reason)
        until(lambda: "the gate denied a request that no limit decided; gateway: " in self.server.stderr(), "the log says so")
        # Twelve times or more, and a line each ten seconds.
        self.assertLess(self.server.stderr().count("the gate denied a request"), 12)

    def test_the_path_of_the_check_itself_after_its_profile(self):
        client = [("X-Forwarded-For", self.address())]
        self.assertEqual([self.gate(each, client)[0] for each in ("envoy/v1/chat", "envoy/v1//chat?x", "envoy/v1/./chat")], [200] * 3)
        self.assertEqual(self.gate("envoy/v1/chat", client)[0], 429)
        self.assertEqual(self.gate("envoy/free", client)[0], 200)

    def test_a_header_that_says_something_and_comes_twice_is_denied(self):
        for name in ("X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Host", "X-User-Id"):
            headers = [("X-Forwarded-For", self.address()), (name, "/free"), (name.lower(), "/free")]
            self.assertEqual(self.gate("caddy", headers)[0], 429, name)

    def test_lists_and_what_a_limit_requires(self):
        status, headers, body = self.gate("caddy", [("X-Forwarded-For", "192.0.2.66")])
        self.assertEqual((status, headers["Retry-After"], headers["RateLimit"]), (429, None, None))
        self.assertEqual(json.loads(body)["violated-policies"], [])
        # The list decides before what is missing, and its denial says so.
        status, _, body = self.gate("whole", [("X-Forwarded-For", "192.0.2.66")])
        self.assertEqual((status, json.loads(body).get("violated-policies")), (429, []))
        self.assertEqual(self.gate("nginx", [("X-Original-URI", "/strict"), ("X-Real-IP", self.address())])[0], 403)
        # A gateway that is not set up right is told so.
        headers = [("X-Forwarded-For", self.address()), ("X-Forwarded-Uri", "/counted")]
        status, _, body = self.gate("caddy", headers)
        self.assertEqual((status, b"units" in body), (400, True))
        self.assertEqual(self.gate("caddy", [*headers, ("X-Units", "4")])[0], 200)
        status, fields, _ = self.gate("caddy", [*headers, ("X-Units", "6")])  # never
        self.assertEqual((status, fields["Retry-After"]), (429, None))
        status, fields, _ = self.gate("caddy", [*headers, ("X-Units", "0")])
        self.assertRegex(fields["RateLimit"], r'^"counted";r=1;t=\d+$')

    def test_a_profile_s_token_is_asked_for_and_no_other_secret(self):
        client = ("X-Forwarded-For", self.address())
        right = ("x-gate-token", "t0ken")
        self.assertEqual(self.statuses("secret", [client], [client, ("X-Gate-Token", "t0keN")], [client, ("X-Gate-Token", "t0kent0ken")],
                                       [client, ("X-Gate-Token", "")], [client, right, right], [client, ("Authorization", "Bearer t0ken")],
                                       [client, right]), [401] * 6 + [200])
        until(lambda: "a gateway's token is wrong or missing" in self.server.stderr(), "the log says so")
        self.assertNotIn("t0ken", self.server.stderr())

    def test_nothing_that_is_sent_becomes_a_line_of_its_own(self):
        strange = "u\x1b[31m\"<script>\\\xff"
        status, headers, body = self.gate("caddy", [("X-Forwarded-Uri", "/user"), ("X-User-Id", strange), ("X-Forwarded-For", "1.1.1.1")])
        self.assertIn(status, (200, 400))
        self.assertNotIn("script", str(headers) + body.decode())
        self.assertNotIn("script", self.server.stderr())


class Start(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(Folder())

    def limits(self, gateway):
        return self.folder.file("limits.yaml", f"version: 1\nlimits:\n  ip: {{ by: [ip], rate: 1/h }}\ngateways:\n  g: {{ {gateway} }}\n")

    def test_beyond_loopback_a_gateway_needs_a_token(self):
        open_one = self.limits("from: path")
        beyond = ("--http", "0.0.0.0:0", "--http-token", "x", "--resp", "127.0.0.1:0", "--limits", open_one)
        code, _, errors = weir("serve", *beyond, "--tls-cert", "none", "--tls-key", "none")
        self.assertEqual(code, 2)
        code, _, errors = weir("serve", *beyond)
        self.assertEqual(code, 2)
        self.assertIn("gateways.g.token: missing; the gate can be reached from beyond this machine", errors)
        with Server(*beyond[:4], "--limits", open_one, "--insecure") as server:
            self.assertEqual(ask(server.ports[-1], "/v1/gate/g/")[0], 200)
        token = self.limits("from: path, token: { header: x-token, env: GATE_TOKEN }")
        with Server(*beyond[:4], "--limits", token, env={"GATE_TOKEN": "t"}) as server:
            self.assertEqual(ask(server.ports[-1], "/v1/gate/g/")[0], 401)
            # On a reload the old set stays.
            self.limits("from: path")
            with server.client() as client:
                self.assertIn("gateways.g.token: missing", str(client.ask("WEIR.CONFIG", "RELOAD")))
            self.assertEqual(ask(server.ports[-1], "/v1/gate/g/")[0], 401)
            self.assertEqual(ask(server.ports[-1], "/v1/gate/g/", [("X-Token", "t")])[0], 200)

    def test_a_token_has_to_be_in_the_environment(self):
        for env in ({}, {"GATE_TOKEN": ""}):
            limits = self.limits("from: path, token: { header: x-token, env: GATE_TOKEN }")
            code, _, errors = weir("serve", "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0", "--limits", limits, env=env)
            self.assertEqual(code, 2)
            self.assertIn("the environment variable 'GATE_TOKEN' is not set", errors)

    def test_without_a_limits_file_there_is_no_gateway(self):
        with Server("--http", "127.0.0.1:0") as server:
            self.assertEqual(ask(server.ports[-1], "/v1/gate/g")[0], 404)

    def test_the_form_of_the_fields_is_the_file_s_or_the_flag_s(self):
        head = "version: 1\nlimits:\n  ip: { by: [ip], rate: 1/h }\ngateways:\n  g: { from: path }\n"
        client = [("X-Forwarded-For", "1.1.1.1")]
        for answers, flags, names in (
                ("", (), ["RateLimit-Policy", "RateLimit", "Retry-After"]),
                ("answers: { headers: [x-ratelimit] }\n", (), ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]),
                ("answers: { headers: [retry-after, draft-06] }\n", ("--headers", "x-ratelimit"),
                 ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"]),
                ("", ("--headers", "off"), ["Retry-After"])):
            limits = self.folder.file("limits.yaml", head + answers)
            with Server("--http", "127.0.0.1:0", "--limits", limits, *flags) as server:
                ask(server.ports[-1], "/v1/gate/g", client)
                status, headers, _ = ask(server.ports[-1], "/v1/gate/g", client)
            self.assertEqual(status, 429)
            self.assertEqual([each for each in headers.keys() if re.match("(?i)(x-)?ratelimit|retry", each)], names)
        code, _, errors = weir("serve", "--headers", "draft-03")
        self.assertEqual(code, 2)
        self.assertIn("{ratelimit-11,draft-06,x-ratelimit,x-ratelimit-epoch,off}", errors)

    def test_a_reload_is_what_the_next_request_goes_by(self):
        limits = self.limits("from: path, deny_status: 418")
        client = [("X-Forwarded-For", "1.1.1.1")]
        with Server("--http", "127.0.0.1:0", "--limits", limits) as server:
            self.assertEqual([ask(server.ports[-1], "/v1/gate/g", client)[0] for _ in range(2)], [200, 418])
            self.limits("from: path")
            with server.client() as admin:
                self.assertEqual(admin.ask("WEIR.CONFIG", "RELOAD"), "OK")
            self.assertEqual(ask(server.ports[-1], "/v1/gate/g", client)[0], 429)
            self.assertEqual(ask(server.ports[-1], "/v1/gate/other", client)[0], 404)


class Holds(unittest.TestCase):
    """Profiles with `hold: true`."""

    flags = ()

    def setUp(self):
        folder = self.enterContext(Folder())
        limits = folder.file("limits.yaml", """version: 1
limits:
  ip: { by: [ip], rate: 3/h }
  export: { by: [ip], rate: 100/h, in_flight: 2, hold: { ttl: 60s } }
  chat: { by: [ip], rate: 100/h, hold: { estimate: 40, ttl: 60s } }
  slow: { by: [ip], rate: 5/h algorithm=sliding_window_counter }
  bad: { by: [ip], rate: 5/h, deny: { ip: 192.0.2.66 } }
routes:
  - { when: { path: /export }, limits: [export, bad] }
  - { when: { path: /chat }, limits: [chat] }
  - { when: { path: /slow }, limits: [slow] }
  - { when: { path: /both }, limits: [slow, export] }
  - { limits: [ip] }
gateways:
  holds: { from: x-forwarded, hold: true }
  checks: { from: x-forwarded, hold: false }
""")
        self.server = self.enterContext(Server("--http", "127.0.0.1:0", "--limits", limits, *self.flags))

    def gate(self, path, address="198.51.100.1", profile="holds"):
        """(status, the reservation's id, body)"""
        status, headers, body = ask(self.server.ports[1], "/v1/gate/" + profile, [("X-Forwarded-For", address), ("X-Forwarded-Uri", path)])
        return status, headers["Weir-Reservation"], body

    def settle(self, **said):
        status, _, body = ask(self.server.ports[1], "/v1/settle", [("Content-Type", "application/json")], "POST", json.dumps(said).encode())
        self.assertEqual(status, 200, body)
        return json.loads(body)["wait"]

    def test_an_allowed_request_holds_its_slot_until_it_is_settled(self):
        (one, first, body), (two, second, _), (three, none, denial) = [self.gate("/export") for _ in range(3)]
        self.assertEqual((one, two, three, none, body), (200, 200, 429, None, b""))
        self.assertNotEqual(first, second)
        self.assertRegex(first, "^[A-Za-z0-9_-]+$")
        self.assertEqual(json.loads(denial)["violated-policies"], ["export-in_flight"])
        self.assertEqual(self.gate("/export", "198.51.100.2")[0], 200)
        self.assertEqual(self.gate("/export", "192.0.2.66")[:2], (429, None))  # by a list
        self.assertGreaterEqual(self.settle(id=first), 0)
        self.assertEqual(self.settle(id=first), -1)
        self.assertEqual([self.gate("/export")[0] for _ in range(2)], [200, 429])

    def test_a_hold_without_slots_is_settled_at_what_it_cost(self):
        first, second, third = [self.gate("/chat") for _ in range(3)]
        self.assertEqual([first[0], second[0], third[0]], [200, 200, 429])
        self.settle(id=first[1], actual=1)
        self.assertEqual(self.gate("/chat")[0], 200)

    def test_what_has_no_hold_is_checked(self):
        self.assertEqual([self.gate("/")[:2] for _ in range(4)], [(200, None)] * 3 + [(429, None)])
        self.assertEqual([self.gate("/slow")[:2] for _ in range(6)], [(200, None)] * 5 + [(429, None)])

    def test_a_profile_without_it_takes_no_slots_and_says_what_is_missing(self):
        status, held, body = self.gate("/export", profile="checks")
        self.assertEqual((status, held), (400, None))
        self.assertEqual(json.loads(body)["detail"], "in_flight=2 is met by WEIR.RESERVE and WEIR.ACQUIRE alone (/v1/reserve, /v1/acquire), "
                         "with a hold: a slot is taken until the hold's end; or by a gateway whose profile says hold: true")
        self.assertEqual(self.gate("/chat", profile="checks")[:2], (200, None))

    def test_what_cannot_be_held_is_an_error(self):
        status, held, body = self.gate("/both")
        self.assertEqual((status, held, json.loads(body)["detail"]),
                         (400, None, "sliding_window_counter cannot be reserved: gcra and fixed windows can"))


class HoldsWithAStore(Holds):
    def setUp(self):
        folder = self.enterContext(Folder())
        path = folder.file("store.sock")
        store = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder.path],
                                 stdout=subprocess.DEVNULL)
        self.addCleanup(store.wait)
        self.addCleanup(store.kill)
        until(lambda: os.path.exists(path), "a Redis")
        self.flags = "--store", f"redis+unix://{path}", "--store-deadline", "5s"
        super().setUp()


class Agreement(unittest.TestCase):
    """The same requests, with paths that are already normal, by three servers that are asked in three ways."""

    def test_resp_http_and_the_gate_decide_alike(self):
        self.compare(*[()] * 3)

    def test_with_a_shared_store_each(self):
        folder = self.enterContext(Folder())
        paths = [folder.file(name) for name in ("a.sock", "b.sock", "c.sock")]
        for path in paths:
            store = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder.path],
                                     stdout=subprocess.DEVNULL)
            self.addCleanup(store.wait)
            self.addCleanup(store.kill)
            until(lambda path=path: os.path.exists(path), "a Redis")
        # A denial that is remembered, for a second at most, names its own limit alone: what is named would depend on the time.
        self.compare(*(("--store", f"redis+unix://{path}", "--store-deadline", "5s", "--no-remember-denials") for path in paths))

    def compare(self, *flags):
        rest = chance()
        with Folder() as folder:
            limits = folder.file("limits.yaml", """version: 1
limits:
  edge: { rate: 150/h }
  ip: { by: [ip], rate: 20/h burst 12, deny: { ip: 198.51.100.3 } }
  user: { by: [user], rate: [9/h burst 5, 30/day algorithm=fixed_window] }
  search: { by: [user], rate: 30/h, cost: [{ when: { path: "/search*" }, cost: 3 }] }
routes:
  - { when: { path: /healthz }, limits: [] }
  - { when: { method: POST }, limits: [user, ip] }
  - { limits: [edge, ip, user, search] }
gateways:
  g: { from: x-forwarded, attributes: { user: header.x-user-id } }
""")
            serve = [self.enterContext(Server("--http", "127.0.0.1:0", "--limits", limits, *each)) for each in flags]
            api = http.client.HTTPConnection("127.0.0.1", serve[1].ports[-1], timeout=PATIENCE)
            gate = http.client.HTTPConnection("127.0.0.1", serve[2].ports[-1], timeout=PATIENCE)
            self.addCleanup(api.close)
            self.addCleanup(gate.close)
            seen = []
            with serve[0].client() as resp:
                for _ in range(400):
                    request = {"method": rest.choice(["GET", "POST"]), "path": rest.choice(["/", "/healthz", "/search/x", "/a b"]),
                               "ip": f"198.51.100.{rest.randrange(6)}"}
                    if rest.randrange(4):
                        request["user"] = f"u{rest.randrange(8)}"
                    by_resp = resp.ask("WEIR.CHECK", *[f"{name}={value}" for name, value in request.items()])
                    api.request("POST", "/v1/check", json.dumps({"attributes": request}))
                    answer = api.getresponse()
                    by_http = json.loads(answer.read())
                    api_fields = {name: answer.headers[name] for name in ("RateLimit-Policy", "RateLimit", "Retry-After")}
                    headers = {"X-Forwarded-Method": request["method"], "X-Forwarded-Uri": request["path"].replace(" ", "%20"),
                               "X-Forwarded-For": request["ip"]}
                    if "user" in request:
                        headers["X-User-Id"] = request["user"]
                    gate.request("GET", "/v1/gate/g", headers=headers)
                    by_gate = gate.getresponse()
                    by_gate.read()
                    self.assertEqual((by_resp[0] == 0, by_http["allowed"], by_gate.status),
                                     (by_http["allowed"], by_http["allowed"], 200 if by_http["allowed"] else 429), request)
                    self.assertEqual(by_resp[1:3], [-1 if by_http[name] is None else by_http[name] for name in ("limit", "remaining")])
                    self.assertEqual(by_resp[5].decode(), by_http["by"] or "")
                    # Of times a second may have passed between the two.
                    without_times = [re.sub(r"t=\d+", "t", str(fields["RateLimit"])) for fields in (api_fields, by_gate.headers)]
                    self.assertEqual(*without_times)
                    self.assertEqual(api_fields["RateLimit-Policy"], by_gate.headers["RateLimit-Policy"])
                    self.assertEqual(api_fields["Retry-After"] is None, by_gate.headers["Retry-After"] is None)
                    seen.append(by_http["by"] if not by_http["allowed"] else "")
            # Each of them has denied, and not all is denied.
            self.assertTrue({"", "ip", "user"} <= set(seen), set(seen))

    def test_replay_reads_the_paths_of_a_log_as_the_gate_does(self):
        with Folder() as folder:
            limits = folder.file("limits.yaml", LIMITS)
            targets = ("/v1/chat", "/v1//chat", "/%761/chat?a", "/v1/./chat", "/v1/chat?b", "/free", "/free?x")
            log = folder.file("access.log", "".join(
                f'192.0.2.1 - - [21/Nov/2026:05:49:{i:02} +0000] "GET {target} HTTP/1.1" 200 5\n'
                for i, target in enumerate(targets)))
            code, out, errors = weir("replay", log, "--limits", limits, "--json")
            self.assertEqual(code, 0, errors)
            chat = next(each for each in json.loads(out)["limits"] if each["limit"] == "chat")
            self.assertEqual((chat["allowed"], chat["denied"]), (3, 2))


if __name__ == "__main__":
    run()
