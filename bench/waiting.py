#!/usr/bin/env python3
"""WEIR.RESERVE beside CL.THROTTLE, on one weir each, CPU time a request at pipeline 64.

The servers take turns: the one whose turn it is not is stopped, and a ratio is the median of the rounds' ratios. The
reservations are granted to act now, all of them: the load has one length for all replies. `file` reserves by a limits
file.
"""
import argparse
import contextlib
import pathlib
import statistics
import tempfile

import servers

FILE = "version: 1\nlimits:\n  user: { by: [user], rate: 1000000/s, max_wait: 5s }\n"
# name: the request, the lines of its reply, the target beside CL.THROTTLE
KINDS = {
    "throttle": ("CL.THROTTLE KEY 999999 1000000 1", 6, None),
    "reserve": ("WEIR.RESERVE MAXWAIT 5000 KEY 1000000/s", 9, 1.25),
    "file": ("WEIR.RESERVE AS user=KEY", 9, None),
}


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
    return 0


servers.main(body)
