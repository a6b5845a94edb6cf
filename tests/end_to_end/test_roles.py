"""Who may what: users, their roles, every command and every path by each, listeners that cap them."""
import base64
import contextlib
import hashlib
import http.client
import json
import os
import pty
import re
import signal
import socket
import ssl
import subprocess
import time
import unittest

from server import ROOT, WEIR, Client, Closed, Error, Folder, Server, encode, environment, run, until, weir
from test_tls import Authority

# As `weir ctl hash` makes them, but at a thousandth of the price.
PRICE = 10, 1, 1
TOKENS = {role: f"weir_{role}" for role in ("decide", "operate", "admin")}
TOO_MANY = "ERR too many passwords are being compared; try again in a second"
ROLES = ["none", "decide", "operate", "admin"]


def hash_of(password, price=PRICE):
    log_n, r, p = price
    salt = os.urandom(16)
    made = hashlib.scrypt(password.encode(), salt=salt, n=1 << log_n, r=r, p=p, maxmem=1 << 27, dklen=32)
    return f"scrypt${log_n}${r}${p}${salt.hex()}${made.hex()}"


def digest_of(token):
    return "sha256:" + hashlib.sha256(token.encode()).hexdigest()


def user(role, password=None, token=None, **more):
    fields = {"role": role, **more}
    if password:
        fields["password"] = f'"{hash_of(password)}"'
    if token:
        fields["token"] = f'"{digest_of(token)}"'
    return "{" + ", ".join(f"{name}: {value}" for name, value in fields.items()) + "}"


def users(**each):
    return "users:\n" + "".join(f"  {name}: {text}\n" for name, text in each.items()) if each else "users: {}\n"


THREE = users(**{role: user(role, token=token, password=f"{role}-word") for role, token in TOKENS.items()})
LIMITS = """version: 1
limits:
  user: { rate: 5/min, by: user }
routes: [{ limits: [user] }]
"""

# Every command with words with which it runs, and the role that it needs. A subcommand stands for itself.
COMMANDS = {
    "none": ["AUTH weir_decide", "HELLO", "QUIT", "RESET"],
    "decide": [
        "PING", "ECHO x", "COMMAND COUNT", "COMMAND DOCS", "COMMAND INFO", "CL.THROTTLE k 1 1 1", "RL.THROTTLE k 1 1 1",
        "GCRA k 1 1 1", "WEIR.THROTTLE k 1/s", "WEIR.CHECK user=1", "WEIR.LOOK user=1", "WEIR.RESERVE k 1/s",
        "WEIR.ACQUIRE MAXWAIT 0 k 1/s", "WEIR.LEAVE word", "WEIR.CANCEL id", "WEIR.SETTLE id", "WEIR.EXTEND id 1", "WEIR.MOMENT id",
        "WEIR.CHARGE k 1/s", "WEIR.REFUND k 1/s", "INFO", "TIME", "SELECT 0", "MULTI", "EXEC", "DISCARD", "CONFIG GET save",
        "WEIR.TIME", "WEIR.TIME ADVANCE 1", "WEIR.TIME RESET", "CLIENT ID", "CLIENT GETNAME", "CLIENT SETNAME n",
        "CLIENT SETINFO LIB-NAME x",
        "CLIENT INFO", "CLIENT REPLY ON", "CLIENT NO-EVICT on", "CLIENT NO-TOUCH on"],
    "operate": [
        "WEIR.EXPLAIN user=1", "WEIR.RESET k", "WEIR.CONFIG GET", "WEIR.CONFIG CHECK", "WEIR.CONFIG RELOAD",
        "WEIR.CONFIG SET x", "DEL k",
        "CLIENT LIST", "CLIENT KILL 1.2.3.4:5", "CLIENT UNBLOCK 999999", "SLOWLOG GET", "SLOWLOG LEN", "SLOWLOG RESET",
        "DBSIZE", "LASTSAVE", "BGSAVE"],
    "admin": ["SHUTDOWN LATER"],  # an error of its own
}
# Of other parts of the program: tested where the server has them.
LATER = {"operate": ["WEIR.TOP", "WEIR.USAGE LIMIT user AS user=1", "WEIR.HOLDS LIMIT user AS user=1",
                     "WEIR.BAN LIMIT user FOR 1000 REASON x AS user=1", "WEIR.UNBAN LIMIT user AS user=1",
                     "WEIR.RAISE LIMIT user RATE 6/min FOR 1000 REASON x AS user=1",
                     "WEIR.LOWER LIMIT user RATE 4/min FOR 1000 REASON x AS user=1",
                     "WEIR.SHADOW LIMIT user ON FOR 1000 REASON x", "WEIR.LIFT 1", "WEIR.OVERRIDES"],
         "admin": ["WEIR.AUDIT"]}
ROUTES = {
    "decide": ["POST /v1/check", "POST /v1/look", "POST /v1/reserve", "POST /v1/acquire", "POST /v1/cancel", "POST /v1/settle",
               "POST /v1/extend", "POST /v1/moment", "POST /v1/charge", "POST /v1/refund", "GET /openapi.json"],
    "operate": ["POST /v1/explain", "POST /v1/reset"],
}
ROUTES_LATER = {"operate": ["GET /v1/top", "POST /v1/usage", "POST /v1/holds", "GET /v1/overrides", "POST /v1/overrides",
                            "GET /v1/overrides/1", "DELETE /v1/overrides/1", "GET /v1/status"],
                "admin": ["GET /v1/audit"]}


def request(port, method, path, headers=None, body=None, timeout=10):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body, {**({"Content-Type": "application/json"} if body else {}), **(headers or {})})
        reply = connection.getresponse()
        return reply.status, reply.read().decode(), reply.headers
    finally:
        connection.close()


def bearer(token):
    return {"Authorization": "Bearer " + token}


def basic(name, secret):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()}


class Roles(unittest.TestCase):
    """One server with a user for each role, whose token says so."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.users = cls.folder.file("users.yaml", THREE)
        os.chmod(cls.users, 0o600)
        cls.server = Server("--threads", "2", "--users", cls.users, "--limits", cls.folder.file("limits.yaml", LIMITS),
                            "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0")
        cls.addClassCleanup(cls.server.__exit__, None)

    def client(self, role="none", server=None):
        client = (server or self.server).client()
        self.addCleanup(client.close)
        if role != "none":
            self.assertEqual(client.ask("AUTH", TOKENS[role]), "OK")
        return client

    def forbidden(self):
        text = request(self.server.ports[2], "GET", "/metrics")[1]
        return {role: int(re.search(r'weir_forbidden_total\{role="%s"\} (\d+)' % role, text)[1]) for role in ROLES[1:]}


class TestTable(Roles):
    def rows(self):
        """(command, role), of all that COMMAND lists; it fails for one without a row."""
        docs = self.client("admin").ask("COMMAND", "DOCS")
        listed = {}
        for name, text in zip(docs[::2], docs[1::2]):
            listed[name.decode().upper()] = dict(zip(text[::2], text[1::2]))[b"summary"].decode()
        rows = [(command, role) for table in (COMMANDS, LATER) for role, commands in table.items() for command in commands
                if command.split()[0] in listed]
        self.assertEqual(set(listed), {command.split()[0] for command, _ in rows}, "each command has a row")
        for name, summary in listed.items():
            subcommands = re.match(r"([A-Z-]+(?:\|[A-Z-]+)+):", summary)
            for subcommand in subcommands[1].split("|") if subcommands else ():
                self.assertTrue(any(command.startswith(f"{name} {subcommand}") for command, _ in rows),
                                f"{name} {subcommand} has no row")
        return rows

    def test_every_command_by_each_role(self):
        rows = self.rows()
        before = self.forbidden()
        refused = dict.fromkeys(ROLES, 0)
        for role in ROLES:
            for command, needed in rows:
                if needed == "admin" == role and command == "SHUTDOWN LATER":
                    continue
                with self.subTest(command, role=role):
                    with self.server.client() as client:
                        if role != "none":
                            client.ask("AUTH", TOKENS[role])
                        told = client.ask(*command.split())
                    code = told.split()[0] if isinstance(told, Error) else ""
                    if ROLES.index(role) >= ROLES.index(needed):
                        self.assertNotIn(code, ("NOPERM", "WRONGPASS"))
                        self.assertTrue(code != "NOAUTH" or (command == "HELLO" and role == "none"), told)
                    elif role == "none":
                        # One that shows nothing may send few words.
                        many = len(command.split()) > 10
                        self.assertEqual(told, "ERR Protocol error: unauthenticated multibulk length" if many
                                         else "NOAUTH Authentication required.")
                    else:
                        words = command.split()
                        name = " ".join(words[:2]) if words[0] == "CLIENT" else words[0]
                        self.assertEqual(told, f"NOPERM {role} has the role {role}; {name} needs {needed}")
                        refused[needed] += 1
        self.assertEqual(self.client("admin").ask("SHUTDOWN", "LATER"), "ERR syntax error")
        after = self.forbidden()
        self.assertEqual({role: after[role] - before[role] for role in after},
                         {role: refused[role] for role in after}, "each is counted, and nothing else")

    def test_every_path_by_each_role(self):
        known = set(json.loads(request(self.server.ports[1], "GET", "/openapi.json", bearer(TOKENS["decide"]))[1])["paths"])
        known = {re.sub(r"\{\w+\}", "1", path) for path in known if not path.startswith("/v1/gate")}
        rows = [(route, role) for table in (ROUTES, ROUTES_LATER) for role, routes in table.items() for route in routes]
        self.assertLessEqual(known, {route.split()[1] for route, _ in rows}, "each path has a row")
        for route, needed in rows:
            method, path = route.split()
            body = "{}" if method == "POST" else None
            absent = request(self.server.ports[1], method, path, bearer(TOKENS["admin"]), body)[0] == 404
            if absent and any(route in routes for routes in ROUTES_LATER.values()):
                continue  # this server has not got it yet
            for role in ROLES:
                with self.subTest(route, role=role):
                    status, text, fields = request(self.server.ports[1], method, path,
                                                   bearer(TOKENS[role]) if role != "none" else None, body)
                    if role == "none":
                        self.assertEqual(status, 401)
                        self.assertEqual([each.split()[0] for each in fields.get_all("WWW-Authenticate")], ["Bearer", "Basic"])
                    elif ROLES.index(role) >= ROLES.index(needed):
                        self.assertNotIn(status, (401, 403, 404, 405))
                    else:
                        verb = path.rstrip("/1").rsplit("/", 1)[1].upper()
                        self.assertEqual((status, json.loads(text)), (403, {
                            "title": "Forbidden", "status": 403, "role": needed,
                            "detail": f"{verb} needs the role {needed}; {role} has {role}"}))

    def test_what_is_refused_has_no_effect(self):
        decide, operate = self.client("decide"), self.client("operate")
        self.assertEqual(decide.ask("CL.THROTTLE", "gone?", 0, 1, 3600)[0], 0)
        for words in (["DEL", "gone?"], ["WEIR.RESET", "gone?"]):
            self.assertTrue(decide.ask(*words).startswith("NOPERM "))
        self.assertEqual(decide.ask("CL.THROTTLE", "gone?", 0, 1, 3600)[0], 1)
        number = int(operate.ask("CLIENT", "ID"))
        self.assertTrue(decide.ask("CLIENT", "KILL", "ID", number).startswith("NOPERM "))
        self.assertEqual(operate.ask("PING"), "PONG")
        status = request(self.server.ports[1], "POST", "/v1/reset", bearer(TOKENS["decide"]),
                         '{"key": "gone?"}')[0]
        self.assertEqual(status, 403)
        self.assertEqual(decide.ask("CL.THROTTLE", "gone?", 0, 1, 3600)[0], 1)

    def test_a_transaction_with_one_that_is_refused_runs_nothing(self):
        client = self.client("decide")
        client.ask("CL.THROTTLE", "in-multi", 0, 1, 3600)
        self.assertEqual(client.ask("MULTI"), "OK")
        self.assertEqual(client.ask("CL.THROTTLE", "not-run", 0, 1, 3600), "QUEUED")
        self.assertEqual(client.ask("DEL", "in-multi"), "NOPERM decide has the role decide; DEL needs operate")
        self.assertEqual(client.ask("EXEC"), "EXECABORT Transaction discarded because of previous errors.")
        self.assertEqual(client.ask("CL.THROTTLE", "not-run", 0, 1, 3600)[0], 0)

    def test_metrics_want_any_role_and_health_none(self):
        admin = self.server.ports[2]
        self.assertEqual(request(admin, "GET", "/healthz")[0], 200)
        self.assertEqual(request(admin, "GET", "/readyz")[0], 200)
        self.assertEqual(request(admin, "GET", "/metrics")[0], 200, "from this machine")

    def test_a_credential_in_a_url_is_refused_and_not_logged(self):
        for port in self.server.ports[1:]:
            for query in ("token=h1dden", "a=b&access_token=h1dden", "Password=h1dden", "%74oken=h1dden", "token"):
                with self.subTest(port=port, query=query):
                    path = "/metrics" if port == self.server.ports[2] else "/openapi.json"
                    status, text, _ = request(port, "GET", f"{path}?{query}", bearer(TOKENS["admin"]))
                    self.assertEqual((status, json.loads(text)["detail"]),
                                     (400, "a credential in a URL ends up in logs: send Authorization"))
        self.assertNotIn("h1dden", self.server.stderr())
        self.assertEqual(request(self.server.ports[1], "GET", "/openapi.json?tokens=1", bearer(TOKENS["admin"]))[0], 200)


class TestLogins(Roles):
    def test_passwords_and_tokens(self):
        for words, told in ((["decide-word"], "WRONGPASS"), (["decide", "decide-word"], "OK"), (["decide", TOKENS["decide"]], "OK"),
                            (["operate", TOKENS["decide"]], "WRONGPASS"), ([TOKENS["admin"]], "OK"),
                            (["nobody", TOKENS["decide"]], "OK"), (["default", TOKENS["decide"]], "OK"), ([TOKENS["decide"], ""], "WRONGPASS"),
                            (["nobody", "decide-word"], "WRONGPASS")):
            with self.subTest(words), self.server.client() as client:
                self.assertEqual(client.ask("AUTH", *words).split()[0], told)
                if told == "OK":
                    self.assertEqual(client.ask("PING"), "PONG")
        with self.server.client() as client:
            hello = client.ask("HELLO", "3", "AUTH", "operate", "operate-word", "SETNAME", "me")
            self.assertEqual(hello[b"proto"], 3)
            self.assertEqual(client.ask("CLIENT", "GETNAME"), b"me")
            self.assertIn(b"user=operate ", client.ask("CLIENT", "INFO"))
            self.assertEqual(client.ask("RESET"), "RESET")
            self.assertEqual(client.ask("PING"), "NOAUTH Authentication required.")

    def test_a_token_alone_is_enough_everywhere(self):
        port, token = self.server.port, TOKENS["operate"]
        for words, more in ((("--url", f"weir://{token}@127.0.0.1:{port}"), {}), (("--url", f"weir://:{token}@127.0.0.1:{port}"), {}),
                            (("--url", f"weir://a-program:{token}@127.0.0.1:{port}"), {}), (("--port", port, "--password", token), {}),
                            (("--port", port), {"env": {"WEIR_PASSWORD": token}})):
            for command in (("ctl", "overrides"), ("ctl", "top"), ("top", "--once"), ("check", "a-key", "--limit", "1000/s")):
                if command[0] == "check" and "--url" in words:
                    continue  # it takes --host and --port alone
                with self.subTest(command, words=words):
                    code, out, errors = weir(*command, *words, **more)
                    self.assertEqual((code, errors), (0, ""), out)
        for words in (("-a", token), ("--user", "default", "--pass", token), ("--user", "a-program", "--pass", token)):
            with self.subTest(words):
                told = subprocess.run(["redis-cli", "-p", str(port), "--no-auth-warning", *words, "CLIENT", "LIST"], capture_output=True,
                                      text=True, timeout=30, check=True)
                self.assertIn(" user=operate ", told.stdout, "the token says who it is")
        with self.server.client() as client:
            self.assertEqual(client.ask("HELLO", "3", "AUTH", "default", token)[b"proto"], 3)
        for headers in (bearer(token), basic("", token), basic("default", token), basic("a-program", token), basic("operate", token)):
            with self.subTest(headers):
                self.assertEqual(json.loads(request(self.server.ports[1], "GET", "/v1/status", headers)[1])["user"], "operate")

    def test_what_follows_a_password_waits_for_it(self):
        with self.server.client() as client:
            client.send_bytes(encode("AUTH", "decide", "decide-word") + encode("PING") + encode("DEL", "x"))
            self.assertEqual([client.reply() for _ in range(3)],
                             ["OK", "PONG", "NOPERM decide has the role decide; DEL needs operate"])

    def test_a_password_that_nobody_is_told_of_counts_too(self):
        with self.server.client() as client:
            client.send_bytes(encode("PING"))
            client.reply()
            client.send_bytes(encode("MULTI") + encode("AUTH", "operate", "operate-word") + encode("DISCARD") + encode("DBSIZE"))
            self.assertEqual(client.reply(), "NOAUTH Authentication required.")

    def test_over_http(self):
        port = self.server.ports[1]
        for headers, status in ((None, 401), (basic("decide", "decide-word"), 200), (basic("decide", "other-word"), 401),
                                (basic("decide", TOKENS["decide"]), 200), (bearer("decide-word"), 401),
                                (bearer(TOKENS["operate"]), 200)):
            with self.subTest(headers):
                self.assertEqual(request(port, "GET", "/openapi.json", headers)[0], status)

    def test_pipelined_requests_wait_for_the_password_of_the_first(self):
        """Bodies in pieces and in chunks too: what is judged by its head is judged again, whole."""
        auth = basic("operate", "operate-word")["Authorization"]
        fresh = users(operate=user("operate", password="operate-word"))
        with Folder() as folder:
            path = folder.file("users.yaml", fresh)
            os.chmod(path, 0o600)
            for pieces in (False, True):
                with self.subTest(pieces=pieces), Server("--users", path, "--http", "127.0.0.1:0") as server:
                    body = b'{"key": "a", "limit": "5/min"}'
                    post = (f"POST /v1/check HTTP/1.1\r\nHost: a\r\nAuthorization: {auth}\r\n"
                            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode()
                    chunked = (f"POST /v1/check HTTP/1.1\r\nHost: a\r\nAuthorization: {auth}\r\nContent-Type: application/json\r\n"
                               f"Transfer-Encoding: chunked\r\n\r\n").encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
                    none = b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n"
                    with server_socket(server.ports[1]) as connection:
                        if pieces:
                            connection.sendall(post)
                            time.sleep(0.05)
                            connection.sendall(body + chunked + none)
                        else:
                            connection.sendall(post + body + chunked + none)
                        replies = read_replies(connection, 3)
                    self.assertEqual([status for status, _ in replies], [200, 200, 401])
                    self.assertEqual([json.loads(text)["remaining"] for _, text in replies[:2]], [4, 3])

    def test_a_wrong_password_is_refused_by_the_head_alone(self):
        with server_socket(self.server.ports[1]) as connection:
            auth = basic("operate", "no")["Authorization"]
            connection.sendall(f"POST /v1/check HTTP/1.1\r\nHost: a\r\nAuthorization: {auth}\r\nContent-Length: 1000000\r\n\r\n".encode())
            self.assertEqual(read_replies(connection, 1)[0][0], 401)
            self.assertEqual(connection.recv(1), b"", "and the connection ends")


def server_socket(port):
    return socket.create_connection(("127.0.0.1", port), 10)


def read_replies(connection, count):
    data, replies = b"", []
    while len(replies) < count:
        chunk = connection.recv(1 << 16)
        if not chunk:
            raise Closed()
        data += chunk
        while b"\r\n\r\n" in data:
            head, rest = data.split(b"\r\n\r\n", 1)
            length = int(re.search(rb"Content-Length: (\d+)", head)[1])
            if len(rest) < length:
                break
            replies.append((int(head.split()[1]), rest[:length].decode()))
            data = rest[length:]
    return replies


class Changing(unittest.TestCase):
    """A users file that the test changes."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)

    def write(self, text):
        path = self.folder.file("users.new", text)
        os.chmod(path, 0o600)
        self.path = os.path.join(self.folder.path, "users.yaml")
        os.replace(path, self.path)
        return self.path

    def serve(self, *args, **options):
        return Server("--users", self.path, *args, **options)


class TestReload(Changing):
    def test_a_role_that_is_lost_is_lost_at_the_next_command(self):
        self.write(users(ann=user("operate", token="tok")))
        with self.serve("--http", "127.0.0.1:0") as server, server.client() as client, server.client() as queued:
            self.assertEqual(client.ask("AUTH", "tok"), "OK")
            self.assertIsInstance(client.ask("DBSIZE"), int)
            self.assertEqual(queued.ask("AUTH", "tok"), "OK")
            queued.ask("MULTI")
            queued.ask("DEL", "x")
            queued.ask("PING")
            self.write(users(ann=user("decide", token="tok")))
            refused = "NOPERM ann has the role decide; DBSIZE needs operate"
            until(lambda: client.ask("DBSIZE") == refused, "it is read again")
            self.assertEqual(client.ask("PING"), "PONG")
            told = queued.ask("EXEC")
            self.assertEqual(told, [Error("NOPERM ann has the role decide; DEL needs operate"), "PONG"],
                             "as Redis: what was queued with a role that is gone is refused when it runs")
            self.assertEqual(request(server.ports[1], "POST", "/v1/reset", bearer("tok"), '{"key": "a"}')[0], 403)
            self.write("users:\n  ann: {role: decide, token: nothing}\n")
            until(lambda: "stays in force" in server.stderr(), "errors are told")
            server.says("users.yaml:2:30: users.ann.token: is not sha256: and the 64")
            self.assertEqual(client.ask("PING"), "PONG")
            self.write(users())
            until(lambda: client.ask("PING") == "NOAUTH Authentication required.", "ann is not a user any more")
            self.assertEqual(request(server.ports[1], "GET", "/openapi.json", bearer("tok"))[0], 401)

    def test_a_pipe_or_a_file_that_others_may_read(self):
        self.write(users(ann=user("decide", token="tok")))
        os.chmod(self.path, 0o644)
        with self.serve() as server, server.client() as client:
            server.says("others than its owner may read or write it; chmod 600 is meant for it")
            client.ask("AUTH", "tok")
            os.unlink(self.path)
            os.mkfifo(self.path)
            until(lambda: "Not a regular file" in server.stderr(), "a pipe is not read")
            self.assertEqual(client.ask("PING"), "PONG")
            os.unlink(self.path)
            with open(self.path, "w") as big:
                big.truncate(1 << 30)
            until(lambda: "(16 MiB) are not read" in server.stderr(), "nor is what is too large")
            self.assertEqual(client.ask("PING"), "PONG")
        os.chmod(self.path, 0o600)
        code, out, errors = weir("serve", "--resp", "127.0.0.1:0", "--users", self.path)
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(errors, f"weir: users: '{self.path}' cannot be used\n{self.path}: more than 16777216 bytes (16 MiB) are not read\n")

    def test_what_the_settings_say_stays_admin(self):
        self.write(users(ann=user("decide", token="tok")))
        with self.serve("--http", "127.0.0.1:0", env={"WEIR_PASSWORD": "pw", "WEIR_HTTP_TOKEN": "ht"}) as server:
            with server.client() as client:
                self.assertEqual(client.ask("AUTH", "pw"), "OK")
                self.assertIsInstance(client.ask("DBSIZE"), int)
            self.assertEqual(request(server.ports[1], "POST", "/v1/reset", bearer("ht"), '{"key": "a"}')[0], 200)
            self.assertEqual(request(server.ports[1], "POST", "/v1/reset", bearer("tok"), '{"key": "a"}')[0], 403)
        self.write(users(default=user("decide", token="tok")))
        code, _, errors = weir("serve", "--users", self.path, env={"WEIR_PASSWORD": "pw"})
        self.assertEqual((code, "is the --user whose password is --password" in errors), (2, True))


class TestFlood(Changing):
    def test_ten_thousand_reconnects_cost_a_hash_each_user(self):
        """Counted by the process' own time: a hash of this price is some 100 ms, ten thousand would be a quarter of an hour."""
        price = 14, 8, 5
        passwords = {f"u{i}": f"word-{i}" for i in range(4)}
        self.write("users:\n" + "".join(
            f'  {name}: {{role: decide, password: "{hash_of(word, price)}"}}\n' for name, word in passwords.items()))
        began = time.process_time()
        hashlib.scrypt(b"x", salt=b"saltsalt", n=1 << 14, r=8, p=5, maxmem=1 << 27)
        one = time.process_time() - began
        with self.serve("--threads", "2", "--stall-timeout", "120s") as server:
            rounds = 10_000 if os.environ.get("WEIR_LONG") else 2_000
            for first in range(0, rounds, 200):
                clients = [server.client(timeout=120) for _ in range(200)]
                for number, client in enumerate(clients):
                    name = f"u{(first + number) % 4}"
                    client.send("AUTH", name, passwords[name])
                for number, client in enumerate(clients):
                    name, answer = f"u{(first + number) % 4}", client.reply()
                    client.close()
                    while answer == TOO_MANY:  # it has waited for 5 s, on a busy machine, and was closed
                        with server.client(timeout=120) as again:
                            answer = again.ask("AUTH", name, passwords[name])
                    self.assertEqual(answer, "OK")
            # 4 hashes, and what a connection costs.
            self.assertLess(server.cpu_seconds(), rounds * one / 10, "not a tenth of a hash each")

    def test_all_of_a_flood_are_answered_and_another_address_gets_in(self):
        self.write(users(ann=f'{{role: decide, password: "{hash_of("right", (14, 8, 5))}"}}'))
        with self.serve("--threads", "1", "--stall-timeout", "1s") as server:
            guessers = [server_socket(server.port) for _ in range(130)]
            for number, guesser in enumerate(guessers):
                guesser.sendall(encode("AUTH", "ann", f"wrong-{number}"))
            answer = None
            while answer in (None, f"-{TOO_MANY}\r\n".encode()):  # it has waited for 5 s, on a busy machine, and was closed
                with contextlib.closing(socket.create_connection(("127.0.0.1", server.port), 120, ("127.0.0.2", 0))) as operator:
                    operator.sendall(encode("AUTH", "ann", "right"))
                    answer = operator.recv(100)
            self.assertEqual(answer, b"+OK\r\n")
            answers = set()
            for guesser in guessers:
                answers.add(guesser.recv(4096)[:25])
                guesser.close()
            self.assertLessEqual(answers, {b"-WRONGPASS invalid userna", b"-ERR too many passwords a"})

    def test_a_flood_of_wrong_ones_stalls_nobody(self):
        """The loop answers each PING in its next turn, however many passwords wait: none of them is on it."""
        self.write(users(ann=f'{{role: decide, password: "{hash_of("right", (14, 8, 5))}", token: "{digest_of("tok")}"}}'))
        killed = {"expect_exit": (-signal.SIGKILL,)}
        with self.serve("--threads", "1", "--http", "127.0.0.1:0", **killed) as server, server.client() as other:
            other.ask("AUTH", "tok")
            guessers = [server_socket(server.ports[number % 2]) for number in range(400)]
            for number, guesser in enumerate(guessers):
                wrong = f"wrong-{number}"
                guesser.sendall(encode("AUTH", "ann", wrong) if number % 2 == 0 else
                                f"GET /openapi.json HTTP/1.1\r\nHost: a\r\nAuthorization: {basic('ann', wrong)['Authorization']}\r\n\r\n".encode())
            self.assertEqual(guessers[398].recv(4096), f"-{TOO_MANY}\r\n".encode(),
                             "256 of an address may wait")
            told = guessers[399].recv(4096)
            self.assertIn(b" 503 ", told)
            self.assertIn(b"Retry-After: 1\r\n", told)
            self.assertIn(b"too many passwords are being compared; try again in a second", told)
            # Two are compared all this time, and more wait than could be: each PING passes them all.
            asked = [other.ask("PING") for _ in range(200)]
            self.assertEqual(asked, ["PONG"] * 200)
            with server.client() as fresh:
                self.assertEqual(fresh.ask("AUTH", "tok"), "OK", "a token takes no hash")
            compared = 0
            for guesser in guessers[:-2]:
                guesser.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    answer = guesser.recv(4096)  # on a busy machine some have waited for 5 s and are told so
                    compared += answer.startswith(b"-WRONGPASS") or b" 401 " in answer
                guesser.close()
            self.assertLess(compared, 298, "others wait yet, so all of this came before them")
            info = dict(line.split(b":", 1) for line in other.ask("INFO", "stats").split(b"\r\n") if b":" in line)
            self.assertGreaterEqual(int(info[b"auth_refused"]), 2)
            server.signal(signal.SIGKILL)  # it would compare all the others first


class TestCaps(Changing):
    def test_a_listener_has_a_most(self):
        self.write(users(root=user("admin", token="tok")))
        by_path = self.folder.file("sock")
        http_path = self.folder.file("http.sock")
        with self.serve("--resp", "127.0.0.1:0=operate", "--unix-socket", by_path + "=decide", "--http", "127.0.0.1:0=decide",
                        "--http", f"unix:{http_path}", "--admin", "127.0.0.1:0=operate", resp=("127.0.0.1:0",)) as server:
            with server.client() as client:
                client.ask("AUTH", "tok")
                self.assertEqual(client.ask("SHUTDOWN", "LATER"), "ERR syntax error")
            with Client(server.ports[1]) as client:
                client.ask("AUTH", "tok")
                self.assertEqual(client.ask("SHUTDOWN", "LATER"), "NOPERM root has the role operate here; SHUTDOWN needs admin")
                self.assertIsInstance(client.ask("DBSIZE"), int)
            with Client(by_path) as client:
                client.ask("AUTH", "tok")
                self.assertEqual(client.ask("DBSIZE"), "NOPERM root has the role decide here; DBSIZE needs operate")
            status, text, _ = request(server.ports[2], "POST", "/v1/reset", bearer("tok"), '{"key": "a"}')
            self.assertEqual((status, json.loads(text)["detail"]), (403, "RESET needs the role operate; root has decide here"))

    def test_without_users_a_listener_has_one_too(self):
        with Server(resp=("127.0.0.1:0=decide",)) as server, server.client() as client:
            self.assertEqual(client.ask("PING"), "PONG")
            self.assertEqual(client.ask("DEL", "x"), "NOPERM a client without a name has the role decide here; DEL needs operate")

    def test_other_words_are_not_roles(self):
        for flag, address, told in (("--resp", "127.0.0.1:0=root", "resp: 'root' after '=' is not a role: decide, operate or admin"),
                                    ("--http", "unix:/tmp/x=none", "http: 'none' after '=' is not a role: decide, operate or admin"),
                                    ("--unix-socket", "/tmp/a=b", "unix-socket: 'b' after '=' is not a role: decide, operate or admin"),
                                    ("--rls", "127.0.0.1:0=decide", "rls: '127.0.0.1:0=decide' is not HOST:PORT with a port from 0 "
                                     "to 65535, as in 127.0.0.1:6390")):
            with self.subTest(flag):
                code, out, errors = weir("serve", flag, address)
                self.assertEqual((code, out, errors), (2, "", f"weir: {told}\n"))


class TestCertificates(Changing):
    def test_a_certificate_says_who_it_is(self):
        authority, other = Authority(self.folder, "authority"), Authority(self.folder, "other")
        certificate, key = authority.issue("localhost")
        self.write(users(ann=user("operate", certificate="ann.example"), bob=user("admin", token="tok")))
        tls = ["--tls-cert", certificate, "--tls-key", key]
        with self.serve("--threads", "2", "--http", "127.0.0.1:0", *tls, "--tls-ca", authority.certificate) as server:
            def trust(name):
                context = ssl.create_default_context(cafile=authority.certificate)
                context.load_cert_chain(*authority.issue(name))
                return context
            with server.client(tls=trust("ann.example")) as client:
                self.assertIsInstance(client.ask("DBSIZE"), int)
                self.assertIn(b"user=ann ", client.ask("CLIENT", "INFO"))
                self.assertEqual(client.ask("SHUTDOWN", "LATER"), "NOPERM ann has the role operate; SHUTDOWN needs admin")
                self.assertEqual(client.ask("AUTH", "tok"), "OK")
                self.assertEqual(client.ask("SHUTDOWN", "LATER"), "ERR syntax error")
                self.assertEqual(client.ask("RESET"), "RESET")
                self.assertIsInstance(client.ask("DBSIZE"), int, "ann again")
                self.write(users(ann=user("decide", certificate="ann.example")))
                until(lambda: isinstance(client.ask("DBSIZE"), Error), "her role is another")
            with server.client(tls=trust("eve.example")) as client:
                self.assertEqual(client.ask("PING"), "NOAUTH Authentication required.")
            connection = http.client.HTTPSConnection("localhost", server.ports[1], context=trust("ann.example"), timeout=10)
            connection.request("GET", "/openapi.json")
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()
        code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--users", self.path, *tls)
        self.assertEqual((code, "certificate: names nobody without --tls-ca" in errors), (2, True), errors)


class TestCtl(unittest.TestCase):
    def test_a_password_is_hashed(self):
        for given in (b"hunter2\n", b"hunter2", b"hunter2\r\n"):
            done = subprocess.run([WEIR, "ctl", "hash"], input=given, capture_output=True, timeout=20, env=environment())
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.check(done.stdout.decode(), "hunter2")
        for given, told in ((b"", "the password is empty"), (b"a\nb\n", "standard input: more than one line; a password is one"),
                            (b"x" * 1025, "a password has at most 1024 bytes")):
            done = subprocess.run([WEIR, "ctl", "hash"], input=given, capture_output=True, timeout=20, env=environment())
            self.assertEqual((done.returncode, done.stdout, done.stderr.decode()), (2, b"", f"weir: {told}\n"))

    def check(self, line, password):
        salt, made = re.fullmatch(r'password: "scrypt\$14\$8\$5\$([0-9a-f]{32})\$([0-9a-f]{64})"\n', line).groups()
        self.assertEqual(made, hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), n=1 << 14, r=8, p=5, maxmem=1 << 27,
                                              dklen=32).hex())

    def test_at_a_terminal_it_is_asked_for_twice_and_not_shown(self):
        for second, code in (("hunter2", 0), ("hunter3", 2)):
            ours, theirs = pty.openpty()
            with subprocess.Popen([WEIR, "ctl", "hash"], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=environment()) as asked:
                os.close(theirs)
                shown = self.answer(ours, b"password: ", b"hunter2\n") + self.answer(ours, b"once more: ", second.encode() + b"\n")
                out = asked.stdout.read().decode()
                self.assertEqual(asked.wait(20), code)
            os.close(ours)
            self.assertNotIn(b"hunter", shown)
            if code == 0:
                self.check(out, "hunter2")
            else:
                self.assertEqual(out, "")

    def answer(self, terminal, prompt, line):
        shown = b""
        while prompt not in shown:
            shown += os.read(terminal, 4096)
        os.write(terminal, line)
        return shown

    def test_a_token_is_made(self):
        made = set()
        for _ in range(3):
            code, out, errors = weir("ctl", "token")
            self.assertEqual((code, errors), (0, ""))
            token, line = out.splitlines()
            self.assertRegex(token, r"^weir_[a-z2-7]{32}$")
            self.assertEqual(line, f'token: "{digest_of(token)}"')
            made.add(token)
        self.assertEqual(len(made), 3)

    def test_the_example_for_packages_is_read(self):
        path = os.path.join(os.environ.get("WEIR_SOURCE", ROOT), "packaging/users.yaml")
        with Folder() as folder, open(path) as text:
            copy = folder.file("users.yaml", text.read())
            os.chmod(copy, 0o600)
            with Server("--users", copy) as server, server.client() as client:
                server.says("is in force")
                self.assertEqual(client.ask("PING"), "NOAUTH Authentication required.")


class TestMany(Changing):
    def test_ten_thousand_users(self):
        self.write("users:\n" + "".join(f'  u{i}: {{role: decide, token: "{digest_of(f"t{i}")}"}}\n' for i in range(10_000)))
        with self.serve() as server, server.client() as client:
            server.says("10000 users")
            self.assertEqual(client.ask("AUTH", "t9999"), "OK")
            self.assertIn(b"user=u9999 ", client.ask("CLIENT", "INFO"))


if __name__ == "__main__":
    run()
