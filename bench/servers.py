"""What the scripts here share: programs that are started, pinned to a core, held, watched, and surely stopped."""
import argparse
import contextlib
import functools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("WEIR_BUILD", ROOT / "build" / "bench"))
START_SECONDS = 20


class Failed(Exception):
    """Something could not run; its text is for people."""


@functools.cache
def cores() -> tuple[int, int]:
    """One core for the server and one for the load; on a machine with a single core they share it."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[0], usable[1 % len(usable)]


def program(name: str) -> str:
    """A program of the system, or of our build by its place in it."""
    found = BUILD / name if "/" in name else shutil.which(name)
    if not found or not os.access(found, os.X_OK):
        where = "run ./dev bench, which builds it" if "/" in name else "it is in no folder of PATH"
        raise Failed(f"{found or name} is missing: {where}")
    return str(found)


class Server:
    def __init__(self, name: str, process: subprocess.Popen, port: int):
        self.name = name
        self.process = process
        self.pid = process.pid
        self.port = port

    def cpu_seconds(self) -> float:
        """User and system time of all its threads. The number of the clock is man clock_getcpuclockid's."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def rss_bytes(self) -> int:
        return self.status("VmRSS") * 1024

    def sleeps(self) -> int:
        """How often its main thread has gone to sleep for want of work."""
        return self.status("voluntary_ctxt_switches")

    def waited_seconds(self) -> float:
        """How long its main thread has been ready to run while its core ran something else."""
        return int(pathlib.Path(f"/proc/{self.pid}/schedstat").read_text().split()[1]) / 1e9

    def status(self, field: str) -> int:
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+)", text, re.MULTILINE).group(1))

    def prefer(self) -> None:
        """Its core is its own before other sessions get some of it, where we may say so: as root."""
        with contextlib.suppress(OSError):
            pathlib.Path(f"/proc/{self.pid}/autogroup").write_text("-19")

    def hold(self) -> None:
        """Stops it where it is: a server that is not measured must not take the core with its timers."""
        self.process.send_signal(signal.SIGSTOP)

    def release(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def running(arguments: list[str], core: int):
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder, open(f"{folder}/log", "w+") as log:
        # A session of its own: the kernel gives processor time to sessions first (man 7 sched, autogroup), and a server
        # in ours would get the less of its core, the more of ours runs on the other.
        process = subprocess.Popen([program("taskset"), "-c", str(core), *arguments], cwd=folder, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield process
        except Failed as failed:
            log.seek(0)
            raise Failed(f"{failed}\n{log.read()[-2000:]}".rstrip()) from failed
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()


@contextlib.contextmanager
def listening(name: str, arguments: list[str], core: int):
    with running(arguments, core) as process:
        # It says this when it listens, and ends when it cannot; either ends the wait.
        line = process.stdout.readline()
        said = re.search(r"listening on 127\.0\.0\.1:(\d+)", line)
        if not said:
            raise Failed(f"{name} did not start: {line.strip()}")
        yield Server(name, process, int(said.group(1)))


def weir(core: int, *flags: str):
    return listening("weir", [program("src/cli/weir"), "serve", "--threads", "1", "--resp", "127.0.0.1:0", *flags], core)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        return [stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(count)]


@contextlib.contextmanager
def answering(name: str, arguments: list[str], core: int, port: int, request: bytes = b"GET / HTTP/1.0\r\n\r\n",
              answer: bytes = b"HTTP"):
    """One that says by its first answer that it has started."""
    with running(arguments, core) as process:
        deadline = time.monotonic() + START_SECONDS
        while not ask(port, request, 1).startswith(answer):
            if process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"{name} did not start on port {port}")
            time.sleep(0.02)
        yield Server(name, process, port)


def redis(core: int):
    port, = free_ports(1)
    arguments = [program("redis-server"), "--bind", "127.0.0.1", "--port", str(port), "--save", "",
                 "--appendonly", "no", "--logfile", "/dev/null"]
    return answering("redis", arguments, core, port, b"PING\r\n", b"+PONG")


def ask(port: int, request: bytes, lines: int) -> bytes:
    """One request on a connection of its own; empty when nothing answers."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            return converse(connection, request, lines)
    except OSError:
        return b""


def converse(connection: socket.socket, request: bytes, lines: int) -> bytes:
    connection.sendall(request)
    reply = b""
    while reply.count(b"\n") < lines:
        more = connection.recv(4096)
        if not more:
            break
        reply += more
    return reply


def run(arguments: list[str], core: int, seconds: float, may_exit: tuple[int, ...] = (0,)) -> str:
    """The output of a program on a core, which must be done in the time given."""
    try:
        done = subprocess.run([program("taskset"), "-c", str(core), *arguments], capture_output=True, text=True,
                              timeout=seconds, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {seconds:.0f} s: {' '.join(arguments)}") from None
    if done.returncode not in may_exit:
        raise Failed(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


def cpu_of(server: Server, words: str, lines: int, options) -> float:
    """Microseconds of the server's CPU for a request of `words`, whose reply has `lines`, at pipeline 64; the server is
    held before and after. `options` has keys and seconds."""
    server.release()
    arguments = [program("bench/weir_bench_load"), "--port", str(server.port), "--pid", str(server.pid), "--connections",
                 "50", "--pipeline", "64", "--keys", str(options.keys), "--seconds", str(options.seconds), "--words", words,
                 "--lines", str(lines)]
    sample = json.loads(run(arguments, cores()[1], options.seconds + 60))
    server.hold()
    return sample["server_cpu_us_per_request"]


def parse_flags(description: str) -> argparse.Namespace:
    """Of a script that measures in rounds."""
    flags = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=5)
    flags.add_argument("--seconds", type=int, default=3, help="of each measurement (default 3)")
    flags.add_argument("--quick", action="store_true", help="only whether everything runs; the figures mean nothing")
    options = flags.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 1
    return options


def take_turns(programs, rounds: int, measure) -> dict[str, list[float]]:
    """What measure(name) says of each in each round: forth and back, so that none always comes after the same."""
    samples = {name: [] for name in programs}
    for done in range(rounds):
        for name in programs if done % 2 == 0 else reversed(programs):
            samples[name].append(measure(name))
    return samples


class Disturbance:
    """How much of the two cores other programs than the server and our own took between begin() and share()."""

    def __init__(self, server: Server | None = None):
        self.server = server

    def begin(self) -> "Disturbance":
        self.before = self.look()
        return self

    def look(self) -> tuple[float, float, float]:
        ticks = 0
        for line in pathlib.Path("/proc/stat").read_text().splitlines():
            if line.split()[0] in {f"cpu{core}" for core in cores()}:
                user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, line.split()[1:9])
                ticks += user + nice + system + irq + softirq + steal
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = time.process_time() + children.ru_utime + children.ru_stime
        own += self.server.cpu_seconds() if self.server else 0
        return ticks / os.sysconf("SC_CLK_TCK"), own, time.monotonic()

    def share(self) -> float:
        busy, ours, now = (after - before for after, before in zip(self.look(), self.before))
        return max(0.0, busy - ours) / now


def main(body) -> None:
    """Runs a script: 0 when all ran, 1 when a promise was broken, 2 and one message when something could not run."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(body())
    except Failed as failed:
        print(f"{pathlib.Path(sys.argv[0]).name}: {failed}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
