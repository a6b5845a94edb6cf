"""`weir replay --in-flight` and `weir suggest --in-flight` against a sweep over intervals, on random logs of many
programs: each writes down when a request began or ended, and how long it took, in its own way.

The sweep sorts all begins and ends, and goes through them; for each number of slots by itself, it shares nothing with
the program but the log. WEIR_SEED=N runs one seed alone; WEIR_SEEDS=N runs N of them.
"""
import csv
import json
import pathlib
import re
import unittest

from make_formats import clf, iso
from program import Folder, answer, run, weir
from chance import chance, seeds

SECOND, MILLISECOND, MICROSECOND = 10**9, 10**6, 10**3
DAY = 1_795_219_200 * SECOND   # 2026-11-21


def fraction(ns, digits):
    return f"{ns // SECOND}.{ns % SECOND // 10**(9 - digits):0{digits}}"


def seconds(ns, digits):
    return float(fraction(ns, digits))


def nginx(begin, end, client):
    return f'{client} - - [{clf(end)} +0000] "GET / HTTP/1.1" 200 1 "-" "curl" rt={fraction(end - begin, 3)}'


def nginx_json(begin, end, client):
    return json.dumps({"time": iso(end, 3), "remote_addr": client, "request": "GET / HTTP/1.1", "status": 200,
                       "request_time": seconds(end - begin, 3)})


def apache(begin, end, client):
    return f'{client} - - [{clf(begin)} +0000] "GET / HTTP/1.1" 200 1 "-" "curl" {(end - begin) // MICROSECOND}'


def haproxy(begin, end, client):
    return (f"{client}:40312 [{clf(begin)}.{begin % SECOND // MILLISECOND:03}] web app/a1 0/0/1/2/"
            f'{"+" * (begin // SECOND % 2)}{(end - begin) // MILLISECOND} 200 1 - - ---- 1/1/0/0/0 0/0 "GET / HTTP/1.1"')


def caddy(begin, end, client):
    return json.dumps({"level": "info", "ts": seconds(end, 6), "msg": "handled request",
                       "request": {"remote_ip": client, "method": "GET", "uri": "/"}, "duration": (end - begin) / SECOND,
                       "status": 200})


def envoy(begin, end, client):
    return (f'[{iso(begin, 3)}] "GET / HTTP/1.1" 200 - 0 1 {(end - begin) // MILLISECOND} 1 "{client}" "curl" "cc21d9b0" '
            '"example.org" "10.0.0.1:80"')


def istio_json(begin, end, client):
    return json.dumps({"start_time": iso(begin, 3), "downstream_remote_address": f"{client}:1", "method": "GET",
                       "path": "/", "response_code": 200, "duration": (end - begin) // MILLISECOND})


def traefik(begin, end, client):
    return json.dumps({"ClientHost": client, "DownstreamStatus": 200, "RequestPath": "/", "StartUTC": iso(begin, 9),
                       "time": iso(end, 0)[:19] + "Z", "Duration": end - begin})


def kong(begin, end, client):
    return json.dumps({"client_ip": client, "started_at": begin // MILLISECOND, "request": {"method": "GET", "uri": "/"},
                       "latencies": {"request": (end - begin) // MILLISECOND, "proxy": 1}, "response": {"status": 200}})


def squid(begin, end, client):
    return (f"{fraction(end, 3)} {(end - begin) // MILLISECOND:6} {client} TCP_MISS/200 1 GET http://example.org/ - "
            "HIER_DIRECT/10.0.0.1 text/html")


def iis(begin, end, client):
    return f"{iso(end, 0)[:10]} {iso(end, 0)[11:19]} 10.0.0.1 GET / - 80 - {client} 200 1 {(end - begin) // MILLISECOND}"


def cloudfront(begin, end, client):
    return "\t".join((iso(end, 0)[:10], iso(end, 0)[11:19], "FRA2", "1", client, "GET", "/", "200", fraction(end - begin, 3)))


def table(begin, end, client):
    return f"{iso(end, 9)},{client},{end - begin}"


IIS_HEAD = ("#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Fields: date time s-ip cs-method "
            "cs-uri-stem cs-uri-query s-port cs-username c-ip sc-status sc-bytes time-taken\n")
CLOUDFRONT_HEAD = "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs-uri-stem sc-status time-taken\n"
# name: (writer, unit of the stamp, unit of the length, whether the stamp is the end, header, arguments)
PROGRAMS = {
    "nginx": (nginx, SECOND, MILLISECOND, True, "", ()),
    "nginx json": (nginx_json, MILLISECOND, MILLISECOND, True, "", ("--duration", "request_time")),
    "apache": (apache, SECOND, MICROSECOND, False, "", ("--duration", "extra[0]:us", "--stamp", "begin")),
    "haproxy": (haproxy, MILLISECOND, MILLISECOND, False, "", ()),
    "caddy": (caddy, MICROSECOND, 1, True, "", ()),
    "envoy": (envoy, MILLISECOND, MILLISECOND, False, "", ()),
    "istio json": (istio_json, MILLISECOND, MILLISECOND, False, "", ("--duration", "duration")),
    "traefik": (traefik, 1, 1, False, "", ()),
    "kong": (kong, MILLISECOND, MILLISECOND, False, "", ()),
    "squid": (squid, MILLISECOND, MILLISECOND, True, "", ()),
    "iis": (iis, SECOND, MILLISECOND, True, IIS_HEAD, ()),
    "cloudfront": (cloudfront, SECOND, MILLISECOND, True, CLOUDFRONT_HEAD, ()),
    "csv": (table, 1, 1, True, "time,client,took\n", ("--duration", "took:ns", "--stamp", "end")),
}


def random_requests(dice):
    """(begin, end, client), in the order in which their lines are written: as they end."""
    clients = [f"192.0.2.{n}" for n in range(dice.choice((1, 2, 8)))]
    span = dice.choice((2, 20, 300)) * SECOND
    grain = dice.choice((SECOND, 100 * MILLISECOND, MILLISECOND, MICROSECOND))   # coarse ones make equal times
    longest = dice.choice((SECOND, 10 * SECOND, 100 * SECOND))
    requests = []
    for _ in range(dice.choice((5, 50, 200))):
        begin = DAY + 3600 * SECOND + dice.randrange(span) // grain * grain
        took = 0 if dice.random() < 0.1 else dice.randrange(longest) // grain * grain
        requests.append((begin, begin + took, dice.choice(clients)))
    dice.shuffle(requests)
    return sorted(requests, key=lambda each: each[1])


def as_written(requests, stamp_unit, length_unit, at_end):
    """What the lines say of them."""
    for begin, end, client in requests:
        took = (end - begin) // length_unit * length_unit
        stamp = (end if at_end else begin) // stamp_unit * stamp_unit
        yield (stamp - took, stamp, client) if at_end else (stamp, stamp + took, client)


def sweep(spans, slots):
    """Decides each of them, in the order of begins, of one number of slots: (busy, when one of the slots is free).

    Ends before begins of one time; of equal begins the line above goes first."""
    events = sorted([(begin, 1, i, "begin") for i, (begin, _, _) in enumerate(spans)] +
                    [(end, 0 if end > begin else 1, i, "end") for i, (begin, end, _) in enumerate(spans)])
    open_of = {}
    for when, _, i, kind in events:
        mine = open_of.setdefault(spans[i][2], set())
        if kind == "end":
            mine.discard(i)
        elif slots is not None and len(mine) >= slots:
            yield i, None, min(spans[j][1] for j in mine) - when
        else:
            mine.add(i)
            yield i, len(mine), None


def expected(spans, slots):
    busy = {i: wait for i, _, wait in sweep(spans, slots) if wait is not None}
    of_client = {}
    for i in busy:
        of_client.setdefault(spans[i][2], []).append(i)
    return busy, of_client


def most_at_once(spans):
    most = {}
    for i, count, _ in sweep(spans, None):
        who = spans[i][2]
        if who not in most or count > most[who][0]:
            most[who] = count, spans[i][0]
    return most


class Slots(unittest.TestCase):
    def log_of(self, folder, program, requests):
        write, *_, head, _ = PROGRAMS[program]
        return folder.file(program.replace(" ", "-") + ".log", head + "".join(write(*each) + "\n" for each in requests))

    def test_random_logs_of_many_programs(self):
        for seed in seeds(20):
            for program, (_, stamp_unit, length_unit, at_end, _, arguments) in PROGRAMS.items():
                with self.subTest(seed=seed, program=program), Folder() as folder:
                    requests = random_requests(chance(f"{seed} {program}"))
                    log = self.log_of(folder, program, requests)
                    spans = list(as_written(requests, stamp_unit, length_unit, at_end))
                    self.agrees(log, spans, arguments, folder)

    def agrees(self, log, spans, arguments, folder):
        slots = (1, 2, 3, 7)
        decisions = pathlib.Path(folder.path, "decisions.csv")
        asked = [word for n in slots for word in ("--in-flight", n)]
        said = answer("replay", log, *asked, *arguments, "--reorder", "all", "--worst", 100, "--decisions", decisions)
        self.assertEqual(said["lines"]["requests"], len(spans))
        in_order = sorted(range(len(spans)), key=lambda i: spans[i][0])
        rows = list(csv.DictReader(decisions.read_text().splitlines()))
        for n, limit in zip(slots, said["limits"]):
            busy, of_client = expected(spans, n)
            self.assertEqual(limit["limit"], f"in_flight={n}")
            self.assertEqual((limit["denied"], limit["clients_denied"]), (len(busy), len(of_client)))
            self.assertEqual(limit["units_admitted"], len(spans) - len(busy))
            self.assertEqual({each["client"]: each["denied"] for each in limit["worst"]},
                             {who: len(those) for who, those in of_client.items()})
            for i, row in zip(in_order, rows):
                self.assertEqual(row["client"], spans[i][2])
                self.assertEqual(row[f"in_flight={n}"], "busy" if i in busy else "allowed")
                wait = row[f"in_flight={n} retry_after"]
                self.assertEqual(round(float(wait) * SECOND) if wait else None, busy.get(i))
        most = most_at_once(spans)
        self.assertEqual({each["client"]: (each["most"], each["first_at_ns"]) for each in said["at_once"]}, most)
        self.assertEqual([each["most"] for each in said["at_once"]], sorted((n for n, _ in most.values()), reverse=True))
        self.suggests(log, spans, arguments, most)

    def suggests(self, log, spans, arguments, most):
        clients_denied = len(most) // 2
        said = answer("suggest", log, "--in-flight", *arguments, "--reorder", "all",
                      "--deny-clients", clients_denied) if clients_denied else answer(
                          "suggest", log, "--in-flight", *arguments, "--reorder", "all", "--deny-clients", "0%")
        greatest = max(n for n, _ in most.values())
        busy = {n: expected(spans, n) for n in range(1, greatest + 1)}

        def fewest(fits):
            return next(n for n in busy if fits(*busy[n]))
        wanted = [("the criterion", fewest(lambda _, who: len(who) <= clients_denied)),
                  ("no request", fewest(lambda those, _: not those))]
        wanted += [(f"{share:g} % of the requests", fewest(lambda those, _: len(those) * 1000 <= len(spans) * share * 10))
                   for share in (0.1, 1, 10)]
        for row, (when, n) in zip(said["in_flight"], wanted, strict=True):
            self.assertEqual((row["denies_at_most"], row["in_flight"]), (when, n))
            self.assertEqual((row["denied_requests"], row["clients_denied"]), tuple(map(len, busy[n])))

    def test_only_what_the_window_sorts_is_exact(self):
        """What began more than --reorder before a line above counts from there, and is counted as such."""
        lines = "".join(nginx(DAY + begin * SECOND, DAY + end * SECOND, "192.0.2.1") + "\n"
                        for begin, end in ((100, 101), (0, 102), (95, 103)))
        with Folder() as folder:
            log = folder.file("access.log", lines)
            said = answer("replay", log, "--in-flight", 9, "--reorder", "10s")
            self.assertEqual((said["lines"]["reordered"], said["lines"]["clamped"]), (1, 1))
            self.assertEqual(said["from"], "2026-11-21T00:01:30Z")
            self.assertEqual(said["at_once"][0]["most"], 3)
            code, text, _ = weir("replay", log, "--in-flight", 9, "--reorder", "10s")
            self.assertEqual(code, 0)
            self.assertIn("1 request began more than --reorder 10s before one of a line above, and counts from there\n",
                          text)
            self.assertEqual(answer("replay", log, "--in-flight", 9)["from"], "2026-11-21T00:00:40Z")
            self.assertEqual(answer("replay", log, "--in-flight", 9, "--reorder", "2min")["from"], "2026-11-21T00:00:00Z")

    def test_several_files_are_one_log(self):
        # One that takes no time is under way beside those that begin with it or not, by who comes first.
        requests = sorted(((begin, max(end, begin + MILLISECOND), client) for begin, end, client in random_requests(chance("files"))),
                          key=lambda each: each[1])
        with Folder() as folder:
            parts = [folder.file(f"{i}.log", "".join(haproxy(*each) + "\n" for each in requests[i::3])) for i in range(3)]
            whole = folder.file("whole.log", "".join(haproxy(*each) + "\n" for each in requests))
            said = [answer("replay", *files, "--in-flight", 1, "--in-flight", 3, "--reorder", "all")
                    for files in (parts, [whole])]
            for each in said:   # of equal begins another one may come first
                self.assertEqual([limit["requests"] for limit in each["limits"]], [len(requests)] * 2)
            self.assertEqual(*[[(each["most"], each["first_at"]) for each in one["at_once"]] for one in said])


LIMITS = """version: 1
limits:
  calls: {{ by: [ip], in_flight: {slots}, hold: {{ ttl: {ttl} }} }}
  pace: {{ by: [api], rate: 1/{interval}ms burst {burst} }}
"""


def together(spans, slots, burst, interval, ttl):
    """Slots of each client, and one rate of all, all or none: for each request the verdict of the one that it has to wait
    for longer, and whether it lacks a slot."""
    open_of, tat, told = {}, 0, {}
    for i in sorted(range(len(spans)), key=lambda i: spans[i][0]):
        begin, end, client = spans[i]
        mine = open_of[client] = [each for each in open_of.get(client, []) if each > begin]
        after = max(tat, begin) + interval
        rate_wait = max(after - begin - burst * interval, 0)
        slot_wait = min(mine) - begin if len(mine) >= slots else 0
        if not rate_wait and not slot_wait:
            tat = after
            mine.append(min(end, begin + ttl))
        told[i] = "denied" if rate_wait > slot_wait else "busy" if slot_wait else "allowed", slot_wait > 0
    return told


class Files(unittest.TestCase):
    """A limits file with slots and a rate, against one sweep of both."""

    def test_slots_and_rates_are_taken_all_or_none(self):
        for seed in seeds(30):
            dice = chance(f"{seed} files with slots")
            requests = random_requests(dice)
            slots, burst, ttl = dice.choice((1, 2, 5)), dice.choice((1, 4, 30)), dice.choice((1, 20, 3600))
            interval = dice.choice((10, 500, 3000))
            with self.subTest(seed=seed, slots=slots, burst=burst, ttl=ttl, interval=interval), Folder() as folder:
                log = folder.file("access.csv", "time,ip,api,took\n" + "".join(
                    f"{iso(end, 9)},{client},a,{end - begin}\n" for begin, end, client in requests))
                limits = folder.file("limits.yaml", LIMITS.format(slots=slots, burst=burst, ttl=f"{ttl}s", interval=interval))
                decisions = pathlib.Path(folder.path, "decisions.csv")
                said = answer("replay", log, "--limits", limits, "--duration", "took:ns", "--stamp", "end", "--reorder",
                              "all", "--worst", 100, "--decisions", decisions)
                told = together(requests, slots, burst, interval * MILLISECOND, ttl * SECOND)
                rows = list(csv.DictReader(decisions.read_text().splitlines()))
                in_order = sorted(told, key=lambda i: requests[i][0])
                self.assertEqual([row["verdict"] for row in rows], [told[i][0] for i in in_order])
                self.assertEqual({row["cost"] for row in rows}, {"1"})
                calls = next(each for each in said["limits"] if each["limit"] == "calls")
                whole = next(each for each in said["limits"] if each["limit"] == "together")
                of_client = {}
                for i, (_, lacks) in told.items():
                    if lacks:
                        who = f"ip={requests[i][2]}"
                        of_client[who] = of_client.get(who, 0) + 1
                self.assertEqual({each["client"]: each["denied"] for each in calls["worst"]}, of_client)
                self.assertEqual(whole["denied"], sum(what != "allowed" for what, _ in told.values()))
                self.assertEqual({each["client"]: (each["most"], each["first_at_ns"]) for each in said["at_once"]},
                                 {f"ip={who}": most for who, most in most_at_once(requests).items()})

    def test_such_a_file_needs_to_know_how_long_a_request_took(self):
        with Folder() as folder:
            limits = folder.file("limits.yaml", LIMITS.format(slots=1, burst=1, ttl="1s", interval=1))
            log = folder.file("access.log", '192.0.2.1 - - [21/Nov/2026:00:00:01 +0000] "GET / HTTP/1.1" 200 1\n')
            code, out, errors = weir("replay", log, "--limits", limits)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("duration: no field of this log is known to hold how long a request took; --duration FIELD:UNIT",
                          errors)
            code, out, errors = weir("replay", log, "--limits", limits, "--cost", "bytes")
            self.assertEqual((code, out), (2, ""))
            self.assertIn("cost: not with limits that have in_flight, for which each request says how long it took", errors)


class Reports(unittest.TestCase):
    def test_the_table_and_the_page(self):
        lines = "".join(nginx(DAY, DAY + n * SECOND, f"192.0.2.{n % 2}") + "\n" for n in range(1, 8))
        with Folder() as folder:
            log, page = folder.file("access.log", lines), pathlib.Path(folder.path, "page.html")
            code, text, errors = weir("replay", log, "--in-flight", 3, "--html", page)
            self.assertEqual((code, errors), (0, ""))
            self.assertRegex(text, r"(?m)^in_flight=3 +7 +6 +1 +14 % +1 +1s +6 +6$")
            self.assertRegex(text, r"(?m)^most at once +requests +first at\n192\.0\.2\.1 +4 +2026-11-21T00:00:00Z\n"
                                   r"192\.0\.2\.0 +3 +2026-11-21T00:00:00Z$")
            self.assertIn("<h2>Most at once</h2>", page.read_text())
            code, text, errors = weir("suggest", log, "--in-flight", "--deny-clients", "1", "--html", page)
            self.assertEqual((code, errors), (0, ""))
            self.assertRegex(text, r"(?m)^to deny at most +limit +would deny +of the requests +clients\n"
                                   r"the criterion +in_flight=3 +1 +14 % +1\nno request +in_flight=4 +0 +0 % +0$")
            self.assertIn("<code>in_flight=3</code> would have denied 1", page.read_text())

    def test_names_stay_out_of_pages(self):
        line = json.dumps({"time": iso(DAY, 3), "user": "secret", "request_time": 1.5})
        with Folder() as folder:
            log, page = folder.file("app.json", line + "\n"), pathlib.Path(folder.path, "page.html")
            for command in (("replay", log, "--in-flight", 1), ("suggest", log, "--in-flight")):
                self.assertEqual(weir(*command, "--key", "user", "--html", page)[0], 0)
                self.assertNotIn("secret", page.read_text())
                self.assertIn("client 1", page.read_text())

    def test_a_log_that_grows(self):
        lines = "".join(haproxy(DAY, DAY + SECOND, "192.0.2.1") + "\n" for _ in range(3))
        code, out, _ = weir("replay", "-", "--in-flight", 2, "--follow", "--json", stdin=lines.encode())
        self.assertEqual((code, json.loads(out)["limits"][0]["denied"]), (0, 1))


class Refused(unittest.TestCase):
    def refused(self, *arguments, log=None):
        with Folder() as folder:
            path = folder.file("access.log", log or nginx(DAY, DAY + SECOND, "192.0.2.1") + "\n")
            words = [path if word is None else word for word in arguments]
            code, out, errors = weir(*words)
            self.assertEqual((code, out), (2, ""), errors)
            return re.sub(re.escape(str(path)), "LOG", errors)

    def test_what_makes_no_sense(self):
        other = '192.0.2.1 - - [21/Nov/2026:00:00:01 +0000] "GET / HTTP/1.1" 200 1 "-" "curl" 17\n'
        for arguments, log, error in (
            (("--in-flight", "0"), None, "in-flight: '0' is not a whole number from 1 to 4294967295"),
            (("--in-flight", "x"), None, "in-flight: 'x' is not a whole number from 1 to 4294967295"),
            (("--in-flight", "4294967296"), None, "in-flight: '4294967296' is not a whole number from 1 to 4294967295"),
            (("--in-flight", "1") * 17, None, "in-flight: 17 limits; the maximum is 16"),
            (("--in-flight", "1", "--limit", "1/s"), None, "give one of --limit, --limits and --in-flight"),
            (("--in-flight", "1", "--limit-by", "user"), None, "in-flight: not with --limit-by or --plans"),
            (("--in-flight", "1", "--cost", "bytes"), None, "cost: a request takes one slot, whatever it costs"),
            (("--in-flight", "1", "--spread"), None,
             "spread: with slots a request begins and ends when its line says"),
            (("--limit", "1/s", "--duration", "rt"), None,
             "duration: only --in-flight, and limits that have in_flight, ask how long a request took"),
            (("--limit", "1/s", "--stamp", "end"), None,
             "stamp: only --in-flight, and limits that have in_flight, ask which end of a request the time of a line is"),
            (("--in-flight", "1", "--stamp", "middle"), None,
             "stamp: 'middle' is neither begin nor end, of a request, which the time of its line is"),
            (("--in-flight", "1"), other,
             "LOG: duration: no field of this log is known to hold how long a request took; --duration FIELD:UNIT "
             "names it, as in request_time:s"),
            (("--in-flight", "1", "--duration", "extra[0]"), other,
             "LOG: duration: what 'extra[0]' counts by is not known; say extra[0]:s, :ms, :us or :ns"),
            (("--in-flight", "1", "--duration", "extra[0]:ms"), other,
             "LOG: stamp: whether a line has the time at which a request began or ended is not known; say --stamp begin "
             "(as Apache writes) or --stamp end (as nginx does)"),
            (("--limit", "in_flight=5"), None,
             "limit: 'in_flight=5' counts requests that are under way, so it has to be known how long each took: give "
             "--in-flight"),
            (("--limit", "free=in_flight=5", "--limit-by", "user"), None,
             "limit: plan free: 'in_flight=5' counts requests that are under way, so it has to be known how long each "
             "took: give --in-flight"),
        ):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.refused("replay", None, *arguments, log=log), f"weir: {error}\n")

    def test_of_suggest(self):
        for arguments, error in (
            (("--in-flight", "--today", "5/s"), "today: a rate is not compared with slots"),
            (("--in-flight", "--as-limits"), "as-limits: not with --in-flight"),
            (("--in-flight", "--bad", "x"), "bad: not with --in-flight; --where leaves requests out"),
            (("--in-flight", "--deny-clients", "1%", "--deny-requests", "1%"),
             "give exactly one of --deny-clients, --deny-requests and --good"),
            (("--deny-clients", "1%", "--today", "in_flight=5"),
             "today: 'in_flight=5' counts requests that are under way, so it has to be known how long each took: give "
             "--in-flight"),
        ):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.refused("suggest", None, *arguments), f"weir: {error}\n")

    def test_a_line_without_a_duration_is_unreadable(self):
        good, bad = nginx(DAY, DAY + SECOND, "192.0.2.1"), nginx(DAY, DAY + SECOND, "192.0.2.1").rsplit(" ", 1)[0]
        with Folder() as folder:
            log = folder.file("access.log", f"{good}\n{bad}\n{bad} rt=-\n{bad} rt=4000000000\n")
            said = answer("replay", log, "--in-flight", 1)
            self.assertEqual((said["lines"]["requests"], said["lines"]["unreadable"]), (1, 3))
            whys = [each["why"] for each in said["lines"]["unreadable_examples"]]
            self.assertIn("rt", whys[0])
            self.assertEqual(whys[1:], ["the duration is not a number", "the request began before 1970"])


if __name__ == "__main__":
    run(900)
