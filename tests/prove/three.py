"""Statements about a reservation under three limits, and inside a guarantee: core/moment.cpp."""
from z3 import And, Not, Or, Real

from gcra import DECIDE
from moments import ONE, PLAIN, Limit, in_its_own_T, in_range
from proof import ALLOWED, LONGEST, Function, statement
from words import ANY, AT_LEAST_1, TIME, ahead, larger, signed

WAITS = (0, 7)
THREE = Function(
    "three", "moment_three",
    {f"{name}{which}": WAITS if name == "waits" else bounds for which in (1, 2, 3) for name, bounds in ONE.items()}
    | {"now": TIME, "max_wait": TIME},
    ("granted", "wait", "by"),
    lambda now, T1, B1, tat1, stateT1, lowest1, T2, B2, tat2, stateT2, lowest2, T3, B3, tat3, stateT3, lowest3: [
        *in_range(now, T1, B1, tat1, stateT1, lowest1), *in_range(now, T2, B2, tat2, stateT2, lowest2),
        *in_range(now, T3, B3, tat3, stateT3, lowest3)])
GUARANTEED = Function(
    "three", "moment_guaranteed",
    {f"{name}{which}": bounds for which in (1, 2) for name, bounds in PLAIN.items()}
    | {"inside": (0, 0), "kept": TIME, "now": TIME, "max_wait": TIME},
    ("granted", "wait", "by"),
    lambda now, T1, B1, tat1, stateT1, lowest1, T2, B2, tat2, stateT2, lowest2, kept: [
        *in_range(now, T1, B1, tat1, stateT1, lowest1), *in_range(now, T2, B2, tat2, stateT2, lowest2), kept <= B2 * T2])


def asked(p):
    """A request of three limits that are all in the T of their debt."""
    x = p.inputs(THREE)
    for which in (1, 2, 3):
        p.given(in_its_own_T(x, which))
    limits = [Limit(x, which) for which in (1, 2, 3)]
    return x, limits, larger(limits[0].asks, larger(limits[1].asks, limits[2].asks))


def waits_with(limit, other):
    return Or([limit.waits == bits for bits in range(WAITS[1] + 1) if bits >> other & 1])


@statement("three.nothing_wraps",
           "Under three limits, each in the T of its debt, no operation of finding the moment wraps, whatever their states, "
           "costs and numbers.",
           long=True)
def _(p):
    asked(p)
    p.wraps_nothing(THREE)


@statement("three.granted",
           "Under three limits, each in the T of its debt, a reservation that is granted acts at the first time from now on "
           "at which plain checks of all would pass, at most max_wait from now.",
           long=True)
def _(p):
    x, limits, latest = asked(p)
    m = p.call(THREE, x)
    p.given(m.granted == 1)
    moment = x.now + m.wait
    p.lemma("the latest of what they ask for", moment == latest)
    p.show("within max_wait", m.wait <= x.max_wait)
    some = p.number("some", 0, LONGEST)
    p.given(some >= x.now, moment <= LONGEST)
    pass_ = And([limit.allows(p, some) for limit in limits])
    p.show("all", pass_, some == moment)
    p.show("none earlier", Not(pass_), some < moment)


@statement("three.lift",
           "Of three limits, one that others meet without the one that is waited for is lifted for no longer than its burst "
           "less the cost and less what the lowest class leaves free take to drain.",
           long=True)
def _(p):
    x, limits, latest = asked(p)
    m = p.call(THREE, x)
    p.given(m.granted == 1)
    moment = x.now + m.wait
    p.lemma("the latest of what they ask for", moment == latest)
    for which, limit in enumerate(limits):
        waits = [And(waits_with(limit, at), other.asks == moment) for at, other in enumerate(limits) if at != which]
        p.show(f"limit {which}", Or(limit.absorbs(moment), *waits))


@statement("three.refused",
           "A reservation under three limits is refused only when one of them would never pass, when the moment is further "
           "than max_wait or than the clock goes, or when a lift would be too long; it is never told 0.")
def _(p):
    x, limits, latest = asked(p)
    m = p.call(THREE, x)
    p.given(m.granted == 0)
    p.show("only then", Or(latest > x.now + x.max_wait, latest > LONGEST,
                           *[Or(limit.never, Not(limit.absorbs(latest))) for limit in limits]))
    p.show("never 0", signed(m.wait) != 0)


@statement("guarantee.keeps_nothing_free",
           "A request that its guarantee allows acts at once exactly when one that keeps nothing free passes the parent, and "
           "later only when such a one does; without it, one of a class that keeps something free is granted exactly when "
           "one of that class passes at once.")
def _(p):
    x = p.inputs(GUARANTEED)
    for which in (1, 2):
        p.given(in_its_own_T(x, which))
    m = p.call(GUARANTEED, x)

    def passes(kept, which, time):
        return p.call(DECIDE, T=getattr(x, f"T{which}"), B=getattr(x, f"B{which}"), tat=getattr(x, f"tat{which}"),
                      stateT=getattr(x, f"stateT{which}"), now=time, cost=getattr(x, f"cost{which}"), arrived=time,
                      kept=kept).verdict == ALLOWED

    inside = passes(0, 1, x.now)
    p.show("inside", passes(0, 2, x.now) == And(m.granted == 1, m.wait == 0), inside)
    p.show("outside", passes(x.kept, 2, x.now) == (m.granted == 1), Not(inside), x.kept >= 1)
    p.show("outside, at once", m.wait == 0, Not(inside), x.kept >= 1, m.granted == 1)
    moment = x.now + m.wait
    p.given(moment <= LONGEST)
    p.show("at a moment at which it passes", passes(0, 2, moment), inside, m.granted == 1)


@statement("guarantee.passes",
           "Let D be the parent's debt, g_i that of guarantee i in its units, and R what the parent keeps free of those "
           "outside. With D <= burst x T - R + T x (g_1 + ... + g_n), and T x the guarantees' bursts at most R, a request "
           "that its guarantee allows, and that costs no more in the parent, passes the parent; and this holds again after "
           "it, and after one outside.")
def _(p):
    x = p.inputs(DECIDE)
    own = {name: p.number(f"{name}_g", *bounds) for name, bounds in
           {"T": AT_LEAST_1, "B": AT_LEAST_1, "tat": ANY, "cost": AT_LEAST_1}.items()}
    share, now = p.number("R", 0, LONGEST), x.now
    # T x g of this guarantee, and of all others together.
    mine, others, after = Real("mine"), Real("others"), Real("after")
    p.given(own["B"] * own["T"] <= LONGEST, x.arrived == now, x.cost >= 1, x.cost <= own["cost"],
            Or(x.tat <= now, x.stateT == x.T), own["tat"] - now <= LONGEST)
    debt, owed = ahead(x.tat, now), ahead(own["tat"], now)
    p.given(mine * own["T"] == x.T * owed, others >= 0, others <= share - x.T * own["B"], share <= x.B * x.T,
            debt <= x.B * x.T - share + mine + others)
    g = p.call(DECIDE, T=own["T"], B=own["B"], tat=own["tat"], stateT=own["T"], now=now, cost=own["cost"], arrived=now, kept=0)
    inside = p.call(DECIDE, x, kept=0)
    p.show("one outside", ahead(p.call(DECIDE, x).tat, now) <= x.B * x.T - share + mine + others, x.kept >= share)
    p.given(g.verdict == ALLOWED)
    p.lemma("its guarantee has room", mine <= x.T * (own["B"] - own["cost"]))
    p.show("passes", inside.verdict == ALLOWED)
    p.given(after * own["T"] == x.T * ahead(g.tat, now))
    p.lemma("its guarantee is charged", after == mine + x.T * own["cost"])
    p.show("and again", ahead(inside.tat, now) <= x.B * x.T - share + after + others)
