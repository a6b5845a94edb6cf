"""A process that forks: the child asks by connections of its own, and never by its parent's."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forks(Protocol):
    def after_fork(self) -> None: ...

    def look_again(self) -> None: ...


_clients: weakref.WeakSet[Forks] = weakref.WeakSet()


def watch(client: Forks) -> None:
    _clients.add(client)


def clients() -> list[Forks]:
    """All of this process."""
    return list(_clients)


def _in_child() -> None:
    for each in clients():
        each.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
