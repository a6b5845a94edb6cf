"""Questions to commands, and replies to answers: what is sent and read, by either client."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Callable, Optional, TypeVar, Union, cast

from weir.decision import Booking, Charged, Decision, Question
from weir.errors import Unavailable
from weir.resp import Failure, encode

Value = Union[str, bytes, int, float, bool, None]
Rules = Union[str, Mapping[str, str]]
Costs = Optional[Mapping[str, int]]
AskT = TypeVar("AskT", bound="Ask")

NO_ATTRIBUTES: Mapping[str, Value] = {}  # where nobody gave any
_MOST_KEYS = 16
_USUAL_WAIT = 60.0
_tags = itertools.count()
QUEUED, PUSHED = b"QUEUED", b"weir.acquire"  # the first reply to one that waits by TAG, and the kind of the push after it
_MOST_WAIT = re.compile(r"(?:ERR )?MAXWAIT: '[0-9]+' is not an integer from 0 to ([0-9]+)")


class Ask:
    """A command, and how its reply reads."""

    __slots__ = ("at_least", "attributes", "cost", "data", "fields", "keys", "verb")

    def __init__(self, verb: str, words: list[bytes]) -> None:
        self.verb = verb
        self.data = encode(words)
        self.keys: dict[str, str] = {}
        self.attributes: list[tuple[str, str]] = []
        self.cost = 1
        self.at_least = False
        self.fields = False

    def read(self, reply: Any) -> Any:
        """The answer that a reply is."""
        raise NotImplementedError

    def without(self, decide: Callable[[], bool], error: Unavailable) -> Any:
        """The answer where weir gave none. Only what decides calls `decide`."""
        raise NotImplementedError

    def question(self) -> Question:
        return Question(self.verb, tuple(self.keys.items()), tuple(self.attributes))

    def named(self, by: str | None) -> str | None:
        """`by` without a key in it: the limit's name, or the rule."""
        return self.keys.get(by or "", next(iter(self.keys.values()))) or None if self.keys else by


class Decides(Ask):
    """CHECK, LOOK, THROTTLE."""

    __slots__ = ()

    def read(self, reply: Any) -> Decision:
        allowed = reply[0] == 0
        at = 6
        granted = self.cost if allowed else 0
        if self.at_least:
            granted, at = reply[6], 7
        return _decision(reply, allowed, reply[5], granted, reply[at] if self.fields else ())

    def without(self, decide: Callable[[], bool], error: Unavailable) -> Decision:
        return _undecided(decide(), self.cost, error)


class Looks(Decides):
    """THROTTLE COST 0: what is left says whether the cost would pass."""

    __slots__ = ()

    def read(self, reply: Any) -> Decision:
        allowed = reply[2] >= self.cost
        granted = self.cost if allowed else 0
        decision = _decision(reply, allowed, reply[5], granted, reply[6] if self.fields else ())
        return replace(decision, never=self.cost > reply[1])


class Books(Ask):
    """RESERVE, ACQUIRE."""

    __slots__ = ()

    def read(self, reply: Any) -> Booking:
        granted = reply[0] == 0
        decision = _decision(reply, granted, reply[6], self.cost if granted else 0, reply[7] if self.fields else ())
        return Booking(decision, reply[3] / 1000 if granted else None, reply[5].decode() if reply[5] else None)

    def without(self, decide: Callable[[], bool], error: Unavailable) -> Booking:
        decision = _undecided(decide(), self.cost, error)
        return Booking(decision, 0.0 if decision.allowed else None)


class Acquires(Books):
    """Its reply comes with its moment. `max_wait` None: as long as is usual."""

    __slots__ = ("_again", "_said", "max_wait")

    def __init__(self, words: Callable[..., list[bytes]], max_wait: float | None) -> None:
        self.max_wait = _USUAL_WAIT if max_wait is None else max_wait
        super().__init__("acquire", words(self.max_wait))
        self._again = words
        self._said = max_wait is not None

    def most_wait(self, reply: Any) -> float | None:
        """Of a server that lets nobody wait as long as is usual: how long. It has charged nothing."""
        return most_wait(reply) if isinstance(reply, Failure) and not self._said else None

    def within(self, max_wait: float) -> bytes:
        """The command for what is left of max_wait."""
        return encode(self._again(max(0.0, max_wait)))

    def tagged(self, max_wait: float) -> tuple[bytes, bytes]:
        """(its word, the command) of one that waits by TAG. No two of a process have the same word."""
        word = b"%d" % next(_tags)
        return word, encode(self._again(max(0.0, max_wait), b"TAG", word))


class Charges(Ask):
    __slots__ = ()

    def read(self, reply: Any) -> Charged:
        charged, owed, wait, reset, by = reply
        return Charged(charged, owed, wait / 1000, reset / 1000, _text(by) or None)

    def without(self, decide: Callable[[], bool], error: Unavailable) -> Charged:
        return Charged()


class Counts(Ask):
    """A number of units or of states."""

    __slots__ = ()

    def read(self, reply: Any) -> int:
        return int(reply)

    def without(self, decide: Callable[[], bool], error: Unavailable) -> int:
        return 0


class Extends(Ask):
    __slots__ = ()

    def read(self, reply: Any) -> float:
        return float(reply / 1000)

    def without(self, decide: Callable[[], bool], error: Unavailable) -> float:
        return 0.0


class Waits(Ask):
    """A time, or none where there is no such reservation."""

    __slots__ = ()

    def read(self, reply: Any) -> float | None:
        return None if reply < 0 else reply / 1000

    def without(self, decide: Callable[[], bool], error: Unavailable) -> None:
        return None


def most_wait(error: str) -> float | None:
    """For how many seconds a reservation may wait, of the error that a longer one is."""
    most = _MOST_WAIT.match(error)
    return int(most[1]) / 1000 if most else None


def _decision(reply: Any, allowed: bool, by: bytes, granted: int, fields: Any) -> Decision:
    limit, remaining, retry = reply[1], reply[2], reply[3]
    return Decision(
        allowed,
        None if limit < 0 else limit,
        None if remaining < 0 else remaining,
        None if allowed or retry < 0 else retry / 1000,
        reply[4] / 1000,
        by.decode(errors="surrogateescape") or None,
        not allowed and retry < 0,
        granted,
        True,
        None,
        tuple(zip(map(_text, fields[::2]), map(_text, fields[1::2]))) if fields else (),
    )


def _undecided(allowed: bool, cost: int, error: Unavailable) -> Decision:
    return Decision(allowed, retry_after=None if allowed else 1.0, granted=cost if allowed else 0, decided=False, error=error)


def _text(word: bytes) -> str:
    return word.decode(errors="surrogateescape")


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode(errors="surrogateescape")


def _rule(rule: object) -> bytes:
    if not isinstance(rule, str):
        raise TypeError(f"a rule is text, as in '10/s burst 50', not {type(rule).__name__}")
    return rule.encode()


def _mapping(keys: object) -> Mapping[str, str]:
    if not isinstance(keys, Mapping):
        raise TypeError(f"a key is text, or keys and rules are a mapping, not {type(keys).__name__}")
    return cast(Mapping[str, str], keys)


def _whole(name: str, number: int, least: int = 0) -> bytes:
    if type(number) is not int:
        raise TypeError(f"{name} is a whole number, not {type(number).__name__}")
    if number < least:
        raise ValueError(f"{name}: {number} is below {least}")
    return b"%d" % number


def _milliseconds(name: str, seconds: object) -> bytes:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} is a number of seconds, not {type(seconds).__name__}")
    if not 0 <= seconds < math.inf:
        raise ValueError(f"{name}: {seconds} is not a number of seconds from 0")
    return b"%d" % math.ceil(round(seconds * 1000, 6))  # rounded up, but 0.07 is 70 ms


class Subject:
    """What a question is about, by rules or by attributes, with what it costs."""

    __slots__ = ("at_least", "attributes", "cost", "costs_by_name", "fields", "keys", "options", "words")

    def __init__(
        self,
        key: Rules | None,
        rule: str | None,
        attributes: Mapping[str, Value],
        more: Mapping[str, Value],
        cost: int = 1,
        costs: Costs = None,
        at_least: int | None = None,
        class_: str | None = None,
        fields: bool = False,
        rule_needed: bool = True,
    ) -> None:
        self.keys: dict[str, str] = {}
        self.attributes: list[tuple[str, str]] = []
        self.words: list[bytes]
        if key is not None:
            if attributes or more:
                raise TypeError("ask by rules or by attributes, not by both; an attribute called 'key' goes into attributes")
            self.words = self._by_rules(key, rule, rule_needed)
        elif rule is not None:
            raise TypeError("a rule needs its key, before it")
        else:
            self.words = self._by_attributes(attributes, more)
        self.fields = fields
        self.cost = cost
        self.at_least = at_least is not None
        self.options: list[bytes] = []
        if costs is not None:
            if cost != 1:
                raise TypeError("cost is one number, costs has one for each limit: give one of them")
            self.options += [b"COST", b",".join(_bytes(name) + b"=" + _whole("costs", n) for name, n in costs.items())]
        elif cost != 1 or type(cost) is not int or at_least is not None or not self.words:
            self.options += [b"COST", _whole("cost", cost)]
        if at_least is not None:
            self.options += [b"ATLEAST", _whole("at_least", at_least)]
        if class_ is not None:
            if self.keys:
                raise TypeError("class_ is for limits of a limits file: ask by attributes")
            self.options += [b"CLASS", _bytes(class_)]
        if fields:
            self.options.append(b"FIELDS")

    def _by_rules(self, key: Rules, rule: str | None, rule_needed: bool) -> list[bytes]:
        if isinstance(key, (str, bytes)):
            if rule is None and rule_needed:
                raise TypeError("missing the rule of the key, as in check('user:42', '10/s')")
            self.keys[_text(key) if isinstance(key, bytes) else key] = rule or ""
        elif rule is not None:
            raise TypeError("each key of a mapping has its rule: a second rule is one too many")
        else:
            self.keys.update(_mapping(key))
            if not 1 <= len(self.keys) <= _MOST_KEYS:
                raise ValueError(f"{len(self.keys)} keys; one question has 1 to {_MOST_KEYS}")
        words = [b"KEYS"]
        for each, its_rule in self.keys.items():
            words += (_bytes(each), _rule(its_rule))
        return words

    def _by_attributes(self, attributes: Mapping[str, Value], more: Mapping[str, Value]) -> list[bytes]:
        """None of them where they are given and none is there: a limit of all counts that too, and one may ask for more."""
        if attributes is NO_ATTRIBUTES and not more:
            raise TypeError("nothing to ask about: give a key and its rule, or attributes")
        words: list[bytes] = []
        for name, value in (*attributes.items(), *more.items()):
            if value is None:
                continue
            text = value if isinstance(value, bytes) else _attribute(name, value)
            self.attributes.append((name, _text(text)))
            words.append(_bytes(name) + b"=" + text)
        return words

    def named(self) -> list[bytes]:
        """With AS before attributes, as all but CHECK and LOOK have it."""
        return self.words if self.keys else [b"AS", *self.words]

    def into(self, ask: AskT) -> AskT:
        ask.keys, ask.attributes = self.keys, self.attributes
        ask.cost, ask.at_least, ask.fields = self.cost, self.at_least, self.fields
        return ask


def _attribute(name: str, value: Value) -> bytes:
    if value is True or value is False:
        return b"true" if value else b"false"
    if isinstance(value, (str, int, float)):
        return str(value).encode(errors="surrogateescape")
    raise TypeError(f"attribute {name!r} is text, a number, a bool or None, not {type(value).__name__}")


def check(subject: Subject) -> Ask:
    verb = b"WEIR.THROTTLE" if subject.keys else b"WEIR.CHECK"
    return subject.into(Decides("check", [verb, *subject.options, *subject.words]))


def look(subject: Subject) -> Ask:
    if not subject.keys:
        return subject.into(Decides("look", [b"WEIR.LOOK", *subject.options, *subject.words]))
    if subject.at_least:
        raise TypeError("a look by rules says what remains: it takes no at_least")
    fields = [b"FIELDS"] if subject.fields else []
    return subject.into(Looks("look", [b"WEIR.THROTTLE", b"COST", b"0", *fields, *subject.words]))


def reserve(subject: Subject, max_wait: float, hold: float | None, bound: bool) -> Ask:
    # 0 is said too: a limits file may have another default.
    words = [b"WEIR.RESERVE", *subject.options, b"MAXWAIT", _milliseconds("max_wait", max_wait)]
    return subject.into(Books("reserve", words + _held(subject, hold, bound)))


def acquire(subject: Subject, max_wait: float | None, hold: float | None, bound: bool) -> Acquires:
    rest = _held(subject, hold, bound)

    def words(wait: float, *tag: bytes) -> list[bytes]:
        return [b"WEIR.ACQUIRE", *subject.options, b"MAXWAIT", _milliseconds("max_wait", wait), *tag, *rest]

    return subject.into(Acquires(words, max_wait))


def slot(
    api: str,
    rule: str | None,
    max_wait: float | None,
    hold: float,
    attributes: Mapping[str, Value],
    more: Mapping[str, Value],
    cost: int,
    costs: Costs,
    class_: str | None,
) -> Acquires:
    """By rules the hold is asked for; by a limits file it is the limit's, and extended."""
    if rule is not None:
        return acquire(Subject(api, rule, attributes, more, cost, costs, None, class_), max_wait, hold, False)
    return acquire(Subject(None, None, {"api": api, **attributes}, more, cost, costs, None, class_), max_wait, None, False)


def _held(subject: Subject, hold: float | None, bound: bool) -> list[bytes]:
    words = [] if hold is None else [b"HOLD", _milliseconds("hold", hold)]
    return words + ([b"BOUND"] if bound else []) + subject.named()


def charge(
    subject: Subject,
    cost: int,
    remaining: int | None,
    pause: float | None,
    afresh: bool,
    limit: str | None,
    window: str | None,
) -> Ask:
    words = [b"WEIR.CHARGE", *subject.options]
    if (remaining is not None) + (pause is not None) + (cost != 1 or bool(subject.options)) > 1:
        raise TypeError("charge a cost, what is remaining, or a pause: one of them")
    if remaining is not None:
        words += [b"REMAINING", _whole("remaining", remaining)]
    if pause is not None:
        words += [b"PAUSE", _milliseconds("pause", pause)]
    if afresh:
        if pause is None:
            raise TypeError("afresh is said of a pause alone")
        words.append(b"AFRESH")
    if limit is not None:
        words += [b"LIMIT", _bytes(limit)]
    if window is not None:
        words += [b"WINDOW", _bytes(window)]
    return subject.into(Charges("charge", words + subject.named()))


def refund(subject: Subject) -> Ask:
    return subject.into(Counts("refund", [b"WEIR.REFUND", *subject.options, *subject.named()]))


def reset(subject: Subject, limit: str | None) -> Ask:
    if subject.keys:
        words = [b"DEL", *map(_bytes, subject.keys)] if len(subject.keys) > 1 else [b"WEIR.RESET", *map(_bytes, subject.keys)]
    else:
        words = [b"WEIR.RESET", b"AS", *([b"LIMIT", _bytes(limit)] if limit is not None else []), *subject.words]
    return subject.into(Counts("reset", words))


def cancel(id: str) -> Ask:
    return Counts("cancel", [b"WEIR.CANCEL", _bytes(id)])


def settle(id: str, actual: int | None, by_limit: Mapping[str, int]) -> Ask:
    words = [b"WEIR.SETTLE", _bytes(id)]
    if actual is not None and by_limit:
        raise TypeError("actual is one number, or one for each limit by its name: give one of them")
    if actual is not None:
        words.append(_whole("actual", actual))
    if by_limit:
        words.append(b",".join(_bytes(name) + b"=" + _whole(name, units) for name, units in by_limit.items()))
    return Waits("settle", words)


def leave(word: bytes) -> bytes:
    """Takes the one with this TAG out of line."""
    return encode([b"WEIR.LEAVE", word])


def giving_back(reply: Any) -> bytes | None:
    """What settles an acquire's reply that came too late for its caller: its hold ends, and costs nothing."""
    has_id = reply.__class__ is list and reply[5]
    return encode([b"WEIR.SETTLE", reply[5], b"0"]) if has_id else None


def extend(id: str, seconds: float) -> Ask:
    return Extends("extend", [b"WEIR.EXTEND", _bytes(id), _milliseconds("seconds", seconds)])


def moment(id: str) -> Ask:
    return Waits("moment", [b"WEIR.MOMENT", _bytes(id)])
