"""Limits for Flask.

    from weir.flask import Weir, limit
    Weir(app)                  # every request, by the limits file; after what sets g.user
    @app.get("/search")
    @limit("100/min")          # this view, for each address
    def search(): ...

Denied: 429 with Retry-After and the RateLimit fields, which other answers carry too.
"""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Optional, cast

from flask import Flask, Response, current_app, g, request

from weir.client import Client
from weir.core import OnError
from weir.web import Answer, Attributes, Gate, Key, ViewT, identity, key_of
from weir.words import Value


def request_attributes(request: Any) -> Dict[str, Value]:
    """`user` is g.user, or its id."""
    return {"ip": address(request), "method": request.method, "path": request.path, "user": identity(g.get("user"))}


def address(request: Any) -> Optional[str]:
    return request.remote_addr or None


class Weir:
    """Asks about each request before the application sees it."""

    def __init__(
        self,
        app: Optional[Flask] = None,
        *,
        client: Optional[Client] = None,
        attributes: Attributes = request_attributes,
        on_error: Optional[OnError] = None,
    ) -> None:
        self._gate = Gate(attributes, client=client, on_error=on_error)
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        app.before_request(self._ask)
        app.after_request(self._tell)

    def _ask(self) -> Optional[Response]:
        answer = self._gate.check(request)
        g._weir = answer
        return None if answer.status is None else response_of(answer)

    def _tell(self, response: Response) -> Response:
        return told(g.get("_weir", Answer()), response)


def limit(
    rule: Optional[str] = None,
    *,
    key: Key = None,
    attributes: Attributes = request_attributes,
    cost: int = 1,
    max_wait: Optional[float] = None,
    client: Optional[Client] = None,
    on_error: Optional[OnError] = None,
) -> Callable[[ViewT], ViewT]:
    """Of a view, an async one too: `@limit("100/min")` for each address, `key=lambda request: ...` for what that says; without
    a rule by the limits file. It stands below @app.route."""

    def decorate(view: ViewT) -> ViewT:
        which = key_of(view, address, key) if rule is not None else key
        gate = Gate(attributes, rule=rule, key=which, cost=cost, max_wait=max_wait, client=client, on_error=on_error)

        @functools.wraps(view)
        def limited(*args: Any, **kwargs: Any) -> Any:
            with gate.passing(request) as answer:
                if answer.status is not None:
                    return response_of(answer)
                return told(answer, current_app.make_response(current_app.ensure_sync(view)(*args, **kwargs)))

        return cast(ViewT, limited)

    return decorate


def response_of(answer: Answer) -> Response:
    return told(answer, Response(answer.text, answer.status, mimetype="text/plain"))


def told(answer: Answer, response: Response) -> Response:
    response.headers.extend(answer.added(response.headers.keys()))
    return response
