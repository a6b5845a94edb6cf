"""One measurement of Python's clients, for bench/clients.py: asks for a while and prints what it took as JSON.

    load.py CLIENT PORT --callers N --seconds S [--headers] [--rate N] [--waits N] [--path FOLDER]

CLIENT: weir, weir.aio, get (redis-py's GET), limits (flask-limiter's storage in Redis)."""

import argparse
import asyncio
import json
import sys
import threading
import time

RULE, LIMIT = "1000000/min", "1000000/minute"
KEYS = [f"user:{n}" for n in range(1000)]


def weir_question(port, headers):
    import weir

    client = weir.connect(f"weir://127.0.0.1:{port}", timeout=5, on_error="raise")
    return (lambda key: client.check(key, RULE, fields=True)) if headers else (lambda key: client.check(key, RULE))


def get_question(port, headers):
    import redis

    client = redis.Redis(port=port)
    return client.get


def limits_question(port, headers):
    import limits

    strategy = limits.strategies.FixedWindowRateLimiter(limits.storage.RedisStorage(f"redis://127.0.0.1:{port}"))
    rate = limits.parse(LIMIT)

    def ask(key):
        strategy.hit(rate, key)
        if headers:  # as flask-limiter does to send them
            strategy.get_window_stats(rate, key)

    return ask


def until(deadline, ask, start):
    done = start
    while time.perf_counter() < deadline:
        ask(KEYS[done % len(KEYS)])
        done += 1
    return done - start


def by_threads(ask, callers, seconds):
    counts = []
    deadline = time.perf_counter() + seconds
    if callers == 1:
        return until(deadline, ask, 0)
    threads = [threading.Thread(target=lambda n=n: counts.append(until(deadline, ask, 17 * n))) for n in range(callers)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return sum(counts)


async def by_loop(port, callers, seconds, headers):
    import weir.aio

    async with weir.aio.connect(f"weir://127.0.0.1:{port}", timeout=5, on_error="raise") as client:
        await client.check(KEYS[0], RULE)

        async def caller(start, deadline):
            done = start
            while time.perf_counter() < deadline:
                await client.check(KEYS[done % len(KEYS)], RULE, fields=headers)
                done += 1
            return done - start

        began, cpu = time.perf_counter(), time.process_time()
        counts = await asyncio.gather(*[caller(17 * n, began + seconds) for n in range(callers)])
        return sum(counts), began, cpu


def paced(ask, rate, seconds):
    """The 99th percentile of a call, in microseconds, at this rate."""
    times = []
    began = time.perf_counter()
    for n in range(int(rate * seconds)):
        time.sleep(max(0.0, began + n / rate - time.perf_counter()))
        asked = time.perf_counter()
        ask(KEYS[n % len(KEYS)])
        times.append(time.perf_counter() - asked)
    return sorted(times)[len(times) * 99 // 100] * 1e6


def resident():
    with open("/proc/self/statm", encoding="ascii") as pages:
        return int(pages.read().split()[1]) * 4096


async def beside_waits(port, waits, rate, seconds):
    """What a wait keeps here, and the 99th percentile of a check while as many wait on the same connection."""
    import redis
    import weir.aio

    server = redis.Redis(port=port)
    async with weir.aio.connect(f"weir://127.0.0.1:{port}", timeout=5, on_error="raise") as client:
        await client.check(KEYS[0], RULE)
        before = resident()
        waiting = [asyncio.ensure_future(client.acquire("line", "in_flight=1", hold=3600, max_wait=3600)) for _ in range(waits)]
        while server.info("clients")["blocked_clients"] < waits - 1:  # the first acts
            await asyncio.sleep(0.01)
        kept = resident() - before
        times = []
        began = time.perf_counter()
        for n in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, began + n / rate - time.perf_counter()))
            asked = time.perf_counter()
            await client.check(KEYS[n % len(KEYS)], RULE)
            times.append(time.perf_counter() - asked)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    return {"p99_us": sorted(times)[len(times) * 99 // 100] * 1e6, "kib": kept / 1024 / max(waits, 1)}


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("client", choices=("weir", "weir.aio", "get", "limits"))
    flags.add_argument("port", type=int)
    flags.add_argument("--callers", type=int, default=1)
    flags.add_argument("--seconds", type=float, default=1.0)
    flags.add_argument("--headers", action="store_true")
    flags.add_argument("--rate", type=int)
    flags.add_argument("--waits", type=int, help="acquires in line beside the calls of --rate")
    flags.add_argument("--path", action="append", default=[])
    options = flags.parse_args()
    sys.path[:0] = options.path
    if options.waits is not None:
        print(json.dumps(asyncio.run(beside_waits(options.port, options.waits, options.rate, options.seconds))))
        return
    if options.client == "weir.aio":
        calls, began, cpu = asyncio.run(by_loop(options.port, options.callers, options.seconds, options.headers))
    else:
        question = {"weir": weir_question, "get": get_question, "limits": limits_question}[options.client]
        ask = question(options.port, options.headers)
        ask(KEYS[0])
        if options.rate:
            print(json.dumps({"p99_us": paced(ask, options.rate, options.seconds)}))
            return
        began, cpu = time.perf_counter(), time.process_time()
        calls = by_threads(ask, options.callers, options.seconds)
    seconds = time.perf_counter() - began
    print(json.dumps({"rate": calls / seconds, "cpu_us": (time.process_time() - cpu) / calls * 1e6}))


if __name__ == "__main__":
    main()
