"""Overrides in the store that servers share: three servers and one Redis, with kills, against a model."""
import os
import random
import unittest

from world import Redis, Server, available
from server import Folder, run, until, weir

FILE = """\
version: 1
limits:
  user: { by: [user], rate: 1000/s burst 1000 }
  line: { by: [line], rate: 2/min burst 1, max_wait: 60s }
routes:
  - { when: { line: "*" }, limits: [line] }
  - { limits: [user] }
"""
NOT_STORED = "ERR not stored: the store does not answer; nothing has changed"
KEY = "weir:{weir}:overrides"
USERS = [f"u{i}" for i in range(8)]


def ban(client, user, ms=600_000):
    return client.ask("WEIR.BAN", "LIMIT", "user", "FOR", ms, "REASON", "r", "AS", f"user={user}")


def banned(client, user):
    return client.ask("WEIR.CHECK", f"user={user}")[0] == 1


@unittest.skipUnless(available(), "needs redis-server")
class TestShared(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.limits = self.folder.file("limits.yaml", FILE)
        self.redis = Redis()
        self.addCleanup(self.redis.close)

    def serve(self, **options):
        server = Server("--store", f"redis://{self.redis.address}", "--limits", self.limits, "--threads", "2",
                        "--store-deadline", "2s", **options)
        self.addCleanup(server.kill)
        until(lambda: server.info()["store_state"] == "ready", "the store is ready")
        client = server.client()
        self.addCleanup(client.close)
        return server, client

    def agree(self, clients, expected):
        """Each bans whom it should and nobody else: at once, or within the time of two looks (a second, and what a
        busy machine adds)."""
        for client in clients:
            until(lambda: {user for user in USERS if banned(client, user)} == expected, f"banned: {expected}")

    def test_a_store_that_was_emptied_is_told_of(self):
        servers = [self.serve() for _ in range(2)]
        for user in ("u1", "u2"):
            ban(servers[0][1], user)
        clients = [client for _, client in servers]
        self.agree(clients, {"u1", "u2"})
        numbers = [each[1] for each in clients[0].ask("WEIR.OVERRIDES")]
        self.assertTrue(all(10**12 < each < 10**13 for each in numbers), numbers)
        self.redis.must("FLUSHALL")
        self.agree(clients, set())
        for server, _ in servers:
            until(lambda: "overrides: the store has none of the 2 any more that were in force here" in server.stderr(), "the log says so")
            self.assertEqual(server.info()["overrides_lost"], "2")
        # One that is lifted, even the last, is not lost.
        self.assertNotIn(ban(clients[0], "u3"), numbers, "nobody lifts another by a number of before")
        self.agree(clients, {"u3"})
        self.assertEqual(clients[0].ask("WEIR.UNBAN", "LIMIT", "user", "AS", "user=u3"), 1)
        self.agree(clients, set())
        for server, _ in servers:
            self.assertEqual(server.info()["overrides_lost"], "2")

    def test_a_store_with_an_older_copy_is_told_of(self):
        servers = [self.serve() for _ in range(2)]
        clients = [client for _, client in servers]
        ban(clients[0], "u1")
        copy = self.redis.must("DUMP", KEY)
        for user in ("u2", "u3"):
            ban(clients[0], user)
        self.agree(clients, {"u1", "u2", "u3"})
        numbers = [each[1] for each in clients[0].ask("WEIR.OVERRIDES")]
        self.redis.must("RESTORE", KEY, "0", copy, "REPLACE")
        self.agree(clients, {"u1"})
        for server, _ in servers:
            until(lambda: "overrides: the store came back with an older copy of itself, without 2 that were in force here" in server.stderr(),
                  "the log says so")
            self.assertEqual(server.info()["overrides_lost"], "2")
        self.assertNotIn(ban(clients[0], "u4"), numbers, "nobody lifts another by a number of before")

    def test_a_ban_is_everywhere_and_of_nobody_else(self):
        clients = [self.serve()[1] for _ in range(3)]
        number = ban(clients[0], "u1")
        self.assertTrue(banned(clients[0], "u1"), "in force here at once")
        self.agree(clients, {"u1"})
        row = clients[2].ask("WEIR.OVERRIDES")[0]
        self.assertEqual((row[1], row[-1]), (number, 1))
        # The later of two who set the same stays, everywhere.
        later = ban(clients[1], "u1", ms=300_000)
        self.assertGreater(later, number)
        for client in clients:
            until(lambda: [each[1] for each in client.ask("WEIR.OVERRIDES")] == [later], "the later one")
        # Any of them ends it.
        self.assertEqual(clients[2].ask("WEIR.UNBAN", "LIMIT", "user", "AS", "user=u1"), 1)
        self.agree(clients, set())
        self.assertEqual(clients[0].ask("WEIR.LIFT", later), 0)

    def test_who_waits_elsewhere_is_denied_and_what_it_was_charged_goes_back(self):
        server, client = self.serve()
        _, other = self.serve()
        self.assertEqual(client.ask("WEIR.CHECK", "line=a")[0], 0)
        with server.client() as waits:
            waits.send("WEIR.ACQUIRE", "MAXWAIT", 50_000, "AS", "line=a")
            until(lambda: server.info()["blocked_clients"] == "1", "it waits")
            self.assertGreater(other.ask("WEIR.BAN", "LIMIT", "line", "FOR", 60_000, "REASON", "r", "AS", "line=a"), 0)
            self.assertEqual(waits.reply()[0], 1)
        self.assertEqual(other.ask("WEIR.UNBAN", "LIMIT", "line", "AS", "line=a"), 1)
        until(lambda: client.ask("WEIR.LOOK", "line=a")[3] <= 30_000, "one unit is owed, not two")

    def test_the_store_away(self):
        servers = [self.serve(), self.serve()]
        clients = [client for _, client in servers]
        self.assertGreater(ban(clients[0], "u1"), 0)
        self.assertGreater(ban(clients[0], "u2", ms=4000), 0)
        self.agree(clients, {"u1", "u2"})
        self.redis.pause()
        self.assertEqual(ban(clients[0], "u3"), NOT_STORED)
        self.assertEqual(clients[0].ask("WEIR.UNBAN", "LIMIT", "user", "AS", "user=u1"), NOT_STORED)
        # The last that were seen hold until their ends.
        until(lambda: not banned(clients[1], "u2"), "its end has come")
        self.assertTrue(banned(clients[1], "u1"))
        self.redis.go_on()
        until(lambda: isinstance(ban(clients[1], "u4"), int), "the store is back")
        # What was not stored is nowhere: a set that came too late was not taken, an unanswered one was undone.
        until(lambda: ban(clients[0], "u5") != NOT_STORED, "the store is back")
        left = {"u4", "u5"} | ({"u1"} if banned(clients[0], "u1") else set())
        self.agree(clients, left)
        _, third = self.serve()
        self.agree([third], left)
        self.redis.kill()
        self.assertEqual(ban(clients[0], "u6"), NOT_STORED)
        self.assertTrue(banned(clients[0], "u4"))

    def lying(self):
        return [each for each in self.redis.must("HKEYS", KEY) if each.startswith(b"o")]

    def test_what_lies_there_ends_there_too(self):
        _, client = self.serve()
        self.assertGreater(ban(client, "u1", ms=1000), 0)
        self.assertEqual(len(self.lying()), 1)
        until(lambda: not self.lying(), "forgotten")
        self.assertEqual(self.redis.must("HGET", KEY, "count"), b"0")

    def test_by_chance_with_kills(self):
        """A random sequence: what is answered is what the model says, and all agree in the end."""
        seed = int(os.environ.get("WEIR_SEED", random.randrange(1 << 30)))
        print(f"WEIR_SEED={seed}")
        chance = random.Random(seed)
        servers = [self.serve(expect_exit=(0, -9)) for _ in range(3)]
        model, asked = set(), 0
        rounds = 6 if os.environ.get("WEIR_LONG") == "1" else 2
        for _ in range(rounds):
            for _ in range(chance.randrange(10, 40)):
                client = chance.choice(servers)[1]
                user = chance.choice(USERS)
                if chance.random() < 0.6:
                    self.assertGreater(ban(client, user), 0)
                    model.add(user)
                    self.assertTrue(banned(client, user))
                else:
                    # It ends what it has seen: those that are new elsewhere it sees within two looks.
                    until(lambda: banned(client, user) == (user in model), "it has seen it")
                    ended = client.ask("WEIR.UNBAN", "LIMIT", "user", "AS", f"user={user}")
                    self.assertEqual(ended, 1 if user in model else 0)
                    model.discard(user)
                    self.assertFalse(banned(client, user))
                asked += 1
            self.agree([client for _, client in servers], model)
            which = chance.randrange(3)
            servers[which][0].signal(9)
            servers[which][0].wait()
            servers[which] = self.serve(expect_exit=(0, -9))
            self.agree([client for _, client in servers], model)
        self.assertGreater(asked, 19)

    def test_something_else_under_the_key(self):
        self.redis.must("SET", KEY, "mine")
        server, client = self.serve()
        self.assertEqual(ban(client, "u1"), f"ERR not stored: something else lies in the store under '{KEY}' (WRONGTYPE): "
                                            "rename or delete it there; nothing has changed")
        self.assertFalse(banned(client, "u1"))
        self.assertEqual(self.redis.must("GET", KEY), b"mine")
        said = f"overrides: cannot be read, so what was in force here stays: something else lies in the store under '{KEY}' "
        until(lambda: said in server.stderr(), "it says why they cannot be read")
        self.redis.must("DEL", KEY)
        until(lambda: isinstance(ban(client, "u1"), int), "it is stored again")
        until(lambda: "overrides: read again" in server.stderr(), "it says that they can")
        self.assertEqual(server.stderr().count(said), 1)

    def test_what_redis_refuses_is_told_as_what_it_is(self):
        _, client = self.serve()
        self.assertGreater(ban(client, "u1"), 0)

        def refused(user, why):
            until(lambda: ban(client, user) == f"ERR not stored: {why}; nothing has changed", why)
            self.assertFalse(banned(client, user))
            self.assertEqual(len(client.ask("WEIR.OVERRIDES")), 1)

        self.redis.must("CONFIG", "SET", "maxmemory", "1")
        refused("u2", "the store's memory is full (OOM): raise its maxmemory, or delete what is not needed there")
        self.redis.must("CONFIG", "SET", "maxmemory", "0")
        self.redis.must("CONFIG", "SET", "min-replicas-to-write", "1")
        refused("u2", "the store has too few replicas to write (NOREPLICAS): see to them, or lower its "
                      "min-replicas-to-write")
        self.redis.must("CONFIG", "SET", "min-replicas-to-write", "0")
        self.redis.must("REPLICAOF", "127.0.0.1", "1")
        refused("u2", "the store is a replica, or has become one (READONLY): see that --store leads to the master")
        self.redis.must("REPLICAOF", "NO", "ONE")
        until(lambda: isinstance(ban(client, "u3"), int), "it is stored again")
        self.agree([client], {"u1", "u3"})

    def test_what_was_written_down_comes_back(self):
        server, client = self.serve()
        for user in ("u1", "u2", "u3"):
            ban(client, user)
        at = ("--port", server.port)
        code, export, errors = weir("ctl", "export", *at)
        self.assertEqual((code, errors), (0, ""))
        path = self.folder.file("export.yaml", export)
        self.redis.must("FLUSHALL")
        self.agree([client], set())
        ban(client, "u2", ms=300_000)
        self.assertEqual(weir("ctl", "overrides", *at, "--restore", path, "--yes"),
                         (0, "2 restored, 1 in force already\n", ""))
        self.agree([client, self.serve()[1]], {"u1", "u2", "u3"})


if __name__ == "__main__":
    run()
