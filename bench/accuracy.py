#!/usr/bin/env python3
"""A saturated limit through weir serve: how much is admitted of the most that the promise allows, burst + W / T.

Exit code 1 when more was admitted. The server has one core, the client (accuracy.cpp) the other.
"""
import argparse
import json
import sys

import servers

TARGET = 0.999
RATES = (20_000, 100_000)
BURSTS = (1, 10)


def body() -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--seconds", type=float, default=3.0, help="of each of the four (default 3)")
    flags.add_argument("--json", action="store_true")
    flags.add_argument("--quick", action="store_true", help="whether everything runs and the promise is kept")
    options = flags.parse_args()
    if options.seconds < 0.01:
        flags.error("seconds is at least 0.01")
    if options.quick:
        options.seconds = 0.2

    rows = []
    core, client_core = servers.cores()
    with servers.weir(core) as weir:
        for rate in RATES:
            for burst in BURSTS:
                watch = servers.Disturbance(weir).begin()
                arguments = [servers.program("bench/weir_bench_accuracy"), "--port", str(weir.port), "--rate", str(rate),
                             "--burst", str(burst), "--seconds", str(options.seconds), "--key", f"{rate}/{burst}"]
                row = json.loads(servers.run(arguments, client_core, options.seconds + 60, may_exit=(0, 1)))
                row["foreign"] = watch.share()
                rows.append(row)
    if options.json:
        json.dump(rows, sys.stdout, indent=1)
        print()
    else:
        print(f"a saturated limit, one key, one connection, {options.seconds:g} s each (target: never more than allowed, "
              f"at least {TARGET:.1%} of it)")
        print(f"  {'rate/s':>8}{'burst':>7}{'admitted':>10}{'allowed':>10}{'share':>9}{'asked/s':>12}{'least backlog':>15}"
              f"{'others took':>13}")
        for row in rows:
            verdict = "EXCEEDED" if not row["promise_kept"] else "met" if row["share"] >= TARGET else "missed"
            print(f"  {row['rate']:8,}{row['burst']:7}{row['admitted']:10,}{row['most_allowed']:10,}{row['share']:9.2%}"
                  f"{row['requests'] / row['seconds']:12,.0f}{row['least_backlog']:15,}{row['foreign']:12.0%}  {verdict}")
    return 0 if all(row["promise_kept"] for row in rows) else 1


servers.main(body)
