"""Celery workers under what a vendor allows: 300 calls a minute, 10,000 a day where the vendor is, and five at once, over all
workers together. When it answers 429, all of them stay away for as long as it says. five_at_once.yaml has the numbers:
`weir serve --limits five_at_once.yaml`.

`pip install weir-client[celery]`, then `celery -A celery_tasks worker`. WEIR_URL (weirs:// too) and BROKER say where weir and
Redis are, WEIR_PASSWORD is weir's. While weir is away, or does not take the password, no call is made, and each task is
tried again.
"""
import os

import celery
import weir.celery

app = celery.Celery("pacing", broker=os.environ.get("BROKER", "redis://127.0.0.1:6379/0"))
partner = weir.celery.paced(attributes={"api": "partner"}, costs={"calls": 1, "day": 1}, slots=["at_once"], windows=["day"],
                            pauses="calls")


@app.task
@partner
def call_partner(number):
    call(number)


def call(number):
    """The request; raises weir.celery.StayAway(seconds) at a 429, of its Retry-After. It ends within the hold's `ttl`."""
    print(f"call {number}")


@app.task
def something_else(number):
    print(f"something else, {number}")
