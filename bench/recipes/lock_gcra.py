"""GCRA in the client: Redis keeps the tat, tells the time, and holds a lock for the read and the write."""
import time
import uuid


def allowed(redis, key, limit, period_s, lock_ms=1000):
    while not redis.set(f"lock:{key}", uuid.uuid4().hex, nx=True, px=lock_ms):
        time.sleep(0.001)
    try:
        seconds, micros = redis.time()
        now = seconds + micros / 1e6
        tat = max(now, float(redis.get(key) or 0)) + period_s / limit
        if tat > now + period_s:
            return False
        redis.set(key, tat, px=int((tat - now) * 1000) + 1)
        return True
    finally:
        redis.delete(f"lock:{key}")
