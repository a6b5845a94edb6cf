"""The same as weir, for an event loop:

client = weir.aio.connect("weir://limits.internal")
if not await client.check("user:42", "100/min"):
    ...
"""

from weir.aio.client import Client, connect
from weir.aio.reservation import Reservation

__all__ = ["Client", "Reservation", "connect"]
