"""A throttle for Django REST framework: "weir.drf.Throttle" in DEFAULT_THROTTLE_CLASSES, or of a view

    class Search(APIView):
        throttle_classes = [weir.drf.Throttle.by("100/min")]     # for each user, or each address

Without a rule it asks by the limits file. Denied: 429 with Retry-After and the RateLimit fields, which other answers carry too.
"""
from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Type, cast

from rest_framework.exceptions import APIException, ParseError
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from weir.client import Client
from weir.core import OnError
from weir.django import address, request_attributes
from weir.web import Gate
from weir.words import Value


class Unasked(APIException):
    status_code = 503
    default_detail = "Service unavailable"


class Throttle(BaseThrottle):
    """What a class derived from it says stands for these."""

    rule: Optional[str] = None
    cost: int = 1
    client: Optional[Client] = None
    on_error: Optional[OnError] = None
    _gate: Optional[Gate] = None

    @classmethod
    def by(cls, rule: str, key: Optional[Callable[[Any, APIView], str]] = None) -> Type[Throttle]:
        """A throttle by this rule; `key(request, view)` says what is counted together."""
        said: "dict[str, Any]" = {"rule": rule}
        if key is not None:
            said["key"] = lambda self, request, view: key(request, view)
        made = cast(Type[Throttle], type("Throttle", (cls,), said))
        made.gate()  # a rule that is none is told now
        return made

    def attributes(self, request: Any, view: APIView) -> Mapping[str, Value]:
        return request_attributes(request)

    def key(self, request: Any, view: APIView) -> str:
        """A counter for each user, or address, of each view."""
        said = request_attributes(request)
        who = f"user:{said['user']!s}" if said["user"] is not None else f"ip:{address(request)}"
        return f"{type(view).__module__}.{type(view).__qualname__}:{who}"

    @classmethod
    def gate(cls) -> Gate:
        if "_gate" not in cls.__dict__:
            cls._gate = Gate(
                lambda asked: asked[0].attributes(*asked[1:]),
                rule=cls.rule,
                key=(lambda asked: asked[0].key(*asked[1:])) if cls.rule is not None else None,
                cost=cls.cost,
                client=cls.client,
                on_error=cls.on_error,
            )
        assert cls._gate is not None
        return cls._gate

    def allow_request(self, request: Any, view: APIView) -> bool:
        answer = self.gate().check((self, request, view))
        view.headers.update(dict(answer.fields))  # of the answer, whatever it will be
        self._wait = answer.retry_after
        if answer.status == 400:
            raise ParseError(answer.text.strip())
        if answer.status == 503:
            raise Unasked()
        return answer.status is None

    def wait(self) -> Optional[float]:
        return self._wait
