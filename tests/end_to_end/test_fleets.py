"""Two thousand connections that WEIR.ACQUIRE units of one key. test_celery_fleet.py has a fleet of tasks.

In memory time is virtual, and each moment is known exactly. With Redis no speed is judged: what a standstill of
the machine may cost is allowed for, as probes have seen it.
"""
import contextlib
import os
import resource
import select
import socket
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))

from chance import chance
from server import PATIENCE, Closed, encode, until
from server import run as run_tests
from test_virtual_time import Virtual
from world import Redis, Server, available

MANY, MOST = 2000, 5  # connections, and units of one
LEAVES = 3  # of three, one does
DESCRIPTORS = MANY + 200
FOREVER = 3_600_000  # ms, the longest MAXWAIT


def setUpModule():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < DESCRIPTORS:
        raise unittest.SkipTest(f"needs {DESCRIPTORS} descriptors, and {hard} may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, DESCRIPTORS), hard))


def most_owed(acts, interval):
    """The most units that are owed right after one of the (moment, units): no span has more than that + W / T."""
    most = owed = last = 0.0
    for moment, units in sorted(acts):
        owed = max(0.0, owed - (moment - last) / interval) + units
        most, last = max(most, owed), moment
    return most


class Spans(unittest.TestCase):
    def test_what_is_over_is_found(self):
        self.assertEqual(most_owed([(9, 1), (5, 2), (6, 1)], 2), 2.5)
        self.assertEqual(most_owed([(5, 1), (9, 2)], 1), 2)


def costs():
    dice = chance()
    return [dice.randint(1, MOST) for _ in range(MANY)]


class Crowd:
    """Those that wait for units of one key, a connection for each, by places in the order in which they come.

    `answers` has what each was told and the server's clock then, `gone` those that left and were told nothing."""

    def __init__(self, test, connect, clock, rule, costs):
        self.clock, self.rule, self.costs = clock, rule, costs
        self.clients, self.answers, self.gone = [connect(place) for place in range(MANY)], {}, set()
        self.places = {each.socket.fileno(): place for place, each in enumerate(self.clients)}
        self.ready = test.enterContext(contextlib.closing(select.epoll()))
        for descriptor in self.places:
            self.ready.register(descriptor, select.EPOLLIN)

    def come(self, place, has_come):
        ask = encode("WEIR.ACQUIRE", "MAXWAIT", FOREVER, "COST", self.costs[place], "k", self.rule)
        self.clients[place].send_bytes(ask + encode(self.clock))  # in one read
        until(has_come, f"number {place} stands in line, or has acted", pause=0.001)

    def hear(self, seconds=0.0):
        """Reads what has come; whether anything has."""
        heard = self.ready.poll(seconds, MANY)
        for descriptor, _ in heard:
            place = self.places[descriptor]
            try:
                told = self.clients[place].reply(), self.clients[place].reply()
            except Closed:
                self.ready.unregister(descriptor)
                self.gone |= {place} - self.answers.keys()
                continue
            assert place not in self.answers, f"number {place} is told more than once: {told}"
            self.answers[place] = told
        return bool(heard)

    def told(self, first, step):
        """How many have heard, of each `step` places one."""
        self.hear()
        return sum(place % step == first for place in self.answers)

    def leave(self):
        """One of three of those in line. Its end of output is going away; it still hears what was told before."""
        leaving = {place for place in range(LEAVES - 1, MANY, LEAVES) if place not in self.answers}
        for place in leaving:
            self.clients[place].socket.shutdown(socket.SHUT_WR)
        return leaving

    def has_lost(self, leaving):
        self.hear()
        return leaving <= self.gone


def in_line(client):
    return int(client.ask("INFO", "clients").decode().partition("blocked_clients:")[2].split("\r\n")[0])


class InMemory(Virtual):
    BURST, INTERVAL = 10, 2  # units, and ms for one

    def crowd(self, costs):
        crowd = Crowd(self, lambda _: self.connect(), "WEIR.TIME", f"500/s burst {self.BURST}", costs)
        for place in range(MANY):
            crowd.come(place, lambda: crowd.hear() or in_line(self.client) + len(crowd.answers) > place)
        return crowd

    def judge(self, crowd, stay, left_at=0):
        """Each acts at the very moment at which those before it leave room; at the last one's nothing remains."""
        units, moments = 0, {}
        for place in stay:
            units += crowd.costs[place]
            # Who comes after one that left may have been next since then.
            earliest = 0 if place in crowd.answers else left_at
            moments[place] = max(earliest, (units - self.BURST) * self.INTERVAL)
        self.advance(moments[stay[-1]] - left_at)
        crowd.hear()
        self.assertEqual({place: row[1] for place, (_, row) in crowd.answers.items()}, moments)
        self.assertEqual({row[0] for row, _ in crowd.answers.values()}, {0})
        self.assertEqual(in_line(self.client), 0)
        owed = self.client.ask("WEIR.THROTTLE", "COST", "0", "k", crowd.rule)
        self.assertEqual((owed[2], owed[4]), (0, self.BURST * self.INTERVAL))
        self.assertFalse(crowd.hear(), "nobody is told twice")

    def test_each_of_two_thousand_acts_at_its_moment(self):
        self.judge(self.crowd([1] * MANY), range(MANY))

    def test_one_of_three_leaves_and_those_after_it_move_up(self):
        crowd = self.crowd(costs())
        self.advance(3000)
        crowd.hear()
        leaving = crowd.leave()
        self.assertGreater(len(leaving), MANY // 5)
        until(lambda: crowd.has_lost(leaving), "those that leave are out of line")
        self.judge(crowd, [place for place in range(MANY) if place not in leaving], left_at=3000)


class OverRedis:
    """All units of some seconds have been told to others, so that those that come stand in one line first."""
    SERVERS = 1
    PASSED = 0.4  # seconds for which one is passed between four servers, in simulations: docs/waiting.md
    LATE = 0.01  # seconds that a question of one whose moment has come may take
    ASKED = 64  # of one server's line, at a time
    AHEAD = 5  # bursts that are told, of a second each
    WAYS = 4  # from when there is room until one acts, each of which may be held up

    def crowd(self, costs, rate, burst):
        self.rate, self.burst = rate, burst
        redis = self.enterContext(Redis())
        flags = "--threads", "1", "--store", f"redis://{redis.address}", "--store-deadline", f"{PATIENCE:.0f}s"
        servers = [self.enterContext(Server(*flags)) for _ in range(self.SERVERS)]
        self.probes = [self.enterContext(each.client()) for each in servers]
        crowd = Crowd(self, lambda place: self.enterContext(servers[place % self.SERVERS].client()), "TIME",
                      f"{rate}/s burst {burst}", costs)
        for _ in range(self.AHEAD):
            asked = time.time()
            told = self.probes[0].ask("WEIR.RESERVE", "COST", burst, "MAXWAIT", FOREVER, "k", crowd.rule)
            self.began = self.left_at = asked + (told[3] - 1) / 1000
        for place in range(MANY):
            probe, number = self.probes[place % self.SERVERS], place % self.SERVERS
            crowd.come(place, lambda: crowd.told(number, self.SERVERS) + in_line(probe) > place // self.SERVERS)
        return crowd

    def let_act(self, crowd, leave_after=MANY):
        """Until each is answered or gone. Probes go the way of the answers, and a standstill holds them up too."""
        self.rounds, leaving, last = [], set(), time.monotonic()
        while len(crowd.answers) + len(crowd.gone) < MANY:
            crowd.hear(0.01)
            if len(crowd.answers) >= leave_after and not leaving:
                leaving, self.left_at = crowd.leave(), time.time()
            for probe in self.probes:
                self.assertEqual(probe.ask("WEIR.THROTTLE", "COST", "0", "probe", "1/s")[0], 0)
            self.rounds.append(time.monotonic() - last)
            last += self.rounds[-1]
            self.assertLess(sum(self.rounds), 4 * PATIENCE, f"{len(crowd.answers)} are answered")
        self.ended = time.time()
        return leaving

    def judge(self, crowd, lost=0):
        """`lost`: units that some took who were gone when they were to be told."""
        moments = {place: int(told[0]) + int(told[1]) / 1e6 for place, (_, told) in crowd.answers.items()}
        acts = [(at, crowd.costs[place]) for place, at in moments.items()]
        units = sum(cost for _, cost in acts)
        ways = [sum(self.rounds[i:i + self.WAYS]) for i in range(len(self.rounds))]
        standstill = max(ways)
        self.assertEqual({row[0] for row, _ in crowd.answers.values()}, {0})
        # By what Redis says is owed right after each acts, where each other server may have a plan; in all; and in
        # any span by the clocks of the servers, which hear of an act a little later.
        most = max(row[4] for row, _ in crowd.answers.values())
        plans = (self.SERVERS - 1) * max(crowd.costs)
        self.assertLessEqual(most, (self.burst + plans) * 1000 / self.rate + 1)
        self.assertLessEqual(units, 1 + (self.ended - self.began) * self.rate)
        acts.append((self.began, self.burst))  # what was told last
        self.assertLessEqual(most_owed(acts, 1 / self.rate), self.burst + 1 + (self.LATE + standstill) * self.rate)
        # A round trip admits no more than the burst, and lets no more than ASKED act.
        held = min(self.burst, self.ASKED * sum(crowd.costs) / MANY) / self.rate
        idle = sum(max(0.0, each - held) for each in ways)
        used = (units + lost) / (max(0.01, max(moments.values()) - self.began - idle) * self.rate)
        self.assertGreaterEqual(used, 0.98)
        for number in range(self.SERVERS):
            there = [moments[place] for place in sorted(moments) if place % self.SERVERS == number]
            self.assertEqual(there, sorted(there), f"in server {number} nobody is passed")
        # Between servers none is passed for long: it acts when all that came before have, one after the other.
        before, late = 0, 0.0
        for place, at in sorted(moments.items()):
            before += crowd.costs[place]
            due = self.began + before / self.rate
            late = max(late, at - max(due, self.left_at if at > self.left_at else due))
        print(f"{self.id()}: {used:.3f} used, {late:.3f} s late, {standstill:.3f} s stood still", file=sys.stderr)
        if self.SERVERS > 1:
            allowed = 2 * self.PASSED + idle + lost / self.rate + 2 * standstill
            self.assertLessEqual(late, allowed)
        self.assertEqual([in_line(each) for each in self.probes], [0] * self.SERVERS)
        whole = "WEIR.THROTTLE", "COST", self.burst, "k", crowd.rule
        until(lambda: self.probes[0].ask(*whole)[0] == 0, "nothing is kept free for anybody")
        self.assertFalse(crowd.hear(), "nobody is told twice")

    def test_two_thousand_are_granted_once(self):
        crowd = self.crowd([1] * MANY, 400, 400)
        self.let_act(crowd)
        self.judge(crowd)
        self.assertEqual(crowd.gone, set())

    def test_one_of_three_leaves_and_its_units_go_to_those_after_it(self):
        crowd = self.crowd(costs(), 1000, 1000)
        leaving = self.let_act(crowd, leave_after=MANY // 4)
        self.assertLessEqual(crowd.gone, leaving)
        self.assertGreater(len(crowd.gone), MANY // 10)
        # One that goes within the round trip of its grant gives back what has not drained by then.
        self.judge(crowd, lost=self.SERVERS * self.ASKED // LEAVES * MOST)


@unittest.skipUnless(available(), "needs redis-server")
class OneServer(OverRedis, unittest.TestCase):
    pass


@unittest.skipUnless(available(), "needs redis-server")
class FourServers(OverRedis, unittest.TestCase):
    SERVERS = 4


if __name__ == "__main__":
    run_tests(580)
