"""Envoy's rate limit service as npm's @grpc/grpc-js and Go's grpc ask it; each from its lock file. python3-grpcio is what
the other tests ask by."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "end_to_end"))

import npm  # noqa: E402
from rls import HEALTH, HOUR, KUADRANT, OK, OVER, SERVICE, Limit, Status, descriptor, field, fields, read_answer, request  # noqa: E402
from server import PATIENCE, Folder, Server, run  # noqa: E402

NODE, GO = os.path.join(HERE, "grpc_node"), os.path.join(HERE, "grpc_go")
LIMITS = "version: 1\nlimits:\n  user: { by: [user], rate: 2/h }\nrls:\n  edge: {}\n"
USER = Limit(2, HOUR, "user")


class Shapes:
    """What each of them asks."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.server = Server("--threads", "1", "--rls", "127.0.0.1:0", "--rls-headers", "L,R,T", "--limits",
                             self.folder.file("limits.yaml", LIMITS))
        self.addCleanup(self.server.__exit__, None)
        self.program = subprocess.Popen(self.command(f"127.0.0.1:{self.server.ports[1]}"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, **self.options)
        self.addCleanup(self.program.stdout.close)
        self.addCleanup(self.program.wait, PATIENCE)
        self.addCleanup(self.program.stdin.close)

    options = {}

    def ask(self, path, message, timeout=PATIENCE, gzip=False, streams=False):
        """The code, the text, and the message."""
        print(json.dumps({"path": path, "message": message.hex(), "timeout": timeout, "gzip": gzip, "streams": streams}),
              file=self.program.stdin, flush=True)
        told = json.loads(self.program.stdout.readline())
        return told["code"], told["details"], bytes.fromhex(told["message"])

    def answer(self, message, path=SERVICE):
        code, details, answer = self.ask(path, message)
        self.assertEqual((code, details), (0, ""))
        return read_answer(answer)

    def test_what_it_is_told(self):
        ann = request("edge", descriptor(user="ann"))
        answer = self.answer(ann)
        self.assertEqual((answer.code, answer.statuses), (OK, [Status(OK, USER, 1, 1800)]))
        self.assertEqual(answer.headers, [("L", "2"), ("R", "1"), ("T", "1800")])
        self.assertEqual(self.answer(request("edge", descriptor(user="ann", hits=1))).statuses, [Status(OK, USER, 0, 3600)])
        answer = self.answer(request("edge", descriptor(user="ann"), descriptor(other="x")))
        self.assertEqual((answer.code, answer.statuses), (OVER, [Status(OVER, USER, 0, 1800), Status(OK, None, 0, None)]))
        self.assertIn(("Retry-After", "1800"), answer.headers)
        self.assertEqual(self.answer(ann, KUADRANT + "CheckRateLimit").code, OVER)
        self.assertEqual(self.answer(ann, KUADRANT + "Report").code, OK)

    def test_health(self):
        for service in ("", "ratelimit"):
            for streams in (False, True):
                code, _, answer = self.ask(HEALTH + ("Watch" if streams else "Check"), field(1, service) if service else b"", streams=streams)
                self.assertEqual((code, fields(answer)[1]), (0, [1]))
        self.assertEqual(self.ask(HEALTH + "Check", field(1, "none"))[:2], (5, "unknown service"))

    def test_what_is_refused(self):
        self.assertEqual(self.ask(SERVICE, request("", descriptor(user="u")))[:2], (2, "rate limit domain must not be empty"))
        self.assertEqual(self.ask("/nowhere/Nothing", b"")[:2], (12, "unknown method /nowhere/Nothing"))
        code, details, _ = self.ask(SERVICE, request("edge", descriptor(user="x" * 10_000)), gzip=True)
        self.assertEqual(code, 12, details)

    def test_a_deadline_that_passes_charges_nothing(self):
        bob = request("edge", descriptor(user="bob"))
        self.assertEqual(self.answer(bob).statuses[0].remaining, 1)
        self.server.signal(signal.SIGSTOP)
        code, _, _ = self.ask(SERVICE, bob, timeout=0.05)
        self.server.signal(signal.SIGCONT)
        self.assertEqual(code, 4)
        self.assertEqual(self.answer(bob).statuses[0].remaining, 0)


@unittest.skipUnless(npm.available(), "no node")
class Node(Shapes, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.options = {"cwd": npm.installed(NODE, "grpc_client", ["ask.mjs"])}

    def command(self, address):
        return ["node", "ask.mjs", address]

    def test_the_lock_names_no_registry(self):
        with open(os.path.join(NODE, "package-lock.json")) as lock:
            self.assertNotIn('"resolved"', lock.read())


def lacks_go():
    """Why Go's client is not tried; empty: it is."""
    if not shutil.which("go"):
        return "no go"
    said = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, timeout=PATIENCE).stdout
    version = tuple(map(int, re.findall(r"\d+", said)[:2]))
    return "" if version >= (1, 21) else f"{said.strip()} is older than 1.21, which Go's grpc needs"


@unittest.skipIf(lacks_go(), lacks_go())
class Go(Shapes, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = Folder()
        cls.addClassCleanup(folder.__exit__)
        cls.program_path = folder.file("ask")
        done = subprocess.run(["go", "build", "-mod=readonly", "-o", cls.program_path, "."], cwd=GO, capture_output=True, text=True,
                              env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "", "CGO_ENABLED": "0"}, timeout=200)
        assert done.returncode == 0, done.stderr

    def command(self, address):
        return [self.program_path, address]


if __name__ == "__main__":
    run(300)
