"""The client that is awaited."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Optional

from weir import fork, words
from weir.aio.pool import Pool, running_loop
from weir.aio.reservation import Coming, Reservation, Slot
from weir.core import Core, OnCall, OnError
from weir.decision import Booking, Charged, Decision
from weir.errors import Denied, Unavailable, of_reply
from weir.resp import Failure
from weir.settings import Settings, settings
from weir.verbs import Verbs
from weir.words import NO_ATTRIBUTES, Acquires, Ask, Value


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
    """As weir.connect(), for an event loop. Nothing is awaited here: it connects at its first question."""
    chosen = settings(url, limits, app, user, password, ca, cert, key, timeout, connect_timeout, max_connections, max_in_flight)
    return Client(chosen, Core(str(chosen.target), on_error, remember_denials, on_call))


class Client(
    Verbs[
        Coroutine[Any, Any, Decision],
        Coming,
        Coroutine[Any, Any, Charged],
        Coroutine[Any, Any, int],
        Coroutine[Any, Any, float],
        Coroutine[Any, Any, Optional[float]],
    ]
):
    """What connect() makes. It asks by the event loop that runs; on another loop it makes new connections."""

    def __init__(self, settings: Settings, core: Core) -> None:
        self._settings = settings
        self._core = core
        self._of_loop: Pool | None = None  # made at the first question of each process and loop
        self._found: Settings | None = None
        self._looking: asyncio.Task[Settings] | None = None
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
    ) -> AbstractAsyncContextManager[Reservation]:
        """`async with client.slot("openai", tokens=2000) as call:` waits for its moment, for 60 s unless `max_wait`
        says otherwise, and holds it while the block runs. It asks by the attributes api and those given, or by the rule
        for the key `api`."""
        ask = words.slot(api, rule, max_wait, hold, attributes, more, cost, costs, class_)
        return Slot(self._slots, functools.partial(self._book, ask), self._reply, hold)

    async def close(self) -> None:
        """Settles the slots that are held, and ends the connections. Twice is nothing."""
        for each in list(self._slots):
            await each.leave()
        pool = self._pool_now() or Pool(self._settings)
        self._of_loop = pool
        await pool.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.close()

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
        if self._settings.where is None:
            self._of_loop = self._found = self._looking = None

    def after_fork(self) -> None:
        """In the child: the parent's connections are not ours."""
        self._of_loop = self._found = self._looking = None
        self._core.after_fork()
        self._slots = set()

    def _pool_now(self) -> Pool | None:
        pool = self._of_loop
        return pool if pool is not None and pool.loop is running_loop() else None

    async def _looked_up(self) -> Pool:
        """What is wrong with the URL, a local weir or its limits file is raised, whatever on_error says."""
        if self._found is None:
            loop = running_loop()
            if self._looking is None or self._looking.done() or self._looking.get_loop() is not loop:
                self._looking = loop.create_task(_found(self._settings))
            found = await asyncio.shield(self._looking)
            self._core.named(str(found.target))
            self._found = found
        pool = self._pool_now()
        if pool is None:
            pool = self._of_loop = Pool(self._found)
        return pool

    async def _ask(self, ask: Ask) -> Any:
        pool = self._pool_now() or await self._looked_up()
        began = pool.loop.time()
        remembered = self._core.remembered(ask, began)
        if remembered is not None:
            return remembered
        try:
            reply = await pool.ask(ask.data, began + self._timeout)
        except Unavailable as error:
            return self._core.without(ask, error, began)
        return self._core.answer(ask, reply, began)

    async def _reply(self, ask: Ask) -> Any:
        """The bare reply, for what on_error does not decide."""
        pool = self._pool_now() or await self._looked_up()
        reply = await pool.ask(ask.data, pool.loop.time() + self._timeout)
        if isinstance(reply, Failure):
            raise of_reply(reply)
        return reply

    def _book(self, ask: Ask, raises: bool = True) -> Coming:
        return Coming(self._booked(ask, raises))

    async def _booked(self, ask: Ask, raises: bool) -> Reservation:
        booking: Booking = await (self._acquire(ask) if isinstance(ask, Acquires) else self._ask(ask))
        if raises and not booking.decision.allowed:
            raise Denied(booking.decision)
        return Reservation(self, booking)

    async def _acquire(self, ask: Acquires) -> Booking:
        pool = self._pool_now() or await self._looked_up()
        began = pool.loop.time()
        try:
            reply = await pool.acquire(ask, ask.max_wait)
            most = ask.most_wait(reply)
            if most is not None:
                reply = await pool.acquire(ask, most)
        except Unavailable as error:
            return self._core.without(ask, error, began)  # type: ignore[no-any-return]
        return self._core.answer(ask, reply, began)  # type: ignore[no-any-return]


async def _found(settings: Settings) -> Settings:
    """A local weir is started beside the loop."""
    found = settings.looked_up()
    if found.start is None:
        return found
    return await asyncio.get_running_loop().run_in_executor(None, found.started)
