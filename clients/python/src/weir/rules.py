"""Rules as text, read whole before anybody is asked: "10/min burst 20", "10 per minute", "10/s;1000/d". Each becomes the one
text that all that mean it share ("10/1m"), which the server takes. clients/cases/rules.json is the table of right and wrong
texts. It knows no zones: whether there is one of a tz= the server says."""

from __future__ import annotations

import functools
import math
import re
from fractions import Fraction

_FORM = (
    "; the form is COUNT/PERIOD [burst N] [algorithm=NAME] [align=clock], as in 10/s burst 50 or 1000/h algorithm=fixed_window"
)
_NOTHING = "to refuse everybody: deny, in the limits file; to limit nobody: leave the limit out"

_US, _MS, _S = 10**3, 10**6, 10**9
_MINUTE, _HOUR, _DAY = 60 * _S, 3600 * _S, 86400 * _S
_UNITS = {
    **dict.fromkeys(("d", "day", "days"), _DAY),
    **dict.fromkeys(("h", "hour", "hours"), _HOUR),
    **dict.fromkeys(("m", "min", "minute", "minutes"), _MINUTE),
    **dict.fromkeys(("s", "sec", "second", "seconds"), _S),
    "ms": _MS,
    "us": _US,
    "ns": 1,
    **dict.fromkeys(("w", "week", "weeks"), 7 * _DAY),
}
_WRITTEN = ("d", "h", "m", "s", "ms", "us", "ns")
_CALENDAR = {
    "hour": "hour",
    "h": "hour",
    "day": "day",
    "d": "day",
    "week": "week",
    "w": "week",
    "month": "month",
    "year": "year",
}
_NOMINAL = {"hour": _HOUR, "day": _DAY, "week": 7 * _DAY, "month": 2629746 * _S, "year": 31556952 * _S}
_ALGORITHMS = {
    "gcra": "gcra",
    "token_bucket": "gcra",
    "leaky_bucket": "gcra",
    "fixed_window": "fixed_window",
    "sliding_window_log": "sliding_window_log",
    "sliding_window_counter": "sliding_window_counter",
}
_MOST = 2**63 - 1
_MOST_TEXT = "106751d23h47m16.854775807s"
_MOST_OF_A_SLIDING_WINDOW = 2**32 - 1
_MOST_PERIOD_OF_A_COUNTER = 2**62 - 1
_MOST_OF_A_CALENDAR = 68719476735
_MOST_SLOTS = 10**9
_MOST_BYTES = 128
_MOST_RULES = 16

_WHOLE = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_PART = re.compile(r"([0-9.]*)([^0-9.]+)")
_PER = re.compile(r"([^ \t/]+)[ \t]+per[ \t]+(?:([0-9.]+)[ \t]+)?([^ \t]+)(.*)")
_BLANK = re.compile(r"(?:([^ \t/]+)[ \t]+/[ \t]*|([^ \t/]+)/[ \t]+)([^ \t=]+)(?![^ \t]*=)")


class _Wrong(Exception):
    """What is wrong with a rule, without the rule."""


def read(*texts: object) -> tuple[str, ...]:
    """The rules that one or several texts say, each as the text that all that mean it share; a ValueError says what is wrong
    with one."""
    found: list[str] = []
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"a rule is text, as in '10/s burst 50', not {type(text).__name__}")
        found += (canonical(each) for each in text.split(";"))
    for each in found:
        if found.count(each) > 1:
            raise ValueError(f"rule {each!r} is given twice")
    if not 1 <= len(found) <= _MOST_RULES:
        raise ValueError(f"{len(found)} rules; one question has 1 to {_MOST_RULES}")
    return tuple(found)


def one(text: object) -> str:
    """Where several rules have no meaning."""
    first, *others = read(text)
    if others:
        raise ValueError(f"rule {text!r}: one rule is meant here, and these are {1 + len(others)}")
    return first


@functools.lru_cache(maxsize=1024)
def canonical(text: str) -> str:
    """The one text of what a rule means."""
    try:
        if len(text.encode(errors="surrogateescape")) > _MOST_BYTES:
            raise _Wrong(f"longer than {_MOST_BYTES} bytes")
        return _canonical(text.strip(" \t"))
    except _Wrong as wrong:
        raise ValueError(f"rule {text[:_MOST_BYTES]!r}: {wrong}") from None


def _canonical(text: str) -> str:
    if not text:
        raise _Wrong("there is no rule" + _FORM)
    if text.startswith("in_flight="):
        return _slots(text)
    said = _PER.fullmatch(text)
    if said:
        text = f"{said[1]}/{said[2] or ''}{said[3]}{said[4]}"
    blank = _BLANK.match(text)
    if blank and blank[3] != "burst":
        raise _Wrong(f"write '{blank[1] or blank[2]}/{blank[3]}', without a space")
    rate, _, rest = text.replace("\t", " ").partition(" ")
    words = _words(rest.split(" "))
    count, slash, period = rate.partition("/")
    if not slash:
        raise _Wrong("missing '/' between count and period" + _FORM)
    if words.get("align") == "calendar":
        return _by_calendar(count, period, words)
    if "tz" in words:
        raise _Wrong("tz= requires align=calendar")
    return _by_period(count, period, words)


def _slots(text: str) -> str:
    number, *more = text[len("in_flight=") :].replace("\t", " ").split()[:2] or [""]
    if more:
        raise _Wrong(f"unexpected '{more[0]}'; the form is in_flight=N, and a rate is another limit")
    if number == "0":
        raise _Wrong(_NOTHING)
    if not re.fullmatch("[1-9][0-9]{0,9}", number) or int(number) > _MOST_SLOTS:
        raise _Wrong(f"in_flight: '{number}' is not an integer from 1 to {_MOST_SLOTS}")
    return f"in_flight={number}"


def _words(rest: list[str]) -> dict[str, str]:
    """What stands after the rate: burst, algorithm, align, tz."""
    found: dict[str, str] = {}
    left = [each for each in rest if each]
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if word == "burst":
            name, value = word, left.pop(0) if left else ""
        elif not equals or name not in ("algorithm", "align", "tz"):
            raise _Wrong(f"unexpected '{word}'{_FORM}")
        if name in found:
            raise _Wrong(f"{name} is given twice")
        if name == "algorithm":
            if value not in _ALGORITHMS:
                raise _Wrong(f"unknown algorithm '{value}'; known: {', '.join(_ALGORITHMS)}")
            value = _ALGORITHMS[value]
        elif name == "align" and value not in ("clock", "calendar"):
            raise _Wrong(f"unknown alignment '{word}'; known: align=clock, align=calendar")
        elif name == "tz" and not value:
            raise _Wrong("tz= names no zone; write tz=Area/City")
        found[name] = value
    return found


def _by_calendar(count: str, period: str, words: dict[str, str]) -> str:
    if words.get("algorithm", "fixed_window") != "fixed_window":
        raise _Wrong(f"align=calendar requires algorithm=fixed_window; this is {words['algorithm']}")
    if "burst" in words:
        raise _Wrong("there is no burst with align=calendar; only gcra has one")
    unit = _CALENDAR.get(period)
    if unit is None:
        raise _Wrong(f"'{period}' is not one of hour, day, week, month and year, which align=calendar counts by")
    number = _number(count)
    if number == 0:
        raise _Wrong(_NOTHING)
    if number is None or _refused(number, _NOMINAL[unit], 1):
        raise _Wrong(f"'{count}' is not a count that a {unit} can have")
    if number > _MOST_OF_A_CALENDAR:
        raise _Wrong(f"count: {number} is above the maximum for calendar ({_MOST_OF_A_CALENDAR})")
    zone = words.get("tz", "UTC")
    return f"{number}/{unit} align=calendar" + ("" if zone == "UTC" else f" tz={zone}")


def _by_period(count: str, period: str, words: dict[str, str]) -> str:
    algorithm = words.get("algorithm", "gcra")
    length, number = _period(count, period), _number(count)
    if number is None:
        raise _Wrong("the count is not a whole number below 2^63" + _in_whole_numbers(count, length, words))
    if number == 0:
        raise _Wrong(_NOTHING)
    burst = _number(words["burst"]) if "burst" in words else number
    if burst is None:
        raise _Wrong("the burst is not a whole number below 2^63")
    wrong = _refused(number, length, burst)
    if wrong:
        raise _Wrong(wrong)
    if "burst" in words and algorithm != "gcra":
        raise _Wrong(f"there is no burst with algorithm={algorithm}; only gcra has one")
    if "align" in words and algorithm != "fixed_window":
        raise _Wrong(f"align=clock requires algorithm=fixed_window; this is {algorithm}")
    if algorithm.startswith("sliding") and number > _MOST_OF_A_SLIDING_WINDOW:
        raise _Wrong(f"count: {number} is above the maximum for {algorithm} ({_MOST_OF_A_SLIDING_WINDOW})")
    if algorithm == "sliding_window_counter" and length > _MOST_PERIOD_OF_A_COUNTER:
        raise _Wrong(f"period: it is above the maximum for {algorithm} (2^62 ns)")
    text = f"{number}/{_written(length)}" + (f" burst {burst}" if burst != number else "")
    text += f" algorithm={algorithm}" if algorithm != "gcra" else ""
    return text + (" align=clock" if "align" in words else "")


def _number(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) and -_MOST <= int(text) <= _MOST else None


def _period(count: str, text: str) -> int:
    """In nanoseconds, rounded up."""
    if text == "m":
        raise _Wrong(f"'m' is a minute or a month: write '{count}/min', or '{count}/month align=calendar'")
    if re.search("month|year", text):
        name = "month" if "month" in text else "year"
        raise _Wrong(
            f"months and years differ in length; write {count}/{name} align=calendar, with tz=Area/City where it is not UTC, "
            "or a period such as 30d"
        )
    if text and not text.strip("0123456789."):
        raise _Wrong("the period has no unit, such as the s of 10s")
    not_a_time = _Wrong("the period is not a time such as s, 10s, 250ms, min, h or 1.5d")
    parts = _PART.findall(text)
    if not parts or "".join(map("".join, parts)) != text:
        raise not_a_time
    total, before = 0, 0
    for at, (digits, name) in enumerate(parts):
        unit, last = _UNITS.get(name), at + 1 == len(parts)
        alone = len(parts) == 1 and not digits
        if unit is None or (before and unit >= before) or (not last and "." in digits):
            raise not_a_time
        if not alone and not _DECIMAL.fullmatch(digits):
            raise not_a_time
        total += math.ceil(Fraction("1" if alone else digits) * unit)
        before = unit
    if total > _MOST:
        raise _Wrong(f"the period is above the maximum ({_MOST_TEXT})")
    return total


def _written(length: int) -> str:
    name = next(each for each in _WRITTEN if length % _UNITS[each] == 0)
    return f"{length // _UNITS[name]}{name}"


def _refused(count: int, period: int, burst: int) -> str | None:
    """Why whole nanoseconds cannot keep it."""
    if count < 1:
        return f"count: {count} is below the minimum (1)"
    if period < 1:
        return "period: 0s is below the minimum (1ns)"
    if count > period:
        return f"count: {count} per {_written(period)} is more than one per nanosecond; the maximum is {period}"
    interval = (period - 1) // count + 1
    if interval * count - period > period // 1000:
        return f"count: {count} would be slowed by more than 0.1 %, because time is counted in whole nanoseconds"
    if burst < 1:
        return f"burst: {burst} is below the minimum (1)"
    if burst > _MOST // interval:
        return f"burst: {burst} would take longer than 2^63 ns to drain; the maximum is {_MOST // interval}"
    return None


def _in_whole_numbers(count: str, length: int, words: dict[str, str]) -> str:
    """What a count with a point means: 0.0055/s is 11/2000s."""
    if not re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", count) or not Fraction(count) or not length:
        return ""
    rate = Fraction(count)
    burst = "" if "burst" in words else f" burst {math.ceil(rate)}"
    return f"; write '{rate.numerator}/{_written(rate.denominator * length)}{burst}'"
