"""The same requests as each program writes them by default: WRITERS[name](requests) -> the lines of a log.

A request is (ns since 1970, client, method, path, status, bytes). Written from the programs' own documentation; it
shares nothing with the readers.
"""
import datetime
import functools
import json

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def civil(ns):
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=ns // 10**9)


@functools.lru_cache(1000)
def clf(ns):
    at = civil(ns)
    return f"{at.day:02}/{MONTHS[at.month - 1]}/{at.year}:{at:%H:%M:%S}"


@functools.lru_cache(1000)
def iso(ns, digits):
    return f"{civil(ns):%Y-%m-%dT%H:%M:%S}.{ns % 10**9:09}"[:20 + digits] + "Z"


def host(client, brackets=True):
    """With a port."""
    return f"[{client}]:40312" if brackets and ":" in client else f"{client}:40312"


def combined(ns, client, method, path, status, size):
    return f'{client} - - [{clf(ns)}.{ns % 10**9 // 10**6:03} +0000] "{method} {path} HTTP/1.1" {status} {size} "-" "curl"'


def haproxy(ns, client, method, path, status, size):
    return (f"{host(client, False)} [{clf(ns)}.{ns % 10**9 // 10**6:03}] web app/a1 0/0/1/2/3 {status} {size} - - ---- "
            f'1/1/0/0/0 0/0 {{shop|curl}} "{method} {path} HTTP/1.1"')


def haproxy_tcp(ns, client, method, path, status, size):
    return (f"{host(client, False)} [{clf(ns)}.{ns % 10**9 // 10**6:03}] web app/a1 0/1/95 {size} -- 1/1/1/0/0 0/0")


def alb(ns, client, method, path, status, size):
    return (f"h2 {iso(ns, 6)} app/lb/50dc {host(client)} 10.0.0.66:9000 0.000 0.001 0.000 {status} {status} 34 {size} "
            f'"{method} https://example.org:443{path} HTTP/2.0" "curl" ECDHE TLSv1.2 arn:aws:x "Root=1-58" '
            f'"example.org" "arn:aws:y" 0 {iso(ns, 6)} "forward" "-" "-" "10.0.0.66:9000" "{status}" "-" "-" TID_1')


def elb(ns, client, method, path, status, size):
    return (f"{iso(ns, 6)} lb {host(client)} 10.0.0.1:80 0.000073 0.001048 0.000057 {status} {status} 0 {size} "
            f'"{method} http://example.org:80{path} HTTP/1.1" "curl" - -')


def envoy(ns, client, method, path, status, size):
    return (f'[{iso(ns, 3)}] "{method} {path} HTTP/1.1" {status} - 0 {size} 3 1 "203.0.113.9, {client}" "curl" "cc21d9b0" '
            '"example.org" "10.0.0.1:80"')


def istio(ns, client, method, path, status, size):
    return (f'[{iso(ns, 3)}] "{method} {path} HTTP/1.1" {status} - via_upstream - "-" 0 {size} 3 1 "-" "curl" "cc21d9b0" '
            f'"example.org" "10.0.0.1:80" inbound|80|| 127.0.0.1:1 10.0.0.1:80 {host(client)} - default')


def squid(ns, client, method, path, status, size):
    return (f"{ns // 10**9}.{ns % 10**9 // 10**6:03}{3:7} {client} TCP_MISS/{status} {size} {method} http://example.org{path} "
            "- HIER_DIRECT/10.0.0.1 text/html")


def per_line(write):
    return lambda requests: [write(*each) for each in requests]


def cloudfront(requests):
    head = ["#Version: 1.0", "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status"]
    return head + [f"{iso(ns, 0)[:10]}\t{iso(ns, 0)[11:19]}\tFRA2\t{size}\t{client}\t{method}\td1.cloudfront.net\t{path}\t{status}"
                   for ns, client, method, path, status, size in requests]


def iis(requests):
    head = ["#Software: Microsoft Internet Information Services 10.0", "#Version: 1.0", "#Date: 2026-11-21 00:00:00",
            "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip sc-status sc-bytes"]
    rows = [f"{iso(ns, 0)[:10]} {iso(ns, 0)[11:19]} 10.0.0.1 {method} {path} - 80 - {client} {status} {size}"
            for ns, client, method, path, status, size in requests]
    return head + rows[:len(rows) // 2] + head + rows[len(rows) // 2:]   # the service was started again


def zeek(requests):
    head = ["#separator \\x09", "#set_separator\t,", "#empty_field\t(empty)", "#unset_field\t-", "#path\thttp",
            "#fields\tts\tuid\tid.orig_h\tid.orig_p\tmethod\turi\tresponse_body_len\tstatus_code",
            "#types\ttime\tstring\taddr\tport\tstring\tstring\tcount\tcount"]
    return head + [f"{ns // 10**9}.{ns % 10**9 // 1000:06}\tC1\t{client}\t40312\t{method}\t{path}\t{size}\t{status}"
                   for ns, client, method, path, status, size in requests] + ["#close\t2026-11-22-00-00-00"]


def json_of(make):
    return per_line(lambda *request: json.dumps(make(*request)))


def caddy(ns, client, method, path, status, size):
    return {"level": "info", "ts": float(f"{ns // 10**9}.{ns % 10**9 // 10**6:03}"), "msg": "handled request", "request": {
        "remote_ip": client, "remote_port": "40312", "proto": "HTTP/2.0", "method": method, "host": "example.org",
        "uri": path, "headers": {"User-Agent": ["curl"], "X-Api-Key": ["k1", "k2"]}}, "size": size, "status": status}


def traefik(ns, client, method, path, status, size):
    return {"ClientAddr": host(client), "ClientHost": client, "DownstreamContentSize": size, "DownstreamStatus": status,
            "RequestMethod": method, "RequestPath": path, "StartUTC": iso(ns, 9), "time": iso(ns + 10**9, 0)[:19] + "Z"}


def istio_json(ns, client, method, path, status, size):
    return {"start_time": iso(ns, 3), "downstream_remote_address": host(client), "method": method, "path": path,
            "response_code": status, "bytes_sent": size, "x_forwarded_for": None}


def kong(ns, client, method, path, status, size):
    return {"started_at": ns // 10**6, "client_ip": client, "request": {"method": method, "uri": path, "headers": {
        "x-api-key": "k"}}, "response": {"status": status, "size": size}}


def cloudflare(ns, client, method, path, status, size):
    return {"ClientIP": client, "EdgeStartTimestamp": ns, "ClientRequestMethod": method, "ClientRequestURI": path,
            "EdgeResponseStatus": status, "EdgeResponseBytes": size}


def gcp(ns, client, method, path, status, size):
    return {"timestamp": iso(ns, 6), "receiveTimestamp": iso(ns + 10**9, 6), "httpRequest": {
        "requestMethod": method, "requestUrl": path, "status": status, "responseSize": str(size), "remoteIp": client}}


def api_gateway(ns, client, method, path, status, size):
    return {"requestId": "c6af9ac6", "ip": client, "requestTime": clf(ns) + " +0000", "requestTimeEpoch": ns // 10**6,
            "httpMethod": method, "resourcePath": path, "status": str(status), "responseLength": str(size)}


def nginx_json(ns, client, method, path, status, size):
    return {"time": iso(ns, 3)[:-1] + "+00:00", "remote_addr": client, "request": f"{method} {path} HTTP/1.1", "status": status,
            "body_bytes_sent": size}


def table(separator):
    return lambda requests: [separator.join(("time", "client", "method", "path", "status", "bytes"))] + [
        separator.join((epoch(ns), client, method, path, str(status), str(size)))
        for ns, client, method, path, status, size in requests]


def epoch(ns):
    return f"{ns // 10**9}.{ns % 10**9 // 10**6:03}"


def of_an_application(ns, client, method, path, status, size):
    return f"{iso(ns, 3)} {client} {method} {path}"


def docker(write):
    return lambda requests: [json.dumps({"log": write(*each) + "\n", "stream": "stdout", "time": iso(each[0], 9)})
                             for each in requests]


def cri(write):
    def lines(requests):
        for each in requests:
            line, head = write(*each), iso(each[0], 9) + " stdout "
            if each[0] // 10**6 % 5 == 0:   # a long line comes in pieces
                yield head + "P " + line[:40]
                line = line[40:]
            yield head + "F " + line
    return lambda requests: list(lines(requests))


def syslog(head, write):
    return lambda requests: [head + write(*each) for each in requests]


WRITERS = {
    "combined": per_line(combined), "haproxy": per_line(haproxy), "haproxy tcp": per_line(haproxy_tcp),
    "alb": per_line(alb), "elb": per_line(elb), "envoy": per_line(envoy), "istio": per_line(istio), "squid": per_line(squid),
    "cloudfront": cloudfront, "iis": iis, "zeek": zeek, "caddy": json_of(caddy), "traefik": json_of(traefik),
    "istio json": json_of(istio_json), "kong": json_of(kong), "cloudflare": json_of(cloudflare), "gcp": json_of(gcp),
    "api gateway": json_of(api_gateway), "nginx json": json_of(nginx_json), "csv": table(","), "tsv": table("\t"),
    "docker": docker(combined), "docker of json": docker(
        lambda *request: json.dumps(caddy(*request))), "cri": cri(combined), "cri of envoy": cri(envoy),
    "syslog": syslog("<190>Nov 21 05:49:47 web nginx: ", combined),
    "syslog of haproxy": syslog("Nov  1 05:49:47 lb haproxy[14389]: ", haproxy),
    "syslog 5424": syslog('<190>1 2026-11-21T05:49:47.1Z web nginx 812 - [a b="c\\]"] ', combined),
    "syslog of json": syslog("2026-11-21T05:49:47.123456+00:00 web kong[1]: ", lambda *request: json.dumps(kong(*request))),
}
WHOLE_SECONDS = {"cloudfront", "iis"}
# Of no format: --regex reads it.
APPLICATION = per_line(of_an_application)
# What is not in a format's lines.
WITHOUT_STATUS = {"haproxy tcp"}
