"""When the next attempt to connect is due, and where: each place once at once, then with waits that double and that no
fleet synchronises."""

from __future__ import annotations

import random
from collections.abc import Sequence

from weir.errors import Error, Unavailable
from weir.url import Endpoint

_FIRST_SECONDS, _MOST_SECONDS = 0.01, 1.0


class Backoff:
    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = endpoints
        self._next = random.randrange(len(endpoints) or 1)
        self._failures = 0
        self.due = 0.0
        self.why: Error | None = None  # the last attempt failed
        self.tried = False  # one attempt has ended

    def endpoint(self) -> Endpoint:
        return self._endpoints[self._next % len(self._endpoints)]

    def failed(self, why: Error, now: float) -> None:
        """The attempt at endpoint(); the next one is another's."""
        self.why, self.tried = why, True
        self._next += 1
        self._failures += 1
        rounds = self._failures // len(self._endpoints) - 1
        if self._failures % len(self._endpoints) == 0:
            self.due = now + random.uniform(0, min(_MOST_SECONDS, _FIRST_SECONDS * 2 ** min(rounds, 10)))

    def connected(self) -> None:
        self._failures, self.due, self.why, self.tried = 0, 0.0, None, True

    def error(self) -> Error:
        """Why there is no connection, to be raised once more."""
        return type(self.why)(*self.why.args) if self.why else Unavailable("not connected within the timeout")
