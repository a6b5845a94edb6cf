"""The bucket of a period: set to the limit by who comes first, counted down, gone with its TTL."""


def allowed(redis, key, limit, period_ms):
    if redis.setnx(key, limit):
        redis.pexpire(key, period_ms)
    left = redis.get(key)
    if left is None or int(left) <= 0:
        return False
    redis.decrby(key, 1)
    return True
