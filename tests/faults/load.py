"""A few clients that ask weir for decisions at a low, steady rate and write down every answer.

A process of its own, so that nothing else delays what it measures: Load starts it and talks to it. It asks
three kinds of keys, and beside them the same of a second weir that has no store, whose latencies are what the
machine and this program add by themselves:

    fresh    never asked before, burst 1: allowed whenever the store decides
    full     asked more often than their limit allows: what is admitted tests the bound
    ledger   a burst that does not end, one unit each 1000 s: the value in the store says how many were charged
"""
import contextlib
import gc
import json
import os
import random
import select
import socket
import subprocess
import sys
import time

LEDGER_PERIOD = 1000  # seconds
EVERY = 0.010         # seconds between the requests of a connection
FULL = [(1, 20), (5, 10), (5, 40), (20, 20)]  # burst, per second


def full_keys(tags):
    """(name, burst, emission interval in ns) of each."""
    return [(f"full:{{{tag}}}:{i}", burst, 1_000_000_000 // rate) for tag in tags for i, (burst, rate) in enumerate(FULL)]


class Connection:
    def __init__(self, port, control):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.control = control
        self.buffer = b""
        self.asked = None  # what is under way
        self.due = time.monotonic() + random.random() * EVERY


class Generator:
    def __init__(self, port, control, connections, tags, name):
        self.poll = select.epoll()
        self.by_fd = {}
        for at in [(port, False)] * connections + [(control, True)] * 2:
            connection = Connection(*at)
            self.by_fd[connection.socket.fileno()] = connection
            self.poll.register(connection.socket, select.EPOLLIN)
        self.poll.register(0, select.EPOLLIN)
        self.tags, self.name = tags, name
        self.full = full_keys(tags)
        self.serial = 0
        self.ledger = 0
        self.running = True
        self.samples = []
        self.commands = b""

    def command(self, key, burst, count, period):
        return b"*5\r\n$11\r\nCL.THROTTLE\r\n$%d\r\n%s\r\n$%d\r\n%d\r\n$%d\r\n%d\r\n$%d\r\n%d\r\n" % (
            len(key), key.encode(), len(str(burst - 1)), burst - 1, len(str(count)), count, len(str(period)), period)

    def ask(self, connection):
        kinds, data = [], b""
        for _ in range(2):
            self.serial += 1
            kinds.append(-1)
            data += self.command(f"fresh:{self.name}:{self.serial}", 1, 1, 3600)
        number = random.randrange(len(self.full))
        key, burst, interval = self.full[number]
        kinds.append(number)
        data += self.command(key, burst, 1_000_000_000 // interval, 1)
        tag = random.randrange(len(self.tags))
        kinds.append(-2 - tag)
        data += self.command(f"ledger:{{{self.tags[tag]}}}:{self.ledger}", 100_000, 1, LEDGER_PERIOD)
        connection.asked = (time.monotonic_ns(), kinds)
        connection.socket.send(data)

    def answered(self, connection, now):
        """Takes what has come; true when all of it is there."""
        try:
            data = connection.socket.recv(1 << 16)
        except BlockingIOError:
            return
        if not data:
            raise SystemExit("weir closed a connection")
        connection.buffer += data
        lines = connection.buffer.split(b"\r\n")
        answers, at = [], 0
        while at < len(lines) - 1:
            if lines[at][:1] == b"-":
                answers.append(lines[at].decode())
                at += 1
            elif at + 5 < len(lines) - 1:
                answers.append(1 if lines[at + 1] == b":0" else 0)
                at += 6
            else:
                return
        sent, kinds = connection.asked
        if len(answers) < len(kinds):
            return
        self.samples.append((sent, now, int(connection.control), list(zip(kinds, answers))))
        connection.buffer, connection.asked = b"", None
        connection.due = max(connection.due + EVERY, now / 1e9)

    def obey(self):
        data = os.read(0, 4096)
        if not data:
            raise SystemExit(0)
        self.commands += data
        while b"\n" in self.commands:
            line, self.commands = self.commands.split(b"\n", 1)
            word, _, rest = line.decode().partition(" ")
            if word == "ledger":
                self.ledger = int(rest)
                self.running = True
            if word == "pause":
                self.running = False
            if word == "take":
                samples, self.samples = self.samples, []
                sys.stdout.write(json.dumps(samples) + "\n")
                sys.stdout.flush()

    def run(self):
        while True:
            now = time.monotonic()
            due = now + 0.1
            for connection in self.by_fd.values():
                if connection.asked is None and self.running:
                    if connection.due <= now:
                        self.ask(connection)
                    else:
                        due = min(due, connection.due)
            if not self.running and all(c.asked is None for c in self.by_fd.values()):
                sys.stdout.write("paused\n")
                sys.stdout.flush()
                while not self.running:
                    self.obey()
                continue
            ready = self.poll.poll(max(0, due - time.monotonic()))
            now = time.monotonic_ns()  # for all of them: later ones do not pay for our work on the first
            for descriptor, _ in ready:
                if descriptor == 0:
                    self.obey()
                else:
                    self.answered(self.by_fd[descriptor], now)


class Load:
    """The other side: starts a Generator and collects what it saw."""

    def __init__(self, port, control, connections, tags, seed):
        self.tags = tags
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), str(port), str(control),
                                         str(connections), ",".join(tags), str(seed)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.samples = []
        self.paused = False

    def _say(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def _hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the load has ended: weir closed a connection")
        return line

    def take(self):
        """The samples since the last time: (sent, received, of the control?, [(kind, answer)...]), in ns."""
        self._say("take")
        fresh = json.loads(self._hear())
        self.samples += fresh
        return fresh

    def pause(self):
        """When it returns nothing is under way; ledger() goes on."""
        if not self.paused:
            self._say("pause")
            assert self._hear() == b"paused\n"
        self.paused = True

    def ledger(self, number):
        """Goes on, with the next ledger."""
        self.paused = False
        self._say(f"ledger {number}")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def main():
    port, control, connections, tags, seed = sys.argv[1:]
    random.seed(seed)
    gc.disable()
    with contextlib.suppress(OSError):
        os.nice(-10)
    Generator(int(port), int(control), int(connections), tags.split(","), seed).run()


if __name__ == "__main__":
    main()
