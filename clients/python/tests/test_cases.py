"""clients/cases, run by both clients. README.md there says what a step means."""

import contextlib
import json
import logging
import os
import socket
import sys
import threading
import time
import unittest

from world import CASES, PATIENCE, Loop, Proxy, Threads, Weir, weir

KINDS = {
    weir.Unavailable: "UNAVAILABLE",
    weir.Refused: "REFUSED",
    weir.Unauthorized: "UNAUTHORIZED",
    weir.Denied: "DENIED",
    ValueError: "INVALID",
    TypeError: "INVALID",
}
PATIENT = {"timeout_ms": 5000, "connect_timeout_ms": 5000}
STEPS = ("at_once", "call", "slot", "advance_ms", "sleep_ms", "proxy", "await", "give_up", "leave", "log", "calls")
STEPS += ("fork", "connections")


def options(given):
    """A case's names as Python's: seconds, class_."""
    named = {}
    for name, value in given.items():
        if name.endswith("_ms"):
            named[name[:-3]] = value / 1000
        else:
            named[{"class": "class_"}.get(name, name)] = value
    return named


def milliseconds(seconds):
    return None if seconds is None else round(seconds * 1000, 6)


def told(answer):
    """An answer as a case's names."""
    if isinstance(answer, (weir.Reservation, weir.aio.Reservation)):
        return {**told(answer.decision), "wait_ms": milliseconds(answer.wait), "id": answer.id is not None}
    if isinstance(answer, weir.Decision):
        error = answer.error
        return {
            **vars(answer),
            "retry_after_ms": milliseconds(answer.retry_after),
            "reset_after_ms": milliseconds(answer.reset_after),
            "fields": [list(each) for each in answer.fields],
            "error": error and KINDS[type(error)],
            "text": str(error),
        }
    if isinstance(answer, weir.Charged):
        return {**vars(answer), "wait_ms": milliseconds(answer.wait), "reset_after_ms": milliseconds(answer.reset_after)}
    return {"value": milliseconds(answer) if isinstance(answer, float) else answer}


class Log(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


class Run:
    """One case. Each call() is a step that is done."""

    def __init__(self, test, case, driver, proxy):
        self.test, self.case, self.driver, self.proxy = test, case, driver, proxy
        self.saved, self.background, self.calls, self.log = {}, {}, [], Log()
        steps = json.dumps([case["options"], case["steps"]])
        self.by_proxy = any(word in steps for word in ('"proxy"', '"connections"', "{proxy"))

    def run(self):
        logging.getLogger("weir").addHandler(self.log)
        try:
            with Weir(self.case["limits"], self.case.get("server")) as self.weir:
                if self.by_proxy:
                    assert self.proxy.say(f"to {self.weir.url}") == "ok"
                    self.proxy.mode("up")
                self.url = self.proxy.at["unix"] if self.by_proxy else self.weir.url
                self.client = self.connect(self.case["options"]) if not self.connects_first() else None
                self.steps(self.case["steps"])
                if self.client is not None:
                    self.driver.start(self.client.close).result(PATIENCE)
        finally:
            logging.getLogger("weir").removeHandler(self.log)

    def connects_first(self):
        return self.case["steps"][0].get("call") == "connect"

    def connect(self, given):
        named = options({"url": self.url, "on_call": self.calls.append, **PATIENT, **given})
        if isinstance(named.get("on_error"), dict):
            word = named["on_error"]["allows"]
            named["on_error"] = lambda error, question: word in (*dict(question.rules), *dict(question.attributes).values())
        for name, value in named.items():
            if isinstance(value, str):
                named[name] = self.filled(value)
        return self.driver.connect(named.pop("url"), **named)

    def filled(self, text):
        at = self.proxy.at
        values = {"{proxy}": at["port"], "{proxy_tls}": at["tls_port"], "{proxy_ca}": at["ca"], "{dead}": DEAD}
        for word, value in values.items():
            text = text.replace(word, str(value))
        return text

    def steps(self, steps):
        for number, step in enumerate(steps):
            with self.test.subTest(step=number, **{"what": json.dumps(step)}):
                self.step(step)

    def step(self, step):
        getattr(self, f"do_{next(each for each in STEPS if each in step)}")(step)

    def begin(self, step):
        """A future of the call's answer."""
        given = options(step.get("with", {}))
        verb = step["call"]
        if verb == "connect":
            return self.driver.start(self.connected, step.get("with", {}))
        subject = self.saved[step["of"]] if "of" in step else self.client
        return self.driver.start(self.called, subject, verb, given)

    def connected(self, given):
        self.client = self.connect(given)
        return async_none() if isinstance(self.driver, Loop) else None

    def called(self, subject, verb, given):
        positional = [given.pop(name) for name in ("rules", "key", "rule", "id", "actual", "for") if name in given]
        given.update(given.pop("by_limit", {}))
        return getattr(subject, verb)(*positional, **given)

    def do_call(self, step):
        if "background" in step:
            before = self.weir.waiting()
            self.background[step["background"]] = self.begin(step)
            deadline = time.monotonic() + PATIENCE
            while self.weir.waiting() == before:
                assert time.monotonic() < deadline, "it does not wait"
                time.sleep(0.005)
            return
        deadline = time.monotonic() + PATIENCE
        while True:
            began = time.monotonic()
            answer = self.outcome(self.begin(step))
            took = (time.monotonic() - began) * 1000
            try:
                self.expect(answer, step.get("expect", {}))
                break
            except AssertionError:
                if not step.get("eventually") or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        self.test.assertGreaterEqual(took, step.get("took_at_least_ms", 0))
        if "save" in step:
            self.saved[step["save"]] = answer

    def outcome(self, future):
        try:
            return future.result(PATIENCE)
        except tuple(KINDS) as error:
            return error

    def expect(self, answer, expected):
        expected = dict(expected)
        if isinstance(answer, Exception):
            kind = next(KINDS[each] for each in KINDS if isinstance(answer, each))
            self.test.assertEqual(kind, expected.get("error"), answer)
            self.test.assertIn(expected.get("text", ""), str(answer))
            self.test.assertNotIn(expected.get("not_text", "\0"), str(answer))
            return
        actual = told(answer)
        text = expected.pop("text", "")
        self.test.assertEqual({name: actual.get(name, "nothing of that name") for name in expected}, expected)
        self.test.assertIn(text, actual.get("text", ""))

    def do_slot(self, step):
        given = options(step["slot"])
        manager = self.client.slot(given.pop("api"), **given)
        entered = self.outcome(self.driver.enter(manager))
        self.expect(entered, step.get("expect", {}))
        if not isinstance(entered, Exception):
            self.steps(step["steps"])
            self.driver.leave(manager).result(PATIENCE)

    def do_advance_ms(self, step):
        self.weir.advance(step["advance_ms"])

    def do_sleep_ms(self, step):
        time.sleep(step["sleep_ms"] / 1000)

    def do_proxy(self, step):
        self.proxy.mode(step["proxy"])

    def do_connections(self, step):
        deadline = time.monotonic() + PATIENCE
        while int(self.proxy.say("connections")) != step["connections"]:
            self.test.assertLess(time.monotonic(), deadline, self.proxy.say("connections"))
            time.sleep(0.01)

    def do_await(self, step):
        self.expect(self.outcome(self.background.pop(step["await"])), step["expect"])

    def do_give_up(self, step):
        self.background.pop(step["give_up"]).cancel()

    def do_leave(self, step):
        self.driver.leave(self.saved[step["leave"]]).result(PATIENCE)

    def do_at_once(self, step):
        answers = [self.outcome(each) for each in [self.begin(step) for _ in range(step["at_once"])]]
        counted = []
        for _, expected in step["each"]:
            counted.append(sum(self.matches(answer, expected) for answer in answers))
        self.test.assertEqual(counted, [number for number, _ in step["each"]])

    def matches(self, answer, expected):
        with contextlib.suppress(AssertionError):
            self.expect(answer, expected)
            return True
        return False

    def do_log(self, step):
        lines, self.log.lines = self.log.lines, []
        self.test.assertEqual(len(lines), len(step["log"]), lines)
        for line, text in zip(lines, step["log"]):
            self.test.assertIn(text, line)

    def do_calls(self, step):
        actual = [{name: getattr(each, name) for name in ("verb", "by", "allowed", "decided")} for each in self.calls]
        self.calls.clear()
        self.test.assertEqual(actual, step["calls"])

    def do_fork(self, step):
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                self.driver = type(self.driver)()
                self.test = unittest.TestCase()
                for each in step["fork"]:
                    self.step(each)
                code = 0
            os._exit(code)
        self.test.assertEqual(os.waitpid(child, 0)[1], 0, "a step of the child failed")


async def async_none():
    return None


with socket.socket() as _free:
    _free.bind(("127.0.0.1", 0))
    DEAD = _free.getsockname()[1]  # where nobody listens


class Cases:
    driver = None

    @classmethod
    def setUpClass(cls):
        os.environ.pop("WEIR_URL", None)
        os.environ.pop("WEIR_PASSWORD", None)
        cls.proxy = Proxy()
        cls.addClassCleanup(cls.proxy.stop)
        cls.running = cls.driver()
        cls.addClassCleanup(cls.running.close)


def add(owner, file, case):
    def test(self):
        why = case.get("not_in", {}).get(self.running.name)
        if why:
            self.skipTest(why)
        Run(self, case, self.running, self.proxy).run()

    setattr(owner, f"test_{file}: {case['name']}", test)


class TestThreads(Cases, unittest.TestCase):
    driver = Threads


class TestLoop(Cases, unittest.TestCase):
    driver = Loop


for _path in sorted(CASES.glob("*.json")):
    _cases = json.loads(_path.read_text())
    for _case in _cases if isinstance(_cases, list) else ():  # a table is an object
        add(TestThreads, _path.stem, _case)
        add(TestLoop, _path.stem, _case)

if __name__ == "__main__":
    assert threading.active_count() == 1
    unittest.main(warnings="ignore")
