"""A storage for the package `limits`, and so for what is built on it, such as Flask-Limiter and slowapi:

    import weir.limits  # has the schemes weir://, weirs://, weir+unix:// and weir+local:
    limiter = Limiter(get_remote_address, app=app, storage_uri="weir://limits.internal")

Fixed windows and sliding window counters count as with other storages; a moving window is GCRA. Options of connect() go
into storage_options. Without an answer of weir the caller gets an exception, so that
`in_memory_fallback_enabled` and `swallow_errors` do what they say.
"""

from __future__ import annotations

import math
import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from limits.aio.storage import base as async_base
from limits.limits import GRANULARITIES
from limits.storage import base

import weir
import weir.aio
from weir.decision import Decision

if TYPE_CHECKING:
    from limits.aio.storage.base import SlidingWindowCounterSupport as AsyncSliding
    from limits.storage.base import SlidingWindowCounterSupport as Sliding
else:  # limits 2 and 3 have none
    Sliding = getattr(base, "SlidingWindowCounterSupport", object)
    AsyncSliding = getattr(async_base, "SlidingWindowCounterSupport", object)

SCHEMES = ["weir", "weirs", "weir+unix", "weir+local"]
ASYNC_SCHEMES = [f"async+{scheme}" for scheme in SCHEMES]
LONGEST_TICK = 1000  # seconds of a window that are counted in nanoseconds: 10^12 in all
Window = tuple[int, float, int, float]


class Item(NamedTuple):
    """What the end of a key says, as in LIMITER/203.0.113.7/100/1/minute."""

    amount: int
    expiry: int  # seconds


def item_of(key: str) -> Item:
    """`limits` tells a storage no numbers when it reads, and writes them into the key."""
    *_, amount, multiples, name = ["", "", *key.split("/")]
    if name not in GRANULARITIES or not amount.isdigit() or not multiples.isdigit():
        raise ValueError(
            f"the storage reads the limit from the end of a key, as in LIMITER/ip/100/1/minute; {key!r} ends otherwise"
        )
    return Item(int(amount), GRANULARITIES[name].GRANULARITY[0] * int(multiples))


def count_rule(expiry: int) -> str:
    """A count that is never full: one in a nanosecond, or in as many whole ones as make it 10^12 at most."""
    tick = -(-expiry // LONGEST_TICK)
    return f"{-(-expiry * 10**9 // tick)}/{expiry}s algorithm=fixed_window"


def moving_rule(limit: int, expiry: int) -> str:
    return f"{limit}/{expiry}s"


def sliding_rule(limit: int, expiry: int) -> str:
    return f"{limit}/{expiry}s algorithm=sliding_window_counter"


def name_of(key: str) -> str:
    return f"limits:{key}"


def used(told: Decision) -> int:
    return (told.limit or 0) - (told.remaining or 0)


def moment(seconds: float) -> float:
    """So long from now; for limits 2 and 3 in whole seconds, which clients are told as they are."""
    at = time.time() + seconds
    return at if hasattr(base, "SlidingWindowCounterSupport") else int(at)


def moving_window(told: Decision, limit: int, expiry: int) -> tuple[float, int]:
    """(its start, entries). It ends when the first unit comes back."""
    taken, pace = used(told), expiry / limit
    return moment(told.reset_after - (taken - 1) * pace - expiry if taken else 0.0), taken


def sliding_window(told: Decision, expiry: int) -> Window:
    """All as if in the current window, which ends by the clock, for `limits` would weigh what weir has weighed."""
    return 0, 0.0, used(told), expiry - time.time() % expiry


def options_of(uri: str | None, options: dict[str, Any]) -> dict[str, Any]:
    where = (uri or "weir+local:").removeprefix("async+")
    return {"on_error": "raise", **options, "url": where}


def warn_of_elastic_expiry() -> None:
    warnings.warn("weir has no elastic expiry: the window ends when it would without", stacklevel=3)


def cannot_be_reset() -> NoReturn:
    raise NotImplementedError("weir forgets a key, and never all of them: they may be of others too")


class Storage(base.Storage, base.MovingWindowSupport, Sliding):
    """What `storage_from_string("weir://...")` makes."""

    STORAGE_SCHEME = SCHEMES

    def __init__(self, uri: str | None = None, wrap_exceptions: bool = False, **options: Any) -> None:
        super().__init__(uri, wrap_exceptions=wrap_exceptions)
        self.storage = weir.connect(**options_of(uri, options))

    @property
    def base_exceptions(self) -> type[Exception]:
        return weir.Error

    def incr(self, key: str, expiry: int, amount: int = 1, elastic_expiry: bool = False) -> int:
        if elastic_expiry:
            warn_of_elastic_expiry()
        return used(self.storage.check(name_of(key), count_rule(expiry), cost=math.ceil(amount)))

    def get(self, key: str) -> int:
        return used(self._count(key))

    def get_expiry(self, key: str) -> float:
        return moment(self._count(key).reset_after)

    def check(self) -> bool:
        try:
            return self.storage.look("limits", "1/s").decided
        except weir.Error:
            return False

    def reset(self) -> int | None:
        cannot_be_reset()

    def clear(self, key: str) -> None:
        self.storage.reset(name_of(key))

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        return self.storage.check(name_of(key), moving_rule(limit, expiry), cost=math.ceil(amount)).allowed

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        return moving_window(self.storage.look(name_of(key), moving_rule(limit, expiry)), limit, expiry)

    def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        return self.storage.check(name_of(key), sliding_rule(limit, expiry), cost=math.ceil(amount)).allowed

    def get_sliding_window(self, key: str, expiry: int) -> Window:
        return sliding_window(self.storage.look(name_of(key), sliding_rule(item_of(key).amount, expiry)), expiry)

    def clear_sliding_window(self, key: str, expiry: int) -> None:
        self.clear(key)

    def _count(self, key: str) -> Decision:
        return self.storage.look(name_of(key), count_rule(item_of(key).expiry))


class AsyncStorage(async_base.Storage, async_base.MovingWindowSupport, AsyncSliding):
    """What `storage_from_string("async+weir://...")` makes."""

    STORAGE_SCHEME = ASYNC_SCHEMES

    def __init__(self, uri: str | None = None, wrap_exceptions: bool = False, **options: Any) -> None:
        super().__init__(uri, wrap_exceptions=wrap_exceptions)
        self.storage = weir.aio.connect(**options_of(uri, options))

    @property
    def base_exceptions(self) -> type[Exception]:
        return weir.Error

    async def incr(self, key: str, expiry: int, amount: int = 1, elastic_expiry: bool = False) -> int:
        if elastic_expiry:
            warn_of_elastic_expiry()
        return used(await self.storage.check(name_of(key), count_rule(expiry), cost=math.ceil(amount)))

    async def get(self, key: str) -> int:
        return used(await self._count(key))

    async def get_expiry(self, key: str) -> float:
        return moment((await self._count(key)).reset_after)

    async def check(self) -> bool:
        try:
            return (await self.storage.look("limits", "1/s")).decided
        except weir.Error:
            return False

    async def reset(self) -> int | None:
        cannot_be_reset()

    async def clear(self, key: str) -> None:
        await self.storage.reset(name_of(key))

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        return (await self.storage.check(name_of(key), moving_rule(limit, expiry), cost=math.ceil(amount))).allowed

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        return moving_window(await self.storage.look(name_of(key), moving_rule(limit, expiry)), limit, expiry)

    async def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        return (await self.storage.check(name_of(key), sliding_rule(limit, expiry), cost=math.ceil(amount))).allowed

    async def get_sliding_window(self, key: str, expiry: int) -> Window:
        return sliding_window(await self.storage.look(name_of(key), sliding_rule(item_of(key).amount, expiry)), expiry)

    async def clear_sliding_window(self, key: str, expiry: int) -> None:
        await self.clear(key)

    async def _count(self, key: str) -> Decision:
        return await self.storage.look(name_of(key), count_rule(item_of(key).expiry))
