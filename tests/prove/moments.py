"""Statements about a reservation under two limits: core/moment.cpp."""
from z3 import And, If, Not, Or

from gcra import DECIDE
from proof import ALLOWED, LONGEST, Function, statement
from words import ANY, AT_LEAST_1, TIME, larger, signed

ONE = {"T": AT_LEAST_1, "B": AT_LEAST_1, "tat": ANY, "stateT": ANY, "cost": ANY, "lowest": TIME, "waits": (0, 1)}


def in_range(now, T, B, tat, stateT, lowest):
    return [B * T <= LONGEST, lowest <= B * T, Or(tat <= now, stateT >= 1), tat - now <= LONGEST]


TWO = Function(
    "moments", "moment_two",
    {f"{name}{which}": bounds for which in (1, 2) for name, bounds in ONE.items()} | {"now": TIME, "max_wait": TIME},
    ("granted", "wait", "by"),
    lambda now, T1, B1, tat1, stateT1, lowest1, T2, B2, tat2, stateT2, lowest2: [
        *in_range(now, T1, B1, tat1, stateT1, lowest1), *in_range(now, T2, B2, tat2, stateT2, lowest2)])


class Limit:
    """One of several, and what a reservation under it alone would be."""

    def __init__(self, x, which):
        for name in ONE:
            setattr(self, name, getattr(x, f"{name}{which}"))
        self.now = x.now
        self.need, self.room = self.cost * self.T, self.B * self.T
        self.asks = If(self.cost == 0, x.now, larger(x.now, self.tat + self.need - self.room))
        self.never = self.need > self.room

    def allows(self, p, time):
        """Whether a plain check passes at a time."""
        d = p.call(DECIDE, T=self.T, B=self.B, tat=self.tat, stateT=self.stateT, now=time, cost=self.cost, arrived=time,
                   kept=0)
        return d.verdict == ALLOWED

    def absorbs(self, moment):
        """Whether being charged as of the moment leaves it as near as it has to be."""
        least = larger(self.room - self.lowest - self.need, 0)
        return Or(self.cost == 0, self.tat >= moment, moment - self.now <= least)


def in_its_own_T(x, which):
    return Or(getattr(x, f"tat{which}") <= x.now, getattr(x, f"stateT{which}") == getattr(x, f"T{which}"))


def asked(p):
    """A request of two limits that are both in the T of their debt."""
    x = p.inputs(TWO)
    for which in (1, 2):
        p.given(in_its_own_T(x, which))
    return x, Limit(x, 1), Limit(x, 2)


@statement("moments.nothing_wraps",
           "Under two limits, each in the T of its debt, no operation of finding the moment wraps, whatever their states, "
           "costs and numbers.")
def _(p):
    asked(p)
    p.wraps_nothing(TWO)


@statement("moments.granted",
           "Under two limits, each in the T of its debt, a reservation that is granted acts at the first time from now on at "
           "which plain checks of both would pass, at most max_wait from now.")
def _(p):
    x, one, two = asked(p)
    m = p.call(TWO, x)
    p.given(m.granted == 1)
    moment = x.now + m.wait
    p.lemma("the later of what both ask for", moment == larger(one.asks, two.asks))
    p.show("within max_wait", m.wait <= x.max_wait)
    some = p.number("some", 0, LONGEST)
    p.given(some >= x.now, moment <= LONGEST)
    first, second = one.allows(p, some), two.allows(p, some)
    p.show("all", And(first, second), some == moment)
    p.show("none earlier", Not(And(first, second)), some < moment)


@statement("moments.lift",
           "Where others meet a limit without the one that is waited for, a reservation that lifts it waits for no longer "
           "than the burst less the cost and less what the lowest class leaves free take to drain.")
def _(p):
    x, one, two = asked(p)
    m = p.call(TWO, x)
    p.given(m.granted == 1)
    moment = x.now + m.wait
    p.lemma("the later of what both ask for", moment == larger(one.asks, two.asks))
    for label, limit, other in (("the first", one, two), ("the second", two, one)):
        p.show(label, Or(limit.absorbs(moment), And(limit.waits == 1, other.asks == moment)))


@statement("moments.refused",
           "A reservation under two limits is refused only when one of them would never pass, when the moment is further than "
           "max_wait or than the clock goes, or when the lift would be too long; below 0 is for never, and for a moment that the "
           "clock does not reach, of which nobody is told 0.")
def _(p):
    x, one, two = asked(p)
    m = p.call(TWO, x)
    p.given(m.granted == 0)
    moment = larger(one.asks, two.asks)
    p.show("only then", Or(one.never, two.never, moment > x.now + x.max_wait, moment > LONGEST, Not(one.absorbs(moment)),
                           Not(two.absorbs(moment))))
    never = Or(one.never, two.never)
    p.show("below 0", (signed(m.wait) < 0) == never, Or(never, moment <= LONGEST))
    p.show("or at the clock's end", Or(never, moment > LONGEST), signed(m.wait) < 0)
    p.show("never 0 there", m.wait != 0, moment > LONGEST)


@statement("moments.wait",
           "A reservation under two limits that is refused is told how long it has to wait until the same would be granted, "
           "and 1 ns less is not enough.",
           long=True)
def _(p):
    x, one, two = asked(p)
    m = p.call(TWO, x)
    wait = signed(m.wait)
    p.show("never 0", wait != 0, m.granted == 0)
    p.given(m.granted == 0, wait >= 1, x.now + wait <= LONGEST, m.wait == wait, larger(one.asks, two.asks) <= LONGEST)
    p.show("enough", p.call(TWO, x, now=x.now + m.wait).granted == 1)
    p.show("least", p.call(TWO, x, now=x.now + m.wait - 1).granted == 0)


PLAIN = {name: bounds for name, bounds in ONE.items() if name != "waits"}
ALONE = Function("moments", "moment_alone", PLAIN | {"now": TIME, "max_wait": TIME}, ("granted", "wait"),
                 lambda now, T, B, tat, stateT, lowest: in_range(now, T, B, tat, stateT, lowest))
BESIDE_SHADOW = [Function("moments", f"moment_{where}_shadow",
                          {f"{name}{which}": bounds for which in (1, 2) for name, bounds in PLAIN.items()}
                          | {"now": TIME, "max_wait": TIME},
                          ("granted", "wait", "by"), TWO.contract) for where in ("before", "after")]


@statement("moments.shadow",
           "A limit that is checked but not enforced changes nothing of a reservation: it is granted, and waits or is told to "
           "wait, as under the other limit alone, whichever of them comes first; each in the T of its debt.")
def _(p):
    for by, function in enumerate(BESIDE_SHADOW):
        x = p.inputs(function)
        for which in (1, 2):
            p.given(in_its_own_T(x, which))
        m = p.call(function, x)
        alone = p.call(ALONE, **{name: getattr(x, f"{name}1") for name in PLAIN}, now=x.now, max_wait=x.max_wait)
        p.show(f"granted, {function.symbol}", m.granted == alone.granted)
        p.show(f"wait, {function.symbol}", m.wait == alone.wait)
        p.show(f"by, {function.symbol}", m.by == by)
