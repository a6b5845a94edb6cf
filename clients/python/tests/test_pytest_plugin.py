"""The fixture weir_server, in pytest."""

import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests/end_to_end"))
import pypi
from server import PATIENCE, WEIR, Client, Folder, environment, run
from world import Weir

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
    def ran(self, *flags, tests=TESTS, **variables):
        folder = self.enterContext(Folder())
        folder.file("test_it.py", tests)
        path = f"{HERE.parent / 'src'}:{pypi.installed(HERE / 'requirements_adapters.txt', 'python_adapters')}"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "weir.pytest_plugin", "-p", "no:cacheprovider", *flags],
            cwd=folder.path,
            env=environment(PYTHONPATH=path, **variables),
            capture_output=True,
            text=True,
            timeout=6 * PATIENCE,
        )
        return done.returncode, done.stdout + done.stderr

    def test_it(self):
        code, said = self.ran(WEIR_PROGRAM=WEIR)
        self.assertEqual(code, 0, said)
        self.assertIn("11 passed", said)

    def test_a_weir_of_somebody_else_is_as_new_for_each_test(self):
        theirs = self.enterContext(Weir("version: 1\nlimits: { theirs: { by: [user], rate: 1/h } }\n"))
        for _ in range(2):  # and for each process
            code, said = self.ran("-k", "not outage", WEIR_TEST_URL=theirs.url, WEIR_PROGRAM="/nowhere")
            self.assertEqual(code, 0, said)
            self.assertIn("10 passed", said)
        with Client(theirs.path) as first:
            self.assertIsInstance(first.ask("WEIR.TIME", "RESET"), list)
            code, said = self.ran("-k", "by_text", WEIR_TEST_URL=theirs.url)
            self.assertEqual(code, 1)
            self.assertIn("another connection has begun tests here", said)
            self.assertIn("-n 0", said)

    def test_what_cannot_begin_again_says_so(self):
        served = self.enterContext(Weir(flags=[]))
        for url, why in (
            (served.url, "only under weir local --virtual-time"),
            ("unix:/nowhere/weir.sock", "no such file or directory"),
        ):
            code, said = self.ran("-k", "by_text", WEIR_TEST_URL=url)
            self.assertEqual(code, 1)
            self.assertIn(why, said)

    def test_the_weir_of_somebody_else_is_not_ended(self):
        theirs = self.enterContext(Weir())
        code, said = self.ran("-k", "outage", WEIR_TEST_URL=theirs.url)
        self.assertEqual(code, 1)
        self.assertIn("the weir of WEIR_TEST_URL is not this test's to end", said)


if __name__ == "__main__":
    run()
