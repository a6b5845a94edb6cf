"""What the end-to-end tests share: a server that is started and ended, and a client that speaks raw RESP.

Every wait in here ends: sockets have a timeout, processes are killed, polls have a deadline. A test that
still hangs is ended by run() with a traceback of where it was.
"""
import concurrent.futures
import contextlib
import faulthandler
import json
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEIR = os.environ.get("WEIR_PROGRAM", os.path.join(ROOT, "build/dev/src/cli/weir"))
PATIENCE = 30.0  # seconds that any single answer may take on a busy machine


def run(longest=290):
    """Runs the calling file's tests; exit code 0 when all pass. After the longest time, in seconds, it says where it hangs."""
    faulthandler.dump_traceback_later(longest, exit=True)
    unittest.main(module="__main__", warnings="ignore")


def run_at_once(longest=290, processes=3):
    """As run(), with a process for each class of tests: for those that mostly wait for times."""
    if len(sys.argv) > 1:
        return run(longest)
    names = [name for name, each in vars(sys.modules["__main__"]).items()
             if isinstance(each, type) and issubclass(each, unittest.TestCase) and each.__module__ == "__main__"
             and unittest.defaultTestLoader.getTestCaseNames(each)]
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        done = list(pool.map(lambda name: subprocess.run([sys.executable, sys.argv[0], name], stdout=subprocess.PIPE,
                                                         stderr=subprocess.STDOUT, text=True), names))
    for name, each in zip(names, done):
        print(f"{name}: exit code {each.returncode}\n{each.stdout}", file=sys.stderr)
    sys.exit(any(each.returncode for each in done))


def sanitized():
    """Whether the program carries a sanitizer, whose shadow memory makes figures of RSS meaningless."""
    with open(WEIR, "rb") as program:
        text = program.read()
    return b"__asan_init" in text or b"__tsan_init" in text


def until(condition, what, patience=PATIENCE, pause=0.01):
    """Polls until condition() is true and returns its value; an AssertionError says what did not happen: a text, or a
    function that makes it then."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience} s: {what() if callable(what) else what}")
        time.sleep(pause)


def environment(**extra):
    """The environment without what would change the program's settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("WEIR_")}
    kept["NO_COLOR"] = "1"
    kept.update(extra)
    return kept


def weir(*args, env=None, timeout=PATIENCE, **options):
    """Runs the program to its end: (exit code, stdout, stderr)."""
    done = subprocess.run([WEIR, *map(str, args)], env=environment(**(env or {})), timeout=timeout,
                          stdin=subprocess.DEVNULL, capture_output=True, **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Folder:
    """A temporary folder that is gone with the test. `in_memory`: no disk holds up who waits for what is written there."""

    def __init__(self, in_memory=False):
        place = "/dev/shm" if in_memory and os.access("/dev/shm", os.W_OK) else None
        self.path = tempfile.mkdtemp(prefix="weir-e2e-", dir=place)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name, content=None):
        path = os.path.join(self.path, name)
        if content is not None:
            with open(path, "wb") as out:
                out.write(content if isinstance(content, bytes) else content.encode())
        return path


class Server:
    """`weir serve` on a free loopback port, or another command of it. Ended by SIGTERM with exit code 0, or the test fails."""

    def __init__(self, *args, env=None, resp=("127.0.0.1:0",), expect_exit=(0,), program=None, **options):
        self.folder = Folder()
        self.expect_exit = expect_exit
        self.ends = False
        command = [*(program or (WEIR, "serve"))]
        for endpoint in resp:
            command += ["--resp", endpoint]
        self._errors = open(self.folder.file("stderr"), "w+b")
        self.process = subprocess.Popen(command + [str(a) for a in args], env=environment(**(env or {})),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors,
                                        **options)
        self.pid = self.process.pid
        self.stdout = b""
        try:
            self._await_listening()
        except BaseException:
            self.kill()
            raise

    def _await_listening(self):
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self.stdout:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not chunk:
                raise AssertionError(f"the server did not start: {self.stdout!r} {self.stderr()!r}")
            self.stdout += chunk
        first = self.stdout.split(b"\n")[0].decode()
        self.addresses = first.split(" listening on ")[1].split(", ")
        ports = [a.rsplit(":", 1)[1] for a in self.addresses if ":" in a and "unix:" not in a]
        self.ports = [int(p) for p in ports]
        self.port = self.ports[0] if ports else None

    def stderr(self):
        if self._errors.closed:
            return self._last_errors
        with open(self._errors.name, "rb") as text:
            return text.read().decode(errors="replace")

    def says(self, text):
        """Waits for the text in the log, which is written on a thread of its own."""
        with contextlib.suppress(AssertionError):
            until(lambda: text in self.stderr(), text)
        said = self.stderr()
        assert text in said, f"the log does not say {text!r}; it says {said!r}"

    def client(self, **options):
        return Client(self.port, **options)

    def post(self, path, body):
        """The status and the body of an answer, by the second of its ports."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.ports[1]}{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def info(self):
        with self.client() as client:
            text = client.ask("INFO").decode()
        return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)

    def rss(self):
        """Resident bytes of the process."""
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def spins(self, seconds=0.5):
        """Whether it computes although nobody asks it anything. This process computes for so long beside it: whatever
        else the machine does, a program that spins gets about as much of it, and one that waits next to nothing."""
        before, end = self.cpu_seconds(), time.process_time() + seconds
        while time.process_time() < end:
            pass
        return self.cpu_seconds() - before > seconds / 4

    def drains(self):
        """Whether nobody listens any more."""
        try:
            socket.create_connection(("127.0.0.1", self.port), PATIENCE).close()
        except ConnectionError:
            return True
        return False

    def signal(self, number):
        self.ends = self.ends or number == signal.SIGTERM
        os.kill(self.pid, number)

    def wait(self, patience=PATIENCE):
        """The exit code; what was still to be read from stdout is in .stdout afterwards."""
        rest, _ = self.process.communicate(timeout=patience)
        self.stdout += rest
        return self.process.returncode

    def stop(self):
        if not self.ends:  # a second one ends it at once
            self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        if not self.process.stdout.closed:
            with contextlib.suppress(Exception):
                self.wait()
        if not self._errors.closed:
            self._last_errors = self.stderr()
            self._errors.close()
        self.folder.__exit__()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                code = self.stop() if self.process.poll() is None else self.process.returncode
                errors = self.stderr()
                assert code in self.expect_exit, f"exit code {code}: {errors}"
                for word in ("terminate called", "Sanitizer", "runtime error"):
                    assert word not in errors, errors
        finally:
            self.kill()


class OneServer(unittest.TestCase):
    """All tests of a class share one server, with two event loops; each has keys of its own."""

    flags = ()
    env = {}

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "2", *cls.flags, env=cls.env)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None)


class OneServerWithLimits(OneServer):
    """The same with a limits file, whose text is `limits`, and its lists; `client` and `tenant` are of one test alone."""

    limits = ""
    lists = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.file = cls.folder.file("limits.yaml", cls.limits)
        for name, text in cls.lists.items():
            cls.folder.file(name, text)
        cls.server = Server("--threads", "2", "--limits", cls.file, *cls.flags, env=cls.env)

    def setUp(self):
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.tenant = "tenant=" + self.id().rsplit(".", 1)[1]

    def ask(self, words):
        return self.client.ask(*words.split())

    def post(self, path, body):
        """The status and the body of an answer, by the second of the server's ports."""
        return self.server.post(path, body)


class Error(str):
    """An error reply; equal to its text."""


class Simple(str):
    """A status reply."""


class Verbatim(bytes):
    """A RESP3 verbatim string, without its "txt:"."""


class Push(list):
    """A RESP3 push, which answers nothing that was asked on its connection."""


class Closed(Exception):
    """The server closed the connection."""


def encode(*words):
    """One command as RESP."""
    out = b"*%d\r\n" % len(words)
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        out += b"$%d\r\n%s\r\n" % (len(data), data)
    return out


class Client:
    """A connection that sends bytes and reads replies one at a time. `raw` is the last reply as it came."""

    def __init__(self, where, timeout=PATIENCE, tls=None, host="127.0.0.1", source=None):
        if isinstance(where, str):
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.settimeout(timeout)
            self.socket.connect(where)
        else:
            self.socket = socket.create_connection((host, where), timeout, source and (source, 0))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self._buffer = b""
        self._at = 0
        self.raw = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, *words):
        self.socket.sendall(encode(*words))

    def send_bytes(self, data):
        self.socket.sendall(data)

    def ask(self, *words):
        self.send(*words)
        return self.reply()

    def ask_raw(self, *words):
        """The reply's bytes, exactly."""
        self.ask(*words)
        return self.raw

    def reply(self):
        start = self._at
        if start > 1 << 20:
            self._buffer, self._at, start = self._buffer[start:], 0, 0
        value = self._value()
        self.raw = self._buffer[start:self._at]
        return value

    def rest(self):
        """Everything until the server closes."""
        with contextlib.suppress(Closed, ConnectionResetError):
            while True:
                self._more()
        data, self._at = self._buffer[self._at:], len(self._buffer)
        return data

    def fill(self, command, most=64 << 20, quiet=0.3):
        """Sends the command again and again and reads nothing, until the server has taken no byte for `quiet`
        seconds or has closed; returns how many bytes it took."""
        self.socket.setblocking(False)
        data, at, sent = command * (1 + (1 << 20) // len(command)), 0, 0
        last = time.monotonic()
        while sent < most and time.monotonic() - last < quiet:
            try:
                n = self.socket.send(data[at:])
                at, sent, last = (at + n) % len(data), sent + n, time.monotonic()
            except (BlockingIOError, ssl.SSLWantWriteError):
                time.sleep(0.01)
            except OSError:
                break
        return sent

    def reset(self):
        """Closes with a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def _more(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise Closed()
        self._buffer += data

    def _line(self):
        while (end := self._buffer.find(b"\r\n", self._at)) < 0:
            self._more()
        line, self._at = self._buffer[self._at:end], end + 2
        return line

    def _bytes(self, length):
        while len(self._buffer) < self._at + length + 2:
            self._more()
        data = self._buffer[self._at:self._at + length]
        assert self._buffer[self._at + length:self._at + length + 2] == b"\r\n", self._buffer[self._at:][:99]
        self._at += length + 2
        return data

    def _value(self):
        line = self._line()
        kind, text = line[:1], line[1:]
        if kind == b"+":
            return Simple(text.decode())
        if kind == b"-":
            return Error(text.decode(errors="backslashreplace"))
        if kind == b":":
            return int(text)
        if kind == b"$":
            return None if text == b"-1" else self._bytes(int(text))
        if kind == b"_":
            return None
        if kind == b"=":
            return Verbatim(self._bytes(int(text))[4:])
        if kind == b">":
            return Push(self._value() for _ in range(int(text)))
        if kind in b"*~":
            return None if text == b"-1" else [self._value() for _ in range(int(text))]
        if kind == b"%":
            return {self._value(): self._value() for _ in range(int(text))}
        raise AssertionError(f"not RESP: {line!r}")


if __name__ == "__main__":
    sys.exit("a module of the tests, not a test")
