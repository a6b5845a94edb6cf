"""Many callers of one API, in as many processes as you like: 10 calls a second, 1,000 an hour, and a budget of tokens
that is known only after each call. limits.yaml says so; `weir serve --limits limits.yaml`. WEIR says where weir is
(rediss:// too), WEIR_PASSWORD is its password. While weir is away no call is made: the caller gets redis.RedisError.
"""
import asyncio
import logging
import os

import redis.asyncio


class Pacer:
    def __init__(self, url=os.environ.get("WEIR", "redis://127.0.0.1:6390")):
        self.weir = redis.asyncio.Redis.from_url(url, password=os.environ.get("WEIR_PASSWORD"))

    async def moment(self, **attributes):
        """Waits until this call may act, all its limits together; returns the id to settle."""
        words = [f"{name}={value}" for name, value in attributes.items()]
        while True:
            denied, _, _, wait, _, reservation, _ = await self.weir.execute_command("WEIR.RESERVE", "AS", *words)
            if wait < 0:
                raise ValueError("this call can never pass its limits")
            if denied:  # another's hold may be settled sooner than this says
                wait = min(wait, 1000)
            try:
                await asyncio.sleep(wait / 1000)
            except asyncio.CancelledError:
                if reservation:  # its moment goes to the next
                    await self.weir.execute_command("WEIR.CANCEL", reservation)
                raise
            if not denied:
                return reservation

    async def settle(self, reservation, tokens):
        try:
            await self.weir.execute_command("WEIR.SETTLE", reservation, tokens)
        except redis.RedisError as error:  # the answer is paid for; what was held for it stays used
            logging.getLogger("weir").warning("%s tokens are not settled: %s", tokens, error)


async def ask(pacer, call, prompt):
    """`call` returns (answer, tokens that it cost)."""
    reservation = await pacer.moment(api="partner")
    answer, tokens = await call(prompt)
    await pacer.settle(reservation, tokens)
    return answer
