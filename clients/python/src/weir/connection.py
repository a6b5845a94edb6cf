"""One connection that threads share: what they ask at once leaves in one write, and one of those that wait reads the
replies for all, and the pushes of those that stand in line. No thread of its own."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any, Callable

from weir import errors, words
from weir.errors import NotWritten, Unavailable
from weir.resp import Failure, NotResp, Parser, Push

_READ_BYTES = 1 << 16
FRESH_SECONDS = 0.001  # since the last answer: the connection is not looked at
STUCK_SECONDS = 1.0  # no answer for so long beyond the timeout: the connection is given up


def ready(descriptor: int, write: bool, seconds: float) -> bool:
    """Whether the socket can be read or written within that time."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT if write else select.POLLIN)
        return bool(poll.poll(seconds * 1000 if seconds > 0 else 0))
    sockets = [descriptor]
    return any(select.select([] if write else sockets, sockets if write else [], [], max(0.0, seconds)))


class Question:
    __slots__ = ("data", "done", "error", "gone", "late", "reply", "until", "woken")

    def __init__(self, data: bytes, until: float, late: Callable[[Any], None] | None = None) -> None:
        self.data = data
        self.until = until
        self.late = late  # is told a reply that comes when the question is gone
        self.reply: Any = None
        self.error: Exception | None = None
        self.done = False
        self.gone = False  # nobody waits for it any more
        self.woken = threading.Lock()
        self.woken.acquire()

    def wake(self) -> None:
        try:
            self.woken.release()
        except RuntimeError:  # it is awake already
            pass

    def finish(self, reply: Any, error: Exception | None = None) -> None:
        self.reply, self.error, self.done = reply, error, True
        if self.gone and self.late is not None and error is None:
            self.late(reply)
        self.wake()


class Connection:
    def __init__(self, sock: socket.socket, parser: Parser, timeout: float, has_tags: bool = False) -> None:
        self.has_tags = has_tags  # an acquire may wait by TAG
        self._timeout = timeout
        self._socket = sock
        self._descriptor = sock.fileno()
        self._parser = parser
        self._tls = threading.Lock() if isinstance(sock, ssl.SSLSocket) else None  # OpenSSL's are of one thread at a time
        self._heard = 0.0
        self._outbox: deque[Question] = deque()  # not written
        self._pending: deque[Question] = deque()  # written, and not answered
        self._in_line: dict[bytes, Question] = {}  # by TAG: those that wait for a push
        self._rest = b""  # of a write that did not get through
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self.closed = False

    def unanswered(self) -> int:
        return len(self._pending) + len(self._outbox)

    def awaited(self) -> bool:
        """Whether somebody waits for a reply."""
        return not all(each.gone for each in (*self._pending, *self._outbox))

    def usable(self, now: float) -> bool:
        """Whether to ask here. One that the other side has closed while nobody asked is noticed now, before a word is
        written to it."""
        if self.closed:
            return False
        try:
            if self._pending[0].until + STUCK_SECONDS >= now:
                return True
        except IndexError:
            pass
        if now - self._heard > FRESH_SECONDS and self._reading.acquire(False):
            try:
                self._receive(0)
            finally:
                self._reading.release()
                self._pass_on()
        with contextlib.suppress(IndexError):
            if self._pending[0].until + STUCK_SECONDS < now:
                self._broken(Unavailable(f"no answer for {STUCK_SECONDS:g} s"))
        return not self.closed

    def ask(self, data: bytes, until: float, first: Question | None = None) -> Any:
        """The reply; NotWritten, where it may be asked elsewhere, or Unavailable. `first` goes before it, in one write, and has
        its reply then; it may be asked twice."""
        if first is not None:
            first.gone = True  # what waits is the other
            self._outbox.append(first)
        return self._ask(Question(data, until))

    def acquire(self, word: bytes, data: bytes, max_wait: float, asked: Callable[[], None]) -> Any:
        """As ask(), of an ACQUIRE by TAG: its first reply is there within the timeout, when `asked` is called, and where that
        is QUEUED the other one after `max_wait`, and as much. Given up, for whatever reason, it leaves the line."""
        question = Question(data, time.monotonic() + self._timeout, self._give_back)
        pushed = self._in_line[word] = Question(b"", 0.0, self._give_back)
        try:
            try:
                reply = self._ask(question)
            finally:
                asked()
            if reply == words.QUEUED:
                pushed.until = time.monotonic() + max_wait + self._timeout
                reply = self._reply(pushed)
            return reply
        except NotWritten:
            raise
        except BaseException as error:
            self._leave(word, (question, pushed), waits=not isinstance(error, Unavailable))  # of a silent server, no more
            raise
        finally:
            self._in_line.pop(word, None)
            self._pass_on()  # one that has just left may have woken this one

    def end_line(self, error: Unavailable) -> None:
        """For those that stand in line."""
        with contextlib.suppress(KeyError):
            while True:
                self._in_line.popitem()[1].finish(None, Unavailable(*error.args))

    def close(self) -> None:
        self._broken(Unavailable("the client was closed"))
        with self._writing, self._reading:  # the threads that have them see the end
            self._socket.close()

    def abandon(self) -> None:
        """Closes this process' descriptor alone: the connection stays its parent's."""
        self._socket.close()

    def _ask(self, question: Question) -> Any:
        self._outbox.append(question)
        return self._reply(question)

    def _reply(self, question: Question) -> Any:
        try:
            self._flush(question.until)
            self._wait(question)
        finally:
            question.gone = not question.done
            self._pass_on()
        if question.error is not None:
            raise question.error
        return question.reply

    def _say(self, data: bytes) -> None:
        """What nobody waits for an answer to."""
        now = time.monotonic()
        question = Question(data, now + self._timeout)
        question.gone = True
        self._outbox.append(question)
        self._flush(now)

    def _leave(self, word: bytes, questions: Iterable[Question], waits: bool) -> None:
        """A grant comes before the answer, if it comes at all. Who reads it gives it back, and that is this thread where no
        other reads."""
        self._in_line.pop(word, None)
        for each in questions:
            each.gone = True
            if each.done and each.error is None:
                self._give_back(each.reply)
        if self.closed:
            return
        if not waits:
            return self._say(words.leave(word))
        with contextlib.suppress(NotWritten, Unavailable):
            self.ask(words.leave(word), time.monotonic() + self._timeout)

    def _give_back(self, reply: Any) -> None:
        data = words.giving_back(reply)
        if data is not None and not self.closed:
            self._say(data)

    # Writing: one writes for all that have put something into the outbox.

    def _flush(self, until: float) -> None:
        while self._outbox or self._rest:
            if not self._writing.acquire(False):
                return  # the one that writes takes it along
            try:
                if not self._write_all(until):
                    return
            finally:
                self._writing.release()

    def _write_all(self, until: float) -> bool:
        batch: list[Question] = []
        try:
            while True:
                batch.append(self._outbox.popleft())
        except IndexError:
            pass
        data = batch[0].data if len(batch) == 1 and not self._rest else self._rest + b"".join([each.data for each in batch])
        start = len(self._rest)
        self._pending.extend(batch)
        written = 0
        try:
            while written < len(data):
                sent = self._send(data[written:] if written else data)
                written += sent
                if not sent and not ready(self._descriptor, True, until - time.monotonic()):
                    break
        except OSError as error:
            for each in batch:
                if written <= start:
                    each.error = NotWritten()
                start += len(each.data)
            self._broken(unavailable(error))
            return False
        except BaseException:  # a signal's: nobody knows what was written
            self._broken(Unavailable("interrupted by a signal"))
            raise
        self._rest = data[written:]
        return not self._rest

    def _send(self, data: bytes) -> int:
        try:
            if self._tls is None:
                return self._socket.send(data)
            with self._tls:
                return self._socket.send(data)
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return 0

    # Reading: one reads for all; when it has its own reply, the next one does.

    def _wait(self, question: Question) -> None:
        while not question.done:
            left = question.until - time.monotonic()
            if left <= 0:
                self._withdraw(question)
            elif self._reading.acquire(False):
                try:
                    while not question.done and left > 0:
                        self._receive(left)
                        self._heard = time.monotonic()
                        left = question.until - self._heard
                finally:
                    self._reading.release()
            else:
                question.woken.acquire(timeout=left)

    def _withdraw(self, question: Question) -> None:
        try:
            self._outbox.remove(question)
        except ValueError:
            raise Unavailable("no answer within the timeout") from None
        raise Unavailable("nothing could be written within the timeout")

    def _pass_on(self) -> None:
        """Where nobody reads and somebody waits, that one reads now. Called by all that leave: one that read, and one that
        wrote for others while its own reply came."""
        if not (self._pending or self._in_line) or self._reading.locked():
            return
        for each in (*self._pending, *self._in_line.values()):
            if not each.gone and not each.done:
                return each.wake()

    def _receive(self, seconds: float) -> None:
        """What comes within that time, if anything does."""
        if self._tls is not None and self._take():
            return  # it had been read with what came before
        if ready(self._descriptor, False, seconds):
            self._take()

    def _take(self) -> bool:
        """Whether something has come, an end too."""
        try:
            data = self._recv()
            if data is None:
                return False
            if not data:
                raise ConnectionError("the connection was closed")
            for reply in self._parser.feed(data):
                if reply.__class__ is Push:
                    self._pushed(reply)
                elif self._pending:
                    self._pending.popleft().finish(reply)
                else:
                    raise unasked(reply)
        except (OSError, NotResp, errors.Error) as error:
            self._broken(unavailable(error))
        except BaseException:  # a signal's: what had been read is lost
            self._broken(Unavailable("interrupted by a signal"))
            raise
        return True

    def _pushed(self, push: Push) -> None:
        if push[0] == words.PUSHED:
            waits = self._in_line.pop(push[1], None)
            if waits is not None:
                waits.finish(push[2])
            else:
                self._give_back(push[2])

    def _recv(self) -> bytes | None:
        try:
            if self._tls is None:
                return self._socket.recv(_READ_BYTES)
            with self._tls:
                return self._socket.recv(_READ_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None

    def _broken(self, error: Unavailable) -> None:
        self.closed = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        for questions in (self._pending, self._outbox):
            with contextlib.suppress(IndexError):
                while True:
                    question = questions.popleft()
                    written = questions is self._pending
                    question.finish(None, question.error or (Unavailable(*error.args) if written else NotWritten()))
        self.end_line(error)


def unavailable(error: Exception) -> Unavailable:
    """What those that wait are told."""
    if isinstance(error, NotResp):
        return Unavailable("the answer is not RESP")
    if isinstance(error, OSError) and error.strerror:
        return Unavailable(error.strerror.lower())
    return Unavailable(str(error) or type(error).__name__)


def unasked(reply: Any) -> Exception:
    """A reply that nobody waits for says why the server closes the connection."""
    return errors.of_reply(reply) if isinstance(reply, Failure) else NotResp()
