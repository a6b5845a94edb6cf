"""Envoy's rate limit service as a client asks it: grpcio, and the messages' bytes written and read by hand, so that
what no generated class would send can be sent too."""
import collections

import grpc

from server import PATIENCE

SERVICE = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
KUADRANT = "/kuadrant.service.ratelimit.v1.RateLimitService/"
HEALTH = "/grpc.health.v1.Health/"
OK, OVER = 1, 2
SECOND, MINUTE, HOUR, DAY, MONTH, YEAR, WEEK = range(1, 8)


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """Of an integer, or of text and bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(message):
    """{number: [values]} of a message."""
    at, read = 0, collections.defaultdict(list)

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            read[tag >> 3].append(number())
        else:
            assert tag & 7 in (1, 2), tag
            size = 8 if tag & 7 == 1 else number()
            read[tag >> 3].append(message[at:at + size])
            at += size
    return read


def entry(key, value):
    return field(1, field(1, key) + field(2, value))


def descriptor(*entries, hits=None, limit=None, gives_back=False, **more):
    """Of (key, value) pairs, and of more keys by name."""
    out = b"".join(entry(*each) for each in [*entries, *more.items()])
    if limit is not None:
        out += field(2, field(1, limit[0]) + field(2, limit[1]))
    if hits is not None:
        out += field(3, field(1, hits) if hits else b"")
    return out + (field(4, 1) if gives_back else b"")


def request(domain, *descriptors, hits=0):
    return field(1, domain) + b"".join(field(2, each) for each in descriptors) + (field(3, hits) if hits else b"")


Status = collections.namedtuple("Status", "code limit remaining until_reset")
Limit = collections.namedtuple("Limit", "count unit name")
Answer = collections.namedtuple("Answer", "code statuses headers body metadata")


def read_status(message):
    of = fields(message)
    limit = None
    if 2 in of:
        its = fields(of[2][-1])
        limit = Limit(its[1][-1] if 1 in its else 0, its[2][-1] if 2 in its else 0, its[3][-1].decode() if 3 in its else "")
    seconds = fields(of[4][-1])[1] if 4 in of else None
    return Status(of[1][-1] if 1 in of else 0, limit, of[3][-1] if 3 in of else 0, None if seconds is None else sum(seconds))


def read_answer(message):
    of = fields(message)
    headers = [tuple(fields(each)[i][-1].decode() for i in (1, 2)) for each in of[3]]
    return Answer(of[1][-1], [read_status(each) for each in of[2]], headers, b"".join(of[5]).decode(), read_struct(of[6][-1]) if of[6] else None)


def read_struct(message):
    """google.protobuf.Struct, as JSON would have it."""
    import struct

    def value(of):
        (kind, (data,)), = fields(of).items()
        if kind == 2:
            return struct.unpack("<d", data)[0]
        return {1: lambda: None, 3: lambda: data.decode(), 4: lambda: bool(data), 5: lambda: read_struct(data),
                6: lambda: [value(each) for each in fields(data)[1]]}[kind]()

    return {fields(each)[1][-1].decode(): value(fields(each)[2][-1]) for each in fields(message)[1]}


class Client:
    """One connection."""

    def __init__(self, where, tls=None, options=()):
        where = where if isinstance(where, str) else f"127.0.0.1:{where}"
        options = [("grpc.use_local_subchannel_pool", 1), *options]  # another client is another connection
        self.channel = grpc.secure_channel(where, tls, options) if tls else grpc.insecure_channel(where, options)
        self.unary = self.channel.unary_unary(SERVICE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.channel.close()

    def send(self, message, timeout=PATIENCE, **options):
        """The answer to a message of bytes."""
        return read_answer(self.unary(message, timeout=timeout, **options))

    def ask(self, domain, *descriptors, hits=0, **options):
        return self.send(request(domain, *descriptors, hits=hits), **options)

    def kuadrant(self, method, domain, *descriptors, hits=0):
        return read_answer(self.channel.unary_unary(KUADRANT + method)(request(domain, *descriptors, hits=hits), timeout=PATIENCE))

    def check(self, *args, **options):
        return self.kuadrant("CheckRateLimit", *args, **options)

    def report(self, *args, **options):
        return self.kuadrant("Report", *args, **options)

    def reserve(self, domain, *descriptors, amount, ttl=None):
        """The code, and the reservation."""
        duration = b"" if ttl is None else field(4, field(1, int(ttl)) + field(2, round(ttl % 1 * 1e9)))
        message = request(domain, *descriptors) + field(3, amount) + duration
        told = fields(self.channel.unary_unary(KUADRANT + "Reserve")(message, timeout=PATIENCE))
        return told[1][-1], b"".join(told[2]).decode()

    def commit(self, domain, *descriptors, reservation, actual):
        """Whether its hold was released."""
        message = request(domain, *descriptors) + field(3, reservation) + field(4, actual)
        return fields(self.channel.unary_unary(KUADRANT + "Commit")(message, timeout=PATIENCE))[1] == [1]

    def refused(self, call, *args, **options):
        """The code and the text of a call that fails."""
        try:
            answer = call(*args, **options)
        except grpc.RpcError as error:
            return error.code().name, error.details()
        raise AssertionError(f"it is answered: {answer}")

    def health(self, service=""):
        """Of Check: 1 for serving, 2 for not serving."""
        reply = self.channel.unary_unary(HEALTH + "Check")(field(1, service) if service else b"", timeout=PATIENCE)
        return sum(fields(reply)[1])

    def watch(self, service=""):
        """An iterator over what Watch says."""
        return map(lambda message: sum(fields(message)[1]), self.channel.unary_stream(HEALTH + "Watch")(field(1, service) if service else b""))
