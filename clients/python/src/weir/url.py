"""Where weir is: a URL, and what stands in for it."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from urllib.parse import unquote

FORM = "weir://[[USER]:PASSWORD@]HOST[:PORT][,HOST...], weirs://... for TLS, or unix:/PATH"
PORT = 6390


@dataclass(frozen=True)
class Endpoint:
    """One place to connect to: a path, or a host and its port."""

    host: str
    port: int = PORT
    path: str | None = None

    def __str__(self) -> str:
        if self.path is not None:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Target:
    """All that a URL and the options beside it say."""

    endpoints: tuple[Endpoint, ...]  # none: a local one
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return ",".join(map(str, self.endpoints)) or "weir local"


def parse(
    url: str | None = None,
    *,
    user: str | None = None,
    password: str | None = None,
    ca: str | None = None,
    cert: str | None = None,
    key: str | None = None,
) -> Target:
    """The target; a ValueError says the form and never shows a password."""
    url = url or os.environ.get("WEIR_URL") or "weir+local:"
    scheme, colon, rest = url.partition(":")
    if not colon or scheme not in ("weir", "weirs", "unix", "weir+unix", "weir+local"):
        raise ValueError(f"{scheme!r} is not a scheme of weir; the form is {FORM}")
    if (ca or cert or key) and scheme != "weirs":
        raise ValueError("ca, cert and key are for TLS: say weirs://")
    if scheme == "weir+local":
        return Target(())
    if scheme in ("unix", "weir+unix"):
        path = rest[2:] if rest.startswith("//") else rest
        if not path.startswith("/"):
            raise ValueError("unix: needs the whole path of a socket, as in unix:/run/weir.sock")
        endpoints: tuple[Endpoint, ...] = (Endpoint("", path=path),)
        given: tuple[str | None, str | None] = (None, None)
    else:
        endpoints, given = _hosts(rest)
    return Target(
        endpoints,
        user or given[0],
        password or given[1] or os.environ.get("WEIR_PASSWORD") or None,
        _context(ca, cert, key) if scheme == "weirs" else None,
    )


def _hosts(rest: str) -> tuple[tuple[Endpoint, ...], tuple[str | None, str | None]]:
    if not rest.startswith("//"):
        raise ValueError(f"missing '//'; the form is {FORM}")
    login, _, hosts = rest[2:].rpartition("@")
    if hosts.endswith("/"):
        hosts = hosts[:-1]
    if "/" in hosts or "?" in hosts or "#" in hosts:
        raise ValueError(f"a URL of weir ends with its hosts, and options are arguments of connect(); the form is {FORM}")
    user, _, password = login.partition(":")
    return tuple(_endpoint(each) for each in hosts.split(",")), (unquote(user) or None, unquote(password) or None)


def _endpoint(text: str) -> Endpoint:
    if text.startswith("["):
        host, bracket, port = text[1:].partition("]")
        good = bool(bracket) and (not port or port.startswith(":"))
        port = port[1:]
    else:
        host, colon, port = text.partition(":")
        good = not colon or bool(port)
    if not host or not good:
        raise ValueError(f"a URL without a host; the form is {FORM}")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"port {port!r} is not a number from 1 to 65535")
    return Endpoint(host, int(port or PORT))


def _context(ca: str | None, cert: str | None, key: str | None) -> ssl.SSLContext:
    if key and not cert:
        raise ValueError("key needs cert, the certificate that it belongs to")
    try:
        context = ssl.create_default_context(cafile=ca)
        if cert:
            context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"ca, cert or key cannot be used: {error}") from None
    return context
