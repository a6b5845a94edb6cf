"""examples/envoy in a real Envoy, before a real backend: allowed, denied, weir down, hung, restarting."""
import pathlib
import signal
import socket
import subprocess
import threading
import time
import unittest

import gateways
from gateways import Backend, Gateway
from ports import free_port
from programs import ask
from server import PATIENCE, ROOT, Folder, Server, run, until

EXAMPLES = f"{ROOT}/examples/envoy"
RLS = Gateway(gateways.ENVOY.command, "rls.yaml", examples=EXAMPLES)
TOKENS = Gateway(gateways.ENVOY.command, "tokens.yaml", examples=EXAMPLES)


def limits():
    """The example's, slow enough that a test's denials do not hang on its speed."""
    with open(f"{EXAMPLES}/limits.yaml") as file:
        text = file.read()
    for old, new in {"50/s burst 100": "1000/s burst 100000", "20/s burst 40": "3/h"}.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def curl(port, *flags):
    """The version and the status of an answer."""
    done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", *flags, f"http://127.0.0.1:{port}/"],
                          capture_output=True, timeout=PATIENCE)
    return done.stdout.decode()


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

    def test_over_HTTP_2(self):
        codes = [curl(self.envoy.port, "--http2-prior-knowledge", "-H", f"X-User-Id: {self.me}") for _ in range(4)]
        self.assertEqual(codes, ["2 200"] * 3 + ["2 429"])

    def test_a_websocket_is_asked_for_once(self):
        request = (f"GET /{self.me} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-User-Id: {self.me}\r\n"
                   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode()

        def upgraded():
            with socket.create_connection(("127.0.0.1", self.envoy.port), PATIENCE) as wire:
                wire.sendall(request)
                answer = wire.recv(65536)
                if b" 101 " in answer:
                    wire.sendall(b"hello")
                    self.assertEqual(wire.recv(5), b"hello")
                return int(answer.split()[1])
        self.assertEqual([upgraded() for _ in range(4)], [101] * 3 + [429])

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


class OneEnvoy(unittest.TestCase):
    """A test with a weir and an Envoy of its own."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.limits = self.folder.file("limits.yaml", limits().replace("100000/h", "2/h"))
        self.backend = Backend()
        self.addCleanup(self.backend.close)

    def start(self, gateway, *flags, changes=()):
        weir = Server("--rls", "127.0.0.1:0", *flags)
        self.addCleanup(weir.__exit__, None)
        envoy = gateway.start(0, self.backend.port, ("port_value: 8081", f"port_value: {weir.ports[1]}"), *changes)
        self.addCleanup(envoy.close)
        return weir, envoy

    def test_tokens_are_reported_when_the_stream_is_done(self):
        weir, envoy = self.start(TOKENS, "--limits", self.limits, changes=[("timeout: 0.02s", "timeout: 2s")])

        def used(tokens):
            status = ask(envoy.port, headers=[("X-User-Id", "ann"), ("X-Costs", str(tokens))])[0]
            time.sleep(0.05)  # the report goes its own way
            return status
        # Two an hour: the third passes, as no more is owed than the limit, and the fourth is refused.
        self.assertEqual([used(1) for _ in range(4)], [200, 200, 200, 429], envoy.text())

    def test_envoyproxys_own_files(self):
        config = self.folder.file("config")
        pathlib.Path(config).mkdir()
        pathlib.Path(config, "edge.yaml").write_text(
            "domain: edge\ndescriptors: [{ key: user_id, rate_limit: { unit: day, requests_per_unit: 3 } }]\n")
        _, envoy = self.start(RLS, "--rls-config", config, changes=[("timeout: 0.02s", "timeout: 2s")])
        answers = [ask(envoy.port, headers=[("X-User-Id", "ann")]) for _ in range(4)]
        self.assertEqual([each[0] for each in answers], [200] * 3 + [429])
        self.assertEqual(answers[0][1]["x-ratelimit-limit"], "3, 3;w=86400")

    def test_a_store_that_hangs_is_not_waited_for_longer_than_the_filter_waits(self):
        port = free_port()
        redis = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL)
        self.addCleanup(redis.wait)
        self.addCleanup(redis.kill)
        # Half a second, and not the example's 20 ms: a busy machine is not a slow store.
        weir, envoy = self.start(RLS, "--limits", self.limits, "--store", f"redis://127.0.0.1:{port}", "--store-deadline", "60s",
                                 changes=[("timeout: 0.02s", "timeout: 0.5s")])
        until(lambda: weir.info()["store_state"] == "ready", "the store decides")
        self.assertEqual([ask(envoy.port, headers=[("X-User-Id", "ann")])[0] for _ in range(4)], [200] * 3 + [429])
        redis.send_signal(signal.SIGSTOP)
        # The fallback goes on from what the store has said: a filter that gave up waiting would let it pass.
        self.assertEqual(ask(envoy.port, headers=[("X-User-Id", "ann")])[0], 429)
        self.assertEqual([ask(envoy.port, headers=[("X-User-Id", "joe")])[0] for _ in range(4)], [200] * 3 + [429])


if __name__ == "__main__":
    run(200)
