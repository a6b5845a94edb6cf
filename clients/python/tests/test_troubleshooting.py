"""docs/troubleshooting.md: each text that it quotes is what a server, or Python's client, says when that happens."""

import concurrent.futures
import hashlib
import logging
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parents[2] / "tests/end_to_end")]
import flask
from ports import free_port
from server import ROOT, WEIR, Error, Folder, Server, run, until

import weir
import weir.flask
from weir import application, local, shared
from weir.core import log

LIMITS = """version: 1
limits:
  user: { by: [user], rate: 2/min, required: true }
  calls: { by: [api], in_flight: 1, hold: { ttl: 60s } }
routes: [{ when: { api: x }, limits: [calls] }, { limits: [user] }]
"""
USERS = f'users:\n  ann: {{ role: decide, token: "sha256:{hashlib.sha256(b"tok").hexdigest()}" }}\n'


class Troubleshooting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(Folder())
        cls.limits = folder.file("limits.yaml", LIMITS)
        cls.weir = cls.enterClassContext(Server("--limits", cls.limits, "--reservation-memory", "1MiB", "--threads", "1"))
        users = folder.file("users.yaml", USERS)
        os.chmod(users, 0o600)
        cls.locked = cls.enterClassContext(Server("--users", users))

    def setUp(self):
        url = f"weir://127.0.0.1:{self.weir.port}"
        self.enterContext(mock.patch.dict(os.environ, {"WEIR_PROGRAM": os.path.abspath(WEIR), "WEIR_URL": url}))
        shared.renew(timeout=20.0)
        self.addCleanup(shared.renew)
        application._told.clear()
        weir.flask.FLASK._told.clear()

    def all_happen(self, heading, causes):
        part = (pathlib.Path(ROOT) / "docs/troubleshooting.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
        cells = re.findall(r"^\| (`.*?) \|", part, re.M)
        self.assertEqual({text for cell in cells for text in re.findall(r"`([^`]*)`", cell)}, set(causes))
        for text, cause in causes.items():
            with self.subTest(text), self.assertLogs("weir", logging.WARNING) as lines:
                logging.getLogger("weir").warning("one line at the least")
                said = ""
                try:
                    said = str(cause())
                except (weir.Error, ValueError, RuntimeError) as error:
                    said = str(error)
                self.assertIn(text, "\n".join((said, *lines.output)))

    def told(self, *commands, server=None):
        """The errors that answer these."""
        found = []
        with (server or self.weir).client() as client:
            for words in commands:
                answer = client.ask(*words)
                found += [str(answer)] if isinstance(answer, Error) else []
        return "\n".join(found)

    def connect(self, port=None, **options):
        client = weir.connect(f"weir://127.0.0.1:{port or self.weir.port}", **{"timeout": 20, "on_error": "raise", **options})
        self.addCleanup(client.close)
        return client

    def page(self, view=lambda: "found", rule="100/min", **request):
        """What a page of Flask answers, whose view has this limit."""
        app = flask.Flask("shop")
        app.add_url_rule("/", "page", weir.flask.limit(rule)(view) if rule else view)
        app.testing = True
        return app.test_client().get("/", **request).status

    def on_another_system(self):
        with mock.patch.dict(os.environ, {"PATH": ""}), mock.patch.object(sys, "platform", "darwin"):
            del os.environ["WEIR_PROGRAM"]
            local.program()

    def of_a_redis(self):
        port = free_port()
        with subprocess.Popen(["redis-server", "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL) as redis:
            try:
                until(lambda: not socket.socket().connect_ex(("127.0.0.1", port)), "Redis listens")
                return self.connect(port).check("k", "1/s")
            finally:
                redis.terminate()

    def one_too_many(self):
        client = self.connect(max_in_flight=1)
        client.check("k", "9/s")
        os.kill(self.weir.pid, signal.SIGSTOP)
        try:
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                both = [pool.submit(client.check, "k", "9/s") for _ in range(2)]
                until(lambda: any(each.done() for each in both), "one is refused")
                os.kill(self.weir.pid, signal.SIGCONT)
                return [str(each.exception()) for each in both]
        finally:
            os.kill(self.weir.pid, signal.SIGCONT)

    def forbidden(self):
        with mock.patch.dict(os.environ, {"WEIR_LOCAL": "never"}):
            del os.environ["WEIR_URL"]
            weir.connect().check("k", "1/s")

    def alone(self):
        """On a weir of this machine."""
        folder = self.enterContext(Folder())
        with mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": folder.path}):
            del os.environ["WEIR_URL"]
            with weir.connect(timeout=20) as client:
                client.check("k", "1/s")

    def an_outage(self):
        with Server() as server:
            client = self.connect(server.port, on_error="allow", timeout=0.2)
            client.check("k", "1/s")
            os.kill(server.pid, signal.SIGSTOP)
            try:
                until(lambda: not client.check("k", "1/s").decided, "there is no answer")
            finally:
                os.kill(server.pid, signal.SIGCONT)
            until(lambda: client.check("k", "1/s").decided, "it answers again")

    def with_no_password(self):
        with mock.patch.dict(os.environ, {"WEIR_URL": f"weir://127.0.0.1:{self.locked.port}"}):
            shared.renew(timeout=20.0)
            return self.page()

    def of_a_slot_that_another_ends(self):
        client = self.connect()
        said = self.enterContext(mock.patch.object(log, "warning"))
        with client.slot("x", hold=0.1) as call:
            self.connect().settle(call.id)
            until(lambda: said.called, "the hold is extended")
        return said.call_args.args[0]

    def test_errors(self):
        hold = ("WEIR.RESERVE", "HOLD", "60000")
        self.all_happen(
            "A program is told an error",
            {
                "is a Redis 7.0.15, not a weir": self.of_a_redis,
                "NOAUTH": lambda: self.told(("PING",), server=self.locked),
                "WRONGPASS": lambda: self.told(("AUTH", "ann", "wrong"), server=self.locked),
                "NOPERM": lambda: self.told(("AUTH", "tok"), ("DBSIZE",), server=self.locked),
                "in_flight=1 is met by WEIR.RESERVE and WEIR.ACQUIRE alone": lambda: self.told(("WEIR.CHECK", "api=x")),
                "takes no refunds": lambda: self.told(("WEIR.REFUND", "k", "1/s")),
                "takes no pause afresh": lambda: self.told(("WEIR.CHARGE", "PAUSE", "5", "AFRESH", "k", "1/s")),
                "calls are unanswered": self.one_too_many,
                "share of the memory for reservations is full": lambda: self.told(
                    *((*hold, f"k{n}", "5/s") for n in range(999))
                ),
                "the form is COUNT/PERIOD": lambda: self.told(("WEIR.THROTTLE", "k", "10")),
                "no address: this request's connection has none": lambda: self.page(environ_base={"REMOTE_ADDR": ""}),
                "make it once, outside": lambda: self.page(lambda: weir.flask.limit("1/s")(lambda: "found")(), rule=None),
                "WEIR_LOCAL=never": self.forbidden,
                "the weir program runs on Linux": self.on_another_system,
                "the request has no attribute": lambda: self.told(("WEIR.CHECK", "a=b")),
            },
        )

    def test_the_log(self):
        self.all_happen(
            "The log of a program",
            {
                "counting in a local weir": self.alone,
                "guessed to be this application's name": self.page,
                "does not answer": self.an_outage,
                "answers again": self.an_outage,
                "requests get 503": self.with_no_password,
                "requests come with X-Forwarded-For": lambda: self.page(headers={"X-Forwarded-For": "192.0.2.1"}),
                "has ended before its block": self.of_a_slot_that_another_ends,
            },
        )


if __name__ == "__main__":
    run()
