"""Two weirs on hosts of their own that count in one Redis, and a gateway of the examples that asks both. Each is replaced in its
turn under traffic: no request is refused, and none goes unlimited. WEIR_LONG=1: more of them."""
import collections
import http.client
import itertools
import os
import re
import subprocess
import threading
import unittest

import gateways
import hosts
from gateways import EXAMPLES, TOKEN, Backend, Gateway
from programs import ask
from server import PATIENCE, WEIR, Folder, Server, run, until

LONG = os.environ.get("WEIR_LONG") == "1"
BURST = 100_000  # what every request takes one of, and hardly gets back
LIMITS = {"50/s burst 100": f"1/day burst {BURST}", "20000/s burst 40000": "1000000/s", "{ from:": "{ token: { header: x-gate-token, env: GATE_TOKEN }, from:"}
RLS = "rls:\n  edge: { attributes: { remote_address: ip }, unmapped: drop }\n"
CLIENTS = 4
PAUSE_S = 0.003  # of a client, between two requests: what is replaced needs the processors more


def setUpModule():
    global WIRE, FOLDER, REDIS, BACKEND, LIMITS_FILE
    WIRE = hosts.Wire()
    unittest.addModuleCleanup(WIRE.close)
    FOLDER = Folder()
    unittest.addModuleCleanup(FOLDER.__exit__)
    text = (EXAMPLES / "limits.yaml").read_text() + RLS
    for old, new in LIMITS.items():
        assert old in text, old
        text = text.replace(old, new)
    LIMITS_FILE = FOLDER.file("limits.yaml", text)
    REDIS = Redis(WIRE.host())
    unittest.addModuleCleanup(REDIS.close)
    BACKEND = Backend()
    unittest.addModuleCleanup(BACKEND.close)


class Redis:
    def __init__(self, host):
        port = host.free_port(6379)
        self.url = f"redis://{host.address}:{port}"
        self.process = subprocess.Popen([*host.inside, "redis-server", "--bind", host.address, "--port", str(port), "--protected-mode", "no",
                                         "--save", "", "--dir", FOLDER.path], stdout=subprocess.DEVNULL)
        self.cli = "redis-cli", "-h", host.address, "-p", str(port)
        until(lambda: self.ask("ping") == "PONG", "redis-server answers")

    def ask(self, *words):
        return subprocess.run([*self.cli, *words], capture_output=True, text=True).stdout.strip()

    def close(self):
        self.process.terminate()
        self.process.wait()


class Weir:
    """A server of a host, which may be replaced by another at the same address. `speaks`: the flag of its listener."""

    def __init__(self, speaks, *flags):
        self.host = WIRE.host()
        self.port, self.admin = self.host.free_port(6391), self.host.free_port(6392)
        at = self.host.address
        self.flags = (speaks, f"{at}:{self.port}", "--admin", f"{at}:{self.admin}", "--limits", LIMITS_FILE, "--store", REDIS.url,
                      "--store-deadline", "5s", *flags)
        self.start()

    def start(self):
        self.server = Server(*self.flags, env={"GATE_TOKEN": TOKEN, "WEIR_HTTP_TOKEN": "t"}, program=(*self.host.inside, WEIR, "serve"))
        until(lambda: self.readiness() == 200, "it is ready")

    def readiness(self):
        connection = http.client.HTTPConnection(self.host.address, self.admin, timeout=PATIENCE)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status
        except OSError:
            return None
        finally:
            connection.close()

    def replace(self, traffic):
        self.server.__exit__(None)
        traffic.go_on(100)
        self.start()

    def close(self):
        self.server.__exit__(None)


class Traffic:
    """Clients that ask on and on, half of them by a connection of their own for each request. `where` says whom a new
    connection is to ask, `tells` which field an answer of a weir has."""

    def __init__(self, where, tells, path="/", **headers):
        self.where, self.tells, self.path, self.headers = where, tells, path, headers
        self.over = threading.Event()
        self.each = [collections.Counter() for _ in range(CLIENTS)]
        self.threads = [threading.Thread(target=self.ask_on, args=(i % 2 == 0, own)) for i, own in enumerate(self.each)]

    def ask_on(self, keeps, own):
        connection = None
        while not self.over.wait(PAUSE_S):
            connection = connection or http.client.HTTPConnection(*self.where(), timeout=PATIENCE)
            try:
                connection.request("GET", self.path, headers=self.headers)
                answer = connection.getresponse()
                answer.read()
                own[answer.status, answer.headers[self.tells] is not None] += 1
            except (OSError, http.client.HTTPException) as error:
                own[type(error).__name__, False] += 1
                connection.close()
            if not keeps or connection.sock is None:
                connection.close()
                connection = None
        if connection:
            connection.close()

    def __enter__(self):
        for each in self.threads:
            each.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for each in self.threads:
            each.join()

    def answers(self):
        return sum(self.each, collections.Counter())

    def count(self):
        return self.answers().total()

    def go_on(self, requests):
        reached = self.count() + requests
        until(lambda: self.count() >= reached, f"{requests} more requests", 6 * PATIENCE)


class Rolling:
    gateway = None
    speaks = "--http"
    flags = ()
    tells, remaining = "RateLimit", r"r=(\d+)"
    takes_long = False

    def setUp(self):
        REDIS.ask("flushall")
        self.weirs = []
        for _ in range(2):
            self.weirs.append(Weir(self.speaks, *self.flags))
            self.addCleanup(self.weirs[-1].close)
        self.program = self.gateway.start(tuple((each.host.address, each.port) for each in self.weirs), BACKEND.port)
        self.addCleanup(self.program.close)
        until(lambda: ask(self.program.port)[1][self.tells], "it asks")

    def left(self):
        """Of the burst, after this request."""
        return int(re.search(self.remaining, ask(self.program.port)[1][self.tells])[1])

    def test_each_is_replaced(self):
        before = self.left()
        with Traffic(lambda: ("127.0.0.1", self.program.port), self.tells) as traffic:
            for _ in range(5 if LONG else 2):
                for each in self.weirs:
                    traffic.go_on(1000 if LONG else 300)
                    each.replace(traffic)
            traffic.go_on(300)
        taken = before - self.left() - 1
        print(f"{type(self).__name__}: {dict(traffic.answers())}, {taken} charged", flush=True)
        self.assertEqual(set(traffic.answers()), {(200, True)}, self.program.text()[-2000:])
        self.assertGreaterEqual(taken, traffic.count())

    def test_one_vanishes(self):
        if not WIRE.apart:
            self.skipTest("only root can take a host off the wire")
        if self.takes_long and not LONG:
            self.skipTest("each of its requests waits for a connection to the host that has gone: WEIR_LONG=1")
        with Traffic(lambda: ("127.0.0.1", self.program.port), self.tells) as traffic:
            traffic.go_on(100)
            self.weirs[1].host.plug("down")
            traffic.go_on(100)
            self.weirs[1].host.plug("up")
            traffic.go_on(100)
        print(f"{type(self).__name__}, a host vanishes: {dict(traffic.answers())}", flush=True)
        self.assertEqual(set(traffic.answers()), {(200, True)}, self.program.text()[-2000:])


class NginxAuthRequest(Rolling, unittest.TestCase):
    gateway = gateways.NGINX_AUTH_REQUEST
    takes_long = True


class NginxNjs(Rolling, unittest.TestCase):
    gateway = gateways.NGINX_NJS
    takes_long = True


class NginxLua(Rolling, unittest.TestCase):
    gateway = gateways.NGINX_LUA
    takes_long = True


class Haproxy(Rolling, unittest.TestCase):
    gateway = gateways.HAPROXY
    flags = ("--drain-grace", "500ms")  # it looks every 200 ms whether the other is back


class Envoy(Rolling, unittest.TestCase):
    gateway = gateways.ENVOY


class EnvoyRls(Rolling, unittest.TestCase):
    gateway = Gateway(gateways.ENVOY.command, "rls.yaml", examples=EXAMPLES.parent / "envoy",
                      changes=(("timeout: 0.02s", "timeout: 5s"), ("max_interval: 0.008s", "max_interval: 0.4s")))  # its own is short, for a machine that does other things
    speaks = "--rls"
    flags = ("--insecure",)
    tells, remaining = "x-ratelimit-remaining", r"(\d+)"


class Endpoints:
    """The addresses of those that are ready, as a Service of Kubernetes has them: looked at now and then."""

    def __init__(self, weirs):
        self.weirs = weirs
        self.ready = weirs
        self.next = itertools.count()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.over.wait(0.1):
            self.ready = [each for each in self.weirs if each.readiness() == 200]

    def choose(self):
        ready = self.ready
        each = ready[next(self.next) % len(ready)]
        return each.host.address, each.port

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class Grace(unittest.TestCase):
    """Where nobody asks again, --drain-grace gives those that look at /readyz the time to turn to the other."""

    def test_each_is_replaced(self):
        weirs = []
        for _ in range(2):
            weirs.append(Weir("--http", "--drain-grace", "1s"))
            self.addCleanup(weirs[-1].close)
        headers = {"X-Real-IP": "203.0.113.7", "X-Original-URI": "/", "X-Original-Method": "GET", "X-Gate-Token": TOKEN}
        with Endpoints(weirs) as endpoints, Traffic(endpoints.choose, "RateLimit", "/v1/gate/nginx-script", **headers) as traffic:
            for each in weirs * (5 if LONG else 1):
                traffic.go_on(300)
                each.replace(traffic)
                until(lambda: len(endpoints.ready) == 2, "both are asked")
            traffic.go_on(300)
        print(f"{type(self).__name__}: {dict(traffic.answers())}", flush=True)
        self.assertEqual(set(traffic.answers()), {(200, True)})


if __name__ == "__main__":
    run(300)
