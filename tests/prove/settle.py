"""Statements about a settlement for less than the estimate: src/core/freed_units.hpp."""
from z3 import And, Or

from gcra import DECIDE, in_its_own_T
from proof import ALLOWED, LONGEST, WORD, Function, statement
from words import ANY, AT_LEAST_1, TIME, ahead, larger, smaller

UNDRAINED = Function("settle", "undrained", {"T": ANY, "end": ANY, "less": ANY, "now": TIME}, ("back",), lambda: [])
FIRST = Function("settle", "first_moment", {"drains": AT_LEAST_1, "end": ANY}, ("moment",),
                 lambda drains, end: [end - drains <= LONGEST])
FREE = Function("settle", "free_units", {"T": AT_LEAST_1, "low": ANY, "end": ANY, "first": TIME, "now": TIME},
                ("moment", "begin", "count"), lambda: [])
MOVED = Function("settle", "end_after_moves", {"end": ANY, "then": ANY, "moved": ANY, "later": ANY}, ("end",),
                 lambda end, then, moved, later: [then + later <= moved, moved - then - later <= end])


@statement("settle.nothing_wraps",
           "Whatever the end of a reservation, the units, T and the reading, no operation of giving back wraps, and no "
           "product of 128 bits is cut.")
def _(p):
    for function in (UNDRAINED, FIRST, FREE, MOVED):
        p.wraps_nothing(function)


@statement("settle.gives_back",
           "A reservation that owns the time until e and is settled for d units less gives back r = min(d x T, e - now), and "
           "nothing when e is not after now: it keeps what has drained, and as many units as it cost.")
def _(p):
    x = p.inputs(UNDRAINED)
    back = p.call(UNDRAINED, x).back
    p.show("exactly", back == smaller(x.less * x.T, ahead(x.end, x.now)))
    p.show("what has drained", x.end - back >= smaller(x.end, x.now))
    p.show("its cost", x.end - back >= x.end - x.less * x.T)


@statement("settle.mints_nothing",
           "Let alone be the tat that the same checks would have left if the reservation had been charged d units less from "
           "the start. It is at most the tat less what is given back, for every reading at or after theirs, from the "
           "reservation on, before and after every check.")
def _(p):
    x = p.inputs(DECIDE)
    end, less, now, alone = p.number("e"), p.number("d"), p.number("later", 0, LONGEST), p.number("alone")
    p.given(in_its_own_T(x), now >= x.now, alone <= x.tat)
    back = p.call(UNDRAINED, x, end=end, less=less, now=now).back
    # The reservation itself: it was charged from its moment, and the tat before it was `low`.
    low, moment, units = p.number("low"), p.number("moment", 0, LONGEST), p.number("c", 1)
    p.show("from the reservation on", larger(low, moment) + (units - less) * x.T <= end - back,
           end == larger(low, moment) + units * x.T, less <= units)
    p.given(end <= x.tat, alone <= x.tat - back)
    d = p.call(DECIDE, x)
    p.given(d.verdict == ALLOWED, x.cost >= 1)
    p.show("after every check", larger(alone, x.arrived) + x.cost * x.T <= d.tat - back)
    p.show("which has come after it", d.tat >= end)


@statement("settle.moves_up",
           "When all that follows has acted and moves up by r, each interval still begins no earlier than the reservation's "
           "own ends and than its moment, and still ends by its moment + burst x T.")
def _(p):
    x = p.inputs(UNDRAINED)
    back = p.call(UNDRAINED, x).back
    moment, begin, until, drains = p.number("a", 0, LONGEST), p.number("begin"), p.number("n"), p.number("drains", 1, LONGEST)
    p.given(moment <= x.now, begin >= x.end, begin >= moment, until >= begin, until <= moment + drains)
    p.show("after the reservation's own", begin - back >= x.end - back)
    p.show("no earlier than its moment", begin - back >= moment)
    p.show("by its moment + burst x T", until - back <= moment + drains)


@statement("settle.account",
           "The end of an open hold's units is what it was when they were charged, less what has gone back of holds before "
           "it since: it is the same when nothing has, moves up by r when one before it gives back r, and stays when one "
           "after it does and that is added to what moved only those.")
def _(p):
    x = p.inputs(MOVED)
    end = p.call(MOVED, x).end
    back = p.number("r")
    p.given(x.moved + back <= WORD)
    p.show("none yet", end == x.end, x.moved == x.then + x.later)
    p.show("one after it", p.call(MOVED, x, moved=x.moved + back, later=x.later + back).end == end)
    p.given(back <= end)
    p.show("one before it", p.call(MOVED, x, moved=x.moved + back).end == end - back)


@statement("settle.hole",
           "Who takes units of a hole at a moment a owns an interval within the hole that begins no earlier than a and ends "
           "by a + burst x T; nobody takes what has drained, nor at a moment that has passed.")
def _(p):
    x = p.inputs(FREE)
    drains, units = p.number("drains", 1, LONGEST), p.number("units")
    p.given(x.end - drains <= LONGEST)
    first = p.call(FIRST, drains=drains, end=x.end).moment
    p.given(x.first == first, x.low <= x.end)
    free = p.call(FREE, x)
    p.given(units <= free.count, units >= 1)
    until = free.begin + units * x.T
    p.show("within the hole", And(free.begin >= x.low, until <= x.end))
    p.show("no earlier than a", And(free.begin >= free.moment, free.moment >= x.now))
    p.show("by a + burst x T", until <= free.moment + drains)
    p.show("not what has drained", free.begin >= x.now)


@statement("settle.hole_is_owned",
           "The whole units of what is given back, at the end of the reservation's own interval, lie in it and after now: "
           "they are at most d, and their time is at most r.")
def _(p):
    x = p.inputs(UNDRAINED)
    p.given(x.T >= 1)
    back = p.call(UNDRAINED, x).back
    units = p.divide(back, x.T)[0]
    p.show("at most d", units <= x.less)
    p.show("at most r", units * x.T <= back)
    p.show("after now", Or(units == 0, x.end - units * x.T >= x.now))
