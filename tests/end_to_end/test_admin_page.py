"""The page of the admin listener in a browser: who may, what it shows, what it changes, and that it needs no mouse."""
import hashlib
import http.client
import json
import os
import re
import sys
import unittest

from server import PATIENCE, ROOT, Folder, Server, run, until

sys.path.insert(0, os.path.join(ROOT, "tests/report"))
from browser import ENTER, ESCAPE, SHIFT, TAB, Browser, check_contrast, check_overflow, luminance, open_page  # noqa: E402

FILE = """\
version: 1
limits:
  user: { by: [user], rate: 2/h burst 2 }
  pair: { by: [tenant, ip], rate: [5/min burst 1, 1000/day] }
  trial: { by: [user], rate: 1/h burst 1, shadow: until 2260-01-01 }
  quiet: { by: [other], rate: 1/h }
"""
TOKENS = {"dora": "decide", "olga": "operate", "adam": "admin"}
HOSTILE = '<img src=x onerror="document.title=1"><b>\u202eevil'
CONTROLS = "button, input, select, a"
shared = None


def setUpModule():
    global shared
    shared = Browser()
    unittest.addModuleCleanup(shared.close)


def token(name):
    return f"a-token-of-{name}-that-is-long-enough"


def users():
    rows = "".join(f'  {name}: {{ role: {role}, token: "sha256:{hashlib.sha256(token(name).encode()).hexdigest()}" }}\n'
                   for name, role in TOKENS.items())
    return "users:\n" + rows


class PageTest(unittest.TestCase):
    limits = FILE
    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.file = cls.folder.file("limits.yaml", cls.limits)
        cls.server = Server("--threads", 2, "--limits", cls.file, "--admin", "127.0.0.1:0", "--log-level", "error", *cls.more())
        cls.addClassCleanup(cls.server.__exit__, None)
        cls.port = cls.server.ports[1]
        cls.url = f"http://127.0.0.1:{cls.port}/"

    @classmethod
    def more(cls):
        return cls.flags

    def ask(self, method, path, body=None, **fields):
        """(status, fields, text)"""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self.addCleanup(client.close)
        if body is not None:
            fields["Content-Type"] = "application/json"
        client.request(method, path, body and json.dumps(body), fields)
        answer = client.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def open(self, width=1280, signed=None, **options):
        """The page, new: as of a tab in which nobody has signed in, or somebody has."""
        page = open_page(shared, self.url + "healthz", width=width, **options)
        page.run("sessionStorage.clear(); if (arguments[0]) sessionStorage.setItem('weir-authorization', arguments[0])",
                 signed and f"Bearer {token(signed)}")
        shared.ask("POST", "/url", {"url": self.url})
        return page

    def text_of(self, page, selector):
        return page.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def sees(self, page, selector, words):
        try:
            return until(lambda: words in self.text_of(page, selector) and self.text_of(page, selector), f"{words!r} in {selector}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.text_of(page, selector)!r}, {page.console()}") from None

    def wrong(self, page):
        """What the console says, but for the icon of the document by which the tab was signed in."""
        return [each for each in page.console() if "favicon.ico" not in each]

    def tab_to(self, page, words, most=60):
        """Goes by the keyboard to what is named so."""
        name = ("const e = document.activeElement; return e.getAttribute('aria-label') || e.name || e.textContent")
        for _ in range(most):
            page.press(TAB)
            if page.run(name) == words:
                return
        self.fail(f"the keyboard does not lead to {words!r}")

    def deny(self, key="user=ada", times=5):
        with self.server.client() as client:
            client.ask("AUTH", token("adam"))
            for _ in range(times):
                client.ask("WEIR.CHECK", *key.split("|"))


class TestOpenToAll(PageTest):
    def test_what_is_sent(self):
        status, fields, text = self.ask("GET", "/")
        self.assertEqual(status, 200)
        self.assertEqual((fields["Content-Type"], fields["X-Content-Type-Options"], fields["Referrer-Policy"], fields["Cache-Control"]),
                         ("text/html; charset=utf-8", "nosniff", "no-referrer", "no-store"))
        self.assertRegex(fields["Content-Security-Policy"], r"^default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src "
                         r"'sha256-[\w+/]{43}='; connect-src 'self'; img-src data:; frame-ancestors 'none'$")
        self.assertNotIn("Set-Cookie", fields)
        self.assertLess(len(text), 64 << 10)
        self.assertEqual(self.ask("HEAD", "/")[0], 200)
        self.assertEqual(self.ask("POST", "/")[0], 405)
        self.assertEqual(self.ask("GET", "/?token=secret")[0], 400, "a credential in a URL")

    def test_another_origin_is_refused(self):
        here = f"127.0.0.1:{self.port}"
        for path, method, body in (("/", "GET", None), ("/v1/status", "GET", None), ("/metrics", "GET", None),
                                   ("/v1/overrides", "POST", {"kind": "ban"})):
            for origin, host, refused in (("http://evil.example", here, True), ("null", here, True), (f"http://{here}", here, False),
                                          ("http://evil.example", "evil.example", True), (f"http://localhost:{self.port}", here, True)):
                status = self.ask(method, path, body, Origin=origin, Host=host)[0]
                self.assertEqual(status == 403, refused, (path, origin, host, status))

    def test_another_sites_page_asks_in_vain(self):
        """A page by another name of this machine: the browser sends its Origin, and gets nothing."""
        page = open_page(shared, f"http://localhost:{self.port}/")
        got = shared.ask("POST", "/execute/async", {"args": [f"{self.url}v1/overrides"], "script": """
            const [url, done] = arguments;
            fetch(url, {method: "POST", mode: "no-cors", body: "{}"}).then(a => done("answered: " + a.type), e => done("refused"));
        """})
        self.assertEqual(got, "refused", "connect-src 'self'")
        self.assertIn("Content Security Policy", "".join(page.console()))

    def test_a_refused_reload(self):
        page = self.open()
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(FILE.replace("2/h burst 2", "<b>2</b>/h"))
        with self.server.client() as client:
            client.ask("WEIR.CONFIG", "RELOAD")
        self.sees(page, "#refused", "the file before it is in force")
        self.assertIn("<b>2</b>/h", self.text_of(page, "#refused"))
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(FILE)
        with self.server.client() as client:
            client.ask("WEIR.CONFIG", "RELOAD")
        until(lambda: not self.text_of(page, "#refused"), "the file is in force")

    def test_a_key_that_is_html(self):
        with self.server.client() as client:
            for _ in range(20):
                client.ask("WEIR.CHECK", f"user={HOSTILE}")
        page = self.open()
        self.sees(page, "#top tbody", "<img src=x onerror=")
        self.assertIn("\\u202eevil", self.text_of(page, "#top tbody"), "no mark turns text around")
        page.run("[...document.querySelectorAll('#top tr')].find(r => r.textContent.includes('<img')).querySelectorAll('button')[1].click()")
        page.run("document.querySelector('#act [name=reason]').value = '<i>why</i>'; document.getElementById('act-do').click()")
        self.sees(page, "#overrides tbody", "<i>why</i>")
        self.assertEqual(page.run("return document.querySelectorAll('img, b, i').length"), 0)
        self.assertEqual(json.loads(self.ask("GET", "/v1/overrides")[2])["overrides"][0]["when"], {"user": HOSTILE}, "as it is")
        self.assertNotEqual(page.run("return document.title"), "1")
        self.assertEqual(self.wrong(page), [])

    def test_a_key_that_is_a_pattern_or_that_another_could_be(self):
        with self.server.client() as client:
            for _ in range(30):
                client.ask("WEIR.CHECK", "user=*")
                client.ask("WEIR.CHECK", "tenant=a ip=1.2.3.4", "ip=5.6.7.8")
        page = self.open()
        self.sees(page, "#top tbody", "tenant=a ip=1.2.3.4 ip=5.6.7.8")
        of = "const row = [...document.querySelectorAll('#top tr')].find(r => r.textContent.startsWith(arguments[0])); "
        self.assertEqual(page.run(of + "return row.querySelectorAll('button').length", "tenant=a ip=1"), 0)
        page.run(of + "row.querySelectorAll('button')[1].click()", "user=*")
        page.run("document.querySelector('#act [name=reason]').value = 'x'; document.getElementById('act-do').click()")
        page.settle()
        self.assertTrue(page.run("return document.getElementById('act').open"), "not before somebody says that all are meant")
        self.assertIn("everybody whom it matches", self.text_of(page, "#act"))

    def test_a_server_that_does_not_answer(self):
        with Server("--limits", self.file, "--admin", "127.0.0.1:0") as server:
            page = open_page(shared, f"http://127.0.0.1:{server.ports[1]}/")
            self.sees(page, "h1", "Nobody was denied")
            server.stop()
            self.sees(page, "#stale", "The server does not answer. What is below is of 20")
            self.assertEqual(page.run("return document.getElementById('stale').getAttribute('role')"), "status")

    def test_it_rests_while_nobody_looks(self):
        page = self.open()
        self.sees(page, "#version", ".")
        # What it has under way, and the timers that would have it ask again.
        page.run("""
            window.asked = 0; window.busy = 0; window.timers = new Set();
            const counted = real => async function (...words) {
              ++window.busy;
              try { return await real.apply(this, words); } finally { --window.busy; }
            };
            const ask = counted(window.fetch), set = window.setTimeout, clear = window.clearTimeout;
            window.fetch = (...words) => { ++window.asked; return ask(...words); };
            for (const read of ["json", "text"]) Response.prototype[read] = counted(Response.prototype[read]);
            window.setTimeout = (call, ...words) => {
              const timer = set(() => { window.timers.delete(timer); call(); }, ...words);
              window.timers.add(timer);
              return timer;
            };
            window.clearTimeout = timer => { window.timers.delete(timer); clear(timer); };""")
        asked = "return window.asked"  # and not what is answered: that may take any time
        before = page.run(asked)
        until(lambda: page.run(asked) > before, "it asks again")
        until(lambda: page.run("return window.timers.size") == 1, "it will ask again")
        page.run("Object.defineProperty(document, 'hidden', {value: true, configurable: true});"
                 "document.dispatchEvent(new Event('visibilitychange'))")
        until(lambda: page.run("return window.busy + window.timers.size") == 0, "nothing will have it ask again")
        before = page.run(asked)
        page.run("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
        until(lambda: page.run(asked) > before, "it asks again")


class TestWhatItShows(PageTest):
    def test_what_it_shows(self):
        with self.server.client() as client:
            for _ in range(7):
                client.ask("WEIR.CHECK", "user=ada")
        page = self.open()
        self.sees(page, "h1", "1 of 4 limits denied in the last minute: user 5 of 7 requests.")
        self.assertEqual(page.run("return document.querySelector('#limits tbody tr').dataset.key"), "user", "the tightest first")
        row = self.text_of(page, "#limits tbody tr")
        for words in ("2/h", "2 allowed", "5 denied", "71.4 %"):
            self.assertIn(words, row)
        self.assertRegex(page.run("return document.querySelector('#limits svg').getAttribute('aria-label')"),
                         r"^in five minutes 2 allowed, 5 denied, 0 would be denied$")
        for kind in ("allowed", "denied"):
            self.assertTrue(page.run(f"return document.querySelector('#limits svg .{kind}').getBBox().height > 0"), kind)
        self.assertRegex(self.text_of(page, "#shadows tbody"), r"^trialno end6 would be denied7 in all$")
        self.assertRegex(self.text_of(page, "#under"), r"^storenone: this server decides alonefile.*limits.yamlhash[0-9a-f]+loaded20")
        self.assertEqual(self.wrong(page), [], "no violation of the policy, no error")
        entries = page.run("return performance.getEntriesByType('resource').map(e => e.name)")
        self.assertEqual({re.sub(r"\?.*", "", each.removeprefix(self.url)) for each in entries},
                         {"v1/status", "v1/top", "v1/overrides"})


class TestBanned(PageTest):
    def test_one_who_is_banned_and_still_asks(self):
        with self.server.client() as client:
            client.ask("WEIR.BAN", "LIMIT", "user", "FOR", "600000", "REASON", "scraping", "AS", "user=eve")
            for _ in range(7):
                client.ask("WEIR.CHECK", "user=eve")
        page = self.open()
        self.sees(page, "h1", "1 of 4 limits denied in the last minute: user 7 of 7 requests, 7 of them banned.")
        self.assertIn("7 banned", self.text_of(page, "#limits tbody tr"))
        self.sees(page, "#top-of", "Of 7 by bans in the last")
        row = self.text_of(page, "#top tbody tr")
        self.assertTrue(row.startswith("user=eve banneduser7 denials"), row)
        self.assertEqual(page.run("return [...document.querySelectorAll('#top tbody button')].map(b => b.textContent)"), ["Look"])
        self.assertEqual(self.wrong(page), [])


class TestMany(PageTest):
    """More limits than the server tells the series of, and a store that is not there."""

    limits = ("version: 1\nlimits:\n" + "".join(f"  l{n:02}: {{ by: [user], rate: 1/h burst 1 }}\n" for n in range(60)) +
              "routes:\n" + "".join(f"  - {{ when: {{ a: x{n:02} }}, limits: [l{n:02}] }}\n" for n in range(60)))
    flags = ("--store", "redis://127.0.0.1:1")

    def test_the_tightest_are_shown_and_their_charts_come_one_by_one(self):
        with self.server.client() as client:
            for _ in range(4):
                client.ask("WEIR.CHECK", "a=x42", "user=ada")
        page = self.open()
        self.sees(page, "#limits-more", "The tightest 50 of 60 limits.")
        first = "const row = document.querySelector('#limits tbody tr'); return row.dataset.key + row.textContent"
        until(lambda: page.run(first).startswith("l42") and "3 denied" in page.run(first), "the tightest is first, with its numbers")
        self.assertEqual(page.run("return document.querySelectorAll('#limits tbody tr').length"), 50)
        self.sees(page, "#facts", "does not answer")
        self.sees(page, "#under", "does not answer: ")
        self.assertRegex(self.text_of(page, "#under"), r"not done by itconnection [1-9]")
        for width in (1280, 390):
            page.size(width)
            self.assertEqual(check_overflow(page), [])
        page.run("[...document.querySelectorAll('#top button')].find(b => b.textContent === 'Ban').click()")
        self.assertIn("at every server of this store", self.text_of(page, "#act-says"))


class TestWithUsers(PageTest):
    @classmethod
    def more(cls):
        path = cls.folder.file("users.yaml", users())
        os.chmod(path, 0o600)
        return ("--users", path)

    def setUp(self):
        self.deny()

    def test_signing_in_by_the_keyboard(self):
        page = self.open()
        until(lambda: page.run("return document.getElementById('sign').open"), "it asks who it is")
        self.assertEqual(self.text_of(page, "h1"), "Who are you?")
        self.assertEqual(check_overflow(page) + check_contrast(page), [])
        page.press(TAB, *"wrong-token", ENTER)
        self.sees(page, "#sign [role=alert]", "That is wrong")
        until(lambda: page.run("return document.getElementById('sign').open"), "it asks again")
        page.press(ESCAPE)
        self.assertFalse(page.run("return document.getElementById('sign').open"))
        self.tab_to(page, "Sign in")
        page.press(ENTER, TAB, *token("olga"), ENTER)
        self.sees(page, "#facts", "olga, operate")
        self.assertEqual(page.run("return [sessionStorage.length, localStorage.length, document.cookie, location.href]"),
                         [1, 0, "", self.url])
        self.tab_to(page, "Sign out")
        page.press(ENTER)
        until(lambda: page.run("return document.getElementById('sign').open"), "it asks who it is")
        self.assertEqual(page.run("return sessionStorage.length"), 0)
        self.assertFalse(page.run("return document.getElementById('all').checkVisibility()"))

    def test_who_may_decide_alone_sees_nothing(self):
        page = self.open(signed="dora")
        self.sees(page, "#trouble", "dora has decide")
        self.assertEqual(page.run("return [...document.querySelectorAll('button')].filter(b => b.checkVisibility()).map(b => b.textContent)"),
                         ["Sign in"])
        status, _, text = self.ask("POST", "/v1/overrides", {}, Authorization=f"Bearer {token('dora')}")
        self.assertEqual((status, json.loads(text)["role"]), (403, "operate"))

    def test_look_ban_and_lift_by_the_keyboard(self):
        page = self.open(signed="olga")
        self.sees(page, "#top tbody", "user=ada")
        self.tab_to(page, "Look: user=ada, limit user")
        self.assertNotEqual(page.run("return getComputedStyle(document.activeElement).outlineStyle"), "none", "the focus is seen")
        page.press(ENTER)
        self.sees(page, "#look tbody", "denied")
        self.assertEqual(check_overflow(page) + check_contrast(page), [])
        for _ in range(4):
            page.press(TAB)
            self.assertIn(page.run("return document.activeElement === document.body || document.getElementById('look').contains(document.activeElement)"),
                          [True], "the focus stays inside")
        page.press(ESCAPE)
        self.assertEqual(page.run("return document.activeElement.ariaLabel"), "Look: user=ada, limit user", "and comes back")

        self.tab_to(page, "Ban: user=ada, limit user")
        page.press(ENTER)
        says = self.sees(page, "#act-says", "Every request with user=ada that meets the limit user is denied at this server until")
        self.assertIn("It charges nothing", says)
        page.press(ENTER)
        self.assertTrue(page.run("return document.getElementById('act').open"), "it wants a reason")
        self.tab_to(page, "reason")
        page.press(*"it scrapes", ENTER)
        self.sees(page, "#said", "Done: Ban user=ada.")
        self.sees(page, "#overrides tbody", "it scrapes")
        self.assertRegex(self.text_of(page, "#overrides tbody"), r"it scrapesset 20[-\d: ]+ by olga")
        with self.server.client() as client:
            client.ask("AUTH", token("adam"))
            verdict, limit, _, retry, _, by = client.ask("WEIR.CHECK", "user=ada", "other=x")
            self.assertEqual((verdict, limit, by), (1, 0, b"user"))
            self.assertTrue(800_000 < retry <= 900_000, retry)
            self.assertEqual(client.ask("WEIR.CHECK", "user=bob")[0], 0)
        [told] = json.loads(self.ask("GET", "/v1/overrides", Authorization=f"Bearer {token('olga')}")[2])["overrides"]
        self.assertEqual((told["kind"], told["when"], told["user"]), ("ban", {"user": "ada"}, "olga"))

        self.tab_to(page, f"Lift override {told['number']}")
        page.press(ENTER)
        self.sees(page, "#act-says", "ends now")
        page.press(*"enough", ENTER)
        self.sees(page, "#overrides-of", "None is in force.")
        lines = json.loads(self.ask("GET", "/v1/audit?count=1", Authorization=f"Bearer {token('adam')}")[2])["lines"]
        self.assertEqual((lines[0]["verb"], lines[0]["user"], lines[0]["reason"]), ("LIFT", "olga", "enough"))
        self.assertEqual(self.wrong(page), [])

    def test_raise_and_what_is_refused(self):
        self.deny("tenant=acme|ip=192.0.2.1")
        page = self.open(signed="adam")
        self.sees(page, "#top tbody", "tenant=acme ip=192.0.2.1")
        page.run("document.querySelector('[aria-label^=\"Raise: tenant=acme\"]').click()")
        fields = "for (const [n, v] of Object.entries(arguments[0])) document.querySelector(`#act [name=${n}]`).value = v;"
        page.run(fields + "document.getElementById('act-do').click()", {"rate0": "1/min", "reason": "a launch", "for": "3600"})
        self.sees(page, "#act [role=alert]", "is lower than")
        page.run(fields + "document.querySelector('#act form').oninput();", {"rate0": "50/min burst 9"})
        self.sees(page, "#act-says", "tenant=acme ip=192.0.2.1 gets 50/min burst 9 at the limit pair")
        page.run("document.getElementById('act-do').click()")
        self.sees(page, "#overrides tbody", "a launch")
        with self.server.client() as client:
            client.ask("AUTH", token("adam"))
            self.assertEqual(client.ask("WEIR.CHECK", "tenant=acme", "ip=192.0.2.1")[0], 0)
            self.assertEqual(client.ask("WEIR.LIFT", json.loads(
                self.ask("GET", "/v1/overrides", Authorization=f"Bearer {token('adam')}")[2])["overrides"][0]["number"]), 1)

    def test_looks(self):
        page = self.open(signed="olga")
        self.sees(page, "#top tbody", "user=ada")
        for dialog in ("", "[aria-label^='Ban: user=ada']", "[aria-label^='Raise: user=ada']"):
            if dialog:
                page.run("document.querySelectorAll('dialog[open]').forEach(d => d.close()); document.querySelector(arguments[0]).click()", dialog)
            for width in (1280, 800, 390):
                page.size(width)
                for dark in (False, True):
                    with self.subTest(dialog=dialog, width=width, dark=dark):
                        page.media(dark=dark)
                        self.assertEqual(check_overflow(page) + check_contrast(page), [])
                        ground = luminance(page)
                        self.assertTrue(ground < 0.2 if dark else ground > 0.9, ground)
        page.media()
        moving = page.run("return [...document.querySelectorAll('*')].filter(e => { const s = getComputedStyle(e);"
                          "return parseFloat(s.transitionDuration) || s.animationName !== 'none'; }).length")
        self.assertEqual(moving, 0, "nothing moves, whatever somebody prefers")
        named = page.run(f"return [...document.querySelectorAll('{CONTROLS}')].filter(e => !(e.ariaLabel || e.textContent || e.closest('label'))).length")
        self.assertEqual(named, 0, "every control has a name")


if __name__ == "__main__":
    run()
