"""Exactly the burst is admitted, however many connections ask at once."""
import threading
import unittest

from server import Server, encode, run

CONNECTIONS = 8


class TestCount(unittest.TestCase):
    def hammer(self, commands):
        """Every connection sends all the commands; returns, for each command, how many were admitted."""
        with Server("--threads", "2") as server:
            admitted = [[] for _ in range(CONNECTIONS)]
            together = threading.Barrier(CONNECTIONS, timeout=10)

            def ask(number):
                with server.client() as client:
                    client.ask("PING")
                    together.wait()
                    client.send_bytes(b"".join(commands))
                    admitted[number] = [client.reply()[0] == 0 for _ in commands]
            threads = [threading.Thread(target=ask, args=(number,)) for number in range(CONNECTIONS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return [sum(each) for each in zip(*admitted, strict=True)]

    def test_one_key(self):
        for _ in range(3):
            self.assertEqual(sum(self.hammer([encode("CL.THROTTLE", "k", 9, 1, 3600)] * 2000)), 10)

    def test_one_key_with_a_cost(self):
        self.assertEqual(sum(self.hammer([encode("CL.THROTTLE", "k", 99, 1, 3600, 7)] * 1000)), 14)

    def test_a_hundred_keys(self):
        keys = 100
        commands = [encode("CL.THROTTLE", f"k{i % keys}", 9, 1, 3600) for i in range(keys * 30)]
        admitted = self.hammer(commands)
        for key in range(keys):
            self.assertEqual(sum(admitted[key::keys]), 10, f"k{key}")

    def test_both_commands_share_the_key(self):
        commands = [encode("CL.THROTTLE", "k", 9, 1, 3600), encode("GCRA", "k", 9, 1, 3600)] * 500
        self.assertEqual(sum(self.hammer(commands)), 10)


if __name__ == "__main__":
    run()
