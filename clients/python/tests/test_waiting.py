"""Acquires in line, by TAG on the connection that all share: of a server that says what a test tells it to, and of weir."""

import asyncio
import contextlib
import os
import queue
import signal
import socket
import threading
import unittest

from world import PATIENCE, Client, Folder, Loop, Proxy, Threads, Weir, until, weir

from weir import resp

RULE = "1/min"
DELAYS = 0, 3, 10, 25, 100  # milliseconds, each way
QUEUED = b"+QUEUED\r\n"
CHECKED = b"*6\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:1\r\n$1\r\nk\r\n"
DENIED = b"*7\r\n:1\r\n:1\r\n:0\r\n:9000\r\n:9000\r\n_\r\n$1\r\nk\r\n"
ENDS = b"-ERR the server is shutting down\r\n"


def granted(id=b""):
    return b"*7\r\n:0\r\n:1\r\n:0\r\n:0\r\n:60000\r\n$%d\r\n%b\r\n$1\r\nk\r\n" % (len(id), id)


def push(word, answer):
    return b">3\r\n$12\r\nweir.acquire\r\n$%d\r\n%b\r\n%b" % (len(word), word, answer)


class Told:
    """A server that greets, and answers nothing else by itself."""

    def __init__(self, has_tags=True):
        self.folder = Folder()
        self.hello = b"%%3\r\n+proto\r\n:3\r\n+weir_version\r\n+0.1.0\r\n+%b\r\n:9\r\n" % (b"max_waiters" if has_tags else b"x")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.folder.file("told.sock"))
        self.listener.listen()
        self.url = f"unix:{self.folder.file('told.sock')}"
        self.asked, self.connections = queue.Queue(), []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                self.connections.append(self.listener.accept()[0])
                threading.Thread(target=self.serve, args=(self.connections[-1],), daemon=True).start()

    def serve(self, connection):
        parser = resp.Parser()
        with contextlib.suppress(OSError):
            while data := connection.recv(1 << 16):
                for words in parser.feed(data):
                    if words[0] == b"HELLO":
                        connection.sendall(self.hello)
                    else:
                        self.asked.put((connection, words))

    def next(self):
        """The words of the next question, on whatever connection."""
        self.last, words = self.asked.get(timeout=PATIENCE)
        return words

    def next_tag(self):
        words = self.next()
        return words[words.index(b"TAG") + 1]

    def say(self, data):
        """On the connection of the last question."""
        self.last.sendall(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in (self.listener, *self.connections):
            each.close()
        self.folder.__exit__()


class InLine:
    """Both clients."""

    def setUp(self):
        self.drives = self.driver()
        self.addCleanup(self.drives.close)

    def connect(self, url, **options):
        client = self.drives.connect(url, **{"timeout": PATIENCE, "on_error": "raise", **options})
        self.addCleanup(lambda: self.drives.start(client.close).result(PATIENCE))
        return client

    def told(self, has_tags=True, **options):
        self.server = self.enterContext(Told(has_tags))
        self.client = self.connect(self.server.url, **options)

    def acquire(self, **options):
        return self.drives.start(self.client.acquire, "k", RULE, **options)

    def in_line(self, **options):
        """(what will be its outcome, its word)"""
        waits, word = self.acquire(**options), self.server.next_tag()
        self.server.say(QUEUED)
        return waits, word

    def check(self):
        return self.drives.start(self.client.check, "k", RULE)

    def pool(self):
        return self.client._pool if self.driver is Threads else self.client._of_loop

    def assert_nothing_is_kept(self):
        until(lambda: not self.pool()._shared._in_line, "no word is kept")
        until(lambda: self.pool()._asking._value == 512, "no place is kept")

    def test_a_push_answers_it(self):
        self.told()
        waits, word = self.in_line()
        self.assertFalse(waits.done())
        self.server.say(push(word, granted(b"an-id")))
        self.assertEqual(waits.result(PATIENCE).id, "an-id")
        waits, word = self.in_line()
        self.server.say(push(word, DENIED))
        self.assertRaisesRegex(weir.Denied, "retry after 9 s", waits.result, PATIENCE)
        self.assert_nothing_is_kept()

    def test_what_is_decided_at_once_has_no_push(self):
        self.told()
        for answer, text in ((DENIED, "retry after 9 s"), (ENDS, "shutting down"), (b"-ERR no\r\n", "no"), (granted(), None)):
            waits = self.acquire()
            self.server.next_tag()
            self.server.say(answer)
            if text is None:
                self.assertTrue(waits.result(PATIENCE))
            else:
                self.assertRaisesRegex(weir.Error, text, waits.result, PATIENCE)
        self.assert_nothing_is_kept()

    def test_a_push_comes_with_queued_and_between_other_replies(self):
        self.told()
        waits = self.acquire()
        word = self.server.next_tag()
        self.server.say(QUEUED + push(word, granted()))
        self.assertTrue(waits.result(PATIENCE))
        waits, word = self.in_line()
        checks = [self.check() for _ in range(3)]
        for _ in checks:
            self.server.next()
        data = CHECKED + push(word, granted(b"an-id")) + CHECKED + b">2\r\n+invalidate\r\n_\r\n" + CHECKED
        for at in range(0, len(data), 7):
            self.server.say(data[at : at + 7])
        self.assertEqual([each.result(PATIENCE).limit for each in checks], [5, 5, 5])
        self.assertEqual(waits.result(PATIENCE).id, "an-id")
        self.assert_nothing_is_kept()

    def test_each_has_a_word_of_its_own_and_its_own_answer(self):
        self.told()
        waits = [self.in_line() for _ in range(50)]
        self.assertEqual(len({word for _, word in waits}), 50)
        for _, word in reversed(waits):
            self.server.say(push(word, granted(b"of-" + word)))
        for each, word in waits:
            self.assertEqual(each.result(PATIENCE).id, f"of-{word.decode()}")
        self.assertEqual(len(self.server.connections), 1)
        self.assert_nothing_is_kept()

    def test_those_in_line_are_not_unanswered(self):
        """And more than may be unanswered ask one after the other, within their max_wait."""
        self.told(max_in_flight=4)
        many = [self.acquire() for _ in range(10)]
        words = []
        for _ in range(5):
            words += [self.server.next_tag(), self.server.next_tag()]
            self.assertTrue(self.server.asked.empty())
            self.server.say(2 * QUEUED)
        until(lambda: self.pool()._asking._value == 2, "all know that they are in line")
        checks = [self.check() for _ in range(4)]
        for _ in checks:
            self.server.next()
        with self.assertRaisesRegex(weir.Unavailable, "4 calls are unanswered"):
            self.check().result(PATIENCE)
        self.server.say(4 * CHECKED + b"".join(push(word, granted()) for word in words))
        self.assertTrue(all(each.result(PATIENCE) for each in [*checks, *many]))

    def test_one_that_finds_no_place_to_ask_within_its_time_does_not_wait(self):
        self.told(max_in_flight=2)
        first, word = self.acquire(), self.server.next_tag()
        second = self.acquire(max_wait=0.05)
        self.assertEqual(self.server.next(), [b"WEIR.ACQUIRE", b"MAXWAIT", b"0", b"KEYS", b"k", RULE.encode()])
        self.server.say(QUEUED + DENIED + push(word, granted()))
        self.assertTrue(first.result(PATIENCE))
        self.assertRaises(weir.Denied, second.result, PATIENCE)

    def test_without_an_answer_it_leaves_and_a_late_grant_is_given_back(self):
        self.told(timeout=0.1)
        waits, word = self.acquire(), self.server.next_tag()
        self.assertRaisesRegex(weir.Unavailable, "no answer within the timeout", waits.result, PATIENCE)
        self.assertEqual(self.server.next(), [b"WEIR.LEAVE", word])
        self.server.say(granted(b"late") + b":0\r\n")
        check = self.check()
        told = [self.server.next() for _ in range(2)]
        self.assertIn([b"WEIR.SETTLE", b"late", b"0"], told)
        with contextlib.suppress(weir.Unavailable):
            check.result(PATIENCE)

    def test_without_its_push_it_leaves(self):
        self.told(timeout=0.1)
        waits, word = self.in_line(max_wait=0.1)
        self.assertRaisesRegex(weir.Unavailable, "no answer within the timeout", waits.result, PATIENCE)
        self.assertEqual(self.server.next(), [b"WEIR.LEAVE", word])
        self.assert_nothing_is_kept()

    def test_a_connection_that_dies_ends_the_wait_of_each_and_nothing_is_sent_again(self):
        self.told()
        waits = [self.in_line()[0] for _ in range(100)]
        self.server.last.shutdown(socket.SHUT_RDWR)
        for each in waits:
            self.assertRaisesRegex(weir.Unavailable, "the connection was closed", each.result, PATIENCE)
        check = self.check()
        self.assertEqual(self.server.next()[0], b"WEIR.THROTTLE")
        self.server.say(CHECKED)
        self.assertTrue(check.result(PATIENCE))
        self.assertTrue(self.server.asked.empty())

    def test_close_ends_the_wait_of_each(self):
        self.told(on_error="deny")
        waits = [self.in_line()[0] for _ in range(3)]
        self.drives.start(self.client.close).result(PATIENCE)
        for each in waits:
            self.assertRaisesRegex(weir.Denied, "the client was closed", each.result, PATIENCE)

    def test_where_there_is_no_tag_each_has_a_connection_of_its_own(self):
        self.told(has_tags=False, max_connections=3)
        many = [self.acquire() for _ in range(2)]
        for _ in many:
            self.assertNotIn(b"TAG", self.server.next())
        self.assertEqual(len(self.server.connections), 3)
        for each in self.server.connections[1:]:
            each.sendall(granted())
        self.assertTrue(all(each.result(PATIENCE) for each in many))


class TestThreads(InLine, unittest.TestCase):
    driver = Threads

    def interrupted(self, is_queued, reply):
        """An acquire that a signal ends, which `reply` answers when it leaves."""

        class Alarm(Exception):
            pass

        def ring(*_):
            raise Alarm

        def serve():
            word = self.server.next_tag()
            connection = self.client._pool._shared
            if is_queued:
                self.server.say(QUEUED)
                until(lambda: connection._in_line[word].until, "it knows that it is in line")
            until(connection._reading.locked, "it reads")  # in the middle of that, a signal costs the connection
            os.kill(os.getpid(), signal.SIGUSR1)
            told.append(self.server.next() == [b"WEIR.LEAVE", word])
            self.server.say(reply(word))

        told, serves = [], threading.Thread(target=serve)
        before = signal.signal(signal.SIGUSR1, ring)
        try:
            serves.start()
            with self.assertRaises(Alarm):
                self.client.acquire("k", RULE)
        finally:
            signal.signal(signal.SIGUSR1, before)
            serves.join()
        self.assertEqual(told, [True])
        self.assert_nothing_is_kept()

    def test_a_signal(self):
        self.told()
        self.interrupted(True, lambda word: b":1\r\n")
        self.interrupted(False, lambda word: QUEUED + b":1\r\n")
        self.assertTrue(self.server.asked.empty())
        self.interrupted(True, lambda word: push(word, granted(b"late")) + b":0\r\n")
        self.assertEqual(self.server.next(), [b"WEIR.SETTLE", b"late", b"0"])
        # Its answer comes with the next, whose client may not be found reading it.
        self.interrupted(False, lambda word: b":0\r\n" + granted(b"at-once") + b":0\r\n")
        self.assertEqual(self.server.next(), [b"WEIR.SETTLE", b"at-once", b"0"])
        self.server.say(b":0\r\n")
        self.assertEqual(len(self.server.connections), 1)

    def test_a_child_of_fork_waits_on_a_connection_of_its_own(self):
        with Weir() as server:
            self.client = self.connect(server.url)
            self.client.check("k", RULE)
            waits = self.acquire()
            until(lambda: server.waiting() == 1, "it waits")
            child = os.fork()
            if child == 0:
                code = 1
                with contextlib.suppress(BaseException):
                    code = 0 if self.client.acquire("another", RULE).decision.decided else 1
                os._exit(code)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            server.advance(60_000)
            self.assertTrue(waits.result(PATIENCE).decision.decided)


class TestLoop(InLine, unittest.TestCase):
    driver = Loop

    def test_a_task_that_is_cancelled_leaves(self):
        self.told()
        for is_queued in True, False:
            waits, word = self.in_line() if is_queued else (self.acquire(), self.server.next_tag())
            waits.cancel()
            self.assertEqual(self.server.next(), [b"WEIR.LEAVE", word])
            self.server.say(b":1\r\n" if is_queued else QUEUED + b":1\r\n")
        self.assert_nothing_is_kept()
        self.assertTrue(self.server.asked.empty())

    def test_a_grant_that_came_before_it_left_is_given_back(self):
        self.told()
        for is_queued in True, False:
            waits, word = self.in_line() if is_queued else (self.acquire(), self.server.next_tag())
            waits.cancel()
            self.assertEqual(self.server.next(), [b"WEIR.LEAVE", word])
            self.server.say((push(word, granted(b"late")) if is_queued else granted(b"late")) + b":0\r\n")
            self.assertEqual(self.server.next(), [b"WEIR.SETTLE", b"late", b"0"])
            self.server.say(b":0\r\n")
        self.assert_nothing_is_kept()

    def test_a_grant_that_came_before_its_task_ran_is_given_back(self):
        self.told()

        async def cancelled(came):
            task = asyncio.ensure_future(self.client.acquire("k", RULE))
            word = await asyncio.to_thread(self.server.next_tag)
            connection = self.client._of_loop._shared
            connection.data_received(came(word))
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        for came in lambda word: granted(b"late"), lambda word: QUEUED + push(word, granted(b"late")):
            self.drives.start(cancelled, came).result(PATIENCE)
            self.assertEqual({self.server.next()[0], self.server.next()[0]}, {b"WEIR.LEAVE", b"WEIR.SETTLE"})
            self.server.say(b":0\r\n:0\r\n")
        self.assert_nothing_is_kept()


def has_tags():
    with Weir() as server, Client(server.path) as client:
        return b"max_waiters" in client.ask_raw("HELLO", "3")


@unittest.skipUnless(has_tags(), "this weir has no TAG")
class TestPaced(unittest.TestCase):
    """None is let through because a connection is slow to be made."""

    def all_are_paced(self, server, url, number, **options):
        for driver in Threads, Loop:
            with contextlib.closing(driver()) as drives:
                server.ask("DEL", "k")
                client = drives.connect(url, on_error="raise", **options)
                many = [drives.start(client.acquire, "k", "1000/s burst 1", max_wait=60) for _ in range(number)]
                until(lambda: server.waiting() == number - 1, "all but one stand in line")
                self.assert_acted(many, 1)
                server.advance(number // 2)
                self.assert_acted(many, number // 2 + 1)
                server.advance(number)
                self.assert_acted(many, number)
                lines = server.ask("CLIENT", "LIST").decode().splitlines()
                self.assertEqual(sum("cmd=weir.acquire" in line for line in lines), 1, lines)
                drives.start(client.close).result(PATIENCE)

    def assert_acted(self, many, number):
        until(lambda: sum(each.done() for each in many) >= number, f"{number} have acted")
        self.assertEqual([each.result().decision.decided for each in many if each.done()], [True] * number)

    def far_away(self, number, delays, **options):
        with Proxy() as proxy:
            for milliseconds in delays:
                with self.subTest(milliseconds), Weir() as server:
                    self.all_are_paced(server, proxy.far(server.url, milliseconds), number, **options)

    def test_fifteen_at_once_far_away(self):
        """Fifteen connections one after the other would take longer than the timeout."""
        self.far_away(15, DELAYS, timeout=2.0)

    def test_two_thousand_at_once_on_one_connection(self):
        """As many threads take seconds each time."""
        self.far_away(2000, DELAYS if os.environ.get("WEIR_LONG") == "1" else DELAYS[-1:], timeout=PATIENCE)


if __name__ == "__main__":
    unittest.main()
