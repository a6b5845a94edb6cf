#!/usr/bin/env python3
"""A bad day between a client and a weir, for the runners of the cases: README.md says what the modes mean.

    proxy.py FOLDER

Its first line on stdout is JSON: where it listens (`unix`, `port`, `tls_port`) and the CA of its certificates (`ca`).
Then a command a line on stdin, each answered with "ok" once it holds:

    to ADDRESS     connect to this weir: unix:/PATH or HOST:PORT; all connections are closed
    mode NAME      what happens from now on
    delay MS       what is said takes so long from now on, each way, and so does a close
    connections    answered with how many clients are connected

It ends with its stdin."""
import asyncio
import json
import os
import pathlib
import re
import socket
import ssl
import struct
import subprocess
import sys

MODES = ("up", "silent", "half", "reset", "slow_40ms", "refuse", "hang_up", "max_clients", "noperm", "shuts_down",
         "redis", "stranger", "tls_expired")
ANSWERS = {  # of modes that answer by themselves, whatever is asked
    "max_clients": b"-ERR max number of clients reached\r\n",
    "noperm": b"-NOPERM this user has no permissions to run the command\r\n",
    "shuts_down": b"-ERR the server is shutting down\r\n",
}
HELLO = b"*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:1\r\n" \
        b"$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"


def info(text):
    return b"$%d\r\n%b\r\n" % (len(text), text)


STRANGERS = {  # other servers: the answer to INFO
    "redis": info(b"# Server\r\nredis_version:7.0.15\r\n"),
    "stranger": info(b"# Server\r\nredis_version:7.0.15\r\nweir_version:99.0.0\r\n"),
}


COMMAND = re.compile(rb"\*\d+\r\n(?:\$\d+\r\n[^\r]*\r\n)+")


def by_itself(mode, command):
    """The answer of a mode that asks no weir, by RESP2."""
    if mode in ANSWERS:
        return ANSWERS[mode]
    if b"HELLO" in command.upper():
        return HELLO
    return STRANGERS[mode] if b"INFO" in command.upper() else b"-ERR unknown command\r\n"


class Proxy:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.mode = "up"
        self.delay = 0.0
        self.upstream = None
        self.links = set()
        self.servers = []

    async def start(self):
        certify(self.folder)
        self.path = str(self.folder / "proxy.sock")
        self.port, self.tls_port = 0, 0
        await self.listen()
        print(json.dumps({"unix": f"unix:{self.path}", "port": self.port, "tls_port": self.tls_port,
                          "ca": str(self.folder / "ca.pem")}), flush=True)

    async def listen(self):
        loop = asyncio.get_running_loop()
        self.servers = [await loop.create_unix_server(lambda: Link(self), self.path),
                        await loop.create_server(lambda: Link(self), "127.0.0.1", self.port),
                        await loop.create_server(lambda: Link(self), "127.0.0.1", self.tls_port, ssl=self.tls())]
        self.port, self.tls_port = (each.sockets[0].getsockname()[1] for each in self.servers[1:])

    def tls(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        name = "expired" if self.mode == "tls_expired" else "valid"
        context.load_cert_chain(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        return context

    async def unlisten(self):
        for each in self.servers:
            each.close()
        self.servers = []
        pathlib.Path(self.path).unlink(missing_ok=True)

    async def set_mode(self, name):
        before, self.mode = self.mode, name
        if name == "refuse" or "tls_expired" in (before, name):
            await self.unlisten()
        if name in ("refuse", "hang_up", "tls_expired", *ANSWERS, *STRANGERS):
            await self.hang_up()
        if not self.servers and name != "refuse":
            await self.listen()
        if name == "hang_up":
            self.mode = "up"
        if self.mode == "up":
            for each in list(self.links):
                each.release()

    async def hang_up(self):
        """Of those that are connected now; one that connects at once again stays."""
        closed = set(self.links)
        for each in closed:
            each.close()
        while closed & self.links:  # their sockets are closed in a later turn
            await asyncio.sleep(0.001)

    async def obey(self, line):
        command, _, word = line.strip().partition(" ")
        if command == "to":
            await self.hang_up()
            self.upstream = word
        elif command == "mode" and word in MODES:
            await self.set_mode(word)
        elif command == "delay":
            self.delay = float(word) / 1000
        elif command == "connections":
            return str(len(self.links))
        else:
            return f"unknown: {line.strip()}"
        return "ok"


class Way:
    """From a client to its weir, or back: what takes long arrives in order."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.due = 0.0

    def after(self, seconds, function, *args):
        now = self.loop.time()
        if seconds == 0 and now > self.due:
            return function(*args)
        self.due = max(self.due + 1e-6, now + seconds)
        self.loop.call_at(self.due, function, *args)


class Link(asyncio.Protocol):
    """One client, and its connection to weir."""

    def __init__(self, proxy):
        self.proxy, self.client, self.weir = proxy, None, None
        self.there, self.back = Way(), Way()
        self.early, self.withheld = b"", b""

    def connection_made(self, transport):
        self.client = transport
        self.proxy.links.add(self)
        if self.proxy.mode == "max_clients":
            transport.write(ANSWERS["max_clients"])
            transport.close()
        else:
            self.opening = asyncio.get_running_loop().create_task(self.open())

    async def open(self):
        where = self.proxy.upstream
        loop = asyncio.get_running_loop()
        try:
            if where.startswith("unix:"):
                await loop.create_unix_connection(lambda: Back(self), where[5:])
            else:
                host, _, port = where.rpartition(":")
                await loop.create_connection(lambda: Back(self), host, int(port))
        except OSError:
            self.close()

    def opened(self, transport):
        self.weir = transport
        transport.write(self.early)

    def data_received(self, data):
        mode = self.proxy.mode
        if mode == "reset":
            return self.reset()
        if mode in STRANGERS or mode in ANSWERS:
            return self.client.write(b"".join(by_itself(mode, each) for each in COMMAND.findall(data)))
        self.there.after(self.proxy.delay, self.ask, data)

    def ask(self, data):
        if self.weir is None:
            self.early += data
        else:
            self.weir.write(data)

    def answered(self, data):
        mode = self.proxy.mode
        if mode == "silent":
            self.withheld += data
        elif mode == "half":
            self.client.write(data[: len(data) // 2])
            self.close()
        else:
            self.back.after(0.04 if mode == "slow_40ms" else self.proxy.delay, self.client.write, data)

    def release(self):
        if self.withheld:
            self.client.write(self.withheld)
            self.withheld = b""

    def reset(self):
        sock = self.client.get_extra_info("socket")
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.client.abort()

    def close(self):
        for each in (self.client, self.weir):
            if each is not None:
                each.close()

    def connection_lost(self, error):
        self.proxy.links.discard(self)
        if self.weir is not None:
            self.there.after(self.proxy.delay, self.weir.close)


class Back(asyncio.Protocol):
    def __init__(self, link):
        self.link = link

    def connection_made(self, transport):
        self.link.opened(transport)
        if self.link.client.is_closing():
            transport.close()

    def data_received(self, data):
        self.link.answered(data)

    def connection_lost(self, error):
        self.link.back.after(self.link.proxy.delay, self.link.client.close)


def certify(folder):
    """A CA, and two certificates of localhost: one that is valid, and one that has expired."""
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=folder)

    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=cases", "-days", "2", "-addext",
            "keyUsage=critical,keyCertSign,cRLSign")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nauthorityKeyIdentifier=keyid\n")
    (folder / "index").write_text("")
    (folder / "ca.conf").write_text(f"[ca]\ndefault_ca=c\n[c]\ndatabase={folder}/index\nnew_certs_dir={folder}\n"
                                    "rand_serial=yes\ndefault_md=sha256\nunique_subject=no\npolicy=p\n[p]\ncommonName=supplied\n")
    for name, start, end in (("valid", "20200101000000Z", "20990101000000Z"), ("expired", "20200101000000Z", "20200102000000Z")):
        openssl("req", "-new", *curve, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", "/CN=localhost")
        openssl("ca", "-batch", "-config", "ca.conf", "-cert", "ca.pem", "-keyfile", "ca.key", "-in", f"{name}.csr", "-out",
                f"{name}.crt", "-notext", "-startdate", start, "-enddate", end, "-extfile", "names")


async def main(folder):
    proxy = Proxy(folder)
    await proxy.start()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).decode():
        print(await proxy.obey(line), flush=True)
    os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1]))
