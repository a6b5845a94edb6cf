#!/usr/bin/env python3
"""weir's HTTP beside nginx that decides nothing: CPU time a request, by one wrk of one thread over 50 connections that
stay open; and the gate's requests a second beside nginx that asks a second nginx by auth_request.

And what it costs the gate's event loop that its metrics are read ten times a second: the CPU time a request of that
thread alone, with and without a reader, which take turns too.

One worker and one event loop each, on a core of their own; the servers take turns, the one whose turn it is not is
stopped, and a ratio is the median of the rounds' ratios. wrk is the limit of what a second can hold: where it asks as
fast as it can, requests a second say more about wrk than about the server.
"""
import contextlib
import pathlib
import re
import statistics
import tempfile
import threading
import urllib.request

import servers

LIMITS = """version: 1
limits:
  user: { by: [user], rate: 1000000/s burst 1000000 }
gateways:
  edge: { from: x-forwarded, attributes: { user: header.x-user-id } }
"""
NGINX = """worker_processes 1; daemon off; master_process off; pid %(folder)s/%(name)s.pid; error_log stderr;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path %(folder)s/a; proxy_temp_path %(folder)s/b; fastcgi_temp_path %(folder)s/c;
  uwsgi_temp_path %(folder)s/d; scgi_temp_path %(folder)s/e;
  upstream other { server 127.0.0.1:%(other)s; keepalive 64; }
  server {
    listen 127.0.0.1:%(port)s;
    location / { return 204; }
    location /asked { auth_request /ask; empty_gif; }
    location = /ask {
      internal; proxy_pass http://other/; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_pass_request_body off; proxy_set_header Content-Length "";
    }
  }
}
"""
POST = """wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '%s'
"""
SCRIPTS = {
    "gate": "".join(f'wrk.headers["{name}"] = "{value}"\n' for name, value in (
        ("X-User-Id", "ada"), ("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/v1/x"))),
    "check": POST % '{"attributes":{"user":"ada"}}',
    "inline": POST % '{"key":"ada","limit":"1000000/s burst 1000000"}',
}
# name: the path, the target of its CPU beside nginx's
KINDS = {"nginx": ("/", None), "gate": ("/v1/gate/edge", 1.2), "check": ("/v1/check", 1.6), "inline": ("/v1/check", 1.6),
         "asked": ("/asked", None)}


def nginx(folder, name, port, other, core):
    path = folder / f"{name}.conf"
    path.write_text(NGINX % {"folder": folder, "name": name, "port": port, "other": other})
    return servers.answering(name, [servers.program("nginx"), "-p", str(folder), "-c", str(path)], core, port)


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def measure(server, folder, kind, seconds):
    """CPU microseconds a request, requests a second, the 99th percentile in ms."""
    arguments = [servers.program("wrk"), "-t1", "-c50", f"-d{seconds}s", "--latency"]
    if kind in SCRIPTS:
        (folder / "script.lua").write_text(SCRIPTS[kind])
        arguments += ["-s", str(folder / "script.lua")]
    before = server.cpu_seconds()
    said = servers.run([*arguments, f"http://127.0.0.1:{server.port}{KINDS[kind][0]}"], servers.cores()[1], seconds + 60)
    spent = server.cpu_seconds() - before
    requests = int(re.search(r"(\d+) requests in", said)[1])
    if "Non-2xx" in said or "Socket errors" in said or requests == 0:
        raise servers.Failed(f"{kind}: not every request was answered well:\n{said}")
    return (spent / requests * 1e6, float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]),
            milliseconds(re.search(r"^\s+99%\s+([\d.]+(?:us|ms|s))$", said, re.M)[1]))


@contextlib.contextmanager
def scraping(port):
    """Something reads the metrics ten times a second."""
    done, failures = threading.Event(), []

    def read():
        while not done.wait(0.1):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                    answer.read()
            except OSError as error:
                failures.append(error)
    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    if failures:
        raise servers.Failed(f"{len(failures)} scrapes failed: {failures[0]}")


def measure_scrapes(server, admin, folder, rounds, seconds):
    """How much more CPU time a request takes of the event loop's thread, as a ratio, and what a second of scrapes takes of
    other threads, in seconds: the medians of the rounds."""
    def of_loop():
        return int(pathlib.Path(f"/proc/{server.pid}/schedstat").read_text().split()[0]) / 1e9
    (folder / "script.lua").write_text(SCRIPTS["gate"])
    arguments = [servers.program("wrk"), "-t1", "-c50", f"-d{seconds}s", "-s", str(folder / "script.lua"),
                 f"http://127.0.0.1:{server.port}{KINDS['gate'][0]}"]

    def spent(scraped):
        with scraping(admin) if scraped else contextlib.nullcontext():
            before, all_before = of_loop(), server.cpu_seconds()
            said = servers.run(arguments, servers.cores()[1], seconds + 60)
            loop, everything = of_loop() - before, server.cpu_seconds() - all_before
            return loop / int(re.search(r"(\d+) requests in", said)[1]), everything - loop
    pairs = []
    for done in range(rounds):
        scraped_first = done % 2 == 0
        first, second = spent(scraped_first), spent(not scraped_first)
        pairs.append((first, second) if scraped_first else (second, first))
    return (statistics.median(scraped[0] / alone[0] for scraped, alone in pairs),
            statistics.median(scraped[1] - alone[1] for scraped, alone in pairs) / seconds)


def body() -> int:
    options = servers.parse_flags(__doc__)
    core = servers.cores()[0]
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-bench-")))
        (folder / "limits.yaml").write_text(LIMITS)
        ports = servers.free_ports(4)
        first = stack.enter_context(nginx(folder, "first", ports[0], ports[1], core))
        second = stack.enter_context(nginx(folder, "second", ports[1], ports[1], core))
        weir = stack.enter_context(servers.weir(core, "--http", f"127.0.0.1:{ports[2]}", "--admin", f"127.0.0.1:{ports[3]}",
                                                "--limits", str(folder / "limits.yaml")))
        weir = servers.Server("weir", weir.process, ports[2])
        samples = {kind: [] for kind in KINDS}
        for done in range(options.rounds):
            for kind in KINDS if done % 2 == 0 else reversed(KINDS):
                server = first if kind in ("nginx", "asked") else weir
                for other in (first, second, weir):
                    wanted = other is server or (kind == "asked" and other is second)
                    other.release() if wanted else other.hold()
                samples[kind].append(measure(server, folder, kind, options.seconds))
        for server in (first, second):
            server.hold()
        weir.release()
        scraped, others = measure_scrapes(weir, ports[3], folder, 1 if options.quick else 4 * options.rounds, 1)
        for server in (first, second):
            server.release()

    def ratio(kind, other, figure):
        return statistics.median(a[figure] / b[figure] for a, b in zip(samples[kind], samples[other]))

    def verdict(good):
        return "" if options.quick else ": met" if good else ": missed"

    for kind, (path, target) in KINDS.items():
        cpu, rate, slow = (statistics.median(each[i] for each in samples[kind]) for i in range(3))
        line = f"  {kind:8}{cpu:7.2f} us CPU {rate:10,.0f} a second, 99 % within {slow:.2f} ms  {path}"
        if target:
            is_cpu, is_slow = ratio(kind, "nginx", 0), ratio(kind, "nginx", 2)
            line += (f": {is_cpu:.2f} x nginx's CPU (target at most {target}{verdict(is_cpu <= target)})"
                     f", {is_slow:.2f} x its 99 % (target below 1.5{verdict(is_slow < 1.5)})")
        print(line)
    rate = ratio("gate", "asked", 1)
    print(f"  gate: {rate:.1f} x the requests a second of nginx that asks another nginx (target at least 4{verdict(rate >= 4)})")
    print(f"  gate: its event loop takes {100 * (scraped - 1):+.2f} % CPU a request while its metrics are read ten times a second "
          f"(target below 1 %{verdict(scraped < 1.01)});\n    the reading takes {100 * others:.2f} % of a core, on another thread")
    return 0


servers.main(body)
