"""examples/pacing's tasks, whose calls are written down in the broker's Redis; where VENDOR is set they are made there."""
import os
import sys
import threading
import time
import types
import urllib.error
import urllib.request

import redis

sys.path[:0] = [os.environ["EXAMPLES"], os.environ["CLIENT"]]
import celery_tasks  # noqa: E402
import weir.celery  # noqa: E402
import weir.shared  # noqa: E402

broker = redis.Redis.from_url(os.environ["BROKER"])
partner, last = celery_tasks.partner, threading.local()
reserve, left, pause, client = partner.reserve, partner.left, partner.pause, weir.shared.client()
bookings = client.try_reserve


def booked(*rules, **question):
    booking = bookings(*rules, **question)
    if not booking.decision.allowed:
        broker.rpush("denied", booking.decision.by)
    return booking


def reserved(given):
    began = time.time()
    granted, wait, reservation = reserve(given)
    now = time.time()
    broker.rpush("questions", now - began)
    if granted:
        broker.rpush("reserved", 1)
        if wait > weir.celery.NAP:
            broker.rpush("put away", 1)
        last.moment = now + wait
    return granted, wait, reservation


def came(moment):
    began = time.time()
    wait = left(moment)
    now = time.time()
    broker.rpush("questions", now - began)
    broker.rpush("came back", 1)
    last.moment = now + wait if wait > 0 else moment.at
    return wait


def paused(seconds, given):
    began = time.time()
    waits = pause(seconds, given)
    broker.rpush("pauses", f"{began} {seconds}")
    return waits


def call(number):
    broker.rpush("calls", f"{number} {last.moment} {time.time()} {last.moment}")
    if "VENDOR" not in os.environ:
        return
    try:
        urllib.request.urlopen(f"{os.environ['VENDOR']}/{number}").close()
    except urllib.error.HTTPError as refused:
        raise weir.celery.StayAway(int(refused.headers["Retry-After"])) from None
    broker.rpush("made", number)


# Tasks that are put away for some seconds, because weir is away or has no slot, come back sooner.
uniform = weir.celery.random.uniform
weir.celery.random = types.SimpleNamespace(uniform=lambda least, most: uniform(least / 4, most / 4))
weir.celery.LATE = float(os.environ.get("LATE", weir.celery.LATE))
weir.celery.LONGEST = float(os.environ.get("LONGEST", weir.celery.LONGEST))
partner.reserve, partner.left, partner.pause, client.try_reserve = reserved, came, paused, booked
celery_tasks.call = call
celery_tasks.something_else.run = lambda number: broker.rpush("others", time.time())
app = celery_tasks.app
