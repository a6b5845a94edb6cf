"""The gateways of examples/gateways in their real programs, and what stands after them."""
import base64
import collections
import hashlib
import http.client
import http.server
import os
import pathlib
import re
import shlex
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "end_to_end"))
import pypi  # noqa: E402
from ports import free_port  # noqa: E402
from programs import Program, ask  # noqa: E402
from server import ROOT, Folder, until  # noqa: E402

EXAMPLES = pathlib.Path(ROOT, "examples/gateways")
TOKEN = "t0ken"
http.client._MAXHEADERS = 1000  # what gateways let through, the backend shall read


class Backend:
    """Counts the requests that reach it, by path, with their reservations; a websocket is told what it says."""

    def __init__(self):
        seen = self.seen = collections.Counter()
        held = self.held = collections.defaultdict(list)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # an answer is one write; two of them wait for each other's acknowledgement
            disable_nagle_algorithm = True

            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                seen[self.path] += 1
                held[self.path].append(self.headers.get_all("Weir-Reservation"))
                if self.headers.get("Upgrade") == "websocket":
                    return self.echo()
                self.send_response(200)
                self.send_header("Content-Length", "7")
                if tokens := self.headers.get("X-Costs"):
                    self.send_header("X-Tokens", tokens)
                self.end_headers()
                self.wfile.write(b"backend")

            do_POST = do_OPTIONS = do_GET

            def echo(self):
                key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
                self.send_response(101)
                self.send_header("Upgrade", "websocket")
                self.send_header("Connection", "Upgrade")
                self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
                self.end_headers()
                self.wfile.flush()
                self.close_connection = True
                while said := self.rfile.read1(100):
                    self.wfile.write(said)
                    self.wfile.flush()

            def log_message(self, *_):
                pass

        class BackendServer(http.server.ThreadingHTTPServer):
            request_queue_size = 100

            def handle_error(self, *_):
                pass  # a connection that a gateway has closed

        self.server = BackendServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Gateway:
    """How a gateway is started by its example: its addresses alone are others, and what `changes` says.

    files: of the example, the configuration first. command: from its folder. h2: what has to be changed so that it speaks
    HTTP/2 without TLS, by the port for it; where nothing has, it does so at the port of HTTP/1.1."""

    def __init__(self, command, *files, examples=EXAMPLES, h2=None, changes=()):
        self.command = command
        self.files = files
        self.examples = pathlib.Path(examples)
        self.h2 = h2
        self.changes = changes

    def text(self):
        return "".join((self.examples / name).read_text() for name in self.files)

    def start(self, weir, backend, *changes, rls=None):
        """`weir`: its port, or where two are, each a host and a port; `changes`: more of what is replaced in the files; `rls`:
        the other port of weir, where a gateway asks both."""
        (host, weir), other = weir if isinstance(weir, tuple) else (("127.0.0.1", weir), None)
        folder, port, h2_port = Folder(), free_port(), free_port()
        replaced = {}
        if other:  # before the first, whose address may be what the examples call the other
            for mark, own in (("# server 10", "server 10"), ("# server two 10", "server two 10"), ("# - endpoint", "- endpoint"),
                              ("10.0.0.2:6391", f"{other[0]}:{other[1]}"),
                              *((f"10.0.0.2, port_value: {usual}", f"{other[0]}, port_value: {other[1]}") for usual in (6391, 8081)),
                              ('{ { "127.0.0.1", 6391 } }', f'{{ {{ "{host}", {weir} }}, {{ "{other[0]}", {other[1]} }} }}')):
                replaced[mark] = own
        replaced |= {"127.0.0.1:6391": f"{host}:{weir}", "127.0.0.1:9000": f"127.0.0.1:{backend}",
                     "127.0.0.1:6399": f"127.0.0.1:{free_port()}"}
        replaced['"127.0.0.1", 6391'] = f'"{host}", {weir}'
        replaced["127.0.0.1, port_value: 6391"] = f"{host}, port_value: {weir}"
        replaced["127.0.0.1, port_value: 8081"] = f"{host}, port_value: {rls or weir}"
        if self.h2:
            before, after = self.h2
            replaced[before] = after.replace("H2_PORT", str(h2_port))
        replaced["127.0.0.1:8080"] = f"127.0.0.1:{port}"
        replaced["port_value: 8080"] = f"port_value: {port}"
        replaced["port_value: 9000"] = f"port_value: {backend}"
        for name in self.files:
            text = (self.examples / name).read_text()
            for old, new in (*self.changes, *changes, *replaced.items()):
                text = text.replace(old, new)
            folder.file(name, text)
        program = Program(self.command(folder.path, self.files[0]), port, folder, GATE_TOKEN=TOKEN)
        program.h2_port = h2_port if self.h2 and "H2_PORT" in self.h2[1] else port
        return program


def slowed(file, changes):
    """An example's limits, slow enough that a test's denials do not hang on its speed."""
    text = pathlib.Path(file).read_text()
    for old, new in {"50/s burst 100": "1000/s burst 100000", "20/s burst 40": "3/h", **changes}.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


class OneGateway:
    """A weir on a port of its own, which tests may end and start again, the gateway that asks it, and the backend after it:
    for all tests of a class. It says `gateway`, the text of limits(), how to serve() and how a test sees that weir is_asked()."""

    gateway = None
    changes = ()  # of the gateway's example

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.limits_file = cls.folder.file("limits.yaml", cls.limits())
        cls.backend = Backend()
        cls.addClassCleanup(cls.backend.close)
        cls.port, cls.rls_port = free_port(), free_port()
        cls.weir = cls.serve()
        cls.addClassCleanup(lambda: cls.weir.__exit__(None))
        cls.program = cls.gateway.start(cls.port, cls.backend.port, *cls.changes, rls=cls.rls_port)
        cls.addClassCleanup(cls.program.close)

    @classmethod
    def stop(cls):
        cls.weir.__exit__(None)

    @classmethod
    def restart(cls):
        cls.weir = cls.serve()

    def setUp(self):
        # Its weir may have been away, and a gateway may look for it at intervals only.
        until(self.is_asked, "weir decides")

    def ask(self, *args, **options):
        return ask(self.program.port, *args, **options)


def run_nginx(folder, example):
    # What nginx writes, it writes into the folder, and none of it as another user.
    text = pathlib.Path(folder, example).read_text()
    paths = "".join(f" {kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    pathlib.Path(folder, example).write_text(
        text.replace("modules/", "/usr/lib/nginx/modules/").replace("http {", "http { access_log off;" + paths, 1))
    own = f"daemon off; pid {folder}/pid; error_log stderr;" + (" user root;" if os.geteuid() == 0 else "")
    return ["/usr/sbin/nginx", "-p", folder, "-c", f"{folder}/{example}", "-e", "stderr", "-g", own]


def installed(program):
    """Those that come as packages of Python."""
    inside = {"envoy": "envoy/_bin/envoy", "traefik": "bin/traefik"}
    return pypi.installed(os.path.join(ROOT, "tests/examples/requirements.txt"), "gateways") / inside[program]


def run_traefik(folder, example):
    """As the first lines of the example say, in the folder above it."""
    text = pathlib.Path(folder, example).read_text()
    program, *flags = shlex.split(re.search(r"^#   (traefik .*)$", text, re.M)[1])
    trusted = re.search(r"(--entryPoints\S+trustedIPs=127\S+?),? ", text)
    flags = [*flags, trusted[1]] if trusted else flags
    home = pathlib.Path(folder, "weir")
    home.mkdir()
    pathlib.Path(folder, example).rename(home / example)
    return [str(installed(program)), *flags, "--global.checkNewVersion=false", "--global.sendAnonymousUsage=false"]


def nginx(*files, **options):
    return Gateway(run_nginx, *files, h2=("listen 127.0.0.1:8080;", "listen 127.0.0.1:8080; listen 127.0.0.1:H2_PORT http2;"), **options)


# auth_request has no script that could read a variable.
NGINX_AUTH_REQUEST = nginx("nginx_auth_request.conf", changes=(('X-Gate-Token ""', f'X-Gate-Token "{TOKEN}"'),))
NGINX_NJS = nginx("nginx_njs.conf", "gate.js")
NGINX_LUA = nginx("nginx_lua.conf")
CADDY = Gateway(lambda folder, name: ["/usr/bin/caddy", "run", "--config", f"{folder}/{name}", "--adapter", "caddyfile"],
                "Caddyfile", h2=("auto_https off", "auto_https off\n\tservers {\n\t\tprotocols h1 h2c\n\t}"))
HAPROXY = Gateway(lambda folder, name: ["/usr/sbin/haproxy", "-db", "-f", f"{folder}/{name}"], "haproxy.cfg", "gate.lua")
ENVOY = Gateway(lambda folder, name: [str(installed("envoy")), "--disable-hot-restart", "--concurrency", "1", "-l", "warning", "-c",
                                      f"{folder}/{name}"], "envoy.yaml")
TRAEFIK = Gateway(run_traefik, "traefik.yaml")
