"""The client of a process, for what is given none: `weir.connect()`, made at the first call. Thread-safe without a lock, which
gevent or a fork might find taken: of two that are made at once one is never used."""

from __future__ import annotations

from typing import Any

import weir.aio
from weir import fork
from weir.client import Client, connect

_clients: dict[str, Any] = {}
_options: dict[str, Any] = {}


def client() -> Client:
    found: Client | None = _clients.get("sync")
    return found if found is not None else _clients.setdefault("sync", connect(**_options))


def aio_client() -> weir.aio.Client:
    """One for all event loops: each connects by itself."""
    found: weir.aio.Client | None = _clients.get("aio")
    return found if found is not None else _clients.setdefault("aio", weir.aio.connect(**_options))


def renew(**options: Any) -> None:
    """The next call makes new ones, with these options, where WEIR_URL says then; and so asks every client that was given no
    URL."""
    for each in fork.clients():
        each.look_again()
    _clients.clear()
    _options.clear()
    _options.update(options)
