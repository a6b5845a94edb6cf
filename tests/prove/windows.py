"""Statements about the windows that count in two words: src/core/fixed_window.hpp, src/core/sliding_window_counter.hpp."""
from z3 import And, If, Not, Or

from proof import ALLOWED, DENIED, LONGEST, NEVER, Function, Results, statement
from words import ANY, AT_LEAST_1, TIME, larger, smaller

PARTS = ("verdict", "limit", "remaining", "retry_after", "reset_after", "end")


def fixed(symbol):
    return Function("windows", symbol,
                    {"limit": AT_LEAST_1, "P": AT_LEAST_1, "end": ANY, "used": ANY, "now": TIME, "cost": ANY,
                     "phase": TIME},
                    (*PARTS, "used", "changes"), lambda P, phase: [phase < P])


AT_REQUEST, BY_CLOCK = fixed("window_at_request"), fixed("window_by_clock")
FIXED = (("from the first request", AT_REQUEST), ("by the clock", BY_CLOCK))
COUNTER = Function("windows", "counter",
                   {"limit": (1, 2 ** 32 - 1), "P": (1, 2 ** 62 - 1), "end": ANY, "counts": ANY, "now": TIME, "cost": ANY,
                    "phase": TIME},
                   (*PARTS, "counts", "changes"), lambda P, phase: [phase < P])


def is_decided(p, d, x, fits, label=""):
    p.show("allowed" + label, (d.verdict == ALLOWED) == Or(x.cost == 0, fits))
    p.show("never" + label, (d.verdict == NEVER) == (x.cost > x.limit))
    p.show("or denied" + label, Or(d.verdict == ALLOWED, d.verdict == DENIED, d.verdict == NEVER))


def in_window(x):
    """The units that count against a request."""
    return If(x.end > x.now, x.used, 0)


def not_far(x):
    """The reading does not lag so far that no time can say how far."""
    return x.end - x.now <= LONGEST


@statement("window.nothing_wraps",
           "Whatever the state of a fixed window, the reading, the cost and the phase, no operation wraps and none divides "
           "by 0.")
def _(p):
    p.wraps_nothing(AT_REQUEST)
    p.wraps_nothing(BY_CLOCK)


@statement("window.admits",
           "With fixed windows a cost from 1 up is allowed exactly when the units admitted in the window and it are at most "
           "the limit, `never` exactly when it is above the limit, and else denied; a look is always allowed.")
def _(p):
    for label, function in FIXED:
        x = p.inputs(function)
        is_decided(p, p.call(function, x), x, in_window(x) + x.cost <= x.limit, ", " + label)


@statement("window.leaves",
           "What a fixed window admits is added to its count; a window that has not ended keeps its end, and else ends at "
           "now + P, or by the clock at the first multiple of P after now.")
def _(p):
    for label, function in FIXED:
        x = p.inputs(function)
        d = p.call(function, x)
        admitted = And(d.verdict == ALLOWED, x.cost >= 1)
        p.show("count, " + label, And(d.used == in_window(x) + x.cost, d.changes == 1), admitted)
        p.show("the same end, " + label, d.end == x.end, admitted, x.end > x.now)
        ended = And(admitted, x.end <= x.now)
        if function is AT_REQUEST:
            p.show("a new end, " + label, d.end == x.now + x.P, ended)
            continue
        p.show("after now, and the first", And(d.end > x.now, d.end <= x.now + x.P), ended)
        p.show("a multiple", d.end + x.phase == (p.divide(x.now + x.phase, x.P)[0] + 1) * x.P, ended)


@statement("window.refusal_changes_nothing",
           "A denied request, one that is `never` admitted and a look leave a fixed window's state as it is.")
def _(p):
    for label, function in FIXED:
        x = p.inputs(function)
        d = p.call(function, x)
        p.show(label, And(d.end == x.end, d.used == x.used, d.changes == 0), Or(d.verdict != ALLOWED, x.cost == 0))


@statement("window.promise",
           "At most the limit is admitted in a fixed window, and at most twice the limit in a span [a, a + P], whatever the "
           "order of readings, when a reading before the window counts as its beginning: with S units admitted in the span, "
           "S = 0, or S is at most what the state counts and its window ends after a, or S is at most the limit more and "
           "it ends after a + P, or S is at most twice the limit and it begins after a + P, before and after every check.")
def _(p):
    for label, function in FIXED:
        x = p.inputs(function)
        d = p.call(function, x)
        units, a, turn = p.number("S"), p.number("a", 0, LONGEST), p.number("turn")

        def holds(S, end, used):
            return And(Or(S == 0, And(S <= used, end > a), And(S <= x.limit + used, end > a + x.P),
                          And(S <= 2 * x.limit, end > a + 2 * x.P)), used <= x.limit)

        p.given(holds(units, x.end, x.used), x.cost >= 1, d.verdict == ALLOWED)
        if function is BY_CLOCK:
            p.given(Or(x.end == 0, x.end + x.phase == turn * x.P))  # as it is left (window.leaves)
            follows = And(x.end >= 1, x.end <= x.now)
            p.lemma("the new window is a later one", Or(Not(follows), p.divide(x.now + x.phase, x.P)[0] >= turn))
            p.lemma("by one turn", Or(Not(follows), d.end >= x.end + x.P))
        stamp = larger(x.now, d.end - x.P)
        counted = And(a <= stamp, stamp <= a + x.P)
        p.show("counted, " + label, holds(units + x.cost, d.end, d.used), counted)
        p.show("not counted, " + label, holds(units, d.end, d.used), Or(stamp < a, stamp > a + x.P))
        p.show("twice the limit, " + label, units <= 2 * x.limit)


@statement("window.retry_after",
           "A request that a fixed window denies passes at now + retry_after if nobody else came, and at no time from now to "
           "then.")
def _(p):
    for label, function in FIXED:
        x = p.inputs(function)
        d = p.call(function, x)
        some = p.number("some", 0, LONGEST)
        p.given(d.verdict == DENIED, not_far(x), x.now <= some)
        p.show("at least 1, " + label, d.retry_after >= 1)
        then = p.call(function, x, now=some)
        p.show("enough, " + label, then.verdict == ALLOWED, some == x.now + d.retry_after)
        p.show("least, " + label, then.verdict == DENIED, some < x.now + d.retry_after)


@statement("window.remaining",
           "`remaining` units are admitted at once after an answer of a fixed window, and one more is not.")
def _(p):
    for label, function in FIXED:
        x = p.inputs(function)
        d = p.call(function, x)
        p.show("at most the limit, " + label, And(d.remaining <= x.limit, d.limit == x.limit))
        more = p.call(function, x, end=d.end, used=d.used, cost=d.remaining + 1)
        p.show("one more, " + label, more.verdict != ALLOWED)
        all_ = p.call(function, x, end=d.end, used=d.used, cost=d.remaining)
        p.show("all, " + label, all_.verdict == ALLOWED)


@statement("window.reset_after",
           "`reset_after` of a fixed window is 0 where nothing is counted, and else the time until the window ends; from its "
           "end on a key is answered as one that was never used.")
def _(p):
    for label, function in FIXED:
        x = p.inputs(function)
        d = p.call(function, x)
        counted = And(d.end > x.now, d.used >= 1)
        p.show("until the end, " + label, d.reset_after == If(counted, smaller(d.end - x.now, LONGEST), 0))
        fresh = p.call(function, x, end=0, used=0)
        for word in ("verdict", "limit", "remaining", "retry_after", "reset_after"):
            p.show(f"{word}, {label}", getattr(d, word) == getattr(fresh, word), x.end <= x.now)
        p.show("state, " + label, And(d.end == fresh.end, d.used == fresh.used), x.end <= x.now, d.verdict == ALLOWED,
               x.cost >= 1)


class Counted:
    """What a counter's state says as of now: the end of the window that now is in, and what was admitted in it and in
    the one before."""

    def __init__(self, p, x):
        before, last = p.divide(x.counts, 2 ** 32)
        rest, same = x.end <= x.now, x.end - x.now > x.P
        self.prev = If(rest, 0, If(same, before, last))
        self.cur = If(same, last, 0)
        self.end = If(same, x.end - x.P, x.end)  # where there is a state
        # P - e, for which what was admitted before still counts.
        self.left = smaller(self.end - x.now, x.P)


@statement("counter.nothing_wraps",
           "Whatever the state of a sliding counter, the reading, the cost and the phase, no operation wraps, none divides "
           "by 0, no product of 128 bits is cut, and the two counts do not touch each other's bits.")
def _(p):
    p.wraps_nothing(COUNTER)


@statement("counter.admits",
           "A sliding counter allows a cost from 1 up exactly when floor(prev x (P - e) / P) + cur + cost <= limit, `never` "
           "exactly when it is above the limit, and else it is denied; a look is always allowed.")
def _(p):
    x = p.inputs(COUNTER)
    d, c = p.call(COUNTER, x), Counted(p, x)
    is_decided(p, d, x, And(x.cost <= x.limit, c.prev * c.left + (c.cur + x.cost) * x.P < (x.limit + 1) * x.P))


@statement("counter.leaves",
           "What a sliding counter admits is added to the count of now's window, which ends at a multiple of P, the first "
           "after now where there was no state; what was admitted in the one before stays beside it.")
def _(p):
    x = p.inputs(COUNTER)
    d, c = p.call(COUNTER, x), Counted(p, x)
    p.given(d.verdict == ALLOWED, x.cost >= 1)
    p.show("counts", And(d.counts == c.prev * 2 ** 32 + c.cur + x.cost, d.changes == 1))
    p.show("the end of the window after it", d.end == c.end + x.P, x.end > x.now)
    p.show("the first after now", And(d.end - x.P > x.now, d.end - x.P <= x.now + x.P), x.end <= x.now)
    p.show("a multiple", d.end + x.phase == (p.divide(x.now + x.phase, x.P)[0] + 2) * x.P, x.end <= x.now)


@statement("counter.refusal_changes_nothing",
           "A denied request, one that is `never` admitted and a look leave a sliding counter's state as it is.")
def _(p):
    x = p.inputs(COUNTER)
    d = p.call(COUNTER, x)
    p.given(Or(d.verdict != ALLOWED, x.cost == 0))
    p.show("state", And(d.end == x.end, d.counts == x.counts, d.changes == 0))


@statement("counter.promise",
           "A sliding counter's two counts are each at most the limit, and in a span (t - P, t] that ends e into its window "
           "at most limit + prev x e / P, rounded up, and at most 2 x limit, was admitted.")
def _(p):
    x = p.inputs(COUNTER)
    d, c = p.call(COUNTER, x), Counted(p, x)
    before, last = p.divide(x.counts, 2 ** 32)
    into = p.number("e", 0, LONGEST)
    p.given(d.verdict == ALLOWED, x.cost >= 1, before <= x.limit, last <= x.limit)
    cur = c.cur + x.cost
    p.lemma("what was admitted in the window", And(cur <= x.limit, c.prev <= x.limit))
    # The span ends no earlier than its last admission, P - left into the window.
    p.given(x.end > x.now, into >= x.P - c.left, into < x.P)
    p.lemma("the span", (cur + c.prev) * x.P < (x.limit + 1) * x.P + c.prev * into)
    p.show("at most", cur + c.prev <= 2 * x.limit)


@statement("counter.retry_after",
           "A request that a sliding counter denies passes at now + retry_after if nobody else came, and at no time from now "
           "to then.")
def _(p):
    x = p.inputs(COUNTER)
    d = p.call(COUNTER, x)
    some = p.number("some", 0, LONGEST)
    p.given(d.verdict == DENIED, not_far(x), x.now <= some)
    p.show("at least 1", d.retry_after >= 1)
    then = p.call(COUNTER, x, now=some)
    p.show("enough", then.verdict == ALLOWED, some == x.now + d.retry_after)
    p.show("least", then.verdict == DENIED, some < x.now + d.retry_after)


def answered(p, x):
    """An answer, and what the state that it leaves says as of then: the same window, and in it what was admitted too."""
    d, before = p.call(COUNTER, x), Counted(p, x)
    after = Counted(p, Results({**vars(x), "end": d.end, "counts": d.counts}))
    admitted = And(d.verdict == ALLOWED, x.cost >= 1)
    p.lemma("the counts that it leaves",
            And(after.prev == before.prev, after.cur == before.cur + If(admitted, x.cost, 0)))
    p.lemma("in the same window", Or(before.prev == 0, after.left == before.left))
    return d, before, after


@statement("counter.remaining",
           "`remaining` units are admitted at once after an answer of a sliding counter, and one more is not.",
           long=True)
def _(p):
    x = p.inputs(COUNTER)
    d, before, after = answered(p, x)
    p.show("at most the limit", And(d.remaining <= x.limit, d.limit == x.limit))
    weighed = p.number("weighed")
    p.given(weighed * x.P <= after.prev * after.left, (weighed + 1) * x.P > after.prev * after.left)
    divided, quotient = p.divided_by(x.P)[-1]
    p.lemma("what the source divides", Or(after.prev == 0, divided == after.prev * after.left))
    p.lemma("as the source has it", weighed == If(after.prev == 0, 0, quotient))
    p.lemma("what is left", d.remaining == larger(x.limit - weighed - after.cur, 0))
    for label, cost, verdict in (("one more", d.remaining + 1, False), ("all", d.remaining, True)):
        then = p.call(COUNTER, x, end=d.end, counts=d.counts, cost=cost)
        p.show(label, (then.verdict == ALLOWED) == verdict)


@statement("counter.reset_after",
           "`reset_after` of a sliding counter is the time until its counts weigh nothing: from then on all of the limit "
           "remains, and until then less; a key whose end is not after now is answered as one that was never used.")
def _(p):
    x = p.inputs(COUNTER)
    d, _, after = answered(p, x)
    fresh = p.call(COUNTER, x, end=0, counts=0)
    for word in ("verdict", "limit", "remaining", "retry_after", "reset_after"):
        p.show(word, getattr(d, word) == getattr(fresh, word), x.end <= x.now)
    p.show("state", And(d.end == fresh.end, d.counts == fresh.counts), x.end <= x.now, d.verdict == ALLOWED, x.cost >= 1)
    some = p.number("some", 0, LONGEST)
    p.given(x.now <= some, d.end - x.now <= LONGEST)
    look = p.call(COUNTER, x, end=d.end, counts=d.counts, cost=0, now=some)
    for label, counts in (("of this window", after.cur >= 1), ("of the one before", And(after.cur == 0, after.prev >= 1)),
                          ("nothing", And(after.cur == 0, after.prev == 0))):
        p.show("from then on, " + label, look.remaining == x.limit, counts, some >= x.now + d.reset_after)
        if label != "nothing":
            p.show("until then, " + label, look.remaining < x.limit, counts, some < x.now + d.reset_after)
