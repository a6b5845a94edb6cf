"""What a client does beside asking, whether it blocks or awaits: on_error, outages in the log, denials that are
remembered, on_call. Thread-safe."""

from __future__ import annotations

import inspect
import logging
import math
import threading
import time
from dataclasses import replace
from typing import Any, Callable, Union

from weir import errors
from weir.decision import Booking, Call, Decision, Question
from weir.errors import Error, Refused, Unavailable
from weir.resp import Failure
from weir.words import Ask

log = logging.getLogger("weir")

OnError = Union[str, Callable[[Unavailable, Question], bool]]
OnCall = Callable[[Call], object]

COMPLAINS_EVERY, COMPLAINTS = 60.0, 100  # seconds; others in them are not told
_complained: dict[str, float] = {}  # what was logged, and when
REMEMBERED_SECONDS, REMEMBERED_DENIALS = 10.0, 10_000


def check_on_error(on_error: object) -> None:
    if inspect.iscoroutinefunction(on_error):
        raise TypeError("on_error is not awaited: it is a function that is not async")
    if not callable(on_error) and on_error not in ("allow", "deny", "raise"):
        raise ValueError(f"on_error is 'allow', 'deny', 'raise' or a function, not {on_error!r}")


def at_once(name: str, said: Any) -> Any:
    """What a function says that was given as this option, and is not awaited: a coroutine would be true."""
    if not inspect.isawaitable(said):
        return said
    if inspect.iscoroutine(said):
        said.close()
    raise TypeError(f"{name} answers a {type(said).__name__}, which is not awaited here: give a function that is not async")


def complain(what: str, error: Error) -> None:
    """Into the log, at once and then once a minute, whichever limit meets it: Django makes one of a method for each request."""
    text, now = f"{what}: {error}", time.monotonic()
    for old in [each for each, at in list(_complained.items()) if now >= at + COMPLAINS_EVERY]:
        _complained.pop(old, None)
    if text not in _complained and len(_complained) < COMPLAINTS:
        _complained[text] = now
        log.error("%s", text)


class Core:
    def __init__(self, name: str, on_error: OnError, remember_denials: bool, on_call: OnCall | None) -> None:
        check_on_error(on_error)
        self._name = name
        self._on_error = on_error
        self._on_call = on_call
        self._denials: Denials | None = Denials() if remember_denials else None
        self._outage = Outage(name)

    def named(self, name: str) -> None:
        """Where it asks, once that is looked up."""
        self._name = self._outage.name = name

    def remembered(self, ask: Ask, began: float) -> Decision | None:
        """A denial of the same words that still holds."""
        if self._denials is None or ask.verb != "check":
            return None
        decision = self._denials.find(ask.data, began)
        if decision is not None:
            self._tell(ask, decision, began)
        return decision

    def answer(self, ask: Ask, reply: Any, began: float) -> Any:
        """The answer that a reply is; an error reply is raised."""
        if isinstance(reply, Failure):
            error = errors.of_reply(reply)
            if isinstance(error, Unavailable):
                return self.without(ask, error, began)
            raise self._lacking(ask, error)
        if self._outage.began is not None:
            self._outage.answered(began)
        answer = ask.read(reply)
        if self._denials is not None:
            self._denials.note(ask, answer, began)
        if self._on_call is not None:
            self._tell(ask, answer, began)
        return answer

    def without(self, ask: Ask, error: Unavailable, began: float) -> Any:
        """The answer where there is none: on_error decides."""
        self._outage.missed(error)
        if self._on_error == "raise":
            self._tell(ask, None, began, decided=False)
            raise error
        answer = ask.without(lambda: self._decide(ask, error), error)
        self._tell(ask, answer, began, decided=False)
        return answer

    def after_fork(self) -> None:
        """In the child: a thread of the parent may have had a lock."""
        self._outage = Outage(self._name)
        self._denials = Denials() if self._denials is not None else None

    def _decide(self, ask: Ask, error: Unavailable) -> bool:
        if callable(self._on_error):
            return bool(at_once("on_error", self._on_error(error, ask.question())))
        return self._on_error == "allow"

    def _lacking(self, ask: Ask, error: Error) -> Error:
        if isinstance(error, Refused) and str(error).startswith("unknown command"):
            return Refused(f"the weir at {self._name} has no {ask.verb}; 0.1.0 has it")
        return error

    def _tell(self, ask: Ask, answer: Any, began: float, decided: bool = True) -> None:
        if self._on_call is None:
            return
        decision = answer.decision if isinstance(answer, Booking) else answer
        allowed = decision.allowed if isinstance(decision, Decision) else None
        by = ask.named(getattr(decision, "by", None))
        try:
            self._on_call(Call(ask.verb, by, allowed, decided, time.monotonic() - began))
        except Exception:
            log.exception("on_call raised")


class Outage:
    """Says once that the server has gone, and once that it is back."""

    def __init__(self, name: str) -> None:
        self.began: float | None = None
        self.name = name
        self._missed = 0
        self._lock = threading.Lock()

    def missed(self, error: Unavailable) -> None:
        with self._lock:
            self._missed += 1
            if self.began is not None:
                return
            self.began = time.monotonic()
        log.warning("weir at %s does not answer: %s", self.name, error)

    def answered(self, asked: float) -> None:
        """A question that was asked after it began has its answer."""
        with self._lock:
            if self.began is None or asked < self.began:
                return
            self.began, missed, self._missed = None, self._missed, 0
        log.warning("weir at %s answers again; %d calls went without it", self.name, missed)


class Denials:
    """Words that were denied, until when."""

    def __init__(self) -> None:
        self._kept: dict[bytes, tuple[float, float, Decision]] = {}  # until, when it would pass, as it was told
        self._lock = threading.Lock()

    def find(self, words: bytes, now: float) -> Decision | None:
        with self._lock:
            kept = self._kept.get(words)
            if kept is None:
                return None
            until, passes, decision = kept
            if now >= until:
                del self._kept[words]
                return None
        left = passes - now
        gone = (decision.retry_after or 0) - left
        seconds = str(math.ceil(left))
        fields = tuple((name, seconds if name == "Retry-After" else value) for name, value in decision.fields)
        return replace(decision, retry_after=left, reset_after=max(0.0, decision.reset_after - gone), fields=fields)

    def note(self, ask: Ask, answer: Any, now: float) -> None:
        if ask.verb in ("reset", "settle", "cancel", "refund"):
            with self._lock:
                self._kept.clear()
        elif ask.verb == "check" and not answer.allowed and answer.retry_after is not None:
            passes = now + answer.retry_after
            with self._lock:
                self._kept.pop(ask.data, None)
                if len(self._kept) >= REMEMBERED_DENIALS:
                    del self._kept[next(iter(self._kept))]
                self._kept[ask.data] = min(passes, now + REMEMBERED_SECONDS), passes, answer
