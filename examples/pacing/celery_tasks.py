"""Celery workers under what a vendor allows: 300 calls a minute, 10,000 a day where the vendor is, and five at once, over all
workers together. When it answers 429, all of them stay away for as long as it says. five_at_once.yaml has the numbers:
`weir serve --limits five_at_once.yaml`.

A task asks weir for its moment, puts itself away until then, and comes back with the moment in its hand: no worker
waits, and no task queues twice. `celery -A celery_tasks worker`; WEIR (rediss:// too) and BROKER say where weir and
Redis are, WEIR_PASSWORD is weir's. While weir is away, or does not take the password, no call is made: it is logged once,
and each task is tried again.
"""
import logging
import os
import random
import time

import celery
import redis

app = celery.Celery("pacing", broker=os.environ.get("BROKER", "redis://127.0.0.1:6379/0"))
weir = redis.Redis.from_url(os.environ.get("WEIR", "redis://127.0.0.1:6390"), password=os.environ.get("WEIR_PASSWORD"),
                            socket_timeout=2)
away = False
PARTNER = "AS", "api=partner"
LATE = 1.0  # a moment that was missed by more is given up: all that were put away while no worker ran would act at once
NAP = 0.05  # less is slept: a timer of Celery's that woke a little early
SOON = 1.0  # a call that is under way ends sooner than its hold says
LONGEST = 600.0  # a broker in Redis gives a task that is put away for an hour to a second worker (visibility_timeout)


class StayAway(Exception):
    """The other side has answered 429: StayAway(seconds), of its Retry-After."""


def reserve(max_wait=60.0):
    """(granted, seconds, id): when to act, and what to settle then; or when to ask again, and then nothing was charged."""
    denied, _, _, wait, _, reservation, by = weir.execute_command("WEIR.RESERVE", "MAXWAIT", round(max_wait * 1000), *PARTNER)
    if denied:
        return False, min(wait / 1000, random.uniform(SOON / 2, SOON) if by == b"at_once" else LONGEST), None
    return True, wait / 1000, reservation.decode()


def left(moment, reservation):
    """Seconds until a moment that was told before, which a pause may have moved; below 0: it is gone."""
    wait = weir.execute_command("WEIR.MOMENT", reservation) / 1000
    if wait == 0 and time.time() > moment + LATE:
        settle(reservation)
        return -1
    return wait


def settle(reservation):
    """The call has ended, and its slot is free. One that is not settled is free when its hold ends."""
    try:
        weir.execute_command("WEIR.SETTLE", reservation)
    except redis.RedisError as error:
        tell(error)


def tell(error):
    """A line for an outage, and not for each task; None: weir decides."""
    global away
    if (error is not None) != away:
        logging.getLogger("weir").error("weir %s", f"does not decide, tasks wait: {error}" if error else "decides again")
    away = error is not None


@app.task(bind=True, max_retries=None)
def call_partner(self, number, moment=None, reservation=None):
    def again(seconds, exc=None, **kept):
        return self.retry(args=(number,), kwargs=kept, countdown=seconds, exc=exc)

    granted = True
    try:
        wait = left(moment, reservation) if reservation else -1
        if wait < 0:
            moment = reservation = None
            granted, wait, reservation = reserve()
    except redis.RedisError as error:
        tell(error)
        raise again(random.uniform(1, 5), error, moment=moment, reservation=reservation)
    tell(None)
    if not granted:
        raise again(wait)
    if moment is None or wait > 0:
        moment = time.time() + wait
    if wait > NAP:
        raise again(wait, moment=moment, reservation=reservation)
    time.sleep(wait)
    try:
        call(number, moment)
    except StayAway as told:
        raise again(pause(told.args[0]))
    finally:
        settle(reservation)


def call(number, moment):
    """The request; or raises StayAway. It ends within the `ttl` of the hold, or extends it by WEIR.EXTEND."""
    print(f"call {number}, {time.time() - moment:.3f} s after its moment")


def pause(seconds):
    """Nobody of the fleet calls for that long, then one does, and then they keep their pace. When to ask again."""
    try:
        weir.execute_command("WEIR.CHARGE", "PAUSE", round(seconds * 1000), "LIMIT", "calls", *PARTNER)
        return 0
    except redis.RedisError as error:
        tell(error)
        return seconds


def abandon(task):
    """Revokes a task by its id, and gives the moment that it waits for to another; whether there was one to give. A worker
    throws away a revoked task only when its moment has come, too late to cancel: so the one that revokes it does."""
    app.control.revoke(task)
    for waiting in (app.control.inspect().scheduled() or {}).values():
        for each in (one["request"] for one in waiting):
            if each["id"] == task and each["kwargs"].get("reservation"):
                return weir.execute_command("WEIR.CANCEL", each["kwargs"]["reservation"]) > 0
    return False


@app.task
def something_else(number):
    print(f"something else, {number}")
