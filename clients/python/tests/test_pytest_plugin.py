"""The fixture weir_server, in pytest."""

import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests/end_to_end"))
import pypi
from server import PATIENCE, WEIR, Folder, environment, run

TESTS = '''
import asyncio
import datetime
import os

import flask
import pytest
import weir
import weir.aio
import weir.flask
import weir.shared

EARLY, EARLY_AIO = weir.connect(), weir.aio.connect()  # as an application makes them, before there is a weir

LIMITS = """
version: 1
limits:
  u: {{ by: [user], rate: {}/h }}
"""


def test_what_asks_a_shared_client_asks_it(weir_server):
    app = flask.Flask("test")
    app.add_url_rule("/", "hello", weir.flask.limit("2/min")(lambda: "hello"))
    client = app.test_client()
    assert [client.get("/").status_code for _ in range(3)] == [200, 200, 429]
    weir_server.advance(30)
    assert [client.get("/").status_code for _ in range(2)] == [200, 429]


def test_and_no_longer():
    assert not weir.shared._clients and "WEIR_URL" not in os.environ


def test_where_it_gives_no_answer_the_test_fails(weir_server):
    assert weir.shared.client()._core._on_error == weir.shared.aio_client()._core._on_error == "raise"


@pytest.mark.parametrize("which", range(2))
def test_a_client_that_was_made_before_asks_it(weir_server, which):
    assert [bool(EARLY.check("k", "1/h")) for _ in range(2)] == [True, False]
    assert bool(asyncio.run(EARLY_AIO.check("j", "1/h")))
    assert not weir_server.connect().check("j", "1/h")


def test_each_test_has_a_new_one(weir_server):
    test_what_asks_a_shared_client_asks_it(weir_server)


def test_by_text(weir_server):
    weir_server.limits(LIMITS.format(1))
    with weir_server.connect() as client:
        assert [bool(client.check(user="ann")) for _ in range(2)] == [True, False]
        weir_server.limits(LIMITS.format(3))
        assert [bool(client.check(user="ann")) for _ in range(3)] == [True, True, False], "keys keep what they owe"
        then = weir_server.now
        weir_server.advance(3600)
        assert weir_server.now - then == datetime.timedelta(hours=1)
        assert [bool(client.check(user="ann")) for _ in range(4)] == [True] * 3 + [False]


def test_by_a_path(weir_server, tmp_path):
    (tmp_path / "limits.yaml").write_text(LIMITS.format(1))
    weir_server.limits(tmp_path / "limits.yaml")
    assert weir_server.connect().check(user="ann").by == "u"
    with pytest.raises(FileNotFoundError):
        weir_server.limits("nowhere.yaml")


def test_errors_of_a_limits_file_are_told(weir_server):
    with pytest.raises(weir.Refused, match="limit"):
        weir_server.limits("version: 1\\nlimit: 3\\n")


def test_who_waits_is_answered_before_advance_returns(weir_server):
    async def waits():
        async with weir.aio.connect(timeout=10) as client:
            await client.acquire("k", "1/min", max_wait=0)
            second = asyncio.create_task(client.acquire("k", "1/min", max_wait=60))
            while not second.done():
                await asyncio.sleep(0.01)
                await asyncio.to_thread(weir_server.advance, 15)
            return (await second).wait
    assert asyncio.run(waits()) == 0


def test_an_outage(weir_server):
    client = weir_server.connect(on_error="allow", timeout=0.1)
    assert client.check("k", "1/h").decided
    weir_server.stop()
    assert not client.check("k", "1/h").decided
    with pytest.raises(weir.Unavailable):
        weir_server.connect(timeout=0.1).check("k", "1/h")
'''


class Plugin(unittest.TestCase):
    def test_it(self):
        folder = self.enterContext(Folder())
        folder.file("test_it.py", TESTS)
        path = f"{HERE.parent / 'src'}:{pypi.installed(HERE / 'requirements_adapters.txt', 'python_adapters')}"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "weir.pytest_plugin", "-p", "no:cacheprovider"],
            cwd=folder.path,
            env=environment(PYTHONPATH=path, WEIR_PROGRAM=WEIR),
            capture_output=True,
            text=True,
            timeout=6 * PATIENCE,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("11 passed", done.stdout)


if __name__ == "__main__":
    run()
