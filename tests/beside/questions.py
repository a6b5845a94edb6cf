"""Random questions, as steps of pair.py: commands of RESP, requests of HTTP and of gateways. Most are right; the others are
almost right. Nothing here knows an answer."""
import json
import re

PROTOCOL_ERRORS = ["*abc\r\n", "*1\r\n$abc\r\n", "*1\r\n:1\r\n", "*1\r\n$4\r\nPINGXX", "*" + "1" * 40 + "\r\n", 'ECHO "a\r\n', "*-2\r\n",
                   "*1\n", "*2\r\n$4\r\nECHO\r\n$-1\r\n\r\n", "POST / HTTP/1.1\r\n", "Host: x\r\n", "*1\r\n$600000\r\n",
                   "*300000\r\n", "\x16\x03\x01\x02\x00", "*0\r\n", "\r\n", "*-1\r\n", "PING\x00\r\n", "*1\r\n$0\r\n\r\n"]
ODD = ["", "x", "-1", "0", "1", "2", "+1", "01", "1.5", "1e3", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-0",
       " 1", "\x00", "\xff\xfe", "\r\n", "a" * 300, "a=b", "=", "COST", "KEYS", "AS", "MAXWAIT", "HOLD", "CLASS", "NOW", "LIMIT",
       "TOKENS", "nan", "inf", "'", '"', "{a}", "caf\xc3\xa9", "10/s", "1/h burst 5", "%s", "\x1b[31m"]
RULES = ["10/s", "1/h", "1/h burst 5", "5/min", "100/min burst 20", "1/day burst 3", "3/10s", "1000/h burst 1", "60/min burst 2",
         "10/h algorithm=fixed_window", "10/h algorithm=fixed_window align=clock", "20/min algorithm=sliding_window_counter",
         "5/s algorithm=gcra", "1/7s burst 4", "1000000000/s"]
ODD_RULES = ["1/s size 3", "0/s", "1/0s", "x", "", "1/s burst 0", "5/h algorithm=sliding_window_log", "2000000000/s", "1/s burst 2 burst 3",
             "1/s algorithm=none", "10/s, 5/min", "unlimited", "1/s " + "b" * 130, "1/300y", "1/s burst 99999999999999999999"]
JUMPS = [1, 999_999, 1_000_000, 50_000_000, 999_999_999, 10**9, 7 * 10**9, 31 * 10**9, 60 * 10**9, 61 * 10**9, 3600 * 10**9, 90_000 * 10**9]


class Vocabulary:
    """What requests to one world can be about."""

    def __init__(self, limits=""):
        self.has_limits = bool(limits)
        # A file's own words: names before a colon or in lists, and values.
        words = [word for word in re.findall(r"[\w./:*@-]+", re.sub(r"#.*", "", limits)) if len(word) < 40]
        self.names = sorted({word.rstrip(":") for word in words if re.fullmatch(r"[a-z_][\w-]*:?", word)}) or ["user"]
        self.values = sorted({word.strip("@*") for word in words} - {""}) or ["a"]
        block = re.search(r"^limits:(.*?)(?=^\w|\Z)", limits, re.M | re.S)
        self.limits = re.findall(r"^  ([\w-]+):", block.group(1), re.M) if block else []
        by = re.findall(r"by: \[?([^\]\n,}]+(?:, ?[\w-]+)*)", limits)
        self.attributes = sorted({name.strip() for each in by for name in each.split(",")} |
                                 set(re.findall(r"(?:when|deny|allow): ?\{ ?([\w.-]+):", limits)) |
                                 set(re.findall(r"from: ([\w-]+) ?\}", limits))) or ["user"]
        self.classes = re.findall(r"[\w-]+", (re.search(r"^classes: \[(.*?)\]", limits, re.M) or [0, ""])[1])
        block = re.search(r"^gateways:(.*?)(?=^\w|\Z)", limits, re.M | re.S)
        self.gateways = re.findall(r"^  ([\w-]+):", block.group(1), re.M) if block else []
        self.headers = re.findall(r"header\.([\w-]+)", limits) + re.findall(r"header: ([\w-]+)", limits)


class Asking:
    def __init__(self, random, vocabulary, store=False):
        self.r, self.v, self.store = random, vocabulary, store

    def some(self, *choices):
        return self.r.choice(choices)

    def maybe(self, chance):
        return self.r.random() < chance

    def units(self):
        return self.some("1", "1", "1", "2", "3", "5", "0", "10", "100", "9223372036854775807")

    def key(self):
        return self.some("a", "b", "c", "user:1", "", "k\x00\xff", "{x}y") if self.maybe(0.9) else str(self.r.random())

    def rule(self):
        return self.r.choice(ODD_RULES) if self.maybe(0.08) else self.r.choice(RULES)

    def rule_to_wait_for(self):
        return self.some("1/s", "1/s burst 2", "2/min burst 3", "10/s burst 5", "1/7s burst 4", "1/h", "5/h algorithm=fixed_window")

    def attribute(self):
        name = self.r.choice(self.v.attributes) if self.maybe(0.85) else self.some(
            "ip", "path", "method", "host", "raw_path", "nobody", *self.v.names)
        if name == "ip":
            return name, self.some("192.0.2.1", "10.1.2.3", "2001:db8::1", "::ffff:192.0.2.1", "x", "", "192.0.2.66", *self.v.values)
        if name in ("path", "raw_path"):
            return name, self.some("/", "/v1/chat", "/healthz", "/v1/search/deep", "/login", *self.v.values)
        if name == "method":
            return name, self.some("GET", "POST", "PUT")
        if self.maybe(0.2):
            return name, self.units()
        return name, self.some("a", "b", "u-1", "acme", "globex") if self.maybe(0.5) else self.r.choice(self.v.values)

    def attributes(self):
        found = dict(self.attribute() for _ in range(self.r.randint(1, 5)))
        return [f"{name}={value}" for name, value in found.items()]

    def costs(self):
        if self.maybe(0.25) and self.v.limits:
            return ",".join(f"{self.r.choice(self.v.limits)}={self.units()}" for _ in range(self.r.randint(1, 2)))
        return self.units()

    def of_the_file(self, now=False):
        words = []
        if self.maybe(0.3):
            words += ["COST", self.costs()]
        if self.maybe(0.2):
            words += ["CLASS", self.some("default", "vip", "bulk", *self.v.classes)]
        if now and self.maybe(0.3):
            words += ["NOW", self.some("2026-11-21", "2027-01-15T00:00:00Z", "x", "2026-12-01")]
        return words + self.attributes()

    def keys_and_rules(self, rule):
        words = ["COST", self.units()] if self.maybe(0.3) else []
        words += ["KEYS"] if self.maybe(0.1) else []
        for _ in range(self.some(1, 1, 1, 2, 3, 16 if self.maybe(0.2) else 1)):
            words += [self.key() if self.maybe(0.7) else str(self.r.randint(1, 99)), rule()]
        return words

    def reserving(self, acquire):
        words = ["MAXWAIT", self.some("0", "1000", "5000", "60000", "60001")] if acquire or self.maybe(0.7) else []
        words += ["HOLD", self.some("1", "1000", "30000", "86400000", "86400001")] if self.maybe(0.4) else []
        if self.v.has_limits and self.maybe(0.6):
            words += ["COST", self.costs()] if self.maybe(0.3) else []
            words += ["CLASS", self.some("default", "bulk", *self.v.classes)] if self.maybe(0.2) else []
            return words + ["AS"] + self.attributes()
        return words + self.keys_and_rules(self.rule_to_wait_for)

    def actual(self):
        if self.maybe(0.3) and self.v.limits:
            return self.costs() + f",{self.r.choice(self.v.limits)}={self.units()}"
        return self.costs()

    def words(self):
        """One command."""
        c, r = self.some, self.r
        choice = r.random()
        if choice < 0.18:
            words = [c("CL.THROTTLE", "RL.THROTTLE", "cl.throttle"), self.key(), c("0", "1", "4", "15", "5000000000"), c("1", "30", "1000000000"),
                     c("1", "60", "3600", "9223372036")]
            words += [self.units()] if self.maybe(0.4) else []
        elif choice < 0.25:
            words = ["GCRA", self.key(), c("0", "1", "4", "15"), c("1", "30"), c("1", "0.5", "60", "1e3", "3600")]
            words += ["TOKENS", self.units()] if self.maybe(0.4) else []
        elif choice < 0.37:
            words = ["WEIR.THROTTLE"] + self.keys_and_rules(self.rule)
        elif choice < 0.50:
            words = ["WEIR.RESERVE"] + self.reserving(False)
        elif choice < 0.56:
            words = ["WEIR.ACQUIRE"] + self.reserving(True)
        elif choice < 0.62:
            words = [c("WEIR.CANCEL", "WEIR.SETTLE", "WEIR.SETTLE"), f"{{id {r.randint(0, 5)}}}" if self.maybe(0.9) else c("x", "B" * 22)]
            words += [self.actual()] if words[0] == "WEIR.SETTLE" and self.maybe(0.8) else []
        elif choice < 0.80 and (self.v.has_limits or self.maybe(0.1)):
            name = c("WEIR.CHECK", "WEIR.CHECK", "WEIR.CHECK", "WEIR.LOOK", "WEIR.EXPLAIN", "WEIR.RESET")
            words = [name] + self.of_the_file(name == "WEIR.EXPLAIN")
            if name == "WEIR.RESET":
                words = [name, "AS"] + (["LIMIT", c("x", *self.v.limits)] if self.maybe(0.5) else []) + self.attributes()
        elif choice < 0.85:
            words = c(["WEIR.RESET", self.key()], ["DEL", self.key()], ["DEL", self.key(), self.key()], ["MULTI"], ["EXEC"], ["MULTI"], ["EXEC"],
                      ["DISCARD"])
        else:
            words = list(r.choice(self.other()))
        if self.maybe(0.12) and words[0] != "SHUTDOWN":
            self.spoil(words)
        if self.maybe(0.1) and words[0] != "SHUTDOWN":
            words[0] = "".join(c(letter.upper(), letter.lower()) if letter.isascii() else letter for letter in words[0])
        return words

    def other(self):
        number = str(self.r.randint(1, 9))
        return [["PING"], ["PING", "m"], ["ECHO", "\xff"], ["QUIT"], ["RESET"], ["HELLO"], ["HELLO", "2"], ["HELLO", "3"], ["HELLO", "3"],
                ["HELLO", "4"], ["HELLO", "3", "AUTH", "default", "s3cret", "SETNAME", "n"], ["HELLO", "2", "SETNAME", "a b"],
                ["AUTH", "s3cret"], ["AUTH", "default", "s3cret"], ["SELECT", "0"], ["SELECT", "1"], ["SELECT", "x"],
                ["CLIENT", "SETNAME", "me"], ["CLIENT", "SETNAME", "a b"], ["CLIENT", "GETNAME"], ["CLIENT", "ID"], ["CLIENT", "LIST"],
                ["CLIENT", "LIST", "TYPE", "normal"], ["CLIENT", "LIST", "ID", number], ["CLIENT", "LIST", "ID", "x"], ["CLIENT", "INFO"],
                ["CLIENT", "KILL", "10.0.0.8:1"], ["CLIENT", "KILL", "ID", "999"], ["CLIENT", "KILL", "USER", "nobody"],
                ["CLIENT", "KILL", "NAME", "x"], ["CLIENT", "KILL", "ID", number, "SKIPME", "no"], ["CLIENT", "KILL", "MAXAGE", "100000"],
                ["CLIENT", "UNBLOCK", number], ["CLIENT", "UNBLOCK", number, "ERROR"], ["CLIENT", "UNBLOCK", "x"], ["CLIENT", "PAUSE", "1"],
                ["CLIENT", "SETINFO", "LIB-NAME", "x"], ["CLIENT", "NO-EVICT", "ON"], ["CLIENT", "NO-TOUCH", "ON"], ["CLIENT"],
                ["CLIENT", "REPLY", "OFF"], ["CLIENT", "REPLY", "ON"], ["CLIENT", "REPLY", "SKIP"], ["CLIENT", "REPLY", "x"],
                ["COMMAND"], ["COMMAND", "COUNT"], ["COMMAND", "DOCS", "gcra"], ["COMMAND", "INFO", "del", "nope"], ["COMMAND", "LIST"],
                ["COMMAND", "DOCS"], ["INFO"], ["INFO", "stats", "limits"], ["INFO", "all"], ["INFO", "none"], ["INFO", "keyspace"],
                ["CONFIG", "GET", "*"], ["CONFIG", "GET", "max*", "save"], ["CONFIG", "SET", "a", "b"], ["CONFIG", "GET"], ["TIME"],
                ["DBSIZE"], ["LASTSAVE"], ["SLOWLOG", "GET"], ["SLOWLOG", "LEN"], ["SLOWLOG", "RESET"], ["SLOWLOG", "GET", "-1"],
                ["SLOWLOG", "HELP"], ["SHUTDOWN", "NOW"], ["GET", "k"], ["EVAL", "x", "0"], ["EVALSHA", "x", "0"], ["SCRIPT", "LOAD", "x"],
                ["WEIR.CONFIG", "GET"], ["WEIR.CONFIG", "x"], ["WEIR.EXPLAIN"], ["WEIR.RESET", "a", "b"], ["WEIR.RESET", "AS"],
                ["WEIR.NOPE", "x"], ["\xff\x00"], ["WEIR.THROTTLE", "a"], ["WEIR.ACQUIRE", "MAXWAIT", "1"], ["WEIR.CANCEL"]]

    def spoil(self, words):
        at = self.r.randrange(len(words))
        kind = self.r.randrange(5)
        if kind == 0 and len(words) > 1:
            del words[at]
        elif kind == 1:
            words.insert(at + 1, self.r.choice(ODD))
        elif kind == 2 and at > 0:
            words[at] = self.r.choice(ODD)
        elif kind == 3:
            words.append(words[at])
        elif at > 0:
            words[at] = self.r.choice(words)

    def inline(self, words):
        def quoted(word):
            if re.fullmatch(r"[\w./:=,*-]+", word) and self.maybe(0.8):
                return word
            if self.maybe(0.3) and "'" not in word and word.isprintable():
                return "'" + word + "'"
            return '"' + "".join(letter if " " <= letter <= "~" and letter not in '"\\' else f"\\x{ord(letter):02x}" for letter in word) + '"'
        return self.some(" ", "  ").join(
            word if word.startswith("{id") else quoted(word) for word in words) + self.some("\r\n", "\n")

    def pipeline(self, most=12):
        parts = []
        for _ in range(self.r.randint(1, most)):
            words = self.words()
            if self.store and words[0].upper() == "WEIR.ACQUIRE":
                continue  # what waits is asked by a step of its own
            if words[0] == "SHUTDOWN":  # as two words after half a line it would be a line of its own
                parts.append({"raw": "SHUTDOWN NOW\r\n"})
                continue
            parts.append({"raw": self.inline(words)} if self.maybe(0.07) else {"words": words})
        if self.maybe(0.05):
            parts.append({"raw": self.r.choice(PROTOCOL_ERRORS)})
        if self.maybe(0.04):
            parts.append({"raw": self.some("*3\r\n$11\r\nCL.THR", "*1\r\n", "PIN", "*1\r\n$4\r\nPI")})
        return parts or [{"words": ["PING"]}]

    def cuts(self):
        return [round(self.r.random(), 4) for _ in range(self.some(0, 0, 1, 2, 4))]

    def resp(self, on):
        return {"do": "send", "on": on, "to": "resp", "parts": self.pipeline(), "cuts": self.cuts(), "ends": self.maybe(0.1)}

    def awaiting(self):
        """One that may wait, in a world where others come between an answer of Redis and the next question."""
        return {"do": "await", "on": "waits", "to": "resp", "parts": [{"words": ["WEIR.ACQUIRE"] + self.reserving(True)}],
                "ns": self.r.choice([0, 10**9, 5 * 10**9, 61 * 10**9])}

    # ---- HTTP

    def number(self):
        return self.some(0, 1, 1, 1, 2, 5, 100, -1, 1.5, "1", None, 9223372036854775807)

    def rule_in_a_body(self):
        # An old program that asks a store ends at some of those that are wrong.
        return self.rule_to_wait_for() if self.store else self.rule()

    def body(self, path):
        r, c = self.r, self.some
        if path in ("/v1/cancel", "/v1/settle"):
            made = {"id": f"{{id {r.randint(0, 5)}}}" if self.maybe(0.9) else c("x", 1, "")}
            if self.maybe(0.6):
                made["actual"] = self.number() if self.maybe(0.7) or not self.v.limits else {r.choice(self.v.limits): self.number()}
            return made
        made = {}
        form = r.random()
        if form < 0.5 and self.v.has_limits:
            made["attributes"] = dict(self.attribute() for _ in range(r.randint(0, 5)))
            if self.maybe(0.2):
                made["class"] = c("default", "vip", *self.v.classes)
        elif form < 0.8:
            made |= {"key": self.key().encode("latin-1").decode("latin-1"), "limit": self.rule_to_wait_for() if "re" in path else self.rule_in_a_body()}
        else:
            made["checks"] = [{"key": str(n), "limit": self.rule_in_a_body()} | ({"cost": self.number()} if self.maybe(0.3) else {})
                              for n in range(c(1, 2, 3, 16, 17))]
        if self.maybe(0.3):
            made["cost"] = self.number() if self.maybe(0.8) or not self.v.limits else {r.choice(self.v.limits): self.number()}
        if self.maybe(0.2):
            made["explain"] = c(True, True, False, 1)
        if path in ("/v1/reserve", "/v1/acquire") or self.maybe(0.05):
            if self.maybe(0.7):
                made["max_wait"] = c(0, 0.5, 2, 5, 60, 61, -1, "x")
            if self.maybe(0.3):
                made["hold"] = c(1, 30, 0.001, 86400, 86401)
        if path == "/v1/reset" and self.maybe(0.5):
            made.pop("limit", None)
        if self.maybe(0.08):
            made[c("user", "Cost", "id", "key", "requests", "")] = c(1, None, [], {}, "x")
        return made

    def right_body(self, _):
        return {"key": self.key(), "limit": self.rule_to_wait_for(), "cost": self.some(0, 1, 2)}

    def body_text(self, path):
        made = self.body(path)
        if self.maybe(0.15):
            # An old program that asks a store ends at one that is wrong beside one that is right.
            one = self.right_body if self.store else self.body
            made = {"requests": [one(path) for _ in range(self.some(0, 1, 2, 3, 20))]}
        text = json.dumps(made, ensure_ascii=self.maybe(0.5)).encode().decode("latin-1")
        if self.maybe(0.06):
            text = self.some(text[:-1], text + "x", "", "[]", "null", "{", text.replace('"', "'"), text.replace("{", '{"cost": 1, "cost": 2, ', 1),
                             text.replace("a", "\xff", 1), text.replace("1", "1e999", 1))
        return text

    def chunked(self, text):
        out, at = "", 0
        while at < len(text):
            size = self.r.randint(1, 40)
            piece = text[at:at + size]
            out += f"{len(piece):x}{self.some('', '', ';a=b')}\r\n{piece}\r\n"
            at += size
        return out + self.some("0\r\n\r\n", "0\r\n\r\n", "0\r\n\r\n", "0\r\nX: y\r\n\r\n", "x\r\n\r\n")

    def request(self, password):
        c = self.some
        path = c("/v1/check", "/v1/check", "/v1/look", "/v1/explain", "/v1/reset", "/v1/reserve", "/v1/reserve", "/v1/cancel", "/v1/settle",
                 "/v1/acquire" if not self.store else "/v1/look")
        if self.maybe(0.05):
            path = c("/", "/openapi.json", "/v1/nope", "/v1/check?x=1", "*", "//v1/check", "/v1/" + "a" * 9000, "http://h/v1/check")
        method = "POST" if path != "/openapi.json" else "GET"
        if self.maybe(0.05):
            method = c("GET", "HEAD", "OPTIONS", "PUT", "post", "DELETE")
        lines = [f"{method} {path} {c('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0')}"]
        if self.maybe(0.97):
            lines.append("Host: x")
        if password and self.maybe(0.9):
            lines.append(c("Authorization: Bearer t0ken", "Authorization: Basic ZGVmYXVsdDpzM2NyZXQ="))
        if self.maybe(0.3):
            lines.append("Content-Type: " + c("application/json", "application/json; charset=utf-8", "text/plain", "application/jsonx"))
        if path == "/v1/acquire" or self.maybe(0.05):
            lines += [self.r.choice(["Prefer: wait=10", "Prefer: wait=0", "Prefer: respond-async, wait=5", "Prefer: wait=x", 'Prefer: wait="3"',
                                     "prefer: a;wait=5", "Prefer: wait=100000"])]
        if self.maybe(0.06):
            lines.append(c("Origin: http://evil", "Connection: close", "Connection: keep-alive", "Expect: 100-continue", "Content-Length: 5",
                           "Content-Encoding: gzip", "Host: y", " folded", "Bad Name: x", "X: a\x00b", "Accept: text/html", "Expect: x",
                           "Transfer-Encoding: gzip", "X: " + "a" * 17000))
        text = "" if method in ("GET", "HEAD", "OPTIONS") and self.maybe(0.8) else self.body_text(path)
        if self.maybe(0.15):
            return [{"raw": "\r\n".join(lines) + "\r\nTransfer-Encoding: chunked\r\n\r\n" + self.chunked(text)}]
        return [{"head": "\r\n".join(lines) + "\r\n", "body": text, "measured": bool(text) or self.maybe(0.5)}]

    def gate(self):
        c = self.some
        path = self.some("/", "/v1/chat", "/free", "/login", "/a%2fb", "/a/../b", "/%761/x", "/a;b", "/a//b", "/x?y=z", "/%zz", "/a\\b", *[
            value for value in self.v.values if value.startswith("/")])
        profile = c("nope", *self.v.gateways * 4)
        lines = [f"{c('GET', 'GET', 'POST', 'HEAD', 'OPTIONS', 'DELETE')} /v1/gate/{profile}{path if self.maybe(0.3) else ''} HTTP/1.1", "Host: shop.example.org"]
        pool = ["X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.1, 10.0.0.1", "X-Forwarded-For: x, 10.0.0.1", "X-Forwarded-For: [2001:db8::1]:443",
                "X-Real-IP: 198.51.100.7", "X-Real-IP: ", f"X-Forwarded-Uri: {path}", f"X-Original-URI: {path}", "X-Forwarded-Method: POST",
                "X-Original-Method: PUT", "X-Forwarded-Host: a.b", "X-Original-Host: a.b", "Authorization: Bearer t0ken", "X-Weir-A: b",
                "X-Forwarded-Uri: /z", "X-Gate-Token: t0ken"]
        pool += [f"{name}: {c('a', 'b', 't0ken', '5', '', 'x' * 200)}" for name in self.v.headers * 2]
        lines += self.r.sample(pool, self.r.randint(1, min(7, len(pool))))
        if self.maybe(0.1):
            body = self.some("body", "x" * 5000)
            return [{"head": "\r\n".join(lines) + "\r\n", "body": body}]
        return [{"raw": "\r\n".join(lines) + "\r\n\r\n"}]

    def http(self, on, password):
        parts = []
        for _ in range(self.some(1, 1, 1, 2, 3, 6)):
            parts += self.gate() if self.v.gateways and self.maybe(0.5) else self.request(password)
        if self.maybe(0.02):
            parts.append({"raw": self.some("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01", "GET\r\n\r\n", "PING\r\n")})
        return {"do": "send", "on": on, "to": "http", "parts": parts, "cuts": self.cuts(), "ends": self.maybe(0.1)}

    def admin(self, on):
        path = self.some("/metrics", "/metrics", "/healthz", "/readyz", "/nope")
        accept = self.some("", "Accept: application/openmetrics-text\r\n")
        method = self.some("GET", "GET", "GET" if path == "/metrics" else "HEAD", "POST")  # of a HEAD only the length would show
        raw = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{accept}\r\n"
        return {"do": "send", "on": on, "to": "admin", "parts": [{"raw": raw}], "ends": True}

    def jump(self):
        return {"do": "jump", "ns": self.r.choice(JUMPS)}

    def case(self, number, password=None, sends=None):
        """A few steps on one or two connections of its own."""
        steps = []
        if password and self.maybe(0.8):
            steps.append({"do": "send", "on": f"{number}.0", "to": "resp", "parts": [{"words": ["AUTH", password]}]})
        for _ in range(sends or self.some(1, 1, 2, 3)):
            on = self.some(0, 0, 1)
            kind = self.r.random()
            if kind < 0.62:
                steps.append(self.resp(f"{number}.{on}"))
            elif kind < 0.97:
                steps.append(self.http(f"{number}.h{on}", password))
            else:
                steps.append(self.admin(f"{number}.a{on}"))
            if self.maybe(0.35):
                steps.append(self.jump())
        return steps + [{"do": "close", "on": on} for on in dict.fromkeys(step["on"] for step in steps if "on" in step)]
