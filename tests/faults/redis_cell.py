"""Stands in for the module redis-cell 0.5.0: reads a key of a real Redis as strictly as it does, and decides by its rule.

The module aborts Redis where this raises Panic. One caller at a time: the module decides inside Redis, this in steps.
"""
import re
import time


class Panic(Exception):
    """What would have ended Redis."""


class RedisCell:
    def __init__(self, client):
        self.client = client

    def throttle(self, key, max_burst, count, period, quantity=1):
        """Whether CL.THROTTLE would have allowed it."""
        value = self.client.ask("GET", key)
        now = time.time_ns()
        tat = now
        if value is not None:
            if not re.fullmatch(rb"\+?[0-9]+", value) or int(value) >= 2**64:
                raise Panic(f"{key!r} holds {value!r}")
            tat = int(value)
        interval = period * 10**9 // count
        new_tat = max(now, tat) + quantity * interval
        if now < new_tat - (max_burst + 1) * interval:
            return False
        self.client.ask("SET", key, new_tat, "PX", max(1, (new_tat - now) // 10**6))
        return True
