#!/usr/bin/env python3
"""What `weir replay` costs, beside goaccess making its report and `wc -l` with an awk that counts by address; the same
requests in each format that it reads; and what --decisions adds.

The log of all is made by examples/replay/make_log.py, its other formats by tests/replay/make_formats.py; the programs
take turns. Then the memory with a distinct client in every line.

goaccess reads with one thread, weir reads and decides with one each, so both kinds of time are told: the clock's, which
counts, and the CPU's, which counts where other programs take a core from these meanwhile.
"""
import argparse
import calendar
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import servers

sys.path.insert(0, str(servers.ROOT / "tests/replay"))
import make_formats  # noqa: E402

LIMITS = ["--limit", "100/min", "--limit", "10/s burst 50", "--limit", "1000/h algorithm=fixed_window"]
GOACCESS_RATIO = 20
GOACCESS_JSON_RATIO = 10
COUNTING_RATIO = 4
FORMATS_RATIO = 3     # of combined's time, for any other format
DECISIONS_RATIO = 2
BUSY_SHARE = 0.1      # of a core, taken by others: then the clock says nothing
BYTES_A_CLIENT = 200
BYTES_BESIDE = 64 << 20
AWK = "{seen[$1]++} END {for (each in seen) count++; print count}"
GOACCESS_CADDY = ('{"ts":"%x.%^","request":{"remote_ip":"%h","proto":"%H","method":"%m","host":"%v","uri":"%U","headers":'
                  '{"User-Agent":["%u"]}},"size":"%b","status":"%s"}')


def timed(command: list[str], **more) -> tuple[float, float, int]:
    """Seconds on the clock, seconds of CPU, and the most memory that it had, in bytes."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **more)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 2 if "method" in command else 0):
        raise servers.Failed(f"{' '.join(command)}: exit code {process.returncode}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def make(path: pathlib.Path, lines: int) -> None:
    script = servers.ROOT / "examples/replay/make_log.py"
    subprocess.run([sys.executable, str(script), "--lines", str(lines), "-o", str(path)], check=True)


def requests_in(log: pathlib.Path, most: int) -> list[tuple]:
    """As make_formats takes them. Their stamps have a fraction, so that it is read where a format has one."""
    pattern = re.compile(r'(\S+) - - \[(\S+) \+0000\] "(\S+) (\S+) [^"]*" (\d+) (\d+) ')
    found, known = [], {}
    with open(log) as lines:
        for line in lines:
            client, stamp, method, path, status, size = pattern.match(line).groups()
            if stamp not in known:
                day, month, rest = stamp.split("/")
                at = time.strptime(f"{day} {make_formats.MONTHS.index(month) + 1} {rest}", "%d %m %Y:%H:%M:%S")
                known[stamp] = calendar.timegm(at) * 10**9 + 123_456_789
            found.append((known[stamp], client, method, path, int(status), int(size)))
            if len(found) == most:
                break
    return found


class Turns:
    """Commands that take turns: the median of each one's times."""

    def __init__(self, commands: dict[str, list[str]], rounds: int):
        disturbance = servers.Disturbance().begin()
        samples = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                samples[name].append(timed(command)[:2])
        self.others = disturbance.share()  # of a core
        self.wall, self.cpu = ({name: statistics.median(each[kind] for each in times) for name, times in samples.items()}
                               for kind in (0, 1))

    def ratio(self, name: str, to: str) -> dict[str, float]:
        """Of `name`'s time to that of `to`; `counts` is the one that is judged."""
        wall, cpu = (times[name] / times[to] for times in (self.wall, self.cpu))
        return {"wall": round(wall, 2), "cpu": round(cpu, 2), "counts": round(cpu if self.disturbed() else wall, 2)}

    def disturbed(self) -> bool:
        return self.others > BUSY_SHARE

    def ns(self, lines: int) -> dict[str, dict[str, int]]:
        return {kind: {name: round(each / lines * 1e9) for name, each in times.items()}
                for kind, times in (("wall", self.wall), ("cpu", self.cpu))}


def goaccess(log: pathlib.Path, folder: pathlib.Path, *flags: str) -> list[str]:
    return [servers.program("goaccess"), str(log), "--no-progress", *flags, "-o", str(folder / "report.html")]


def took_all(folder: pathlib.Path, lines: int) -> None:
    """That goaccess read its log: a format that it does not read is soon done."""
    said = re.search(r'"valid_requests":\s*(\d+)', (folder / "report.html").read_text())
    if not said or int(said.group(1)) != lines:
        raise servers.Failed(f"goaccess did not read the log: {said.group(1) if said else 'no'} valid requests of {lines}")


def speed(folder: pathlib.Path, lines: int, rounds: int) -> dict:
    log = folder / "log"
    make(log, lines)
    weir = [servers.program("src/cli/weir"), "replay", str(log)]
    turns = Turns({
        "weir": [*weir, *LIMITS],
        "decisions": [*weir, *LIMITS, "--decisions", str(folder / "decisions.csv")],
        "decisions_jsonl": [*weir, *LIMITS, "--decisions", str(folder / "decisions.jsonl")],
        "one_limit": [*weir, *LIMITS[:2]],
        # No method is a number: each line is read and taken apart, a little further even, and then refused.
        "parsing_only": [*weir, "--limit", "1/s", "--cost", "method"],
        "wc": ["wc", "-l", str(log)],
        "awk": [servers.program("awk"), AWK, str(log)],
        "goaccess": goaccess(log, folder, "--log-format=COMBINED"),
    }, rounds)
    took_all(folder, lines)
    for times in (turns.wall, turns.cpu):
        times["counting"] = times["wc"] + times["awk"]
    return {
        "lines": lines, "others": round(turns.others, 2), "disturbed": turns.disturbed(), "ns_a_line": turns.ns(lines),
        "times_goaccess": turns.ratio("goaccess", "weir"),
        "of_wc_and_awk": turns.ratio("weir", "counting"),
        "decisions_of_without": {name: turns.ratio(name, "weir") for name in ("decisions", "decisions_jsonl")},
        "parsing_share_of_cpu": turns.ratio("parsing_only", "weir")["cpu"],
    }


def formats(folder: pathlib.Path, lines: int, rounds: int) -> dict:
    """The same requests in each format, and those of Caddy for goaccess too."""
    requests = requests_in(folder / "log", lines)
    commands = {}
    for name, write in make_formats.WRITERS.items():
        log = folder / name.replace(" ", "_")
        with open(log, "w") as out:
            out.writelines(line + "\n" for line in write(requests))
        commands[name] = [servers.program("src/cli/weir"), "replay", str(log), *LIMITS]
    commands["goaccess"] = goaccess(folder / "caddy", folder, f"--log-format={GOACCESS_CADDY}",
                                    *(f"--{what}-format=%s" for what in ("date", "time", "datetime")))
    turns = Turns(commands, rounds)
    took_all(folder, len(requests))
    ratios = {name: turns.ratio(name, "combined") for name in make_formats.WRITERS}
    slowest = max(ratios, key=lambda name: ratios[name]["counts"])
    return {"lines": len(requests), "others": round(turns.others, 2), "disturbed": turns.disturbed(),
            "ns_a_line": turns.ns(len(requests)), "of_combined": ratios, "slowest": slowest,
            "times_goaccess": turns.ratio("goaccess", "caddy")}


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


def targets(result: dict) -> dict[str, bool]:
    each = result["formats"]
    return {
        "goaccess": result["times_goaccess"]["counts"] >= GOACCESS_RATIO,
        "goaccess_json": each["times_goaccess"]["counts"] >= GOACCESS_JSON_RATIO,
        "counting": result["of_wc_and_awk"]["counts"] <= COUNTING_RATIO,
        "formats": each["of_combined"][each["slowest"]]["counts"] <= FORMATS_RATIO,
        "decisions": all(ratio["counts"] <= DECISIONS_RATIO for ratio in result["decisions_of_without"].values()),
        "memory": result["memory"]["peak_bytes"] <= BYTES_BESIDE + BYTES_A_CLIENT * result["memory"]["clients"],
    }


def both(ratio: dict[str, float]) -> str:
    return f"{ratio['wall']} by the clock, {ratio['cpu']} by CPU"


def show(result: dict) -> None:
    wall, cpu = result["ns_a_line"]["wall"], result["ns_a_line"]["cpu"]

    def ns(name):
        return f"{name} {wall[name]} ({cpu[name]})"

    print(f"{result['lines']:,} lines, three limits; ns a line by the clock (and of CPU): {ns('weir')}, {ns('goaccess')}, "
          f"{ns('wc')}, {ns('awk')}")
    print(f"  times goaccess: {both(result['times_goaccess'])} (at least {GOACCESS_RATIO})")
    print(f"  of wc and awk's time: {both(result['of_wc_and_awk'])} (at most {COUNTING_RATIO})")
    print(f"  parsing: {result['parsing_share_of_cpu']:.0%} of the CPU time; with one limit {wall['one_limit']} ns ({cpu['one_limit']})")
    for name, text in (("decisions", "CSV"), ("decisions_jsonl", "JSON lines")):
        print(f"  --decisions as {text}: {both(result['decisions_of_without'][name])} of the time without (at most "
              f"{DECISIONS_RATIO})")
    each = result["formats"]
    wall, cpu = each["ns_a_line"]["wall"], each["ns_a_line"]["cpu"]
    print(f"{each['lines']:,} requests in each format; ns a request, and of combined's time, by the clock (and of CPU):")
    for name, ratio in each["of_combined"].items():
        print(f"  {name:<18}{wall[name]:>5} ({cpu[name]:>4}){ratio['wall']:>6.2f} ({ratio['cpu']:.2f})")
    print(f"  slowest: {each['slowest']}, {both(each['of_combined'][each['slowest']])} of combined's (at most {FORMATS_RATIO})")
    print(f"  JSON lines of caddy, times goaccess ({wall['goaccess']} ns): {both(each['times_goaccess'])} (at least "
          f"{GOACCESS_JSON_RATIO})")
    known = result["memory"]
    print(f"{known['clients']:,} clients: {known['peak_bytes'] >> 20} MiB, {known['bytes_a_client_above_64_mib']} bytes a "
          f"client above 64 MiB (at most {BYTES_A_CLIENT})")
    for part, name in ((result, "the first part"), (each, "the formats")):
        print(f"other programs took {part['others']:.0%} of a core during {name}, so "
              f"{'CPU time' if part['disturbed'] else 'the clock'} was judged")
    missed = [name for name, met in result["targets"].items() if not met]
    print("targets met" if not missed else f"targets missed: {', '.join(missed)}")


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
        result["formats"] = formats(folder, options.lines // 5, options.rounds)
        result["memory"] = memory(folder, options.lines * 4 if not options.quick else 200_000)
    result["targets"] = targets(result)
    result["targets_met"] = all(result["targets"].values())
    if options.json:
        print(json.dumps(result))
    else:
        show(result)
    return 0 if result["targets_met"] or options.quick else 1


if __name__ == "__main__":
    servers.main(body)
