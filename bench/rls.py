#!/usr/bin/env python3
"""Envoy's rate limit service: CPU time a call and the 99th percentile beside weir's HTTP check, and beside a server of
gRPC's own library for C++ that answers a constant, asynchronously, by one thread.

h2load of one thread asks them, over one connection of 100 calls at once, as Envoy does, and over 50 of 10. The servers
take turns on a core of their own; the one whose turn it is not is stopped, and a ratio is the median of the rounds'.

And what the 99th percentile of a real Envoy grows by, on the same core, when its filter asks weir for each request: h2load
asks it over 10 connections of HTTP/1.1, with and without the filter.
"""
import contextlib
import json
import pathlib
import re
import statistics
import sys
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
         "HTTP check": ("weir", ["-c50"]), "Envoy": ("envoy", ["-c10"]), "Envoy asks": ("envoy", ["-c10"])}


def envoy_listener(port, route, *filters):
    types = "type.googleapis.com/envoy.extensions.filters"
    route = {"match": {"prefix": "/"}, **route}
    manager = {"@type": f"{types}.network.http_connection_manager.v3.HttpConnectionManager", "stat_prefix": "web",
               "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
               "http_filters": [*filters, {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{types}.http.router.v3.Router"}}]}
    return {"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
            "filter_chains": [{"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}]}


def envoy_cluster(name, port, **more):
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    return {"name": name, "type": "STATIC", **more,
            "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}]}}


@contextlib.contextmanager
def envoy(core, folder, rls):
    """A real one, of one thread, that asks for what comes to the second of its ports; nothing where it cannot be installed. The
    backend is another of its own listeners: what answers by itself is not asked for."""
    sys.path.insert(0, str(servers.ROOT / "tests/examples"))
    import gateways
    try:
        program = gateways.installed("envoy")
    except AssertionError as failed:
        print(f"  Envoy is not measured: {failed}")
        yield None
        return
    asks = {"name": "envoy.filters.http.ratelimit", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit", "domain": "edge", "timeout": "2s",
        "rate_limit_service": {"transport_api_version": "V3", "grpc_service": {"envoy_grpc": {"cluster_name": "weir"}}}}}
    options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    http_2 = {options: {"@type": f"type.googleapis.com/{options}", "explicit_http_config": {"http2_protocol_options": {}}}}
    descriptor = {"actions": [{"generic_key": {"descriptor_key": "user_id", "descriptor_value": "ada"}}]}
    plain, limited, backend = servers.free_ports(3)
    (folder / "envoy.json").write_text(json.dumps({"static_resources": {
        "listeners": [envoy_listener(plain, {"route": {"cluster": "backend"}}),
                      envoy_listener(limited, {"route": {"cluster": "backend", "rate_limits": [descriptor]}}, asks),
                      envoy_listener(backend, {"direct_response": {"status": 200}})],
        "clusters": [envoy_cluster("backend", backend), envoy_cluster("weir", rls, typed_extension_protocol_options=http_2)]}}))
    with servers.answering("envoy", [str(program), "--disable-hot-restart", "--concurrency", "1", "-l", "error", "-c",
                                     str(folder / "envoy.json")], core, limited) as server:
        server.ports = {"Envoy": plain, "Envoy asks": limited}
        yield server


def measure(server, folder, kind, options):
    """CPU microseconds a call, calls a second, the 99th percentile in ms."""
    _, how = KINDS[kind]
    log = folder / "log"
    log.unlink(missing_ok=True)
    arguments = [servers.program("h2load"), "-t1", *how, f"-D{options.seconds}", f"--log-file={log}"]
    if kind in ("Envoy", "Envoy asks"):
        arguments += ["--h1", f"http://127.0.0.1:{server.ports[kind]}/"]
    elif kind == "HTTP check":
        (folder / "body").write_bytes(CHECK)
        arguments += ["--h1", "-H", "content-type: application/json", "-d", str(folder / "body"),
                      f"http://127.0.0.1:{server.http}/v1/check"]
    else:
        (folder / "body").write_bytes(FRAMED)
        arguments += [*GRPC, "-d", str(folder / "body"), f"http://127.0.0.1:{server.port}{CALL}"]
    before = server.cpu_seconds()
    said = servers.run(arguments, servers.cores()[1], options.seconds + 60)
    spent = server.cpu_seconds() - before
    done, failed = (int(re.search(rf"(\d+) {word}", said)[1]) for word in ("succeeded", "failed"))
    if done == 0 or failed > 0:
        raise servers.Failed(f"{kind}: not every call was answered well:\n{said}")
    times = sorted(int(line.split()[2]) for line in log.read_text().splitlines())
    return spent / done * 1e6, done / options.seconds, times[len(times) * 99 // 100] / 1000


def body() -> int:
    options = servers.parse_flags(__doc__)
    core = servers.cores()[0]
    has_library = (servers.BUILD / "bench/weir_bench_grpc").exists()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-bench-")))
        (folder / "limits.yaml").write_text(LIMITS)
        http, rls = servers.free_ports(2)
        weir = stack.enter_context(servers.weir(core, "--http", f"127.0.0.1:{http}", "--rls", f"127.0.0.1:{rls}",
                                                "--limits", str(folder / "limits.yaml")))
        weir = servers.Server("weir", weir.process, rls)
        weir.http = http
        running = {"weir": weir}
        if has_library:
            running["library"] = stack.enter_context(servers.listening("grpc", [servers.program("bench/weir_bench_grpc")], core))

        if real := stack.enter_context(envoy(core, folder, rls)):
            running["envoy"] = real
        kinds = {kind: each for kind, each in KINDS.items() if each[0] in running}

        def turn(kind):
            whose = KINDS[kind][0]
            for name, each in running.items():
                each.release() if name == whose or (name == "weir" and kind == "Envoy asks") else each.hold()
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
        if kind == "Envoy asks":
            line += f", {ratio(kind, 'Envoy', 2):.2f} x its 99 % without the filter"
        print(line)
    if not has_library:
        print("  gRPC's own library is not compared: libgrpc++-dev was not there when this was built")
    return 0


servers.main(body)
