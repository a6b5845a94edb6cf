#!/usr/bin/env python3
"""src/redis/check.lua beside a script that counts in floating point: Redis' CPU time for one check of one GCRA limit.

The other script is written here after the kind that go-redis/redis_rate made common: a time and a state in doubles, a
TTL in seconds, the whole answer computed in Lua. Both are asked alternately in one Redis, over one connection, pipelined,
on the same number of keys; what counts is the evalsha line of INFO commandstats. The ratio is the median of the rounds'.
"""
import argparse
import hashlib
import pathlib
import socket
import statistics
import sys

import servers

TARGET = 1.0
ROUNDS = 15
CALLS = 50_000
KEYS = 1_000
PIPELINE = 100

PLAIN = """
redis.replicate_commands()
local key = KEYS[1]
local burst, rate, period, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local interval = period / rate
local increment = interval * cost
local tolerance = interval * burst
-- Seconds since 2017, so that a double has bits left for the microseconds.
local clock = redis.call('TIME')
local now = (clock[1] - 1483228800) + clock[2] / 1000000
local tat = redis.call('GET', key)
if tat then tat = tonumber(tat) else tat = now end
tat = math.max(tat, now)
local new_tat = tat + increment
local remaining = (now - (new_tat - tolerance)) / interval
if remaining < 0 then
  return {0, 0, tostring(interval * -remaining), tostring(tat - now)}
end
local reset_after = new_tat - now
if reset_after > 0 then
  redis.call('SET', key, new_tat, 'EX', math.ceil(reset_after))
end
return {cost, remaining, tostring(-1), tostring(reset_after)}
"""


def command(*words) -> bytes:
    encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)


def weir_words(burst: int, count: int, period_s: int) -> list:
    """As append_check in src/redis/script.cpp writes them for a cost of 1."""
    interval = -(-period_s * 10**9 // count)
    return ["gcra", interval, burst * interval, interval]


class Script:
    def __init__(self, name: str, text: str, words):
        self.name = name
        self.text = text
        self.sha = hashlib.sha1(text.encode()).hexdigest()
        self.words = words

    def batch(self, case: str, first: int) -> bytes:
        return b"".join(command("EVALSHA", self.sha, 1, f"{self.name}:{case}:{(first + i) % KEYS}",
                                *self.words(*CASES[case])) for i in range(PIPELINE))


# burst, count, period in seconds: every call charges, or nearly none does.
CASES = {"allowed": (1_000_000, 100, 1), "denied": (1, 1, 3600)}


def ask(connection, request: bytes) -> bytes:
    """The answers to some commands. The answer to a PING after them tells that they are complete."""
    connection.sendall(request + command("PING"))
    reply = b""
    while not reply.endswith(b"+PONG\r\n"):
        more = connection.recv(1 << 16)
        if not more:
            raise servers.Failed(f"redis-server closed the connection after {reply[-200:]!r}")
        reply += more
    return reply


def usec_per_call(connection, script: Script, case: str, calls: int) -> float:
    ask(connection, command("CONFIG", "RESETSTAT"))
    for first in range(0, calls, PIPELINE):
        ask(connection, script.batch(case, first))
    for line in ask(connection, command("INFO", "commandstats")).decode().splitlines():
        if line.startswith("cmdstat_evalsha:"):
            fields = dict(field.split("=") for field in line.split(":")[1].split(","))
            if int(fields["calls"]) != calls or int(fields["failed_calls"]) != 0:
                raise servers.Failed(f"redis-server ran {line}")
            return float(fields["usec_per_call"])
    raise servers.Failed("redis-server tells no commandstats of evalsha")


def body() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few calls: whether it runs, not how fast")
    options = parser.parse_args()
    calls, rounds = (1_000, 1) if options.quick else (CALLS, ROUNDS)
    folder = pathlib.Path(__file__).resolve().parent.parent / "src/redis"
    text = (folder / "check.lua").read_text().replace("-- include times.lua", (folder / "times.lua").read_text())
    scripts = [Script("weir", text, weir_words), Script("plain", PLAIN, lambda *quota: [*quota, 1])]
    missed = False
    with servers.redis(servers.cores()[0]) as server, \
            socket.create_connection(("127.0.0.1", server.port)) as connection:
        for script in scripts:
            if script.sha.encode() not in ask(connection, command("SCRIPT", "LOAD", script.text)):
                raise servers.Failed(f"redis-server does not load the script of {script.name}")
        for case in CASES:
            for script in scripts:  # keys and caches as they will be
                usec_per_call(connection, script, case, KEYS)
            samples = [[usec_per_call(connection, script, case, calls) for script in scripts]
                       for _ in range(rounds)]
            weir, plain = (statistics.median(column) for column in zip(*samples))
            ratio = statistics.median(ours / theirs for ours, theirs in samples)
            missed = missed or ratio > TARGET
            print(f"{case:8}  weir {weir:5.2f} us  plain {plain:5.2f} us  ratio {ratio:4.2f} (target <= {TARGET})")
    return 1 if missed and not options.quick else 0


if __name__ == "__main__":
    servers.main(body)
