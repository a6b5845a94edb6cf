"""Two programs that get the same questions at the same moment.

Both run with clocks that stand still (still_clock.cpp) and that a step moves; so whatever they say of times is compared
too. What has to differ is replaced before they are compared: the ids of reservations, by the number in which each
program gave them; ports; and lines of INFO and metrics about the process itself.

A case is a world, {"flags": [...], ...}, and a list of steps, each a dict that JSON can hold; texts of bytes are latin-1.
"""
import contextlib
import mmap
import pathlib
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("end_to_end", "faults", "replay")]
import server as end_to_end  # noqa: E402
from server import Client, Closed, Folder, encode, environment, until  # noqa: E402
from world import Proxy, Redis, Server  # noqa: E402

WALL = 1_795_262_400_000_000_000       # 2026-11-21T12:00:00Z
MONOTONIC = 10**17                     # beyond the kernel's, so that no wait of a thread ends by it
MOST = 10.0                            # seconds until what has not come counts as not coming
TOOL_SLOT = 4                          # of the clock's words: 2 and 3 are the two servers'


class Clock:
    """What both programs and their Redis take for the time."""

    def __init__(self, folder, library):
        self.library, self.path = library, folder.file("clock", bytes(4096))
        with open(self.path, "r+b") as file:
            self.words = mmap.mmap(file.fileno(), 4096)
        self.ahead = 0
        self.move(0)

    def move(self, ns):
        self.ahead += ns
        struct.pack_into("<qq", self.words, 0, WALL + self.ahead, MONOTONIC + self.ahead)

    def looked(self, slot):
        return struct.unpack_from("<q", self.words, 8 * slot)[0]

    def env(self, slot):
        return {"LD_PRELOAD": self.library, "STILL_CLOCK": self.path, "STILL_CLOCK_SLOT": str(slot), "TZ": "UTC"}


# What is said of a process, a machine or a build, and of how much memory its objects take; how many commands it has
# run, as nobody knows beforehand how many pings it takes to know that it has run them; and how many reservations there
# are, and have been over by their time, as those that are over go when chance, their id, comes by them.
OF_THE_PROCESS = re.compile(
    rb"^((?:total_commands_processed|reservations|holds_expired|process_id|used_memory_rss|client_memory|reservation_memory|"
    rb"weir_version|run_id|tcp_port|audit_head):)[^\r\n]*|"
    rb"^((?:weir_commands_total|weir_reservations|weir_holds_expired_total|weir_resident_bytes|weir_client_bytes|weir_reservation_bytes) )[^\r\n]*|"
    rb"^(weir_(?:build|audit)_info\{)[^\r\n]*", re.M)
LENGTHS = re.compile(rb"\$\d+(?=\r\n# )|=\d+(?=\r\ntxt:# )")          # of texts with such lines
LENGTHS_OF_LISTS = re.compile(rb"[$=]\d+(?=\r\n(?:txt:)?id=\d+ addr=)")
ADDRESSES = re.compile(rb"(127\.0\.0\.1:)\d+")                       # of our own sockets
MEMORY = re.compile(rb"(tot-mem=)\d+")
GIVEN_IDS = re.compile(rb"\$22\r\n([\w-]{22})\r\n|\$25\r\n([\w-]{25})\r\n|\"id\":\"([\w-]{22,25})\"")
ANY_ID = re.compile(rb"(?a)(?<![\w-])(?:[\w-]{25}|[\w-]{22})(?![\w-])")
CHUNK_OF_TEXT = re.compile(rb"(Content-Length: )\d+(?=\r\n(?:[^\r\n]+\r\n)*\r\n# HELP)", re.I)


# How often a store was asked while it was ill is chance, and so is what a question to it that waited has come between.
OF_AN_ILL_STORE = re.compile(rb"^(store_(?:answers|answers_usec|decided|fallbacks|failed_\w+|error|state):|denied:|"
                             rb"weir_(?:store\w*|decision_seconds\w*|\w+_total)\b)[^\r\n]*", re.M)
OWN_COMMANDS = re.compile(rb"cmd=(?:ping|info|gcra|weir\.reserve)\b")
UNSEEN_ID = re.compile(rb"(?a)(?:limit#id:|@|(?<![\w-]))([\w-]{25})(?![\w-])")


class Side:
    """One of the two programs, and what it was asked."""

    def __init__(self, name, program, clock, slot, folder):
        self.name, self.program, self.clock, self.slot = name, program, clock, slot
        self.folder = pathlib.Path(folder.path) / name
        self.folder.mkdir()
        self.ids, self.connections, self.server, self.control, self.commands = [], {}, None, None, 0

    # ---- the program

    def start(self, world, store=None):
        flags = ["--threads", "1", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", *world["flags"]]
        for name, text in world.get("files", {}).items():
            (self.folder / name).write_bytes(text.encode("latin-1"))
        if "limits.yaml" in world.get("files", {}):
            flags += ["--limits", "limits.yaml"]
        if world.get("snapshot"):
            flags += ["--snapshot", "snapshot", "--snapshot-every", "1h"]
        if store:
            flags += ["--store", store]
        self.world = world
        self.ill, self.with_store = world.get("faulty", False), bool(store)
        self.password = world.get("password")
        self.context = None
        if world.get("tls"):
            flags += ["--tls-cert", world["tls"][0], "--tls-key", world["tls"][1]]
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        end_to_end.WEIR = self.program
        env = self.clock.env(self.slot)
        if self.password:
            env |= {"WEIR_PASSWORD": self.password, "WEIR_HTTP_TOKEN": "t0ken"}
        env |= {"GATE_TOKEN": "t0ken"}
        self.server = Server(*flags, env=env, cwd=self.folder)
        self.ports = dict(zip(("resp", "http", "admin"), self.server.ports))
        self.control, self.commands = None, 0
        self.take_limits()

    def finish(self):
        """Begins its end."""
        for connection in self.connections.values():
            connection.close()
        self.connections.clear()
        if self.control is not None:
            self.control.close()
        self.control = None
        self.server.signal(signal.SIGTERM)

    def log(self):
        """What it said until its end: exit code and log."""
        code = self.server.wait()
        log = self.server.stderr()
        self.server.kill()
        self.server = None
        log = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", log)
        if self.with_store:
            log = re.sub(r"^\[\S+Z\]", "[]", log, flags=re.M)  # it takes its time to end
        if self.ill:
            log = "\n".join(line for line in log.split("\n") if "store" not in line)
        return f"exit code {code}\n{log}".encode()

    def kill(self):
        for connection in self.connections.values():
            connection.close()
        if self.server is not None:
            self.server.kill()

    # ---- talking to it

    def starts(self, world, store):
        try:
            self.start(world, store)
        except AssertionError:
            return False
        return True

    def take_limits(self):
        """Asks by the limits file alone. An old program answers by the file that was in force before, if any, what comes in
        one read with a question by a rule."""
        if "limits.yaml" in self.world.get("files", {}):
            self.say("WEIR.LOOK", "nobody=1")
        self.ping()

    def ping(self):
        """Comes back when all that has arrived before has been run."""
        self.say("PING")
        self.say("PING")

    def say(self, *words):
        """A command of our own, and its answer; by a connection that a case may have closed."""
        for last in (False, True):
            try:
                if self.control is None:
                    self.control = Client(self.ports["resp"], timeout=MOST, tls=self.context)
                    if self.password:
                        self.commands += 1
                        self.control.ask("AUTH", self.password)
                self.commands += 1
                return self.control.ask(*words)
            except (Closed, OSError):
                self.control = None
                if last:
                    raise
        return None

    def idle(self):
        """Whether it waits for no answer of its store."""
        self.ping()
        told = self.store()
        self.ping()  # which CLIENT LIST then shows
        return b"store_under_way:0\r\n" in told and b"store_waiting:0\r\n" in told

    def ready(self):
        return b"store_state:ready" in self.store()

    def store(self):
        return self.say("INFO", "store")

    def connection(self, key, to):
        if key not in self.connections:
            made = socket.create_connection(("127.0.0.1", self.ports[to]), timeout=MOST)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.context is not None and to != "admin":
                made = self.context.wrap_socket(made)
            self.connections[key] = made
        return self.connections[key]

    def bytes_of(self, step):
        """What it is to be sent: its own ids and ports in their places."""
        out = b""
        for part in step["parts"]:
            if "words" in part:
                out += encode(*(self.own(word) for word in part["words"]))
            elif "head" in part:
                body = self.own(part["body"])
                head = part["head"] + (f"Content-Length: {len(body)}\r\n" if part.get("measured", True) else "")
                out += self.own(head + "\r\n") + body
            else:
                out += self.own(part["raw"])
        return out

    def own(self, text):
        def of(found):
            kind, number = found.group(1), int(found.group(2) or 0)
            if kind == "id":
                return self.ids[-1 - number % len(self.ids)].decode() if self.ids else "A" * 22
            return str(self.ports[kind])
        return re.sub(r"\{(id|resp|http|admin) ?(\d*)\}", of, text).encode("latin-1")

    def read(self, connection, into):
        """Takes what is there; False at the end."""
        connection.setblocking(False)
        try:
            while True:
                data = connection.recv(1 << 16)
                if not data:
                    return False
                into += data
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False

    def settle(self, connection, into):
        """Reads until all that has arrived is answered."""
        quiet = 0
        while quiet < 2:
            before = len(into)
            self.ping()
            if not self.read(connection, into):
                return False
            quiet = quiet + 1 if len(into) == before else 0
        return True

    def plain(self, answer):
        """An answer without what has to differ."""
        for found in GIVEN_IDS.findall(answer):
            given = next(filter(None, found))
            if given not in self.ids:
                self.ids.append(given)
        answer = self.with_ids_by_number(answer)
        answer = ADDRESSES.sub(rb"\1PORT", answer)
        answer = MEMORY.sub(rb"\1N", answer)
        answer = CHUNK_OF_TEXT.sub(rb"\1N", answer)
        answer = LENGTHS.sub(b"N", answer)
        if self.with_store:
            answer = LENGTHS_OF_LISTS.sub(b"$N", OWN_COMMANDS.sub(b"cmd=N", answer))
        if self.ill:
            answer = OF_AN_ILL_STORE.sub(rb"\1N", answer)
        return OF_THE_PROCESS.sub(lambda found: next(filter(None, found.groups())) + b"N", answer)


    def with_ids_by_number(self, text, amid_letters=False):
        if amid_letters:
            for number, each in enumerate(self.ids):
                text = text.replace(each, b"<id %d>" % number)
            return text
        return ANY_ID.sub(
            lambda found: b"<id %d>" % self.ids.index(found.group(0)) if found.group(0) in self.ids else found.group(0), text)


class Talk:
    """What one side is asked by a step, and answers."""

    def __init__(self, side, step):
        self.side, self.on = side, step["on"]
        self.into, self.alive, self.ends, self.deadline = bytearray(), True, False, time.monotonic() + MOST
        self.connection = side.connection(step["on"], step["to"])

    def pieces(self, step):
        data = self.side.bytes_of(step)
        at = [0, *sorted(min(len(data), int(len(data) * cut)) for cut in step.get("cuts", ())), len(data)]
        return [data[a:b] for a, b in zip(at, at[1:])]

    def send(self, piece):
        with contextlib.suppress(OSError):
            self.connection.setblocking(True)
            self.connection.settimeout(MOST)
            self.connection.sendall(piece)
        self.alive = self.alive and self.side.settle(self.connection, self.into)

    def end(self):
        self.ends = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)

    def over(self):
        """Whether all has come: the end, or all that has been answered so far. What has not ended in time is told so."""
        self.alive = self.alive and self.side.settle(self.connection, self.into)
        if self.alive and self.ends and time.monotonic() > self.deadline:
            self.into += b"<no end>"
            self.alive = False
        return not self.alive or not self.ends

    def answer(self):
        if not self.alive:
            self.side.connections.pop(self.on).close()
            self.side.ping()
        return self.side.plain(bytes(self.into)) + (b"" if self.alive else b"<end>")


class NoWorld(Exception):
    """Not both programs start in a world; `refused` names those that do not."""

    def __init__(self, refused):
        super().__init__(f"does not start: {', '.join(refused)}")
        self.refused = refused


class OldEnded(Exception):
    """The old program ended in the middle of a case: a fault of its own, which says nothing of the new one."""


class Pair:
    """OLD and NEW in one world. ask(step) is what each answered."""

    def __init__(self, old, new, library, world):
        self.world = world
        self.folder = Folder()
        self.clock = Clock(self.folder, library)
        self.redis, self.proxies, self.stores, self.held = [], [], [None, None], False
        self.sides = []
        try:
            self.sides = [Side("old", old, self.clock, 2, self.folder), Side("new", new, self.clock, 3, self.folder)]
            if "store" in world:
                self._start_redis()
            refused = [side.name for side, store in zip(self.sides, self.stores) if not side.starts(world, store)]
            if refused:
                raise NoWorld(refused)
            if self.redis:
                self._until_ready()
        except BaseException:
            self.close()
            raise

    def _start_redis(self):
        # One each: what one program has loaded into it the other must load too.
        for number in range(2):
            self.redis.append(Redis(
                [("jemalloc-bg-thread", "no")],  # it would wait by a wall clock that does not move
                env=environment(**self.clock.env(TOOL_SLOT), STILL_CLOCK_WALL_ONLY="1")))
            self.proxies.append(Proxy(self.redis[-1].port))
            self.proxies[-1]._loop.set_exception_handler(lambda *_: None)  # of what it has cut itself
            self.stores[number] = f"redis://127.0.0.1:{self.proxies[-1].port}{self.world['store']}"

    def close(self):
        for side in self.sides:
            side.kill()
        for proxy in self.proxies:
            proxy.close()
        for redis in self.redis:
            redis.hang_up()
            redis.process.kill()
            redis.process.wait()
            redis.folder.__exit__()
        self.folder.__exit__()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, step):
        """(old's answer, new's), comparable."""
        try:
            return getattr(self, "_" + step["do"])(step)
        except (OSError, Closed, AssertionError, subprocess.SubprocessError) as error:
            # A program that has gone is a difference, even where both have.
            time.sleep(1)  # for one that is about to end
            if any(side.server is None for side in self.sides):
                return [f"{side.name} {'did not start: ' + str(error) if side.server is None else 'started'}".encode()
                        for side in self.sides]
            codes = [side.server.process.poll() for side in self.sides]
            if codes == [None, None]:
                raise
            if codes[0] is not None and codes[0] < 0:
                raise OldEnded(f"exit code {codes[0]}") from error
            return [f"{side.name} has ended: {code}, {error!r}, {side.server.stderr()}".encode()
                    for side, code in zip(self.sides, codes)]

    # ---- steps

    def _send(self, step):
        """Bytes to a connection, in the pieces that `cuts` makes of them, and what has been answered then. With `ends` the
        sending side is closed, and the answer is all until the server has closed too."""
        talks = [Talk(side, step) for side in self.sides]
        pieces = [talk.pieces(step) for talk in talks]
        for number in range(len(pieces[0])):
            for talk, own in zip(talks, pieces):
                talk.send(own[number])
            self._until_idle()
        for talk in talks:
            if self.redis or step["to"] == "admin" or (step.get("ends") and talk.side.context is None):
                talk.end()
        while any(not talk.over() for talk in talks):
            if self.held:
                self._pass_time(60_000_000)  # a deadline of the store
        return [talk.answer() for talk in talks]

    def _pass_time(self, ns):
        """Comes back when all that was due by then has been done."""
        self._until_idle()
        self._until_quiet()
        self.clock.move(ns)
        for _ in range(2):
            self._until_idle()
            for side in self.sides:
                seen, deadline = self.clock.looked(side.slot), time.monotonic() + MOST
                while self.clock.looked(side.slot) < seen + 2 and time.monotonic() < deadline:
                    time.sleep(0.0003)
                side.ping()

    def _jump(self, step):
        """Moves the clocks, and says what that made come on the connections that are open."""
        self._pass_time(step["ns"])
        answers = []
        for side in self.sides:
            told = b""
            for key, connection in sorted(side.connections.items()):
                into = bytearray()
                alive = side.settle(connection, into)
                if into or not alive:
                    told += b"%s: %s%s\n" % (key.encode(), side.plain(bytes(into)), b"" if alive else b"<end>")
            for key in [key for key, one in side.connections.items() if not self._open(one)]:
                side.connections.pop(key).close()
            answers.append(told)
        return answers

    @staticmethod
    def _open(connection):
        if isinstance(connection, ssl.SSLSocket):
            return True
        connection.setblocking(False)
        try:
            return connection.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def _await(self, step):
        """A command that is answered only when the clocks have moved, or before."""
        talks = []
        for side in self.sides:
            connection, into = side.connection(step["on"], step["to"]), bytearray()
            connection.setblocking(True)
            connection.sendall(side.bytes_of(step))
            deadline = time.monotonic() + MOST
            quiet = 0
            while side.read(connection, into) and not into and quiet < 3 and time.monotonic() < deadline:
                waits = self.held or (side.idle() and b"\r\nblocked_clients:0" not in side.say("INFO", "clients"))
                quiet = quiet + 1 if waits else 0
                time.sleep(0.001)
            side.settle(connection, into)
            talks.append((side, into))
        moved = self._jump({"ns": step["ns"]})
        answers = []
        for (side, into), after in zip(talks, moved):
            answers.append(side.plain(bytes(into)) + after.removeprefix(step["on"].encode() + b": ").removesuffix(b"\n"))
            if step["on"] in side.connections:
                side.connections.pop(step["on"]).close()
            side.ping()
        return answers

    def _close(self, step):
        for side in self.sides:
            if step["on"] in side.connections:
                side.connections.pop(step["on"]).close()
            side.ping()
        return [b"", b""]

    def _reload(self, step):
        answers = []
        for side in self.sides:
            (side.folder / "limits.yaml").write_bytes(step["text"].encode("latin-1"))
            side.ping()
            answers.append(f"{side.say('WEIR.CONFIG', 'RELOAD')} {side.say('WEIR.CONFIG', 'CHECK')}".encode())
            side.take_limits()
        return answers

    def _swap(self, step):
        """Each ends, and starts again from what the other has saved."""
        answers = self._logs()
        old, new = (side.folder / "snapshot" for side in self.sides)
        aside = old.with_name("aside")
        old.rename(aside)
        new.rename(old)
        aside.rename(new)
        self.sides[0].ids, self.sides[1].ids = self.sides[1].ids, self.sides[0].ids
        self.clock.move(step.get("ns", 0))
        for side in self.sides:
            side.start(self.world)
        return answers

    def _fault(self, step):
        """Of Redis or the way to it. While it lasts only what waits for its deadline makes time pass: when a program tries
        again is chance."""
        kind = step["kind"]
        for side, redis, proxy in zip(self.sides, self.redis, self.proxies):
            if kind == "hold":
                proxy.frozen = self.held = True
            elif kind == "break":
                proxy.cut(step["way"], step["after"])
            elif kind == "foreign":
                redis.must("SET", step["key"], step["value"])
            elif kind in ("cut", "kill"):
                if kind == "kill":
                    redis.hang_up()
                    redis.process.kill()
                    redis.process.wait()
                proxy.drop()
                until(lambda side=side: not side.ready(), "its store is known to have gone", MOST)
            elif kind == "heal":
                if redis.process.poll() is not None:
                    redis.start()
                proxy.uncut()
                proxy.frozen = self.held = False
        if kind == "heal":
            self._until_quiet(0.02)  # what a proxy holds it looks at each 5 ms
            self._until_ready()
        return [b"", b""]

    def _until_quiet(self, seconds=0.003):
        """Until nobody asks a Redis for a moment but we: what goes back to it does so after the answers."""
        def asked(redis):
            return int(redis.info("stats")["total_commands_processed"])
        for redis in self.redis:
            deadline = time.monotonic() + MOST
            while redis.process.poll() is None and time.monotonic() < deadline:
                before = asked(redis)
                time.sleep(seconds)
                if asked(redis) == before + 1:
                    break

    def _until_idle(self):
        """Until neither waits for its store, where that can be."""
        deadline = time.monotonic() + MOST
        while self.redis and not self.held and time.monotonic() < deadline:
            if all([side.idle() for side in self.sides]):
                return

    def _until_ready(self):
        """Until both have their Redis again: time passes, since they wait before they try again, and they ask, since it is
        well when it decides."""
        deadline = time.monotonic() + 3 * MOST
        self._until_idle()
        while not all([side.ready() for side in self.sides]):
            self._pass_time(10_000_000)
            time.sleep(0.002)  # for a greeting, which has a deadline too
            for side in self.sides:
                side.say("GCRA", "health", "0", "1", "1", "TOKENS", "0")
            assert time.monotonic() < deadline, [side.store() for side in self.sides]
        for side in self.sides:  # while a script is loaded nothing counts as under way
            side.say("WEIR.RESERVE", "HOLD", "1", "health", "1/h burst 1000000")
            side.say("WEIR.RESERVE", "HOLD", "1", "health", "1/h burst 1000000", "health:2", "1/h burst 1000000")
            side.ping()

    def _counts(self, _):
        """What each has counted, less what the pings in here have added."""
        answers = []
        for side in self.sides:
            side.ping()
            text = side.say("INFO")
            total = int(re.search(rb"total_commands_processed:(\d+)", text).group(1))
            answers.append(b"%d commands\n%s" % (total - side.commands, side.plain(text)))
        return answers

    def _keys(self, _):
        """What lies in Redis, byte for byte."""
        self._until_quiet()
        answers = []
        for side, redis in zip(self.sides, self.redis):
            told = []
            for key in redis.must("KEYS", "*"):
                kind = redis.must("TYPE", key)
                values = redis.must(*{"string": ("GET", key), "list": ("LRANGE", key, 0, -1), "hash": ("HGETALL", key),
                                           "zset": ("ZRANGE", key, 0, -1, "WITHSCORES")}[kind])
                values = values if isinstance(values, list) else [values]
                if kind == "hash":  # a ledger: its head, and nodes of numbers
                    values = sorted(name + b" " + (value if name == b"h" else value.hex().encode())
                                    for name, value in zip(values[::2], values[1::2]))
                if kind == "zset":  # those of one score lie in the order of their ids
                    values = sorted(score + b" " + side.with_ids_by_number(member, True)
                                    for member, score in zip(values[::2], values[1::2]))
                told.append(b"%s %s expires in %d: %s" % (key, kind.encode(), redis.must("PTTL", key), b", ".join(values)))
            # An id that nobody was told has no number.
            told = b"\n".join(told)
            for unseen in UNSEEN_ID.findall(told):
                told = told.replace(unseen, b"<id>") if unseen not in side.ids else told
            answers.append(b"\n".join(sorted(side.with_ids_by_number(told, True).split(b"\n"))))
        return answers

    def _tool(self, step):
        """A run of the program to its end: its exit code, what it printed, and the files that it wrote."""
        answers = []
        for side in self.sides:
            folder = tempfile.mkdtemp(dir=side.folder)
            for name, text in step.get("files", {}).items():
                pathlib.Path(folder, name).write_bytes(text.encode("latin-1"))
            words = [side.own(word) for word in step["args"]]
            try:
                done = subprocess.run([side.program.encode(), *words], cwd=folder, capture_output=True, timeout=60,
                                      input=step.get("stdin", "").encode("latin-1"),
                                      env=environment(**self.clock.env(TOOL_SLOT)))
                told = b"exit code %d\n%s\n--- stderr\n%s" % (done.returncode, done.stdout, done.stderr)
            except subprocess.TimeoutExpired:
                told = b"<no end>"
            for path in sorted(pathlib.Path(folder).iterdir()):
                if path.name not in step.get("files", {}):
                    told += b"\n--- %s\n%s" % (path.name.encode(), path.read_bytes())
            shutil.rmtree(folder)
            for port in getattr(side, "ports", {}).values():
                told = re.sub(rb":%d\b" % port, b":PORT", told)
            answers.append(told)
        return answers

    def _logs(self):
        """Of both, which end. What they still wait for needs time."""
        for side in self.sides:
            side.finish()
        for side in self.sides:
            deadline = time.monotonic() + MOST
            while side.server.process.poll() is None and time.monotonic() < deadline:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    side.server.process.wait(0.1)
                    break
                self.clock.move(10**9)
        return [side.log() for side in self.sides]

    def _stop(self, _):
        """The end of both, and their logs."""
        answers = self._logs()
        for side, store in zip(self.sides, self.stores):
            side.start(self.world, store)
        return answers

