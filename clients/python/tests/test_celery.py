"""weir.celery without a worker; tests/end_to_end/test_pacing.py has fleets of them."""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parents[2] / "tests/end_to_end")]
import celery
from server import PATIENCE, run
from world import Weir

import weir.celery

LIMITS = """
version: 1
attributes: [api, size]
limits:
  calls: { by: [api], rate: 2/min, cost: { from: size } }
"""


class Paced(unittest.TestCase):
    def setUp(self):
        self.weir = self.enterContext(Weir(LIMITS))
        self.client = weir.connect(self.weir.url, timeout=PATIENCE)
        self.addCleanup(self.client.close)
        self.app = celery.Celery("test", broker="memory://", task_always_eager=True)
        self.made = []

    def task(self, *words, **options):
        @self.app.task(name=f"{len(self.app.tasks)}")
        @weir.celery.paced(*words, client=self.client, **options)
        def call(number, size=1):
            self.made.append(number)
            return number

        return call

    def test_called_directly_or_eagerly_it_waits_where_it_is(self):
        task = self.task("2/min", key="partner", max_wait=0)
        self.assertEqual((task(1), task.delay(2).get()), (1, 2))
        with self.assertRaises(weir.Denied):
            task(3)
        self.weir.advance(30_000)
        self.assertEqual(task(4), 4)
        self.assertEqual(self.made, [1, 2, 4])

    def test_what_is_counted_together_may_be_of_the_arguments(self):
        task = self.task("1/min", key=lambda number, size=1: f"partner {number}", max_wait=0)
        self.assertEqual((task(1), task(2)), (1, 2))
        task = self.task(attributes=lambda number, size: {"api": "partner", "size": size}, max_wait=0)
        self.assertEqual(task(3, size=2), 3)
        with self.assertRaises(weir.Denied):
            task(4, size=1)

    def test_without_a_key_a_task_has_one_counter(self):
        task = self.task("1/min", max_wait=0)
        self.assertEqual(task(1), 1)
        with self.assertRaises(weir.Denied):
            task(2)

    def test_each_task_has_its_own_and_a_name_is_shared(self):
        for options, shared in (({"key": "partner"}, False), ({"name": "partner"}, True)):
            first, second = self.task("1/min", max_wait=0, **options), self.task("1/min", max_wait=0, **options)
            self.assertEqual(first(1), 1)
            if shared:
                self.assertRaises(weir.Denied, second, 2)
            else:
                self.assertEqual(second(2), 2)
        self.app.main, other = "other", self.task("1/min", max_wait=0, name="partner")
        self.assertEqual(other(1), 1, "another application")

    def test_arguments_are_checked_when_a_task_is_sent(self):
        with self.assertRaises(TypeError):
            self.task("1/min").delay()

    def test_what_is_wrong_is_told_at_once(self):
        for words, options in (((), {}), (("1/min",), {"attributes": {}})):
            with self.assertRaisesRegex(TypeError, "paced goes by a rule, as in paced"):
                weir.celery.paced(*words, **options)
        with self.assertRaises(ValueError):
            weir.celery.paced("often")


if __name__ == "__main__":
    run()
