"""A moment that is this caller's."""

from __future__ import annotations

import contextlib
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable

from weir import words
from weir.core import log
from weir.decision import Booking, Decision
from weir.errors import Error, Refused, Unavailable

if TYPE_CHECKING:
    from weir.client import Client


class Booked:
    """What a reservation is, whether its client blocks or awaits. `bool()` of it is its decision's: only try_reserve answers
    one that is denied."""

    def __init__(self, booking: Booking) -> None:
        self.id: str | None = booking.id  # None: there is nothing to cancel or to settle
        self.wait: float | None = booking.wait  # seconds until its moment, as of the answer; None: denied
        self.at: float = time.time() + (booking.wait or 0.0)  # its moment by this machine's clock
        self.decision: Decision = booking.decision
        self._moment = time.monotonic() + (booking.wait or 0.0)
        self._ended = booking.id is None

    def __bool__(self) -> bool:
        return self.decision.allowed

    def _is_before_its_moment(self) -> bool:
        return time.monotonic() < self._moment


class Reservation(Booked):
    """Left as a context manager before its moment it is cancelled, and after it settled at what was charged, unless it
    has been settled. An exception changes nothing in that: what acted has cost."""

    def __init__(self, client: Client, booking: Booking) -> None:
        super().__init__(booking)
        self._client = client

    def cancel(self) -> int:
        """Gives it back before its moment; how many units went back."""
        units = self._client.cancel(self.id) if self.id is not None else 0
        self._ended = self._ended or units > 0
        return units

    def settle(self, actual: int | None = None, **by_limit: int) -> float | None:
        """What it cost, and the end of its hold."""
        if self.id is None:
            return None
        left = self._client.settle(self.id, actual, **by_limit)
        self._ended = True
        return left

    def extend(self, seconds: float) -> float:
        """Holds it for so long from now; how long it has now."""
        return self._client.extend(self.id, seconds) if self.id is not None else 0.0

    def moment(self) -> float | None:
        """Seconds until its moment by now."""
        return self._client.moment(self.id) if self.id is not None else None

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._ended:
            return
        with contextlib.suppress(Refused, Unavailable):  # without a hold there is nothing to settle
            if not (self._is_before_its_moment() and self.cancel()):
                self.settle()


class Slot:
    """An acquire whose hold lasts as long as the block: a thread extends it at each third of its time."""

    def __init__(
        self, held: set[Slot], book: Callable[[], Reservation], reply: Callable[[words.Ask], Any], hold: float
    ) -> None:
        self._held, self._book, self._reply, self._hold = held, book, reply, hold
        self._over = threading.Event()
        self._reservation: Reservation | None = None

    def __enter__(self) -> Reservation:
        self._reservation = reservation = self._book()
        self._held.add(self)
        if reservation.id is not None:
            try:
                left = self._extended(reservation.id)
            except BaseException:
                self.leave()
                raise
            if left:
                threading.Thread(target=self._keep, args=(reservation.id, left), name="weir-slot", daemon=True).start()
        return reservation

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.leave()

    def leave(self) -> None:
        self._over.set()
        self._held.discard(self)
        if self._reservation is not None:
            self._reservation.__exit__(None, None, None)

    def _keep(self, id: str, left: float) -> None:
        while left and not self._over.wait(left / 3):
            left = self._extended(id)

    def _extended(self, id: str) -> float:
        """How long the hold is now; where nobody answers, it is tried again as if it were so long."""
        ask = words.extend(id, self._hold)
        try:
            left: float = ask.read(self._reply(ask))
        except Unavailable:
            return self._hold
        except Error as error:
            log.warning("a slot could not be extended: %s", error)
            return 0.0
        if not left and not self._over.is_set():
            log.warning("the hold of a slot has ended before its block; others may have the slot")
        return left
