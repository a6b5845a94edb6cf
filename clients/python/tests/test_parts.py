"""The parts that need no server: URLs, the codec, words, the greeting, the backoff, denials that are remembered."""

import os
import random
import unittest
from unittest import mock

from world import weir

from weir import backoff, core, greeting, resp, url, words
from weir.words import Subject


def subject(key=None, rule=None, attributes=None, **options):
    return Subject(key, rule, attributes or {}, {}, **options)


class TestUrl(unittest.TestCase):
    def test_what_a_url_says(self):
        for text, endpoints, user, password in (
            ("weir://a", "a:6390", None, None),
            ("weir://a:1,b,[::1]:2/", "a:1,b:6390,[::1]:2", None, None),
            ("weir://:p%40ss@a", "a:6390", None, "p@ss"),
            ("weir://me:p:w@a", "a:6390", "me", "p:w"),
            ("unix:/run/weir.sock", "unix:/run/weir.sock", None, None),
            ("weir+unix:///run/weir.sock", "unix:/run/weir.sock", None, None),
        ):
            with self.subTest(text):
                target = url.parse(text)
                self.assertEqual((str(target), target.user, target.password), (endpoints, user, password))

    def test_the_environment_and_the_arguments(self):
        with mock.patch.dict(os.environ, {"WEIR_URL": "weir://b", "WEIR_PASSWORD": "e"}):
            self.assertEqual(str(url.parse()), "b:6390")
            self.assertEqual(url.parse().password, "e")
            self.assertEqual(url.parse("weir://:u@a").password, "u")
            self.assertEqual(url.parse("weir://:u@a", password="p").password, "p")

    def test_an_empty_one_is_refused(self):
        for module in weir, weir.aio:
            with self.assertRaisesRegex(ValueError, "^url is empty; the form is weir://"):
                module.connect("")

    def test_no_password_is_shown(self):
        target = url.parse("weir://me:secret@a")
        self.assertNotIn("secret", f"{target!r} {target}")
        for wrong in ("weir://me:secret@", "weir://me:secret@a:0", "weir://me:secret@a/b", "weir:me:secret@a"):
            with self.assertRaises(ValueError) as raised:
                url.parse(wrong)
            self.assertNotIn("secret", str(raised.exception))

    def test_a_local_one_may_be_forbidden(self):
        with mock.patch.dict(os.environ, {"WEIR_LOCAL": "never"}):
            os.environ.pop("WEIR_URL", None)
            client = weir.connect()
            with self.assertRaisesRegex(ValueError, "WEIR_LOCAL=never"):
                client.check("k", "1/s")

    def test_the_program_is_missing(self):
        with mock.patch.dict(os.environ, {"WEIR_PROGRAM": "/nowhere/weir"}):
            os.environ.pop("WEIR_URL", None)
            client = weir.connect()
            with self.assertRaisesRegex(weir.Unavailable, "WEIR_PROGRAM=/nowhere/weir is not a program"):
                client.check("k", "1/s")


class TestResp(unittest.TestCase):
    BYTES = (
        b"*5\r\n:1\r\n$-1\r\n$4\r\na\r\nb\r\n*1\r\n:-7\r\n+OK\r\n-ERR no\r\n:9223372036854775807\r\n"
        b"%2\r\n+a\r\n:1\r\n+b\r\n_\r\n=7\r\ntxt:a\r\n\r\n>2\r\n+a\r\n-ERR no\r\n"
    )
    REPLIES = (
        [1, None, b"a\r\nb", [-7], b"OK"],
        "ERR no",
        9223372036854775807,
        [b"a", 1, b"b", None],
        b"a\r\n",
        resp.Push([b"a", "ERR no"]),
    )

    def test_bytes_may_come_in_any_pieces(self):
        for size in range(1, len(self.BYTES)):
            parser = resp.Parser()
            pieces = [self.BYTES[at : at + size] for at in range(0, len(self.BYTES), size)]
            replies = tuple(each for piece in pieces for each in parser.feed(piece))
            self.assertEqual(replies, self.REPLIES)
            self.assertEqual([type(each) is resp.Push for each in replies], [False] * 5 + [True])

    def test_other_bytes(self):
        for wrong in (b"HTTP/1.1 400 Bad Request\r\n", b"H", b":x\r\n", b"*x\r\n", b"$4\r\nab\r\n\r\n?\r\n"):
            with self.assertRaises(resp.NotResp, msg=wrong):
                list(resp.Parser().feed(wrong))

    def test_a_command(self):
        self.assertEqual(resp.encode([b"PING", b""]), b"*2\r\n$4\r\nPING\r\n$0\r\n\r\n")


class TestWords(unittest.TestCase):
    def words(self, ask):
        return b" ".join(next(iter(resp.Parser().feed(ask.data)))).decode()

    def test_commands(self):
        by_rule, by_user = subject("k", "1/s"), subject(attributes={"user": 7, "gone": None, "flag": False})
        for ask, expected in (
            (words.check(by_rule), "WEIR.THROTTLE KEYS k 1/s"),
            (words.check(by_user), "WEIR.CHECK user=7 flag=false"),
            (words.look(by_user), "WEIR.LOOK user=7 flag=false"),
            (words.look(by_rule), "WEIR.THROTTLE COST 0 KEYS k 1/s"),
            (
                words.check(subject("k", "1/s", cost=5, at_least=2, fields=True)),
                "WEIR.THROTTLE COST 5 ATLEAST 2 FIELDS KEYS k 1/s",
            ),
            (words.reserve(by_user, 0.0701, 2, True), "WEIR.RESERVE MAXWAIT 71 HOLD 2000 BOUND AS user=7 flag=false"),
            (words.acquire(by_rule, 0.07, None, False), "WEIR.ACQUIRE MAXWAIT 70 KEYS k 1/s"),
            (words.charge(by_rule, 1, None, 30, False, None, None), "WEIR.CHARGE PAUSE 30000 KEYS k 1/s"),
            (words.charge(by_rule, 1, None, 30, True, None, None), "WEIR.CHARGE PAUSE 30000 AFRESH KEYS k 1/s"),
            (
                words.charge(by_user, 1, 3, None, False, "a", "1m"),
                "WEIR.CHARGE REMAINING 3 LIMIT a WINDOW 1m AS user=7 flag=false",
            ),
            (words.reset(subject("k", rule_needed=False), None), "WEIR.RESET k"),
            (words.reset(subject({"k": "1/s", "l": "1/s"}), None), "DEL k l"),
            (words.settle("id", None, {"tpm": 3, "rpm": 1}), "WEIR.SETTLE id tpm=3,rpm=1"),
            (words.extend("id", 1.0001), "WEIR.EXTEND id 1001"),
        ):
            self.assertEqual(self.words(ask), expected)

    def test_one_that_waits_by_tag_has_a_word_of_its_own(self):
        ask = words.acquire(subject("k", "1/s", cost=2), 1, 2, True)
        tagged = [ask.tagged(0.5) for _ in range(1000)]
        self.assertEqual(len({word for word, _ in tagged}), 1000)
        for word, data in tagged:
            said = next(iter(resp.Parser().feed(data)))
            self.assertEqual(b" ".join(said), b"WEIR.ACQUIRE COST 2 MAXWAIT 500 TAG %b HOLD 2000 BOUND KEYS k 1/s" % word)

    def test_a_grant_that_nobody_wants_any_more_is_settled_at_nothing(self):
        grant = [0, 1, 0, 0, 60000, b"an-id", b"k"]
        self.assertEqual(words.giving_back(grant), resp.encode([b"WEIR.SETTLE", b"an-id", b"0"]))
        for reply in ([0, 1, 0, 0, 60000, b"", b"k"], words.QUEUED, resp.Failure("ERR no")):
            self.assertIsNone(words.giving_back(reply))

    def test_what_cannot_be_meant(self):
        for function, kind, text in (
            (lambda: subject("k", "1/s", cost=1.5), TypeError, "cost is a whole number"),
            (lambda: subject("k", "1/s", cost=True), TypeError, "cost is a whole number"),
            (lambda: subject("k", 5), TypeError, "a rule is text"),
            (lambda: subject(5, None), TypeError, "a key is text"),
            (lambda: subject(attributes={"a": []}), TypeError, "attribute 'a' is text"),
            (lambda: words.reserve(subject("k", "1/s"), float("nan"), None, False), ValueError, "max_wait"),
            (lambda: words.reserve(subject("k", "1/s"), -1, None, False), ValueError, "max_wait"),
            (lambda: words.charge(subject("k", "1/s", cost=2), 2, 1, None, False, None, None), TypeError, "one of them"),
            (lambda: words.charge(subject("k", "1/s"), 1, None, None, True, None, None), TypeError, "a pause alone"),
            (lambda: weir.limit(lambda: None), TypeError, "a rule is text"),
            (lambda: weir.limit("1/s", attributes=dict), TypeError, "not by both"),
        ):
            with self.assertRaisesRegex(kind, text):
                function()


class TestGreeting(unittest.TestCase):
    def greet(self, *replies, timeout=0.2, password=None):
        """(what it sends, whether an acquire may wait by TAG)"""
        steps = greeting.greeting(url.parse("weir://h", password=password), "h:6390", timeout)
        sent = [next(steps)]
        for reply in replies:
            try:
                sent.append(steps.send(reply))
            except StopIteration as greeted:
                return sent, greeted.value
        raise AssertionError("it asks for more")

    def test_a_weir(self):
        hello = resp.encode([b"HELLO", b"3"])
        self.assertEqual(self.greet([b"server", b"redis", b"weir_version", b"0.1.9"]), ([hello], False))
        sent, has_tags = self.greet([b"server", b"redis"], b"# Server\r\nweir_version:0.2.0\r\n")
        self.assertEqual((len(sent), has_tags), (2, False))

    def test_whether_an_acquire_may_wait_by_tag(self):
        said = [b"weir_version", b"0.1.0", b"max_waiters", 10_000]
        self.assertTrue(self.greet([*said, b"proto", 3])[1])
        self.assertFalse(self.greet([*said, b"proto", 2])[1])
        self.assertFalse(self.greet([*said[:2], b"proto", 3])[1])
        sent, has_tags = self.greet(resp.Failure("NOPROTO unsupported protocol version"), [*said, b"proto", 2])
        self.assertEqual((sent, has_tags), ([resp.encode([b"HELLO", version]) for version in (b"3", b"2")], False))

    def test_a_password(self):
        sent, _ = self.greet([b"weir_version", b"0.1.0"], password="x")
        self.assertEqual(sent, [resp.encode([b"HELLO", b"3", b"AUTH", b"default", b"x"])])

    def test_another_age(self):
        for version in (b"0.3.0", b"1.0.0", b"x"):
            with self.assertRaisesRegex(weir.Refused, "one minor version older or newer"):
                self.greet([b"weir_version", version])

    def test_a_timeout_that_ends_with_the_servers_own(self):
        with self.assertLogs("weir", "WARNING") as logged:
            self.greet([b"weir_version", b"0.1.0", b"store_deadline_ms", 200])
        self.assertIn("--store-deadline of 200 ms", logged.output[0])
        with self.assertNoLogs("weir"):
            self.greet([b"weir_version", b"0.1.0", b"store_deadline_ms", 50])


class TestBackoff(unittest.TestCase):
    def test_waits_double_to_a_second_with_full_jitter(self):
        with mock.patch.object(random, "uniform", side_effect=lambda least, most: most) as drawn:
            waits = backoff.Backoff(url.parse("weir://a").endpoints)
            due = []
            for _ in range(10):
                waits.failed(weir.Unavailable("x"), 100.0)
                due.append(round(waits.due - 100, 3))
        self.assertEqual(due, [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1, 1, 1])
        self.assertTrue(all(call.args[0] == 0 for call in drawn.call_args_list))

    def test_each_host_is_tried_at_once(self):
        waits = backoff.Backoff(url.parse("weir://a,b,c").endpoints)
        tried = set()
        for _ in range(3):
            self.assertEqual(waits.due, 0)
            tried.add(waits.endpoint().host)
            waits.failed(weir.Unavailable("x"), 100.0)
        self.assertEqual(tried, {"a", "b", "c"})
        self.assertGreater(waits.due, 100)


class TestDenials(unittest.TestCase):
    def test_they_have_a_bound_and_an_end(self):
        denials = core.Denials()
        denied = weir.Decision(False, 1, 0, 60.0, 60.0, "k", fields=(("Retry-After", "60"),))
        for n in range(core.REMEMBERED_DENIALS + 5):
            denials.note(words.check(subject(f"k{n}", "1/min")), denied, 100.0)
        self.assertIsNone(denials.find(words.check(subject("k4", "1/min")).data, 100.0))
        last = words.check(subject(f"k{core.REMEMBERED_DENIALS}", "1/min")).data
        found = denials.find(last, 103.5)
        self.assertEqual((found.retry_after, found.reset_after, found.fields), (56.5, 56.5, (("Retry-After", "57"),)))
        self.assertIsNone(denials.find(last, 110.0))  # 10 s at most


class TestCore(unittest.TestCase):
    def test_what_on_call_raises_is_logged(self):
        def broken(call):
            raise RuntimeError("a broken gauge")

        asker = core.Core("h", "allow", False, broken)
        with self.assertLogs("weir") as logged:
            decision = asker.answer(words.check(subject("k", "1/s")), [0, 1, 0, -1, 1000, b"k"], 0.0)
        self.assertTrue(decision.allowed)
        self.assertIn("a broken gauge", logged.output[0])

    def test_an_on_error_that_would_have_to_be_awaited_is_an_error(self):
        async def no(error, question):
            return False

        for module in weir, weir.aio:
            with self.assertRaisesRegex(TypeError, "on_error is not awaited"):
                module.connect("weir://localhost", on_error=no)
        asker = core.Core("h", lambda error, question: no(error, question), False, None)
        with self.assertLogs("weir"), self.assertRaisesRegex(TypeError, "on_error answers a coroutine"):
            asker.without(words.check(subject("k", "1/s")), weir.Unavailable("x"), 0.0)

    def test_a_complaint_is_made_at_once_and_then_once_a_minute(self):
        said = []
        with mock.patch.object(core.log, "error", lambda form, text: said.append(text)):
            for now in (100.0, 101.0, 159.0, 160.0, 161.0, 220.0):
                with mock.patch.object(core.time, "monotonic", lambda now=now: now):
                    core.complain("no", weir.Refused("a"))
                    core.complain("no", weir.Refused(f"b{now}"))
        self.assertEqual([each for each in said if each == "no: a"], ["no: a"] * 3)
        self.assertEqual(set(core._complained), {"no: a", "no: b161.0", "no: b220.0"})

    def test_a_verb_that_the_server_lacks(self):
        with self.assertRaisesRegex(weir.Refused, "has no refund; 0.1.0 has it"):
            asker = core.Core("h", "allow", False, None)
            asker.answer(words.refund(subject("k", "1/s")), resp.Failure("ERR unknown command 'WEIR.REFUND'"), 0.0)


if __name__ == "__main__":
    unittest.main()
