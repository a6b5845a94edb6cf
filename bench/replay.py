#!/usr/bin/env python3
"""What `weir replay` costs, beside goaccess making its report and `wc -l` with an awk that counts by address.

The same log for all, made by examples/replay/make_log.py; the programs take turns. Then its memory with a distinct
client in every line, beside the same log with few.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import servers

LIMITS = ["--limit", "100/min", "--limit", "10/s burst 50", "--limit", "1000/h algorithm=fixed_window"]
GOACCESS_RATIO = 10
COUNTING_RATIO = 4
DECISIONS_RATIO = 2
BYTES_A_CLIENT = 200
BYTES_BESIDE = 64 << 20
AWK = "{seen[$1]++} END {for (each in seen) count++; print count}"


def timed(command: list[str], **more) -> tuple[float, float, int]:
    """Seconds on the clock, seconds of CPU, and the most memory that it had, in bytes."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **more)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 2 if "method" in command else 0):
        raise servers.Failed(f"{' '.join(command)}: exit code {process.returncode}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def make(path: pathlib.Path, lines: int, clients: int | None = None) -> None:
    script = servers.ROOT / "examples/replay/make_log.py"
    more = ["--clients", str(clients)] if clients else []
    subprocess.run([sys.executable, str(script), "--lines", str(lines), *more, "-o", str(path)], check=True)


def speed(folder: pathlib.Path, lines: int, rounds: int) -> dict:
    log = folder / "log"
    make(log, lines)
    weir = servers.program("src/cli/weir")
    commands = {
        "weir": [weir, "replay", str(log), *LIMITS],
        "weir_decisions": [weir, "replay", str(log), *LIMITS, "--decisions", str(folder / "decisions.csv")],
        "weir_one_limit": [weir, "replay", str(log), *LIMITS[:2]],
        # No method is a number: each line is read and taken apart, a little further even, and then refused.
        "weir_parsing_only": [weir, "replay", str(log), "--limit", "1/s", "--cost", "method"],
        "wc": ["wc", "-l", str(log)],
        "awk": [servers.program("awk"), AWK, str(log)],
        "goaccess": [servers.program("goaccess"), str(log), "--log-format=COMBINED", "--no-progress", "-o", str(folder / "report.html")],
    }
    seconds = {name: [] for name in commands}
    cpu = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            wall, busy, _ = timed(command)
            seconds[name].append(wall)
            cpu[name].append(busy)
    wall = {name: statistics.median(each) for name, each in seconds.items()}
    busy = {name: statistics.median(each) for name, each in cpu.items()}
    return {
        "lines": lines,
        "ns_a_line": {name: round(each / lines * 1e9) for name, each in wall.items()},
        "cpu_ns_a_line": {name: round(each / lines * 1e9) for name, each in busy.items()},
        "times_goaccess": round(wall["goaccess"] / wall["weir"], 1),
        "of_wc_and_awk": round(wall["weir"] / (wall["wc"] + wall["awk"]), 2),
        "decisions_of_without": round(wall["weir_decisions"] / wall["weir"], 2),
        "parsing_share_of_cpu": round(busy["weir_parsing_only"] / busy["weir"], 2),
    }


def memory(folder: pathlib.Path, clients: int) -> dict:
    log = folder / "clients"
    with open(log, "w") as out:
        for i in range(clients):
            address = f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"
            out.write(f'{address} - - [21/Nov/2026:{i * 86399 // clients // 3600:02}:{i * 86399 // clients // 60 % 60:02}:'
                      f'{i * 86399 // clients % 60:02} +0000] "GET / HTTP/1.1" 200 1\n')
    peak = timed([servers.program("src/cli/weir"), "replay", str(log), *LIMITS])[2]
    return {"clients": clients, "peak_bytes": peak, "bytes_a_client": round(peak / clients, 1),
            "bytes_a_client_above_64_mib": round(max(0, peak - BYTES_BESIDE) / clients, 1)}


def body() -> int:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--lines", type=int, default=1_000_000)
    flags.add_argument("--rounds", type=int, default=5)
    flags.add_argument("--json", action="store_true")
    flags.add_argument("--quick", action="store_true", help="50,000 lines, one round: whether it runs, not how fast")
    options = flags.parse_args()
    if options.quick:
        options.lines, options.rounds = 50_000, 1
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as name:
        folder = pathlib.Path(name)
        result = speed(folder, options.lines, options.rounds)
        result["memory"] = memory(folder, options.lines * 4 if not options.quick else 200_000)
    met = (result["times_goaccess"] >= GOACCESS_RATIO and result["of_wc_and_awk"] <= COUNTING_RATIO
           and result["decisions_of_without"] <= DECISIONS_RATIO
           and result["memory"]["peak_bytes"] <= BYTES_BESIDE + BYTES_A_CLIENT * result["memory"]["clients"])
    result["targets_met"] = met
    if options.json:
        print(json.dumps(result))
    else:
        each = result["ns_a_line"]
        print(f"{result['lines']:,} lines, three limits: weir {each['weir']} ns a line, goaccess {each['goaccess']}, "
              f"wc {each['wc']} and awk {each['awk']}")
        print(f"  {result['times_goaccess']} times goaccess (at least {GOACCESS_RATIO}); {result['of_wc_and_awk']} of wc "
              f"and awk's time (at most {COUNTING_RATIO})")
        print(f"  parsing: {result['parsing_share_of_cpu']:.0%} of the CPU time ({result['cpu_ns_a_line']['weir']} ns a line)")
        print(f"  with --decisions {each['weir_decisions']} ns a line, {result['decisions_of_without']} of the time without "
              f"(at most {DECISIONS_RATIO})")
        known = result["memory"]
        print(f"  {known['clients']:,} clients: {known['peak_bytes'] >> 20} MiB, {known['bytes_a_client_above_64_mib']} bytes a "
              f"client above 64 MiB (at most {BYTES_A_CLIENT})")
    return 0 if met or options.quick else 1


if __name__ == "__main__":
    servers.main(body)
