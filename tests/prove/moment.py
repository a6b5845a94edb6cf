"""Statements about waiting under one limit: core/moment.hpp, and what a reservation owns."""
from z3 import And, Not, Or

from gcra import DECIDE, in_its_own_T
from proof import ALLOWED, LONGEST, NEVER, WORD, Function, statement
from words import ANY, AT_LEAST_1, TIME, signed, smaller

MOMENT = Function(
    "moment", "moment_one",
    {"T": AT_LEAST_1, "B": AT_LEAST_1, "tat": ANY, "stateT": ANY, "now": TIME, "cost": ANY, "max_wait": TIME},
    ("granted", "wait"),
    lambda T, B, tat, stateT, now: [B * T <= LONGEST, Or(tat <= now, stateT >= 1)])

OWE = Function(
    "moment", "owe",
    {"T": AT_LEAST_1, "B": AT_LEAST_1, "tat": ANY, "stateT": ANY, "units": ANY, "now": TIME}, ("tat", "interval"),
    lambda T, B: [B * T <= LONGEST])


def asked(p):
    x = p.inputs(MOMENT)
    p.given(x.tat - x.now <= LONGEST)
    return x


def at(p, x, time, **changed):
    """What a plain check is answered at a time, when nobody else came."""
    p.given(time <= LONGEST)
    return p.call(DECIDE, x, now=time, arrived=time, kept=0, **changed)


@statement("moment.nothing_wraps", "Whatever the state, the reading, the cost and max_wait, no operation wraps.")
def _(p):
    p.wraps_nothing(MOMENT)


@statement("moment.granted",
           "A reservation is granted exactly when a check would be allowed at some time from now to now + max_wait, and "
           "its moment is the earliest of them.")
def _(p):
    x = asked(p)
    m = p.call(MOMENT, x)
    p.show("not further than max_wait", And(m.wait <= x.max_wait, m.wait >= 0), m.granted == 1)
    some = p.number("some", 0, LONGEST)
    p.given(some >= x.now)
    then = at(p, x, some)
    for label, where in (("in the T of the debt", x.stateT == x.T), ("in another", x.stateT != x.T)):
        p.show("earliest, " + label, then.verdict != ALLOWED, where, m.granted == 1, some < x.now + m.wait)
        p.show("allowed, " + label, then.verdict == ALLOWED, where, m.granted == 1, some == x.now + m.wait)
        p.show("refused, " + label, then.verdict != ALLOWED, where, m.granted == 0, some <= x.now + x.max_wait)


@statement("moment.refused",
           "A reservation that is not granted is told how long it has to wait until the same would be, and 1 ns less is "
           "not enough; below 0 when no time helps.")
def _(p):
    x = asked(p)
    m = p.call(MOMENT, x)
    p.given(m.granted == 0)
    wait = signed(m.wait)
    now = at(p, x, x.now)
    p.show("below 0", (wait < 0) == (now.verdict == NEVER))
    p.show("never 0", wait != 0)
    p.given(wait >= 1, x.now + wait <= LONGEST, m.wait == wait)
    for label, where in (("in the T of the debt", x.stateT == x.T), ("in another", x.stateT != x.T)):
        p.show("enough, " + label, p.call(MOMENT, x, now=x.now + m.wait).granted == 1, where)
        p.show("least, " + label, p.call(MOMENT, x, now=x.now + m.wait - 1).granted == 0, where)


def granted(p):
    """A reservation that was granted, and the state that it leaves: that of a check at its moment."""
    x = asked(p)
    p.given(in_its_own_T(x), x.cost >= 1)
    m = p.call(MOMENT, x)
    p.given(m.granted == 1)
    moment = x.now + m.wait
    return x, moment, at(p, x, moment)


@statement("reservation.owns",
           "A reservation at s that leaves n owns the interval from n - cost x T to n: it begins no earlier than s and "
           "than the tat before it, so no two overlap, and it ends by s + burst x T.")
def _(p):
    x, moment, d = granted(p)
    p.show("allowed", d.verdict == ALLOWED)
    p.show("begins", And(d.tat - x.cost * x.T >= moment, d.tat - x.cost * x.T >= x.tat))
    p.show("ends", d.tat <= moment + x.B * x.T)


@statement("reservation.order",
           "Under one limit and one quota a later reservation has no earlier moment.")
def _(p):
    x, moment, d = granted(p)
    later, cost, patience = p.number("later", 0, LONGEST), p.number("cost2"), p.number("max_wait2", 0, LONGEST)
    p.given(later >= x.now, cost >= 1, d.tat - later <= LONGEST)
    second = p.call(MOMENT, x, tat=d.tat, stateT=d.interval, now=later, cost=cost, max_wait=patience)
    p.show("no earlier", later + second.wait >= moment, second.granted == 1)


@statement("reservation.no_barging",
           "While a reservation waits for its moment, no plain check of a cost from 1 up passes.")
def _(p):
    x, moment, d = granted(p)
    some = p.number("some", 0, LONGEST)
    p.given(some >= x.now, some < moment)
    then = at(p, x, some, tat=d.tat, stateT=d.interval)
    p.show("denied", then.verdict != ALLOWED)


@statement("settle.owes",
           "What a settlement costs beyond its estimate moves the tat on by units x T, in the T of the debt and, where "
           "there is none, from now in that of the quota; beyond 2^64 it stays at the end.")
def _(p):
    x = p.inputs(OWE)
    o = p.call(OWE, x)
    rest = x.tat <= x.now
    p.show("a debt", And(o.tat == smaller(WORD, x.tat + x.units * x.stateT), o.interval == x.stateT), Not(rest))
    p.show("none", And(o.tat == smaller(WORD, x.now + x.units * x.T), o.interval == x.T), rest)
