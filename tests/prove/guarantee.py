"""What a guarantee of a part of a limit promises: src/core/gcra.hpp, of a request that is decided twice."""
from z3 import Or, Real

from gcra import DECIDE
from proof import ALLOWED, LONGEST, statement
from words import ANY, AT_LEAST_1, ahead


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
