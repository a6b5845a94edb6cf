"""RESP3, and RESP2 as far as it is that: words to bytes, bytes to replies. No sockets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


class Failure(str):
    """An error reply."""


class Push(list[Any]):
    """What the server says unasked."""


class NotResp(Exception):
    """The other side speaks something else."""


class _Incomplete(Exception):
    pass


_INCOMPLETE = _Incomplete()
_KINDS = b"+-:$*_=%>"
_SIMPLE, _FAILURE, _INTEGER, _BULK, _, _NULL, _, _MAP, _PUSH = _KINDS
_BULKS, _ARRAYS = b"$=", b"*%>"


def encode(words: Sequence[bytes]) -> bytes:
    """One command."""
    return b"*%d\r\n" % len(words) + b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words])


class Parser:
    """Replies from bytes as they come: bytes, int, None, Failure, or a list of these, as a map is too, of names and values."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> Iterator[Any]:
        """The replies that are whole with `data`."""
        buffer = self._buffer + data if self._buffer else data
        at = 0
        try:
            while at < len(buffer):
                value, at = _value(buffer, at)
                yield value
        except _Incomplete:
            pass
        except ValueError:
            raise NotResp from None
        finally:
            self._buffer = buffer[at:]


def _value(buffer: bytes, at: int) -> Any:
    end = buffer.find(b"\r\n", at)
    if end < 0:
        if buffer[at] not in _KINDS:
            raise NotResp
        raise _INCOMPLETE
    kind, after = buffer[at], end + 2
    if kind == _INTEGER:
        return int(buffer[at + 1 : end]), after
    if kind in _BULKS:
        length = int(buffer[at + 1 : end])
        if length < 0:
            return None, after
        if len(buffer) < after + length + 2:
            raise _INCOMPLETE
        skipped = 0 if kind == _BULK else len(b"txt:")
        return buffer[after + skipped : after + length], after + length + 2
    if kind in _ARRAYS:
        values: list[Any] = [] if kind != _PUSH else Push()
        for _ in range(int(buffer[at + 1 : end]) * (2 if kind == _MAP else 1)):
            if after >= len(buffer):
                raise _INCOMPLETE
            end = buffer.find(b"\r\n", after)
            if end > 0 and buffer[after] == _INTEGER:  # as most are
                values.append(int(buffer[after + 1 : end]))
                after = end + 2
            else:
                value, after = _value(buffer, after)
                values.append(value)
        return values, after
    if kind == _SIMPLE:
        return buffer[at + 1 : end], after
    if kind == _FAILURE:
        return Failure(buffer[at + 1 : end].decode(errors="backslashreplace")), after
    if kind == _NULL:
        return None, after
    raise NotResp
