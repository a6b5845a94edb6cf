"""For pytest: the fixture `weir_server`, a weir of one test alone, whose time stands still until the test lets it go on.

def test_it_recovers_after_a_minute(weir_server):
    app = make_app()             # what asks weir.connect(), as the adapters do, asks this one
    ...
    weir_server.advance(60)
"""

from __future__ import annotations

import contextlib
import datetime
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

import weir
from weir import local, shared
from weir.words import Ask

# A busy machine may take its time to answer, and a test learns nothing from a question that was given up.
OPTIONS: dict[str, Any] = {"timeout": 5.0, "on_error": "raise"}


NO_LIMITS = "version: 1\nlimits: {}\n"
_elsewhere: dict[str, weir.Client] = {}  # of WEIR_TEST_URL: one connection for all tests, or the server would refuse the next


class WeirServer:
    """One test's: a program of its own, or that of WEIR_TEST_URL, which begins again."""

    def __init__(self, folder: str) -> None:
        self._folder = pathlib.Path(folder)
        self._process: subprocess.Popen[bytes] | None = None
        self._clients: list[weir.Client] = []
        elsewhere = os.environ.get("WEIR_TEST_URL")
        self.url = elsewhere or f"unix:{self._folder / 'weir.sock'}"
        if elsewhere:
            self._own = _elsewhere.get(elsewhere) or _elsewhere.setdefault(elsewhere, weir.connect(elsewhere, **OPTIONS))
            self._ask("WEIR.TIME", "RESET")  # another process that does so meanwhile is told to use -n 0
            self.limits(NO_LIMITS)
        else:
            self._start()
            self._own = self.connect()

    def connect(self, **options: Any) -> weir.Client:
        """A client of it, closed with the test. Without an answer it raises, unless `on_error` says otherwise."""
        client = weir.connect(self.url, **{**OPTIONS, **options})
        self._clients.append(client)
        return client

    def limits(self, text_or_path: str | os.PathLike[str]) -> None:
        """By this limits file: its path, or its text in several lines. It is in force at once, and keys keep what they owe."""
        is_text = isinstance(text_or_path, str) and "\n" in text_or_path
        self._ask("WEIR.CONFIG", "SET", str(text_or_path) if is_text else pathlib.Path(text_or_path).read_text("utf-8"))

    def advance(self, seconds: float) -> None:
        """Time goes on, and what falls due until then is answered before this returns."""
        self._ask("WEIR.TIME", "ADVANCE", str(round(seconds * 1000)))

    @property
    def now(self) -> datetime.datetime:
        """Its wall clock."""
        return datetime.datetime.fromisoformat(self._ask("WEIR.TIME")[2].decode().replace("Z", "+00:00"))

    def stop(self) -> None:
        """Ends it, as an outage does; what still asks gets no answer."""
        if self._process is None:
            raise RuntimeError("the weir of WEIR_TEST_URL is not this test's to end")
        self._process.terminate()
        self._process.wait()

    def close(self) -> None:
        for each in self._clients:
            each.close()
        if self._process is not None:
            self.stop()

    def _ask(self, *words: str) -> Any:
        return self._own._reply(Ask(words[0], [each.encode() for each in words]))

    def _start(self) -> None:
        command = [local.program(), "local", "--virtual-time", "--foreground", "--socket", self.url[len("unix:") :]]
        errors = self._folder / "stderr"
        with errors.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        assert self._process.stdout is not None
        with self._process.stdout as said:
            if not said.readline():
                self._process.wait()
                raise weir.Refused(errors.read_text(errors="replace").strip())


@pytest.fixture
def weir_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WeirServer]:
    """A weir on virtual time, which `weir.connect()` and the adapters ask as long as the test runs."""
    with tempfile.TemporaryDirectory(prefix="weir-") as folder, contextlib.closing(WeirServer(folder)) as server:
        monkeypatch.setenv("WEIR_URL", server.url)
        shared.renew(**OPTIONS)
        try:
            yield server
        finally:
            shared.renew()
