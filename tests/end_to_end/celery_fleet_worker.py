"""The task of test_celery_fleet.py, which writes down in the broker's Redis what it was told and when it acted."""
import os
import sys
import time

import celery
import redis

sys.path.insert(0, os.environ["CLIENT"])
import weir.celery  # noqa: E402

broker = redis.Redis.from_url(os.environ["BROKER"])
app = celery.Celery("fleet", broker=os.environ["BROKER"])
# A client that waits longer for an answer of a busy machine asks once.
there = weir.connect(os.environ["WEIR_URL"], timeout=10, on_error="raise")
partner = weir.celery.paced("40/s burst 5", name="partner", client=there)


def written_down(name, ask, number_of):
    def asked(*words):
        began = time.time()
        wait, held = ask(*words)
        broker.rpush(name, f"{number_of(*words)} {began} {time.time()} {wait}")
        return wait, held

    return asked


partner.reserve = written_down("reserve", partner.reserve, lambda given, _: given[0][0])
partner.come = written_down("come", partner.come, lambda _, given: given[0][0])


@app.task(ignore_result=True)
@partner
def call(number):
    broker.rpush("acted", f"{number} {time.time()}")
