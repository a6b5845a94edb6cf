"""A token bucket in one script, which answers how many seconds to wait; 0 is go."""
import time

SCRIPT = """
local rate, burst, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local tokens, last = string.match(redis.call('GET', KEYS[1]) or burst .. ' ' .. now, '(%S+) (%S+)')
tokens = math.min(burst, tokens + (now - last) * rate)
if tokens < 1 then return (1 - tokens) / rate end
redis.call('SET', KEYS[1], (tokens - 1) .. ' ' .. now, 'EX', math.ceil(burst / rate))
return 0
"""


def acquire(redis, key, rate, burst):
    while True:
        wait_s = float(redis.eval(SCRIPT, 1, key, rate, burst, time.time()))
        if wait_s == 0:
            return
        time.sleep(wait_s)
