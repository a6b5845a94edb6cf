"""examples/pacing's tasks, whose call to the partner is written down in the broker's Redis."""
import os
import sys
import time

import redis

sys.path.insert(0, os.environ["EXAMPLES"])
import celery_tasks  # noqa: E402

broker = redis.Redis.from_url(os.environ["BROKER"])
reserve = celery_tasks.reserve


def counted(*arguments):
    began = time.time()
    answer = reserve(*arguments)
    broker.rpush("reserved", time.time() - began)
    return answer


celery_tasks.reserve = counted
celery_tasks.call = lambda number, moment: broker.rpush("calls", f"{number} {moment} {time.time()}")
celery_tasks.something_else.run = lambda number: broker.rpush("others", time.time())
app = celery_tasks.app
