"""The connections of a client on an event loop: one that all share, and one for each that waits for its moment."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from weir.aio.connection import Connection
from weir.backoff import Backoff
from weir.errors import Error, NotWritten, Refused, Unauthorized, Unavailable
from weir.greeting import greeting
from weir.opening import failure
from weir.settings import Settings
from weir.url import Endpoint


class Pool:
    """Of one event loop. Every wait ends at `until`, or once, while the first connection is made, with that attempt."""

    def __init__(self, settings: Settings) -> None:
        self.loop = asyncio.get_running_loop()
        self._settings = settings
        self._backoff = Backoff(settings.target.endpoints)
        self._shared: Connection | None = None
        self._opening: asyncio.Task[Connection] | None = None
        self._alone = asyncio.BoundedSemaphore(settings.max_connections - 1)
        self._idle: list[Connection] = []
        self._waiting: set[Connection] = set()  # for a moment
        self._unconnected = 0
        self._closed = False

    async def ask(self, data: bytes, until: float) -> Any:
        """A reply by the shared connection."""
        while True:
            connection = self._shared
            if connection is None or connection.closed:
                connection = await self._connect(until)
            if connection.unanswered() >= self._settings.max_in_flight:
                raise Unavailable(f"{connection.unanswered()} calls are unanswered")
            with contextlib.suppress(NotWritten):
                return await connection.ask(data, until)

    async def can_wait(self, seconds: float) -> bool:
        """Takes a place among those that may wait for a moment, within that time; done_waiting() gives it back."""
        if not self._alone.locked():
            return await self._alone.acquire()
        with contextlib.suppress(asyncio.TimeoutError):
            return await asyncio.wait_for(self._alone.acquire(), seconds)
        return False

    def done_waiting(self) -> None:
        self._alone.release()

    async def ask_alone(self, data: bytes, max_wait: float) -> Any:
        """A reply by a connection of its own. Given up, for whatever reason, the connection is closed: then the moment is
        another's."""
        while True:
            connection = self._idle_connection() or await self._new(self.loop.time() + self._settings.timeout)
            self._waiting.add(connection)
            try:
                reply = await connection.ask(data, self.loop.time() + max_wait + self._settings.timeout)
            except NotWritten:
                continue
            except BaseException:
                connection.close()
                raise
            finally:
                self._waiting.discard(connection)
            self._idle.append(connection)
            return reply

    async def close(self) -> None:
        """Ordinary calls may still be answered within the timeout; those that wait for a moment give it up."""
        self._closed = True
        for each in [*self._waiting, *self._idle]:
            each.close()
        if self._opening is not None:
            self._opening.cancel()
        if self._shared is not None:
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
        if self._unconnected >= self._settings.max_in_flight:
            raise Unavailable(f"{self._unconnected} calls are unanswered")
        self._unconnected += 1
        try:
            made = await self._new(until)
        finally:
            self._unconnected -= 1
        if self._shared is None or self._shared.closed:
            self._shared = made
        elif made is not self._shared:
            self._idle.append(made)
        return self._shared

    async def _new(self, until: float) -> Connection:
        while True:
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
            if error is None:
                return opening.result()
            if isinstance(error, (Refused, Unauthorized)):
                raise type(error)(*error.args)

    def _opened(self, opening: asyncio.Task[Connection]) -> None:
        self._opening = None
        if opening.cancelled():
            return
        error = opening.exception()
        if error is None:
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
            await self._greet(connection, endpoint)
            return connection
        except asyncio.TimeoutError:
            raise Unavailable("no connection within connect_timeout") from None
        except (OSError, Error) as error:
            raise failure(error, endpoint) from None

    async def _dialled(self, endpoint: Endpoint) -> Connection:
        if endpoint.path is not None:
            _, connection = await self.loop.create_unix_connection(Connection, endpoint.path)
        else:
            _, connection = await self.loop.create_connection(
                Connection, endpoint.host, endpoint.port, ssl=self._settings.target.tls
            )
        return connection

    async def _greet(self, connection: Connection, endpoint: Endpoint) -> None:
        until = self.loop.time() + self._settings.hello_timeout
        steps = greeting(self._settings.target, endpoint, self._settings.timeout)
        words = next(steps)
        try:
            while True:
                words = steps.send(await connection.ask(words, until))
        except StopIteration:
            return
        except BaseException:
            connection.close()
            raise
