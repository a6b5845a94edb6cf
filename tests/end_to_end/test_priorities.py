"""Classes among those that wait: a lower one stands in line in its server and is charged when it is granted."""
import select
import signal
import time
import unittest

from server import Folder, Server, until
from server import run as run_tests
from test_http_acquire import Wire

LIMITS = """\
version: 1
classes: [critical, default, bulk]
limits:
  vendor: { by: [vendor], rate: 20/s burst 20, leave: { default: 0%, bulk: 50% } }
  slow:   { by: [slow], rate: 6/min burst 2, leave: { default: 0%, bulk: 50% } }
"""


class WithServer(unittest.TestCase):
    args = ()

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.server = Server("--threads", "2", "--http", "127.0.0.1:0", "--limits",
                             self.folder.file("limits.yaml", LIMITS), *self.args)
        self.addCleanup(self.server.__exit__, None)
        self.probe = self.client()

    def client(self):
        client = self.server.client()
        self.addCleanup(client.close)
        return client

    def wire(self):
        wire = Wire(self.server.ports[1])
        self.addCleanup(wire.close)
        return wire

    def acquire(self, client, what="vendor=v", max_wait=10_000, cost=1, how="bulk"):
        client.send("WEIR.ACQUIRE", "MAXWAIT", str(max_wait), "COST", str(cost), "CLASS", how, "AS", what)
        return client

    def blocked(self, count):
        until(lambda: self.server.info()["blocked_clients"] == str(count), f"{count} wait")

    def look(self, what="vendor=v"):
        return self.probe.ask("WEIR.LOOK", "COST", "0", "CLASS", "critical", what)


class Priorities(WithServer):
    def test_they_are_charged_when_they_are_granted_in_the_order_in_which_they_came(self):
        self.assertEqual(self.acquire(self.client(), "slow=s").reply()[0], 0)
        crowd = []
        for i in range(1, 4):  # over both loops and both protocols
            if i == 2:
                crowd.append(self.wire())
                crowd[-1].send(attributes={"slow": "s"}, **{"class": "bulk"}, max_wait=40)
            else:
                crowd.append(self.acquire(self.client(), "slow=s", 40_000))
            self.blocked(i)
        self.assertEqual(self.look("slow=s")[2], 1)
        # The room is critical's, and it passes those in line.
        self.assertEqual(self.acquire(self.client(), "slow=s", 0, how="critical").reply()[0], 0)
        # What is known is told at once: 10 s to drain what was taken, and 10 s for each that waits.
        denied = self.acquire(self.client(), "slow=s", 1_000).reply()
        self.assertEqual((denied[0], denied[5], denied[6]), (1, None, b"slow"))
        self.assertTrue(25_000 < denied[3] <= 49_000, denied)
        for each in crowd:
            each.close()
        self.blocked(0)
        self.assertEqual(self.look("slow=s")[2], 0)

    def test_first_come_first_served_over_loops_and_protocols(self):
        self.assertEqual(self.acquire(self.client(), cost=10).reply()[0], 0)
        self.assertEqual(self.acquire(self.client(), cost=10, how="critical").reply()[0], 0)
        crowd, order, began = [], [], time.monotonic()

        def told(seconds):
            sockets = [each.socket for each in crowd if each not in order]
            ready = select.select(sockets, [], [], seconds)[0]
            order.extend(each for each in crowd if each.socket in ready)
            return len(order)

        for i in range(12):
            if i % 3 == 2:
                crowd.append(self.wire())
                crowd[-1].send(attributes={"vendor": "v"}, **{"class": "bulk"}, cost=2, max_wait=20)
            else:
                crowd.append(self.acquire(self.client(), cost=2, max_wait=20_000))
            until(lambda all=i + 1: int(self.server.info()["blocked_clients"]) + told(0) >= all, "it waits")
        while told(5) < len(crowd):
            pass
        self.assertEqual(order, crowd)
        for each in crowd:
            self.assertTrue(each.answer()[0] == 200 if isinstance(each, Wire) else each.reply()[0] == 0)
        # 10 that bulk may not take and 24 that it did, at 20 a second.
        self.assertGreater(time.monotonic() - began, 1.5)
        self.assertEqual(self.server.info()["blocked_clients"], "0")

    def test_critical_waits_for_nothing_while_bulk_saturates(self):
        crowd = [self.acquire(self.client(), max_wait=30_000) for _ in range(60)]
        critical = self.client()
        waiting = len(crowd)
        while waiting >= 45:  # until enough of bulk have gone on
            # In its share: half of the burst, and less than half of the rate.
            row = critical.ask("WEIR.RESERVE", "MAXWAIT", "5000", "CLASS", "critical", "AS", "vendor=v")
            self.assertEqual((row[0], row[3]), (0, 0))
            time.sleep(0.15)
            waiting = int(self.server.info()["blocked_clients"])
        self.assertGreater(waiting, 0, "bulk saturated it all the time")
        for each in crowd:
            each.close()
        self.blocked(0)

    def test_one_that_goes_is_not_charged_and_an_operator_ends_a_wait(self):
        self.assertEqual(self.acquire(self.client(), "slow=g").reply()[0], 0)
        first, second, third = self.client(), self.client(), self.client()
        self.acquire(first, "slow=g", 60_000)
        self.blocked(1)
        number = str(second.ask("CLIENT", "ID"))
        self.acquire(second, "slow=g", 60_000)
        self.blocked(2)
        self.assertEqual(self.probe.ask("CLIENT", "UNBLOCK", number), 1)
        ended = second.reply()
        self.assertEqual((ended[0], ended[5], ended[6]), (1, None, b"slow"))
        self.assertTrue(15_000 < ended[3] <= 20_000, ended)
        self.assertEqual(ended[2], 0)
        first.close()
        self.blocked(0)
        self.assertEqual(self.look("slow=g")[2], 1)
        self.acquire(third, "slow=g", 9_999)
        self.blocked(1)

    def test_at_the_end_those_whose_turn_is_near_are_granted_and_the_others_denied(self):
        self.assertEqual(self.acquire(self.client(), cost=10).reply()[0], 0)
        crowd = [self.acquire(self.client(), max_wait=60_000) for _ in range(120)]
        until(lambda: int(self.server.info()["blocked_clients"]) > 80, "they wait")
        began = time.monotonic()
        self.server.signal(signal.SIGTERM)
        rows = [each.reply() for each in crowd]
        self.assertLess(time.monotonic() - began, 6)
        granted = [row for row in rows if row[0] == 0]
        self.assertTrue(60 <= len(granted) <= 110, len(granted))
        self.assertTrue(all(row[3] > 0 for row in rows if row[0] == 1))
        self.assertEqual(self.server.wait(), 0)


class Full(WithServer):
    args = ("--max-waiters", "2")

    def test_a_full_house_denies_those_in_line_too(self):
        self.assertEqual(self.acquire(self.client(), "slow=f").reply()[0], 0)
        for i in (1, 2):
            self.acquire(self.client(), "slow=f", 60_000)
            self.blocked(i)
        denied = self.acquire(self.client(), "slow=f", 60_000).reply()
        self.assertEqual(denied[0], 1)
        self.assertTrue(25_000 < denied[3] <= 30_000, denied)
        self.assertEqual(self.server.info()["waiters_turned_away"], "1")


if __name__ == "__main__":
    run_tests()
