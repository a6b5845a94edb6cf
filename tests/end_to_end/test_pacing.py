"""examples/pacing, run: what goes out stays under the quota, and nobody stands in anybody's way."""
import asyncio
import concurrent.futures
import contextlib
import datetime
import http.server
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
import zoneinfo

import httpx
import redis

import npm
from clocks import SHIM, Clocks
from ports import free_port
from programs import ask
from server import PATIENCE, ROOT, Folder, Server, run_at_once, until
from vendor import Vendor

EXAMPLES = os.path.join(ROOT, "examples/pacing")
HERE = os.path.dirname(os.path.abspath(__file__))
ASIO = os.path.join(os.environ.get("WEIR_BUILD", os.path.join(ROOT, "build/dev")), "examples/weir_example_asio_calls")
NODE = os.path.join(HERE, "pacing")
PICTURES = os.environ.get("WEIR_PICTURES")
CLIENT = os.path.join(ROOT, "clients/python/src")
sys.path[:0] = [EXAMPLES, os.path.join(ROOT, "tests/examples"), os.path.join(ROOT, "tests/clients"), CLIENT]
import asyncio_fleet  # noqa: E402
import bucket_of_fifty  # noqa: E402
import weir.aio  # noqa: E402
from gateways import Backend, nginx  # noqa: E402
import typescript  # noqa: E402


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
    if PICTURES:
        subprocess.run([sys.executable, os.path.join(EXAMPLES, "plot.py"), str(burst), str(interval)], check=True, text=True,
                       input="\n".join(map(str, acts)), stdout=open(os.path.join(PICTURES, f"pacing-{name}.svg"), "w"))


SLEWED = 0.01  # seconds that the wall clock may gain on weir's while a test runs


def assert_paced(test, arrived, begin, interval):
    """One at the earliest then, and one more in each interval; when each came says nothing of how fast the machine is."""
    for place, at in enumerate(sorted(arrived)):
        test.assertGreaterEqual(at, begin + place * interval - SLEWED, f"{place} came before")


def pacer_of(server):
    """The example's, which waits longer for an answer of a busy machine."""
    url = f"weir://127.0.0.1:{server.port}"
    pacer = asyncio_fleet.Pacer(url)
    pacer.weir = weir.aio.connect(url, on_error="raise", timeout=PATIENCE / 2)
    return pacer


class Vendors:
    """What is tested of a fleet that goes by five_at_once.yaml, with another pace."""
    BURST, INTERVAL = 5, 1 / 20
    ZONE = zoneinfo.ZoneInfo("America/Los_Angeles")

    def vendors_limits(self, old="295/min burst 5", new="20/s burst 5"):
        return example(self, "five_at_once.yaml", (old, new))

    def refusing_vendor(self, told):
        """It has five calls under way and refuses the last of them; the others go on when that is told."""
        def answer(path, body):
            told.wait(3 * PATIENCE)
            return 200, {}, []
        vendor = Vendor(refuse_at=4, away=1.0, takes=0.3, answer=answer)
        self.addCleanup(vendor.close)
        self.addCleanup(told.set)
        return vendor

    def assert_the_pause_is_kept(self, vendor, *pauses):
        """Each: (told to weir, seconds). Nobody had a slot then but those five."""
        self.assertEqual([retry_after for _, retry_after in vendor.refused], [seconds for _, seconds in pauses])
        self.assertEqual(vendor.most_at_once, 5)
        refused = [at for at, _ in vendor.refused]
        assert_paced(self, [at for at, _ in vendor.arrived[5:] if at not in refused], max(map(sum, pauses)), self.INTERVAL)

    def evening(self):
        """(weir, a vendor, their clocks) two minutes before the vendor's midnight; six calls of its day are left."""
        clocks = Clocks(self.enterContext(Folder()), "weir")
        clocks.step(wall=datetime.datetime(2027, 3, 13, 23, 58, tzinfo=self.ZONE).timestamp() - time.time())
        vendor = Vendor(zone=self.ZONE, ahead=lambda: clocks.wall)
        self.addCleanup(vendor.close)
        weir = self.enterContext(Server("--limits", self.vendors_limits(), env=clocks.environment))
        with weir.client() as client:
            told = client.ask("WEIR.CHARGE", "REMAINING", 6, "LIMIT", "day", "AS", "api=partner")
        self.assertEqual(told[0], 9995 - 6)
        return weir, vendor, clocks

    def assert_six_before_midnight(self, vendor):
        self.assertEqual(vendor.days, {datetime.date(2027, 3, 13): 6, datetime.date(2027, 3, 14): 34})


def example(test, name, *changes):
    """The path of a copy of an example, in which each (old, new) is made."""
    text = pathlib.Path(EXAMPLES, name).read_text()
    for old, new in changes:
        test.assertIn(old, text)
        text = text.replace(old, new)
    return test.enterContext(Folder()).file(name, text)


class TestSpans(unittest.TestCase):
    def test_what_is_over_is_found(self):
        self.assertEqual(most_over([(0, 1), (0, 1), (1, 1)], 2, 1), 0)
        self.assertEqual(most_over([(0, 1), (5, 2), (5, 1)], 2, 1), 1)


class Fleet(unittest.TestCase):
    """Workers with a Redis of their own as broker, and a weir; what they do is written down in that Redis."""
    CALLS = 40

    def serve(self):
        return self.enterContext(Server())

    def setUp(self):
        folder = self.enterContext(Folder())
        self.weir = self.serve()
        port = free_port()
        self.start(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder.path],
                   stdout=subprocess.DEVNULL)
        url = f"redis://127.0.0.1:{port}/0"
        self.there = redis.Redis.from_url(url)
        until(self.answers, "the broker")
        self.environment = dict(os.environ, BROKER=url, WEIR=f"redis://127.0.0.1:{self.weir.port}", EXAMPLES=EXAMPLES,
                                WEIR_URL=f"weir://127.0.0.1:{self.weir.port}", CLIENT=CLIENT)
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

    def said(self):
        with open(self.log.name, errors="replace") as text:
            return text.read()

    def written(self, name):
        return [line.decode().split() for line in self.there.lrange(name, 0, -1)]

    def draw_a_thousand(self, name, at):
        """When each of a thousand calls was made; the numbers of a call say when it was, at that place."""
        until(lambda: len(self.written("calls")) == 1000, "all calls", 4 * PATIENCE)
        draw(name, [float(words[at]) for words in self.written("calls")], 5, 1 / 20)


class TestCelery(Vendors, Fleet):
    PER_SECOND = 5  # where workers are judged by who is first, so that a busy machine is not

    def serve(self):
        return self.enterContext(Server("--limits", self.vendors_limits()))

    def worker(self, name, *flags):
        self.start([sys.executable, "-m", "celery", "-A", "pacing_worker", "worker", "--without-gossip", "--without-mingle",
                    "--without-heartbeat", "-n", f"{name}@here", *(flags or ("--pool", "solo"))], cwd=HERE, env=self.environment,
                   stdout=self.log, stderr=self.log)

    def forty_workers(self, vendor):
        self.environment["VENDOR"] = vendor.url
        for name in "a", "b":
            self.worker(name, "--pool", "threads", "--concurrency", "20")
        self.send(self.CALLS)

    def made(self):
        return sorted(int(number) for number, in self.written("made"))

    def send(self, calls):
        script = ("import pacing_worker as w\n"
                  f"for i in range({calls}): w.celery_tasks.call_partner.delay(i)\n"
                  "w.celery_tasks.something_else.delay(0)\n")
        subprocess.run([sys.executable, "-c", script], cwd=HERE, env=self.environment, check=True, timeout=PATIENCE)

    def test_workers_keep_to_the_quota_and_none_is_blocked(self):
        with self.weir.client() as weir:
            self.assertGreater(weir.ask("WEIR.LOWER", "LIMIT", "calls", "RATE", f"{self.PER_SECOND}/s burst {self.BURST}",
                                        "FOR", 600_000, "REASON", "a test", "ALL"), 0)
        self.environment["LATE"] = str(3 * PATIENCE)
        self.worker("a"), self.worker("b")
        self.send(self.CALLS)
        until(lambda: len(self.written("calls")) == self.CALLS and self.written("others"), "all tasks", 3 * PATIENCE)
        calls = [(int(number), *map(float, words)) for number, *words in self.written("calls")]
        self.assertEqual(sorted(number for number, *_ in calls), list(range(self.CALLS)))
        # A moment is counted from the answer, which came late by at most the slowest question; and the moment of one that
        # was put away from a little later, when its worker had its turn again.
        slowest = max(float(seconds) for seconds, in self.written("questions"))
        self.assertLessEqual(most_over([(moment, 1) for _, moment, *_ in calls], self.BURST, 1 / self.PER_SECOND),
                             (slowest + SLEWED) * self.PER_SECOND + 0.1)
        for _, moment, acted, _ in calls:
            self.assertGreaterEqual(acted, moment - SLEWED)
        # Each has been granted once, however often it was put away.
        self.assertEqual(len(self.written("reserved")), self.CALLS)
        # Those that had to wait were put away.
        self.assertGreaterEqual(len(self.written("came back")), len(self.written("put away")))
        # Two workers with one slot each, and what came last did not wait for those that wait.
        self.assertLess(float(self.written("others")[0][0]), max(acted for _, _, acted, _ in calls))

    @unittest.skipUnless(PICTURES, "draws a picture, in a minute")
    def test_a_thousand_tasks_are_drawn(self):
        for name in "a", "b":
            self.worker(name, "--pool", "threads", "--concurrency", "10")
        self.send(1000)
        self.draw_a_thousand("celery", at=2)

    def test_a_429_keeps_all_forty_workers_away_and_five_call_at_once(self):
        self.environment["LATE"] = "0.05"
        told = threading.Event()
        vendor = self.refusing_vendor(told)
        self.forty_workers(vendor)
        paused = until(lambda: self.written("paused"), "the pause is told", 3 * PATIENCE)[0]
        told.set()
        until(lambda: len(self.made()) == self.CALLS, "all calls", 3 * PATIENCE)
        self.assertEqual(self.made(), list(range(self.CALLS)))
        calls, pauses = self.written("calls"), [tuple(map(float, pause)) for pause in self.written("pauses")]
        self.assertEqual(len(calls), self.CALLS + len(pauses))
        # Another may be refused whose moment had come, or that had asked, before the pause was told, and that acted late on a
        # busy machine.
        refused = [at for at, _ in vendor.refused]
        for at, path in vendor.arrived:
            if at in refused[1:]:
                moment, _, asked = max((list(map(float, told)) for number, *told in calls
                                        if number == path[1:] and float(told[1]) <= at), key=lambda told: told[1])
                self.assertLess(min(moment, asked), float(paused[0]))
        self.assert_the_pause_is_kept(vendor, *pauses)

    @unittest.skipUnless(SHIM, "needs CLOCK_SHIM, which CMake builds: weir_clock_shim")
    def test_when_the_vendor_s_day_is_used_up_forty_workers_wait_for_its_midnight(self):
        weir, vendor, clocks = self.evening()
        self.environment.update(WEIR_URL=f"weir://127.0.0.1:{weir.port}", LONGEST="1")
        self.forty_workers(vendor)
        until(lambda: len(self.made()) == 6 and self.written("denied").count(["day"]) >= 34, "the day is used up",
              3 * PATIENCE)
        clocks.step(wall=130)
        until(lambda: len(self.made()) == self.CALLS, "all calls", 3 * PATIENCE)
        self.assert_six_before_midnight(vendor)

    def test_a_pause_that_cannot_be_told_is_kept_by_the_one_that_heard_it(self):
        for port, waits in ((self.weir.port, "0.0\n"), (free_port(), "2.5\n")):
            done = subprocess.run([sys.executable, "-c", "import celery_tasks; print(celery_tasks.partner.pause(2.5, ((7,), {})))"],
                                  cwd=EXAMPLES, env={**self.environment, "WEIR_URL": f"weir://127.0.0.1:{port}", "PYTHONPATH": CLIENT,
                                                     "PYTHONDONTWRITEBYTECODE": "1"},
                                  check=True, capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.stdout, waits)

    def test_no_task_is_lost_while_weir_is_away_or_has_another_password(self):
        port = free_port()
        self.environment.update(WEIR_URL=f"weir://127.0.0.1:{port}", WEIR_PASSWORD="right")
        self.worker("w", "--pool", "solo", "-l", "info")
        self.send(3)
        until(lambda: self.said().count("Retry in") >= 3, "all have found nobody", 3 * PATIENCE)
        self.assertEqual(self.said().count("does not answer"), 1)
        flags = {"resp": (f"127.0.0.1:{port}",)}
        with Server("--password", "wrong", "--limits", self.vendors_limits(), **flags):
            until(lambda: "weir cannot be asked like this, tasks wait" in self.said(), "one is refused")
        self.assertEqual(self.written("calls"), [])
        with Server("--password", "right", "--limits", self.vendors_limits(), **flags):
            until(lambda: len(self.written("calls")) == 3, "all tasks", 3 * PATIENCE)
        self.assertEqual(sorted(number for number, *_ in self.written("calls")), ["0", "1", "2"])
        self.assertEqual(self.said().count("tasks wait"), 1)

    def test_a_task_that_is_abandoned_gives_its_moment_up(self):
        self.worker("w")
        # The task waits for longer than this takes.
        with self.weir.client() as weir:
            self.assertEqual(weir.ask("WEIR.CHARGE", "PAUSE", 59_000, "LIMIT", "calls", "AS", "api=partner")[4], b"calls")
        script = ("import pacing_worker as w\n"
                  "task = w.celery_tasks.call_partner.delay(7).id\n"
                  "while not any((w.app.control.inspect().scheduled() or {}).values()): pass\n"
                  "print(*(w.weir.celery.abandon(w.app, task) for _ in range(2)))\n")
        done = subprocess.run([sys.executable, "-c", script], cwd=HERE, env=self.environment, check=True, capture_output=True,
                              text=True, timeout=3 * PATIENCE)
        self.assertEqual(done.stdout, "True False\n", "once")


@unittest.skipUnless(npm.available(), "no node")
class TestBullMq(Fleet):
    def setUp(self):
        super().setUp()
        self.folder = npm.installed(NODE, "node_pacing", ["bullmq_fleet.mjs", os.path.join(EXAMPLES, "bullmq_jobs.mjs")])
        typescript.installed_into(self.folder)
        self.environment["RULE"] = "20/s burst 5"

    def asked(self, verb):
        return [each for each in self.written("asked") if each[0] == verb]

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
        # Each has been granted once, and asked once more for each time that it came back.
        self.assertEqual(len(self.asked("WEIR.RESERVE")), self.CALLS)
        self.assertLessEqual(len(self.asked("WEIR.MOMENT")), self.CALLS)
        # Two workers with one slot each, and what came last did not wait for those that wait.
        self.assertLess(float(self.written("others")[0][0]), max(acts.values()))

    @unittest.skipUnless(PICTURES, "draws a picture, in a minute")
    def test_a_thousand_jobs_are_drawn(self):
        self.worker(), self.worker()
        self.run_fleet("add", "1000")
        self.draw_a_thousand("bullmq", at=1)

    def test_no_job_is_lost_while_weir_is_away(self):
        port = free_port()
        self.environment.update(WEIR_URL=f"weir://127.0.0.1:{port}", WEIR_PASSWORD="right")
        self.worker()
        self.run_fleet("add", "3")
        until(lambda: self.written("others") and "does not answer: " in self.said(), "they have found nobody")
        self.assertEqual(self.written("calls"), [])
        with Server("--password", "right", resp=(f"127.0.0.1:{port}",)):
            until(lambda: len(self.written("calls")) == 3, "all jobs", 3 * PATIENCE)
        # Once for each time that it is away, as to a worker on a busy machine it may be again.
        said = [line for line in self.said().splitlines() if "does not answer: " in line or "answers again; " in line]
        self.assertIn("ECONNREFUSED", said[0])
        for i, line in enumerate(said):
            self.assertIn("answers again; " if i % 2 else "does not answer: ", line, said)
        self.assertGreaterEqual(len(said), 2)

    def test_no_job_is_lost_while_weir_does_not_take_the_password(self):
        with Server("--password", "right") as weir:
            self.environment.update(WEIR_URL=f"weir://127.0.0.1:{weir.port}", WEIR_PASSWORD="wrong")
            wrong = self.worker()
            self.run_fleet("add", "3")
            until(lambda: "weir cannot be asked like this, jobs wait: " in self.said(), "one is refused")
            until(lambda: self.written("others"), "all have found that")
            wrong.terminate()
            wrong.wait(PATIENCE)
            self.assertEqual((self.written("calls"), self.said().count("jobs wait")), ([], 1))
            self.environment.update(WEIR_PASSWORD="right")
            self.worker()
            until(lambda: len(self.written("calls")) == 3, "all jobs", 3 * PATIENCE)

    def test_moments_that_no_worker_was_there_for_are_not_used(self):
        self.environment["RULE"] = "5/s burst 1"
        worker = self.worker()
        self.run_fleet("add", "8")
        until(lambda: len(self.asked("WEIR.RESERVE")) == 8, "all have asked")
        worker.terminate()
        worker.wait(PATIENCE)
        before, asked = len(self.written("calls")), len(self.asked("WEIR.RESERVE"))  # one that was late has asked again
        self.assertLess(before, 8)
        time.sleep(8 / 5 + 1)  # so long that all moments are past, and by more than the recipe lets pass
        began = time.time()
        self.worker()
        until(lambda: len(self.written("calls")) == 8, "all jobs")
        # Each asks again; one that is late once more, as to a busy machine, more than once.
        self.assertGreaterEqual(len(self.asked("WEIR.RESERVE")), asked + 8 - before)
        moments = {number: float(moment) for number, moment in self.written("moments")}
        acts = [(number, float(acted)) for number, acted in self.written("calls")[before:]]
        for number, _ in acts:
            self.assertGreater(moments[number], began)
        late = max(acted - moments[number] for number, acted in acts)
        self.assertLessEqual(most_over([(acted, 1) for _, acted in acts], 1, 1 / 5), late * 5 + 0.1)

    def test_a_call_that_failed_needs_another_moment(self):
        self.environment["RULE"] = "5/s burst 1"
        self.worker()
        self.run_fleet("fail")
        until(lambda: len(self.written("calls")) == 3, "the retry")
        self.assertEqual([number for number, _ in self.written("calls")], ["0", "1000", "1000"])
        self.assertEqual(len(self.asked("WEIR.RESERVE")), 3)

    def test_what_is_given_up_leaves_its_moment_to_the_next(self):
        self.environment["RULE"] = "1/10s burst 1"
        self.worker()
        self.run_fleet("add", "3")
        until(lambda: len(self.asked("WEIR.RESERVE")) == 3, "all have asked")
        with self.weir.client() as client:
            ask = ("WEIR.RESERVE", "MAXWAIT", "10000", "partner", self.environment["RULE"])
            self.assertEqual(client.ask(*ask)[0], 1)
            self.run_fleet("abandon", "1")
            self.assertEqual([units for _, _, units in self.asked("WEIR.CANCEL")], ["1"])
            self.assertEqual(client.ask(*ask)[0], 0)


class Partner(http.server.BaseHTTPRequestHandler):
    """Somebody else's API: knows what it was asked."""
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@unittest.skipUnless(os.path.exists(ASIO), "examples are not built, or this compiler cannot await with this Boost")
class TestAsio(unittest.TestCase):
    LINE = r"(\d+): at ([0-9.]+) ms, ([0-9.]+) ms late: HTTP/1.0 204 No Content"

    def test_calls_keep_to_the_quota_and_what_would_be_too_late_is_not_made(self):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Partner) as partner:
            threading.Thread(target=partner.serve_forever, daemon=True).start()
            done = subprocess.run([ASIO, str(partner.server_port), "40", "1500"], capture_output=True, text=True,
                                  check=True, timeout=PATIENCE)
            partner.shutdown()
        made = [list(map(float, found)) for found in re.findall(self.LINE, done.stdout)]
        refused = re.findall("(\\d+): not made, it would be too late\n", done.stdout)
        self.assertEqual(sorted([int(number) for number, _, _ in made] + list(map(int, refused))), list(range(40)), done.stdout)
        self.assertEqual(sorted(Partner.asked), sorted(f"/{number:.0f}" for number, _, _ in made))
        # 5 at once and 30 within 1.5 s, unless asking for all of them took some of it.
        self.assertTrue(35 <= len(made) < 40, done.stdout)
        self.assertTrue(done.stdout.index("not made") < done.stdout.index(" late:"), "they were told at once")
        moments = [((at - late) / 1000, 1) for _, at, late in made]
        self.assertLessEqual(most_over(moments, 5, 1 / 20), 0.001)
        draw("asio", [at / 1000 for _, at, _ in made], 5, 1 / 20)


class TestDelayOrDrop(unittest.TestCase):
    def gateway(self, weir_port, examples=EXAMPLES):
        self.backend = Backend()
        self.addCleanup(self.backend.close)
        gateway = nginx("delay_or_drop.conf", "delay_or_drop.js", examples=examples).start(weir_port, self.backend.port)
        self.addCleanup(gateway.close)
        return gateway

    def crowd(self, gateway):
        """Forty at once: when those that passed were answered, and the Retry-After of those that were dropped."""
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            began = time.monotonic()
            answers = list(pool.map(lambda _: (time.monotonic(), *ask(gateway.port)[:2], time.monotonic()), range(40)))
        passed = sorted(at for _, status, _, at in answers if status == 200)
        dropped = [(headers["Retry-After"], at - asked) for asked, status, headers, at in answers if status == 429]
        self.assertEqual(len(passed) + len(dropped), 40, gateway.text())
        self.assertEqual(sum(self.backend.seen.values()), len(passed))
        # 6 at once and 15 more, and one for each 0.1 s that it took to ask for all.
        self.assertTrue(21 <= len(passed) <= 7 + 10 * (passed[-1] - began), len(passed))
        longest = max(at - asked for asked, status, _, at in answers if status == 200)
        self.assertLess(statistics.median(took for _, took in dropped), longest, "what was dropped did not wait")
        self.assertGreater(passed[-1] - passed[0], 1.4)
        return passed, {wait for wait, _ in dropped}

    def test_what_comes_too_fast_is_delayed_and_what_would_wait_for_too_long_is_dropped(self):
        self.enterContext(unittest.mock.patch.dict(os.environ, WEIR_TOKEN="t0ken"))
        with Server("--http", "127.0.0.1:0", "--http-token", "t0ken") as weir:
            passed, waits = self.crowd(self.gateway(weir.ports[-1]))
        self.assertEqual(waits, {"1"})
        draw("delay-or-drop", passed, 6, 0.1)

    def test_it_is_what_limit_req_does(self):
        text = pathlib.Path(EXAMPLES, "delay_or_drop.conf").read_text()
        zone, limit = re.findall("^#   (limit_req.*;)$", text, re.M)
        text = text.replace("js_set $authorization delay_or_drop.authorization;", "").replace("Authorization $authorization", "A b")
        folder = self.enterContext(Folder())
        folder.file("delay_or_drop.js", "export default {};")
        folder.file("delay_or_drop.conf", text.replace("js_import delay_or_drop.js;", zone).replace(
            "js_content delay_or_drop.handle;", limit + " limit_req_status 429; proxy_pass http://backend;"))
        self.crowd(self.gateway(free_port(), folder.path))

    def test_while_weir_is_down_requests_pass(self):
        gateway = self.gateway(free_port())
        self.assertEqual([ask(gateway.port)[0] for _ in range(10)], [200] * 10, gateway.text())

    def test_without_weir_s_token_no_request_passes(self):
        with Server("--http", "127.0.0.1:0", "--http-token", "t0ken") as weir:
            gateway = self.gateway(weir.ports[-1])
            self.assertEqual([ask(gateway.port)[0] for _ in range(3)], [500] * 3)
            self.assertIn("weir cannot be asked like this", gateway.text())
        self.assertEqual(sum(self.backend.seen.values()), 0)

    def test_a_client_s_headers_do_not_make_the_question_too_long(self):
        with Server("--http", "127.0.0.1:0") as weir:
            gateway = self.gateway(weir.ports[-1])
            headers = [(f"X-Piece-{i}", "x" * 5000) for i in range(4)]
            self.assertEqual([ask(gateway.port, headers=headers)[0] for _ in range(4)], [200] * 4, gateway.text())
            self.assertGreaterEqual(int(weir.info()["total_commands_processed"]), 4)


class TestAsyncio(unittest.TestCase):
    def test_calls_and_tokens_keep_to_their_budgets(self):
        with Server("--limits", os.path.join(EXAMPLES, "limits.yaml")) as server:
            began = time.monotonic()
            acts, settled = asyncio.run(self.fleet(server))
            self.assertEqual(len(acts), 25)
            assert_paced(self, sorted(acts)[10:], began + 0.1, 0.1)
            self.assertNotIn(None, settled)
            with server.client() as client:
                # 25 x 500 were held of 60,000, and 25 x 20 cost.
                self.assertEqual(client.ask("WEIR.RESERVE", "AS", "api=partner")[0], 0)
            draw("asyncio", acts, 10, 0.1)

    def served(self, **rates):
        """weir with the example's limits, some of them with another rate."""
        return self.enterContext(Server("--limits", example(self, "limits.yaml", *rates.values())))

    def test_the_hour_is_kept_too(self):
        server = self.served(second=("10/s burst 10", "100/s burst 5"), hour=("1000/h", "36000/h burst 10"))
        began = time.monotonic()
        acts, _ = asyncio.run(self.fleet(server, 20))
        self.assertEqual(len(acts), 20)
        assert_paced(self, sorted(acts)[10:], began + 0.1, 0.1)

    def test_tokens_are_settled_and_a_debt_is_waited_for(self):
        server = self.served(tokens=("60000/min burst 60000", "60000/min burst 600"))
        acts, waits = [], []

        async def one_after_the_other(costs):
            pacer = pacer_of(server)
            pacer.max_wait = 0  # so that it is told of a wait
            pacer.denied = lambda limit, seconds: waits.append(limit)

            async def call(cost):
                acts.append(time.monotonic())
                return "answer", cost
            for cost in costs:
                await asyncio_fleet.ask(pacer, call, cost)
            await pacer.weir.close()

        # 500 are held of 600 each time: without settling the second would wait.
        asyncio.run(one_after_the_other([20] * 5))
        self.assertEqual(waits, [])
        # 1,500 of the 500 that were held: what is beyond them is waited for, at 1,000 a second.
        asyncio.run(one_after_the_other([1500, 20]))
        self.assertGreaterEqual(acts[-1] - acts[-2], (1500 + 500 - 600) / 1000 - 0.002)
        self.assertEqual(set(waits), {"tokens"})

    def test_with_a_password_and_without_weir(self):
        async def asked(server, gone=None):
            pacer = pacer_of(server)

            async def ending(prompt):
                if gone:
                    gone()
                return prompt.upper(), 20
            try:
                return await asyncio_fleet.ask(pacer, ending, "answer")
            finally:
                await pacer.weir.close()
        limits = os.path.join(EXAMPLES, "limits.yaml")
        with unittest.mock.patch.dict(os.environ, WEIR_PASSWORD="right"), Server("--limits", limits, "--password", "right") as server:
            self.assertEqual(asyncio.run(asked(server)), "ANSWER")
            # The call has been made when weir goes away.
            with self.assertLogs("weir") as logged:
                self.assertEqual(asyncio.run(asked(server, server.stop)), "ANSWER")
            self.assertIn("20 tokens are not settled", "".join(logged.output))
            with self.assertRaises(weir.Unavailable):
                asyncio.run(asked(server))
        with Server("--limits", limits, "--password", "right") as server, self.assertRaises(weir.Unauthorized):
            asyncio.run(asked(server))

    def test_a_pause_that_cannot_be_told_is_kept_by_the_one_that_heard_it(self):
        async def heard():
            pacer = asyncio_fleet.Pacer(f"weir://127.0.0.1:{free_port()}")
            began = time.monotonic()
            await pacer.pause(0.3, "calls", api="partner")
            return time.monotonic() - began
        with self.assertLogs("weir") as logged:
            self.assertGreaterEqual(asyncio.run(heard()), 0.3)
        self.assertIn("a pause of 0.3 s is not told to others", "".join(logged.output))

    def test_one_that_is_given_up_leaves_its_moment_to_the_next(self):
        server = self.served(second=("10/s burst 10", "1/10s burst 1"), hour=("1000/h", "100/h"))

        async def given_up():
            pacer = pacer_of(server)
            await pacer.moment(api="partner")
            waits = asyncio.create_task(pacer.moment(api="partner"))
            with server.client() as client:
                await asyncio.to_thread(until, lambda: client.ask("WEIR.LOOK", "api=partner")[3] > 10_000, "it waits")
                waits.cancel()
                await asyncio.wait([waits])
                await asyncio.to_thread(until, lambda: client.ask("WEIR.LOOK", "api=partner")[3] <= 10_000, "its moment is given back")
            await pacer.weir.close()
        asyncio.run(given_up())

    async def fleet(self, server, size=25):
        """When each acted, and what settling answered."""
        pacer, acts, settled = pacer_of(server), [], []
        settle = pacer.weir.settle

        async def told(id, actual):
            settled.append(await settle(id, actual))
            return settled[-1]

        async def call(_):
            acts.append(time.monotonic())
            return "answer", 20

        pacer.weir.settle = told
        await asyncio.gather(*(asyncio_fleet.ask(pacer, call, i) for i in range(size)))
        await pacer.weir.close()
        return acts, settled


class TestFiveAtOnce(Vendors, unittest.TestCase):
    """examples/pacing/asyncio_fleet.py by five_at_once.yaml"""

    @contextlib.asynccontextmanager
    async def pacers(self, weir, number):
        each = [pacer_of(weir) for _ in range(number)]
        yield each
        for pacer in each:
            await pacer.weir.close()

    def served(self, *change):
        return self.enterContext(Server("--limits", self.vendors_limits(*change)))

    async def fleet(self, weir, vendor, watch=lambda pacer: pacer, callers=40):
        """By four programs; the answers."""
        async with self.pacers(weir, 4) as pacers, httpx.AsyncClient(base_url=vendor.url, timeout=PATIENCE) as client:
            async def call(number):
                answer = await client.get(f"/{number}")
                if answer.status_code == 429:
                    raise asyncio_fleet.StayAway(int(answer.headers["Retry-After"]))
                return number, 1
            pacers = list(map(watch, pacers))
            return await asyncio.gather(*(asyncio_fleet.ask(pacers[i % 4], call, i) for i in range(callers)))

    def test_forty_callers_are_five_at_once_and_a_429_keeps_all_away(self):
        told, pauses = threading.Event(), []
        vendor = self.refusing_vendor(told)

        def watched(pacer):
            pause = pacer.pause

            async def paused(seconds, *words, **attributes):
                pauses.append((time.time(), seconds))
                await pause(seconds, *words, **attributes)
                told.set()
            pacer.pause = paused
            return pacer
        self.assertEqual(asyncio.run(self.fleet(self.served(), vendor, watched)), list(range(40)))
        self.assertEqual(len(pauses), 1)
        self.assert_the_pause_is_kept(vendor, pauses[0])

    def test_they_keep_to_its_numbers(self):
        vendor = Vendor()
        self.addCleanup(vendor.close)
        began = time.time()
        self.assertEqual(asyncio.run(self.fleet(self.served("", ""), vendor, callers=15)), list(range(15)))
        assert_paced(self, sorted(at for at, _ in vendor.arrived)[5:], began + 60 / 295, 60 / 295)

    @unittest.skipUnless(SHIM, "needs CLOCK_SHIM, which CMake builds: weir_clock_shim")
    def test_when_the_vendor_s_day_is_used_up_forty_callers_wait_for_its_midnight(self):
        weir, vendor, clocks = self.evening()
        waits = set()

        def watched(pacer):
            def denied(limit, seconds):
                self.assertEqual(limit, "day")
                self.assertLessEqual(seconds, 120)
                waits.add(asyncio.current_task())
            pacer.denied = denied
            return pacer

        async def over_midnight():
            calls = asyncio.create_task(self.fleet(weir, vendor, watched))
            await asyncio.to_thread(until, lambda: sum(vendor.days.values()) == 6 and len(waits) == 34, "the day is used up")
            clocks.step(wall=130)
            return await calls
        self.assertEqual(asyncio.run(over_midnight()), list(range(40)))
        self.assert_six_before_midnight(vendor)

    def test_one_that_gives_up_leaves_its_place_to_the_next(self):
        async def three(weir):
            async with self.pacers(weir, 1) as (pacer,):
                first = await pacer.moment(api="partner")
                second, third = (asyncio.create_task(pacer.moment(api="partner")) for _ in range(2))
                await asyncio.to_thread(until, lambda: int(weir.info()["blocked_clients"]) == 2, "two stand in line")
                second.cancel()
                await asyncio.to_thread(until, lambda: int(weir.info()["blocked_clients"]) == 1, "one stands in line")
                self.assertFalse(third.done())
                await pacer.settle(first, 1)
                return await asyncio.wait_for(third, PATIENCE)
        self.assertTrue(asyncio.run(three(self.served("in_flight: 5", "in_flight: 1"))))

    def test_the_slot_of_one_that_died_comes_back_after_its_time(self):
        async def two(weir):
            async with self.pacers(weir, 1) as (pacer,):
                began = time.monotonic()
                await pacer.moment(api="partner")  # and never settles
                await pacer.moment(api="partner")
                return time.monotonic() - began
        self.assertGreaterEqual(asyncio.run(two(self.served("in_flight: 5, hold: { ttl: 30s }",
                                                            "in_flight: 1, hold: { ttl: 700ms }"))), 0.7)

    def test_without_weir_no_call_is_made(self):
        async def asked():
            await asyncio_fleet.ask(asyncio_fleet.Pacer(f"weir://127.0.0.1:{free_port()}"), None, 1)
        self.assertRaises(weir.Unavailable, asyncio.run, asked())


class TestBucketOfFifty(unittest.TestCase):
    """examples/pacing/bucket_of_fifty.py"""

    def setUp(self):
        self.port = free_port()
        self.weir, self.questions = None, 0
        self.addCleanup(self.stop)
        self.client = weir.connect(f"weir://127.0.0.1:{self.port}", on_error="raise", timeout=PATIENCE / 4)
        self.addCleanup(self.client.close)
        self.ask, self.client.check = self.client.check, self.counted

    def counted(self, *rule, **question):
        self.questions += 1
        return self.ask(*rule, **question)

    def bucket(self, rule):
        return bucket_of_fifty.Bucket(self.client, "mails", rule)

    def serve(self):
        self.weir = Server(resp=(f"127.0.0.1:{self.port}",))

    def stop(self):
        if self.weir:
            self.weir.__exit__(None)
        self.weir = None

    def test_weir_is_asked_once_for_fifty_and_no_unit_is_spent_twice(self):
        self.serve()
        self.enterContext(unittest.mock.patch.object(bucket_of_fifty, "KEPT", PATIENCE))
        buckets = [self.bucket("1/h burst 120") for _ in range(2)]

        def takes(number):
            return [buckets[number % 2].take() for _ in range(40)].count(0)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(sum(pool.map(takes, range(8))), 120)
        # 50, 50 and the 20 that were left; and each was told once at most that there are none.
        self.assertLessEqual(self.questions, 3 + 2)
        until(lambda: 3500 < buckets[0].take() <= 3600, "it is told when")
        told = self.questions
        self.assertGreater(min(buckets[0].take() for _ in range(10)), 3500)
        self.assertEqual(self.questions, told, "and asks no sooner")

    def test_what_is_spent_keeps_to_the_limit_but_for_what_is_in_hand(self):
        self.serve()
        buckets, acts = [self.bucket("100/s burst 60") for _ in range(3)], []

        def sends(number):
            for _ in range(30):
                buckets[number % 3].wait()
                acts.append((time.monotonic(), 1))
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            list(pool.map(sends, range(9)))
        self.assertEqual(len(acts), 270)
        # From rest a bucket has none in hand, and what it takes later it has for a second at most. Each of the nine may
        # write down one act late.
        self.assertLessEqual(most_over(acts, 60, 1 / 100), 3 * 50 + 9 + 0.1)
        took = max(acts)[0] - began
        self.assertGreaterEqual(took, (270 - 60 - 1) / 100)
        self.assertLessEqual(self.questions, 3 * (took / bucket_of_fifty.EVERY + 2))

    def test_what_is_not_spent_in_time_is_given_up(self):
        self.serve()
        self.enterContext(unittest.mock.patch.object(bucket_of_fifty, "KEPT", 0.05))
        bucket = self.bucket("1/h burst 60")
        self.assertEqual(bucket.take(), 0)
        time.sleep(0.06)
        self.enterContext(unittest.mock.patch.object(bucket_of_fifty, "KEPT", PATIENCE))
        self.assertEqual([bucket.take() for _ in range(10)], [0] * 10)
        until(lambda: bucket.take() > 3500, "the other 49 are gone")

    def test_while_weir_is_away_what_is_in_hand_is_spent_and_no_more(self):
        self.enterContext(unittest.mock.patch.object(bucket_of_fifty, "KEPT", PATIENCE))
        bucket = self.bucket("1/h burst 120")
        self.assertRaises(weir.Unavailable, bucket.take)
        self.serve()
        self.assertEqual(bucket.take(), 0)
        self.stop()
        self.assertEqual([bucket.take() for _ in range(49)], [0] * 49)
        self.assertRaises(weir.Unavailable, bucket.take)
        self.serve()
        self.assertEqual(bucket.take(), 0)


class TestFiles(unittest.TestCase):
    def test_the_lock_names_no_registry(self):
        with open(os.path.join(NODE, "package-lock.json")) as lock:
            self.assertNotIn('"resolved"', lock.read())


if __name__ == "__main__":
    run_at_once()
