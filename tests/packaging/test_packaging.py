"""The Debian package, its unit, the container, the portable program and its image: built, installed in a scratch Debian, used,
and removed.

Needs root, and a Debian archive to install from. With WEIR_LONG=1 the container's first stage, which compiles
everything from nothing, is run too, and the portable program is built twice.
"""
import ctypes
import fcntl
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import oci
import portable
from containerfile import stages
from root import Root, must

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
PACKAGE = os.path.join(SOURCE, "build/package/weir.deb")
UNIT = "/lib/systemd/system/weir.service"
PATIENCE = 20
COMMANDS = ("weir", "weir-serve", "weir-check", "weir-replay", "weir-suggest", "weir-lint", "weir-completion")


def own_network():
    """From here on this process and its children see a network of their own, with nothing but a loopback: the
    ports that the package and the container use are free there."""
    clone_newnet, siocsifflags, up = 0x40000000, 0x8914, 1
    if ctypes.CDLL(None, use_errno=True).unshare(clone_newnet) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, siocsifflags, struct.pack("16sH14s", b"lo", up, b""))


def setUpModule():
    """All that needs the network, and then none of it."""
    global ROOT, BEFORE, SECOND, CONTAINER
    if os.path.realpath(os.environ.get("WEIR_BUILD", "")) != os.path.join(SOURCE, "build/package/obj"):
        must(os.path.join(SOURCE, "packaging/build"))  # a check has made it before it tests it
    ROOT = Root()
    unittest.addModuleCleanup(ROOT.close)
    PortableInADebian.root = ROOT.path
    CONTAINER = Root(like=ROOT)
    unittest.addModuleCleanup(CONTAINER.close)
    ROOT.run("apt-get", "update", "-qq")
    ROOT.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "tzdata")
    BEFORE = ROOT.files()
    shutil.copy(PACKAGE, ROOT.of("/tmp/weir.deb"))
    ROOT.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "/tmp/weir.deb")

    first, SECOND = stages(os.path.join(SOURCE, "packaging/Containerfile"))
    built = SOURCE
    if os.environ.get("WEIR_LONG") == "1":
        scratch = Root()
        unittest.addModuleCleanup(scratch.close)
        first.build(scratch, lambda _: SOURCE)
        built = scratch.of("/src")
    # What the first stage leaves in /src is what it found there, and what it has built.
    os.makedirs(CONTAINER.of("/stage"))
    os.symlink(built, CONTAINER.of("/stage/src"))
    SECOND.build(CONTAINER, lambda _: CONTAINER.of("/stage"))
    own_network()


class Package(unittest.TestCase):
    def test_has_no_fault_that_debian_knows(self):
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", PACKAGE], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stdout + done.stderr)

    def test_installs(self):
        version = re.search(r"project\(weir VERSION (\S+)", open(os.path.join(SOURCE, "CMakeLists.txt")).read())[1]
        self.assertIn(f"weir {version}", ROOT.run("weir", "--version"))
        for name in COMMANDS:
            # minbase keeps no manual pages; dpkg knows them all the same.
            self.assertIn(f"/usr/share/man/man1/{name}.1.gz", ROOT.run("dpkg", "-L", "weir"))
        for path in ("/usr/share/bash-completion/completions/weir", "/usr/share/zsh/vendor-completions/_weir",
                     "/usr/share/fish/vendor_completions.d/weir.fish"):
            self.assertTrue(os.path.getsize(ROOT.of(path)) > 1000, path)
        self.assertEqual(os.stat(ROOT.of("/etc/weir/weir.conf")).st_mode & 0o777, 0o600)

    def test_has_a_unit_that_systemd_takes(self):
        # Among this machine's units, with the program where the scratch root has it.
        with open(ROOT.of(UNIT), encoding="utf-8") as unit, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "weir.service")
            with open(path, "w", encoding="utf-8") as copy:
                copy.write(unit.read().replace("ExecStart=", "ExecStart=" + ROOT.path))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
        about_us = [line for line in (done.stdout + done.stderr).splitlines() if "weir" in line]
        self.assertEqual((done.returncode, about_us), (0, []), done.stdout + done.stderr)
        with open(ROOT.of(UNIT), encoding="utf-8") as unit:
            for page in re.findall(r"man:([\w-]+)\(1\)", unit.read()):
                self.assertIn(page, COMMANDS)

    def test_has_a_unit_that_is_closed_to_the_rest(self):
        # 0 is nothing allowed, 100 everything; a service of the network's cannot be below some 10.
        must("systemd-analyze", "security", "--offline=true", "--threshold=15", ROOT.of(UNIT))


def line_of_unit(name):
    with open(ROOT.of(UNIT), encoding="utf-8") as unit:
        return re.search(rf"^{name}=(.*)$", unit.read(), re.M)[1]


class Service(unittest.TestCase):
    """The unit's command, in the installed root, with a service manager that listens."""

    def heard(self):
        return self.manager.recv(256).decode()

    def heard_next(self, *awaited):
        """The next line, signs of life aside."""
        while (line := self.heard()) == "WATCHDOG=1":
            pass
        self.assertIn(line.split("\n")[0], awaited)

    def test_tells_the_manager_what_it_does_and_keeps_debts(self):
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.bind("\0weir-packaging-test")
        self.manager.settimeout(PATIENCE)
        for path in ("/run/credentials", "/var/lib/weir"):
            os.makedirs(ROOT.of(path), exist_ok=True)
            self.addCleanup(ROOT.run, "rm", "-rf", path)
        shutil.copy(ROOT.of("/etc/weir/weir.conf"), ROOT.of("/run/credentials/weir.conf"))
        credential = line_of_unit("LoadCredential")
        self.assertEqual(credential, "weir.conf:/etc/weir/weir.conf")
        command = line_of_unit("ExecStart").replace("${CREDENTIALS_DIRECTORY}", "/run/credentials").split()
        for start in range(2):
            server = subprocess.Popen(["chroot", ROOT.path, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                      env={**Root.ENVIRONMENT, "NOTIFY_SOCKET": "@weir-packaging-test", "WATCHDOG_USEC": "200000"})
            self.heard_next("READY=1")
            self.assertEqual(self.heard(), "WATCHDOG=1")
            self.assertEqual(self.heard(), "WATCHDOG=1")
            asked = subprocess.run(["chroot", ROOT.path, "weir", "check", "a", "--limit", "1/h"], env=Root.ENVIRONMENT,
                                   capture_output=True)
            self.assertEqual(asked.returncode, start, asked)
            self.assertEqual(line_of_unit("ExecReload"), "/bin/kill -HUP $MAINPID")
            server.send_signal(signal.SIGHUP)
            self.heard_next("RELOADING=1")
            self.heard_next("READY=1")
            server.send_signal(signal.SIGTERM)
            self.heard_next("STOPPING=1")
            _, errors = server.communicate(timeout=PATIENCE)
            self.assertEqual(server.returncode, 0, errors)
        self.assertTrue(os.path.exists(ROOT.of("/var/lib/weir/snapshot")))


class Container(unittest.TestCase):
    def container(self, *command, password="s3cret"):
        """`command` as the image runs it: its user, and a root that nobody can write to."""
        script = f'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec chroot --userspec={SECOND.last("USER")} "$0" "$@"'
        env = dict(Root.ENVIRONMENT, **({"WEIR_PASSWORD": password} if password else {}))
        return {"args": ["unshare", "-m", "sh", "-c", script, CONTAINER.path, *command], "env": env}

    def test_serves_as_nobody_and_its_health_is_seen(self):
        self.assertNotIn("0", SECOND.last("USER").split(":"))
        server = subprocess.Popen(**self.container(*SECOND.last("ENTRYPOINT"), *SECOND.last("CMD")),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(server.kill)
        self.assertIn(b"listening on 0.0.0.0:6390", server.stdout.readline())
        check = {**self.container(*SECOND.healthcheck()), "capture_output": True, "text": True, "timeout": PATIENCE}
        healthy = subprocess.run(**check)
        self.assertEqual(healthy.returncode, 0, healthy)
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE)
        self.assertEqual(server.returncode, 0)
        ill = subprocess.run(**check)
        self.assertEqual(ill.returncode, 2, ill)

    def test_does_not_listen_to_everybody_without_a_password(self):
        done = subprocess.run(**self.container(*SECOND.last("ENTRYPOINT"), *SECOND.last("CMD"), password=None),
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--insecure", done.stderr)

    def test_takes_the_place_of_envoyproxys(self):
        container = self.container("/bin/ratelimit", password=None)
        container["env"] = {**container["env"], "RUNTIME_ROOT": "/nowhere"}
        done = subprocess.run(**container, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("rls-config: '/nowhere/config' cannot be used", done.stderr)


# Classes of this module, or unittest would end it, and its roots with it, before the next one.
class Portable(portable.Archive):
    pass


class PortableAlone(portable.EmptyRoot):
    pass


class PortableInADebian(portable.DebianRoot):
    pass


class OciImage(oci.Image):
    pass


class Removal(unittest.TestCase):
    def test_leaves_the_configuration_and_a_purge_leaves_nothing(self):
        ROOT.run("apt-get", "remove", "-y", "-qq", "weir")
        self.assertFalse(os.path.exists(ROOT.of("/usr/bin/weir")))
        self.assertTrue(os.path.exists(ROOT.of("/etc/weir/weir.conf")))
        ROOT.run("apt-get", "purge", "-y", "-qq", "--autoremove", "weir")
        self.assertEqual({path for path in ROOT.files() - BEFORE if "weir" in path}, set())


def load_tests(loader, _, __):  # the removal last
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in (Package, Service, Container, Portable, PortableAlone,
                                                                           PortableInADebian, OciImage, Removal))


if __name__ == "__main__":
    if os.getuid() != 0:
        print("skipped: only root can install a package in a folder")
        sys.exit(77)
    unittest.main(warnings="ignore")
