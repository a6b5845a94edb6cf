#!/usr/bin/env python3
"""Checks shared through a Redis: weir's client beside the same script asked by hand, one at a time, and a lock recipe.

Exit code 1 when a target is missed. redis-server has one core, the client (redis.cpp, which says what each way does)
the other. The ways take turns of a tenth of a second, and who begins changes: what else the machine does meets them
all alike. A ratio is the median of the turns' ratios in a round, and then of the rounds. A round during which other
programs took more than a twentieth of the two cores is made again, a few times, and the least disturbed one kept.
"""
import argparse
import json
import statistics
import sys

import servers

# Of the first's checks a second to the second's; without a target, shown to tell what a fair race would say.
RATIOS = [
    ("weir", "hiredis", 0.95),
    ("weir", "weir-one", 4.0),
    ("weir", "lock", 8.0),
    ("denied", "weir", 50.0),
    ("hot-merged", "hot", None),
    ("hot-leased", "hot", None),
    ("weir-one", "hiredis-one", None),
    ("weir-one", "lock", None),
    ("denied-one", "weir-one", None),
]
WAYS = {
    "weir": "SharedLimiter, callbacks",
    "hiredis": "hiredis, pipelined EVALSHA",
    "weir-one": "SharedLimiter, one at a time",
    "hiredis-one": "hiredis, one EVALSHA at a time",
    "lock": "recipe with a lock, one at a time",
    "hot": "one key, callbacks",
    "hot-merged": "one key, callbacks, merged",
    "hot-leased": "one key, callbacks, leases of 100",
    "denied": "denied key, callbacks",
    "denied-one": "denied key, one at a time",
}
FIELDS = ("checks_per_s", "client_cpu_us", "server_cpu_us")
# What the connection of a RedisStore says by itself when it has been silent for a second.
OF_THE_CONNECTION = {"ping"}
MOST_FOREIGN = 0.05
# A denial is asked for again after a second, by those that are in flight then: of as many checks one, at most.
MOST_ASKED = 0.001
MOST_TRIES = 3


def client(server, options, *flags, seconds: float = 60.0) -> list[dict]:
    arguments = [servers.program("bench/weir_bench_redis"), "--port", str(server.port), "--pid", str(server.pid),
                 "--keys", str(options.keys), "--in-flight", str(options.in_flight), *map(str, flags)]
    return [json.loads(line) for line in servers.run(arguments, servers.cores()[1], seconds + 60).splitlines()]


def measure(server, options) -> dict:
    """One round, undisturbed if that can be had: for each way its turns."""
    best = None
    for _ in range(options.tries):
        watch = servers.Disturbance(server).begin()
        lines = client(server, options, "--seconds", options.seconds, "--turns", options.turns, *WAYS,
                       seconds=len(WAYS) * options.turns * options.seconds)
        foreign = watch.share()
        if best is None or foreign < best["foreign"]:
            best = {"foreign": foreign, **{way: [line for line in lines if line["way"] == way] for way in WAYS}}
        if best["foreign"] <= MOST_FOREIGN:
            break
    return best


def compare(rounds: list[dict], over: str, under: str, target) -> dict:
    each = [statistics.median(a["checks_per_s"] / b["checks_per_s"] for a, b in zip(one[over], one[under]))
            for one in rounds]
    ratio = statistics.median(each)
    return {"over": over, "under": under, "ratio": ratio, "rounds": each, "target": target,
            "met": target is None or ratio >= target}


def asked_meanwhile(turns: list[dict]) -> dict:
    """The commands that Redis has run for checks of which hardly one is to be asked for."""
    asked = {}
    for turn in turns:
        for command, calls in turn["commands"].items():
            if command not in OF_THE_CONNECTION:
                asked[command] = asked.get(command, 0) + calls
    return asked


def few_asked(result: dict) -> bool:
    return sum(result["asked_for_denied"].values()) <= MOST_ASKED * result["denied_checks"]


def print_report(result: dict, judged: bool) -> None:
    print(f"redis-server on one core, the client on the other; {result['in_flight']} in flight, "
          f"{result['keys']:,} keys, medians of {len(result['foreign'])} rounds of {result['turns']} turns "
          f"of {result['seconds']:g} s")
    print(f"  {'':36}{'checks/s':>11}{'client us':>11}{'redis us':>10}   of CPU for each check")
    for way, row in result["ways"].items():
        print(f"  {WAYS[way]:36}{row['checks_per_s']:11,.0f}{row['client_cpu_us']:11.2f}{row['server_cpu_us']:10.2f}")
    for row in result["ratios"]:
        said = ""
        if row["target"] is not None and judged:
            said = f" (target at least {row['target']:g}: {'met' if row['met'] else 'missed'})"
        low, high = min(row["rounds"]), max(row["rounds"])
        print(f"  {row['over'] + ' / ' + row['under']:36}{row['ratio']:11.2f}   rounds {low:.2f} to {high:.2f}{said}")
    asked = ", ".join(f"{calls} {command}" for command, calls in result["asked_for_denied"].items())
    print(f"  commands that Redis ran for {result['denied_checks']:,} denied checks: {asked or 'none'}"
          + (f" (target at most {MOST_ASKED:.1%}: {'met' if few_asked(result) else 'missed'})" if judged else ""))
    print("  cores taken by other programs, for each round: "
          + ", ".join(f"{foreign / 2:.0%}" for foreign in result["foreign"]))


def body() -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=5)
    flags.add_argument("--turns", type=int, default=12, help="of each way in a round (default 12)")
    flags.add_argument("--seconds", type=float, default=0.1, help="of each turn (default 0.1)")
    flags.add_argument("--keys", type=int, default=100_000)
    flags.add_argument("--in-flight", type=int, default=64)
    flags.add_argument("--json", action="store_true")
    flags.add_argument("--quick", action="store_true", help="only whether everything runs; the figures mean nothing")
    options = flags.parse_args()
    if options.rounds < 1 or options.turns < 1 or options.in_flight < 1 or options.seconds < 0.01:
        flags.error("rounds, turns and in-flight are at least 1, seconds at least 0.01")
    if options.keys < 1000:
        flags.error("keys are at least 1000, or some would be denied")
    options.tries = MOST_TRIES
    if options.quick:
        options.rounds, options.turns, options.keys, options.tries = 1, 3, 1000, 1

    with servers.redis(servers.cores()[0]) as server:
        client(server, options, "--fill")
        rounds = [measure(server, options) for _ in range(options.rounds)]

    turns = {way: [turn for one in rounds for turn in one[way]] for way in WAYS}
    denied = turns["denied"] + turns["denied-one"]
    result = {"in_flight": options.in_flight, "keys": options.keys, "turns": options.turns,
              "seconds": options.seconds, "foreign": [one["foreign"] for one in rounds],
              "ways": {way: {field: statistics.median(turn[field] for turn in own) for field in FIELDS}
                       for way, own in turns.items()},
              "ratios": [compare(rounds, *row) for row in RATIOS],
              "asked_for_denied": asked_meanwhile(denied), "denied_checks": sum(turn["checks"] for turn in denied)}
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
    else:
        print_report(result, judged=not options.quick)
    missed = not few_asked(result) or not all(row["met"] for row in result["ratios"])
    return 1 if missed and not options.quick else 0


servers.main(body)
