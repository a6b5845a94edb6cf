"""A limited application under what it is run by: gunicorn with its kinds of worker, uvicorn, Celery's pools. Nothing is
started before it: its workers find one local weir, each at its first question, and together let through what one would."""

import collections
import concurrent.futures
import http.client
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parents[2] / "tests/end_to_end")]
import pypi
from ports import free_port
from server import PATIENCE, WEIR, Folder, environment, run_at_once, until

PACKAGES = pypi.installed(HERE / "requirements_servers.txt", "python_servers")

# Of each of them: answers of a busy machine come late.
PATIENT = """
import weir.shared

weir.shared.renew(timeout=15.0, connect_timeout=15.0)
"""
SHOP = """
import flask
import weir.flask

app = flask.Flask("shop")
app.add_url_rule("/", "hello", weir.flask.limit("20/h", on_error="raise")(lambda: "hello"))
"""
AWAITED = """
import fastapi
import weir.fastapi

app = fastapi.FastAPI()

@app.get("/")
@weir.fastapi.limit("20/h", on_error="raise")
async def hello():
    return "hello"
"""
TASKS = """
import os

import celery
import weir

queue = os.environ["QUEUE"]

app = celery.Celery("jobs", broker="filesystem://", broker_transport_options={
    "data_folder_in": queue, "data_folder_out": queue, "processed_folder": "done"})
limited = weir.limit("20/h", name="calls", on_denied=lambda decision: "denied\\n")(lambda: "passed\\n")

@app.task
def call():
    with open("calls", "a") as calls:
        calls.write(limited())
"""


class Served(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(Folder())
        os.mkdir(self.folder.file("run"), 0o700)
        for name, text in (("shop", SHOP), ("awaited", AWAITED), ("tasks", TASKS)):
            self.folder.file(f"{name}.py", PATIENT + text)
        self.log = self.enterContext(open(self.folder.file("log"), "w+b"))
        path = f"{HERE.parent / 'src'}:{PACKAGES}"
        self.environment = environment(WEIR_PROGRAM=WEIR, XDG_RUNTIME_DIR=self.folder.file("run"), PYTHONPATH=path)

    def start(self, *command):
        process = subprocess.Popen(
            [sys.executable, *command], cwd=self.folder.path, env=self.environment, stdout=self.log, stderr=self.log
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def said(self):
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def status(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            return None
        finally:
            connection.close()

    def assert_twenty_pass(self, *command):
        self.port = free_port()
        server = self.start("-m", *command[:-1], command[-1].format(self.port))
        until(lambda: self.status("/nowhere") == 404 or server.poll() is not None, "it answers")
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            statuses = collections.Counter(pool.map(lambda _: self.status("/"), range(60)))
        self.assertEqual(statuses, {200: 20, 429: 40}, self.said())
        server.terminate()
        server.wait(PATIENCE)


class Gunicorn(Served):
    def test_each_kind_of_worker_loaded_before_the_fork_or_after_it(self):
        for kind in ("sync", "gthread --threads 8", "gevent"):
            for preload in ((), ("--preload",)):
                with self.subTest((kind, preload)):
                    self.environment["WEIR_APP"] = f"{kind} {preload}"
                    words = ("gunicorn", *preload, "--graceful-timeout", "2", "-w", "2", "-k", *kind.split(), "shop:app", "-b")
                    self.assert_twenty_pass(*words, "127.0.0.1:{}")


class Uvicorn(Served):
    def test_workers(self):
        self.assert_twenty_pass("uvicorn", "--workers", "2", "awaited:app", "--port", "{}")


class Celery(Served):
    def test_processes_and_threads(self):
        for pool in "prefork", "threads":
            with self.subTest(pool):
                self.environment["WEIR_APP"] = pool
                # A worker that ends puts back what it has not said to be done.
                self.environment["QUEUE"] = f"queue-{pool}"
                os.mkdir(self.folder.file(self.environment["QUEUE"]))
                self.folder.file("calls", "")
                flags = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--pool", pool, "--concurrency", "4")
                worker = self.start("-m", "celery", "-A", "tasks", "worker", *flags)
                send = "import tasks\nfor _ in range(60): tasks.call.delay()"
                subprocess.run([sys.executable, "-c", send], cwd=self.folder.path, env=self.environment, check=True)
                calls = pathlib.Path(self.folder.path, "calls")
                until(lambda calls=calls: len(calls.read_text().split()) == 60, "all tasks", 3 * PATIENCE)
                self.assertEqual(collections.Counter(calls.read_text().split()), {"passed": 20, "denied": 40}, self.said())
                worker.terminate()
                worker.wait(PATIENCE)


if __name__ == "__main__":
    run_at_once()
