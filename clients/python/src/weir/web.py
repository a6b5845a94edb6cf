"""What the adapters of web frameworks share: what is asked about a request, and what its client is told. It knows no
framework."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import (
    Any,
    Callable,
    TypeVar,
    Union,
)

from weir import aio, rules, shared
from weir.client import Client
from weir.core import OnError, log
from weir.decision import Decision, Question
from weir.errors import Denied, Error, Refused, Unavailable
from weir.words import Value

Attributes = Callable[[Any], Mapping[str, Value]]
Key = Union[str, Callable[[Any], str], None]
AnyClient = Union[Client, aio.Client, None]
ViewT = TypeVar("ViewT", bound=Callable[..., Any])

TEXTS = {400: "Bad request\n", 429: "Too many requests\n", 503: "Service unavailable\n"}
LACKS = ": the request has no attribute '"
COMPLAINS_EVERY = 60.0  # seconds
RETRY_SECONDS = 1  # what a client is told while weir is away and on_error denies


@dataclass(frozen=True)
class Answer:
    """What becomes of a request. `status` None: the application answers, and its answer carries `fields`."""

    status: int | None = None
    fields: tuple[tuple[str, str], ...] = ()
    retry_after: float | None = None

    @property
    def text(self) -> str:
        return TEXTS[self.status or 503]

    def added(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """The fields for an answer that has these already: what is nearer to the view has told them first."""
        there = {name.lower() for name in names}
        return [(name, value) for name, value in self.fields if name.lower() not in there]


def identity(user: Any) -> str | None:
    """What names a user: an id, or that of an object. The text of another object may be another one for each request."""
    if user is None or user == "":
        return None
    for name in ("pk", "id"):
        if hasattr(user, name):
            return identity(getattr(user, name))
    if isinstance(user, (str, int, uuid.UUID)):
        return str(user)
    raise TypeError(f"the user is a {type(user).__name__} without an id: give attributes=, a function that says who it is")


@dataclass(frozen=True)
class Asked:
    """By a key and its rule, or by attributes."""

    rules: tuple[str, ...]
    attributes: Mapping[str, Value]

    def told(self) -> Question:
        rules = ((self.rules[0], self.rules[1]),) if self.rules else ()
        return Question("check", rules, tuple((name, str(value)) for name, value in self.attributes.items()))


Describe = Callable[[Any], Awaitable[Asked]]


class Gate:
    """Asks about requests, by the attributes of a limits file or by one rule; the middleware and decorators of a framework
    are around it. Thread-safe."""

    def __init__(
        self,
        attributes: Attributes,
        *,
        rule: str | None = None,
        key: Key = None,
        cost: int = 1,
        max_wait: float | None = None,
        client: AnyClient = None,
        on_error: OnError | None = None,
    ) -> None:
        if rule is None and key is not None:
            raise TypeError("key needs a rule, as in limit('100/min', key=...); without a rule a limits file says what counts")
        if on_error is not None and not callable(on_error) and on_error not in ("allow", "deny", "raise"):
            raise ValueError(f"on_error is 'allow', 'deny', 'raise' or a function, not {on_error!r}")
        self._attributes, self._key, self._cost, self._max_wait = attributes, key, cost, max_wait
        self._rule = rules.one(rule) if rule is not None else None
        self._client, self._on_error = client, on_error
        self._complained: float | None = None

    def check(self, request: Any) -> Answer:
        question = self.question(request)
        try:
            return self._told(self._sync().check(*question.rules, **self._said(question)), question)
        except Error as error:
            return self._failed(error, question)

    async def check_async(self, request: Any, describe: Describe | None = None) -> Answer:
        """`describe` is question(), where that may block."""
        question = await describe(request) if describe else self.question(request)
        try:
            return self._told(await self._async().check(*question.rules, **self._said(question)), question)
        except Error as error:
            return self._failed(error, question)

    @contextlib.contextmanager
    def passing(self, request: Any) -> Generator[Answer, None, None]:
        """Around a view: with max_wait it waits first, and what was held is settled when the view has ended."""
        if self._max_wait is None:
            yield self.check(request)
            return
        question = self.question(request)
        with contextlib.ExitStack() as stack:
            try:
                reservation = self._sync().acquire(*question.rules, max_wait=self._max_wait, **self._said(question))
                answer = self._told(stack.enter_context(reservation).decision, question)
            except Error as error:
                answer = self._failed(error, question)
            yield answer

    @contextlib.asynccontextmanager
    async def passing_async(self, request: Any, describe: Describe | None = None) -> AsyncGenerator[Answer, None]:
        if self._max_wait is None:
            yield await self.check_async(request, describe)
            return
        question = await describe(request) if describe else self.question(request)
        async with contextlib.AsyncExitStack() as stack:
            try:
                reservation = await self._async().acquire(*question.rules, max_wait=self._max_wait, **self._said(question))
                answer = self._told((await stack.enter_async_context(reservation)).decision, question)
            except Error as error:
                answer = self._failed(error, question)
            yield answer

    def question(self, request: Any) -> Asked:
        if self._rule is None:
            return Asked((), {name: value for name, value in self._attributes(request).items() if value is not None})
        return Asked((self._key(request) if callable(self._key) else str(self._key), self._rule), {})

    def _sync(self) -> Client:
        if isinstance(self._client, aio.Client):
            raise TypeError("this view blocks: its client is one of weir.connect(), not of weir.aio")
        return self._client or shared.client()

    def _async(self) -> aio.Client:
        if isinstance(self._client, Client):
            raise TypeError("this view is async: its client is one of weir.aio.connect()")
        return self._client or shared.aio_client()

    def _said(self, question: Asked) -> dict[str, Any]:
        return {"cost": self._cost, "fields": True, "attributes": question.attributes}

    def _told(self, decision: Decision, question: Asked) -> Answer:
        if isinstance(decision.error, Unavailable):
            allowed = decision.allowed if self._on_error is None else self._instead(decision.error, question)
            return PASSES if allowed else AWAY
        return Answer(None if decision.allowed else 429, decision.fields, decision.retry_after)

    def _failed(self, error: Error, question: Asked) -> Answer:
        if isinstance(error, Denied):
            return self._told(error.decision, question)
        if isinstance(error, Unavailable):
            if self._on_error is None:
                raise error
            return PASSES if self._instead(error, question) else AWAY
        if isinstance(error, Refused) and LACKS in str(error):
            return Answer(400)
        self._complain(error)
        return Answer(503)

    def _instead(self, error: Unavailable, question: Asked) -> bool:
        if self._on_error == "raise":
            raise error
        if callable(self._on_error):
            return bool(self._on_error(error, question.told()))
        return self._on_error == "allow"

    def _complain(self, error: Error) -> None:
        now = time.monotonic()
        if self._complained is None or now >= self._complained + COMPLAINS_EVERY:
            self._complained = now
            log.error("weir cannot be asked like this, requests get 503: %s", error)


PASSES = Answer()
AWAY = Answer(503, (("Retry-After", str(RETRY_SECONDS)),), RETRY_SECONDS)


def key_of(view: Callable[..., Any], address: Callable[[Any], str | None], key: Key) -> Key:
    """A counter for each client of the view, unless a key says otherwise."""
    name = f"{view.__module__}.{view.__qualname__}"
    return key if key is not None else lambda request: f"{name}:{address(request)}"
