"""The verbs, for both clients: each makes a question of its arguments and has it asked. A client says what it returns,
answers or coroutines of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from weir import rules, words
from weir.words import NO_ATTRIBUTES, Ask, Rules, Subject, Value

DecisionT = TypeVar("DecisionT")
ReservationT = TypeVar("ReservationT")
ChargedT = TypeVar("ChargedT")
IntT = TypeVar("IntT")
FloatT = TypeVar("FloatT")
MaybeT = TypeVar("MaybeT")


class Verbs(Generic[DecisionT, ReservationT, ChargedT, IntT, FloatT, MaybeT]):
    def _ask(self, ask: Ask) -> Any:
        raise NotImplementedError

    def _book(self, ask: Ask, raises: bool = True) -> Any:
        raise NotImplementedError

    def check(
        self,
        key: Rules | None = None,
        rule: str | None = None,
        /,
        *,
        cost: int = 1,
        costs: Mapping[str, int] | None = None,
        at_least: int | None = None,
        class_: str | None = None,
        fields: bool = False,
        attributes: Mapping[str, Value] = NO_ATTRIBUTES,
        **more: Value,
    ) -> DecisionT:
        """May this act now? By rules, `check("user:42", "10/s")`, or by attributes of a limits file, `check(user=42)`."""
        asked = words.check(Subject(key, rule, attributes, more, cost, costs, at_least, class_, fields))
        return self._ask(asked)  # type: ignore[no-any-return]

    def look(
        self,
        key: Rules | None = None,
        rule: str | None = None,
        /,
        *,
        cost: int = 1,
        costs: Mapping[str, int] | None = None,
        at_least: int | None = None,
        class_: str | None = None,
        fields: bool = False,
        attributes: Mapping[str, Value] = NO_ATTRIBUTES,
        **more: Value,
    ) -> DecisionT:
        """What check would get now; nothing is charged. By rules a denial has no retry_after."""
        asked = words.look(Subject(key, rule, attributes, more, cost, costs, at_least, class_, fields))
        return self._ask(asked)  # type: ignore[no-any-return]

    def reserve(
        self,
        key: Rules | None = None,
        rule: str | None = None,
        /,
        *,
        max_wait: float = 0,
        hold: float | None = None,
        bound: bool = False,
        cost: int = 1,
        costs: Mapping[str, int] | None = None,
        class_: str | None = None,
        fields: bool = False,
        attributes: Mapping[str, Value] = NO_ATTRIBUTES,
        **more: Value,
    ) -> ReservationT:
        """To act after its `wait`, which is 0 unless `max_wait` is given. A denial raises Denied."""
        subject = Subject(key, rule, attributes, more, cost, costs, None, class_, fields)
        return self._book(words.reserve(subject, max_wait, hold, bound))  # type: ignore[no-any-return]

    def try_reserve(
        self,
        key: Rules | None = None,
        rule: str | None = None,
        /,
        *,
        max_wait: float = 0,
        hold: float | None = None,
        bound: bool = False,
        cost: int = 1,
        costs: Mapping[str, int] | None = None,
        class_: str | None = None,
        fields: bool = False,
        attributes: Mapping[str, Value] = NO_ATTRIBUTES,
        **more: Value,
    ) -> ReservationT:
        """As reserve, but a denial is an answer: a reservation that is false, and has no `wait`."""
        subject = Subject(key, rule, attributes, more, cost, costs, None, class_, fields)
        return self._book(words.reserve(subject, max_wait, hold, bound), raises=False)  # type: ignore[no-any-return]

    def acquire(
        self,
        key: Rules | None = None,
        rule: str | None = None,
        /,
        *,
        max_wait: float | None = None,
        hold: float | None = None,
        bound: bool = False,
        cost: int = 1,
        costs: Mapping[str, int] | None = None,
        class_: str | None = None,
        fields: bool = False,
        attributes: Mapping[str, Value] = NO_ATTRIBUTES,
        **more: Value,
    ) -> ReservationT:
        """Returns when its moment has come, within 60 s unless `max_wait` is given; what cannot raises Denied at once."""
        subject = Subject(key, rule, attributes, more, cost, costs, None, class_, fields)
        return self._book(words.acquire(subject, max_wait, hold, bound))  # type: ignore[no-any-return]

    def charge(
        self,
        key: Rules | None = None,
        rule: str | None = None,
        /,
        *,
        cost: int = 1,
        costs: Mapping[str, int] | None = None,
        remaining: int | None = None,
        pause: float | None = None,
        afresh: bool = False,
        limit: str | None = None,
        window: str | None = None,
        attributes: Mapping[str, Value] = NO_ATTRIBUTES,
        **more: Value,
    ) -> ChargedT:
        """Records what happened elsewhere: a cost, what is remaining there, or a pause for all.

        After a pause that is afresh the key is as if never used; the limit has to take refunds.
        """
        subject = Subject(key, rule, attributes, more, cost, costs)
        return self._ask(words.charge(subject, cost, remaining, pause, afresh, limit, window))  # type: ignore[no-any-return]

    def refund(
        self,
        key: Rules | None = None,
        rule: str | None = None,
        /,
        *,
        cost: int = 1,
        costs: Mapping[str, int] | None = None,
        attributes: Mapping[str, Value] = NO_ATTRIBUTES,
        **more: Value,
    ) -> IntT:
        """Takes back the last units that were charged and not used; how many went back."""
        return self._ask(words.refund(Subject(key, rule, attributes, more, cost, costs)))  # type: ignore[no-any-return]

    def reset(
        self,
        key: Rules | None = None,
        rule: str | None = None,
        /,
        *,
        limit: str | None = None,
        attributes: Mapping[str, Value] = NO_ATTRIBUTES,
        **more: Value,
    ) -> IntT:
        """Forgets a key, with or without its rule, or what the limits of these attributes count; how many there were."""
        return self._ask(words.reset(Subject(key, rule, attributes, more, rule_needed=False), limit))  # type: ignore[no-any-return]

    def cancel(self, id: str) -> IntT:
        """Gives a reservation back before its moment; how many units went back."""
        return self._ask(words.cancel(id))  # type: ignore[no-any-return]

    def settle(self, id: str, actual: int | None = None, **by_limit: int) -> MaybeT:
        """What it cost; seconds until one more unit would be admitted, None where there is no such reservation."""
        return self._ask(words.settle(id, actual, by_limit))  # type: ignore[no-any-return]

    def extend(self, id: str, seconds: float) -> FloatT:
        """Holds it for so long from now; how long it has now, 0 where there is no such hold."""
        return self._ask(words.extend(id, seconds))  # type: ignore[no-any-return]

    def moment(self, id: str) -> MaybeT:
        """Seconds until its moment by now, None where there is no such reservation."""
        return self._ask(words.moment(id))  # type: ignore[no-any-return]

    def limiter(self, rule: str) -> Limiter[DecisionT, ReservationT]:
        """One rule for many keys."""
        return Limiter(self, rules.one(rule))


class Limiter(Generic[DecisionT, ReservationT]):
    """One rule; each question has its key."""

    def __init__(self, client: Verbs[DecisionT, ReservationT, Any, Any, Any, Any], rule: str) -> None:
        self._client, self.rule = client, rule

    def check(self, key: str, *, cost: int = 1, at_least: int | None = None, fields: bool = False) -> DecisionT:
        return self._client.check(key, self.rule, cost=cost, at_least=at_least, fields=fields)

    def reserve(self, key: str, *, max_wait: float = 0, hold: float | None = None, cost: int = 1) -> ReservationT:
        return self._client.reserve(key, self.rule, max_wait=max_wait, hold=hold, cost=cost)

    def try_reserve(self, key: str, *, max_wait: float = 0, hold: float | None = None, cost: int = 1) -> ReservationT:
        return self._client.try_reserve(key, self.rule, max_wait=max_wait, hold=hold, cost=cost)

    def acquire(self, key: str, *, max_wait: float | None = None, hold: float | None = None, cost: int = 1) -> ReservationT:
        return self._client.acquire(key, self.rule, max_wait=max_wait, hold=hold, cost=cost)
