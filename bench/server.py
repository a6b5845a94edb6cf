#!/usr/bin/env python3
"""weir serve --threads 1 beside redis-server answering GET: requests per second and CPU time a request.

The server has one core, the load generator (load.cpp) the other. The two servers take turns, and the one whose turn it
is not is stopped (SIGSTOP). Both have seen every key before, so that neither grows while it is measured. A measurement
during which other programs took more than a twentieth of the two cores is thrown away and made again, a few times.
A ratio is the median of the rounds' ratios: what slows the machine down for a while slows both down.
"""
import argparse
import contextlib
import json
import statistics
import sys
import time

import servers

TARGETS = {64: {"rps": 3.0, "cpu": 0.35}, 1: {"rps": 1.2, "cpu": 0.9}}
CONNECTIONS = 50
MOST_FOREIGN = 0.05
MOST_TRIES = 5
COMMAND = {"weir": "throttle", "redis": "get"}
BENCHMARK = {
    "weir": ["CL.THROTTLE", "key:__rand_int__", "15", "30", "60", "1"],
    "redis": ["GET", "key:__rand_int__"],
}


def load(server, *flags, seconds=60.0) -> dict:
    arguments = [servers.program("bench/weir_bench_load"), "--port", str(server.port), "--pid", str(server.pid),
                 "--connections", str(CONNECTIONS), *map(str, flags)]
    return json.loads(servers.run(arguments, servers.cores()[1], seconds + 30))


def measure(server, options, pipeline: int) -> dict:
    """One sample of one server, undisturbed if that can be had."""
    best = None
    for _ in range(1 if options.quick else MOST_TRIES):
        server.release()
        watch = servers.Disturbance(server).begin()
        sample = load(server, "--command", COMMAND[server.name], "--keys", options.keys, "--pipeline", pipeline,
                      "--seconds", options.seconds, seconds=options.seconds)
        sample["foreign"] = watch.share()
        server.hold()
        if best is None or sample["foreign"] < best["foreign"]:
            best = sample
        if best["foreign"] <= MOST_FOREIGN:
            break
        time.sleep(1)
    return best


def redis_benchmark(server, options, pipeline: int) -> dict:
    """What redis-benchmark says, and what the server took for it."""
    requests = 2000 if options.quick else int(options.seconds * (100_000 if pipeline == 1 else 1_500_000))
    server.release()
    before = server.cpu_seconds()
    output = servers.run([servers.program("redis-benchmark"), "-p", str(server.port), "-c", str(CONNECTIONS), "-P",
                          str(pipeline), "-n", str(requests), "-r", str(options.keys), "--csv",
                          *BENCHMARK[server.name]], servers.cores()[1], 60 + 10 * options.seconds)
    cpu = server.cpu_seconds() - before
    server.hold()
    # "test","rps",... and below it, the command itself between quotes and perhaps with commas.
    rps = float(output.strip().splitlines()[-1].rsplit('","', 7)[1])
    return {"rps": rps, "server_cpu_us_per_request": cpu * 1e6 / requests}


def median(samples: list[dict], field: str) -> float:
    return statistics.median(sample[field] for sample in samples)


def ratio(ours: list[dict], theirs: list[dict], field: str) -> float:
    return statistics.median(one[field] / other[field] for one, other in zip(ours, theirs))


def summary(samples: list[list[dict]], pipeline: int, names: list[str]) -> dict:
    result = {"pipeline": pipeline}
    for name, own in zip(names, samples):
        result[name] = {field: median(own, field) for field in
                        ("rps", "server_cpu_us_per_request", "client_cpu_us_per_request", "p50_us", "p99_us")}
        # Near 1, the load generator is what is measured.
        result[name]["client_busy"] = statistics.median(
            one["rps"] * one["client_cpu_us_per_request"] / 1e6 for one in own)
        result[name]["disturbed_rounds"] = sum(one["foreign"] > MOST_FOREIGN for one in own)
    result["ratio_rps"] = ratio(*samples, "rps")
    result["ratio_cpu"] = ratio(*samples, "server_cpu_us_per_request")
    return result


def print_table(result: dict, names: list[str], rounds: int, judged: bool) -> None:
    print(f"\npipeline {result['pipeline']}, {CONNECTIONS} connections, medians of {rounds} rounds")
    print(f"  {'':24}{'requests/s':>12}{'CPU us each':>13}{'p50 us':>9}{'p99 us':>9}{'load busy':>11}{'disturbed':>11}")
    for name in names:
        row = result[name]
        print(f"  {name + (' GET' if name == 'redis' else ' CL.THROTTLE'):24}{row['rps']:12,.0f}"
              f"{row['server_cpu_us_per_request']:13.3f}{row['p50_us']:9.0f}{row['p99_us']:9.0f}"
              f"{row['client_busy']:10.0%}{row['disturbed_rounds']:8d} / {rounds}")
    target = TARGETS[result["pipeline"]]
    rps_said = cpu_said = ""
    if judged:
        rps_said = f" (target at least {target['rps']}: {'met' if result['ratio_rps'] >= target['rps'] else 'missed'})"
        cpu_said = f" (target at most {target['cpu']}: {'met' if result['ratio_cpu'] <= target['cpu'] else 'missed'})"
    print(f"  ratio: {result['ratio_rps']:.2f}x the requests{rps_said}, {result['ratio_cpu']:.3f}x the CPU{cpu_said}")


def body() -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=7)
    flags.add_argument("--seconds", type=float, default=1.0, help="of each measurement (default 1)")
    flags.add_argument("--keys", type=int, default=1_000_000)
    flags.add_argument("--pipeline", type=int, action="append", choices=sorted(TARGETS), help="both unless given")
    flags.add_argument("--peer", choices=["redis", "weir"], default="redis",
                       help="weir: a second weir, to see what this says of two equals")
    flags.add_argument("--json", action="store_true")
    flags.add_argument("--quick", action="store_true", help="only whether everything runs; the figures mean nothing")
    options = flags.parse_args()
    if options.rounds < 1 or options.keys < 1 or options.seconds < 0.01:
        flags.error("rounds and keys are at least 1, seconds at least 0.01")
    if options.quick:
        options.rounds, options.seconds, options.keys = 1, 0.1, 10_000

    core = servers.cores()[0]
    results = []
    with contextlib.ExitStack() as stack:
        pair = [stack.enter_context(servers.weir(core, "--memory", "128MiB"))]
        pair.append(stack.enter_context(
            servers.redis(core) if options.peer == "redis" else servers.weir(core, "--memory", "128MiB")))
        names = ["weir", "redis" if options.peer == "redis" else "other weir"]
        for server in pair:
            server.hold()
        for server in pair:
            server.release()
            load(server, "--fill", "--command", "set" if server.name == "redis" else "throttle", "--keys", options.keys,
                 "--pipeline", 64)
            server.hold()
        for pipeline in options.pipeline or sorted(TARGETS, reverse=True):
            samples = [[], []]
            for done in range(options.rounds):
                # Who begins changes too.
                for i in (0, 1) if done % 2 == 0 else (1, 0):
                    samples[i].append(measure(pair[i], options, pipeline))
            result = summary(samples, pipeline, names)
            result["redis_benchmark"] = {
                name: redis_benchmark(server, options, pipeline) for name, server in zip(names, pair)}
            results.append(result)
            if not options.json:
                print_table(result, names, options.rounds,
                            judged=options.peer == "redis" and not options.quick)
                figures = ", ".join(f"{name} {one['rps']:,.0f}/s at {one['server_cpu_us_per_request']:.3f} us"
                                    for name, one in result["redis_benchmark"].items())
                print(f"  redis-benchmark, which is itself the slower end: {figures}", flush=True)
        for server in pair:
            server.release()
    if options.json:
        json.dump({"keys": options.keys, "rounds": options.rounds, "seconds": options.seconds, "results": results},
                  sys.stdout, indent=1)
        print()
    return 0


servers.main(body)
