#!/usr/bin/python3
"""The admin listener: /metrics in both formats, /healthz, /readyz; and the dashboards and the rules that read them."""
import ctypes
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import unittest
import urllib.error
import urllib.request

from server import PATIENCE, ROOT, Folder, Server, encode, run, until, weir

LIMITS = """version: 1
classes: [default, bulk]
lists: { bad: [mallory] }
limits:
  user: { by: [user], rate: [3/min, 1000/day], deny: { user: "@bad" } }
  trial: { by: [user], rate: 1/h burst 1, shadow: until 2260-01-01 }
  plan: { by: [plan], rate: 10/min }
"""


def admin(server):
    """Where the admin listener of a server is."""
    return next(a for a in server.addresses if a.startswith("admin ")).removeprefix("admin ")


def get(server, path, method="GET", **headers):
    """(status, fields, text)"""
    request = urllib.request.Request(admin(server) + path, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers, refused.read().decode()


def example(name):
    with open(os.path.join(ROOT, "examples", name), encoding="utf-8") as file:
        return file.read()


def promtool(*words):
    return subprocess.run(["promtool", *words], cwd=os.path.join(ROOT, "examples/prometheus"), capture_output=True, text=True, timeout=60)


NAMES = re.compile(r"\bweir[_:][\w:.]+")


def samples(text):
    """Every sample by its name and labels."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, value = line.rsplit(" ", 1)
        assert name not in found, f"twice: {name}"
        found[name] = float(value)
    return found


class Admin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.file = cls.folder.file("limits.yaml", LIMITS)
        cls.trees = Folder()
        cls.addClassCleanup(cls.trees.__exit__)
        cls.trees.file("a.yaml", "domain: a\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1 } }]\n")
        # No Redis is there, so the fallback decides and is told of.
        cls.server = Server("--threads", 2, "--limits", cls.file, "--admin", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rls", "127.0.0.1:0",
                            "--rls-config", cls.trees.path, "--store", "redis://127.0.0.1:1", "--log-level", "error")
        with cls.server.client() as client:
            for _ in range(5):
                client.ask("WEIR.CHECK", "user=ada")
            client.ask("WEIR.CHECK", "CLASS", "bulk", "user=bo")
            client.ask("WEIR.CHECK", "user=mallory")
            client.ask("WEIR.CHECK", "COST", "9", "user=cy")
            client.ask("WEIR.LOOK", "user=dan")
            client.ask("CL.THROTTLE", 'k"\n} 1', 1, 1, 60, 1)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None)
        cls.folder.__exit__()

    def metrics(self):
        status, _, text = get(self.server, "/metrics")
        self.assertEqual(status, 200)
        return samples(text)

    def test_what_was_decided_is_counted(self):
        seen = self.metrics()
        for labels, count in (('"user",verdict="allowed",class="default"', 3), ('"user",verdict="denied",class="default"', 2),
                              ('"user",verdict="never",class="default"', 1), ('"user",verdict="listed",class="default"', 1),
                              ('"user",verdict="allowed",class="bulk"', 1), ('"trial",verdict="would_deny",class="default"', 5),
                              ('"plan",verdict="allowed",class="default"', 0), ('"inline",verdict="allowed",class=""', 1)):
            self.assertEqual(seen.get(f"weir_decisions_total{{limit={labels}}}"), count, labels)
        self.assertEqual(seen['weir_cost_total{limit="user",verdict="never"}'], 9)
        self.assertEqual(seen['weir_skipped_total{limit="plan"}'], 8, "a look is not a decision")
        self.assertEqual(seen['weir_fallback_total{limit="user",cause="connection"}'], 7)
        self.assertEqual(seen['weir_limit_rate{limit="user",window="1min"}'], 3 / 60)
        self.assertEqual(seen['weir_limit_burst{limit="user",window="1min"}'], 3)
        self.assertEqual(seen['weir_limit_burst{limit="plan",window="1min"}'], 10, "as fields call it")
        self.assertEqual(seen["weir_store_up"], 0)
        self.assertGreaterEqual(seen['weir_decision_seconds_count{protocol="resp"}'], 9)

    def test_info_says_the_same(self):
        info, seen = self.server.info(), self.metrics()
        for name, metric in (("denied", "weir_denied_total"), ("capacity", "weir_keys_capacity"),
                             ("total_connections_received", "weir_connections_accepted_total"),
                             ("refused_for_lack_of_room", "weir_table_full_total")):
            self.assertEqual(int(info[name]), seen[metric], name)
        self.assertIn(f'weir_config_info{{hash="{info["hash"]}"}}', seen)

    def test_prometheus_finds_nothing_wrong(self):
        text = get(self.server, "/metrics")[2]
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_the_formats(self):
        _, fields, plain = get(self.server, "/metrics")
        self.assertEqual(fields["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        _, fields, text = get(self.server, "/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
        self.assertEqual(fields["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.assertTrue(text.endswith("\n# EOF\n"))
        self.assertEqual(sorted(n for n in samples(text)), sorted(n for n in samples(plain)))
        self.assertIn("# TYPE weir_decisions counter\n", text)
        self.assertIn("# TYPE weir_build info\n", text)

    def test_the_dashboards_and_the_rules_read_what_is_there(self):
        rules = example("prometheus/weir.rules.yml")
        there = set(re.findall(r"^(?:# TYPE )?(weir_\w+)", get(self.server, "/metrics")[2], re.M)) | set(re.findall(r"record: (\S+)", rules))
        texts = [rules]
        for name, least in (("grafana/weir.json", 20), ("prometheus/objectives.json", 6)):
            asked = [target["expr"] for panel in json.loads(example(name))["panels"] for target in panel.get("targets", ())]
            self.assertGreater(len(set(NAMES.findall("\n".join(asked)))), least, name)
            texts += asked
        for text in texts:
            self.assertEqual({name for name in NAMES.findall(text) if not name.endswith(".rules")} - there, set())

    def test_what_they_select_by_is_there(self):
        kept, lines = 0, get(self.server, "/metrics")[2].splitlines()
        for text in map(example, ("prometheus/weir.rules.yml", "prometheus/objectives.json", "grafana/weir.json")):
            for name, labels in re.findall(r"(weir_\w+)\{(.*?)\}", text.replace("\\", "")):
                own = [line for line in lines if line.startswith(name)]
                for label, how, value in re.findall(r'(\w+)(=~?)"([^"$]+)"', labels):
                    each = [f'{label}="{one}"' for one in value.split("|")]
                    kept += len(each)
                    self.assertEqual([one for one in each if not any(one in line for line in own)], [], (name, how))
        self.assertGreater(kept, 10)

    def test_the_page_has_every_metric_and_no_other(self):
        with open(os.path.join(ROOT, "docs/metrics.md"), encoding="utf-8") as file:
            page = set(re.findall(r"\bweir_\w+", file.read()))
        told = set(re.findall(r"^# TYPE (weir_\w+)", get(self.server, "/metrics")[2], re.M))
        of_xds = {f"weir_rls_xds_{each}" for each in ("up", "connects_total", "failures_total")}
        of_users = {f"weir_users_{each}" for each in ("info", "age_seconds", "reloads_total")}
        self.assertEqual(page - told, {"weir_in_flight", "weir_audit_info"} | of_xds | of_users,
                         "not with a store, before the first line, without an xDS server or a users file")
        self.assertEqual(told - page, set())

    def test_a_key_is_nowhere(self):
        text = get(self.server, "/metrics")[2]
        for part in ("ada", "mallory", "} 1\n}"):
            self.assertNotIn(part, text)

    def test_alive_and_ready(self):
        self.assertEqual(get(self.server, "/healthz")[::2], (200, "ok\n"))
        self.assertEqual(get(self.server, "/readyz")[::2], (200, "ok\n"), "the fallback decides")
        status, fields, text = get(self.server, "/healthz", "HEAD")
        self.assertEqual((status, fields["Content-Length"], text), (200, "3", ""))

    def test_what_is_not_there(self):
        status, _, text = get(self.server, "/nothing")
        self.assertEqual((status, json.loads(text)["detail"]), (404, "here are /metrics, /healthz, /readyz and /"))
        self.assertEqual(get(self.server, "/v1/check", "POST")[0], 404)
        status, fields, _ = get(self.server, "/metrics", "DELETE")
        self.assertEqual((status, fields["Allow"]), (405, "GET, HEAD"))

    def test_nonsense_is_refused(self):
        host, port = admin(self.server).removeprefix("http://").rsplit(":", 1)
        for sent, status in ((b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", None), (b"GET /metrics\r\n\r\n", 400),
                             (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400), (b"GET /metrics HTTP/1.1\r\n\r\n", 400),
                             (b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", 200)):
            with socket.create_connection((host, int(port)), timeout=PATIENCE) as client:
                client.sendall(sent + b"\r\n\r\n")
                answer = b""
                while chunk := client.recv(4096):
                    answer += chunk
            first = re.match(rb"HTTP/1.1 (\d+) ", answer)
            self.assertTrue(first, (sent, answer))
            if status is not None:
                self.assertEqual(int(first[1]), status, (sent, answer))

    def test_many_scrapes_by_one_connection(self):
        host, port = admin(self.server).removeprefix("http://").rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 50 + b"GET /healthz HTTP/1.0\r\n\r\n")
            answer = b""
            while chunk := client.recv(65536):
                answer += chunk
        self.assertEqual(answer.count(b"\r\n\r\nok\n"), 51)

    def test_connections_by_protocol(self):
        with self.server.client() as one, self.server.client():
            one.ask("PING")
            until(lambda: self.metrics()['weir_connections{protocol="resp"}'] == 2, "two connections")
        until(lambda: self.metrics()['weir_connections{protocol="resp"}'] == 0, "none")
        self.assertGreaterEqual(self.metrics()['weir_connections{protocol="admin"}'], 1)
        self.assertEqual(self.metrics()['weir_connections{protocol="http"}'], 0)


class Status(unittest.TestCase):
    """GET /v1/status: what the page shows."""

    def serve(self, limits, *more):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        server = Server("--limits", folder.file("limits.yaml", limits), "--admin", "127.0.0.1:0", "--log-level", "error", *more)
        self.addCleanup(server.__exit__, None)
        return server

    def status(self, server, query="", **headers):
        code, _, text = get(server, "/v1/status" + query, **headers)
        self.assertEqual(code, 200, text)
        return json.loads(text), len(text.encode())

    def test_what_it_says(self):
        server = self.serve(LIMITS.replace('deny: { user: "@bad" }', "deny: { user: mallory }"))
        with server.client() as client:
            for _ in range(5):
                client.ask("WEIR.CHECK", "user=ada")
        until(lambda: sum(self.status(server)[0]["limits"][0]["series"]["denied"]), "the second has ended")
        told, _ = self.status(server)
        self.assertEqual(list(told), ["server", "limits", "store", "file", "role", "user"])
        self.assertEqual(list(told["server"]), ["version", "uptime", "draining", "connections", "waiters"])
        self.assertEqual([each["name"] for each in told["limits"]], ["user", "trial", "plan"])
        user, trial, _ = told["limits"]
        self.assertEqual(list(user), ["name", "by", "windows", "shadow", "series"])
        self.assertEqual((user["by"], user["shadow"], trial["shadow"]), (["user"], None, "2260-01-01T00:00:00.000Z"))
        self.assertEqual(user["windows"], [{"window": "1min", "rate": "3/min", "burst": 3}, {"window": "1d", "rate": "1000/d", "burst": 1000}])
        self.assertEqual([len(user["series"][each]) for each in ("allowed", "denied", "would_deny")], [300] * 3)
        self.assertEqual([sum(user["series"][each]) for each in ("allowed", "denied", "would_deny")], [3, 2, 0])
        self.assertEqual((sum(trial["series"]["would_deny"]), user["series"]["step"]), (4, 1))
        self.assertEqual((told["store"], told["file"]["refused"], told["role"]), (None, None, "admin"))
        code, _, text = get(server, "/v1/status?limit=users")
        self.assertEqual(code, 400)
        self.assertIn("users", text)

    def test_a_thousand_limits(self):
        """Without series and below 64 KiB: the tightest first, and those that find no room are counted."""
        for name in ("l{:03}", "a-limit-with-a-name-as-long-as-names-may-be-for-the-widest-{:04}"):
            rows = "".join(f"  {name.format(n)}: {{ by: [a{n:03}, tenant, address], rate: [10/s burst 1, 100/min, 1000/day] }}\n" for n in range(1000))
            routes = "".join(f'  - {{ when: {{ a{n:03}: "*" }}, limits: [{name.format(n)}] }}\n' for n in range(1000))
            server = self.serve(f"version: 1\nlimits:\n{rows}routes:\n{routes}")
            tight = name.format(700)
            with server.client() as client:
                for _ in range(9):
                    client.ask("WEIR.CHECK", "a700=x", "tenant=t", "address=y")
                client.ask("WEIR.CHECK", "a400=x", "tenant=t", "address=y")
            until(lambda: self.status(server)[0]["limits"][0]["name"] == tight, "the tightest is first")
            told, size = self.status(server)
            self.assertLess(size, 64 << 10)
            self.assertGreater(size, 40 << 10)
            self.assertNotIn("series", told["limits"][0])
            self.assertEqual(told["limits"][1]["name"], name.format(400), "then those that are asked")
            self.assertEqual(len(told["limits"]) + told["limits_left_out"], 1000)
            one, size = self.status(server, f"?limit={tight}")
            self.assertEqual(([each["name"] for each in one["limits"]], sum(one["limits"][0]["series"]["denied"])), ([tight], 8))
            self.assertLess(size, 16 << 10)

    def test_who_may(self):
        hashed = {role: hashlib.sha256(f"a-token-of-{role}".encode()).hexdigest() for role in ("decide", "operate", "admin")}
        users = Folder()
        self.addCleanup(users.__exit__)
        path = users.file("users.yaml", "users:\n" + "".join(f'  {role}: {{ role: {role}, token: "sha256:{its}" }}\n' for role, its in hashed.items()))
        os.chmod(path, 0o600)
        server = self.serve(LIMITS.replace('deny: { user: "@bad" }', "deny: { user: mallory }"), "--users", path)
        self.assertEqual(get(server, "/v1/status")[0], 401)
        self.assertEqual(get(server, "/v1/status", Authorization="Bearer wrong")[0], 401)
        self.assertEqual(get(server, "/v1/status", Authorization="Bearer a-token-of-decide")[0], 403)
        for role in ("operate", "admin"):
            told, _ = self.status(server, Authorization=f"Bearer a-token-of-{role}")
            self.assertEqual((told["role"], told["user"]), (role, role))
        self.assertEqual(get(server, "/")[0], 200, "the page is nothing secret")


class Rules(unittest.TestCase):
    """Those of examples/prometheus."""

    def test_their_own_tests_pass(self):
        for words in (("check", "rules", "weir.rules.yml"), ("test", "rules", "weir.rules_test.yml")):
            done = promtool(*words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_alert_is_seen_to_come(self):
        alerts = re.findall(r"alert: (\w+)", example("prometheus/weir.rules.yml"))
        tests = example("prometheus/weir.rules_test.yml")
        self.assertGreater(len(alerts), 10)
        for each in alerts:
            self.assertRegex(tests, rf"alertname: {each}\n +exp_alerts:\n +- exp_labels", each)

    def test_prometheus_takes_what_the_dashboards_ask(self):
        with Folder() as folder:
            panels = [panel for name in ("grafana/weir.json", "prometheus/objectives.json") for panel in json.loads(example(name))["panels"]]
            asked = [re.sub(r"\$__rate_interval", "5m", target["expr"]) for panel in panels for target in panel.get("targets", ())]
            rules = [{"record": f"asked:{number}", "expr": each} for number, each in enumerate(asked)]
            file = folder.file("rules.json", json.dumps({"groups": [{"name": "asked", "rules": rules}]}))
            done = promtool("check", "rules", file)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Readiness(unittest.TestCase):
    def test_while_it_drains_it_is_alive_and_not_ready(self):
        with Server("--admin", "127.0.0.1:0") as server:
            with server.client() as client:
                client.fill(encode("PING"))  # it takes none of its replies, and is waited for
                server.signal(signal.SIGTERM)
                until(lambda: get(server, "/readyz")[0] == 503, "not ready")
                self.assertEqual(get(server, "/readyz")[2], "draining\n")
                self.assertEqual(get(server, "/healthz")[0], 200)
            self.assertEqual(server.wait(), 0)

    def test_a_store_that_fails_counts_if_asked(self):
        with Server("--admin", "127.0.0.1:0", "--store", "redis://127.0.0.1:1", "--ready-needs-store",
                    "--log-level", "error") as server:
            until(lambda: re.fullmatch(r"the store: .*\n", get(server, "/readyz")[2]), "it has started, and its store has not")
            self.assertEqual(get(server, "/readyz")[0], 503)
            self.assertEqual(get(server, "/healthz")[0], 200)

    def test_ready_needs_store_needs_a_store(self):
        code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--ready-needs-store")
        self.assertEqual(code, 2)
        self.assertIn("--store", errors)


class Health(unittest.TestCase):
    def trace(self, request, pid):
        """ptrace(2): stops one thread of a program, which a signal cannot."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        libc.ptrace.restype = ctypes.c_long
        if libc.ptrace(request, pid, None, None) != 0:
            self.skipTest(f"ptrace: {os.strerror(ctypes.get_errno())}")

    def sleeps(self, thread):
        with open(f"/proc/{thread}/task/{thread}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] == "S"

    def test_an_event_loop_that_does_not_answer(self):
        seize, interrupt, detach, any_child = 0x4206, 0x4207, 17, 0x40000000
        with Server("--threads", "2", "--admin", "127.0.0.1:0") as server:
            until(lambda: get(server, "/healthz")[::2] == (200, "ok\n"), "it is alive")
            self.trace(seize, server.pid)  # the thread of the first loop
            # Stopped while it holds a lock, it would have the others wait too.
            until(lambda: self.sleeps(server.pid), "it has nothing to do")
            self.trace(interrupt, server.pid)
            os.waitpid(server.pid, any_child)
            ill = until(lambda: get(server, "/healthz")[0] == 503 and get(server, "/healthz"), "one loop stands still")
            self.assertRegex(ill[2], r"^event loop 0 has not answered for \d+s\n$")
            self.trace(detach, server.pid)
            until(lambda: get(server, "/healthz")[::2] == (200, "ok\n"), "it is alive again")


class Crowds(unittest.TestCase):
    def crowd(self, server, count, sends=b""):
        where = admin(server).rsplit(":", 1)
        clients = [socket.create_connection(("127.0.0.1", int(where[1])), timeout=PATIENCE) for _ in range(count)]
        for client in clients:
            self.addCleanup(client.close)
            client.sendall(sends)
        return clients

    def test_none_keeps_a_health_check_out(self):
        for sends in (b"", b"GET /metrics HTTP/1.1\r\n"):
            with self.subTest(sends), Server("--admin", "127.0.0.1:0") as server:
                self.crowd(server, 200, sends)
                for _ in range(100):
                    self.assertEqual(get(server, "/healthz")[::2], (200, "ok\n"))

    def test_what_never_asks_is_closed(self):
        with Server("--admin", "127.0.0.1:0", "--stall-timeout", "1s") as server:
            silent, half = self.crowd(server, 20), self.crowd(server, 20, b"GET /metrics HT")
            asked = self.crowd(server, 1, b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")[0]
            self.assertTrue(asked.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n"))
            for client in silent:
                self.assertEqual(client.recv(1), b"")
            for client in half:
                self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 408 "))
            asked.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertTrue(asked.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n"), "one that has asked may be idle")


class Listening(unittest.TestCase):
    def test_an_address_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            where = f"127.0.0.1:{taken.getsockname()[1]}"
            code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--admin", where)
        self.assertEqual(code, 2)
        self.assertIn(f"admin: cannot listen on {where}", errors)

    def test_beyond_this_machine_it_wants_a_token(self):
        code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--admin", "0.0.0.0:0")
        self.assertEqual(code, 2)
        self.assertIn("admin: 0.0.0.0:", errors)
        self.assertIn("--http-token", errors)
        with Server("--admin", "0.0.0.0:0", "--http-token", "secret") as server:
            until(lambda: server.info(), "it has started")
            where = admin(server).replace("0.0.0.0", "127.0.0.1")
            with urllib.request.urlopen(where + "/metrics", timeout=PATIENCE) as answer:
                self.assertEqual(answer.status, 200, "from this machine no token is needed")

    def test_a_unix_socket(self):
        with Folder() as folder:
            path = folder.file("admin.socket")
            with Server("--admin", f"unix:{path}"), socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE)
                client.connect(path)
                client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                self.assertRegex(client.recv(4096), rb"^HTTP/1.1 200 OK\r\n")


if __name__ == "__main__":
    run()
