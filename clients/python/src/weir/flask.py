"""Limits for Flask.

    from weir.flask import Weir, limit
    Weir(app)                  # every request, by the limits file; after what sets g.user
    @app.get("/search")
    @limit("100/min")          # this view, for each address
    def search(): ...

Denied: Flask's own 429, which errorhandler(429) answers, with Retry-After and the RateLimit fields, which other answers carry
too.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, cast

from flask import Flask, Response, after_this_request, current_app, g, request
from werkzeug import exceptions
from werkzeug.datastructures import Headers

from weir import application, web
from weir.decision import Decision
from weir.web import Answer, OfAll, OfView, OnDenied, ViewT, user_id
from weir.words import Value

if TYPE_CHECKING:
    from typing_extensions import Unpack


class TooManyRequests(exceptions.TooManyRequests):
    """What a handler of 429 is given."""

    decision: Decision | None = None


def request_attributes(request: Any) -> dict[str, Value]:
    """`user` is g.user, or its id."""
    return {"ip": address(request), "method": request.method, "path": request.path, "user": user_id(g.get("user"))}


def address(request: Any) -> str | None:
    return request.remote_addr or None


def place(request: Any, view: Any) -> str:
    methods = request.url_rule.methods if request.url_rule is not None else None
    return web.with_method(request.endpoint or web.place_of(view), methods, view)


FLASK = web.Framework(
    attributes=request_attributes,
    address=address,
    forwarded=lambda request: request.headers.get("X-Forwarded-For"),
    trusts="app.wsgi_app = werkzeug.middleware.proxy_fix.ProxyFix(app.wsgi_app) takes the client's address from there",
    app=lambda request, view: application.of_import_name(current_app.import_name),
    name=place,
    state=lambda request: request.environ,
)


class Weir:
    """Asks about each request before the application sees it: by the limits file, or by `rules` for each address."""

    def __init__(self, app: Flask | None = None, **said: Unpack[OfAll]) -> None:
        self._gate = web.around_all(FLASK, None, said)
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        app.before_request(self._ask)
        app.after_request(self._tell)

    def _ask(self) -> Response | None:
        answer = self._gate.check(request)
        g._weir = answer
        return None if answer.status is None else refused(answer, self._gate.on_denied)

    def _tell(self, response: Response) -> Response:
        return told(g.get("_weir", Answer()), response)


def limit(*rules: str, **said: Unpack[OfView]) -> Callable[[ViewT], ViewT]:
    """Of a view, an async one too: `@limit("100/min", "1000/h")` for each address, `key=lambda request: ...` for what that
    says; without a rule by the limits file. It stands below @app.route. Views share a limit by `name`."""
    asked = web.read(rules)

    def decorate(view: ViewT) -> ViewT:
        gate = web.of_view(FLASK, view, asked, said)

        @functools.wraps(view)
        def limited(*args: Any, **kwargs: Any) -> Any:
            with gate.passing(request) as answer:
                if answer.status is not None:
                    return refused(answer, gate.on_denied)
                return told(answer, current_app.make_response(current_app.ensure_sync(view)(*args, **kwargs)))

        return cast(ViewT, limited)

    return decorate


def refused(answer: Answer, on_denied: OnDenied) -> Response:
    """What on_denied answers; else Flask's own error, with the fields on whatever its handler answers."""
    if answer.status == 429 and on_denied is not None:
        made = current_app.ensure_sync(on_denied)(request, cast(Decision, answer.decision))
        return told(answer, current_app.make_response(denial(made)))
    after_this_request(functools.partial(told, answer))
    if answer.status != 429:
        raise exceptions.default_exceptions[answer.status or 503](answer.text)
    error = TooManyRequests(answer.text)
    error.decision = answer.decision
    raise error


def denial(made: Any) -> Any:
    """With the status 429, where neither a response nor a tuple says one."""
    body, *more = made if isinstance(made, tuple) else (made,)
    says = callable(body) or (more and not isinstance(more[0], (Mapping, Headers, list, tuple)))
    return made if says else (body, 429, *more)


def told(answer: Answer, response: Response) -> Response:
    response.headers.extend(answer.added(response.headers.keys()))
    return response
