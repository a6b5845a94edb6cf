"""@weir.limit: a function that asks before it runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any, Callable, Optional, TypeVar, Union, cast

from weir import aio, rules, shared
from weir.client import Client
from weir.errors import Denied
from weir.words import Value

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Key = Union[str, Callable[..., str], None]
Attributes = Optional[Callable[..., Mapping[str, Value]]]


class _Limit:
    """What is asked before a call of `function`."""

    def __init__(self, function: Callable[..., Any], rule: str | None, key: Key, attributes: Attributes, cost: int) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._rule, self._key, self._attributes, self._cost = rule, key, attributes, cost

    def ask(self, verb: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], **more: Any) -> Any:
        if self._attributes is not None:
            return verb(attributes=self._attributes(*args, **named), cost=self._cost, **more)
        key = self._key(*args, **named) if callable(self._key) else self._key
        return verb(self._name if key is None else key, self._rule, cost=self._cost, **more)


def limit(
    rule: str | None = None,
    *,
    key: Key = None,
    attributes: Attributes = None,
    cost: int = 1,
    max_wait: float | None = None,
    client: Client | aio.Client | None = None,
) -> Callable[[FunctionT], FunctionT]:
    """Limits a function, by a rule and a key, or by the attributes of a limits file. `key` is text, or a function of the
    call's arguments; without it the function has one counter. A denial raises Denied; with `max_wait` it waits first."""
    if attributes is None:
        rule = rules.one(rule)
    elif rule is not None or key is not None:
        raise TypeError("limit by a rule and its key, or by attributes, not by both")

    def decorate(function: FunctionT) -> FunctionT:
        asked = _Limit(function, rule, key, attributes, cost)
        awaited = inspect.iscoroutinefunction(function)
        if client is not None and isinstance(client, aio.Client) != awaited:
            raise TypeError("an async function needs a client of weir.aio, and any other one of weir")
        wrapper = _awaited if awaited else _blocking
        return cast(FunctionT, wrapper(function, asked, max_wait, cast(Any, client)))

    return decorate


def _blocking(function: Callable[..., Any], asked: _Limit, max_wait: float | None, client: Client | None) -> Any:
    @functools.wraps(function)
    def limited(*args: Any, **named: Any) -> Any:
        ours = client or shared.client()
        if max_wait is not None:
            with asked.ask(ours.acquire, args, named, max_wait=max_wait):
                return function(*args, **named)
        decision = asked.ask(ours.check, args, named)
        if not decision:
            raise Denied(decision)
        return function(*args, **named)

    return limited


def _awaited(function: Callable[..., Any], asked: _Limit, max_wait: float | None, client: aio.Client | None) -> Any:
    @functools.wraps(function)
    async def limited(*args: Any, **named: Any) -> Any:
        ours = client or shared.aio_client()
        if max_wait is not None:
            async with await asked.ask(ours.acquire, args, named, max_wait=max_wait):
                return await function(*args, **named)
        decision = await asked.ask(ours.check, args, named)
        if not decision:
            raise Denied(decision)
        return await function(*args, **named)

    return limited
