"""An xDS server that has Envoy's rate limits, by grpcio, its messages' bytes written and read by hand; and servers
that say what grpcio never would."""
import collections
import concurrent.futures
import queue
import socket
import threading

import grpc

from rls import field, fields, read_struct
from server import PATIENCE, until

METHOD = "StreamAggregatedResources"
SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService"
TYPE = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig"
SECOND, MINUTE, HOUR, DAY, MONTH, YEAR, WEEK = range(1, 8)


def rate_limit(unit=0, count=0, unlimited=False, name="", replaces=()):
    """RateLimitPolicy."""
    return (field(1, unit) + field(2, count) + (field(3, 1) if unlimited else b"") + (field(4, name) if name else b"")
            + b"".join(field(5, field(1, each)) for each in replaces))


def descriptor(key, value="", limit=None, descriptors=(), shadow=False, quota=False):
    return (field(1, key) + (field(2, value) if value else b"") + (field(3, limit) if limit is not None else b"")
            + b"".join(field(4, each) for each in descriptors) + (field(5, 1) if shadow else b"") + (field(7, 1) if quota else b""))


def config(domain, *descriptors, name=""):
    """RateLimitConfig."""
    return field(1, name or domain) + field(2, domain) + b"".join(field(3, each) for each in descriptors)


def response(version, nonce, configs, type_url=TYPE):
    return (field(1, version) + b"".join(field(2, field(1, TYPE) + field(2, each)) for each in configs) + field(4, type_url)
            + field(5, nonce))


Request = collections.namedtuple("Request", "version nonce node metadata type_url error")


def read_request(message):
    of = fields(message)
    text = lambda number: of[number][-1].decode() if of[number] else ""
    node = fields(of[2][-1])
    return Request(text(1), text(5), node[1][-1].decode(), read_struct(node[3][-1]) if node[3] else {}, text(4),
                   fields(of[6][-1])[2][-1].decode() if of[6] else None)


class Xds:
    """Has one version at a time, and sends it on each stream once."""

    def __init__(self, port=0, tls=None):
        self.streams, self.requests, self.headers, self.current, self.nonces = [], [], [], None, 0
        self.lock = threading.Lock()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0), ("grpc.max_send_message_length", -1)])
        handler = grpc.stream_stream_rpc_method_handler(self.serve)
        self.server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler})])
        where = f"127.0.0.1:{port}"
        self.port = self.server.add_secure_port(where, tls) if tls else self.server.add_insecure_port(where)
        self.address = f"127.0.0.1:{self.port}"
        self.server.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for each in self.streams:
            each.put(None)
        self.server.stop(0).wait()

    def serve(self, requests, context):
        to_send = queue.Queue()
        with self.lock:
            self.headers.append(dict(context.invocation_metadata()))
            self.streams.append(to_send)

        def listen():
            try:
                for message in requests:
                    first = self.current if not to_send.asked else None
                    to_send.asked = True
                    self.requests.append(read_request(message))
                    if first:
                        self.send_to(to_send, *first)
            except Exception:  # the stream has ended
                to_send.put(None)

        to_send.asked = False
        threading.Thread(target=listen, daemon=True).start()
        return iter(to_send.get, None)

    def send_to(self, stream, version, configs, options):
        with self.lock:
            self.nonces += 1
            nonce = f"n{self.nonces}"
        stream.put(response(version, nonce, configs, **options))
        return nonce

    def send(self, version, *configs, **options):
        """To all that are connected, and to those that come; the answer to it, once it has come."""
        self.current = (version, configs, options)
        until(lambda: any(each.asked for each in self.streams), "a stream")
        nonce = self.send_to(self.streams[-1], *self.current)
        return until(lambda: next((each for each in list(self.requests) if each.nonce == nonce), None), f"an answer to {version}")


class Deaf:
    """Accepts connections, says `words` on each, and then nothing, or `ends` it."""

    def __init__(self, words=b"", ends=False):
        self.accepted = 0
        self.words, self.ends, self.open = words, ends, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        for each in self.open:
            each.close()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.accepted += 1
            client.settimeout(PATIENCE)
            client.recv(65536)
            client.sendall(self.words)
            if self.ends:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
                client.close()
            else:
                self.open.append(client)


def frame(kind, flags, stream, payload=b""):
    """Of HTTP/2."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


SETTINGS = frame(4, 0, 0)
HEAD = frame(1, 4, 1, b"\x88")  # :status 200
