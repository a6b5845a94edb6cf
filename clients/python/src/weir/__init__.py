"""weir: rate limits that a server decides.

    client = weir.connect("weir://limits.internal")
    if not client.check("user:42", "100/min"):
        ...

`weir.aio` has the same, awaited.
"""

from weir._version import VERSION as __version__
from weir.client import Client, connect
from weir.decision import Call, Charged, Decision, Question
from weir.decorator import limit
from weir.errors import Denied, Error, Refused, Unauthorized, Unavailable
from weir.reservation import Reservation
from weir.vendors import told
from weir.verbs import Limiter
from weir.words import Rules, Value

__all__ = [
    "Call",
    "Charged",
    "Client",
    "Decision",
    "Denied",
    "Error",
    "Limiter",
    "Question",
    "Refused",
    "Reservation",
    "Rules",
    "Unauthorized",
    "Unavailable",
    "Value",
    "__version__",
    "connect",
    "limit",
    "told",
]
