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
from typing import Any, Iterator, List, Optional, Union

import pytest

import weir
from weir import local, shared
from weir.words import Ask

# A busy machine may take its time to answer, and a test learns nothing from a question that was given up.
OPTIONS = {"timeout": 30.0, "on_error": "raise"}


class WeirServer:
    """One test's."""

    def __init__(self, folder: str) -> None:
        self._folder = pathlib.Path(folder)
        self._limits: Optional[pathlib.Path] = None
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._clients: List[weir.Client] = []
        self.url = f"unix:{self._folder / 'weir.sock'}"
        self._start()
        self._own = self.connect()

    def connect(self, **options: Any) -> weir.Client:
        """A client of it, closed with the test. Without an answer it raises, unless `on_error` says otherwise."""
        client = weir.connect(self.url, **{**OPTIONS, **options})
        self._clients.append(client)
        return client

    def limits(self, text_or_path: Union[str, "os.PathLike[str]"]) -> None:
        """By this limits file: its path, or its text in several lines. It begins anew, except for another text: that is in
        force at once, and keys keep what they owe."""
        if isinstance(text_or_path, str) and "\n" in text_or_path:
            path = self._folder / "limits.yaml"
            path.write_text(text_or_path)
        else:
            path = pathlib.Path(text_or_path).resolve(strict=True)
        if path == self._limits:
            self._ask("WEIR.CONFIG", "RELOAD")
            return
        self.stop()
        self._limits = path
        self._start()

    def advance(self, seconds: float) -> None:
        """Time goes on, and what falls due until then is answered before this returns."""
        self._ask("WEIR.TIME", "ADVANCE", str(round(seconds * 1000)))

    @property
    def now(self) -> datetime.datetime:
        """Its wall clock."""
        return datetime.datetime.fromisoformat(self._ask("WEIR.TIME")[2].decode().replace("Z", "+00:00"))

    def stop(self) -> None:
        """Ends it, as an outage does; what still asks gets no answer."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def close(self) -> None:
        for each in self._clients:
            each.close()
        self.stop()

    def _ask(self, *words: str) -> Any:
        return self._own._reply(Ask(words[0], [each.encode() for each in words]))

    def _start(self) -> None:
        command = [local.program(), "local", "--virtual-time", "--foreground", "--socket", self.url[len("unix:") :]]
        if self._limits is not None:
            command += ["--limits", str(self._limits)]
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
