"""What a limit that travels with a request counts by: APP, NAME, WHO and the rule, in one key that no value can pretend to be
(clients/cases/identity.json). Pure."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Iterable

_MOST_BYTES = 200  # of a part; a longer one is told by its hash
_IPV6_BITS = 64  # one client has all of the addresses that begin with these
_WITH_PORT = re.compile(r"([0-9.]+):[0-9]+|\[([^\]]*)\](?::[0-9]+)?")


def key(*parts: str | bytes) -> str:
    """Netstrings, so that "a" and "b:c" are another key than "a:b" and "c"."""
    return "".join(map(_netstring, parts))


def keys(app: str, name: str, who: str | bytes, rules: Iterable[str]) -> dict[str, str]:
    """A key for each rule of a limit. `who` is the client's address, what key= says, or nothing."""
    return {key(app, name, who, rule): rule for rule in rules}


def who(address: str) -> str:
    """What an address is counted as: without its port, a mapped IPv4 one as that, an IPv6 one by its network. Any other
    text stays as it is."""
    port = _WITH_PORT.fullmatch(address)
    text = (port[1] or port[2]) if port else address
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return str(ipaddress.ip_network((int(found), _IPV6_BITS), strict=False))
        found = found.ipv4_mapped
    return str(found)


def _netstring(part: str | bytes) -> str:
    found = part if isinstance(part, bytes) else part.encode(errors="surrogatepass")
    if len(found) > _MOST_BYTES:
        found = hashlib.sha256(found).hexdigest().encode()
    return f"{len(found)}:{found.decode(errors='surrogateescape')},"
