"""What the adapters of web frameworks share: what is asked about a request, and what its client is told. It knows no
framework."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import math
import sys
import uuid
from collections.abc import AsyncGenerator, Awaitable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import (
    Any,
    Callable,
    TypedDict,
    TypeVar,
    Union,
    cast,
)

from weir import aio, application, identity, rules, shared
from weir.client import Client, connect
from weir.core import OnError, at_once, check_on_error, complain, log
from weir.decision import Decision, Question
from weir.errors import Denied, Error, Refused, Unavailable
from weir.words import Value

Attributes = Callable[[Any], Mapping[str, Value]]
Key = Union[str, Callable[[Any], str], None]
Cost = Union[int, Callable[[Any], int]]
Exempt = Union[Callable[[Any], Any], None]
Rules = Union[str, Iterable[str], None]
OnDenied = Union[Callable[[Any, Decision], Any], None]
AnyClient = Union[Client, aio.Client, None]
ViewT = TypeVar("ViewT", bound=Callable[..., Any])

TEXTS = {400: "Bad request", 429: "Too many requests", 503: "Service unavailable"}
LACKS = ": the request has no attribute '"
RETRY_SECONDS = 1  # what a client is told while weir is away and on_error denies
EVERYWHERE = "*"  # the name of a limit around a whole application
METHODS = {"get", "head", "post", "put", "patch", "delete", "options", "trace"}
CHARGED = "weir.charged"  # what a request has paid for

# Whose frames are around a view while it runs, and in the threads of those that block.
_RUNS_VIEWS = {
    ("flask.app", "full_dispatch_request"),
    ("django.core.handlers.base", "_get_response"),
    ("django.core.handlers.base", "_get_response_async"),
    ("fastapi.routing", "app"),
    ("starlette.routing", "app"),
}
_RUNS_THREADS = {("asgiref.sync", "thread_handler"), ("anyio._backends._asyncio", "run")}


@dataclass(frozen=True)
class Answer:
    """What becomes of a request. `status` None: the application answers, and its answer carries `fields`."""

    status: int | None = None
    fields: tuple[tuple[str, str], ...] = ()
    retry_after: float | None = None
    decision: Decision | None = None

    @property
    def text(self) -> str:
        return TEXTS[self.status or 503]

    def added(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """The fields for an answer that has these already: what is nearer to the view has told them first."""
        there = {name.lower() for name in names}
        return [(name, value) for name, value in self.fields if name.lower() not in there]


def user_id(user: Any) -> str | None:
    """What names a user: an id, or that of an object. The text of another object may be another one for each request."""
    if user is None or user == "":
        return None
    for name in ("pk", "id"):
        if hasattr(user, name):
            return user_id(getattr(user, name))
    if isinstance(user, (str, int, uuid.UUID)):
        return str(user)
    raise TypeError(f"the user is a {type(user).__name__} without an id: give attributes=, a function that says who it is")


@dataclass(frozen=True)
class Framework:
    """How a framework tells what a limit counts by. A `view` is what the limit is around, or the application."""

    attributes: Attributes  # what a limits file is asked with, unless a limit says it
    address: Callable[[Any], str | None]
    forwarded: Callable[[Any], str | None]  # X-Forwarded-For
    trusts: str  # the setting by which the client's address is taken from there
    app: Callable[[Any, Any], str]
    name: Callable[[Any, Any], str]
    state: Callable[[Any], Any]  # a mapping that lives as long as the request
    _told: set[str] = field(default_factory=set[str])  # of its trouble

    def client(self, request: Any) -> str:
        """Whom a request comes from, as it is counted."""
        address = self.address(request)
        if not address:
            raise RuntimeError("no address: this request's connection has none, so its limit needs key=, which says who asks")
        self.doubt(request, address)
        return identity.who(address)

    def doubt(self, request: Any, address: str) -> None:
        """Says once that an address may be a proxy's: requests come with those that it forwards for, and it is none of them."""
        forwarded = self.forwarded(request)
        if (
            not forwarded
            or self._told
            or identity.who(address) in (identity.who(each.strip()) for each in forwarded.split(","))
        ):
            return
        self._told.add(address)
        log.warning(
            "requests come with X-Forwarded-For: %s, and are counted by the address of the connection, %s: if that is a proxy "
            "of yours, all of its clients share one limit. %s",
            forwarded[:100],
            address,
            self.trusts,
        )


@dataclass(frozen=True)
class Asked:
    """By keys and their rules, or by attributes."""

    rules: Mapping[str, str]
    attributes: Mapping[str, Value]
    cost: int

    def told(self) -> Question:
        return Question(
            "check", tuple(self.rules.items()), tuple((name, str(value)) for name, value in self.attributes.items())
        )


# What a question is made of: functions that a limit was given, each with its option's name, are called between the steps.
Steps = Generator[tuple[str, Callable[..., Any]], Any, Union[Asked, None]]
Call = Callable[[Callable[[Any], Any], Any], Awaitable[Any]]


async def awaited(said: Any) -> Any:
    return await said if inspect.isawaitable(said) else said


async def call_here(function: Callable[[Any], Any], request: Any) -> Any:
    return await awaited(function(request))


def asked_now(steps: Steps, *args: Any, **named: Any) -> Asked | None:
    """What is asked, where nothing can be awaited."""
    said = None
    while True:
        try:
            name, function = steps.send(said)
        except StopIteration as done:
            return cast("Asked | None", done.value)
        said = at_once(name, function(*args, **named))


async def asked_later(steps: Steps, call: Callable[[Callable[..., Any]], Awaitable[Any]]) -> Asked | None:
    """As asked_now(), of functions that may be async."""
    said = None
    while True:
        try:
            _, function = steps.send(said)
        except StopIteration as done:
            return cast("Asked | None", done.value)
        said = await call(function)


class Said(TypedDict, total=False):
    """What a limit may be told, around a view or an application."""

    name: str | None
    key: Key
    attributes: Attributes
    cost: Cost
    exempt: Exempt
    on_denied: OnDenied
    client: AnyClient
    on_error: OnError | None


class OfView(Said, total=False):
    max_wait: float | None


class OfAll(Said, total=False):
    rules: Rules
    limits: str | None


_FORMS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "name": ("text, and not empty", lambda said: isinstance(said, str) and said != ""),
    "key": ("text or a function", lambda said: isinstance(said, (str, bytes)) or callable(said)),
    "attributes": ("a function", callable),
    "cost": ("a whole number from 0 or a function", lambda said: callable(said) or (type(said) is int and said >= 0)),
    "exempt": ("a function", callable),
    "on_denied": ("a function", callable),
    "max_wait": ("a number of seconds from 0", lambda said: type(said) in (int, float) and 0 <= said < math.inf),
    "client": ("what weir.connect() or weir.aio.connect() makes", lambda said: isinstance(said, (Client, aio.Client))),
}
OF_VIEW, OF_ALL = sorted(OfView.__optional_keys__), sorted(OfAll.__optional_keys__)


class Gate:
    """Asks about requests, by the attributes of a limits file or by rules; the middleware and decorators of a framework are
    around it. Thread-safe."""

    def __init__(
        self,
        framework: Framework,
        *,
        view: Any = None,
        rules: tuple[str, ...] = (),
        name: str | None = None,
        key: Key = None,
        attributes: Attributes | None = None,
        cost: Cost = 1,
        exempt: Exempt = None,
        on_denied: OnDenied = None,
        max_wait: float | None = None,
        client: AnyClient = None,
        limits: str | None = None,
        on_error: OnError | None = None,
    ) -> None:
        if limits is not None and client is not None:
            raise TypeError("limits is for the client that is made here: connect() takes it of yours")
        check_options(
            name=name,
            key=key,
            attributes=attributes,
            cost=cost,
            exempt=exempt,
            on_denied=on_denied,
            max_wait=max_wait,
            client=client,
        )
        if rules and attributes is not None:
            raise TypeError("attributes= is for a limits file: limit by rules or by attributes, not by both")
        for what, said in (("key", key), ("name", name)):
            if not rules and said is not None:
                raise TypeError(
                    f"{what} needs a rule, as in limit('100/min', {what}=...); without a rule a limits file says what counts"
                )
        if on_error is not None:
            check_on_error(on_error)
        self._framework, self._view, self._rules, self._name = framework, view, rules, name
        self._attributes, self._key, self._cost, self._max_wait = attributes or framework.attributes, key, cost, max_wait
        self._exempt, self.on_denied = exempt, on_denied
        self._client, self._limits, self._on_error = client, limits, on_error

    def check(self, request: Any) -> Answer:
        client = self._sync()
        question = asked_now(self._steps(request, client), request)
        if question is None:
            return PASSES
        try:
            return self._told(client.check(question.rules or None, **self._said(question)), question, request, client)
        except Error as error:
            return self._failed(error, question, request, client)

    async def check_async(self, request: Any, call: Call = call_here) -> Answer:
        """`call` is for functions that may block."""
        client = self._async()
        question = await asked_later(self._steps(request, client), lambda function: call(function, request))
        if question is None:
            return PASSES
        try:
            return self._told(await client.check(question.rules or None, **self._said(question)), question, request, client)
        except Error as error:
            return self._failed(error, question, request, client)

    @contextlib.contextmanager
    def passing(self, request: Any) -> Generator[Answer, None, None]:
        """Around a view: with max_wait it waits first, and what was held is settled when the view has ended."""
        if self._max_wait is None:
            yield self.check(request)
            return
        client = self._sync()
        question = asked_now(self._steps(request, client), request)
        if question is None:
            yield PASSES
            return
        with contextlib.ExitStack() as stack:
            try:
                reservation = client.acquire(question.rules or None, max_wait=self._max_wait, **self._said(question))
                answer = self._told(stack.enter_context(reservation).decision, question, request, client)
            except Error as error:
                answer = self._failed(error, question, request, client)
            yield answer

    @contextlib.asynccontextmanager
    async def passing_async(self, request: Any, call: Call = call_here) -> AsyncGenerator[Answer, None]:
        if self._max_wait is None:
            yield await self.check_async(request, call)
            return
        client = self._async()
        question = await asked_later(self._steps(request, client), lambda function: call(function, request))
        if question is None:
            yield PASSES
            return
        async with contextlib.AsyncExitStack() as stack:
            try:
                reservation = await client.acquire(question.rules or None, max_wait=self._max_wait, **self._said(question))
                answer = self._told((await stack.enter_async_context(reservation)).decision, question, request, client)
            except Error as error:
                answer = self._failed(error, question, request, client)
            yield answer

    def _steps(self, request: Any, client: Client | aio.Client) -> Steps:
        """None: it passes unasked."""
        if self._exempt is not None and (yield "exempt", self._exempt):
            return None
        cost = (yield "cost", self._cost) if callable(self._cost) else self._cost
        if not self._rules:
            said = {name: value for name, value in (yield "attributes", self._attributes).items() if value is not None}
            address = self._framework.address(request)
            if address and said.get("ip") == address:
                self._framework.doubt(request, address)
            return Asked({}, said, cost)
        app = application.named(client, lambda: self._framework.app(request, self._view))
        name = self._name if self._name is not None else self._framework.name(request, self._view)
        if self._key is None:
            who: str | bytes = self._framework.client(request)
        else:
            who = key_text((yield "key", self._key) if callable(self._key) else self._key)
        charged = self._framework.state(request).get(CHARGED, ())
        keys = identity.keys(app, name, who, self._rules)
        asked = {key: rule for key, rule in keys.items() if (client.place, key) not in charged}
        return Asked(asked, {}, cost) if asked else None

    def _sync(self) -> Client:
        if isinstance(self._client, aio.Client):
            raise TypeError("this view blocks: its client is one of weir.connect(), not of weir.aio")
        if self._client is None and self._limits is not None:
            self._client = connect(limits=self._limits)
        return self._client or shared.client()

    def _async(self) -> aio.Client:
        if isinstance(self._client, Client):
            raise TypeError("this view is async: its client is one of weir.aio.connect()")
        if self._client is None and self._limits is not None:
            self._client = aio.connect(limits=self._limits)
        return self._client or shared.aio_client()

    def _said(self, question: Asked) -> dict[str, Any]:
        return {"cost": question.cost, "fields": True, "attributes": question.attributes}

    def _told(self, decision: Decision, question: Asked, request: Any, client: Client | aio.Client) -> Answer:
        if isinstance(decision.error, Unavailable):
            allowed = decision.allowed if self._on_error is None else self._instead(decision.error, question)
            return PASSES if allowed else AWAY
        if decision.allowed and question.rules:
            self._framework.state(request).setdefault(CHARGED, set()).update((client.place, key) for key in question.rules)
        return Answer(None if decision.allowed else 429, decision.fields, decision.retry_after, decision)

    def _failed(self, error: Error, question: Asked, request: Any, client: Client | aio.Client) -> Answer:
        if isinstance(error, Denied):
            return self._told(error.decision, question, request, client)
        if isinstance(error, Unavailable):
            if self._on_error is None:
                raise error
            return PASSES if self._instead(error, question) else AWAY
        if isinstance(error, Refused) and LACKS in str(error):
            return Answer(400)
        complain("weir cannot be asked like this, requests get 503", error)
        return Answer(503)

    def _instead(self, error: Unavailable, question: Asked) -> bool:
        if self._on_error == "raise":
            raise error
        if callable(self._on_error):
            return bool(at_once("on_error", self._on_error(error, question.told())))
        return self._on_error == "allow"


PASSES = Answer()
AWAY = Answer(503, (("Retry-After", str(RETRY_SECONDS)),), RETRY_SECONDS)


def read(said: tuple[object, ...]) -> tuple[str, ...]:
    """The rules of a limit, which is made once: one that is made for each request would be in no test, nor found wrong before
    it is met."""
    frame = inspect.currentframe()
    while frame is not None:
        place = _place(frame)
        if place[0] == "importlib._bootstrap":
            break  # a module that is loaded while a request is handled
        if place in _RUNS_VIEWS or (place in _RUNS_THREADS and _handles_a_request(frame.f_locals)):
            raise RuntimeError("a limit was made while a request is handled: make it once, outside")
        frame = frame.f_back
    return rates(said) if said else ()


def _place(frame: FrameType) -> tuple[str, str]:
    return frame.f_globals.get("__name__", ""), frame.f_code.co_name


def _handles_a_request(names: Mapping[str, Any]) -> bool:
    """Whether a task is in a view whose loop has given work to a thread, which has no frames of that view. These are the
    names in the function that runs the thread."""
    loop = names.get("loop") or getattr(names.get("self"), "loop", None)
    if not isinstance(loop, asyncio.AbstractEventLoop):
        return False
    # One that has just given the work away may still run: its frames are those of the loop's thread.
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
    frame = frames.get(getattr(loop, "_thread_id", None) or 0)
    while frame is not None:
        if _place(frame) in _RUNS_VIEWS:
            return True
        frame = frame.f_back
    for task in asyncio.all_tasks(loop):
        coroutine: Any = task.get_coro()
        while getattr(coroutine, "cr_frame", None) is not None:
            if _place(coroutine.cr_frame) in _RUNS_VIEWS:
                return True
            coroutine = coroutine.cr_await
    return False


def of_view(framework: Framework, view: Any, rules: tuple[str, ...], said: OfView) -> Gate:
    return Gate(framework, view=view, rules=rules, **_known(said, OF_VIEW))


def around_all(framework: Framework, app: Any, said: OfAll) -> Gate:
    known = _known(said, OF_ALL)
    found = rules_of(known.pop("rules", None))
    if found and known.get("name") is None:
        known["name"] = EVERYWHERE
    return Gate(framework, view=app, rules=found, **known)


def rules_of(said: Rules) -> tuple[str, ...]:
    return () if said is None else rates([said] if isinstance(said, str) else said)


def rates(said: Iterable[object]) -> tuple[str, ...]:
    found = rules.read(*said)
    for each in found:
        if each.startswith("in_flight="):
            raise ValueError(f"{each} is held for as long as a call takes, which is client.slot(); a limit here has a rate")
    return found


def check_options(**said: object) -> None:
    """Tells what is wrong with an option where a limit is made."""
    for name, value in said.items():
        form, fits = _FORMS[name]
        if not fits(value) and (value is not None or name == "cost"):
            raise TypeError(f"{name} is {form}, not {value!r}")


def _known(said: OfView | OfAll, names: list[str]) -> dict[str, Any]:
    for name in said:
        if name not in names:
            raise TypeError(f"unknown option {name!r}; known: {', '.join(names)}")
    return dict(said)


def key_text(said: object) -> str | bytes:
    """What key= says."""
    if said is None or said is False:
        raise TypeError("key= says nobody: it is text; exempt= lets requests pass that nothing limits")
    if isinstance(said, (str, bytes)):
        return said
    if isinstance(said, (int, uuid.UUID)) and said is not True:
        return str(said)
    # The text of another object may be another one for each request.
    raise TypeError(f"key= says a {type(said).__name__}: it is text, bytes, a whole number or a UUID")


def unwrapped(view: Any) -> Any:
    """Django's method_decorator gives a method as a part of itself."""
    return view.func if isinstance(view, functools.partial) else view  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def place_of(function: Any) -> str:
    """What a function is called that no framework names; a script by its file."""
    function = unwrapped(function)
    module, name = function.__module__, function.__qualname__
    if isinstance(function, type) and not name.endswith(function.__name__):
        name = function.__name__  # as DRF's @api_view calls the class of each view
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        module = file.rpartition("/")[2].removesuffix(".py") if file else module
    return f"{module}.{name}"


def with_method(place: str, methods: Iterable[str] | None, view: Any) -> str:
    """A place with the methods that it is for, or the name of a class's handler. Never the request's own method, which its
    client chooses."""
    owner, _, name = getattr(unwrapped(view), "__qualname__", "").rpartition(".")
    if owner and not owner.endswith("<locals>"):
        return f"{name.upper() if name in METHODS else name} {place}"
    found = sorted(set(methods or ()) - {"HEAD", "OPTIONS"})
    return f"{','.join(found)} {place}" if found else place
