"""One connection that threads share: what they ask at once leaves in one write, and one of those that wait reads the
replies for all. No thread of its own."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections import deque
from typing import Any

from weir import errors
from weir.errors import NotWritten, Unavailable
from weir.resp import Failure, NotResp, Parser

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
    __slots__ = ("data", "done", "error", "gone", "reply", "until", "woken")

    def __init__(self, data: bytes, until: float) -> None:
        self.data = data
        self.until = until
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
        self.wake()


class Connection:
    def __init__(self, sock: socket.socket, parser: Parser) -> None:
        self._socket = sock
        self._descriptor = sock.fileno()
        self._parser = parser
        self._tls = threading.Lock() if isinstance(sock, ssl.SSLSocket) else None  # OpenSSL's are of one thread at a time
        self._heard = 0.0
        self._outbox: deque[Question] = deque()  # not written
        self._pending: deque[Question] = deque()  # written, and not answered
        self._rest = b""  # of a write that did not get through
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self.closed = False

    def unanswered(self) -> int:
        return len(self._pending) + len(self._outbox)

    def usable(self, now: float) -> bool:
        """Whether to ask here. One that the other side has closed while nobody asked is noticed now, before a word is
        written to it."""
        if self.closed:
            return False
        try:
            if self._pending[0].until + STUCK_SECONDS < now:
                self._broken(Unavailable(f"no answer for {STUCK_SECONDS:g} s"))
            return not self.closed
        except IndexError:
            pass
        if now - self._heard > FRESH_SECONDS and self._reading.acquire(False):
            try:
                self._receive(0)
            finally:
                self._reading.release()
                self._pass_on()
        return not self.closed

    def ask(self, data: bytes, until: float, first: Question | None = None) -> Any:
        """The reply; NotWritten, where it may be asked elsewhere, or Unavailable. `first` goes before it, in one write, and has
        its reply then; it may be asked twice."""
        question = Question(data, until)
        if first is not None:
            first.gone = True  # what waits is the other
            self._outbox.append(first)
        self._outbox.append(question)
        try:
            self._flush(until)
            self._wait(question)
        finally:
            question.gone = not question.done
            self._pass_on()
        if question.error is not None:
            raise question.error
        return question.reply

    def close(self) -> None:
        self._broken(Unavailable("the client was closed"))
        with self._writing, self._reading:  # the threads that have them see the end
            self._socket.close()

    def abandon(self) -> None:
        """Closes this process' descriptor alone: the connection stays its parent's."""
        self._socket.close()

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
        if not self._pending or self._reading.locked():
            return
        for each in list(self._pending):
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
                if not self._pending:
                    raise unasked(reply)
                self._pending.popleft().finish(reply)
        except (OSError, NotResp, errors.Error) as error:
            self._broken(unavailable(error))
        except BaseException:  # a signal's: what had been read is lost
            self._broken(Unavailable("interrupted by a signal"))
            raise
        return True

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
