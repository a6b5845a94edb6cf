"""Statements about the number of a duration, as in "1.5h": src/core/duration.cpp."""
from z3 import And, Or

from proof import LONGEST, Function, statement
from words import ANY

UNIT = (1, 7 * 86_400 * 10 ** 9)
NONE, _, OUT_OF_RANGE = range(3)

WITH_DIGIT = Function("duration", "with_digit", {"unit": UNIT, "ns": ANY, "more": (0, 1), "digit": (0, 9)},
                      ("ns", "more"), lambda unit, ns: [ns < unit])
TIMES = Function("duration", "times", {"unit": UNIT, "front": (0, 10 ** 19 - 1), "ns": ANY, "more": (0, 1)},
                 ("fault", "value"), lambda unit, ns: [ns < unit])
THEN_DIGIT = Function("duration", "then_digit", {"front": (0, 10 ** 18 - 1), "digit": (0, 9)}, ("front",), lambda: [])
WITH_PART = Function("duration", "with_part",
                     {"ns": ANY, "too_long": (0, 1), "fault": (0, 2), "part": (0, LONGEST), "most": (LONGEST, LONGEST + 1)},
                     ("ns", "too_long"), lambda ns, too_long, fault, most: [fault != 1, Or(too_long == 1, ns <= most)])


@statement("number.nothing_wraps",
           "Of a number of at most 19 digits before its point, times any unit up to a week, no operation wraps, whatever "
           "comes after the point.")
def _(p):
    p.wraps_nothing(WITH_DIGIT)
    p.wraps_nothing(TIMES)


@statement("number.digits",
           "With each digit more, up to 19, the number before the point is ten times what it was and the digit, so below ten "
           "times as much, and nothing wraps.")
def _(p):
    p.wraps_nothing(THEN_DIGIT)
    x = p.inputs(THEN_DIGIT)
    size = p.number("size", 1, 10 ** 18)
    p.given(x.front < size)
    front = p.call(THEN_DIGIT, x).front
    p.show("exact", front == x.front * 10 + x.digit)
    p.show("below", front < size * 10)


@statement("duration.sum",
           "With each part more a duration is what it was and the part, and too long exactly when it was, when the part is, "
           "or when that is above 2^63 - 1 ns, of one below 0 above 2^63; nothing wraps.")
def _(p):
    p.wraps_nothing(WITH_PART)
    x = p.inputs(WITH_PART)
    s = p.call(WITH_PART, x)
    fails = Or(x.too_long == 1, x.fault == OUT_OF_RANGE)
    p.show("too long", (s.too_long == 1) == Or(fails, x.ns + x.part > x.most))
    p.show("exact", s.ns == x.ns + x.part, s.too_long == 0)


@statement("number.fraction",
           "With each digit before them, what the digits after a point come to stays whole nanoseconds below the unit and a "
           "part of one that is above 0 exactly when that is noted.")
def _(p):
    x = p.inputs(WITH_DIGIT)
    f = p.call(WITH_DIGIT, x)
    # The part is `part` / `size`; what the digits come to is then (digit x unit + ns + part / size) / 10.
    part, size = p.number("part"), p.number("size", 1)
    p.given(part < size, (part >= 1) == (x.more == 1))
    rest = (x.digit * x.unit + x.ns) * size + part - f.ns * 10 * size  # of 10 x size
    p.show("whole", And(f.ns < x.unit, rest >= 0, rest < 10 * size))
    p.show("a part", (f.more == 1) == (rest >= 1))


@statement("number.rounded_up",
           "A number times its unit is rounded up to the nanosecond, and refused exactly when that is above 2^63 - 1 ns.")
def _(p):
    x = p.inputs(TIMES)
    n = p.call(TIMES, x)
    whole = x.front * x.unit + x.ns + x.more
    p.show("rounded up", n.value == whole, n.fault == NONE)
    p.show("refused", And((n.fault == OUT_OF_RANGE) == (whole > LONGEST), Or(n.fault == NONE, n.fault == OUT_OF_RANGE)))
