"""Many callers, in as many processes as you like, of an API that allows 300 calls a minute, 10,000 a day where it is, and
five at once, and whose 429 keeps all of them away: five_at_once.yaml. Needs asyncio_fleet.py beside it, whose ask() takes
this for its pacer.

Callers stand in line on connections of their own until there is a slot and the moment has come. The end of a call frees its
slot; that of a program that has died is free when the hold's `ttl` is over. When the day's calls are made, callers wait
for the next day. While weir is away no call is made: the caller gets redis.RedisError.
"""
import asyncio

from asyncio_fleet import Pacer


class InLine(Pacer):
    async def moment(self, *words, **attributes):
        words = [*words, "AS", *(f"{name}={value}" for name, value in attributes.items())]
        while True:  # until it is first in line; each time for as long as the limits file lets it wait
            denied, _, _, wait, _, reservation, by = await self.wait_for("WEIR.ACQUIRE", "MAXWAIT", 60000, *words)
            if wait < 0:
                raise ValueError("this call can never pass its limits")
            if not denied:
                return reservation
            self.denied(by.decode(), wait / 1000)  # of the day, or of its turn in line
            await asyncio.sleep(min(wait, 1000) / 1000)

    async def wait_for(self, *words):
        """A caller that gives up closes its connection, and its place goes to the next."""
        pool = self.weir.connection_pool
        connection = await pool.get_connection(words[0])
        try:
            await connection.send_command(*words)
            return await connection.read_response()
        except BaseException:
            await connection.disconnect()
            raise
        finally:
            await pool.release(connection)
