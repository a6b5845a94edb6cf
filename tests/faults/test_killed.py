"""Workers and servers that die without a word, by SIGKILL, while slots are taken through four servers and one Redis: a
vendor of our own counts what is under way there."""
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
TTL = 2.0
WORKERS = 8


class Vendor(socketserver.ThreadingTCPServer):
    """Who was under way, from when and until when: a call whose worker has died keeps its slot for TTL, counted from when
    the slot was asked for, at least; and a slow one for no longer."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self):
        self.lock = threading.Lock()
        self.spans, self.died = [], 0
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


class Call(socketserver.StreamRequestHandler):
    def handle(self):
        asked = self.rfile.readline()
        begun = time.monotonic()
        if not asked.endswith(b"\n"):
            return
        end = float(asked) + TTL
        try:
            is_done = self.rfile.readline() == b"done\n"
        except OSError:
            is_done = False
        with self.server.lock:
            self.server.spans.append((begun, min(end, time.monotonic()) if is_done else end))
            self.server.died += not is_done
        if is_done:
            self.wfile.write(b"!")


class Killed(unittest.TestCase):
    def start_server(self, port):
        return Server("--store", f"redis://{self.redis.address}", "--store-deadline", "20s", "--threads", "1",
                      resp=(f"127.0.0.1:{port}",))

    def start_worker(self):
        worker = pathlib.Path(__file__).with_name("killed_worker.py")
        arguments = [str(self.vendor.server_address[1]), self.id(), str(SLOTS), str(round(TTL * 1000)), *map(str, self.ports)]
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

    def free(self):
        with self.servers[0].client() as client:
            return client.ask("WEIR.RESERVE", "COST", 0, "KEYS", self.id(), f"in_flight={SLOTS}")[2]

    def test_never_more_than_the_slots_are_under_way_and_every_slot_comes_back(self):
        until(lambda: len(self.vendor.spans) >= 20, "calls are made")
        for step in range(10_000):
            if self.vendor.died >= 6 and step >= 20:
                break
            time.sleep(random.uniform(0.05, 0.2))
            self.kill_a_worker()
            if step % 5 == 4:
                self.kill_a_server()
        self.assertGreaterEqual(self.vendor.died, 6, "calls that were killed")
        made = len(self.vendor.spans)
        until(lambda: len(self.vendor.spans) > made + SLOTS, "calls go on")
        for worker in self.workers:
            worker.kill()
            worker.wait()
        until(lambda: self.free() == SLOTS, "every slot is free once its time is over")
        self.assertLessEqual(self.vendor.most_at_once(), SLOTS)
        with self.servers[0].client() as client:
            rows = [client.ask("WEIR.RESERVE", "HOLD", 60_000, "KEYS", self.id(), f"in_flight={SLOTS}")
                    for _ in range(SLOTS + 1)]
        self.assertEqual([row[0] for row in rows], [0] * SLOTS + [1], "and none is free twice")


if __name__ == "__main__":
    if not available():
        raise SystemExit(f"{PROGRAM} is not here")
    end_to_end.run(240)
