"""examples/envoy in a real Envoy, before a real backend: allowed, told what is left or nothing, denied, weir down, hung,
restarting. The gate alone, by HTTP, is examples/gateways/envoy.yaml, and test_gateways.py's."""
import pathlib
import re
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
from test_tls import Authority

EXAMPLES = f"{ROOT}/examples/envoy"
RLS = Gateway(gateways.ENVOY.command, "rls.yaml", examples=EXAMPLES)
TOKENS = Gateway(gateways.ENVOY.command, "tokens.yaml", examples=EXAMPLES)
TLS = Gateway(gateways.ENVOY.command, "tls.yaml", examples=EXAMPLES)
# Envoy's own time is the filter's; a test has more of it, but where it is meant.
PATIENT = (("timeout: 0.02s", "timeout: 2s"), ("timeout: 0.5s", "timeout: 2s"), ("max_interval: 0.008s", "max_interval: 2s"))
FREE = "127.0.0.2"  # a client without limits


def limits():
    return gateways.slowed(f"{EXAMPLES}/limits.yaml", {"burst 100000 }": f"burst 100000, allow: {{ ip: {FREE} }} }}", "100000/h": "2/h"})


def curl(port, *flags):
    """The version and the status of an answer."""
    done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", *flags, f"http://127.0.0.1:{port}/"],
                          capture_output=True, timeout=PATIENCE)
    return done.stdout.decode()


class Asked(gateways.OneGateway):
    """What holds of every Envoy that asks weir, by whichever protocols."""

    limits = staticmethod(limits)
    changes = PATIENT
    tells = None  # the field by which clients are told what is left

    def setUp(self):
        super().setUp()
        self.me = self.id().rsplit(".", 1)[1]

    def ask(self, user=None, path="/", **options):
        return super().ask(path=path, headers=[("X-User-Id", user)] if user else [], **options)

    def is_asked(self):
        return self.tells in self.ask()[1]

    def codes(self, count=4):
        return [self.ask(self.me)[0] for _ in range(count)]

    def test_what_is_allowed_without_fields_reaches_the_backend(self):
        status, headers, body = self.ask(source=FREE)
        self.assertEqual((status, body, headers[self.tells]), (200, b"backend", None), self.program.text())

    def test_while_weir_is_down_requests_pass_and_then_are_limited_again(self):
        self.assertEqual(self.codes(), [200] * 3 + [429])
        type(self).stop()
        try:
            self.assertEqual(self.codes(), [200] * 4)
        finally:
            type(self).restart()
        until(self.is_asked, "weir decides again")
        self.assertEqual(self.codes(), [200] * 3 + [429])

    def test_no_request_fails_while_weir_restarts(self):
        answers, over = [], threading.Event()

        def ask_on():
            while not over.is_set():
                answers.append(self.ask()[0])

        asking = [threading.Thread(target=ask_on) for _ in range(4)]
        for each in asking:
            each.start()
        type(self).stop()
        type(self).restart()
        time.sleep(0.2)
        over.set()
        for each in asking:
            each.join()
        self.assertEqual(set(answers), {200})


class Rls(Asked, unittest.TestCase):
    gateway = RLS
    tells = "x-ratelimit-limit"

    @classmethod
    def serve(cls):
        return Server("--rls", f"127.0.0.1:{cls.rls_port}", "--limits", cls.limits_file)

    def test_what_is_allowed_reaches_the_backend_and_clients_are_told_what_is_left(self):
        status, headers, body = self.ask(self.me)
        self.assertEqual((status, body), (200, b"backend"), self.program.text())
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
        codes = [curl(self.program.port, "--http2-prior-knowledge", "-H", f"X-User-Id: {self.me}") for _ in range(4)]
        self.assertEqual(codes, ["2 200"] * 3 + ["2 429"])

    def test_a_websocket_is_asked_for_once(self):
        request = (f"GET /{self.me} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-User-Id: {self.me}\r\n"
                   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode()

        def upgraded():
            with socket.create_connection(("127.0.0.1", self.program.port), PATIENCE) as wire:
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

    def test_while_weir_hangs_requests_pass_after_the_filters_time(self):
        with_time = RLS.start(self.port, self.backend.port, rls=self.rls_port)
        self.addCleanup(with_time.close)
        until(lambda: "x-ratelimit-limit" in ask(with_time.port)[1], "weir decides")
        self.weir.signal(signal.SIGSTOP)
        self.addCleanup(self.weir.signal, signal.SIGCONT)
        self.assertEqual(ask(with_time.port, headers=[("X-User-Id", self.me)])[0], 200)
        self.weir.signal(signal.SIGCONT)
        until(lambda: "x-ratelimit-limit" in ask(with_time.port)[1], "weir decides again")


class Tls(Asked, unittest.TestCase):
    """Both protocols, with certificates of both sides."""

    gateway = TLS
    tells = "RateLimit"

    @classmethod
    def setUpClass(cls):
        folder = Folder()
        cls.addClassCleanup(folder.__exit__)
        authority = Authority(folder, "authority")
        (own, own_key), (envoys, envoys_key) = authority.issue("weir"), authority.issue("envoy")
        cls.flags = "--tls-cert", own, "--tls-key", own_key, "--tls-ca", authority.certificate
        files = {"ca.pem": authority.certificate, "envoy.pem": envoys, "envoy.key": envoys_key}
        cls.changes = (*PATIENT, *((f"filename: {name}", f"filename: {path}") for name, path in files.items()))
        super().setUpClass()

    @classmethod
    def serve(cls):
        return Server("--http", f"127.0.0.1:{cls.port}", "--rls", f"127.0.0.1:{cls.rls_port}", "--admin", "127.0.0.1:0",
                      "--limits", cls.limits_file, *cls.flags)

    def is_asked(self):
        """By both."""
        before = self.calls()
        return self.tells in self.ask(f"asked {before} {time.monotonic()}")[1] and self.calls() > before

    def calls(self):
        text = ask(self.weir.ports[-1], path="/metrics")[2].decode()
        return sum(map(int, re.findall(r"^weir_rls_calls_total (\d+)$", text, re.M)))  # none while it starts

    def test_the_gate_tells_clients_what_is_left_and_denies(self):
        answers = [self.ask(self.me, "/" + self.me) for _ in range(4)]
        self.assertEqual([(status, re.search(r'"user";r=(\d)', headers["RateLimit"])[1]) for status, headers, _ in answers],
                         [(200, "2"), (200, "1"), (200, "0"), (429, "0")])
        self.assertEqual((answers[3][1]["Retry-After"], answers[3][1]["x-envoy-ratelimited"]), ("1200", None))
        self.assertEqual(self.backend.seen["/" + self.me], 3)

    def test_the_rate_limit_service_is_told_of_tokens_and_denies(self):
        headers = [("X-User-Id", self.me), ("X-Costs", "3")]
        before = self.calls()
        self.assertEqual(ask(self.program.port, headers=headers)[0], 200)
        until(lambda: self.calls() - before >= 2, "the report has come")
        status, told, _ = ask(self.program.port, headers=headers)
        self.assertEqual((status, told["x-envoy-ratelimited"]), (429, "true"), self.program.text())

    def test_each_side_wants_the_other_s_certificate(self):
        text = TLS.text()
        own = re.search(r"tls_certificates: .*", text)[0]
        for change in ((own, ""), ("exact: localhost", "exact: example.com")):
            with self.subTest(change):
                gateway = TLS.start(self.port, self.backend.port, change, *self.changes, rls=self.rls_port)
                self.addCleanup(gateway.close)
                before = self.calls()
                status, headers, _ = ask(gateway.port, headers=[("X-User-Id", self.me)])
                self.assertEqual((status, headers["RateLimit"], self.calls()), (200, None, before))


class OneEnvoy(unittest.TestCase):
    """A test with a weir and an Envoy of its own."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.limits = self.folder.file("limits.yaml", limits())
        self.backend = Backend()
        self.addCleanup(self.backend.close)

    def start(self, gateway, *flags, changes=()):
        weir = Server("--rls", "127.0.0.1:0", *flags)
        self.addCleanup(weir.__exit__, None)
        envoy = gateway.start(0, self.backend.port, *changes, rls=weir.ports[1])
        self.addCleanup(envoy.close)
        return weir, envoy

    def test_tokens_are_reported_when_the_stream_is_done(self):
        weir, envoy = self.start(TOKENS, "--limits", self.limits, changes=PATIENT)

        def used(tokens):
            before = int(weir.info()["rls_calls"])
            status = ask(envoy.port, headers=[("X-User-Id", "ann"), ("X-Costs", str(tokens))])[0]
            if status == 200:  # the report goes its own way
                until(lambda: int(weir.info()["rls_calls"]) >= before + 2, "the tokens are reported")
            return status
        # Two an hour: the third passes, as no more is owed than the limit, and the fourth is refused.
        self.assertEqual([used(1) for _ in range(4)], [200, 200, 200, 429], envoy.text())

    def test_while_one_of_two_hangs_the_other_decides(self):
        weirs = [Server("--rls", "127.0.0.1:0", "--limits", self.limits) for _ in range(2)]
        for each in weirs:
            self.addCleanup(each.__exit__, None)
        # In the example's own proportion, but longer: a machine does other things too.
        text = pathlib.Path(f"{EXAMPLES}/rls.yaml").read_text()
        longer = [(f"{name}: {time}s", f"{name}: {float(time) * 25}s") for name, time in re.findall(r"(?<!_)\b(timeout|max_interval): ([0-9.]+)s", text)]
        self.assertEqual(len(longer), 2)
        ports = tuple(("127.0.0.1", each.ports[1]) for each in weirs)
        # And one that asks nobody again, so that half of its requests are undecided, and the machine may hold up some of each.
        envoys = [RLS.start(ports, self.backend.port, *longer, *others) for others in ((), (("num_retries: 1", "num_retries: 0"),))]
        for each in envoys:
            self.addCleanup(each.close)
        decided = lambda envoy: "x-ratelimit-limit" in ask(envoy.port)[1]
        until(lambda: all(map(decided, envoys)), "weir decides")
        weirs[0].signal(signal.SIGSTOP)
        self.addCleanup(weirs[0].signal, signal.SIGCONT)
        asked = [[decided(envoy) for envoy in envoys] for _ in range(12)]
        undecided = [[each[which] for each in asked].count(False) for which in range(2)]
        self.assertLess(undecided[0], undecided[1] / 2, envoys[0].text())

    def test_the_filters_own_retry_after_leaves_weirs(self):
        _, envoy = self.start(RLS, "--limits", self.limits,
                              changes=(*PATIENT, ("failure_mode_deny: false", "failure_mode_deny: false\n                      enable_retry_after_header: true")))
        status, headers, _ = [ask(envoy.port, headers=[("X-User-Id", "ann")]) for _ in range(4)][-1]
        self.assertEqual((status, headers.get_all("Retry-After")), (429, ["1200"]))

    def test_envoyproxys_own_files(self):
        config = self.folder.file("config")
        pathlib.Path(config).mkdir()
        pathlib.Path(config, "edge.yaml").write_text(
            "domain: edge\ndescriptors: [{ key: user_id, rate_limit: { unit: day, requests_per_unit: 3 } }]\n")
        _, envoy = self.start(RLS, "--rls-config", config, changes=PATIENT)
        answers = [ask(envoy.port, headers=[("X-User-Id", "ann")]) for _ in range(4)]
        self.assertEqual([each[0] for each in answers], [200] * 3 + [429])
        self.assertEqual(answers[0][1]["x-ratelimit-limit"], "3, 3;w=86400")

    def test_a_request_that_is_denied_takes_nothing_of_its_other_limits(self):
        config = self.folder.file("config")
        pathlib.Path(config).mkdir()
        pathlib.Path(config, "edge.yaml").write_text(
            "domain: edge\ndescriptors: [{ key: user_id, rate_limit: { unit: day, requests_per_unit: 3 } },\n"
            "              { key: remote_address, rate_limit: { unit: day, requests_per_unit: 9 } }]\n")
        _, envoy = self.start(RLS, "--rls-config", config, "--rls-charge", "others-free", changes=PATIENT)
        codes = lambda user, times: [ask(envoy.port, headers=[("X-User-Id", user)])[0] for _ in range(times)]
        self.assertEqual(codes("ann", 10), [200] * 3 + [429] * 7)
        self.assertEqual(codes("joe", 3), [200] * 3)
        self.assertEqual(codes("eve", 5), [200] * 3 + [429] * 2, "then the address is at its limit, too")

    def test_a_store_that_hangs_is_not_waited_for_longer_than_the_filter_waits(self):
        port = free_port()
        redis = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL)
        self.addCleanup(redis.wait)
        self.addCleanup(redis.kill)
        # Half a second, and not the example's 20 ms: a busy machine is not a slow store.
        weir, envoy = self.start(RLS, "--limits", self.limits, "--store", f"redis://127.0.0.1:{port}", "--store-deadline", "60s",
                                 changes=[("timeout: 0.02s", "timeout: 0.5s"), ("max_interval: 0.008s", "max_interval: 0.5s")])
        until(lambda: weir.info()["store_state"] == "ready", "the store decides")
        self.assertEqual([ask(envoy.port, headers=[("X-User-Id", "ann")])[0] for _ in range(4)], [200] * 3 + [429])
        redis.send_signal(signal.SIGSTOP)
        # The fallback goes on from what the store has said: a filter that gave up waiting would let it pass.
        self.assertEqual(ask(envoy.port, headers=[("X-User-Id", "ann")])[0], 429)
        self.assertEqual([ask(envoy.port, headers=[("X-User-Id", "joe")])[0] for _ in range(4)], [200] * 3 + [429])


if __name__ == "__main__":
    run()
