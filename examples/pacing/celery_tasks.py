"""Celery workers under the quota of somebody else's API: 20 calls a second, over all workers together.

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
LATE = 1.0  # a moment that was missed by more is given up: all that were put away while no worker ran would act at once


def reserve(key, rule, max_wait=60.0):
    """(granted, seconds, id): when to act, and what to cancel; or when to ask again, and then nothing was charged."""
    answer = weir.execute_command("WEIR.RESERVE", "MAXWAIT", round(max_wait * 1000), key, rule)
    return answer[0] == 0, answer[3] / 1000, answer[5] and answer[5].decode()


def tell(error):
    """A line for an outage, and not for each task; None: weir decides."""
    global away
    if (error is not None) != away:
        logging.getLogger("weir").error("weir %s", f"does not decide, tasks wait: {error}" if error else "decides again")
    away = error is not None


@app.task(bind=True, max_retries=None)
def call_partner(self, number, moment=None, reservation=None):
    if moment is None or time.time() > moment + LATE:
        try:
            granted, wait, reservation = reserve("partner", "20/s burst 5")
        except redis.RedisError as error:
            tell(error)
            raise self.retry(args=(number,), kwargs={}, countdown=random.uniform(1, 5), exc=error)
        tell(None)
        if not granted:
            raise self.retry(args=(number,), kwargs={}, countdown=wait)
        moment = time.time() + wait
        if wait > 0:
            raise self.retry(args=(number,), kwargs={"moment": moment, "reservation": reservation}, countdown=wait)
    time.sleep(max(0, moment - time.time()))  # a timer of Celery's that woke a little early
    call(number, moment)


def call(number, moment):
    print(f"call {number}, {time.time() - moment:.3f} s after its moment")


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
