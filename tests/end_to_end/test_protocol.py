"""Bytes that a client should not send, and clients that misbehave."""
import contextlib
import signal
import socket
import threading
import time
import unittest

from chance import chance
from server import PATIENCE, Closed, OneServer, Server, encode, run, sanitized, until

MIB = 1 << 20


class Clients(OneServer):
    def client(self, **options):
        client = self.server.client(**options)
        self.addCleanup(client.close)
        return client

    def answer_to(self, data):
        """All that comes back for these bytes, after which our side is closed."""
        client = self.client()
        client.send_bytes(data)
        client.socket.shutdown(socket.SHUT_WR)
        return client.rest()


class TestFrames(Clients):
    STREAM = (encode("PING") + b"ECHO 'a b'\r\n" + encode("ECHO", b"\r\n$1\r\n") + b"*0\r\n\r\n" +
              encode("CL.THROTTLE", "split", 9, 1, 3600, 0) + b"PING x\n" + encode("GCRA", "split", "x", 1, 1) +
              encode("MULTI") + encode("PING") + encode("EXEC"))
    REPLIES = (b"+PONG\r\n$3\r\na b\r\n$6\r\n\r\n$1\r\n\r\n*5\r\n:0\r\n:10\r\n:10\r\n:-1\r\n:0\r\n$1\r\nx\r\n"
               b"-ERR value is out of range, must be positive\r\n+OK\r\n+QUEUED\r\n*1\r\n+PONG\r\n")

    def test_split_at_every_byte(self):
        for cut in range(1, len(self.STREAM)):
            client = self.client()
            client.send_bytes(self.STREAM[:cut])
            client.send_bytes(self.STREAM[cut:])
            client.socket.shutdown(socket.SHUT_WR)
            self.assertEqual(client.rest(), self.REPLIES, f"cut at {cut}")
            client.close()

    def test_one_byte_at_a_time(self):
        client = self.client()
        for i in range(len(self.STREAM)):
            client.send_bytes(self.STREAM[i:i + 1])
        client.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(client.rest(), self.REPLIES)

    def test_random_pieces(self):
        dice = chance()
        client = self.client()
        data = self.STREAM * 50
        at = 0
        while at < len(data):
            size = dice.choice((1, 2, 3, 50, 500))
            client.send_bytes(data[at:at + size])
            at += size
        client.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(client.rest(), self.REPLIES * 50)

    def test_malformed_frames_get_one_error_line_and_are_closed(self):
        for frame, text in (
                (b"*3000000000\r\n", "invalid multibulk length"), (b"*abc\r\n", "invalid multibulk length"),
                (b"*262145\r\n", "invalid multibulk length"), (b"*+1\r\n", "invalid multibulk length"),
                (b"* 1\r\n", "invalid multibulk length"), (b"*1.5\r\n", "invalid multibulk length"),
                (b"*9223372036854775808\r\n", "invalid multibulk length"),
                (b"*1\r\n$-10\r\n", "invalid bulk length"), (b"*1\r\n$-1\r\n", "invalid bulk length"),
                (b"*1\r\n$2000000000\r\n", "invalid bulk length"), (b"*1\r\n$2e9\r\n", "invalid bulk length"),
                (b"*1\r\n$9223372036854775808\r\n", "invalid bulk length"), (b"*1\r\n$abc\r\n", "invalid bulk length"),
                (b"*1\r\n$+4\r\nPING\r\n", "invalid bulk length"), (b"*1\r\n$04\r\nPING\r\n", "invalid bulk length"),
                (b"*1\r\n$ 4\r\nPING\r\n", "invalid bulk length"), (b"*1\r\n$\r\n", "invalid bulk length"),
                (b"*1\r\n:1\r\n", "expected '$', got ':'"), (b"*1\r\n*1\r\n$4\r\nPING\r\n", "expected '$', got '*'"),
                (b"*1\r\n\x1b4\r\n", "expected '$', got '\\x1b'"), (b"*1\r\n\r\n", "expected '$', got ' '"),
                (b"*1\r\n$4\r\nPINGxx\r\n", "expected CRLF after bulk"),
                (b"*2\r\n$4\r\nECHO\r\n+x\r\n", "expected '$', got '+'"),
                (b"x" * 70_000, "too big inline request"), (b"*" + b"1" * 70_000, "too big mbulk count string")):
            with self.subTest(frame[:40]):
                before = b"*1\r\n$4\r\nPING\r\n"
                after = b"\r\n*1\r\n$4\r\nPING\r\n"  # is not run
                client = self.client()
                with contextlib.suppress(ConnectionError):
                    client.send_bytes(before + frame + after)
                self.assertEqual(client.rest(), b"+PONG\r\n-ERR Protocol error: " + text.encode() + b"\r\n")
                client.close()
        with self.server.client() as client:
            self.assertEqual(client.ask("PING"), "PONG")

    def test_commands_without_words_are_ignored(self):
        self.assertEqual(self.answer_to(b"*0\r\n*-1\r\n*-10\r\n\r\n\n   \r\n" + encode("PING")), b"+PONG\r\n")

    def test_inline_lines(self):
        self.assertEqual(self.answer_to(b"PING\r\nPING\nECHO x\n"), b"+PONG\r\n+PONG\r\n$1\r\nx\r\n")

    def test_an_empty_word_is_not_a_command(self):
        self.assertEqual(self.answer_to(b"*1\r\n$0\r\n\r\n" + encode("PING")), b"-ERR unknown command ''\r\n+PONG\r\n")

    def test_a_web_page_runs_nothing(self):
        for request in (b"POST / HTTP/1.1\r\nCL.THROTTLE web 0 1 3600\r\n",
                        b"post /x HTTP/1.1\r\nContent-Length: 99\r\n\r\nCL.THROTTLE web 0 1 3600\r\n",
                        b"Host: localhost\r\nCL.THROTTLE web 0 1 3600\r\n", encode("POST", "/") + encode("PING"),
                        encode("hOsT:", "x") + encode("PING")):
            with self.subTest(request):
                self.assertEqual(self.answer_to(request), b"")
        got = self.answer_to(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nCL.THROTTLE web 0 1 3600\r\n")
        self.assertEqual(got, b"-ERR unknown command 'GET'\r\n")
        with self.server.client() as client:
            self.assertEqual(client.ask("CL.THROTTLE", "web", 0, 1, 3600)[0], 0)

    def test_a_line_break_in_an_echoed_argument_forges_no_reply(self):
        evil = b"x\r\n+OK\r\n"
        for command in ((evil,), ("CL.THROTTLE", "k", evil, 1, 1), ("CL.THROTTLE", "k", 1, evil, 1),
                        ("CL.THROTTLE", "k", 1, 1, 1, evil), ("GCRA", "k", 1, 1, 1, "TOKENS", evil),
                        ("GCRA", "k", 1, 1, 1, evil, 1), ("CLIENT", evil), ("COMMAND", evil), ("HELLO", "3", evil),
                        ("HELLO", evil), ("CONFIG", evil), ("SELECT", evil), ("CLIENT", "REPLY", evil)):
            with self.subTest(command):
                got = self.answer_to(encode(*command) + encode("PING"))
                self.assertEqual(got.count(b"\r\n"), 2, got)
                self.assertTrue(got.startswith(b"-ERR ") and got.endswith(b"\r\n+PONG\r\n"), got)

    def test_an_error_does_not_give_back_a_megabyte(self):
        for command in ((b"x" * 500_000,), ("CL.THROTTLE", "k", b"9" * 500_000, 1, 1), ("CLIENT", b"x" * 500_000),
                        ("HELLO", "3", b"x" * 500_000)):
            got = self.answer_to(encode(*command))
            self.assertTrue(got.startswith(b"-ERR "), got[:99])
            self.assertLess(len(got), 300)

    def test_a_command_of_16_mib_is_the_largest(self):
        self.assertEqual(len(self.answer_to(encode("ECHO", b"x" * 500_000))), 500_000 + 11)
        self.assertEqual(self.answer_to(encode("DEL", *[b"x" * 100_000] * 167)), b":0\r\n")
        self.assertEqual(self.answer_to(encode("ECHO", b"x" * 600_000)),
                         b"-ERR Protocol error: invalid bulk length\r\n")
        self.assertEqual(self.answer_to(encode("DEL", *[b"x" * 100_000] * 168)),
                         b"-ERR Protocol error: too big request\r\n")


class TestPipelines(Clients):
    def test_ten_thousand_in_order(self):
        client = self.client()
        out = b"".join(encode("CL.THROTTLE", "pipe", 9_999, 1, 86_400) if i % 2 else encode("ECHO", i)
                       for i in range(10_000))
        sender = threading.Thread(target=client.send_bytes, args=(out,))
        sender.start()
        for i in range(10_000):
            got = client.reply()
            if i % 2:
                self.assertEqual(got[:3], [0, 10_000, 10_000 - (i + 1) // 2])
            else:
                self.assertEqual(got, b"%d" % i)
        sender.join()

    def test_a_pipeline_is_answered_like_one_request_after_another(self):
        # The period is so long that no part of a unit drains meanwhile.
        for quiet in (b"", encode("ECHO", "x")):
            key = f"same{len(quiet)}"
            client = self.client()
            client.send_bytes((encode("CL.THROTTLE", key, 199, 1, 36_000) + quiet) * 250)
            for i in range(250):
                got = client.reply()
                self.assertEqual(got[:3], [int(i >= 200), 200, max(0, 199 - i)])
                if i < 200:
                    self.assertTrue((i + 1) * 36_000 - 5 <= got[4] <= (i + 1) * 36_000, got)
                if quiet:
                    client.reply()

    def test_half_close_is_answered(self):
        got = self.answer_to(b"".join(encode("ECHO", i) for i in range(10_000)) + b"*1\r\n$4\r\nPI")
        self.assertEqual(got, b"".join(b"$%d\r\n%d\r\n" % (len(str(i)), i) for i in range(10_000)))

    def test_large_replies_after_a_half_close(self):  # more than what the socket takes at once
        client = self.client()

        def send():
            client.send_bytes(encode("ECHO", b"x" * 400_000) * 40)
            client.socket.shutdown(socket.SHUT_WR)
        sender = threading.Thread(target=send)
        sender.start()
        self.addCleanup(sender.join)
        self.assertEqual(len(client.rest()), 40 * (400_000 + len("$400000\r\n\r\n")))

    def test_quit_in_the_middle(self):
        after = encode("CL.THROTTLE", "afterquit", 0, 1, 3600) * 5_000
        got = self.answer_to(encode("PING") * 5_000 + encode("QUIT") + after)
        self.assertEqual(got, b"+PONG\r\n" * 5_000 + b"+OK\r\n")
        self.assertEqual(self.client().ask("CL.THROTTLE", "afterquit", 0, 1, 3600)[0], 0)

    def test_an_error_in_the_middle(self):
        got = self.answer_to((encode("PING") + encode("CL.THROTTLE", "k", 1, 1) + b"BOGUS\r\n" + encode("PING")) * 100)
        self.assertEqual(got, (b"+PONG\r\n-ERR wrong number of arguments for 'cl.throttle' command\r\n"
                               b"-ERR unknown command 'BOGUS'\r\n+PONG\r\n") * 100)


class TestPromises(unittest.TestCase):
    def test_a_length_bomb_reserves_no_memory(self):
        with Server("--threads", "2") as server:
            before = server.rss()
            clients = [server.client() for _ in range(200)]
            for client in clients:
                client.send_bytes(b"*262144\r\n$4\r\nPING\r\n$524288\r\nxxxx")
            with server.client() as other:
                self.assertEqual(other.ask("PING"), "PONG")
            if not sanitized():
                self.assertLess(server.rss() - before, 8 * MIB)
            for client in clients:
                client.close()

    def test_memory_of_large_commands_is_given_back(self):
        with Server("--threads", "1") as server:
            clients = [server.client() for _ in range(40)]
            command = encode("DEL", *range(70_000))
            for client in clients:
                client.send_bytes(command)
                self.assertEqual(client.reply(), 0)
            if not sanitized():
                self.assertLess(server.rss(), 64 * MIB)
            for client in clients:
                client.close()

    def test_parsing_a_partial_command_is_linear(self):
        def cpu(words):
            with Server("--threads", "1") as server, server.client() as client:
                command = encode("DEL", *[b"x"] * words)
                before = server.cpu_seconds()
                for at in range(0, len(command), 1024):
                    client.send_bytes(command[at:at + 1024])
                self.assertEqual(client.reply(), 0)
                return server.cpu_seconds() - before
        # Quadratic work takes seconds here; what is measured is a few hundredths.
        self.assertLess(cpu(140_000), 1.0)


class TestBadClients(unittest.TestCase):
    def test_a_client_that_never_reads(self):
        with Server("--threads", "1", "--stall-timeout", "2s") as server:
            before = server.rss()
            with server.client() as deaf, server.client() as other:
                self.assertLess(deaf.fill(encode("ECHO", b"x" * 10_000)), 32 * MIB)
                if not sanitized():
                    self.assertLess(server.rss() - before, 8 * MIB)
                slowest = 0.0
                for _ in range(200):
                    start = time.monotonic()
                    self.assertEqual(other.ask("PING"), "PONG")
                    slowest = max(slowest, time.monotonic() - start)
                self.assertLess(slowest, 0.5)
                until(lambda: int(server.info()["stalled_connections"]) == 1, "the cut")
                self.assertEqual(other.ask("PING"), "PONG", "an idle client is left alone")

    def test_output_of_one_transaction_is_bounded_too(self):
        with Server("--threads", "1", "--stall-timeout", "60s") as server:
            before = server.rss()
            deaf = [server.client() for _ in range(5)]
            for client in deaf:
                client.send_bytes(b"MULTI\r\n" + b"COMMAND\r\n" * 20_000 + b"EXEC\r\n")
            with server.client() as other:
                self.assertEqual(other.ask("PING"), "PONG")
                until(lambda: int(other.ask("INFO", "stats").split(b"total_commands_processed:")[1].split(b"\r")[0])
                      >= 5 * 20_002, "all that was sent is taken")
            if not sanitized():
                self.assertLess(server.rss() - before, 16 * MIB)
            for client in deaf:
                client.close()

    def test_expensive_commands_of_one_client_do_not_slow_others(self):
        with Server("--threads", "1") as server, server.client() as filler, server.client() as one, server.client() as two:
            filler.send("CLIENT", "REPLY", "OFF")
            for start in range(0, 300_000, 10_000):
                filler.send_bytes(b"".join(b"CL.THROTTLE %d 0 1 3600\r\n" % i for i in range(start, start + 10_000)))
            filler.send("CLIENT", "REPLY", "ON")
            self.assertEqual(filler.reply(), "OK")
            self.assertAlmostEqual(filler.ask("DBSIZE"), 300_000, delta=30_000)  # an estimate in a large table

            def commands_run(client):
                return int(client.reply().split(b"total_commands_processed:")[1].split(b"\r")[0])
            for command in (encode("DBSIZE"), encode("INFO")):
                with server.client() as greedy:
                    for client in (greedy, two, one):
                        client.send("INFO", "stats")
                        before = commands_run(client)
                    server.signal(signal.SIGSTOP)  # so that all of it is there before any is run
                    one.send("INFO", "stats")
                    greedy.send_bytes(command * 4_000)
                    two.send("INFO", "stats")
                    server.signal(signal.SIGCONT)
                    # One of them comes after the greedy one, in whatever order the loop takes its connections.
                    for client in (one, two):
                        self.assertLess(commands_run(client) - before, 100, command)
                    greedy.reset()

    def test_half_a_command_is_cut_off(self):
        with Server("--threads", "2", "--stall-timeout", "1s") as server:
            halves = [server.client() for _ in range(5)]
            idle = server.client()
            for client, half in zip(halves, (b"*", b"*2\r\n$4\r\nPI", b"PING", b"*1\r\n", b"*1\r\n$4\r\nPING\r")):
                client.send_bytes(half)
            # One that sends a byte now and then must not hold on either.
            dripping = server.client()
            dripping.send_bytes(b"*2\r\n$4\r\nECHO\r\n$5000\r\n")
            ended = []

            def drip():
                until_then = time.monotonic() + PATIENCE
                with contextlib.suppress(OSError):
                    while time.monotonic() < until_then:
                        dripping.send_bytes(b"x")
                        time.sleep(0.05)
                        dripping.socket.setblocking(False)
                        with contextlib.suppress(BlockingIOError):
                            if dripping.socket.recv(1) == b"":
                                break
                        dripping.socket.setblocking(True)
                    else:
                        return
                ended.append(True)
            thread = threading.Thread(target=drip)
            thread.start()
            for client in halves:
                self.assertEqual(client.rest(), b"")
                client.close()
            thread.join()
            self.assertTrue(ended, "the dripping client was not cut off")
            self.assertEqual(idle.ask("PING"), "PONG", "idle between commands is not a stall")
            self.assertEqual(int(server.info()["stalled_connections"]), 6)
            dripping.close()
            idle.close()

    def test_without_a_password_given_a_connection_is_cut_off(self):
        with Server("--threads", "1", "--stall-timeout", "1s", env={"WEIR_PASSWORD": "s3cret"}) as server:
            with server.client() as idle, server.client() as known:
                known.ask("AUTH", "s3cret")
                self.assertEqual(idle.rest(), b"")
                self.assertEqual(known.ask("PING"), "PONG")

    def test_500_resets_leave_nothing(self):
        with Server("--threads", "2") as server:
            with server.client() as client:
                client.ask("PING")
            until(lambda: server.info()["connected_clients"] == "1", "a quiet server")
            before, memory = server.descriptors(), server.rss()
            for i in range(500):
                client = server.client()
                client.send_bytes((b"*3\r\n$4\r\nPI", encode("PING") * 50, b"", encode("ECHO", b"x" * 50_000))[i % 4])
                client.reset()
            until(lambda: server.descriptors() <= before, "all descriptors closed")
            until(lambda: server.info()["connected_clients"] == "1", "all sessions gone")
            if not sanitized():
                self.assertLess(server.rss() - memory, 4 * MIB)

    def test_what_arrived_before_a_reset_client_does_not_hurt_others(self):
        with Server("--threads", "1") as server, server.client() as other:
            for _ in range(20):
                client = server.client()
                client.send_bytes(encode("ECHO", b"x" * 100_000) * 20)
                client.reset()
                self.assertEqual(other.ask("PING"), "PONG")

    def test_a_client_that_quits_and_stays_is_closed(self):
        with Server("--threads", "1") as server, server.client() as lingering:
            self.assertEqual(lingering.ask("QUIT"), "OK")
            self.assertEqual(lingering.rest(), b"")
            until(lambda: server.info()["connected_clients"] == "1", "the quitter is gone")


class TestManyConnections(unittest.TestCase):
    def test_max_connections_says_so(self):
        with Server("--threads", "2", "--max-connections", "5") as server:
            clients = [server.client() for _ in range(5)]
            for client in clients:
                self.assertEqual(client.ask("PING"), "PONG")
            for _ in range(3):
                with server.client() as refused:
                    self.assertEqual(refused.rest(), b"-ERR max number of clients reached\r\n")
            self.assertIn(b"rejected_connections:3\r\n", clients[0].ask("INFO", "stats"))
            clients.pop().close()

            def again():
                with server.client() as client:
                    with contextlib.suppress(Closed, ConnectionError):
                        return client.ask("PING") == "PONG"
            until(again, "room for one again")
            for client in clients:
                client.close()

    def test_a_thousand_idle_connections(self):
        with Server("--threads", "2") as server:
            before = server.rss()
            clients = [server.client() for _ in range(1000)]
            for client in clients:
                client.send_bytes(encode("PING"))
            for client in clients:
                self.assertEqual(client.reply(), "PONG")
            if not sanitized():
                self.assertLess((server.rss() - before) / 1000, 16 * 1024)
            for client in clients:
                client.close()


if __name__ == "__main__":
    run()
