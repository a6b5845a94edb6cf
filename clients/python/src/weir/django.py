"""Limits for Django: "weir.django.Middleware" in MIDDLEWARE, after AuthenticationMiddleware, asks about every request by the
limits file, and

    from weir.django import limit
    @limit("100/min")              # this view, for each address
    def search(request): ...

Denied: 429, by your 429.html where there is one, with Retry-After and the RateLimit fields, which other answers carry too.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Callable, cast

from asgiref.sync import markcoroutinefunction, sync_to_async
from django import urls
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import TemplateDoesNotExist, loader
from django.utils import translation

from weir import application, web
from weir.core import OnError, at_once
from weir.decision import Decision
from weir.web import Answer, AnyClient, OfAll, OfView, OnDenied, Rules, ViewT, user_id
from weir.words import Value

if TYPE_CHECKING:
    from typing_extensions import Unpack


def request_attributes(request: HttpRequest) -> dict[str, Value]:
    """`user` is the key of request.user."""
    user = getattr(request, "user", None)
    return {"ip": address(request), "method": request.method, "path": request.path, "user": user_id(getattr(user, "pk", None))}


def address(request: HttpRequest) -> str | None:
    return request.META.get("REMOTE_ADDR") or None


def place(request: HttpRequest, view: Any) -> str:
    """The URL's name, else its pattern."""
    match = request.resolver_match
    if match is None:
        return web.with_method(web.place_of(view), None, view)
    return web.with_method(match.view_name if match.url_name else pattern(request, match.route), None, view)


def pattern(request: HttpRequest, route: str) -> str:
    """A route as it is written: what matched is in the language of the request, which its client chooses."""
    language = translation.get_language() if settings.USE_I18N else None
    if language is None:
        return route
    return _written(urls.get_resolver(getattr(request, "urlconf", None)), language).get(route, route)


@functools.lru_cache(maxsize=256)
def _written(resolver: Any, language: str) -> dict[str, str]:
    """What each route is called that reads so in this language; of two the first, as Django takes it."""
    with translation.override(language):
        read = list(_routes(resolver))
    with translation.override(None):
        return dict(reversed(list(zip(read, _routes(resolver)))))


def _routes(resolver: Any, before: str = "") -> Iterator[str]:
    for each in resolver.url_patterns:
        route = str(each.pattern)
        route = before + (route.removeprefix("^") if before else route)
        yield from _routes(each, route) if hasattr(each, "url_patterns") else [route]


DJANGO = web.Framework(
    attributes=request_attributes,
    address=address,
    forwarded=lambda request: request.META.get("HTTP_X_FORWARDED_FOR"),
    trusts="Django has no setting for it: let a middleware before weir's set REMOTE_ADDR from there, or give key=",
    app=lambda request, view: application.of_settings(getattr(settings, "SETTINGS_MODULE", None)),
    name=place,
    state=lambda request: request.META,
)


_WEIGHT = re.compile(r"[01]|[01]?\.[0-9]+")


class Middleware:
    """Asks about each request before a view sees it: by the limits file, or by `rules` for each address. What a class derived
    from it says stands for these; `key`, `exempt`, `cost` and `on_denied` may be methods."""

    sync_capable = async_capable = True
    rules: Rules = None
    name: str | None = None
    key: Any = None
    cost: Any = 1
    exempt: Any = None
    on_denied: Any = None
    client: AnyClient = None
    limits: str | None = None
    on_error: OnError | None = None

    def attributes(self, request: HttpRequest) -> Mapping[str, Value]:
        return request_attributes(request)

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._get_response = get_response
        ours = {"client": type(self).client, "on_error": type(self).on_error}  # no methods
        if type(self).attributes is Middleware.attributes:
            ours["attributes"] = None
        self._gate = web.around_all(DJANGO, None, cast(OfAll, {name: getattr(self, name) for name in web.OF_ALL} | ours))
        self._async = asyncio.iscoroutinefunction(get_response)
        if self._async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if self._async:
            return self._called(request)
        answer = self._gate.check(request)
        if answer.status is not None:
            return refused(answer, self._gate.on_denied, request)
        return told(answer, self._get_response(request))

    async def _called(self, request: HttpRequest) -> HttpResponse:
        answer = await self._gate.check_async(request, call_in_thread)
        if answer.status is not None:
            return await refused_async(answer, self._gate.on_denied, request)
        return told(answer, await self._get_response(request))


def limit(*rules: str, **said: Unpack[OfView]) -> Callable[[ViewT], ViewT]:
    """Of a view, async or not: `@limit("100/min", "1000/h")` for each address, `key=lambda request: ...` for what that says;
    without a rule by the limits file. For a method, method_decorator of Django. Views share a limit by `name`."""
    asked = web.read(rules)

    def decorate(view: ViewT) -> ViewT:
        gate = web.of_view(DJANGO, view, asked, said)

        @functools.wraps(view)
        async def limited_async(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            async with gate.passing_async(request, call_in_thread) as answer:
                if answer.status is not None:
                    return await refused_async(answer, gate.on_denied, request)
                return told(answer, await view(request, *args, **kwargs))

        @functools.wraps(view)
        def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            with gate.passing(request) as answer:
                if answer.status is not None:
                    return refused(answer, gate.on_denied, request)
                return told(answer, view(request, *args, **kwargs))

        return cast(ViewT, limited_async if asyncio.iscoroutinefunction(view) else limited)

    return decorate


async def call_in_thread(function: Callable[[HttpRequest], Any], request: HttpRequest) -> Any:
    """It may ask a database."""
    return await web.awaited(await sync_to_async(lambda: function(request))())


async def refused_async(answer: Answer, on_denied: OnDenied, request: HttpRequest) -> HttpResponse:
    if answer.status == 429 and on_denied is not None:
        decision = cast(Decision, answer.decision)
        return told(answer, await call_in_thread(lambda request: on_denied(request, decision), request))
    return cast(HttpResponse, await sync_to_async(refused)(answer, on_denied, request))


def refused(answer: Answer, on_denied: OnDenied, request: HttpRequest) -> HttpResponse:
    """What on_denied answers; else 429.html, or what the client reads."""
    if answer.status == 429 and on_denied is not None:
        return told(answer, at_once("on_denied", on_denied(request, cast(Decision, answer.decision))))
    if answer.status == 429:
        try:
            return told(answer, HttpResponse(loader.render_to_string("429.html", request=request), status=429))
        except TemplateDoesNotExist:
            pass
    accept = request.META.get("HTTP_ACCEPT", "")
    if wanted(accept, "application/json") > wanted(accept, "text/plain"):
        return told(answer, JsonResponse({"error": answer.text, "retry_after": answer.retry_after}, status=answer.status))
    return told(answer, HttpResponse(f"{answer.text}\n", status=answer.status, content_type="text/plain"))


def wanted(accept: str, kind: str) -> tuple[float, int, int]:
    """How much a client wants this kind, as Express sees it: by weight, then how narrowly it is said, then how early."""
    ranges = ["*/*", kind.partition("/")[0] + "/*", kind]
    found = [(-1, 0.0, 0)]
    for at, each in enumerate(accept.lower().split(",")):
        name, *parameters = (part.strip() for part in each.split(";"))
        weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        if name in ranges:
            found.append((ranges.index(name), float(weight) if _WEIGHT.fullmatch(weight) else 0.0, -at))
    narrow, q, early = max(found)
    return (q, narrow, early) if q else (0.0, 0, 0)


def told(answer: Answer, response: HttpResponse) -> HttpResponse:
    for name, value in answer.fields:
        if not response.has_header(name):
            response[name] = value
    return response
