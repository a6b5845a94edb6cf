"""Ports for programs that must be told one."""
import contextlib
import random
import socket

_given = []


def free_port():
    """A port that nobody listens on, below those that the kernel gives to outgoing connections: a server that was killed
    gets it again. No other test is given it while this process lives: each one that is given away is held by a name,
    which tests/redis/server.hpp holds too."""
    while True:
        port = random.randrange(15000, 32000)
        with contextlib.suppress(OSError), contextlib.ExitStack() as kept:
            name = kept.enter_context(socket.socket(socket.AF_UNIX))
            name.bind(f"\0weir-test-port-{port}")
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
            _given.append(kept.pop_all())
            return port
