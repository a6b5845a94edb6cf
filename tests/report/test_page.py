"""The pages of `weir replay`, `weir suggest` and `weir diff`, in a browser: what is drawn, and that nothing gets out.

Each check is a function that returns what is wrong. TestTheChecks breaks a page on purpose and wants each of them to
say so: a check that cannot fail is not a test.
"""
import datetime
import faulthandler
import html
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

from browser import Browser, check_contrast, check_overflow, luminance, open_page

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEIR = os.environ.get("WEIR_PROGRAM", str(ROOT / "build/dev/src/cli/weir"))
EXAMPLE = ROOT / "examples/replay/access.log"
WIDTHS = (1280, 800, 390)
START = datetime.datetime(2026, 3, 17, 8)
shared = None  # One browser for all tests: it takes a second to start.
folder = None


def setUpModule():
    global shared, folder
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-page-"))
    shared = Browser()


def tearDownModule():
    shared.close()
    shutil.rmtree(folder, ignore_errors=True)


# --- Pages ---

def row(second, client):
    at = START + datetime.timedelta(seconds=second)
    return f'{client} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET / HTTP/1.1" 200 12\n'


def log(name, rows):
    path = folder / name
    path.write_bytes(b"".join(each if isinstance(each, bytes) else each.encode() for each in rows))
    return path


def hours():
    """Two hours: visitors, one who asks all the time, names that would break out, and lines that cannot be read."""
    def record(second, client):
        return f'{START + datetime.timedelta(seconds=second):%Y-%m-%dT%H:%M:%SZ},"{client}"\n'

    def time_of(row):
        return (row if isinstance(row, str) else row.decode("latin-1"))[:20]

    rows = [record(second, f"192.0.2.{second % 7}") for second in range(0, 7200, 9)]
    rows += [record(second, "192.0.2.99") for second in range(1800, 3600)]
    rows += [record(second, "</script><b>x") for second in range(0, 7200, 20)] * 2
    rows += [record(0, "caf\xe9\xff").encode("latin-1") for _ in range(90)]
    rows += [record(5, "x" * 300), record(6, "\u202eevil"), b"</script><script>console.log(1)</script> no time \xff\x00\n"]
    return log("hours.csv", ["time,ip\n", *sorted(rows, key=time_of)])


def weir(*args):
    done = subprocess.run([WEIR, *map(str, args)], capture_output=True, timeout=60, stdin=subprocess.DEVNULL, cwd=folder)
    assert done.returncode in (0, 1), (args, done.stderr)
    return done.stdout


def page_of(kind, *args):
    out = folder / f"{kind}.html"
    weir(kind, *args, "--html", out)
    return out


def limits(*texts):
    return [word for text in texts for word in ("--limit", text)]


def pages():
    """Every page that is looked at: a name, and how it is made."""
    one = log("one.log", [row(0, "192.0.2.1")])
    minute = log("minute.log", [row(n, "192.0.2.1") for n in range(60)])
    quiet = log("quiet.log", [row(n * 60, f"192.0.2.{n % 9}") for n in range(90)])
    century = log("century.log", [row(n * 86400 * 200, f"192.0.2.{n % 9}") for n in range(90)])
    days = log("days.log", [row(n * 43200, f"192.0.2.{n % 3}") for n in range(400)])
    bad = folder / "bad"
    bad.write_text("203.0.113.66\n")
    dense = log("dense.log", [row(n // 20, f"198.51.{n % 200}.{n % 31}") for n in range(12000)])
    return {
        "1 limit": ("replay", EXAMPLE, *limits("60/min")),
        "2 limits": ("replay", EXAMPLE, *limits("60/min", "100/min")),
        "5 limits": ("replay", EXAMPLE, *limits("7/s", "60/min", "100/min", "5/min burst 60",
                                                "1000/h algorithm=sliding_window_counter")),
        "12 limits": ("replay", hours(), *limits(*(f"{n}/min burst {5 * n}" for n in range(1, 13)))),
        "nobody denied": ("replay", quiet, *limits("100/min", "200/min")),
        "nearly all denied": ("replay", minute, *limits("1/d")),
        "all denied": ("replay", minute, *limits("1/d"), "--cost", "bytes"),
        "one request": ("replay", one, *limits("1/s")),
        "200 days": ("replay", days, *limits("10/d", "1/s")),
        "suggest beside the bad": ("suggest", EXAMPLE, "--deny-clients", "2", "--bad", bad, "--where", "path=/*", "--where", "status!=500"),
        "long names of limits": ("replay", EXAMPLE, *limits("1000/h algorithm=sliding_window_counter",
                                                            "60/min algorithm=fixed_window align=clock")),
        "a century": ("replay", century, *limits("1/d", "1/s")),
        "many clients": ("replay", dense, *limits("1/min", "10/s"), "--worst", "1000"),
        "pseudonyms": ("replay", EXAMPLE, *limits("60/min"), "--anonymize"),
        "a file": ("replay", EXAMPLE, "--limits", ROOT / "examples/limits/public_api.yaml"),
        "plans": ("replay", EXAMPLE, "--plans", plans(), *limits("gold=60/min,*=5/min")),
        "suggest": ("suggest", EXAMPLE, "--deny-clients", "1%", "--today", "100/min"),
        "suggest requests": ("suggest", EXAMPLE, "--deny-requests", "1%"),
        "suggest from one": ("suggest", one, "--deny-clients", "0%"),
        "diff": ("diff", limits_file("old", "60/min"), limits_file("new", "5/min burst 60"), "--log", EXAMPLE),
        "diff without a log": ("diff", limits_file("old", "60/min"), limits_file("new", "5/min")),
    }


def plans():
    path = folder / "plans.csv"
    path.write_text("203.0.113.66,gold\n")
    return path


def limits_file(name, rate):
    path = folder / f"{name}.yaml"
    path.write_text(f"version: 1\nlimits:\n  client: {{ by: [ip], rate: {rate} }}\n")
    return path


# --- Checks: each returns a list of what is wrong ---

def check_console(page):
    return page.console()


def check_plots(page):
    """Each drawing has a size, a label and shapes, no NaN, and its words keep their size and distance."""
    return page.run("""
        const wrong = [];
        for (const plot of document.querySelectorAll("[data-plot]")) {
          const frame = plot.getBoundingClientRect(), say = what => wrong.push(`${plot.dataset.plot}: ${what}`);
          if (!plot.getClientRects().length) continue;  // of another limit, or too narrow for it
          if (!(frame.width > 20 && frame.height > 20)) say("has no size");
          if (plot.getAttribute("role") !== "img" || !plot.getAttribute("aria-label")) say("has no role or label");
          for (const element of plot.querySelectorAll("*")) {
            for (const {name, value} of element.attributes) {
              if (/NaN|Infinity|undefined|null|-?inf\\b/.test(value)) say(`${name}="${value}"`);
            }
          }
          const shapes = [...plot.querySelectorAll("path:not(.grid)")].map(s => s.getBoundingClientRect());
          if (!shapes.some(s => s.width > 0)) say("draws nothing");
          for (const s of shapes) if (s.left < frame.left - 1 || s.right > frame.right + 1) say("draws outside");
          const words = [...plot.querySelectorAll(".x, .y")].filter(t => t.getClientRects().length);
          if (plot.dataset.plot !== "strip" && !words.length) say("has no words");
          for (const t of words) {
            const b = t.getBoundingClientRect();
            if (parseFloat(getComputedStyle(t).fontSize) < 12) say(`"${t.textContent}" is small`);
            if (b.left < 0 || b.right > innerWidth) say(`"${t.textContent}" is cut off`);
            for (const o of words) {
              const c = o.getBoundingClientRect();
              if (o !== t && b.left < c.right + 3 && c.left < b.right + 3 && b.top < c.bottom - 4 && c.top < b.bottom - 4) {
                say(`"${t.textContent}" lies on "${o.textContent}"`);
              }
            }
          }
        }
        return [...new Set(wrong)];
    """)


def check_numbers(page, report):
    """The grid has the report's numbers, and a limit's chart has the denied colour exactly if it denied anything."""
    wrong = []
    rows = page.run("""return [...document.querySelectorAll(".grid tbody tr")].map(r => [...r.cells].map(c => c.textContent))""")
    if report["kind"] == "suggest":
        return [] if len(rows) >= len(report["suggestions"]) else [f"{len(rows)} suggestions"]
    drawn = page.run("""return [...document.querySelectorAll("[data-plot=over-time]")].map(p =>
        [p.querySelectorAll("path.denied").length > 0, [...p.querySelectorAll(".y")].map(t => t.textContent).join()])""")
    for limit, cells, (denied, _) in zip(report["limits"], rows, drawn, strict=True):
        if cells[0] != limit["limit"] or cells[2].split()[0] != f"{limit['denied']:,}" or \
                cells[3].split()[0] != f"{limit['clients_denied']:,}" or \
                cells[6].split()[0] != f"{limit['peak_admitted_minute']:,}":
            wrong.append(f"{limit['limit']}: {cells}")
        if denied != (limit["denied"] > 0):
            wrong.append(f"{limit['limit']}: denied drawn: {denied}")
    if len({scale for _, scale in drawn}) != 1:
        wrong.append(f"scales differ: {drawn}")
    return wrong


def check_dark(page):
    page.media(dark=False)
    light, wrong = luminance(page), [f"light: {each}" for each in check_contrast(page)]
    page.media(dark=True)
    dark = luminance(page)
    wrong += [f"dark: {each}" for each in check_contrast(page)]
    page.media()
    return wrong + ([] if light > 0.9 and dark < 0.2 else [f"ground: light {light}, dark {dark}"])


def check_print(page):
    """On paper: white although the screen is dark, every limit, no tooltip, nothing cut."""
    wrong = []
    page.media(dark=True, medium="print")
    if luminance(page) != 1:
        wrong.append("the paper is not white")
    wrong += [f"print: {each}" for each in check_contrast(page)]
    wrong += page.run("""
        const wrong = [], tip = document.getElementById("tip");
        tip.hidden = false;
        if (getComputedStyle(tip).display !== "none") wrong.push("a tooltip is printed");
        tip.hidden = true;
        for (const e of document.querySelectorAll("section")) if (!e.getClientRects().length) wrong.push(`${e.id} is missing`);
        for (const e of document.querySelectorAll("figure, tr")) {
          if (getComputedStyle(e).breakInside !== "avoid") wrong.push(`${e.tagName} may be cut by a page's end`);
        }
        return [...new Set(wrong)];
    """)
    page.media()
    if not page.pdf(paperWidth=8.27, paperHeight=11.69).count(b"/Type /Page\n"):
        wrong.append("nothing was printed")
    return wrong


class Listener:
    """A server on this machine that counts the requests it gets."""

    def __enter__(self):
        self.asked = []
        listener = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                listener.asked.append(self.path)
                self.send_response(204)
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def check_network(page):
    """The page loaded nothing, and could not if it tried: even script that got into it reaches no server."""
    wrong = [f"loaded {name}" for name in page.run("return performance.getEntriesByType('resource').map(e => e.name)")]
    with Listener() as listener:
        page.run("""
            const url = arguments[0], make = (tag, properties) => Object.assign(document.createElement(tag), properties);
            const add = (tag, properties) => document.body.append(make(tag, properties));
            new Image().src = url + "/image";
            add("script", {src: url + "/script"});
            add("link", {rel: "stylesheet", href: url + "/style"});
            add("iframe", {src: url + "/frame"});
            add("div", {style: `background: url(${url}/background); width: 9px; height: 9px`});
            fetch(url + "/fetch", {mode: "no-cors"}).catch(() => {});
            navigator.sendBeacon(url + "/beacon", "x");
            const form = make("form", {action: url + "/form", method: "post", target: "_self"});
            document.body.append(form);
            form.submit();
        """, listener.url)
        page.run("return 0")
        page.settle()
        threading.Event().wait(0.3)
        wrong += [f"reached {path}" for path in sorted(set(listener.asked))]
    page.console()  # The refusals are what was asked for.
    return wrong


def check_tooltip(page):
    wrong = []
    for kind in page.run("""return [...new Set([...document.querySelectorAll("[data-plot]")].filter(p =>
                            p.getClientRects().length).map(p => p.dataset.plot))]"""):
        for at in (0.5, 0.97):
            x, y = page.run("""const plot = [...document.querySelectorAll(`[data-plot=${arguments[0]}]`)].find(p =>
                p.getClientRects().length);
                plot.scrollIntoView({block: "center", behavior: "instant"});
                const b = plot.getBoundingClientRect(); return [b.left + b.width * arguments[1], b.top + b.height / 2]""", kind, at)
            page.hover(x, y)
            tip = page.run("""const tip = document.getElementById("tip"), b = tip.getBoundingClientRect();
                return {shown: b.width > 0, text: tip.innerText,
                        inside: b.left >= 0 && b.top >= 0 && b.right <= innerWidth && b.bottom <= innerHeight,
                        mark: document.querySelectorAll(".mark").length}""")
            if not tip["shown"] or not tip["inside"] or tip["mark"] != 1:
                wrong.append(f"{kind}: {tip}")
            elif "denied" not in tip["text"] and "burst" not in tip["text"] or not any(c.isdigit() for c in tip["text"]):
                wrong.append(f"{kind}: the tooltip says {tip['text']!r}")
            page.hover(2, 2)
            if page.run("return document.getElementById('tip').getBoundingClientRect().width > 0"):
                wrong.append(f"{kind}: the tooltip stays")
    return wrong


def check_text(page):
    """What a stranger wrote is on the page as text and has made no element."""
    wrong = page.run("""return [...document.querySelectorAll("main :is(img, script, iframe, style, object, b b)")]
        .map(e => e.outerHTML)""")
    wrong += page.run("""return [...document.querySelectorAll("main *")].flatMap(e => [...e.attributes])
        .filter(a => a.name.startsWith("on") || /^\\s*javascript:/i.test(a.value) && a.name === "href").map(a => a.name)""")
    wrong += page.run("""return [...document.querySelectorAll(".name")].filter(e => !e.title || e.textContent.length > 60)
        .map(e => `${e.title} is shown as ${e.textContent}`)""")
    return wrong


# --- Tests ---

class TestPages(unittest.TestCase):
    def test_every_page(self):
        for name, (kind, *args) in pages().items():
            path = page_of(kind, *args)
            text = path.read_text(encoding="utf-8")
            report = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
            page = open_page(shared, path)
            for width in WIDTHS:
                with self.subTest(page=name, width=width):
                    page.size(width)
                    self.assertEqual(check_plots(page), [])
                    self.assertEqual(check_overflow(page), [])
            with self.subTest(page=name):
                self.assertEqual(check_text(page), [])
                self.assertEqual(check_console(page), [])
                if report["kind"] != "diff":
                    self.assertEqual(check_numbers(page, report), [])
                headline = page.run("return document.querySelector('h1').textContent")
                self.assertRegex(headline, r"^.{12,240}\.$")
                for series in [report["series"]] if "series" in report else []:
                    self.assertLessEqual(len(series["requests"]), 120, "a chart that is too fine")
                self.assertLess(len(text), 3_000_000)

    def test_a_million_clients(self):
        """As complete and as small as of a few."""
        clients = [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(1_000_000)]
        rows = ["time,ip\n", *(f"2026-03-17T08:00:00Z,{each}\n" for each in clients),
                *(f"2026-03-17T08:00:01Z,{each}\n" for each in clients[::5000] for _ in range(3))]
        path = page_of("replay", log("million.csv", rows), *limits("1/h", "2/h", "100/h"), "--worst", "1000")
        text = path.read_text(encoding="utf-8")
        self.assertLess(len(text), 300_000)
        report = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
        self.assertEqual((report["clients"], [each["clients_denied"] for each in report["limits"]]), (1_000_000, [200, 200, 0]))
        page = open_page(shared, path)
        for width in WIDTHS:
            page.size(width)
            self.assertEqual(check_plots(page) + check_overflow(page), [])
        self.assertEqual(check_numbers(page, report) + check_text(page) + check_console(page), [])
        words = page.run("return document.querySelector('main').textContent").replace("\u00a0", " ")
        for word in ("200 of 1,000,000 clients", "1,000,600", "The 100 of 200 clients denied most", "999,800"):
            self.assertIn(word, words)
        self.assertEqual(page.run("return document.querySelectorAll('#limit-1 .worst tbody tr').length"), 100)
        self.assertEqual(page.run("return document.querySelectorAll('.worst [data-plot=strip]').length"), 40)

    def test_looks(self):
        made = pages()
        for name in ("5 limits", "12 limits", "nobody denied", "nearly all denied", "all denied", "suggest", "diff", "a file"):
            with self.subTest(page=name):
                page = open_page(shared, page_of(*made[name]))
                self.assertEqual(check_dark(page), [])
                self.assertEqual(check_print(page), [])
                self.assertEqual(check_tooltip(page), [])
                page.size(390)
                self.assertEqual(check_tooltip(page), [])
                self.assertEqual(check_console(page), [])
                self.assertEqual(check_network(page), [])

    def test_what_a_reader_missed(self):
        """Dates on a long span, the log of a diff, a word beside each bar, no best among equals."""
        made = pages()
        page = open_page(shared, page_of(*made["200 days"]))
        for width in WIDTHS:
            page.size(width)
            dates = page.run("return [...document.querySelectorAll('.over-time .x')].filter(t => t.getClientRects().length)"
                             ".map(t => t.textContent)")
            self.assertTrue({"2026-05-01"} <= set(dates) or {"2026-07-01"} <= set(dates), (width, dates))
        bars = page.run("return [...document.querySelectorAll('.bar')].map(b => b.parentElement.textContent.trim())")
        self.assertTrue(bars and all(re.fullmatch(r"([<>] )?[\d.]+\s%", each) for each in bars), bars)
        self.assertEqual(page.run("return [...document.querySelectorAll('th')].filter(t => !t.textContent.trim()).length"), 0)
        page = open_page(shared, page_of(*made["diff"]))
        self.assertIn("access.log", page.run("return document.querySelector('.facts').textContent"))
        best = "return [...document.querySelectorAll('td.best')].map(t => t.textContent)"
        self.assertEqual(open_page(shared, page_of(*made["nobody denied"])).run(best), [])
        three = page_of("replay", EXAMPLE, *limits("60/min", "5000/min", "6000/min"))
        self.assertNotIn("0 denied", open_page(shared, three).run(best))
        self.assertTrue(open_page(shared, page_of(*made["5 limits"])).run(best))
        page = open_page(shared, page_of(*made["long names of limits"]), width=390)
        self.assertLessEqual(page.run("return document.querySelector('h1').scrollWidth"), 390 - 32)

    def test_it_is_complete_without_scripts(self):
        made = pages()
        for name in ("12 limits", "suggest", "diff"):
            path = page_of(*made[name])
            static = re.sub(r"<script>.*?</script>", "", path.read_text(encoding="utf-8"), flags=re.S)
            path.write_text(static, encoding="utf-8")
            with self.subTest(page=name):
                page = open_page(shared, path)
                for width in WIDTHS:
                    page.size(width)
                    self.assertEqual(check_plots(page), [])
                    self.assertEqual(check_overflow(page), [])
                hidden = page.run("return [...document.querySelectorAll('section')].filter(s => !s.getClientRects().length).length")
                self.assertEqual(hidden, 0)

    def test_a_window_has_no_place_between_rate_and_burst(self):
        """The curve is gcra's. What counts otherwise is in the table alone, and that is said."""
        for today, drawn in (("100/min", True), ("100/min algorithm=fixed_window", False),
                             ("50000/month align=calendar", False)):
            with self.subTest(today=today):
                page = open_page(shared, page_of("suggest", EXAMPLE, "--deny-clients", "1%", "--today", today))
                dots = page.run("return [...document.querySelectorAll('.curve .dot')].map(d => d.title)")
                self.assertEqual(today in dots, drawn, dots)
                words = page.run("return document.querySelector('main').textContent")
                self.assertEqual(f"{today} counts by a rule of its own" in words, not drawn)
                self.assertIn(today, page.run("return document.querySelector('.suggested').textContent"))
                self.assertEqual(check_plots(page), [])

    def test_switching_and_sorting(self):
        page = open_page(shared, page_of("replay", EXAMPLE, *limits("7/s", "60/min", "100/min")))
        shown = "return [...document.querySelectorAll('section.limit')].filter(s => s.getClientRects().length).map(s => s.id)"
        self.assertEqual(page.run(shown), ["limit-1"])
        page.run("document.querySelectorAll('.tabs button')[1].click()")
        self.assertEqual(page.run(shown), ["limit-2"])
        page.run("document.querySelectorAll('.tabs button')[3].click()")
        self.assertEqual(page.run(shown), ["limit-1", "limit-2", "limit-3"])
        page.run("document.querySelectorAll('.grid a')[2].click()")
        page.settle()
        self.assertEqual(page.run(shown), ["limit-3"])
        order = "return [...document.querySelectorAll('.grid tbody tr')].map(r => r.cells[0].textContent)"
        page.run("document.querySelectorAll('.grid th button')[1].click()")
        self.assertEqual(page.run(order), ["100/min", "7/s", "60/min"])
        page.run("document.querySelectorAll('.grid th button')[1].click()")
        self.assertEqual(page.run(order), ["60/min", "7/s", "100/min"])

    def test_five_limits_fit_a_narrow_page(self):
        """Where one limit took 270 px before."""
        page = open_page(shared, page_of(*pages()["5 limits"]), width=390)
        self.assertLess(page.run("return document.querySelector('.grid').getBoundingClientRect().height"), 270)

    def test_words(self):
        made = pages()
        for name, words in {
            "5 limits": ("100/min would have denied nobody; 7/s 1 of 153 clients (1.2 % of the requests); 5/min burst 60 1 of 153 clients, which asked 1.2 times a second for 20m.", "5 limits compared", "1,315", "Locked out longest: 203.0.113.66"),
            "nobody denied": ("100/min and 200/min would have denied nobody.", "Nobody would have been denied: all 90 requests"),
            "pseudonyms": ("client ",),
            "a file": ("A request is charged to all limits that it meets", "limits file", "All limits together, and each of them",
                       "The 10 of 44 clients denied most"),
            "plans": ("All plans together, and each of them", "Each client is decided by the limit of its plan",
                      "by plan would have denied"),
            "one request": ("the one request is allowed",),
            "12 limits": ("could not be read", "too few columns", "client 2"),
            "suggest": ("60/min would have denied 1 of 153 clients", "today\u2019s 100/min nobody", "the knee", "1 a minute",
                        "period longer than the log", "213 denied1 client56/min", "Every limit on the line or above it meets the criterion",
                        "56/min denies 298", "less than the period of '700/d'"),
            "diff": ("The new file would have denied", "more requests of 3,945", "203.0.113.66", "changed", "old.yaml",
                     "213 denied1 client", "131 clients", "Over time, before", "Over time, after", "requests in 2 minutes"),
        }.items():
            page = open_page(shared, page_of(*made[name]))
            text = page.run("return document.querySelector('main').textContent").replace("\u00a0", " ")
            for word in words:
                with self.subTest(page=name):
                    self.assertIn(word, text)

    def test_what_a_stranger_wrote(self):
        """No name but addresses, no text of a line, and not the folder of a file."""
        text = page_of("replay", hours(), *limits("1/min", "1/h")).read_text(encoding="utf-8")
        self.assertNotIn(str(folder), page_of(*pages()["diff"]).read_text(encoding="utf-8"))
        for word in ("<b>x", "&lt;b&gt;x", "caf", "xxxx", "evil", "console.log", str(folder)):
            self.assertNotIn(word, text)
        self.assertEqual(text.count("</script"), 2)
        shown = subprocess.run([WEIR, "replay", hours(), *limits("1/min")], capture_output=True, check=True).stdout
        self.assertIn(b"<b>x", shown)

    def test_a_hostile_file_name(self):
        path = log('"><img src=x onerror=alert(1)>.log', [row(n, "192.0.2.1") for n in range(30)])
        page = open_page(shared, page_of("replay", path, *limits("1/min")))
        self.assertEqual(check_text(page), [])
        self.assertEqual(check_console(page), [])
        self.assertIn(html.unescape("onerror=alert(1)"), page.run("return document.querySelector('.facts').textContent"))


class TestTheChecks(unittest.TestCase):
    """Each row breaks the page; the check that is named has to find it."""

    def broken(self, old, new, name="5 limits", width=1280):
        path = page_of(*self.made[name])
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new), encoding="utf-8")
        return open_page(shared, path, width=width)

    def test_checks_fail(self):
        self.made = pages()
        policy = '<meta http-equiv="Content-Security-Policy"'
        for what, check, finds, old, new, more in (
            ("a line in the console", check_console, "INFO", '"use strict";', '"use strict"; console.log(1);', {}),
            ("an uncaught error", check_console, "nothing is not defined", '"use strict";',
             '"use strict"; queueMicrotask(() => nothing());', {}),
            ("a refused picture", check_console, "Content Security Policy", "<main>",
             '<img src="http://127.0.0.1:9/x"><main>', {}),
            ("no number", check_plots, "nan", 'class="allowed" d="M0 100', 'class="allowed" d="M0 NaN', {}),
            ("an empty chart", check_plots, "draws nothing", '<path class="', '<path class="grid ', {}),
            ("no size", check_plots, "has no size", ".strip { height: 34px; }", ".strip { height: 0; }", {}),
            ("small text", check_plots, "is small", ".x, .y { position: absolute; color: var(--quiet); font-size: 12.5px",
             ".x, .y { position: absolute; color: var(--quiet); font-size: 9px", {}),
            ("text on text", check_plots, "lies on", ".x.odd { display: none; }", "", {"name": "suggest", "width": 390}),
            ("a wide page", check_overflow, "ends", ".facts {", ".facts { width: 500px;", {"width": 390}),
            ("no dark page", check_dark, "ground:", "(prefers-color-scheme: dark)", "(prefers-color-scheme: dusk)", {}),
            ("pale text", check_dark, "light: ", "--quiet: #566170;", "--quiet: #8995a5;", {}),
            ("dark on dark", check_dark, "dark: H1", "--text: #e4e8ed;", "--text: #343840;", {}),
            ("dark paper", check_print, "print: H1", "@media screen and (prefers-color", "@media (prefers-color", {}),
            ("a printed tooltip", check_print, "tooltip is printed", ".tip, .tabs { display: none; }", "", {}),
            ("one limit on paper", check_print, "limit-2 is missing", "section, section.hidden { display: block;",
             "section {", {}),
            ("cut charts", check_print, "FIGURE may be cut", "figure, tr, .notes li", ".notes li", {}),
            ("no policy", check_network, "reached /fetch", policy, '<meta http-equiv="X-None"', {}),
            ("no policy for forms", check_network, "reached /form", "form-action 'none'", "", {}),
            ("no tooltip", check_tooltip, "'shown': False", "tip.hidden = false;", "", {}),
            ("a tooltip that stays", check_tooltip, "stays", '"pointerleave"', '"pointerleft"', {}),
            ("a tooltip outside", check_tooltip, "'inside': False", "tip.offsetWidth > innerWidth - 8", "0 > 1e9",
             {"width": 390}),
            ("names as HTML", check_text, "<img", '<td class="client">', '<td class="client"><img>', {}),
        ):
            with self.subTest(broken=what):
                found = "\n".join(check(self.broken(old, new, **more)))
                self.assertIn(finds.lower(), found.lower())
        shared.ask("POST", "/url", {"url": "about:blank"})


if __name__ == "__main__":
    faulthandler.dump_traceback_later(280, exit=True)
    unittest.main(warnings="ignore")
