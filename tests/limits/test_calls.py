#!/usr/bin/python3
"""The life of a call is told alike wherever it is asked for: by `weir serve` over RESP and over HTTP with its own table,
over RESP with a Redis, by the C++ library (WEIR_LIBRARY_CALLS names its program), and in `weir test`.

One random sequence of reserve, extend, settle, cancel, moment, charge in its three forms, refund, check, look and as much as
there is, over limits with rates, slots, holds and a penalty, is played to each by a clock that stands still but for the steps
(tests/beside/still_clock.cpp); all answers are compared, times to the millisecond. Another one, of what Envoy's rate limit
service can ask, is played to that too, with a table and with a Redis. WEIR_SEED repeats a run.
"""
import contextlib
import decimal
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("end_to_end", "faults", "beside")]
import chance  # noqa: E402
import rls  # noqa: E402
from pair import Clock  # noqa: E402
from server import PATIENCE, Error, Folder, Server, environment, run, until, weir  # noqa: E402
from world import Redis  # noqa: E402

LIMITS = """\
version: 1
limits:
  calls: { by: [a], rate: 60/min burst 6, in_flight: 2, hold: { ttl: 20s }, max_wait: 1min, refunds: true }
  tokens: { by: [a], rate: 600/min burst 200, hold: { estimate: 40, ttl: 30s }, max_wait: 1min, refunds: true }
  logins: { by: [a], rate: 30/min burst 3, penalty: 5s, hold: { ttl: 10s }, max_wait: 1min, refunds: true }
  mails: { by: [a], rate: 15/min burst 4, max_wait: 1min, refunds: true }
routes:
  - { when: { kind: call }, limits: [calls, tokens] }
  - { when: { kind: token }, limits: [tokens] }
  - { when: { kind: login }, limits: [logins] }
  - { limits: [mails] }
"""
RATES = {"call": ["calls", "tokens"], "token": ["tokens"], "login": ["logins"], "mail": ["mails"]}
BY_ID = ("settle", "cancel", "moment", "extend")
NO_ID = "no id"  # of what was denied, and of what acted at once without a hold
NOW = "2026-11-21T12:00:00Z"


def z(kind):
    return {"kind": kind, "a": "z"}


# Each answer that says something, so that no sequence is without it.
FIRST = [
    (0, "reserve", 0, 4, z("mail")), (0, "reserve", 60_000, 1, z("mail")), (0, "moment", 1), (0, "cancel", 1),
    (0, "reserve", 2000, 1, z("mail")), (1, "reserve", 0, None, z("token")), (1, "extend", 3, 9000),
    (1, "reserve", 0, 1, z("call")), (1, "reserve", 0, 1, z("call")), (1, "reserve", 0, 1, z("call")),
    (2, "reserve", 0, 3, z("login")), (2, "reserve", 0, 1, z("login")), (3, "take", 9, 1, z("token")),
    (3, "settle", 3, 900), (3, "reserve", 0, None, z("token")), (3, "charge", "cost", 30, None, z("mail"))]


def last(now, reserved):
    """What a reservation without a hold is told for a minute, also once all has drained; and a pause of no length."""
    w = {"kind": "mail", "a": "w"}, {"kind": "token", "a": "w"}
    return [(now, "reserve", 0, 4, w[0]), (now, "reserve", 60_000, 1, w[0]),
            *((now + 3500 * i, "moment", reserved + 1) for i in range(12)),
            (now + 42_000, "reserve", 0, None, w[1]), (now + 42_001, "charge", "pause", 0, "tokens", w[1]),
            (now + 42_002, "check", 1, w[1])]


def sequence(random, count, refunds):
    """[(milliseconds since the beginning, verb, ...)]. A reservation is named by its number."""
    steps, now, reserved, over = list(FIRST), 3, sum(step[1] == "reserve" for step in FIRST), {1, 3}
    if refunds:
        steps.append((3, "refund", 2, z("mail")))

    def asks(kinds=("call", "token", "login", "mail")):
        return {"kind": random.choice(kinds), "a": random.choice("xxy")}
    for _ in range(count):
        now += random.choice([0, 0, 0, 1, 10, 250, 500, 1000, 3500])
        verb = random.choice(["reserve"] * 5 + ["settle"] * 4 + ["cancel", "cancel", "moment", "moment", "extend", "extend", "check", "look", "take"] +
                             ["charge"] * 2 + ["refund"] * refunds)
        recent = [number for number in range(max(0, reserved - 8), reserved) if number not in over]
        if verb in BY_ID:
            if not recent:
                continue
            number = recent[-1] if verb == "cancel" else random.choice([recent[-1], *recent])
            if verb == "settle":
                steps.append((now, verb, number, random.choice([None, 0, 1, 3, 30, 60])))
            elif verb == "extend":
                steps.append((now, verb, number, random.choice([500, 5000, 15_000, 60_000])))
            else:
                steps.append((now, verb, number))
            over |= {number} if verb in ("settle", "cancel") else set()
        elif verb == "reserve":
            steps.append((now, verb, random.choice([0, 2000, 10_000, 10_000]), random.choice([None, None, 1, 2]), asks()))
            reserved += 1
        elif verb == "take":
            least = random.randint(1, 3)
            steps.append((now, verb, least + random.randint(0, 9), least, asks(("token", "login", "mail"))))
        elif verb == "charge":
            form, of = random.choice(["cost", "remaining", "pause"]), asks()
            limit = random.choice(RATES[of["kind"]])
            if form == "cost" and random.random() < 0.5:
                limit = None
            units = random.choice([0, 300, 1000, 4000]) if form == "pause" else random.randint(0, 12)
            steps.append((now, verb, form, units, limit, of))
        elif verb == "refund":
            steps.append((now, verb, random.randint(1, 4), asks()))
        else:
            steps.append((now, verb, random.choice([1, 1, 2, 5]), asks(("token", "login", "mail"))))
    steps += last(now, reserved)
    return steps + [(steps[-1][0], "refund", 2, {"kind": "token", "a": "w"})] * (refunds > 0)


# Periods that have a unit, so that Envoy is told the limits' own names; and T a whole number of milliseconds.
ENVOYS = """\
version: 1
limits:
  calls: { by: [a], rate: 60/min burst 6, refunds: true }
  tokens: { by: [a], rate: 600/min burst 200, charge: after, refunds: true }
  mails: { by: [a], rate: 9/min algorithm=fixed_window }
  pages: { by: [a], rate: 120/h algorithm=sliding_window_counter }
routes:
  - { when: { kind: call }, limits: [calls, tokens, pages] }
  - { when: { kind: token }, limits: [tokens] }
  - { limits: [mails, pages] }
rls:
  edge: {}
"""
T, BURST, PERIOD = {"calls": 1000, "tokens": 100}, {"calls": 6, "tokens": 200}, {"mails": 60_000, "pages": 3_600_000}  # ms


def envoys_sequence(random, count, refunds):
    """What a descriptor can ask: its hits are a cost, none at all a look, and those of tokens alone a report."""
    steps, now = [], 0
    for _ in range(count):
        now += random.choice([0, 0, 0, 1, 10, 250, 500, 1000, 3500, 9000])
        asks = {"kind": random.choice(["call", "call", "token", "mail"]), "a": random.choice("xxy")}
        token = {**asks, "kind": "token"}
        verb = random.choice(["check"] * 6 + ["look"] * 2 + ["charge"] * 2 + ["refund"] * refunds)
        if verb == "charge":
            steps.append((now, verb, "cost", random.choice([1, 20, 150]), "tokens", token))
        elif verb == "refund":
            steps.append((now, verb, random.randint(1, 30), token))
        elif verb == "look":
            steps.append((now, verb, 1, asks if asks["kind"] == "mail" else token))
        else:
            steps.append((now, verb, random.choice([1, 1, 1, 2, 5, 300]), asks))
    return steps


def envoys(verb, said, told):
    """What Envoy is told of a step, from what RESP tells: whether it is over, which limit says so, what is left, in seconds until
    when; nothing for a refund, whose answers say other things."""
    def over(by, reset, never):
        if by in T:
            return BURST[by] * T[by] if never else reset - (BURST[by] - 1) * T[by]
        return PERIOD[by] if never else told[3]

    def seconds(time):
        return -(-time // 1000)
    if verb == "refund":
        return None
    if verb == "charge":
        _, owed, _, reset, by = told
        return (True, by, 0, max(1, seconds(over(by, reset, False)))) if owed > 0 else (False, by, None, seconds(reset))
    denied, _, left, wait, reset, by = told
    # A look is over when more is owed than a limit that takes reports.
    if denied and (verb == "check" or by == "tokens" and reset > BURST[by] * T[by]):
        return True, by, 0, max(1, seconds(over(by, reset, wait < 0)))
    return False, by, left, seconds(reset)


def ms(seconds):
    if seconds is None:
        return -1
    return int((decimal.Decimal(seconds) * 1000).to_integral_value(decimal.ROUND_CEILING))


class Resp:
    """Plays steps to a server over RESP; an answer of reserve is without its id."""

    def __init__(self, server):
        self.client, self.ids = server.client(), []

    def close(self):
        self.client.close()

    def play(self, verb, *said):
        if verb in BY_ID and self.ids[said[0]] is None:
            return NO_ID
        answer = self.client.ask(*self.words(verb, *said))
        if verb == "reserve":
            self.ids.append(None if isinstance(answer, Error) or not answer[5] else answer[5].decode())
        if isinstance(answer, Error):
            return "error"
        if verb == "reserve":
            answer = answer[:5] + answer[6:]
        return [each.decode() if isinstance(each, bytes) else each for each in answer] if isinstance(answer, list) else answer

    def words(self, verb, *said):
        def attributes(asks):
            return [f"{name}={value}" for name, value in asks.items()]

        def cost(units):
            return [] if units is None else ["COST", str(units)]
        if verb in ("check", "look"):
            return [f"WEIR.{verb.upper()}", *cost(said[0]), *attributes(said[1])]
        if verb == "take":
            return ["WEIR.CHECK", *cost(said[0]), "ATLEAST", str(said[1]), *attributes(said[2])]
        if verb == "reserve":
            return ["WEIR.RESERVE", "MAXWAIT", str(said[0]), *cost(said[1]), "AS", *attributes(said[2])]
        if verb == "charge":
            form, units, limit, asks = said
            return ["WEIR.CHARGE", form, str(units), *(["LIMIT", limit] if limit else []), "AS", *attributes(asks)]
        if verb == "refund":
            return ["WEIR.REFUND", *cost(said[0]), "AS", *attributes(said[1])]
        return [f"WEIR.{verb.upper()}", self.ids[said[0]], *(str(each) for each in said[1:] if each is not None)]


class Http:
    def __init__(self, server):
        self.wire, self.ids = http.client.HTTPConnection("127.0.0.1", server.ports[-1], timeout=PATIENCE), []

    def close(self):
        self.wire.close()

    def ask(self, path, **said):
        body = json.dumps({name: value for name, value in said.items() if value is not None})
        self.wire.request("POST", path, body, {"Content-Type": "application/json"})
        answer = self.wire.getresponse()
        return answer.status, json.loads(answer.read(), parse_float=decimal.Decimal)

    def play(self, verb, *said):
        if verb in BY_ID and self.ids[said[0]] is None:
            return NO_ID
        path = "/v1/" + ("check" if verb == "take" else verb)
        if verb in ("check", "look"):
            return self.decided(*self.ask(path, cost=said[0], attributes=said[1]))
        if verb == "take":
            return self.decided(*self.ask(path, cost=said[0], at_least=said[1], attributes=said[2]), "granted")
        if verb == "reserve":
            status, told = self.ask(path, max_wait=said[0] / 1000, cost=said[1], attributes=said[2])
            self.ids.append(told.get("id"))
            return self.decided(status, told)
        if verb == "charge":
            form, units, limit, asks = said
            status, told = self.ask(path, **{form: units / 1000 if form == "pause" else units}, limit=limit, attributes=asks)
            return "error" if status == 400 else [told["charged"], told["owed"], ms(told["wait"]), ms(told["reset_after"]), told["by"] or ""]
        if verb == "refund":
            status, told = self.ask(path, cost=said[0], attributes=said[1])
        elif verb == "settle":
            status, told = self.ask(path, id=self.ids[said[0]], actual=said[1])
        elif verb == "extend":
            status, told = self.ask(path, id=self.ids[said[0]], hold=said[1] / 1000)
        else:
            status, told = self.ask(path, id=self.ids[said[0]])
        if status == 400:
            return "error"
        (name, value), = told.items()
        return ms(value) if name in ("hold", "wait") and value != -1 else value

    def decided(self, status, told, *more):
        if status == 400:
            return "error"
        wait = told["wait"] if "wait" in told else told["retry_after"]
        return [int(not told["allowed"]), told["limit"], told["remaining"], ms(wait), ms(told["reset_after"]), told["by"] or "",
                *(told[name] for name in more)]


class Rls:
    """Each step is a descriptor of its own."""

    def __init__(self, server):
        self.client = rls.Client(server.ports[-1])

    def close(self):
        self.client.close()

    def play(self, verb, *said):
        asks, units = said[-1], said[1 if verb == "charge" else 0]
        own = {"check": None, "look": 0}.get(verb, units)
        asked = rls.descriptor(hits=own, gives_back=verb == "refund", **asks)
        status, = self.client.ask("edge", asked, hits=units if verb == "check" else 0).statuses
        if verb == "refund":
            return None
        over, left = status.code == rls.OVER, status.remaining
        return over, status.limit.name, None if verb == "charge" and not over else left, status.until_reset


class ByTheStore:
    """Plays to a server whose Redis is ready, and says of each answer when it was not Redis that decided."""

    def __init__(self, player, server, clock, slot):
        self.player, self.teller, self.clock, self.slot = player, server.client(), clock, slot
        self.fallbacks = "0"
        self.rest()

    def close(self):
        self.teller.close()

    def rest(self):
        """What INFO says when the server has done what fell due and Redis owes it nothing: by a clock that jumps meanwhile,
        that would be late, and the greeting of a connection too. It says so twice: a question that its loop has only
        just thought of is counted at the loop's next turn."""
        seen, rested = self.clock.looked(self.slot), 0

        def rests():
            nonlocal rested
            text = self.teller.ask("INFO", "store").decode()
            told = dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)
            quiet = (told["store_state"], told["store_under_way"]) == ("ready", "0") and self.clock.looked(self.slot) >= seen + 2
            rested = rested + 1 if quiet else 0
            return told if rested == 2 or told["store_fallbacks"] != self.fallbacks else None
        return until(rests, "the store is ready and owes no answer", pause=0.0003)

    def play(self, *step):
        answer, told = self.player.play(*step), self.rest()
        if told["store_fallbacks"] == self.fallbacks:
            return answer
        self.fallbacks = told["store_fallbacks"]
        return "by the fallback", answer, told


class Alike:
    """A sequence is told alike by all of them. Below: which limits, and which sequences."""

    limits_text = None
    name = None

    @staticmethod
    def made(random, refunds):
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        random = chance.chance(cls.name)
        cls.sequences = [cls.made(random, refunds) for refunds in (0, 2)]
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.limits = cls.folder.file("limits.yaml", cls.limits_text)
        cls.answers = [cls.served(steps, Resp) for steps in cls.sequences]

    @classmethod
    def served(cls, steps, form, store=False):
        """What each step is answered."""
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(Folder())
            clock = Clock(folder, os.environ["WEIR_STILL_CLOCK"])
            flags = ["--threads", "1", "--rls" if form is Rls else "--http", "127.0.0.1:0", "--limits", cls.limits]
            if store:
                redis = stack.enter_context(Redis([("jemalloc-bg-thread", "no")],
                                                  env=environment(**clock.env(4), STILL_CLOCK_WALL_ONLY="1")))
                flags += ["--store", f"redis://{redis.address}", "--store-deadline", "5s", "--no-remember-denials"]
            server = Server(*flags, env=clock.env(2))
            stack.callback(server.kill)  # by a clock that stands still it would never have drained
            player = form(server)
            stack.callback(player.close)
            if store:
                player = stack.enter_context(contextlib.closing(ByTheStore(player, server, clock, 2)))
            answers, now = [], 0
            for at, *step in steps:
                clock.move((at - now) * 1_000_000)
                now = at
                answers.append(player.play(*step))
            return answers

    def compare(self, answers, as_told=None):
        for steps, seen, expected in zip(self.sequences, answers, as_told or self.answers):
            for i, (step, one, other) in enumerate(zip(steps, seen, expected)):
                before = "\n".join(f"{each} -> {told}" for each, told in zip(steps[:i], expected))
                self.assertEqual(one, other, f"{step} after\n{before}")

    def test_over_http(self):
        self.compare([self.served(steps, Http) for steps in self.sequences])

    def test_with_redis(self):
        if shutil.which("redis-server") is None:
            self.skipTest("no redis-server")
        self.compare([self.served(steps, Resp, store=True) for steps in self.sequences])

    def test_in_the_library(self):
        program = os.environ.get("WEIR_LIBRARY_CALLS")
        if not program:
            self.skipTest("WEIR_LIBRARY_CALLS does not name the program")
        answers = [self.by_library(program, steps) for steps in self.sequences]
        # Its reservations have no ids: what is of none is not compared.
        self.compare([[NO_ID if other == NO_ID else one for one, other in zip(seen, expected)]
                      for seen, expected in zip(answers, self.answers)])

    def by_library(self, program, steps):
        def words(step):
            for each in step:
                yield from [f"{name}={value}" for name, value in each.items()] if isinstance(each, dict) else ["-" if each is None else str(each)]
        lines = "".join("\t".join(words(step)) + "\n" for step in steps)
        done = subprocess.run([program, self.limits], input=lines, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

        def read(line):
            read = [int(word) if word.lstrip("-").isdigit() else word for word in line.split("\t")]
            return read if len(read) > 1 else read[0]
        return [read(line) for line in done.stdout.splitlines()]

    def test_in_weir_test(self):
        for steps, answers in zip(self.sequences, self.answers):
            code, out, errors = weir("test", self.cases(steps, answers))
            self.assertEqual((code, errors), (0, ""), out)

    GONE = {"settle": -1, "cancel": 0, "extend": 0, "moment": -1}  # what they are told of a reservation that is not there

    def cases(self, asked, answers):
        """Its steps and what they are told."""
        steps, held = [], 0
        for (at, verb, *said), told in zip(asked, answers):
            step = {"at": f"{at}ms"}
            if verb in ("check", "take", "look"):
                step |= {"as": said[-1], "cost": said[0], **({"at_least": said[1]} if verb == "take" else {})}
                step |= {"look": True} if verb == "look" else {}
            elif verb == "reserve":
                step |= {"as": said[2], "max_wait": f"{said[0]}ms", "hold": f"h{held}"}
                step |= {} if said[1] is None else {"cost": said[1]}
                held += 1
            elif verb == "settle":
                step |= {"settle": f"h{said[0]}" if said[1] is None else {f"h{said[0]}": said[1]}}
            elif verb in ("cancel", "moment"):
                step |= {verb: f"h{said[0]}"}
            elif verb == "extend":
                step |= {"extend": {f"h{said[0]}": f"{said[1]}ms"}}
            elif verb == "charge":
                form, units, limit, asks = said
                step |= {"as": asks, "charge": {form: f"{units}ms" if form == "pause" else units, **({"limit": limit} if limit else {})}}
            else:
                step |= {"as": said[1], verb: said[0]}
            step["expect"] = self.expected(verb, said, told)
            steps.append(json.dumps(step))  # JSON of this kind is YAML
        return self.folder.file("calls_test.yaml", f"limits: limits.yaml\nnow: {NOW}\ntests:\n  - name: all\n    steps:\n" +
                                "".join(f"      - {step}\n" for step in steps))

    def expected(self, verb, said, told):
        """Nothing where no answer is told."""
        if told in ("error", NO_ID) or (verb in self.GONE and told == self.GONE[verb]):
            return {"error": " "}
        if verb in ("check", "take", "look", "reserve"):
            denied, _, remaining, wait, _, by, *granted = told
            expect = {"allowed": 1 - denied, "denied": denied, "remaining": str(remaining), "by": by}
            if denied:
                expect["retry_after"] = f"{wait}ms" if wait >= 0 else "none"
            elif verb == "reserve":
                expect["wait"] = f"{wait}ms"
            return {**expect, **({"granted": granted[0]} if granted else {})}
        if verb == "charge":
            return {}
        return {"given_back": told} if verb in ("cancel", "refund") else {"hold" if verb == "extend" else "wait": f"{told}ms"}


class Calls(Alike, unittest.TestCase):
    limits_text, name = LIMITS, "calls"

    @staticmethod
    def made(random, refunds):
        return sequence(random, 600, refunds)

    def test_all_is_met(self):
        verbs = {}
        for steps, answers in zip(self.sequences, self.answers):
            for (_, verb, *_), told in zip(steps, answers):
                verbs.setdefault(verb, []).append(told)
        decided = [told for told in verbs["reserve"] if told != "error"]
        self.assertEqual({told[0] for told in decided}, {0, 1})
        self.assertTrue(any(told[0] == 0 and told[3] > 0 for told in decided), "some wait for their moment")
        self.assertLessEqual({"calls", "tokens", "logins", "mails"}, {told[5] for told in decided if told[0] == 1})
        for verb in ("settle", "extend", "moment", "cancel", "refund"):
            self.assertTrue(any(isinstance(told, int) and told > 0 for told in verbs[verb]), verb)
        self.assertTrue(any(told != "error" and 0 < told[6] for told in verbs["take"]))
        self.assertTrue(any(told != "error" and told[1] > 0 for told in verbs["charge"]), "something is owed beyond a burst")

    def test_weir_test_would_notice(self):
        steps, answers = self.sequences[1], self.answers[1]
        for verb in ("reserve", "look", "settle", "cancel", "extend", "moment", "refund"):
            numbers = [i for i, step in enumerate(steps) if step[1] == verb and answers[i] not in ("error", NO_ID, -1, 0)]
            i, told = numbers[-1], answers[numbers[-1]]
            other = told + 2 if isinstance(told, int) else [*told[:2], told[2] + 1, *told[3:]]
            self.assertEqual(weir("test", self.cases(steps, [*answers[:i], other, *answers[i + 1:]]))[0], 1, verb)


class Envoys(Alike, unittest.TestCase):
    limits_text, name = ENVOYS, "what Envoy asks"

    @staticmethod
    def made(random, refunds):
        return envoys_sequence(random, 600, refunds)

    def told(self):
        return [[envoys(verb, said, told) for (_, verb, *said), told in zip(steps, answers)]
                for steps, answers in zip(self.sequences, self.answers)]

    def test_all_is_met(self):
        told = [each for answers in self.told() for each in answers if each]
        self.assertEqual({each[:2] for each in told}, {(over, by) for over in (False, True) for by in ("calls", "tokens", "mails", "pages")})

    def test_by_the_rate_limit_service(self):
        self.compare([self.served(steps, Rls) for steps in self.sequences], self.told())

    def test_by_the_rate_limit_service_with_redis(self):
        if shutil.which("redis-server") is None:
            self.skipTest("no redis-server")
        self.compare([self.served(steps, Rls, store=True) for steps in self.sequences], self.told())


if __name__ == "__main__":
    run()
