#!/usr/bin/env python3
"""Envoy's rate limit service: CPU time a call and the 99th percentile beside weir's HTTP check, and beside a server of
gRPC's own library for C++ that answers a constant, asynchronously, by one thread.

h2load of one thread asks them, over one connection of 100 calls at once, as Envoy does, and over 50 of 10. The servers
take turns on a core of their own; the one whose turn it is not is stopped, and a ratio is the median of the rounds'.
"""
import argparse
import contextlib
import pathlib
import re
import socket
import statistics
import tempfile

import servers

LIMITS = """version: 1
limits:
  user: { by: [user], rate: 1000000/s burst 1000000 }
rls:
  edge: { attributes: { user_id: user } }
"""
CALL = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"


def of(number, value):
    """A field of protocol buffers; all of them are short."""
    return bytes([number << 3 | 2, len(value)]) + value


MESSAGE = of(1, b"edge") + of(2, of(1, of(1, b"user_id") + of(2, b"ada")))
FRAMED = b"\0" + len(MESSAGE).to_bytes(4, "big") + MESSAGE
CHECK = b'{"attributes":{"user":"ada"}}'
GRPC = ["-H", "content-type: application/grpc", "-H", "te: trailers"]
# name: whose, the connections, what is asked
KINDS = {"1 x 100": ("weir", ["-c1", "-m100"]), "50 x 10": ("weir", ["-c50", "-m10"]),
         "library 1 x 100": ("library", ["-c1", "-m100"]), "library 50 x 10": ("library", ["-c50", "-m10"]),
         "HTTP check": ("weir", ["-c50"])}


def measure(server, folder, kind, options):
    """CPU microseconds a call, calls a second, the 99th percentile in ms."""
    _, how = KINDS[kind]
    log = folder / "log"
    log.unlink(missing_ok=True)
    arguments = [servers.program("h2load"), "-t1", *how, f"-D{options.seconds}", f"--log-file={log}"]
    if kind == "HTTP check":
        (folder / "body").write_bytes(CHECK)
        arguments += ["--h1", "-H", "content-type: application/json", f"http://127.0.0.1:{server.http}/v1/check"]
    else:
        (folder / "body").write_bytes(FRAMED)
        arguments += [*GRPC, f"http://127.0.0.1:{server.port}{CALL}"]
    before = server.cpu_seconds()
    said = servers.run([*arguments, "-d", str(folder / "body")], servers.cores()[1], options.seconds + 60)
    spent = server.cpu_seconds() - before
    done, failed = (int(re.search(rf"(\d+) {word}", said)[1]) for word in ("succeeded", "failed"))
    if done == 0 or failed > 0:
        raise servers.Failed(f"{kind}: not every call was answered well:\n{said}")
    times = sorted(int(line.split()[2]) for line in log.read_text().splitlines())
    return spent / done * 1e6, done / options.seconds, times[len(times) * 99 // 100] / 1000


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def body() -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=5)
    flags.add_argument("--seconds", type=int, default=3, help="of each measurement (default 3)")
    flags.add_argument("--quick", action="store_true", help="only whether everything runs; the figures mean nothing")
    options = flags.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 1
    core = servers.cores()[0]
    has_library = (servers.BUILD / "bench/weir_bench_grpc").exists()
    kinds = {kind: each for kind, each in KINDS.items() if has_library or each[0] != "library"}
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-bench-")))
        (folder / "limits.yaml").write_text(LIMITS)
        http, rls = free_port(), free_port()
        weir = stack.enter_context(servers.weir(core, "--http", f"127.0.0.1:{http}", "--rls", f"127.0.0.1:{rls}",
                                                "--limits", str(folder / "limits.yaml")))
        weir = servers.Server("weir", weir.process, rls)
        weir.http = http
        running = {"weir": weir}
        if has_library:
            running["library"] = stack.enter_context(servers.listening("grpc", [servers.program("bench/weir_bench_grpc")], core))

        def turn(kind):
            whose = KINDS[kind][0]
            for name, each in running.items():
                each.release() if name == whose else each.hold()
            return measure(running[whose], folder, kind, options)
        samples = servers.take_turns(kinds, options.rounds, turn)
        for each in running.values():
            each.release()

    def ratio(kind, other, figure):
        return statistics.median(a[figure] / b[figure] for a, b in zip(samples[kind], samples[other]))

    def told(what, is_, most):
        verdict = "" if options.quick else ": met" if is_ <= most else ": missed"
        return f", {is_:.2f} x {what} (target at most {most}{verdict})"

    for kind in kinds:
        cpu, rate, slow = (statistics.median(each[i] for each in samples[kind]) for i in range(3))
        line = f"  {kind:16}{cpu:7.2f} us CPU {rate:10,.0f} a second, 99 % within {slow:.2f} ms"
        if KINDS[kind][0] == "weir" and kind != "HTTP check":
            line += told("the CPU of the HTTP check", ratio(kind, "HTTP check", 0), 1.6)
            if has_library:
                line += told("the library's", ratio(kind, f"library {kind}", 0), 0.35)
                line += told("its 99 %", ratio(kind, f"library {kind}", 2), 1.0)
        print(line)
    if not has_library:
        print("  gRPC's own library is not compared: libgrpc++-dev was not there when this was built")
    return 0


servers.main(body)
