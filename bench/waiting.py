#!/usr/bin/env python3
"""What waiting costs, and how late it wakes.

WEIR.RESERVE beside CL.THROTTLE, on one weir each, CPU time a request at pipeline 64. The servers take turns: the one
whose turn it is not is stopped, and a ratio is the median of the rounds' ratios. The reservations are granted to act
now, all of them: the load has one length for all replies. `file` reserves by a limits file.

WEIR.ACQUIRE that waits beside WEIR.RESERVE, one request in a packet each, at the same times: one every 2 ms. Then how
late those are woken that wait for up to 4 s, beside a program of the same run that sleeps until the same moments. Then
reserve() of this process beside golang.org/x/time/rate, if Debian's golang-go and golang-golang-x-time-dev are there.
"""
import argparse
import contextlib
import os
import pathlib
import re
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


def cpu_of_acquire(server: servers.Server, seconds: float) -> float:
    """The same for some that wait, each for some 100 ms, and are woken one at a time."""
    crowd, count = connect(server.port, 50), int(seconds * LONE)
    request = asking(f"WEIR.ACQUIRE MAXWAIT 60000 key:{time.monotonic_ns()}", f"{LONE}/s burst 1")
    for each in crowd:
        each.sendall(request)
    before = server.cpu_seconds()
    for _ in range(count // 10):
        for each in select.select(crowd, [], [], servers.START_SECONDS)[0]:
            each.recv(4096)
            each.sendall(request)
    before, answered = server.cpu_seconds(), 0
    while answered < count:
        for each in select.select(crowd, [], [], servers.START_SECONDS)[0]:
            each.recv(4096)
            each.sendall(request)
            answered += 1
    return (server.cpu_seconds() - before) / count * 1e6


SLEEPER = """
import sys, time
first, step, count = map(float, sys.argv[1:])
late = []
for number in range(int(count)):
    due = first + number * step
    time.sleep(max(0.0, due - time.monotonic()))
    late.append(time.monotonic() - due)
print(*late)
"""


def p99(late: list[float]) -> float:
    return sorted(late)[len(late) * 99 // 100] * 1e3


def wake_errors(server: servers.Server, count: int, step: float) -> tuple[float, float]:
    """Milliseconds at the 99th percentile: of those who wait in the server, and of a bare timer."""
    crowd = connect(server.port, count + 1)
    rule = f"{round(1 / step)}/s burst 1"
    servers.converse(crowd[0], asking("WEIR.ACQUIRE MAXWAIT 0 wake", rule), 9)
    first = time.monotonic() + step
    sleeper = subprocess.Popen([sys.executable, "-c", SLEEPER, str(first + 0.3), str(step), str(count - round(0.3 / step))],
                               stdout=subprocess.PIPE, text=True)
    for number, each in enumerate(crowd[1:]):
        each.sendall(asking("WEIR.ACQUIRE MAXWAIT 60000 wake", rule))
    came, waiting = [], {each: number for number, each in enumerate(crowd[1:])}
    with select.epoll() as ready:
        by_number = {each.fileno(): each for each in waiting}
        for number in by_number:
            ready.register(number, select.EPOLLIN)
        while waiting:
            for number, _ in ready.poll(servers.START_SECONDS):
                came.append((waiting.pop(by_number[number]), time.monotonic()))
                ready.unregister(number)
    # The schedule begins when the first was charged, which the earliest of all shows.
    base = min(at - number * step for number, at in came)
    late = [at - number * step - base for number, at in came if number * step >= 0.3]
    return p99(late), p99([float(each) for each in sleeper.communicate()[0].split()])


GO = """
package main
import ("fmt"; "time"; "golang.org/x/time/rate")
func main() {
	limiter := rate.NewLimiter(rate.Limit(1e9), 1000000000)
	const count = 3000000
	for round := 0; round < 3; round++ {
		granted := 0
		began := time.Now()
		for i := 0; i < count; i++ {
			if limiter.ReserveN(time.Now(), 1).OK() { granted++ }
		}
		fmt.Println(float64(time.Since(began).Nanoseconds()) / count, granted)
	}
}
"""


def beside_go(quick: bool) -> str:
    if quick:
        return "  beside golang.org/x/time/rate: not in a quick run, which compiles nothing"
    sources = pathlib.Path("/usr/share/gocode")
    if not shutil.which("go") or not (sources / "src/golang.org/x/time/rate").is_dir():
        return "  beside golang.org/x/time/rate: not measured, Debian's golang-go and golang-golang-x-time-dev are not there"
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        (pathlib.Path(folder) / "main.go").write_text(GO)
        build = subprocess.run(["go", "build", "-o", "rate", "main.go"], cwd=folder, capture_output=True, text=True,
                               env=os.environ | {"GOPATH": str(sources), "GO111MODULE": "off", "GOCACHE": folder + "/cache",
                                                 "GOFLAGS": "", "HOME": folder})
        if build.returncode != 0:
            raise servers.Failed(f"go build: {build.stderr.strip()}")
        theirs = statistics.median(float(line.split()[0]) for line in
                                   servers.run([folder + "/rate"], servers.cores()[1], 60).splitlines())
    table = servers.run([servers.program("bench/weir_bench_table")], servers.cores()[1], 600)
    ours = float(re.search(r"^one Limiter, reserve\(\) +([0-9.]+) ns", table, re.MULTILINE).group(1))
    return (f"  {ours:6.1f} ns a reserve() that acts now of weir::Limiter, {theirs:6.1f} ns a Reserve() of "
            f"golang.org/x/time/rate, the clock read in both: {theirs / ours:.1f} times as fast")


def judge(is_met: bool, quick: bool) -> str:
    return "the figures mean nothing" if quick else "met" if is_met else "missed"


def wait_for_moments(options) -> None:
    with servers.weir(servers.cores()[0], "--memory", "32MiB") as server:
        pairs = [(cpu_of_acquire(server, options.seconds * 2), cpu_of_reserve(server, options.seconds * 2))
                 for _ in range(max(1, options.rounds // 2))]
        ratio = statistics.median(acquire / reserve for acquire, reserve in pairs)
        acquire, reserve = (statistics.median(each) for each in zip(*pairs))
        print(f"  lone reserve{reserve:8.3f} us CPU, lone acquire that waits{acquire:8.3f} us: {ratio - 1:.2f} of a reserve more "
              f"(target at most 0.5: {judge(ratio <= 1.5, options.quick)})")
        waits, bare = wake_errors(server, 40 if options.quick else 400, 0.01)
        print(f"  wake error p99 {waits:.3f} ms, of a bare timer {bare:.3f} ms (target at most 1 ms above: "
              f"{judge(waits <= bare + 1, options.quick)})")


def body() -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=7)
    flags.add_argument("--seconds", type=float, default=1.0, help="of each measurement (default 1)")
    flags.add_argument("--keys", type=int, default=1_000_000)
    flags.add_argument("--quick", action="store_true", help="only whether everything runs; the figures mean nothing")
    options = flags.parse_args()
    if options.quick:
        options.rounds, options.seconds, options.keys = 1, 0.1, 100_000
    samples = {kind: [] for kind in KINDS}
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-bench-")))
        (folder / "limits.yaml").write_text(FILE)
        running = {}
        for kind in KINDS:
            running[kind] = stack.enter_context(
                servers.weir(servers.cores()[0], "--memory", "128MiB", "--limits", str(folder / "limits.yaml")))
            running[kind].hold()
        for done in range(options.rounds):
            for kind in KINDS if done % 2 == 0 else reversed(KINDS):
                words, lines, _ = KINDS[kind]
                samples[kind].append(servers.cpu_of(running[kind], words, lines, options))
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
    print(beside_go(options.quick))
    return 0


servers.main(body)
