"""Statements about the ledger's maps: src/core/grant_map.hpp. Signed times, each below 2^62."""
from z3 import And, Implies, Or

from proof import Function, statement
from words import larger, signed

MOMENT = (0, 2 ** 62 - 1)
FULL = (1, 2 ** 61 - 2 ** 54)
NEVER = -2 ** 62
# What a row of grants can say: none at all is (0, NEVER, NEVER, NEVER).
SUM, OWES = (0, 2 ** 61 - 2 ** 54), (0, 2 ** 62 + 2 ** 61 - 2 ** 53)
LEAST, LATE, LEAST_LATE = (NEVER, OWES[1]), (NEVER, SUM[1]), (NEVER, 2 ** 62)
ROW = {"S": SUM, "A": LEAST, "P": LATE, "Q": LEAST_LATE}
NEXT = {"sum": SUM, "least": LEAST, "late": LATE, "least_late": LEAST_LATE}
MAP = ("S", "A", "P", "Q")

ONE = Function("grants", "one_grant", {"at": MOMENT, "need": SUM, "told": (0, 1)}, MAP, lambda: [])
TWO = Function("grants", "two_grants", {**ROW, **NEXT}, MAP,
               lambda A, least: [Or(A == NEVER, A >= 0), Or(least == NEVER, least >= 0)])
OWED = Function("grants", "owed", {**ROW, "tat": OWES}, ("owed", "latest"), lambda: [])
BEFORE = Function("grants", "most_before", {"P": LATE, "Q": LEAST_LATE, "full": FULL}, ("most",), lambda: [])
PAUSED = Function("grants", "of_pause", {"end": MOMENT, "full": FULL, "T": FULL}, MAP, lambda full, T: [T <= full])


def row(words):
    return {name: signed(getattr(words, name)) for name in MAP}


@statement("grants.nothing_wraps", "Whatever acts when, as far as a ledger keeps it, no operation on its maps wraps.")
def _(p):
    for function in (ONE, TWO, OWED, BEFORE, PAUSED):
        p.wraps_nothing(function)


@statement("grants.one",
           "A grant of c units at a takes the tat x to max(x, a) + c x T, and if it was told its moment and costs anything, "
           "it comes after that by that less a.")
def _(p):
    x = p.inputs(ONE)
    tat = p.number("tat", *OWED.parameters["tat"])
    made = row(p.call(ONE, x))
    y = p.call(OWED, tat=tat, **made)
    p.show("owed", signed(y.owed) == larger(tat, x.at) + x.need)
    p.show("late", Implies(And(x.told == 1, x.need >= 1), signed(y.latest) == larger(tat, x.at) + x.need - x.at))
    p.show("or not", Implies(Or(x.told == 0, x.need == 0), signed(y.latest) == NEVER))


@statement("grants.compose",
           "Two rows of grants as one map owe what the second owes of what the first does, and the latest of all is the "
           "latest of either.")
def _(p):
    x = p.inputs(TWO)
    tat = p.number("tat", *MOMENT)
    both = row(p.call(TWO, x))
    first = p.call(OWED, x, tat=tat)
    p.given(signed(first.owed) <= OWED.parameters["tat"][1], both["S"] <= SUM[1], both["A"] <= LEAST[1], both["P"] <= LATE[1],
            both["Q"] <= LEAST_LATE[1])
    second = p.call(OWED, S=x.sum, A=x.least, P=x.late, Q=x.least_late, tat=signed(first.owed))
    all_ = p.call(OWED, tat=tat, **both)
    p.show("owed", signed(all_.owed) == signed(second.owed))
    p.show("latest", signed(all_.latest) == larger(signed(first.latest), signed(second.latest)))


@statement("grants.most_before",
           "Nobody of a row comes late exactly when what is owed before it is at most what most_before() says.")
def _(p):
    x = p.inputs(OWED)
    full = p.number("full", *FULL)
    p.given(x.tat < 2 ** 62)
    most = signed(p.call(BEFORE, x, full=full).most)
    p.show("exactly", (signed(p.call(OWED, x).latest) <= full) == (x.tat <= most))


@statement("grants.promise",
           "Let i and those after it have left at least a_i and all that they cost owed. What then fits at a, at most "
           "a + burst x T, leaves the cost of all of them at most burst x T and the span since a_i.")
def _(p):
    x = p.inputs(ONE)
    tat, full = p.number("tat", *OWED.parameters["tat"]), p.number("full", *FULL)
    since, cost = p.number("a_i", *MOMENT), p.number("cost", *SUM)
    p.given(since <= x.at, tat >= since + cost)
    y = signed(p.call(OWED, tat=tat, **row(p.call(ONE, x))).owed)
    p.given(y <= x.at + full)
    p.show("the promise", cost + x.need <= full + x.at - since)
    p.show("for those who follow", y >= since + cost + x.need)


@statement("grants.less_helps",
           "A grant that cost less, or had less owed before it, leaves no more owed; who was not late is not late then.")
def _(p):
    x = p.inputs(ONE)
    less, tat, before = p.number("less", *SUM), p.number("tat", *OWED.parameters["tat"]), p.number("before")
    p.given(less <= x.need, before <= tat)
    y = p.call(OWED, tat=tat, **row(p.call(ONE, x)))
    z = p.call(OWED, tat=before, **row(p.call(ONE, x, need=less)))
    p.show("owed", signed(z.owed) <= signed(y.owed))
    p.show("late", signed(z.latest) <= signed(y.latest))


@statement("grants.fold",
           "What is over at the front becomes one number: the row after it owes of that, and is late by that, what it was "
           "with it.")
def _(p):
    x = p.inputs(TWO)
    tat = p.number("tat", *MOMENT)
    both = row(p.call(TWO, x))
    front = signed(p.call(OWED, x, tat=tat).owed)
    p.given(x.P == NEVER, x.Q == NEVER, front <= OWED.parameters["tat"][1], both["S"] <= SUM[1], both["A"] <= LEAST[1],
            both["P"] <= LATE[1], both["Q"] <= LEAST_LATE[1])
    folded = p.call(OWED, S=x.sum, A=x.least, P=x.late, Q=x.least_late, tat=front)
    all_ = p.call(OWED, tat=tat, **both)
    p.show("owed", signed(folded.owed) == signed(all_.owed))
    p.show("late", signed(folded.latest) == signed(all_.latest))


@statement("grants.pause",
           "After the end E of a pause n units fit at a only if n is at most 1 + (a - E) / T, nothing that was owed is "
           "forgotten, and a pause comes late for nobody.")
def _(p):
    x = p.inputs(PAUSED)
    tat = p.number("tat", *OWED.parameters["tat"])
    at, need = p.number("at", *MOMENT), p.number("need", *SUM)
    p.given(at >= x.end)
    paused = p.call(OWED, tat=tat, **row(p.call(PAUSED, x)))
    owed = signed(paused.owed)
    p.show("nothing is forgotten", owed >= tat)
    p.show("for nobody", signed(paused.latest) == NEVER)
    y = signed(p.call(OWED, tat=owed, **row(p.call(ONE, at=at, need=need, told=0))).owed)
    p.given(y <= at + x.full)
    p.show("the pace", need <= x.T + at - x.end)


@statement("grants.pause_two",
           "Of two bursts of one T let all that have acted since the end E of a pause be owed beyond what the lesser asks for "
           "at E. What fits at a, by either, leaves them all at most 1, the difference of the bursts and (a - E) / T units.")
def _(p):
    x = p.inputs(PAUSED)
    tat, greater = p.number("tat", *OWED.parameters["tat"]), p.number("greater", *FULL)
    at, need, acted = p.number("at", *MOMENT), p.number("need", *SUM), p.number("acted", *SUM)
    p.given(greater >= x.full, at >= x.end, tat >= x.end + x.full - x.T + acted)
    owed = signed(p.call(OWED, tat=tat, **row(p.call(PAUSED, x, full=greater))).owed)
    y = signed(p.call(OWED, tat=owed, **row(p.call(ONE, at=at, need=need, told=0))).owed)
    p.given(y <= at + greater)
    p.show("the pace", acted + need <= x.T + greater - x.full + at - x.end)
    p.show("for those who follow", y >= x.end + x.full - x.T + acted + need)
