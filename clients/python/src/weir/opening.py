"""A connection that is being made, without blocking: one that asks goes on with it until its time is over, and then
the next one does. So no question waits beyond its own deadline, and no thread is needed."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import time
from collections.abc import Generator
from typing import Any, Callable

from weir.connection import Connection, ready, unavailable
from weir.errors import Error, Refused, Unauthorized, Unavailable
from weir.greeting import greeting
from weir.resp import NotResp, Parser
from weir.settings import Settings
from weir.url import Endpoint


def failure(error: Exception, endpoint: Endpoint) -> Error:
    """What an attempt that failed says."""
    if isinstance(error, Error):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        return Unauthorized(f"the certificate of {endpoint}: {error.verify_message}")
    if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
        return Unauthorized(f"{endpoint} does not take this client's certificate: {error.reason}")
    if isinstance(error, NotResp):
        return Refused(f"{endpoint} does not speak RESP; is it the address of weir's --resp?")
    return unavailable(error)


class Opening:
    """Generators say which way they wait; advance() waits."""

    def __init__(self, settings: Settings, endpoint: Endpoint) -> None:
        self._settings, self.endpoint = settings, endpoint
        self._ends = time.monotonic() + settings.connect_timeout
        self._socket: socket.socket | None = None
        self._steps = self._open()
        self._write: bool | None = None
        self.connection: Connection | None = None

    def advance(self, until: float) -> bool:
        """Goes on until then; true when there is a connection. An Error ends the attempt."""
        try:
            while True:
                if self._write is not None:
                    assert self._socket is not None
                    now = time.monotonic()
                    if not ready(self._socket.fileno(), self._write, min(until, self._ends) - now):
                        if time.monotonic() >= self._ends:
                            raise Unavailable("no connection within connect_timeout")
                        return False
                self._write = next(self._steps)
        except StopIteration:
            return True
        except (OSError, NotResp, Error) as error:
            self.close()
            raise failure(error, self.endpoint) from None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _open(self) -> Generator[bool, None, None]:
        yield from self._connect()
        assert self._socket is not None
        target = self._settings.target
        if target.tls is not None:
            self._socket = target.tls.wrap_socket(
                self._socket, server_hostname=self.endpoint.host, do_handshake_on_connect=False
            )
            yield from _retried(self._socket.do_handshake)
        self._ends = time.monotonic() + self._settings.hello_timeout
        parser = Parser()
        steps = greeting(target, self.endpoint, self._settings.timeout)
        words = next(steps)
        try:
            while True:
                words = steps.send((yield from self._converse(words, parser)))
        except StopIteration as greeted:
            self.connection = Connection(self._socket, parser, self._settings.timeout, greeted.value)

    def _connect(self) -> Generator[bool, None, None]:
        if self.endpoint.path is not None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.setblocking(False)
            self._socket.connect(self.endpoint.path)
            return
        found = socket.getaddrinfo(self.endpoint.host, self.endpoint.port, type=socket.SOCK_STREAM)
        for at, (family, kind, protocol, _, address) in enumerate(found):
            self._socket = socket.socket(family, kind, protocol)
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            code = self._socket.connect_ex(address)
            if code == errno.EINPROGRESS or code == errno.EWOULDBLOCK:
                yield True
                code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code == 0:
                return
            self._socket.close()
            if at + 1 == len(found):
                raise OSError(code, os.strerror(code))

    def _converse(self, words: bytes, parser: Parser) -> Generator[bool, None, Any]:
        assert self._socket is not None
        yield from _retried(self._socket.send, words)  # a greeting fits into any empty buffer
        while True:
            data = yield from _retried(self._socket.recv, 1 << 16)
            if not data:
                raise Unavailable("the connection was closed")
            for reply in parser.feed(data):
                return reply


def _retried(step: Callable[..., Any], *args: Any) -> Generator[bool, None, Any]:
    while True:
        try:
            return step(*args)
        except ssl.SSLWantWriteError:
            yield True
        except (BlockingIOError, ssl.SSLWantReadError):
            yield step.__name__ == "send"
