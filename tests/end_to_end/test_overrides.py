"""Overrides at run time: bans, raises, lowers, shadows; over RESP, HTTP, the gate and RLS; kept over restarts."""
import json
import os
import resource
import signal
import time
import unittest
import urllib.error
import urllib.request

from server import Folder, OneServerWithLimits, Server, until, run as run_tests, weir

FILE = """\
version: 1
limits:
  user: { by: [user], rate: 5/min burst 5, allow: { ip: 10.0.0.0/8 } }
  tenant: { by: [tenant], rate: [100/s burst 200, 1000/day] }
  line: { by: [line], rate: 2/min burst 1, max_wait: 60s }
  slots: { by: [slots], in_flight: 1, hold: { ttl: 30s }, max_wait: 60s }
  list: { by: [list], deny: { list: x } }
routes:
  - { when: { line: "*" }, limits: [line] }
  - { when: { slots: "*" }, limits: [slots] }
  - { when: { list: "*" }, limits: [list] }
  - { limits: [tenant, user] }
gateways:
  g: { from: x-original, attributes: { user: header.x-user } }
"""
NO_FILE = "ERR there is no limits file: start weir with --limits FILE"


def rows(client, *words):
    """Of WEIR.OVERRIDES, each as a dictionary."""
    listed = client.ask("WEIR.OVERRIDES", *words)
    told = [dict(zip(row[::2], row[1::2])) for row in listed]
    return [{k.decode(): v.decode() if isinstance(v, bytes) else v for k, v in row.items()} for row in told]


def ban(client, *selector, limit="user", ms=60_000, reason="scraping"):
    return client.ask("WEIR.BAN", "LIMIT", limit, "FOR", ms, "REASON", reason, "AS", *selector)


class TestOverRespAndHttp(OneServerWithLimits):
    limits = FILE
    flags = ("--http", "127.0.0.1:0")

    def http(self, method, path, body=None, **headers):
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.ports[1]}{path}", data,
                                         {"Content-Type": "application/json", **headers}, method=method)
        try:
            with urllib.request.urlopen(request) as reply:
                text = reply.read()
                return reply.status, json.loads(text) if text else None, reply.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error), error.headers

    def denied(self, *words):
        return self.client.ask("WEIR.CHECK", *words)[0] == 1

    def test_a_ban_is_of_one_and_ends(self):
        number = ban(self.client, "user=ann", ms=2500)
        self.assertGreater(number, 0)
        verdict, limit, remaining, retry, _, by = self.client.ask("WEIR.CHECK", "user=ann", "tenant=t")
        self.assertEqual((verdict, limit, remaining, by), (1, 0, 0, b"user"))
        self.assertTrue(0 < retry <= 2500)
        self.assertTrue(self.denied("user=ann", "ip=10.0.0.1"), "`allow` does not help")
        self.assertEqual(self.client.ask("WEIR.RESERVE", "MAXWAIT", 60_000, "AS", "user=ann")[5], None)
        self.assertFalse(self.denied("user=anna", "tenant=t"))
        # What the ban turned away was charged to nobody.
        day = self.client.ask("WEIR.EXPLAIN", "tenant=t")[2]
        self.assertEqual(day[day.index(b"remaining") + 1], 999)
        until(lambda: not self.denied("user=ann"), "the ban has ended")
        self.assertEqual(rows(self.client, "LIMIT", "user", "AFTER", number - 1, "COUNT", 1), [])
        self.assertEqual(self.client.ask("WEIR.LIFT", number), 0)

    def test_the_same_again_replaces_it_and_unban_ends_it(self):
        first = ban(self.client, "user=bob", "ip=192.0.2.1")
        second = ban(self.client, "ip=192.0.2.1", "user=bob", reason="still")
        [row] = [each for each in rows(self.client) if "user=bob" in each["when"]]
        self.assertEqual(row["number"], second)
        self.assertGreater(second, first)
        self.assertEqual(self.client.ask("WEIR.UNBAN", "LIMIT", "user", "AS", "user=bob"), 0)
        self.assertEqual(self.client.ask("WEIR.UNBAN", "LIMIT", "user", "AS", "user=bob", "ip=192.0.2.1"), 1)
        self.assertEqual(self.client.ask("WEIR.UNBAN", "LIMIT", "user", "AS", "user=bob", "ip=192.0.2.1"), 0)

    def test_a_row_says_all(self):
        number = self.client.ask("WEIR.RAISE", "LIMIT", "tenant", "RATE", "300/s burst 600", "rate", "unlimited/day",
                                 "UNTIL", "2100-01-02T03:04:05Z", "REASON", "a launch", "AS", "tenant=acme", "plan=g*")
        row = next(each for each in rows(self.client) if each["number"] == number)
        self.assertEqual(list(row), ["number", "kind", "limit", "when", "rate", "until", "reason", "user", "set_at",
                                     "durable"])
        del row["set_at"]
        self.assertEqual(row, {"number": number, "kind": "raise", "limit": "tenant", "when": "tenant=acme plan=g*",
                               "rate": "300/s burst 600, unlimited/day", "until": "2100-01-02T03:04:05.000Z",
                               "reason": "a launch", "user": "-", "durable": 0})
        route, *explained = self.client.ask("WEIR.EXPLAIN", "tenant=acme", "plan=gold")
        first = dict(zip(explained[0][::2], explained[0][1::2]))
        self.assertEqual((first[b"rate"], first[b"override"], first[b"override_reason"], first[b"override_user"],
                          first[b"override_until"]),
                         (b"300/s burst 600", number, b"a launch", b"-", b"2100-01-02T03:04:05.000Z"))
        self.assertNotIn(b"override", self.client.ask("WEIR.EXPLAIN", "tenant=acme", "plan=silver")[1])
        self.assertEqual(self.client.ask("WEIR.CHECK", "tenant=acme", "plan=gold")[1], 600)
        self.assertEqual(self.client.ask("WEIR.LIFT", number, "REASON", "over"), 1)

    def test_a_shadow_counts_and_denies_nobody(self):
        number = self.client.ask("WEIR.SHADOW", "LIMIT", "list", "ON", "FOR", 60_000, "REASON", "who is it?")
        self.assertFalse(self.denied("list=x"))
        self.assertGreater(ban(self.client, "list=x", limit="list"), 0)
        self.assertTrue(self.denied("list=x"), "a ban beats it")
        self.assertEqual(self.client.ask("WEIR.LIFT", number), 1)
        self.assertEqual(self.client.ask("WEIR.UNBAN", "LIMIT", "list", "AS", "list=x"), 1)
        self.assertTrue(self.denied("list=x"))

    def test_those_who_wait_are_denied_and_what_they_were_charged_goes_back(self):
        for kind in ("line", "slots"):
            key = f"{kind}=ban"
            held = self.client.ask("WEIR.RESERVE", "HOLD", 30_000, "MAXWAIT", 0, "AS", key) if kind == "slots" else None
            if held is None:
                self.assertFalse(self.denied(key))
            with self.server.client() as waits, self.server.client() as other:
                waits.send("WEIR.ACQUIRE", "MAXWAIT", 50_000, "AS", key)
                other.send("WEIR.ACQUIRE", "MAXWAIT", 50_000, "AS", f"{kind}=ban2")
                until(self.waiters, "one waits")
                self.assertGreater(ban(self.client, key, limit=kind), 0)
                verdict, limit, remaining, wait, _, id, by = waits.reply()
                self.assertEqual((verdict, limit, remaining, id, by), (1, 0, 0, None, kind.encode()))
                self.assertTrue(50_000 < wait <= 60_000, wait)
                self.assertEqual(other.reply()[0], 0, "the other had its moment at once")
            self.assertEqual(self.client.ask("WEIR.UNBAN", "LIMIT", kind, "AS", key), 1)
            if kind == "line":
                self.assertTrue(20_000 < self.client.ask("WEIR.LOOK", key)[3] <= 30_000, "one unit is owed")
            else:
                self.assertGreaterEqual(self.client.ask("WEIR.SETTLE", held[5]), 0, "a slot that is open stays")

    def waiters(self):
        return int(self.server.info()["blocked_clients"])

    def test_http(self):
        status, told, headers = self.http("POST", "/v1/overrides", {
            "kind": "ban", "limit": "user", "when": {"user": "eve", "plan": "f*"}, "for": 3600, "reason": "ä & <b>"})
        self.assertEqual(status, 201)
        path = headers["Location"]
        self.assertEqual(path, f"/v1/overrides/{told['number']}")
        self.assertEqual((told["kind"], told["limit"], told["when"], told["rate"], told["reason"], told["user"],
                          told["durable"]),
                         ("ban", "user", {"user": "eve", "plan": "f*"}, None, "ä & <b>", "-", False))
        self.assertEqual(self.http("GET", path)[1], told)
        self.assertIn(told, self.http("GET", "/v1/overrides?limit=user")[1]["overrides"])
        status, answer, headers = self.http("POST", "/v1/check", {"attributes": {"user": "eve", "plan": "free"}})
        self.assertEqual((status, answer["type"], answer["title"], answer["by"], answer["verdict"], answer["limit"]),
                         (429, "https://iana.org/assignments/http-problem-types#abnormal-usage-detected",
                          "Request not satisfied due to detection of abnormal request pattern", "user", "denied", 0))
        self.assertTrue(3500 < answer["retry_after"] <= 3600)
        self.assertTrue(3500 < int(headers["Retry-After"]) <= 3600)
        explained = self.http("POST", "/v1/explain", {"attributes": {"user": "eve", "plan": "free"}})[1]["limits"]
        self.assertEqual(explained[-1]["override"], told["number"])
        self.assertEqual(explained[-1]["override_reason"], "ä & <b>")
        self.assertEqual(self.http("DELETE", path + "?reason=enough")[0], 204)
        self.assertEqual(self.http("DELETE", path)[0], 404)
        self.assertEqual(self.http("GET", path)[0], 404)
        self.assertEqual(self.http("GET", "/v1/overrides/x")[0], 404)
        self.assertEqual(self.http("PUT", path)[2]["Allow"], "GET, HEAD, DELETE, OPTIONS")
        status, answer, _ = self.http("POST", "/v1/check", {"attributes": {"user": "eve", "plan": "free"}})
        self.assertEqual(status, 200)

    def test_http_lists_page_by_page(self):
        numbers = [ban(self.client, f"user=page{i}") for i in range(5)]
        seen, after = [], numbers[0] - 1
        while True:
            page = self.http("GET", f"/v1/overrides?limit=user&count=2&after={after}")[1]
            seen += [each["number"] for each in page["overrides"]]
            if not page["more"]:
                break
            after = seen[-1]
        self.assertEqual([each for each in seen if each in numbers], numbers)

    def test_http_says_what_is_wrong(self):
        good = {"kind": "raise", "limit": "tenant", "when": {"tenant": "a"}, "rate": ["200/s burst 200"], "for": 60,
                "reason": "r"}

        def wrong(**changes):
            body = {**good, **changes}
            status, answer, _ = self.http("POST", "/v1/overrides", {k: v for k, v in body.items() if v != "none"})
            self.assertEqual(status, 400)
            return [f"{each['pointer']}: {each['detail']}" for each in answer.get("errors", [])] or answer["detail"]

        self.assertEqual(wrong(kind="kick"), ["/kind: is none of: ban, raise, lower, shadow_on, shadow_off"])
        self.assertEqual(wrong(limit="none"), [": missing 'limit'"])
        self.assertEqual(wrong(limit="tenants"), ["/limit: unknown limit 'tenants'; did you mean tenant?"])
        self.assertEqual(wrong(when="none"), [": missing 'when': attributes with their values, or \"all\""])
        self.assertEqual(wrong(when={}), ["/when: names no attribute; \"all\" is everybody"])
        self.assertEqual(wrong(when=7), ["/when: must be an object, or \"all\""])
        self.assertEqual(wrong(when={"tenant": 1}), ["/when/tenant: must be a text"])
        self.assertEqual(wrong(rate="200/s"), ["/rate: must be a list of texts"])
        self.assertEqual(wrong(rate=[]), ["/rate: missing: a rate such as 100/s burst 200"])
        self.assertEqual(wrong(rate=["50/s burst 50"]),
                         "tenant, 1s: 50/s burst 50 is lower than 100/s burst 200: use WEIR.LOWER")
        self.assertEqual(wrong(**{"for": 0.5}), ["/for: is not a number of seconds from 1 to 31622400"])
        self.assertEqual(wrong(**{"for": "none"}), [": missing 'for' or 'until'"])
        self.assertEqual(wrong(until="2100-01-01"), ["/until: cannot stand beside 'for'"])
        self.assertEqual(wrong(reason=""), ["/reason: missing: say why, for those who come after you"])
        self.assertEqual(wrong(why="r"), ["/why: unknown; known: kind, limit, when, rate, for, until, reason"])
        self.assertEqual(self.http("POST", "/v1/overrides", b"[1]")[1]["errors"],
                         [{"pointer": "", "detail": "must be an object"}])
        self.assertEqual(self.http("POST", "/v1/overrides", good, If_Match='"abc"')[0], 409)
        hash = self.server.info()["hash"]
        status, told, _ = self.http("POST", "/v1/overrides", good, If_Match=f'"{hash}"')
        self.assertEqual(status, 201)
        self.assertEqual(self.http("GET", "/v1/overrides?limits=a")[1]["errors"],
                         [{"pointer": "", "detail": "query 'limits': unknown; known: limit, count, after"}])
        self.assertEqual(self.http("DELETE", f"/v1/overrides/{told['number']}")[0], 204)

    def test_resp_says_what_is_wrong(self):
        def wrong(*words):
            return self.client.ask(*words)

        form = "WEIR.BAN LIMIT name FOR ms|UNTIL time REASON text AS attribute=value ..."
        self.assertEqual(wrong("WEIR.BAN"), "ERR wrong number of arguments for 'weir.ban' command")
        self.assertEqual(wrong("WEIR.BAN", "user"), f"ERR unknown option 'user'; the form is {form}")
        self.assertEqual(ban(self.client, "user=1", limit="xyz"),
                         "ERR unknown limit 'xyz'; known: user, tenant, line, slots, list")
        self.assertEqual(ban(self.client, "user=1", reason="a\nb"), "ERR REASON: has a control character")
        self.assertEqual(ban(self.client, "user=1", ms=999), "ERR FOR: '999' is not an integer from 1000 to "
                                                             "31622400000")
        self.assertEqual(ban(self.client, "Us er=1"),
                         "ERR 'Us er' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _, . and -")
        self.assertEqual(wrong("WEIR.BAN", "LIMIT", "user", "UNTIL", "2020-01-01", "REASON", "r", "ALL").split(":")[0],
                         "ERR UNTIL")
        self.assertEqual(wrong("WEIR.LOWER", "LIMIT", "tenant", "RATE", "500/s burst 500", "FOR", "1000", "REASON", "r",
                               "AS", "tenant=a"),
                         "ERR tenant, 1s: 500/s burst 500 is higher than 100/s burst 200: use WEIR.RAISE")
        self.assertEqual(wrong("WEIR.LOWER", "LIMIT", "tenant", "RATE", "5/h", "FOR", "1000", "REASON", "r", "ALL"),
                         "ERR RATE: '5/h' is for a window that the limit does not have; its periods: s, d")
        self.assertEqual(wrong("WEIR.RAISE", "LIMIT", "list", "RATE", "5/h", "FOR", "1000", "REASON", "r", "ALL"),
                         "ERR RATE: the limit has no rate")
        self.assertEqual(wrong("WEIR.LIFT", "x"), "ERR number: 'x' is not an integer from 1 to 9223372036854775807")
        self.assertEqual(wrong("WEIR.OVERRIDES", "COUNT", "0"), "ERR COUNT: '0' is not an integer from 1 to 1024")
        self.assertEqual(wrong("WEIR.OVERRIDES", "ALL"),
                         "ERR unknown option 'ALL'; the form is WEIR.OVERRIDES [LIMIT name] [COUNT n] [AFTER number]")
        self.assertEqual([each for each in rows(self.client) if each["when"] in ("user=1", "ALL")], [])

    def test_the_gate_denies_whom_it_bans(self):
        def gate():
            return self.http("GET", "/v1/gate/g", X_Original_URI="/x", X_Original_Method="GET", X_User="mallory",
                             X_Real_IP="198.51.100.7", X_Original_Host="h")

        self.assertEqual(gate()[0], 200)
        self.assertGreater(ban(self.client, "user=mallory"), 0)
        status, told, headers = gate()
        self.assertEqual((status, told["type"].rsplit("#")[1]), (429, "abnormal-usage-detected"))
        self.assertEqual(self.client.ask("WEIR.UNBAN", "LIMIT", "user", "AS", "user=mallory"), 1)

    def test_in_a_transaction_and_among_decisions(self):
        self.client.send_bytes(b"WEIR.CHECK user=tx\r\nWEIR.BAN LIMIT user FOR 60000 REASON r AS user=tx\r\n"
                               b"WEIR.CHECK user=tx\r\nMULTI\r\nWEIR.UNBAN LIMIT user AS user=tx\r\nWEIR.CHECK user=tx\r\n"
                               b"EXEC\r\n")
        self.assertEqual(self.client.reply()[0], 0)
        self.assertGreater(self.client.reply(), 0)
        self.assertEqual(self.client.reply()[0], 1)
        for expected in ("OK", "QUEUED", "QUEUED"):
            self.assertEqual(self.client.reply(), expected)
        unbanned, check = self.client.reply()
        self.assertEqual((unbanned, check[0]), (1, 0))


class TestKept(unittest.TestCase):
    """Beside the snapshot."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.limits = self.folder.file("limits.yaml", FILE)
        self.snapshot = self.folder.file("snap")

    def serve(self, *flags, **options):
        return Server("--limits", self.limits, "--snapshot", self.snapshot, *flags, **options)

    def banned(self, server):
        with server.client() as client:
            return [each["when"] for each in rows(client)]

    def test_a_restart_forgets_none_that_was_answered_and_a_kill_neither(self):
        with self.serve() as server, server.client() as client:
            first = ban(client, "user=a")
            self.assertEqual(ban(client, "user=b", ms=1000), first + 1)
            self.assertEqual(rows(client)[0]["durable"], 1)
        self.assertEqual(os.stat(self.snapshot + ".overrides").st_mode & 0o777, 0o600)
        time.sleep(1)
        with self.serve(expect_exit=(-signal.SIGKILL,)) as server, server.client() as client:
            self.assertEqual(self.banned(server), ["user=a"])
            self.assertEqual(client.ask("WEIR.CHECK", "user=a")[0], 1)
            for i in range(20):
                self.assertEqual(ban(client, f"user={i}"), first + 2 + i)
            server.signal(signal.SIGKILL)
            server.wait()
        with self.serve() as server, server.client() as client:
            self.assertEqual(self.banned(server), ["user=a"] + [f"user={i}" for i in range(20)])
            self.assertEqual(client.ask("WEIR.LIFT", first), 1)
        with self.serve() as server:
            self.assertEqual(len(self.banned(server)), 20)

    def test_numbers_do_not_come_again_after_a_loss(self):
        numbers = set()
        for loses in (lambda: os.remove(self.snapshot + ".overrides"), lambda: None):
            with self.serve() as server, server.client() as client:
                numbers |= {ban(client, "user=a"), ban(client, "user=b")}
            loses()
        self.assertEqual(len(numbers), 4)
        self.assertTrue(all(10**12 < each < 10**13 for each in numbers), numbers)
        with Server("--limits", self.limits) as server, server.client() as client:  # in memory
            self.assertNotIn(ban(client, "user=a"), numbers)

    def test_a_kill_between_leaves_all_that_was_answered(self):
        """Killed while one after the other is set: what was answered is there, and at most one more."""
        with self.serve(expect_exit=(-signal.SIGKILL,)) as server, server.client() as client:
            for i in range(30):
                client.send("WEIR.BAN", "LIMIT", "user", "FOR", 60_000, "REASON", "r", "AS", f"user={i}")
            answered = [client.reply() for _ in range(10)]
            server.signal(signal.SIGKILL)
            server.wait()
        self.assertEqual(answered, list(range(answered[0], answered[0] + 10)))
        with self.serve() as server, server.client() as client:
            kept = rows(client)
            self.assertGreaterEqual(len(kept), 10)
            self.assertEqual([each["number"] for each in kept], list(range(answered[0], answered[0] + len(kept))))

    def test_a_file_that_is_damaged_is_an_error(self):
        with self.serve() as server, server.client() as client:
            ban(client, "user=a")
        path = self.snapshot + ".overrides"
        with open(path, "rb") as kept:
            whole = kept.read()
        self.folder.file("snap.overrides", whole[:-5])
        code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--limits", self.limits, "--snapshot", self.snapshot)
        self.assertEqual(code, 2, errors)
        self.assertIn(f"overrides '{path}': damaged: it has lost its end; --ignore-bad-snapshot puts it aside and "
                      "starts without overrides", errors)
        with self.serve("--ignore-bad-snapshot") as server:
            self.assertEqual(self.banned(server), [])
            server.says(f"the file is kept as {path}.damaged")

    def test_a_full_disk_refuses_and_changes_nothing(self):
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        def big():
            resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))

        with self.serve("--snapshot-every", "3600s", preexec_fn=small, expect_exit=(0, 1)) as server, \
                server.client() as client:
            for i in range(1000):
                answer = ban(client, f"user={i}")
                if not isinstance(answer, int):
                    break
            self.assertEqual(answer, f"ERR not stored: overrides '{self.snapshot}.overrides': cannot write: File too "
                                     "large; nothing has changed")
            self.assertEqual(client.ask("WEIR.CHECK", f"user={i}")[0], 0)
            self.assertEqual(len(rows(client)), i)
            self.assertEqual(client.ask("WEIR.CHECK", f"user={i - 1}")[0], 1)
            # What is dead goes, and there is room again.
            self.assertEqual(client.ask("WEIR.LIFT", rows(client, "COUNT", 1)[0]["number"]), 1)
            self.assertIsInstance(ban(client, "user=z"), int)
            kept = [each["when"] for each in rows(client)]
        with self.serve() as server:
            self.assertEqual(self.banned(server), kept)
        self.assertEqual([each for each in os.listdir(self.folder.path) if ".tmp." in each and "overrides" in each], [])


class TestMany(unittest.TestCase):
    @unittest.skipUnless(os.environ.get("WEIR_LONG") == "1", "sets 100,000 of them: WEIR_LONG=1")
    def test_the_100001st_is_refused(self):
        with Folder() as folder:
            limits = folder.file("limits.yaml", FILE)
            with Server("--limits", limits) as server, server.client(timeout=100) as client:
                total, at_once = 100_000, 500
                base = ban(client, "user=0") - 1
                self.assertEqual(client.ask("WEIR.LIFT", base + 1), 1)
                base += 1
                for begin in range(0, total, at_once):
                    client.send_bytes(b"".join(
                        b"WEIR.BAN LIMIT user FOR 3600000 REASON r AS user=%d\r\n" % i
                        for i in range(begin, begin + at_once)))
                    for i in range(begin, begin + at_once):
                        self.assertEqual(client.reply(), base + i + 1)
                self.assertEqual(ban(client, "user=x"), "ERR 100000 overrides are in force: lift some first")
                self.assertEqual(ban(client, "user=7"), base + 100_001, "one that is replaced makes room")
                for user, denied in (("0", 1), ("99999", 1), ("x", 0)):
                    self.assertEqual(client.ask("WEIR.CHECK", f"user={user}")[0], denied)
                self.assertEqual(client.ask("WEIR.LIFT", base + 5), 1)
                self.assertEqual(client.ask("WEIR.CHECK", "user=4")[0], 0)
                self.assertEqual(ban(client, "user=x"), base + 100_002)
                self.assertEqual([each["number"] for each in rows(client, "AFTER", base + 99_999)],
                                 [base + 100_000, base + 100_001, base + 100_002])
                client.ask("WEIR.CONFIG", "RELOAD")
                self.assertEqual(client.ask("WEIR.CHECK", "user=99999")[0], 1)

    def test_without_a_limits_file(self):
        with Server() as server, server.client() as client:
            for words in (("WEIR.BAN", "LIMIT", "a", "ALL"), ("WEIR.UNBAN", "LIMIT", "a"), ("WEIR.LIFT", "1"),
                          ("WEIR.OVERRIDES",), ("WEIR.RAISE", "LIMIT", "a"), ("WEIR.SHADOW", "LIMIT", "a")):
                self.assertEqual(client.ask(*words), NO_FILE)

    def test_a_limit_that_leaves_the_file_and_comes_back(self):
        with Folder() as folder:
            limits = folder.file("limits.yaml", FILE)
            with Server("--limits", limits) as server, server.client() as client:
                self.assertGreater(ban(client, "user=a"), 0)
                folder.file("limits.yaml", FILE.replace("user: { by", "person: { by").replace(", user]", ", person]"))
                self.assertEqual(client.ask("WEIR.CONFIG", "RELOAD"), "OK")
                self.assertEqual(client.ask("WEIR.CHECK", "user=a")[0], 0)
                self.assertEqual([(each["kind"], each["limit"]) for each in rows(client)], [("ban", "user")])
                folder.file("limits.yaml", FILE)
                self.assertEqual(client.ask("WEIR.CONFIG", "RELOAD"), "OK")
                self.assertEqual(client.ask("WEIR.CHECK", "user=a")[0], 1)


if __name__ == "__main__":
    run_tests()
