"""Statements about what happened outside and what is taken back: src/core/overdraft.cpp."""
from z3 import And, Or

from gcra import DECIDE, in_its_own_T
from proof import ALLOWED, LONGEST, Function, statement
from words import ANY, AT_LEAST_1, TIME, ahead, larger, smaller

STATE = {"T": AT_LEAST_1, "B": AT_LEAST_1, "tat": ANY, "stateT": ANY, "now": TIME}
WORDS = ("tat", "interval", "charged", "dropped")


def charge(symbol, more):
    return Function("charge", symbol, {**STATE, **more}, WORDS,
                    lambda T, B, tat, stateT, now: [B * T <= LONGEST, Or(tat <= now, stateT >= 1)])


COST = charge("charge_cost", {"units": ANY, "overdraft": TIME})
REMAINING = charge("charge_remaining", {"units": ANY, "overdraft": TIME})
REFUND = charge("refund", {"units": ANY, "least": ANY})
PAUSE = Function("charge", "charge_pause", {**STATE, "length": TIME, "overdraft": TIME}, WORDS,
                 lambda T, B, tat, stateT, now: [B * T <= LONGEST, Or(tat <= now, stateT >= 1), tat - now <= LONGEST])


def look_at(p, x, tat, cost, now):
    """What a plain check is answered."""
    p.given(now <= LONGEST)
    return p.call(DECIDE, x, tat=tat, stateT=x.T, now=now, arrived=now, kept=0, cost=cost)


@statement("charge.nothing_wraps",
           "Whatever the state, the reading, the units and the overdraft, no operation of a charge wraps and none divides "
           "by 0.")
def _(p):
    p.wraps_nothing(COST)
    p.wraps_nothing(REMAINING)


@statement("charge.pause_wraps_nothing", "Nor does one of a pause.")
def _(p):
    p.wraps_nothing(PAUSE)


@statement("charge.refund_wraps_nothing", "Nor does one of a refund.")
def _(p):
    p.wraps_nothing(REFUND)


@statement("charge.cost",
           "In the T of the debt a charge of n units leaves tat = max(tat, now) + n x T where that is at most now + burst x "
           "T and the overdraft, else the later of that end and the tat; what is dropped is n less the whole units that had "
           "room. The tat is never earlier than it was.")
def _(p):
    x = p.inputs(COST)
    p.given(in_its_own_T(x))
    d = p.call(COST, x)
    full = x.B * x.T
    most = full + smaller(x.overdraft, LONGEST - full)
    owed = ahead(x.tat, x.now)
    fits = owed + x.units * x.T <= most
    p.show("what fits", d.tat == larger(x.tat, x.now) + x.units * x.T, fits, x.units >= 1)
    p.show("all of it", And(d.charged == x.units, d.dropped == 0), fits)
    p.show("what does not", d.tat == larger(x.tat, x.now + most), fits == False, x.units >= 1)  # noqa: E712
    room = larger(most - owed, 0)
    p.show("whole units", And(d.charged * x.T <= room, (d.charged + 1) * x.T > room, d.charged + d.dropped == x.units),
           fits == False)  # noqa: E712
    p.show("never earlier", d.tat >= x.tat)


@statement("charge.other_T",
           "In another T than the debt's a charge of n units counts what was owed in whole units, a part counting as one: it "
           "leaves now + (those units + n) x T, in that T, as far as now + burst x T and the overdraft; or all as it was.")
def _(p):
    x = p.inputs(COST)
    p.given(x.tat > x.now, x.stateT != x.T, x.units >= 1)
    d = p.call(COST, x)
    full = x.B * x.T
    most = full + smaller(x.overdraft, LONGEST - full)
    owed = p.number("owed", 1)
    p.given(owed * x.stateT >= x.tat - x.now, (owed - 1) * x.stateT < x.tat - x.now)
    for quotient in p.quotients_by(x.stateT):
        p.lemma("units are rounded up", Or(owed == quotient, owed == quotient + 1))
    p.show("counted", d.tat == x.now + smaller((owed + x.units) * x.T, most), d.interval == x.T)
    p.show("or as it was", And(d.tat == x.tat, d.charged == 0), d.interval != x.T)


@statement("charge.remaining",
           "Told that n units are left, the tat is max(tat, now + max(0, burst - n) x T) in the T of the debt, so that a "
           "check of more than n units does not pass then.")
def _(p):
    x = p.inputs(REMAINING)
    p.given(in_its_own_T(x))
    d = p.call(REMAINING, x)
    p.show("exactly", d.tat == larger(x.tat, x.now + larger(x.B - x.units, 0) * x.T), Or(d.tat > x.now, x.tat > x.now))
    p.show("no debt, if all is left", And(d.tat == x.tat, x.units >= x.B), d.tat <= x.now)
    cost = p.number("cost", 1)
    p.given(cost > x.units, cost <= x.B, x.tat - x.now <= LONGEST)
    p.show("no more pass", look_at(p, x, d.tat, cost, x.now).verdict != ALLOWED)


@statement("charge.pause",
           "A pause, of a burst that no ledger counts, leaves the later of the tat before it and its end + (burst - 1) x T; so "
           "before its end no check passes, and at its end one unit does where no more was owed.")
def _(p):
    x = p.inputs(PAUSE)
    p.given(in_its_own_T(x))
    d = p.call(PAUSE, x)
    end, rest = x.now + x.length, (x.B - 1) * x.T
    p.given(x.length + rest <= LONGEST, end + x.B * x.T <= LONGEST)
    p.show("the pace", Or(d.tat >= end + rest, And(x.length == 0, x.B == 1)))
    p.show("what was owed", d.tat >= x.tat, x.tat > x.now)
    p.show("no more than either", d.tat <= larger(larger(x.tat, x.now), end + rest), d.tat > x.now)
    some, cost = p.number("some", 0, LONGEST), p.number("cost", 1)
    p.given(some >= x.now)
    p.show("nobody acts in it", look_at(p, x, d.tat, cost, some).verdict != ALLOWED, some < end)
    p.show("one unit then", look_at(p, x, d.tat, 1, end).verdict == ALLOWED, x.tat <= end + rest)
    p.show("and no more", look_at(p, x, d.tat, cost, end).verdict != ALLOWED, cost >= 2)


@statement("charge.refund",
           "A refund of n units moves the tat back by min(n x T, tat - now), and leaves it where somebody depends on it; it "
           "never moves on, and goes back to no earlier than now, and says that at most n units went back.")
def _(p):
    x = p.inputs(REFUND)
    p.given(in_its_own_T(x), x.tat - x.now <= LONGEST)
    d = p.call(REFUND, x)
    owed = ahead(x.tat, x.now)
    stays = smaller(owed, ahead(x.least, x.now))
    p.show("exactly", d.tat == x.tat - smaller(x.units * x.T, owed - stays))
    p.show("not below now", d.tat >= smaller(x.tat, x.now))
    p.show("nor what somebody depends on", d.tat >= smaller(x.tat, x.least))
    p.show("no more than was asked", d.charged <= x.units)
