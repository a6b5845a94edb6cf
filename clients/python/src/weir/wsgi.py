"""Limits for a WSGI application, whatever its framework: `app = weir.wsgi.Middleware(app)`.

Denied: 429 with Retry-After and the RateLimit fields, which other answers carry too.
"""
from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Tuple

from weir.client import Client
from weir.core import OnError
from weir.web import Attributes, Gate
from weir.words import Value

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def environ_attributes(environ: WSGIEnvironment) -> Dict[str, Value]:
    """`user` is REMOTE_USER, which a server or a middleware around this one sets."""
    path = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1").decode(errors="replace")
    return {
        "ip": environ.get("REMOTE_ADDR") or None,
        "method": environ["REQUEST_METHOD"],
        "path": path,
        "user": environ.get("REMOTE_USER") or None,
    }


class Middleware:
    """Asks about each request before the application sees it."""

    def __init__(
        self,
        app: WSGIApplication,
        *,
        client: Optional[Client] = None,
        attributes: Attributes = environ_attributes,
        on_error: Optional[OnError] = None,
    ) -> None:
        self._app = app
        self._gate = Gate(attributes, client=client, on_error=on_error)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer = self._gate.check(environ)
        if answer.status is not None:
            text = answer.text.encode()
            headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(text))), *answer.fields]
            start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", headers)
            return [text]

        def tell(status: str, headers: List[Tuple[str, str]], exc_info: Any = None, /) -> Any:
            return start_response(status, headers + answer.added(name for name, _ in headers), exc_info)

        return self._app(environ, tell)
