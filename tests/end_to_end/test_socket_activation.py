"""LISTEN_FDS: listeners that systemd has opened, by its own systemd-socket-activate and by what sd_listen_fds(3) says."""
import configparser
import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.request

from ports import free_port
from server import PATIENCE, ROOT, WEIR, Client, Folder, Server, environment, run, until

ACTIVATE = shutil.which("systemd-socket-activate")
# Sets LISTEN_PID to what it then becomes, as systemd does after its fork.
LAUNCHER = ("import os, sys; os.environ['LISTEN_PID'] = str(os.getpid()); os.execv(sys.argv[1], sys.argv[1:])")


def listening(where=("127.0.0.1", 0)):
    """A socket as systemd opens it: by address, or by path."""
    made = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
    made.bind(where)
    made.listen()
    return made


def launch(sockets, names, *flags, pid=None, count=None):
    """The program with these as its descriptors from 3 on; ends when it does, or never."""
    given = environment(LISTEN_FDS=str(len(sockets) if count is None else count), LISTEN_FDNAMES=names)
    if pid is not None:
        given["LISTEN_PID"] = pid
    command = [WEIR, "serve", *flags] if pid is not None else ["python3", "-c", LAUNCHER, WEIR, "serve", *flags]

    def place():
        kept = [os.dup2(each.fileno(), 100 + i) for i, each in enumerate(sockets)]
        for i, each in enumerate(kept):
            os.dup2(each, 3 + i)
            os.set_inheritable(3 + i, True)
    return subprocess.Popen(command, env=given, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            preexec_fn=place, close_fds=False)


class Given(unittest.TestCase):
    def serve(self, sockets, names, *flags, **options):
        process = launch(sockets, names, *flags, **options)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def refused(self, *args, **options):
        process = self.serve(*args, **options)
        out, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (2, b""), errors)
        return errors.decode()

    def test_each_speaks_what_its_name_says(self):
        with Folder() as folder:
            path = folder.file("resp")
            sockets = [listening(), listening(), listening(), listening(path)]
            ports = [each.getsockname()[1] for each in sockets[:3]]
            process = self.serve(sockets, "resp:http:admin:resp")
            for each in sockets:
                each.close()
            first = process.stdout.readline().decode()
            self.assertIn(f"listening on 127.0.0.1:{ports[0]}, {path}, http://127.0.0.1:{ports[1]}, admin http://127.0.0.1:"
                          f"{ports[2]}\n", first)
            for where in (ports[0], path):
                with Client(where) as client:
                    self.assertEqual(client.ask("PING"), "PONG")
            body = json.dumps({"key": "k", "limit": "1/s"}).encode()
            with urllib.request.urlopen(urllib.request.Request(
                    f"http://127.0.0.1:{ports[1]}/v1/check", body, {"Content-Type": "application/json"})) as reply:
                self.assertTrue(json.load(reply)["allowed"])
            with urllib.request.urlopen(f"http://127.0.0.1:{ports[2]}/readyz") as reply:
                self.assertEqual(reply.status, 200)
            process.terminate()
            self.assertEqual(process.wait(PATIENCE), 0)
            self.assertTrue(os.path.exists(path))  # systemd's, not ours

    def test_the_others_are_as_the_flags_say(self):
        with listening() as one:
            process = self.serve([one], "http", "--resp", "127.0.0.1:0")
            first = process.stdout.readline().decode()
            resp, web = first.split(" listening on ")[1].strip().split(", ")
            self.assertEqual(web, f"http://127.0.0.1:{one.getsockname()[1]}")
            with Client(int(resp.rsplit(":", 1)[1])) as client:
                self.assertEqual(client.ask("PING"), "PONG")

    def test_what_is_wrong_is_said(self):
        with listening() as one, socket.socket() as deaf, socket.socket(type=socket.SOCK_DGRAM) as datagrams, \
                tempfile.TemporaryFile() as file:
            for args, options, told in (
                    (([one], "rasp"), {}, "LISTEN_FDNAMES: unknown name 'rasp'; known: resp, http, rls, admin"),
                    (([one], ""), {}, "unknown name ''"),
                    (([one], "resp:http"), {}, "has not one name for each of 1 sockets"),
                    (([one], "resp"), {"pid": "1"}, "LISTEN_PID: '1' is not this process"),
                    (([one], "resp"), {"pid": ""}, "LISTEN_PID: '' is not this process"),
                    (([one], "resp"), {"count": "many"}, "LISTEN_FDS: 'many' is not a number from 0 to 64"),
                    (([one], "resp:http"), {"count": 65}, "LISTEN_FDS: '65' is not a number from 0 to 64"),
                    (([deaf], "resp"), {}, "LISTEN_FDS: descriptor 3 ('resp') is not a listening stream socket"),
                    (([datagrams], "http"), {}, "LISTEN_FDS: descriptor 3 ('http') is not a listening stream socket"),
                    (([one, file], "resp:admin"), {}, "LISTEN_FDS: descriptor 4 ('admin') is not a listening stream"),
                    (([one], "resp", "--resp", "127.0.0.1:0"), {}, "and --resp says it too")):
                self.assertIn(told, self.refused(*args, **options), told)

    def test_beyond_this_machine_it_asks_for_a_password_as_ever(self):
        with listening(("0.0.0.0", 0)) as one:
            self.assertIn("is not a loopback address", self.refused([one], "resp"))

    @unittest.skipUnless(ACTIVATE, "needs systemd-socket-activate, of the package systemd")
    def test_by_systemd_s_own_program(self):
        resp, web = free_port(), free_port()
        process = subprocess.Popen([ACTIVATE, "-l", f"127.0.0.1:{resp}", "-l", f"127.0.0.1:{web}", "--fdname=resp:http", WEIR,
                                    "serve"], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def asked():
            try:
                with Client(resp) as client:
                    return client.ask("PING") == "PONG"
            except ConnectionRefusedError:
                return False  # it does not listen yet
        until(asked, "it is started, and answers the connection that started it")
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 0)  # it has become weir

    def test_they_go_on_with_the_next_process(self):
        with Folder() as folder, listening() as one:
            path, port = folder.file("takeover"), one.getsockname()[1]
            process = self.serve([one], "resp", "--takeover", path)
            process.stdout.readline()
            with Client(port) as client:
                self.assertEqual(client.ask("PING"), "PONG")
                with Server("--takeover", path, resp=(f"127.0.0.1:{port}",)):
                    self.assertEqual(process.wait(PATIENCE), 0)
                    self.assertEqual(client.ask("PING"), "PONG")


class Units(unittest.TestCase):
    """The units of examples/systemd: what they say is what weir and its service know."""

    def test_the_socket_has_a_name_that_weir_knows_and_the_service_waits_for_it(self):
        unit, more = configparser.ConfigParser(strict=False), configparser.ConfigParser(strict=False)
        for each in (unit, more):
            each.optionxform = str
        unit.read(os.path.join(ROOT, "examples/systemd/weir.socket"))
        more.read(os.path.join(ROOT, "examples/systemd/socket.conf"))
        host, port = unit["Socket"]["ListenStream"].split(":")
        self.assertEqual((host, int(port)), ("127.0.0.1", 6390))
        self.assertEqual((unit["Socket"]["Service"], more["Service"]["Sockets"]), ("weir.service", "weir.socket"))
        self.assertEqual((more["Unit"]["Requires"], more["Unit"]["After"]), ("weir.socket", "weir.socket"))
        with listening() as one:
            process = launch([one], unit["Socket"]["FileDescriptorName"])
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.stderr.close)
            self.assertIn(b"listening on 127.0.0.1", process.stdout.readline())

    @unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd-analyze, of the package systemd")
    def test_systemd_understands_them(self):
        with Folder() as folder:
            folder.file("weir.service", "[Service]\nExecStart=/bin/true\n")
            os.mkdir(folder.file("weir.service.d"))
            shutil.copy(os.path.join(ROOT, "examples/systemd/socket.conf"), folder.file("weir.service.d"))
            shutil.copy(os.path.join(ROOT, "examples/systemd/weir.socket"), folder.path)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", folder.file("weir.socket")], capture_output=True,
                                  text=True, timeout=60, env={**os.environ, "SYSTEMD_UNIT_PATH": folder.path + ":"})
            self.assertNotIn("weir.s", done.stderr)


if __name__ == "__main__":
    run()
