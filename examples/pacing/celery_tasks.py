"""Celery workers under the quota of somebody else's API: 20 calls a second, over all workers together.

A task asks weir for its moment, puts itself away until then, and comes back with the moment in its hand: no worker
waits, and no task queues twice. `celery -A celery_tasks worker`; WEIR and BROKER say where weir and Redis are.
"""
import os
import time

import celery
import redis

app = celery.Celery("pacing", broker=os.environ.get("BROKER", "redis://127.0.0.1:6379/0"))
weir = redis.Redis.from_url(os.environ.get("WEIR", "redis://127.0.0.1:6390"))
LATE = 1.0  # a moment that was missed by more is given up: all that were put away while no worker ran would act at once


def reserve(key, rule, max_wait=60.0):
    """(granted, seconds): when to act; or when to ask again, and then nothing was charged."""
    answer = weir.execute_command("WEIR.RESERVE", "MAXWAIT", round(max_wait * 1000), key, rule)
    return answer[0] == 0, answer[3] / 1000


@app.task(bind=True, max_retries=None)
def call_partner(self, number, moment=None):
    if moment is None or time.time() > moment + LATE:
        granted, wait = reserve("partner", "20/s burst 5")
        if not granted:
            raise self.retry(args=(number,), kwargs={}, countdown=wait)
        moment = time.time() + wait
        if wait > 0:
            raise self.retry(args=(number,), kwargs={"moment": moment}, countdown=wait)
    time.sleep(max(0, moment - time.time()))  # a timer of Celery's that woke a little early
    call(number, moment)


def call(number, moment):
    print(f"call {number}, {time.time() - moment:.3f} s after its moment")


@app.task
def something_else(number):
    print(f"something else, {number}")
