"""examples/pacing's tasks, whose calls are written down in the broker's Redis; where VENDOR is set they are made there."""
import os
import sys
import threading
import time
import types
import urllib.error
import urllib.request

import redis

sys.path.insert(0, os.environ["EXAMPLES"])
import celery_tasks  # noqa: E402

broker = redis.Redis.from_url(os.environ["BROKER"])
reserve, execute, last = celery_tasks.reserve, celery_tasks.weir.execute_command, threading.local()


def counted(*arguments):
    answer = reserve(*arguments)
    if answer[0]:
        broker.rpush("reserved", 1)
    return answer


def asked(*words):
    began = time.time()
    answer = execute(*words)
    now = time.time()
    broker.rpush("questions", now - began)
    if words[0] == "WEIR.RESERVE" and answer[0]:
        broker.rpush("denied", answer[6])
    elif words[0] == "WEIR.RESERVE":
        last.reservation = answer[5].decode()
        broker.hset("moments", last.reservation, now + answer[3] / 1000)
    elif words[0] == "WEIR.MOMENT":
        last.reservation = words[1]
        if answer > 0:
            broker.hset("moments", last.reservation, now + answer / 1000)
    elif words[1] == "PAUSE":
        broker.rpush("pauses", f"{began} {words[2] / 1000}")
    return answer


def call(number, moment):
    broker.rpush("calls", f"{number} {moment} {time.time()} {broker.hget('moments', last.reservation).decode()}")
    if "VENDOR" not in os.environ:
        return
    try:
        urllib.request.urlopen(f"{os.environ['VENDOR']}/{number}").close()
    except urllib.error.HTTPError as refused:
        raise celery_tasks.StayAway(int(refused.headers["Retry-After"]))
    broker.rpush("made", number)


# Tasks that are put away for some seconds, because weir is away or has no slot, come back sooner.
uniform = celery_tasks.random.uniform
celery_tasks.random = types.SimpleNamespace(uniform=lambda least, most: uniform(least / 4, most / 4))
celery_tasks.LATE = float(os.environ.get("LATE", celery_tasks.LATE))
celery_tasks.LONGEST = float(os.environ.get("LONGEST", celery_tasks.LONGEST))
celery_tasks.reserve = counted
celery_tasks.weir.execute_command = asked
celery_tasks.call = call
celery_tasks.something_else.run = lambda number: broker.rpush("others", time.time())
app = celery_tasks.app
