"""A throttle for Django REST framework: "weir.drf.Throttle" in DEFAULT_THROTTLE_CLASSES, or of a view

    class Search(APIView):
        throttle_classes = [weir.drf.Throttle.by("100/min", "1000/h")]     # for each user, or each address

Without a rule it asks by the limits file. Denied: 429 with Retry-After and the RateLimit fields, which other answers carry too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Callable, cast

from rest_framework.exceptions import APIException, ParseError
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from weir import identity, web
from weir.client import Client
from weir.core import OnError
from weir.django import DJANGO, request_attributes
from weir.web import Gate, Rules
from weir.words import Value


class Unasked(APIException):
    status_code = 503
    default_detail = "Service unavailable"


DRF = replace(
    DJANGO,
    attributes=lambda asked: asked[0].attributes(*asked[1:]),
    address=lambda asked: DJANGO.address(asked[1]),
    forwarded=lambda asked: DJANGO.forwarded(asked[1]),
    app=lambda asked, view: DJANGO.app(asked[1], view),
    name=lambda asked, view: asked[0].place(asked[2]),
    state=lambda asked: DJANGO.state(asked[1]),
)


class Throttle(BaseThrottle):
    """What a class derived from it says stands for these; `cost` and `exempt` may be methods, of the request and the view.
    Views share a limit by `name`; throttles of one view that have the same rule are kept apart by `scope`, or the view's
    throttle_scope."""

    rule: Rules = None
    name: str | None = None
    scope: str | None = None
    cost: Any = 1
    exempt: Any = None
    client: Client | None = None
    on_error: OnError | None = None
    _gate: Gate | None = None

    @classmethod
    def by(
        cls,
        *rules: str,
        key: str | Callable[[Any, APIView], str] | None = None,
        name: str | None = None,
        cost: int | Callable[[Any, APIView], int] | None = None,
        exempt: Callable[[Any, APIView], Any] | None = None,
    ) -> type[Throttle]:
        """A throttle by these rules; `key(request, view)` says what is counted together, `exempt(request, view)` who passes."""
        options = {"key": key, "cost": cost, "exempt": exempt}
        said = {each: staticmethod(it) if callable(it) else it for each, it in options.items() if it is not None}
        return cast(type[Throttle], type("Throttle", (cls,), {"rule": web.read(rules), "name": name, **said}))

    def attributes(self, request: Any, view: APIView) -> Mapping[str, Value]:
        return request_attributes(request)

    def key(self, request: Any, view: APIView) -> str:
        """Each user; without one the address."""
        user = request_attributes(request)["user"]
        return DRF.client((self, request, view)) if user is None else identity.key("user", str(user))

    def place(self, view: APIView) -> str:
        scope = self.scope or getattr(view, "throttle_scope", None)
        return web.place_of(type(view)) + (f" {scope}" if scope else "")

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls._made()  # tells now what is wrong with it

    @classmethod
    def _made(cls) -> Gate:
        def told(name: str) -> Any:
            return (lambda asked: getattr(asked[0], name)(*asked[1:])) if callable(getattr(cls, name)) else getattr(cls, name)

        rules = web.rules_of(cls.rule)
        return Gate(
            DRF,
            rules=rules,
            name=cls.name,
            key=told("key") if rules else None,
            attributes=None if cls.attributes is Throttle.attributes else DRF.attributes,
            cost=told("cost"),
            exempt=told("exempt"),
            client=cls.client,
            on_error=cls.on_error,
        )

    @classmethod
    def gate(cls) -> Gate:
        if "_gate" not in cls.__dict__:
            cls._gate = cls._made()
        assert cls._gate is not None
        return cls._gate

    def allow_request(self, request: Any, view: APIView) -> bool:
        answer = self.gate().check((self, request, view))
        view.headers.update(dict(answer.fields))  # of the answer, whatever it will be
        self._wait = answer.retry_after
        if answer.status == 400:
            raise ParseError(answer.text)
        if answer.status == 503:
            raise Unasked()
        return answer.status is None

    def wait(self) -> float | None:
        return self._wait
