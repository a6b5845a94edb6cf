"""The connections of a client: one that all share, and where the server has no TAG one for each that waits for its moment."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Generator
from typing import Any

from weir.backoff import Backoff
from weir.connection import Connection, Question
from weir.errors import Error, NotWritten, Refused, Unauthorized, Unavailable
from weir.opening import Opening
from weir.settings import Settings
from weir.words import Acquires


def places_to_ask(settings: Settings) -> int:
    """How many of those that wait by TAG may be unanswered at once, so that there is room beside them for ordinary calls."""
    return (settings.max_in_flight + 1) // 2


class Pool:
    """Thread-safe. Every wait ends at `until`, or once, while the first connection is made, with that attempt."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._backoff = Backoff(settings.target.endpoints)
        self._shared: Connection | None = None
        self._opening: Opening | None = None
        self._connecting = threading.Lock()
        self._asking = threading.BoundedSemaphore(places_to_ask(settings))
        self._alone = threading.BoundedSemaphore(settings.max_connections - 1)
        self._idle: list[Connection] = []
        self._waiting: list[Connection] = []  # for a moment, without TAG
        self._closed = False

    def ask(self, data: bytes, until: float, first: Question | None = None) -> Any:
        """A reply by the shared connection; `first` is asked before it."""
        while True:
            is_first = not self._backoff.tried
            connection = self._ready(until)
            if is_first:
                until = time.monotonic() + self._settings.timeout
            if connection.unanswered() >= self._settings.max_in_flight:
                raise Unavailable(f"{connection.unanswered()} calls are unanswered")
            try:
                return connection.ask(data, until, first)
            except NotWritten:
                pass

    def acquire(self, ask: Acquires, max_wait: float) -> Any:
        """The reply to one that waits for its moment, and before that, within the same time, for a place: by TAG to ask, and
        without TAG to wait."""
        while max_wait > 0:
            connection = self._ready(time.monotonic() + self._settings.timeout)
            places = self._asking if connection.has_tags else self._alone
            max_wait = _take_a_place(places, max_wait)
            if max_wait > 0 and connection.has_tags:
                with contextlib.suppress(NotWritten):
                    return connection.acquire(*ask.tagged(max_wait), max_wait, places.release)
            elif max_wait > 0:
                try:
                    return self._ask_alone(ask.within(max_wait), max_wait)
                finally:
                    places.release()
        return self.ask(ask.within(0), time.monotonic() + self._settings.timeout)  # the reply comes at once

    def _ask_alone(self, data: bytes, max_wait: float) -> Any:
        """A reply by a connection of its own. Given up, for whatever reason, the connection is closed: then the moment is
        another's."""
        timeout = self._settings.timeout
        while True:
            connection = self._idle_connection() or self._new(time.monotonic() + timeout)
            self._waiting.append(connection)
            try:
                reply = connection.ask(data, time.monotonic() + max_wait + timeout)
            except NotWritten:
                connection.close()
                continue
            except BaseException:
                connection.close()
                raise
            finally:
                self._waiting.remove(connection)
            self._idle.append(connection)
            if self._closed:
                connection.close()
            return reply

    def close(self) -> None:
        """Ordinary calls may still be answered within the timeout; those that wait for a moment give it up."""
        self._closed = True
        for each in [*self._waiting, *self._idle]:
            each.close()
        if self._shared is not None:
            self._shared.end_line(Unavailable("the client was closed"))
            deadline = time.monotonic() + self._settings.timeout
            while self._shared.awaited() and not self._shared.closed and time.monotonic() < deadline:
                time.sleep(0.001)
            self._shared.close()
        if self._connecting.acquire(timeout=self._settings.timeout):
            self._abandon_opening()
            self._connecting.release()

    def abandon(self) -> None:
        """In a child of fork: the sockets are the parent's, who goes on with them."""
        for each in (self._shared, *self._idle, *self._waiting):
            if each is not None:
                each.abandon()
        self._abandon_opening()

    def _abandon_opening(self) -> None:
        if self._opening is not None:
            self._opening.close()
            self._opening = None

    def _idle_connection(self) -> Connection | None:
        with contextlib.suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if connection.usable(time.monotonic()):
                    return connection
                connection.close()
        return None

    def _ready(self, until: float) -> Connection:
        """The shared connection."""
        connection = self._shared
        return (
            connection if connection is not None and connection.usable(until - self._settings.timeout) else self._connect(until)
        )

    def _connect(self, until: float) -> Connection:
        with self._one_attempt(until):
            if self._shared is not None:
                if self._shared.usable(time.monotonic()):
                    return self._shared
                self._shared.close()
                self._shared = None
            self._shared = self._made(until)
            return self._shared

    def _new(self, until: float) -> Connection:
        with self._one_attempt(until):
            return self._made(until)

    @contextlib.contextmanager
    def _one_attempt(self, until: float) -> Generator[None, None, None]:
        if not self._connecting.acquire(timeout=min(max(0.0, self._patience(until) - time.monotonic()), threading.TIMEOUT_MAX)):
            raise self._backoff.error()
        try:
            if self._closed:
                raise Unavailable("the client is closed")
            yield
        finally:
            self._connecting.release()

    def _patience(self, until: float) -> float:
        """The first attempt of all is waited for: it may have far to go, and it tells a wrong password."""
        return until if self._backoff.tried else math.inf

    def _made(self, until: float) -> Connection:
        while self._opening is not None or self._backoff.due <= until:
            try:
                opening = self._opening or self._begin()
                if not opening.advance(self._patience(until)):
                    break  # the next call continues it
            except Error as why:
                self._opening = None
                self._backoff.failed(why, time.monotonic())
                if isinstance(why, (Refused, Unauthorized)):
                    raise
                continue
            except BaseException:  # a signal's: it may have been in the middle of a step
                self._abandon_opening()
                raise
            self._opening = None
            self._backoff.connected()
            assert opening.connection is not None
            return opening.connection
        raise self._backoff.error()

    def _begin(self) -> Opening:
        time.sleep(max(0.0, self._backoff.due - time.monotonic()))
        start = self._settings.start
        endpoint = start() if start and self._backoff.tried else self._backoff.endpoint()
        self._opening = Opening(self._settings, endpoint)
        return self._opening


def _take_a_place(places: threading.Semaphore, seconds: float) -> float:
    """What is left of that time when there is one; 0 where there was none within it."""
    if places.acquire(blocking=False):
        return seconds
    ends = time.monotonic() + seconds
    if places.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
        return max(0.001, ends - time.monotonic())
    return 0.0
