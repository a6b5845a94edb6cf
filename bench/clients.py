"""The clients beside those of Redis: what a check costs the program that asks.

    bench/clients.py [--rounds N] [--seconds S] [--only LANGUAGE] [--quick]

Each language has a load program that is told whom to ask and prints a rate and the CPU of a call. A server has one core
and the load the other; the measurements take turns, and the medians of the ratios of each round count. Compared are a
plain GET of the language's usual client of Redis, which does nothing but ask, and a rate limiter of that language that
counts in Redis: one call after another, of a weir that counts there too, 50 callers at once, and with the fields that a
response carries."""
import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import servers

sys.path[:0] = [str(servers.ROOT / "tests" / name) for name in ("end_to_end", "clients")]

import pypi  # noqa: E402
import typescript as typescript_client  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent / "clients"


@dataclasses.dataclass
class Language:
    """A load program and what it compares with: the words that name the two."""

    command: list[str]
    get: str
    limiter: str
    callers: str = "callers"
    also: tuple[str, ...] = ()  # other clients of ours that it knows, measured and not judged


def python() -> Language:
    packages = pypi.installed(HERE / "requirements.txt", "bench-clients")
    return Language(["/usr/bin/python3", str(HERE / "load.py"), "--path", str(servers.ROOT / "clients/python/src"), "--path",
                     str(packages)], "redis-py's GET", "limits' storage in Redis (flask-limiter)", "threads", ("weir.aio",))


def typescript() -> Language:
    return Language(["node", str(HERE / "load.mjs"), "--packages", str(typescript_client.built())], "node-redis' GET",
                    "rate-limiter-flexible in Redis")


def go() -> Language:
    """Built before: `go run` would be counted with the compiler's CPU."""
    program = servers.BUILD / "bench" / "clients_load"
    environment = {"GOCACHE": str(servers.BUILD / "go-cache"), **os.environ, "GOTOOLCHAIN": "local",
                   "GOFLAGS": "-mod=readonly -buildvcs=false"}
    built = subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "go", env=environment, capture_output=True, text=True)
    if built.returncode != 0:
        raise servers.Failed(f"bench/clients/go: {built.stderr.strip()}")
    return Language([str(program)], "go-redis' GET", "redis_rate", "goroutines")


# What makes each, and the program without which it is left out.
LANGUAGES = {"python": (python, "/usr/bin/python3"), "typescript": (typescript, "node"), "go": (go, "go")}


@dataclasses.dataclass
class Row:
    """One line: ours, beside whom, with which flags, and the least ratio."""

    title: str
    other: str
    flags: tuple[str, ...]
    target: float
    ours: str = "weir"


def rows(language: Language) -> list[Row]:
    fifty = ("--callers", "50")
    named = [Row("one after another", language.get, (), 0.9), Row("one after another", language.limiter, (), 1.0),
             Row("one after another, by a weir over that Redis", language.limiter, (), 0.9, "store"),
             Row(f"50 {language.callers}", language.limiter, fifty, 2.0),
             Row("one after another, with fields", language.limiter, ("--headers",), 2.0),
             Row(f"50 {language.callers}, with fields", language.limiter, (*fifty, "--headers"), 2.0)]
    for each in language.also:
        named += [Row(f"one after another, {each}", language.get, (), 0, each), Row(f"50 at once, {each}", language.limiter, fifty, 0, each)]
    return named


def measure(language: Language, client: str, ports: dict[str, int], flags, seconds: float) -> dict[str, float]:
    name, server = {language.get: ("get", "redis"), language.limiter: ("limits", "redis"), "store": ("weir", "store")}.get(client, (client, "weir"))
    port = ports[server]
    command = [*language.command, name, str(port), "--seconds", str(seconds), *flags]
    return json.loads(servers.run(command, servers.cores()[1], seconds * 10 + 60))


def compare(language: Language, row: Row, ports: dict[str, int], options) -> None:
    samples = servers.take_turns((row.ours, row.other), options.rounds,
                                 lambda client: measure(language, client, ports, row.flags, options.seconds))
    ours, other = samples[row.ours], samples[row.other]
    middle = {name: statistics.median(each[name] for each in ours) for name in ours[0]}
    rate = statistics.median(a["rate"] / b["rate"] for a, b in zip(ours, other))
    cpu = statistics.median(b["cpu_us"] / a["cpu_us"] for a, b in zip(ours, other))
    target = "" if not row.target or options.quick else f" (target {row.target:g}: {'met' if rate >= row.target else 'missed'})"
    print(f"  {row.title}: {middle['rate']:.0f}/s, {middle['cpu_us']:.1f} us CPU a call; {rate:.2f} x the rate of {row.other}"
          f"{target}, its CPU is {cpu:.2f} x", flush=True)


def latency(language: Language, ports: dict[str, int], options) -> None:
    flags = ("--rate", "1000")
    samples = servers.take_turns(("weir", language.get, language.limiter), options.rounds,
                                 lambda client: measure(language, client, ports, flags, options.seconds)["p99_us"])
    print("  p99 of a call at 1000/s: " + ", ".join(f"{name} {statistics.median(times):.0f} us" for name, times in samples.items()))


def beside_waits(language: Language, ports: dict[str, int], options) -> None:
    """10,000 acquires in line on one connection: what each keeps in the program, and a check beside them."""
    waits = 100 if options.quick else 10_000
    client = "weir.aio" if "weir.aio" in language.also else "weir"
    samples = servers.take_turns((str(waits), "0"), options.rounds, lambda count: measure(
        language, client, ports, ("--rate", "1000", "--waits", count), options.seconds))
    with_them, alone = samples[str(waits)], samples["0"]
    ratio = statistics.median(a["p99_us"] / b["p99_us"] for a, b in zip(with_them, alone))
    print(f"  {waits} waits on one connection: {statistics.median(each['kib'] for each in with_them):.1f} KiB each; p99 of a check "
          f"beside them {statistics.median(each['p99_us'] for each in with_them):.0f} us, {ratio:.2f} x of alone")


def body() -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=7)
    flags.add_argument("--seconds", type=float, default=1.0, help="of each measurement (default 1)")
    flags.add_argument("--only", choices=LANGUAGES)
    flags.add_argument("--quick", action="store_true", help="only whether everything runs; the figures mean nothing")
    options = flags.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 0.1
    with contextlib.ExitStack() as stack:
        core = servers.cores()[0]
        ports = {"weir": stack.enter_context(servers.weir(core)).port, "redis": stack.enter_context(servers.redis(core)).port}
        store = servers.weir(core, "--store", f"redis://127.0.0.1:{ports['redis']}")
        ports["store"] = stack.enter_context(store).port
        for name in [options.only] if options.only else LANGUAGES:
            make, program = LANGUAGES[name]
            if shutil.which(program) is None:
                print(f" {name}: left out, there is no {program}")
                continue
            language = make()
            print(f" {name}")
            for row in rows(language):
                compare(language, row, ports, options)
            latency(language, ports, options)
            beside_waits(language, ports, options)
    return 0


if __name__ == "__main__":
    servers.main(body)
