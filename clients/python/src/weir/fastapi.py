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
import typing
from typing import Any, Callable, Dict, Optional, Tuple, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from weir import asgi
from weir.core import OnError
from weir.web import Answer, AnyClient, Attributes, Gate, Key, ViewT, key_of
from weir.words import Value

REQUEST, RESPONSE = "weir_request", "weir_response"


def request_attributes(request: Request) -> Dict[str, Value]:
    """`user` is request.state.user, or its id."""
    return asgi.scope_attributes(request.scope)


def address(request: Request) -> Optional[str]:
    return asgi.address(request.scope)


def limit(
    rule: Optional[str] = None,
    *,
    key: Key = None,
    attributes: Attributes = request_attributes,
    cost: int = 1,
    max_wait: Optional[float] = None,
    client: AnyClient = None,
    on_error: Optional[OnError] = None,
) -> Callable[[ViewT], ViewT]:
    """Of a view, async or not: `@limit("100/min")` for each address, `key=lambda request: ...` for what that says; without a
    rule by the limits file. It stands below @app.get; the view needs no `request` for it."""

    def decorate(view: ViewT) -> ViewT:
        which = key_of(view, address, key) if rule is not None else key
        gate = Gate(attributes, rule=rule, key=which, cost=cost, max_wait=max_wait, client=client, on_error=on_error)

        @functools.wraps(view)
        async def limited_async(*args: Any, **kwargs: Any) -> Any:
            request, response = taken(args, kwargs)
            async with gate.passing_async(request) as answer:
                refuse(answer)
                return told(answer, await view(*args, **kwargs), response)

        @functools.wraps(view)
        def limited(*args: Any, **kwargs: Any) -> Any:
            request, response = taken(args, kwargs)
            with gate.passing(request) as answer:
                refuse(answer)
                return told(answer, view(*args, **kwargs), response)

        found: Any = limited_async if inspect.iscoroutinefunction(view) else limited
        found.__signature__ = signature(view)
        return cast(ViewT, found)

    return decorate


def signature(view: Callable[..., Any]) -> inspect.Signature:
    """The view's, with the request and the response that FastAPI is to give: it gives one of each."""
    said = inspect.signature(view)
    try:  # FastAPI would look names up in this module
        hints = typing.get_type_hints(view, include_extras=True)
    except NameError:
        hints = {}
    parameters = [each.replace(annotation=hints.get(name, each.annotation)) for name, each in said.parameters.items()]
    last = parameters.pop() if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD else None
    for name, kind in ((REQUEST, Request), (RESPONSE, Response)):
        if not any(inspect.isclass(each.annotation) and issubclass(each.annotation, kind) for each in parameters):
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind))
    return said.replace(
        parameters=[*parameters, *([last] if last else [])], return_annotation=hints.get("return", said.return_annotation)
    )


def taken(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Request, Optional[Response]]:
    """What FastAPI gave, to us or to the view; Starlette gives the request alone."""
    given = [kwargs.pop(name) for name in (REQUEST, RESPONSE) if name in kwargs] + [*args, *kwargs.values()]
    request = next((each for each in given if isinstance(each, Request)), None)
    if request is None:
        raise TypeError("limit is for a view of FastAPI or Starlette: it was called without a request")
    return request, next((each for each in given if isinstance(each, Response)), None)


def refuse(answer: Answer) -> None:
    if answer.status is not None:
        raise HTTPException(answer.status, answer.text.strip(), dict(answer.fields))


def told(answer: Answer, result: Any, response: Optional[Response]) -> Any:
    """Into the answer that the view made, or the one that FastAPI will make."""
    into = result if isinstance(result, Response) else response
    if into is not None:
        for name, value in answer.added(into.headers.keys()):
            into.headers[name] = value
    return result
