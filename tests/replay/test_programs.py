"""Logs as nginx, Caddy and HAProxy write them, of requests that the test sends: the format is found, every line is
read, and each client's requests are counted exactly.

WEIR_SEED=N runs one seed alone.
"""
import collections
import json
import os
import pathlib
import random
import select
import socket
import unittest

from program import Folder, answer, run, until
from ports import free_port
from programs import Program
from server import PATIENCE
import chance

ODD = [b'/a"b', b"/caf\xe9", b"/v1/items?page=2&q=a%20b", b"/", b"//x/../y", b"/[1]/{2}", b"/it's,a;b|c"]


def sent(seed):
    """[(client, [(method, path, X-Forwarded-For or nothing)])] of each connection."""
    chooser = random.Random(seed)
    connections = []
    for _ in range(16):
        requests = [(chooser.choice((b"GET", b"GET", b"HEAD")), chooser.choice(ODD),
                     chooser.choice((b"", b"203.0.113.9, 198.51.100.%d" % chooser.randrange(3))))
                    for _ in range(chooser.randrange(1, 6))]
        connections.append((f"127.0.0.{chooser.randrange(2, 6)}", requests))
    return connections


def send(port, connections):
    """Sends each connection's requests one after another, the connection kept alive. What the program ought to write:
    ([(client, path, X-Forwarded-For, status)], [the client of each connection])."""
    requests_sent, opened = [], []
    for client, requests in connections:
        one = None
        for method, path, forwarded in requests:
            if one is None:
                one = socket.create_connection(("127.0.0.1", port), PATIENCE, source_address=(client, 0))
                answers = one.makefile("rb")
                opened.append(client)
            one.sendall(b"%s %s HTTP/1.1\r\nHost: example.org\r\nUser-Agent: test \"1\"\r\n%s\r\n" % (
                method, path, b"X-Forwarded-For: %s\r\n" % forwarded if forwarded else b""))
            requests_sent.append((client, path, forwarded.decode(), int(answers.readline().split()[1])))
            length, closed = 0, False
            for line in iter(answers.readline, b"\r\n"):
                name, _, value = line.lower().partition(b":")
                length = int(value) if name == b"content-length" else length
                closed = closed or (name == b"connection" and b"close" in value)
            answers.read(0 if method == b"HEAD" else length)
            if closed:
                one = one.close()
        if one is not None:
            one.close()
    return requests_sent, opened


def nginx(folder, log, port):
    backend = free_port()
    folder.file("nginx.conf", f"""
daemon off; pid {folder.path}/pid; error_log stderr; {"user root;" if os.geteuid() == 0 else ""}
events {{}}
http {{
  {" ".join(f"{kind}_temp_path {folder.path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))}
  log_format json escape=json '{{"time":"$time_iso8601","remote_addr":"$remote_addr","request":"$request",'
    '"status":$status,"body_bytes_sent":$body_bytes_sent,"http_user_agent":"$http_user_agent",'
    '"http_x_forwarded_for":"$http_x_forwarded_for"}}';
  log_format timed '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
    '"$http_user_agent" "$http_x_forwarded_for" rt=$request_time uct="$upstream_connect_time" urt="$upstream_response_time"';
  server {{
    listen 127.0.0.1:{port};
    access_log {log} combined;
    access_log {log}.json json;
    access_log {log}.timed timed;
    location / {{ proxy_pass http://127.0.0.1:{backend}; }}
  }}
  server {{
    listen 127.0.0.1:{backend};
    access_log off;
    location / {{ return 200 "hello\\n"; }}
  }}
}}
""")
    return ["/usr/sbin/nginx", "-p", folder.path, "-c", folder.file("nginx.conf"), "-e", "stderr"]


def caddy(folder, log, port):
    folder.file("Caddyfile", f"""
{{
  admin off
  auto_https off
}}
http://:{port} {{
  bind 127.0.0.1
  log {{
    output file {log}
  }}
  respond "hello"
}}
""")
    return ["/usr/bin/caddy", "run", "--config", folder.file("Caddyfile"), "--adapter", "caddyfile"]


def haproxy(option, log_to):
    inner = free_port()

    def command(folder, log, port):
        folder.file("haproxy.cfg", f"""
global
  log {log_to} local0 info
defaults
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend web
  log global
  option {option}
  mode {option.removesuffix("log")}
  bind 127.0.0.1:{port}
  default_backend app
  {"capture request header X-Forwarded-For len 64" if option == "httplog" else ""}
backend app
  mode {option.removesuffix("log")}
  server a1 127.0.0.1:{inner}
frontend inner
  mode http
  bind 127.0.0.1:{inner}
  http-request return status 200 content-type text/plain string hello
""")
        return ["/usr/sbin/haproxy", "-db", "-f", folder.file("haproxy.cfg")]
    return command


def counted(log, key):
    """How many requests each client has, as the program reads them, without the connections that only ask whether a
    program listens."""
    with Folder() as folder:
        decisions = folder.file("decisions.jsonl")
        said = answer("replay", log, "--limit", "1/s", "--key", key, "--decisions", decisions)
        assert said["lines"]["unreadable"] == 0, said["lines"]
        with open(decisions) as lines:
            clients = collections.Counter(json.loads(line)["client"] for line in lines)
    return {client: count for client, count in clients.items() if not client.startswith("127.0.0.1")}


class Programs(unittest.TestCase):
    def logs_of(self, seed, command, *suffixes, datagrams=None, opened=False):
        """Runs a program; the log as a file, and what it ought to hold."""
        folder = Folder()
        self.addCleanup(folder.__exit__)
        log, port = folder.file("access.log"), free_port()
        program = Program(command(folder, log, port), port, Folder())
        self.addCleanup(program.close)
        requests, connections = send(port, sent(seed))
        lines = []

        def written():
            if datagrams is not None:
                while select.select([datagrams], [], [], 0)[0]:
                    lines.append(datagrams.recv(65536).rstrip(b"\n\0") + b"\n")
                pathlib.Path(log).write_bytes(b"".join(lines))
            where = log if datagrams is not None or os.path.exists(log) else program.log.name
            ours = [[line for line in pathlib.Path(where + suffix).read_bytes().split(b"\n") if b"127.0.0.1:" not in line[:80]]
                    for suffix in ("", *suffixes)]
            return where if all(len(each) > len(connections if opened else requests) for each in ours) else None

        return until(written, "every request is logged", 3 * PATIENCE), requests, connections

    def check(self, log, requests, spelt, format, wrapper=None):
        said = answer("formats", log)
        self.assertEqual((said["format"], said["wrapper"], said["lines"]), (format, wrapper, said["requests"]))
        wanted = collections.Counter(f"{client} {spelt.get(path, path.decode('latin1'))}" for client, path, _, _ in requests)
        self.assertEqual(counted(log, "ip,path"), wanted)
        wanted = collections.Counter(f"{client} {status}" for client, _, _, status in requests)
        self.assertEqual(counted(log, "ip,status"), wanted)

    def check_forwarded(self, log, requests, nobody):
        wanted = collections.Counter(forwarded.split(", ")[-1] or nobody for _, _, forwarded, _ in requests)
        self.assertEqual(counted(log, "xff[-1]"), wanted)

    def test_nginx(self):
        for seed in chance.seeds(1):
            log, requests, _ = self.logs_of(seed, nginx, ".json", ".timed")
            escaped = {b'/a"b': r"/a\x22b", b"/caf\xe9": r"/caf\xE9"}
            self.check(log, requests, escaped, "combined")
            self.check(log + ".timed", requests, escaped, "combined")
            self.check(log + ".json", requests, {b"/caf\xe9": r"/caf\xe9"}, "jsonl")
            self.check_forwarded(log + ".timed", requests, "-")
            self.check_forwarded(log + ".json", requests, "")
            for each in counted(log + ".timed", "urt"):
                self.assertRegex(each, r"^\d+\.\d{3}$")

    def test_caddy(self):
        for seed in chance.seeds(1):
            log, requests, _ = self.logs_of(seed, caddy)
            self.check(log, requests, {b"/caf\xe9": "/caf\N{REPLACEMENT CHARACTER}"}, "jsonl")

    # HAProxy refuses what is not ASCII.
    REFUSED = {b"/caf\xe9": "", b'/a"b': "/a#22b"}

    def test_haproxy(self):
        for seed in chance.seeds(1):
            for form, wrapper in (("raw", None), ("rfc3164", "syslog"), ("rfc5424", "syslog"), ("short", "syslog")):
                with self.subTest(form, seed=seed):
                    log, requests, _ = self.logs_of(seed, haproxy("httplog", f"stdout format {form}"))
                    self.check(log, requests, self.REFUSED, "haproxy", wrapper)

    def test_haproxy_to_a_syslog_server(self):
        for seed in chance.seeds(1):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
                server.bind(("127.0.0.1", 0))
                to = "127.0.0.1:%d" % server.getsockname()[1]
                log, requests, _ = self.logs_of(seed, haproxy("httplog", to), datagrams=server)
                self.check(log, requests, self.REFUSED, "haproxy", "syslog")

    def test_haproxy_of_connections(self):
        for seed in chance.seeds(1):
            log, _, opened = self.logs_of(seed, haproxy("tcplog", "stdout format raw"), opened=True)
            self.assertEqual(answer("formats", log)["format"], "haproxy")
            self.assertEqual(counted(log, "ip"), collections.Counter(opened))


if __name__ == "__main__":
    run()
