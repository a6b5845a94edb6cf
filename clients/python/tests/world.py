"""What the tests of the client share: a weir on virtual time, the bad day's proxy, and drivers of both clients."""

import asyncio
import concurrent.futures
import contextlib
import json
import pathlib
import subprocess
import sys
import threading
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "clients/python/src"), str(ROOT / "tests/end_to_end")]

from server import PATIENCE, WEIR, Client, Folder, environment, until

import weir
import weir.aio
from weir.greeting import greeting

CASES = ROOT / "clients/cases"


class Weir:
    """`weir local --virtual-time`, or `weir serve` where a case has flags for it. `url` is its socket."""

    def __init__(self, limits=None, flags=None):
        self.folder = Folder()
        self.path = self.folder.file("weir.sock")
        self.url = f"unix:{self.path}"
        if flags is None:
            command = [WEIR, "local", "--virtual-time", "--foreground", "--socket", self.path]
        else:
            command = [
                WEIR,
                "serve",
                "--resp",
                "127.0.0.1:0",
                "--unix-socket",
                self.path,
                "--threads",
                "1",
                "--allow-refunds",
                *flags,
            ]
        if limits is not None:
            command += ["--limits", self.folder.file("limits.yaml", limits)]
        self.errors = open(self.folder.file("stderr"), "w+b")
        self.process = subprocess.Popen(
            command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors
        )
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise AssertionError(f"weir did not start: {self.errors.read().decode()}")

    def ask(self, *words):
        with Client(self.path) as client:
            return client.ask(*words)

    def advance(self, milliseconds):
        reply = self.ask("WEIR.TIME", "ADVANCE", milliseconds)
        assert isinstance(reply, list), reply

    def waiting(self):
        """How many wait for their moment."""
        with Client(self.path) as client:
            text = client.ask("INFO", "clients").decode()
        return int(next(line for line in text.split("\r\n") if line.startswith("blocked_clients:")).split(":")[1])

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.errors.close()
        self.folder.__exit__()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Proxy:
    """clients/cases/proxy.py; `at` is what it said of itself."""

    def __init__(self):
        self.folder = Folder()
        self.process = subprocess.Popen(
            [sys.executable, CASES / "proxy.py", self.folder.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.at = json.loads(self.process.stdout.readline())

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def mode(self, name):
        assert self.say(f"mode {name}") == "ok", name

    def far(self, url, milliseconds):
        """Where the weir at this URL is so far away."""
        for line in f"to {url}", f"delay {milliseconds}":
            assert self.say(line) == "ok", line
        return self.at["unix"]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.folder.__exit__()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


@contextlib.contextmanager
def without_tags():
    """Clients take every weir for one where an acquire cannot wait by TAG."""

    def greets(*args):
        yield from greeting(*args)
        return False

    with mock.patch("weir.opening.greeting", greets), mock.patch("weir.aio.pool.greeting", greets):
        yield


class Threads:
    """Drives the client that blocks: each call in a thread."""

    name = "python-sync"
    connect = staticmethod(weir.connect)

    def __init__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(2048)

    def start(self, function, *args, **options):
        return self.pool.submit(function, *args, **options)

    def enter(self, manager):
        return self.start(manager.__enter__)

    def leave(self, manager):
        return self.start(manager.__exit__, None, None, None)

    def close(self):
        self.pool.shutdown()


class Loop:
    """Drives the client that is awaited, on an event loop in a thread."""

    name = "python-aio"
    connect = staticmethod(weir.aio.connect)

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def start(self, function, *args, **options):
        async def body():
            return await function(*args, **options)

        return asyncio.run_coroutine_threadsafe(body(), self.loop)

    def enter(self, manager):
        return self.start(manager.__aenter__)

    def leave(self, manager):
        return self.start(manager.__aexit__, None, None, None)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENCE)
        self.loop.close()


__all__ = [
    "CASES",
    "PATIENCE",
    "ROOT",
    "WEIR",
    "Client",
    "Folder",
    "Loop",
    "Proxy",
    "Threads",
    "Weir",
    "environment",
    "until",
    "weir",
    "without_tags",
]
