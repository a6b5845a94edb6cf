"""What a proof is made of: functions of the shipped source with the ranges that they are documented for, statements
about them, and the question to Z3.

A statement calls functions and shows goals. Each call is within the function's ranges, which is a goal too. A goal is
proved when Z3 finds that its premises and its opposite cannot hold at once, for any integers; and that its premises
alone can, because from what cannot be everything follows.
"""
import dataclasses
import inspect
import itertools
import pathlib
import re
import subprocess
import time

import ir
import z3

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent

LONGEST = 2 ** 63 - 1
WORD = 2 ** 64 - 1
ALLOWED, DENIED, NEVER = 0, 1, 2

UNITS = ("gcra", "quota", "windows", "duration", "charge", "slots", "calendar", "grants")

# Operations of the source that wrap on purpose: file, and the text of the line.
WANTED_WRAPS = (
    ("src/core/gcra.hpp", "if (cost.units - 1 < burst) {  // from 1 to the burst"),
)

# The checks make each operation that could wrap one that can be seen, with its line; no loop is left of what is short.
FLAGS = ("-std=c++20", "-O2", "-fno-vectorize", "-fno-slp-vectorize", "-fno-exceptions", "-fno-access-control",
         "-fno-discard-value-names", "-S", "-emit-llvm", "-Wno-everything",
         "-fsanitize=signed-integer-overflow,unsigned-integer-overflow,integer-divide-by-zero,shift")


MORE_FLAGS = {"quota": ("-fexceptions",)}  # core/quota.cpp throws


def compile_unit(source, unit, into):
    """The IR of one file of wrappers around the sources below `source`."""
    result = into / f"{unit}.ll"
    subprocess.run(["clang++-19", *FLAGS, *MORE_FLAGS.get(unit, ()), "-Isrc", "-Iinclude", str(HERE / f"{unit}.cpp"),
                    "-o", str(result)], cwd=source, check=True)
    return result.read_text()


def compile_all(into):
    for unit in UNITS:
        compile_unit(ROOT, unit, into)


def wanted_wraps(source):
    places = set()
    for file, text in WANTED_WRAPS:
        lines = [at for at, line in enumerate((source / file).read_text().splitlines(), 1) if line.strip() == text]
        if len(lines) != 1:
            raise SystemExit(f"prove: {file}: this line has to be there once: {text}")
        places.add((file, lines[0]))
    return places


STATEMENTS = {}
FUNCTIONS = []


@dataclasses.dataclass(frozen=True)
class Function:
    """A wrapper: its parameters with their bounds, the words that it gives, and what has to hold between them."""
    unit: str
    symbol: str
    parameters: dict
    results: tuple
    contract: object

    def __post_init__(self):
        FUNCTIONS.append(self)

    def fresh(self, prefix=""):
        return {name: z3.Int(prefix + name) for name in self.parameters}

    def ranges(self, values):
        bounds = [z3.And(low <= values[name], values[name] <= high) for name, (low, high) in self.parameters.items()]
        wanted = {name: values[name] for name in inspect.signature(self.contract).parameters}
        return bounds + list(self.contract(**wanted))


@dataclasses.dataclass
class Goal:
    label: str
    premises: list
    goal: object


@dataclasses.dataclass(frozen=True)
class Statement:
    name: str
    sentence: str
    make: object
    long: bool


def statement(name, sentence, long=False):
    """Registers what follows; `long`: it takes more of a check than it may."""
    def register(make):
        STATEMENTS[name] = Statement(name, sentence, make, long)
        return make
    return register


class Results:
    """The words that a call gives, by their names."""

    def __init__(self, words):
        self.__dict__.update(words)


class Proof:
    def __init__(self, program):
        self.program = program
        self.premises = []
        self.goals = []
        self.definitions = []
        self.quotients = {}
        self.machines = {}

    def machine(self, unit):
        if unit not in self.machines:
            machine = ir.Machine(self.program.module(unit), self.program.wanted)
            machine.definitions, machine.quotients = self.definitions, self.quotients
            self.machines[unit] = machine
        return self.machines[unit]

    def number(self, name, low=0, high=WORD):
        value = z3.Int(name)
        self.given(value >= low, value <= high)
        return value

    def given(self, *conditions):
        self.premises += conditions

    def show(self, label, goal, *when):
        self.goals.append(Goal(label, self.premises + list(when), goal))

    def lemma(self, label, goal):
        """Shown, and then used."""
        self.show(label, goal)
        self.given(goal)

    def divided_by(self, divisor):
        """What the source has divided by this, with the quotients."""
        return [(of.e, quotient.e) for quotient, _, of, by in self.quotients.values() if by.e.eq(divisor)]

    def quotients_by(self, divisor):
        return [quotient for _, quotient in self.divided_by(divisor)]

    def split(self, label, goal, *cases):
        """The same in cases, which together are all."""
        self.show(label + ": no other case", z3.Or(cases))
        for at, case in enumerate(cases, 1):
            self.show(f"{label}, case {at}", goal, case)

    def inputs(self, function, **known):
        """Any values within the function's ranges."""
        values = {name: known.get(name, z3.Int(name)) for name in function.parameters}
        self.given(*function.ranges(values))
        return Results(values)

    def run(self, function, values):
        arguments = [self.word(value, *function.parameters[name]) for name, value in values.items()]
        _, memory, obligations = self.machine(function.unit).run(function.symbol, [*arguments, ir.Ptr("out", 0)])
        words = {name: memory[("out", 8 * at)][1].e for at, name in enumerate(function.results)}
        return Results(words), obligations

    @staticmethod
    def word(value, low, high):
        """An argument as the word that it is passed in."""
        if isinstance(value, int) or z3.is_int_value(value):
            return ir.const((value if isinstance(value, int) else value.as_long()) % (WORD + 1))
        if low < 0:
            return ir.Num(z3.If(value < 0, value + WORD + 1, value), 0, WORD)
        return ir.Num(value, low, high)

    def divide(self, value, by):
        """Quotient and rest, as the source has them when it divides the same."""
        machine = next(iter(self.machines.values()))
        divisor = ir.const(by) if isinstance(by, int) else ir.Num(by, 1, WORD)
        return [each.e for each in machine.divide(ir.Num(value, 0, WORD), divisor)]

    def call(self, function, inputs=None, **changed):
        """What the source computes of these values, which it has to be defined for."""
        values = {name: changed.get(name, getattr(inputs, name, None)) for name in function.parameters}
        ranges = [condition for condition in function.ranges(values)
                  if not any(condition.eq(premise) for premise in self.premises)]
        for condition in ranges:
            self.show(f"{function.symbol} is defined for this", condition)
        # Shown, so it may be used by what is shown after it.
        self.given(*ranges)
        return self.run(function, values)[0]

    def wraps_nothing(self, function):
        """Each operation is one goal; those that were executed before it are exact by theirs."""
        values = self.inputs(function)
        for each in self.run(function, vars(values))[1]:
            # A check that no input reaches never fires, so its path is not a premise.
            self.show(each.where, z3.Implies(each.path, each.goal))


TACTICS = (lambda: z3.Then("simplify", "solve-eqs", "smt").solver(), lambda: z3.SolverFor("QF_NIA"), z3.Solver)


@dataclasses.dataclass
class Found:
    verdict: str  # proved, refuted, vacuous or unknown
    seconds: float
    label: str
    example: dict


def ask(conditions, most):
    """Whether all of them can hold at once, and an example."""
    verdict, model = z3.unknown, None
    # What one tactic does not find soon, another often does.
    for steps, tactic in itertools.product((most // 8, most), TACTICS):
        solver = tactic()
        # Z3's own steps, not its timeout: that is told by a thread, which now and then waits for good.
        solver.set("rlimit", steps)
        solver.add(*conditions)
        verdict = solver.check()
        if verdict != z3.unknown:
            model = solver.model() if verdict == z3.sat else None
            break
    return verdict, model


def decide(goal, definitions, most):
    began = time.monotonic()
    verdict, model = ask([*definitions, *goal.premises, z3.Not(goal.goal)], most)
    example = {}
    if model is not None:
        example = {str(d): str(model[d]) for d in model.decls() if not re.search(r"(quotient|rest)\d+$", str(d))}
    word = "proved" if verdict == z3.unsat else "refuted" if verdict == z3.sat else "unknown"
    return Found(word, time.monotonic() - began, goal.label, example)


def decide_premises(goal, definitions, most):
    """As "proved" when they can hold: nothing follows from what cannot be."""
    began = time.monotonic()
    verdict, _ = ask([*definitions, *goal.premises], most)
    word = "proved" if verdict == z3.sat else "vacuous" if verdict == z3.unsat else "unknown"
    return Found(word, time.monotonic() - began, "the premises of " + goal.label, {})


class Program:
    """The sources below a folder, compiled with the wrappers as far as they are asked for."""

    def __init__(self, source, into):
        self.source = source
        self.into = into
        self.wanted = wanted_wraps(source)
        self.modules = {}

    def module(self, unit):
        if unit not in self.modules:
            known = self.into / f"{unit}.ll"
            text = known.read_text() if known.exists() else compile_unit(self.source, unit, self.into)
            self.modules[unit] = ir.Module(text)
        return self.modules[unit]


def prove(one, program, most, told=None):
    """All goals of a statement; ends at the first that is not proved."""
    proof = Proof(program)
    one.make(proof)
    found, possible = [], set()
    for goal in proof.goals:
        premises, asking = frozenset(condition.get_id() for condition in goal.premises), 0
        if premises not in possible:
            possible.add(premises)
            can = decide_premises(goal, proof.definitions, most)
            if can.verdict != "proved":
                return [*found, can]
            asking = can.seconds
        found.append(decide(goal, proof.definitions, most))
        found[-1].seconds += asking
        if told:
            told(found[-1])
        if found[-1].verdict != "proved":
            break
    return found
