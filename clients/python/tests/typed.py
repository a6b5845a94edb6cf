"""What a user's type checker sees: each line has the type that it says. Never run."""

from __future__ import annotations

import asyncio

import weir
import weir.aio


def blocking(client: weir.Client) -> None:
    decision: weir.Decision = client.check("user:42", "10/s", cost=2)
    retry: float | None = decision.retry_after
    by_name: weir.Decision = client.look(user=42, path="/", flag=True, gone=None)
    with client.reserve({"a": "1/s", "b": "5/min"}, max_wait=3) as reservation:
        left: float | None = reservation.settle(7)
        units: int = reservation.cancel()
    tried: weir.Reservation = client.try_reserve("k", "1/s")
    wait: float | None = tried.wait if tried else None
    with client.slot("openai", tokens=2000) as call:
        held: float = call.extend(3)
    owed: int = client.charge("k", "1/s", pause=3).owed
    limiter: weir.Limiter[weir.Decision, weir.Reservation] = client.limiter("1/s")
    of_key: weir.Decision = limiter.check("k")
    print(retry, wait, by_name, left, units, held, owed, of_key)


async def awaited(client: weir.aio.Client) -> None:
    decision: weir.Decision = await client.check("user:42", "10/s")
    asyncio.create_task(client.check(user=42))
    both: tuple[weir.Decision, weir.Decision] = await asyncio.gather(client.check(a=1), client.look(a=1))
    async with await client.acquire("k", "1/s", max_wait=3) as reservation:
        left: float | None = await reservation.settle(tpm=7)
    async with client.acquire("k", "1/s", max_wait=3) as entered:
        again: float | None = await entered.moment()
    reserved: weir.aio.Reservation = await client.reserve("k", "1/s")
    tasks: asyncio.Task[weir.aio.Reservation] = asyncio.create_task(client.acquire("k", "1/s"))
    async with client.slot("openai", tokens=2000) as call:
        held: float = await call.extend(3)
    units: int = await client.refund("k", "1/s")
    print(decision, both, left, again, reserved, tasks, held, units)


def key_of(name: str) -> str:
    return f"user:{name}"


@weir.limit("100/min", key=key_of)
def greet(name: str) -> str:
    return name


greeting: str = greet("a")
