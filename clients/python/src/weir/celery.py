"""Celery tasks under what somebody else allows, over all workers together:

    @app.task
    @paced(attributes={"api": "partner"}, max_wait=60)
    def call_partner(number): ...

A task asks weir for its moment, puts itself away until then and comes back with the moment in its hand: no worker waits, and
no task queues twice or uses up an attempt. While weir is away, or does not take the password, no call is made and no task is
lost. A call that is told to stay away raises StayAway(seconds), and all workers do.
"""

from __future__ import annotations

import functools
import inspect
import random
import time
from collections.abc import Collection, Mapping
from typing import Any, Callable, NamedTuple, Optional, TypeVar, Union, cast

import celery
import celery.exceptions

from weir import application, identity, rules, shared, web, words
from weir.client import Client
from weir.core import log
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
LONGEST = 600.0  # a broker in Redis gives a task that is put away for an hour to a second worker (visibility_timeout)
COMPLAINS_EVERY = 60.0
MOMENT = "weir_moment"


class StayAway(Exception):
    """The other side has answered 429: StayAway(seconds), of its Retry-After."""


class Moment(NamedTuple):
    """When to act by the wall clock, for a task may come back on another machine; and what to settle then."""

    at: float
    id: str | None


class Paced:
    """`paced(...)`, of a task's function. By the limits file with `attributes`, or by a rule; both may be functions of the
    task's arguments. `pauses` is the limit of the file that StayAway pauses, where several are met; `slots` are those with
    in_flight. `hold` is how long a call may last by a rule with in_flight; the file says it of its limits."""

    def __init__(
        self,
        rule: str | None = None,
        *,
        name: str | None = None,
        key: Key = None,
        attributes: Attributes = None,
        cost: int = 1,
        max_wait: float = 60.0,
        hold: float | None = None,
        pauses: str | None = None,
        slots: Collection[str] = (),
        client: Client | None = None,
    ) -> None:
        if (rule is None) == (attributes is None):
            raise TypeError("paced goes by a rule, as in paced('300/min', key='partner'), or by attributes of a limits file")
        self._rule = rules.one(rule) if rule is not None else None
        self._name, self._key, self._attributes, self._cost, self._max_wait = name, key, attributes, cost, max_wait
        self._call: Callable[..., Any] | None = None
        self._hold, self._pauses, self._slots, self._client = hold, pauses, slots, client
        self._complained: float | None = None

    def __call__(self, call: CallT) -> CallT:
        self._call = call

        @functools.wraps(call)
        def paced(*args: Any, **kwargs: Any) -> Any:
            kept, given = kwargs.pop(MOMENT, None), (args, kwargs)
            task = celery.current_task
            if not task or task.request.called_directly or task.request.is_eager:
                with self.client.acquire(*self._rules(given), max_wait=self._max_wait, **self._said(given)):
                    return call(*args, **kwargs)
            moment = self._come(task, given, Moment(*kept) if kept else None)
            try:
                return call(*args, **kwargs)
            except StayAway as told:
                raise self._again(task, self.pause(told.args[0], given)) from told
            finally:
                self.settle(moment)

        cast(Any, paced).__signature__ = _with_moment(inspect.signature(call))
        return cast(CallT, paced)

    @property
    def client(self) -> Client:
        return self._client or shared.client()

    def reserve(self, given: Given) -> tuple[bool, float, str | None]:
        """(granted, seconds, id): when to act, and what to settle then; or when to ask again, and then nothing was charged."""
        booked = self.client.try_reserve(*self._rules(given), max_wait=self._max_wait, **self._said(given))
        decision = booked.decision
        if not decision.decided:
            raise decision.error or Unavailable("no answer")
        if booked.wait is not None:
            return True, booked.wait, booked.id
        if decision.never or decision.retry_after is None:
            raise ValueError("this call can never pass its limits")
        frees = decision.by in self._slots or (self._rule or "").startswith("in_flight")
        return False, min(decision.retry_after, random.uniform(SOON / 2, SOON) if frees else LONGEST), None

    def left(self, moment: Moment) -> float:
        """Seconds until a moment that was told before, which a pause may have moved; below 0: it is gone."""
        overdue = time.time() - moment.at
        wait = None
        if moment.id is not None:
            wait = cast(Optional[float], words.moment(moment.id).read(self.client._reply(words.moment(moment.id))))
        if wait is None:  # without a hold it is forgotten when it has come
            return 0.0 if -NAP <= overdue <= LATE else -1.0
        if wait == 0 and overdue > LATE:
            self.settle(moment)
            return -1.0
        return wait

    def settle(self, moment: Moment) -> None:
        """The call has ended, and its slot is free. One that is not settled is free when its hold ends."""
        try:
            if moment.id is not None:
                self.client.settle(moment.id)
        except (Refused, Unavailable):
            pass  # it has no hold; or costs what it was charged
        except Error as error:
            self._complain(error)

    def pause(self, seconds: float, given: Given) -> float:
        """Nobody of the fleet calls for that long, then one does, and then they keep their pace. When to ask again."""
        try:
            told = self.client.charge(
                *self._rules(given), pause=seconds, limit=self._pauses, attributes=self._attributes_of(given)
            )
        except Error as error:
            self._complain(error)
            return seconds
        return 0.0 if told.by else seconds

    def _come(self, task: Any, given: Given, kept: Moment | None) -> Moment:
        """The moment that has come; or the task is put away."""
        granted = True
        try:
            wait = self.left(kept) if kept is not None else -1.0
            if kept is None or wait < 0:
                granted, wait, id = self.reserve(given)
                kept = Moment(time.time() + wait, id)
        except Error as error:
            if not isinstance(error, Unavailable):
                self._complain(error)
            raise self._again(task, random.uniform(*AWAY), kept) from error
        if not granted:
            raise self._again(task, wait)
        if wait > 0:
            kept = Moment(time.time() + wait, kept.id)
        if wait > NAP:
            raise self._again(task, wait, kept)
        time.sleep(wait)
        return kept

    def _again(self, task: Any, seconds: float, kept: Moment | None = None) -> Exception:
        """Puts the task away, which does not count as an attempt."""
        kwargs = {name: value for name, value in task.request.kwargs.items() if name != MOMENT}
        if kept is not None:
            kwargs[MOMENT] = list(kept)
        seconds = min(seconds, LONGEST)
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

    def _said(self, given: Given) -> dict[str, Any]:
        return {"cost": self._cost, "hold": self._hold, "attributes": self._attributes_of(given)}

    def _complain(self, error: Error) -> None:
        now = time.monotonic()
        if self._complained is None or now >= self._complained + COMPLAINS_EVERY:
            self._complained = now
            log.error("weir cannot be asked like this, tasks wait: %s", error)


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


def _with_moment(said: inspect.Signature) -> inspect.Signature:
    """With the argument in which a task carries its moment: Celery checks arguments when a task is sent."""
    parameters = list(said.parameters.values())
    last = parameters.pop() if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD else None
    parameters.append(inspect.Parameter(MOMENT, inspect.Parameter.KEYWORD_ONLY, default=None))
    return said.replace(parameters=[*parameters, *([last] if last else [])])
