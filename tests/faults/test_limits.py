"""A limits file beside a real Redis: what each request of it is answered, and what lies there."""
import signal
import unittest

from world import PROGRAM, Cluster, Redis, Server, available
from server import Folder, encode, run, until

def fields(row):
    return {row[i].decode(): row[i + 1] for i in range(0, len(row), 2)}


FILE = """\
version: 1
classes: [default, bulk]
hash_tag: tenant
limits:
  all: { rate: 1000/s burst 1000, leave: { bulk: 50% } }
  tenant: { by: [tenant], rate: [100/h burst 20, 1000/d], within: all }
  user: { by: [tenant, user], within: tenant, rate: 10/h, on_store_error: deny }
  window: { by: [tenant], rate: 50/h algorithm=fixed_window, shadow: until 2100-01-01 }
routes:
  - { when: { only: tenant }, limits: [tenant] }
  - { when: { shadow: "1" }, limits: [window] }
  - { limits: [user, window] }
"""


class TestLimits(unittest.TestCase):
    def serve(self, url, text=FILE, deadline="2s"):
        folder = Folder()
        self.addCleanup(folder.__exit__)
        path = folder.file("limits.yaml", text)
        server = Server("--store", url, "--limits", path, "--threads", "2", "--store-deadline", deadline)
        self.addCleanup(server.__exit__, None)
        until(lambda: server.info()["store_state"] == "ready", "the store is ready")
        client = server.client()
        self.addCleanup(client.close)

        def is_answered_by_the_store():  # each loop connects by itself
            before = server.info()["store_answers"]
            client.ask("WEIR.LOOK", "only=tenant", "tenant=other")
            return server.info()["store_answers"] != before
        until(is_answered_by_the_store, "the client's loop has connected")
        return folder, server, client

    def the_same_answers(self, client, rows_of=None):
        rows = [
            ("WEIR.CHECK tenant=t user=u", [0, 10, 9, b"user"]),
            ("WEIR.CHECK COST 3 tenant=t user=u", [0, 10, 6, b"user"]),
            ("WEIR.LOOK COST 7 tenant=t user=u", [1, 10, 6, b"user"]),
            ("WEIR.CHECK COST 7 tenant=t user=u", [1, 10, 6, b"user"]),
            ("WEIR.CHECK CLASS bulk COST 10 tenant=t user=v", [0, 10, 0, b"user"]),
            ("WEIR.CHECK COST 8 tenant=t user=w", [1, 20, 6, b"tenant"]),
            ("WEIR.CHECK COST 4 shadow=1 tenant=t", [0, -1, -1, b""]),
        ]
        for command, answer in rows[:rows_of]:
            with self.subTest(command):
                got = client.ask(*command.split())
                self.assertEqual([*got[:3], got[5]], answer)

    def test_one_redis(self):
        with Redis() as redis:
            folder, server, client = self.serve(f"redis://127.0.0.1:{redis.port}")
            self.the_same_answers(client)
            keys = {key.decode(errors="replace") for key in redis.ask("KEYS", "*")}
            self.assertTrue(any("tenant|1h|gcra|tenant" in key for key in keys), keys)
            explained = client.ask(*"WEIR.EXPLAIN tenant=t user=u".split())
            self.assertEqual([fields(row)["window"] for row in explained[1:]], [b"1s", b"1h", b"1d", b"1h", b"1h"])
            self.assertEqual(client.ask(*"WEIR.RESET AS LIMIT tenant tenant=t".split()), 2)
            self.assertEqual(client.ask(*"WEIR.LOOK only=tenant tenant=t".split())[2], 20)

            folder.file("limits.yaml", FILE.replace("rate: 10/h", "rate: 10/h burst 30"))
            until(lambda: client.ask(*"WEIR.LOOK tenant=x user=u".split())[1] != 10, "it is read again")
            self.assertEqual(client.ask("WEIR.CONFIG", "RELOAD"), "OK")
            client.ask(*"WEIR.RESET AS LIMIT tenant tenant=t".split())
            self.assertEqual(fields(client.ask(*"WEIR.EXPLAIN tenant=t user=u".split())[4])["remaining"], 26, "4 are still owed")

            redis.signal(signal.SIGSTOP)
            try:
                answers = [client.ask(*"WEIR.CHECK tenant=t user=u".split()) for _ in range(2)]
                self.assertEqual([answer[0] for answer in answers], [1, 1], "user: on_store_error: deny")
            finally:
                redis.signal(signal.SIGCONT)

    def test_answers_under_way_end_under_the_old_set(self):
        with Redis() as redis:
            # Redis stands still for as long as the reloads take.
            folder, server, client = self.serve(f"redis://127.0.0.1:{redis.port}", deadline="60s")
            redis.signal(signal.SIGSTOP)
            client.send_bytes(encode("WEIR.CHECK", "tenant=t", "user=u") * 40)
            with server.client() as other:
                until(lambda: b"cmd=weir.check" in other.ask("CLIENT", "LIST"), "they have been read")
                folder.file("limits.yaml", "version: 1\nlimits:\n  another: { rate: 5/h }\n")
                for _ in range(3):  # a Redis that has stood still for long is given up
                    self.assertEqual(other.ask("WEIR.CONFIG", "RELOAD"), "OK")
            redis.signal(signal.SIGCONT)
            answers = [client.reply() for _ in range(40)]
            self.assertEqual({answer[5] for answer in answers}, {b"user"})
            self.assertEqual([answer[0] for answer in answers], [0] * 10 + [1] * 30)
            self.assertEqual(client.ask("WEIR.CHECK", "tenant=t")[5], b"another")

    def test_a_cluster_whose_slots_a_request_spans(self):
        with Cluster() as cluster:
            url = "redis+cluster://" + ",".join(each.address for each in cluster.servers[:3])
            text = "\n".join(line for line in FILE.splitlines() if "window:" not in line and "shadow:" not in line)
            _, _, client = self.serve(url, text.replace("[user, window]", "[user]"))
            self.the_same_answers(client, -1)


if __name__ == "__main__":
    if not available():
        raise SystemExit(f"{PROGRAM} is not here")
    run()
