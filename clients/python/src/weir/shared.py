"""The client of a process, for what is given none: `weir.connect()`, made at the first call. Thread-safe."""
from __future__ import annotations

import threading
from typing import Any, Dict, Optional

import weir.aio
from weir.client import Client, connect

_lock = threading.RLock()
_client: Optional[Client] = None
_aio_client: Optional[weir.aio.Client] = None
_options: Dict[str, Any] = {}


def client() -> Client:
    global _client
    with _lock:
        if _client is None:
            _client = connect(**_options)
        return _client


def aio_client() -> weir.aio.Client:
    """One for all event loops: each connects by itself."""
    global _aio_client
    with _lock:
        if _aio_client is None:
            _aio_client = weir.aio.connect(**_options)
        return _aio_client


def renew(**options: Any) -> None:
    """The next call makes new ones, with these options, where WEIR_URL says then."""
    global _client, _aio_client, _options
    with _lock:
        if _client is not None:
            _client.close()
        _client, _aio_client, _options = None, None, options
