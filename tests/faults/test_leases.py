"""Leases: units that servers take from Redis ahead, by the limits file and by --lease."""
import unittest

from world import PROGRAM, Redis, Server, available
from server import Folder, run, until

HOUR = 3600
FILE = """\
version: 1
limits:
  tenant: {{ by: [tenant], rate: 1000/h burst 1000, lease: {{ units: {units}, for: {time} }} }}
  user: {{ by: [user], rate: 1000/h burst 1000, lease: {{ units: {units}, for: {time} }} }}
  plain: {{ by: [plain], rate: 1000/h burst 1000 }}
"""


class TestLeases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()

    @classmethod
    def tearDownClass(cls):
        cls.redis.close()

    def setUp(self):
        self.redis.must("FLUSHALL")
        self.redis.must("CONFIG", "RESETSTAT")
        self.folder = self.enterContext(Folder())

    def serve(self, *flags, units=50, time="1h"):
        # A name for each, as a server reads its file again when it changes.
        limits = self.folder.file(f"limits_{units}_{time}.yaml", FILE.format(units=units, time=time))
        server = self.enterContext(Server("--store", f"redis://127.0.0.1:{self.redis.port}", "--store-deadline", "5s",
                                          "--limits", limits, *flags))
        until(lambda: server.info()["store_state"] == "ready", "the store is ready")
        return server

    def client(self, server):
        client = server.client()
        self.addCleanup(client.close)
        return client

    def evals(self):
        return self.redis.calls("evalsha")[0]

    def allowed(self, client, times, *words):
        """One after the other, as a pipeline would wait for the first lease as a whole."""
        return [client.ask("WEIR.CHECK", *words)[0] for _ in range(times)].count(0)

    def test_few_checks_ask_redis_and_all_servers_admit_exactly_the_burst(self):
        for words in (("tenant=t",), ("tenant=t", "user=u")):
            with self.subTest(words):
                self.redis.must("FLUSHALL")
                servers = [self.serve("--threads", "1") for _ in range(2)]
                clients = [self.client(server) for server in servers]
                before = self.evals()
                admitted = sum(self.allowed(client, 600, *words) for client in clients)
                self.assertLessEqual(admitted, 1000)
                # What one server leases the other cannot have.
                self.assertGreaterEqual(admitted, 1000 - 2 * 50)
                self.assertGreater(sum(int(server.info()["store_leased"]) for server in servers), 900)
                self.assertLess(self.evals() - before, 400)

    def test_a_limit_without_a_lease_is_asked_each_time(self):
        client = self.client(self.serve("--threads", "1"))
        for words in (("plain=p",), ("plain=p", "tenant=t")):
            before = self.evals()
            self.assertEqual(self.allowed(client, 100, *words), 100)
            self.assertGreaterEqual(self.evals() - before, 100)

    def test_what_is_left_goes_back_when_its_time_is_over_and_when_the_server_ends(self):
        """All 1000 units were leased at once, and one was spent: the other 999 are there again."""
        for time, threads, ends in (("200ms", "1", False), ("1h", "1", True), ("1h", "2", True)):
            with self.subTest(time=time, threads=threads):
                self.redis.must("FLUSHALL")
                server = self.serve("--threads", threads, units=1000, time=time)
                other = self.client(self.serve("--threads", "1", units=2))
                self.assertEqual(self.allowed(self.client(server), 1, "tenant=t"), 1)
                look = lambda: other.ask("WEIR.LOOK", "tenant=t")[2]
                self.assertLessEqual(look(), 1000 - 1000 // int(threads))
                if ends:
                    server.stop()
                until(lambda: look() >= 998, "what was leased is back")
                self.assertLessEqual(look(), 999)

    def test_the_flag_is_for_rules_that_come_with_requests(self):
        server = self.serve("--threads", "1", "--lease", "100", "--lease-for", "1h", units=2)
        client = self.client(server)
        before = self.evals()
        for _ in range(200):
            self.assertEqual(client.ask("CL.THROTTLE", "k", 999, 1000, HOUR, 1)[0], 0)
        self.assertLess(self.evals() - before, 20)
        before = self.evals()
        self.allowed(client, 200, "plain=p")
        self.assertGreaterEqual(self.evals() - before, 200)

    def test_the_loops_of_a_server_share_what_it_leases(self):
        server = self.serve("--threads", "4", units=100)
        other = self.client(self.serve("--threads", "1", units=2))
        clients = [self.client(server) for _ in range(16)]
        for client in clients:
            self.assertEqual(self.allowed(client, 1, "tenant=t"), 1)
        self.assertGreaterEqual(other.ask("WEIR.LOOK", "tenant=t")[2], 1000 - len(clients) - 100)

    def test_without_a_store_they_are_warned_of(self):
        limits = self.folder.file("limits.yaml", FILE.format(units=50, time="1h"))
        with Server("--limits", limits) as server:
            until(lambda: "limits.tenant.lease: there is no store to take units from; serve has no --store"
                  in server.stderr(), "the warning")


if __name__ == "__main__":
    if not available():
        raise SystemExit(f"{PROGRAM} is not here")
    run()
