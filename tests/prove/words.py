"""The bounds of words, and a few functions that formulas are written in."""
from z3 import If

from proof import LONGEST, WORD

TIME = (0, LONGEST)
AT_LEAST_1 = (1, LONGEST)
SIGNED = (-2 ** 63, LONGEST)
ANY = (0, WORD)


def larger(a, b):
    return If(a >= b, a, b)


def smaller(a, b):
    return If(a <= b, a, b)


def ahead(until, now):
    return larger(until - now, 0)


def signed(word):
    return If(word > LONGEST, word - WORD - 1, word)
