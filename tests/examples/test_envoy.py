"""examples/envoy in a real Envoy, before a real backend: allowed, denied, weir down, hung, restarting."""
import signal
import threading
import time
import unittest

import gateways
from gateways import Backend, Gateway
from programs import ask, free_port
from server import ROOT, Folder, Server, run, until

EXAMPLES = f"{ROOT}/examples/envoy"
RLS = Gateway(gateways.ENVOY.command, "rls.yaml", examples=EXAMPLES)


def limits():
    """The example's, slow enough that a test's denials do not hang on its speed."""
    with open(f"{EXAMPLES}/limits.yaml") as file:
        text = file.read()
    for old, new in {"50/s burst 100": "1000/s burst 100000", "20/s burst 40": "3/h"}.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


class Rls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.limits = cls.folder.file("limits.yaml", limits())
        cls.backend = Backend()
        cls.addClassCleanup(cls.backend.close)
        cls.port = free_port()
        cls.weir = cls.serve()
        cls.addClassCleanup(lambda: cls.weir.__exit__(None))
        # Envoy's own time is the filter's; a test has more of it, but where it is meant.
        cls.envoy = RLS.start(0, cls.backend.port, ("port_value: 8081", f"port_value: {cls.port}"), ("timeout: 0.02s", "timeout: 2s"))
        cls.addClassCleanup(cls.envoy.close)

    @classmethod
    def serve(cls):
        return Server("--rls", f"127.0.0.1:{cls.port}", "--admin", "127.0.0.1:0", "--limits", cls.limits)

    def setUp(self):
        until(self.is_asked, "weir decides")
        self.me = self.id().rsplit(".", 1)[1]

    def ask(self, user=None, path="/"):
        return ask(self.envoy.port, path=path, headers=[("X-User-Id", user)] if user else [])

    def is_asked(self):
        return "x-ratelimit-limit" in self.ask()[1]

    def test_what_is_allowed_reaches_the_backend_and_clients_are_told_what_is_left(self):
        status, headers, body = self.ask(self.me)
        self.assertEqual((status, body), (200, b"backend"), self.envoy.text())
        self.assertEqual((headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]), ('3, 1000;w=1;name="ip", 3;w=3600;name="user"', "2"))
        self.assertIsNone(headers["retry-after"])

    def test_what_is_denied_is_told_when_to_come_again(self):
        path = "/" + self.me
        self.assertEqual([self.ask(self.me, path)[0] for _ in range(4)], [200] * 3 + [429])
        status, headers, body = self.ask(self.me, path)
        self.assertEqual((status, headers["retry-after"], headers["x-envoy-ratelimited"], body), (429, "1200", "true", b""))
        self.assertEqual(self.backend.seen[path], 3)
        self.assertEqual(self.ask("somebody-else", path)[0], 200)

    def test_a_bad_request_is_denied(self):
        self.assertEqual(self.ask("x" * 2000 + "\xff")[0], 429)
        self.assertEqual(self.ask("x" * 2000)[0], 200)

    def test_while_weir_is_down_requests_pass_and_then_are_limited_again(self):
        self.assertEqual([self.ask(self.me)[0] for _ in range(4)], [200] * 3 + [429])
        type(self).weir.__exit__(None)
        self.assertEqual([self.ask(self.me)[0] for _ in range(4)], [200] * 4)
        type(self).weir = self.serve()
        until(self.is_asked, "weir decides again")
        self.assertEqual([self.ask(self.me)[0] for _ in range(4)], [200] * 3 + [429])

    def test_while_weir_hangs_requests_pass_after_the_filters_time(self):
        with_time = RLS.start(0, self.backend.port, ("port_value: 8081", f"port_value: {self.port}"))
        self.addCleanup(with_time.close)
        until(lambda: "x-ratelimit-limit" in ask(with_time.port)[1], "weir decides")
        self.weir.signal(signal.SIGSTOP)
        self.addCleanup(self.weir.signal, signal.SIGCONT)
        self.assertEqual(ask(with_time.port, headers=[("X-User-Id", self.me)])[0], 200)
        self.weir.signal(signal.SIGCONT)
        until(lambda: "x-ratelimit-limit" in ask(with_time.port)[1], "weir decides again")

    def test_no_request_fails_while_weir_restarts(self):
        answers, over = [], threading.Event()

        def ask_on():
            while not over.is_set():
                answers.append(self.ask()[0])

        asking = [threading.Thread(target=ask_on) for _ in range(4)]
        for each in asking:
            each.start()
        type(self).weir.__exit__(None)
        type(self).weir = self.serve()
        time.sleep(0.2)
        over.set()
        for each in asking:
            each.join()
        self.assertEqual(set(answers), {200})


if __name__ == "__main__":
    run(200)
