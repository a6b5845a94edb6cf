"""Real Redis (or Valkey) servers of the tests' own, in a temporary folder: one, a cluster, a sentinel trio, and a TCP
proxy that does what networks do.

WEIR_REDIS_SERVER names another program than redis-server. Whatever is started here dies with this process, also when
that is killed, and also while it is stopped. Start it from the main thread: the kernel counts by threads.
"""
import asyncio
import contextlib
import ctypes
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))

import server as end_to_end  # noqa: E402
from ports import free_port  # noqa: E402
from server import Client, Closed, Error, Folder, until  # noqa: E402

PROGRAM = os.environ.get("WEIR_REDIS_SERVER", "redis-server")
SLOTS = 16384
_LIBC = ctypes.CDLL(None)


def available():
    return shutil.which(PROGRAM) is not None


def _die_with_parent():
    _LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Server(end_to_end.Server):
    """`weir serve`, which dies with this process too."""

    def __init__(self, *args, **options):
        super().__init__(*args, preexec_fn=_die_with_parent, **options)


def slot_of(key):
    """As the cluster specification has it."""
    data = key.encode() if isinstance(key, str) else key
    opened = data.find(b"{")
    closed = data.find(b"}", opened + 1)
    if opened >= 0 and closed > opened + 1:
        data = data[opened + 1:closed]
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x1021 if crc & 0x8000 else 0)) & 0xffff
    return crc % SLOTS


class TlsFiles:
    """What a server of an authority's needs to speak TLS alone, and what its clients need. The servers of a cluster, and
    sentinels and theirs, show each other the same certificate."""

    def __init__(self, authority, auth_clients="no"):
        self.certificate, self.key = authority.issue("localhost")
        self.ca, self.auth_clients = authority.certificate, auth_clients
        self.context = ssl.create_default_context(cafile=self.ca)
        self.context.load_cert_chain(self.certificate, self.key)

    def options(self, port):
        return [("port", 0), ("tls-port", port), ("tls-cert-file", self.certificate), ("tls-key-file", self.key),
                ("tls-ca-cert-file", self.ca), ("tls-auth-clients", self.auth_clients), ("tls-replication", "yes")]


class Redis:
    """One server. Options as in its configuration file: ("appendonly", "no"), ... With `tls` it has no other port."""

    def __init__(self, options=(), port=None, password="", user="", unix=None, host="127.0.0.1", sentinel=False,
                 start=True, tls=None, env=None):
        # A sentinel and a node of a cluster wait for the disk whenever they write down what they know of each other.
        self.folder = Folder(in_memory=True)
        self.env = env
        self.tls = tls
        self.host, self.port = host, free_port() if port is None else port
        self.user, self.password, self.unix, self.sentinel = user, password, unix, sentinel
        self.options = [("bind", host), ("port", self.port), ("dir", self.folder.path), ("save", ""),
                        ("appendonly", "no"), ("repl-diskless-sync-delay", "0")] if not sentinel else [
                            ("bind", host), ("port", self.port), ("dir", self.folder.path)]
        if tls:
            self.options += tls.options(self.port)
        self.options += options
        if unix:
            self.options += [("unixsocket", unix)]
        if password and not user:
            self.options += [("requirepass", password)] + ([] if sentinel else [("masterauth", password)])
        self.process = None
        self._control = None
        if start:
            self.start()

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def start(self, *more, wait=True):
        path = self.folder.file("server.conf")
        if not self.sentinel or not os.path.exists(path):  # a sentinel writes down what it knows
            self.folder.file("server.conf", "".join(f"{name} {value if value != '' else chr(34) * 2}\n"
                                                    for name, value in [*self.options, *more]))
        command = [PROGRAM, path] + (["--sentinel"] if self.sentinel else [])
        with open(self.folder.file("log"), "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.folder.path, env=self.env, preexec_fn=_die_with_parent)
        if wait:
            until(self.answers, lambda: f"{PROGRAM} on port {self.port}: {self.log()[-500:]}")
        return self

    def log(self):
        with open(os.path.join(self.folder.path, "log"), errors="replace") as text:
            return text.read()

    def answers(self):
        """Whether it answers, and not with an error: from when on it has recovered."""
        with contextlib.suppress(OSError, Closed, AssertionError):
            with self.connect(timeout=0.5) as client:
                return client.ask("PING") == "PONG"
        return False

    def connect(self, timeout=10.0, host=None):
        client = Client(self.unix, timeout=timeout) if self.unix else Client(
            self.port, timeout=timeout, host=host or self.host, tls=self.tls and self.tls.context)
        if self.password:
            client.ask("AUTH", *([self.user] if self.user else []), self.password)
        return client

    def ask(self, *words):
        """By a connection that is kept, and opened again when it has ended."""
        for last in (False, True):
            try:
                if self._control is None:
                    self._control = self.connect()
                return self._control.ask(*words)
            except (OSError, Closed):
                self.hang_up()
                if last:
                    raise
        return None

    def hang_up(self):
        if self._control is not None:
            self._control.close()
            self._control = None

    def must(self, *words):
        answer = self.ask(*words)
        if isinstance(answer, Error):
            raise AssertionError(f"{words}: {answer}")
        return answer

    def info(self, section):
        lines = self.must("INFO", section).decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def calls(self, command):
        """How many of a command were run, and how many of those failed."""
        found = self.info("commandstats").get("cmdstat_" + command, "")
        fields = dict(part.split("=") for part in found.split(",") if part)
        return int(fields.get("calls", 0)), int(fields.get("failed_calls", 0))

    def signal(self, number):
        os.kill(self.process.pid, number)

    def pause(self):
        self.signal(signal.SIGSTOP)

    def go_on(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        """kill -9, which ends a stopped one too."""
        self.hang_up()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def close(self):
        self.kill()
        self.folder.__exit__()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class World:
    """Several servers, closed together."""

    def __init__(self):
        self.servers = []

    def close(self):
        for server in self.servers:
            server.kill()
        for server in self.servers:
            server.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Cluster(World):
    """Three masters, each with a replica, on loopback."""

    def __init__(self, node_timeout_ms=800, password="", tls=None):
        super().__init__()
        self.password = password
        for _ in range(6):
            options = [("cluster-enabled", "yes"), ("cluster-port", free_port()),
                       ("cluster-node-timeout", node_timeout_ms), ("cluster-replica-validity-factor", "0")]
            if tls:
                options.append(("tls-cluster", "yes"))
            self.servers.append(Redis(options, password=password, tls=tls))
        self.ids = {}
        for epoch, server in enumerate(self.servers, 1):
            server.must("CLUSTER", "SET-CONFIG-EPOCH", epoch)
            self.ids[server] = server.must("CLUSTER", "MYID").decode()
        first = self.servers[0]
        for server in self.servers[1:]:
            bus = dict(server.options)["cluster-port"]
            first.must("CLUSTER", "MEET", "127.0.0.1", server.port, bus)
        until(lambda: all(len(self.nodes(s)) == 6 for s in self.servers), "all know all")
        bounds = [SLOTS * i // 3 for i in range(4)]
        for i in range(3):
            self.servers[i].must("CLUSTER", "ADDSLOTSRANGE", bounds[i], bounds[i + 1] - 1)
        until(lambda: all("master" in n["flags"] for n in self.nodes(first)), "all are masters")
        for i in range(3):
            until(lambda i=i: self.servers[3 + i].ask("CLUSTER", "REPLICATE", self.ids[self.servers[i]]) == "OK",
                  "a replica")
        until(self.whole, "the cluster is whole")

    @staticmethod
    def nodes(server):
        """What a server says of all."""
        found = []
        for line in server.must("CLUSTER", "NODES").decode().splitlines():
            fields = line.split()
            if "handshake" not in fields[2] and "noaddr" not in fields[2]:
                found.append({"id": fields[0], "port": int(fields[1].split("@")[0].rsplit(":", 1)[1]),
                              "flags": fields[2].split(","), "master": fields[3], "slots": fields[8:]})
        return found

    def alive(self):
        return [s for s in self.servers if s.process.poll() is None]

    def ok(self):
        """Whether all that live say so: the store's own recovery."""
        return all(b"cluster_state:ok" in s.must("CLUSTER", "INFO") for s in self.alive())

    def whole(self):
        """And agree on who owns what, and every replica that lives follows its master."""
        def view(server):
            return sorted((n["id"], n["master"], tuple(n["slots"]))
                          for n in self.nodes(server) if "fail" not in n["flags"])
        if not self.ok():
            return False
        views = []
        for server in self.alive():
            # What a node says of slots on the move is its own affair.
            views.append([(i, m, tuple(s for s in slots if not s.startswith("["))) for i, m, slots in view(server)])
        if any(v != views[0] for v in views):
            return False
        replication = [s.info("replication") for s in self.alive()]
        return all(r["role"] == "master" or r["master_link_status"] == "up" for r in replication)

    def writable(self):
        """Whether every master takes a write. One that was asked for a manual failover takes none until it has handed
        over, and when nothing comes of the failover, as happens when two follow each other quickly, for 5 s."""
        wanted = set(self.masters())
        for server in wanted:
            ranges = [part.partition("-") for node in self.nodes(server) if "myself" in node["flags"]
                      for part in node["slots"] if not part.startswith("[")]
            if not ranges:
                return False  # no longer a master
            key = next(key for key in map("probe{}".format, range(10**6)) if any(
                int(low) <= slot_of(key) <= int(high or low) for low, _, high in ranges))
            try:
                with server.connect(timeout=0.1) as client:
                    if client.ask("SET", key, "", "PX", 1) != "OK":
                        return False
            except (OSError, Closed):
                return False
        return len(wanted) == 3

    def masters(self):
        """Those that live and have slots."""
        return [s for s in self.alive() if any(n["slots"] and "myself" in n["flags"] and "master" in n["flags"]
                                               for n in self.nodes(s))]

    def owner(self, slot):
        for server in self.masters():
            for node in self.nodes(server):
                if "myself" not in node["flags"]:
                    continue
                for part in node["slots"]:
                    if part.startswith("["):
                        continue
                    low, _, high = part.partition("-")
                    if int(low) <= slot <= int(high or low):
                        return server
        raise AssertionError(f"nobody owns slot {slot}")

    def replica_of(self, master):
        for server in self.alive():
            for node in self.nodes(server):
                if "myself" in node["flags"] and node["master"] == self.ids[master]:
                    return server
        raise AssertionError("no replica")

    def migrate(self, slot, pause=0.0):
        """Moves a slot to the next master, key by key, and returns how many keys it had."""
        source = self.owner(slot)
        others = [s for s in self.masters() if s is not source]
        target = random.choice(others)
        target.must("CLUSTER", "SETSLOT", slot, "IMPORTING", self.ids[source])
        source.must("CLUSTER", "SETSLOT", slot, "MIGRATING", self.ids[target])
        moved = 0
        time.sleep(pause)
        while keys := source.must("CLUSTER", "GETKEYSINSLOT", slot, 10):
            for key in keys:
                auth = ("AUTH", self.password) if self.password else ()
                answer = source.must("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, *auth, "KEYS", key)
                moved += answer == "OK"
                time.sleep(pause / 10)
        time.sleep(pause)
        for server in [target, source, *others]:
            server.must("CLUSTER", "SETSLOT", slot, "NODE", self.ids[target])
        return moved


class Sentinels(World):
    """A master, two replicas and three sentinels that watch it as `mymaster`."""

    def __init__(self, password="", down_after_ms=500, tls=None):
        super().__init__()
        self.redis = [Redis(password=password, tls=tls)]
        for _ in range(2):
            self.redis.append(Redis([("replicaof", f"127.0.0.1 {self.redis[0].port}"), ("replica-priority", "10")],
                                    password=password, tls=tls))
        self.sentinels = []
        for _ in range(3):
            options = [("sentinel monitor", f"mymaster 127.0.0.1 {self.redis[0].port} 2"),
                       ("sentinel down-after-milliseconds", f"mymaster {down_after_ms}"),
                       ("sentinel failover-timeout", "mymaster 3000")]
            if password:
                options.append(("sentinel auth-pass", f"mymaster {password}"))
            self.sentinels.append(Redis(options, sentinel=True, tls=tls))
        self.servers = self.redis + self.sentinels
        until(self.whole, "the sentinels know each other and the replicas")

    def named(self, sentinel):
        return int(sentinel.must("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")[1])

    def failovers(self):
        """How many there have been."""
        return max(s.log().count("+switch-master") for s in self.sentinels)

    def master(self):
        """That all living sentinels name, if it lives and is one."""
        named = {self.named(s) for s in self.sentinels if s.process.poll() is None}
        for server in self.redis:
            if named == {server.port} and server.answers() and server.info("replication")["role"] == "master":
                return server
        return None

    def demote(self):
        """Makes replicas of former masters, which the sentinels would do after some ten seconds."""
        master = until(self.master, "there is a master")
        for server in self.redis:
            if server is not master and server.answers() and server.info("replication")["role"] == "master":
                server.must("REPLICAOF", "127.0.0.1", master.port)

    def whole(self):
        master = self.master()
        if master is None or len([s for s in self.redis if s.process.poll() is None]) < 3:
            return False
        for server in self.redis:
            replication = server.info("replication")
            if server is not master and (replication["role"] != "slave" or int(replication["master_port"]) != master.port
                                         or replication["master_link_status"] != "up"):
                return False
        for sentinel in self.sentinels:
            fields = sentinel.must("SENTINEL", "MASTER", "mymaster")
            about = dict(zip(fields[::2], fields[1::2]))
            if int(about[b"num-slaves"]) < 2 or int(about[b"num-other-sentinels"]) < 2 or about[b"flags"] != b"master":
                return False
        return True


class Proxy:
    """Stands between weir and a Redis. Everything is for the connections that there are and those to come.

    delay     seconds that bytes take, each way
    frozen    connections are accepted, and nothing passes
    cut()     cuts everything after that number of further bytes in one direction
    half_close(), drop(), refuse(), accept()
    lag       the longest that it was held up itself; may be set to 0
    """

    def __init__(self, port, host="127.0.0.1"):
        self.target = (host, port)
        self.delay = 0.0
        self.frozen = False
        self.cuts = 0  # that have happened
        self.lag = 0.0
        self._cut = None
        self._links = set()
        self._listener = None
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self.port = free_port()
        self.accept()
        asyncio.run_coroutine_threadsafe(self._watch(), self._loop)

    async def _watch(self):
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            self.lag = max(self.lag, time.monotonic() - before - 0.005)

    def _do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    def accept(self):
        async def listen():
            self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=200)
        self._do(listen())

    def refuse(self):
        async def stop():
            self._listener.close()
            self._abort()
        self._do(stop())

    def drop(self, *cut):
        """Resets all connections; those to come are cut() so."""
        async def stop():
            self._abort()
            if cut:
                self.cut(*cut)
        self._do(stop())

    def cut(self, direction, after, reset=True):
        """direction: "up" to Redis, "down" from it. With reset=False it ends as by a shutdown, not an abort."""
        self._cut = [direction, after, reset]

    def uncut(self):
        """Forgets a cut that has not happened; True when it had."""
        happened = self._cut is None
        self._cut = None
        return happened

    def half_close(self, direction):
        """Ends one direction; the other goes on. Returns how many connections there were."""
        async def end():
            writers = [link[direction] for link in self._links]
            for writer in writers:
                with contextlib.suppress(OSError, RuntimeError):
                    writer.write_eof()
            return len(writers)
        return self._do(end())

    def close(self):
        with contextlib.suppress(Exception):
            self.refuse()

        async def cancel():
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._do(cancel())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _abort(self):
        for link in self._links:
            for writer in link.values():
                writer.transport.abort()
        self._links.clear()

    class _Link(dict):
        __hash__ = object.__hash__

    async def _serve(self, reader, writer):
        link = self._Link(down=writer)
        self._links.add(link)
        try:
            there, up = await asyncio.open_connection(*self.target)
            for each in (writer, up):
                each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link["up"] = up
            await asyncio.gather(self._pass(reader, up, "up", link), self._pass(there, writer, "down", link))
        except (OSError, RuntimeError, asyncio.IncompleteReadError):
            pass
        finally:
            self._links.discard(link)
            for each in link.values():
                each.transport.abort()

    async def _pass(self, reader, writer, direction, link):
        """Reads on while bytes are on their way, as a network does."""
        under_way = asyncio.Queue()

        async def deliver():
            while True:
                due, data = await under_way.get()
                wait = due - time.monotonic()
                if wait > 0:
                    await asyncio.sleep(wait)
                while self.frozen:
                    await asyncio.sleep(0.005)
                if not data:
                    with contextlib.suppress(OSError, RuntimeError):
                        writer.write_eof()
                    return
                if link not in self._links:
                    return
                cut = self._cut
                if cut is not None and cut[0] == direction:
                    if len(data) >= cut[1]:
                        self._cut = None
                        writer.write(data[:cut[1]])
                        await writer.drain()
                        self.cuts += 1
                        if cut[2]:
                            await asyncio.sleep(0.001)  # so that the bytes before the cut arrive
                            for each in link.values():
                                each.transport.abort()
                        else:
                            for each in link.values():
                                each.close()
                        return
                    cut[1] -= len(data)
                with contextlib.suppress(OSError, RuntimeError):
                    writer.write(data)
                    await writer.drain()

        delivery = asyncio.ensure_future(deliver())
        due = 0.0
        while True:
            try:
                data = await reader.read(1 << 16)
            except OSError:
                data = b""
            due = max(due, time.monotonic() + self.delay)
            under_way.put_nowait((due, data))
            if not data:
                break
        await delivery


if __name__ == "__main__":
    sys.exit("a module of the tests, not a test")
