#!/usr/bin/env python3
"""Draws docs/pictures/layers.svg: the folders of src/, and which knows which, from their includes.

    tools/draw_layers.py           draws
    tools/draw_layers.py --check   fails when the picture is not what would be drawn, or docs/architecture.md does not
                                   name the files that it numbers

Nobody places anything by hand. A room lies one row above the highest that it knows; within its row it lies where the
arrows cross and bend least. An arrow that others imply is left out: cli knows core, as cli -> sim -> core says.
Whatever is included of include/weir is left out too: every room may.
"""
import itertools
import pathlib
import sys
from xml.sax.saxutils import escape

import layers

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/pictures/layers.svg"
PAGE = ROOT / "docs/architecture.md"
# From a byte on a socket to a verdict, as docs/architecture.md tells it: five files, and the rule.
ROADS = {
    "embedded": ["net/session.cpp", "resp/conversation.cpp", "service/asking.cpp", "store/embedded_store.cpp",
                 "store/table.cpp", "core/gcra.hpp"],
    "shared": ["net/session.cpp", "resp/conversation.cpp", "service/asking.cpp", "redis/shared_store.cpp",
               "redis/client.cpp", "redis/check.lua"],
}
MARKS = "12345\u2605"
KIND = {"core": "heart", "store": "store", "redis": "store", "logs": "logs", "sim": "logs"}  # of the others: wire

BOX, GAP, MARGIN, BETWEEN = 214, 34, 32, 62  # widths of a box and of what lies between; heights between rows
LINE, CHIP = 16, 22
LETTERS = 29  # of a line of text in a box

STYLE = """
  .paper { fill: #fbfaf7 } text { font: 12.5px system-ui, "DejaVu Sans", sans-serif; fill: #57534e }
  .name { font: 600 16px ui-monospace, "DejaVu Sans Mono", monospace; fill: #1c1917 }
  .file { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; fill: #292524 }
  .heart { fill: #fdecc8; stroke: #d9a441 } .store { fill: #dcefe4; stroke: #5aa37c }
  .wire { fill: #e0eaf8; stroke: #6f94c9 } .logs { fill: #ece6f6; stroke: #9580c0 }
  .public { fill: none; stroke: #a8a29e; stroke-dasharray: 5 4 }
  .arrow { fill: none; stroke: #8a837b; stroke-width: 1.6 } .head { fill: #8a837b }
  .stop { fill: #b45309 } .stop2 { fill: #0f766e } .digit { font: 700 11px system-ui, "DejaVu Sans", sans-serif; fill: #fff }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #16181c } text { fill: #b3b0aa } .name { fill: #f5f5f4 } .file { fill: #e2e0dc }
    .heart { fill: #44341a; stroke: #b98a34 } .store { fill: #1d3a2c; stroke: #4f9070 }
    .wire { fill: #1f2f47; stroke: #5c7fb3 } .logs { fill: #322a45; stroke: #8671b3 }
    .public { stroke: #6b6761 } .arrow { stroke: #8d8a85 } .head { fill: #8d8a85 }
    .stop { fill: #d97706 } .stop2 { fill: #0d9488 }
  }
"""


def reduced(graph):
    """Without the arrows that others imply."""
    def reach(node):
        return graph[node] | {far for near in graph[node] for far in reach(near)}
    return {node: {to for to in known if not any(to in reach(other) for other in known - {to})}
            for node, known in graph.items()}


def wrapped(text, letters):
    lines = [""]
    for word in text.replace("`", "").split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > letters:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


class Node:
    """A box, or with an empty room the place where an arrow passes a row."""

    def __init__(self, room, row):
        self.room, self.row, self.x = room, row, 0.0
        self.width = BOX if room else 12
        self.up, self.down = [], []

    def stops(self):
        """(file, [(road, mark)]) of the files on the roads that are this room's."""
        found = {}
        for road, files in ROADS.items():
            for mark, file in zip(MARKS, files):
                path = f"src/{file}"
                if self.room and layers.room_of(path) == self.room:
                    found.setdefault(file, []).append((road, mark))
        return sorted(found.items(), key=lambda each: each[1][0][1])

    def height(self):
        stops = self.stops()
        return 40 + LINE * len(wrapped(layers.ROOMS[self.room].what, LETTERS)) + CHIP * len(stops) + 4 * bool(stops)


def rows_of(graph):
    """Rows from the bottom, with a place in each row that an arrow passes."""
    def level(room):
        return 1 + max((level(to) for to in graph[room]), default=-1)
    nodes = {room: Node(room, level(room)) for room in graph}
    rows = [[] for _ in range(1 + max(node.row for node in nodes.values()))]
    for node in nodes.values():
        rows[node.row].append(node)
    for room in sorted(graph):
        for to in sorted(graph[room]):
            above = nodes[room]
            for row in range(nodes[room].row - 1, nodes[to].row, -1):
                place = Node("", row)
                rows[row].append(place)
                above.down.append(place)
                place.up.append(above)
                above = place
            above.down.append(nodes[to])
            nodes[to].up.append(above)
    return rows


def crossings(upper, lower):
    at = {id(node): number for number, node in enumerate(lower)}
    ends = [(number, at[id(to)]) for number, node in enumerate(upper) for to in node.down]
    return sum((a - c) * (b - d) < 0 for (a, b), (c, d) in itertools.combinations(ends, 2))


def settle(row, wanted):
    """Gives each its place nearest to the wanted one that leaves the gaps (least squares, in the row's order)."""
    offsets, at = [], 0.0
    for left, right in zip([None, *row], row):
        at += (left.width + right.width) / 2 + GAP if left else 0
        offsets.append(at)
    blocks = []
    for want, offset in zip(wanted, offsets):
        blocks.append([want - offset, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, n), (b, m) = blocks[-2:]
            blocks[-2:] = [[(a * n + b * m) / (n + m), n + m]]
    places = [value for value, number in blocks for _ in range(number)]
    for node, place, offset in zip(row, places, offsets):
        node.x = place + offset


def place(rows):
    """Places all nodes; returns how good that is: crossings first, then the ways that arrows go sideways."""
    for row in rows:
        settle(row, [0.0] * len(row))
    for _ in range(60):
        for row in [*rows, *reversed(rows)]:
            # Between two passing places a bend is worth more than one at a box.
            wanted = []
            for node in row:
                ends = [(other.x, 1 if other.room and node.room else 4) for other in node.up + node.down]
                weight = sum(w for _, w in ends)
                wanted.append(sum(x * w for x, w in ends) / weight if weight else node.x)
            settle(row, wanted)
    crossed = sum(crossings(upper, lower) for lower, upper in zip(rows, rows[1:]))
    return crossed, sum((node.x - to.x) ** 2 for row in rows for node in row for to in node.down)


def orders(row):
    """All of a short row. A long one has too many: then those in which one node has moved."""
    if len(row) <= 6:
        return itertools.permutations(row)
    moved = ([*row[:i], *row[i + 1:]] for i in range(len(row)))
    return [row] + [[*rest[:to], node, *rest[to:]] for node, rest in zip(row, moved) for to in range(len(row))]


def arrange(rows):
    """Orders each row: the orders of one row are tried while the others stay, until nothing crosses less; from
    several beginnings, because that can end in a corner."""
    best = None
    beginnings = [[sorted(row, key=lambda node, turn=turn: (hash_of(node, turn))) for row in rows] for turn in range(40)]
    for order in beginnings:
        before = None
        while before != (now := sum(crossings(u, low) for low, u in zip(order, order[1:]))):
            before = now
            for number, row in enumerate(order):
                def cost(candidate, number=number):
                    below = crossings(candidate, order[number - 1]) if number else 0
                    return below + (crossings(order[number + 1], candidate) if number + 1 < len(order) else 0)
                order[number] = list(min(orders(row), key=cost))
        found = place(order)
        if best is None or found < best[0]:
            best = (found, [list(row) for row in order])
    place(best[1])
    return best[1]


def hash_of(node, turn):
    """A number that looks like chance and is the same each time."""
    text = f"{turn}{node.room}{node.row}{[each.room for each in node.up + node.down]}"
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return value


def curve(points):
    """Down through the points, upright at each."""
    path = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for (ax, ay), (bx, by) in zip(points, points[1:]):
        middle = (by - ay) / 2
        path += f" C{ax:.0f} {ay + middle:.0f} {bx:.0f} {by - middle:.0f} {bx:.0f} {by:.0f}"
    return path


def draw():
    files = layers.read(ROOT)
    for file in itertools.chain(*ROADS.values()):
        if not (ROOT / "src" / file).is_file():
            sys.exit(f"tools/draw_layers.py: ROADS names {file}, and there is no such file")
    known = {room: set() for room in layers.ROOMS}
    for by, to in layers.edges(files):
        if by in known and to in known:
            known[by].add(to)
    rows = arrange(rows_of(reduced(known)))

    left = min(node.x - node.width / 2 for row in rows for node in row) - MARGIN
    width = max(node.x + node.width / 2 for row in rows for node in row) + MARGIN - left
    body, tops, y = [], {}, MARGIN
    for number in range(len(rows) - 1, -1, -1):
        tall = max(node.height() for node in rows[number] if node.room)
        tops[number] = (y, y + tall)
        y += tall + BETWEEN
    bottom = y - BETWEEN

    def ports(node, others):
        """Where the arrows to these meet the box, in their order; each node's own for a passing place."""
        step = min(44, node.width / (len(others) + 1))
        ordered = sorted(others, key=lambda other: (other.x, id(other)))
        return {id(other): node.x - left + (place - (len(ordered) - 1) / 2) * step * bool(node.room)
                for place, other in enumerate(ordered)}

    def height_of(node):
        top, low = tops[node.row]
        return (top + (low - top - node.height()) / 2, top + (low - top + node.height()) / 2) if node.room else (top, low)

    for row in rows:
        for node in row:
            for first in node.down if node.room else []:
                points = [(ports(node, node.down)[id(first)], height_of(node)[1])]
                above, at = node, first
                while not at.room:
                    points += [(at.x - left, tops[at.row][0]), (at.x - left, tops[at.row][1])]
                    above, at = at, at.down[0]
                end = (ports(at, at.up)[id(above)], height_of(at)[0])
                body.append(f'<path class="arrow" d="{curve(points + [(end[0], end[1] - 8)])}"/>')
                body.append(f'<path class="head" d="M{end[0]:.0f} {end[1]:.0f} l-4.5 -9 h9 z"/>')
    for node in (node for row in rows for node in row if node.room):
        top, low = height_of(node)
        x = node.x - left - BOX / 2
        body.append(f'<rect class="{KIND.get(node.room, "wire")}" x="{x:.0f}" y="{top:.0f}" width="{BOX}" '
                    f'height="{low - top:.0f}" rx="9"/>')
        body.append(f'<text class="name" x="{x + 13:.0f}" y="{top + 24:.0f}">{escape(node.room)}</text>')
        at = top + 43
        for line in wrapped(layers.ROOMS[node.room].what, LETTERS):
            body.append(f'<text x="{x + 13:.0f}" y="{at:.0f}">{escape(line)}</text>')
            at += LINE
        at += 4
        for file, stops in node.stops():
            body += stop(x + 13, at - 11, stops)
            body.append(f'<text class="file" x="{x + 13 + 20 * len(stops):.0f}" y="{at + 2:.0f}">'
                        f"{escape(file.split('/')[1])}</text>")
            at += CHIP
    foot = [("in this process", "embedded"), ("in a Redis that many share", "shared")]
    y = bottom + 34
    body.append(f'<rect class="public" x="{MARGIN}" y="{y:.0f}" width="{width - 2 * MARGIN:.0f}" height="36" rx="9"/>')
    body.append(f'<text class="name" x="{MARGIN + 13}" y="{y + 23:.0f}">include/weir</text>')
    body.append(f'<text x="{MARGIN + 145}" y="{y + 23:.0f}">what a user of the library includes; every room may, '
                "and it includes none of them</text>")
    y += 64
    body.append(f'<text x="{MARGIN}" y="{y:.0f}">From a byte on a socket to the rule that decides:</text>')
    x = MARGIN + 322
    for text, road in foot:
        body += stop(x, y - 13, [(road, MARKS[-1])])
        body.append(f'<text x="{x + 22:.0f}" y="{y:.0f}">{text}</text>')
        x += 50 + 7 * len(text)
    height = y + 24
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" role="img" aria-label="The folders of src/ and which includes which">\n'
            f"<!-- Drawn by tools/draw_layers.py from the includes. -->\n<style>{STYLE}</style>\n"
            f'<rect class="paper" width="100%" height="100%" rx="14"/>\n' + "\n".join(body) + "\n</svg>\n")


def stop(x, y, stops):
    found = []
    for place, (road, mark) in enumerate(stops):
        kind = "stop" if road == "embedded" else "stop2"
        found.append(f'<circle class="{kind}" cx="{x + 8 + 20 * place:.0f}" cy="{y + 9:.0f}" r="8"/>')
        found.append(f'<text class="digit" text-anchor="middle" x="{x + 8 + 20 * place:.0f}" y="{y + 13:.0f}">'
                     f"{mark}</text>")
    return found


def main():
    drawn = draw()
    if sys.argv[1:] == ["--check"]:
        if not PICTURE.is_file() or PICTURE.read_text() != drawn:
            sys.exit("docs/pictures/layers.svg is not what the includes say now: run tools/draw_layers.py")
        for file in itertools.chain(*ROADS.values()):
            if f"[{file}](../src/{file})" not in PAGE.read_text():
                sys.exit(f"docs/architecture.md: {file} is not on the way from a byte to a verdict")
        return
    PICTURE.write_text(drawn)


if __name__ == "__main__":
    main()
