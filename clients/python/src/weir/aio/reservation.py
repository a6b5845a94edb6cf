"""A moment that is this caller's, awaited."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable

from weir import words
from weir.core import log
from weir.decision import Booking
from weir.errors import Error, Refused, Unavailable
from weir.reservation import Booked

if TYPE_CHECKING:
    from weir.aio.client import Client


class Reservation(Booked):
    """As weir.Reservation, awaited; a context manager by `async with`."""

    def __init__(self, client: Client, booking: Booking) -> None:
        super().__init__(booking)
        self._client = client

    async def cancel(self) -> int:
        """Gives it back before its moment; how many units went back."""
        units = await self._client.cancel(self.id) if self.id is not None else 0
        self._ended = self._ended or units > 0
        return units

    async def settle(self, actual: int | None = None, **by_limit: int) -> float | None:
        """What it cost, and the end of its hold."""
        if self.id is None:
            return None
        left = await self._client.settle(self.id, actual, **by_limit)
        self._ended = True
        return left

    async def extend(self, seconds: float) -> float:
        """Holds it for so long from now; how long it has now."""
        return await self._client.extend(self.id, seconds) if self.id is not None else 0.0

    async def moment(self) -> float | None:
        """Seconds until its moment by now."""
        return await self._client.moment(self.id) if self.id is not None else None

    async def __aenter__(self) -> Reservation:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._ended:
            return
        with contextlib.suppress(Refused, Unavailable):  # without a hold there is nothing to settle
            if not (self._is_before_its_moment() and await self.cancel()):
                await self.settle()


class Coming(Coroutine[Any, Any, Reservation]):
    """A reservation that is asked for: awaited, or entered by `async with` without that."""

    def __init__(self, asks: Coroutine[Any, Any, Reservation]) -> None:
        self._asks = asks
        self._entered: Reservation | None = None

    def __await__(self) -> Generator[Any, Any, Reservation]:
        return self._asks.__await__()

    def send(self, value: Any) -> Any:
        return self._asks.send(value)

    def throw(self, *error: Any) -> Any:
        return self._asks.throw(*error)

    def close(self) -> None:
        self._asks.close()

    async def __aenter__(self) -> Reservation:
        self._entered = await self._asks
        return self._entered

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._entered is not None:
            await self._entered.__aexit__(kind, error, at)


class Slot:
    """An acquire whose hold lasts as long as the block: a task extends it at each third of its time."""

    def __init__(
        self,
        held: set[Slot],
        book: Callable[[], Awaitable[Reservation]],
        reply: Callable[[words.Ask], Awaitable[Any]],
        hold: float,
    ) -> None:
        self._held, self._book, self._reply, self._hold = held, book, reply, hold
        self._keeper: asyncio.Task[None] | None = None
        self._reservation: Reservation | None = None

    async def __aenter__(self) -> Reservation:
        self._reservation = reservation = await self._book()
        self._held.add(self)
        if reservation.id is not None:
            try:
                left = await self._extended(reservation.id)
            except BaseException:
                await self.leave()
                raise
            if left:
                self._keeper = asyncio.get_running_loop().create_task(self._keep(reservation.id, left))
        return reservation

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.leave()

    async def leave(self) -> None:
        self._held.discard(self)
        if self._keeper is not None:
            self._keeper.cancel()
        if self._reservation is not None:
            await self._reservation.__aexit__(None, None, None)

    async def _keep(self, id: str, left: float) -> None:
        while left:
            await asyncio.sleep(left / 3)
            left = await self._extended(id)

    async def _extended(self, id: str) -> float:
        """How long the hold is now; where nobody answers, it is tried again as if it were so long."""
        ask = words.extend(id, self._hold)
        try:
            left: float = ask.read(await self._reply(ask))
        except Unavailable:
            return self._hold
        except Error as error:
            log.warning("a slot could not be extended: %s", error)
            return 0.0
        if not left:
            log.warning("the hold of a slot has ended before its block; others may have the slot")
        return left
