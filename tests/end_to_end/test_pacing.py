"""examples/pacing, run: what goes out stays under the quota, and nobody stands in anybody's way."""
import asyncio
import os
import subprocess
import sys
import time
import unittest
import unittest.mock

import redis

import npm
from programs import free_port
from server import PATIENCE, ROOT, Folder, Server, run, until

EXAMPLES = os.path.join(ROOT, "examples/pacing")
HERE = os.path.dirname(os.path.abspath(__file__))
NODE = os.path.join(HERE, "pacing")
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


class Fleet(unittest.TestCase):
    """Workers with a Redis of their own as broker, and a weir; what they do is written down in that Redis."""
    CALLS = 40

    def setUp(self):
        folder = self.enterContext(Folder())
        self.weir = self.enterContext(Server())
        port = free_port()
        self.start(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder.path],
                   stdout=subprocess.DEVNULL)
        url = f"redis://127.0.0.1:{port}/0"
        self.there = redis.Redis.from_url(url)
        until(self.answers, "the broker")
        self.environment = dict(os.environ, BROKER=url, WEIR=f"redis://127.0.0.1:{self.weir.port}", EXAMPLES=EXAMPLES)
        self.log = self.enterContext(open(folder.file("log"), "wb"))

    def answers(self):
        try:
            return self.there.ping()
        except redis.ConnectionError:
            return False

    def start(self, command, **options):
        process = subprocess.Popen(command, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def written(self, name):
        return [line.decode().split() for line in self.there.lrange(name, 0, -1)]


class TestCelery(Fleet):
    def test_workers_keep_to_the_quota_and_none_is_blocked(self):
        for number in range(2):
            self.start([sys.executable, "-m", "celery", "-A", "pacing_worker", "worker", "--pool", "solo", "--without-gossip",
                        "--without-mingle", "--without-heartbeat", "-n", f"w{number}@here"], cwd=HERE, env=self.environment,
                       stdout=self.log, stderr=self.log)
        script = ("import pacing_worker as w\n"
                  f"for i in range({self.CALLS}): w.celery_tasks.call_partner.delay(i)\n"
                  "w.celery_tasks.something_else.delay(0)\n")
        subprocess.run([sys.executable, "-c", script], cwd=HERE, env=self.environment, check=True, timeout=PATIENCE)
        until(lambda: len(self.written("calls")) == self.CALLS and self.written("others"), "all tasks")
        calls = [list(map(float, words)) for words in self.written("calls")]
        self.assertEqual(sorted(int(number) for number, _, _ in calls), list(range(self.CALLS)))
        # A moment is counted from the answer, which came late by at most the slowest question.
        asked = [float(seconds) for seconds, in self.written("reserved")]
        self.assertLessEqual(most_over([(moment, 1) for _, moment, _ in calls], 5, 1 / 20), max(asked) * 20 + 0.1)
        draw("celery", [acted for _, _, acted in calls], 5, 1 / 20)
        for _, moment, acted in calls:
            self.assertGreaterEqual(acted, moment)
        # Each has asked once, however often it was put away.
        self.assertEqual(len(asked), self.CALLS)
        # Two workers with one slot each, and what came last did not wait for those that wait.
        self.assertLess(float(self.written("others")[0][0]), max(acted for _, _, acted in calls))


@unittest.skipUnless(npm.available(), "no node")
class TestBullMq(Fleet):
    def setUp(self):
        super().setUp()
        self.folder = npm.installed(NODE, "node_pacing", ["bullmq_fleet.mjs", os.path.join(EXAMPLES, "bullmq_jobs.mjs")])
        self.environment["RULE"] = "20/s burst 5"

    def run_fleet(self, *words):
        subprocess.run(["node", "bullmq_fleet.mjs", *words], cwd=self.folder, env=self.environment, check=True, timeout=PATIENCE)

    def worker(self):
        return self.start(["node", "bullmq_fleet.mjs", "worker"], cwd=self.folder, env=self.environment, stdout=self.log,
                          stderr=self.log)

    def test_workers_keep_to_the_quota_and_none_is_blocked(self):
        self.worker(), self.worker()
        self.run_fleet("add", str(self.CALLS))
        until(lambda: len(self.written("calls")) == self.CALLS and self.written("others"), "all jobs")
        acts = {int(number): float(acted) for number, acted in self.written("calls")}
        self.assertEqual(sorted(acts), list(range(self.CALLS)))
        # A moment is counted from the answer, which came late by at most the slowest question.
        moments = {int(number): float(moment) for number, moment in self.written("moments")}
        slowest = max(float(seconds) for _, seconds, _ in self.written("asked"))
        self.assertLessEqual(most_over([(moment, 1) for moment in moments.values()], 5, 1 / 20), slowest * 20 + 0.1)
        for number, acted in acts.items():
            self.assertGreaterEqual(acted, moments[number])
        draw("bullmq", acts.values(), 5, 1 / 20)
        # Each has asked once, however often it was put away.
        self.assertEqual(len(self.written("asked")), self.CALLS)
        # Two workers with one slot each, and what came last did not wait for those that wait.
        self.assertLess(float(self.written("others")[0][0]), max(acts.values()))

    def test_moments_that_no_worker_was_there_for_are_not_used(self):
        self.environment["RULE"] = "5/s burst 1"
        worker = self.worker()
        self.run_fleet("add", "8")
        until(lambda: len(self.written("asked")) == 8, "all have asked")
        worker.terminate()
        worker.wait(PATIENCE)
        before = len(self.written("calls"))
        self.assertLess(before, 8)
        time.sleep(8 / 5 + 1)  # so long that all moments are past, and by more than the recipe lets pass
        self.worker()
        until(lambda: len(self.written("calls")) == 8, "all jobs")
        self.assertEqual(len(self.written("asked")), 8 + 8 - before)
        moments = {number: float(moment) for number, moment in self.written("moments")}
        acts = [(number, float(acted)) for number, acted in self.written("calls")[before:]]
        late = max(acted - moments[number] for number, acted in acts)
        self.assertLessEqual(most_over([(acted, 1) for _, acted in acts], 1, 1 / 5), late * 5 + 0.1)

    def test_a_call_that_failed_needs_another_moment(self):
        self.environment["RULE"] = "5/s burst 1"
        self.worker()
        self.run_fleet("fail")
        until(lambda: len(self.written("calls")) == 3, "the retry")
        self.assertEqual([number for number, _ in self.written("calls")], ["0", "1000", "1000"])
        self.assertEqual(len(self.written("asked")), 3)

    def test_what_is_given_up_leaves_its_moment_to_the_next(self):
        self.environment["RULE"] = "1/10s burst 1"
        self.worker()
        self.run_fleet("add", "3")
        until(lambda: len(self.written("asked")) == 3, "all have asked")
        with self.weir.client() as client:
            ask = ("WEIR.RESERVE", "MAXWAIT", "10000", "partner", self.environment["RULE"])
            self.assertEqual(client.ask(*ask)[0], 1)
            self.run_fleet("abandon", "1")
            self.assertEqual(self.written("asked")[-1][::2], ["WEIR.CANCEL", "1"])
            self.assertEqual(client.ask(*ask)[0], 0)


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


class TestFiles(unittest.TestCase):
    def test_the_lock_names_no_registry(self):
        with open(os.path.join(NODE, "package-lock.json")) as lock:
            self.assertNotIn('"resolved"', lock.read())


if __name__ == "__main__":
    run(200)
