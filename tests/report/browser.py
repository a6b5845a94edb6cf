"""A headless Chromium for tests of pages, driven over the WebDriver protocol with nothing but the standard library.

    with Browser() as browser:
        page = open_page(browser, path)
        page.size(400); page.media(dark=True); page.run("return document.title"); page.console()

Every wait ends: requests have a timeout, processes are killed with all their children.
"""
import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

CHROMIUM = "/usr/bin/chromium"
CHROMEDRIVER = "/usr/bin/chromedriver"
TAB, ENTER, ESCAPE, SHIFT = "\ue004", "\ue007", "\ue00c", "\ue008"  # keys, as WebDriver calls them
PATIENCE = 30.0  # seconds that any single answer may take on a busy machine


class Browser:
    """chromedriver and one Chromium; both are gone with the object."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="weir-report-")
        self.session = None
        # A session of its own, so that the whole group can be ended, Chromium's children included.
        self.driver = subprocess.Popen([CHROMEDRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       stdin=subprocess.DEVNULL, start_new_session=True, text=True)
        try:
            self._base = f"http://127.0.0.1:{self._port()}"
            self._start()
        except BaseException:
            self.close()
            raise

    def _port(self):
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                return int(found[1])
        raise AssertionError("chromedriver did not start")

    def _start(self):
        flags = ["--headless=new", f"--user-data-dir={self.folder}", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", "--hide-scrollbars", "--force-color-profile=srgb", "--window-size=1200,900"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # Chromium's sandbox refuses root, as which containers run.
        wanted = {"goog:chromeOptions": {"binary": CHROMIUM, "args": flags}, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{answer['sessionId']}"

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        # No proxy that the environment names is to see what is said to a process on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode(errors='replace')[:600]}") from None

    def ask(self, method, path, body=None):
        """One WebDriver command of the session."""
        return self._ask(method, self.session + path, body)

    def devtools(self, command, **parameters):
        """One command of the Chrome DevTools Protocol."""
        return self.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def close(self):
        if self.session:
            with contextlib.suppress(Exception):
                self.ask("DELETE", "")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait()
        self.driver.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Page:
    def __init__(self, browser):
        self.browser = browser

    def run(self, script, *args):
        """The value of the body of a function, with its arguments in `arguments`."""
        return self.browser.ask("POST", "/execute/sync", {"script": script, "args": list(args)})

    def size(self, width, height=900):
        self.browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                              mobile=False)
        self.settle()

    def media(self, dark=False, medium=""):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.browser.devtools("Emulation.setEmulatedMedia", media=medium, features=[scheme])
        self.settle()

    def settle(self):
        """Waits until what follows a change of size is drawn: an observer's call and the frame after it."""
        self.browser.ask("POST", "/execute/async", {"args": [], "script": """
            const done = arguments[0];
            requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))));
        """})

    def press(self, *keys):
        """Presses keys one after the other, each let go: letters, or those of WebDriver such as TAB."""
        actions = [{"type": way, "value": key} for key in keys for way in ("keyDown", "keyUp")]
        self.browser.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def hover(self, x, y):
        """Moves the mouse to a point of the window, from somewhere else so that it does move."""
        moves = [{"type": "pointerMove", "duration": 0, "x": int(at[0]), "y": int(at[1])} for at in ((1, 1), (x, y))]
        self.browser.ask("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": moves,
                                                           "parameters": {"pointerType": "mouse"}}]})
        self.settle()

    def console(self):
        """What was logged since the last call, violations of the page's policy and uncaught errors included."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.browser.ask("POST", "/se/log", {"type": "browser"})]

    def screenshot(self, path, whole=False):
        more = {}
        if whole:
            box = self.browser.devtools("Page.getLayoutMetrics")["cssContentSize"]
            more = {"captureBeyondViewport": True, "clip": {**box, "scale": 1}}
        data = self.browser.devtools("Page.captureScreenshot", format="png", **more)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def pdf(self, **options):
        """The page printed, as bytes."""
        return base64.b64decode(self.browser.devtools("Page.printToPDF", printBackground=True, **options)["data"])


def open_page(browser, path, width=1200, dark=False):
    """Opens a file or a URL; the page is light and 1,200 pixels wide unless something else is asked for."""
    page = Page(browser)
    browser.ask("POST", "/url", {"url": "about:blank"})
    page.console()
    page.media(dark=dark)
    page.size(width)
    url = str(path) if "://" in str(path) else pathlib.Path(path).resolve().as_uri()
    browser.ask("POST", "/url", {"url": url})
    deadline = time.monotonic() + PATIENCE
    while page.run("return document.readyState") != "complete":
        assert time.monotonic() < deadline, f"{path} did not load"
        time.sleep(0.02)
    page.settle()
    return page


# --- Checks: each returns a list of what is wrong ---

def check_overflow(page):
    """Nothing sticks out of the window, so the page does not scroll sideways."""
    return page.run("""
        const root = document.documentElement, wrong = [];
        if (root.scrollWidth > root.clientWidth) wrong.push(`${root.scrollWidth} px wide in ${root.clientWidth}`);
        for (const e of document.querySelectorAll("main *:not(path), dialog[open] *")) {
          if (e.getClientRects().length && e.getBoundingClientRect().right > root.clientWidth + 1) {
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
        const wrong = new Set();
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        let seen = 0;
        while (walk.nextNode()) {
          const e = walk.currentNode.parentElement;
          if (!walk.currentNode.data.trim() || !e.getClientRects().length) continue;
          const a = light(parse(getComputedStyle(e).color)), b = light(ground(e));
          const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
          ++seen;
          const what = `${e.tagName}.${e.getAttribute("class")} "${walk.currentNode.data.slice(0, 20)}"`;
          if (ratio < 4.5) wrong.add(`${what}: ${ratio.toFixed(2)}`);
        }
        if (!seen) wrong.add("no text");
        return [...wrong];
    """)


def luminance(page):
    """0 for a black page, 1 for a white one."""
    return page.run("return getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).slice(0, 3)"
                    ".reduce((a, c) => a + c / 765, 0)")
