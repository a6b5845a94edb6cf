#!/usr/bin/env python3
"""Writes access.log, a made-up morning of a small shop, for trying limits on; run again, it writes the same bytes.

    make_log.py                          rewrites access.log beside this script
    make_log.py --lines 1000000 -o big   as much as you like of the same mixture, for measuring

Who comes (all addresses are those that RFC 5737 and RFC 3849 keep for documentation):

    192.0.2.10      monitoring: asks for /health every 15 seconds, day and night
    192.0.2.77      a partner's batch job: on every full hour it fetches 60 orders within some 6 seconds, then nothing
    203.0.113.66    a scraper: walks the catalogue for 20 minutes, 2 to 5 pages a second for half a minute, then a pause
    everybody else  some 150 visitors, who look at one to three pages, each with its style, script and pictures

So no limit by the second alone tells the partner, which nobody wants to refuse, from the scraper: the partner is the
faster of the two. Over some minutes they are easily told apart. See what `weir suggest` makes of it.

The time of a line is the one at which its request came, as Apache writes it; the line is written when the request
has ended. So lines are a little out of order, one after a long download by half a minute. About a quarter of the
visitors come over IPv6; some change their address and stay in their /64.

With --lines, morning follows morning, each with another scraper, until there are as many lines as asked for, and
--clients (default: a fiftieth of the lines) different visitors have come, nearly.
"""
import argparse
import datetime
import pathlib
import random
import sys

MORNING_S = 3 * 3600
LINES_A_MORNING = 3945
START_S = 1_773_734_400   # 2026-03-17T08:00:00Z
PRODUCTS = 400
ASSETS = [("/static/style.css", 9_120), ("/static/shop.js", 48_211), ("/static/logo.svg", 2_304)]
BROWSERS = ["Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/126.0.0.0 Safari/537.36",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1",
            "Mozilla/5.0 (Linux; Android 14) Chrome/126.0.0.0 Mobile Safari/537.36"]
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

chance = random.Random(20260317).random   # the one method whose numbers are promised to stay the same


def between(low, high):
    return low + (high - low) * chance()


def one_of(things):
    return things[int(chance() * len(things))]


class Clock:
    """Times as Apache writes them; the minute's part is kept."""

    def __init__(self):
        self.minute, self.text = None, ""

    def clf(self, second):
        minute, second = divmod(second, 60)
        if minute != self.minute:
            at = datetime.datetime.fromtimestamp(minute * 60, datetime.timezone.utc)
            self.minute, self.text = minute, f"{at.day:02}/{MONTHS[at.month - 1]}/{at.year}:{at.hour:02}:{at.minute:02}"
        return f"{self.text}:{second:02} +0000"


class Visitors:
    """The nth visitor's address; three of four over IPv4 while there are any."""

    def __init__(self):
        ipv4 = [f"{net}.{host}" for net in ("198.51.100", "203.0.113", "192.0.2") for host in range(100, 255)]
        self.left, self.known, self.net = ipv4, [], 0

    def new(self):
        if self.left and len(self.known) % 4 != 3:
            address = self.left.pop(int(chance() * len(self.left)))
        else:
            if chance() < 0.7 or not self.net:
                self.net += 1
            host = len(self.known) + 1
            groups = (self.net >> 16, self.net & 0xffff, int(between(0x1000, 0xffff)), int(between(0x1000, 0xffff)),
                      host >> 16, host & 0xffff)
            address = "2001:db8:" + ":".join(f"{group:x}" for group in groups)
        self.known.append(address)
        return address


def request(came, lasts, client, text, status, size, agent, referer="-"):
    return came + lasts, came, client, text, status, size, referer, agent


def monitoring(begin):
    for n in range(MORNING_S // 15):
        at = begin + 15 * n + between(3, 3.4)
        yield request(at, 0.004, "192.0.2.10", "GET /health HTTP/1.1", 200, 2, "uptime/2.1")


def partner(begin):
    for hour in range(begin - begin % 3600, begin + MORNING_S, 3600):
        at, first = hour + between(1, 3), int(between(70_000, 90_000))
        for n in range(60):
            yield request(at, between(0.05, 0.6), "192.0.2.77", f"GET /api/orders/{first + n} HTTP/1.1", 200,
                          int(between(800, 2400)), "partner-sync/1.4")
            at += between(0.05, 0.15)


def scraper(begin, client):
    at = begin + between(3000, 3600)
    end, product = at + 1200, 1
    while at < end:
        spell = at + between(25, 35)
        while at < spell:
            yield request(at, between(0.03, 0.4), client, f"GET /catalogue/{product} HTTP/1.1",
                          200 if product <= PRODUCTS * 4 else 404, int(between(12_000, 30_000)), "python-requests/2.32")
            product += 1
            at += between(0.2, 0.5)
        at += between(35, 45)


def visit(at, client, pages):
    agent, referer = one_of(BROWSERS), "https://search.example/"
    for page in range(pages):
        path = one_of(("/", "/offers", f"/catalogue/{1 + int(chance() * PRODUCTS)}"))
        yield request(at, between(0.05, 0.9), client, f"GET {path} HTTP/1.1", 200, int(between(9_000, 30_000)), agent,
                      referer)
        referer = "https://shop.example" + path
        for asset, size in ASSETS if page == 0 else ():
            yield request(at + between(0.2, 0.8), between(0.01, 0.3), client, f"GET {asset} HTTP/1.1", 200, size, agent,
                          referer)
        for _ in range(int(between(1, 5))):
            picture = f"/pictures/{1 + int(chance() * PRODUCTS * 3)}.jpg"
            yield request(at + between(0.3, 2.5), between(0.05, 1.2), client, f"GET {picture} HTTP/1.1", 200,
                          int(between(20_000, 180_000)), agent, referer)
        at += between(6, 90)
    if chance() < 0.04:
        yield request(at, between(12, 30), client, "GET /downloads/price-list.pdf HTTP/1.1", 200, 18_734_208, agent,
                      referer)


def crowd(begin, visitors, fresh):
    """150 visits of a morning, as many of them as can be by the `fresh` new visitors; the other new ones ask once."""
    for n in range(max(150, fresh)):
        client = visitors.new() if n < fresh or not visitors.known else one_of(visitors.known)
        at = begin + between(0, MORNING_S - 200)
        if n < 150:
            yield from visit(at, client, 1 + int(chance() * 3))
        else:
            yield request(at, between(0.01, 0.2), client, "GET /feed.xml HTTP/1.1", 304, 0, "feed-reader/3.0")


def lines(most, clients):
    """The log's lines in the order in which they were written; `most` of them."""
    clock, visitors, waiting, written, begin = Clock(), Visitors(), [], 0, START_S
    a_morning = int(LINES_A_MORNING / max(0.05, 1 - clients / most)) if clients > most // 25 else LINES_A_MORNING
    while written < most:
        last = most - written <= a_morning
        fresh = clients * min(most, written + a_morning) // most - len(visitors.known)
        scrapes = scraper(begin, f"203.0.113.{66 + (begin - START_S) // MORNING_S % 30}")
        for source in (monitoring(begin), partner(begin), scrapes, crowd(begin, visitors, fresh)):
            waiting.extend(source)
        waiting.sort()
        begin += MORNING_S
        done = min(most - written, len(waiting) if last else sum(1 for each in waiting if each[0] < begin))
        for _, came, client, text, status, size, referer, agent in waiting[:done]:
            yield f'{client} - - [{clock.clf(int(came))}] "{text}" {status} {size} "{referer}" "{agent}"\n'
        del waiting[:done]
        written += done


def main():
    beside = pathlib.Path(__file__).resolve().with_name("access.log")
    parser = argparse.ArgumentParser(description="Writes a made-up access log.")
    parser.add_argument("--lines", type=int, help="how many; then to stdout, or -o FILE")
    parser.add_argument("--clients", type=int, help="how many different visitors (default: a fiftieth of the lines)")
    parser.add_argument("-o", dest="file", help="where to")
    asked = parser.parse_args()
    most = asked.lines or LINES_A_MORNING
    chosen = lines(most, asked.clients or max(150, most // 50))
    with open(asked.file, "w") if asked.file else sys.stdout if asked.lines is not None else open(beside, "w") as out:
        out.writelines(chosen)


if __name__ == "__main__":
    main()
