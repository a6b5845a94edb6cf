"""Ports for programs that must be told one."""
import contextlib
import random
import socket

_given = []


def free_port():
    """A port that nobody listens on, nor on the one 10,000 above it, where nodes of a Redis cluster talk to each other; both
    below those that the kernel gives to outgoing connections: a server that was killed gets them again. No other test is
    given them while this process lives: each is held by a name, which tests/redis/server.hpp holds too."""
    while True:
        port = random.randrange(12000, 22000)
        with contextlib.suppress(OSError), contextlib.ExitStack() as kept:
            for each in (port, port + 10000):
                name = kept.enter_context(socket.socket(socket.AF_UNIX))
                name.bind(f"\0weir-test-port-{each}")
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", each))
            _given.append(kept.pop_all())
            return port
