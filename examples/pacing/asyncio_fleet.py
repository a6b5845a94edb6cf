"""Many callers of one API, in as many processes as you like: 10 calls a second, 1,000 an hour, and a budget of tokens
that is known only after each call. When the API answers 429, all of them stay away for as long as it says. limits.yaml
has the numbers; `weir serve --limits limits.yaml`. WEIR says where weir is (rediss:// too), WEIR_PASSWORD is its password.
While weir is away no call is made: the caller gets redis.RedisError.
"""
import asyncio
import logging
import os

import redis.asyncio


class StayAway(Exception):
    """The other side has answered 429: StayAway(seconds), of its Retry-After."""


class Pacer:
    def __init__(self, url=os.environ.get("WEIR", "redis://127.0.0.1:6390")):
        self.weir = redis.asyncio.Redis.from_url(url, password=os.environ.get("WEIR_PASSWORD"))

    async def moment(self, *words, **attributes):
        """Waits until this call may act, all its limits together; returns the id to settle. `words`: COST, CLASS."""
        words = [*words, "AS", *(f"{name}={value}" for name, value in attributes.items())]
        while True:
            asked = asyncio.ensure_future(self.weir.execute_command("WEIR.RESERVE", *words))
            try:
                denied, _, _, wait, _, reservation, by = await asyncio.shield(asked)
                if wait < 0:
                    raise ValueError("this call can never pass its limits")
                if denied:  # another's hold may be settled sooner than this says
                    self.denied(by.decode(), wait / 1000)
                    wait = min(wait, 1000)
                await asyncio.sleep(wait / 1000)
                while reservation and wait > 0:  # a pause may have moved it
                    wait = await asyncio.shield(self.weir.execute_command("WEIR.MOMENT", reservation))
                    await asyncio.sleep(max(wait, 0) / 1000)
            except asyncio.CancelledError:
                if reservation := (await asked)[5]:  # its moment goes to the next
                    await self.weir.execute_command("WEIR.CANCEL", reservation)
                raise
            if not denied and wait >= 0:  # below 0: this program slept until its hold had ended
                return reservation

    def denied(self, limit, seconds):
        """Of a call that would wait for that limit, and for so long; one that raises gives it up."""

    async def settle(self, reservation, tokens):
        try:
            await self.weir.execute_command("WEIR.SETTLE", reservation, tokens)
        except redis.RedisError as error:  # the answer is paid for; what was held for it stays used
            logging.getLogger("weir").warning("%s tokens are not settled: %s", tokens, error)

    async def pause(self, seconds, limit, **attributes):
        """Nobody of the fleet calls for that long, then one does, and then they keep their pace."""
        words = [f"{name}={value}" for name, value in attributes.items()]
        try:
            await self.weir.execute_command("WEIR.CHARGE", "PAUSE", round(seconds * 1000), "LIMIT", limit, "AS", *words)
        except redis.RedisError as error:
            logging.getLogger("weir").warning("a pause of %s s is not told to others: %s", seconds, error)
            await asyncio.sleep(seconds)


async def ask(pacer, call, prompt):
    """`call` returns (answer, tokens that it cost), or raises StayAway."""
    while True:
        reservation = await pacer.moment(api="partner")
        try:
            answer, tokens = await call(prompt)
        except StayAway as told:
            await pacer.pause(told.args[0], "calls", api="partner")
            await pacer.settle(reservation, 0)
            continue
        await pacer.settle(reservation, tokens)
        return answer
