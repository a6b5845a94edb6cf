"""The fields that clients are told their limits in, read by another's reader (structured-headers) and compared with
another's writer (express-rate-limit)."""
import fractions
import json
import math
import os
import socket
import subprocess
import unittest

import npm
from chance import chance
from ports import free_port
from programs import Program, ask
from server import PATIENCE, Folder, Server, environment, run

APPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "web")
# The form of each field, as its specification has it; Retry-After and the X- fields are plain integers.
KINDS = {"ratelimit-policy": "list", "ratelimit": "list", "ratelimit-limit": "item", "ratelimit-remaining": "item",
         "ratelimit-reset": "item", "retry-after": "item", "x-ratelimit-limit": "list", "x-ratelimit-remaining": "item",
         "x-ratelimit-reset": "item"}


def read(*texts):
    """What an independent reader makes of (kind, text)."""
    folder = npm.installed(APPS, "node_web", ["read_fields.mjs"])
    done = subprocess.run(["node", "read_fields.mjs"], cwd=folder, input=json.dumps(texts).encode(), timeout=3 * PATIENCE,
                          capture_output=True, env=environment())
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    wrong = [(text, answer) for text, answer in zip(texts, answers) if isinstance(answer, dict) and "wrong" in answer]
    assert not wrong, wrong
    return answers


def read_fields(*heads):
    """Of each head the fields about limits, by name; a value without parameters is only the value."""
    asked = [[(name.lower(), text) for name, text in head if name.lower() in KINDS] for head in heads]
    for head in asked:
        assert len({name for name, _ in head}) == len(head), f"a field twice: {head}"
    answers = iter(read(*[(KINDS[name], text) for head in asked for name, text in head]))
    told = [{name: next(answers) for name, _ in head} for head in asked]
    return [{name: value[0] if KINDS[name] == "item" and not value[1] else value for name, value in head.items()}
            for head in told]


def post(port, *bodies):
    """(status, fields, answer) of requests that come in one read, so that all are decided at one moment."""
    sent = b""
    for body in bodies:
        text = json.dumps(body).encode()
        sent += b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as wire:
        wire.sendall(sent)
        wire.shutdown(socket.SHUT_WR)
        got = b"".join(iter(lambda: wire.recv(65536), b""))
    answers = []
    while got:
        head, _, got = got.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        fields = [tuple(line.split(": ", 1)) for line in lines]
        length = int(dict(fields)["Content-Length"])
        answers.append((int(first.split()[1]), fields, json.loads(got[:length])))
        got = got[length:]
    assert len(answers) == len(bodies), answers
    told = read_fields(*[fields for _, fields, _ in answers])
    return [(status, fields, answer) for (status, _, answer), fields in zip(answers, told)]


class Asking(unittest.TestCase):
    limits = None
    flags = ()

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(Folder())
        flags = ("--limits", folder.file("limits.yaml", cls.limits)) if cls.limits else ()
        cls.server = cls.enterClassContext(Server("--threads", "1", "--http", "127.0.0.1:0", *flags, *cls.flags))

    def post(self, *bodies):
        return post(self.server.ports[-1], *bodies)


@unittest.skipUnless(npm.available(), "no node")
class Edges(Asking):
    limits = """version: 1
limits:
  edge: { rate: 1000000/s }
  told: { rate: 600/min, show: true }
  tenant: { by: [tenant], rate: [10/s burst 3, 100/min burst 5, 9000/day algorithm=fixed_window] }
  user: { by: [user], rate: 7/min, deny: { user: bad } }
  secret: { by: [user], rate: 1000/s, show: false }
  shadowed: { by: [user], rate: 1/h, shadow: until 2200-01-01 }
  vast: { by: [vast], rate: 1000000000/s burst 9000000000000000000 }
"""

    def test_a_wait_of_a_nanosecond_is_a_second(self):
        body = {"key": self.id(), "limit": "1000000000/s burst 1"}
        (first, _, _), (second, fields, answer) = self.post(body, body)
        self.assertEqual((first, second, answer["retry_after"]), (200, 429, 1e-9))
        self.assertEqual(fields, {"ratelimit-policy": [["limit", {"q": 1, "w": 1}]], "ratelimit": [["limit", {"r": 0, "t": 1}]],
                                  "retry-after": 1})

    def test_nothing_is_left(self):
        body = {"key": self.id(), "limit": "1/h burst 2"}
        (_, one, _), (_, none, _), (status, denied, _) = self.post(body, body, body)
        self.assertEqual((one["ratelimit"], none["ratelimit"]), ([["limit", {"r": 1, "t": 3600}]], [["limit", {"r": 0, "t": 3600}]]))
        self.assertNotIn("retry-after", none)
        self.assertEqual((status, denied["ratelimit"], denied["retry-after"]), (429, none["ratelimit"], 3600))

    def test_what_never_passes_and_a_deny_list_say_no_time(self):
        (status, fields, answer), = self.post({"key": self.id(), "limit": "1/h burst 2", "cost": 3})
        self.assertEqual((status, answer["verdict"], fields),
                         (429, "never", {"ratelimit-policy": [["limit", {"q": 2, "w": 7200}]], "ratelimit": [["limit", {"r": 2, "t": 7200}]]}))
        (status, fields, _), = self.post({"attributes": {"user": "bad"}})
        self.assertEqual((status, fields), (429, {}))

    def test_several_limits_and_windows_are_a_list(self):
        (status, fields, _), = self.post({"attributes": {"tenant": "t", "user": "u"}})
        self.assertEqual(status, 200)
        self.assertEqual(fields["ratelimit-policy"],
                         [["told", {"q": 600, "w": 60}], ["tenant-1s", {"q": 3, "w": 1}], ["tenant-1min", {"q": 5, "w": 3}],
                          ["tenant-1d", {"q": 9000, "w": 86400}], ["user", {"q": 7, "w": 60}]])
        self.assertEqual([[name, values["r"]] for name, values in fields["ratelimit"]],
                         [["told", 599], ["tenant-1s", 2], ["tenant-1min", 4], ["tenant-1d", 8999], ["user", 6]])
        (status, fields, _), = self.post({"checks": [{"key": self.id(), "limit": "3/s"}, {"key": self.id() + "2", "limit": "9/h", "cost": 9}]})
        self.assertEqual((status, fields["ratelimit-policy"]), (200, [["limit", {"q": 3, "w": 1}], ["limit-2", {"q": 9, "w": 3600}]]))
        self.assertEqual(fields["ratelimit"], [["limit", {"r": 2, "t": 1}], ["limit-2", {"r": 0, "t": 400}]])

    def test_no_number_has_more_digits_than_it_may(self):
        (_, fields, _), = self.post({"attributes": {"vast": "v"}})
        self.assertEqual(dict(fields["ratelimit-policy"])["vast"], {"q": 999_999_999_999_999, "w": 9_000_000_000})
        self.assertEqual(dict(fields["ratelimit"])["vast"], {"r": 999_999_999_999_999, "t": 9_000_000_000})

    def test_any_limit_is_told_as_its_numbers_come_to(self):
        random = chance(self.id())
        bodies = []
        for i in range(300):
            count, period, burst = random.randint(1, 10 ** random.randint(0, 6)), random.randint(1, 100_000), random.randint(1, 500)
            bodies.append({"key": f"{self.id()} {i}", "limit": f"{count}/{period}s burst {burst}", "cost": random.randint(1, burst)})
        for body, (status, fields, answer) in zip(bodies, self.post(*bodies)):
            count, _, rest = body["limit"].partition("/")
            period, _, burst = rest.partition("s burst ")
            time = fractions.Fraction(int(period), int(count))
            left = int(burst) - body["cost"]
            self.assertEqual((status, answer["remaining"]), (200, left), body)
            self.assertEqual(fields["ratelimit-policy"], [["limit", {"q": int(burst), "w": math.ceil(int(burst) * time)}]], body)
            # Of nothing that is left, the time until there is one.
            self.assertEqual(fields["ratelimit"], [["limit", {"r": left, "t": math.ceil(max(left, 1) * time)}]], body)


@unittest.skipUnless(npm.available() and os.environ.get("WEIR_FIELD_NAMES"), "no node, or nothing that writes names")
class Names(unittest.TestCase):
    """A limits file allows only a-z, 0-9, _ and -; what writes them relies on nothing."""

    def written(self, names):
        done = subprocess.run([os.environ["WEIR_FIELD_NAMES"]], input="".join(name.hex() + "\n" for name in names).encode(),
                              capture_output=True, timeout=PATIENCE, check=True)
        lines = done.stdout.decode("ascii").split("\n")
        self.assertEqual(len(lines), len(names) + 1)
        return lines[:-1]

    def test_any_text_comes_back_as_it_was(self):
        random = chance(self.id())
        alphabet = 'az019_-. ,;="\\%&<>\'\t\r\n\0\x1b\x7fäß€\U0001f600'
        names = ["".join(random.choice(alphabet) for _ in range(random.randint(0, 12))) for _ in range(2000)]
        lines = self.written([name.encode() for name in names])
        for name, line, answer in zip(names, lines, read(*[("list", f"{line};q=1, {line}") for line in lines])):
            plain = all(" " <= c <= "~" for c in name)
            expected = name if plain else {"display": name}
            self.assertEqual(answer, [[expected, {"q": 1}], [expected, {}]], (name, line))

    def test_any_bytes_can_be_read(self):
        random = chance(self.id())
        names = [random.randbytes(random.randint(0, 8)) for _ in range(2000)]
        for answer in read(*[("item", line) for line in self.written(names)]):
            self.assertIsInstance(answer[0], (str, dict))
        # What turns the direction of a text or ends a line where it is shown does not come back.
        for answer in read(*[("item", line) for line in self.written([c.encode() for c in "\u202e\u2066\u2028\x85"])]):
            self.assertEqual(set(answer[0]["display"]), {"\ufffd"})


class Comparing(Asking):
    """express-rate-limit counts in windows that the first request opens, so weir is given the same algorithm. Alike are
    then: what is allowed, the limit, what is left, the window and when it ends. Different, and not compared:

    - draft-8 of express-rate-limit has `pk`, a hash of the key; weir sends none, draft-11 does not ask for it.
    - draft-7, `RateLimit: limit=5, remaining=4, reset=60`, is not a form of weir's. Its numbers are those of draft-06.
    - The order of parameters and the blanks between them, which a reader does not see.
    """

    form = None
    limits = "version: 1\nlimits:\n  user: { by: [user], rate: 5/h algorithm=fixed_window }\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        port = free_port()
        folder = npm.installed(APPS, "node_web", ["other_writer.mjs"])
        cls.other = Program(["node", os.path.join(folder, "other_writer.mjs"), str(port)], port, Folder())
        cls.addClassCleanup(cls.other.close)

    def theirs(self, form):
        answers = [ask(self.other.port, path=f"/{form}", headers=[("X-User", "u")]) for _ in range(7)]
        self.assertEqual([status for status, _, _ in answers], [200] * 5 + [429] * 2, self.other.text())
        return [headers for _, headers, _ in answers]

    def ours(self):
        answers = [self.post({"attributes": {"user": "u"}})[0] for _ in range(7)]
        self.assertEqual([status for status, _, _ in answers], [200] * 5 + [429] * 2)
        return [fields for _, fields, _ in answers]

    def about(self, ours, theirs):
        """The same time, asked for at about the same moment."""
        self.assertTrue(0 < ours <= 3600 and 0 < theirs <= 3600 and abs(ours - theirs) < 60, (ours, theirs))


@unittest.skipUnless(npm.available(), "no node")
class RateLimit11(Comparing):
    def test_as_express_rate_limit_writes_draft_8(self):
        theirs = read_fields(*[list(head.items()) for head in self.theirs("draft-8")])
        for our, their in zip(self.ours(), theirs):
            their["ratelimit-policy"][0][1].pop("pk")
            self.assertEqual(our["ratelimit-policy"], their["ratelimit-policy"])
            self.assertEqual(our["ratelimit-policy"], [["user", {"q": 5, "w": 3600}]])
            (name, numbers), = our["ratelimit"]
            (their_name, their_numbers), = their["ratelimit"]
            self.assertEqual((name, numbers["r"], set(numbers)), (their_name, their_numbers["r"], set(their_numbers)))
            self.about(numbers["t"], their_numbers["t"])
            self.assertEqual("retry-after" in our, "retry-after" in their)
            if "retry-after" in our:
                self.about(our["retry-after"], their["retry-after"])


@unittest.skipUnless(npm.available(), "no node")
class Draft06(Comparing):
    flags = ("--headers", "draft-06")

    def test_as_express_rate_limit_writes_draft_6_and_7(self):
        theirs = read_fields(*[list(head.items()) for head in self.theirs("draft-6")])
        drafts_7 = read(*[("dictionary", head["RateLimit"]) for head in self.theirs("draft-7")])
        for our, their, draft_7 in zip(self.ours(), theirs, drafts_7):
            self.about(our.pop("ratelimit-reset"), their.pop("ratelimit-reset"))
            self.about(draft_7["reset"][0], 3600)
            if "retry-after" in our:
                self.about(our.pop("retry-after"), their.pop("retry-after"))
            self.assertEqual(our, their)
            self.assertEqual((draft_7["limit"][0], draft_7["remaining"][0]), (our["ratelimit-limit"], our["ratelimit-remaining"]))
            self.assertEqual(our["ratelimit-policy"], [[5, {"w": 3600}]])


@unittest.skipUnless(npm.available(), "no node")
class XRateLimitEpoch(Comparing):
    flags = ("--headers", "x-ratelimit-epoch")

    def test_as_express_rate_limit_writes_its_older_fields(self):
        theirs = read_fields(*[list(head.items()) for head in self.theirs("legacy")])
        for our, their in zip(self.ours(), theirs):
            self.assertLess(abs(our.pop("x-ratelimit-reset") - their.pop("x-ratelimit-reset")), 60)
            if "retry-after" in our:
                self.about(our.pop("retry-after"), their.pop("retry-after"))
            self.assertEqual(our, their)


@unittest.skipUnless(npm.available(), "no node")
class OtherForms(unittest.TestCase):
    def test_x_rate_limit(self):
        with Folder() as folder, Server("--http", "127.0.0.1:0", "--headers", "x-ratelimit", "--limits",
                                        folder.file("limits.yaml", Comparing.limits)) as server:
            (_, fields, _), = post(server.ports[-1], {"attributes": {"user": "u"}})
            self.assertEqual(fields, {"x-ratelimit-limit": [[5, {}]], "x-ratelimit-remaining": 4, "x-ratelimit-reset": 3600})


if __name__ == "__main__":
    run()
