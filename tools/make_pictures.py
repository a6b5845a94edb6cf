#!/usr/bin/env python3
"""Makes the pictures of docs/pictures by running `weir replay` and `weir suggest` on examples/replay/access.log, and
`weir serve` for four minutes.

    ./dev test && tools/make_pictures.py [reports|admin]   WEIR_PROGRAM is the program, build/dev/src/cli/weir unless it is set

Each is a screenshot of a report, of a part of one, or of the page for operators, in a headless Chromium.
"""
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "report"), str(ROOT / "tests" / "end_to_end")]
import browser  # noqa: E402
import server  # noqa: E402

WEIR = os.environ.get("WEIR_PROGRAM", str(ROOT / "build/dev/src/cli/weir"))
LOG = "examples/replay/access.log"
REPLAYED = ["60/min", "100/min", "5/min burst 60", "7/s"]
ALGORITHMS = ["gcra", "fixed_window align=clock", "sliding_window_log", "sliding_window_counter"]


def report(folder, *command):
    page = pathlib.Path(folder) / "report.html"
    subprocess.run([WEIR, *command, "--html", str(page)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return page


def clip(page, selector, path, nth=0, until=None):
    """A screenshot of one element, or of what is above another."""
    box = page.run("const r = document.querySelectorAll(arguments[0])[arguments[1]].getBoundingClientRect();"
                   "const end = arguments[2] ? document.querySelector(arguments[2]).getBoundingClientRect().y - 40 : r.bottom;"
                   "return {x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: end - r.y}", selector, nth, until)
    import base64
    data = page.browser.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                                 clip={**box, "scale": 1})["data"]
    path.write_bytes(base64.b64decode(data))


ADMIN_LIMITS = """version: 1
limits:
  user: { by: [user], rate: 5/s burst 10 }
  tenant: { by: [tenant], rate: [100/s burst 200, 1000000/day] }
  login: { by: [ip], rate: 10/min }
  search: { by: [user], rate: 4/s burst 4, shadow: until 2260-01-01 }
"""
SECONDS = 230


def live(client, second):
    """What a second brings: most are fine, one scrapes in waves."""
    for n in range(20 + int(8 * math.sin(second / 20))):
        client.ask("WEIR.CHECK", f"user={1000 + n}", f"tenant={('acme', 'hooli', 'initech')[n % 3]}")
    for _ in range(max(0, int(14 * math.sin(second / 30)))):
        client.ask("WEIR.CHECK", "user=42", "tenant=acme")
    for _ in range(second // 15 % 3):
        client.ask("WEIR.CHECK", "ip=203.0.113.66")


def make_admin(pictures):
    """The page as it is after some minutes; an override is set by hand, as it were."""
    with server.Folder() as folder, browser.Browser() as chromium:
        limits = folder.file("limits.yaml", ADMIN_LIMITS)
        with server.Server("--limits", limits, "--admin", "127.0.0.1:0", "--log-level", "error") as running, running.client() as client:
            for second in range(SECONDS):
                live(client, second)
                time.sleep(1)
            client.ask("WEIR.BAN", "LIMIT", "login", "FOR", 900_000, "REASON", "guesses passwords", "AS", "ip=203.0.113.66")
            client.ask("WEIR.RAISE", "LIMIT", "tenant", "RATE", "300/s burst 600", "FOR", 3 * 86_400_000, "REASON",
                       "a launch", "AS", "tenant=acme")
            page = browser.open_page(chromium, f"http://127.0.0.1:{running.ports[1]}/", width=1000)
            server.until(lambda: page.run("return document.querySelectorAll('#overrides tbody tr').length") == 2, "overrides")
            for dark, name in ((False, "admin-page.png"), (True, "admin-page-dark.png")):
                page.media(dark=dark)
                clip(page, "body", pictures / name, until="#server-title")


def make_reports(pictures):
    with tempfile.TemporaryDirectory() as folder, browser.Browser() as chromium:
        limits = [word for text in REPLAYED for word in ("--limit", text)]
        page = browser.open_page(chromium, report(folder, "replay", LOG, *limits), width=1000)
        page.screenshot(pictures / "replay.png", whole=True)
        page = browser.open_page(chromium, report(folder, "suggest", LOG, "--deny-clients", "1%", "--today", "100/min"),
                                 width=1000)
        page.screenshot(pictures / "suggest.png", whole=True)
        limits = [word for name in ALGORITHMS for word in ("--limit", f"60/min algorithm={name}")]
        page = browser.open_page(chromium, report(folder, "replay", LOG, *limits), width=1000)
        page.run("document.querySelector('.tabs button:last-child').click()")  # all limits
        page.settle()
        for nth, name in enumerate(ALGORITHMS):
            clip(page, "figure:has([data-plot=over-time])", pictures / f"{name.split()[0]}.png", nth)


def main(which):
    pictures = ROOT / "docs" / "pictures"
    pictures.mkdir(exist_ok=True)
    for name, make in (("reports", make_reports), ("admin", make_admin)):
        if which in ("", name):
            make(pictures)


if __name__ == "__main__":
    main(*sys.argv[1:2] or [""])
