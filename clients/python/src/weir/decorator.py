"""@weir.limit: a function that asks before it runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any, Callable, Optional, TypeVar, Union, cast

from weir import aio, application, identity, shared, web
from weir.client import Client
from weir.core import at_once
from weir.decision import Decision
from weir.errors import Denied
from weir.words import Value

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Key = Union[str, Callable[..., str], None]
Attributes = Optional[Callable[..., Mapping[str, Value]]]
Cost = Union[int, Callable[..., int]]


class _Limit:
    """What is asked before a call of `function`."""

    def __init__(
        self,
        function: Callable[..., Any],
        rules: tuple[str, ...],
        name: str | None,
        key: Key,
        attributes: Attributes,
        cost: Cost,
        exempt: Callable[..., Any] | None,
    ) -> None:
        self._name = name if name is not None else web.place_of(function)
        self._module = web.unwrapped(function).__module__
        self._rules, self._key, self._attributes, self._cost, self._exempt = rules, key, attributes, cost, exempt

    def steps(self, client: Client | aio.Client) -> web.Steps:
        """None: it runs unasked."""
        if self._exempt is not None and (yield "exempt", self._exempt):
            return None
        cost = (yield "cost", self._cost) if callable(self._cost) else self._cost
        if self._attributes is not None:
            return web.Asked({}, (yield "attributes", self._attributes), cost)
        app = application.named(client, lambda: application.of_module(self._module))
        who = (yield "key", self._key) if callable(self._key) else self._key
        return web.Asked(identity.keys(app, self._name, "" if self._key is None else web.key_text(who), self._rules), {}, cost)


def limit(
    *rules: str,
    name: str | None = None,
    key: Key = None,
    attributes: Attributes = None,
    cost: Cost = 1,
    exempt: Callable[..., Any] | None = None,
    on_denied: Callable[[Decision], Any] | None = None,
    max_wait: float | None = None,
    client: Client | aio.Client | None = None,
) -> Callable[[FunctionT], FunctionT]:
    """Limits a function, by rules or by the attributes of a limits file. `key`, `attributes`, `cost` and `exempt` may be
    functions of the call's arguments; without a key the function has one counter. A denial raises Denied, or is what
    `on_denied` answers; with `max_wait` it waits first."""
    said = web.read(rules)
    if attributes is None and not said:
        raise TypeError("missing the rule, as in limit('10/s burst 50'), or attributes=, of a limits file")
    if attributes is not None and (said or key is not None or name is not None):
        raise TypeError("limit by rules, a key and a name, or by attributes, not by both")
    web.check_options(
        name=name,
        key=key,
        attributes=attributes,
        cost=cost,
        exempt=exempt,
        on_denied=on_denied,
        max_wait=max_wait,
        client=client,
    )

    def decorate(function: FunctionT) -> FunctionT:
        made = _Limit(function, said, name, key, attributes, cost, exempt)
        awaited = inspect.iscoroutinefunction(function)
        if client is not None and isinstance(client, aio.Client) != awaited:
            raise TypeError("an async function needs a client of weir.aio, and any other one of weir")
        wrapper = _awaited if awaited else _blocking
        return cast(FunctionT, wrapper(function, made, on_denied, max_wait, cast(Any, client)))

    return decorate


def _blocking(function: Callable[..., Any], made: _Limit, on_denied: Any, max_wait: float | None, client: Client | None) -> Any:
    @functools.wraps(function)
    def limited(*args: Any, **named: Any) -> Any:
        ours = client or shared.client()
        asked = web.asked_now(made.steps(ours), *args, **named)
        if asked is None:
            return function(*args, **named)
        said: dict[str, Any] = {"cost": asked.cost, "attributes": asked.attributes}
        if max_wait is None:
            decision = ours.check(asked.rules or None, **said)
            return function(*args, **named) if decision else at_once("on_denied", _denied(decision, on_denied))
        try:
            reservation = ours.acquire(asked.rules or None, max_wait=max_wait, **said)
        except Denied as denied:
            return at_once("on_denied", _denied(denied.decision, on_denied))
        with reservation:
            return function(*args, **named)

    return limited


def _awaited(
    function: Callable[..., Any], made: _Limit, on_denied: Any, max_wait: float | None, client: aio.Client | None
) -> Any:
    @functools.wraps(function)
    async def limited(*args: Any, **named: Any) -> Any:
        ours = client or shared.aio_client()
        asked = await web.asked_later(made.steps(ours), lambda call: web.awaited(call(*args, **named)))
        if asked is None:
            return await function(*args, **named)
        said: dict[str, Any] = {"cost": asked.cost, "attributes": asked.attributes}
        if max_wait is None:
            decision = await ours.check(asked.rules or None, **said)
            return await function(*args, **named) if decision else await web.awaited(_denied(decision, on_denied))
        try:
            reservation = await ours.acquire(asked.rules or None, max_wait=max_wait, **said)
        except Denied as denied:
            return await web.awaited(_denied(denied.decision, on_denied))
        async with reservation:
            return await function(*args, **named)

    return limited


def _denied(decision: Decision, on_denied: Callable[[Decision], Any] | None) -> Any:
    if on_denied is None:
        raise Denied(decision)
    return on_denied(decision)
