"""`weir ctl`: every verb against a server, what it refuses, and what an export makes of a limits file."""
import hashlib
import json
import os
import re
import unittest

from ports import free_port
from server import WEIR, Folder, OneServerWithLimits, Server, run, weir
from talker import Talker
from test_top import Answers

FILE = """\
version: 1
limits:
  user: { by: [user], rate: 5/min burst 5, allow: { ip: 10.0.0.0/8 } }
  tenant: { by: [tenant], rate: [100/s burst 200, 1000000/day] }
  tried: { by: [tried], rate: 1/h, shadow: until 2100-01-01 }
  top: { by: [top], rate: 1/h }
"""
IN_BLOCKS = """\
version: 1
attributes: [user, ip, tenant, tried, top]
limits:
  user:
    by: [user]
    rate: 5/min burst 5
    allow: { ip: 10.0.0.0/8 }
  tenant:
    by: [tenant]
    rate: [100/s burst 200, 1000000/day]
  tried:
    by: [tried]
    rate: 1/h
  top:
    by: [top]
    rate: 1/h
"""
BAN = ("--for", "15m", "--reason", "scraping")
TOKEN = "weir_" + "a" * 32


class TestVerbs(OneServerWithLimits):
    limits = FILE

    def setUp(self):
        super().setUp()
        self.at = ("--url", f"weir://127.0.0.1:{self.server.port}")

    def ctl(self, *words, code=0, **options):
        """What a subcommand prints, (standard output, standard error)."""
        got, out, errors = weir("ctl", words[0], *self.at, *words[1:], **options)
        self.assertEqual(got, code, (out, errors))
        return out, errors

    def rows(self, *words):
        return [json.loads(line) for line in self.ctl("overrides", "--json", *words)[0].splitlines()]

    def denied(self, *words):
        return self.client.ask("WEIR.CHECK", *words)[0] == 1

    def test_a_ban_and_its_end(self):
        out, told = self.ctl("ban", "user", "user=42", *BAN)
        self.assertEqual(told, "user: no request of user=42 passes for 15m\n")
        number = int(re.fullmatch(r"override (\d+) is in force\n", out)[1])
        self.assertTrue(self.denied("user=42", "ip=10.0.0.1"))
        [row] = [each for each in self.rows("--limit", "user") if each["number"] == number]
        self.assertEqual((row["kind"], row["when"], row["reason"], row["user"]), ("ban", "user=42", "scraping", "-"))
        self.assertRegex(row["set_at"], r"^20\d\d-\d\d-\d\dT[\d:.]+Z$")
        self.assertRegex(self.ctl("overrides", "--limit", "user")[0], rf"(?m)^{number} .*  {row['set_at']}  -   scraping$")
        self.assertEqual(self.ctl("unban", "user", "user=42"), ("1 ended\n", ""))
        self.assertEqual(self.ctl("unban", "user", "user=42"), ("no ban of exactly these words was in force\n", ""))
        self.assertFalse(self.denied("user=42"))

    def test_other_numbers_for_a_while(self):
        key = self.tenant
        out, told = self.ctl("raise", "--rate", "300/s burst 600", "--rate", "unlimited/day", "tenant", key, "--until",
                             "2100-01-01", "--reason", "a launch", "--json")
        self.assertEqual(told, "")
        number = json.loads(out)["number"]
        self.assertEqual(self.client.ask("WEIR.CHECK", key)[1], 600)
        self.assertEqual(self.ctl("lift", number, "--reason", "over"), (f"override {number} has ended\n", ""))
        self.assertEqual(self.ctl("lift", number, "--json"), ('{"ended":0}\n', ""))
        self.assertEqual(self.ctl("lower", "tenant", key, "--rate", "1/s burst 2", *BAN)[1],
                         f"tenant: {key} has 1/s burst 2 for 15m\n")
        self.assertEqual(self.client.ask("WEIR.CHECK", key)[1], 2)

    def test_a_shadow_comes_and_goes(self):
        self.assertEqual(self.ctl("shadow", "top", "on", *BAN)[1], "top: counts, and denies nobody for 15m\n")
        self.assertFalse(any(self.denied("top=1") for _ in range(3)))
        self.ctl("shadow", "tried", "off", *BAN)
        self.assertTrue(any([self.denied("tried=1") for _ in range(3)]))

    def test_all_overrides_page_by_page(self):
        self.client.send_bytes(b"".join(
            b"*10\r\n$8\r\nWEIR.BAN\r\n$5\r\nLIMIT\r\n$3\r\ntop\r\n$3\r\nFOR\r\n$6\r\n900000\r\n$6\r\nREASON\r\n$1\r\nx\r\n"
            b"$2\r\nAS\r\n$7\r\ntop=%03d\r\n$6\r\nip=1.%d\r\n" % (i, i % 10) for i in range(250)))
        numbers = [self.client.reply() for _ in range(250)]
        rows = self.rows("--limit", "top")
        self.assertEqual([row["number"] for row in rows if row["kind"] == "ban"], numbers)
        lines = self.ctl("overrides", "--limit", "top")[0].splitlines()
        self.assertEqual(lines[0].split(), ["NUMBER", "KIND", "LIMIT", "WHEN", "RATE", "UNTIL", "SET", "BY", "REASON"])
        self.assertEqual(len(lines), 1 + len(rows))
        for number in numbers:
            self.assertEqual(self.client.ask("WEIR.LIFT", number), 1)

    def test_the_audit(self):
        self.ctl("ban", "user", "user=audited", *BAN)
        lines = [json.loads(line) for line in self.ctl("audit", "--count", "3")[0].splitlines()]
        self.assertEqual(len(lines), 3)
        self.assertEqual((lines[0]["verb"], lines[0]["when"], lines[0]["reason"]), ("BAN", {"user": "audited"}, "scraping"))
        self.assertIn("COUNT", self.ctl("audit", "--count", "2000", code=1)[1])

    def test_what_the_server_refuses(self):
        for words, why in ((("ban", "nobody", "user=1", *BAN), "unknown limit 'nobody'"),
                           (("ban", "user", "user=1", "--for", "367d", "--reason", "x"), "from 1000 to 31622400000"),
                           (("ban", "user", "user=1", "--until", "2001-01-01", "--reason", "x"), "2001-01-01"),
                           (("raise", "tenant", "tenant=1", "--rate", "1/s burst 1", *BAN), "use WEIR.LOWER"),
                           (("lift", "x"), "'x' is not an integer"), (("unban", "nobody", "user=1"), "unknown limit 'nobody'")):
            out, errors = self.ctl(*words, code=1)
            self.assertEqual(out, "")
            self.assertTrue(errors.startswith("weir: refused: ") and errors.count("\n") == 1, errors)
            self.assertIn(why, errors)

    def test_what_nobody_can_mean(self):
        for words, why in ((("ban", "user", "user=1", "--reason", "x"), "--for or --until"),
                           (("ban", "user", "user=1", *BAN, "--until", "2100-01-01"), "--for or --until"),
                           (("ban", "user", "user=1", "--for", "15"), "--reason is required"),
                           (("ban", "user", "user=1", "--for", "15", "--reason", "x"), "for: '15'"),
                           (("ban", "user", *BAN), "WHEN"), (("shadow", "user", "maybe", *BAN), "maybe"),
                           (("lift", "1", "2"), "argument"), (("ban", "user", "user=1", *BAN, "--bogus"), "unknown flag '--bogus' (see weir ctl ban --help)"),
                           (("overrides", "--host", "h"), "url stands in place of host")):
            out, errors = self.ctl(*words, code=2)
            self.assertEqual((out, errors.count("\n")), ("", 1), errors)
            self.assertIn(why, errors)

    def test_many_are_asked_about_on_a_terminal(self):
        command = [WEIR, "ctl", "ban", *self.at, "user", "user=many*", *BAN]
        for typed, code, shows in (("n\n", 1, "refused: nothing has changed"), ("y\n", 0, "is in force")):
            got, shown = Talker(command).says("[y/N]", typed)
            self.assertEqual(got, code)
            self.assertIn("no request of user=many* passes", shown)
            self.assertIn(shows, shown)
            self.assertEqual(self.denied("user=many1"), code == 0)
        self.assertEqual(Talker([*command, "--yes"]).says("in force", "")[0], 0)
        one = [WEIR, "ctl", "ban", *self.at, "user", "user=a/b", *BAN]
        self.assertEqual(Talker(one).says("in force", "")[0], 0, "a path is not a pattern")
        for whom in ("ALL", "user=*", "user=many*", "ip=192.0.2.0/24"):
            self.assertEqual(self.ctl("ban", "user", whom, *BAN, code=2),
                             ("", "weir: this may concern more than one key, and nobody can be asked here: give --yes\n"), whom)
        self.assertFalse(self.denied("user=anybody"))
        self.assertEqual(self.ctl("ban", "user", "ALL", "--yes", *BAN)[1], "user: no request passes for 15m\n")
        self.assertTrue(self.denied("user=anybody"))
        self.assertEqual(self.ctl("unban", "user", "ALL"), ("1 ended\n", ""))


class TestWhoMay(unittest.TestCase):
    def test_a_role_that_is_not_enough(self):
        with Folder() as folder:
            token = f"sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}"
            users = folder.file("users.yaml", f'users: {{ ann: {{ role: decide, token: "{token}" }} }}\n')
            os.chmod(users, 0o600)
            with Server("--limits", folder.file("limits.yaml", FILE), "--users", users) as server:
                url = f"weir://ann:{TOKEN}@127.0.0.1:{server.port}"
                code, out, errors = weir("ctl", "ban", "--url", url, "user", "user=1", *BAN)
                self.assertEqual((code, out), (1, ""))
                self.assertEqual(errors.splitlines()[-1],
                                 "weir: refused: NOPERM ann has the role decide; WEIR.BAN needs operate")
                wrong = f"weir://ann:s3cret@127.0.0.1:{server.port}"
                code, out, errors = weir("ctl", "overrides", "--url", wrong)
                self.assertEqual((code, out), (2, ""))
                self.assertIn("WRONGPASS", errors)
                self.assertNotIn("s3cret", errors)

    def test_no_server_and_no_url(self):
        port = free_port()
        for url in (f"weir://ann:s3cret@127.0.0.1:{port}", "weir://ann:s3c/ret@h:1", f"http://s3cret@127.0.0.1:{port}",
                    f"weir://ann:s3cret@127.0.0.1:{port}0000", "weir+unix://s3cret@x", "s3cret",
                    "weir+unix://ann:s3cret@/nosuch/socket", f"weir://h:{port}?token=s3cret"):
            for command in (("ctl", "overrides"), ("ctl", "usage", "user", "user=1"), ("ctl", "top"), ("top", "--once"),
                            ("ctl", "export"), ("ctl", "audit")):
                code, out, errors = weir(*command, "--url", url)
                self.assertEqual((code, out, errors.count("\n")), (2, "", 1), (url, errors))
                self.assertNotRegex(errors, "s3c|ret@")
        code, out, errors = weir("ctl", "overrides", "--url", "weir://:s3cret@a", "--url", "weir://:s3cret@b")
        self.assertEqual((code, out), (2, ""))
        self.assertNotIn("s3cret", errors)


def override(number, user, set_at):
    return ["number", number, "kind", "ban", "limit", "user", "when", "user=42", "rate", "", "until", "2100-01-01T00:00:00.000Z",
            "reason", "scraping", "user", user, "set_at", set_at, "durable", 1]


class TestSeveralServers(unittest.TestCase):
    """Small servers that answer as docs/wire.md says: what they share and what is one's alone is known."""

    OWN, SHARED = override(7, "bob", "2026-11-26T04:00:00.000Z"), override(7, "ann", "2026-11-26T05:00:00.000Z")
    OLD, BEGIN, NEW = ('{"time":"2026-11-26T04:00:00.000Z","user":"bob","verb":"BAN"}',
                       '{"verb":"begin","time":"2026-11-26T05:00:00.000Z","previous":""}',
                       '{"time":"2026-11-26T06:00:00.000Z","user":"ann","verb":"LIFT","reason":"\\"time\\":\\"2001"}')

    def setUp(self):
        told = {"WEIR.OVERRIDES": ([self.SHARED], [self.OWN, self.SHARED]), "WEIR.AUDIT": ([self.BEGIN], [self.NEW, self.OLD])}
        self.one, self.two = (self.enterContext(Answers(lambda words, at=at: told[words[0]][at])) for at in (0, 1))
        self.names = [each.url[7:] for each in (self.one, self.two)]
        self.both = ("--url", self.one.url, "--url", self.two.url)

    def test_overrides_say_whose_they_are(self):
        code, out, errors = weir("ctl", "overrides", *self.both)
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual([line.split()[:3] + line.split()[-3:] for line in out.splitlines()], [
            ["SERVER", "NUMBER", "KIND", "SET", "BY", "REASON"],
            [self.names[1], "7", "ban", "2026-11-26T04:00:00.000Z", "bob", "scraping"],
            ["all", "7", "ban", "2026-11-26T05:00:00.000Z", "ann", "scraping"]])
        rows = [json.loads(line) for line in weir("ctl", "overrides", "--json", *self.both)[1].splitlines()]
        self.assertEqual([(row["user"], row["servers"]) for row in rows], [("bob", self.names[1:]), ("ann", self.names)])
        one = json.loads(weir("ctl", "overrides", "--json", "--url", self.one.url)[1])
        self.assertNotIn("servers", one)

    def test_the_audits_are_one_the_newest_first(self):
        code, out, errors = weir("ctl", "audit", *self.both)
        self.assertEqual((code, errors), (0, ""))
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([(line["server"], line["verb"]) for line in lines],
                         [(self.names[1], "LIFT"), (self.names[0], "begin"), (self.names[1], "BAN")])
        self.assertEqual(lines[0], {"server": self.names[1], **json.loads(self.NEW)})
        self.assertEqual(len(weir("ctl", "audit", "--count", "2", *self.both)[1].splitlines()), 2)
        self.assertEqual(weir("ctl", "audit", "--url", self.one.url), (0, self.BEGIN + "\n", ""))

    def test_one_that_does_not_answer_and_one_that_refuses(self):
        nobody = f"127.0.0.1:{free_port()}"
        with Answers(lambda words: "NOPERM ann has the role decide; it needs operate") as refuses:
            for verb, lines in (("overrides", 3), ("audit", 3)):
                code, out, errors = weir("ctl", verb, *self.both, "--url", f"weir://:s3cret@{nobody}")
                self.assertEqual((code, len(out.splitlines())), (2, lines))
                self.assertRegex(errors, rf"^weir: {nobody}: cannot connect to .*\n$")
                if verb == "overrides":
                    self.assertTrue(out.splitlines()[2].startswith(",".join(self.names) + " "), out)
                code, out, errors = weir("ctl", verb, *self.both, "--url", refuses.url)
                self.assertEqual((code, len(out.splitlines())), (1, lines))
                self.assertEqual(errors, f"weir: refused: {refuses.url[7:]}: NOPERM ann has the role decide; it needs operate\n")
                self.assertEqual(weir("ctl", verb, "--url", refuses.url, "--url", refuses.url)[:2], (1, ""))


def put_into(file, export):
    """The file with what an export says under each limit, and what its comments tell to write as a limit."""
    for name, more in re.findall(r'^  "(\w+)":\n((?:    .*\n)*)', export, re.M):
        file = file.replace(f"\n  {name}:\n", f"\n  {name}:\n{more}")
    return file + "".join(f"  {each}\n" for each in re.findall(r"#   (\w+_ban_\d+: \{.*\})\n", export))


class TestExport(unittest.TestCase):
    """What an export says of a file decides as the overrides did."""

    ASKED = [["user=1"], ["user=2", "ip=10.0.0.1"], ["user=3"], ["user=4", "ip=192.0.2.9"], ["user=4"], ['user=" # \\'],
             ["tenant=acme"], ["tenant=acme", "ip=10.1.1.1"], ["tenant=b"], ["top=1"], ["top=2"], ["tried=1"]]

    def decided(self, server):
        """Of each request the verdicts and the limits of three, from rest."""
        with server.client() as client:
            for each in self.ASKED:
                client.ask("WEIR.RESET", "AS", *each)
            return [[client.ask("WEIR.CHECK", *each)[:2] for _ in range(3)] for each in self.ASKED]

    def test_put_into_the_file(self):
        with Folder() as folder, Server("--limits", folder.file("limits.yaml", IN_BLOCKS)) as server:
            at = ("--port", server.port)
            for verb, *words in (("ban", "user", "user=1"), ("ban", "user", "user=2", "--until", "2100-01-01"),
                                 ("ban", "user", 'user=" # \\'), ("ban", "user", "user=4", "ip=192.0.2.0/24"),
                                 ("raise", "tenant", "tenant=acme", "--rate", "200/s burst 400", "--rate", "unlimited/day"),
                                 ("lower", "tenant", "ALL", "--rate", "50/s burst 100"),
                                 ("raise", "tenant", "tenant=a*", "ip=10.*", "--rate", "300/s burst 600"),
                                 ("shadow", "top", "on"), ("ban", "top", "top=2")):
                ends = () if "--until" in words else ("--for", "15m")
                yes = () if verb == "shadow" else ("--yes",)
                code, _, errors = weir("ctl", verb, *at, *words, *ends, *yes, "--reason", 'why: "#"')
                self.assertEqual(code, 0, errors)
            steered = self.decided(server)
            code, text, errors = weir("ctl", "export", *at)
            self.assertEqual((code, errors), (0, ""))
            self.assertRegex(text, r', set 20\S+Z by -, until 2100-01-01T00:00:00\.000Z: ban user=2: why: "#"\n')
            self.assertIn('    deny: { "user": ["1", "2", "\\" # \\\\"] }\n', text)
            self.assertEqual(text.count('        reason: "why: \\"#\\""\n'), 3)
            filed = put_into(IN_BLOCKS, text)
            code, out, errors = weir("lint", "--strict", folder.file("filed.yaml", filed))
            self.assertEqual((code, errors), (0, ""), out)
            for row in weir("ctl", "overrides", "--json", *at)[1].splitlines():
                self.assertEqual(weir("ctl", "lift", *at, json.loads(row)["number"])[0], 0)
            self.assertNotEqual(self.decided(server), steered)
            folder.file("limits.yaml", filed)
            with server.client() as client:
                client.ask("WEIR.CONFIG", "RELOAD")
            self.assertEqual(self.decided(server), steered)
            self.assertEqual(weir("ctl", "export", *at)[1].splitlines()[-1], "limits: {}")

    def test_what_a_file_cannot_say(self):
        with Folder() as folder, Server("--limits", folder.file("limits.yaml", FILE)) as server:
            at = ("--port", server.port)
            for words in (("ban", "user", "user=@x", *BAN), ("ban", "user", "ALL", "--yes", *BAN), ("shadow", "tried", "off", *BAN),
                          ("ban", "tried", "tried=1", *BAN)):
                self.assertEqual(weir("ctl", words[0], *at, *words[1:])[0], 0)
            text = weir("ctl", "export", *at)[1]
            self.assertEqual([line for line in text.splitlines() if not line.lstrip().startswith("#")],
                             ["limits:", '  "tried":', '    deny: { "tried": ["1"] }', '  "user":'])
            for told in ("No limits file can say", 'deny: { ATTRIBUTE: "*" }', "take its `shadow` out"):
                self.assertIn(told, text)

    def test_and_back_after_a_loss(self):
        with Folder() as folder:
            limits = folder.file("limits.yaml", FILE)
            lines = (("ban", "user", "user=a b"), ("ban", "user", "user=a b=c"), ("ban", "user", "user=a", "b=c"),
                     ("ban", "user", 'user=" # \\'), ("ban", "user", "user=*", "ip=10.0.0.0/8"),
                     ("raise", "tenant", "tenant=t", "--rate", "300/s burst 600", "--rate", "unlimited/day"),
                     ("lower", "tenant", "ALL", "--rate", "50/s burst 100"), ("shadow", "top", "on"), ("shadow", "tried", "off"))
            with Server("--limits", limits) as server:
                for verb, *words in lines:
                    yes = () if verb == "shadow" else ("--yes",)
                    self.assertEqual(weir("ctl", verb, "--port", server.port, *words, "--for", "15m", *yes, "--reason",
                                          'why: "#"')[0], 0)
                before = self.listed(server)
                self.assertEqual(len(before), len(lines))
                files = [folder.file("export.yaml", weir("ctl", "export", "--port", server.port)[1]),
                         folder.file("lines.json", weir("ctl", "overrides", "--json", "--port", server.port)[1])]
            for path in files:
                with Server("--limits", limits) as server:
                    restore = ("ctl", "overrides", "--port", server.port, "--restore", path)
                    code, out, errors = weir(*restore)
                    self.assertEqual((code, out), (2, ""))
                    self.assertIn("nobody can be asked here: give --yes", errors)
                    self.assertEqual(self.listed(server), [])
                    self.assertEqual(weir(*restore, "--yes"), (0, "9 restored\n", ""))
                    self.assertEqual(self.listed(server), before)
                    # Once more changes nothing, and asks nobody.
                    self.assertEqual(weir(*restore), (0, "0 restored, 9 in force already\n", ""))
                    self.assertEqual(self.listed(server), before)

    def listed(self, server):
        """Without what another operator, moment or server makes of it."""
        rows = [json.loads(row) for row in weir("ctl", "overrides", "--json", "--port", server.port)[1].splitlines()]
        return [(row["kind"], row["limit"], row["when"], row["rate"], row["until"], row["reason"]) for row in rows]

    def test_a_file_that_cannot_be_restored(self):
        def line(**changes):
            row = {"kind": "ban", "limit": "user", "when": "user=1", "rate": "", "until": "2100-01-01T00:00:00Z", "reason": "x"}
            return json.dumps({each: text for each, text in {**row, **changes}.items() if text is not None})

        with Folder() as folder, Server("--limits", folder.file("limits.yaml", FILE)) as server:
            def restore(*lines):
                path = folder.file("some", "# other text\n" + "".join(each + "\n" for each in lines))
                code, out, errors = weir("ctl", "overrides", "--port", server.port, "--restore", path, "--yes")
                return code, out, errors.replace(path, "FILE")

            # Nothing is set where one cannot be read.
            code, out, errors = restore(line(), "{", line(kind="kick"), "#  " + line(reason=None), line(until="soon"),
                                        line(when="user=\ufffd"))
            self.assertEqual((code, out), (2, ""))
            for each in ("FILE:3: is not an object of JSON", "FILE:4: kind: 'kick' is none of: ban", "FILE:5: has no text 'reason'",
                         "FILE:6: until: ", "FILE:7: 'when' was not UTF-8", "nothing has changed"):
                self.assertIn(each, errors)
            self.assertEqual(self.listed(server), [])
            code, out, errors = restore()
            self.assertEqual(code, 2)
            self.assertIn("has no override", errors)
            self.assertEqual(weir("ctl", "overrides", "--port", server.port, "--restore", folder.path, "--yes")[0], 2)
            # What the server refuses is told by its line, and the others come.
            code, out, errors = restore(line(), line(limit="gone"), line(until="2001-01-01", when="user=9"),
                                        line(when="user=2"))
            self.assertEqual((code, out), (1, "2 restored, 1 ended since, 1 refused\n"))
            self.assertIn("FILE:3: unknown limit 'gone'", errors)
            self.assertEqual([row[2] for row in self.listed(server)], ["user=1", "user=2"])

    def test_many_come_back_with_their_progress(self):
        with Folder() as folder, Server("--limits", folder.file("limits.yaml", FILE)) as server:
            path = folder.file("some", "".join(json.dumps({
                "kind": "ban", "limit": "user", "when": f"user={i}", "rate": "", "until": "2100-01-01T00:00:00Z",
                "reason": "x"}) + "\n" for i in range(250)))
            code, out, errors = weir("ctl", "overrides", "--port", server.port, "--restore", path, "--yes", "--json")
            self.assertEqual((code, json.loads(out)), (0, {"restored": 250, "in_force": 0, "ended": 0, "refused": 0,
                                                           "not_tried": 0}))
            self.assertEqual(errors, "100 of 250\n200 of 250\n")


if __name__ == "__main__":
    run()
