"""The first words on a connection: who asks, and whether it is a weir of about this age that answers. No sockets."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

from weir import errors
from weir._version import VERSION
from weir.core import log
from weir.resp import Failure, encode
from weir.url import Target

Greeting = Generator[bytes, Any, bool]  # yields what to send, is sent the reply; whether an acquire may wait by TAG


def greeting(target: Target, name: object, timeout: float) -> Greeting:
    """Refused, Unauthorized or Unavailable where this server cannot be asked."""
    login = [] if target.password is None else [b"AUTH", (target.user or "default").encode(), target.password.encode()]
    reply = yield encode([b"HELLO", b"3", *login])
    if isinstance(reply, Failure) and reply.startswith("NOPROTO"):
        reply = yield encode([b"HELLO", b"2", *login])
    if isinstance(reply, Failure):
        raise _not_let_in(reply, name, target)
    said = _fields(reply)
    version = said.get("weir_version") or _weir_version((yield encode([b"INFO", b"server"])))
    if version is None:
        what = said.get("server", "server").replace("redis", "Redis").replace("valkey", "Valkey")
        raise errors.Refused(
            f"{name} is a {what} {said.get('version', '')}, not a weir; start `weir serve --store` and connect to that"
        )
    if not _speaks_with(version):
        raise errors.Refused(f"{name} is weir {version}; this client, {VERSION}, speaks with one minor version older or newer")
    store_deadline = int(said.get("store_deadline_ms", "0"))
    if timeout * 1000 <= store_deadline:
        log.warning(
            "weir at %s: the timeout of %g s is not above the server's --store-deadline of %d ms, so this client gives up "
            "before the server's fallback answers",
            name,
            timeout,
            store_deadline,
        )
    return said.get("proto") == "3" and "max_waiters" in said


def _fields(reply: Any) -> dict[str, str]:
    """Of names and values in turn."""
    words = [each.decode() if isinstance(each, bytes) else str(each) for each in cast(list[object], reply)]
    return dict(zip(words[::2], words[1::2]))


def _not_let_in(reply: Failure, name: object, target: Target) -> errors.Error:
    error = errors.of_reply(reply)
    if reply.startswith("NOAUTH"):
        return errors.Unauthorized(f"{name} wants a password: give it in the URL, as password= or in WEIR_PASSWORD")
    if reply.startswith("WRONGPASS"):
        return errors.Unauthorized(f"{name} does not know this password of user {target.user or 'default'!r}")
    if isinstance(error, errors.Refused):
        return errors.Refused(f"{name} is not a weir: it answers HELLO with {str(reply)[:100]!r}")
    return error


def _weir_version(info: Any) -> str | None:
    """What INFO says where HELLO does not: a weir from before that, or none."""
    for line in info.decode(errors="replace").split("\r\n") if isinstance(info, bytes) else ():
        if line.startswith("weir_version:"):
            return str(line[len("weir_version:") :])
    return None


def _speaks_with(version: str) -> bool:
    try:
        theirs, ours = ([int(each) for each in text.split(".")[:2]] for text in (version, VERSION))
    except ValueError:
        return False
    return theirs[0] == ours[0] and abs(theirs[1] - ours[1]) <= 1
