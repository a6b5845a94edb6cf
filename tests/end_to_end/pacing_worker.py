"""examples/pacing's tasks, whose calls are written down in the broker's Redis; where VENDOR is set they are made there."""
import os
import sys
import threading
import time
import urllib.error
import urllib.request

import redis

sys.path.insert(0, os.environ["EXAMPLES"])
import celery_tasks  # noqa: E402

broker = redis.Redis.from_url(os.environ["BROKER"])
reserve, execute, last = celery_tasks.reserve, celery_tasks.weir.execute_command, threading.local()


def counted(*arguments):
    answer = reserve(*arguments)
    broker.rpush("reserved", 1)
    return answer


def asked(*words):
    last.asked = time.time()
    answer = execute(*words)
    broker.rpush("questions", time.time() - last.asked)
    if words[1] == "PAUSE":
        broker.rpush("pauses", f"{last.asked} {time.time()} {words[2] / 1000}")
    return answer


def call(number, moment):
    broker.rpush("calls", f"{number} {moment} {time.time()} {last.asked}")
    if "VENDOR" not in os.environ:
        return
    try:
        urllib.request.urlopen(f"{os.environ['VENDOR']}/{number}").close()
    except urllib.error.HTTPError as refused:
        raise celery_tasks.StayAway(int(refused.headers["Retry-After"]))
    broker.rpush("made", number)


celery_tasks.reserve = counted
celery_tasks.weir.execute_command = asked
celery_tasks.call = call
celery_tasks.something_else.run = lambda number: broker.rpush("others", time.time())
app = celery_tasks.app
