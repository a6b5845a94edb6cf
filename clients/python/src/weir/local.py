"""A local weir: `weir local`, which the first that comes starts and all share."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import threading

from weir.core import log
from weir.errors import Refused, Unavailable
from weir.url import Endpoint

_CONTAINER = "docker run --rm -p 127.0.0.1:6390:6390 weir --resp 0.0.0.0:6390 --insecure"
_START_SECONDS = 20


def program() -> str:
    """The program: WEIR_PROGRAM, the package's own, or the one in PATH."""
    named = os.environ.get("WEIR_PROGRAM")
    packaged = pathlib.Path(__file__).with_name("_program") / "weir"
    found = named or (str(packaged) if packaged.exists() else shutil.which("weir"))
    if found and os.access(found, os.X_OK):
        return found
    if not sys.platform.startswith("linux"):
        raise Unavailable(
            f"the weir program runs on Linux; here start its image, `{_CONTAINER}`, and connect to weir://127.0.0.1"
        )
    if named:
        raise Unavailable(f"WEIR_PROGRAM={named} is not a program")
    raise Unavailable(
        "the weir program is not in this package or in PATH, and WEIR_PROGRAM is not set: "
        "install weir-client with the program, or connect to a URL"
    )


class Local:
    """Starts it, or joins the one that runs; calling it again does so again, after it has ended by itself."""

    def __init__(self, limits: str | None, said: bool) -> None:
        if not said and os.environ.get("WEIR_LOCAL") == "never":
            raise ValueError("no URL: WEIR_LOCAL=never forbids a local weir; give a URL or set WEIR_URL")
        self._command: list[str] = [program(), "local"]
        if limits is not None:
            self._command += ["--limits", os.path.realpath(limits)]
        self._said = said
        self._lock = threading.Lock()

    def __call__(self) -> Endpoint:
        with self._lock:
            try:
                done = subprocess.run(self._command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_START_SECONDS)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise Unavailable(f"weir local did not start: {error}") from None
            if done.returncode != 0:
                lines = done.stderr.decode(errors="replace").strip()
                raise Refused(lines or f"weir local ended with exit code {done.returncode}")
            path = done.stdout.decode().strip().rpartition("unix:")[2]
            if not self._said:
                self._said = True
                log.warning("no URL and no WEIR_URL: counting in a local weir at unix:%s, for this machine alone", path)
            return Endpoint("", path=path)
