"""The page of `weir replay --html` and `weir suggest --html`, in a browser: what is drawn, and that nothing gets out.

Each check is a function that returns what is wrong. TestTheChecks breaks the page on purpose and wants each of them to
say so: a check that cannot fail is not a test.
"""
import faulthandler
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

from browser import MARKER, TEMPLATE, Browser, open_page, write_page

HERE = pathlib.Path(__file__).resolve().parent
WIDTHS = (1200, 800, 400)
shared = None  # One browser for all tests: it takes a second to start.
folder = None


def setUpModule():
    global shared, folder
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-page-"))
    shared = Browser()


def tearDownModule():
    shared.close()
    shutil.rmtree(folder, ignore_errors=True)


# --- Reports ---

def sample(kind):
    return json.loads((HERE / f"sample_{kind}.json").read_text(encoding="utf-8"))


def replay(series, limits, worst=(), bin_s=60, start=1431857100):
    """A small report: `limits` are the series of denied requests, one for each limit."""
    requests = sum(series)
    size = max(requests, 1).bit_length()
    clients = [0] * (size - 1) + [1] if requests else []

    def limit(number, denied):
        return {"limit": f"{number + 1}/min", "algorithm": "fixed_window", "requests": requests,
                "allowed": requests - sum(denied), "denied": sum(denied), "never": 0,
                "denied_share": sum(denied) / requests if requests else 0, "units_admitted": requests - sum(denied),
                "clients_denied": int(sum(denied) > 0), "longest_locked_out_s": 12.5 if sum(denied) else 0,
                "longest_locked_out_client": "192.0.2.1" if sum(denied) else None, "peak_admitted_second": 1,
                "peak_admitted_minute": 2, "series_denied": denied,
                "distribution_denied": [int(c > 0 and sum(denied) > 0) for c in clients], "worst": list(worst)}
    return {"kind": "replay", "weir": "0.1.0", "interrupted": False, "files": ["a.log"], "key": "ip", "cost": "1",
            "reorder": "60s", "from": "2015-05-17T10:05:00Z" if requests else None,
            "to": "2015-05-17T10:06:00Z" if requests else None, "clients": len(clients) and 1, "units": requests,
            "lines": {"read": requests, "requests": requests, "reordered": 0, "clamped": 0, "unreadable": 0,
                      "unreadable_examples": []},
            "series": {"from_s": start, "bin_s": bin_s, "requests": series},
            "distribution": {"requests_from": [2 ** i for i in range(len(clients))], "clients": clients},
            "limits": [limit(*each) for each in enumerate(limits)]}


def worst(name="192.0.2.1", timeline=None):
    return {"client": name, "requests": 9, "denied": 4, "first_denied": "2015-05-17T10:05:03Z", "timeline": timeline}


ONE = {"from_s": 1431857100, "bin_s": 1, "requests": [9], "denied": [4]}
SAMPLES = {"replay": sample("replay"), "suggest": sample("suggest")}
NO_CRITERION = {key: SAMPLES["suggest"][key] for key in SAMPLES["suggest"] if key not in ("suggestions", "tradeoff")}
REPORTS = {
    **SAMPLES,
    "empty log": replay([], [[]]),
    "empty log, nulls": {**replay([], [[], []]), "series": None, "distribution": None},
    "one bin": replay([9], [[4]], [worst(timeline=ONE)]),
    "one request": replay([1], [[0]], bin_s=1),
    "two bins": replay([3, 9], [[0, 4]], [worst(timeline=None)]),
    "16 limits": replay([5, 9, 0, 7], [[i % 3, i % 5, 0, i % 7] for i in range(16)], [worst(timeline=ONE)] * 10),
    "nothing denied": replay([5, 9, 0, 7], [[0, 0, 0, 0]]),
    "all denied": replay([5, 9, 0, 7], [[5, 9, 0, 7]]),
    "interrupted": {**replay([5, 9], [[1, 0]]), "interrupted": True},
    "broken off": {**replay([5, 9], [[1, 0]]),
                   "lines": {**replay([5, 9], [[1, 0]])["lines"], "broken": ["a.log.gz: <b>truncated</b>"]}},
    "512 bins of a day": replay([10 ** 9 + i for i in range(512)], [[i * 10 ** 6 for i in range(512)]], bin_s=86400),
    "a century": replay([7] * 500, [[1] * 500], bin_s=86400 * 73, start=0),
    "over a new year": replay([7] * 400, [[1] * 400], bin_s=86400, start=1420000000),
    "units, not requests": {**replay([5, 9], [[1, 0]]), "cost": "bytes", "units": 10 ** 15},
    "suggest good clients": {**SAMPLES["suggest"], "criterion": {"good_clients": 1}, "allowed_denied_clients": None},
    "suggest requests": {**SAMPLES["suggest"], "criterion": {"deny_requests": 0.01}, "allowed_denied_clients": None},
    "suggest one point": {**SAMPLES["suggest"], "suggestions": [], "tradeoff": SAMPLES["suggest"]["tradeoff"][:1]},
    "suggest nothing": {**NO_CRITERION, "suggestions": [], "tradeoff": []},
}


def expected_plots(report):
    """How many plots of each kind a report has."""
    if report["kind"] == "suggest":
        return {"tradeoff": 1} if report["tradeoff"] or report["suggestions"] else {}
    if not report["lines"]["requests"]:
        return {}
    limits = report["limits"]
    counts = {"over-time": len(limits), "clients": len(limits),
              "timeline": sum(w["timeline"] is not None for limit in limits for w in limit["worst"])}
    return {kind: n for kind, n in counts.items() if n}


# --- Checks: each returns a list of what is wrong ---

def check_console(page):
    return page.console()


def check_plots(page, report):
    wrong = page.run("""
        const wrong = [], say = (svg, what) => wrong.push(`${svg.dataset.plot}: ${what}`);
        for (const svg of document.querySelectorAll("svg.plot")) {
          const frame = svg.getBoundingClientRect(), box = svg.parentElement;
          if (!(frame.width > 0 && frame.height > 0)) say(svg, "has no size");
          if (svg.getAttribute("role") !== "img" || !svg.getAttribute("aria-label")) say(svg, "has no role or label");
          if (Math.abs(frame.width - box.clientWidth) > 1) say(svg, `is ${frame.width} wide in ${box.clientWidth}`);
          for (const element of [svg, ...svg.querySelectorAll("*")]) {
            for (const {name, value} of element.attributes) {
              if (name !== "aria-label" && /NaN|Infinity|undefined|null/.test(value)) say(svg, `${name}="${value}"`);
            }
          }
          const shapes = [...svg.querySelectorAll("path, circle")].map(s => s.getBoundingClientRect());
          if (!shapes.some(s => s.width > 0 && s.height > 0)) say(svg, "draws nothing");
          for (const s of shapes.filter(s => s.width && s.height)) {
            const outside = s.left < frame.left - 1 || s.right > frame.right + 1 || s.top < frame.top - 1;
            if (outside || s.bottom > frame.bottom + 1) say(svg, "draws outside");
          }
          const texts = [...svg.querySelectorAll("text")].filter(t => t.textContent);
          if (!texts.length) say(svg, "has no text");
          for (const t of texts) {
            const size = parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a, b = t.getBoundingClientRect();
            if (size < 11) say(svg, `"${t.textContent}" is ${size} px`);
            const cut = b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 3;
            if (cut || b.bottom > frame.bottom + 3) say(svg, `"${t.textContent}" is cut off`);
            for (const o of texts) {
              const c = o.getBoundingClientRect();
              if (o !== t && b.left < c.right + 3 && c.left < b.right + 3 && b.top < c.bottom - 4 && c.top < b.bottom - 4) {
                say(svg, `"${t.textContent}" lies on "${o.textContent}"`);
              }
            }
          }
        }
        return wrong;
    """)
    counts = {}
    for kind in page.run("return [...document.querySelectorAll('svg.plot')].map(s => s.dataset.plot)"):
        counts[kind] = counts.get(kind, 0) + 1
    if counts != expected_plots(report):
        wrong.append(f"plots: {counts}, expected {expected_plots(report)}")
    return wrong


def check_denied_is_drawn(page, report):
    """The denied colour is in a limit's chart over time exactly if anything was denied; and all have one scale."""
    if "over-time" not in expected_plots(report):
        return []
    drawn = page.run("""return [...document.querySelectorAll("svg[data-plot=over-time]")].map(svg =>
        [svg.querySelector("path.denied").getBBox().height > 0, svg.querySelector("path.allowed").getBBox().height > 0,
         [...svg.querySelectorAll("text[text-anchor=end]")].map(t => t.textContent).join()])""")
    wrong = [f"{limit['limit']}: denied drawn: {denied}, allowed drawn: {allowed}"
             for limit, (denied, allowed, _) in zip(report["limits"], drawn, strict=True)
             if denied != (limit["denied"] > 0) or allowed != (limit["allowed"] > 0)]
    if len({scale for _, _, scale in drawn}) != 1:
        wrong.append(f"scales differ: {drawn}")
    return wrong


def check_overflow(page):
    """Nothing sticks out of the window, so the page does not scroll sideways; a box that scrolls may hold more."""
    return page.run("""
        const root = document.documentElement, wrong = [];
        if (root.scrollWidth > root.clientWidth) wrong.push(`${root.scrollWidth} px wide in ${root.clientWidth}`);
        for (const e of document.querySelectorAll("main *")) {
          if (!e.closest(".scroll") && !e.closest("svg") && e.getBoundingClientRect().right > root.clientWidth + 1) {
            wrong.push(`${e.tagName}.${e.className} ends at ${e.getBoundingClientRect().right}`);
          }
        }
        return wrong;
    """)


def check_contrast(page):
    """All visible text has a contrast of 4.5 or more on the nearest ground that is not transparent."""
    return page.run("""
        const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
        const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
        const light = ([r, g, b]) => .2126 * linear(r / 255) + .7152 * linear(g / 255) + .0722 * linear(b / 255);
        const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
                              if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
        const wrong = new Set(), seen = new Set();
        const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
          const e = walk.currentNode.parentElement, style = getComputedStyle(e);
          if (!walk.currentNode.data.trim() || !e.getClientRects().length) continue;
          const a = light(parse(e.closest("svg") ? style.fill : style.color)), b = light(ground(e));
          const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
          seen.add(e.closest("svg") ? "svg" : e.closest("table") ? "table" : "body");
          const what = `${e.tagName}.${e.getAttribute("class")} "${walk.currentNode.data.slice(0, 20)}"`;
          if (ratio < 4.5) wrong.add(`${what}: ${ratio.toFixed(2)}`);
        }
        if (!seen.has("body")) wrong.add("no text");
        return [...wrong];
    """)


def luminance(page):
    """0 for a black page, 1 for a white one."""
    return page.run("return getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).slice(0, 3)"
                    ".reduce((a, c) => a + c / 765, 0)")


def check_dark(page):
    page.media(dark=False)
    light, wrong = luminance(page), [f"light: {each}" for each in check_contrast(page)]
    page.media(dark=True)
    dark = luminance(page)
    wrong += [f"dark: {each}" for each in check_contrast(page)]
    page.media()
    return wrong + ([] if light > 0.9 and dark < 0.2 else [f"ground: light {light}, dark {dark}"])


DRAWN_WIDTHS = "return [...document.querySelectorAll('svg.plot')].map(s => s.viewBox.baseVal.width)"


def check_print(page):
    """On paper: white although the screen is dark, no tooltip, nothing cut, charts redrawn for the paper's width."""
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
        for (const e of document.querySelectorAll("figure, tr")) {
          if (getComputedStyle(e).breakInside !== "avoid") wrong.push(`${e.tagName} may be cut by a page's end`);
        }
        return [...new Set(wrong)];
    """)
    page.media()
    # printToPDF sends the page the events that printing sends; a listener keeps what it sees of the charts between them.
    page.run("""addEventListener("beforeprint", () => { window.printed = {
        widths: [...document.querySelectorAll("svg.plot")].map(s => s.viewBox.baseVal.width),
        shut: document.querySelectorAll("details:not([open])").length}; });""")
    before = page.run(DRAWN_WIDTHS)
    pages = page.pdf(paperWidth=8.27, paperHeight=11.69).count(b"/Type /Page\n")
    page.settle()
    seen = page.run("return window.printed")
    if not pages:
        wrong.append("nothing was printed")
    if seen is None:
        return [*wrong, "no beforeprint"]
    if before and (seen["widths"] == before or max(seen["widths"]) > 680):
        wrong.append(f"the charts were not redrawn for paper: {seen['widths']}")
    if seen["shut"]:
        wrong.append("details are shut on paper")
    if page.run(DRAWN_WIDTHS) != before:
        wrong.append("the charts kept the paper's width")
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


def check_tooltip(page, report):
    wrong = []
    for kind, at in [(kind, at) for kind in expected_plots(report) for at in (0.5, 0.92)]:
        x, y = page.run("""const svg = document.querySelector(`svg[data-plot=${arguments[0]}]`);
            svg.scrollIntoView({block: "center", behavior: "instant"});
            const b = svg.getBoundingClientRect(); return [b.left + b.width * arguments[1], b.top + b.height / 2]""", kind, at)
        page.hover(x, y)
        tip = page.run("""const tip = document.getElementById("tip"), b = tip.getBoundingClientRect();
            return {shown: b.width > 0 && getComputedStyle(tip).visibility === "visible", text: tip.innerText,
                    inside: b.left >= 0 && b.top >= 0 && b.right <= innerWidth && b.bottom <= innerHeight,
                    mark: document.querySelectorAll("svg .mark, svg .ring").length}""")
        if not tip["shown"] or not tip["inside"] or tip["mark"] != 1:
            wrong.append(f"{kind}: {tip}")
        elif "denied" not in tip["text"] and "burst" not in tip["text"] or not any(c.isdigit() for c in tip["text"]):
            wrong.append(f"{kind}: the tooltip says {tip['text']!r}")
        page.hover(2, 2)
        if page.run("return document.getElementById('tip').getBoundingClientRect().width > 0"):
            wrong.append(f"{kind}: the tooltip stays")
    return wrong


def check_text(page, report):
    """What a stranger wrote is on the page as text, whole in a title, and has made no element."""
    wrong = page.run("""return [...document.querySelectorAll("main :is(i, img, script, iframe, style, object)")]
        .map(e => e.outerHTML)""")
    wrong += page.run("""return [...document.querySelectorAll("main *")].flatMap(e => [...e.attributes])
        .filter(a => a.name.startsWith("on") || /^\\s*javascript:/i.test(a.value) && a.name === "href").map(a => a.name)""")
    titles = page.run("return [...document.querySelectorAll('.name')].map(e => [e.title, e.textContent])")
    wrong += [f"{title!r} is not {text!r}" for title, text in titles if title != text]
    for limit in report.get("limits", ()) if report.get("clients") else ():
        for each in limit["worst"]:
            name = each["client"]
            if name.isprintable() and name == name.strip() and [name, name] not in titles:
                wrong.append(f"{name!r} is not shown")
    return wrong


def check_redraw(page):
    """A chart follows the width of its box, and a row of names that are too long does not widen anything."""
    page.size(700)
    widths = page.run("""return [...document.querySelectorAll("svg.plot")].map(s =>
        [s.viewBox.baseVal.width, s.parentElement.clientWidth])""")
    page.size(1200)
    return [f"{drawn} px drawn in {wide}" for drawn, wide in widths if drawn != wide]


# --- Tests ---

class TestReports(unittest.TestCase):
    def open(self, report, **options):
        return open_page(shared, write_page(report, folder / "page.html"), **options)

    def test_every_report(self):
        for name, report in REPORTS.items():
            page = self.open(report)
            for width in WIDTHS:
                with self.subTest(report=name, width=width):
                    page.size(width)
                    self.assertEqual(check_plots(page, report), [])
                    self.assertEqual(check_denied_is_drawn(page, report), [])
                    self.assertEqual(check_overflow(page), [])
                    self.assertEqual(check_console(page), [])

    def test_looks(self):
        for name in ("replay", "suggest", "empty log", "nothing denied", "interrupted"):
            with self.subTest(report=name):
                page = self.open(REPORTS[name])
                self.assertEqual(check_dark(page), [])
                self.assertEqual(check_print(page), [])
                self.assertEqual(check_redraw(page), [])
                self.assertEqual(check_console(page), [])

    def test_dark_from_the_start(self):
        self.assertLess(luminance(self.open(SAMPLES["replay"], dark=True)), 0.2)

    def test_tooltip(self):
        for name in ("replay", "suggest", "one bin"):
            for width in (1200, 400):
                with self.subTest(report=name, width=width):
                    page = self.open(REPORTS[name], width=width)
                    self.assertEqual(check_tooltip(page, REPORTS[name]), [])
                    self.assertEqual(check_console(page), [])

    def test_tooltip_counts(self):
        page = self.open(REPORTS["one bin"])
        self.assertEqual(check_tooltip(page, REPORTS["one bin"]), [])
        x, y = page.run("""const b = document.querySelector("svg[data-plot=over-time]").getBoundingClientRect();
                           return [b.left + b.width / 2, b.top + b.height / 2]""")
        page.hover(x, y)
        self.assertEqual(page.run("return document.getElementById('tip').innerText").split("\n"),
                         ["2015-05-17 10:05:00 to 10:06:00", "requests", "9", "allowed", "5", "denied", "4"])

    def test_network(self):
        for name in SAMPLES:
            with self.subTest(report=name):
                self.assertEqual(check_network(self.open(SAMPLES[name])), [])

    def test_text_of_strangers(self):
        for name, report in SAMPLES.items():
            with self.subTest(report=name):
                self.assertEqual(check_text(self.open(report), report), [])
        page = self.open(SAMPLES["replay"])
        shown = page.run("return document.querySelector('main').textContent")
        self.assertIn("admin\\u202etxt.exe\\u0000\\u001b[31m", shown)  # Nothing turns the text, nothing is a control.
        self.assertIn("\\u0020", shown)                              # A name of one space.
        self.assertTrue(page.run("""return [...document.querySelectorAll(".worst .name")].some(e =>
            e.title.length === 300 && e.scrollWidth > e.clientWidth && getComputedStyle(e).textOverflow === "ellipsis")"""))

    def test_words(self):
        for name, words in {
            "replay": ("What would have been refused", "Nobody would have been denied.", "45,300", "14,988", "33.1 %",
                       "no timeline was kept", "10 of 45,310 lines could not be read", "no time in [brackets]",
                       "312 lines came late", "4 lines were too late", "3 d 12 h", "cost more than the limit ever admits at once"),
            "suggest": ("at most 0.1 % of the clients (1 of 1,753) would ever", "60/min burst 179"),
            "suggest good clients": ("none of the 1 client named as good",),
            "suggest requests": ("at most 1 % of the requests would have been denied",),
            "suggest nothing": ("None could be found.",),
            "empty log": ("no request in the log",),
            "broken off": ("Broken off. a.log.gz: <b>truncated</b>",),
            "interrupted": ("Interrupted.", "not read to its end"),
            "nothing denied": ("Nobody would have been denied. All 21 requests allowed.",),
            "units, not requests": ("1,000,000,000,000,000", "cost: bytes", "units admitted"),
            "512 bins of a day": ("512,000,130,816",),
        }.items():
            page = self.open(REPORTS[name])
            text = page.run("return document.querySelector('main').textContent").replace("\xa0", " ")
            for word in words:
                with self.subTest(report=name):
                    self.assertIn(word, text)

    def test_the_table_has_the_numbers(self):
        rows = self.open(SAMPLES["replay"]).run("""return [...document.querySelectorAll(".compare tbody tr")].map(r =>
            [...r.cells].map(c => c.innerText.split("\\n")[0].replaceAll("\\u00a0", " ")))""")
        for row, limit in zip(rows, SAMPLES["replay"]["limits"], strict=True):
            self.assertEqual(row[:4], [limit["limit"], *(f"{limit[k]:,}" for k in ("requests", "allowed", "denied"))])
            self.assertEqual(row[5], f"{limit['clients_denied']:,}")
            self.assertEqual(row[7:], [f"{limit['peak_admitted_second']:,}", f"{limit['peak_admitted_minute']:,}"])

    def test_a_page_without_a_report_says_so(self):
        shutil.copy(TEMPLATE, folder / "bare.html")
        page = open_page(shared, folder / "bare.html")
        self.assertIn("contains no report", page.run("return document.body.innerText"))
        self.assertEqual(check_console(page), [])
        (folder / "broken.html").write_text(TEMPLATE.read_text(encoding="utf-8").replace(MARKER, "{"), encoding="utf-8")
        page = open_page(shared, folder / "broken.html")
        self.assertIn("cannot be shown", page.run("return document.body.innerText"))


class TestTheChecks(unittest.TestCase):
    """Each row breaks the page; the check that is named has to find it."""

    def broken(self, old, new, report=SAMPLES["replay"], width=1200):
        text = TEMPLATE.read_text(encoding="utf-8")
        self.assertIn(old, text)
        (folder / "template.html").write_text(text.replace(old, new), encoding="utf-8")
        return open_page(shared, write_page(report, folder / "page.html", folder / "template.html"), width=width)

    def test_checks_fail(self):
        report, suggest = SAMPLES["replay"], SAMPLES["suggest"]
        policy = '<meta http-equiv="Content-Security-Policy"'
        start = "const page ="  # The line where the script begins to build the page.
        edge = REPORTS["one bin"]  # Has a tick at its right edge.
        for what, check, args, finds, old, new, more in (
            ("a line in the console", check_console, (), "INFO", start, "console.log(1); " + start, {}),
            ("an uncaught error", check_console, (), "nothing is not defined", start,
             "queueMicrotask(() => nothing()); " + start, {}),
            ("a refused picture", check_console, (), "Content Security Policy", '<main id="page">',
             '<img src="http://127.0.0.1:9/x"><main id="page">', {}),
            ("NaN", check_plots, (report,), "MNaN", "d += `M${left(i)} ", "d += `M${left(i) * NaN} ", {}),
            ("NaN in the trade-off", check_plots, (suggest,), 'r="NaN"', "p, 2.5)",
             "p, undefined + 1)", {"report": suggest}),
            ("no strips", check_plots, (report,), "expected {'over-time': 3", "!w.timeline ||", "true ||", {}),
            ("an empty chart", check_plots, (report,), "draws nothing", "if (b > t) d +=", "if (b < t) d +=", {}),
            ("no size", check_plots, (report,), "has no size", "svg.plot { display: block;",
             "svg.plot { display: none;", {}),
            ("small text", check_plots, (report,), "is 10 px", "svg text { font: 12px", "svg text { font: 10px", {}),
            ("text cut off", check_plots, (edge,), "is cut off", "at > width - 28",
             "at > width + 28", {"report": edge}),
            ("text on text", check_plots, (report,), "lies on", "Math.floor(across / 76)",
             "Math.floor(across / 20)", {}),
            ("text not redrawn", check_redraw, (), "px drawn in", "sizes.observe(box);",
             "setTimeout(() => redraw(p, box.clientWidth));", {}),
            ("denied not drawn", check_denied_is_drawn, (report,), "denied drawn: False", "denied: limit.series_denied",
             "denied: []", {}),
            ("scales that differ", check_denied_is_drawn, (report,), "scales differ", "peak = greatest(requests)",
             "peak = greatest(denied)", {}),
            ("a wide page", check_overflow, (), "DL.facts ends", ".facts {",
             ".facts { width: 500px;", {"width": 400}),
            ("a wide table", check_overflow, (), "px wide in 1200", ".scroll { overflow-x: auto;",
             ".scroll { width: 1300px;", {}),
            ("no dark page", check_dark, (), "ground:", "(prefers-color-scheme: dark)",
             "(prefers-color-scheme: dusk)", {}),
            ("dark on dark", check_dark, (), "dark: H1", "--text: #e4e8ed;", "--text: #343840;", {}),
            ("pale text", check_dark, (), "light: P", "--quiet: #596473;", "--quiet: #8995a5;", {}),
            ("dark paper", check_print, (), "print: H1", "@media screen and (prefers-color",
             "@media (prefers-color", {}),
            ("grey paper", check_print, (), "not white", "html, body { background: #fff;",
             "html, body { background: #eee;", {}),
            ("a printed tooltip", check_print, (), "tooltip is printed", "  .tip { display: none; }\n", "", {}),
            ("cut charts", check_print, (), "FIGURE may be cut", "figure, tr, .notes", ".notes", {}),
            ("charts not redrawn", check_print, (), "not redrawn for paper", "redraw(p, p.printWidth)", "0", {}),
            ("charts that stay small", check_print, (), "kept the paper's width", "of plots) redraw(p, box.clientWidth);",
             "of plots) ;", {}),
            ("shut details", check_print, (), "details are shut", "details.open = true", "0", {}),
            ("no policy", check_network, (), "reached /fetch", policy, '<meta http-equiv="X-None"', {}),
            ("no policy for forms", check_network, (), "reached /form", "form-action 'none'", "", {}),
            ("pictures from anywhere", check_network, (), "reached /image", "img-src data:", "img-src *", {}),
            ("no tooltip", check_tooltip, (report,), "'shown': False", "tip.hidden = false;", "", {}),
            ("a tooltip that stays", check_tooltip, (report,), "stays", '"pointerleave"', '"pointerleft"', {}),
            ("a tooltip outside", check_tooltip, (report,), "'inside': False", "x + tip.offsetWidth > innerWidth - 8",
             "x > 1e9", {"width": 400}),
            ("names as HTML", check_text, (report,), "<img src", "title: visible(name)}, visible(name));",
             "title: visible(name)}, document.createRange().createContextualFragment(visible(name)));", {}),
            ("names not shown", check_text, (report,), "is not shown", "w => named(w.client)", 'w => ""', {}),
            ("no title", check_text, (report,), "'' is not", "title: visible(name)}", "}", {}),
        ):
            with self.subTest(broken=what):
                self.assertIn(finds, "\n".join(check(self.broken(old, new, **more), *args)))
        shared.ask("POST", "/url", {"url": "about:blank"})


@unittest.skipUnless(os.environ.get("WEIR"), "WEIR names no program")
class TestProgram(unittest.TestCase):
    """Pages that the program wrote."""

    @classmethod
    def setUpClass(cls):
        lines = []
        for second in range(600):
            at = f"[17/May/2015:10:{second // 60:02}:{second % 60:02} +0000]"
            lines.append(f'192.0.2.{second % 7} - - {at} "GET / HTTP/1.1" 200 12'.encode())
            lines += [f'192.0.2.99 - - {at} "GET /x HTTP/1.1" 200 12'.encode()] * (second % 3)
            if second % 20 == 0:
                lines += [f'</script><b>x - - {at} "GET /x HTTP/1.1" 200 12'.encode(),
                          b"caf\xe9\xff - - " + at.encode() + b' "GET /x HTTP/1.1" 200 12'] * 9
        lines.insert(100, b"</script><script>console.log(1)</script> no time \xff\x00 here")
        cls.log = folder / "access.log"
        cls.log.write_bytes(b"\n".join(lines) + b"\n")

    def page(self, *args, kind):
        out = folder / f"{kind}.html"
        done = subprocess.run([os.environ["WEIR"], *map(str, args), "--html", str(out)], capture_output=True, timeout=60,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        before, after = TEMPLATE.read_bytes().split(MARKER.encode())
        text = out.read_bytes()
        self.assertTrue(text.startswith(before) and text.endswith(after), "the page is not the template's")
        data = text[len(before):len(text) - len(after)]
        self.assertNotIn(b"</", data)
        report = json.loads(data.decode("utf-8"))
        self.assertEqual(report["kind"], kind)
        page = open_page(shared, out)
        for width in WIDTHS:
            page.size(width)
            self.assertEqual(check_plots(page, report), [])
            self.assertEqual(check_overflow(page), [])
        self.assertEqual(check_denied_is_drawn(page, report), [])
        self.assertEqual(check_dark(page), [])
        self.assertEqual(check_print(page), [])
        self.assertEqual(check_text(page, report), [])
        self.assertEqual(check_tooltip(page, report), [])
        self.assertEqual(check_console(page), [])
        self.assertEqual(check_network(page), [])
        return report

    def test_replay(self):
        report = self.page("replay", self.log, "--limit", "10/min", "--limit", "20/min algorithm=fixed_window",
                           "--limit", "100000/min", kind="replay")
        self.assertEqual([limit["denied"] > 0 for limit in report["limits"]], [True, True, False])

    def test_suggest(self):
        self.page("suggest", self.log, "--deny-clients", "10%", kind="suggest")


if __name__ == "__main__":
    faulthandler.dump_traceback_later(280, exit=True)
    unittest.main(warnings="ignore")
