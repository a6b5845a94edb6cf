"""What connect() was told, checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Callable

from weir import local, url
from weir.core import log
from weir.url import Endpoint, Target

_WRONG_PASSWORD_SECONDS = 1.0  # weir answers a wrong one after a second
_ignored: set[str] = set()  # limits files, told once


@dataclass(frozen=True)
class Settings:
    target: Target  # nowhere, until it is looked up
    timeout: float
    connect_timeout: float
    max_connections: int
    max_in_flight: int
    app: str | None = None
    where: str | None = field(default=None, repr=False)
    limits: str | None = None
    login: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"], repr=False)
    start: Callable[[], Endpoint] | None = field(default=None, repr=False)  # of a local weir

    @property
    def hello_timeout(self) -> float:
        """For the answer to HELLO, once connected."""
        return self.connect_timeout + (_WRONG_PASSWORD_SECONDS if self.target.password is not None else 0)

    @property
    def is_remote(self) -> bool:
        """Not a weir that this client starts."""
        return (
            bool(self.target.endpoints) if self.where else os.environ.get("WEIR_URL", "weir+local:") not in ("", "weir+local:")
        )

    @property
    def place(self) -> tuple[str, str | None]:
        """Where it asks, without a password: a request is charged once, whichever of its clients has asked there."""
        where = (self.where or os.environ.get("WEIR_URL") or "weir+local:").rpartition("@")[2]
        return where, None if self.is_remote else self.limits or os.environ.get("WEIR_LIMITS")

    def looked_up(self) -> Settings:
        """With the target that the environment says now, at the first question of a process. That of a local weir is known
        when `start` has started it."""
        target = self.target if self.where else url.parse(**self.login)
        limits = self.limits or os.environ.get("WEIR_LIMITS") or None
        if not target.endpoints:
            said = self.where is not None or "WEIR_URL" in os.environ
            return replace(self, target=target, start=local.Local(limits, said=said))
        if limits is not None and limits not in _ignored:
            _ignored.add(limits)
            log.warning(
                "limits=%s is for a local weir, and is ignored: the server at %s goes by its own --limits", limits, target
            )
        return replace(self, target=target)

    def started(self) -> Settings:
        return replace(self, target=Target((self.start(),))) if self.start is not None else self


def settings(
    where: str | None,
    limits: str | None,
    app: str | None,
    user: str | None,
    password: str | None,
    ca: str | None,
    cert: str | None,
    key: str | None,
    timeout: float,
    connect_timeout: float,
    max_connections: int,
    max_in_flight: int,
) -> Settings:
    _seconds("timeout", timeout)
    _seconds("connect_timeout", connect_timeout)
    _whole("max_connections", max_connections, 2)
    _whole("max_in_flight", max_in_flight, 1)
    if app == "":
        raise ValueError("app is the name of the application, and not empty")
    if where == "":
        raise ValueError(f"url is empty; the form is {url.FORM}, and without url= it is WEIR_URL's")
    login = {"user": user, "password": password, "ca": ca, "cert": cert, "key": key}
    target = url.parse(where, **login) if where else Target(())
    numbers = float(timeout), float(connect_timeout), max_connections, max_in_flight
    return Settings(target, *numbers, app=app, where=where or None, limits=limits, login=login)


def _seconds(name: str, seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} is a number of seconds, not {type(seconds).__name__}")
    if not 0 < seconds <= 3600:
        raise ValueError(f"{name}: {seconds} is not a number of seconds above 0, up to 3600")


def _whole(name: str, number: object, least: int) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"{name} is a whole number, not {type(number).__name__}")
    if number < least:
        raise ValueError(f"{name}: {number} is below {least}")
