"""What a person types: help, flags, the file, the environment, `weir check`; and the messages for what is wrong."""
import http.client
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import threading
import unittest

from chance import chance
from ports import free_port
from server import Client, Folder, Server, WEIR, environment, run, weir


OF_CTL = ("top", "usage", "ban", "unban", "raise", "lower", "shadow", "lift", "overrides", "export", "audit")


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)

    def is_refused(self, *args, names, env=None, **options):
        """The program ends with 2 and one line on stderr that has every one of `names` in it."""
        code, out, errors = weir(*args, env=env, **options)
        self.assertEqual(code, 2, (out, errors))
        self.assertEqual(out, "")
        self.assertEqual(errors.count("\n"), 1, errors)
        self.assertTrue(errors.startswith("weir: "), errors)
        self.assertNotIn("terminate called", errors)
        for name in names:
            self.assertIn(str(name), errors)
        return errors

    def serve_is_refused(self, *args, names, resp="127.0.0.1:0", **options):
        return self.is_refused("serve", "--resp", resp, *args, names=names, **options)


class TestHelp(WithFolder):
    def test_help(self):
        for args, most in ((("--help",), 25), (("serve", "--help"), 100), (("ctl", "--help"), 40), (("check", "--help"), 25),
                           (("replay", "--help"), 53), (("suggest", "--help"), 48), (("lint", "--help"), 24),
                           (("formats", "--help"), 24),
                           (("test", "--help"), 24), (("explain", "--help"), 24), (("diff", "--help"), 44),
                           (("audit", "--help"), 24), (("store-check", "--help"), 20), (("top", "--help"), 30),
                           (("ctl", "--help"), 22), *((("ctl", verb, "--help"), 34) for verb in OF_CTL)):
            code, out, errors = weir(*args)
            self.assertEqual((code, errors), (0, ""), args)
            lines = out.splitlines()
            self.assertLessEqual(len(lines), most, out)
            self.assertLessEqual(max(map(len, lines)), 100, out)

    def test_help_of_serve_names_every_setting_and_its_default(self):
        _, out, _ = weir("serve", "--help")
        for flag in ("resp", "unix-socket", "http", "http-token", "threads", "memory", "when-full", "max-connections", "stall-timeout", "drain-grace",
                     "user", "password", "tls-cert", "tls-key", "tls-ca", "store", "store-tls-ca",
                     "store-tls-cert", "store-tls-key", "snapshot", "snapshot-every", "ignore-bad-snapshot",
                     "insecure", "log-level", "config"):
            self.assertIn(f"--{flag} ", out)
        for default in ("127.0.0.1:6390", "64MiB", "1m", "30s", "10000", "info", "deny", "default"):
            self.assertRegex(out, rf"=\[?{default}")
        self.assertIn("WEIR_PASSWORD", out)

    def test_help_never_shows_a_secret(self):
        for command in (("serve",), ("check",), ("top",), ("ctl", "ban")):
            _, out, _ = weir(*command, "--help", env={"WEIR_PASSWORD": "s3cret"})
            self.assertNotIn("s3cret", out)

    def test_version(self):
        code, out, _ = weir("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^weir \d+\.\d+\.\d+( \(commit [0-9a-f]{12}(, modified)?\))?\n$")

    def test_the_first_lines_of_a_server(self):
        with Server() as server:
            server.signal(15)
            server.wait()
            version = weir("--version")[1].split(" (")[0].strip()
            self.assertEqual(server.stdout.decode(),
                             f"{version} listening on 127.0.0.1:{server.port}\n"
                             f"try: redis-cli -p {server.port} CL.THROTTLE user:42 15 30 60\n")


class TestVersion(WithFolder):
    """The file that says the version, as every build writes it again."""

    def git(self, *args):
        return subprocess.run(["git", "-C", self.source, "-c", "user.name=x", "-c", "user.email=x@x", *args], check=True,
                              capture_output=True, timeout=20).stdout.decode().strip()

    def said(self):
        script = os.path.join(os.environ.get("WEIR_SOURCE", os.path.join(os.path.dirname(__file__), "../..")),
                              "cmake/weir_commit.cmake")
        out = self.folder.file("version.cpp")
        subprocess.run(["cmake", "-D", f"source={self.source}", "-D", "version=1.2.3", "-D", f"out={out}", "-P", script],
                       check=True, capture_output=True, timeout=20)
        with open(out) as file:
            return re.search(r'kVersionLine = "(.*)";', file.read())[1]

    def test_the_commit_is_that_of_the_sources(self):
        self.source = os.path.realpath(self.folder.file("source"))
        os.mkdir(self.source)
        self.assertEqual(self.said(), "weir 1.2.3", "no checkout, as from a tarball")
        self.git("init", "-q")
        self.assertEqual(self.said(), "weir 1.2.3", "no commit yet")
        for text in ("one", "two"):
            self.folder.file("source/file", text)
            self.git("add", "file")
            self.git("commit", "-q", "-m", text)
            commit = self.git("rev-parse", "--short=12", "HEAD")
            self.assertEqual(self.said(), f"weir 1.2.3 (commit {commit})")
        written = os.stat(self.folder.file("version.cpp")).st_mtime_ns
        self.said()
        self.assertEqual(os.stat(self.folder.file("version.cpp")).st_mtime_ns, written, "so that nothing is built again")
        self.folder.file("source/file", "three")
        self.assertEqual(self.said(), f"weir 1.2.3 (commit {commit}, modified)")
        os.mkdir(self.folder.file("source/unpacked"))
        self.source += "/unpacked"
        self.assertEqual(self.said(), "weir 1.2.3", "the commit of something else")


def flags_of_serve():
    """Name, type and default of each, as --help has them."""
    for name, value in re.findall(r"^ +--([a-z-]+)(?: (\S+))?", weir("serve", "--help")[1], re.M):
        kind, _, default = (value, "", "") if value.endswith("=VALUE") else value.partition("=")
        yield name, kind, default.strip("[]")


FLAGS = list(flags_of_serve())


class TestBadFlags(WithFolder):
    def test_commands(self):
        self.is_refused(names=["subcommand"])
        self.is_refused("bogus", names=["weir: unknown command 'bogus'; known: serve, local, ratelimit, check, top, ctl, replay, suggest, formats, lint, test, explain, diff, audit, store-check, completion\n"])
        self.is_refused("serve", "extra", names=["weir: argument 2 was not expected (see weir serve --help)\n"])
        self.is_refused("serve", "--bogus", names=["weir: unknown flag '--bogus' (see weir serve --help)\n"])

    def test_values(self):
        for flag, value, *names in (
                ("threads", "0", "1 to 256"), ("threads", "257", "1 to 256"), ("threads", "x", "x"),
                ("threads", "2.5", "2.5"), ("threads", "-1", "-1"), ("memory", "1", "1MiB"),
                ("memory", "64MB", "64MB", "MiB"),
                ("memory", "", "memory"), ("memory", "-1MiB", "-1MiB"), ("memory", "99999999999999999999", "memory"),
                ("when-full", "evict", "evict", "deny"), ("max-connections", "0", "max-connections"),
                ("stall-timeout", "0s", "0s", "1s"), ("stall-timeout", "30", "'30'"), ("stall-timeout", "soon", "soon"),
                ("drain-grace", "61min", "61min", "1h"), ("drain-grace", "1", "'1'"),
                ("snapshot-every", "1ms", "10ms"), ("snapshot-every", "-1s", "-1s"),
                ("log-level", "loud", "loud", "debug")):
            with self.subTest(flag=flag, value=value):
                self.serve_is_refused(f"--{flag}={value}", names=[flag, *names])

    def test_sizes(self):
        for value, message in (
                ("64M", "'64M' has to be written 64MiB (B, KiB, MiB, GiB, TiB)"),
                ("64MB", "'64MB' has to be written 64MiB (B, KiB, MiB, GiB, TiB)"),
                ("64mb", "'64mb' has to be written 64MiB (B, KiB, MiB, GiB, TiB)"),
                ("64 MiB", "'64 MiB' has to be written 64MiB (B, KiB, MiB, GiB, TiB)"),
                ("2g", "'2g' has to be written 2GiB (B, KiB, MiB, GiB, TiB)"),
                ("lots", "'lots' is not a size such as 64MiB or 2GiB (B, KiB, MiB, GiB, TiB)"),
                ("1.5GiB", "'1.5GiB' is not a size such as 64MiB or 2GiB (B, KiB, MiB, GiB, TiB)"),
                ("1023KiB", "'1023KiB' is below the minimum (1MiB)"),
                ("0", "'0' is below the minimum (1MiB)")):
            with self.subTest(value):
                self.serve_is_refused(f"--memory={value}", names=[f"weir: memory: {message}\n"])
        have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") >> 20
        for value in ("9999TiB", f"{have + 1}MiB", "99999999999999999999", "9223372036854775807TiB"):
            with self.subTest(value):
                self.serve_is_refused(f"--memory={value}", names=[
                    f"weir: memory: '{value}' is more than this machine has ({have}MiB)\n"])

    def test_what_says_something_about_another_flag_needs_it(self):
        rows = {name: (kind, default) for name, kind, default in FLAGS}
        needs = {**dict.fromkeys(("ready-needs-store", "on-store-error", "store-deadline", "local-share", "no-remember-denials", "denial-memory",
                                  "merge", "lease", "lease-for", "store-tls-ca", "store-tls-cert", "store-tls-key", "store-tls-name"), "store"),
                 **dict.fromkeys((name for name in rows if name.startswith("rls-xds-")), "rls-xds"),
                 **dict.fromkeys(("rls-headers", "rls-dynamic-metadata", "rls-stats-names", "rls-shadow-mode", "rls-quota-mode", "rls-charge",
                                  "rls-on-bad-request", "grpc-max-connection-age"), "rls"),
                 "audit-required": "audit"}
        for flag, other in needs.items():
            kind, default = rows[flag]
            value = default or {"": "true", "NAMES": "a,b,c"}.get(kind, "a=b" if "=" in kind else "x")
            with self.subTest(flag):
                says = [f"weir: {flag} needs --{other}\n"]
                self.serve_is_refused(f"--{flag}" + (f"={value}" if kind else ""), names=says)
                self.serve_is_refused("--config", self.folder.file("x.conf", f"{flag} = {value}\n"), names=says)
        self.serve_is_refused("--config", self.folder.file("x.conf", "store = \"\"\nmerge = true\n"), names=["weir: merge needs --store\n"])
        with Server("--config", self.folder.file("x.conf", "audit-required = false\nmerge = false\nstore-tls-name = \"\"\n")):
            pass
        self.serve_is_refused("--tls-client-name=h", names=["weir: tls-client-name needs --tls-ca\n"])

    def test_bounds_reach_what_they_are_about(self):
        for flags, used, book, status in (((), 1000, 8 << 20, 403),
                                          (("--max-overdraft=10s", "--penalty-memory=64KiB", "--admin-name=Weir.Example"), 15, 64 << 10, 200)):
            with self.subTest(flags), Server("--admin", "127.0.0.1:0", *flags) as server, server.client() as client:
                self.assertEqual(client.ask("WEIR.CHARGE", "COST", "1000", "k", "1/s burst 5")[0], used)
                self.assertEqual(server.info()["penalty_memory_limit"], str(book))
                page = http.client.HTTPConnection("127.0.0.1", server.ports[-1], timeout=30)
                page.request("GET", "/v1/status", headers={"Host": "weir.example"})
                self.assertEqual(page.getresponse().status, status)
                page.close()

    def test_each_flag_refuses_what_is_not_of_its_type(self):
        bad = {"TIME": "soon", "SIZE": "lots", "N": "x", "HOST:PORT": "nowhere", "TIME,TIME": "1s,x", "SHARE": "half", "URL": "http://x"}
        seen = set()
        for flag, kind, _ in FLAGS:
            value = "loud" if "|" in kind else bad.get(kind)
            if value is None:
                continue
            with self.subTest(flag):
                more = ("--rls-xds=127.0.0.1:1",) if flag == "rls-xds-retry" else ()
                self.serve_is_refused(f"--{flag}={value}", *more, names=[flag])
                seen.add(kind)
        self.assertEqual({kind for kind in seen if "|" not in kind}, set(bad))

    def test_values_of_settings_of_the_store_are_judged_first(self):
        self.serve_is_refused("--store-deadline=0", names=["weir: store-deadline: '0' is not a time such as 500ms, 60s or 1h\n"])
        self.serve_is_refused("--local-share=0%", names=["weir: local-share: '0%' is not a percentage from 1% to 100%\n"])
        self.serve_is_refused("--store", "redis://127.0.0.1", "--store-tls-ca", "x.pem", names=[
            "weir: store-tls-ca needs a store with TLS: a URL that begins with rediss\n"])

    def test_control_bytes_are_escaped(self):
        for args, says in ((["--memory=\x1b[31m"], "memory: '\\x1b[31m'"), (["--threads=\x1b[31m\n"], "\\x1b[31m\\x0a"),
                           (["--config", "a\x1b\rb"], "config: cannot open 'a\\x1b\\x0db'"),
                           (["--resp", "a\x9b\x1bb:1"], "a\\xc2\\x9b\\x1bb")):
            with self.subTest(args):
                errors = self.is_refused("serve", *args, names=[says])
                self.assertNotRegex(errors[:-1], r"[\x00-\x1f\x7f]")
        self.is_refused("check", "k", "--limit", "1/s\x1b[31m", names=["\\x1b[31m"])
        self.is_refused("replay", "no\x1bsuch.log", "--limit", "1/s", names=["no\\x1bsuch.log"])

    def test_endpoints(self):
        for value in ("foo", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", ":6390",
                      "127.0.0.1: 1"):
            with self.subTest(value):
                self.serve_is_refused(resp=value, names=["resp", f"'{value}'", "HOST:PORT"])
        self.serve_is_refused(resp="no such host.invalid:1", names=["no such host.invalid"])

    def test_more_memory_than_there_can_be_is_refused_at_once(self):
        self.serve_is_refused("--memory", "200000GiB", names=["memory", "200000GiB"], timeout=5)

    def test_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            where = "127.0.0.1:%d" % other.getsockname()[1]
            self.serve_is_refused(resp=where, names=[where, "in use"])

    def test_beyond_loopback_needs_a_guard(self):
        for where in ("0.0.0.0:0", "[::]:0"):
            if where[0] == "[" and not socket.has_ipv6:
                continue
            self.serve_is_refused(resp=where, names=[where, "loopback", "--password", "--insecure"])
        with Server("--insecure", resp=("0.0.0.0:0",)) as server, server.client() as client:
            self.assertEqual(client.ask("PING"), "PONG")
        with Server(resp=("0.0.0.0:0",), env={"WEIR_PASSWORD": "x"}) as server, server.client() as client:
            self.assertTrue(client.ask("PING").startswith("NOAUTH"))
        self.serve_is_refused(resp="0.0.0.0:0", names=["loopback"], env={"WEIR_PASSWORD": ""})

    def test_sockets_and_files_that_cannot_be_had(self):
        here = self.folder.path
        self.serve_is_refused("--unix-socket", f"{here}/no/dir/sock", names=["unix-socket", f"{here}/no/dir/sock"])
        self.serve_is_refused("--unix-socket", f"{here}/{'x' * 200}", names=["unix-socket", "x" * 200])
        self.serve_is_refused("--unix-socket", self.folder.file("plain", "text"), names=["unix-socket", "not a socket"])
        with open(f"{here}/plain") as plain:
            self.assertEqual(plain.read(), "text")
        # Every save would fail: better said at the start than once a minute.
        self.serve_is_refused("--snapshot", f"{here}/no/dir/snap", names=["snapshot", f"{here}/no/dir/snap"])

    def test_tls_files(self):
        file = self.folder.file
        missing = file("missing.pem")
        junk = file("junk.pem", "junk")
        self.serve_is_refused("--tls-cert", missing, names=["tls-cert", "tls-key"])
        self.serve_is_refused("--tls-key", missing, names=["tls-cert", "tls-key"])
        self.serve_is_refused("--tls-ca", missing, names=["tls-ca", "tls-cert"])
        self.serve_is_refused("--tls-cert", missing, "--tls-key", missing,
                              names=["tls-cert", missing, "No such file"])
        errors = self.serve_is_refused("--tls-cert", junk, "--tls-key", junk, names=["tls-cert", junk])
        self.assertNotRegex(errors, r": asio\.ssl error$")
        for name in ("a", "b"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-keyout", file(f"{name}.key"), "-out", file(f"{name}.pem"), "-subj", "/CN=localhost",
                            "-days", "1"], check=True, capture_output=True, timeout=20)
        self.serve_is_refused("--tls-cert", file("a.pem"), "--tls-key", missing, names=["tls-key", missing])
        self.serve_is_refused("--tls-cert", file("a.pem"), "--tls-key", file("b.key"), names=["tls-key", "b.key"])
        # OpenSSL keeps one key of each kind, and takes this one for a second certificate's.
        subprocess.run(["openssl", "genrsa", "-out", file("rsa.key"), "2048"], check=True, capture_output=True, timeout=20)
        self.serve_is_refused("--tls-cert", file("a.pem"), "--tls-key", file("rsa.key"), names=["tls-key", "rsa.key"])
        self.serve_is_refused("--tls-cert", file("a.pem"), "--tls-key", file("a.key"), "--tls-ca", missing,
                              names=["tls-ca", missing])


class TestConfigFile(WithFolder):
    def serve_with(self, text, *args):
        return Server("--config", self.folder.file("weir.conf", text), *args, resp=())

    def test_the_same_settings(self):
        text = """# A comment
resp = "127.0.0.1:0"
threads = 3
memory = "2MiB"
when-full = "allow"
max-connections = 77
stall-timeout = "5s"
user = "api"
password = "s3cret"
snapshot = "%s"
snapshot-every = "1h"
log-level = "warn"
""" % self.folder.file("snap")
        with self.serve_with(text) as server, server.client() as client:
            self.assertNotEqual(server.port, 6390)
            self.assertTrue(client.ask("PING").startswith("NOAUTH"))
            self.assertEqual(client.ask("AUTH", "api", "s3cret"), "OK")
            info = client.ask("INFO").decode()
            for line in ("threads:3", "maxclients:77", f"maxmemory:{2 << 20}"):
                self.assertIn(f"\r\n{line}\r\n", info)
            client.close()
            server.stop()
            self.assertTrue(os.path.exists(self.folder.file("snap")))
            self.assertNotIn("s3cret", server.stderr() + server.stdout.decode())

    def test_words_need_no_quotes_and_flags_may_be_switched_on(self):
        text = f"resp = 0.0.0.0:0\ninsecure = true\nunix-socket = {self.folder.file('sock')}\nthreads = 1\n"
        with self.serve_with(text) as server, Client(self.folder.file("sock")) as client:
            self.assertEqual(client.ask("PING"), "PONG")

    def test_what_an_editor_on_windows_writes(self):
        text = "\ufeffresp = 127.0.0.1:0\r\n\tthreads\t=\t3\t\r\n\r\npassword = \"p w\"\r\n"
        with self.serve_with(text) as server, server.client() as client:
            self.assertEqual(client.ask("AUTH", "p w"), "OK")
            self.assertIn(b"\r\nthreads:3\r\n", client.ask("INFO"))

    def test_a_value_in_quotes_may_be_followed_by_a_comment(self):
        for line, password in (('password = "x" # note', "x"), ('password = "x"# note', "x"),
                               ('password = "a # b"', "a # b"), ("password = a#b", "a#b"),
                               ('password = a"b"', 'a"b"'), ('password = " x "', " x "), ("password = a b", "a b"),
                               ("password = [x,y]", "[x,y]"), ("password = a=b", "a=b")):
            with self.subTest(line), self.serve_with(f"resp = 127.0.0.1:0\nthreads = 1\n{line}\n") as server:
                with server.client() as client:
                    self.assertEqual(client.ask("AUTH", password), "OK")

    def test_a_password_that_everyone_may_read_is_warned_of(self):
        path = self.folder.file("weir.conf", "resp = 127.0.0.1:0\npassword = s3cret\n")
        warning = f"config: '{path}' has a password in it, and every user of this machine may read it"
        for mode, warned in ((0o644, True), (0o640, False), (0o600, False)):
            os.chmod(path, mode)
            with Server("--config", path, resp=()) as server:
                self.assertEqual(warning in server.stderr(), warned, server.stderr())
        path = self.folder.file("open.conf", "resp = 127.0.0.1:0\nthreads = 1\n")
        os.chmod(path, 0o644)
        with Server("--config", path, resp=()) as server:
            self.assertNotIn("config", server.stderr())

    def test_the_command_line_wins(self):
        with self.serve_with("resp = 127.0.0.1:0\nthreads = 3\nmax-connections = 5\n", "--threads", "1") as server:
            info = server.info()
            self.assertEqual((info["threads"], info["maxclients"]), ("1", "5"))

    def test_errors(self):
        file = self.folder.file
        self.serve_is_refused("--config", file("missing.conf"), names=[file("missing.conf")])
        self.serve_is_refused("--config", file("a.conf", "bogus = 1\n"),
                              names=[f"weir: config: {file('a.conf')}:1: unknown setting 'bogus'; "
                                     "weir serve --help lists them\n"])
        for text, line, what in (
                ("\n# x\n\nthread = 1\n", 4, "unknown setting 'thread'; weir serve --help lists them"),
                ("config = x\n", 1, "unknown setting 'config'; weir serve --help lists them"),
                ("= x\n", 1, "unknown setting; weir serve --help lists them"),
                ("threads = \n", 1, "missing value after 'threads ='; \"\" is an empty one"),
                ("threads: 1\n", 1, "missing '=' after 'threads'"),
                ("threads = 1\nuser = a\nthreads = 1\n", 3, "'threads' is set twice, first in line 1"),
                ('user = "a\n', 1, "'user': missing '\"' at the end of the value"),
                ('user = "a" b\n', 1, "'user': after the value in quotes only a # comment may follow"),
                ("user = a # b\n", 1, "'user': put the value in quotes: it has a # after a blank, or a comment follows it"),
                ("user = #a\n", 1, "'user': put the value in quotes: it has a # after a blank, or a comment follows it"),
                ("user = a\0b\n", 1, "a NUL byte; the file has to be UTF-8")):
            with self.subTest(text):
                self.serve_is_refused("--config", file("f.conf", text), names=[
                    f"weir: config: {file('f.conf')}:{line}: {what}\n"])
        self.serve_is_refused("--config", file("b.conf", "threads = x\n"), names=["threads", "x"])
        self.serve_is_refused("--config", file("c.conf", "memory = lots\n"), names=["memory", "lots"])
        self.serve_is_refused("--config", file("d.conf", "password\n"), names=[f"weir: config: {file('d.conf')}:1: missing '=' after 'password'\n"])
        self.serve_is_refused("--config", file("e.conf", "insecure = 1\n"),
                              names=[f"weir: config: {file('e.conf')}:1: 'insecure' must be true or false\n"])
        self.serve_is_refused("--config", self.folder.path, names=[self.folder.path])

    def test_an_error_never_shows_the_password(self):
        for text in ("password = s3cret\nbogus = 1\n", "password = s3cret s3cret\n", "pasword = s3cret\n",
                     "password = [s3cret\n", "password s3cret\n", "pasword: s3cret\n", "s3cret\n", "s3cret==\n",
                     "password = \"s3cret\n", "password = \"x\" s3cret\n", "password = s3cret # s3cret\n",
                     "store = s3cret\n", "store = redis:/x:s3cret@y\n", "store = redis://x:s3cret@y:port\n",
                     "password = s3cret\npassword = s3cret\n", "password = s3cret\0\n"):
            code, out, errors = weir("serve", "--resp", "0.0.0.0:99999", "--config", self.folder.file("x.conf", text))
            self.assertEqual(code, 2)
            self.assertNotIn("s3cret", out + errors)


    def test_no_argument_that_may_be_part_of_a_password_is_shown(self):
        for args in (["--password", "my", "s3cret"], ["--pasword", "s3cret"], ["--pasword=s3cret"], ["-ps3cret"],
                     ["-p", "s3cret"], ["s3cret"], ["--s3cret=1"],
                     ["--stor=redis://:s3cret@y"], ["--store", "redis://:s3cret@y", "redis://:s3cret@y"]):
            for command in ("serve", "check"):
                with self.subTest(args, command=command):
                    errors = self.is_refused(command, *(["key"] if command == "check" else []), *args, names=[])
                    self.assertNotIn("s3cret", errors)


class TestSecretsAndLogs(WithFolder):
    def test_no_password_and_no_key_at_any_level(self):
        for level in ("debug", "info", "warn", "error", "off"):
            with self.subTest(level):
                with Server("--threads", "1", "--log-level", level, "--max-connections", "4", "--stall-timeout", "1s",
                            "--snapshot", self.folder.file(f"snap-{level}"), "--snapshot-every", "10ms",
                            env={"WEIR_PASSWORD": "s3cret"}) as server:
                    with server.client() as one, server.client() as two:
                        one.send("AUTH", "wr0ng")
                        two.send("HELLO", "3", "AUTH", "default", "wr0ng")
                        self.assertTrue(one.reply().startswith("WRONGPASS"))
                        self.assertTrue(two.reply().startswith("WRONGPASS"))
                    with server.client() as client:
                        client.ask("AUTH", "s3cret")
                        client.ask("CL.THROTTLE", "my-k3y\x1b[31m\r\nforged", 0, 1, 60)
                        client.ask("CL.THROTTLE", "my-k3y\x1b[31m\r\nforged", 0, 1, 60)
                        client.ask("GCRA", "my-k3y", "x", 1, 60)
                        client.ask("my-k3y")
                        client.ask("CLIENT", "SETNAME", "my-k3y")
                        with server.client() as broken:
                            broken.send_bytes(b"*1\r\n$my-k3y\r\n")
                            broken.rest()
                    server.stop()
                    text = server.stdout.decode() + server.stderr()
                    for secret in ("s3cret", "wr0ng", "my-k3y", "forged", "\x1b[31m"):
                        self.assertNotIn(secret, text)
                    if level == "off":
                        self.assertEqual(server.stderr(), "")

    def test_a_password_on_the_command_line_works_too(self):
        with Server("--password", "s3cret") as server, server.client() as client:
            self.assertEqual(client.ask("AUTH", "s3cret"), "OK")

    def test_the_environment_gives_user_and_password(self):
        with Server(env={"WEIR_PASSWORD": "p", "WEIR_USER": "u"}) as server, server.client() as client:
            self.assertTrue(client.ask("AUTH", "p").startswith("WRONGPASS"))
            self.assertEqual(client.ask("AUTH", "u", "p"), "OK")


class TestSnapshotFiles(WithFolder):
    def snapshot(self):
        path = self.folder.file("snap")
        with Server("--threads", "1", "--snapshot", path) as server, server.client() as client:
            for i in range(3000):
                client.send("CL.THROTTLE", i, 0, 1, 3600)
            for _ in range(3000):
                client.reply()
        return path

    def test_it_is_the_owners_secret(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.snapshot()).st_mode), 0o600)
        self.assertEqual(set(os.listdir(self.folder.path)), {"snap", "snap.lock"}, "no temporary file stays")

    def test_damaged_ones_are_refused_or_put_aside(self):
        with open(self.snapshot(), "rb") as whole:
            data = whole.read()
        flip = lambda at: data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
        for name, content in (("empty", b""), ("one-byte", b"w"), ("header-only", data[:64]), ("truncated", data[:-1]),
                              ("half", data[:len(data) // 2]), ("record-lost", data[:64] + data[88:]),
                              ("longer", data + b"\0"), ("record-gained", data + data[-24:]), ("flip-magic", flip(0)),
                              ("flip-version", flip(8)), ("flip-seed", flip(20)), ("flip-record", flip(100)),
                              ("flip-middle", flip(len(data) // 2)), ("flip-checksum", flip(len(data) - 1)),
                              ("text", b"hello\n" * 1000), ("zeros", bytes(100_000))):
            with self.subTest(name):
                path = self.folder.file(name, content)
                self.serve_is_refused("--snapshot", path, names=["snapshot", path, "--ignore-bad-snapshot"])
                with open(path, "rb") as same:
                    self.assertEqual(same.read(), content, "refusing touches nothing")
                with Server("--threads", "1", "--snapshot", path, "--ignore-bad-snapshot") as server:
                    server.says(path)
                    with server.client() as client:
                        self.assertEqual(client.ask("DBSIZE"), 0)
                with open(path + ".damaged", "rb") as same:
                    self.assertEqual(same.read(), content, "and what was found is kept")

    def test_one_of_a_former_build_is_refused_with_what_it_is(self):
        path = self.snapshot()
        with open(path, "r+b") as file:
            file.seek(8)
            file.write(bytes([7]))
        code, out, errors = weir("serve", "--resp", "127.0.0.1:0", "--snapshot", path)
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(errors, f"weir: snapshot '{path}': is of version 7; this program reads 8; "
                                 "--ignore-bad-snapshot puts it aside and starts empty\n")

    def test_one_that_was_put_aside_is_not_overwritten_by_the_next(self):
        path = self.folder.file("snap")
        kept = {"snap.damaged": b"first", "snap.damaged.2": b"second", "snap.damaged.3": b"third"}
        for name, content in kept.items():
            with open(path, "wb") as file:
                file.write(content)
            with Server("--threads", "1", "--snapshot", path, "--ignore-bad-snapshot") as server:
                server.says(f"starting empty, the file is kept as {self.folder.file(name)}\n")
        for name, content in kept.items():
            with open(self.folder.file(name), "rb") as file:
                self.assertEqual(file.read(), content)

    def test_what_is_not_a_file_is_never_put_aside(self):
        folder = self.folder.file("folder")
        os.mkdir(folder)
        os.mkfifo(self.folder.file("fifo"))
        before = sorted(os.listdir(self.folder.path))
        for path in (folder, folder + "/", self.folder.file("fifo"), "/dev/null"):
            with self.subTest(path):
                code, out, errors = weir("serve", "--resp", "127.0.0.1:0", "--snapshot", path, "--ignore-bad-snapshot")
                self.assertEqual((code, out, errors), (2, "", f"weir: snapshot '{path}': is not a file\n"))
        self.assertEqual(sorted(os.listdir(self.folder.path)), before)

    def test_random_damage_never_crashes(self):
        dice = chance()
        with open(self.snapshot(), "rb") as whole:
            data = whole.read()
        for _ in range(25):
            broken = bytearray(data[:dice.randrange(len(data) + 1)] if dice.random() < 0.5 else data)
            for _ in range(dice.randrange(1, 9)):
                if broken:
                    broken[dice.randrange(len(broken))] ^= dice.randrange(1, 256)
            self.serve_is_refused("--snapshot", self.folder.file("random", bytes(broken)), names=["snapshot"])

    def test_what_is_not_a_readable_file(self):
        loop, fifo = self.folder.file("loop"), self.folder.file("fifo")
        os.symlink(loop, loop)
        os.mkfifo(fifo)
        for path, reason in ((self.folder.path, "not a file"), (loop, "Too many levels"), (fifo, "not a file")):
            with self.subTest(path):
                self.serve_is_refused("--snapshot", path, names=["snapshot", path, reason], timeout=3)

    def test_without_permission(self):
        path = self.snapshot()
        options = {}
        if os.geteuid() == 0:
            # Root reads everything; so be nobody, with the program where nobody may run it.
            program = self.folder.file("weir")
            shutil.copy(WEIR, program)
            os.chmod(program, 0o755)
            os.chmod(self.folder.path, 0o755)
            options = {"user": 65534}
        else:
            program = WEIR
        locked = os.path.join(self.folder.path, "locked")
        os.mkdir(locked)
        inside = shutil.copy(path, os.path.join(locked, "snap"))
        os.chmod(path, 0)
        os.chmod(locked, 0)
        self.addCleanup(os.chmod, locked, 0o700)
        for where in (path, inside):
            with self.subTest(where):
                done = subprocess.run([program, "serve", "--resp", "127.0.0.1:0", "--snapshot", where], timeout=10,
                                      capture_output=True, env=environment(), **options)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(where.encode(), done.stderr)
                self.assertIn(b"Permission denied", done.stderr)


class TestCheck(WithFolder):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "1")
        cls.at = ("--port", str(cls.server.port))

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None)

    def test_words_and_exit_codes(self):
        limit = ("--limit", "2/2h", *self.at)
        for cost, code, text in ((1, 0, "allowed: 1 of 2 left, full again in 3600 s\n"),
                                 (0, 0, "allowed: 1 of 2 left, full again in 3600 s\n"),
                                 (1, 0, "allowed: 0 of 2 left, full again in 7200 s\n"),
                                 (1, 1, "denied: 0 of 2 left, retry in 3600 s, full again in 7200 s\n"),
                                 (3, 1, "never: 0 of 2 left, the cost is above the burst: waiting does not help, full "
                                        "again in 7200 s\n")):
            got_code, out, errors = weir("check", self.id(), "--cost", cost, *limit)
            self.assertEqual((got_code, errors), (code, ""), out)
            # A second or two may have passed.
            hours = lambda match: str(-(-int(match.group()) // 3600) * 3600)
            self.assertEqual(re.sub(r"\d{4}", hours, out), text)

    def test_json(self):
        ask = lambda *args: weir("check", self.id(), "--json", *args, *self.at)
        code, out, _ = ask("--limit", "1/h")
        self.assertEqual((code, out.count("\n")), (0, 1))
        self.assertEqual(json.loads(out), {"verdict": "allowed", "limit": 1, "remaining": 0, "retry_after_s": None,
                                           "reset_after_s": 3600})
        code, out, _ = ask("--limit", "1/h")
        answer = json.loads(out)
        self.assertEqual((code, answer["verdict"], answer["remaining"]), (1, "denied", 0))
        self.assertTrue(3500 < answer["retry_after_s"] <= 3600)
        code, out, _ = ask("--limit", "1/h", "--cost", "2")
        self.assertEqual((code, json.loads(out)["verdict"], json.loads(out)["retry_after_s"]), (1, "never", None))

    def test_limits_as_people_write_them(self):
        for limit, wanted in (("15/60s", (15, 4)), ("100/min", (100, 1)), ("5/10s burst 20", (20, 2)),
                              ("1/1.5h", (1, 5400)), ("1/1h30m", (1, 5400)), ("1000/s", (1000, 1)), ("3/100ms", (3, 1)), ("1/w", (1, 604800))):
            code, out, errors = weir("check", self.id() + limit, "--limit", limit, "--json", *self.at)
            self.assertEqual(code, 0, errors)
            answer = json.loads(out)
            self.assertEqual((answer["limit"], answer["reset_after_s"]), wanted, limit)

    def test_any_key(self):
        for key in ("", "with space", "é", "-", "a\nb"):
            self.assertEqual(weir("check", "--limit", "1/h", *self.at, "--", key)[0], 0, key)
            self.assertEqual(weir("check", "--limit", "1/h", *self.at, "--", key)[0], 1, key)

    def test_errors(self):
        self.is_refused("check", names=["KEY"])
        self.is_refused("check", "k", *self.at, names=["--limit"])
        for limit in ("x", "", "0/s", "-1/s", "1/0s", "1/fortnight", "1/s burst", "1/s burst 0", "1/s boost 2", "1.5/s",
                      "5000000000/s", "1/s burst 2 3", "1 /s", "100/60", "1/106752d"):
            with self.subTest(limit):
                self.is_refused("check", "k", "--limit", limit, *self.at, names=["limit", f"'{limit}'"])
        for cost in ("-1", "x", "1.5", "99999999999999999999"):
            with self.subTest(cost=cost):
                self.is_refused("check", "k", "--limit", "1/s", f"--cost={cost}", *self.at, names=["cost", cost])

    def test_servers_that_are_not_there(self):
        port = free_port()
        self.is_refused("check", "k", "--limit", "1/s", "--port", port,
                        names=[f"cannot connect to 127.0.0.1:{port}", "Connection refused"])
        for port in ("x", "", "99999", "-1", "0"):
            with self.subTest(port):
                self.is_refused("check", "k", "--limit", "1/s", f"--port={port}", names=["port"])
        self.is_refused("check", "k", "--limit", "1/s", "--host", "nosuch.invalid", names=["nosuch.invalid"])

    def test_servers_of_another_kind(self):
        for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"+OK\r\n", b"*2\r\n:1\r\n:2\r\n", b"*5\r\n:1\r\n:x\r\n",
                       b"*5\r\n$1\r\n1\r\n", b"-ERR unknown command 'GCRA'\r\n", b"x" * 100_000, b"", b"\r\n",
                       b"*5\r\n:1\r\n:1\r\n:99999999999999999999\r\n:1\r\n:1\r\n"):
            with self.subTest(answer[:20]), socket.create_server(("127.0.0.1", 0)) as listener:
                def answer_once():
                    listener.settimeout(5)
                    peer, _ = listener.accept()
                    peer.settimeout(5)
                    with peer:
                        peer.recv(4096)
                        peer.sendall(answer)
                        peer.shutdown(socket.SHUT_WR)
                thread = threading.Thread(target=answer_once)
                thread.start()
                port = listener.getsockname()[1]
                self.is_refused("check", "k", "--limit", "1/s", "--port", port, names=[])
                thread.join()

    def test_a_server_that_never_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.is_refused("check", "k", "--limit", "1/s", "--port", silent.getsockname()[1], names=["did not answer within 5s"],
                            timeout=9)

    def test_the_timeout_is_for_all_of_it(self):
        """A byte now and then starts no new wait."""
        def drip(listener, ended):
            peer, _ = listener.accept()
            with peer:
                while not ended.wait(0.05):
                    try:
                        peer.send(b"*")
                    except OSError:
                        return
        with socket.create_server(("127.0.0.1", 0)) as listener:
            ended = threading.Event()
            thread = threading.Thread(target=drip, args=(listener, ended))
            thread.start()
            try:
                port = listener.getsockname()[1]
                self.is_refused("check", "k", "--limit", "1/s", "--port", port, "--timeout", "300ms",
                                names=[f"127.0.0.1:{port} did not answer within 300ms"])
            finally:
                ended.set()
                thread.join()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.is_refused("check", "k", "--limit", "1/s", "--port", silent.getsockname()[1], "--timeout", "300ms",
                            "--tls", names=["did not answer within 300ms"])
        self.is_refused("check", "k", "--limit", "1/s", "--timeout", "0s", names=["timeout: '0s'", "minimum (1ms)"])
        self.is_refused("check", "k", "--limit", "1/s", "--timeout", "5", names=["timeout: '5'"])

    def test_unix_socket(self):
        path = self.folder.file("socket")
        with Server("--threads", "1", "--unix-socket", path, env={"WEIR_PASSWORD": "s3cret"}):
            at = ("check", self.id(), "--limit", "1/h", "--unix-socket", path)
            right = {"WEIR_PASSWORD": "s3cret"}
            self.assertEqual([weir(*at, env=right)[0] for _ in range(2)], [0, 1])
            self.assertEqual(weir(*at, "--cost", "0", env=right)[0], 0)
            self.assertEqual(json.loads(weir(*at, "--json", env=right)[1])["verdict"], "denied")
            self.is_refused(*at, names=[f"{path} answered: NOAUTH"])
            self.is_refused(*at, "--tls", env=right, names=["unix-socket: a Unix socket is plain"])
            self.is_refused(*at, "--port", "6390", env=right, names=["unix-socket stands in place of host and port"])
            self.is_refused(*at, "--host", "localhost", env=right, names=["unix-socket stands in place"])
        self.is_refused(*at, names=[f"cannot connect to {path}: No such file or directory"])
        self.is_refused("check", "k", "--limit", "1/s", "--unix-socket", "/" + "x" * 200,
                        names=["unix-socket", "longer than a path of a socket (107 bytes)"])

    def test_password(self):
        with Server("--threads", "1", env={"WEIR_PASSWORD": "s3cret"}) as server:
            at = ("check", "k", "--limit", "5/h", "--port", server.port)
            self.assertEqual(weir(*at, env={"WEIR_PASSWORD": "s3cret"})[0], 0)
            self.assertEqual(weir(*at, "--password", "s3cret")[0], 0)
            self.is_refused(*at, names=["NOAUTH"])
            errors = self.is_refused(*at, "--password", "wr0ng", names=["WRONGPASS"])
            self.assertNotIn("wr0ng", errors)

    def test_no_answer_makes_it_show_the_password(self):
        """As Redis without AUTH says: unknown command, with args beginning with: ..."""
        for answer in (b"-ERR unknown command 'AUTH', with args beginning with: 'default' 's3cret' s3cret\r\n",
                       b"+s3cret\r\n", b"s3cret\r\n"):
            with self.subTest(answer), socket.create_server(("127.0.0.1", 0)) as listener:
                def answer_once():
                    peer, _ = listener.accept()
                    with peer:
                        peer.recv(4096)
                        peer.sendall(answer)
                thread = threading.Thread(target=answer_once)
                thread.start()
                said = self.is_refused("check", "k", "--limit", "1/s", "--port", listener.getsockname()[1],
                                       env={"WEIR_PASSWORD": "s3cret"}, names=["AUTH"])
                self.assertNotIn("s3cret", said)
                thread.join()


if __name__ == "__main__":
    run()
