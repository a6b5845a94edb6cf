#!/usr/bin/python3
"""The portable program: in a folder with nothing else as its root, and in a Debian's. test_packaging.py builds it."""
import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "tests/end_to_end"))

from containerfile import not_sources  # noqa: E402
from server import Folder, Server, environment, until  # noqa: E402
from test_tls import Authority  # noqa: E402

ARCHIVE = os.path.join(SOURCE, f"build/package/weir-linux-{platform.machine()}.tar.gz")
TOP = os.path.basename(ARCHIVE).removesuffix(".tar.gz")
CALENDAR = """version: 1
limits:
  monthly: { by: [user], rate: 10/month align=calendar tz=Europe/Berlin }
routes:
  - { limits: [monthly] }
"""
LOG = '192.0.2.1 - - [01/Mar/2026:00:00:00] "GET / HTTP/1.1" 200 1\n' * 3


def members():
    with tarfile.open(ARCHIVE) as archive:
        return archive.getmembers()


class Archive(unittest.TestCase):
    def test_is_small_and_tells_of_no_machine(self):
        self.assertLess(os.path.getsize(ARCHIVE), 16 << 20)
        self.assertEqual({(each.uid, each.gid, each.uname, each.gname) for each in members()}, {(0, 0, "", "")})
        self.assertEqual({each.mode for each in members()}, {0o755, 0o644})
        self.assertEqual(len({each.mtime for each in members()}), 1)
        with tarfile.open(ARCHIVE) as archive:
            self.assertNotIn(SOURCE.encode(), archive.extractfile(f"{TOP}/bin/weir").read())

    def test_has_the_program_its_pages_and_completions(self):
        names = {each.name.removeprefix(f"{TOP}/") for each in members()}
        self.assertLessEqual({"bin/weir", "README", "LICENSES", "share/man/man1/weir-serve.1", "share/weir/limits.schema.json",
                              "share/bash-completion/completions/weir", "share/zsh/site-functions/_weir",
                              "share/fish/vendor_completions.d/weir.fish"}, names)

    def test_has_the_notices_of_what_is_in_it(self):
        with tarfile.open(ARCHIVE) as archive:
            text = archive.extractfile(f"{TOP}/LICENSES").read().decode()
        sources = {line.rsplit(" ", 2)[1].rstrip("0123456789.-") for line in text.splitlines() if ", source " in line}
        self.assertLessEqual({"boost", "cli", "fmtlib", "gcc", "glibc", "libyaml", "libzstd", "nghttp",
                              "openssl", "protozero", "re", "simdjson", "spdlog", "tl-expected", "zlib"}, sources)
        for words in ("GNU LESSER GENERAL PUBLIC LICENSE", "GCC RUNTIME LIBRARY EXCEPTION", "The OpenSSL Project",
                      "Jean-loup Gailly", "Boost Software License", "Apache License"):
            self.assertIn(words.lower(), text.lower())

    @unittest.skipUnless(os.environ.get("WEIR_LONG") == "1", "builds all of it again: WEIR_LONG=1")
    def test_is_the_same_when_it_is_built_elsewhere(self):
        with tempfile.TemporaryDirectory(prefix="weir-another-folder-") as folder:
            copy = os.path.join(folder, "w")
            shutil.copytree(SOURCE, copy, symlinks=True, ignore=not_sources)
            shutil.copytree(os.path.join(SOURCE, "build/package/sources"), os.path.join(copy, "build/package/sources"))
            made = {**os.environ, "SOURCE_DATE_EPOCH": str(members()[0].mtime), "CCACHE_DISABLE": "1", "TZ": "Asia/Tokyo",
                    "LC_ALL": "C"}
            subprocess.run([os.path.join(copy, "packaging/build")], env=made, umask=0o077, check=True, capture_output=True)
            both = [ARCHIVE, os.path.join(copy, "build/package", os.path.basename(ARCHIVE))]
            self.assertEqual(*(hashlib.sha256(open(each, "rb").read()).hexdigest() for each in both))


class InARoot(unittest.TestCase):
    """`root` is a folder that has the program at `program`. The network is this process' own."""
    root = program = None

    def file(self, path, content):
        """A file of the root, while the test runs."""
        full = self.root + path
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as out:
            out.write(content)
        self.addCleanup(lambda: os.path.exists(full) and os.remove(full))
        return path

    def weir(self, *words, **env):
        """(exit code, what it says), where none of our processes and mounts is seen."""
        own = {name: value for name, value in environment().items() if not name.startswith(("SSL_CERT_", "OPENSSL_"))}
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", f"--root={self.root}", self.program, *map(str, words)],
                              env={**own, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        return done.returncode, done.stdout

    def serves(self, *flags):
        return self.enterContext(Server(*flags, program=("chroot", self.root, self.program, "serve")))

    def check(self, server, *flags, **env):
        return self.weir("check", self.id(), "--limit", "100/h", "--port", server.port, *flags, **env)


class EmptyRoot(InARoot):
    program = "/bin/weir"

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.root = os.path.join(cls.folder.path, "root")
        os.makedirs(cls.root + "/bin")
        with tarfile.open(ARCHIVE) as archive, open(cls.root + "/bin/weir", "wb") as program:
            shutil.copyfileobj(archive.extractfile(f"{TOP}/bin/weir"), program)
        os.chmod(cls.root + "/bin/weir", 0o755)
        cls.authority = Authority(cls.folder, "authority")

    def test_serves(self):
        self.assertEqual(self.weir("--version")[0], 0)
        server = self.serves("--http", "127.0.0.1:0")
        self.assertEqual(self.check(server)[0], 0)
        with server.client() as client:
            self.assertEqual(client.ask("CL.THROTTLE", "key", "15", "30", "60")[0], 0)
        asked = urllib.request.Request(f"http://127.0.0.1:{server.ports[1]}/v1/check", b'{"key": "a", "limit": "10/s"}',
                                       {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=20) as answer:
            self.assertTrue(json.load(answer)["allowed"])

    def test_tools_work_and_say_where_zones_would_be(self):
        self.assertEqual(self.weir("lint", self.file("/limits.yaml", CALENDAR.replace(" tz=Europe/Berlin", "")))[0], 0)
        missing = "the system has no time zone database in /usr/share/zoneinfo, Debian's package tzdata: "
        code, said = self.weir("lint", self.file("/limits.yaml", CALENDAR))
        self.assertEqual((code, said.count("\n")), (1, 1), said)
        self.assertIn(missing, said)
        self.assertEqual(self.weir("replay", self.file("/log", LOG), "--limit", "2/min")[0], 0)
        code, said = self.weir("replay", "/log", "--limit", "2/min", "--zone", "Europe/Berlin")
        self.assertEqual((code, said.count("\n")), (2, 1), said)
        self.assertIn(missing, said)

    def test_names_are_those_of_hosts_whatever_nsswitch_says(self):
        self.file("/etc/nsswitch.conf", "hosts: resolve\n")
        self.file("/etc/hosts", "127.0.0.1 redis.test weir.test\n")
        with a_redis(7379):
            server = self.serves("--store", "redis://redis.test:7379")
            with server.client() as client:
                self.assertEqual(client.ask("CL.THROTTLE", "key", "15", "30", "60")[0], 0)
        self.assertEqual(self.check(server, "--host", "weir.test")[0], 0)
        code, said = self.check(server, "--host", "nobody.test")
        self.assertEqual(code, 2)
        self.assertIn("cannot connect to nobody.test", said)

    def with_tls(self):
        cert, key = (self.file(f"/{name}", open(path, encoding="utf-8").read())
                     for name, path in zip(("cert", "key"), self.authority.issue("localhost")))
        return self.serves("--tls-cert", cert, "--tls-key", key)

    def test_authorities_are_found_where_distributions_keep_them(self):
        server = self.with_tls()
        ours = open(self.authority.certificate, encoding="utf-8").read()
        others = self.file("/others.pem", open(Authority(self.folder, "other").certificate, encoding="utf-8").read())
        self.assertIn("no trusted authority has signed it", self.check(server, "--tls")[1])
        for path in ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                     "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"):
            with self.subTest(path):
                self.file(path, ours)
                self.assertEqual(self.check(server, "--tls")[0], 0)
                self.assertEqual(self.check(server, "--tls", SSL_CERT_FILE=others)[0], 2)
                self.assertEqual(self.check(server, "--tls", SSL_CERT_DIR="/nowhere")[0], 2)
                os.remove(self.root + path)
        self.assertEqual(self.check(server, "--tls", SSL_CERT_FILE=self.file("/ours.pem", ours))[0], 0)

    def test_an_openssl_cnf_is_that_of_another_openssl(self):
        server = self.with_tls()
        self.file("/etc/ssl/cert.pem", open(self.authority.certificate, encoding="utf-8").read())
        impossible = self.file("/usr/lib/ssl/openssl.cnf", "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\n"
                                                           "MaxProtocol = TLSv1\n")
        self.assertEqual(self.check(server, "--tls")[0], 0)
        self.assertEqual(self.check(server, "--tls", OPENSSL_CONF=impossible)[0], 2)


@contextlib.contextmanager
def a_redis(port):
    """A Redis at the port of this process' own network."""
    with Folder() as folder:
        redis = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir", folder.path],
                                 stdout=subprocess.DEVNULL)
        try:
            ping = ["redis-cli", "-p", str(port), "ping"]
            until(lambda: subprocess.run(ping, capture_output=True).stdout == b"PONG\n", "redis-server answers")
            yield
        finally:
            redis.kill()
            redis.wait()


class DebianRoot(InARoot):
    """With the zones of tzdata."""
    program = f"/opt/{TOP}/bin/weir"

    @classmethod
    def setUpClass(cls):
        folder = os.path.join(cls.root, "opt")
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(folder)
        cls.addClassCleanup(shutil.rmtree, os.path.join(folder, TOP))

    def test_reads_its_zones(self):
        self.assertEqual(self.weir("lint", self.file("/tmp/limits.yaml", CALENDAR))[0], 0)
        self.assertEqual(self.weir("replay", self.file("/tmp/log", LOG), "--limit", "2/min", "--zone", "Europe/Berlin")[0], 0)

    def test_serves(self):
        server = self.serves()
        self.assertEqual(self.check(server)[0], 0)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # ./dev check --long: Archive
