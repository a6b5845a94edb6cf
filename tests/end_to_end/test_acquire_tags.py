"""WEIR.ACQUIRE ... TAG and WEIR.LEAVE: many that wait on one connection, while others of it go on."""
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))

from server import Error, Push, Server, Simple, encode, until
from server import run as run_tests
from test_takeover import Chain
from test_virtual_time import Virtual
from world import Redis, available

RULE = "1/s burst 1"
SLOT = "in_flight=1"
END = Error("ERR the server is shutting down")


def acquire(tag, key, rule=RULE, max_wait=60_000, *words):
    return encode("WEIR.ACQUIRE", "MAXWAIT", max_wait, *words, "TAG", tag, key, rule)


class Tagged(Virtual):
    def setUp(self):
        super().setUp()
        self.client.ask("HELLO", "3")

    def send(self, *commands):
        self.client.send_bytes(b"".join(commands))

    def replies(self, count):
        return [self.client.reply() for _ in range(count)]

    def granted(self, tag, key):
        return Push([b"weir.acquire", tag, [0, 1, 0, 0, 1000, None, key]])

    def test_others_go_on_and_answers_are_pushed_in_the_order_of_the_line(self):
        self.send(acquire("a", "k"), acquire("b", "k"), acquire("c", "k"), encode("PING"), encode("WEIR.THROTTLE", "k2", RULE))
        self.assertEqual(self.replies(4), [[0, 1, 0, 0, 1000, None, b"k"], Simple("QUEUED"), Simple("QUEUED"), Simple("PONG")])
        self.assertEqual(self.client.reply()[0], 0)
        self.client.send("WEIR.TIME", "ADVANCE", 2000)
        self.assertEqual(self.replies(2), [self.granted(b"b", b"k"), self.granted(b"c", b"k")])
        self.assertEqual(self.client.reply()[1], 2000)

    def test_a_denial_is_pushed_too(self):
        self.send(acquire("a", "k", RULE, 0), acquire("b", "k"), acquire("c", "k", RULE, 1500))
        first, second, third = self.replies(3)
        self.assertEqual((first[0], second), (0, Simple("QUEUED")))
        # That it cannot act in time is known at once, since nobody in line before it can give anything back.
        self.assertEqual((third[0], third[3]), (1, 500))
        slot = acquire("s", "slot", SLOT, 1000, "HOLD", 60_000)
        self.send(encode("WEIR.RESERVE", "HOLD", 60_000, "slot", SLOT), slot)
        self.assertEqual(self.replies(2)[1], "QUEUED")
        self.client.send("WEIR.TIME", "ADVANCE", 1000)
        pushed = self.replies(2)
        self.assertEqual({each[1]: each[2][0] for each in pushed}, {b"b": 0, b"s": 1})
        self.assertEqual(self.client.reply()[1], 1000)

    def test_fields_come_with_the_push(self):
        self.send(acquire("a", "k", RULE, 0), acquire("b", "k", RULE, 5000, "FIELDS"))
        self.assertEqual(self.replies(2)[1], "QUEUED")
        self.client.send("WEIR.TIME", "ADVANCE", 1000)
        pushed = self.client.reply()
        self.assertEqual((pushed[1], len(pushed[2]), type(pushed[2][7])), (b"b", 8, list))
        self.client.reply()

    def test_leaving(self):
        self.send(acquire("a", "k", RULE, 0), acquire("b", "k"), acquire("c", "k"), encode("WEIR.LEAVE", "b"),
                  encode("WEIR.LEAVE", "b"), encode("WEIR.LEAVE", "x"))
        self.assertEqual(self.replies(6)[3:], [1, 0, 0])
        self.client.send("WEIR.TIME", "ADVANCE", 1000)
        self.assertEqual(self.client.reply(), self.granted(b"c", b"k"))  # in the place of the one that left
        self.client.reply()
        self.send(encode("WEIR.LEAVE", "c"), acquire("b", "k"))  # a word is free again
        self.assertEqual(self.replies(2), [0, "QUEUED"])

    def test_one_that_is_granted_is_pushed_before_it_is_too_late_to_leave(self):
        self.send(encode("WEIR.RESERVE", "HOLD", 60_000, "k", SLOT), acquire("b", "k", SLOT, 60_000, "HOLD", 60_000))
        held, queued = self.replies(2)
        self.assertEqual(queued, "QUEUED")
        # All in one read: the slot is free when the word is to leave, and the next is asked in a turn of its own.
        self.send(encode("WEIR.SETTLE", held[5]), encode("WEIR.LEAVE", "b"), encode("PING"))
        came = [self.client.reply()]
        while came[-1] != "PONG":
            came.append(self.client.reply())
        left = [each for each in came if each in (0, 1) and isinstance(each, int)][-1]
        pushes = [each for each in came if isinstance(each, Push)]
        self.assertEqual(len(pushes), 1 - left, came)

    def test_what_is_refused(self):
        self.send(acquire("a", "k", RULE, 0), acquire("b", "k"), acquire("b", "k"), acquire("", "k"), acquire("x" * 65, "k"),
                  acquire("x" * 64, "k"), encode("WEIR.RESERVE", "TAG", "b", "k", RULE),
                  encode("WEIR.ACQUIRE", "MAXWAIT", 1, "TAG", "p", "TAG", "q", "k", RULE))
        replies = self.replies(8)
        self.assertEqual(replies[2], Error("ERR TAG: one that waits on this connection has that word; give each another"))
        self.assertEqual(replies[3:5], [Error("ERR TAG must be of 1 to 64 bytes")] * 2)
        self.assertEqual(replies[5], "QUEUED")
        self.assertEqual(replies[6], Error("ERR TAG is WEIR.ACQUIRE's: a reservation waits for nothing"))
        self.assertEqual(replies[7], Error("ERR TAG is given twice"))
        self.assertIsInstance(self.client.ask("HELLO", "2"), Error)
        self.assertIsInstance(self.client.ask("WEIR.LEAVE"), Error)
        self.send(encode("MULTI"), acquire("m", "k"), encode("WEIR.LEAVE", "b"), encode("EXEC"))
        self.assertEqual([type(each) for each in self.replies(4)], [Simple, Simple, Error, Error])
        self.send(encode("MULTI"), acquire("m", "k"), encode("EXEC"))
        self.assertEqual(self.replies(3)[2], [Error("ERR TAG: nothing waits in a transaction; leave it out after MULTI")])
        self.assertEqual(self.client.ask("RESET"), "RESET")
        other = self.connect()
        other.send_bytes(acquire("a", "k"))
        self.assertEqual(other.reply(), Error("ERR TAG needs RESP3, by which its answer is pushed: HELLO 3 before it"))

    def test_a_push_stands_in_no_reply(self):
        self.send(acquire("a", "k", RULE, 0), acquire("b", "k"))
        self.replies(2)
        other = self.connect()
        self.send(encode("MULTI"), *[encode("PING")] * 50)
        self.replies(51)
        self.assertEqual(other.ask("WEIR.TIME", "ADVANCE", 1000)[1], 1000)
        self.assertEqual(self.client.reply(), self.granted(b"b", b"k"))
        self.client.send("EXEC")
        self.assertEqual(self.client.reply(), ["PONG"] * 50)

    def test_its_end_takes_all_out_of_line(self):
        other = self.connect()
        for end in (lambda: self.client.close(), lambda: self.client.ask("RESET")):
            self.client = self.connect()
            self.client.ask("HELLO", "3")
            self.send(acquire("a", "k", RULE, 0), *[acquire(f"t{i}", "k") for i in range(20)])
            self.replies(21)
            self.assertIn(b"blocked_clients:20\r\n", other.ask("INFO", "clients"))
            end()
            until(lambda: other.ask("WEIR.RESERVE", "MAXWAIT", 1000, "k", RULE)[0] == 0, "nobody is in line")
            other.ask("WEIR.TIME", "ADVANCE", 10_000)

    def test_a_thousand_on_one_connection_and_their_memory(self):
        self.send(*[acquire(f"t{i}", "k", "1000/s burst 1") for i in range(1001)])
        self.assertEqual(self.replies(1001)[1:], ["QUEUED"] * 1000)
        memory = int(dict(each.split(b"=", 1) for each in self.client.ask("CLIENT", "INFO").split())[b"tot-mem"])
        self.assertGreater(memory, 200_000)
        self.assertLess(memory, 4_000_000)
        self.client.send("WEIR.TIME", "ADVANCE", 1000)
        pushed = self.replies(1000)
        self.assertEqual([each[1] for each in pushed], [b"t%d" % i for i in range(1, 1001)])
        self.assertEqual({each[2][0] for each in pushed}, {0})
        self.client.reply()
        after = int(dict(each.split(b"=", 1) for each in self.client.ask("CLIENT", "INFO").split())[b"tot-mem"])
        self.assertLess(after, 10_000)

    def test_a_silent_one_is_pushed_nothing(self):
        self.send(encode("CLIENT", "REPLY", "OFF"), acquire("a", "k", RULE, 0), acquire("b", "k"),
                  encode("WEIR.TIME", "ADVANCE", 1000), encode("CLIENT", "REPLY", "ON"), encode("PING"))
        self.assertEqual(self.replies(2), ["OK", "PONG"])
        self.assertEqual(self.client.ask("WEIR.THROTTLE", "COST", "0", "k", RULE)[2], 0)  # both have acted


class AtTheEnd(unittest.TestCase):
    def connect(self, server):
        client = server.client()
        self.addCleanup(client.close)
        self.assertEqual(client.ask("HELLO", "3")[b"max_waiters"], 10_000)
        return client

    def test_those_in_line_are_told(self):
        with Server() as server:
            client = self.connect(server)
            client.send_bytes(acquire("a", "k", RULE, 0) + b"".join(acquire(f"t{i}", "k", "1/min burst 1", 600_000) for i in range(3)))
            self.assertEqual([client.reply() for _ in range(4)][1:], ["QUEUED"] * 3)
            server.signal(signal.SIGTERM)
            told = [client.reply() for _ in range(3)]
            self.assertEqual([(each[0], each[2]) for each in told], [(b"weir.acquire", END)] * 3)
            self.assertEqual(client.rest(), b"")

    def test_one_whose_moment_is_near_acts(self):
        with Server() as server:
            client = self.connect(server)
            client.send_bytes(acquire("a", "k", RULE, 0) + acquire("b", "k"))
            self.assertEqual([client.reply() for _ in range(2)][1], "QUEUED")
            server.signal(signal.SIGTERM)
            self.assertEqual(client.reply()[1:], [b"b", [0, 1, 0, 0, 1000, None, b"k"]])
            self.assertEqual(client.rest(), b"")

    def test_a_takeover_tells_those_in_line_and_the_connection_goes_on(self):
        with Chain() as chain:
            client = self.connect(chain.now)
            client.send_bytes(acquire("a", "k", RULE, 0) + b"".join(acquire(f"t{i}", "k", "1/min burst 1", 600_000) for i in range(3)))
            self.assertEqual([client.reply() for _ in range(4)][1:], ["QUEUED"] * 3)
            chain.take_over()
            self.assertEqual(sorted((client.reply() for _ in range(3)), key=lambda each: each[1]),
                             [Push([b"weir.acquire", b"t%d" % i, END]) for i in range(3)])
            # The same words wait at the next one.
            client.send_bytes(acquire("t0", "k", "1/min burst 1", 600_000) + encode("PING") + encode("WEIR.LEAVE", "t0"))
            self.assertEqual([client.reply() for _ in range(3)], ["QUEUED", "PONG", 1])

    def test_as_many_as_may_wait(self):
        with Server("--max-waiters", "2") as server, server.client() as client:
            self.assertEqual(client.ask("HELLO", "3")[b"max_waiters"], 2)
            client.send_bytes(b"".join(acquire(f"t{i}", "k", "1/min burst 1", 3_000_000) for i in range(5)))
            replies = [client.reply() for _ in range(5)]
            self.assertEqual(replies[1:3], ["QUEUED"] * 2)
            for each in replies[3:]:
                self.assertIsInstance(each, Error)
                self.assertIn("--max-waiters", each)


@unittest.skipUnless(available(), "no redis-server")
class OverAStore(unittest.TestCase):
    def serve(self, redis):
        return Server("--store", f"redis://{redis.address}", "--store-deadline", "2s")

    def test_each_is_queued_first_and_other_replies_keep_their_order(self):
        with Redis() as redis, self.serve(redis) as server, server.client() as client:
            client.ask("HELLO", "3")
            client.send_bytes(b"".join(
                encode("WEIR.THROTTLE", f"other{i}", RULE) + acquire(f"t{i}", "k", "20/s burst 1") + encode("ECHO", i)
                for i in range(20)))
            replies, pushes = [], []
            while len(replies) < 60 or len(pushes) < 20:
                one = client.reply()
                (pushes if isinstance(one, Push) else replies).append(one)
            for i in range(20):
                self.assertEqual(replies[3 * i][0], 0)
                self.assertEqual(replies[3 * i + 1:3 * i + 3], ["QUEUED", b"%d" % i])
            self.assertEqual([each[1] for each in pushes], [b"t%d" % i for i in range(20)])
            self.assertEqual({each[2][0] for each in pushes}, {0})

    def test_leaving_while_the_store_is_asked(self):
        with Redis() as redis, self.serve(redis) as server, server.client() as client:
            client.ask("HELLO", "3")
            client.send_bytes(acquire("a", "k", SLOT, 60_000, "HOLD", 60_000) + encode("WEIR.LEAVE", "a"))
            self.assertEqual([client.reply() for _ in range(2)], ["QUEUED", 1])
            # What it was granted is taken back.
            until(lambda: client.ask("WEIR.RESERVE", "HOLD", 60_000, "k", SLOT)[0] == 0, "its slot is free again")


if __name__ == "__main__":
    run_tests()
