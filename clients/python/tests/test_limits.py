"""The storage for `limits`, of 5 and of 2.8, and Flask-Limiter and slowapi on it, on virtual time."""

import asyncio
import pathlib
import subprocess
import sys
import time
import unittest
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parents[2] / "tests/end_to_end")]
import pypi
from ports import free_port
from server import PATIENCE, Server, run
from world import Weir

OLD = "--limits-2"  # as the first word: the tests of this file that limits 2.8 can run
if OLD in sys.argv:
    sys.argv.remove(OLD)
    sys.path.insert(0, str(pypi.installed(HERE / "requirements_limits_2.txt", "python_limits_2")))
else:
    sys.path.insert(0, str(pypi.installed(HERE / "requirements_adapters.txt", "python_adapters")))

import limits
import limits.aio.strategies
import limits.strategies
from limits.storage import storage_from_string

import weir.limits

IS_OLD = limits.__version__.startswith("2.")
TEN = limits.parse("10/minute")


class Storages(unittest.TestCase):
    def setUp(self):
        self.weir = self.enterContext(Weir())
        self.key = self.id()

    def storage(self, scheme="", **options):
        return storage_from_string(f"{scheme}weir+{self.weir.url.replace(':', '://', 1)}", **{"timeout": PATIENCE, **options})

    def limiter(self, name="fixed-window", **options):
        return limits.strategies.STRATEGIES[name](self.kept(self.storage(**options)))

    def kept(self, storage):
        self.storages = [*getattr(self, "storages", []), storage]  # a limiter of 2.8 has a weak reference
        return storage

    def left(self, limiter):
        """(remaining, seconds until the reset)"""
        at, remaining = limiter.get_window_stats(TEN, self.key)
        self.assertIs(type(at), int if IS_OLD else float)
        return remaining, round(at + IS_OLD / 2 - time.time())


class Strategies(Storages):
    def test_a_fixed_window_counts_from_the_first_hit_and_beyond_its_limit(self):
        limiter = self.limiter()
        self.assertEqual(self.left(limiter), (10, 0))
        self.assertEqual([limiter.hit(TEN, self.key) for _ in range(12)], [True] * 10 + [False] * 2)
        self.assertEqual(limiter.storage.get(TEN.key_for(self.key)), 12)
        self.assertEqual(self.left(limiter), (0, 60))
        self.assertFalse(limiter.test(TEN, self.key))
        self.assertTrue(limiter.hit(TEN, "another", cost=1.5), "units are whole")
        self.assertEqual(limiter.storage.get(TEN.key_for("another")), 2)
        self.weir.advance(59_999)
        self.assertFalse(limiter.test(TEN, self.key))
        self.weir.advance(1)
        self.assertTrue(limiter.hit(TEN, self.key, cost=10))
        self.assertEqual(self.left(limiter), (0, 60))
        limiter.clear(TEN, self.key)
        self.assertEqual(self.left(limiter)[0], 10)

    def test_windows_may_be_long_or_short(self):
        limiter = self.limiter()
        for text in "1/second", "7 per 13 seconds", "5/year", "1 per 3 month", "1000000/day":
            item = limits.parse(text)
            self.assertTrue(limiter.hit(item, self.key, cost=item.amount), text)
            self.assertFalse(limiter.hit(item, self.key), text)
            self.assertAlmostEqual(
                limiter.get_window_stats(item, self.key)[0] - time.time(), item.get_expiry(), delta=1, msg=text
            )

    def test_a_moving_window_is_gcra(self):
        limiter = self.limiter("moving-window")
        self.assertEqual([limiter.hit(TEN, self.key) for _ in range(11)], [True] * 10 + [False])
        self.assertEqual(self.left(limiter), (0, 6))  # one unit comes back every 6 s
        self.weir.advance(5_000)
        self.assertEqual(self.left(limiter), (0, 1))
        self.weir.advance(1_000)
        self.assertEqual(self.left(limiter), (1, 6))
        self.assertEqual([limiter.hit(TEN, self.key) for _ in range(2)], [True, False])
        limiter.clear(TEN, self.key)
        self.assertEqual(self.left(limiter)[0], 10)

    @unittest.skipIf(IS_OLD, "limits 2.8 has none")
    def test_a_sliding_window_counter(self):
        limiter = self.limiter("sliding-window-counter")
        self.assertEqual([limiter.hit(TEN, self.key) for _ in range(11)], [True] * 10 + [False])
        self.assertEqual(self.left(limiter)[0], 0)
        self.assertLessEqual((self.left(limiter)[1] + time.time() + 1) % 60, 2, "it ends by the clock")
        limiter.clear(TEN, self.key)
        self.assertEqual(self.left(limiter), (10, 0))
        self.assertTrue(limiter.hit(TEN, self.key, cost=10))
        self.weir.advance(120_000)
        self.assertEqual(self.left(limiter)[0], 10)

    @unittest.skipUnless(IS_OLD, "limits 5 has none")
    def test_an_elastic_expiry_is_ignored_with_a_warning(self):
        limiter = self.limiter("fixed-window-elastic-expiry")
        with self.assertWarnsRegex(UserWarning, "weir has no elastic expiry"):
            self.assertTrue(limiter.hit(TEN, self.key))
        self.weir.advance(30_000)
        with warnings.catch_warnings(record=True):
            limiter.hit(TEN, self.key)
        self.assertEqual(self.left(limiter), (8, 30))


class Storage(Storages):
    def test_a_key_that_is_of_no_limit_is_told(self):
        storage = self.storage()
        self.assertEqual(storage.incr("mine", 60), 1)
        with self.assertRaisesRegex(
            ValueError, "the storage reads the limit from the end of a key, as in LIMITER/ip/100/1/minute; 'mine' ends"
        ):
            storage.get("mine")

    def test_what_cannot_be(self):
        with self.assertRaisesRegex(NotImplementedError, "weir forgets a key, and never all of them"):
            self.storage().reset()
        with self.assertRaises(TypeError):
            self.storage(no_option=1)
        with self.assertRaises(ValueError):
            storage_from_string("weir://")

    def test_without_an_answer_it_says_so(self):
        storage = storage_from_string(f"weir://127.0.0.1:{free_port()}", timeout=0.1)
        self.assertFalse(storage.check())
        self.assertTrue(self.storage().check())
        with self.assertRaises(weir.Unavailable):
            storage.incr(TEN.key_for("a"), 60)
        if not IS_OLD:
            wrapped = storage_from_string(f"weir://127.0.0.1:{free_port()}", timeout=0.1, wrap_exceptions=True)
            with self.assertRaises(limits.errors.StorageError):
                wrapped.incr(TEN.key_for("a"), 60)

    def test_each_scheme(self):
        with Server("--threads", "1") as server:
            self.assertTrue(storage_from_string(f"weir://127.0.0.1:{server.port}", timeout=PATIENCE).check())
            self.assertEqual(
                {each.partition("+")[2] or each for each in weir.limits.AsyncStorage.STORAGE_SCHEME},
                set(weir.limits.Storage.STORAGE_SCHEME),
            )
        self.assertIn("weirs", weir.limits.SCHEMES)
        self.assertIn("weir+local", weir.limits.SCHEMES)

    def test_awaited(self):
        async def asked():
            storage = self.storage("async+")
            told = []
            for name in "FixedWindowRateLimiter", "MovingWindowRateLimiter", "SlidingWindowCounterRateLimiter":
                strategy = getattr(limits.aio.strategies, name, None)
                if strategy is None:
                    continue
                limiter = strategy(storage)
                told.append([await limiter.hit(TEN, name) for _ in range(11)] + [await limiter.test(TEN, name)])
                told.append((await limiter.get_window_stats(TEN, name))[1])
                if "Sliding" not in name:
                    await limiter.clear(TEN, name)
                    told.append((await limiter.get_window_stats(TEN, name))[1])
            told.append(await storage.check())
            await storage.storage.close()
            return told

        told = asyncio.run(asked())
        each = [[True] * 10 + [False, False], 0, 10]
        self.assertEqual(told, each * 2 + ([] if IS_OLD else each[:2]) + [True])


@unittest.skipIf(IS_OLD, "with limits 5")
class Extensions(Storages):
    def flask_limiter(self, **options):
        import flask
        from flask_limiter import Limiter
        from flask_limiter.util import get_remote_address

        app = flask.Flask("test")
        url = options.pop("url", None) or f"weir+{self.weir.url.replace(':', '://', 1)}"
        limiter = Limiter(
            get_remote_address,
            app=app,
            default_limits=["4/hour"],
            storage_uri=url,
            storage_options={"timeout": options.pop("timeout", PATIENCE)},
            headers_enabled=True,
            **options,
        )

        @app.get("/slow")
        @limiter.limit("1/day")
        def slow():
            return "slow"

        @app.get("/fast")
        def fast():
            return "fast"

        @app.get("/ping")
        @limiter.exempt
        def ping():
            return "pong"

        return app.test_client(), limiter

    def test_flask_limiter(self):
        for strategy in limits.strategies.STRATEGIES:
            client, _ = self.flask_limiter(strategy=strategy, key_prefix=strategy)
            self.assertEqual([client.get("/slow").status_code for _ in range(2)], [200, 429])
            answers = [client.get("/fast") for _ in range(5)]
            self.assertEqual([answer.status_code for answer in answers], [200] * 4 + [429], strategy)
            self.assertEqual([answer.headers["X-RateLimit-Remaining"] for answer in answers], ["3", "2", "1", "0", "0"])
            self.assertTrue(0 < int(answers[4].headers["Retry-After"]) <= 3600, answers[4].headers)
            self.assertEqual([client.get("/ping").status_code for _ in range(9)], [200] * 9)
        self.weir.advance(3_600_000)
        client, limiter = self.flask_limiter(strategy="fixed-window", key_prefix="fixed-window")
        self.assertEqual(client.get("/fast").status_code, 200)
        with self.assertLogs("flask-limiter", "WARNING") as logged:
            limiter.reset()
        self.assertIn("does not support being reset", logged.output[0])

    def test_flask_limiter_falls_back_to_its_own_memory(self):
        client, _ = self.flask_limiter(url=f"weir://127.0.0.1:{free_port()}", timeout=0.1, in_memory_fallback=["2/hour"])
        self.assertEqual([client.get("/fast").status_code for _ in range(3)], [200, 200, 429])

    def test_slowapi(self):
        import fastapi
        from fastapi.testclient import TestClient
        from slowapi import Limiter, _rate_limit_exceeded_handler
        from slowapi.errors import RateLimitExceeded
        from slowapi.util import get_remote_address

        limiter = Limiter(
            key_func=get_remote_address,
            storage_uri=f"weir+{self.weir.url.replace(':', '://', 1)}",
            storage_options={"timeout": PATIENCE},
        )
        app = fastapi.FastAPI()
        app.state.limiter = limiter
        app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)

        @app.get("/home")
        @limiter.limit("5/minute")
        async def homepage(request: fastapi.Request):
            return "test"

        client = TestClient(app)
        self.assertEqual([client.get("/home").status_code for _ in range(6)], [200] * 5 + [429])
        self.weir.advance(60_000)
        self.assertEqual(client.get("/home").status_code, 200)


@unittest.skipIf(IS_OLD, "this is it")
class Old(unittest.TestCase):
    def test_limits_2(self):
        done = subprocess.run([sys.executable, __file__, OLD], capture_output=True, text=True, timeout=3 * PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"OK \(skipped=\d+\)")


if __name__ == "__main__":
    run()
