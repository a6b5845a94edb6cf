"""`weir store-check`: what it says of real servers, and of one that lies: a proxy before a real one, which changes a
command, an answer, or what a script sees, as an engine does that is not what weir needs."""
import contextlib
import glob
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from world import Cluster, Redis, Sentinels, TlsFiles, available, free_port
from server import WEIR, Client, Folder, encode, environment, run_at_once, until, weir
from test_tls import Authority

# In Lua, before a script: `redis` is ours, whose call() may do something else than the engine's.
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCRIPT = """local real = redis
local redis = setmetatable({{call = function(name, ...)
  local a = {{...}}
  {0}
  return real.call(name, ...)
end, pcall = function(name, ...)
  local a = {{...}}
  {1}
  return real.pcall(name, ...)
end}}, {{__index = real}})
"""


def script(call="", pcall=None):
    return SCRIPT.format(call, call if pcall is None else pcall).replace("\n", " ")


class Liar:
    """A proxy before a server. `prelude` goes before each script that is loaded. `lie(words)` may return other words, or
    an answer's bytes, or None; `answer(words, bytes)` other bytes, or None to say nothing any more."""

    def __init__(self, server, prelude="", lie=lambda words: None, answer=lambda words, said: said):
        self.server, self.prelude, self.lie, self.answer = server, prelude, lie, answer
        self.names = {}
        self.commands = set()
        self.keys = set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listening.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with contextlib.suppress(OSError, AssertionError), client, Client(self.server.port) as real:
            stream = client.makefile("rb")
            while True:
                words = self._command(stream)
                if words is None:
                    return
                said = self._carry_out(real, words)
                if said is None:
                    time.sleep(30)
                    return
                client.sendall(said)
                keys = words[3:3 + int(words[2])] if words[0] == b"EVALSHA" else words[1:2]
                if words[0] not in (b"SCRIPT", b"CONFIG", b"CLUSTER", b"HELLO", b"INFO"):
                    self.keys.update(keys)

    @staticmethod
    def _command(stream):
        head = stream.readline()
        if not head:
            return None
        words = []
        for _ in range(int(head[1:])):
            size = int(stream.readline()[1:])
            words.append(stream.read(size + 2)[:-2])
        return words

    def _carry_out(self, real, words):
        self.commands.add(" ".join(w.decode() for w in words[:2]) if words[0] in (b"SCRIPT", b"CONFIG", b"CLUSTER")
                          else words[0].decode())
        lie = self.lie(words)
        if isinstance(lie, bytes):
            return lie
        sent = list(lie or words)
        if self.prelude and sent[:2] == [b"SCRIPT", b"LOAD"]:
            text = self.prelude.encode() + sent[2]
            self.names[hashlib.sha1(sent[2]).hexdigest().encode()] = hashlib.sha1(text).hexdigest().encode()
            real.ask_raw(b"SCRIPT", b"LOAD", text)
            return b"$40\r\n" + hashlib.sha1(sent[2]).hexdigest().encode() + b"\r\n"
        if sent[0] == b"EVALSHA":
            sent[1] = self.names.get(sent[1], sent[1])
        real.send(*sent)
        with contextlib.suppress(Exception):
            real.reply()
        return self.answer(words, real.raw)


def check(url, *flags, timeout=60):
    """(exit code, {case: (verdict, what was seen, what is needed)}, the whole)."""
    # No case is to be judged by how busy this machine is, but for the one that is about time.
    deadline = () if "--store-deadline" in flags else ("--store-deadline", "60s")
    code, out, errors = weir("store-check", url, "--json", *deadline, *flags, timeout=timeout)
    said = json.loads(out)
    return code, {each["case"]: (each["verdict"], each["seen"], each["needs"]) for each in said["cases"]}, said


def listed_for(purpose):
    """The commands that docs/redis.md lists for it."""
    with open(os.path.join(ROOT, "docs/redis.md"), encoding="utf-8") as page:
        row, = re.findall(rf"^\| {re.escape(purpose)}.*? \| (.*) \|$", page.read(), re.M)
    return set(re.findall(r"`([A-Z ]+)`", row))


class Checks(unittest.TestCase):
    def holds(self, url, *flags, server=None, skipped=()):
        """All cases hold, but for those that say nothing here; and nothing is left."""
        code, cases, said = check(url, *flags)
        wrong = {name: each for name, each in cases.items() if each[0] not in ("ok", "note", "n/a")}
        self.assertEqual((code, wrong, said["not_asked"], said["result"]), (0, {}, 0, "holds"))
        for name in skipped:
            self.assertEqual(cases[name][0], "n/a", cases[name])
        if server:
            self.assertEqual(server.ask("DBSIZE"), 0)
        return cases, said

    def lies(self, url, fails, *flags, server=None):
        """Exit code 1, and each of these cases FAILS with that text."""
        code, cases, said = check(url, *flags)
        self.assertEqual((code, said["result"]), (1, "does not hold"), cases)
        for name, text in fails.items():
            verdict, seen, needs = cases[name]
            self.assertEqual(verdict, "fails", (name, seen))
            self.assertIn(text, seen, name)
            self.assertTrue(needs, name)
        if server:
            self.assertEqual(server.ask("DBSIZE"), 0)
        return cases


@unittest.skipUnless(available(), "needs redis-server")
class Real(Checks):
    def test_one_server_and_what_it_prints(self):
        with Redis() as redis:
            redis.must("SET", "others", "stays")
            before = redis.must("CONFIG", "GET", "*")
            cases, said = self.holds(f"redis://127.0.0.1:{redis.port}", skipped=("sentinel", "cluster", "auth", "moved"))
            self.assertGreater(sum(each[0] == "ok" for each in cases.values()), 45)
            self.assertNotIn("speed", said)
            self.assertEqual((redis.must("KEYS", "*"), redis.must("GET", "others")), ([b"others"], b"stays"))
            self.assertEqual(redis.must("CONFIG", "GET", "*"), before)
            code, out, errors = weir("store-check", f"redis://127.0.0.1:{redis.port}/3", "--speed", "--store-deadline", "60s")
            self.assertEqual((code, errors), (0, ""))
            self.assertNotIn("\033", out)
            lines = out.splitlines()
            self.assertIn("ok     check-gcra: 15 requests were answered as by weir's own store", lines)
            self.assertIn("ok     database: SELECT 3 was accepted", lines)
            self.assertRegex(lines[-2], r"^redis://127\.0\.0\.1:\d+/3 \(\w+ [\d.]+\): \d+ cases hold, \d+ do not apply: "
                                        r"weir's limits hold on it$")
            self.assertRegex(lines[-1], r"^speed: a check takes \d+ us, of a hundred the slowest \d+ us; \d+ checks/s of "
                                        r"one key with 64 in flight$")
            self.assertEqual(redis.must("KEYS", "*"), [b"others"])

    def test_a_unix_socket_and_a_prefix(self):
        with Folder() as folder, Redis(unix=folder.file("redis.sock")) as redis:
            self.holds(f"redis+unix://{folder.file('redis.sock')}?prefix=shop:", server=redis)

    def test_a_password_is_never_shown(self):
        with Redis(password="s3cret") as redis:
            cases, said = self.holds(f"redis://:s3cret@127.0.0.1:{redis.port}", server=redis)
            self.assertNotIn("s3cret", json.dumps(said))
            self.lies(f"redis://127.0.0.1:{redis.port}", {"connect": "NOAUTH"})
            for url in (f"redis://:wr0ng@127.0.0.1:{redis.port}", f"redis://ann:wr0ng@127.0.0.1:{redis.port}"):
                cases = self.lies(url, {"auth": "WRONGPASS"})
                self.assertNotIn("wr0ng", str(cases))

    def test_the_commands_that_the_docs_list_are_those_that_scripts_call(self):
        files = [*glob.glob(os.path.join(ROOT, "src/redis/*.lua")), os.path.join(ROOT, "src/server/usage_script.cpp")]
        scripts = "".join(open(path, encoding="utf-8").read() for path in files)
        called = set(re.findall(r"(?:call|read)\('([A-Z]+)'", scripts))
        self.assertGreater(len(called), 15)
        listed = set().union(*map(listed_for, ("checks and resets", "a sliding window log", "[reservations]", "[overrides]")))
        self.assertEqual((listed - called, called - listed), ({"EVAL", "EVALSHA", "SCRIPT LOAD", "PING"}, set()))

    def test_tls(self):
        with Folder() as folder:
            authority = Authority(folder, "authority")
            with Redis(tls=TlsFiles(authority)) as redis:
                cases, _ = self.holds(f"rediss://localhost:{redis.port}", "--tls-ca", authority.certificate)
                self.assertIn("over TLS", cases["connect"][1])
                _, cases, _ = check(f"rediss://localhost:{redis.port}", "--tls-ca", authority.certificate, "--tls-name", "redis.example")
                self.assertIn("it is not for 'redis.example'", cases["connect"][1])
                code, cases, _ = check(f"rediss://localhost:{redis.port}")
                self.assertEqual((code, cases["connect"][0]), (2, "no answer"))
                self.assertIn("its certificate", cases["connect"][1])

    def test_a_user_that_lacks_commands(self):
        with Redis() as redis:
            url = f"redis://ann:pw@127.0.0.1:{redis.port}"
            checks, log, line = map(listed_for, ("checks and resets", "a sliding window log", "[reservations]"))

            def allow(*rules, keys="weir"):
                redis.must("ACL", "SETUSER", "ann", "reset", "on", ">pw", f"~{keys}:*", *rules)

            def each(commands):
                return ["+" + command.lower().replace(" ", "|") for command in sorted(commands)]

            allow(*each(checks | log | line))  # what docs/redis.md lists is enough
            self.holds(url, server=redis, skipped=("persistence", "replicas", "memory"))
            allow(*each((checks | log | line) - {"HSET", "LSET"}))
            cases = self.lies(url, {"commands-log": "LSET was answered NOPERM", "commands-line": "HSET was answered NOPERM",
                                    "check-window-log": "", "reserve": ""}, server=redis)
            self.assertEqual(cases["check-gcra"][0], "ok")
            allow(*each(checks))  # and each of them is tried
            cases = self.lies(url, {"commands-log": "NOPERM", "commands-line": "NOPERM"}, server=redis)
            for name, commands in (("commands-log", log), ("commands-line", line)):
                self.assertEqual(set(re.findall(r"([A-Z]+) was answered NOPERM", cases[name][1])), commands, name)
            allow("+evalsha", "+script|load", "+time", "+get", "+ping")
            cases = self.lies(url, {"commands": "SET was answered NOPERM"})
            self.assertIn("DEL was answered NOPERM", cases["commands"][1])
            allow(*each(checks), keys="shop")
            self.lies(url, {"commands": "NOPERM"})

    def test_replicas_and_eviction(self):
        with Redis() as master, Redis([("replicaof", f"127.0.0.1 {master.port}")]) as replica:
            until(lambda: master.info("replication").get("connected_slaves") == "1" and "online" in master.info("replication")["slave0"], "the replica is there")
            cases, _ = self.holds(f"redis://127.0.0.1:{master.port}", server=master)
            self.assertEqual(cases["replicas"][0], "ok", cases["replicas"])
            self.lies(f"redis://127.0.0.1:{replica.port}", {"commands": "READONLY"})
            replica.must("CONFIG", "SET", "replica-read-only", "no")
            self.lies(f"redis://127.0.0.1:{replica.port}", {"role": "ROLE says slave"})
            self.lies(f"redis://127.0.0.1:{master.port}", {"replicas": "is a replica and took a SET"})
            master.must("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
            code, cases, _ = check(f"redis://127.0.0.1:{master.port}")
            self.assertEqual(cases["eviction"][0], "note")
            master.must("CONFIG", "SET", "maxmemory", "100mb")
            cases = self.lies(f"redis://127.0.0.1:{master.port}", {"eviction": "volatile-ttl with maxmemory 104857600"})
            self.assertIn("noeviction", cases["eviction"][2])
            master.must("CONFIG", "SET", "maxmemory-policy", "noeviction")
            master.must("CONFIG", "SET", "maxmemory", "1")
            self.lies(f"redis://127.0.0.1:{master.port}", {"commands": "OOM"})

    def test_a_cluster(self):
        with Cluster() as cluster:
            url = "redis+cluster://" + ",".join(node.address for node in cluster.masters())
            cases, _ = self.holds(url, skipped=("sentinel",))
            for name in ("cluster", "hash-tag", "crossslot", "moved"):
                self.assertEqual(cases[name][0], "ok", cases[name])
            for node in cluster.masters():
                self.assertEqual(node.ask("DBSIZE"), 0)

    def test_sentinels(self):
        with Sentinels() as sentinels:
            url = "redis+sentinel://" + ",".join(each.address for each in sentinels.sentinels) + "/mymaster"
            cases, _ = self.holds(url)
            self.assertIn("3 of 3 sentinels name", cases["sentinel"][1])
            self.lies(url.replace("/mymaster", "/nobody"), {"sentinel": "answered null"})


@unittest.skipUnless(available(), "needs redis-server")
class Lying(Checks):
    """Each lie is found by the cases that are about it."""

    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        cls.addClassCleanup(cls.redis.close)

    def found(self, fails, prelude="", lie=lambda words: None, answer=lambda words, said: said, holds=()):
        with Liar(self.redis, prelude, lie, answer) as liar:
            cases = self.lies(liar.url, fails, server=self.redis)
            for name in holds:
                self.assertEqual(cases[name][0], "ok", cases[name])
            return cases

    def test_one_that_does_not_lie(self):
        with Liar(self.redis) as liar:
            self.holds(liar.url, "--timeout", "20s", server=self.redis)
            self.assertEqual([each for each in liar.commands if each.split()[0] not in
                              ("PING SET GET DEL TIME EVALSHA HELLO ROLE INFO PEXPIREAT RPUSH LINDEX LRANGE LSET LTRIM ZADD "
                               "ZCOUNT ZSCORE ZRANGE ZRANGEBYSCORE ZREVRANGEBYSCORE ZREMRANGEBYSCORE ZREM HSET HGET HDEL").split()
                              and each not in ("SCRIPT LOAD", "CONFIG GET")], [])
            self.assertGreater(len(liar.keys), 100)
            for key in liar.keys:
                self.assertRegex(key, rb"^weir:\{check:[0-9a-f]{16}\}:")

    def test_no_key_lives_for_more_than_a_minute(self):
        with Redis() as redis, Liar(redis, lie=lambda words: b"+OK\r\n" if words[0] == b"DEL" else None) as liar:
            _, _, errors = weir("store-check", liar.url, timeout=60)
            self.assertEqual(errors, "weir: its keys could not be deleted; they end within a minute\n")
            keys = redis.must("KEYS", "*")
            self.assertGreater(len(keys), 20)
            for key in keys:
                self.assertTrue(0 < redis.must("PTTL", key) <= 60_000 or redis.must("EXISTS", key) == 0, key)

    def test_a_way_that_is_long_for_the_deadline(self):
        def far(words, said):
            if words[0] == b"PING":
                time.sleep(0.02)
            return said
        with Liar(self.redis, answer=far) as liar:
            cases = self.lies(liar.url, {"round-trip": " at the median, of a --store-deadline of 59ms"}, "--store-deadline", "59ms",
                              server=self.redis)
            self.assertGreaterEqual(float(cases["round-trip"][1].split("ms")[0]), 20)
            self.assertIn("a longer one, or the store a nearer place", cases["round-trip"][2])
            self.holds(liar.url, "--store-deadline", "60s", server=self.redis)

    def test_clocks(self):
        frozen = script("if name == 'TIME' then return {'1800000000', '7'} end")
        cases = self.found({"time-moves": "TIME in a script said 1800000000.000007 s for 100 ms"}, frozen)
        self.assertNotIn("expiry-text", cases)  # nothing can be told by that clock
        self.assertIn("a clock that moves", cases["time-moves"][2])
        back = ("if name == 'TIME' then count = (count or -1) + 1 local t = real.call('TIME') "
                "return {string.format('%d', t[1] - count), t[2]} end")
        self.found({"time-in-script": " s, a script between them "},
                   script("if name == 'TIME' then local t = real.call('TIME') return {string.format('%d', t[1] + 60), t[2]} end"))
        self.found({"time-within-script": "within a script it went back by "}, "local count " + script(back))

        def earlier(words, said):
            if words[0] != b"TIME":
                return said
            s, us = said.split(b"\r\n")[2::2][:2]
            return encode(int(s) - 1, us)
        self.found({"time-forward": "TIME after a script read "}, answer=earlier)

    def test_expiry(self):
        early = "if a[3] == 'PXAT' then return real.call('SET', a[1], a[2], 'PXAT', string.format('%d', a[4] - 2)) end "

        def lie(words):
            if words[0] == b"PEXPIREAT" or words[3:4] == [b"PXAT"]:
                return [*words[:-1], str(int(words[-1]) - 2).encode()]
            return None
        cases = self.found({"expiry-text": "a key was gone ", "expiry-list": "a key was gone ", "expiry-state": "a key was gone "},
                           script("if name == 'SET' then " + early + "end"), lie, holds=["expiry-replaced", "expiry-past"])
        self.assertIn("to the millisecond or longer", cases["expiry-text"][2])

        def never(words):
            return words[:3] if words[3:4] == [b"PXAT"] else None
        self.found({"expiry-text": "still there 2s after its end", "expiry-past": "PXAT in the past is there"}, lie=never)
        for key in self.redis.must("KEYS", "*"):
            self.redis.must("DEL", key)

    def test_numbers_and_texts(self):
        digits = ("local s0 = string local string = setmetatable({format = function(f, ...) local a = {...} "
                  "for i, v in ipairs(a) do if type(v) == 'number' and v > 1e14 then a[i] = tonumber(s0.format('%.14g', v)) end "
                  "end return s0.format(f, unpack(a)) end}, {__index = s0}) ")
        self.found({"numbers": "and not '9007199254740991'"}, digits)

        def rounded(words, said):
            return said.replace(b":9000000000000000\r\n", b":8999999999999999\r\n").replace(b":-1\r\n", b":1\r\n")
        self.found({"replies": "8999999999999999"}, answer=rounded)

    def test_words_of_errors(self):
        def other(words, said):
            return said.replace(b"-NOSCRIPT ", b"-ERR ").replace(b"-WRONGTYPE ", b"-ERR WRONGTYPE ")
        cases = self.found({"noscript": "ERR No matching script", "wrongtype": "ERR WRONGTYPE", "foreign": "allowed",
                            "script-errors": "ERR WRONGTYPE"}, answer=other)
        self.assertIn("begins with NOSCRIPT", cases["noscript"][2])
        self.found({"script-load": "SCRIPT LOAD of check.lua"},
                   lie=lambda words: b"$40\r\n" + 40 * b"0" + b"\r\n" if words[:2] == [b"SCRIPT", b"LOAD"]
                   and len(words[2]) > 3000 else None)

    def test_what_is_not_ours(self):
        self.found({"reset": "a key beside those of weir was 'not a limit' and is null"},
                   script("if name == 'DEL' then real.call('DEL', a[1] .. '-b') end"))
        self.found({"foreign": "was answered allowed", "wrongtype": "gave 'no error'"}, script("", "local r = real.pcall(name, ...) "
                                               "if type(r) == 'table' and r.err then return false end do return r end"))

    def test_order_and_company(self):
        last = []

        def late(words, said):
            if words[0] != b"GET" or not words[1].endswith(b":order"):
                return said
            last.append(said)
            return last[-2] if len(last) > 100 else said
        self.found({"pipeline": "in place of '100'"}, answer=late)
        self.found({"alone": "found another's value: [7, 'x']"},
                   script("if name == 'GET' and #ARGV == 0 and real.call('GET', a[1]) == '7' then return 'x' end"))

    def test_eight_lies_at_once(self):
        prelude = ("local timed local table = setmetatable({remove = function() return 'x' end}, {__index = table}) " + script(
            "if name == 'TIME' then timed = true end "
            "if name == 'SET' and timed and a[3] == 'PXAT' then error('a write after TIME') end "
            "if name == 'RPUSH' and #a > 900 then error('too many words') end"))
        said_hello = []

        def lie(words):
            if words[0] == b"HELLO":
                said_hello.append(words)
            if words[0] == b"PING" and said_hello:
                return b"+PANG\r\n"
            if words[0] == b"GET" and words[1].endswith(b":plain"):
                return b"$0\r\n\r\n"
            if words[0] == b"SET" and words[1].endswith(b":longer") and words[2] == b"b":
                return [*words[:3], b"KEEPTTL"]
            return b"*2\r\n$9\r\nmaxmemory\r\n$6\r\n500000\r\n" if words == [b"CONFIG", b"GET", b"maxmemory"] else None

        def answer(words, said):
            return said.replace(b"rdb_last_bgsave_status:ok", b"rdb_last_bgsave_status:no")
        self.found({"resp2": "GET of a text of two words", "hello": "'PANG'",
                    "memory": " of 500000 bytes are used", "persistence": "rdb_last_bgsave_status: no",
                    "time-write": "a write after TIME", "expiry-replaced": "ended at its former one", "unpack": "too many words",
                    "texts": "'x20000000' and not '20000000second'"},
                   prelude, lie, answer, holds=["numbers", "time-forward"])
        self.lies(f"redis://127.0.0.1:{self.redis.port}/99", {"database": "ERR DB index is out of range"})
        with Liar(self.redis, answer=lambda words, said: b"*2\r\n:1\r\n:2\r\n" if words[0] == b"TIME" else said) as liar:
            self.lies(liar.url, {"commands": "TIME was answered [1, 2]"})

    def test_decisions(self):
        self.found({"check-gcra": "in weir's own store it is 'allowed, 3 of 5 left", "take": "", "reserve": ""},
                   script("if name == 'SET' and string.sub(a[2], 1, 6) == 'weir1g' then return 'OK' end"))

    def test_a_server_that_claims_to_be_a_cluster(self):
        with Liar(self.redis, lie=lambda words: slots if words[0] == b"CLUSTER" else None) as liar:
            half = [f"*3\r\n:{first}\r\n:{last}\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n" for first, last, port in
                    ((0, 8191, liar.port), (8192, 16383, self.redis.port))]
            slots = ("*2\r\n" + "".join(half)).encode()
            self.lies(liar.url.replace("redis:", "redis+cluster:"), {"crossslot": "a script of keys in two slots was answered 2",
                                                                     "moved": "answered null"})
            slots = ("*1\r\n" + half[0]).replace(":8191", ":16383").encode()
            liar.answer = lambda words, said: b"-CROSSSLOT no\r\n" if words[2:3] == [b"2"] else said
            self.lies(liar.url.replace("redis:", "redis+cluster:"), {"hash-tag": "one {hash tag} was answered CROSSSLOT no"})
            slots = ("*1\r\n" + half[0]).encode()
            code, cases, _ = check(liar.url.replace("redis:", "redis+cluster:"))
            self.assertEqual((code, cases["cluster"][0]), (1, "fails"))


@unittest.skipUnless(available(), "needs redis-server")
class Silent(Checks):
    """Exit code 2: no answer, or half of one. The deadline is each case's own."""

    def silent(self, url, case, text, patience="300ms"):
        code, cases, said = check(url, "--timeout", patience)
        self.assertEqual((code, said["result"], cases[case][0]), (2, "no answer", "no answer"), cases)
        self.assertIn(text, cases[case][1])
        return cases

    def test_nobody_listens(self):
        for url, case in ((f"redis://127.0.0.1:{free_port()}", "connect"),
                          (f"redis+sentinel://127.0.0.1:{free_port()}/mymaster", "sentinel"),
                          (f"redis+cluster://127.0.0.1:{free_port()}", "cluster"),
                          ("redis+unix:///nowhere/redis.sock", "connect")):
            self.silent(url, case, "cannot connect to")
        self.assertEqual(weir("store-check", "http://127.0.0.1")[0], 2)
        self.assertEqual(weir("store-check")[0], 2)

    def test_half_an_answer_none_and_garbage(self):
        with Redis() as redis:
            for bytes_, text in ((b"", "did not answer within 300ms"), (b"+PO", "did not answer within 300ms")):
                with Liar(redis, answer=lambda words, said, b=bytes_: b) as liar:
                    self.silent(liar.url, "connect", text)
            with Liar(redis, answer=lambda words, said: b"HTTP/1.1 400 Bad Request\r\n\r\n") as liar:
                self.lies(liar.url, {"connect": "an answer was not RESP"})
            with Liar(redis, answer=lambda words, said: b"$5\r\nPONG\r\n" if words[0] == b"PING" else said) as liar:
                code, cases, _ = check(liar.url, "--timeout", "300ms")
                self.assertIn((code, cases["connect"][0]), ((1, "fails"), (2, "no answer")))

    def test_one_that_hangs_in_one_case(self):
        with Redis() as redis, Liar(redis, answer=lambda words, said: b"" if words[:1] == [b"ZCOUNT"] else said) as liar:
            cases = self.silent(liar.url, "commands-line", "did not answer within 2s", "2s")
            self.assertEqual((cases["commands-log"][0], cases["check-gcra"][0], cases["foreign"][0]), ("ok", "ok", "ok"))
            self.assertEqual(redis.ask("DBSIZE"), 0)

    def test_one_that_stops_answering(self):
        asked = []

        def answer(words, said):
            asked.append(words[0])
            return b"" if len(asked) > 2000 else said
        with Redis() as redis, Liar(redis, answer=answer) as liar:
            code, cases, said = check(liar.url, "--timeout", "200ms")
            self.assertEqual(code, 2)
            self.assertGreater(said["not_asked"], 0)

    def test_interrupted(self):
        hangs = threading.Event()

        def answer(words, said):
            if words[0] == b"ZSCORE":
                hangs.set()
                return b""
            return said
        with Redis() as redis, Liar(redis, answer=answer) as liar:
            process = subprocess.Popen([WEIR, "store-check", liar.url, "--timeout", "60s"], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, env=environment())
            self.assertTrue(hangs.wait(20))
            self.assertGreater(redis.ask("DBSIZE"), 0)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=20)
            self.assertEqual((process.returncode, errors), (2, "weir: interrupted; its keys are deleted\n"))
            self.assertIn("were not asked: there is no telling", out)
            self.assertEqual(redis.ask("DBSIZE"), 0)


if __name__ == "__main__":
    run_at_once()
