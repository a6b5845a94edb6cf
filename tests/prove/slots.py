"""Statements about slots: FreeSlots of src/store/slots.hpp."""
from z3 import And, Or

from proof import ALLOWED, LONGEST, NEVER, Function, statement
from words import AT_LEAST_1, SIGNED, TIME, larger

BUSY = 3
SLOTS = Function("slots", "slots",
                 {"limit": AT_LEAST_1, "most": SIGNED, "open": TIME, "lacking": SIGNED, "last": TIME, "takes": (0, 1)},
                 ("verdict", "remaining", "retry_after"), lambda most, open: [most - open >= -2 ** 63])


@statement("slots.no_more_than",
           "Of N slots of which n are taken one is granted exactly when n < N, so that never more than N are taken; else it "
           "is `busy`, with a retry_after of 1 ns or more, and `never` exactly when N < 1. What remains is N - n, or 0.")
def _(p):
    x = p.inputs(SLOTS)
    d = p.call(SLOTS, x)
    p.show("granted", (d.verdict == ALLOWED) == Or(x.takes == 0, x.open < x.most))
    p.show("never more", x.open + 1 <= x.most, d.verdict == ALLOWED, x.takes == 1)
    p.show("never", (d.verdict == NEVER) == And(x.takes == 1, x.most < 1, x.open >= x.most))
    p.show("or busy", Or(d.verdict == ALLOWED, d.verdict == NEVER, d.verdict == BUSY))
    p.show("some time", And(d.retry_after >= 1, d.retry_after <= LONGEST), d.verdict == BUSY)
    p.show("remaining", d.remaining == larger(x.most - x.open, 0))
