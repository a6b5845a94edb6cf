"""Six hundred tasks of Celery that wait for one limit. No speed is judged: a moment is known to lie between two
readings of a clock."""
import subprocess
import sys
import unittest

import test_pacing
from server import PATIENCE, until
from server import run as run_tests


def surely_over(moments, burst, interval):
    """By how much any span exceeds burst + W / T, of moments that lie somewhere between the two given of each."""
    worst = 0.0
    by_end = sorted(moments, key=lambda each: each[1])
    for begin, _ in moments:
        ends = [end for first, end in by_end if first >= begin]
        worst = max(worst, *(number - burst - (end - begin) / interval for number, end in enumerate(ends, 1)))
    return worst


class Spans(unittest.TestCase):
    def test_what_is_over_is_found(self):
        self.assertEqual(surely_over([(0, 0), (0, 1), (2, 2)], 1, 2), 1)
        self.assertEqual(surely_over([(0, 9), (8, 8)], 1, 1), 0)


class Celery(test_pacing.Fleet):
    """Two workers of ten threads each, and the limit of celery_fleet_worker.py."""
    TASKS, BURST, INTERVAL = 600, 5, 1 / 40

    def test_six_hundred_tasks_act_once_each_at_their_moments(self):
        for name in "a", "b":
            self.start([sys.executable, "-m", "celery", "-A", "celery_fleet_worker", "worker", "--without-gossip",
                        "--without-mingle", "--without-heartbeat", "-n", f"{name}@here", "--pool", "threads",
                        "--concurrency", "10"],
                       cwd=test_pacing.HERE, env=self.environment, stdout=self.log, stderr=self.log)
        script = f"import celery_fleet_worker as w\nfor i in range({self.TASKS}): w.call.delay(i)"
        subprocess.run([sys.executable, "-c", script], cwd=test_pacing.HERE, env=self.environment, check=True,
                       timeout=3 * PATIENCE)
        until(lambda: self.there.llen("acted") >= self.TASKS and not self.there.exists("celery", "unacked"),
              "all tasks have acted, and the broker has none", 8 * PATIENCE, 0.1)
        acted = [(int(number), float(at)) for number, at in self.written("acted")]
        self.assertEqual(sorted(number for number, _ in acted), list(range(self.TASKS)))
        # A moment is counted from some time between the question and its answer, in whole milliseconds. Where one
        # was given up, it is the last.
        moments = {int(number): (float(asked) + float(wait) - 0.001, float(answered) + float(wait))
                   for number, asked, answered, wait in self.written("reserve")}
        for number, at in acted:
            self.assertGreaterEqual(at, moments[number][0] - test_pacing.SLEWED)
        self.assertLessEqual(surely_over(list(moments.values()), self.BURST, self.INTERVAL), 0.001)
        self.judge_questions()

    def judge_questions(self):
        """Two for each task, two more for one that is read too late and gives its moment up, and one more for one
        that Celery brings back too early."""
        waits = [float(wait) for *_, wait in self.written("come")]
        gave_up, early = sum(wait < 0 for wait in waits), sum(wait > 0.05 for wait in waits)
        reserved = self.there.llen("reserve")
        print(f"{self.id()}: {reserved} reserved, {gave_up} gave up, {early} came too early", file=sys.stderr)
        self.assertEqual(reserved, self.TASKS + gave_up)
        self.assertLessEqual(len(waits), reserved + early)
        # And what each connection says first.
        asked = int(self.weir.info()["total_commands_processed"])
        self.assertLessEqual(asked - reserved - len(waits), 2 * 16)


if __name__ == "__main__":
    run_tests(580)
