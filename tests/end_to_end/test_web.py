"""examples/web in the frameworks that they are for: Flask, Django, FastAPI, Express and Fastify."""
import concurrent.futures
import functools
import os
import pathlib
import re
import socket
import sys
import threading
import unittest

import npm
from ports import free_port
from programs import Program, ask
from server import PATIENCE, ROOT, Folder, Server, run, until
from test_tls import Authority

sys.path.insert(0, os.path.join(ROOT, "tests/clients"))
import typescript  # noqa: E402

EXAMPLES = pathlib.Path(ROOT, "examples/web")
APPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "web")
TOKEN = "t0ken"
CLIENT = os.path.join(ROOT, "clients/python/src")


class NoWeir:
    """Answers every request of a connection with the same bytes, or takes them and says nothing."""

    def __init__(self):
        self.answer = b""
        self.stays = False  # a connection stays open after an answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                one = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(one,), daemon=True).start()

    def serve(self, one):
        with one:
            while one.recv(65536):
                if self.answer:
                    one.sendall(self.answer)
                    if not self.stays:
                        return

    def close(self):
        self.listener.close()


class Framework:
    """One framework's tests; those below say which program is its application."""
    PASSES, DECIDES, REFUSES = "does not answer: ", "answers again; ", "weir cannot be asked like this, requests get 503"

    command = None
    denied = (b"Too many requests", "text/")
    # How a client might write /login: all that the framework takes for it are counted together.
    spellings = ("/login", "/login/", "/LOGIN", "/Login/", "//login", "/./login", "/x/../login", "/%6cogin", "/login?a=1",
                 "/login;a", "/login%20", "/login#a", "/login//")

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
        cls.weir = cls.enterClassContext(cls.serve())
        cls.app = cls.started(cls.weir.ports[-1])
        cls.addClassCleanup(cls.app.close)

    @classmethod
    def serve(cls, port=0, *flags, limits=True):
        flags = (*flags, "--limits", cls.limits) if limits else flags
        return Server("--password", TOKEN, *flags, resp=(f"127.0.0.1:{port}",))

    @classmethod
    def started(cls, weir_port, examples=None, scheme="weir", token=TOKEN, **env):
        """The application, whose client waits for longer than 200 ms unless `examples` says so."""
        port = free_port()
        env = {**env, **({"WEIR_PASSWORD": token} if token else {}), **({} if examples == EXAMPLES else {"PATIENCE": "10"})}
        return Program([*cls.command(), str(port), str(EXAMPLES)], port, Folder(), WEIR_URL=f"{scheme}://127.0.0.1:{weir_port}",
                       PYTHONPATH=CLIENT, PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1", **env)

    def ask(self, *args, **options):
        return ask(self.app.port, *args, **options)

    def test_clients_are_told_what_is_left(self):
        status, headers, body = self.ask(path="/hello", headers=[("X-User", "ann")])
        self.assertEqual((status, body), (200, b"hello"), self.app.text())
        self.assertEqual(headers.get_all("RateLimit-Policy"), ['"ip";q=100000;w=100, "user";q=3;w=3600'])
        self.assertRegex(headers["RateLimit"], r'^"ip";r=\d+;t=\d+, "user";r=2;t=2400$')
        self.assertIsNone(headers["Retry-After"])
        self.assertNotIn(self.PASSES, self.app.text())

    def test_what_is_denied_is_429_with_the_fields(self):
        for _ in range(3):
            self.assertEqual(self.ask(path="/hello", headers=[("X-User", "bob")])[0], 200)
        status, headers, body = self.ask(path="/hello", headers=[("X-User", "bob")])
        self.assertEqual(status, 429, self.app.text())
        self.assertIn(self.denied[0], body)  # in the framework's own page, where it has one
        self.assertTrue(headers["Content-Type"].startswith(self.denied[1]), headers)
        self.assertTrue(1100 <= int(headers["Retry-After"]) <= 1200, headers)
        self.assertRegex(headers["RateLimit"], f'"user";r=0;t={headers["Retry-After"]}$')
        # Another user is not concerned.
        self.assertEqual(self.ask(path="/hello", headers=[("X-User", "bea")])[0], 200)

    def test_no_spelling_of_a_path_has_a_counter_of_its_own(self):
        answers = [self.ask("POST", path, [("Content-Type", "text/plain")]) for _ in range(2) for path in self.spellings]
        self.assertEqual(sum((status, body) == (200, b"login") for status, _, body in answers), 5, self.app.text())
        self.assertEqual(self.ask("POST", "/login")[0], 429, self.app.text())
        self.assertLessEqual({status for status, *_ in answers}, {200, 301, 302, 307, 308, 400, 404, 405, 429})

    def test_what_is_not_there_is_limited_too(self):
        statuses = [self.ask(path="/nowhere", headers=[("X-User", "cy")])[0] for _ in range(4)]
        self.assertEqual(statuses, [404, 404, 404, 429], self.app.text())

    def test_a_name_is_one_text_whatever_is_in_it(self):
        for user in ('"', "\\", "f\xfc", "a\tb", '","plan":"pro', "%00", "{{7*7}}", "u" * 5000):
            statuses = [self.ask(path="/hello", headers=[("X-User", user)])[0] for _ in range(4)]
            self.assertEqual(statuses, [200, 200, 200, 429], user)

    def test_connections_to_weir_are_reused(self):
        before = self.connections()
        for _ in range(50):
            self.assertEqual(self.ask(path="/hello")[0], 200)
        # One of them is that of connections() itself.
        self.assertLessEqual(self.connections() - before, 6)

    def connections(self):
        with self.weir.client() as client:
            client.ask("AUTH", TOKEN)
            return int(re.search(rb"total_connections_received:(\d+)", client.ask("INFO"))[1])

    def test_while_weir_is_down_requests_pass_and_when_it_is_back_they_are_limited_again(self):
        port = free_port()
        bob = [("X-User", "bob")]
        app = self.started(port, examples=EXAMPLES)  # without a weir it tries for as long as it may wait
        self.addCleanup(app.close)

        def limited():
            # On a busy machine the first may be given up.
            until(lambda: ask(app.port, path="/hello")[1]["RateLimit"], "weir decides", 3 * PATIENCE)
            until(lambda: ask(app.port, path="/hello", headers=bob)[0] == 429, "bob is limited", 3 * PATIENCE)
        with self.serve(port):
            limited()
        for _ in range(4):
            status, headers, body = ask(app.port, path="/hello", headers=bob)
            self.assertEqual((status, body, headers["RateLimit"]), (200, b"hello", None), app.text())
        until(lambda: self.PASSES in app.text(), "that they pass is logged")
        with self.serve(port):
            limited()
        until(lambda: self.DECIDES in app.text(), "that they do not is logged")

    def test_what_is_allowed_without_fields_is_answered(self):
        status, headers, body = self.ask(path="/healthz", headers=[("X-User", "ann")])
        self.assertEqual((status, body, headers["RateLimit"], headers["RateLimit-Policy"]), (200, b"well", None, None), self.app.text())

    def test_long_headers_are_not_weir_s_concern(self):
        headers = [(f"X-Piece-{i}", "x" * 2000) for i in range(5)] + [(f"X-Field-{i}", "x") for i in range(80)]
        status, headers, body = self.ask(path="/hello", headers=headers)
        self.assertEqual((status, body), (200, b"hello"))
        self.assertIsNotNone(headers["RateLimit"])

    def test_by_https(self):
        authority = Authority(self.folder, type(self).__name__)
        certificate, key = authority.issue("localhost")
        with self.serve(0, "--tls-cert", certificate, "--tls-key", key) as weir:
            app = self.started(weir.ports[-1], scheme="weirs", SSL_CERT_FILE=authority.certificate)
            self.addCleanup(app.close)
            answers = [ask(app.port, path="/hello", headers=[("X-User", "tess")])[0] for _ in range(4)]
            self.assertEqual(answers, [200, 200, 200, 429], app.text())
            # A certificate of nobody's is not trusted, and it is for you to mend, not for time.
            stranger = self.started(weir.ports[-1], scheme="weirs")
            self.addCleanup(stranger.close)
            self.refuses(stranger, "the certificate of")

    def test_with_a_token_that_is_wrong_or_missing_no_request_passes(self):
        for token, why in (("wrong", "does not know this password"), (None, "wants a password")):
            app = self.started(self.weir.ports[-1], token=token)
            self.addCleanup(app.close)
            self.refuses(app, why)
            self.assertNotIn(self.PASSES, app.text())

    def test_without_a_limits_file_no_request_passes(self):
        with self.serve(limits=False) as weir:
            app = self.started(weir.ports[-1])
            self.addCleanup(app.close)
            self.refuses(app, "there is no limits file: start weir with --limits FILE")

    def no_weir(self, **options):
        weir = NoWeir()
        self.addCleanup(weir.close)
        app = self.started(weir.port, **options)
        self.addCleanup(app.close)
        return weir, app

    def passes(self, app):
        status, headers, body = ask(app.port, path="/hello")
        self.assertEqual((status, body, headers["RateLimit"]), (200, b"hello", None), app.text())
        until(lambda: app.text().count(self.PASSES) == 1, "that requests pass is logged once")

    def test_a_slow_weir_is_not_waited_for(self):
        weir, app = self.no_weir(examples=EXAMPLES)
        for _ in range(3):  # it never answers
            self.passes(app)

    def test_what_is_not_a_decision_lets_requests_pass_and_a_refusal_does_not(self):
        weir, app = self.no_weir(examples=EXAMPLES)
        weir.answer = b"*2\r\n$4\r\nhal"  # and the connection ends
        self.passes(app)
        weir, app = self.no_weir()
        weir.answer, weir.stays = b"*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n", True
        self.refuses(app, "is a Redis 7.0.15, not a weir")

    def refuses(self, app, why):
        self.assertEqual([ask(app.port, path="/hello")[0] for _ in range(2)], [503] * 2, app.text())
        until(lambda: app.text().count(self.REFUSES) == 1, "it is logged once")
        self.assertIn(why, app.text())


def python(name):
    return staticmethod(lambda: [sys.executable, os.path.join(APPS, name)])


def node(name, example):
    def command():
        folder = npm.installed(APPS, "node_web", [name, EXAMPLES / example])
        typescript.installed_into(folder)
        return ["node", os.path.join(folder, name)]
    return staticmethod(functools.cache(command))


class Flask(Framework, unittest.TestCase):
    command = python("flask_app.py")


class Django(Framework, unittest.TestCase):
    command = python("django_app.py")


class FastApi(Framework, unittest.TestCase):
    command = python("fastapi_app.py")


@unittest.skipUnless(npm.available(), "no node")
class Express(Framework, unittest.TestCase):
    command = node("express_app.mjs", "weir_express.mjs")


@unittest.skipUnless(npm.available(), "no node")
class Fastify(Framework, unittest.TestCase):
    command = node("fastify_app.mjs", "weir_fastify.mjs")
    denied = (b'{"statusCode":429,"code":"DENIED","error":"Too Many Requests","message":"Too many requests"}', "application/json")


class Login(unittest.TestCase):
    """examples/web/weir_flask_login.py. A unit comes back in 3 min, so no test hangs on its speed."""
    REST = 15 * 60

    def setUp(self):
        self.folder = self.enterContext(Folder())
        self.port = free_port()
        self.weir = None
        self.addCleanup(self.stop)

    def serve(self, *flags, token=TOKEN):
        self.weir = Server("--password", token, *flags, resp=(f"127.0.0.1:{self.port}",))

    def limited(self, *flags, **options):
        self.serve("--limits", EXAMPLES / "login.yaml", *flags, **options)

    def stop(self):
        if self.weir:
            self.weir.__exit__(None)
        self.weir = None

    def start(self):
        port = free_port()
        self.app = Program([sys.executable, os.path.join(APPS, "flask_login_app.py"), str(port), str(EXAMPLES)], port, Folder(),
                           WEIR_URL=f"weir://127.0.0.1:{self.port}", WEIR_PASSWORD=TOKEN, CHECKED=self.folder.file("checked", ""),
                           HOLDS=self.folder.file("holds"), PYTHONPATH=CLIENT, PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1")
        self.addCleanup(self.app.close)

    def log_in(self, account, password):
        return ask(self.app.port, "POST", "/login", [("X-Account", account), ("X-Password", password)])

    def statuses(self, account, password, times):
        return [self.log_in(account, password)[0] for _ in range(times)]

    def checked(self, account):
        """How many guesses have reached the password."""
        return pathlib.Path(self.folder.path, "checked").read_text().split().count(account)

    def assert_rests(self, answer):
        status, headers, body = answer
        self.assertEqual((status, body), (429, b"Too many wrong passwords\n"), self.app.text())
        self.assertTrue(self.REST - 60 <= int(headers["Retry-After"]) <= self.REST, headers)

    def test_of_forty_guesses_at_once_five_reach_the_password_and_then_the_account_rests(self):
        self.limited()
        self.start()
        holds = self.folder.file("holds", "")
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            # Those that reach it stay there until the others are answered, so that all are under way at once.
            guesses = [pool.submit(self.log_in, "ann", f"guess {number}") for number in range(40)]
            until(lambda: sum(each.done() for each in guesses) >= 35, "35 are denied", 3 * PATIENCE)
            os.remove(holds)
            answers = [each.result() for each in guesses]
        self.assertEqual(self.checked("ann"), 5, self.app.text())
        self.assertEqual([status for status, *_ in answers if status != 429], [401] * 5, self.app.text())
        for answer in answers:
            if answer[0] == 429:
                self.assert_rests(answer)
        # The right password is not looked at either; others log in.
        self.assert_rests(self.log_in("ann", "right"))
        self.assertEqual(self.checked("ann"), 5)
        self.assertEqual(self.log_in("bob", "right")[0], 200, self.app.text())

    def test_an_account_that_the_file_denies_is_told_no_time(self):
        text = (EXAMPLES / "login.yaml").read_text().replace("hold:", "deny: { account: eve }, hold:")
        self.serve("--limits", self.folder.file("denies.yaml", text))
        self.start()
        status, headers, _ = self.log_in("eve", "right")
        self.assertEqual((status, headers.get("Retry-After")), (429, None), self.app.text())
        self.assertEqual(self.checked("eve"), 0)

    def test_a_right_password_costs_nothing(self):
        self.limited()
        self.start()
        self.assertEqual(self.statuses("ann", "right", 12), [200] * 12, self.app.text())
        self.assertEqual(self.statuses("ann", "wrong", 4), [401] * 4, self.app.text())
        self.assertEqual(self.statuses("ann", "right", 3), [200] * 3, self.app.text())
        self.assertEqual(self.statuses("ann", "wrong", 2), [401, 429], self.app.text())

    def test_while_weir_is_down_nobody_logs_in_and_a_rest_outlives_a_restart(self):
        self.start()
        self.assertEqual(self.statuses("ann", "right", 3), [503] * 3, self.app.text())
        self.assertEqual(self.checked("ann"), 0)
        snapshot = self.folder.file("snapshot")
        self.limited("--snapshot", snapshot)
        self.assertEqual(self.statuses("ann", "wrong", 6), [401] * 5 + [429], self.app.text())
        self.stop()
        self.assertEqual(self.log_in("ann", "right")[0], 503, self.app.text())
        self.limited("--snapshot", snapshot)
        self.assert_rests(self.log_in("ann", "right"))
        self.assertEqual((self.app.text().count("does not answer"), self.app.text().count("answers again")), (2, 2), "a line for an outage")

    def test_one_whose_weir_goes_down_meanwhile_logs_in(self):
        self.limited()
        self.start()
        holds = self.folder.file("holds", "")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            right = pool.submit(self.log_in, "ann", "right")
            until(lambda: self.checked("ann"), "the password is looked at")
            self.stop()
            os.remove(holds)
            self.assertEqual(right.result()[0], 200, self.app.text())

    def test_without_a_right_token_or_a_limits_file_nobody_logs_in(self):
        self.start()
        self.limited(token="another")
        self.assertEqual(self.log_in("ann", "right")[0], 503, self.app.text())
        self.stop()
        self.serve()
        self.assertEqual(self.log_in("ann", "right")[0], 503, self.app.text())
        self.assertEqual(self.checked("ann"), 0)
        self.assertIn("weir cannot be asked like this, log-ins are refused", self.app.text())

    def test_while_weir_hangs_or_something_else_listens_there_nobody_logs_in(self):
        other = NoWeir()
        self.addCleanup(other.close)
        self.port = other.port
        self.start()
        self.assertEqual(self.log_in("ann", "right")[0], 503, self.app.text())
        html = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\nConnection: close\r\n\r\n<html></html>"
        for answer in (html, b"*0\r\n", b"\0\r\n\r\n"):
            other.answer = answer
            self.assertEqual(self.log_in("ann", "right")[0], 503, self.app.text())
        self.assertEqual(self.checked("ann"), 0)


class Files(unittest.TestCase):
    def test_the_lock_names_no_registry(self):
        self.assertNotIn('"resolved"', pathlib.Path(APPS, "package-lock.json").read_text())


if __name__ == "__main__":
    run(300)
