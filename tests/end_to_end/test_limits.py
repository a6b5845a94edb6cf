"""A limits file served: what each verb answers, and what a change of the file does."""
import hashlib
import json
import os
import signal
import threading
import time
import unittest

from server import PATIENCE, Error, Folder, OneServer, OneServerWithLimits, Server, until, weir
from server import run as run_tests

FILE = """\
version: 1
classes: [critical, default, bulk]
lists:
  partners: [acme, globex]
  bad_nets: { file: bad_nets.txt }
limits:
  edge:
    rate: 20000/s burst 100000
    leave: { default: 20%, bulk: 50% }
    reserve: 25%
  ip:
    by: [ip]
    rate: 50/s burst 100
    deny:  { ip: "@bad_nets" }
    allow: { ip: 10.0.0.0/8 }
  tenant:
    by: [tenant]
    within: edge
    rate: [100/s burst 200, 1000000/day]
    overrides:
      - { when: { tenant: "@partners" }, rate: [400/s burst 800, 5000000/day], guarantee: 200/s burst 100 }
  user:   { by: [tenant, user], within: tenant, rate: 20/min burst 40 }
  search: { by: [tenant], rate: 10/min burst 20, cost: [{ when: { path: "/v1/search/deep*" }, cost: 10 }, { cost: 1 }] }
routes:
  - { when: { path: /healthz }, limits: [] }
  - { when: { tenant: "@partners", batch: "1" }, class: bulk, limits: [edge, user] }
  - { limits: [edge, ip, user, search] }
"""
BAD_NETS = "203.0.113.0/24\n"


class Limits(Folder):
    """A folder with a limits file in it."""

    def __init__(self, text=FILE):
        super().__init__()
        self.file("bad_nets.txt", BAD_NETS)
        self.path_of = self.file("limits.yaml", text)

    def write(self, text):
        """As editors do: another file, then a rename."""
        os.rename(self.file("limits.yaml.new", text), self.path_of)


def fields(row):
    return {row[i].decode(): row[i + 1] for i in range(0, len(row), 2)}


class TestVerbs(OneServerWithLimits):
    limits = FILE
    lists = {"bad_nets.txt": BAD_NETS}

    def test_check_answers_six(self):
        t = self.tenant
        rows = [
            (f"WEIR.CHECK {t} user=1", [0, 20, 19, -1, 6000, b"search"]),
            (f"WEIR.CHECK COST 2 {t} user=1", [0, 20, 17, -1, 18000, b"search"]),
            (f"weir.check class bulk cost 3 {t} user=1 path=/x", [0, 20, 14, -1, 36000, b"search"]),
            (f"WEIR.CHECK {t} user=2 path=/v1/search/deeper", [0, 20, 4, -1, 96000, b"search"]),
            (f"WEIR.LOOK {t} user=2 path=/v1/search/deeper", [1, 20, 4, 36000, 96000, b"search"]),
            (f"WEIR.CHECK {t} user=2 path=/v1/search/deeper", [1, 20, 4, 36000, 96000, b"search"]),
            # Of those that never pass, the first in the order of the route.
            (f"WEIR.CHECK COST 41 {t} user=3", [1, 40, 40, -1, 0, b"user"]),
            (f"WEIR.CHECK COST 21 {t} user=3", [1, 20, 4, -1, 96000, b"search"]),
            (f"WEIR.LOOK {t} user=2", [0, 20, 4, -1, 96000, b"search"]),
            (f"WEIR.CHECK COST 0 {t} user=2", [0, 20, 4, -1, 96000, b"search"]),
            (f"WEIR.CHECK path=/healthz {t}", [0, -1, -1, -1, 0, b""]),
            (f"WEIR.CHECK {t} ip=203.0.113.7", [1, 0, 0, -1, 0, b"ip"]),
            (f"WEIR.LOOK {t} ip=::ffff:203.0.113.7", [1, 0, 0, -1, 0, b"ip"]),
        ]
        for command, answer in rows:
            with self.subTest(command):
                got = self.ask(command)
                if answer[4] and isinstance(got, list):  # it drains while we ask
                    self.assertLessEqual(got[4], answer[4])
                    self.assertGreater(got[4], answer[4] - 5000)
                    got[4] = answer[4]
                    if answer[3] > 0:
                        self.assertLessEqual(got[3], answer[3])
                        self.assertGreater(got[3], answer[3] - 5000)
                        got[3] = answer[3]
                self.assertEqual(got, answer)

    def test_a_pipeline_of_all_kinds_is_answered_in_order(self):
        t = self.tenant
        commands = [f"WEIR.CHECK path=/healthz {t}", f"WEIR.CHECK {t} user=1", "PING", f"WEIR.CHECK {t} x",
                    "CL.THROTTLE k 15 30 60", f"WEIR.CHECK ip=203.0.113.1 {t}", f"WEIR.LOOK {t} user=1", f"WEIR.EXPLAIN {t}"]
        for command in commands * 30:
            self.client.send(*command.split())
        for i in range(30):
            self.assertEqual(self.client.reply(), [0, -1, -1, -1, 0, b""])
            self.assertEqual(self.client.reply()[0], 0 if i < 20 else 1)
            self.assertEqual(self.client.reply(), "PONG")
            self.assertEqual(self.client.reply(), Error("ERR missing '=' after 'x'"))
            self.assertEqual(len(self.client.reply()), 5)
            self.assertEqual(self.client.reply(), [1, 0, 0, -1, 0, b"ip"])
            self.assertEqual(self.client.reply()[5], b"search")
            self.assertEqual(self.client.reply()[0][0], b"route")

    def test_in_multi(self):
        self.ask("MULTI")
        self.ask(f"WEIR.CHECK {self.tenant} user=1")
        self.ask(f"WEIR.CHECK {self.tenant} user")
        self.ask(f"WEIR.EXPLAIN {self.tenant}")
        self.ask(f"WEIR.RESET AS {self.tenant}")
        check, error, explained, forgotten = self.ask("EXEC")
        self.assertEqual(check[:3], [0, 20, 19])
        self.assertEqual(error, Error("ERR missing '=' after 'user'"))
        self.assertEqual(explained[0][0], b"route")
        self.assertGreaterEqual(forgotten, 2)

    def test_explain(self):
        answer = self.ask("WEIR.EXPLAIN COST 3 CLASS critical tenant=globex user=u ip=10.0.0.1")
        self.assertEqual(answer[0], [b"route", 27, b"class", b"critical"])
        rows = [fields(row) for row in answer[1:]]
        told = ["name", "line", "window", "key", "rate", "override_line", "reason", "missing", "penalty_ms", "refunds", "shadow", "verdict"]
        counted = [*told, "cost", "limit", "remaining", "retry_after_ms", "reset_after_ms"]
        self.assertEqual([list(row) for row in rows], [told if row["verdict"] == b"exempt" else counted for row in rows])
        self.assertEqual([(row["name"], row["window"], row["rate"], row["override_line"], row["verdict"]) for row in rows], [
            (b"tenant", b"guarantee", b"200/s burst 100", 21, b"inside"),
            (b"edge", b"1s", b"20000/s burst 100000", -1, b"allowed"),
            (b"ip", b"", b"", -1, b"exempt"),
            (b"tenant", b"1s", b"400/s burst 800", 21, b"allowed"),
            (b"tenant", b"1d", b"5000000/d", 21, b"allowed"),
            (b"user", b"1min", b"20/min burst 40", -1, b"allowed"),
            (b"search", b"1min", b"10/min burst 20", -1, b"allowed")])
        self.assertEqual(rows[5]["key"], b"tenant=globex user=u")
        by_cost = self.ask("WEIR.EXPLAIN COST search=7,tenant=0 tenant=globex user=u")
        self.assertEqual(fields(by_cost[-1])["remaining"], 20)
        self.assertEqual(rows[5]["remaining"], 40)
        self.assertEqual(self.ask("WEIR.LOOK tenant=globex user=u")[2], 20, "nothing was charged")
        self.assertEqual(self.ask("WEIR.EXPLAIN path=/healthz"), [[b"route", 25, b"class", b"default"]])
        denied = self.ask("WEIR.EXPLAIN ip=203.0.113.1")
        self.assertEqual([fields(r)["verdict"] for r in denied[1:]], [b"allowed", b"denied"] + [b"skipped"] * 3)

    def test_explain_tells_a_penalty_and_refunds(self):
        text = ("version: 1\nlimits:\n  login: { by: [user], rate: 9/min, penalty: 15m, refunds: true,\n"
                "           overrides: [{ when: { user: tester }, penalty: 0s }] }\n")
        with Limits(text) as limits, Server("--limits", limits.path_of, "--http", "127.0.0.1:0") as server, server.client() as client:
            row = fields(client.ask("WEIR.EXPLAIN", "user=u")[1])
            self.assertEqual((row["penalty_ms"], row["refunds"]), (900_000, b"true"))
            row = fields(client.ask("WEIR.EXPLAIN", "user=tester")[1])
            self.assertEqual((row["penalty_ms"], row["refunds"], row["override_line"]), (0, b"true", 4))
            self.assertNotIn("penalty_growing", row)

    def test_explain_has_the_same_members_everywhere(self):
        text = ("version: 1\nlimits:\n  a: { by: [user], rate: 9/min, penalty: { for: 15m, growing: 2, most: 1h, then: afresh } }\n"
                "  b: { by: [ip], rate: 9/s, allow: { user: u } }\n")
        with Limits(text) as limits, Server("--limits", limits.path_of, "--http", "127.0.0.1:0") as server, server.client() as client:
            client.ask("WEIR.BAN", "LIMIT", "a", "AS", "user=x", "FOR", "60000", "REASON", "r")
            for user in ("u", "v", "x"):
                resp = [fields(row) for row in client.ask("WEIR.EXPLAIN", f"user={user}")[1:]]
                http = server.post("/v1/explain", {"attributes": {"user": user}})[1]["limits"]
                self.assertEqual([[name.removesuffix("_ms") for name in row] for row in resp], [list(row) for row in http])
                self.assertEqual([row["verdict"].decode() for row in resp], [row["verdict"] for row in http])
                if user == "x":  # a file knows no override
                    continue
                own = json.loads(weir("explain", limits.path_of, f"user={user}", "--json")[1])["checks"]
                self.assertEqual([list(row) for row in own], [list(row) for row in resp])

    def test_explain_tells_how_a_penalty_grows(self):
        text = ("version: 1\nlimits:\n  login: { by: [user], rate: 9/min,\n"
                "           penalty: { for: 15m, growing: 1.5, most: 6h } }\n")
        with Limits(text) as limits, Server("--limits", limits.path_of, "--http", "127.0.0.1:0") as server, server.client() as client:
            row = fields(client.ask("WEIR.EXPLAIN", "user=u")[1])
            self.assertEqual((row["penalty_ms"], row["penalty_growing"], row["penalty_most_ms"]),
                             (900_000, b"1.5", 21_600_000))

    def test_an_attribute_that_the_file_does_not_name_is_an_error(self):
        text = "version: 1\nattributes: [user]\nlimits: { user: { by: [user], rate: 9/min, required: true } }\n"
        with Limits(text) as limits, Server("--limits", limits.path_of) as server, server.client() as client:
            for verb in ("WEIR.CHECK", "WEIR.LOOK", "WEIR.EXPLAIN", "WEIR.RESERVE AS", "WEIR.ACQUIRE MAXWAIT 0 AS",
                         "WEIR.RESET AS"):
                self.assertEqual(client.ask(*verb.split(), "usr=1"), Error("ERR unknown attribute 'usr'; did you mean user?"))
            self.assertEqual(client.ask("WEIR.CHECK", "user=1", "path=/x")[0], 0)
            # Without routes there is no line to name.
            answer = client.ask("WEIR.EXPLAIN", "user=1")
            self.assertEqual(answer[0], [b"route", -1, b"class", b""])
            self.assertEqual(fields(answer[1])["window"], b"1min")

    def test_reset_as(self):
        t = self.tenant
        for _ in range(3):
            self.ask(f"WEIR.CHECK {t} user=1")
        self.assertEqual(self.ask(f"WEIR.RESET AS LIMIT user {t} user=1"), 1)
        self.assertEqual(self.ask(f"WEIR.RESET AS LIMIT user {t} user=1"), 0)
        self.assertEqual(self.ask(f"WEIR.LOOK {t} user=1")[2], 17)
        self.assertGreaterEqual(self.ask(f"WEIR.RESET AS {t} user=1"), 2)
        self.assertEqual(self.ask(f"WEIR.LOOK {t} user=1")[2], 20)
        self.assertEqual(self.ask("WEIR.RESET AS path=/healthz"), 0)

    def test_errors(self):
        rows = [
            ("WEIR.CHECK", "ERR wrong number of arguments for 'weir.check' command"),
            ("WEIR.CHECK user", "ERR missing '=' after 'user'"),
            ("WEIR.CHECK user=1 tenant", "ERR missing '=' after 'tenant'"),
            ("WEIR.CHECK =1", "ERR missing a name before '=1'"),
            ("WEIR.CHECK user=1 user=2", "ERR attribute 'user' is given twice"),
            ("WEIR.CHECK CLASS vip user=1", "ERR unknown class 'vip'; known: critical, default, bulk"),
            ("WEIR.CHECK COST x user=1", "ERR COST: 'x' is not an integer from 0 to 9223372036854775807"),
            ("WEIR.CHECK COST", "ERR missing the value of COST"),
            ("WEIR.CHECK COST 1 COST 2 user=1", "ERR COST is given twice"),
            ("WEIR.CHECK COST 1000000000000000000 tenant=t path=/v1/search/deep",
             "ERR limits.search.cost: 1000000000000000000 x 10 is above 9223372036854775807"),
            ("WEIR.RESET AS LIMIT nosuch user=1", "ERR unknown limit 'nosuch'; known: edge, ip, tenant, user, search"),
            ("WEIR.RESET AS LIMIT user user=1", "ERR limits.user: the request has no attribute 'tenant'"),
            ("WEIR.RESET a b", "ERR wrong number of arguments for 'weir.reset' command"),
            ("WEIR.CONFIG PUT", "ERR unknown subcommand 'put'"),
            ("WEIR.CONFIG SET text", "ERR limits can be set only under weir local --virtual-time; elsewhere: RELOAD"),
            ("WEIR.CONFIG GET it", "ERR wrong number of arguments for 'weir.config|get' command"),
            ("WEIR.CONFIG", "ERR wrong number of arguments for 'weir.config' command"),
            ("WEIR.CHECK " + " ".join(f"a{i}=1" for i in range(65)), "ERR 65 attributes; a request may have at most 64"),
        ]
        for command, error in rows:
            with self.subTest(command):
                self.assertEqual(self.ask(command), Error(error))

    def test_info_and_config_get(self):
        self.assertEqual(self.ask("WEIR.CONFIG GET").decode(), FILE)
        self.assertEqual(self.ask("WEIR.CONFIG CHECK"), [])
        info = self.server.info()
        self.assertEqual(info["file"], self.file)
        self.assertEqual(info["hash"], hashlib.sha256(FILE.encode()).hexdigest())
        self.assertLess(abs(int(info["loaded_at"]) - time.time()), 300)
        self.assertEqual((info["reload_errors"], info["last_error"], info["limits"], info["routes"]), ("0", "", "5", "3"))


class TestWithoutAFile(OneServer):
    def test_says_how_to_give_one(self):
        error = Error("ERR there is no limits file: start weir with --limits FILE")
        with self.server.client() as client:
            for command in ("WEIR.CHECK user=1", "WEIR.LOOK user=1", "WEIR.EXPLAIN user=1", "WEIR.CONFIG GET",
                            "WEIR.CONFIG CHECK", "WEIR.CONFIG RELOAD", "WEIR.RESET AS user=1"):
                self.assertEqual(client.ask(*command.split()), error)
            self.server.signal(signal.SIGHUP)
            until(lambda: "SIGHUP" in self.server.stderr(), "it reads its certificates")
            self.assertEqual(client.ask("PING"), "PONG")

    def test_a_file_with_errors_serves_nothing(self):
        with Limits("version: 1\nlimits:\n  a: { raet: 1/s }\n  b: { rate: 1/s, by: [X] }\n") as folder:
            code, out, err = weir("serve", "--resp", "127.0.0.1:0", "--limits", folder.path_of)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("limits.a.raet: unknown; did you mean rate?", err)
        self.assertIn("limits.yaml:4:", err)
        self.assertIn("cannot be used", err.splitlines()[0])
        with Limits("version: 1\nlimits:\n  a: { rate: 1/s algorithm=sliding_window_log }\n") as folder:
            code, _, err = weir("serve", "--resp", "127.0.0.1:0", "--limits", folder.path_of)
        self.assertEqual(code, 2)
        self.assertIn("limits.a: sliding_window_log cannot be counted by the table of this process; it needs --store", err)
        code, _, err = weir("serve", "--resp", "127.0.0.1:0", "--limits", "/nonexistent/limits.yaml")
        self.assertEqual(code, 2)
        self.assertIn("No such file or directory", err)


SMALL = "version: 1\nlimits:\n  user: { by: [user], rate: %s }\n"


class TestReload(unittest.TestCase):
    def start(self, text=SMALL % "10/h", *flags):
        folder = Limits(text)
        self.addCleanup(folder.__exit__)
        server = Server("--threads", "2", "--limits", folder.path_of, *flags)
        self.addCleanup(server.__exit__, None)
        client = server.client()
        self.addCleanup(client.close)
        return folder, server, client

    def test_by_itself_and_debts_stay(self):
        folder, server, client = self.start()
        self.assertEqual(client.ask("WEIR.CHECK", "COST", 4, "user=1")[:3], [0, 10, 6])
        end = time.monotonic() + PATIENCE  # of all five together
        for burst in (60, 50, 40, 30, 20):
            folder.write(SMALL % f"8/h burst {burst}")
            until(lambda burst=burst: client.ask("WEIR.LOOK", "user=1")[1] == burst, f"a burst of {burst} is in force",
                  end - time.monotonic())
        self.assertEqual(client.ask("WEIR.LOOK", "user=1")[2], 16)
        with open(folder.path_of, "w", encoding="utf-8") as file:  # in place, in two pieces
            file.write("version: 1\nlimits:\n")
            file.flush()
            time.sleep(0.1)
            file.write("  user: { by: [user], rate: 5/h }\n")
        until(lambda: client.ask("WEIR.LOOK", "user=1")[1] == 5, "a file written in place")
        self.assertEqual(client.ask("WEIR.LOOK", "user=1")[2], 1)

    def test_a_config_map_is_swapped_by_a_link(self):
        folder = Limits()
        self.addCleanup(folder.__exit__)
        for version, rate in (("v1", "10/h"), ("v2", "20/h")):
            os.mkdir(os.path.join(folder.path, version))
            folder.file(f"{version}/limits.yaml", SMALL % rate)
        os.remove(folder.path_of)
        os.symlink("v1", os.path.join(folder.path, "..data"))
        os.symlink("..data/limits.yaml", folder.path_of)
        with Server("--limits", folder.path_of) as server, server.client() as client:
            self.assertEqual(client.ask("WEIR.CHECK", "user=1")[1], 10)
            os.symlink("v2", os.path.join(folder.path, "..data_tmp"))
            os.rename(os.path.join(folder.path, "..data_tmp"), os.path.join(folder.path, "..data"))
            until(lambda: client.ask("WEIR.LOOK", "user=1")[1] == 20, "the other version is in force")

    def test_a_list_is_read_again(self):
        folder, server, client = self.start(FILE)
        self.assertEqual(client.ask("WEIR.CHECK", "ip=198.51.100.1")[0], 0)
        folder.file("bad_nets.txt", "198.51.100.0/24\n")
        until(lambda: client.ask("WEIR.LOOK", "ip=198.51.100.1")[0] == 1, "the list is in force")

    def test_an_invalid_file_keeps_the_old_one(self):
        folder, server, client = self.start()
        client.ask("WEIR.CHECK", "COST", 3, "user=1")
        folder.write("version: 1\nlimits:\n  user: { by: [user], rate: 10/x }\n  b: { raet: 1/s }\n")
        until(lambda: server.info()["reload_errors"] != "0", "it has been tried")
        self.assertEqual(client.ask("WEIR.LOOK", "user=1")[:3], [0, 10, 7])
        errors = [each.decode() for each in client.ask("WEIR.CONFIG", "CHECK")]
        self.assertGreaterEqual(len(errors), 2)
        self.assertEqual(client.ask("WEIR.CONFIG", "RELOAD"), Error("ERR " + errors[0]))
        self.assertEqual(server.info()["last_error"], errors[0])
        for error in errors:
            server.says(error)
        self.assertEqual(client.ask("WEIR.CONFIG", "GET").decode(), SMALL % "10/h")
        folder.write(SMALL % "30/h")
        until(lambda: client.ask("WEIR.LOOK", "user=1")[1] == 30, "the mended file is in force")
        self.assertEqual(server.info()["last_error"], "")

    def test_config_reload_and_sighup(self):
        folder, server, client = self.start()
        folder.write(SMALL % "11/h")
        self.client_pipeline(client)
        loaded = int(server.info()["reloads"])
        server.signal(signal.SIGHUP)
        until(lambda: int(server.info()["reloads"]) > loaded, "SIGHUP reads it again, changed or not")
        self.assertEqual(server.process.poll(), None)

    def client_pipeline(self, client):
        client.send("WEIR.CONFIG", "RELOAD")
        client.send("WEIR.CHECK", "user=1")
        self.assertEqual(client.reply(), "OK")
        self.assertEqual(client.reply()[1], 11, "what comes after it goes by the new file")

    def test_what_begins_empty_is_said(self):
        folder, server, client = self.start()
        client.ask("WEIR.CHECK", "COST", 4, "user=1")
        folder.write("version: 1\nlimits:\n  person: { id: user, by: [user], rate: 10/h }\n")
        self.assertEqual(client.ask("WEIR.CONFIG", "RELOAD"), "OK")
        answer = client.ask("WEIR.LOOK", "user=1")
        self.assertEqual((answer[2], answer[5]), (6, b"person"), "id: keeps the debt over a renaming")
        folder.write("version: 1\nlimits:\n  person: { id: user, by: [user], rate: 10/d }\n")
        self.assertEqual(client.ask("WEIR.CONFIG", "RELOAD"), "OK")
        self.assertEqual(client.ask("WEIR.LOOK", "user=1")[2], 10)
        until(lambda: "limits.person: '10/d' begins empty, as its period, its algorithm or `by` is new" in server.stderr(),
              "the log says so")

    def test_a_date_comes_without_a_reload(self):
        until_time = time.gmtime(time.time() + 3)
        text = SMALL % ("1/h, overrides: [ { when: { user: a }, until: " +
                        time.strftime("%Y-%m-%dT%H:%M:%SZ", until_time) + ", rate: 1/h burst 50 } ]")
        folder, server, client = self.start(text)
        self.assertEqual(client.ask("WEIR.LOOK", "user=a")[1], 50)
        until(lambda: client.ask("WEIR.LOOK", "user=a")[1] == 1, "the raise has ended")
        self.assertEqual(server.info()["reloads"], "0")

    def test_hundreds_of_reloads_under_load(self):
        folder, server, client = self.start(SMALL % "10/h burst 50")
        stop = threading.Event()
        wrong, allowed, asked = [], [0] * 4, [0] * 4

        def hammer(which):
            with server.client() as own:
                while not stop.is_set():
                    for i in range(20):
                        own.send("WEIR.CHECK", f"user={i % 5}")
                    for _ in range(20):
                        answer = own.reply()
                        asked[which] += 1
                        if not isinstance(answer, list) or len(answer) != 6 or answer[5] != b"user":
                            wrong.append(answer)
                        elif answer[0] == 0:
                            allowed[which] += 1

        threads = [threading.Thread(target=hammer, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        texts = [SMALL % "10/h burst 50", SMALL % "10/h burst 40", SMALL % "5/h burst 50"]
        reloads = 1000 if os.environ.get("WEIR_LONG") else 250
        for i in range(reloads):
            folder.write(texts[i % len(texts)])
            self.assertEqual(client.ask("WEIR.CONFIG", "RELOAD"), "OK")
        until(lambda: sum(asked) > 1000, "a thousand checks are answered")
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertLessEqual(sum(allowed), 5 * (50 + 1), "no key gets a second burst")
        self.assertGreaterEqual(sum(allowed), 5 * 40)
        self.assertGreaterEqual(int(server.info()["reloads"]), reloads)


if __name__ == "__main__":
    run_tests()
