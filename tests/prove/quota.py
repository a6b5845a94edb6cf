"""Statements about which quotas there are, and what time they count in: include/weir/quota.hpp, core/duration.hpp."""
from z3 import And, Not

from proof import LONGEST, Function, statement
from words import AT_LEAST_1, SIGNED, signed

NONE, COUNT, PERIOD, _, TOO_FAST, TOO_COARSE = range(6)

JUDGE = Function("quota", "quota_judge", {"count": SIGNED, "period": SIGNED, "burst": SIGNED}, ("fault", "T"),
                 lambda: [])
OF_SECONDS = Function("quota", "period_of_seconds", {"time": SIGNED}, ("period",), lambda: [])
OF_DAYS = Function("quota", "period_of_days", {"time": SIGNED}, ("period",), lambda: [])
SECONDS = Function("quota", "seconds_of", {"time": SIGNED}, ("seconds",), lambda: [])
LOWEST = Function("quota", "lowest_count", {"period": AT_LEAST_1, "T": AT_LEAST_1}, ("count",), lambda: [])
HIGHEST = Function("quota", "highest_count", {"period": AT_LEAST_1, "T": AT_LEAST_1}, ("count",), lambda: [])


@statement("quota.nothing_wraps",
           "Whatever the three numbers of a quota, no operation of judging them wraps, nor of finding the counts that have "
           "one T.")
def _(p):
    for function in (JUDGE, LOWEST, HIGHEST):
        p.wraps_nothing(function)


@statement("quota.rounding",
           "T is period / count rounded up to the nanosecond, so that a quota is never faster than asked, and slower by "
           "less than 1 ns for each unit and by at most 0.1 %.")
def _(p):
    x = p.inputs(JUDGE)
    q = p.call(JUDGE, x)
    p.given(q.fault == NONE)
    p.show("up", And(q.T * x.count >= x.period, (q.T - 1) * x.count < x.period))
    p.show("0.1 %", (q.T * x.count - x.period) * 1000 <= x.period)


@statement("quota.ranges", "A quota that is made has T >= 1, burst >= 1 and burst x T < 2^63, which a check is proved for.")
def _(p):
    x = p.inputs(JUDGE)
    q = p.call(JUDGE, x)
    p.given(q.fault == NONE)
    p.show("T", And(q.T >= 1, q.T <= LONGEST))
    p.show("burst", And(x.burst >= 1, q.T * x.burst <= LONGEST))


@statement("quota.refused",
           "A quota is refused for its count, for its period and for being faster than one unit per nanosecond exactly "
           "when the count is below 1, else the period is below 1 ns, else the count is above the period in ns.")
def _(p):
    x = p.inputs(JUDGE)
    q = p.call(JUDGE, x)
    p.show("count", (q.fault == COUNT) == (x.count < 1))
    p.show("period", (q.fault == PERIOD) == (x.period < 1), x.count >= 1)
    p.show("too fast", (q.fault == TOO_FAST) == (x.count > x.period), x.count >= 1, x.period >= 1)


@statement("quota.up_to_a_million", "Up to 1,000,000 units a second no quota is too coarse, whatever its period.")
def _(p):
    x = p.inputs(JUDGE)
    q = p.call(JUDGE, x)
    p.given(x.count * 1000 <= x.period)
    p.show("fine enough", q.fault != TOO_COARSE)


@statement("quota.nearest",
           "Of the counts that have one T, the lowest is (period - 1) / T + 1 rounded down and is made if any is, one less has "
           "a longer T, and made are exactly those up to (period + period / 1000) / T: by which the search goes for the "
           "count that a refusal names.",
           long=True)
def _(p):
    x = p.inputs(JUDGE)
    q = p.call(JUDGE, x)
    p.given(q.fault == NONE)
    lowest, highest = p.call(LOWEST, x, T=q.T).count, p.call(HIGHEST, x, T=q.T).count
    p.lemma("no higher", And(lowest >= 1, lowest <= x.count))
    p.show("up to the highest", x.count <= highest)
    first = p.call(JUDGE, x, count=lowest)
    p.lemma("has this T", first.T == q.T)
    p.show("is made", first.fault == NONE)
    p.show("one less has a longer one", p.call(JUDGE, x, count=lowest - 1).T > q.T, lowest >= 2)
    other = p.number("other", 1, LONGEST)
    second = p.call(JUDGE, x, count=other)
    p.show("all up to the highest", second.fault == NONE, second.T == q.T, other <= highest, other <= x.period)


@statement("period.exact",
           "A period of whole seconds or days is that many nanoseconds; what does not fit is too long when it is above 0, "
           "and else below the minimum.")
def _(p):
    for function, unit in ((OF_SECONDS, 10 ** 9), (OF_DAYS, 86_400 * 10 ** 9)):
        x = p.inputs(function)
        period = signed(p.call(function, x).period)
        fits = And(x.time * unit <= LONGEST, x.time * unit >= -LONGEST)
        p.show(f"{unit} ns", period == x.time * unit, fits)
        p.show(f"{unit} ns, too long", period == -2 ** 63, x.time > 0, Not(fits))
        p.show(f"{unit} ns, too short", And(period < 1, period != -2 ** 63), x.time <= 0)


@statement("seconds.rounded_up",
           "A time that is told in whole seconds is rounded up: waiting that long is enough, a second less is not, and a "
           "time above 0 is never told as 0.")
def _(p):
    x = p.inputs(SECONDS)
    told = signed(p.call(SECONDS, x).seconds)
    p.show("enough", told * 10 ** 9 >= x.time)
    p.show("least", (told - 1) * 10 ** 9 < x.time)
    p.show("not 0", told >= 1, x.time >= 1)
