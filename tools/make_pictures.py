#!/usr/bin/env python3
"""Makes the pictures of docs/pictures by running `weir replay` and `weir suggest` on examples/replay/access.log.

    ./dev test && tools/make_pictures.py        WEIR is the program, build/dev/src/cli/weir unless it is set

Each is a screenshot of a report, or of a part of one, in a headless Chromium.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "report"))
import browser  # noqa: E402

WEIR = os.environ.get("WEIR", str(ROOT / "build/dev/src/cli/weir"))
LOG = "examples/replay/access.log"
REPLAYED = ["60/min", "100/min", "5/min burst 60", "7/s"]
ALGORITHMS = ["gcra", "fixed_window align=clock", "sliding_window_log", "sliding_window_counter"]


def report(folder, *command):
    page = pathlib.Path(folder) / "report.html"
    subprocess.run([WEIR, *command, "--html", str(page)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return page


def clip(page, selector, path, nth=0):
    """A screenshot of one element."""
    box = page.run("const r = document.querySelectorAll(arguments[0])[arguments[1]].getBoundingClientRect();"
                   "return {x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height}", selector, nth)
    import base64
    data = page.browser.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                                 clip={**box, "scale": 1})["data"]
    path.write_bytes(base64.b64decode(data))


def main():
    pictures = ROOT / "docs" / "pictures"
    pictures.mkdir(exist_ok=True)
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


if __name__ == "__main__":
    main()
