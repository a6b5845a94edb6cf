"""Limits for a WSGI application, whatever its framework: `app = weir.wsgi.Middleware(app)`.

Denied: 429 with Retry-After and the RateLimit fields, which other answers carry too.
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from weir import application, web
from weir.web import OfAll
from weir.words import Value

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment
    from typing_extensions import Unpack


def environ_attributes(environ: WSGIEnvironment) -> dict[str, Value]:
    """`user` is REMOTE_USER, which a server or a middleware around this one sets."""
    path = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1").decode(errors="replace")
    return {
        "ip": address(environ),
        "method": environ["REQUEST_METHOD"],
        "path": path,
        "user": environ.get("REMOTE_USER") or None,
    }


def address(environ: WSGIEnvironment) -> str | None:
    return environ.get("REMOTE_ADDR") or None


WSGI = web.Framework(
    attributes=environ_attributes,
    address=address,
    forwarded=lambda environ: environ.get("HTTP_X_FORWARDED_FOR"),
    trusts="werkzeug.middleware.proxy_fix.ProxyFix, around this middleware, takes the client's address from there",
    app=lambda environ, app: application.of_object(app),
    name=lambda environ, app: web.EVERYWHERE,
    state=lambda environ: environ,
)


class Middleware:
    """Asks about each request before the application sees it: by the limits file, or by `rules` for each address. `key`,
    `exempt` and `on_denied` are functions of the environ; on_denied answers a WSGI application, as Werkzeug's responses are."""

    def __init__(self, app: WSGIApplication, **said: Unpack[OfAll]) -> None:
        self._app = app
        self._gate = web.around_all(WSGI, app, said)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer = self._gate.check(environ)

        def tell(status: str, headers: list[tuple[str, str]], exc_info: Any = None, /) -> Any:
            return start_response(status, headers + answer.added(name for name, _ in headers), exc_info)

        app = self._app
        if answer.status == 429 and answer.decision is not None and self._gate.on_denied is not None:
            app = self._gate.on_denied(environ, answer.decision)
        elif answer.status is not None:
            text = f"{answer.text}\n".encode()
            headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(text)))]
            tell(f"{answer.status} {HTTPStatus(answer.status).phrase}", headers)
            return [text]
        return app(environ, tell)
