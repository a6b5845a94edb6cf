#!/usr/bin/env python3
"""What an idle connection costs weir serve in resident memory (RSS), after it has been used once."""
import argparse
import contextlib
import json
import resource
import socket
import time

import servers

TARGET_BYTES = 16 * 1024
REQUEST = "*1\r\n$4\r\nPING\r\n*5\r\n$11\r\nCL.THROTTLE\r\n${}\r\n{}\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n"
REPLY_LINES = 1 + 6


def raise_descriptor_limit(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
    except (ValueError, OSError):
        raise servers.Failed(f"{wanted} open files are needed, the system allows {hard} (ulimit -Hn)") from None


def use(connection: socket.socket, key: str) -> None:
    reply = servers.converse(connection, REQUEST.format(len(key), key).encode(), REPLY_LINES)
    if not reply.startswith(b"+PONG\r\n*5\r\n:"):
        raise servers.Failed(f"not the expected reply: {reply[:80]!r}")


def body() -> int:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--connections", type=int, default=10_000)
    flags.add_argument("--json", action="store_true")
    flags.add_argument("--quick", action="store_true", help="500 connections")
    options = flags.parse_args()
    if not 1 <= options.connections <= 25_000:
        flags.error("connections: from 1 to 25000, what one client address has ports for")
    if options.quick:
        options.connections = 500

    # Before the server is started: it inherits the limit.
    raise_descriptor_limit(options.connections + 200)
    core = servers.cores()[0]
    with servers.weir(core, "--max-connections", "20000") as weir, contextlib.ExitStack() as stack:
        def connect() -> socket.socket:
            return stack.enter_context(socket.create_connection(("127.0.0.1", weir.port), timeout=10))

        # What the server takes once, for the first connection and for the first keys, is not a connection's.
        first = connect()
        for i in range(1000):
            use(first, f"before:{i}")
        before = weir.rss_bytes()
        started = time.monotonic()
        opened = [connect() for _ in range(options.connections)]
        for i, connection in enumerate(opened):
            use(connection, f"conn:{i}")
        took = time.monotonic() - started
        time.sleep(0.2 if options.quick else 2)
        each = (weir.rss_bytes() - before) / options.connections
        # They are all still there.
        for connection in opened[:: max(1, len(opened) // 100)]:
            use(connection, "after")
        result = {"connections": options.connections, "rss_before_bytes": before,
                  "rss_bytes_per_connection": round(each), "seconds_to_open": round(took, 2),
                  "target_met": each <= TARGET_BYTES}
    if options.json:
        print(json.dumps(result))
    else:
        print(f"{options.connections:,} idle connections: {each / 1024:.2f} KiB of RSS each "
              f"(target at most {TARGET_BYTES // 1024}: {'met' if result['target_met'] else 'missed'}); "
              f"before them {before / 2**20:.1f} MiB; opened and used in {took:.1f} s")
    return 0


servers.main(body)
