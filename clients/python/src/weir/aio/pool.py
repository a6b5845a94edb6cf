"""The connections of a client on an event loop: one that all share, and where the server has no TAG one for each that waits
for its moment."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from typing import Any

from weir.aio.connection import Connection
from weir.backoff import Backoff
from weir.errors import Error, NotWritten, Refused, Unauthorized, Unavailable
from weir.greeting import greeting
from weir.opening import failure
from weir.pool import places_to_ask
from weir.settings import Settings
from weir.url import Endpoint
from weir.words import Acquires


def running_loop() -> asyncio.AbstractEventLoop:
    """Asyncio's, without which nothing here can wait."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "weir.aio goes by asyncio, and no event loop of asyncio runs here: under trio ask a weir.connect() "
            "by trio.to_thread.run_sync"
        ) from None


class Pool:
    """Of one event loop. Every wait ends at `until`, or once, while the first connection is made, with that attempt."""

    def __init__(self, settings: Settings) -> None:
        self.loop = running_loop()
        self._settings = settings
        self._backoff = Backoff(settings.target.endpoints)
        self._shared: Connection | None = None
        self._opening: asyncio.Task[Connection] | None = None
        self._made: Connection | None = None  # and not taken yet
        self._asking = asyncio.BoundedSemaphore(places_to_ask(settings))
        self._alone = asyncio.BoundedSemaphore(settings.max_connections - 1)
        self._idle: list[Connection] = []
        self._waiting: set[Connection] = set()  # for a moment, without TAG
        self._unconnected = 0  # ordinary calls
        self._closed = False

    async def ask(self, data: bytes, until: float) -> Any:
        """A reply by the shared connection."""
        while True:
            connection = self._shared
            if connection is None or connection.closed:
                if self._unconnected >= self._settings.max_in_flight:
                    raise Unavailable(f"{self._unconnected} calls are unanswered")
                is_first = not self._backoff.tried
                self._unconnected += 1
                try:
                    connection = await self._connect(until)
                finally:
                    self._unconnected -= 1
                if is_first:
                    until = self.loop.time() + self._settings.timeout
            if connection.unanswered() >= self._settings.max_in_flight:
                raise Unavailable(f"{connection.unanswered()} calls are unanswered")
            with contextlib.suppress(NotWritten):
                return await connection.ask(data, until)

    async def acquire(self, ask: Acquires, max_wait: float) -> Any:
        """The reply to one that waits for its moment, and before that, within the same time, for a place: by TAG to ask, and
        without TAG to wait."""
        while max_wait > 0:
            connection = await self._connect(self.loop.time() + self._settings.timeout)
            places = self._asking if connection.has_tags else self._alone
            max_wait = await self._take_a_place(places, max_wait)
            if max_wait > 0 and connection.has_tags:
                with contextlib.suppress(NotWritten):
                    return await connection.acquire(*ask.tagged(max_wait), max_wait, places.release)
            elif max_wait > 0:
                try:
                    return await self._ask_alone(ask.within(max_wait), max_wait)
                finally:
                    places.release()
        return await self.ask(ask.within(0), self.loop.time() + self._settings.timeout)  # the reply comes at once

    async def _take_a_place(self, places: asyncio.Semaphore, seconds: float) -> float:
        """What is left of that time when there is one; 0 where there was none within it."""
        if not places.locked():
            await places.acquire()
            return seconds
        ends = self.loop.time() + seconds
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(places.acquire(), seconds)
            return max(0.001, ends - self.loop.time())
        return 0.0

    async def _ask_alone(self, data: bytes, max_wait: float) -> Any:
        """A reply by a connection of its own. Given up, for whatever reason, the connection is closed: then the moment is
        another's. Where its reply is there already, it is given back."""
        while True:
            connection = self._idle_connection() or await self._new(self.loop.time() + self._settings.timeout)
            self._waiting.add(connection)
            answer = connection.ask(data, self.loop.time() + max_wait + self._settings.timeout)
            try:
                reply = await answer
            except NotWritten:
                continue
            except BaseException:
                connection.close()
                came = answer.done() and not answer.cancelled() and answer.exception() is None
                if came and self._shared is not None:  # and its task had been cancelled
                    self._shared.give_back(answer.result())
                raise
            finally:
                self._waiting.discard(connection)
            self._idle.append(connection)
            if self._closed:
                connection.close()
            return reply

    async def close(self) -> None:
        """Ordinary calls may still be answered within the timeout; those that wait for a moment give it up."""
        self._closed = True
        for each in [*self._waiting, *self._idle, *([self._made] if self._made else [])]:
            each.close()
        if self._opening is not None:
            self._opening.cancel()
        if self._shared is not None:
            self._shared.end_line(Unavailable("the client was closed"))
            answers = self._shared.answers()
            if answers:
                await asyncio.wait(answers, timeout=self._settings.timeout)
            self._shared.close()
        await asyncio.sleep(0)  # so that the transports are closed too

    def _idle_connection(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                return connection
        return None

    async def _connect(self, until: float) -> Connection:
        """The shared connection."""
        while self._shared is None or self._shared.closed:
            self._shared = self._made_connection()
            if self._shared is None:
                await self._attempt(until)
        return self._shared

    async def _new(self, until: float) -> Connection:
        while True:
            connection = self._made_connection()
            if connection is not None:
                return connection
            await self._attempt(until)

    def _made_connection(self) -> Connection | None:
        """The one that an attempt has made, for the first that takes it."""
        connection, self._made = self._made, None
        return connection if connection is not None and not connection.closed else None

    async def _attempt(self, until: float) -> None:
        """Waits for the end of an attempt, one at a time; an Error where it failed and no other is due in time."""
        if self._closed:
            raise Unavailable("the client is closed")
        opening = self._opening
        if opening is None:
            if self._backoff.due > until:
                raise self._backoff.error()
            opening = self._opening = self.loop.create_task(self._open())
            opening.add_done_callback(self._opened)
        patience = until - self.loop.time() if self._backoff.tried else None
        done, _ = await asyncio.wait([opening], timeout=patience)
        if not done:
            raise self._backoff.error()
        if opening.cancelled():
            raise Unavailable("the client is closed")
        error = opening.exception()
        if isinstance(error, (Refused, Unauthorized)):
            raise type(error)(*error.args)

    def _opened(self, opening: asyncio.Task[Connection]) -> None:
        self._opening = None
        if opening.cancelled():
            return
        error = opening.exception()
        if error is None:
            self._made = opening.result()
            self._backoff.connected()
        else:
            self._backoff.failed(error if isinstance(error, Error) else Unavailable(str(error)), self.loop.time())

    async def _open(self) -> Connection:
        await asyncio.sleep(max(0.0, self._backoff.due - self.loop.time()))
        start = self._settings.start
        endpoint = self._backoff.endpoint()
        if start and self._backoff.tried:
            endpoint = await self.loop.run_in_executor(None, start)
        try:
            connection = await asyncio.wait_for(self._dialled(endpoint), self._settings.connect_timeout)
        except asyncio.TimeoutError:
            raise Unavailable("no connection within connect_timeout") from None
        except OSError as error:
            raise failure(error, endpoint) from None
        try:
            await self._greet(connection, endpoint)
        except (Unavailable, NotWritten):
            raise failure(connection.why, endpoint) from None
        return connection

    async def _dialled(self, endpoint: Endpoint) -> Connection:
        made = functools.partial(Connection, self._settings.timeout)
        if endpoint.path is not None:
            _, connection = await self.loop.create_unix_connection(made, endpoint.path)
        else:
            _, connection = await self.loop.create_connection(made, endpoint.host, endpoint.port, ssl=self._settings.target.tls)
        return connection

    async def _greet(self, connection: Connection, endpoint: Endpoint) -> None:
        until = self.loop.time() + self._settings.hello_timeout
        steps = greeting(self._settings.target, endpoint, self._settings.timeout)
        words = next(steps)
        try:
            while True:
                words = steps.send(await connection.ask(words, until))
        except StopIteration as greeted:
            connection.has_tags = greeted.value
        except BaseException as error:
            connection.close(error)
            raise
