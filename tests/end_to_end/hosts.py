"""Hosts with addresses of their own, on one wire: each a network namespace where this process is root and may make one, and else
an address of the loopback, which is told by `apart`."""
import ctypes
import os
import shutil
import subprocess

from ports import free_port

CLONE_NEWNET = 0x40000000


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


class Wire:
    """Made once in a process, before it has a thread: its own sockets and those of its children are from then on at the wire's
    first address, with the loopback of a machine that runs nothing else. Nothing outlives the process."""

    def __init__(self):
        self.apart = os.geteuid() == 0 and bool(shutil.which("ip")) and ctypes.CDLL(None).unshare(CLONE_NEWNET) == 0
        self.count = 0
        self.hosts = []
        if not self.apart:
            return
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "wire", "type", "bridge")
        run("ip", "address", "add", "10.0.0.254/24", "dev", "wire")
        run("ip", "link", "set", "wire", "up")

    def host(self):
        self.count += 1
        self.hosts.append(Host(self))
        return self.hosts[-1]

    def close(self):
        for each in self.hosts:
            each.close()


class Host:
    def __init__(self, wire):
        self.apart = wire.apart
        self.name = f"host{wire.count}"
        self.address = f"10.0.0.{wire.count}" if self.apart else f"127.0.0.{wire.count + 1}"
        self.inside = ()
        if not self.apart:
            return
        # Its network is there as long as this process, which ends with its input.
        self.keeper = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.keeper.stdout.readline()
        self.inside = ("nsenter", f"--net=/proc/{self.keeper.pid}/ns/net")
        run("ip", "link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", str(self.keeper.pid))
        run("ip", "link", "set", self.name, "master", "wire", "up")
        run(*self.inside, "ip", "link", "set", "lo", "up")
        run(*self.inside, "ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        run(*self.inside, "ip", "link", "set", "eth0", "up")

    def free_port(self, usual):
        """A host of its own has the usual one."""
        return usual if self.apart else free_port()

    def plug(self, state):
        """`up`, or `down`: from then on nothing arrives there, and nobody is told."""
        run("ip", "link", "set", self.name, state)

    def close(self):
        if self.apart:
            self.keeper.stdin.close()
            self.keeper.stdout.close()
            self.keeper.wait()
