#!/usr/bin/env python3
"""What waiting costs, and how late it wakes.

WEIR.RESERVE beside CL.THROTTLE, on one weir each, CPU time a request at pipeline 64. The servers take turns: the one
whose turn it is not is stopped, and a ratio is the median of the rounds' ratios. The reservations are granted to act
now, all of them: the load has one length for all replies. `file` reserves by a limits file.

WEIR.ACQUIRE that waits beside WEIR.RESERVE, one request in a packet each, at the same times: one every 2 ms. Then how
late those are told that wait for up to 2.5 s, beside those of a server that has only a timer (waiting.cpp): on the same
core at the same time, their moments alternating. Then WEIR.RESERVE with HOLD and WEIR.SETTLE, in any order, of a key
with 100,000 open holds beside one with ten. Then what 10,000 that wait in one line cost in memory, each, beside its
connection. Then reserve() in a process beside golang.org/x/time/rate, alternately, if Debian's golang-go and
golang-golang-x-time-dev are there.
"""
import argparse
import contextlib
import itertools
import os
import pathlib
import random
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import servers

FILE = "version: 1\nlimits:\n  user: { by: [user], rate: 1000000/s, max_wait: 5s }\n"
# name: the request, the lines of its reply, the target beside CL.THROTTLE
KINDS = {
    "throttle": ("CL.THROTTLE KEY 999999 1000000 1", 6, None),
    "reserve": ("WEIR.RESERVE MAXWAIT 5000 KEY 1000000/s", 9, 1.25),
    "file": ("WEIR.RESERVE AS user=KEY", 9, None),
    "charge": ("WEIR.CHARGE KEY 1000000/s", 7, 1.1),
}


def asking(command: str, rule: str) -> bytes:
    """A request by a rule, which has blanks."""
    words = [*command.split(), rule]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words)


def connect(port: int, count: int) -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", port), timeout=servers.START_SECONDS) for _ in range(count)]


LONE = 500  # requests a second


def cpu_of_reserve(server: servers.Server, seconds: float) -> float:
    """Microseconds for each of some that are granted now, one at a time."""
    crowd, count = connect(server.port, 50), int(seconds * LONE)
    request = asking("WEIR.RESERVE MAXWAIT 5000 now", "1000000/s")
    before, began = server.cpu_seconds(), time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, began + number / LONE - time.monotonic()))
        servers.converse(crowd[number % len(crowd)], request, 9)
    return (server.cpu_seconds() - before) / count * 1e6


WAITS = 0.1  # seconds that each of those waits


def cpu_of_waiting(server: servers.Server, seconds: float, request_at) -> float:
    """The same for some that wait, each for WAITS, and are woken one at a time. `request_at(n)` asks for the n-th moment."""
    crowd, count = connect(server.port, round(WAITS * LONE)), int(seconds * LONE)
    asked = answered = 0
    for each in crowd:
        each.sendall(request_at(asked))
        asked += 1
    while answered < len(crowd) + count:
        if answered == len(crowd):  # from here on it is in its stride
            before = server.cpu_seconds()
        each = next(iter(select.select(crowd, [], [], servers.START_SECONDS)[0]), None)
        if each is None:
            raise servers.Failed("nobody was woken")
        each.recv(4096)
        each.sendall(request_at(asked))
        asked, answered = asked + 1, answered + 1
    return (server.cpu_seconds() - before) / count * 1e6


def cpu_of_acquire(server: servers.Server, seconds: float) -> float:
    request = asking(f"WEIR.ACQUIRE MAXWAIT 60000 key:{time.monotonic_ns()}", f"{LONE}/s burst 1")
    return cpu_of_waiting(server, seconds, lambda _: request)


def cpu_of_timer(server: servers.Server, seconds: float) -> float:
    first = time.monotonic_ns()
    return cpu_of_waiting(server, seconds, lambda n: moment_request(first + round((n + 1) / LONE * 1e9)))


def moment_request(moment: int) -> bytes:
    return moment.to_bytes(8, sys.byteorder)


def p99(late: list[float]) -> float:
    return sorted(late)[len(late) * 99 // 100] * 1e3


class Late:
    """How late those are told that wait for moments `step` apart. The schedule begins when its server says; of all that
    came, the earliest shows when that was."""

    def __init__(self, step: float):
        self.step = step
        self.came = []

    def come(self, number: int) -> None:
        self.came.append((number, time.monotonic()))

    def p99(self) -> float:
        """Milliseconds, of those that waited for 0.3 s or more: they all had been sent by then."""
        begins = [at - number * self.step for number, at in self.came if number * self.step >= 0.3]
        return p99([each - min(begins) for each in begins])


def wake_errors(server: servers.Server, timer: servers.Server, count: int, step: float) -> tuple[float, float]:
    """Of those who wait in weir, and in a program that has only a timer: at the same time, their moments alternating."""
    waiting, key = {}, f"wake:{time.monotonic_ns()}"
    with contextlib.ExitStack() as stack, select.epoll() as ready:
        def wait_for(late: Late, number: int, port: int, request: bytes) -> None:
            each = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=servers.START_SECONDS))
            ready.register(each.fileno(), select.EPOLLIN)
            waiting[each.fileno()] = (each, late, number)
            each.sendall(request)

        ours, theirs = Late(step), Late(step)
        acquire = asking(f"WEIR.ACQUIRE MAXWAIT 60000 {key}", f"{round(1 / step)}/s burst 1")
        first = time.monotonic_ns()
        for number in range(count):
            wait_for(ours, number, server.port, acquire)
            moment = first + round((number + 0.5) * step * 1e9)
            wait_for(theirs, number, timer.port, moment_request(moment))
        while waiting:
            events = ready.poll(servers.START_SECONDS)
            if not events:
                raise servers.Failed(f"{len(waiting)} of {2 * count} that wait were not told")
            for descriptor, _ in events:
                each, late, number = waiting.pop(descriptor)
                late.come(number)
                ready.unregister(descriptor)
        return ours.p99(), theirs.p99()


GO = """
package main
import ("fmt"; "time"; "golang.org/x/time/rate")
func main() {
	limiter := rate.NewLimiter(rate.Limit(1e9), 1000000000)
	const count = COUNT
	granted := 0
	began := time.Now()
	for i := 0; i < count; i++ {
		if limiter.ReserveN(time.Now(), 1).OK() { granted++ }
	}
	fmt.Println(float64(time.Since(began).Nanoseconds()) / count, granted)
}
"""


def beside_go(options) -> str:
    if options.quick:
        return "  beside golang.org/x/time/rate: not in a quick run, which compiles nothing"
    sources = pathlib.Path("/usr/share/gocode")
    if not shutil.which("go") or not (sources / "src/golang.org/x/time/rate").is_dir():
        return "  beside golang.org/x/time/rate: not measured, Debian's golang-go and golang-golang-x-time-dev are not there"
    count = "3000000"
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        (pathlib.Path(folder) / "main.go").write_text(GO.replace("COUNT", count))
        build = subprocess.run(["go", "build", "-o", "rate", "main.go"], cwd=folder, capture_output=True, text=True,
                               env=os.environ | {"GOPATH": str(sources), "GO111MODULE": "off", "GOCACHE": folder + "/cache",
                                                 "GOFLAGS": "", "HOME": folder})
        if build.returncode != 0:
            raise servers.Failed(f"go build: {build.stderr.strip()}")
        programs = {"weir": [servers.program("bench/weir_bench_waiting"), "reserve", count], "go": [folder + "/rate"]}
        samples = servers.take_turns(
            programs, options.rounds, lambda name: float(servers.run(programs[name], servers.cores()[1], 60).split()[0]))
    ratio = statistics.median(theirs / ours for ours, theirs in zip(samples["weir"], samples["go"]))
    return (f"  {statistics.median(samples['weir']):6.1f} ns a reserve() that acts now of weir::Limiter, "
            f"{statistics.median(samples['go']):6.1f} ns a Reserve() of golang.org/x/time/rate, the clock read in both: "
            f"{ratio:.1f} times as fast")


def judge(is_met: bool, quick: bool) -> str:
    return "the figures mean nothing" if quick else "met" if is_met else "missed"


def wait_for_moments(options) -> None:
    with (servers.weir(servers.cores()[0], "--memory", "32MiB") as server,
          servers.listening("the timer", [servers.program("bench/weir_bench_waiting"), "timer"], servers.cores()[0]) as timer):
        kinds = {"reserve": (cpu_of_reserve, server), "acquire": (cpu_of_acquire, server), "timer": (cpu_of_timer, timer)}
        samples = servers.take_turns(kinds, options.rounds, lambda kind: kinds[kind][0](kinds[kind][1], options.seconds))
        middle = {kind: statistics.median(samples[kind]) for kind in kinds}
        more = statistics.median(acquire / reserve for acquire, reserve in zip(samples["acquire"], samples["reserve"])) - 1
        print(f"  lone reserve{middle['reserve']:8.3f} us CPU, lone acquire that waits{middle['acquire']:8.3f} us: {more:.2f} of a "
              f"reserve more (target at most 0.5: {judge(more <= 0.5, options.quick)}); a server that has only a timer "
              f"{middle['timer']:.3f} us")
        rounds = [wake_errors(server, timer, 40 if options.quick else 250, 0.01) for _ in range(options.rounds)]
        more = statistics.median(ours - theirs for ours, theirs in rounds)
        ours, theirs = (statistics.median(each) for each in zip(*rounds))
        print(f"  wake error p99 {ours:.3f} ms, of a server that has only a timer {theirs:.3f} ms: {more:+.3f} ms, the median of "
              f"{len(rounds)} rounds (target at most 1: {judge(more <= 1, options.quick)})")


class Holds:
    """A key with that many open holds, which are settled in any order, each for a new one."""

    BATCH = 10  # as many as the smaller of the keys has

    def __init__(self, port: int, key: str, count: int, slots: bool = False):
        self.socket = connect(port, 1)[0]
        self.replies = self.socket.makefile("rb")
        slot = f"{key}:slots in_flight={10 * count} " if slots else ""
        self.reserve = asking(f"WEIR.RESERVE HOLD 3600000 {slot}{key}", "1000/s burst 1000000")
        self.ids, self.chance = [], random.Random(7)
        while len(self.ids) < count:
            self.ids += self.reserved(min(self.BATCH, count - len(self.ids)))

    def reserved(self, count: int) -> list[bytes]:
        self.socket.sendall(self.reserve * count)
        ids = []
        for _ in range(count):
            lines = [self.replies.readline() for _ in range(10)]
            if lines[1] != b":0\r\n" or not lines[6].startswith(b"$"):
                raise servers.Failed(f"a reservation with HOLD was answered {lines}")
            ids.append(lines[7].strip())
        return ids

    def settle(self, count: int, actual: int) -> None:
        for _ in range(count // self.BATCH):
            for place in range(self.BATCH):
                other = self.chance.randrange(place, len(self.ids))
                self.ids[place], self.ids[other] = self.ids[other], self.ids[place]
            self.socket.sendall(b"".join(b"*3\r\n$11\r\nWEIR.SETTLE\r\n$%d\r\n%s\r\n$1\r\n%d\r\n" % (len(each), each, actual)
                                         for each in self.ids[:self.BATCH]))
            for _ in range(self.BATCH):
                if self.replies.readline().startswith((b":-1", b"-")):
                    raise servers.Failed("an open hold could not be settled")
            self.ids[:self.BATCH] = self.reserved(self.BATCH)


def settle_holds(options, actual: int, name: str, port: int, measured: servers.Server, slots: bool = False) -> None:
    many, count = (100, 100) if options.quick else (100_000, 10_000)
    keys = {each: Holds(port, f"{each}:{name}:{actual}:{slots}", size, slots)
            for each, size in (("few", 10), ("many", many))}

    def cpu(each: str) -> float:
        before = measured.cpu_seconds()
        keys[each].settle(count, actual)
        return (measured.cpu_seconds() - before) / count * 1e6

    samples = servers.take_turns({each: each for each in keys}, options.rounds, cpu)
    ratio = statistics.median(many / few for many, few in zip(samples["many"], samples["few"]))
    middle = {each: statistics.median(samples[each]) for each in keys}
    print(f"  {name}: reserve{' with a slot' if slots else ''}, settle at {actual} of 1: ten open holds{middle['few']:8.3f} us CPU, {many:,} open holds"
          f"{middle['many']:8.3f} us: {ratio:.2f} x (target at most 1.5: {judge(ratio <= 1.5, options.quick)})")


def settle_all_holds(options) -> None:
    memory = ("--memory", "32MiB", "--reservation-memory", "1GiB")
    with servers.weir(servers.cores()[0], *memory) as server:
        for actual in (1, 0):
            settle_holds(options, actual, "weir", server.port, server)
        settle_holds(options, 1, "weir", server.port, server, slots=True)
    with (servers.redis(servers.cores()[0]) as store,
          servers.weir(servers.cores()[1], "--store", f"redis://127.0.0.1:{store.port}") as server):
        for actual in (1, 0):
            settle_holds(options, actual, "redis-server", server.port, store)


class Calls:
    """Calls of keys in turn, a number of them at a time: a rate and a slot are reserved, and settled."""

    KEYS = 10_000

    def __init__(self, port: int):
        self.socket = connect(port, 1)[0]
        self.replies = self.socket.makefile("rb")
        self.keys = itertools.cycle(range(self.KEYS))

    def send(self, requests: list[bytes], lines: int) -> list[bytes]:
        """The lines of the replies, each of which has as many."""
        self.socket.sendall(b"".join(requests))
        return [self.replies.readline() for _ in range(lines * len(requests))]

    def throttle(self, pipeline: int) -> None:
        said = self.send([asking(f"CL.THROTTLE key:{next(self.keys)} 999999 1000000", "1") for _ in range(pipeline)], 6)
        if said[1::6] != [b":0\r\n"] * pipeline:
            raise servers.Failed(f"CL.THROTTLE was answered {said[:6]}")

    def call(self, pipeline: int) -> None:
        keys = [next(self.keys) for _ in range(pipeline)]
        said = self.send([asking(f"WEIR.RESERVE HOLD 60000 calls:{key} in_flight=5 rate:{key}", "1000000/s")
                          for key in keys], 10)
        ids = [line.decode().strip() for line in said[7::10]]
        if said[1::10] != [b":0\r\n"] * pipeline:
            raise servers.Failed(f"a reservation of a slot was answered {said[:10]}")
        if self.send([asking("WEIR.SETTLE", each) for each in ids], 1) != [b":0\r\n"] * pipeline:
            raise servers.Failed("a slot could not be settled")


def calls_beside_throttle(options) -> None:
    with servers.weir(servers.cores()[0], "--reservation-memory", "256MiB") as server:
        calls = Calls(server.port)
        kinds = {"throttle": calls.throttle, "call": calls.call}
        for ask in kinds.values():  # every key has been seen
            for _ in range(1 if options.quick else Calls.KEYS // 64 + 1):
                ask(64)
        for pipeline, count, target in ((1, 5000, 2.6), (64, 300, None)):
            count = 10 if options.quick else count

            def cpu(kind: str) -> float:
                before = server.cpu_seconds()
                for _ in range(count):
                    kinds[kind](pipeline)
                return (server.cpu_seconds() - before) / count / pipeline * 1e6

            samples = servers.take_turns(kinds, options.rounds, cpu)
            ratio = statistics.median(call / throttle for call, throttle in zip(samples["call"], samples["throttle"]))
            middle = {kind: statistics.median(samples[kind]) for kind in kinds}
            said = f" (target at most {target}: {judge(ratio <= target, options.quick)})" if target else ""
            print(f"  reserve, settle of one slot and one rate, pipeline {pipeline:2}:{middle['call']:8.3f} us CPU, throttle"
                  f"{middle['throttle']:8.3f} us: {ratio:.2f} x{said}")


class Line:
    """Those who wait: for one of SLOTS of a key, or for its rate."""

    SLOTS = 5

    def __init__(self, port: int, count: int, stack: contextlib.ExitStack, hello: bytes = b"PING\r\n"):
        self.connections = [stack.enter_context(each) for each in connect(port, count)]
        for each in self.connections:  # what one costs that is used is not what waiting costs
            each.sendall(hello)
            if not each.recv(4096).startswith((b"+PONG", b"%", b"HTTP/1.1 200")):
                raise servers.Failed(f"{hello} was not answered as expected")

    def ask(self, request: bytes, connections: slice = slice(None)) -> None:
        for each in self.connections[connections]:
            each.sendall(request)

    def told(self) -> int:
        """How many connections have an answer that was not read."""
        with select.epoll() as ready:
            for each in self.connections:
                ready.register(each.fileno(), select.EPOLLIN)
            return len(ready.poll(0, maxevents=len(self.connections)))

    def granted(self, ready: select.epoll, by_descriptor: dict) -> str:
        """The id of the next one that is granted."""
        events = ready.poll(servers.START_SECONDS, maxevents=1)
        if not events:
            raise servers.Failed("nobody in line was given a slot")
        ready.unregister(events[0][0])
        lines = by_descriptor[events[0][0]].recv(4096).split(b"\r\n")
        if lines[1] != b":0":
            raise servers.Failed(f"one in line for a slot was answered {lines}")
        return lines[7].decode()


def until_idle(server: servers.Server) -> None:
    busy = server.cpu_seconds()
    while time.sleep(0.2) or server.cpu_seconds() > busy + 0.02:
        busy = server.cpu_seconds()


def waiter_bytes(options, request: bytes, then=lambda server, line: None) -> float:
    """RSS of one that waits so, beside that of its connection. `then` is called while they do."""
    count = 200 if options.quick else 10_000
    with many_waiters() as server, contextlib.ExitStack() as stack:
        line = Line(server.port, count + Line.SLOTS, stack)
        before = server.rss_bytes()
        line.ask(request)
        until_idle(server)
        each = (server.rss_bytes() - before) / count
        then(server, line)
        return each


def many_waiters(*flags: str):
    return servers.weir(servers.cores()[0], "--max-connections", "20000", "--max-waiters", "20000", "--memory", "32MiB", *flags)


MOST_BYTES = 1024
WAITS_LONG = "WEIR.ACQUIRE MAXWAIT 3000000"


def by_http(verb: str, body: str) -> bytes:
    return (f"POST /v1/{verb} HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\nPrefer: wait=3000\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def memory_of_waiters(options) -> None:
    """RSS of one in line for a rate, by how it asks; those with tags are a hundred on a connection."""
    kinds = {
        "a rule": [asking(f"{WAITS_LONG} line", "5/s burst 1")],
        "a rule and TAG": [asking(f"{WAITS_LONG} TAG {tag} line", "5/s burst 1") for tag in range(100)],
        "the limits file": [asking(f"{WAITS_LONG} AS", "user=line")],
        "a rule, HTTP": [by_http("acquire", '{"key": "line", "limit": "5/s burst 1"}')],
        "the limits file, HTTP": [by_http("acquire", '{"attributes": {"user": "line"}}')],
    }
    count, said = 200 if options.quick else 10_000, []
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        limits = pathlib.Path(folder) / "limits.yaml"
        limits.write_text("version: 1\nlimits:\n  user: { by: [user], rate: 5/s burst 1, max_wait: 1h }\n")
        for kind, requests in kinds.items():
            port, = servers.free_ports(1)
            with (many_waiters("--limits", str(limits), "--http", f"127.0.0.1:{port}") as server,
                  contextlib.ExitStack() as stack):
                is_http = kind.endswith("HTTP")
                hello = by_http("check", '{"key": "hello", "limit": "1000000/s"}') if is_http else asking("HELLO", "3")
                line = Line(port if is_http else server.port, 1 + count // len(requests), stack, hello)
                line.ask(b"".join(requests), slice(1))  # what the first one costs is not what the next ones do
                until_idle(server)
                before = server.rss_bytes()
                line.ask(b"".join(requests), slice(1, None))
                until_idle(server)
                said.append(f"{kind} {(server.rss_bytes() - before) / count:.0f}")
                if len(requests) == 1 and line.told() > count / 2:
                    raise servers.Failed(f"those that were to wait by {kind} were answered")
    print(f"  RSS of one that waits, beside its connection's: {', '.join(said)} bytes (target at most {MOST_BYTES} by a rule: "
          f"{judge(int(said[0].split()[-1]) <= MOST_BYTES, options.quick)})")


def in_line_for_slots(options) -> None:
    times = []

    def give_on(server: servers.Server, line: Line) -> None:
        by_descriptor = {each.fileno(): each for each in line.connections}
        control = connect(server.port, 1)[0]
        with select.epoll() as ready:
            for descriptor in by_descriptor:
                ready.register(descriptor, select.EPOLLIN)
            ids = [line.granted(ready, by_descriptor) for _ in range(Line.SLOTS)]
            for _ in range(50 if options.quick else 2000):
                request = asking("WEIR.SETTLE", ids.pop(0))
                began = time.perf_counter()
                control.sendall(request)
                ids.append(line.granted(ready, by_descriptor))
                times.append((time.perf_counter() - began) * 1e6)
                if control.recv(64) != b":0\r\n":
                    raise servers.Failed("a slot could not be settled")
        control.close()

    slots = waiter_bytes(options, asking("WEIR.ACQUIRE MAXWAIT 60000 HOLD 60000 line", f"in_flight={Line.SLOTS}"), give_on)
    rates = waiter_bytes(options, asking("WEIR.ACQUIRE MAXWAIT 60000 HOLD 60000 line", "200/s burst 1"))
    middle = statistics.median(times)
    print(f"  of those in line for {Line.SLOTS} slots the next is told {middle:.0f} us after a SETTLE, p99 "
          f"{sorted(times)[len(times) * 99 // 100]:.0f} us (target at most 200: {judge(middle <= 200, options.quick)}); "
          f"RSS {slots:.0f} bytes each, of one that waits for a rate {rates:.0f} (target at most 64 more: "
          f"{judge(slots <= rates + 64, options.quick)})")


def body() -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=7)
    flags.add_argument("--seconds", type=float, default=1.0, help="of each measurement (default 1)")
    flags.add_argument("--keys", type=int, default=1_000_000)
    flags.add_argument("--quick", action="store_true", help="only whether everything runs; the figures mean nothing")
    options = flags.parse_args()
    if options.quick:
        options.rounds, options.seconds, options.keys = 1, 0.1, 100_000
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-bench-")))
        (folder / "limits.yaml").write_text(FILE)
        running = {}
        for kind in KINDS:
            running[kind] = stack.enter_context(
                servers.weir(servers.cores()[0], "--memory", "128MiB", "--limits", str(folder / "limits.yaml")))
            running[kind].hold()
        samples = servers.take_turns(
            KINDS, options.rounds, lambda kind: servers.cpu_of(running[kind], *KINDS[kind][:2], options))
        for server in running.values():
            server.release()
    for kind, (words, _, target) in KINDS.items():
        line = f"  {kind:10}{statistics.median(samples[kind]):8.3f} us CPU  {words}"
        if kind != "throttle":
            ratio = statistics.median(a / b for a, b in zip(samples[kind], samples["throttle"]))
            line += f": {ratio:.2f} x throttle"
            if target and not options.quick:
                line += f" (target at most {target}: {'met' if ratio <= target else 'missed'})"
        print(line)
    wait_for_moments(options)
    settle_all_holds(options)
    calls_beside_throttle(options)
    in_line_for_slots(options)
    memory_of_waiters(options)
    print(beside_go(options))
    return 0


if __name__ == "__main__":
    servers.main(body)
