"""The first words on a connection: who asks, and whether it is a weir of about this age that answers. No sockets."""
from __future__ import annotations

from typing import Any, Generator, Optional

from weir import errors
from weir._version import VERSION
from weir.core import log
from weir.resp import Failure, encode
from weir.url import Target

Greeting = Generator[bytes, Any, None]  # yields what to send, is sent the reply


def greeting(target: Target, name: object, timeout: float) -> Greeting:
    """Refused, Unauthorized or Unavailable where this is no server to ask."""
    words = [b"HELLO", b"2"]
    if target.password is not None:
        words += [b"AUTH", (target.user or "default").encode(), target.password.encode()]
    reply = yield encode(words)
    if isinstance(reply, Failure):
        raise _not_let_in(reply, name, target)
    if not isinstance(reply, list):
        raise errors.Refused(f"{name} does not answer HELLO as a weir does")
    said = dict(zip(reply[::2], reply[1::2]))
    version: Optional[str] = said[b"weir_version"].decode() if b"weir_version" in said else None
    if version is None:  # a Redis, or a weir from before HELLO said it
        info = yield encode([b"INFO", b"server"])
        version = _weir_version(info)
    if version is None:
        what = said.get(b"server", b"").decode().replace("redis", "Redis").replace("valkey", "Valkey") or "server"
        raise errors.Refused(
            f"{name} is a {what} {said.get(b'version', b'?').decode()}, not a weir; start `weir serve --store` and connect to that"
        )
    if not _speaks_with(version):
        raise errors.Refused(f"{name} is weir {version}; this client, {VERSION}, speaks with one minor version older or newer")
    store_deadline = said.get(b"store_deadline_ms", 0)
    if timeout * 1000 <= store_deadline:
        log.warning(
            "weir at %s: the timeout of %g s is not above the server's --store-deadline of %d ms, so this client gives up "
            "before the server's fallback answers", name, timeout, store_deadline,
        )


def _not_let_in(reply: Failure, name: object, target: Target) -> errors.Error:
    error = errors.of_reply(reply)
    if reply.startswith("NOAUTH"):
        return errors.Unauthorized(f"{name} wants a password: give it in the URL, as password= or in WEIR_PASSWORD")
    if reply.startswith("WRONGPASS"):
        return errors.Unauthorized(f"{name} does not know this password of user {target.user or 'default'!r}")
    if isinstance(error, errors.Refused):
        return errors.Refused(f"{name} is not a weir: it answers HELLO with {str(reply)[:100]!r}")
    return error


def _weir_version(info: Any) -> Optional[str]:
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
