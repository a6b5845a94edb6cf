#!/usr/bin/env python3
"""WEIR.CHECK beside CL.THROTTLE, on one weir each, CPU time a request at pipeline 64; and what loading takes.

The servers take turns as in server.py: the one whose turn it is not is stopped, and a ratio is the median of the rounds'
ratios. `many` is the same request as `three`, with 997 more limits and 199 more routes in the file.
"""
import argparse
import contextlib
import json
import pathlib
import statistics
import subprocess
import tempfile

import servers

ONE = "version: 1\nlimits:\n  user: { by: [user], rate: 30/min burst 16 }\n"
THREE_WORDS = "WEIR.CHECK path=/v1/x tenant=acme user=KEY"
# name: the request, the lines of its reply, of which other, the target
KINDS = {
    "throttle": ("CL.THROTTLE KEY 15 30 60 1", 6, None, None),
    "one": ("WEIR.CHECK user=KEY", 8, "throttle", 1.35),
    "three": (THREE_WORDS, 8, "throttle", 2.2),
    "many": (THREE_WORDS, 8, "three", 1.1),
}


def measure(server, kind, options) -> float:
    words, lines, _, _ = KINDS[kind]
    return servers.cpu_of(server, words, lines, options)


def body() -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=7)
    flags.add_argument("--seconds", type=float, default=1.0, help="of each measurement (default 1)")
    flags.add_argument("--keys", type=int, default=1_000_000)
    flags.add_argument("--quick", action="store_true", help="only whether everything runs; the figures mean nothing")
    options = flags.parse_args()
    if options.quick:
        options.rounds, options.seconds, options.keys = 1, 0.1, 10_000
    program = servers.program("bench/weir_bench_limits")
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-bench-")))
        texts = {"throttle": ONE, "one": ONE}
        for kind, limits, routes in (("three", 3, 1), ("many", 1000, 200)):
            texts[kind] = subprocess.run([program, "--write", str(limits), str(routes)], check=True, text=True,
                                         capture_output=True).stdout
        running = {}
        for kind, text in texts.items():
            (folder / f"{kind}.yaml").write_text(text)
            running[kind] = stack.enter_context(
                servers.weir(servers.cores()[0], "--memory", "128MiB", "--limits", str(folder / f"{kind}.yaml")))
            running[kind].hold()
        for kind, server in running.items():  # every key has been seen
            measure(server, kind, options)
        samples = servers.take_turns(KINDS, options.rounds, lambda kind: measure(running[kind], kind, options))
        for server in running.values():
            server.release()
    for kind, (words, _, other, target) in KINDS.items():
        line = f"  {kind:10}{statistics.median(samples[kind]):8.3f} us CPU  {words}"
        if other:
            ratio = statistics.median(a / b for a, b in zip(samples[kind], samples[other]))
            line += f": {ratio:.2f} x {other}"
            if not options.quick:
                line += f" (target at most {target}: {'met' if ratio <= target else 'missed'})"
        print(line)
    loaded = json.loads(subprocess.run([program] + (["--quick"] if options.quick else []), check=True, text=True,
                                       capture_output=True).stdout)
    print(f"  loading {loaded['bytes']:,} bytes: {loaded['load_ms']:.2f} ms, {loaded['ratio']:.2f} x libyaml's own parse"
          + ("" if options.quick else f" (target at most 5: {'met' if loaded['ratio'] <= 5 else 'missed'})"))
    return 0


servers.main(body)
