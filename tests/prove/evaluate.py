"""Formulas as Python: what ir.py has read, computed for given numbers."""
import z3

BINARY = {z3.Z3_OP_SUB: " - ", z3.Z3_OP_LE: " <= ", z3.Z3_OP_LT: " < ", z3.Z3_OP_GE: " >= ", z3.Z3_OP_GT: " > ",
          z3.Z3_OP_EQ: " == ", z3.Z3_OP_IFF: " == ", z3.Z3_OP_DISTINCT: " != ", z3.Z3_OP_XOR: " != "}
ANY_NUMBER = {z3.Z3_OP_ADD: " + ", z3.Z3_OP_MUL: " * ", z3.Z3_OP_AND: " and ", z3.Z3_OP_OR: " or "}


class Code:
    """Lines that compute formulas one after the other; each part once."""

    def __init__(self):
        self.lines = []
        self.known = {}
        self.kept = []  # or else another formula could get the same id

    def line(self, what):
        self.lines.append(f"v{len(self.lines)} = {what}")
        return f"v{len(self.lines) - 1}"

    def call(self, formula, name):
        """The formula is this name's value from here on."""
        self.kept.append(formula)
        self.known[formula.get_id()] = name

    def of(self, formula):
        found = self.known.get(formula.get_id())
        if found is None:
            found = self.line(self.text(formula))
            self.call(formula, found)
        return found

    def text(self, formula):
        kind = formula.decl().kind()
        if z3.is_int_value(formula):
            return str(formula.as_long())
        if z3.is_true(formula) or z3.is_false(formula):
            return str(z3.is_true(formula))
        parts = [self.of(each) for each in formula.children()]
        if kind in BINARY and len(parts) == 2:
            return BINARY[kind].join(parts)
        if kind in ANY_NUMBER:
            return ANY_NUMBER[kind].join(parts)
        if kind == z3.Z3_OP_UMINUS:
            return f"-{parts[0]}"
        if kind == z3.Z3_OP_NOT:
            return f"not {parts[0]}"
        if kind == z3.Z3_OP_ITE:
            return f"{parts[1]} if {parts[0]} else {parts[2]}"
        if z3.is_const(formula) and str(formula).startswith("any"):
            return "0"  # a number that nothing may depend on
        raise NotImplementedError(f"{formula.decl()} in {formula}")


def function_of(parameters, formulas, quotients=()):
    """What computes these formulas of these unknowns. `quotients` defines others: (quotient, rest, of, by)."""
    code = Code()
    for at, each in enumerate(parameters):
        code.call(each, f"given[{at}]")
    for quotient, rest, value, by in quotients:
        value, by = code.of(value), code.of(by)
        code.call(quotient, code.line(f"{value} // {by} if {by} > 0 else 0"))
        code.call(rest, code.line(f"{value} % {by} if {by} > 0 else 0"))
    results = [code.of(each) for each in formulas]
    body = "".join(f"    {line}\n" for line in code.lines)
    scope = {}
    exec(f"def compute(given):\n{body}    return [{', '.join(results)}]", scope)
    return scope["compute"]
