"""`weir local`: one server for each user and limits file, whatever its starters do at once, and none when nobody needs it."""
import concurrent.futures
import contextlib
import fcntl
import hashlib
import os
import signal
import socket
import stat
import subprocess
import time
import unittest

from chance import chance
from server import PATIENCE, WEIR, Client, Closed, Folder, environment, run_at_once, until, weir

LIMITS = "version: 1\nlimits:\n  user: { by: [user], rate: 1/day burst %d }\nroutes:\n  - { limits: [user] }\n"
VERSION = weir("--version")[1].split()[1]
ROUNDS = 200 if os.environ.get("WEIR_LONG") else 20


def name_of(path):
    """As docs/wire.md says that it is computed."""
    return hashlib.sha256(f"{path}\n{VERSION}".encode()).hexdigest()[:16]


def alive(pid):
    """A process that has ended is a zombie until its parent has looked."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/stat") as status:
        return status.read().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def process_of(path):
    with Client(path) as client:
        text = client.ask("INFO", "server").decode()
    return int(text.split("process_id:", 1)[1].split("\r\n", 1)[0])


class Local(unittest.TestCase):
    """Each test has a runtime folder of its own; servers in it end with the test."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.env = {"XDG_RUNTIME_DIR": self.folder.path}
        self.place = self.folder.file("weir")
        self.file = self.folder.file("limits.yaml", LIMITS % 3)
        self.addCleanup(self.end_all)

    def end_all(self):
        if not os.path.isdir(self.place):
            return
        for each in os.listdir(self.place):
            if each.endswith(".sock"):
                self.end(os.path.join(self.place, each))

    def end(self, path):
        """The server with this socket, if there is one: it is gone afterwards."""
        try:
            with Client(path) as client:
                pid = int(client.ask("INFO", "server").decode().split("process_id:", 1)[1].split("\r\n", 1)[0])
                client.send("SHUTDOWN", "NOSAVE")
        except (OSError, Closed):
            return
        until(lambda: not alive(pid), f"the end of {pid}")

    def local(self, *args, **options):
        """(exit code, stdout, stderr) of a starter."""
        return weir("local", *args, env={**self.env, **options.pop("env", {})}, timeout=3 * PATIENCE, **options)

    def start(self, *args, **options):
        code, out, err = self.local(*args, **options)
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.endswith(".sock\n"), out)
        return out[:-1]


class TestPlace(Local):
    def test_it_is_called_after_the_limits_file(self):
        path = self.start("--limits", self.file)
        self.assertEqual(path, f"{self.place}/{name_of(os.path.realpath(self.file))}.sock")
        self.assertEqual(stat.S_IMODE(os.stat(self.place).st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        link = self.folder.file("link.yaml")
        os.symlink(self.file, link)
        pid = process_of(path)
        self.assertEqual(self.start("--limits", link), path)
        self.assertEqual(self.start("--limits", "limits.yaml", cwd=self.folder.path), path)
        self.assertEqual(process_of(path), pid)
        self.assertNotEqual(self.start("--limits", self.folder.file("other.yaml", LIMITS % 3)), path)

    def test_without_one_after_the_project(self):
        inner = self.folder.file("project/src/deep")
        os.makedirs(inner)
        self.assertEqual(self.start(cwd=inner), f"{self.place}/{name_of(os.path.realpath(inner))}.sock")
        for mark in ("go.mod", "package.json", "pyproject.toml", ".git"):
            at = self.folder.file(f"project/{mark}", "")
            path = f"{self.place}/{name_of(os.path.realpath(self.folder.file('project')))}.sock"
            self.assertEqual(self.start(cwd=inner), path, mark)
            os.unlink(at)

    def test_without_a_runtime_folder_it_is_in_tmp(self):
        cwd = os.path.realpath(self.folder.path)
        expected = f"/tmp/weir-{os.geteuid()}/{name_of(cwd)}"
        bare = {k: v for k, v in environment().items() if k not in ("HOME", "XDG_RUNTIME_DIR")}
        self.addCleanup(lambda: [os.path.exists(expected + end) and os.unlink(expected + end) for end in (".lock", ".log")])
        self.addCleanup(self.end, expected + ".sock")
        for more in ({}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": "here"}, {"XDG_RUNTIME_DIR": "/nowhere"},
                     {"XDG_RUNTIME_DIR": self.file}):
            done = subprocess.run([WEIR, "local"], env={**bare, **more}, cwd=cwd, capture_output=True, text=True,
                                  timeout=3 * PATIENCE)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, expected + ".sock\n", ""), more)

    def test_a_folder_that_others_may_enter_is_refused(self):
        def refused(text):
            self.assertEqual(self.local(), (2, "", f"weir: local: '{self.place}' {text}\n"))
        os.mkdir(self.place, 0o755)
        refused("may be entered by others: it has to have mode 0700")
        if os.geteuid() == 0:
            os.chmod(self.place, 0o700)
            os.chown(self.place, 4242, 4242)
            refused("belongs to another user: remove it, or set XDG_RUNTIME_DIR")
        os.rmdir(self.place)
        elsewhere = self.folder.file("elsewhere")
        os.mkdir(elsewhere, 0o700)
        os.symlink(elsewhere, self.place)
        refused("is not a folder")
        os.unlink(self.place)
        self.folder.file("weir", "")
        refused("is not a folder")
        os.unlink(self.place)

    def test_a_path_that_no_socket_may_have(self):
        deep = self.folder.file("x" * 60 + "/" + "y" * 30)
        os.makedirs(deep, 0o700)
        path = f"{deep}/weir/{name_of(os.path.realpath(self.folder.path))}.sock"
        self.assertEqual(self.local(env={"XDG_RUNTIME_DIR": deep}, cwd=self.folder.path),
                         (2, "", f"weir: local: '{path}' is longer than the 107 bytes that a socket's path may have: "
                                 "give --socket, or set a shorter XDG_RUNTIME_DIR\n"))
        self.assertEqual(self.start("--socket", self.folder.file("s.sock"), env={"XDG_RUNTIME_DIR": deep}),
                         self.folder.file("s.sock"))
        self.addCleanup(self.end, self.folder.file("s.sock"))
        for each in ("s.lock", "s.log"):
            self.assertTrue(os.path.exists(self.folder.file(each)), each)

    def test_what_is_not_a_server_is_not_taken_for_one(self):
        path = self.folder.file("other.sock")
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(path)
            other.listen()
            self.assertEqual(self.local("--socket", path), (2, "", f"weir: unix-socket: '{path}' is in use by another program\n"))
        os.unlink(path)
        self.folder.file("other.sock", "")
        self.assertEqual(self.local("--socket", path), (2, "", f"weir: unix-socket: '{path}' exists and is not a socket\n"))


class TestLimitsFile(Local):
    def test_its_errors_are_told_to_the_starter_in_the_words_of_lint(self):
        broken = self.folder.file("broken.yaml", "version: 1\nlimits:\n  a: { rate: 5/x }\n  b: { rats: 1/s }\n")
        fifo = self.folder.file("fifo.yaml")
        os.mkfifo(fifo)
        for path in (broken, fifo, self.folder.file("missing.yaml")):
            lint = weir("lint", path)[1]
            self.assertIn(path, lint)
            for args in ((), ("--foreground",)):
                self.assertEqual(self.local("--limits", path, *args),
                                 (2, "", f"weir: limits: '{path}' cannot be used\n{lint}"))
            self.assertFalse(os.path.exists(f"{self.place}/{name_of(os.path.realpath(path))}.sock"))

    def test_all_that_start_at_once_are_told(self):
        broken = self.folder.file("broken.yaml", "version: 1\nlimits: []\n")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: self.local("--limits", broken), range(8)))
        self.assertEqual(len(set(answers)), 1, answers)
        self.assertIn(broken + ":2", answers[0][2])

    def test_it_is_watched(self):
        path = self.start("--limits", self.file)
        with Client(path) as client:
            self.assertEqual(client.ask("WEIR.LOOK", "user=a")[1], 3)
            self.folder.file("new", LIMITS % 7)
            os.rename(self.folder.file("new"), self.file)
            until(lambda: client.ask("WEIR.LOOK", "user=a")[1] == 7, "the new file")

    def test_refunds_are_taken(self):
        with Client(self.start()) as client:
            client.ask("WEIR.THROTTLE", "COST", 2, "k", "5/h")
            self.assertEqual(client.ask("WEIR.REFUND", "k", "5/h"), 1)


class TestStarters(Local):
    def test_eight_at_once_start_one(self):
        path = f"{self.place}/{name_of(os.path.realpath(self.file))}.sock"
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for number in range(ROUNDS):
                answers = set(pool.map(lambda _: self.local("--limits", self.file), range(8)))
                self.assertEqual(answers, {(0, path + "\n", "")}, number)
                self.end(path)
        with open(path[:-5] + ".log") as log:
            self.assertEqual(log.read().count("] stopped\n"), ROUNDS, "as many have served as there were rounds")

    def test_starters_that_are_killed_leave_nothing_in_the_way(self):
        dice = chance("killed starters")
        for number in range(ROUNDS):
            starter = subprocess.Popen([WEIR, "local"], env=environment(**self.env), cwd=self.folder.path,
                                       stdout=subprocess.DEVNULL)
            time.sleep(dice.uniform(0, 0.015))
            starter.kill()
            starter.wait()
            path = self.start(cwd=self.folder.path)
            pid = process_of(path)
            os.kill(pid, signal.SIGKILL)
            until(lambda: not alive(pid), "its end")
            self.assertTrue(os.path.exists(path), "it leaves its socket, which the next one replaces")
        self.assertEqual(len([each for each in os.listdir(self.place) if each.endswith(".sock")]), 1)

    def test_one_that_has_the_lock_is_waited_for(self):
        path = self.start(cwd=self.folder.path)
        self.end(path)
        with open(path[:-5] + ".lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            starter = subprocess.Popen([WEIR, "local"], env=environment(**self.env), cwd=self.folder.path,
                                       stdout=subprocess.PIPE)
            with self.assertRaises(subprocess.TimeoutExpired):
                starter.wait(0.2)
            self.assertFalse(os.path.exists(path))
        self.assertEqual(starter.communicate(timeout=PATIENCE)[0].decode(), path + "\n")
        self.assertTrue(process_of(path))

    def test_a_lock_whose_file_is_gone_holds_up_nobody(self):
        path = self.start(cwd=self.folder.path)
        first = process_of(path)
        os.unlink(path[:-5] + ".lock")
        self.assertEqual(self.start(cwd=self.folder.path), path)
        self.assertEqual(process_of(path), first)
        open(path[:-5] + ".lock", "w").close()
        for each in (path, path[:-5] + ".lock"):
            os.unlink(each)
        self.assertEqual(self.start(cwd=self.folder.path), path)
        second = process_of(path)
        self.assertNotEqual(first, second)
        until(lambda: not alive(first), "the end of one whose socket has gone")
        self.assertEqual(process_of(path), second, "and it has not removed the other's socket")

    def test_it_leaves_its_starter(self):
        reads, writes = os.pipe()
        self.addCleanup(os.close, reads)
        path = self.start(pass_fds=[writes])
        os.close(writes)
        os.set_blocking(reads, False)
        self.assertEqual(os.read(reads, 1), b"", "nobody has the other end")
        pid = process_of(path)
        self.assertEqual((os.getpgid(pid), os.getsid(pid)), (pid, pid))
        with open(f"/proc/{pid}/stat") as status:
            self.assertEqual(status.read().rsplit(")", 1)[1].split()[4], "0", "it has no terminal")
        self.assertEqual([os.readlink(f"/proc/{pid}/fd/{i}") for i in range(3)],
                         ["/dev/null", "/dev/null", path[:-5] + ".log"])
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), "/")

    def test_in_the_foreground(self):
        with subprocess.Popen([WEIR, "local", "--foreground"], env=environment(**self.env), cwd=self.folder.path,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
            path = server.stdout.readline().decode().strip()
            self.assertEqual(process_of(path), server.pid)
            self.assertEqual(self.start(cwd=self.folder.path), path)
            server.terminate()
            _, log = server.communicate(timeout=PATIENCE)
        self.assertEqual(server.returncode, 0)
        self.assertIn(b"stopped", log)
        self.assertFalse(os.path.exists(path))


class TestEnd(Local):
    def test_after_the_last_connection(self):
        path = self.start("--idle", "300ms")
        pid = process_of(path)
        with Client(path) as client:
            time.sleep(1)
            self.assertEqual(client.ask("PING"), "PONG")
        until(lambda: not alive(pid), "its end")
        self.assertFalse(os.path.exists(path))
        with open(path[:-5] + ".log") as log:
            self.assertIn("ends: nobody has been connected for --idle", log.read())

    def test_when_its_socket_is_gone(self):
        path = self.start()
        pid = process_of(path)
        with Client(path) as client:
            os.unlink(path)
            self.assertEqual(client.rest(), b"")
        until(lambda: not alive(pid), "its end")

    def test_its_log_stays_short(self):
        path = self.start("--idle", "1s")
        with Client(path), open(path[:-5] + ".log", "a") as log:
            log.write("x" * (600 << 10))
            log.flush()
            until(lambda: os.fstat(log.fileno()).st_size < 100 << 10, "a short log")

    def test_a_client_that_comes_just_then_has_a_server(self):
        """What docs/wire.md says that a client does, against servers that end all the time."""
        def ask():
            for attempt in range(3):
                with contextlib.suppress(OSError, Closed), Client(path) as client:
                    client.ask("HELLO", "3")
                    return attempt
                self.start("--idle", "100ms", cwd=self.folder.path)
            self.fail("three attempts, and no server")
        path = self.start("--idle", "100ms", cwd=self.folder.path)
        dice = chance("idle ends")
        attempts = []
        for _ in range(ROUNDS):
            attempts.append(ask())
            time.sleep(dice.uniform(0.08, 0.16))
        self.assertGreater(sum(attempts), 0, "none has ended")


class TestOthers(Local):
    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be somebody else too")
    def test_a_socket_of_another_user_is_not_trusted(self):
        os.chmod(self.folder.path, 0o777)
        path = self.folder.file("theirs.sock")
        theirs = subprocess.Popen(["/usr/bin/python3", "-c", f"""
import socket
listener = socket.socket(socket.AF_UNIX)
listener.bind({path!r})
listener.listen()
print("listens", flush=True)
while True:
    caller, _ = listener.accept()
    caller.recv(100)
    caller.sendall(b"+PONG\\r\\n")
"""], user=65534, stdout=subprocess.PIPE)
        self.addCleanup(theirs.communicate)
        self.addCleanup(theirs.kill)
        self.assertEqual(theirs.stdout.readline(), b"listens\n")
        self.assertEqual(self.local("--socket", path), (2, "", f"weir: local: '{path}' is a socket of user 65534; "
                                                              "expected one of this user, 0\n"))


class TestFlags(Local):
    def test_what_is_wrong(self):
        for args, text in ((("--idle", "5ms"), "idle: '5ms'"), (("--idle", "soon"), "idle: 'soon'"),
                           (("--now", "2026-01-01"), "now needs --virtual-time"),
                           (("--resp", "127.0.0.1:0"), "resp needs --virtual-time"),
                           (("--virtual-time", "--now", "soon"), "now: "),
                           (("--virtual-time", "--now", "2101-01-01"), "now: '2101-01-01' is not from 1970 to 2100"),
                           (("--virtual-time", "--now", "1969-12-31"), "now: '1969-12-31' is not from 1970 to 2261"),
                           (("--socket", self.folder.file("none/x.sock")), "cannot open")):
            code, out, err = self.local(*args)
            self.assertEqual((code, out), (2, ""), args)
            self.assertIn(text, err)


if __name__ == "__main__":
    run_at_once()
