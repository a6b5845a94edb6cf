"""Draws calls against their quota: plot.py BURST INTERVAL < times > picture.svg, a time in seconds on each line.

The line is the most that the quota allows since the first call, burst + t / T; the steps are the calls.
"""
import sys

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 240, 48, 28


def main():
    burst, interval = float(sys.argv[1]), float(sys.argv[2])
    times = sorted(float(line) for line in sys.stdin if line.strip())
    times = [each - times[0] for each in times]
    span, most = max(times[-1], interval), max(len(times), burst + times[-1] / interval)

    def place(at, calls):
        return (f"{LEFT + at / span * (WIDTH - LEFT - 12):.1f}",
                f"{HEIGHT - BOTTOM - calls / most * (HEIGHT - BOTTOM - 12):.1f}")

    steps = ""
    for number, at in enumerate(times):
        steps += "H{}V{}".format(*place(at, number + 1))
    x0, y0 = place(0, 0)
    x1, _ = place(span, 0)
    _, y1 = place(0, most)
    print(f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<title>{len(times)} calls in {span:.1f} s, never above burst + t / T</title>
<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>
<path d="M{x0} {y1}V{y0}H{x1}" fill="none" stroke="#888"/>
<path d="M{" ".join(place(0, burst))}L{" ".join(place(span, burst + span / interval))}" stroke="#b33" stroke-dasharray="5 4"/>
<path d="M{x0} {y0}{steps}" fill="none" stroke="#1b6ca8" stroke-width="2"/>
<text x="{x0}" y="{HEIGHT - 8}" fill="#444">0</text>
<text x="{x1}" y="{HEIGHT - 8}" fill="#444" text-anchor="end">{span:.1f} s</text>
<text x="{LEFT - 6}" y="{y0}" fill="#444" text-anchor="end">0</text>
<text x="{LEFT - 6}" y="{float(y1) + 10}" fill="#444" text-anchor="end">{most:.0f}</text>
<text x="{LEFT + 12}" y="24" fill="#b33">the quota: {burst:g} at once, then {1 / interval:g} a second</text>
<text x="{LEFT + 12}" y="42" fill="#1b6ca8">calls</text>
</svg>''')


main()
