"""One connection of an event loop: what is asked in one turn of the loop is one write, and those that stand in line wait for
pushes."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import Any, Callable, Optional, cast

from weir import words
from weir.connection import FRESH_SECONDS, STUCK_SECONDS, unasked, unavailable
from weir.errors import NotWritten, Unavailable
from weir.resp import NotResp, Parser, Push

_BLOCKED_SECONDS = 0.01

Late = Optional[Callable[[Any], None]]  # is told a reply that comes when nobody waits for it any more
Answer = tuple["asyncio.Future[Any]", float, Late]  # and when that is


class Connection(asyncio.Protocol):
    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = Parser()
        self._outbox: list[bytes] = []
        self._pending: deque[Answer] = deque()
        self._in_line: dict[bytes, asyncio.Future[Any]] = {}  # by TAG: those that wait for a push
        self._timer: asyncio.TimerHandle | None = None
        self._heard = 0.0
        self.has_tags = False  # an acquire may wait by TAG
        self.closed = False
        self.why: Exception = Unavailable("no answer within the timeout")  # it was closed

    def unanswered(self) -> int:
        return len(self._pending)

    def answers(self) -> list[asyncio.Future[Any]]:
        """Those that somebody waits for."""
        return [answer for answer, _, _ in self._pending if not answer.done()]

    def ask(self, data: bytes, until: float, late: Late = None) -> asyncio.Future[Any]:
        """The reply, or Unavailable. Cancelled, it is dropped when it comes."""
        answer = self._loop.create_future()
        if self.closed:
            answer.set_exception(NotWritten())
            return answer
        if not self._outbox:
            is_fresh = self._pending or self._loop.time() - self._heard < FRESH_SECONDS
            self._loop.call_soon(self._flush if is_fresh else self._look_and_flush)
        self._outbox.append(data)
        self._pending.append((answer, until, late))
        if self._timer is None or until < self._timer.when():
            self._wake_at(until)
        return answer

    async def acquire(self, word: bytes, data: bytes, max_wait: float, asked: Callable[[], None]) -> Any:
        """The reply to an ACQUIRE by TAG: its first one is there within the timeout, when `asked` is called, and where that is
        QUEUED the other one after `max_wait`, and as much. Given up, for whatever reason, it leaves the line."""
        answer = self.ask(data, self._loop.time() + self._timeout, self.give_back)
        pushed = self._in_line[word] = self._loop.create_future()
        try:
            try:
                reply = await answer
            finally:
                asked()
            if reply == words.QUEUED:
                if not pushed.done():
                    await asyncio.wait([pushed], timeout=max_wait + self._timeout)
                if not pushed.done():
                    raise Unavailable("no answer within the timeout")
                reply = pushed.result()
            return reply
        except NotWritten:
            raise
        except BaseException:
            self._leave(word, answer, pushed)
            raise
        finally:
            self._in_line.pop(word, None)

    def end_line(self, error: Exception) -> None:
        """For those that stand in line."""
        while self._in_line:
            _fail(self._in_line.popitem()[1], unavailable(error))

    def give_back(self, reply: Any) -> None:
        """A grant that comes too late for its caller."""
        data = words.giving_back(reply)
        if data is not None:
            self._say(data)

    def close(self, why: BaseException | None = None) -> None:
        self._broken(why if isinstance(why, Exception) else Unavailable("the client was closed"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        try:
            for reply in self._parser.feed(data):
                if reply.__class__ is Push:
                    self._pushed(reply)
                    continue
                if not self._pending:
                    return self._broken(unasked(reply))
                answer, _, late = self._pending.popleft()
                if not answer.done():
                    answer.set_result(reply)
                elif late is not None:
                    late(reply)
        except NotResp as error:
            self._broken(error)

    def eof_received(self) -> None:
        """Now, and not when the transport says so: what is in the outbox has not been written."""
        self._broken(Unavailable("the connection was closed"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._broken(exc or Unavailable("the connection was closed"))

    def _pushed(self, push: Push) -> None:
        if push[0] == words.PUSHED:
            waits = self._in_line.pop(push[1], None)
            if waits is not None:
                waits.set_result(push[2])
            else:
                self.give_back(push[2])

    def _leave(self, word: bytes, *answers: asyncio.Future[Any]) -> None:
        """A grant comes before the answer, if it comes at all: it is read, and given back."""
        self._in_line.pop(word, None)
        self._say(words.leave(word))
        for each in answers:
            if each.done() and not each.cancelled() and each.exception() is None:
                self.give_back(each.result())

    def _say(self, data: bytes) -> None:
        """What nobody waits for an answer to."""
        if not self.closed:
            self.ask(data, self._loop.time() + self._timeout).cancel()

    def _look_and_flush(self) -> None:
        """Between this turn and the next the loop sees whether the other side has closed."""
        self._loop.call_soon(self._flush)

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
        late = now - when
        if late > _BLOCKED_SECONDS:  # the loop was blocked, and that time does not count: neither wrote nor read it
            self._timer = self._loop.call_later(min(late, STUCK_SECONDS), self._expire, math.inf)
            return
        if self._pending and self._pending[0][1] + STUCK_SECONDS < now:
            return self._broken(Unavailable(f"no answer for {STUCK_SECONDS:g} s"))
        following = [self._pending[0][1] + STUCK_SECONDS] if self._pending else []
        for answer, until, _ in self._pending:
            if answer.done():
                continue
            if until <= now:
                answer.set_exception(Unavailable("no answer within the timeout"))
            else:
                following.append(until)
        if following:
            self._wake_at(min(following) + 0.0005)

    def _broken(self, error: Exception) -> None:
        """What was not written may be asked elsewhere."""
        if self.closed:
            return
        self.closed, self.why = True, error
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        written = len(self._pending) - len(self._outbox)
        for at, (answer, _, _) in enumerate(self._pending):
            _fail(answer, unavailable(error) if at < written else NotWritten())
        self._pending.clear()
        self._outbox.clear()
        self.end_line(error)


def _fail(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
        answer.exception()  # nobody may be waiting
