"""examples/gateways with the real programs: nginx (auth_request, njs, Lua), Caddy and HAProxy before one backend."""
import collections
import http.client
import http.server
import os
import pathlib
import re
import threading
import unittest

from programs import Program, ask, free_port
from server import PATIENCE, ROOT, Folder, Server, run

EXAMPLES = pathlib.Path(ROOT, "examples/gateways")


class Backend:
    """What stands after the gateway: it counts the requests that reach it, by path."""

    def __init__(self):
        seen = self.seen = collections.Counter()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # an answer is one write; two of them wait for each other's acknowledgement
            disable_nagle_algorithm = True

            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                seen[self.path] += 1
                self.send_response(200)
                self.send_header("Content-Length", "7")
                self.end_headers()
                self.wfile.write(b"backend")

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def started(example, command, weir_port, backend_port, files=(), examples=EXAMPLES):
    """A gateway by its example, whose addresses alone are others."""
    folder, port = Folder(), free_port()
    addresses = {"127.0.0.1:6391": f"127.0.0.1:{weir_port}", "127.0.0.1:8080": f"127.0.0.1:{port}",
                 "127.0.0.1:9000": f"127.0.0.1:{backend_port}"}
    for name in (example, *files):
        text = (examples / name).read_text()
        for address, other in addresses.items():
            text = text.replace(address, other)
        folder.file(name, text)
    return Program(command(folder.path), port, folder)


def nginx(example, *files, **where):
    def command(folder):
        # What nginx writes, it writes into the folder, and none of it as another user.
        own = f"daemon off; pid {folder}/pid; error_log stderr;"
        text = pathlib.Path(folder, example).read_text()
        paths = "".join(f" {kind}_temp_path {folder}/{kind};" for kind in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        pathlib.Path(folder, example).write_text(
            text.replace("modules/", "/usr/lib/nginx/modules/").replace("http {", "http { access_log off;" + paths, 1))
        return ["/usr/sbin/nginx", "-p", folder, "-c", f"{folder}/{example}", "-e", "stderr", "-g",
                own + (" user root;" if os.geteuid() == 0 else "")]

    return lambda weir, backend: started(example, command, weir, backend, files, **where)


def caddy(weir, backend):
    return started("Caddyfile", lambda folder: ["/usr/bin/caddy", "run", "--config", f"{folder}/Caddyfile", "--adapter", "caddyfile"],
                   weir, backend)


def haproxy(weir, backend):
    return started("haproxy.cfg", lambda folder: ["/usr/sbin/haproxy", "-db", "-f", f"{folder}/haproxy.cfg"], weir, backend,
                   ["gate.lua"])


class Gateway:
    """One gateway's tests; those below say which, and what its clients get while weir is down."""

    program = None
    down = 200

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        text = (EXAMPLES / "limits.yaml").read_text()
        # Slow enough that a test's denials do not hang on its speed.
        for rate, slower in (("50/s burst 100", "1000/s burst 100000"), ("5/min", "5/h"), ("20/s burst 40", "3/h")):
            assert rate in text
            text = text.replace(rate, slower)
        cls.limits = cls.folder.file("limits.yaml", text)
        cls.backend = Backend()
        cls.addClassCleanup(cls.backend.close)
        cls.weir = cls.enterClassContext(cls.serve())
        cls.gateway = cls.program(cls.weir.ports[-1], cls.backend.port)
        cls.addClassCleanup(cls.gateway.close)

    @classmethod
    def serve(cls):
        return Server("--http", "127.0.0.1:0", "--limits", cls.limits)

    def ask(self, *args, **options):
        return ask(self.gateway.port, *args, **options)

    def test_what_is_allowed_reaches_the_backend_and_clients_are_told_what_is_left(self):
        status, headers, body = self.ask(path="/hello", headers=[("X-User-Id", "ann")])
        self.assertEqual((status, body), (200, b"backend"), self.gateway.text())
        self.assertEqual(headers["RateLimit-Policy"], '"ip";q=100000;w=100, "user";q=3;w=3600')
        self.assertRegex(headers["RateLimit"], r'^"ip";r=\d+;t=\d+, "user";r=2;t=2400$')
        self.assertIsNone(headers["Retry-After"])

    def test_what_is_denied_is_429_with_the_fields(self):
        for _ in range(3):
            self.assertEqual(self.ask(path="/denied", headers=[("X-User-Id", "bob")])[0], 200)
        status, headers, body = self.ask(path="/denied", headers=[("X-User-Id", "bob")])
        self.assertEqual(status, 429, self.gateway.text())
        self.assertEqual(self.backend.seen["/denied"], 3)
        self.assertTrue(1100 <= int(headers["Retry-After"]) <= 1200, headers)
        self.assertEqual(headers.get_all("RateLimit-Policy"), ['"ip";q=100000;w=100, "user";q=3;w=3600'])
        wait = re.search(r'"user";r=0;t=(\d+)$', headers["RateLimit"])
        self.assertEqual(wait and wait[1], headers["Retry-After"])
        self.assertEqual(headers["Cache-Control"], "no-store")
        self.assertNotIn(b"edge", body)

    def test_a_client_does_not_choose_its_address_or_its_spelling_of_a_path(self):
        forged = [[("X-Forwarded-For", "203.0.113.%d" % i), ("X-Real-IP", "203.0.113.%d" % i), ("Forwarded", "for=203.0.113.9"),
                   ("X-Forwarded-Uri", "/free"), ("X-Original-URI", "/free"), ("X-Original-Method", "GET"),
                   ("X-Forwarded-Method", "GET")] for i in range(10)]
        paths = ["/login", "//login", "/./login", "/%6cogin", "/x/../login", "/login?a", "/login", "/login", "/login", "/login"]
        statuses = [self.ask("POST", path, headers) [0] for path, headers in zip(paths, forged)]
        self.assertEqual(statuses, [200] * 5 + [429] * 5, self.gateway.text())

    def test_a_query_and_headers_of_a_client_do_not_change_the_cost(self):
        forged = [("X-User-Id", "eve"), ("X-Weir-Cost", "0"), ("X-Weir-Class", "critical")]
        statuses = [self.ask(path=f"/?cost=0&class=critical&user={i}", headers=forged)[0] for i in range(5)]
        self.assertEqual(statuses, [200, 200, 200, 429, 429])

    def test_a_path_that_can_be_read_in_two_ways_is_denied(self):
        self.assertEqual(self.ask("POST", "/x%2f..%2flogin")[0], 429)

    def test_a_thousand_requests_of_one_connection(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        for _ in range(1000):
            connection.request("GET", "/many")
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read()), (200, b"backend"), self.gateway.text()[-2000:])
        self.assertEqual(self.backend.seen["/many"], 1000)

    def test_while_weir_is_down_clients_get_what_the_example_says(self):
        with self.serve() as weir:
            gateway = type(self).program(weir.ports[-1], self.backend.port)
            self.addCleanup(gateway.close)
            self.assertEqual(ask(gateway.port)[0], 200, gateway.text())
        status, headers, _ = ask(gateway.port)
        self.assertEqual(status, self.down, gateway.text())
        self.assertIsNone(headers["RateLimit"])


class PassesHeaders(Gateway):
    def test_a_user_who_is_named_twice_is_denied(self):
        self.assertEqual(self.ask(headers=[("X-User-Id", "joe"), ("X-User-Id", "joan")])[0], 429)


class NginxAuthRequest(PassesHeaders, unittest.TestCase):
    program = staticmethod(nginx("nginx_auth_request.conf"))


class NginxNjs(PassesHeaders, unittest.TestCase):
    program = staticmethod(nginx("nginx_njs.conf", "gate.js"))


class NginxLua(PassesHeaders, unittest.TestCase):
    program = staticmethod(nginx("nginx_lua.conf"))


class Caddy(PassesHeaders, unittest.TestCase):
    program = staticmethod(caddy)
    down = 502


class Haproxy(Gateway, unittest.TestCase):
    program = staticmethod(haproxy)


if __name__ == "__main__":
    run(300)
