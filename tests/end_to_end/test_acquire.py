"""WEIR.ACQUIRE: a reply that comes when the moment has."""
import os
import select
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))

from chance import chance
from server import PATIENCE, Error, Folder, OneServer, Server, encode, sanitized, until
from server import run as run_tests
from test_http_acquire import Wire, next_wait
from world import Redis, available

HERE = os.path.dirname(os.path.abspath(__file__))


def ready(clients, seconds):
    """Those that have been told something within that time."""
    found, _, _ = select.select([each.socket for each in clients], [], [], seconds)
    return [each for each in clients if each.socket in found]


class Acquire(OneServer):
    def setUp(self):
        self.key = self.id()

    def client(self):
        client = self.server.client()
        self.addCleanup(client.close)
        return client

    def ask(self, client, rule, max_wait, *words):
        client.send("WEIR.ACQUIRE", "MAXWAIT", max_wait, *words, self.key, rule)
        return client

    def test_answers_when_the_moment_has_come(self):
        client = self.client()
        began = time.monotonic()
        replies = [self.ask(client, "10/s burst 1", 5000).reply() for _ in range(4)]
        took = time.monotonic() - began
        self.assertEqual([row[:4] for row in replies], [[0, 1, 0, 0]] * 4)
        self.assertEqual([row[5:] for row in replies], [[None, self.key.encode()]] * 4)
        self.assertGreaterEqual(took, 0.3)

    def test_what_cannot_be_in_time_is_denied_at_once(self):
        client = self.client()
        self.assertEqual(self.ask(client, "1/min burst 1", 0).reply()[0], 0)
        began = time.monotonic()
        denied = self.ask(client, "1/min burst 1", 50_000).reply()
        self.assertLess(time.monotonic() - began, PATIENCE)
        self.assertEqual((denied[0], denied[5]), (1, None))
        self.assertTrue(0 < denied[3] <= 10_000, denied)
        self.assertEqual(client.ask("WEIR.THROTTLE", "COST", "0", self.key, "1/min burst 1")[4] > 60_000, False)

    def test_what_is_sent_after_it_runs_after_it(self):
        client, other = self.client(), self.client()
        number = client.ask("CLIENT", "ID")
        self.ask(client, "1/min burst 1", 0).reply()
        self.ask(client, "1/min burst 1", 60_000)
        client.send("WEIR.THROTTLE", self.key + ":after", "1/min burst 1")
        client.send("PING")
        self.assertEqual(ready([client], 0.05), [])
        # Not even decided yet.
        self.assertEqual(other.ask("WEIR.THROTTLE", "COST", "0", self.key + ":after", "1/min burst 1")[2], 1)
        until(lambda: other.ask("CLIENT", "UNBLOCK", number) == 1, "it waits")
        self.assertEqual([client.reply()[0], client.reply()[0], client.reply()], [1, 0, "PONG"])

    def test_first_come_first_served_over_connections(self):
        clients, probe = [self.client() for _ in range(6)], self.client()
        for each in clients:
            number = each.ask("CLIENT", "ID")
            self.ask(each, "20/s burst 1", 60_000)
            # The next only when this one stands in line, or has acted.
            until(lambda: b" flags=b " in probe.ask("CLIENT", "LIST", "ID", number) or ready([each], 0), "in line")
        order = []
        while len(order) < len(clients):
            for each in ready([one for one in clients if one not in order], 5):
                each.reply()
                order.append(each)
        self.assertEqual(order, clients)

    def test_in_multi_it_waits_for_nothing(self):
        client = self.client()
        client.send("MULTI")
        for _ in range(2):
            self.ask(client, "1/min burst 1", 60_000)
        client.send("PING")
        client.send("EXEC")
        replies = [client.reply() for _ in range(5)][-1]
        self.assertEqual([replies[0][0], replies[1][0], replies[2]], [0, 1, "PONG"])
        self.assertTrue(59_000 < replies[1][3] <= 60_000, replies)

    def test_a_client_that_goes_away_leaves_its_moment_to_the_next(self):
        def half_close(client):
            client.socket.shutdown(socket.SHUT_WR)

        def reset(client):
            client.reset()

        for number, leave in enumerate((half_close, reset, lambda client: client.close())):
            self.key = f"{self.id()}:{number}"
            rule = "1/20s burst 1"
            first, second, third = self.client(), self.client(), self.client()
            self.ask(first, rule, 0).reply()
            self.ask(second, rule, 60_000)
            until(lambda: next_wait(first, self.key, rule) > 20_000, "the second stands in line")
            self.ask(third, rule, 60_000)
            until(lambda: next_wait(first, self.key, rule) > 40_000, "the third does")
            self.assertIsNone(self.take(first, rule, 40_000))
            leave(second)
            # The third has its moment now, so there is one more after the third's, and none before that.
            taken = until(lambda: self.take(first, rule, 40_000), "the next moment is the third's")
            self.assertTrue(20_000 < taken[3] <= 40_000, taken)
            self.assertIsNone(self.take(first, rule, 20_000))
            self.assertEqual(first.ask("WEIR.CANCEL", taken[5]), 1)
            leave(third)
            taken = until(lambda: self.take(first, rule, 20_000), "nobody stands in line")
            self.assertLessEqual(taken[3], 20_000)

    def take(self, client, rule, max_wait):
        got = client.ask("WEIR.RESERVE", "MAXWAIT", max_wait, self.key, rule)
        return got if got[0] == 0 else None

    def test_a_holder_that_is_killed_loses_its_moment_and_the_others_keep_theirs(self):
        rule = "1/20s burst 1"
        client = self.client()
        self.ask(client, rule, 0).reply()

        def holder(command, replies):
            """A process of its own with the next moment."""
            script = ("import sys; sys.path.insert(0, %r)\nfrom server import Client\nclient = Client(%d)\n"
                      "client.send(*%r)\nif %r: client.reply()\nprint('asked', flush=True)\nsys.stdin.read()\n"
                      % (HERE, self.server.port, (command, "MAXWAIT", 60_000, self.key, rule), replies))
            process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            self.assertEqual(process.stdout.readline(), b"asked\n")
            return process

        reserve = lambda max_wait: client.ask("WEIR.RESERVE", "MAXWAIT", max_wait, self.key, rule)
        reserved = holder("WEIR.RESERVE", True)  # in 20 s; nothing says that it has gone
        waiting = holder("WEIR.ACQUIRE", False)  # in 40 s; its connection goes with it
        until(lambda: next_wait(client, self.key, rule) > 40_000, "it stands in line")
        third = reserve(60_000)
        self.assertTrue(40_000 < third[3] <= 60_000, third)
        reserved.kill()
        waiting.kill()
        taken = until(lambda: got if (got := reserve(40_000))[0] == 0 else None, "the moment of the one that waited")
        self.assertTrue(20_000 < taken[3] <= 40_000, taken)
        # There was one moment to take, and none is made of the reservation: the next one would come last.
        self.assertEqual(reserve(60_000)[0], 1)
        self.assertEqual(client.ask("WEIR.CANCEL", third[5]), 1)

    def test_the_last_one_that_goes_away_is_as_if_it_had_never_come(self):
        first, second = self.client(), self.client()
        self.ask(first, "1/10s burst 1", 0).reply()
        self.ask(second, "1/10s burst 1", 60_000)
        until(lambda: next_wait(first, self.key, "1/10s burst 1") > 10_000, "it stands in line")
        second.close()
        until(lambda: next_wait(first, self.key, "1/10s burst 1") <= 10_000, "nobody does")
        self.assertLessEqual(first.ask("WEIR.THROTTLE", "COST", "0", self.key, "1/10s burst 1")[4], 10_000)

    def test_client_unblock_ends_a_wait(self):
        for words, check in ((("TIMEOUT",), self.is_denied), ((), self.is_denied), (("ERROR",), self.is_error)):
            self.key += "+"
            blocked, other = self.client(), self.client()
            number = str(blocked.ask("CLIENT", "ID"))
            self.assertEqual(other.ask("CLIENT", "UNBLOCK", number), 0)
            self.ask(blocked, "1/min burst 1", 0).reply()
            self.ask(blocked, "1/min burst 1", 60_000)
            until(lambda: b" flags=b " in other.ask("CLIENT", "LIST", "ID", number), "it is listed as blocked")
            self.assertEqual(other.ask("CLIENT", "UNBLOCK", number, *words), 1)
            check(blocked.reply())
            self.assertEqual(other.ask("CLIENT", "UNBLOCK", number, *words), 0)
            self.assertLessEqual(other.ask("WEIR.THROTTLE", "COST", "0", self.key, "1/min burst 1")[4], 60_000)
        for words, error in ((("x",), "value is not an integer or out of range"),
                             (("1", "soon"), "CLIENT UNBLOCK reason should be TIMEOUT or ERROR")):
            self.assertEqual(self.client().ask("CLIENT", "UNBLOCK", *words), Error("ERR " + error))

    def is_denied(self, reply):
        self.assertEqual((reply[0], reply[5]), (1, None))
        self.assertTrue(0 < reply[3] <= 60_000, reply)

    def is_error(self, reply):
        self.assertEqual(reply, Error("UNBLOCKED client unblocked via CLIENT UNBLOCK"))

    def test_wrong_words_are_told(self):
        client = self.client()
        form = ("; the form is WEIR.ACQUIRE MAXWAIT ms [COST n] [CLASS c] [HOLD ms] [BOUND] [FIELDS] [TAG word] [KEYS] key "
                "rule [key rule ...], or ... AS attribute=value ...")
        for words, error in (("COST 1 k 1/s", "missing MAXWAIT: how many milliseconds it may wait" + form),
                             ("MAXWAIT 1 COST 1", "missing a key and its rule" + form),
                             ("MAXWAIT 3600001 k 1/s", "MAXWAIT: '3600001' is not an integer from 0 to 3600000"),
                             ("MAXWAIT 1", "wrong number of arguments for 'weir.acquire' command")):
            self.assertEqual(client.ask("WEIR.ACQUIRE", *words.split()), Error("ERR " + error), words)

    def test_a_hold_is_settled_after_its_moment(self):
        client = self.client()
        self.ask(client, "1/2s burst 1", 0).reply()
        held = self.ask(client, "1/2s burst 1", 60_000, "HOLD", 60_000).reply()
        self.assertEqual((held[0], held[3]), (0, 0))
        self.assertTrue(0 < client.ask("WEIR.SETTLE", held[5], "4") <= 8_000)


class Paused(unittest.TestCase):
    """A pause of ten minutes comes over those in line for a unit a minute."""

    def those_in_line(self, *flags):
        rule, ask = "1/min burst 1", ("WEIR.ACQUIRE", "MAXWAIT")
        with Server(*flags) as server, server.client() as probe:
            probe.ask(*ask, "0", "k", rule)
            clients = [server.client() for _ in range(4)]
            for each, minutes in zip(clients, (60, 11.5, 5, 12.5)):
                each.send(*ask, round(minutes * 60_000), "k", rule)
                until(lambda: ready([each], 0) or int(server.info()["blocked_clients"]) > clients.index(each), "it waits")
            # Through Redis, one of another loop may have its first answer after the pause's, and is then told when its time ends.
            until(lambda: probe.ask("WEIR.THROTTLE", "k", rule)[3] > 270_000, "all stand in line")
            probe.ask("WEIR.CHARGE", "PAUSE", "600000", "k", rule)
            # The second acts a minute after the end, the fourth two, and the third would have had to act before it. How
            # long it would yet have had to wait counts those before it of whom it is known, the first of them surely.
            late = clients[2].reply()
            self.assertEqual(late[0], 1)
            self.assertTrue(350_000 < late[3] <= 480_000, late)
            probe.ask("WEIR.CHARGE", "PAUSE", "636000", "k", rule)
            late = clients[1].reply()
            self.assertEqual(late[0], 1)
            self.assertEqual(server.info()["blocked_clients"], "2")
            self.assertEqual(ready(clients, 0), [])
            for each in clients:
                each.close()

    def test_in_memory_who_is_too_late_is_denied_at_once(self):
        self.those_in_line()

    @unittest.skipUnless(available(), "needs redis-server")
    def test_in_redis_too(self):
        with Redis() as redis:
            self.those_in_line("--store", f"redis://127.0.0.1:{redis.port}", "--store-deadline", "2s")


class BesideALine(unittest.TestCase):
    """A denial's wait is one after which the same call would be granted: after those in line."""

    def told(self, *flags):
        rule = "1/min burst 1"
        # On two loops two of a crowd may have a plan for a moment.
        with Server("--http", "127.0.0.1:0", "--threads", "1", *flags) as server, server.client() as probe:
            probe.ask("WEIR.ACQUIRE", "MAXWAIT", "0", "k", rule)
            clients = [server.client() for _ in range(3)]
            for each in clients:
                each.send("WEIR.ACQUIRE", "MAXWAIT", 3_600_000, "k", rule)
            until(lambda: probe.ask("WEIR.THROTTLE", "k", rule)[3] > 210_000, "all stand in line")
            for words, seconds in ((("WEIR.THROTTLE", "k", rule), 240), (("WEIR.RESERVE", "k", rule), 240), (("WEIR.RESERVE", "MAXWAIT", 90_000, "k", rule), 150),
                                   (("WEIR.THROTTLE", "k", rule, "j", "9/s"), 240)):
                row = probe.ask(*words)
                self.assertEqual(row[0], 1, words)
                self.assertTrue((seconds - 30) * 1000 < row[3] <= seconds * 1000, (words, row))
            wire = Wire(server.ports[1])
            wire.send("check", key="k", limit=rule)
            status, fields, _ = wire.answer()
            wire.close()
            self.assertEqual(status, 429)
            self.assertTrue(210 < int(fields["Retry-After"]) <= 240, fields)
            self.assertEqual(probe.ask("WEIR.THROTTLE", "j", "9/s")[0], 0)
            for each in clients:
                each.close()

    def test_in_memory(self):
        self.told()

    @unittest.skipUnless(available(), "needs redis-server")
    def test_in_redis_too(self):
        with Redis() as redis:
            self.told("--store", f"redis://127.0.0.1:{redis.port}", "--store-deadline", "2s")


def reset(each):
    each.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    each.socket.close()


class Gone(unittest.TestCase):
    """One in line goes while the server is busy with something else: its moment comes before the server reads that."""

    RULE, TAKES = "1/5s burst 1", 5000

    def leave_before_the_grant(self, *flags, within):
        with Server("--http", "127.0.0.1:0", "--threads", "1", *flags) as server, server.client() as probe:
            ways = {"FIN": lambda each: each.close(), "half": lambda each: each.socket.shutdown(socket.SHUT_WR), "RST": reset}
            cases = [(how, speaks, hold) for how in ways for speaks in ("resp", "tag", "http") for hold in ((), ("HOLD", 60_000))]
            until(lambda: self.come(server, probe, cases) < within, f"all have come within {within} s")
            # Not for long: Redis keeps the plan of a server for 1.1 s after that has asked last.
            self.sleep_until(self.began + self.TAKES / 1000 - 0.2)
            server.signal(signal.SIGSTOP)
            self.sleep_until(self.came + self.TAKES / 1000 + 0.2)
            for (how, _, _), (_, leaves, _) in zip(cases, self.lines):
                ways[how](leaves)
            server.signal(signal.SIGCONT)
            for case, (began, leaves, stays) in zip(cases, self.lines):
                self.assertEqual(stays.reply()[0], 0, case)
                # With the moment of the one that has gone lost, it would be twice that.
                self.assertLess(stays.reply()[1] - began, 1.8 * self.TAKES, case)
                stays.close()
                leaves.close()
            until(lambda: server.info()["blocked_clients"] == "0", "nobody waits any more")

    def come(self, server, probe, cases):
        """Of each case when somebody acted first, one that waits and will leave, and one that waits after it."""
        self.began, self.lines = time.monotonic(), []
        keys = [f"{how}:{speaks}:{len(hold)}:{self.began}" for how, speaks, hold in cases]
        waiting = []
        for key, (_, speaks, hold) in zip(keys, cases):
            self.assertEqual(probe.ask("WEIR.ACQUIRE", "MAXWAIT", 0, key, self.RULE)[0], 0)
            began = probe.ask("WEIR.TIME")[1]
            if speaks == "http":
                leaves = Wire(server.ports[1])
                leaves.send(key=key, limit=self.RULE, max_wait=60, **({"hold": 60} if hold else {}))
            else:
                leaves = server.client()
                if speaks == "tag":
                    leaves.ask("HELLO", "3")
                leaves.send("WEIR.ACQUIRE", "MAXWAIT", 60_000, *hold, *(("TAG", "t") if speaks == "tag" else ()), key, self.RULE)
            waiting.append((began, leaves))
        until(lambda: all(next_wait(probe, key, self.RULE) > self.TAKES for key in keys), "they stand in line")
        for key, (began, leaves) in zip(keys, waiting):
            stays = server.client()
            stays.send_bytes(encode("WEIR.ACQUIRE", "MAXWAIT", 60_000, key, self.RULE) + encode("WEIR.TIME"))
            self.lines.append((began, leaves, stays))
        until(lambda: all(next_wait(probe, key, self.RULE) > 2 * self.TAKES for key in keys), "so do the next")
        self.came = time.monotonic()
        return self.came - self.began

    @staticmethod
    def sleep_until(moment):
        time.sleep(max(0, moment - time.monotonic()))

    def test_in_memory_it_is_granted_nothing_and_the_next_acts(self):
        self.leave_before_the_grant(within=2)

    @unittest.skipUnless(available(), "needs redis-server")
    def test_in_redis_too(self):
        with Redis() as redis:
            self.leave_before_the_grant("--store", f"redis://127.0.0.1:{redis.port}", "--store-deadline", "2s", within=0.5)


class Crowds(unittest.TestCase):
    def test_half_of_a_thousand_are_cut_and_their_moments_go_to_those_who_come_next(self):
        with Server("--threads", "2") as server:
            probe = server.client()
            rule, cut, gone = "200/s burst 1", 500, []
            probe.ask("WEIR.ACQUIRE", "MAXWAIT", "0", "k", rule)
            before = server.rss()
            clients = [server.client() for _ in range(1000)]
            began = time.monotonic()
            for each in clients:
                each.send("WEIR.ACQUIRE", "MAXWAIT", "60000", "k", rule)
            until(lambda: probe.ask("CLIENT", "LIST").count(b" flags=b ") > 900 - 300 * (time.monotonic() - began), "blocked")
            for each in clients[::2]:
                each.close()
                gone.append(each)
            stay = clients[1::2]
            # Those who come next take what is free: no more than a thousand moments are given out in all.
            later = [server.client() for _ in range(200)]
            for each in later:
                each.send("WEIR.ACQUIRE", "MAXWAIT", "60000", "k", rule)
            # Nobody waits longer than for the last moment that is promised now.
            owed = probe.ask("WEIR.THROTTLE", "COST", "0", "k", rule)[4]
            promised = time.monotonic() + owed / 1000
            for each in stay + later:
                self.assertEqual(each.reply()[0], 0)
            self.assertEqual(len(gone), cut)
            self.assertLess(time.monotonic(), promised + PATIENCE)
            self.assertLessEqual(owed, (len(clients) + len(later) + 1) * 5)
            until(lambda: probe.ask("CLIENT", "LIST").count(b" flags=b ") == 0, "nobody waits any more")
            for each in stay + later:
                each.close()
            until(lambda: server.info()["connected_clients"] == "2", "all have gone")  # the probe, and who asks
            if not sanitized():
                self.assertLess(server.rss() - before, 8 << 20)
            probe.close()

    def test_at_the_end_each_of_a_thousand_is_answered(self):
        with Server("--threads", "2") as server:
            rule, before = "20/s burst 1", time.monotonic()
            clients = [server.client() for _ in range(1000)]
            for each in clients:
                each.send("WEIR.ACQUIRE", "MAXWAIT", "60000", "k", rule)
            with server.client() as probe:
                until(lambda: next_wait(probe, "k", rule) + (time.monotonic() - before) * 1000 >= 50_000, "they wait")
            server.signal(signal.SIGTERM)
            replies = [each.reply() for each in clients]
            took = time.monotonic() - before
            granted = [row for row in replies if not isinstance(row, Error)]
            # Those whose moment had come by then, or came within the drain time.
            self.assertEqual({row[0] for row in granted}, {0})
            self.assertLessEqual(len(granted), took * 20 + 1)
            self.assertGreater(len(granted), 50)
            self.assertGreater(len(replies) - len(granted), 300)
            self.assertEqual({row for row in replies if isinstance(row, Error)}, {Error("ERR the server is shutting down")})
            self.assertEqual(server.wait(), 0)

    def test_a_full_house_denies_at_once(self):
        with Server("--threads", "2", "--max-waiters", "3") as server:
            clients = [server.client() for _ in range(6)]
            clients[0].ask("WEIR.ACQUIRE", "MAXWAIT", "0", "k", "1/15s burst 1")
            for each in clients[1:]:
                each.send("WEIR.ACQUIRE", "MAXWAIT", "60000", "k", "1/15s burst 1")
            replies = [each.reply() for each in ready(clients[1:], 5)]
            while len(replies) < 2:
                replies += [each.reply() for each in ready(clients[1:], 5)]
            self.assertEqual([row[0] for row in replies], [1, 1])
            # Denied, they go on; a place that is free is taken.
            for each in clients:
                each.close()
            with server.client() as again:
                until(lambda: again.ask("CLIENT", "LIST").count(b" flags=b ") == 0, "all have gone")

    def test_max_waiters_has_bounds(self):
        from server import weir
        code, _, error = weir("serve", "--resp", "127.0.0.1:0", "--max-waiters", "0")
        self.assertEqual(code, 2)
        self.assertIn("max-waiters", error)


class Chaos(unittest.TestCase):
    RULE = "50/s burst 3"

    def test_those_who_leave_leave_nobody_unanswered(self):
        dice = chance()
        with Server("--threads", "2", "--http", "127.0.0.1:0") as server, server.client() as probe:
            stay = []
            for number in range(400):
                if dice.random() < 0.6 or not stay:
                    stay.append(self.come(server, f"k{dice.randrange(3)}", dice.random() < 0.5))
                else:
                    self.leave(probe, *stay.pop(dice.randrange(len(stay))), dice.randrange(4))
                if dice.random() < 0.3:
                    time.sleep(dice.random() * 0.01)
            for client, speaks_http, _ in stay:
                if speaks_http:
                    self.assertEqual([client.answer()[0] for _ in range(2)], [200, 200])
                else:
                    self.assertEqual([client.reply()[0], client.reply()], [0, "PONG"])
                client.close()
            until(lambda: server.info()["blocked_clients"] == "0", "nobody waits any more")

    def come(self, server, key, speaks_http):
        """One that waits, and has sent something more."""
        if speaks_http:
            wire = Wire(server.ports[1])
            wire.send(key=key, limit=self.RULE, max_wait=30)
            wire.send("check", key="other", limit="1000000/s")
            return wire, True, None
        client = server.client()
        number = client.ask("CLIENT", "ID")
        client.send("WEIR.ACQUIRE", "MAXWAIT", "30000", key, self.RULE)
        client.send("PING")
        return client, False, number

    def leave(self, probe, client, speaks_http, number, how):
        if how == 0 and number is not None:
            probe.ask("CLIENT", "UNBLOCK", number, "ERROR")
        if how == 1:
            client.socket.shutdown(socket.SHUT_WR)
        elif how == 2:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()


class OtherNumbers(unittest.TestCase):
    """Those in line go by the limits file that is in force, within a second: those at plain rates, too."""

    @unittest.skipUnless(available(), "needs redis-server")
    def test_two_servers_of_a_rollout_do_not_lock_a_line(self):
        with Redis() as redis:
            store = ("--store", f"redis://127.0.0.1:{redis.port}", "--store-deadline", "2s")
            with Server(*store) as first, Server(*store) as second, first.client() as one, second.client() as other:
                rules = (one, "120/min burst 1"), (other, "132/min burst 1")
                for client, rule in rules:
                    self.assertEqual(client.ask("WEIR.ACQUIRE", "MAXWAIT", 20_000, "k", rule)[0], 0)
                # Each asks again every 0.1 s, by numbers of its own.
                for _ in range(3):
                    for client, rule in rules:
                        client.send("WEIR.ACQUIRE", "MAXWAIT", 20_000, "k", rule)
                    self.assertEqual([client.reply()[0] for client, _ in rules], [0, 0])

    def by_another_file(self, *flags):
        before = "version: 1\nattributes: [user]\nlimits:\n  u: { by: [user], rate: 2/h burst 2 }\n"
        rows = (("a raise", before.replace("2/h", "200/s"), lambda row: row[0] == 0),
                ("a raise to longer than one asks again", before.replace("2/h", "5/s"), lambda row: row[0] == 0),
                ("it is gone", before.replace("  u:", "  other:").replace("by: [user], ", "by: [user], required: false, ")
                 .replace("2/h burst 2", "9/s burst 9"), lambda row: row[0] == 0),
                ("a burst below its cost", before.replace("burst 2", "burst 1"), lambda row: (row[0], row[1], row[3]) == (1, 1, -1)))
        for number, (what, after, is_right) in enumerate(rows):
            with Folder() as folder:
                path = folder.file("limits.yaml", before)
                user = f"user={number}"
                with Server("--limits", path, "--max-wait", "3h", *flags) as server, server.client() as client, server.client() as probe:
                    self.assertEqual(probe.ask("WEIR.CHECK", "COST", 2, user)[0], 0, what)
                    client.send("WEIR.ACQUIRE", "COST", 2, "MAXWAIT", 7_200_000, "AS", user)
                    until(lambda: int(server.info()["blocked_clients"]) == 1, "it stands in line")
                    folder.file("limits.yaml", after)
                    server.signal(signal.SIGHUP)
                    row = client.reply()
                    self.assertTrue(is_right(row), (what, row))
                    if what.startswith("a raise"):
                        until(lambda: probe.ask("WEIR.CHECK", user)[0] == 0, f"{what}: the next passes")

    def test_one_in_line_goes_by_another_file(self):
        self.by_another_file()

    @unittest.skipUnless(available(), "needs redis-server")
    def test_in_redis_too(self):
        with Redis() as redis:
            self.by_another_file("--store", f"redis://127.0.0.1:{redis.port}", "--store-deadline", "2s")


if __name__ == "__main__":
    run_tests()
