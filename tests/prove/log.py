"""Statements about the sliding window log: src/core/sliding_window_log.hpp. Its loops go over the log, and do nothing
that is not here: they add up units of admissions that have left, or until enough of them have."""
from proof import LONGEST, Function, statement
from words import AT_LEAST_1, TIME

HALF = (0, 2 ** 32 - 1)
HAS_LEFT = Function("windows", "log_has_left", {"P": AT_LEAST_1, "admitted": TIME, "at": TIME}, ("left",), lambda: [])
UNTIL = Function("windows", "log_until_it_leaves", {"P": AT_LEAST_1, "admitted": TIME, "now": TIME}, ("wait",), lambda: [])
EXCESS = Function("windows", "log_excess", {"limit": (1, 2 ** 32 - 1), "used": HALF, "cost": HALF}, ("excess",),
                  lambda limit, cost: [cost <= limit])


@statement("log.nothing_wraps",
           "Whatever a sliding window log holds, the reading and the cost, no operation of asking what has left, when it "
           "will have, and by how much the cost is too large wraps.")
def _(p):
    for function in (HAS_LEFT, UNTIL, EXCESS):
        p.wraps_nothing(function)


@statement("log.counts",
           "In a sliding window log an admission at s counts at t exactly when s is in (t - P, t], for each s up to t; what "
           "has left has left at every later time.")
def _(p):
    x = p.inputs(HAS_LEFT)
    left = p.call(HAS_LEFT, x).left
    p.show("counts", (left == 0) == (x.admitted > x.at - x.P), x.admitted <= x.at)
    later = p.number("later", 0, LONGEST)
    p.given(later >= x.at)
    p.show("for good", p.call(HAS_LEFT, x, at=later).left == 1, left == 1)


@statement("log.admits",
           "Beside the units that count, a sliding window log has room for a cost up to the limit exactly when both are at "
           "most the limit; for a look always.")
def _(p):
    x = p.inputs(EXCESS)
    excess = p.call(EXCESS, x).excess
    p.show("fits", (excess == 0) == (x.used + x.cost <= x.limit), x.cost >= 1)
    p.show("a look", excess == 0, x.cost == 0)


@statement("log.retry_after",
           "A request that a sliding window log denies fits when the first admissions with whose leaving at least the excess "
           "has left are gone, not earlier, and is told how long until the last of them is.")
def _(p):
    x = p.inputs(EXCESS)
    excess = p.call(EXCESS, x).excess
    gone, last = p.number("gone", 0, 2 ** 32 - 1), p.number("last", 0, 2 ** 32 - 1)
    p.given(excess >= 1, gone < excess, gone + last >= excess, gone + last <= x.used)
    p.show("fits without them", p.call(EXCESS, x, used=x.used - gone - last).excess == 0)
    p.show("not without the others alone", p.call(EXCESS, x, used=x.used - gone).excess >= 1)
    y = p.inputs(UNTIL)
    wait = p.call(UNTIL, y).wait
    p.given(p.call(HAS_LEFT, P=y.P, admitted=y.admitted, at=y.now).left == 0, y.now + wait <= LONGEST,
            y.admitted + y.P - y.now <= LONGEST)
    p.show("then it has left", p.call(HAS_LEFT, P=y.P, admitted=y.admitted, at=y.now + wait).left == 1)
    p.show("1 ns earlier not", p.call(HAS_LEFT, P=y.P, admitted=y.admitted, at=y.now + wait - 1).left == 0)
