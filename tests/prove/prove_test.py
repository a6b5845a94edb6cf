#!/usr/bin/python3
"""Whether tests/prove can be trusted: that it refuses what is vacuous, and reads the IR as a processor does.

Needs clang++-19, python3-z3, and g++: what ir.py reads of clang's IR is compared with what g++, which packages are
built with, makes of the same source.
"""
import contextlib
import ctypes
import os
import pathlib
import random
import subprocess
import tempfile
import unittest
from unittest import mock

import evaluate
import ir
import proof
import statements  # noqa: F401
import z3

INPUTS = 3000
FUNCTIONS = proof.FUNCTIONS


def setUpModule():
    global FOLDER, PROGRAM
    FOLDER = pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    proof.compile_all(FOLDER)
    PROGRAM = proof.Program(proof.ROOT, FOLDER)


def near_an_end(chance, low, high, others):
    """A number within bounds: small, of any length, at an end, or near another that was chosen."""
    kind = chance.randrange(4)
    if kind == 0:
        value = chance.randrange(12)
    elif kind == 1:
        value = chance.getrandbits(chance.randrange(1, 65))
    elif kind == 2:
        value = chance.choice((low, high)) + chance.randrange(-3, 4)
    else:
        value = sum(chance.choice(others or (0,)) for _ in range(chance.randrange(1, 3))) + chance.randrange(-2, 3)
    if low < 0 and chance.randrange(2):
        value = -value
    return min(max(value, low), high)


def inputs_of(function):
    """Numbers within the ranges that the function is documented for."""
    chance = random.Random(function.symbol)
    unknowns = function.fresh()
    holds = evaluate.function_of(list(unknowns.values()), function.ranges(unknowns))
    found = []
    for _ in range(400 * INPUTS):
        values = []
        for low, high in function.parameters.values():
            values.append(near_an_end(chance, low, high, values))
        if all(holds(values)):
            found.append(values)
        if len(found) == INPUTS:
            return found
    raise AssertionError(f"{function.symbol}: only {len(found)} inputs are within its ranges")


def read(function):
    """What ir.py has read: the words, as a function of the inputs."""
    one = proof.Proof(PROGRAM)
    unknowns = function.fresh()
    words, _ = one.run(function, unknowns)
    quotients = [tuple(each.e for each in entry) for entry in one.quotients.values()]
    return evaluate.function_of(list(unknowns.values()), list(vars(words).values()), quotients)


def compiled(unit):
    library = FOLDER / f"{unit}.so"
    if not library.exists():
        subprocess.run(["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-fno-access-control", "-Isrc", "-Iinclude",
                        "-w",
                        "-Wl,-z,lazy", str(proof.HERE / f"{unit}.cpp"), "-o", str(library)], cwd=proof.ROOT, check=True)
    return ctypes.CDLL(str(library), mode=os.RTLD_LAZY)  # it has no functions that a wrapper never calls


def difference(function, inputs, reading):
    """The first input for which both differ, with what they say."""
    call = getattr(compiled(function.unit), function.symbol)
    call.restype = None
    out = (ctypes.c_uint64 * 16)()
    for values in inputs:
        call(*[ctypes.c_uint64(value % (proof.WORD + 1)) for value in values], out)
        words = list(out[:len(function.results)])
        if reading(values) != words:
            return dict(zip(function.parameters, values)), reading(values), words
    return None


class Vacuous(unittest.TestCase):
    def verdict(self, make):
        return proof.prove(proof.Statement("test", "", make, False), PROGRAM, 4_000_000)[-1].verdict

    def test_premises_that_cannot_hold_prove_nothing(self):
        def make(p):
            number = p.number("number")
            p.given(number * number == 2)
            p.show("anything", number == 1)
        self.assertEqual(self.verdict(make), "vacuous")

    def test_a_case_that_cannot_be_proves_nothing(self):
        def make(p):
            number = p.number("number")
            p.show("below 0", number == 1, number < 0)
        self.assertEqual(self.verdict(make), "vacuous")

    def test_what_can_be_is_proved_or_refuted(self):
        def make(p):
            number = p.number("number", 1, 5)
            p.show("a square", number * number >= number)
        self.assertEqual(self.verdict(make), "proved")

        def wrong(p):
            number = p.number("number", 0, 5)
            p.show("a square", number * number > number)
        self.assertEqual(self.verdict(wrong), "refuted")


class Reading(unittest.TestCase):
    def test_is_what_the_compiled_function_does(self):
        for function in FUNCTIONS:
            with self.subTest(function.symbol):
                self.assertIsNone(difference(function, inputs_of(function), read(function)))

    MISTAKES = {
        "the sides of a choice are swapped": lambda: mock.patch.object(
            ir, "pick", lambda condition, a, b, pick=ir.pick: pick(condition, b, a)),
        "a word below 0 is a large one": lambda: mock.patch.object(ir.Run, "signed", lambda self, x, bits: x),
        "a division rounds up": lambda: mock.patch.object(
            ir.Machine, "divide", lambda self, x, y, divide=ir.Machine.divide: (
                (lambda q, r: (ir.Num(z3.If(r.e > 0, q.e + 1, q.e), q.lo, q.hi + 1), r))(*divide(self, x, y)))),
        "at most is below": lambda: mock.patch.object(
            ir.Run, "compare", lambda self, rest, compare=ir.Run.compare: compare(self, rest.replace("ugt", "uge"))),
        "or adds nothing": lambda: mock.patch.object(
            ir.Run, "logic", lambda self, operation, rest, logic=ir.Run.logic: (
                logic(self, operation, rest) if operation != "or" or not rest.startswith("i64")
                else self.operand("i64", rest.split()[1].rstrip(",")))),
    }

    def test_shows_a_mistake(self):
        for name, mistake in self.MISTAKES.items():
            with self.subTest(name), mistake():
                self.assertTrue(any(self.differs(function) for function in FUNCTIONS))

    @staticmethod
    def differs(function):
        with contextlib.suppress(ir.Unsupported):
            return difference(function, inputs_of(function), read(function)) is not None


if __name__ == "__main__":
    unittest.main()
