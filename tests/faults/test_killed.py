"""Workers and servers that die without a word, by SIGKILL, while slots and units of a rate are taken through four servers and
one Redis: a vendor of our own counts what is under way there, and what has been used."""
import pathlib
import random
import socketserver
import subprocess
import sys
import threading
import time
import unittest

from world import PROGRAM, Redis, Server, available, end_to_end, free_port, until

SLOTS = 3
BURST, PER_SECOND = 10, 20
TTL = 1.0
WORKERS = 8


class Vendor(socketserver.ThreadingTCPServer):
    """Who was under way, from when and until when: a call whose worker has died keeps its slot for TTL, counted from when
    the slot was asked for, at least; and a slow one for no longer."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self):
        self.lock = threading.Lock()
        self.spans, self.used, self.ends_of_dead = [], [], []
        self.keeps, self.kept = False, 0  # those whose call does not end any more
        self.since = time.monotonic()
        super().__init__(("127.0.0.1", 0), Call)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def most_at_once(self):
        with self.lock:
            edges = sorted([(begin, 1) for begin, end in self.spans if begin < end] +
                           [(end, -1) for begin, end in self.spans if begin < end])
        most = now = 0
        for _, step in edges:
            now += step
            most = max(most, now)
        return most

    def dead(self):
        """When the slots end, at the earliest, of those that died under way."""
        with self.lock:
            return list(self.ends_of_dead)

    def most_over(self):
        """By how many units more were used at some time than the rate had admitted until then. A call that came late says
        nothing of it."""
        used, worst = 0, 0.0
        with self.lock:
            for begin, cost in sorted(self.used):
                used += cost
                worst = max(worst, used - BURST - (begin - self.since) * PER_SECOND)
        return worst


class Call(socketserver.StreamRequestHandler):
    def handle(self):
        asked = self.rfile.readline()
        begun = time.monotonic()
        if not asked.endswith(b"\n"):
            return
        end = float(asked) + TTL
        try:
            is_done = self.rfile.readline() == b"done\n"
            if is_done and self.server.keeps:
                with self.server.lock:
                    self.server.kept += 1
                is_done = self.rfile.read() != b""
        except OSError:
            is_done = False
        with self.server.lock:
            self.server.spans.append((begun, min(end, time.monotonic()) if is_done else end))
            self.server.used.append((begun, 1 if is_done else 2))
            if not is_done:
                self.server.ends_of_dead.append(end)
        if is_done:
            self.wfile.write(b"!")


class Killed(unittest.TestCase):
    def start_server(self, port):
        return Server("--store", f"redis://{self.redis.address}", "--store-deadline", "20s", "--threads", "1",
                      resp=(f"127.0.0.1:{port}",))

    def start_worker(self):
        worker = pathlib.Path(__file__).with_name("killed_worker.py")
        arguments = [str(self.vendor.server_address[1]), self.id(), str(SLOTS), f"{PER_SECOND}/s burst {BURST}",
                     str(round(TTL * 1000)), *map(str, self.ports)]
        return subprocess.Popen([sys.executable, str(worker), *arguments], stdin=subprocess.DEVNULL)

    def setUp(self):
        self.redis = Redis()
        self.addCleanup(self.redis.close)
        self.vendor = Vendor()
        self.addCleanup(self.vendor.server_close)
        self.addCleanup(self.vendor.shutdown)
        self.ports = [free_port() for _ in range(4)]
        self.servers = [self.start_server(port) for port in self.ports]
        self.workers = [self.start_worker() for _ in range(WORKERS)]

    def tearDown(self):
        for worker in self.workers:
            worker.kill()
            worker.wait()
        for server in self.servers:
            server.kill()

    def kill_a_worker(self):
        place = random.randrange(len(self.workers))
        self.workers[place].kill()
        self.workers[place].wait()
        self.workers[place] = self.start_worker()

    def kill_a_server(self):
        place = random.randrange(len(self.servers))
        self.servers[place].kill()
        self.servers[place] = self.start_server(self.ports[place])

    def look(self):
        with self.servers[0].client() as client:
            return client.ask("WEIR.RESERVE", "COST", 0, "KEYS", self.id(), f"in_flight={SLOTS}")

    def assert_the_dead_have_their_slots(self):
        """Those that were heard of before the question, and whose time ends after its answer."""
        dead = self.vendor.dead()
        taken = SLOTS - self.look()[2]
        now = time.monotonic()
        self.assertGreaterEqual(taken, sum(end > now for end in dead))
        return taken

    def assert_a_slot_is_freed_once(self):
        with self.servers[0].client() as client:
            def take(hold):
                row = client.ask("WEIR.RESERVE", "HOLD", hold, "KEYS", self.id(), f"in_flight={SLOTS}")
                return row[0] == 0 and row[5]
            short = [take(300), *(take(60_000) for _ in range(SLOTS - 1))][0]
            self.assertFalse(take(60_000))
            if client.ask("WEIR.SETTLE", short) == 0:  # or it took this longer than that
                self.assertTrue(take(60_000), "at its settlement")
                self.assertFalse(take(60_000))
                time.sleep(0.35)
            else:
                self.assertTrue(take(60_000), "by its time")
            self.assertFalse(take(60_000), "and not once more")

    def test_never_more_than_the_slots_are_under_way_and_every_slot_comes_back(self):
        until(lambda: len(self.vendor.spans) >= 20, "calls are made")
        for step in range(10_000):
            if len(self.vendor.dead()) >= 6 and step >= 20:
                break
            time.sleep(random.uniform(0.05, 0.2))
            self.kill_a_worker()
            self.assert_the_dead_have_their_slots()
            if step % 5 == 4:
                self.kill_a_server()
        self.assertGreaterEqual(len(self.vendor.dead()), 6, "calls that were killed")
        made = len(self.vendor.spans)
        until(lambda: len(self.vendor.spans) > made + SLOTS, "calls go on")
        self.vendor.keeps = True
        until(lambda: self.vendor.kept >= SLOTS, "all slots are under way")
        for worker in self.workers:
            worker.kill()
        # As Redis has it, the last ends within its time, which runs from a moment that the rate may put off.
        self.assertLessEqual(self.look()[4], (TTL + 2 * WORKERS / PER_SECOND) * 1000)
        until(lambda: self.assert_the_dead_have_their_slots() == 0, "every slot is free once its time is over")
        self.assertLessEqual(self.vendor.most_at_once(), SLOTS)
        self.assertLessEqual(self.vendor.most_over(), 0)
        self.assert_a_slot_is_freed_once()


if __name__ == "__main__":
    if not available():
        raise SystemExit(f"{PROGRAM} is not here")
    end_to_end.run(240)
