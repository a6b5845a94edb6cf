"""Celery tasks under what somebody else allows, over all workers together:

    @app.task
    @paced("300/min", name="partner")
    def call_partner(number): ...

A task asks weir for its moment, however far ahead, puts itself away until then and comes back with the moment in its hand. It
asks whether that still stands, and acts: two questions a call. No worker waits, and no task queues twice or uses up an attempt.
While weir is away, or does not take the password, no call is made and no task is lost. A call that is told to stay away raises
StayAway(seconds), and all workers do.
"""

from __future__ import annotations

import functools
import inspect
import math
import random
import time
from collections.abc import Collection, Mapping
from typing import Any, Callable, NamedTuple, TypeVar, Union, cast

import celery
import celery.exceptions

from weir import application, identity, rules, shared, web, words
from weir.client import Client
from weir.core import complain
from weir.decision import Booking, Decision
from weir.errors import Error, Refused, Unavailable
from weir.words import Value

CallT = TypeVar("CallT", bound=Callable[..., Any])
Key = Union[str, Callable[..., str], None]
Given = tuple[tuple[Any, ...], dict[str, Any]]  # the task's arguments
Attributes = Union[Mapping[str, Value], Callable[..., Mapping[str, Value]], None]

LATE = 1.0  # a moment that was missed by more is given up: all that were put away while no worker ran would act at once
NAP = 0.05  # less is slept: a timer of Celery's that woke a little early
SOON = 1.0  # a call that is under way ends sooner than its hold says
AWAY = (1.0, 5.0)  # until a task asks again, while weir does not answer
HOLD = 30.0  # by a rule: so long weir tells a moment that has come from one that is gone
LENT_BY_REDIS = 3600.0  # then the broker gives a task that was put away to a second worker: its visibility_timeout
LENT = 1800.0  # by others: RabbitMQ's consumer_timeout
MOMENT = "weir_moment"


class StayAway(Exception):
    """The other side has answered 429: StayAway(seconds), of its Retry-After."""


class Later(Exception):
    """A task has to ask again; Later(seconds)."""

    @property
    def seconds(self) -> float:
        return float(self.args[0])


class Moment(NamedTuple):
    """When to act by the wall clock, for a task may come back on another machine; and the reservation."""

    at: float
    id: str | None


class Paced:
    """`paced(...)`, of a task's function. By the limits file with `attributes`, or by a rule; both may be functions of the
    task's arguments. Its moment is `max_wait` ahead at the most, or unless that is said, as far as weir and the broker allow.
    `pauses` is the limit of the file that StayAway pauses, where several are met.

    What is taken when the task is back, and not for a moment that lies ahead, is named: `slots`, limits with in_flight alone,
    and `windows`, such as a day's budget. Beside them `costs` says what a call costs at each limit that it meets but slots.
    `hold` is how long a call may last by a rule with in_flight; the file says it of its limits."""

    def __init__(
        self,
        rule: str | None = None,
        *,
        name: str | None = None,
        key: Key = None,
        attributes: Attributes = None,
        cost: int = 1,
        costs: Mapping[str, int] | None = None,
        max_wait: float | None = None,
        hold: float | None = None,
        pauses: str | None = None,
        slots: Collection[str] = (),
        windows: Collection[str] = (),
        client: Client | None = None,
    ) -> None:
        if (rule is None) == (attributes is None):
            raise TypeError("paced goes by a rule, as in paced('300/min', key='partner'), or by attributes of a limits file")
        if (slots or windows) and not set(windows) < set(costs or ()):
            raise TypeError("beside slots= or windows=, costs= says what a call costs at each limit that it meets but slots")
        web.check_options(name=name, key=key, cost=cost, max_wait=max_wait)
        self._rule = rules.one(rule) if rule is not None else None
        self._name, self._key, self._attributes, self._max_wait = name, key, attributes, max_wait
        then, all_costs = {*slots, *windows}, {**(costs or {}), **dict.fromkeys(slots, 1)}
        self._cost, self._costs = cost, all_costs or None
        self._ahead = {name: 0 if name in then else units for name, units in all_costs.items()} or None
        self._then = {name: units if name in then else 0 for name, units in all_costs.items()} if then else None
        self._call: Callable[..., Any] | None = None
        self._hold, self._pauses, self._slots, self._client = hold, pauses, tuple(slots), client
        self._is_slot = self._rule is not None and self._rule.startswith("in_flight")
        self._most = math.inf  # seconds for which weir lets a reservation wait

    def __call__(self, call: CallT) -> CallT:
        self._call = call

        @functools.wraps(call)
        def paced(*args: Any, **kwargs: Any) -> Any:
            kept, given = kwargs.pop(MOMENT, None), (args, kwargs)
            task = celery.current_task
            if not task or task.request.called_directly or task.request.is_eager:
                with self.client.acquire(*self._rules(given), max_wait=self._max_wait, **self._said(given, self._costs)):
                    return call(*args, **kwargs)
            held = self._come(task, given, Moment(*kept) if kept else None)
            try:
                return call(*args, **kwargs)
            except StayAway as told:
                raise self._again(task, self.pause(told.args[0], given)) from told
            finally:
                self.settle(held)

        cast(Any, paced).__signature__ = _with_moment(inspect.signature(call))
        return cast(CallT, paced)

    @property
    def client(self) -> Client:
        return self._client or shared.client()

    def reserve(self, given: Given, most: float) -> tuple[float, str | None]:
        """(seconds, id) of a moment that lies `most` ahead at the most; or Later, and then nothing was charged."""
        wait = 0.0 if self._is_slot else min(most, self._most, math.inf if self._max_wait is None else self._max_wait)
        try:
            booked = self.client.try_reserve(*self._rules(given), max_wait=wait, **self._said(given, self._ahead))
        except Refused as refused:
            allowed = words.most_wait(str(refused))
            if allowed is None:
                raise
            self._most = allowed
            return self.reserve(given, allowed)
        if booked.wait is None:
            raise self._later(booked.decision, wait)
        if not booked.decision.decided:
            raise booked.decision.error or Unavailable("no answer")
        return booked.wait, booked.id

    def come(self, moment: Moment, given: Given) -> tuple[float, str | None]:
        """(seconds, id) of a task that is back: until its moment by what weir says now, below 0 if that is gone; and what to
        settle when the call has ended."""
        ask = words.moment(moment.id) if moment.id is not None else None
        taken, held = None, moment.id
        if self._then is not None:
            wait, taken = self._take(ask, given)
            held = taken.id
        else:
            wait = ask.read(self.client._reply(ask)) if ask is not None else None
        overdue = time.time() - moment.at
        if wait is None and ask is None:  # it was told to act at once
            wait = 0.0 if overdue >= -NAP else None
        if wait is None or (wait == 0 and overdue > LATE):
            wait = -1.0
        if wait < 0 or (wait > NAP and taken is not None):
            self.settle(held)
        elif wait <= NAP and taken is not None and not taken.decision.allowed:
            raise self._later(taken.decision)
        return wait, held

    def settle(self, id: str | None) -> None:
        """The call has ended, and its slot is free. One that is not settled is free when its hold ends."""
        if id is None or not (self._is_slot or self._rule is None):
            return
        try:
            self.client.settle(id)
        except (Refused, Unavailable):
            pass  # it has no hold; or costs what it was charged
        except Error as error:
            complain("weir cannot be asked like this, tasks wait", error)

    def pause(self, seconds: float, given: Given) -> float:
        """Nobody of the fleet calls for that long, then one does, and then they keep their pace. When to ask again."""
        try:
            told = self.client.charge(
                *self._rules(given), pause=seconds, limit=self._pauses, attributes=self._attributes_of(given)
            )
        except Error as error:
            complain("weir cannot be asked like this, tasks wait", error)
            return seconds
        return 0.0 if told.by else seconds

    def _come(self, task: Any, given: Given, kept: Moment | None) -> str | None:
        """The moment has come, and this is to be settled; or the task is put away."""
        try:
            wait, held = self.come(kept, given) if kept is not None else (-1.0, None)
            if kept is None or wait < 0:
                wait, held = self.reserve(given, _longest(task.app))
                kept = Moment(time.time() + wait, held)
                if wait <= NAP and self._then is not None:
                    wait, held = self.come(kept, given)
        except Later as later:
            raise self._again(task, later.seconds) from later
        except Error as error:
            if not isinstance(error, Unavailable):
                complain("weir cannot be asked like this, tasks wait", error)
            raise self._again(task, random.uniform(*AWAY), kept) from error
        if wait > NAP:
            raise self._again(task, wait, Moment(time.time() + wait, kept.id))
        time.sleep(max(0.0, wait))
        return held

    def _take(self, ask: words.Ask | None, given: Given) -> tuple[float | None, Booking]:
        """(what MOMENT says, what is taken now), in one round trip."""
        subject = words.Subject(None, None, self._attributes_of(given), {}, costs=self._then)
        take = words.reserve(subject, 0, self._hold, False)
        if ask is None:
            return None, take.read(self.client._reply(take))
        told, taken = self.client._replies(ask, take)
        return ask.read(told), take.read(taken)

    def _later(self, denied: Decision, asked: float = 0.0) -> Exception:
        """When to ask again."""
        if denied.retry_after is None:
            return denied.error or ValueError("this call can never pass its limits")
        if self._is_slot or denied.by in self._slots:
            return Later(min(denied.retry_after, random.uniform(SOON / 2, SOON)))
        # A line longer than what was asked for goes on for half of that without those that it denies: each comes back at a time
        # of its own, else all would ask for each moment. Not so at a window's end, or where an in_flight is full.
        is_in_line = denied.reset_after > denied.retry_after + asked / 2
        return Later(denied.retry_after + (random.uniform(0, asked / 2) if is_in_line else 0.0))

    def _again(self, task: Any, seconds: float, kept: Moment | None = None) -> Exception:
        """Puts the task away, which does not count as an attempt."""
        kwargs = {name: value for name, value in task.request.kwargs.items() if name != MOMENT}
        if kept is not None:
            kwargs[MOMENT] = list(kept)
        seconds = min(seconds, _longest(task.app))
        later = task.signature_from_request(kwargs=kwargs, countdown=seconds, retries=task.request.retries)
        later.apply_async()
        return cast(Exception, celery.exceptions.Retry(when=seconds, sig=later))

    def _rules(self, given: Given) -> tuple[str, ...]:
        """One key: of the application, the task, what key= says and the rule."""
        if self._rule is None:
            return ()
        task = celery.current_task
        name = self._name or (task.name if task else web.place_of(self._call))
        main = task.app.main if task else None
        app = application.named(self.client, lambda: main or application.of_module(cast(Any, self._call).__module__))
        who = self._key(*given[0], **given[1]) if callable(self._key) else self._key
        return identity.key(app, name, "" if who is None else web.key_text(who), self._rule), self._rule

    def _attributes_of(self, given: Given) -> Mapping[str, Value]:
        return self._attributes(*given[0], **given[1]) if callable(self._attributes) else self._attributes or {}

    def _said(self, given: Given, costs: Mapping[str, int] | None) -> dict[str, Any]:
        hold = HOLD if self._hold is None and self._rule is not None and not self._is_slot else self._hold
        return {"cost": self._cost, "costs": costs, "hold": hold, "attributes": self._attributes_of(given)}


paced = Paced


def abandon(app: celery.Celery, task: str, client: Client | None = None) -> bool:
    """Revokes a task by its id, and gives the moment that it waits for to another; whether there was one to give. A worker
    throws away a revoked task only when its moment has come, too late to cancel: so the one that revokes it does."""
    app.control.revoke(task)
    for waiting in (app.control.inspect().scheduled() or {}).values():
        for each in (one["request"] for one in waiting):
            moment = Moment(*(each["kwargs"].get(MOMENT) or (0.0, None)))
            if each["id"] == task and moment.id is not None:
                return (client or shared.client()).cancel(moment.id) > 0
    return False


def _longest(app: celery.Celery) -> float:
    """For how many seconds a task may be put away: half of the time for which its broker lends it to a worker."""
    said = (app.conf.broker_transport_options or {}).get("visibility_timeout")
    redis = str(app.conf.broker_write_url or app.conf.broker_url).startswith(("redis", "sentinel"))
    return float(said or (LENT_BY_REDIS if redis else LENT)) / 2


def _with_moment(said: inspect.Signature) -> inspect.Signature:
    """With the argument in which a task carries its moment: Celery checks arguments when a task is sent."""
    parameters = list(said.parameters.values())
    last = parameters.pop() if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD else None
    parameters.append(inspect.Parameter(MOMENT, inspect.Parameter.KEYWORD_ONLY, default=None))
    return said.replace(parameters=[*parameters, *([last] if last else [])])
