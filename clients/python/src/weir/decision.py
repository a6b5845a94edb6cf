"""What is answered."""

from __future__ import annotations

from dataclasses import dataclass

from weir.errors import Error


@dataclass(frozen=True)
class Decision:
    """May it act? `bool(decision)` is `allowed`. Times are in seconds."""

    allowed: bool
    limit: int | None = None  # the burst, or the count of a window; None: no limit applies
    remaining: int | None = None  # what would be admitted at once now
    retry_after: float | None = None  # denied: then it passes; None: allowed, or waiting does not help
    reset_after: float = 0.0  # until the key is as if never used
    by: str | None = None  # the limit that decided; by rules its key
    never: bool = False  # denied, and waiting does not help
    granted: int = 0  # units; with at_least as many as there were
    decided: bool = True  # False: weir did not answer, on_error decided
    error: Error | None = None  # and why
    fields: tuple[tuple[str, str], ...] = ()  # of HTTP, where they were asked for

    def __bool__(self) -> bool:
        return self.allowed


@dataclass(frozen=True)
class Booking:
    """A moment: what a Reservation is made of."""

    decision: Decision
    wait: float | None = None
    id: str | None = None


@dataclass(frozen=True)
class Charged:
    """What a charge has changed. Times are in seconds."""

    charged: int = 0  # units that are owed now and were not
    owed: int = 0  # units beyond the limit
    wait: float = 0.0  # until one more unit would be admitted
    reset_after: float = 0.0
    by: str | None = None


@dataclass(frozen=True)
class Call:
    """What on_call is told. `by` is the limit or the rule, never a key."""

    verb: str
    by: str | None
    allowed: bool | None  # None: the verb decides nothing
    decided: bool
    seconds: float


@dataclass(frozen=True)
class Question:
    """What was asked, for a function as on_error."""

    verb: str
    rules: tuple[tuple[str, str], ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
