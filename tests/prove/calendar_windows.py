"""Statements about windows by the calendar: src/core/calendar_window.hpp. Which window runs, the calendar says."""
from z3 import And, If, Or

from proof import ALLOWED, DENIED, NEVER, Function, statement
from words import ANY, larger

IDS = (0, 2 ** 27 - 1)
USED = (0, 2 ** 36 - 1)
TIMES = (0, 2 ** 62)
CALENDAR = Function("calendar", "calendar_window",
                    {"limit": (1, 2 ** 36 - 1), "until": (0, 2 ** 63 - 1), "id": IDS, "used": USED, "now": TIMES, "utc": TIMES,
                     "runs_id": IDS, "runs_end": TIMES, "its_end": TIMES, "cost": ANY},
                    ("verdict", "remaining", "retry_after", "id", "used", "until", "changes"), lambda: [])


def counted(x):
    """What a request finds: the window that it counts in, and the units used there."""
    lives = x.until > x.now
    return If(And(lives, x.id > x.runs_id), x.id, x.runs_id), If(And(lives, x.id >= x.runs_id), x.used, 0)


@statement("calendar.nothing_wraps",
           "Whatever a state counts and whichever window runs, in the years of the calendar no operation wraps.")
def _(p):
    p.wraps_nothing(CALENDAR)


@statement("calendar.admits",
           "A cost passes exactly when it and the units used in the window that is counted are at most the limit; it is "
           "`never` above the limit, and else denied until that window ends.")
def _(p):
    x = p.inputs(CALENDAR)
    d = p.call(CALENDAR, x)
    id_, used = counted(x)
    p.show("allowed", (d.verdict == ALLOWED) == Or(x.cost == 0, used + x.cost <= x.limit))
    p.show("never", (d.verdict == NEVER) == (x.cost > x.limit))
    p.show("or denied", Or(d.verdict == ALLOWED, d.verdict == DENIED, d.verdict == NEVER))
    end = If(id_ > x.runs_id, x.its_end, x.runs_end)
    p.show("until its end", d.retry_after == larger(end - x.utc, 1))


@statement("calendar.never_backwards",
           "A window that has begun is never left backwards: what is admitted counts in the window that runs or in a later "
           "one that the state has, with all that was used there, for as long as the state is kept.")
def _(p):
    x = p.inputs(CALENDAR)
    d = p.call(CALENDAR, x)
    id_, used = counted(x)
    p.given(d.verdict == ALLOWED, x.cost >= 1)
    p.show("never backwards", And(d.id >= x.runs_id, Or(d.id >= x.id, x.until <= x.now)))
    p.show("which it is", d.id == id_)
    p.show("all that was used", d.used == used + x.cost)
    p.show("at most the limit", d.used <= x.limit)
    p.show("is kept", d.until > x.now)


@statement("calendar.refusal_changes_nothing", "A request that is not admitted, and a look, leave the state as it is.")
def _(p):
    x = p.inputs(CALENDAR)
    d = p.call(CALENDAR, x)
    p.given(Or(d.verdict != ALLOWED, x.cost == 0))
    p.show("state", And(d.id == x.id, d.used == x.used, d.until == x.until, d.changes == 0))
