"""Files that a server reads: only regular ones are read, none makes it wait, and reading holds up nothing."""
import os
import select
import signal
import ssl
import unittest

from server import Error, Folder, Server, run, until, weir
from test_tls import Authority

LIMITS = "version: 1\nlimits:\n  user: { by: [user], rate: 10/h }\n"
WITH_LISTS = "version: 1\nlists:\n%slimits:\n  user: { by: [user], rate: 10/h, deny: { ip: [%s] } }\n"
WHY = "Not a regular file"


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)

    def fifo(self, name):
        """Nobody ever writes into it."""
        path = self.folder.file(name)
        if os.path.exists(path):
            os.remove(path)
        os.mkfifo(path)
        return path

    def lists(self, names):
        return WITH_LISTS % ("".join(f"  {n}: {{ file: {n}.txt }}\n" for n in names), ", ".join(f'"@{n}"' for n in names))


class TestPipes(WithFolder):
    def test_none_is_read_at_the_start(self):
        fifo = self.fifo("fifo")
        listed = self.folder.file("listed.yaml", self.lists(["nets"]))
        nets = self.fifo("nets.txt")
        certificate, key = Authority(self.folder, "ca").issue("localhost")
        rows = [
            (["--config", fifo], f"weir: config: cannot open '{fifo}': {WHY}\n"),
            (["--limits", fifo], f"weir: limits: '{fifo}' cannot be used\n{fifo}: cannot read it: {WHY}\n"),
            (["--limits", listed], f"{listed}:3:17: lists.nets.file: cannot read '{nets}': {WHY}\n"),
            (["--limits", "-"],
             "weir: limits: '-' is the standard input; a server needs a file that it can read again\n"),
            (["--tls-cert", fifo, "--tls-key", key], f"weir: tls-cert: '{fifo}': {WHY}\n"),
            (["--tls-cert", certificate, "--tls-key", fifo], f"weir: tls-key: '{fifo}': {WHY}\n"),
            (["--tls-cert", certificate, "--tls-key", key, "--tls-ca", fifo], f"weir: tls-ca: '{fifo}': {WHY}\n"),
            (["--store", "rediss://127.0.0.1:1", "--store-tls-ca", fifo], f"weir: store-tls-ca: '{fifo}': {WHY}\n"),
            (["--snapshot", fifo], f"weir: snapshot '{fifo}': is not a file\n"),
        ]
        for flags, says in rows:
            with self.subTest(flags):
                code, out, errors = weir("serve", "--resp", "127.0.0.1:0", *flags)
                self.assertEqual((code, out), (2, ""))
                self.assertTrue(errors.endswith(says), errors)

    def test_the_tools_read_none_either(self):
        fifo = self.fifo("fifo")
        limits = self.folder.file("limits.yaml", LIMITS)
        log = self.folder.file("log", '192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1\n')
        rows = [
            (["lint", fifo], f"{fifo}: cannot read it: {WHY}\n"),
            (["test", fifo], f"{fifo}: cannot read it: {WHY}\n"),
            (["explain", fifo, "user=1"], f"{fifo}: cannot read it: {WHY}\n"),
            (["diff", limits, fifo], f"{fifo}: cannot read it: {WHY}\n"),
            (["replay", log, "--limits", fifo], f"{fifo}: cannot read it: {WHY}\n"),
            (["replay", log, "--limit", "free=1/s", "--plans", fifo],
             f"weir: plans: '{fifo}' cannot be opened: {WHY}\n"),
            (["suggest", log, "--good", fifo], f"weir: good: cannot open '{fifo}': {WHY}\n"),
        ]
        for words, says in rows:
            with self.subTest(words):
                code, out, errors = weir(*words)
                self.assertEqual(code, 2, (out, errors))
                self.assertIn(says, out + errors)

    def test_one_that_takes_a_files_place_changes_nothing(self):
        path = self.folder.file("limits.yaml", self.lists(["nets"]))
        nets = self.folder.file("nets.txt", "203.0.113.0/24\n")
        authority = Authority(self.folder, "ca")
        certificate, key = authority.issue("localhost")
        with Server("--limits", path, "--threads", "1", "--tls-cert", certificate, "--tls-key", key) as server:
            context = ssl.create_default_context(cafile=authority.certificate)
            with server.client(tls=context) as client:
                def is_in_force():
                    self.assertEqual(client.ask("WEIR.LOOK", "user=1")[:2], [0, 10])
                    self.assertEqual(client.ask("WEIR.LOOK", "user=1", "ip=203.0.113.1")[0], 1)

                self.fifo("nets.txt")
                said = f"{path}:3:17: lists.nets.file: cannot read '{nets}': {WHY}"
                self.assertEqual(client.ask("WEIR.CONFIG", "RELOAD"), Error("ERR " + said))
                self.assertEqual(client.ask("WEIR.CONFIG", "CHECK"), [said.encode()])
                is_in_force()
                self.fifo("limits.yaml")
                said = f"{path}: cannot read it: {WHY}"
                self.assertEqual(client.ask("WEIR.CONFIG", "RELOAD"), Error("ERR " + said))
                is_in_force()
                for file, flag in ((certificate, "tls-cert"), (key, "tls-key")):
                    self.fifo(os.path.basename(file))
                    server.signal(signal.SIGHUP)
                    until(lambda: f"[error] SIGHUP: {flag}: '{file}': {WHY}; what was read before stays in use"
                          in server.stderr(), "the error")
                    os.remove(file)
                    self.folder.file(os.path.basename(file), "")
                    if flag == "tls-cert":
                        again = authority.issue("localhost")
                        self.assertEqual(again[0], certificate)
                is_in_force()
                with server.client(tls=context) as another:
                    self.assertEqual(another.ask("PING"), "PONG")


class TestReading(WithFolder):
    """Of a list that is long enough for something else to happen meanwhile."""

    def start(self):
        self.folder.file("nets.txt", "".join(f"1.{i >> 16}.{i >> 8 & 255}.{i & 255}\n" for i in range(500_000)))
        path = self.folder.file("limits.yaml", self.lists(["nets"]))
        return Server("--limits", path, "--threads", "1", "--memory", "16MiB")

    def test_other_connections_are_served_meanwhile(self):
        with self.start() as server, server.client() as asker, server.client() as other:
            def command():
                rows = other.ask("CLIENT", "LIST").decode().split("\n")
                return next(row for row in rows if " name=asker " in row).split(" cmd=")[1].split(" ")[0]

            def served_meanwhile(what, answer):
                asker.ask("CLIENT", "SETNAME", "asker")
                asker.send("WEIR.CONFIG", what)
                until(lambda: command() == "weir.config", "it has come")
                looked = other.ask("WEIR.LOOK", "user=1")[:2]
                answered, _, _ = select.select([asker.socket], [], [], 0)
                self.assertEqual((looked, asker.reply()), ([0, 10], answer))
                return not answered

            for what, answer in (("RELOAD", "OK"), ("CHECK", [])):
                until(lambda: served_meanwhile(what, answer), "another connection is answered while the file is read")

    def test_what_waits_to_be_read_holds_up_no_end(self):
        with self.start() as server, server.client() as client:
            for _ in range(20):
                client.send("WEIR.CONFIG", "RELOAD")
            self.assertEqual(client.reply(), "OK")
            server.signal(signal.SIGTERM)
            answers = [client.reply() for _ in range(19)]
            self.assertEqual(answers[-1], Error("ERR the server is shutting down"))
            self.assertEqual(set(answers) - {"OK"}, {"ERR the server is shutting down"})
            self.assertEqual(server.wait(), 0)
            self.assertLess(server.stderr().count(" is in force: "), 20)


if __name__ == "__main__":
    run()
