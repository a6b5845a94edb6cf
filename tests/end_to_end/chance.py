"""The one source of chance: it prints its seed when a test first uses it, and WEIR_SEED=N repeats it."""
import functools
import os
import random
import sys

GIVEN = os.environ.get("WEIR_SEED")   # text, or None


@functools.cache
def seed():
    chosen = int(GIVEN) if GIVEN else random.randrange(1 << 32)
    print(f"WEIR_SEED={chosen}", file=sys.stderr, flush=True)
    return chosen


def chance(name=""):
    """A random.Random; those of different names differ."""
    return random.Random(f"{seed()} {name}")


def seeds(count):
    """For tests that run many seeds, always the same: WEIR_SEED=N is that one alone, WEIR_SEEDS=N that number of them."""
    return [int(GIVEN)] if GIVEN else range(1, 1 + int(os.environ.get("WEIR_SEEDS", count)))
