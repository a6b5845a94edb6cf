"""What connect() was told, checked."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Callable

from weir import local, url
from weir.url import Endpoint, Target

_WRONG_PASSWORD_SECONDS = 1.0  # weir answers a wrong one after a second


@dataclass(frozen=True)
class Settings:
    target: Target
    timeout: float
    connect_timeout: float
    max_connections: int
    max_in_flight: int
    app: str | None = None
    start: Callable[[], Endpoint] | None = field(default=None, repr=False)  # of a local weir

    @property
    def hello_timeout(self) -> float:
        """For the answer to HELLO, once connected."""
        return self.connect_timeout + (_WRONG_PASSWORD_SECONDS if self.target.password is not None else 0)


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
    target = url.parse(where, user=user, password=password, ca=ca, cert=cert, key=key)
    start: Callable[[], Endpoint] | None = None
    if not target.endpoints:
        start = local.Local(limits, said=where is not None or "WEIR_URL" in os.environ)
        target = Target((start(),))
    elif limits is not None:
        raise ValueError("limits is for a local weir, whose server reads the file; this URL's server has its own --limits")
    return Settings(target, float(timeout), float(connect_timeout), max_connections, max_in_flight, app, start)


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
