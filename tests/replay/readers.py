"""Readers of each program's log, written from the program's own definition of its lines, for the oracle: READERS[name]
takes [(number, line)] and yields (number, {field: text}), or (number, Unreadable) for what is not such a line. The
fields: time client method path status bytes, as far as the lines have them.

They share nothing with the program that is judged, and nothing with the writers of make_formats.
"""
import json
import re


class Unreadable(Exception):
    pass


class Spelt(str):
    """A JSON number as the log spells it."""


def object_of(line):
    try:
        value = json.loads(line, parse_int=Spelt, parse_float=Spelt)
    except ValueError as error:
        raise Unreadable(str(error))
    if not isinstance(value, dict):
        raise Unreadable("not an object")
    return value


def each(read):
    """A reader of lines that stand for themselves."""
    def lines_of(lines):
        for number, line in lines:
            try:
                yield number, read(line)
            except Unreadable as why:
                yield number, why
    return lines_of


def matched(pattern):
    compiled = re.compile(pattern, re.X | re.S)

    def read(line):
        match = compiled.match(line)
        if not match:
            raise Unreadable("not the shape")
        return {name: value for name, value in match.groupdict().items() if value is not None}
    return read


def with_request(read):
    """`request` is "GET http://host/path HTTP/1.1" or without the origin."""
    def lines_of(line):
        fields = read(line)
        if "request" in fields:
            method, target, *_ = fields["request"].split(" ") + ["", ""]
            fields["method"], fields["path"] = method, re.sub(r"^[a-z]+://[^/]*", "", target)
        return fields
    return lines_of


# ---- text: HAProxy's configuration manual 8.2.2 and 8.2.3, AWS's two pages, Envoy's and Istio's, Squid's wiki ------

QUOTED = r'"((?:[^"\\]|\\.)*)"'
INT = r"[+-]?\d+"
DECIMAL = r"(?:-|[+-]?[\d.]+)"
HAPROXY_HEAD = r"^(?P<client>\S+):\d+\ \[(?P<time>\d\d/[^]]{18,})\]\ \S+\ [^/ ]*/\S+\ "
HAPROXY_TAIL = rf"{INT}(?:/{INT}){{4}}\ {INT}/{INT}"
haproxy = with_request(matched(
    HAPROXY_HEAD + rf"{INT}(?:/{INT}){{4}}\ (?P<status>{INT})\ (?P<bytes>{INT})\ \S+\ \S+\ [-A-Za-z]{{4}}\ " + HAPROXY_TAIL +
    r'(?:\ \{[^}]*\}){0,2}\ "(?P<request>.*?)"?$'))
haproxy_tcp = matched(HAPROXY_HEAD + rf"{INT}/{INT}/{INT}\ (?P<bytes>{INT})\ [-A-Za-z]{{2}}\ " + HAPROXY_TAIL)
AWS_TIME = r"(?P<time>\d{4}-\d\d-\d\dT\S+)"
ADDRESS = r"(?:\S+:\d+|-)"
AWS_CLIENT = r"\[?(?P<client>[0-9a-fA-F.:]+?)\]?:\d+"
AWS_REST = (rf"\ {ADDRESS}\ {DECIMAL}\ {DECIMAL}\ {DECIMAL}\ (?P<status>\d{{3}}|-)\ (?:\d{{3}}|0|-)\ {DECIMAL}\ (?P<bytes>{DECIMAL})"
            rf'\ "(?P<request>(?:[^"\\]|\\.)*)"')
alb = with_request(matched(rf"^\S+\ {AWS_TIME}\ \S+\ {AWS_CLIENT}{AWS_REST}\ {QUOTED}(?:\ |$)"))
elb = with_request(matched(rf"^{AWS_TIME}\ \S+\ {AWS_CLIENT}{AWS_REST}\ {QUOTED}(?:\ |$)"))
ENVOY_HEAD = r'^\[(?P<time>\d{4}-\d\d-\d\dT[^]]*)\]\ "(?P<request>(?:[^"\\]|\\.)*)"\ (?P<status>\d{3}|0)\ \S+\ '
_envoy = with_request(matched(
    ENVOY_HEAD + rf'\d+\ (?P<bytes>\d+)\ {DECIMAL}\ {DECIMAL}\ "(?P<xff>[^"]*)"\ {QUOTED}\ {QUOTED}\ {QUOTED}\ {QUOTED}'))


def envoy(line):
    fields = _envoy(line)   # the last that the header names asked Envoy
    return {**fields, "client": fields["xff"].split(",")[-1].strip()}


istio = with_request(matched(
    ENVOY_HEAD + rf'\S+\ \S+\ {QUOTED}\ \d+\ (?P<bytes>\d+)\ {DECIMAL}\ {DECIMAL}\ {QUOTED}\ {QUOTED}\ {QUOTED}\ {QUOTED}\ {QUOTED}'
    rf"\ \S+\ {ADDRESS}\ {ADDRESS}\ {AWS_CLIENT}\ \S+\ \S+"))
squid = matched(r"^(?P<time>\d{9,}\.\d+)\s+\d+\ (?P<client>\S+)\ [A-Z][A-Z_]*/(?P<status>\d{3})\ (?P<bytes>\d+)\ (?P<method>\S+)"
                r"\ (?P<path>\S+)\ \S+\ \S+\ \S+")   # a proxy's path is the whole URL


# ---- columns that a comment names: the W3C's draft, Zeek's manual ----------------------------------------------------

def commented(names_begin, separator, renamed):
    def lines_of(lines):
        names = None
        for number, line in lines:
            if line.startswith("#"):
                if line.startswith(names_begin):
                    names = line[len(names_begin):].split()
                continue
            values = line.split(separator)
            if names is None or len(values) != len(names):
                yield number, Unreadable("not as many columns as names")
                continue
            fields = dict(zip(names, values))
            if "date" in fields and "time" in fields:
                fields["time"] = f"{fields['date']} {fields['time']}"
            yield number, {ours: fields[theirs] for ours, theirs in renamed.items() if theirs in fields}
    return lines_of


W3C = {"time": "time", "client": "c-ip", "method": "cs-method", "path": "cs-uri-stem", "status": "sc-status", "bytes": "sc-bytes"}
ZEEK = {"time": "ts", "client": "id.orig_h", "method": "method", "path": "uri", "status": "status_code",
        "bytes": "response_body_len"}


# ---- JSON: where each program has them -----------------------------------------------------------------------------

def json_at(**places):
    """Each field by its path, with slashes between."""
    def read(line):
        whole, fields = object_of(line), {}
        for name, path in places.items():
            value = whole
            for step in path.split("/"):
                value = value.get(step) if isinstance(value, dict) else None
            if isinstance(value, str):
                fields[name] = value
        return fields
    return read


JSON = {
    "caddy": json_at(time="ts", client="request/remote_ip", method="request/method", path="request/uri", status="status", bytes="size"),
    "traefik": json_at(time="StartUTC", client="ClientHost", method="RequestMethod", path="RequestPath", status="DownstreamStatus",
                       bytes="DownstreamContentSize"),
    "kong": json_at(time="started_at", client="client_ip", method="request/method", path="request/uri", status="response/status",
                    bytes="response/size"),
    "cloudflare": json_at(time="EdgeStartTimestamp", client="ClientIP", method="ClientRequestMethod", path="ClientRequestURI",
                          status="EdgeResponseStatus", bytes="EdgeResponseBytes"),
    "gcp": json_at(time="timestamp", client="httpRequest/remoteIp", method="httpRequest/requestMethod",
                   path="httpRequest/requestUrl", status="httpRequest/status", bytes="httpRequest/responseSize"),
    "api gateway": json_at(time="requestTimeEpoch", client="ip", method="httpMethod", path="resourcePath", status="status",
                           bytes="responseLength"),
    "nginx json": with_request(json_at(time="time", client="remote_addr", request="request", status="status",
                                       bytes="body_bytes_sent")),
}
_istio_json = json_at(time="start_time", client="downstream_remote_address", method="method", path="path", status="response_code",
                      bytes="bytes_sent")


def istio_json(line):
    fields = _istio_json(line)
    if "client" in fields:
        fields["client"] = re.sub(r"^\[?(.*?)\]?:\d+$", r"\1", fields["client"])
    return fields


# ---- what stands around a line: Docker's json-file, the CRI's log format, RFC 3164 and 5424 --------------------------

def unwrapped(take, inner):
    """take(line) -> (stream, text, whether the line ends here)."""
    def lines_of(lines):
        begun = {}
        for number, line in lines:
            try:
                stream, text, ends = take(line)
            except Unreadable as why:
                yield number, why
                continue
            text = begun.pop(stream, "") + text
            if ends:
                yield from inner([(number, text)])
            else:
                begun[stream] = text
    return lines_of


def docker_line(line):
    whole = object_of(line)
    if not all(isinstance(whole.get(name), str) for name in ("log", "stream", "time")):
        raise Unreadable("not Docker's")
    return whole["stream"], whole["log"].removesuffix("\n"), whole["log"].endswith("\n")


def cri_line(line):
    match = re.match(r"(\d{4}-\d\d-\d\dT\S+) (stdout|stderr) ([FP]) (.*)", line, re.S)
    if not match:
        raise Unreadable("not a container's")
    return match[2], match[4], match[3] == "F"


STAMP = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
RFC_3164 = re.compile(rf"(?:<\d{{1,3}}>)?(?:{STAMP}|\d{{4}}-\d\d-\d\dT\S+) (?:[^ :]+ )?[^ ]+: (.*)", re.S)
RFC_5424 = re.compile(r'<\d{1,3}>1 \S+ \S+ \S+ \S+ \S+ (?:-|(?:\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\])+) (?:\ufeff)?(.*)', re.S)


def syslog_line(line):
    match = RFC_5424.match(line) or RFC_3164.match(line)
    if not match:
        raise Unreadable("not of syslog")
    return "", match[1], True


def readers(combined, csv, tsv):
    """With the readers that the oracle has already."""
    text = {"haproxy": haproxy, "haproxy tcp": haproxy_tcp, "alb": alb, "elb": elb, "envoy": envoy, "istio": istio, "squid": squid,
            "istio json": istio_json, **JSON}
    found = {name: each(read) for name, read in text.items()}
    found |= {"combined": combined, "csv": csv, "tsv": tsv, "cloudfront": commented("#Fields:", "\t", W3C), "iis": commented("#Fields:", " ", W3C),
              "zeek": commented("#fields", "\t", ZEEK)}
    for name, take, inner in (("docker", docker_line, "combined"), ("docker of json", docker_line, "caddy"),
                              ("cri", cri_line, "combined"), ("cri of envoy", cri_line, "envoy"), ("syslog", syslog_line, "combined"),
                              ("syslog of haproxy", syslog_line, "haproxy"), ("syslog 5424", syslog_line, "combined"),
                              ("syslog of json", syslog_line, "kong")):
        found[name] = unwrapped(take, found[inner])
    return found
