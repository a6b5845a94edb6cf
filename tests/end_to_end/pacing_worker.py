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
reserve, come, pause = partner.reserve, partner.come, partner.pause
later = partner._later


def denied(decision, *asked):
    broker.rpush("denied", decision.by)
    return later(decision, *asked)


def reserved(given, most):
    began = last.asked = time.time()
    wait, reservation = reserve(given, most)
    now = time.time()
    broker.rpush("questions", now - began)
    broker.rpush("reserved", 1)
    if wait > weir.celery.NAP:
        broker.rpush("put away", 1)
    last.moment = now + wait
    last.granted = wait <= weir.celery.NAP  # it comes at once, and has been granted by what it asked here
    return wait, reservation


def came(moment, given):
    began = time.time()
    if not getattr(last, "granted", False):
        last.asked = began
    last.granted = False
    wait, held = come(moment, given)
    now = time.time()
    broker.rpush("questions", now - began)
    broker.rpush("came back", 1)
    last.moment = now + wait if wait > 0 else moment.at
    return wait, held


def paused(seconds, given):
    began = time.time()
    waits = pause(seconds, given)
    broker.rpush("pauses", f"{began} {seconds}")
    broker.rpush("paused", time.time())
    return waits


def call(number):
    broker.rpush("calls", f"{number} {last.moment} {time.time()} {last.asked}")
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
longest = weir.celery._longest
weir.celery._longest = lambda app: float(os.environ.get("LONGEST", longest(app)))
partner.reserve, partner.come, partner.pause, partner._later = reserved, came, paused, denied
celery_tasks.call = call
celery_tasks.something_else.run = lambda number: broker.rpush("others", time.time())
app = celery_tasks.app
