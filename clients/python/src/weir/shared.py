"""The client of a process, for what is given none: `weir.connect()`, made at the first call. Thread-safe."""

from __future__ import annotations

import threading
from typing import Any

import weir.aio
from weir.client import Client, connect

_lock = threading.RLock()
_client: Client | None = None
_aio_client: weir.aio.Client | None = None
_options: dict[str, Any] = {}


def client() -> Client:
    global _client
    found = _client
    if found is None:  # the lock is for the first call alone, so no fork finds it taken later
        with _lock:
            found = _client = _client or connect(**_options)
    return found


def aio_client() -> weir.aio.Client:
    """One for all event loops: each connects by itself."""
    global _aio_client
    found = _aio_client
    if found is None:
        with _lock:
            found = _aio_client = _aio_client or weir.aio.connect(**_options)
    return found


def renew(**options: Any) -> None:
    """The next call makes new ones, with these options, where WEIR_URL says then."""
    global _client, _aio_client, _options
    with _lock:
        if _client is not None:
            _client.close()
        _client, _aio_client, _options = None, None, options
