"""What the cases cannot say: signals, a blocked event loop, ten thousand at once, a shared local weir, the decorator."""

import asyncio
import contextlib
import functools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

from world import PATIENCE, ROOT, WEIR, Folder, Weir, environment, until, weir, without_tags

from weir import identity
from weir.aio.connection import Connection as AioConnection
from weir.connection import Connection
from weir.errors import NotWritten
from weir.resp import Parser

RULE = "1000000/min"
connect = functools.partial(weir.connect, timeout=PATIENCE)


class TestThreads(unittest.TestCase):
    def test_no_reply_is_lost_among_threads(self):
        """One that wrote for others and had its own reply left nobody to read theirs."""
        with Weir() as server, connect(server.url, on_error="raise") as client:
            wrong = []

            def ask(name):
                for n in range(100):
                    key = f"{name}:{n}"
                    with contextlib.suppress(weir.Refused):
                        if client.check(key, RULE).by != key:
                            wrong.append(key)
                    if n % 10 == 0:
                        with contextlib.suppress(weir.Refused):
                            client.check(key, "never")
                            wrong.append("never")

            threads = [threading.Thread(target=ask, args=(name,)) for name in range(60)]
            for each in threads:
                each.start()
            for each in threads:
                each.join(2 * PATIENCE)
            self.assertFalse(any(each.is_alive() for each in threads))
            self.assertEqual(wrong, [])

    def test_a_signal_in_acquire_gives_the_moment_back(self):
        class Alarm(Exception):
            pass

        def ring(*_):
            raise Alarm

        def waits_and_rings(server):
            until(lambda: server.waiting() == 1, "it waits")
            os.kill(os.getpid(), signal.SIGUSR1)

        for tags in contextlib.nullcontext, without_tags:
            with self.subTest(tags), tags(), Weir() as server, connect(server.url) as client:
                client.check("k", "1/min")
                rings = threading.Thread(target=waits_and_rings, args=(server,))
                before = signal.signal(signal.SIGUSR1, ring)
                try:
                    rings.start()
                    with self.assertRaises(Alarm):
                        client.acquire("k", "1/min", max_wait=60)
                finally:
                    signal.signal(signal.SIGUSR1, before)
                    rings.join()
                reserve = functools.partial(client.try_reserve, "k", "1/min", max_wait=60)
                until(lambda reserve=reserve: reserve().wait == 60.0, "the moment is another's")

    def test_a_slot_is_extended_by_a_thread_that_ends(self):
        with Weir() as server, connect(server.url) as client:
            with client.slot("api", rule="in_flight=1", max_wait=0, hold=30) as call:
                self.assertIsNotNone(call.id)
                self.assertTrue(any(each.name == "weir-slot" for each in threading.enumerate()))
                self.assertEqual(client.moment(call.id), 0.0)
            until(lambda: not any(each.name == "weir-slot" for each in threading.enumerate()), "the thread has ended")
            self.assertTrue(client.reserve("api", "in_flight=1", hold=1))

    def test_a_hold_that_has_ended_is_logged_and_the_block_goes_on(self):
        with Weir() as server, connect(server.url) as client, self.assertLogs("weir", "WARNING") as logged:
            with client.slot("api", rule="in_flight=1", max_wait=0, hold=0.3) as call:
                server.advance(1000)
                until(lambda: logged.output, "it is logged")
                self.assertIsNotNone(call.id)
            self.assertIn("has ended before its block", logged.output[0])


class Slow:
    """A weir that takes its time for HELLO, or says something else first."""

    def __init__(self, hello_seconds=0.0, first=b"", seconds=0.0):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"weir://127.0.0.1:{self.listener.getsockname()[1]}"
        self.hello_seconds, self.first, self.seconds, self.clients = hello_seconds, first, seconds, 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=self.listener.accept()[:1], daemon=True).start()

    def serve(self, connection):
        self.clients += 1
        with contextlib.suppress(OSError), connection:
            if self.first:
                connection.sendall(self.first)
                connection.recv(1000)  # closed with something unread, it would be reset
                return
            connection.recv(1000)
            time.sleep(self.hello_seconds)
            connection.sendall(b"*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$12\r\nweir_version\r\n$5\r\n0.1.0\r\n")
            while connection.recv(1000):
                time.sleep(self.seconds)
                connection.sendall(b"*6\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:1\r\n$1\r\nk\r\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


class TestFirst(unittest.TestCase):
    """The first connection of a client, by both."""

    def check(self, url, **options):
        async def awaited():
            async with weir.aio.connect(url, **options) as client:
                return await client.check("k", RULE)

        def blocking():
            with weir.connect(url, **options) as client:
                return client.check("k", RULE)

        return [blocking, lambda: asyncio.run(awaited())]

    def test_the_first_attempt_is_waited_for_and_then_the_answer(self):
        with Slow(hello_seconds=1.1, seconds=0.5) as slow:
            for check in self.check(slow.url, timeout=1.0, connect_timeout=PATIENCE):
                self.assertTrue(check().decided)

    def test_beyond_connect_timeout_it_is_not(self):
        with Slow(hello_seconds=3 * PATIENCE) as slow:
            for check in self.check(slow.url, connect_timeout=0.3):
                self.assertFalse(check().decided)

    def test_other_servers(self):
        for first, kind, text in (
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", weir.Refused, "does not speak RESP"),
            (b"-ERR max number of clients reached\r\n", weir.Unavailable, "max number of clients"),
        ):
            with Slow(first=first) as slow:
                for check in self.check(slow.url, on_error="raise"):
                    with self.assertRaisesRegex(kind, text):
                        check()

    def test_who_is_not_let_in_asks_once(self):
        with Slow(first=b"-NOPERM no\r\n") as slow:
            for times, check in enumerate(self.check(slow.url, timeout=PATIENCE), 1):
                self.assertRaises(weir.Unauthorized, check)
                self.assertEqual(slow.clients, times)


class TestClosed(unittest.IsolatedAsyncioTestCase):
    """A connection that the other side has closed, and this one has not noticed: nothing is written, so it may be asked
    elsewhere."""

    async def test_by_threads(self):
        ours, theirs = socket.socketpair()
        theirs.close()
        ours.setblocking(False)
        connection = Connection(ours, Parser(), PATIENCE)
        with self.assertRaises(NotWritten):
            connection.ask(b"x", time.monotonic() + PATIENCE)
        connection.close()

    async def test_a_signal_leaves_no_half_of_anything(self):
        class Alarm(BaseException):
            pass

        for interrupted in ("_send", "_recv"):
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            theirs.sendall(b":1\r\n")
            with theirs, mock.patch.object(Connection, interrupted, side_effect=Alarm):
                connection = Connection(ours, Parser(), PATIENCE)
                self.assertRaises(Alarm, connection.ask, b"x", time.monotonic() + PATIENCE)
                self.assertTrue(connection.closed)
                connection.close()

    async def test_by_a_loop(self):
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        _, connection = await asyncio.get_running_loop().create_unix_connection(lambda: AioConnection(PATIENCE), sock=ours)
        theirs.close()
        with self.assertRaises(NotWritten):
            await connection.ask(b"x", time.monotonic() + PATIENCE)
        with self.assertRaises(NotWritten):
            await connection.ask(b"x", time.monotonic() + PATIENCE)


class TestLoop(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)  # it costs more than what is tested

    async def test_what_is_acquired_is_entered_with_and_without_await(self):
        rule, held = "1/min burst 9", []
        with Weir() as server:
            async with weir.aio.connect(server.url, timeout=PATIENCE) as client:
                limiter = client.limiter(rule)
                async with client.acquire("k", rule, hold=60) as one, await limiter.acquire("k", hold=60) as two:
                    held += [one, two]
                async with client.reserve("k", rule, hold=60) as one:
                    held.append(one)
                held.append(await asyncio.create_task(client.acquire("k", rule, hold=60)))
                held += await asyncio.gather(limiter.reserve("k", hold=60))
                self.assertEqual(len({each.id for each in held} - {None}), 5)
                self.assertEqual([await client.settle(each.id) for each in held[:3]], [None] * 3, "settled when it was left")
                with self.assertRaises(weir.Denied):
                    async with client.acquire("k", rule, cost=9, max_wait=0):
                        self.fail("entered")
                waits = asyncio.create_task(client.acquire("k", rule, cost=9, max_wait=3000))
                await asyncio.to_thread(until, lambda: server.waiting() == 1, "it waits")
                waits.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waits
                await asyncio.to_thread(until, lambda: server.waiting() == 0, "its moment is another's")

    async def test_ten_thousand_at_once(self):
        with Weir() as server:
            async with weir.aio.connect(server.url, timeout=PATIENCE) as client:
                await client.check("k", RULE)
                decisions = await asyncio.gather(*[client.check(f"k{n}", RULE) for n in range(10_000)])
                self.assertEqual(sum(each.decided for each in decisions), 1024)
                self.assertTrue(all(each.allowed for each in decisions))
                errors = {str(each.error) for each in decisions if not each.decided}
                self.assertEqual(errors, {"1024 calls are unanswered"})
            async with weir.aio.connect(server.url, timeout=PATIENCE, max_in_flight=10_000) as client:
                decisions = await asyncio.gather(*[client.check(f"k{n}", RULE) for n in range(10_000)])
                self.assertTrue(all(each.decided for each in decisions))

    async def test_what_is_asked_in_one_turn_is_one_write(self):
        with Weir() as server:
            async with weir.aio.connect(server.url, timeout=PATIENCE) as client:
                await client.check("k", RULE)
                transport = client._of_loop._shared._transport
                with mock.patch.object(transport, "write", wraps=transport.write) as write:
                    await asyncio.gather(*[client.check(f"k{n}", RULE) for n in range(100)])
                self.assertEqual(write.call_count, 1)

    async def test_a_loop_that_was_blocked_reads_before_it_gives_up(self):
        with Weir() as server:
            async with weir.aio.connect(server.url) as client:
                await client.check("k", RULE)
                asked = asyncio.ensure_future(client.check("k", RULE))
                await asyncio.sleep(0)  # it has asked, and nothing is written
                time.sleep(1.2)
                self.assertTrue((await asked).decided)

    async def test_without_tag_those_that_wait_for_a_moment_have_connections_of_their_own(self):
        """Also where all of them connect at the same time."""
        with Weir() as server, without_tags():
            async with weir.aio.connect(server.url, timeout=PATIENCE) as client:
                waiting = [asyncio.ensure_future(client.acquire(f"k{n % 3}", "1/min", max_wait=60)) for n in range(6)]
                waiting += [asyncio.ensure_future(client.check("k", RULE))]
                while server.waiting() < 3:
                    await asyncio.sleep(0.005)
                self.assertEqual(len(client._of_loop._waiting), 3)
                server.advance(60_000)
                await asyncio.gather(*waiting)

    async def test_another_loop_has_its_own_connection(self):
        with Weir() as server:
            client = weir.aio.connect(server.url, timeout=PATIENCE, on_error="raise")

            def elsewhere():
                asyncio.run(client.check("k", RULE))

            await client.check("k", RULE)
            await asyncio.to_thread(elsewhere)
            await client.check("k", RULE)
            await client.close()

    async def test_without_tag_cancelled_after_its_moment_has_come(self):
        """The reply is there, and the task is cancelled before it has run: its slot is free again."""
        with Weir() as server, without_tags():
            async with weir.aio.connect(server.url, timeout=PATIENCE) as client:
                first = await client.acquire("k", "in_flight=1", max_wait=0, hold=60)
                task = asyncio.ensure_future(client.acquire("k", "in_flight=1", max_wait=60, hold=60))
                while server.waiting() == 0:
                    await asyncio.sleep(0.005)
                connection = next(iter(client._of_loop._waiting))
                received = connection.data_received

                def cancels(data):
                    received(data)
                    task.cancel()

                connection._transport.set_protocol(mock.Mock(wraps=connection, data_received=cancels))
                with mock.patch.object(connection, "data_received", cancels):
                    await first.settle()
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                deadline = time.monotonic() + PATIENCE
                while not await client.try_reserve("k", "in_flight=1", hold=60):
                    self.assertLess(time.monotonic(), deadline)
                    await asyncio.sleep(0.01)


class TestOtherLoops(unittest.TestCase):
    def test_where_no_loop_of_asyncio_runs_it_says_so(self):
        client = weir.aio.connect("unix:/nowhere/weir.sock")
        for ask in (client.check("k", "1/h"), client.acquire("k", "1/h"), client.slot("k", rule="1/h").__aenter__()):
            with self.assertRaisesRegex(RuntimeError, r"^weir\.aio goes by asyncio.* under trio ask a weir\.connect\(\)"):
                ask.send(None)  # as trio does


class TestWaits(unittest.TestCase):
    LIMITS = "version: 1\nattributes: [user]\nlimits:\n  user: { by: [user], rate: 1/min, max_wait: 60s }\n"

    def test_reserve_acts_now_whatever_the_file_lets_wait(self):
        """It was booked a minute ahead by the file's default, and who did not look at the wait acted at once."""
        with Weir(self.LIMITS) as server, connect(server.url) as client:
            self.assertEqual(client.reserve(user=1).wait, 0.0)
            self.assertRaises(weir.Denied, client.reserve, user=1)
            self.assertEqual(client.reserve(user=1, max_wait=60).wait, 60.0)

    def test_a_denied_one_has_no_wait_and_is_false(self):
        with Weir() as server, connect(server.url) as client:
            one = client.limiter("1/min")
            self.assertTrue(one.reserve("k"))
            with client.try_reserve("k", "1/min") as denied:
                self.assertEqual((bool(denied), denied.wait, denied.id, denied.decision.retry_after), (False, None, None, 60.0))
            self.assertFalse(one.try_reserve("k"))
            with self.assertRaisesRegex(weir.Denied, "^denied by k; retry after 60 s$"):
                one.reserve("k")

    def test_a_denial_without_an_answer_says_so(self):
        with weir.connect("unix:/nowhere", on_error="deny", timeout=0.1) as client, self.assertLogs("weir"):
            self.assertRaisesRegex(weir.Denied, "denied; weir does not answer", client.reserve, "k", "1/min")
            self.assertEqual(client.try_reserve("k", "1/min").wait, None)

    def test_a_server_that_lets_nobody_wait_that_long(self):
        with Weir(flags=["--max-wait", "5s"]) as server:
            with connect(server.url) as client:
                self.assertEqual(client.acquire("k", "1/min").wait, 0.0)
                self.assertRaises(weir.Denied, client.acquire, "k", "1/min")
                self.assertRaisesRegex(weir.Refused, "MAXWAIT", client.acquire, "k", "1/min", max_wait=60)

            async def awaited():
                async with weir.aio.connect(server.url, timeout=PATIENCE) as client:
                    with self.assertRaises(weir.Denied):
                        await client.acquire("k", "1/min")

            asyncio.run(awaited())


class TestLimit(unittest.TestCase):
    def test_a_function(self):
        with Weir() as server, connect(server.url) as client:

            @weir.limit("2/min", key=lambda name, **_: f"user:{name}", client=client)
            def greet(name, loud=False):
                """Greets."""
                return f"hello {name}"

            self.assertEqual((greet("a"), greet("a", loud=True), greet("b")), ("hello a", "hello a", "hello b"))
            with self.assertRaises(weir.Denied) as raised:
                greet("a")
            self.assertEqual(raised.exception.decision.retry_after, 30.0)
            self.assertEqual((greet.__name__, greet.__doc__), ("greet", "Greets."))

    def test_one_counter_by_its_name(self):
        with Weir() as server, connect(server.url, app="shop") as client:

            @weir.limit("1/min", client=client)
            def once():
                return 1

            self.assertEqual(once(), 1)
            self.assertRaises(weir.Denied, once)
            self.assertEqual(client.reset(identity.key("shop", f"test_hostile.{once.__qualname__}", "", "1/1m")), 1)

    def test_by_attributes(self):
        with Weir("version: 1\nattributes: [user]\nlimits:\n  user: { by: [user], rate: 1/min }\n") as server:
            with connect(server.url) as client:
                limited = weir.limit(attributes=lambda user: {"user": user}, client=client)(lambda user: user)
                self.assertEqual(limited(1), 1)
                self.assertRaises(weir.Denied, limited, 1)

    def test_it_waits_first(self):
        with Weir() as server, connect(server.url) as client:
            limited = weir.limit("1/min", max_wait=60, client=client)(lambda: 1)
            self.assertEqual(limited(), 1)
            waits = threading.Thread(target=lambda: until(lambda: server.waiting() == 1, "it waits") and server.advance(60_000))
            waits.start()
            self.assertEqual(limited(), 1)
            waits.join()

    def test_a_coroutine_function(self):
        async def body(url):
            async with weir.aio.connect(url, timeout=PATIENCE) as client:

                @weir.limit("1/min", client=client)
                async def once():
                    return 1

                self.assertEqual(await once(), 1)
                with self.assertRaises(weir.Denied):
                    await once()

        with Weir() as server:
            asyncio.run(body(server.url))
            with connect(server.url) as client, self.assertRaisesRegex(TypeError, "weir.aio"):
                weir.limit("1/min", client=client)(body)


class TestFirstQuestion(unittest.TestCase):
    """Where weir is is looked up by the first question of a process, and nothing before it."""

    def test_the_environment_of_that_moment_counts(self):
        async def awaited(client):
            return [bool(await client.check("k", "1/h")) for _ in range(2)]

        with mock.patch.dict(os.environ, WEIR_URL="nonsense", WEIR_PROGRAM="/nowhere/weir"):
            client, awaits = weir.connect(timeout=PATIENCE), weir.aio.connect(timeout=PATIENCE)
            self.assertRaisesRegex(ValueError, "is not a scheme of weir", client.check, "k", "1/h")
            with Weir() as server:
                os.environ["WEIR_URL"] = server.url
                self.assertEqual([bool(client.check("k", "1/h")) for _ in range(2)], [True, False])
            with Weir() as server:
                os.environ["WEIR_URL"] = server.url
                self.assertEqual(asyncio.run(awaited(awaits)), [True, False])
                client.close()

    def test_limits_beside_a_url_are_ignored_with_one_line(self):
        with Weir() as server, self.assertLogs("weir") as logged:
            for _ in range(2):
                with connect(server.url, limits="nowhere.yaml") as client:
                    self.assertTrue(client.check("k", "9/h"))
            self.assertEqual(len(logged.output), 1)
            self.assertIn("limits=nowhere.yaml is for a local weir, and is ignored", logged.output[0])

    def test_closed_before_it(self):
        client = weir.connect("unix:/nowhere", on_error="raise")
        client.close()
        client.close()
        self.assertRaisesRegex(weir.Unavailable, "the client is closed", client.check, "k", "1/h")

    def test_many_threads_find_one_weir(self):
        with Weir() as server, mock.patch.dict(os.environ, WEIR_URL=server.url):
            client, begin, passed = weir.connect(timeout=PATIENCE), threading.Barrier(50), []

            def ask():
                begin.wait()
                passed.append(bool(client.check("k", "20/h")))

            threads = [threading.Thread(target=ask) for _ in range(50)]
            for each in threads:
                each.start()
            for each in threads:
                each.join(PATIENCE)
            self.assertEqual(passed.count(True), 20)
            connected = [line for line in server.ask("CLIENT", "LIST").decode().splitlines() if "cmd=weir.throttle" in line]
            self.assertEqual(len(connected), 1, connected)
            client.close()


class TestLocal(unittest.TestCase):
    """Without a URL."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        os.mkdir(self.folder.file("run"), 0o700)
        self.env = environment(
            WEIR_PROGRAM=WEIR, XDG_RUNTIME_DIR=self.folder.file("run"), PYTHONPATH=str(ROOT / "clients/python/src")
        )

    def run_python(self, text, *more):
        return subprocess.Popen(
            [sys.executable, "-c", text, *more],
            env=self.env,
            cwd=self.folder.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def test_all_that_come_share_one(self):
        text = "import weir; c = weir.connect(); print(c.check('k', '3/min').remaining); c.close()"
        running = [self.run_python(text) for _ in range(4)]
        told = [each.communicate(timeout=3 * PATIENCE) for each in running]
        self.assertEqual(sorted(out.strip() for out, _ in told), ["0", "0", "1", "2"], told)
        for _, errors in told:
            self.assertIn("counting in a local weir", errors)

    def test_a_limits_file_and_what_is_wrong_with_it(self):
        path = self.folder.file("limits.yaml", "version: 1\nlimits:\n  all: { rate: 1/min }\n")
        text = "import sys, weir; print(weir.connect('weir+local:', limits=sys.argv[1]).check(user=1).by)"
        out, errors = self.run_python(text, path).communicate(timeout=3 * PATIENCE)
        self.assertEqual((out, errors), ("all\n", ""))
        wrong = self.folder.file("wrong.yaml", "version: 1\nlimits:\n  all: { raet: 1/min }\n")
        out, errors = self.run_python(text, wrong).communicate(timeout=3 * PATIENCE)
        self.assertIn("weir.errors.Refused", errors)
        self.assertIn("limits.all.raet: unknown; did you mean rate?", errors)

    def test_the_limits_file_of_the_environment(self):
        self.env["WEIR_LIMITS"] = self.folder.file("limits.yaml", "version: 1\nlimits:\n  all: { rate: 1/min }\n")
        out, errors = self.run_python("import weir; print(weir.connect('weir+local:').check(user=1).by)").communicate(
            timeout=3 * PATIENCE
        )
        self.assertEqual((out, errors), ("all\n", ""))

    def test_workers_of_a_program_that_was_loaded_before_they_were_forked(self):
        """As gunicorn --preload does it: the limit and its client are of the parent, which never asks."""
        text = """
import os, sys, weir
limited = weir.limit("3/min", name="n", on_denied=lambda decision: "denied")(lambda: "passed")
waits = []
for _ in range(5):
    child = os.fork()
    if child == 0:
        sys.stdout.write(limited() + "\\n")
        sys.stdout.flush()
        os._exit(0)
    waits.append(child)
for child in waits:
    os.waitpid(child, 0)
"""
        out, errors = self.run_python(text).communicate(timeout=3 * PATIENCE)
        self.assertEqual(sorted(out.split()), ["denied"] * 2 + ["passed"] * 3, errors)

    def test_it_is_started_again_when_it_has_ended(self):
        with mock.patch.dict(os.environ, self.env), contextlib.chdir(self.folder.path):
            os.environ.pop("WEIR_URL", None)
            with weir.connect("weir+local:", timeout=PATIENCE) as client:
                self.assertEqual(client.check("k", "3/min").remaining, 2)
                path = client._pool._settings.target.endpoints[0].path
                os.remove(path)
                until(lambda: client.check("k", "3/min").remaining == 2, "a new one answers", 3 * PATIENCE)


if __name__ == "__main__":
    unittest.main()
