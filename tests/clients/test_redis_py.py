"""Debian's python3-redis with its own handshake: commands, both kinds of pipeline, a pool, a password."""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))

import redis  # noqa: E402

from server import Folder, OneServer, Server, run, until  # noqa: E402


class TestRedisPy(OneServer):
    def setUp(self):
        self.redis = redis.Redis(port=self.server.port, socket_timeout=10)
        self.addCleanup(self.redis.close)

    def throttle(self, client=None, key=None, *words):
        return (client or self.redis).execute_command("CL.THROTTLE", key or self.id(), *(words or (1, 1, 3600)))

    def test_execute_command(self):
        self.assertEqual(self.throttle(), [0, 2, 1, -1, 3600])
        self.assertEqual(self.throttle()[:3], [0, 2, 0])
        self.assertEqual(self.throttle()[:3], [1, 2, 0])
        self.assertEqual(self.redis.execute_command("GCRA", self.id(), 1, 1, 3600, "TOKENS", 0)[:3], [0, 2, 0])
        self.assertEqual(self.redis.delete(self.id()), 1)
        self.assertEqual(self.throttle(), [0, 2, 1, -1, 3600])
        with self.assertRaisesRegex(redis.ResponseError, "period: '0' is not an integer"):
            self.throttle(None, None, 1, 1, 0)

    def test_a_reply_that_waits(self):
        """What docs/pacing.md says about the timeouts of clients."""
        rule = "1/2s burst 1"

        def acquire(client):
            return client.execute_command("WEIR.ACQUIRE", "MAXWAIT", 10_000, self.id(), rule)

        self.assertEqual(acquire(self.redis)[0], 0)
        began = time.monotonic()
        with redis.Redis(port=self.server.port, socket_timeout=0.3) as short:
            with self.assertRaisesRegex(redis.TimeoutError, "Timeout reading from socket"):
                acquire(short)
        # It has closed the connection, and the moment is the next one's.
        until(lambda: self.redis.execute_command("WEIR.THROTTLE", "COST", 0, self.id(), rule)[4]
              <= max(0, 2000 - 1000 * (time.monotonic() - began)) + 50, "the moment is given back", 1.5)
        self.assertEqual(acquire(self.redis)[0], 0)
        self.assertGreaterEqual(time.monotonic() - began, 1.9)

    def test_what_the_client_asks_about_a_server(self):
        self.assertTrue(self.redis.ping())
        self.assertEqual(self.redis.echo("x"), b"x")
        info = self.redis.info()
        self.assertEqual((info["role"], info["redis_version"]), ("master", "7.0.15"))
        self.assertEqual(info["process_id"], self.server.pid)
        self.assertEqual(self.redis.config_get("maxmemory"), {"maxmemory": str(64 << 20)})
        self.assertEqual(len(self.redis.time()), 2)
        self.assertIsInstance(self.redis.dbsize(), int)
        self.assertIn("cl.throttle", self.redis.command())
        self.assertIsInstance(self.redis.command_count(), int)
        self.assertIsInstance(self.redis.client_id(), int)
        self.assertTrue(self.redis.client_setname("worker"))
        self.assertEqual(self.redis.client_getname(), "worker")

    def test_slowlog(self):
        self.assertTrue(self.redis.slowlog_reset())
        keys = 1000
        while self.redis.slowlog_len() == 0 and keys < 1_000_000:  # until it takes 10 ms on this machine
            keys *= 2
            self.redis.delete(*range(keys))
        entries = [each for each in self.redis.slowlog_get() if each["command"].startswith(b"DEL 0 1 2 ")]
        self.assertTrue(entries[0]["command"].endswith(b" 29 ... (%d more arguments)" % (keys - 30)))
        self.assertGreaterEqual(entries[0]["duration"], 10_000)

    def test_the_default_pipeline_is_a_transaction(self):
        with self.redis.pipeline() as pipe:
            for _ in range(3):
                pipe.execute_command("CL.THROTTLE", self.id(), 1, 1, 3600)
            pipe.ping()
            pipe.execute_command("CL.THROTTLE", self.id(), 1, 1, 3600, 0)
            first, second, third, pong, look = pipe.execute()
        self.assertEqual((first[0], second[0], third[0], pong, look[:3]), (0, 0, 1, True, [0, 2, 0]))

    def test_an_error_in_a_transaction(self):
        with self.redis.pipeline() as pipe:
            pipe.execute_command("CL.THROTTLE", self.id(), 1, 1, 3600)
            pipe.execute_command("CL.THROTTLE", self.id(), "x", 1, 3600)
            pipe.execute_command("CL.THROTTLE", self.id(), 1, 1, 3600)
            first, error, third = pipe.execute(raise_on_error=False)
        self.assertEqual((first[:3], third[:3]), ([0, 2, 1], [0, 2, 0]))
        self.assertIsInstance(error, redis.ResponseError)
        with self.redis.pipeline() as pipe:
            pipe.execute_command("NOSUCH")
            with self.assertRaisesRegex(redis.ResponseError, "unknown command 'NOSUCH'"):
                pipe.execute()
        self.assertTrue(self.redis.ping())

    def test_a_pipeline_without_transaction(self):
        with self.redis.pipeline(transaction=False) as pipe:
            for i in range(2000):
                pipe.execute_command("CL.THROTTLE", self.id(), 999, 1, 3600)
            answers = pipe.execute()
        self.assertEqual([a[0] for a in answers], [0] * 1000 + [1] * 1000)

    def test_a_pool_shared_by_threads(self):
        admitted = []

        def ask():
            for _ in range(50):
                admitted.append(self.throttle(None, None, 99, 1, 3600)[0] == 0)
        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(admitted), sum(admitted)), (300, 100))

    def test_keys_are_bytes(self):
        for key in (b"\0\xff\r\n", "é", "a b"):
            self.assertEqual(self.throttle(None, key, 0, 1, 3600)[0], 0)
            self.assertEqual(self.throttle(None, key, 0, 1, 3600)[0], 1)

    def test_password_user_name_and_unix_socket(self):
        with Folder() as folder, Server("--user", "api", "--unix-socket", folder.file("sock"),
                                        env={"WEIR_PASSWORD": "s3cret"}) as server:
            for options in ({"port": server.port}, {"unix_socket_path": folder.file("sock")}):
                with redis.Redis(username="api", password="s3cret", client_name="worker", **options) as client:
                    self.assertTrue(client.ping())
                    self.assertEqual(client.client_getname(), "worker")
                with redis.Redis(**options) as client, self.assertRaises(redis.AuthenticationError):
                    client.ping()
                with redis.Redis(username="api", password="wrong", **options) as client:
                    with self.assertRaisesRegex(redis.RedisError, "WRONGPASS"):
                        client.ping()


if __name__ == "__main__":
    run()
