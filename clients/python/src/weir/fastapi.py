"""Limits for views of FastAPI and Starlette:

    from weir.fastapi import limit
    @app.get("/search")
    @limit("100/min")              # this view, for each address
    async def search(q: str): ...

Every request at once: `app.add_middleware(weir.asgi.Middleware)`. Denied: 429 with Retry-After and the RateLimit fields, which
other answers carry too.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from typing import TYPE_CHECKING, Any, Callable, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from weir import application, asgi, routes, web
from weir.core import at_once
from weir.decision import Decision
from weir.web import Answer, OfView, OnDenied, ViewT
from weir.words import Value

if TYPE_CHECKING:
    from typing_extensions import Unpack

REQUEST, RESPONSE = "weir_request", "weir_response"


def request_attributes(request: Request) -> dict[str, Value]:
    """`user` is request.state.user, or its id."""
    return asgi.scope_attributes(request.scope)


def place(request: Request, view: Any) -> str:
    found = routes.of(request.scope)
    if found is None:
        return web.place_of(view)
    path, route = found
    return web.with_method(path, getattr(route, "methods", None), view)


def app_of(request: Request, view: Any) -> str:
    """The application's, for a view may lie in another module than those that it shares a limit with."""
    app = request.scope.get("app")
    return application.of_object(app) if app is not None else application.of_module(web.unwrapped(view).__module__)


FASTAPI = web.Framework(
    attributes=request_attributes,
    address=lambda request: asgi.address(request.scope),
    forwarded=lambda request: asgi.forwarded(request.scope),
    trusts=asgi.ASGI.trusts,
    app=app_of,
    name=place,
    state=lambda request: request.scope,
)


def limit(*rules: str, **said: Unpack[OfView]) -> Callable[[ViewT], ViewT]:
    """Of a view, async or not: `@limit("100/min", "1000/h")` for each address, `key=lambda request: ...` for what that says;
    without a rule by the limits file. It stands below @app.get; the view needs no `request` for it. Views share a limit by
    `name`. on_denied answers a response, or what is sent as JSON with 429."""
    asked = web.read(rules)

    def decorate(view: ViewT) -> ViewT:
        gate = web.of_view(FASTAPI, view, asked, said)
        as_said, ours = signature(view)

        @functools.wraps(view)
        async def limited_async(*args: Any, **kwargs: Any) -> Any:
            request, response = taken(args, kwargs, ours)
            async with gate.passing_async(request) as answer:
                if answer.status is None:
                    return told(answer, await view(*args, **kwargs), response)
                return told(answer, denial(await web.awaited(refused(answer, gate.on_denied, request))), None)

        @functools.wraps(view)
        def limited(*args: Any, **kwargs: Any) -> Any:
            request, response = taken(args, kwargs, ours)
            with gate.passing(request) as answer:
                if answer.status is None:
                    return told(answer, view(*args, **kwargs), response)
                return told(answer, denial(at_once("on_denied", refused(answer, gate.on_denied, request))), None)

        found: Any = limited_async if inspect.iscoroutinefunction(view) else limited
        found.__signature__ = as_said
        return cast(ViewT, found)

    return decorate


def signature(view: Callable[..., Any]) -> tuple[inspect.Signature, list[str]]:
    """The view's, with the request and the response that FastAPI is to give: it gives one of each. And the names of those that
    the view does not know; one that is limited itself takes its own."""
    said = inspect.signature(view)
    try:  # FastAPI would look names up in this module
        hints = typing.get_type_hints(view, include_extras=True)
    except NameError:
        hints = {}
    parameters = [each.replace(annotation=hints.get(name, each.annotation)) for name, each in said.parameters.items()]
    last = parameters.pop() if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD else None
    ours = []
    for name, kind in ((REQUEST, Request), (RESPONSE, Response)):
        if not any(inspect.isclass(each.annotation) and issubclass(each.annotation, kind) for each in parameters):
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind))
            ours.append(name)
    found = said.replace(
        parameters=[*parameters, *([last] if last else [])], return_annotation=hints.get("return", said.return_annotation)
    )
    return found, ours


def taken(args: tuple[Any, ...], kwargs: dict[str, Any], ours: list[str]) -> tuple[Request, Response | None]:
    """What FastAPI gave, to us or to the view; Starlette gives the request alone."""
    given = [kwargs.pop(name) for name in ours if name in kwargs] + [*args, *kwargs.values()]
    request = next((each for each in given if isinstance(each, Request)), None)
    if request is None:
        raise TypeError("limit is for a view of FastAPI or Starlette: it was called without a request")
    return request, next((each for each in given if isinstance(each, Response)), None)


def refused(answer: Answer, on_denied: OnDenied, request: Request) -> Any:
    """What on_denied answers; else FastAPI's own error."""
    if answer.status == 429 and on_denied is not None:
        return on_denied(request, cast(Decision, answer.decision))
    error = HTTPException(answer.status or 503, answer.text, dict(answer.fields))
    error.decision = answer.decision  # type: ignore[attr-defined]
    raise error


def denial(made: Any) -> Response:
    """What is to become a response: a 429, in which the view's own model and status have no say."""
    if isinstance(made, Response):
        return made
    encoded = getattr(sys.modules.get("fastapi.encoders"), "jsonable_encoder", lambda it: it)
    return JSONResponse(encoded(made), 429)


def told(answer: Answer, result: Any, response: Response | None) -> Any:
    """Into the answer that the view made, or the one that FastAPI will make."""
    into = result if isinstance(result, Response) else response
    if into is not None:
        for name, value in answer.added(into.headers.keys()):
            into.headers[name] = value
    return result
