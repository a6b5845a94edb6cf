"""examples/pacing, run: what goes out stays under the quota, and nobody stands in anybody's way."""
import asyncio
import os
import subprocess
import sys
import time
import unittest
import unittest.mock

import redis

from programs import free_port
from server import PATIENCE, ROOT, Folder, Server, run, until

EXAMPLES = os.path.join(ROOT, "examples/pacing")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, EXAMPLES)
import asyncio_fleet  # noqa: E402


def most_over(acts, burst, interval):
    """By how much the (moment, units) of any span exceed burst + W / T, W being the length of the span."""
    acts = sorted(acts)
    worst = 0.0
    for first in range(len(acts)):
        units = 0
        for moment, cost in acts[first:]:
            units += cost
            worst = max(worst, units - burst - (moment - acts[first][0]) / interval)
    return worst


def draw(name, acts, burst, interval):
    """The picture of docs/pacing.md, where WEIR_PICTURES names a folder."""
    if folder := os.environ.get("WEIR_PICTURES"):
        subprocess.run([sys.executable, os.path.join(EXAMPLES, "plot.py"), str(burst), str(interval)], check=True, text=True,
                       input="\n".join(map(str, acts)), stdout=open(os.path.join(folder, f"pacing-{name}.svg"), "w"))


class TestSpans(unittest.TestCase):
    def test_what_is_over_is_found(self):
        self.assertEqual(most_over([(0, 1), (0, 1), (1, 1)], 2, 1), 0)
        self.assertEqual(most_over([(0, 1), (5, 2), (5, 1)], 2, 1), 1)


class TestCelery(unittest.TestCase):
    CALLS = 40

    def test_workers_keep_to_the_quota_and_none_is_blocked(self):
        with Folder() as folder, Server() as weir:
            port = free_port()
            broker = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir",
                                       str(folder.path)], stdout=subprocess.DEVNULL)
            self.addCleanup(broker.wait)
            self.addCleanup(broker.kill)
            url = f"redis://127.0.0.1:{port}/0"
            there = redis.Redis.from_url(url)
            until(lambda: self.answers(there), "the broker")
            environment = dict(os.environ, BROKER=url, WEIR=f"redis://127.0.0.1:{weir.port}", EXAMPLES=EXAMPLES)
            log = open(os.path.join(str(folder.path), "log"), "wb")
            self.addCleanup(log.close)
            workers = [subprocess.Popen([sys.executable, "-m", "celery", "-A", "pacing_worker", "worker", "--pool", "solo",
                                         "--without-gossip", "--without-mingle", "--without-heartbeat", "-n", f"w{i}@here"],
                                        cwd=HERE, env=environment, stdout=log, stderr=log) for i in range(2)]
            for worker in workers:
                self.addCleanup(worker.wait)
                self.addCleanup(worker.kill)
            self.send(environment)
            until(lambda: there.llen("calls") == self.CALLS and there.llen("others") == 1, "all tasks", PATIENCE)
            calls = [list(map(float, line.split())) for line in there.lrange("calls", 0, -1)]
            self.assertEqual(sorted(int(number) for number, _, _ in calls), list(range(self.CALLS)))
            # A moment is counted from the answer, which came late by at most the slowest question.
            asked = list(map(float, there.lrange("reserved", 0, -1)))
            self.assertLessEqual(most_over([(moment, 1) for _, moment, _ in calls], 5, 1 / 20), max(asked) * 20 + 0.1)
            draw("celery", [acted for _, _, acted in calls], 5, 1 / 20)
            for _, moment, acted in calls:
                self.assertGreaterEqual(acted, moment)
            # Each has asked once, however often it was put away.
            self.assertEqual(len(asked), self.CALLS)
            # Two workers with one slot each, and what came last did not wait for those that wait.
            self.assertLess(float(there.lindex("others", 0)), max(acted for _, _, acted in calls))

    def answers(self, there):
        try:
            return there.ping()
        except redis.ConnectionError:
            return False

    def send(self, environment):
        script = ("import pacing_worker as w\n"
                  f"for i in range({self.CALLS}): w.celery_tasks.call_partner.delay(i)\n"
                  "w.celery_tasks.something_else.delay(0)\n")
        subprocess.run([sys.executable, "-c", script], cwd=HERE, env=environment, check=True, timeout=PATIENCE)


class TestAsyncio(unittest.TestCase):
    def test_calls_and_tokens_keep_to_their_budgets(self):
        with Server("--limits", os.path.join(EXAMPLES, "limits.yaml")) as weir:
            acts, late, settled = asyncio.run(self.fleet(f"redis://127.0.0.1:{weir.port}"))
            self.assertEqual(len(acts), 25)
            self.assertLessEqual(most_over([(moment, 1) for moment in acts], 10, 0.1), late * 10 + 0.01)
            self.assertNotIn(-1, settled)
            with weir.client() as client:
                # 25 x 500 were held of 60,000, and 25 x 20 cost.
                self.assertEqual(client.ask("WEIR.RESERVE", "AS", "api=partner")[0], 0)
            draw("asyncio", acts, 10, 0.1)

    async def fleet(self, url):
        """When each acted, by how much the latest was late, and what settling answered."""
        pacer = asyncio_fleet.Pacer(url)
        acts, asking, oversleeping, settled = [], [0], [0], []
        command, sleep = pacer.weir.execute_command, asyncio.sleep

        async def asked(*words):
            began = time.monotonic()
            answer = await command(*words)
            asking.append(time.monotonic() - began)
            if words[0] == "WEIR.SETTLE":
                settled.append(answer)
            return answer

        async def slept(seconds):
            began = time.monotonic()
            await sleep(seconds)
            oversleeping.append(time.monotonic() - began - seconds)

        async def call(_):
            acts.append(time.monotonic())
            return "answer", 20

        pacer.weir.execute_command = asked
        with unittest.mock.patch.object(asyncio_fleet.asyncio, "sleep", slept):
            await asyncio.gather(*(asyncio_fleet.ask(pacer, call, i) for i in range(25)))
        await pacer.weir.close()
        return acts, max(asking) + max(oversleeping), settled


if __name__ == "__main__":
    run()
