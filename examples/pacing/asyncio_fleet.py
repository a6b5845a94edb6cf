"""Many callers of one API, in as many processes as you like, that stand in line for their turn; `pip install weir-client`.
When the API answers 429, all of them stay away for as long as it says.

With limits.yaml it is 10 calls a second, 1,000 an hour, and a budget of tokens that is known only after each call; with
five_at_once.yaml 300 a minute, 10,000 a day where the vendor is, and five at once: `weir serve --limits limits.yaml`.
WEIR_URL says where weir is (weirs:// too), WEIR_PASSWORD is its password. While weir is away no call is made: the caller gets
weir.Unavailable.
"""
import asyncio
import logging

import weir.aio


class StayAway(Exception):
    """The other side has answered 429: StayAway(seconds), of its Retry-After."""


class Pacer:
    max_wait = 30.0  # seconds in line, at most what the limits file says; a call that is denied then comes again

    def __init__(self, url=None):
        self.weir = weir.aio.connect(url, on_error="raise", timeout=2)

    async def moment(self, **question):
        """Returns when this call may act, all its limits together. One that is given up leaves its place to the next."""
        while True:
            try:
                return await self.weir.acquire(max_wait=self.max_wait, **question)
            except weir.Denied as denied:
                wait = denied.decision.retry_after
                if wait is None:
                    raise ValueError("this call can never pass its limits") from denied
                self.denied(denied.decision.by, wait)
                await asyncio.sleep(min(wait, 1))  # another's hold may be settled sooner

    def denied(self, limit, seconds):
        """Of a call that would wait for that limit, and for so long; one that raises gives it up."""

    async def settle(self, turn, tokens):
        """The call has ended: its slot is free, and this is what it cost."""
        try:
            await turn.settle(tokens)
        except weir.Error as error:  # the answer is paid for; what was held for it stays used
            logging.getLogger("weir").warning("%s tokens are not settled: %s", tokens, error)

    async def pause(self, seconds, limit, **attributes):
        """Nobody of the fleet calls for that long, then one does, and then they keep their pace."""
        try:
            await self.weir.charge(pause=seconds, limit=limit, attributes=attributes)
        except weir.Error as error:
            logging.getLogger("weir").warning("a pause of %s s is not told to others: %s", seconds, error)
            await asyncio.sleep(seconds)


async def ask(pacer, call, prompt):
    """`call` returns (answer, tokens that it cost), or raises StayAway."""
    while True:
        turn = await pacer.moment(api="partner")
        try:
            answer, tokens = await call(prompt)
        except StayAway as told:
            await pacer.pause(told.args[0], "calls", api="partner")
            await pacer.settle(turn, 0)
            continue
        await pacer.settle(turn, tokens)
        return answer
