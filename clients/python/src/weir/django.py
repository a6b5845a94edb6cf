"""Limits for Django: "weir.django.Middleware" in MIDDLEWARE, after AuthenticationMiddleware, asks about every request by the
limits file, and

    from weir.django import limit
    @limit("100/min")              # this view, for each address
    def search(request): ...

Denied: 429 with Retry-After and the RateLimit fields, which other answers carry too.
"""
from __future__ import annotations

import asyncio
import functools
from typing import Any, Callable, Dict, Mapping, Optional, cast

from asgiref.sync import markcoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponse

from weir.core import OnError
from weir.web import Answer, AnyClient, Attributes, Gate, Key, ViewT, identity, key_of
from weir.words import Value


def request_attributes(request: HttpRequest) -> Dict[str, Value]:
    """`user` is the key of request.user."""
    user = getattr(request, "user", None)
    return {"ip": address(request), "method": request.method, "path": request.path, "user": identity(getattr(user, "pk", None))}


def address(request: HttpRequest) -> Optional[str]:
    return request.META.get("REMOTE_ADDR") or None


class Middleware:
    """Asks about each request before a view sees it. What a class derived from it says stands for these."""

    sync_capable = async_capable = True
    client: AnyClient = None
    on_error: Optional[OnError] = None

    def attributes(self, request: HttpRequest) -> Mapping[str, Value]:
        return request_attributes(request)

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._get_response = get_response
        self._gate = Gate(self.attributes, client=type(self).client, on_error=type(self).on_error)
        self._async = asyncio.iscoroutinefunction(get_response)
        if self._async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if self._async:
            return self._called(request)
        answer = self._gate.check(request)
        return response_of(answer) if answer.status is not None else told(answer, self._get_response(request))

    async def _called(self, request: HttpRequest) -> HttpResponse:
        answer = await self._gate.check_async(request, sync_to_async(self._gate.question))
        return response_of(answer) if answer.status is not None else told(answer, await self._get_response(request))


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
    rule by the limits file. For a method, method_decorator of Django."""

    def decorate(view: ViewT) -> ViewT:
        which = key_of(view, address, key) if rule is not None else key
        gate = Gate(attributes, rule=rule, key=which, cost=cost, max_wait=max_wait, client=client, on_error=on_error)

        @functools.wraps(view)
        async def limited_async(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            async with gate.passing_async(request, sync_to_async(gate.question)) as answer:
                return response_of(answer) if answer.status is not None else told(answer, await view(request, *args, **kwargs))

        @functools.wraps(view)
        def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            with gate.passing(request) as answer:
                return response_of(answer) if answer.status is not None else told(answer, view(request, *args, **kwargs))

        return cast(ViewT, limited_async if asyncio.iscoroutinefunction(view) else limited)

    return decorate


def response_of(answer: Answer) -> HttpResponse:
    return told(answer, HttpResponse(answer.text, status=answer.status, content_type="text/plain"))


def told(answer: Answer, response: HttpResponse) -> HttpResponse:
    for name, value in answer.fields:
        if not response.has_header(name):
            response[name] = value
    return response
