"""docs/tokens.md: calls of language models, whose cost is known when they have been answered, from Python and by nginx."""
import asyncio
import contextlib
import http.client
import importlib.util
import json
import math
import os
import pathlib
import signal
import sys
import threading
import time
import types
import unittest
import unittest.mock

import fastapi
import httpx

from ports import free_port
from programs import ask
from server import PATIENCE, ROOT, Folder, Server, run, until
from vendor import Vendor

EXAMPLES = pathlib.Path(ROOT, "examples")
sys.path[:0] = [str(EXAMPLES / "pacing"), os.path.join(ROOT, "tests/examples"), os.path.join(ROOT, "clients/python/src")]
import weir.aio  # noqa: E402
import model_calls  # noqa: E402
from gateways import nginx  # noqa: E402

BURST = 30000
BUDGET, MONTH = 1000000, "/month align=calendar tz=Europe/Berlin"
WORDS = ["It ", "is ", "so."]


def event(told):
    return b"data: " + json.dumps(told).encode() + b"\n\n"


def streamed(total, words=WORDS):
    """As an API like OpenAI's streams, and says at the end what it took."""
    for word in words:
        yield event({"choices": [{"delta": {"content": word}}], "usage": None})
    yield event({"choices": [], "usage": {"total_tokens": total}})
    yield b"data: [DONE]\n\n"


class Models(unittest.TestCase):
    """A weir with the example's limits, of which a token comes back in more than a second."""

    def setUp(self):
        self.folder = self.enterContext(Folder())
        self.port = free_port()
        self.weir = None
        self.addCleanup(self.stop)
        self.began = time.monotonic()

    def serve(self, *flags, **changes):
        text = (EXAMPLES / "limits/language_models.yaml").read_text()
        for old, new in ((f"{BURST}/min burst {BURST}", changes.get("tokens", f"50/min burst {BURST}")),
                         (f"{BUDGET}{MONTH}", changes.get("budget", f"{BUDGET}{MONTH}"))):
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.weir = Server("--limits", self.folder.file("limits.yaml", text), *flags, resp=(f"127.0.0.1:{self.port}",))

    def stop(self):
        if self.weir:
            self.weir.__exit__(None)
        self.weir = None

    def vendor(self, *args, **options):
        vendor = Vendor(*args, **options)
        self.addCleanup(vendor.close)
        return vendor

    def used_tokens(self, tenant="t"):
        """Those that are owed; some have come back since the test began."""
        with self.weir.client() as client:
            back_ms = client.ask(*f"WEIR.CHARGE COST 0 LIMIT tokens AS tenant={tenant} model=m".split())[3]
        return math.ceil(back_ms / 1200)

    def used_budget(self, tenant="t"):
        cost = f"tokens=0,requests=0,budget={BUDGET + 1}"  # more than there is ever: so it is of the budget
        with self.weir.client() as client:
            told = client.ask(*f"WEIR.LOOK COST {cost} held=no tenant={tenant} model=m".split())
        self.assertEqual(told[1], BUDGET)
        return told[1] - told[2]

    def assert_used(self, tokens, tenant="t"):
        until(lambda: self.used_tokens(tenant) >= tokens - (time.monotonic() - self.began), f"{tokens} are owed")
        self.assertLessEqual(self.used_tokens(tenant), tokens)


class Python(Models):
    """examples/pacing/model_calls.py"""

    @contextlib.asynccontextmanager
    async def client(self, url):
        models = model_calls.Models(f"weir://127.0.0.1:{self.port}")
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
            yield models, client
        await models.weir.close()

    def ask(self, url, **options):
        """The pieces of one answer."""
        async def asked():
            async with self.client(url) as (models, client):
                return [piece async for piece in model_calls.stream(models, client, "t", "m", "Why?", **options)]
        return asyncio.run(asked())

    def test_an_answer_costs_what_its_stream_says_at_the_end(self):
        self.serve()
        vendor = self.vendor(answer=lambda path, body: (200, {}, streamed(json.loads(body)["max_tokens"] // 2)))
        self.assertEqual("".join(self.ask(vendor.url, most=5000)), "It is so.")
        self.assert_used(2500)
        self.assertEqual(self.used_budget(), 2500)
        # What is beyond the estimate is a debt.
        vendor.answer = lambda path, body: (200, {}, streamed(4000))
        self.assertEqual("".join(self.ask(vendor.url, most=100)), "It is so.")
        self.assert_used(6500)
        self.assertEqual(self.used_budget(), 6500)

    def test_while_it_streams_its_estimate_is_taken(self):
        self.serve()
        seen = []

        def watched():
            seen.append(self.used_tokens())
            yield from streamed(10)
        self.ask(self.vendor(answer=lambda path, body: (200, {}, watched())).url, most=5000)
        self.assertTrue(5000 - (time.monotonic() - self.began) <= seen[0] <= 5001, seen)

    def test_a_stream_that_breaks_and_one_whose_reader_goes_away_cost_what_they_might_have(self):
        self.serve()

        def broken():
            yield from list(streamed(10))[:2]
            raise OSError
        vendor = self.vendor(answer=lambda path, body: (200, {}, broken()))
        with self.assertRaises(httpx.RemoteProtocolError):
            self.ask(vendor.url, most=2999)
        self.assert_used(3000)

        async def left_early():
            async with self.client(vendor.url) as (models, client):
                answer = model_calls.stream(models, client, "t", "m", "Why?", most=3999)
                self.assertEqual(await anext(answer), "It ")
                await answer.aclose()
        vendor.answer = lambda path, body: (200, {}, streamed(10))
        asyncio.run(left_early())
        self.assert_used(7000)
        self.assertEqual(self.used_budget(), 7000)

    def test_what_the_model_does_not_answer_costs_nothing(self):
        self.serve()
        with self.assertRaises(httpx.ConnectError):
            self.ask(f"http://127.0.0.1:{free_port()}")
        with self.assertRaises(httpx.HTTPStatusError):
            self.ask(self.vendor(answer=lambda path, body: (500, {}, [b"no"])).url)
        self.assertEqual((self.used_tokens(), self.used_budget()), (0, 0))

    def test_a_429_of_the_model_keeps_all_who_ask_it_away(self):
        self.serve()
        vendor = self.vendor(refuse_at=0, answer=lambda path, body: (200, {}, streamed(10)))

        async def both():
            async with self.client(vendor.url) as (models, client):
                async def one():
                    return [piece async for piece in model_calls.stream(models, client, "t", "m", "Why?")]
                first = asyncio.create_task(one())
                await asyncio.to_thread(until, lambda: self.paused(), "the pause is told")
                return await asyncio.gather(first, one())
        self.assertEqual(asyncio.run(both()), [WORDS] * 2)
        self.assertEqual((len(vendor.arrived), len(vendor.refused)), (3, 1))
        self.assertGreaterEqual(vendor.arrived[1][0], vendor.arrived[0][0] + 2)
        self.assertEqual(self.used_budget(), 20)

    def paused(self):
        with self.weir.client() as client:
            return client.ask(*"WEIR.LOOK COST tokens=0,requests=1 tenant=t model=m".split())[0] == 1

    def test_interactive_comes_before_batch(self):
        self.serve(tokens="50/min burst 4000")
        goes, came = threading.Event(), []

        def answer(path, body):
            came.append(json.loads(body)["max_tokens"])
            goes.wait(PATIENCE)
            return 200, {}, streamed(1)

        async def all_three(url):
            async with self.client(url) as (models, client):
                async def one(most, batch):
                    return [piece async for piece in model_calls.stream(models, client, "t", "m", "Why?", most, batch)]
                waits = [asyncio.create_task(one(1800, True))]
                await asyncio.to_thread(until, lambda: len(came) == 1, "one of batch is there")
                # Batch leaves half, so the next waits; what comes after it does not.
                waits.append(asyncio.create_task(one(1801, True)))
                await asyncio.sleep(0.2)
                waits.append(asyncio.create_task(one(1900, False)))
                await asyncio.to_thread(until, lambda: len(came) == 2, "somebody who waits is there")
                goes.set()
                await asyncio.gather(*waits)
        asyncio.run(all_three(self.vendor(answer=answer).url))
        self.assertEqual(came, [1800, 1900, 1801])

    def test_a_budget_that_is_used_up_is_an_error_and_no_call(self):
        self.serve(budget=f"2000{MONTH}")
        vendor = self.vendor(answer=lambda path, body: (200, {}, streamed(1500)))
        self.ask(vendor.url)
        with self.assertRaises(model_calls.OverBudget) as told:
            self.ask(vendor.url)
        self.assertTrue(0 < told.exception.args[0] <= 31 * 86400, told.exception.args)
        self.assertEqual(len(vendor.arrived), 1)

    def test_calls_under_way_are_at_most_eight_and_the_ninth_begins_when_one_ends(self):
        self.serve()
        goes = threading.Event()

        def answer(path, body):
            goes.wait(PATIENCE)
            return 200, {}, streamed(10)
        vendor = self.vendor(answer=answer)

        async def nine():
            async with self.client(vendor.url) as (models, client):
                async def one():
                    return [piece async for piece in model_calls.stream(models, client, "t", "m", "Why?")]
                all_of_them = [asyncio.create_task(one()) for _ in range(9)]
                await asyncio.to_thread(until, lambda: len(vendor.arrived) == 8, "eight are there")
                await asyncio.sleep(1.5)  # the ninth asks again each second
                self.assertEqual(len(vendor.arrived), 8)
                goes.set()
                return await asyncio.gather(*all_of_them)
        self.assertEqual(asyncio.run(nine()), [WORDS] * 9)
        self.assertEqual((len(vendor.arrived), vendor.most_at_once), (9, 8))
        self.assertEqual(self.used_budget(), 90)

    def test_without_weir_no_call_is_made_and_an_answer_that_cannot_be_settled_is_returned(self):
        vendor = self.vendor(answer=lambda path, body: (200, {}, self.stopping()))
        with self.assertRaises(weir.Unavailable):
            self.ask(vendor.url)
        self.assertEqual(vendor.arrived, [])
        self.serve()
        with self.assertLogs("weir") as logged:
            self.assertEqual("".join(self.ask(vendor.url)), "It is so.")
        self.assertIn("10 tokens are not settled", "".join(logged.output))
        vendor.answer = lambda path, body: (200, {}, streamed(10))
        self.serve()  # back
        self.assertEqual("".join(self.ask(vendor.url)), "It is so.")
        self.assertEqual(self.used_budget(), 10)

    def stopping(self):
        self.stop()
        yield from streamed(10)


class LiteLlm(Models):
    """examples/pacing/litellm_callback.py, by LiteLLM where it is installed (it is large), else by its interface alone."""

    def callback(self, **options):
        sys.modules.pop("litellm_callback", None)
        import litellm_callback
        return litellm_callback.Limits(weir.aio.connect(f"weir://127.0.0.1:{self.port}", **{"timeout": PATIENCE, **options}))

    def setUp(self):
        super().setUp()
        self.enterContext(unittest.mock.patch.dict(os.environ, WEIR_URL=f"weir://127.0.0.1:{self.port}"))
        if importlib.util.find_spec("litellm") is None:
            names = [".".join(("litellm", "integrations", "custom_logger")[:depth]) for depth in (1, 2, 3)]
            modules = {name: types.ModuleType(name) for name in names}
            modules[names[2]].CustomLogger = CustomLogger
            self.enterContext(unittest.mock.patch.dict(sys.modules, modules))

    def call(self, callback, answer, **asked):
        """As the proxy does: `answer(data)` returns an answer with its usage, or raises."""
        async def called():
            key = types.SimpleNamespace(team_id=None, user_id="t", api_key="hash")
            data = await callback.async_pre_call_hook(key, None, {"model": "m", "messages": [{"role": "user", "content": "Why?"}], **asked},
                                                      "completion")
            try:
                told = answer(data)
            except OSError as error:
                await callback.async_post_call_failure_hook(data, error, key)
                raise
            await callback.async_log_success_event({"litellm_params": {"metadata": data["metadata"]}}, told, None, None)
            await callback.weir.close()
            return told
        return asyncio.run(called())

    def test_a_call_costs_what_its_answer_says_and_its_estimate_while_it_is_made(self):
        self.serve()
        seen = []

        def answer(data):
            seen.append(self.used_budget())
            return {"usage": {"total_tokens": 700}}
        self.call(self.callback(), answer, max_tokens=5000)
        self.assertTrue(5000 < seen[0] < 5100, seen)
        self.assert_used(700)
        self.assertEqual(self.used_budget(), 700)

    def test_what_no_model_answers_costs_nothing(self):
        self.serve()

        def answer(data):
            raise OSError
        with self.assertRaises(OSError):
            self.call(self.callback(), answer)
        self.assertEqual((self.used_tokens(), self.used_budget()), (0, 0))

    def test_without_room_it_is_429_and_no_call(self):
        self.serve(budget=f"2000{MONTH}")
        calls = []

        def answer(data):
            calls.append(data)
            return {"usage": {"total_tokens": 1500}}
        self.call(self.callback(), answer)
        with self.assertRaises(fastapi.HTTPException) as told:
            self.call(self.callback(), answer)
        self.assertEqual((told.exception.status_code, len(calls)), (429, 1))
        self.assertGreater(int(told.exception.headers["Retry-After"]), 0)
        self.assertIn("'budget' has no room", told.exception.detail)

    def test_without_weir_calls_are_made_and_with_a_wrong_password_they_are_not(self):
        self.assertEqual(self.call(self.callback(timeout=0.1), lambda data: {"usage": None}), {"usage": None})
        self.serve("--password", "right")
        with self.assertRaises(fastapi.HTTPException) as told:
            self.call(self.callback(password="wrong"), lambda data: None)
        self.assertEqual(told.exception.status_code, 503)


class CustomLogger:
    """LiteLLM's, of which the example overrides three methods."""

    def __init__(self, turn_off_message_logging=False):
        pass

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        pass

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        pass

    async def async_post_call_failure_hook(self, request_data, original_exception, user_api_key_dict, traceback_str=None):
        pass


class Nginx(Models):
    """examples/gateways/nginx_tokens.conf"""

    def gateway(self, vendor, *changes):
        gateway = nginx("nginx_tokens.conf").start(0, vendor.server_port, ('{ "127.0.0.1", 6390 }', f'{{ "127.0.0.1", {self.port} }}'),
                                                   *changes)
        self.addCleanup(gateway.close)
        return gateway

    def ask(self, gateway, tenant="t", **options):
        return ask(gateway.port, "POST", "/models/m/chat", [("X-Tenant", tenant)], **options)

    def test_a_request_costs_what_the_answer_says(self):
        self.serve()
        vendor = self.vendor()
        gateway = self.gateway(vendor)
        for tenant, fields, pieces, cost in (
                ("stream", {}, list(streamed(700)), 700),
                ("header", {"X-Tokens-Used": "300"}, [b"{}"], 300),
                ("body", {}, [b'{"usage": {"prompt_tokens": 1, "total_tokens": 250}}'], 250),
                ("split", {}, [b'x' * 9000, b'{"usage": {"total_to', b'kens": 2', b'60}}'], 260),
                ("last", {}, [event({"usage": {"total_tokens": 5}}), event({"usage": {"total_tokens": 900}})], 900),
                ("quoted", {}, [event({"content": '"total_tokens": 0'}), event({"usage": {"total_tokens": 90}})], 90),
                ("one", {}, list(streamed(1)), 1),
                ("untold", {}, [b"{}"], 1000)):
            with self.subTest(tenant):
                vendor.answer = lambda path, body: (200, fields, pieces)
                status, _, body = self.ask(gateway, tenant)
                self.assertEqual((status, body), (200, b"".join(pieces)), gateway.text())
                self.assert_used(cost, tenant)
                until(lambda: self.used_budget(tenant) == cost, "the budget is charged as much")

    def test_what_the_model_refuses_costs_one_token(self):
        self.serve()
        vendor = self.vendor(answer=lambda path, body: (500, {}, [b'{"total_tokens": 700}']))
        gateway = self.gateway(vendor)
        self.assertEqual(self.ask(gateway)[0], 500)
        vendor.answer = lambda path, body: (200, {}, streamed(10))
        self.assertEqual(self.ask(gateway)[0], 200)
        self.assert_used(11)

    def test_who_owes_waits_and_others_do_not(self):
        self.serve()
        vendor = self.vendor(answer=lambda path, body: (200, {}, streamed(BURST + 9)))
        gateway = self.gateway(vendor)
        self.assertEqual(self.ask(gateway)[0], 200, gateway.text())
        self.assert_used(BURST + 9)
        status, headers, _ = self.ask(gateway)
        self.assertEqual(status, 429, gateway.text())
        self.assertTrue(1 <= int(headers["Retry-After"]) <= 12, headers)  # 10 tokens of 1.2 s
        self.assertEqual(self.ask(gateway, "other")[0], 200)
        self.assertEqual(len(vendor.arrived), 2)

    def test_a_client_that_goes_away_costs_what_was_not_told(self):
        self.serve()
        goes = threading.Event()

        def waits():
            yield from list(streamed(10))[:1]
            goes.wait(PATIENCE)
            yield from list(streamed(10))[1:]
        vendor = self.vendor(answer=lambda path, body: (200, {}, waits()))
        gateway = self.gateway(vendor)
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE)
        connection.request("POST", "/models/m/chat", b"{}", {"X-Tenant": "t"})
        connection.getresponse().read(4)
        connection.close()
        self.assert_used(1000)
        goes.set()

    def test_an_answer_that_nobody_waited_for_costs_what_was_not_told(self):
        self.serve()
        vendor = self.vendor(takes=1.0)
        gateway = self.gateway(vendor, ("proxy_buffering off;", "proxy_buffering off; proxy_read_timeout 200ms;"))
        self.assertEqual(self.ask(gateway, "slow")[0], 504)
        self.assert_used(1000, "slow")
        gateway = self.gateway(vendor)
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE)
        connection.request("POST", "/models/m/chat", b"{}", {"X-Tenant": "gone"})
        until(lambda: len(vendor.arrived) == 2, "the model is asked")
        connection.close()
        self.assert_used(1000, "gone")

    def test_while_weir_is_down_requests_pass_and_when_it_is_back_they_are_charged(self):
        vendor = self.vendor(answer=lambda path, body: (200, {}, streamed(10)))
        gateway = self.gateway(vendor)
        self.assertEqual([self.ask(gateway)[0] for _ in range(3)], [200] * 3, gateway.text())
        self.serve()
        self.assertEqual([self.ask(gateway)[0] for _ in range(3)], [200] * 3, gateway.text())
        self.assert_used(30)
        self.stop()
        self.assertEqual([self.ask(gateway)[0] for _ in range(3)], [200] * 3, gateway.text())
        self.serve()
        self.assertEqual(self.ask(gateway)[0], 200, gateway.text())
        self.assert_used(10)
        text = gateway.text()
        self.assertEqual((text.count("requests pass and are not charged"), text.count("weir decides again")), (2, 2), text)

    def test_tokens_of_an_answer_during_which_weir_goes_down_are_not_charged(self):
        self.serve()

        def stopping():
            self.stop()
            yield from streamed(10)
        gateway = self.gateway(self.vendor(answer=lambda path, body: (200, {}, stopping())))
        self.assertEqual(self.ask(gateway)[0], 200)
        until(lambda: "requests pass and are not charged" in gateway.text(), "it is logged")

    def test_with_the_line_that_it_names_no_request_passes_while_weir_is_down(self):
        old = "return  -- FAIL MODE: or return ngx.exit(503)"
        vendor = self.vendor()
        gateway = self.gateway(vendor, (old, "return ngx.exit(503)"))
        self.assertIn(old, nginx("nginx_tokens.conf").text())
        self.assertEqual(self.ask(gateway)[0], 503)
        self.assertEqual(vendor.arrived, [])

    def test_while_weir_hangs_clients_do_not(self):
        self.serve()
        vendor = self.vendor(answer=lambda path, body: (200, {}, streamed(10)))
        gateway = self.gateway(vendor)
        self.weir.signal(signal.SIGSTOP)
        try:
            self.assertEqual(self.ask(gateway)[0], 200, gateway.text())
        finally:
            self.weir.signal(signal.SIGCONT)

    def test_without_its_password_or_a_tenant_no_request_passes(self):
        self.serve("--password", "right")
        vendor = self.vendor(answer=lambda path, body: (200, {}, streamed(10)))
        with unittest.mock.patch.dict(os.environ, WEIR_PASSWORD="right"):
            gateway = self.gateway(vendor)
        self.assertEqual([self.ask(gateway)[0] for _ in range(3)], [200] * 3, gateway.text())
        self.assertEqual(ask(gateway.port, "POST", "/models/m/chat")[0], 401)
        for password in ("wrong", None):
            with unittest.mock.patch.dict(os.environ, {"WEIR_PASSWORD": password} if password else {}):
                gateway = self.gateway(vendor)
            self.assertEqual(self.ask(gateway)[0], 500, gateway.text())
            self.assertIn("weir cannot be asked like this", gateway.text())
        self.assertEqual(len(vendor.arrived), 3)


if __name__ == "__main__":
    run()
