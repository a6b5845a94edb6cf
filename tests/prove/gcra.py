"""Statements about a check, a look and what is given back: src/core/gcra.hpp."""
from z3 import And, Not, Or

from proof import ALLOWED, DENIED, LONGEST, NEVER, Function, statement
from words import ANY, AT_LEAST_1, TIME, ahead, larger, smaller

DECIDE = Function(
    "gcra", "gcra_decide",
    {"T": AT_LEAST_1, "B": AT_LEAST_1, "tat": ANY, "stateT": ANY, "now": TIME, "cost": ANY, "arrived": TIME,
     "kept": TIME},
    ("verdict", "limit", "remaining", "retry_after", "reset_after", "tat", "interval", "changes"),
    lambda T, B, tat, stateT, now, arrived, kept: [
        B * T <= LONGEST, arrived <= now, kept <= B * T, Or(tat <= now, stateT >= 1)])

GIVE_BACK = Function(
    "gcra", "gcra_give_back",
    {"T": AT_LEAST_1, "B": AT_LEAST_1, "tat": ANY, "stateT": ANY, "now": TIME, "cost": ANY, "charged": TIME},
    ("tat", "interval"),
    lambda T, B: [B * T <= LONGEST])


def in_its_own_T(x):
    return Or(x.tat <= x.now, x.stateT == x.T)


@statement("check.nothing_wraps",
           "Whatever the state, the reading and the cost, no operation of a check wraps and none divides by 0, except "
           "`cost - 1` of a look, which is meant to.")
def _(p):
    p.wraps_nothing(DECIDE)


@statement("check.admits",
           "In the T of the debt a cost from 1 up is allowed exactly when max(tat, now) + cost x T <= now + burst x T - "
           "kept, `never` exactly when cost x T > burst x T - kept, and else denied; a look is always allowed.")
def _(p):
    x = p.inputs(DECIDE)
    p.given(in_its_own_T(x))
    d = p.call(DECIDE, x)
    fits = larger(x.tat, x.now) + x.cost * x.T <= x.now + x.B * x.T - x.kept
    p.show("allowed", (d.verdict == ALLOWED) == Or(x.cost == 0, fits))
    p.show("never", (d.verdict == NEVER) == (x.cost * x.T > x.B * x.T - x.kept))
    p.show("or denied", Or(d.verdict == ALLOWED, d.verdict == DENIED, d.verdict == NEVER))


@statement("check.leaves",
           "What is admitted in the T of the debt leaves tat = max(tat, arrived) + cost x T, in that T.")
def _(p):
    x = p.inputs(DECIDE)
    p.given(in_its_own_T(x), x.cost >= 1)
    d = p.call(DECIDE, x)
    p.given(d.verdict == ALLOWED)
    p.show("tat", d.tat == larger(x.tat, x.arrived) + x.cost * x.T)
    p.show("T", d.interval == x.T)
    p.show("changes", d.changes == 1)


@statement("check.refusal_changes_nothing",
           "A denied request, one that is `never` admitted and a look leave the state as it is, whatever its T.")
def _(p):
    x = p.inputs(DECIDE)
    d = p.call(DECIDE, x)
    p.given(Or(d.verdict != ALLOWED, x.cost == 0))
    p.show("state", And(d.tat == x.tat, d.interval == x.stateT, d.changes == 0))


@statement("check.promise",
           "With S units admitted since a, in one T and in any order of stamps, S x T <= tat - a holds before and after "
           "every check, and with the last of them admitted by b, S x T <= b - a + burst x T.")
def _(p):
    x = p.inputs(DECIDE)
    d = p.call(DECIDE, x)
    units, a, b = p.number("S"), p.number("a", 0, LONGEST), p.number("b", 0, LONGEST)
    p.given(in_its_own_T(x), Or(units == 0, units * x.T <= x.tat - a))
    p.show("a stamp since a", (units + x.cost) * x.T <= d.tat - a, a <= x.arrived, d.verdict == ALLOWED, x.cost >= 1)
    p.show("any other", d.tat >= x.tat)
    p.show("the end", units * x.T <= b - a + x.B * x.T, x.now <= b, d.verdict == ALLOWED, x.cost >= 1,
           units * x.T <= d.tat - a)
    p.show("of a class", units * x.T <= b - a + x.B * x.T - x.kept, x.now <= b, d.verdict == ALLOWED, x.cost >= 1,
           units * x.T <= d.tat - a)


def waited(p, x, d, by):
    """The same request when `by` more than retry_after has passed."""
    later = x.now + d.retry_after + by
    p.given(later <= LONGEST, later >= x.now)
    return p.call(DECIDE, x, now=later, arrived=later)


def not_far(x):
    """The reading does not lag so far that no time can say how far."""
    return x.tat - x.now <= LONGEST


@statement("check.retry_after_is_enough",
           "A denied request passes at now + retry_after if nobody else came, in the T of the debt and in another.")
def _(p):
    x = p.inputs(DECIDE)
    d = p.call(DECIDE, x)
    p.given(d.verdict == DENIED, not_far(x))
    then = waited(p, x, d, 0)
    p.show("in the T of the debt", then.verdict == ALLOWED, x.stateT == x.T)
    p.show("in another", then.verdict == ALLOWED, x.stateT != x.T)


@statement("check.retry_after_is_least",
           "It does not pass 1 ns earlier, and retry_after is at least 1 ns.")
def _(p):
    x = p.inputs(DECIDE)
    d = p.call(DECIDE, x)
    p.given(d.verdict == DENIED, not_far(x))
    p.show("at least 1", d.retry_after >= 1)
    then = waited(p, x, d, -1)
    p.show("in the T of the debt", then.verdict == DENIED, x.stateT == x.T)
    p.show("in another", then.verdict == DENIED, x.stateT != x.T)


@statement("check.remaining",
           "`remaining` units are admitted at once after an answer, and one more is not.")
def _(p):
    x = p.inputs(DECIDE)
    d = p.call(DECIDE, x)
    p.given(not_far(x))
    p.show("at most the burst", And(d.remaining <= x.B, d.limit == x.B))
    more = p.call(DECIDE, x, tat=d.tat, stateT=d.interval, arrived=x.now, cost=d.remaining + 1)
    p.show("one more, in the T of the debt", more.verdict != ALLOWED, d.interval == x.T)
    p.show("one more, in another", more.verdict != ALLOWED, d.interval != x.T)
    all_ = p.call(DECIDE, x, tat=d.tat, stateT=d.interval, arrived=x.now, cost=d.remaining)
    p.show("all, in the T of the debt", all_.verdict == ALLOWED, d.interval == x.T)
    p.show("all, in another", all_.verdict == ALLOWED, d.interval != x.T)


@statement("check.reset_after",
           "`reset_after` is how far ahead the tat is after an answer, so that then, and not earlier, there is no debt; both "
           "times are below 2^63, the longest where a lagging reading makes it longer.")
def _(p):
    x = p.inputs(DECIDE)
    d = p.call(DECIDE, x)
    p.show("exact", d.reset_after == smaller(ahead(d.tat, x.now), LONGEST))
    p.show("retry_after fits", d.retry_after <= LONGEST)


@statement("check.rest",
           "To a tat that is not after now the answer is that to a key that was never used.")
def _(p):
    x = p.inputs(DECIDE)
    p.given(x.tat <= x.now, x.arrived == x.now)
    used, fresh = p.call(DECIDE, x), p.call(DECIDE, x, tat=0, stateT=0)
    for word in ("verdict", "limit", "remaining", "retry_after", "reset_after"):
        p.show(word, getattr(used, word) == getattr(fresh, word))
    p.show("state", And(used.tat == fresh.tat, used.interval == fresh.interval), used.verdict == ALLOWED, x.cost >= 1)


@statement("check.waiting_is_not_idling",
           "What has been waiting since `arrived` and is admitted now leaves the tat that it would have left at the first "
           "moment since then at which it passed.")
def _(p):
    x = p.inputs(DECIDE)
    p.given(x.stateT == x.T, x.cost >= 1)
    d = p.call(DECIDE, x)
    p.given(d.verdict == ALLOWED)
    moment = larger(x.arrived, x.tat + x.cost * x.T + x.kept - x.B * x.T)
    p.show("not after now", moment <= x.now)
    then = p.call(DECIDE, x, now=moment, arrived=moment)
    p.show("it passes", then.verdict == ALLOWED)
    p.show("the same tat", then.tat == d.tat)


def units_owed(p, x):
    """Parts of a unit count as whole ones; the source's own quotient, where it has one, is this."""
    owed = p.number("owed")
    p.given(owed * x.stateT >= x.tat - x.now, (owed - 1) * x.stateT < x.tat - x.now)
    for quotient in p.quotients_by(x.stateT):
        p.lemma("units are rounded up", owed == quotient + 1)
    return owed


def in_another_T(p):
    x = p.inputs(DECIDE)
    p.given(x.tat > x.now, x.stateT != x.T)
    return x


@statement("other_T.admits",
           "In another T than the debt's a cost from 1 up is allowed exactly when it and the units that are owed, a part "
           "counting as one, are at most the units that the class may take from rest; `never` exactly when it alone is "
           "more.")
def _(p):
    x = in_another_T(p)
    d = p.call(DECIDE, x)
    owed, most = units_owed(p, x), p.number("most")
    p.given(most * x.T <= x.B * x.T - x.kept, (most + 1) * x.T > x.B * x.T - x.kept)
    p.show("allowed", (d.verdict == ALLOWED) == Or(x.cost == 0, owed + x.cost <= most))
    p.show("never", (d.verdict == NEVER) == (x.cost > most))
    p.show("remaining", d.remaining == larger(most - owed - x.cost, 0), d.verdict == ALLOWED)


@statement("other_T.recounts",
           "What is admitted in another T leaves all that is owed counted in it: tat = now + (owed + cost) x T, at most "
           "now + burst x T - kept.")
def _(p):
    x = in_another_T(p)
    d = p.call(DECIDE, x)
    owed = units_owed(p, x)
    p.given(x.cost >= 1, d.verdict == ALLOWED)
    p.show("tat", And(d.tat == x.now + (owed + x.cost) * x.T, d.interval == x.T, d.changes == 1))
    p.show("at most", d.tat <= x.now + x.B * x.T - x.kept)


@statement("class.keeps_free",
           "What a class is admitted leaves tat <= now + burst x T - kept, in any T.")
def _(p):
    x = p.inputs(DECIDE)
    d = p.call(DECIDE, x)
    p.given(x.cost >= 1, d.verdict == ALLOWED)
    p.show("in the T of the debt", d.tat <= x.now + x.B * x.T - x.kept, in_its_own_T(x))
    p.show("in another", d.tat <= x.now + x.B * x.T - x.kept, Not(in_its_own_T(x)))


@statement("class.order",
           "What passes in a class passes in every class that keeps less free.")
def _(p):
    x = p.inputs(DECIDE)
    less = p.number("less", 0, LONGEST)
    p.given(less <= x.kept)
    low, high = p.call(DECIDE, x), p.call(DECIDE, x, kept=less)
    p.given(low.verdict == ALLOWED)
    p.show("in the T of the debt", high.verdict == ALLOWED, in_its_own_T(x))
    p.show("in another", high.verdict == ALLOWED, Not(in_its_own_T(x)))


@statement("class.share",
           "With the less important classes keeping R free, the debt is at most burst x T - R beyond what the more "
           "important ones would have left alone, before and after every check; so one of theirs passes whenever it fits "
           "into R beside that.")
def _(p):
    x = p.inputs(DECIDE)
    p.given(in_its_own_T(x), x.arrived == x.now)
    share, alone = p.number("R", 0, LONGEST), p.number("V", 0, LONGEST)
    p.given(share <= x.B * x.T, ahead(x.tat, x.now) <= x.B * x.T - share + alone)
    d = p.call(DECIDE, x)
    p.show("after a less important one", ahead(d.tat, x.now) <= x.B * x.T - share + alone, x.kept >= share)
    p.show("after one of theirs", ahead(d.tat, x.now) <= x.B * x.T - share + alone + x.cost * x.T, d.verdict == ALLOWED)
    p.show("it passes", d.verdict == ALLOWED, x.kept == 0, alone + x.cost * x.T <= share)


@statement("give_back.nothing_wraps",
           "Whatever the state, the reading, the cost and the time of the charge, no operation of giving back wraps.")
def _(p):
    p.wraps_nothing(GIVE_BACK)


def undrained(x):
    return smaller(ahead(x.charged + x.cost * x.T, x.now), x.cost * x.T)


@statement("give_back.takes",
           "Giving back takes off the tat what has not drained of the cost, never more than is owed; and nothing where the "
           "debt is of another T or the cost was above the burst.")
def _(p):
    x = p.inputs(GIVE_BACK)
    g = p.call(GIVE_BACK, x)
    mine = And(x.stateT == x.T, x.cost <= x.B)
    p.show("takes", x.tat - g.tat == smaller(undrained(x), ahead(x.tat, x.now)), mine)
    p.show("T", g.interval == x.stateT)
    p.show("nothing", g.tat == x.tat, Not(mine))


@statement("give_back.promise",
           "While the debt is at least what will be given back, L, and more: each return takes off the debt what it takes "
           "off L, so what others were admitted stays.")
def _(p):
    x = p.inputs(GIVE_BACK)
    p.given(x.stateT == x.T, x.cost <= x.B)
    others = p.number("others", 0, LONGEST)
    p.given(ahead(x.tat, x.now) >= undrained(x) + others)
    g = p.call(GIVE_BACK, x)
    p.show("the same", ahead(x.tat, x.now) - ahead(g.tat, x.now) == undrained(x))
    p.show("stays", ahead(g.tat, x.now) >= others)


@statement("give_back.undoes",
           "A check that is given back at its own moment leaves the debt that was there before it.")
def _(p):
    x = p.inputs(DECIDE)
    p.given(in_its_own_T(x), x.arrived == x.now, x.cost >= 1)
    d = p.call(DECIDE, x)
    p.given(d.verdict == ALLOWED)
    g = p.call(GIVE_BACK, x, tat=d.tat, stateT=d.interval, charged=x.now)
    p.show("debt", ahead(g.tat, x.now) == ahead(x.tat, x.now))
