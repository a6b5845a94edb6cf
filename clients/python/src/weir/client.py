"""The client that blocks. Thread-safe."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Optional

from weir import fork, words
from weir.connection import Question
from weir.core import Core, OnCall, OnError
from weir.decision import Booking, Charged, Decision
from weir.errors import Denied, Unavailable, of_reply
from weir.pool import Pool
from weir.reservation import Reservation, Slot
from weir.resp import Failure
from weir.settings import Settings, settings
from weir.verbs import Verbs
from weir.words import NO_ATTRIBUTES, Acquires, Ask, Value

_LOOKS_SECONDS = 30.0  # longer than a local weir takes to start


def connect(
    url: str | None = None,
    *,
    limits: str | None = None,
    app: str | None = None,
    user: str | None = None,
    password: str | None = None,
    ca: str | None = None,
    cert: str | None = None,
    key: str | None = None,
    timeout: float = 0.2,
    connect_timeout: float = 1.0,
    on_error: OnError = "allow",
    remember_denials: bool = False,
    max_connections: int = 16,
    max_in_flight: int = 1024,
    on_call: OnCall | None = None,
) -> Client:
    """A client of the weir at `url`, or at WEIR_URL; without either, of a local one that all on this machine share, which goes
    by `limits` or WEIR_LIMITS. Nothing is looked up or started before its first question."""
    chosen = settings(url, limits, app, user, password, ca, cert, key, timeout, connect_timeout, max_connections, max_in_flight)
    return Client(chosen, Core(str(chosen.target), on_error, remember_denials, on_call))


class Client(Verbs[Decision, Reservation, Charged, int, float, Optional[float]]):
    """What connect() makes."""

    def __init__(self, settings: Settings, core: Core) -> None:
        self._settings = settings
        self._core = core
        self._pool: Pool | None = None  # made at the first question of each process
        self._slots: set[Slot] = set()
        self._timeout = settings.timeout
        self.app = settings.app  # the name of the application, where connect() was told it
        fork.watch(self)

    def slot(
        self,
        api: str,
        /,
        *,
        max_wait: float | None = None,
        hold: float = 30,
        rule: str | None = None,
        cost: int = 1,
        costs: Mapping[str, int] | None = None,
        class_: str | None = None,
        attributes: Mapping[str, Value] = NO_ATTRIBUTES,
        **more: Value,
    ) -> AbstractContextManager[Reservation]:
        """`with client.slot("openai", tokens=2000) as call:` waits for its moment, for 60 s unless `max_wait` says
        otherwise, and holds it while the block runs. It asks by the attributes api and those given, or by the rule for
        the key `api`."""
        ask = words.slot(api, rule, max_wait, hold, attributes, more, cost, costs, class_)
        return Slot(self._slots, functools.partial(self._book, ask), self._reply, hold)

    def close(self) -> None:
        """Settles the slots that are held, and ends the connections. Twice is nothing."""
        for each in list(self._slots):
            each.leave()
        if self._pool is None:
            self._pool = Pool(self._settings)
        self._pool.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def is_remote(self) -> bool:
        """Not a weir that this client starts."""
        return self._settings.is_remote

    @property
    def place(self) -> tuple[str, str | None]:
        """Where it asks."""
        return self._settings.place

    def look_again(self) -> None:
        """The next question goes where WEIR_URL says then, if connect() was given no URL."""
        if self._settings.where is None and self._pool is not None:
            self._pool.close()
            self._pool = None

    def after_fork(self) -> None:
        """In the child: the parent's connections are not ours."""
        if self._pool is not None:
            self._pool.abandon()
        self._pool = None
        self.__dict__.pop("_looking", None)
        self._core.after_fork()
        self._slots = set()

    def _looked_up(self) -> Pool:
        """What is wrong with the URL, a local weir or its limits file is raised, whatever on_error says."""
        # A lock of this process, made after gevent's patches; of all that come first, one looks and starts.
        looking = self.__dict__.setdefault("_looking", threading.Lock())
        if not looking.acquire(timeout=_LOOKS_SECONDS):
            raise Unavailable("another thread looks for weir, and has not found it")
        try:
            pool = self._pool
            if pool is None:
                found = self._settings.looked_up().started()
                self._core.named(str(found.target))
                pool = self._pool = Pool(found)
            return pool
        finally:
            looking.release()

    def _ask(self, ask: Ask) -> Any:
        pool = self._pool or self._looked_up()
        began = time.monotonic()
        remembered = self._core.remembered(ask, began)
        if remembered is not None:
            return remembered
        try:
            reply = pool.ask(ask.data, began + self._timeout)
        except Unavailable as error:
            return self._core.without(ask, error, began)
        return self._core.answer(ask, reply, began)

    def _reply(self, ask: Ask) -> Any:
        """The bare reply, for what on_error does not decide."""
        pool = self._pool or self._looked_up()
        reply = pool.ask(ask.data, time.monotonic() + self._timeout)
        if isinstance(reply, Failure):
            raise of_reply(reply)
        return reply

    def _replies(self, first: Ask, ask: Ask) -> tuple[Any, Any]:
        """As _reply(), of two in one write. The first must be one that may be asked twice."""
        pool = self._pool or self._looked_up()
        until = time.monotonic() + self._timeout
        before = Question(first.data, until)
        replies = (pool.ask(ask.data, until, before), before.reply)[::-1]
        for each in replies:
            if isinstance(each, Failure):
                raise of_reply(each)
        return replies

    def _book(self, ask: Ask, raises: bool = True) -> Reservation:
        booking: Booking = self._acquire(ask) if isinstance(ask, Acquires) else self._ask(ask)
        if raises and not booking.decision.allowed:
            raise Denied(booking.decision)
        return Reservation(self, booking)

    def _acquire(self, ask: Acquires) -> Booking:
        pool = self._pool or self._looked_up()
        began = time.monotonic()
        try:
            reply = pool.acquire(ask, ask.max_wait)
            most = ask.most_wait(reply)
            if most is not None:
                reply = pool.acquire(ask, most)
        except Unavailable as error:
            return self._core.without(ask, error, began)  # type: ignore[no-any-return]
        return self._core.answer(ask, reply, began)  # type: ignore[no-any-return]
