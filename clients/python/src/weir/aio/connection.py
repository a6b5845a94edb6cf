"""One connection of an event loop: what is asked in one turn of the loop is one write."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import Any, cast

from weir.connection import STUCK_SECONDS
from weir.errors import NotWritten, Unavailable
from weir.resp import Failure, NotResp, Parser

_BLOCKED_SECONDS = 0.01

Answer = tuple["asyncio.Future[Any]", float]  # and when nobody waits for it any more


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = Parser()
        self._outbox: list[bytes] = []
        self._pending: deque[Answer] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self.closed = False

    def unanswered(self) -> int:
        return len(self._pending)

    def answers(self) -> list[asyncio.Future[Any]]:
        """Those that somebody waits for."""
        return [answer for answer, _ in self._pending if not answer.done()]

    def ask(self, data: bytes, until: float) -> asyncio.Future[Any]:
        """The reply, or Unavailable. Cancelled, it is dropped when it comes."""
        answer = self._loop.create_future()
        if not self._outbox:
            self._loop.call_soon(self._flush)
        self._outbox.append(data)
        self._pending.append((answer, until))
        if self._timer is None or until < self._timer.when():
            self._wake_at(until)
        return answer

    def close(self, why: str = "the client was closed") -> None:
        self._broken(Unavailable(why))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            for reply in self._parser.feed(data):
                if not self._pending:
                    raise NotResp(str(reply) if isinstance(reply, Failure) else "a reply that was not asked for")
                answer, _ = self._pending.popleft()
                if not answer.done():
                    answer.set_result(reply)
        except NotResp as error:
            self._broken(Unavailable(str(error) or "the answer is not RESP"))

    def connection_lost(self, exc: Exception | None) -> None:
        why = exc.strerror.lower() if isinstance(exc, OSError) and exc.strerror else "the connection was closed"
        self._broken(Unavailable(why))

    def _flush(self) -> None:
        if not self.closed and self._transport is not None:
            self._transport.write(b"".join(self._outbox))
            self._outbox.clear()

    def _wake_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._expire, when)

    def _expire(self, when: float) -> None:
        """One timer for all: their deadlines are about in order."""
        self._timer = None
        now = self._loop.time()
        if now > when + _BLOCKED_SECONDS:  # the loop was blocked: what has come meanwhile is read first
            self._timer = self._loop.call_later(_BLOCKED_SECONDS, self._expire, math.inf)
            return
        if self._pending and self._pending[0][1] + STUCK_SECONDS < now:
            return self._broken(Unavailable(f"no answer for {STUCK_SECONDS:g} s"))
        following = [self._pending[0][1] + STUCK_SECONDS] if self._pending else []
        for answer, until in self._pending:
            if answer.done():
                continue
            if until <= now:
                answer.set_exception(Unavailable("no answer within the timeout"))
            else:
                following.append(until)
        if following:
            self._wake_at(min(following) + 0.0005)

    def _broken(self, error: Unavailable) -> None:
        """What was not written may be asked elsewhere."""
        if self.closed:
            return
        self.closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        written = len(self._pending) - len(self._outbox)
        for at, (answer, _) in enumerate(self._pending):
            if not answer.done():
                answer.set_exception(Unavailable(*error.args) if at < written else NotWritten())
                answer.exception()  # nobody may be waiting
        self._pending.clear()
        self._outbox.clear()
