#!/usr/bin/env python3
"""More asked of `weir serve --store` than its Redis can decide: what Redis decides all the same, and what becomes of a
key beside the flood.

redis-server has one core; the servers, their clients and this script have the other. Each server is flooded by
connections that keep 64 requests each under way (load.cpp), for keys that are never denied. What Redis decides is
compared with what it decides for one loop that asks it by hand (redis.cpp, hiredis, as many in flight as keep it
busy), measured before and after: other programs on the machine meet both. A victim asks every server for one key more
often than its limit allows, whether or not the answers come. What it was allowed is held against the bound of every
span between a request and an answer.

Exit code 1 when a target is missed: Redis decides at least 0.9 of what it does for the loop, and the victim gets at
most 1.05 times its bound. Each figure is the median of the rounds.
"""
import argparse
import contextlib
import json
import os
import re
import select
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

import servers

LEAST_DECIDED = 0.9
MOST_OVER = 1.05
IN_FLIGHT = 64
BY_HAND = 1024  # in flight: with 64 Redis and the loop wait for each other, and it is asked less than it can do
FLOOD = "CL.THROTTLE user:KEY:login 9999 1 600 1"  # as the loop's: 10,000 at once, then one in ten minutes
BURST, RATE = 10, 50                               # of the victim
EVERY = 0.005                                      # seconds between its requests, to each server
VICTIM = b"*5\r\n$11\r\nCL.THROTTLE\r\n$6\r\nvictim\r\n$1\r\n%d\r\n$2\r\n%d\r\n$1\r\n1\r\n" % (BURST - 1, RATE)
ANSWER_LINES = 6


class Victim:
    """Asks each server for the same key at a steady pace, and notes what was allowed: (asked, answered)."""

    def __init__(self, ports):
        self.allowed, self.asked = [], 0
        self.connections = [self.Connection(port) for port in ports]

    class Connection:
        def __init__(self, port):
            self.socket = socket.create_connection(("127.0.0.1", port))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.setblocking(False)
            self.open, self.lines, self.rest = [], [], b""

    def ask(self, until):
        due = time.monotonic()
        while (now := time.monotonic()) < until:
            if now >= due:
                for each in self.connections:
                    with contextlib.suppress(BlockingIOError):  # its server reads nothing, so it is not asked
                        if each.socket.send(VICTIM) == len(VICTIM):
                            each.open.append(now)
                            self.asked += 1
                due = max(due + EVERY, now - 10 * EVERY)
            self.hear(max(0.0, due - now))

    def hear(self, seconds):
        ready, _, _ = select.select([each.socket for each in self.connections], [], [], seconds)
        now = time.monotonic()
        for each in self.connections:
            if each.socket not in ready:
                continue
            data = each.socket.recv(1 << 16)
            if not data:
                raise servers.Failed("weir closed the victim's connection")
            *lines, each.rest = (each.rest + data).split(b"\r\n")
            each.lines += lines
            while len(each.lines) >= ANSWER_LINES:
                asked, allowed = each.open.pop(0), each.lines[1] == b":0"
                if not each.lines[0].startswith(b"*"):
                    raise servers.Failed(f"not an answer: {each.lines[0]!r}")
                del each.lines[:ANSWER_LINES]
                if allowed:
                    self.allowed.append((asked, now))

    def over_bound(self):
        """The most that was decided within any span, as a share of its bound. A decision is made at an unknown moment
        between request and answer, so it counts in those spans alone that hold both."""
        worst = 0.0
        for start in sorted({asked for asked, _ in self.allowed})[::20]:
            ends = sorted(answered for asked, answered in self.allowed if asked >= start)
            worst = max([worst] + [(n + 1) / (BURST + RATE * (end - start)) for n, end in enumerate(ends) if n >= BURST])
        return worst

    def close(self):
        for each in self.connections:
            each.socket.close()


def raw_loop(redis, options) -> float:
    """What Redis decides in a second when it is asked by hand."""
    arguments = [servers.program("bench/weir_bench_redis"), "--port", str(redis.port), "--pid", str(redis.pid), "--keys",
                 str(options.keys), "--in-flight", str(BY_HAND), "--seconds", str(options.raw_seconds), "hiredis"]
    return json.loads(servers.run(arguments, servers.cores()[1], options.raw_seconds + 60))["checks_per_s"]


def counts(admin: str) -> tuple[float, dict[str, float]]:
    """What a server has counted of its store until now; told by another thread than the one that decides."""
    with urllib.request.urlopen(f"{admin}/metrics", timeout=20) as answer:
        text = answer.read().decode()
    results = dict(re.findall(r'^weir_store_requests_total\{result="(\w+)"\} (\S+)', text, re.MULTILINE))
    remembered = re.search(r"^weir_store_remembered_total\S* (\S+)", text, re.MULTILINE)
    return time.monotonic(), {**{name: float(count) for name, count in results.items()},
                              "remembered": float(remembered.group(1)) if remembered else 0.0}


@contextlib.contextmanager
def flood(port: int, connections: int, options, seconds: float):
    """Ends by itself."""
    process = subprocess.Popen(
        [servers.program("taskset"), "-c", str(servers.cores()[1]), servers.program("bench/weir_bench_load"), "--port",
         str(port), "--connections", str(connections), "--pipeline", str(IN_FLIGHT), "--keys", str(options.keys), "--words",
         FLOOD, "--lines", "6", "--seconds", str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def under_load(redis, number: int, connections: int, options) -> dict:
    """`number` of servers, each flooded by that many connections, for a while."""
    with contextlib.ExitStack() as stack:
        weirs, admins = [], []
        for port in servers.free_ports(number):
            admins.append(f"127.0.0.1:{port}")
            weirs.append(stack.enter_context(servers.weir(
                servers.cores()[1], "--store", f"redis://127.0.0.1:{redis.port}?prefix=", "--admin", admins[-1],
                *options.weir)))
        admins = [f"http://{admin}" for admin in admins]
        victim = Victim([weir.port for weir in weirs])
        stack.callback(victim.close)
        victim.ask(time.monotonic() + 0.3)
        floods = [stack.enter_context(flood(weir.port, connections, options, options.warm_up + options.seconds + 30))
                  for weir in weirs]
        victim.ask(time.monotonic() + options.warm_up)
        before, cpu, waited = [counts(admin) for admin in admins], redis.cpu_seconds(), redis.waited_seconds()
        began = time.monotonic()
        victim.ask(began + options.seconds)
        after, took = [counts(admin) for admin in admins], time.monotonic() - began
        cpu, waited = redis.cpu_seconds() - cpu, redis.waited_seconds() - waited
        for process in floods:
            if process.poll() is not None:
                raise servers.Failed(f"a load ended: {process.stderr.read().strip()}")
    rates = [{name: (b.get(name, 0) - a.get(name, 0)) / (t2 - t1) for name in b}
             for (t1, a), (t2, b) in zip(before, after)]
    sums = {name: sum(each.get(name, 0) for each in rates) for name in {name for each in rates for name in each}}
    decided = [each["decided"] for each in rates]
    return {"decided_per_s": sums["decided"], "least_share": min(decided) * number / sum(decided) if sum(decided) else 0,
            "asked_for_per_s": sum(sums.values()), "results": {k: round(v) for k, v in sorted(sums.items()) if v > 0},
            "redis_busy": cpu / took, "redis_waited": waited / took,
            "redis_us": cpu / took / sums["decided"] * 1e6 if sums["decided"] else 0.0,
            "over": victim.over_bound(), "victim_allowed": len(victim.allowed), "victim_asked": victim.asked}


def measure(redis, number: int, connections: int, options) -> dict:
    raws = [raw_loop(redis, options)]
    loads = []
    for _ in range(options.rounds):
        loads.append(under_load(redis, number, connections, options))
        raws.append(raw_loop(redis, options))
        loads[-1]["raw_per_s"] = (raws[-1] + raws[-2]) / 2
        loads[-1]["ratio"] = loads[-1]["decided_per_s"] / loads[-1]["raw_per_s"]
    ratio, over = (statistics.median(load[name] for load in loads) for name in ("ratio", "over"))
    return {"servers": number, "connections": connections, "ratio": ratio, "over": over, "rounds": loads,
            "met": ratio >= LEAST_DECIDED and over <= MOST_OVER}


def median(row, name):
    return statistics.median(load[name] for load in row["rounds"])


def print_row(row) -> None:
    ratios = [load["ratio"] for load in row["rounds"]]
    print(f"  {row['servers']:7} {row['connections']:7} x {IN_FLIGHT} {median(row, 'raw_per_s'):10,.0f} "
          f"{median(row, 'decided_per_s'):11,.0f} {row['ratio']:6.2f} ({min(ratios):.2f} to {max(ratios):.2f}) "
          f"{median(row, 'decided_per_s') / median(row, 'asked_for_per_s'):7.0%} {median(row, 'redis_busy'):6.0%} "
          f"{median(row, 'least_share'):6.2f} {row['over']:7.2f}   {row['rounds'][-1]['results']}", flush=True)


def body() -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=3)
    flags.add_argument("--seconds", type=float, default=4.0, help="of each measurement (default 4)")
    flags.add_argument("--servers", type=int, nargs="+", default=[1, 4])
    flags.add_argument("--connections", type=int, nargs="+", default=[10, 50, 200], help="to each server")
    flags.add_argument("--keys", type=int, default=100_000)
    flags.add_argument("--weir", nargs="*", default=[], metavar="FLAG", help="more flags of weir serve, without the dashes")
    flags.add_argument("--json", action="store_true")
    flags.add_argument("--quick", action="store_true", help="only whether everything runs; the figures mean nothing")
    options = flags.parse_args()
    if options.rounds < 1 or options.seconds < 0.1 or min(options.servers + options.connections) < 1:
        flags.error("rounds, servers and connections are at least 1, seconds at least 0.1")
    options.weir = [f"--{word}" for word in options.weir]
    options.warm_up, options.raw_seconds = 1.5, 1.0
    if options.quick:
        options.rounds, options.seconds, options.warm_up, options.raw_seconds = 1, 0.3, 0.3, 0.1
        options.servers, options.connections, options.keys = [2], [10], 1000

    os.sched_setaffinity(0, {servers.cores()[1]})  # cores() goes on to tell both
    rows = []
    with servers.redis(servers.cores()[0]) as redis:
        redis.prefer()
        servers.run([servers.program("bench/weir_bench_redis"), "--port", str(redis.port), "--pid", str(redis.pid), "--keys",
                     str(options.keys), "--fill"], servers.cores()[1], 120)
        if not options.json:
            print(f"redis-server on one core, all else on the other; medians of {options.rounds} rounds of "
                  f"{options.seconds:g} s, in decisions by Redis a second\n"
                  f"  servers   requests    by hand  under load  ratio  (rounds)     of all   busy  least  victim")
        for number in options.servers:
            for connections in options.connections:
                rows.append(measure(redis, number, connections, options))
                if not options.json:
                    print_row(rows[-1])
    if options.json:
        json.dump(rows, sys.stdout, indent=1)
        print()
    elif not options.quick:
        missed = [f"{row['servers']} servers, {row['connections']} x {IN_FLIGHT}" for row in rows if not row["met"]]
        print(f"  target: a ratio of at least {LEAST_DECIDED:g}, and a victim of at most {MOST_OVER:g}: "
              + ("met" if not missed else "missed by " + "; ".join(missed)))
    return 0 if options.quick or all(row["met"] for row in rows) else 1


servers.main(body)
