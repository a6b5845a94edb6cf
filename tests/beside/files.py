"""Random limits files, logs, and runs of the tools on them."""
import functools
import json
import re
import subprocess

from pair import TESTS
from kinds import KINDS
from make_formats import WRITERS

ROOT = TESTS.parent
NOW = 1_795_262_400  # of pair.py's clock, in seconds
RATES = ["1/h burst 5", "10/s burst 20", "2/h", "5/min", "100/min burst 20", "1/7s burst 4", "24/day burst 160", "1/61min burst 12", "3/h",
         "10/h algorithm=fixed_window", "20/min algorithm=sliding_window_counter", "5/day algorithm=fixed_window align=clock", "60000/min", "1/s"]


@functools.cache
def corpus():
    """Every limits file of the documents, the examples and the tests."""
    found = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        found += re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.M | re.S)
    found += [path.read_text() for path in sorted((ROOT / "examples").glob("*/*.yaml"))]
    for path in sorted((ROOT / "src/limits").glob("*_test.cpp")):
        found += re.findall(r'R"\((.*?)\)"', path.read_text(), re.S)
    for path in sorted((ROOT / "tests").glob("*/test_*.py")):
        found += re.findall(r'"""\\?\n?(version: 1\n.*?)"""', path.read_text(), re.S)
    found = [text for text in found if re.search(r"^limits:", text, re.M)]
    return [text if "version:" in text else "version: 1\n" + text for text in found]


def files_of(text):
    """A limits file and what it names."""
    found = {"limits.yaml": text}
    for name in re.findall(r"file: \"?([\w.-]+)", text):
        found[name] = "# some\n192.0.2.0/24\nacme\nt3*\n2001:db8:bad::/48\n"
    return found


def limits(random):
    """A file, most of which are right."""
    text = made(random) if random.random() < 0.6 else random.choice(corpus())
    if random.random() < 0.3:
        text = mutated(random, text)
    return text.encode("utf-8", "replace").decode("latin-1")


def made(random):
    """A file of a few limits with some of what a limit can have."""
    r, chance = random, lambda share: random.random() < share
    classes = r.choice([[], [], ["critical", "default", "bulk"], ["default", "bulk"]])
    names = r.sample(["edge", "tenant", "user", "ip", "search", "tokens", "rpm", "window"], r.randint(1, 5))
    attributes = {"edge": [], "tenant": ["tenant"], "user": ["tenant", "user"], "ip": ["ip"], "search": ["user"], "tokens": ["model"],
                  "rpm": ["user"], "window": ["ip", "path"]}
    lines = ["version: 1"]
    if chance(0.2):
        lines.append("attributes: [tenant, user, model, units, plan]")
    if classes:
        lines.append(f"classes: [{', '.join(classes)}]")
        if chance(0.3):
            lines.append(f"ceiling: {r.choice(classes)}")
    lines.append('lists: { partners: [acme, globex, "big-*"], bad: [192.0.2.0/24, "2001:db8:bad::/48"] }')
    lines.append("limits:")
    for name in names:
        rates = r.sample(RATES, r.choice([1, 1, 1, 2]))
        parts = [f"rate: [{', '.join(rates)}]" if len(rates) > 1 or chance(0.2) else f"rate: {rates[0]}"]
        if attributes[name]:
            parts.insert(0, f"by: [{', '.join(attributes[name])}]")
        gcra = not any("algorithm" in rate for rate in rates)
        if gcra and classes and chance(0.4):
            parts.append(f"leave: {{ {classes[-1]}: {r.choice(['20%', '50%', '75%'])} }}")
        if gcra and name != "edge" and "edge" in names and chance(0.3):
            parts.append("within: edge")
        if gcra and chance(0.3):
            parts.append(f"max_wait: {r.choice(['1s', '5s', '60s', '30s'])}")
        if gcra and chance(0.3):
            parts.append(f"hold: {{ {r.choice(['', 'estimate: 3, ', 'estimate: 1, at_most: 50%, '])}ttl: {r.choice(['5s', '60s', '10min'])} }}")
        if gcra and chance(0.1):
            parts.append("lease: { units: 2, for: 1s }")
        if chance(0.2):
            parts.append(r.choice(["cost: 2", "cost: { from: units }", 'cost: [{ when: { path: "/v1/search/deep*" }, cost: 3 }, { cost: 1 }]']))
        if chance(0.15):
            parts.append(r.choice(['deny: { ip: "@bad" }', "deny: { tenant: evil }", "allow: { ip: 10.0.0.0/8 }"]))
        if chance(0.1):
            parts.append(r.choice(["shadow: true", "shadow: until 2027-01-15"]))
        if chance(0.15):
            parts.append(r.choice(["required: true", "show: true", "show: false", "id: other-" + name, "on_store_error: local 25%",
                                   "on_store_error: allow", "when_full: allow", "group_ip: { v4: 24, v6: 48 }"]))
        if chance(0.25) and attributes[name]:
            when = r.choice(['{ tenant: "@partners" }', "{ tenant: acme }", "{ user: [a, b] }", "{ plan: pro }"])
            what = r.choice([f"rate: {rates[0].split(' ')[0]} burst 9", "rate: unlimited", "cost: 2"])
            end = r.choice(["", "", "until: 2027-01-01, ", "until: 2026-11-21T12:01:00Z, ", "reason: T-1, "])
            parts.append(f"overrides: [{{ when: {when}, {end}{what} }}]")
        lines.append(f"  {name}: {{ {', '.join(parts)} }}")
    if chance(0.7):
        lines.append("routes:")
        for _ in range(r.randint(0, 2)):
            when = r.choice(["path: /healthz", 'path: "/v1/chat*"', "method: [POST, PUT]", 'tenant: "@partners"', "ip: 10.0.0.0/8"])
            kind = f", class: {r.choice(classes)}" if classes and chance(0.4) else ""
            lines.append(f"  - {{ when: {{ {when} }}{kind}, limits: [{', '.join(r.sample(names, r.randint(0, len(names))))}] }}")
        lines.append(f"  - {{ limits: [{', '.join(names)}] }}")
    if chance(0.5):
        lines.append("gateways:")
        for n, start in enumerate(r.sample(["x-forwarded", "x-original", "path"], r.randint(1, 3))):
            parts = [f"from: {start}"]
            parts += r.sample(["trusted: [10.0.0.0/8]", "attributes: { user: header.x-user-id, tenant: header.x-tenant, units: header.x-units }",
                               "deny_status: 403", "on_missing: deny", "odd_paths: keep", "address: header.x-client",
                               "token: { header: X-Gate-Token, env: GATE_TOKEN }"], r.randint(0, 3))
            if start == "x-original":
                parts = [part for part in parts if not part.startswith("trusted")]
            lines.append(f"  g{n}: {{ {', '.join(parts)} }}")
    if chance(0.3):
        headers = r.choice(["[retry-after, draft-06]", "[ratelimit-11]", "[retry-after, x-ratelimit]", "off", "[x-ratelimit-epoch, ratelimit-11]"])
        lines.append(f"answers: {{ status: {r.choice([429, 503])}, headers: {headers} }}")
    return "\n".join(lines) + "\n"


def mutated(random, text):
    """A file that is nearly that one."""
    for _ in range(random.choice([1, 1, 1, 2, 5])):
        tokens = re.findall(r"[\w./%@*\"-]+|\s+|[^\w\s]", text)
        at = random.randrange(len(tokens))
        kind = random.randrange(7)
        if kind == 0:
            del tokens[at]
        elif kind == 1:
            tokens.insert(at, tokens[at])
        elif kind == 2:
            tokens[at] = random.choice(tokens)
        elif kind == 3:
            words = [n for n, token in enumerate(tokens) if re.fullmatch(r"\w{3,}", token)]
            if words:
                at = random.choice(words)
                letter = random.randrange(len(tokens[at]))
                tokens[at] = tokens[at][:letter] + random.choice("xyz") + tokens[at][letter + 1:]
        elif kind == 4:
            numbers = [n for n, token in enumerate(tokens) if re.match(r"\d", token)]
            if numbers:
                tokens[random.choice(numbers)] = random.choice(["0", "1", "-1", "1/s", "99999999999999999999", "100%", "101%", "1e3", "5s", "10/min"])
        elif kind == 5:
            tokens.insert(at, random.choice([":", ",", "{", "}", "[", "]", '"', "\t", "&a", "*", "!!x", "---\n", "#", "caf\u00e9", "\u0000", "unlimited",
                                             "until 2020-01-01", "null", "true", "shadow: true"]))
        else:
            other = random.choice(corpus()).splitlines(True)
            tokens.insert(at, random.choice(other))
        text = "".join(tokens)
    return text


# ---- logs

def log(random):
    """A small log of any kind."""
    kind = random.random()
    if kind < 0.25:
        lines = list(random.choice(KINDS).lines)
    elif kind < 0.4:
        path = random.choice(sorted((TESTS / "golden").glob("*.log")) + sorted((TESTS / "golden").glob("*.csv")))
        lines = path.read_text().splitlines()
    elif kind < 0.5:
        lines = (ROOT / "examples/replay/access.log").read_text(errors="replace").splitlines()
        start = random.randrange(max(1, len(lines) - 200))
        lines = lines[start:start + 200]
    else:
        lines = list(WRITERS[random.choice(sorted(WRITERS))](requests(random)))
    if random.random() < 0.2:
        for _ in range(random.randint(1, 4)):
            at = random.randrange(len(lines))
            lines[at] = random.choice([lines[at][:len(lines[at]) // 2], lines[at] + " x", "", "garbage", lines[at].replace("2", "9"), lines[at] * 2])
    return "".join(line.rstrip("\n") + "\n" for line in lines).encode("utf-8", "replace").decode("latin-1")


def requests(random):
    found, at = [], NOW * 10**9
    for _ in range(random.choice([3, 30, 200])):
        at += random.choice([0, 0, 10**6, 10**9, 10**9, 7 * 10**9, 600 * 10**9])
        late = random.choice([0, 0, 0, 2 * 10**9])
        found.append((at - late, random.choice(["192.0.2.1", "192.0.2.2", "198.51.100.7", "2001:db8::5", "2001:db8:0:0:1::5"]),
                      random.choice(["GET", "POST"]), random.choice(["/", "/v1/chat", "/items/1", "/items/2?x=y", "/login"]),
                      random.choice([200, 200, 404, 429]), random.randint(1, 5000)))
    return found


# ---- runs

def tool(random):
    return {"do": "tool", **random.choice([lint, lint, explain, explain, test, diff, replay, replay, replay_limits, suggest, suggest, formats,
                                           serve, asked])(random)}


def some(random, *options):
    """A few of these, each a text of words."""
    return [word for option in random.sample(options, min(len(options), random.choice([0, 0, 1, 1, 2, 3]))) for word in option.split(" ")]


def lint(random):
    text = mutated(random, limits(random)) if random.random() < 0.4 else limits(random)
    return {"files": files_of(text), "args": ["lint", "limits.yaml"] + some(random, "--json", "--json", "--strict", "--store", "--max-wait 10s", "--now 2027-01-01",
                                                                           "missing.yaml", "--now x")}


def explain(random):
    from questions import Asking, Vocabulary
    text = limits(random)
    asking = Asking(random, Vocabulary(text))
    options = [["--json"], ["--now", "2027-01-15T00:00:00Z"], ["--cost", asking.costs()], ["--class", random.choice(["bulk", "default", "critical", "vip"])]]
    chosen = [word for option in random.sample(options, random.randint(0, 3)) for word in option]
    words = [word.replace("\x00", "") for word in asking.attributes()]
    return {"files": files_of(text), "args": ["explain", "limits.yaml", *words, *chosen]}


def test(random):
    if random.random() < 0.4:
        path = random.choice(sorted((ROOT / "examples/limits").glob("*_test.yaml")))
        found = {each.name: each.read_text().encode().decode("latin-1") for each in path.parent.iterdir()}
        if random.random() < 0.7:
            found[path.name] = mutated(random, found[path.name])
        return {"files": found, "args": ["test", path.name] + some(random, "--json", "--coverage", "-v", "--format junit", "--threshold 90%", "--run *user*")}
    from questions import Asking, Vocabulary
    text = limits(random)
    asking = Asking(random, Vocabulary(text))
    lines, at = ["limits: limits.yaml", "now: 2026-11-21T12:00:00Z", "tests:"], 0
    for number in range(random.randint(1, 3)):
        lines += [f"  - name: test {number}", "    steps:"]
        for _ in range(random.randint(1, 6)):
            asks = dict(asking.attribute() for _ in range(random.randint(1, 4)))
            asks = ", ".join(f"{name}: {json.dumps(value)}" for name, value in asks.items() if value.isprintable() and value.isascii())
            parts = [f"at: {at}s", f"as: {{ {asks} }}"]
            parts += random.sample(["times: 7", "cost: 2", "class: bulk", "reserve: true", "max_wait: 5s", "hold: 5s"], random.choice([0, 0, 1, 2]))
            parts.append(f"expect: {{ {random.choice(['allowed: 1', 'denied: 1', 'allowed: 1, remaining: 4', 'denied: 1, retry_after: 1s', 'wait: 0s'])} }}")
            lines.append(f"      - {{ {', '.join(parts)} }}")
            if random.random() < 0.2:
                lines.append(f"      - {{ at: {at}s, settle: {random.choice(['1', '5', '{ tokens: 2 }'])} }}")
            at += random.choice([0, 0, 1, 60])
        at = 0
    return {"files": files_of(text) | {"t.yaml": "\n".join(lines) + "\n"},
            "args": ["test", "t.yaml"] + some(random, "--json", "--json", "--coverage", "-v", "--format junit")}


def diff(random):
    text = limits(random)
    other = mutated(random, text) if random.random() < 0.7 else limits(random)
    found = files_of(text) | files_of(other) | {"limits.yaml": text, "new.yaml": other}
    arguments = ["diff", "limits.yaml", "new.yaml"] + some(random, "--json", "--json")
    if random.random() < 0.5:
        found["a.log"] = log(random)
        arguments += ["--log", "a.log"] + some(random, "--html out.html", "--anonymize", "--attribute user=agent", "--where status!=404", "--spread", "--cost bytes",
                                               "--names names.csv")
    return {"files": found, "args": arguments}


OF_LOGS = ("--where status!=429", "--where path=/v1/*", "--since 2026-11-21", "--until 2026-11-21T12:00:30Z", "--reorder 0", "--reorder all", "--spread",
           "--zone -0500", "--cost bytes", "--key ip,path", "--key ip,path", "--key ip/24/64", "--key ip/24", "--html out.html",
           "--json", "--json", "--json", "--format combined", "--time time", "--path-pattern /items/*")


def replay(random):
    words = ["replay", "a.log"]
    for _ in range(random.choice([1, 1, 2])):
        words += ["--limit", random.choice(RATES + ["x", "1/h algorithm=sliding_window_log"])]
    return {"files": {"a.log": log(random)}, "args": words + some(random, *OF_LOGS, "--anonymize", "--names n.csv", "--decisions d.csv", "--decisions d.jsonl",
                                                                  "--clients c.csv", "--top path,agent", "--worst 2")}


def replay_limits(random):
    text = limits(random)
    return {"files": files_of(text) | {"a.log": log(random)},
            "args": ["replay", "a.log", "--limits", "limits.yaml"] + some(random, *OF_LOGS, "--attribute user=agent", "--attribute tenant=path", "--decisions d.csv",
                                                                          "--clients c.csv", "--top path")}


def suggest(random):
    return {"files": {"a.log": log(random), "good.txt": "192.0.2.1\n", "bad.txt": "192.0.2.2\n"},
            "args": ["suggest", "a.log", *random.choice(["--deny-clients 1%", "--deny-clients 1", "--deny-requests 0.1%", "--good good.txt", ""]).split(),
                     *some(random, *OF_LOGS, "--bad bad.txt", "--today 10/s", "--as-limits")]}


def formats(random):
    return {"files": {"a.log": log(random)}, "args": ["formats", "a.log"] + some(random, "--json")}


def serve(random):
    """What a server says that does not start."""
    text = limits(random)
    flags = some(random, "--memory 64M", "--threads 0", "--max-wait 25h", "--on-store-error allow", "--store redis://", "--tls-cert missing.pem",
                 "--snapshot no/such/folder/x", "--headers x", "--log-level x", "--local-share 0%", "--config missing", "--password x")
    return {"files": files_of(text + "x: [\n"), "args": ["serve", "--resp", "127.0.0.1:0", "--limits", "limits.yaml", *flags]}


def asked(random):
    """`weir check`, of the server of its own, and what says how to use the program."""
    return {"args": random.choice([
        ["check", random.choice(["a", "b", ""]), "--port", "{resp}", "--limit", random.choice(RATES + ["x"]), *some(random, "--json", "--cost 2", "--cost 0", "--cost x")],
        [random.choice(["serve", "lint", "replay", "suggest", "diff", "test", "explain", "check", "formats", "completion"]), "--help"],
        ["completion", random.choice(["bash", "zsh", "fish", "x"])], ["--help"], ["nope"], ["lint"], ["replay"]])}


@functools.cache
def certificate(folder):
    """Paths of a certificate and its key."""
    key, made_at = folder.file("key.pem"), folder.file("cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", made_at,
                    "-subj", "/CN=localhost", "-days", "3650"], check=True, capture_output=True)
    return made_at, key
